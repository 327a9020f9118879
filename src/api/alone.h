// SPDX-License-Identifier: Apache-2.0
//
// Calls that several devices have no memory for: parts, copies and what is made ahead
// are more than the whole is. Then all cores of the host have the call alone, with
// nothing cut, as if there were no devices; bits are the same.
#ifndef WEFT_API_ALONE_H
#define WEFT_API_ALONE_H

#include "api/engine.h"

// Whether that is possible: the host's cores are among the devices, and small devices
// are not all there is (stream.h).
bool api_alone_is_for(const WeftProgram *program);
// For the call that is about to be, or the next try of it.
void api_alone_begin(WeftProgram *program, const ApiEntry *entry);
// Whether it is so. After that, what was before is.
bool api_alone_is_on(const WeftProgram *program);
void api_alone_end(WeftProgram *program);
// After a run that found no memory: begins, for another try, and for calls that need as
// much by their plans; not if somebody was shown a trace of it.
bool api_alone_again(WeftProgram *program, ApiEntry *entry);

#endif
