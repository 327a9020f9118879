// SPDX-License-Identifier: Apache-2.0
//
// The events of a recording as a trace, in Chrome's trace event format: an object with
// the list "traceEvents", in which "M" names rows, "X" is an event and "i" a remark.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"

typedef struct TraceCall {
    WeftWriter writer;
    void *data;
    DataSink sink;
    bool has_rows; // something stands before: a comma is needed
} TraceCall;

static bool write_through(void *data, const char *bytes, size_t len) {
    TraceCall *call = data;
    return call->writer(call->data, bytes, len) == 0;
}

static void __attribute__((format(printf, 2, 3)))
put(TraceCall *call, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    data_put(&call->sink, text, (size_t)len < sizeof text ? (size_t)len : 0);
}

// What a JSON string holds; bytes that are no UTF-8 are replaced.
static void put_text(TraceCall *call, Str text) {
    while (text.len > 0) {
        size_t len = str_utf8(text);
        unsigned char c = (unsigned char)text.ptr[0];
        if (len == 0) put(call, "\\ufffd");
        else if (c < 0x20 || c == '"' || c == '\\') put(call, "\\u%04x", c);
        else data_put(&call->sink, text.ptr, len);
        text.ptr += len == 0 ? 1 : len;
        text.len -= len == 0 ? 1 : len;
    }
}

static void open_event(TraceCall *call, const char *phase, uint32_t row) {
    put(call, "%s\n{\"ph\":\"%s\",\"pid\":1,\"tid\":%u", call->has_rows ? "," : "",
        phase, row + 1);
    call->has_rows = true;
}

// Microseconds since recording began.
static void put_time(TraceCall *call, const char *name, uint64_t ns) {
    put(call, ",\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

// As a member of an object that has one already; 0 is left out.
static void put_number(TraceCall *call, const char *name, uint64_t number) {
    if (number != 0) put(call, ",\"%s\":%" PRIu64, name, number);
}

static void put_row_name(TraceCall *call, uint32_t row, const char *name) {
    open_event(call, "M", row);
    put(call, ",\"name\":\"thread_name\",\"args\":{\"name\":\"");
    put_text(call, str_of(name));
    put(call, "\"}}");
    open_event(call, "M", row);
    put(call, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%u}}", row);
}

static const char *const categories[] = {
    [RT_EVENT_CALL] = "call",          [RT_EVENT_PASS] = "pass",
    [RT_EVENT_BUILD] = "build",        [RT_EVENT_KERNEL] = "kernel",
    [RT_EVENT_LOOP] = "loop",          [RT_EVENT_TRANSFER] = "transfer",
    [RT_EVENT_INTERPRET] = "interpret"};

static void put_event(WeftContext *context, TraceCall *call, uint32_t row,
                      const RtEvent *event) {
    const WeftProgram *program;
    Place place = api_event_place(context, event, &program);
    bool is_pass = event->kind == RT_EVENT_PASS;
    open_event(call, "X", row);
    put_time(call, "ts", event->begin - rt_events_began(context->events));
    put_time(call, "dur", event->end - event->begin);
    put(call, ",\"cat\":\"%s\",\"name\":\"", categories[event->kind]);
    put_text(call, str_of(event->name == NULL ? "" : event->name));
    if (place.source != NULL) {
        const char *path = place.source->name.ptr, *slash = strrchr(path, '/');
        put(call, " ");
        put_text(call, str_of(slash == NULL ? path : slash + 1));
        put(call, ":%u", place.line);
    }
    put(call, "\",\"args\":{\"at\":\"");
    if (place.source != NULL) {
        put_text(call, place.source->name);
        put(call, ":%u:%u", place.line, place.column);
    }
    put(call, "\"");
    put_number(call, is_pass ? "before" : "bytes", event->bytes);
    put_number(call, is_pass ? "after" : "turns", event->turns);
    put(call, "}}");
}

static void put_row(WeftContext *context, TraceCall *call, uint32_t row) {
    size_t count;
    uint64_t dropped, busy;
    const RtEvent *on = rt_events_on(context->events, row, &count, &dropped, &busy);
    put_row_name(call, row, rt_events_row_name(context->events, row));
    for (size_t i = 0; i < count; i++) put_event(context, call, row, &on[i]);
    if (dropped == 0 || count == 0) return;
    open_event(call, "i", row);
    put_time(call, "ts", on[count - 1].end - rt_events_began(context->events));
    put(call, ",\"s\":\"t\",\"name\":\"%" PRIu64 " more were not kept\"}", dropped);
    api_warn(context, "the trace lacks the last %" PRIu64 " events of `%s`", dropped,
             rt_events_row_name(context->events, row));
}

static WeftStatus tell_trace(WeftContext *context, void *data) {
    TraceCall *call = data;
    call->sink = (DataSink){.write = write_through, .data = call};
    put(call, "{\"traceEvents\":[");
    if (rt_events_are_kept(context->events)) {
        api_record_builds(context);
        open_event(call, "M", 0);
        put(call, ",\"name\":\"process_name\",\"args\":{\"name\":\"weft\"}}");
        for (uint32_t i = 0; i < rt_events_row_count(context->events); i++)
            put_row(context, call, i);
        if (rt_events_lack_rows(context->events))
            api_warn(context, "the trace lacks rows for which there was no memory");
    }
    put(call, "\n]}\n");
    data_flush(&call->sink);
    if (call->sink.has_failed)
        return api_fail(context, WEFT_STATUS_IO, "the trace could not be written");
    return WEFT_STATUS_OK;
}

WeftStatus weft_trace(WeftContext *context, WeftWriter writer, void *data) {
    if (context == NULL || writer == NULL) return WEFT_STATUS_USAGE;
    TraceCall call = {.writer = writer, .data = data};
    return api_guard(context, API_KEEPS, tell_trace, &call);
}
