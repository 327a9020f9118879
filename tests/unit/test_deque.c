// SPDX-License-Identifier: Apache-2.0
//
// The work-stealing deque: order, depths, the full deque, numbers that wrap around the
// slots; and an owner against thieves, where every item must be taken exactly once.
// tests/model tries all interleavings of short runs; this one tries long runs.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rt/deque.h"
#include "test.h"

static RtDeque deque;

static RtItem item(int64_t depth, int64_t number) {
    return (RtItem){(RtJob *)&deque, depth, number, -number};
}

static bool is_item(const RtItem *found, int64_t depth, int64_t number) {
    return found->job == (RtJob *)&deque && found->depth == depth &&
           found->begin == number && found->end == -number;
}

static void test_order(void) {
    RtItem out;
    memset(&deque, 0, sizeof deque);
    CHECK(!rt_deque_pop(&deque, 0, &out) && !rt_deque_steal(&deque, 0, &out));
    CHECK(!rt_deque_offers(&deque, 0) && rt_deque_size(&deque) == 0);
    for (int64_t i = 1; i <= 4; i++) CHECK(rt_deque_push(&deque, item(1, i)));
    CHECK(rt_deque_size(&deque) == 4 && rt_deque_offers(&deque, 1));
    CHECK(rt_deque_steal(&deque, 0, &out) && is_item(&out, 1, 1));
    CHECK(rt_deque_pop(&deque, 0, &out) && is_item(&out, 1, 4));
    CHECK(rt_deque_pop(&deque, 0, &out) && is_item(&out, 1, 3));
    CHECK(rt_deque_steal(&deque, 0, &out) && is_item(&out, 1, 2));
    CHECK(!rt_deque_steal(&deque, 0, &out) && !rt_deque_pop(&deque, 0, &out));
}

static void test_depths(void) {
    RtItem out;
    memset(&deque, 0, sizeof deque);
    rt_deque_push(&deque, item(2, 1));
    rt_deque_push(&deque, item(5, 2));
    CHECK(!rt_deque_offers(&deque, 3) && !rt_deque_steal(&deque, 3, &out));
    CHECK(rt_deque_offers(&deque, 2));
    CHECK(!rt_deque_pop(&deque, 6, &out) && rt_deque_size(&deque) == 2);
    CHECK(rt_deque_pop(&deque, 5, &out) && is_item(&out, 5, 2));
    CHECK(!rt_deque_pop(&deque, 3, &out) && rt_deque_size(&deque) == 1);
    CHECK(rt_deque_steal(&deque, 2, &out) && is_item(&out, 2, 1));
}

// Three times around the slots, and to the brim each time.
static void test_full(void) {
    RtItem out;
    memset(&deque, 0, sizeof deque);
    bool is_right = true;
    for (int64_t round = 0; round < 3; round++) {
        for (int64_t i = 0; i < RT_DEQUE_CAPACITY; i++)
            is_right &= rt_deque_push(&deque, item(1, i));
        CHECK(!rt_deque_push(&deque, item(1, -1)));
        CHECK(rt_deque_steal(&deque, 1, &out) && is_item(&out, 1, 0));
        CHECK(rt_deque_push(&deque, item(1, RT_DEQUE_CAPACITY)));
        CHECK(!rt_deque_push(&deque, item(1, -1)));
        for (int64_t i = RT_DEQUE_CAPACITY; i > 0; i--)
            is_right &= rt_deque_pop(&deque, 1, &out) && is_item(&out, 1, i);
        CHECK(!rt_deque_pop(&deque, 1, &out));
    }
    CHECK(is_right);
}

enum { ITEMS = 200000, THIEVES = 3 };

static atomic_int taken[ITEMS]; // how often
static atomic_bool is_over, is_torn;

static void note(const RtItem *found) {
    if (!is_item(found, 1 + found->begin % 3, found->begin))
        atomic_store(&is_torn, true);
    atomic_fetch_add(&taken[found->begin], 1);
}

static void *rob(void *least_depth) {
    RtItem out;
    while (!atomic_load(&is_over))
        if (rt_deque_steal(&deque, (intptr_t)least_depth, &out)) note(&out);
    return NULL;
}

// The owner pushes in bursts and pops in bursts, so that it often meets the thieves at
// the last item.
static void test_thieves(void) {
    memset(&deque, 0, sizeof deque);
    pthread_t thieves[THIEVES];
    for (intptr_t i = 0; i < THIEVES; i++)
        CHECK(pthread_create(&thieves[i], NULL, rob, (void *)(i % 2)) == 0);
    RtItem out;
    unsigned random = 12345;
    for (int64_t next = 0; next < ITEMS;) {
        random = random * 1664525 + 1013904223;
        for (unsigned burst = random >> 30; burst > 0 && next < ITEMS; burst--)
            next += rt_deque_push(&deque, item(1 + next % 3, next));
        for (unsigned burst = (random >> 28) % 4; burst > 0; burst--)
            if (rt_deque_pop(&deque, 1, &out)) note(&out);
    }
    while (rt_deque_pop(&deque, 1, &out)) note(&out);
    atomic_store(&is_over, true);
    for (int i = 0; i < THIEVES; i++) pthread_join(thieves[i], NULL);
    CHECK(rt_deque_size(&deque) == 0 && !atomic_load(&is_torn));
    int wrong = 0;
    for (int i = 0; i < ITEMS; i++) wrong += atomic_load(&taken[i]) != 1;
    CHECK(wrong == 0);
}

int main(void) {
    test_order();
    test_depths();
    test_full();
    test_thieves();
    return test_done();
}
