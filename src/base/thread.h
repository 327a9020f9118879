// SPDX-License-Identifier: Apache-2.0
//
// Threads as the runtime wants them: they take no signals. Thin over pthreads, whose
// mutexes and conditions are used directly.
#ifndef WEFT_BASE_THREAD_H
#define WEFT_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

// Cores that this process may use at once, at least 1: where it may run, and what its
// control group grants it the time of.
unsigned thread_cores(void);
// Of how many cores control groups grant the time; 0: they do not say. root is "" save
// in tests, which make files of their own there.
double thread_quota(const char *root);

// Starts run(arg) in a thread that blocks every signal and has as much stack as any
// phase counts on (base/stack.h). False when there are too many threads.
bool thread_start(pthread_t *thread_out, void *(*run)(void *arg), void *arg);

typedef struct ThreadPlace {
    uint64_t cores[16]; // a bit for each core; none: unknown
} ThreadPlace;

// Keeps the calling thread on one of the cores where it may run, the number-th, counted
// around, and tells where it could run before. Does nothing where the system cannot.
void thread_pin(unsigned number, ThreadPlace *before_out);
void thread_unpin(const ThreadPlace *before);

// Tells the processor that this thread only waits.
static inline void thread_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("pause");
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
