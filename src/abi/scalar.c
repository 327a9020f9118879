// SPDX-License-Identifier: Apache-2.0
//
// The table of scalar types.
#include "abi/scalar.h"

#include <string.h>

const ScalarInfo scalar_info[SCALAR_COUNT] = {
#define SCALAR(name, text, bytes, class, binary) {text, bytes, CLASS_##class, binary},
#include "abi/types.def"
#undef SCALAR
};

bool scalar_by_name(const char *name, size_t len, ScalarType *type_out) {
    for (int t = 0; t < SCALAR_COUNT; t++) {
        if (strlen(scalar_info[t].name) != len) continue;
        if (memcmp(scalar_info[t].name, name, len) != 0) continue;
        *type_out = (ScalarType)t;
        return true;
    }
    return false;
}
