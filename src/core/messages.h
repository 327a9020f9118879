// SPDX-License-Identifier: Apache-2.0
//
// What a running program can do wrong, in words that all engines share.
#ifndef WEFT_CORE_MESSAGES_H
#define WEFT_CORE_MESSAGES_H

#include "core/core.h"

typedef enum CoreMessage {
#define MESSAGE(name, text) MESSAGE_##name,
#include "core/messages.def"
#undef MESSAGE
    MESSAGE_COUNT
} CoreMessage;

extern const Str core_messages[MESSAGE_COUNT];

enum { CORE_SHOWN_PARTS = 8 }; // of a SPLIT that does not fit

// Appends the scalar as messages show it.
void core_show_scalar(StrBuf *out, ScalarType type, uint64_t bits);
// Appends the text with %0 ... %9 replaced by these values. What stands for no value
// stays as it is.
void core_fill_in(StrBuf *out, Str text, uint32_t count, const ScalarType *types,
                  const uint64_t *values);

#endif
