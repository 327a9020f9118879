// SPDX-License-Identifier: Apache-2.0
//
// What goes into plans of calls (plan/plan.h).
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
    void *data;             // the step's
} ApiPlanning;

// What the plan of such a call has to know, but for devices.
PlanInput api_plan_input(const ApiPlanning *planning);
// And the context's devices, or the one that has the call alone.
void api_plan_devices(const WeftProgram *program, PlanInput *in);
// These.
const ApiPlace *api_plan_places(const WeftProgram *program, uint32_t *count_out);
// Plans a call: does the step with these data, which has an arena of its own. Memory
// that is too short for a plan may be enough for the call: that is WEFT_STATUS_OK.
WeftStatus api_plan(WeftContext *context, WeftProgram *program, const ApiEntry *entry,
                    WeftValue *const *args,
                    WeftStatus (*step)(const ApiPlanning *planning), void *data);

#endif
