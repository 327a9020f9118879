// SPDX-License-Identifier: Apache-2.0
//
// The bounds of the running thread's stack, from pthreads; never more than 8 MiB of it
// is counted on, and a reserve is kept for leaf functions and signal handlers.
#define _GNU_SOURCE
#include "base/stack.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { RESERVE = 256 << 10, MOST = 8 << 20, FALLBACK = 1 << 20 };

void stack_measure(Stack *stack) {
    const char *here = __builtin_frame_address(0);
    size_t below = FALLBACK;  // bytes between here and the end of the stack
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        void *base = NULL;
        size_t size = 0, guard = 0;
        if (pthread_attr_getstack(&attr, &base, &size) == 0 &&
            pthread_attr_getguardsize(&attr, &guard) == 0 && here > (char *)base)
            below = (size_t)(here - (char *)base);
        if (below > guard) below -= guard;
        pthread_attr_destroy(&attr);
    }
    if (below > MOST) below = MOST;
    stack->lowest = below > RESERVE ? here - (below - RESERVE) : here;
}

bool stack_is_low(const Stack *stack) {
    return (const char *)__builtin_frame_address(0) < stack->lowest;
}
