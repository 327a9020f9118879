// SPDX-License-Identifier: Apache-2.0
//
// Plans of calls (plan/plan.h): what goes into them, and what they decide when a call
// begins.
#ifndef WEFT_API_PLANS_H
#define WEFT_API_PLANS_H

#include "api/engine.h"
#include "plan/plan.h"

// A call that is to be planned.
typedef struct ApiPlanning {
    WeftContext *context;
    WeftProgram *program;
    const ApiEntry *entry;
    WeftValue *const *args; // of the entry's types; NULL: none is known
    Arena *arena;           // in which plans are made
} ApiPlanning;

// What the plan of such a call has to know, but for devices.
PlanInput api_plan_input(const ApiPlanning *planning);
// And the context's devices.
void api_plan_devices(WeftContext *context, PlanInput *in);
// Does that with an arena of its own. Memory that is too short for a plan may be enough
// for the call: that is WEFT_STATUS_OK.
WeftStatus api_plan(WeftContext *context, WeftProgram *program, const ApiEntry *entry,
                    WeftValue *const *args,
                    WeftStatus (*step)(const ApiPlanning *planning));
// For several devices: decides which operators are cut in calls with such sizes
// (plan_choose), when they are new; and, if this is a call, now and then later, when it
// is known what calls took, to see whether something else is better.
void api_choose_rows(WeftContext *context, WeftProgram *program, ApiEntry *entry,
                     WeftValue *const *args, bool is_call);
// Such a call took so long: what plans thought better, and was not, is taken back.
void api_chosen_took(WeftProgram *program, const ApiEntry *entry, double seconds);

#endif
