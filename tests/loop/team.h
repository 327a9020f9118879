// SPDX-License-Identifier: Apache-2.0
//
// Turns as teams run them on GPUs (loop/launch.h): while the evaluator runs a turn,
// this knows which item of the team would be at work, and sees accesses to one element
// that no wait keeps apart.
#ifndef WEFT_TESTS_LOOP_TEAM_H
#define WEFT_TESTS_LOOP_TEAM_H

#include "loop/launch.h"

typedef struct Team {
    const LoopKernel *kernel;
    LoopPlan plan;
    bool is_planned, is_at_work;
    uint32_t item;  // at work
    uint64_t pair;  // of a loop that is spread by pairs: the first of its turn
    uint64_t since; // when all waited last
} Team;

void team_plan(Team *team, const LoopKernel *kernel, Arena *arena);
// Before a statement.
void team_statement(Team *team, const LoopStm *stm);
// Before turn i of a parallel or independent loop; what to give back after it.
uint32_t team_enter(Team *team, const LoopStm *stm, uint64_t i);
// After such a loop.
void team_leave(Team *team, const LoopStm *stm);
// Notes an access in the marks of an element; whether it meets another item's. What
// joins may meet what joins.
bool team_meets(const Team *team, uint64_t *writer, uint64_t *reader, bool writes,
                bool joins);

#endif
