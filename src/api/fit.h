// SPDX-License-Identifier: Apache-2.0
//
// What a call needs, by its plan, and the ceiling of the context.
#ifndef WEFT_API_FIT_H
#define WEFT_API_FIT_H

#include "api/plans.h"

// The bytes below the ceiling while it runs, by its plan.
double api_plan_needs(const WeftContext *context, const Plan *plan);
// WEFT_STATUS_MEMORY, and says why, if it is certain that the call does not fit below
// the ceiling, or on a small device, for which it says how many parts there are to be;
// whether several devices have room for it, or the host's cores are to have it alone
// (alone.h). Without either there is nothing to find out.
WeftStatus api_check_fit(WeftContext *context, WeftProgram *program,
                         const ApiEntry *entry, WeftValue *const *args);
// Adds to the message of a call that found no memory below the ceiling, or on small
// devices, what it holds at once by its plan, by line: copies on devices and what
// operators need meanwhile come on top. Without a ceiling or small devices, or a plan,
// or memory for one, nothing is added.
void api_tell_fit(WeftContext *context, WeftProgram *program, const ApiEntry *entry,
                  WeftValue *const *args, Str *message);

#endif
