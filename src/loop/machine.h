// SPDX-License-Identifier: Apache-2.0
//
// What the passes and the emitter know of the machine that code is made for.
#ifndef WEFT_LOOP_MACHINE_H
#define WEFT_LOOP_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

// The bytes of a vector here: 64 (AVX-512), 32 (AVX2), or 0 if there are none that
// lanes gain by. $WEFT_VECTOR_BYTES, one of these numbers, says otherwise.
uint32_t machine_vector_bytes(void);

// What fits beside all else in the second cache of a core that has vectors of so many
// bytes: 8,192 vectors, or, of 64 bytes, twice as many where the cache has 2 MiB.
uint32_t machine_near_bytes(uint32_t vector_bytes);

// Whether one core alone draws most of what memory gives a few. AMD's do, three
// quarters of what those beside each other share; cores on Intel's meshes do not.
bool machine_core_draws_most(void);

// How many registers hold vectors of so many bytes.
static inline uint32_t machine_registers(uint32_t bytes) {
    return bytes == 64 ? 32 : 16;
}

#endif
