// SPDX-License-Identifier: Apache-2.0
//
// Which operators are cut among several devices, in calls of an entry with about the
// same sizes: at first as plans say (plan_choose); once it is known what calls took,
// what plans then think better is tried, and kept if it is. So is one place alone, with
// nothing cut; and if that was better, later what was before.
#ifndef WEFT_API_CHOICE_H
#define WEFT_API_CHOICE_H

#include "api/engine.h"

// Calls, of which the first one may wait for kernels; fewer if one takes twice as long.
enum { API_TRIALS = 3 };

// What the switches of a program say, and the shortest call with that; 0: none was.
typedef struct ApiSetting {
    int64_t *from; // by number (fission_switch)
    bool is_alone; // nothing is cut, and all is for one place
    double least;  // seconds
} ApiSetting;

// Of an entry. Lies in the memory of its program.
struct ApiChoice {
    int64_t *sizes; // of its arguments: integers, and dimensions of arrays
    uint32_t calls;
    bool is_planned; // for these sizes
    ApiSetting now;
    ApiSetting other; // what was before, while something else is tried
    uint32_t trials;  // left
    bool is_rejected; // the other one, which was no better when it was tried
};

// Chooses when the sizes are new, and, if this is a call, now and then later.
void api_choose_rows(WeftContext *context, WeftProgram *program, ApiEntry *entry,
                     WeftValue *const *args, bool is_call);
// Such a call took so long. What was tried enough is taken back if it was no better.
void api_chosen_took(WeftProgram *program, const ApiEntry *entry, double seconds);

#endif
