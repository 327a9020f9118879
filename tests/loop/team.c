// SPDX-License-Identifier: Apache-2.0
//
// See team.h. A mark is when all had waited last, and the item.
#include "team.h"

enum { ALL = LAUNCH_TEAM, PAIR, JOINING, MARKS = 64 };

void team_plan(Team *team, const LoopKernel *kernel, Arena *arena) {
    *team = (Team){.kernel = kernel, .since = 1};
    for (LoopRef ref = 1; ref < kernel->values.len; ref++)
        if (kernel->values.data[ref].type.lanes > 0) return; // devices run no lanes
    loop_plan(kernel, arena, &team->plan);
    team->is_planned = true;
}

void team_statement(Team *team, const LoopStm *stm) {
    bool is_outside = team->is_at_work && team->item == ALL;
    if (is_outside && loop_waits(&team->plan, stm)) team->since++;
}

uint32_t team_enter(Team *team, const LoopStm *stm, uint64_t i) {
    uint32_t outer = team->item;
    if (team->is_planned && stm->order == ORDER_PARALLEL) {
        const LoopLaunch *launch = loop_launch_at(&team->plan, stm);
        team->is_at_work = launch != NULL && launch->has_team;
        team->item = ALL;
        team->since++;
        return ALL;
    }
    if (!team->is_at_work || !loop_is_spread(stm) || outer < ALL) return outer;
    LoopRef columns = outer == ALL ? loop_spread_columns(team->kernel, stm) : 0;
    uint64_t turn = outer == PAIR ? team->pair + i : i;
    team->item = columns != 0 ? PAIR : (uint32_t)(turn % LAUNCH_TEAM);
    if (columns != 0) team->pair = i * team->kernel->values.data[columns].bits;
    return outer;
}

void team_leave(Team *team, const LoopStm *stm) {
    if (stm->order == ORDER_PARALLEL) team->is_at_work = false;
    bool is_outside = team->is_at_work && team->item == ALL;
    if (is_outside && loop_spread_fails(&team->plan, stm->bodies[0])) team->since++;
}

bool team_meets(const Team *team, uint64_t *writer, uint64_t *reader, bool writes,
                bool joins) {
    if (!team->is_at_work) return false;
    uint32_t item = team->item == ALL && writes ? 0 : team->item;
    if (joins) item = JOINING;
    uint64_t mark = team->since * MARKS + item;
    bool is_written = *writer / MARKS == team->since;
    bool is_read = *reader / MARKS == team->since;
    bool meets = is_written && *writer != mark;
    if (writes) meets = meets || (is_read && *reader != mark);
    if (writes) *writer = mark;
    else *reader = is_read && *reader != mark ? team->since * MARKS + ALL : mark;
    return meets;
}
