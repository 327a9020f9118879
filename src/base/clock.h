// SPDX-License-Identifier: Apache-2.0
//
// Time, for saying how long something takes.
#ifndef WEFT_BASE_CLOCK_H
#define WEFT_BASE_CLOCK_H

// Seconds on a clock that only goes forward, from a start that means nothing.
#include <stdint.h>

double clock_seconds(void);
uint64_t clock_ns(void); // the same clock, in nanoseconds
uint64_t clock_thread_ns(void); // for which the calling thread had a core

#endif
