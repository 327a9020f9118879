// SPDX-License-Identifier: Apache-2.0
//
// Calls of kernels that run beside the interpreter, where there are several places, or
// one that is launched on: each has a line of calls and a thread (rt/queue.h), and the
// interpreter runs ahead, handing on results that are promised only, until it looks at
// one.
//
// What happens is what would have happened one call after the other: the first error in
// the order of the program is the one that is told, whatever else was tried meanwhile.
#ifndef WEFT_API_AHEAD_H
#define WEFT_API_AHEAD_H

#include "api/engine.h"

// For an interpreter that is about to run, by the thread that calls, which has the
// heap's turn while it does; the data of its functions is the engine. NULL: there is
// one place, of cores, or one has the call alone. WEFT_STATUS_MEMORY: no memory or no
// threads.
WeftStatus api_ahead_open(const ApiEngine *engine, const InterpBeside **beside_out);
// Whether the call so far has lines.
bool api_is_ahead(const ApiEngine *engine);
// After a run that found no memory: whether it is tried again, one call after the
// other, for what ran ahead has kept some; not if somebody was shown a trace of it.
bool api_ahead_again(WeftProgram *program);
// After a run that a device ended: whether it is tried again without that, since it had
// arrays that are nowhere else. Likewise.
bool api_ahead_recover(WeftProgram *program);
void api_ahead_close(WeftContext *context);

// How tasks of the last call depended on each other: what they took that other tasks
// had made, how much of that was made in another line, and for how many tasks a line
// had to wait: for something of the latter, since in a line one comes after the other.
// And how many there were at most that had been made and were not done.
typedef struct ApiEdges {
    uint64_t all, crossing, waits;
    uint32_t most_ahead;
} ApiEdges;

// False: the last call with lines was of another program.
bool api_ahead_edges(const WeftProgram *program, ApiEdges *edges_out);

// Whether the thread that asks is a place's.
bool api_is_beside(const WeftContext *context);

// Puts the call in the line of the place that would be ready first; the results are
// promised. Else *error_out is set.
void api_ahead_run(ApiEngine *engine, EngineKernel *kernel, const InterpOffer *offer,
                   InterpError *error_out);
// Waits until the arguments are there; scalars become what they were promised to be.
// False: the run is to end.
bool api_ahead_await(ApiEngine *engine, InterpOffer *offer);

#endif
