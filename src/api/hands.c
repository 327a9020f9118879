// SPDX-License-Identifier: Apache-2.0
//
// Items of work done by several threads. A Mem is for one thread, so each has one of
// its own, whose blocks the program takes over when all have ended: nobody waits for
// another in between, and a thread that is out of memory stops and leaves the rest to
// the others.
#include "api/engine.h"
#include "base/thread.h"

typedef struct Hands {
    ApiItem *item;
    void *data;
    uint32_t count;
    atomic_uint next; // item
} Hands;

typedef struct Hand {
    Hands *all;
    pthread_t thread; // of all but the first, which is the caller's
    Mem mem;
    Arena kept, scratch, notes;
} Hand;

static void *work_on(void *arg) {
    Hand *hand = arg;
    Hands *all = hand->all;
    ApiRooms rooms = {&hand->kept, &hand->scratch, &hand->notes};
    jmp_buf recover;
    hand->mem.recover = &recover;
    if (setjmp(recover) != 0) return NULL;
    for (uint32_t i; (i = atomic_fetch_add(&all->next, 1)) < all->count;) {
        all->item(all->data, i, &rooms);
        arena_reset(&hand->scratch);
        arena_reset(&hand->notes);
    }
    return NULL;
}

// The system takes a while to tell, so it is asked once there is work for two.
unsigned api_engine_threads(ApiEngine *engine) {
    if (engine->threads == 0)
        engine->threads = engine->program->context->options.threads;
    if (engine->threads == 0) engine->threads = thread_cores();
    return engine->threads;
}

bool api_hands(ApiEngine *engine, uint64_t work, uint32_t count, ApiItem *item,
               void *data) {
    enum { MOST = 8, LEAST = 2000 }; // microseconds for one; to start it takes 100
    Arena *arena = &engine->program->arena;
    uint64_t most = work / LEAST < count ? work / LEAST : count;
    // What a ceiling or a test counts is one Mem's.
    if (most < 2 || arena->mem->limit != 0 || arena->mem->fail_at != 0) return false;
    if (most > api_engine_threads(engine)) most = api_engine_threads(engine);
    if (most > MOST) most = MOST;
    if (most < 2) return false;
    Hands all = {item, data, count, 0};
    size_t share = arena->mem->spare / most;
    Hand hands[MOST];
    uint32_t started = 0;
    for (uint32_t i = 0; i < most; i++) {
        Hand *hand = &hands[started];
        *hand = (Hand){.all = &all, .mem.spare_most = arena->mem->spare_most};
        mem_hand_on(arena->mem, &hand->mem, share);
        arena_init(&hand->kept, &hand->mem);
        arena_init(&hand->scratch, &hand->mem);
        arena_init(&hand->notes, &hand->mem);
        if (i > 0 && !thread_start(&hand->thread, work_on, hand)) {
            mem_trim(&hand->mem);
            break;
        }
        started++;
    }
    work_on(&hands[0]);
    for (uint32_t i = 0; i < started; i++) {
        if (i > 0) pthread_join(hands[i].thread, NULL);
        arena_free(&hands[i].scratch);
        arena_free(&hands[i].notes);
        arena_adopt(arena, &hands[i].kept);
        mem_hand_on(&hands[i].mem, arena->mem, SIZE_MAX);
        mem_trim(&hands[i].mem);
    }
    return true;
}
