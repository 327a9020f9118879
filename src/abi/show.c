// SPDX-License-Identifier: Apache-2.0
//
// Scalars and messages as text (show.h).
#include "abi/show.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/half.h"

// The shortest of printf's texts that reads back the same, with a point in any locale.
static void show_float(double value, char text_out[SHOW_SCALAR]) {
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(text_out, SHOW_SCALAR, "%.*g", precision, value);
        if (strtod(text_out, NULL) == value) break;
    }
    const char *point = localeconv()->decimal_point;
    for (char *at = text_out; *at != 0; at++)
        if (*at == *point) *at = '.';
}

static double to_double(ScalarType type, uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float single;
    double value;
    if (type == SCALAR_F16) return half_to_double((uint16_t)bits);
    memcpy(&single, &low, sizeof single);
    memcpy(&value, &bits, sizeof value);
    return type == SCALAR_F32 ? (double)single : value;
}

size_t show_scalar(ScalarType type, uint64_t bits, char text_out[SHOW_SCALAR]) {
    unsigned unused = 64 - 8u * scalar_info[type].bytes;
    switch (scalar_info[type].class) {
    case CLASS_BOOLEAN: strcpy(text_out, bits != 0 ? "true" : "false"); break;
    case CLASS_SIGNED:
        snprintf(text_out, SHOW_SCALAR, "%lld",
                 (long long)((int64_t)(bits << unused) >> unused));
        break;
    case CLASS_UNSIGNED:
        snprintf(text_out, SHOW_SCALAR, "%llu", (unsigned long long)bits);
        break;
    case CLASS_FLOAT: show_float(to_double(type, bits), text_out); break;
    }
    return strlen(text_out);
}

size_t show_filled_in(char *out, size_t room, const char *text, size_t len,
                      uint32_t count, const ScalarType *types, const uint64_t *values) {
    size_t total = 0;
    for (size_t i = 0; i < len; i++) {
        char shown[SHOW_SCALAR] = {text[i]};
        size_t shown_len = 1;
        unsigned digit =
            i + 1 < len ? (unsigned)((unsigned char)text[i + 1] - '0') : 10;
        if (text[i] == '%' && digit < 10 && digit < count) {
            shown_len = show_scalar(types[digit], values[digit], shown);
            i++;
        }
        for (size_t k = 0; k < shown_len; k++, total++)
            if (total < room) out[total] = shown[k];
    }
    return total;
}
