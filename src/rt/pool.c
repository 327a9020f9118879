// SPDX-License-Identifier: Apache-2.0
//
// The life of a pool: its one allocation, its threads, and the thread that enters. What
// the threads do meanwhile is sched.c.
#define _POSIX_C_SOURCE 200809L
#include "rt/pool.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "rt/sched.h"

enum { DEFAULT_SPIN_US = 50 };

static double spin_of(const RtPoolOptions *options, unsigned threads, unsigned cores) {
    if (options->spin_us != 0)
        return options->spin_us > 0 ? options->spin_us * 1e-6 : 0;
    return threads <= cores ? DEFAULT_SPIN_US * 1e-6 : 0;
}

RtPool *rt_pool_new(Mem *mem, const RtPoolOptions *options) {
    unsigned cores = thread_cores();
    unsigned threads = options->threads != 0 ? options->threads : cores;
    if (threads > RT_THREADS_MAX) threads = RT_THREADS_MAX;
    size_t size = sizeof(RtPool) + threads * sizeof(RtWorker);
    RtPool *pool = mem_try_alloc(mem, size);
    if (pool == NULL) return NULL;
    memset(pool, 0, size);
    pool->mem = mem;
    pool->size = size;
    pool->thread_count = threads;
    pool->spin = spin_of(options, threads, cores);
    pool->is_pinned = options->pin;
    pool->first_core = options->first;
    return pool;
}

unsigned rt_pool_threads(const RtPool *pool) {
    return pool->thread_count;
}

static void *work(void *arg) {
    RtWorker *self = arg;
    ThreadPlace unused;
    floats_enter();
    if (self->pool->is_pinned)
        thread_pin(self->pool->first_core + self->number, &unused);
    sched_help(self, &self->pool->life);
    return NULL;
}

// Makes everything but the options anew: after a fork, what is there belongs to threads
// that are not.
static void start(RtPool *pool) {
    pool->process = (int)getpid();
    pool->life = (RtJob){.owner = &pool->workers[0], .depth = 1};
    atomic_init(&pool->life.pending, 1);
    atomic_init(&pool->hungry, 0);
    atomic_init(&pool->sleepers, 0);
    atomic_init(&pool->signalled_count, 0);
    pool->signalled = NULL;
    pool->lock = pool->failing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    memset(pool->workers, 0, pool->thread_count * sizeof *pool->workers);
    for (unsigned i = 0; i < pool->thread_count; i++) {
        RtWorker *worker = &pool->workers[i];
        worker->pool = pool;
        worker->number = worker->victim = i;
        worker->wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    }
    pool->started_count = 1;
    for (unsigned i = 1; i < pool->thread_count; i++) {
        atomic_fetch_add(&pool->hungry, 1); // on its behalf: it may take long to appear
        if (!thread_start(&pool->workers[i].thread, work, &pool->workers[i])) {
            atomic_fetch_sub(&pool->hungry, 1);
            break;
        }
        pool->started_count = i + 1;
    }
}

void rt_pool_free(RtPool *pool) {
    if (pool == NULL) return;
    if (pool->process == (int)getpid()) {
        sched_end(pool);
        for (unsigned i = 1; i < pool->started_count; i++)
            pthread_join(pool->workers[i].thread, NULL);
    }
    mem_free(pool->mem, pool, pool->size);
}

RtWorker *rt_pool_enter(RtPool *pool) {
    if (pool->process != (int)getpid()) start(pool);
    pool->entered_floats = floats_enter();
    if (pool->is_pinned) thread_pin(pool->first_core, &pool->entered_place);
    return &pool->workers[0];
}

void rt_pool_leave(RtPool *pool) {
    assert(pool->workers[0].depth == 0);
    if (pool->is_pinned) thread_unpin(&pool->entered_place);
    floats_leave(&pool->entered_floats);
}
