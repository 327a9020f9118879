// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is: a heap that several threads use belongs to the one that has the
// turn. Turns go round in the order in which they were asked for. Code that touches no
// array's header gives the turn away for as long as it runs.
//
//     rt_turn_take(turn);
//     while (!is_there(data)) rt_turn_wait(turn, is_there, data, -1);
//     ... look, change, rt_turn_tell(turn) ...
//     rt_turn_give(turn);
//
// Who waits is woken once, when the turn has become its own: news are looked at by who
// tells them, on behalf of those who wait for them. To wake a thread takes longer than
// most turns do: where there are cores enough, who waits looks for a while first.
//
// A turn that is NULL is that of a heap with one thread: taking and giving do nothing.
#ifndef WEFT_RT_TURN_H
#define WEFT_RT_TURN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct RtWaiter RtWaiter; // on the stack of a thread that waits

typedef struct RtTurn {
    pthread_mutex_t lock; // of what follows
    bool is_taken;
    RtWaiter *first, *last;       // who asked for it and has not got it, in order
    RtWaiter *idle;               // who waits for news, in any order
    atomic_uint asked;            // how many of the former
    pthread_condattr_t monotonic; // of conditions
    uint64_t spin_ns;             // how long who waits looks before it sleeps
} RtTurn;

bool rt_turn_init(RtTurn *turn);
void rt_turn_free(RtTurn *turn); // nobody has it or waits for it
// Who waits is to look for so long before it sleeps; at first it is not to.
void rt_turn_spin(RtTurn *turn, uint64_t ns);

void rt_turn_take(RtTurn *turn);
void rt_turn_give(RtTurn *turn);
// Gives it to those who have waited for it for a while, if any have, and takes it again
// after them. A while: so that who has little to do each time does it in one go.
void rt_turn_yield(RtTurn *turn);
// Gives it, waits until news are told of which is_due(data) is true, or so many
// milliseconds have passed (negative: for ever), and takes it again. Who tells calls
// is_due, which changes nothing; it may have become false again.
void rt_turn_wait(RtTurn *turn, bool (*is_due)(const void *data), const void *data,
                  int ms);
// The same, but waits without sleeping, and only for as long as it looks.
void rt_turn_watch(RtTurn *turn, bool (*is_due)(const void *data), const void *data);
// For those who wait. Only who has the turn tells.
void rt_turn_tell(RtTurn *turn);

#endif
