// SPDX-License-Identifier: Apache-2.0
//
// Calls that go straight to their kernel. Most entries that are called often are one
// kernel and a few scalars around it: what such a call does is found out once, and
// then neither the interpreter nor the choice of a place is asked again.
//
// Only what ends well ends here. Where a check or the kernel fails, memory is short or
// the call is cancelled, the call is made again as any other, which tells why.
#ifndef WEFT_API_DIRECT_H
#define WEFT_API_DIRECT_H

#include "api/engine.h"

// Plans calls of the entry, if it is one to be called directly and its kernel is built.
// Asked before each other call; memory for it is the entry's.
void api_direct_plan(WeftProgram *program, ApiEntry *entry);
// Makes a call whose arguments have been checked. False: nothing has happened.
bool api_direct_call(const ApiCall *call, ApiEntry *entry);

#endif
