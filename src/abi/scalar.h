// SPDX-License-Identifier: Apache-2.0
//
// Scalar types, shared by the compiler, generated code and the runtime. A scalar
// travels as 64 bits: integers zero-extended from their width, bool 0 or 1, floats as
// their IEEE bits (f16 in the low 16, f32 in the low 32).
#ifndef WEFT_ABI_SCALAR_H
#define WEFT_ABI_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ScalarClass { CLASS_BOOLEAN, CLASS_SIGNED, CLASS_UNSIGNED, CLASS_FLOAT }
    ScalarClass;

typedef enum ScalarType {
#define SCALAR(name, text, bytes, class, binary) SCALAR_##name,
#include "abi/types.def"
#undef SCALAR
    SCALAR_COUNT
} ScalarType;

typedef struct ScalarInfo {
    const char *name;
    uint8_t bytes;
    ScalarClass class;
    const char *binary_name;  // four characters
} ScalarInfo;

extern const ScalarInfo scalar_info[SCALAR_COUNT];

// Finds a type by its name; returns whether there is one.
bool scalar_by_name(const char *name, size_t len, ScalarType *type_out);
static inline bool scalar_is_float(ScalarType t) {
    return scalar_info[t].class == CLASS_FLOAT;
}
static inline bool scalar_is_int(ScalarType t) {
    return scalar_info[t].class == CLASS_SIGNED || scalar_info[t].class == CLASS_UNSIGNED;
}
static inline bool scalar_is_signed(ScalarType t) {
    return scalar_info[t].class == CLASS_SIGNED;
}

#endif
