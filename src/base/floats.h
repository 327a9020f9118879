// SPDX-License-Identifier: Apache-2.0
//
// Floats as the language has them, whatever the thread of the caller is set to:
// rounding to nearest, subnormal numbers kept, no traps.
//
//     FloatState state = floats_enter();
//     ...
//     floats_leave(&state);
#ifndef WEFT_BASE_FLOATS_H
#define WEFT_BASE_FLOATS_H

#include <fenv.h>

#ifdef __SSE2__ // all floats go by one register; <fenv.h> would save the old unit, too

typedef unsigned FloatState;

static inline FloatState floats_enter(void) {
    enum { DEFAULT = 0x1F80 };
    FloatState state = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(DEFAULT);
    return state;
}

static inline void floats_leave(const FloatState *state) {
    __builtin_ia32_ldmxcsr(*state);
}

#else

typedef fenv_t FloatState;

static inline FloatState floats_enter(void) {
    FloatState state;
    fegetenv(&state);
    fesetenv(FE_DFL_ENV);
    return state;
}

static inline void floats_leave(const FloatState *state) {
    fesetenv(state);
}

#endif

#endif
