// SPDX-License-Identifier: Apache-2.0
//
// What differs between the languages that kernels are written in. The names of types
// are common: those of <stdint.h>, which every head has, bool, float and double. So are
// those of helper functions, which begin with weft_ and half_.
#ifndef WEFT_EMIT_DIALECT_H
#define WEFT_EMIT_DIALECT_H

#include "emit/emit.h"

enum { MOST_HEADS = 4 };

struct Dialect {
    const char *element_of_bool; // what a bool is in a buffer
    const char *global;          // before the type of what lies in a buffer
    const char *local, *shared;  // of one that a team shares: likewise, and to make it
    const char *address;         // before a slot, to make an address of it
    const char *function;        // before a function
    const char *entry;           // before the function of a launch
    const char *math;            // before the name of a function of <math.h>
    bool math_has_suffix;        // sqrtf for f32, rather than sqrt for all
    // Texts at the start of every file; of one that has f64 or f16; of one that has
    // f16.
    const char *head[MOST_HEADS], *head_f64[MOST_HEADS], *head_f16[MOST_HEADS];
    const char *head_lanes[MOST_HEADS]; // of one with vectors
    const char *head_wide[MOST_HEADS];  // of one with vectors of 64 bytes
    const char *head_long[MOST_HEADS];  // before all, if their turns multiply and add
    const char *head_sift[MOST_HEADS];  // of one that sifts
};

// ---- scalar.c -----------------------------------------------------------------------

// What a scalar of that type is declared as.
extern const char *const emit_types[SCALAR_COUNT];

// The helper functions that a file needs.
typedef struct Helpers {
    bool is_used[OP_COUNT][SCALAR_COUNT];
    bool to_int[SCALAR_COUNT][SCALAR_COUNT]; // from f32 or f64 to that type
    Map made;                                // those for lanes
    Map loaded;                              // constants that lie in memory
    StrBuf lanes;                            // the text of both
} Helpers;

// Appends the expression of a scalar operator on these operands.
void emit_scalar(const Dialect *dialect, CoreOp op, ScalarType in, ScalarType to,
                 const Str *operands, Helpers *helpers, StrBuf *out);
// Appends the definitions of the helpers used.
void emit_helpers(const Dialect *dialect, const Helpers *helpers, StrBuf *out);
// Appends a constant.
void emit_constant(ScalarType type, uint64_t bits, StrBuf *out);
// Appends the scalar with these bits, and back: its bits, as an unsigned number.
void emit_of_bits(ScalarType type, Str bits, StrBuf *out);
void emit_bits(ScalarType type, Str value, StrBuf *out);

// ---- lanes.c ------------------------------------------------------------------------

// A vector: its lanes, and the bits that a mask has for each.
typedef struct Lanes {
    uint32_t count, mask;
} Lanes;

// Appends the name of a vector; of bool that of a mask.
void emit_lanes_type(ScalarType type, Lanes lanes, StrBuf *out);
// Appends the mask with lanes as wide as those of that type.
void emit_mask_for(ScalarType type, Lanes lanes, Str mask, StrBuf *out);
// Appends a constant that lies in memory, of which compilers do not know the value.
void emit_loaded(uint64_t bits, Helpers *helpers, StrBuf *out);
// Appends the expression of a scalar operator on vectors.
void emit_lanes(const Dialect *dialect, CoreOp op, ScalarType in, ScalarType to,
                Lanes lanes, const Str *operands, Helpers *helpers, StrBuf *out);

#endif
