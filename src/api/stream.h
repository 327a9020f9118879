// SPDX-License-Identifier: Apache-2.0
//
// Devices whose memory is too small for what an operator takes and makes: then
// operators run in parts one after the other, each where it would be done first, and
// what the next one needs no room for goes home (rt/store.h). Only devices that were
// given so much memory and no more are watched: programs for them are there in parts
// and whole. Beside a device that has more, what they have no room for goes there.
#ifndef WEFT_API_STREAM_H
#define WEFT_API_STREAM_H

#include "api/engine.h"
#include "plan/plan.h"

// Whether all devices of the context are such.
bool api_stream_is_for(const WeftContext *context);
// Splits a program, past its passes, that is to run on such devices; `least` as that of
// fission_for_devices.
void api_stream_divide(WeftProgram *program, double least);
// Whether it was split.
bool api_is_streamed(const WeftProgram *program);
// Before a call: it is whole again, or has a part for each device, or as many as the
// last one turned out to need.
void api_stream_begin(WeftProgram *program);
// Twice as many parts. False: that would be too many.
bool api_stream_more(WeftProgram *program);
// The same after a call that found no memory, for another try, and for later calls.
// False, too, if somebody was shown a trace of it.
bool api_stream_again(WeftProgram *program);
// The task that has not enough memory on some device, with what it takes and makes;
// PLAN_NONE: all have. `sure`: it is certain that it can run on none.
uint32_t api_stream_find(const WeftProgram *program, const Plan *plan, bool sure);
// The device that has most.
const ApiPlace *api_stream_largest(const WeftContext *context);
// What a task takes and makes, or for sure has at once: blocks of a plan, made for
// that, are as large as what of them it takes.
PlanPeak api_stream_needs(const Plan *plan, uint32_t task, Plan *shown_out);

#endif
