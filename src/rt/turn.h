// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is: a heap that several threads use belongs to the one that has the
// turn. Turns go round in the order in which they were asked for. Code that touches no
// array's header gives the turn away for as long as it runs.
//
//     rt_turn_take(turn);
//     while (!is_there) rt_turn_wait(turn, -1);  // until another has told news
//     ... look, change, rt_turn_tell(turn) ...
//     rt_turn_give(turn);
//
// A turn that is NULL is that of a heap with one thread: taking and giving do nothing.
#ifndef WEFT_RT_TURN_H
#define WEFT_RT_TURN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct RtTurn {
    pthread_mutex_t lock; // of what follows
    pthread_cond_t moved, told;
    _Atomic uint64_t next; // ticket; one who asks takes it
    uint64_t now;          // the ticket whose turn it is
    uint64_t news;         // told so far
} RtTurn;

bool rt_turn_init(RtTurn *turn);
void rt_turn_free(RtTurn *turn); // nobody has it or waits for it

void rt_turn_take(RtTurn *turn);
void rt_turn_give(RtTurn *turn);
// Gives it to those who wait for it, if any do, and takes it again after them.
void rt_turn_yield(RtTurn *turn);
// Gives it, waits until news are told or so many milliseconds have passed (negative:
// for ever), and takes it again. News told by others since the turn was taken do not
// get lost, as nobody else can tell any meanwhile.
void rt_turn_wait(RtTurn *turn, int ms);
// For those who wait. Only who has the turn tells.
void rt_turn_tell(RtTurn *turn);

#endif
