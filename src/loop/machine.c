// SPDX-License-Identifier: Apache-2.0
#include "loop/machine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// As the loader knows, where it tells; asking the CPU again takes longer.
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define HAS(feature, name) CPU_FEATURE_ACTIVE(feature)
#elif defined(__x86_64__)
#define HAS(feature, name) __builtin_cpu_supports(name)
#else
#define HAS(feature, name) 0
#endif

uint32_t machine_vector_bytes(void) {
    static const char *const names[] = {"0", "32", "64"};
    const char *wanted = getenv("WEFT_VECTOR_BYTES");
    for (uint32_t i = 0; i < 3 && wanted != NULL; i++)
        if (strcmp(wanted, names[i]) == 0) return 32 * i;
    if (!HAS(AVX2, "avx2")) return 0;
    // Those that have these two have all that is needed.
    return HAS(AVX512BW, "avx512bw") && HAS(AVX512DQ, "avx512dq") ? 64 : 32;
}

uint32_t machine_near_bytes(uint32_t vector_bytes) {
    enum { VECTORS = 8 << 10, LARGE = 2 << 20 };
    long cache = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
    cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return vector_bytes * VECTORS * (vector_bytes == 64 && cache >= LARGE ? 2 : 1);
}

bool machine_core_draws_most(void) {
    return HAS(SSE4A, "sse4a"); // which only AMD's have
}
