// SPDX-License-Identifier: Apache-2.0
//
// The search. A step is: a thread goes on from one point to the next, or one store
// leaves a buffer. Only what is in the world is part of it, so coroutines may keep
// nothing elsewhere.
#define _GNU_SOURCE
#include "explore.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { THREADS = 3, STACK = 3 << 10, HEAP = 3 << 10, BUFFER = 6, DEPTH = 4000 };
enum { FRAME = 256 }; // below a saved frame: what the switch itself has pushed

typedef struct Store {
    volatile void *at;
    size_t size;
    uint64_t value;
    bool is_release;
} Store;

typedef struct Thread {
    enum { UNUSED, NEW, READY, LOCKING, WAITING, JOINING, DONE } state;
    const void *waits_for; // a mutex, condition or thread
    ModelMutex *mutex;     // that a waiting thread wants back
    const char *here;
    char *frame; // the stack in use begins near
    jmp_buf at;
    void *(*run)(void *arg);
    void *arg;
    unsigned stored;
    Store buffer[BUFFER]; // oldest first
} Thread;

static struct World {
    Thread threads[THREADS];
    size_t heap_used;
    _Alignas(64) char heap[HEAP];
    _Alignas(64) char stacks[THREADS][STACK];
} world;

static Thread *self;     // who runs
static jmp_buf searcher; // where it goes at its next point
static ucontext_t fresh; // registers that coroutines start with, always the same
static void (*root)(void);

typedef struct Step {
    int thread;
    int store; // index of the store that leaves the buffer; -1: the thread runs
    const char *here;
} Step;

static Step path[DEPTH];
static int path_len;

_Noreturn void model_fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    for (int i = 0; i < path_len; i++)
        fprintf(stderr, "  thread %d %s %s\n", path[i].thread,
                path[i].store < 0 ? "goes on at" : "has its store seen of",
                path[i].here);
    _exit(1);
}

static void crash(int signal_number) {
    (void)signal_number;
    model_fail("a crash");
}

// ---- what the code under test calls ------------------------------------------------

static __attribute__((noinline)) void pause_in(int state, const void *waits_for,
                                               const char *here) {
    self->state = state;
    self->waits_for = waits_for;
    self->here = here;
    self->frame = __builtin_frame_address(0);
    if (_setjmp(self->at) == 0) _longjmp(searcher, 1);
}

static uint64_t read_memory(const volatile void *at, size_t size) {
    uint64_t value = 0;
    memcpy(&value, (const void *)at, size);
    return value;
}

static void write_memory(volatile void *at, size_t size, uint64_t value) {
    memcpy((void *)at, &value, size);
}

static void let_out(Thread *thread, unsigned index) {
    Store *store = &thread->buffer[index];
    write_memory(store->at, store->size, store->value);
    memmove(store, store + 1, (--thread->stored - index) * sizeof *store);
    memset(&thread->buffer[thread->stored], 0, sizeof *store);
}

static void let_all_out(Thread *thread) {
    while (thread->stored > 0) let_out(thread, 0);
}

// Whether the store may be seen before those that are older.
static bool may_leave(const Thread *thread, unsigned index) {
    if (index > 0 && thread->buffer[index].is_release) return false;
    for (unsigned i = 0; i < index; i++)
        if (thread->buffer[i].at == thread->buffer[index].at) return false;
    return true;
}

uint64_t model_load(const volatile void *at, size_t size, const char *here) {
    pause_in(READY, NULL, here);
    for (unsigned i = self->stored; i-- > 0;)
        if (self->buffer[i].at == at) return self->buffer[i].value;
    return read_memory(at, size);
}

void model_store(volatile void *at, size_t size, uint64_t value, memory_order order,
                 const char *here) {
    pause_in(READY, NULL, here);
    if (order == memory_order_seq_cst) {
        let_all_out(self);
        write_memory(at, size, value);
        return;
    }
    if (self->stored == BUFFER) let_out(self, 0);
    self->buffer[self->stored++] =
        (Store){at, size, value, order == memory_order_release};
}

// Makes the older stores seen that a read-modify-write must follow.
static void before_update(volatile void *at, memory_order order) {
    if (order >= memory_order_release) {
        let_all_out(self);
        return;
    }
    for (unsigned i = 0; i < self->stored;)
        if (self->buffer[i].at == at) let_out(self, i);
        else i++;
}

uint64_t model_add(volatile void *at, size_t size, uint64_t value, memory_order order,
                   const char *here) {
    pause_in(READY, NULL, here);
    before_update(at, order);
    uint64_t before = read_memory(at, size);
    write_memory(at, size, before + value);
    return before;
}

bool model_exchange(volatile void *at, size_t size, void *expected, uint64_t value,
                    memory_order order, const char *here) {
    pause_in(READY, NULL, here);
    before_update(at, order);
    if (memcmp((const void *)at, expected, size) != 0) {
        memcpy(expected, (const void *)at, size);
        return false;
    }
    write_memory(at, size, value);
    return true;
}

void model_lock(ModelMutex *mutex, const char *here) {
    pause_in(LOCKING, mutex, here);
    let_all_out(self);
    mutex->is_locked = true;
}

void model_unlock(ModelMutex *mutex) {
    let_all_out(self);
    mutex->is_locked = false;
}

void model_wait(ModelCond *cond, ModelMutex *mutex, const char *here) {
    model_unlock(mutex);
    self->mutex = mutex;
    pause_in(WAITING, cond, here);
    mutex->is_locked = true;
}

void model_signal(ModelCond *cond) {
    for (int i = 0; i < THREADS; i++) {
        Thread *thread = &world.threads[i];
        if (thread->state != WAITING || thread->waits_for != cond) continue;
        thread->state = LOCKING;
        thread->waits_for = thread->mutex;
        return;
    }
}

int model_spawn(void *(*run)(void *arg), void *arg) {
    int number = 0;
    while (world.threads[number].state != UNUSED) number++;
    world.threads[number].state = NEW;
    world.threads[number].here = "its start";
    world.threads[number].run = run;
    world.threads[number].arg = arg;
    let_all_out(self);
    return number;
}

int model_join(int thread, const char *here) {
    pause_in(JOINING, &world.threads[thread], here);
    return 0;
}

void *model_alloc(size_t size) {
    size = (size + 63) & ~(size_t)63;
    if (size > HEAP - world.heap_used) model_fail("the heap is too small");
    world.heap_used += size;
    return world.heap + world.heap_used - size;
}

// ---- the search ---------------------------------------------------------------------

static void begin(void) {
    if (self->run == NULL) root();
    else self->run(self->arg);
    let_all_out(self);
    self->state = DONE;
    self->frame = world.stacks[self - world.threads] + STACK;
    memset(self->at, 0, sizeof self->at);
    _longjmp(searcher, 1);
}

static bool can_run(const Thread *thread) {
    switch (thread->state) {
    case NEW:
    case READY: return true;
    case LOCKING: return !((const ModelMutex *)thread->waits_for)->is_locked;
    case JOINING: return ((const Thread *)thread->waits_for)->state == DONE;
    case UNUSED:
    case WAITING:
    case DONE: break;
    }
    return false;
}

static void go_on(Thread *thread) {
    self = thread;
    if (_setjmp(searcher) != 0) return;
    if (thread->state != NEW) _longjmp(thread->at, 1);
    char *stack = world.stacks[thread - world.threads];
    ucontext_t start = fresh;
    start.uc_stack.ss_sp = stack;
    start.uc_stack.ss_size = STACK;
    start.uc_link = NULL;
    makecontext(&start, begin, 0);
    setcontext(&start);
}

static uint64_t hash_world(void) {
    uint64_t hash = XXH3_64bits(world.threads, sizeof world.threads);
    hash = XXH3_64bits_withSeed(world.heap, world.heap_used, hash);
    for (int i = 0; i < THREADS; i++) {
        const Thread *thread = &world.threads[i];
        if (thread->frame == NULL) continue;
        char *end = world.stacks[i] + STACK;
        if (thread->frame - world.stacks[i] < 1024) model_fail("a stack is too small");
        char *from = thread->state == DONE ? end : thread->frame - FRAME;
        hash = XXH3_64bits_withSeed(from, (size_t)(end - from), hash);
    }
    return hash;
}

static uint64_t *seen;
static uint64_t seen_count, seen_room;

static bool is_new(uint64_t hash) {
    if (seen_count * 2 >= seen_room) {
        uint64_t *old = seen, old_room = seen_room;
        seen_room = seen_room == 0 ? 1 << 16 : seen_room * 2;
        seen = calloc(seen_room, sizeof *seen);
        if (seen == NULL) model_fail("out of memory");
        for (uint64_t i = 0; i < old_room; i++) {
            if (old[i] == 0) continue;
            uint64_t at = old[i] & (seen_room - 1);
            while (seen[at] != 0) at = (at + 1) & (seen_room - 1);
            seen[at] = old[i];
        }
        free(old);
    }
    hash += hash == 0;
    uint64_t at = hash & (seen_room - 1);
    for (; seen[at] != 0; at = (at + 1) & (seen_room - 1))
        if (seen[at] == hash) return false;
    seen[at] = hash;
    seen_count++;
    return true;
}

// The steps possible in the world; returns how many.
static int list_steps(Step *steps) {
    int count = 0;
    for (int i = 0; i < THREADS; i++) {
        Thread *thread = &world.threads[i];
        if (can_run(thread)) steps[count++] = (Step){i, -1, thread->here};
        for (unsigned k = 0; k < thread->stored; k++)
            if (may_leave(thread, k)) steps[count++] = (Step){i, (int)k, "its buffer"};
    }
    return count;
}

static uint64_t end_count;

static void search(void) {
    Step steps[THREADS * (BUFFER + 1)];
    int count = list_steps(steps);
    if (count == 0) {
        for (int i = 0; i < THREADS; i++)
            if (world.threads[i].state != UNUSED && world.threads[i].state != DONE)
                model_fail("nobody can go on");
        end_count++;
        return;
    }
    struct World *before = NULL;
    if (path_len == DEPTH) model_fail("too many steps");
    if (count > 1) {
        before = malloc(sizeof world);
        if (before == NULL) model_fail("out of memory");
        memcpy(before, &world, sizeof world);
    }
    for (int i = 0; i < count; i++) {
        if (i > 0) memcpy(&world, before, sizeof world);
        path[path_len++] = steps[i];
        Thread *thread = &world.threads[steps[i].thread];
        if (steps[i].store >= 0) let_out(thread, (unsigned)steps[i].store);
        else go_on(thread);
        if (is_new(hash_world())) search();
        path_len--;
    }
    free(before);
}

uint64_t model_explore(void (*main_thread)(void)) {
    static char crash_stack[1 << 16];
    sigaltstack(&(stack_t){.ss_sp = crash_stack, .ss_size = sizeof crash_stack}, NULL);
    sigaction(SIGSEGV, &(struct sigaction){.sa_handler = crash, .sa_flags = SA_ONSTACK},
              NULL);
    getcontext(&fresh);
    memset(&world, 0, sizeof world);
    free(seen);
    seen = NULL;
    seen_count = seen_room = 0;
    root = main_thread;
    world.threads[0].state = NEW;
    world.threads[0].here = "its start";
    end_count = 0;
    search();
    if (end_count == 0) model_fail("no order of steps comes to an end");
    return seen_count;
}
