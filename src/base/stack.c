// SPDX-License-Identifier: Apache-2.0
//
// The bounds of the running thread's stack, from pthreads; never more than 8 MiB of it
// is counted on, and a reserve is kept for leaf functions and signal handlers. For the
// first thread pthreads would read the list of all mappings, which is slow: its stack
// starts where the kernel put the program's name, and its limit says where it ends.
#define _GNU_SOURCE
#include "base/stack.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __linux__
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

enum { RESERVE = 256 << 10, FALLBACK = 1 << 20 };

// Bytes from here to the end of the first thread's stack; 0 if this is not it.
static size_t below_first(const char *here) {
#ifdef __linux__
    const char *start = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    struct rlimit limit;
    bool is_first = gettid() == getpid() && here < start;
    if (!is_first || getrlimit(RLIMIT_STACK, &limit) != 0) return 0;
    size_t size = limit.rlim_cur < STACK_MOST ? (size_t)limit.rlim_cur : STACK_MOST;
    size_t used = (size_t)(start - here);
    return used < size ? size - used : 0;
#else
    (void)here;
    return 0;
#endif
}

static size_t below_any(const char *here) {
    size_t below = FALLBACK;
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) != 0) return below;
    void *base = NULL;
    size_t size = 0, guard = 0;
    if (pthread_attr_getstack(&attr, &base, &size) == 0 &&
        pthread_attr_getguardsize(&attr, &guard) == 0 && here > (char *)base)
        below = (size_t)(here - (char *)base);
    pthread_attr_destroy(&attr);
    return below > guard ? below - guard : below;
}

// What is known of the thread's stack: its end counts for whoever is further down.
static _Thread_local struct { const char *from, *lowest; } known;

void stack_measure(Stack *stack) {
    const char *here = __builtin_frame_address(0);
    if (here > known.from || here <= known.lowest) {
        size_t below = below_first(here);
        if (below == 0) below = below_any(here);
        if (below > STACK_MOST) below = STACK_MOST;
        known.from = here;
        known.lowest = below > RESERVE ? here - (below - RESERVE) : here;
    }
    stack->lowest = known.lowest;
}

bool stack_is_low(const Stack *stack) {
    return (const char *)__builtin_frame_address(0) < stack->lowest;
}
