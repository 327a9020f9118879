// SPDX-License-Identifier: Apache-2.0
//
// A model checker that runs the real code. The sources under test are compiled against
// shim/, so that each atomic operation, lock and wait calls in here. Threads are
// coroutines in one block of memory, the world: stacks, heap, locks, store buffers. The
// checker goes through all the worlds that any order of steps can lead to, depth first,
// by copying the world back, and turns around at worlds it has seen (by a 64-bit hash).
// It fails on a MODEL_CHECK, a crash, a world where nobody can go on, or if no order
// comes to an end.
//
// Memory is weaker than that of x86: a store that is not sequentially consistent waits
// in its thread's buffer. Relaxed stores leave it in any order (those to one address in
// theirs), a release store after all before it; read-modify-writes act on memory at
// once, after the whole buffer if they release. Sequentially consistent stores empty
// the buffer, and so do locks. Loads happen in program order: that acquire is enough
// where it is used is argued in docs/internals/pool.md, not tested here.
#ifndef WEFT_MODEL_EXPLORE_H
#define WEFT_MODEL_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum memory_order {
    memory_order_relaxed,
    memory_order_acquire,
    memory_order_release,
    memory_order_acq_rel,
    memory_order_seq_cst
} memory_order;

typedef struct ModelMutex {
    bool is_locked;
} ModelMutex;

typedef struct ModelCond {
    char unused;
} ModelCond;

#define MODEL_TEXT_(x) #x
#define MODEL_TEXT(x)  MODEL_TEXT_(x)
#define MODEL_HERE     __FILE__ ":" MODEL_TEXT(__LINE__)
#define MODEL_CHECK(condition)                                                         \
    ((condition) ? (void)0 : model_fail(MODEL_HERE ": " #condition))

uint64_t model_load(const volatile void *at, size_t size, const char *here);
void model_store(volatile void *at, size_t size, uint64_t value, memory_order order,
                 const char *here);
uint64_t model_add(volatile void *at, size_t size, uint64_t value, memory_order order,
                   const char *here);
bool model_exchange(volatile void *at, size_t size, void *expected, uint64_t value,
                    memory_order order, const char *here);
void model_lock(ModelMutex *mutex, const char *here);
void model_unlock(ModelMutex *mutex);
void model_wait(ModelCond *cond, ModelMutex *mutex, const char *here);
void model_signal(ModelCond *cond);
int model_spawn(void *(*run)(void *arg), void *arg);
int model_join(int thread, const char *here);
// Memory of the world, zeroed; never given back.
void *model_alloc(size_t size);
// Prints what happened and ends the process with status 1.
_Noreturn void model_fail(const char *why);

// Runs main_thread in every order; returns the number of worlds seen.
uint64_t model_explore(void (*main_thread)(void));

#endif
