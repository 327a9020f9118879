// SPDX-License-Identifier: Apache-2.0
//
// Messages of running programs, and how values look in them.
#include "core/messages.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const Str core_messages[MESSAGE_COUNT] = {
#define MESSAGE(name, text) {text, sizeof(text) - 1},
#include "core/messages.def"
#undef MESSAGE
};

// The shortest of printf's texts that reads back the same, with a point in any locale.
static void show_float(StrBuf *out, double value) {
    char digits[64];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    const char *point = localeconv()->decimal_point;
    for (char *at = digits; *at != 0; at++)
        if (*at == *point) *at = '.';
    strbuf_cstr(out, digits);
}

void core_show_scalar(StrBuf *out, ScalarType type, uint64_t bits) {
    unsigned unused = 64 - 8u * scalar_info[type].bytes;
    uint64_t wide;
    double value;
    switch (scalar_info[type].class) {
    case CLASS_BOOLEAN: strbuf_cstr(out, bits != 0 ? "true" : "false"); return;
    case CLASS_SIGNED:
        strbuf_printf(out, "%lld", (long long)((int64_t)(bits << unused) >> unused));
        return;
    case CLASS_UNSIGNED: strbuf_printf(out, "%llu", (unsigned long long)bits); return;
    case CLASS_FLOAT:
        core_eval(OP_CONV, type, SCALAR_F64, &bits, &wide);
        memcpy(&value, &wide, sizeof value);
        show_float(out, value);
        return;
    }
}

void core_fill_in(StrBuf *out, Str text, uint32_t count, const ScalarType *types,
                  const uint64_t *values) {
    for (size_t i = 0; i < text.len; i++) {
        uint32_t arg = UINT32_MAX;
        if (text.ptr[i] == '%' && i + 1 < text.len && text.ptr[i + 1] >= '0' &&
            text.ptr[i + 1] <= '9')
            arg = (uint32_t)(text.ptr[i + 1] - '0');
        if (arg < count) {
            core_show_scalar(out, types[arg], values[arg]);
            i++;
        } else {
            strbuf_char(out, text.ptr[i]);
        }
    }
}
