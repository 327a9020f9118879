// SPDX-License-Identifier: Apache-2.0
//
// Threads over pthreads. Only Linux can say and set where a thread runs; elsewhere
// pinning does nothing.
#define _GNU_SOURCE
#include "base/thread.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/stack.h"

bool thread_start(pthread_t *thread_out, void *(*run)(void *arg), void *arg) {
    sigset_t all, before;
    pthread_attr_t deep;
    if (pthread_attr_init(&deep) != 0) return false;
    sigfillset(&all);
    bool is_started = pthread_attr_setstacksize(&deep, STACK_MOST) == 0 &&
                      pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
    if (is_started) {
        is_started = pthread_create(thread_out, &deep, run, arg) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&deep);
    return is_started;
}

#ifdef __linux__

unsigned thread_cores(void) {
    cpu_set_t set;
    long cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    double quota = thread_quota("");
    if (cores <= 0) cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (quota > 0 && quota < (double)cores)
        cores = (long)quota + (quota > (double)(long)quota);
    return cores > 0 ? (unsigned)cores : 1;
}

_Static_assert(sizeof(cpu_set_t) <= sizeof(ThreadPlace), "a place holds a cpu_set_t");

void thread_pin(unsigned number, ThreadPlace *before_out) {
    cpu_set_t set, one;
    memset(before_out, 0, sizeof *before_out);
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) == 0) return;
    memcpy(before_out, &set, sizeof set);
    unsigned core = 0, left = number % (unsigned)CPU_COUNT(&set);
    while (!CPU_ISSET(core, &set) || left-- > 0) core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
}

void thread_unpin(const ThreadPlace *before) {
    cpu_set_t set;
    memcpy(&set, before, sizeof set);
    if (CPU_COUNT(&set) > 0) (void)sched_setaffinity(0, sizeof set, &set);
}

#else

unsigned thread_cores(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

void thread_pin(unsigned number, ThreadPlace *before_out) {
    (void)number, (void)before_out;
}

void thread_unpin(const ThreadPlace *before) {
    (void)before;
}

#endif
