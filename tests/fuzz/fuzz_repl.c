// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a dialogue with a session: each line is a text; the first byte of some
// asks for something else. Nothing may crash or leak; a text that runs for long is
// cancelled, one that wants much memory fails; and whatever happened, the session
// answers afterwards.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/testing.h"
#include "weft.h"

enum { MOST_TEXTS = 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static WeftContext *context;

// Called about ten times a second by what compiles or runs.
static void cancel_if_long(void *data, const WeftProgress *progress) {
    (void)data;
    if (progress->seconds > 0.5) weft_cancel(context);
}

static int swallow(void *data, const char *bytes, size_t length) {
    (void)bytes;
    size_t *left = data;
    if (length > *left) return 1;
    *left -= length;
    return 0;
}

static void evaluate(WeftSession *session, const char *text, size_t length) {
    WeftValue *value;
    const char *types;
    size_t left = 100000;
    if (weft_session_eval(session, "fuzz", text, length, &value, &types) !=
        WEFT_STATUS_OK) {
        if (weft_render(context, 1)[0] == '\0') abort();
        return;
    }
    if (value != NULL) weft_value_print(value, WEFT_FORMAT_TEXT, swallow, &left);
    weft_session_define(session, "kept", value);
    weft_value_free(value);
}

static void say(WeftSession *session, const char *text, size_t length) {
    const char *out;
    char prefix[32] = "";
    switch (length > 0 ? text[0] : '\0') {
    case ':': weft_session_type(session, "fuzz", text + 1, length - 1, &out); return;
    case '%': weft_session_core(session, "fuzz", text + 1, length - 1, &out); return;
    case '?':
        memcpy(prefix, text + 1, length - 1 < 31 ? length - 1 : 31);
        weft_session_complete(session, prefix, &out);
        return;
    default: evaluate(session, text, length);
    }
}

// Lines, or where a byte 1 ends them: texts of several lines.
static const char *end_of_text(const char *at, const char *end) {
    const char *line = memchr(at, '\n', (size_t)(end - at));
    const char *mark = memchr(at, '\1', (size_t)(end - at));
    const char *found = mark != NULL ? mark : line;
    return found != NULL ? found : end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    WeftOptions options = {.struct_size = sizeof options,
                           .memory_ceiling = (size_t)256 << 20,
                           .progress = cancel_if_long};
    WeftSession *session;
    if (weft_context_new(&options, &context) != WEFT_STATUS_OK) return 0;
    if (weft_session_new(context, &session) != WEFT_STATUS_OK) abort();
    const char *at = (const char *)data, *end = at + size;
    for (int i = 0; at < end && i < MOST_TEXTS; i++) {
        const char *stop = end_of_text(at, end);
        weft_text_wants_more(context, at, (size_t)(stop - at));
        say(session, at, (size_t)(stop - at));
        at = stop < end ? stop + 1 : end;
    }
    const char *out;
    WeftValue *value;
    if (weft_session_names(session, &out) != WEFT_STATUS_OK ||
        weft_session_source(session, &out) != WEFT_STATUS_OK)
        abort();
    WeftStatus status = weft_session_eval(session, "end", "1", 1, &value, &out);
    if (status == WEFT_STATUS_CANCELLED) // meant for what was over by then
        status = weft_session_eval(session, "end", "1", 1, &value, &out);
    if (status != WEFT_STATUS_OK) abort();
    if (weft_testing_context_free(context) != 0) abort();
    return 0;
}
