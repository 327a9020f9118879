// SPDX-License-Identifier: Apache-2.0
//
// Messages of running programs, with values in them.
#include "core/messages.h"

#include "abi/show.h"

const Str core_messages[MESSAGE_COUNT] = {
#define MESSAGE(name, text) {text, sizeof(text) - 1},
#include "core/messages.def"
#undef MESSAGE
};

void core_show_scalar(StrBuf *out, ScalarType type, uint64_t bits) {
    char text[SHOW_SCALAR];
    strbuf_bytes(out, text, show_scalar(type, bits, text));
}

void core_fill_in(StrBuf *out, Str text, uint32_t count, const ScalarType *types,
                  const uint64_t *values) {
    size_t len = show_filled_in(NULL, 0, text.ptr, text.len, count, types, values);
    char *filled = arena_alloc(out->arena, len);
    show_filled_in(filled, len, text.ptr, text.len, count, types, values);
    strbuf_bytes(out, filled, len);
}
