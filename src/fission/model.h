// SPDX-License-Identifier: Apache-2.0
//
// The model checker of fission. A state is a program partly evaluated: a body whose
// params are the values known so far, and these values. From a state it goes on by
// evaluating a statement that is ready, or by a rule of fission at any place, with any
// dimension and any point to cut at; states that print alike are one. Every state must
// mean what the program means: the same bits or the same error.
#ifndef WEFT_FISSION_MODEL_H
#define WEFT_FISSION_MODEL_H

#include "fission/fission.h"
#include "interp/interp.h"

typedef struct ModelOptions {
    const FissionRule *rules;
    uint32_t rule_count;
    uint32_t depth;       // rules applied along a path, at most
    uint32_t most_states; // where to stop
    RtHeap *heap;
    const atomic_bool *cancel; // may be NULL
} ModelOptions;

typedef struct ModelResult {
    uint64_t states, rules; // states found; rules applied on the way
    double paths;           // ways from the program to an end
    bool is_complete;       // all states to that depth were seen
    // A state that means something else, with the steps that lead there, fewest rules
    // first; len 0: there is none.
    Str counterexample;
} ModelResult;

// Explores function `fun` of the program, which is past stage 0, with these args, which
// are lent. What it allocates stays in the program's arena. STATUS_CANCELLED if it was.
Status model_check(CoreProgram *program, CoreFun *fun, const RtValue *args,
                   const ModelOptions *options, ModelResult *result_out);
// Takes one path only, by chance, with the same seed the same: for programs that have
// too many states. Rules stop after options->depth of them.
Status model_walk(CoreProgram *program, CoreFun *fun, const RtValue *args,
                  const ModelOptions *options, uint64_t seed, ModelResult *result_out);

// The next of a sequence of random numbers.
uint64_t model_random(uint64_t *state);

#endif
