// SPDX-License-Identifier: Apache-2.0
//
// Recording: rows, pieces and totals of the recorder; what weft_profile adds up to,
// what weft_trace prints, and what they do when memory runs out or programs go away.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/testing.h"
#include "rt/events.h"
#include "test.h"
#include "weft.h"

// ---- the recorder -------------------------------------------------------------------

static size_t count_on(const RtEvents *events, uint32_t row, uint64_t *dropped) {
    size_t count;
    uint64_t busy;
    rt_events_on(events, row, &count, dropped, &busy);
    return count;
}

static void test_rows(void) {
    Mem mem = {0};
    RtEvents *events = rt_events_new(&mem, 4);
    size_t count;
    uint64_t dropped, busy;
    CHECK(rt_events_are_kept(events) && !rt_events_are_kept(NULL));
    CHECK(rt_events_row(events, "host") == RT_EVENTS_HOST);
    uint32_t row = rt_events_row(events, "worker 1");
    CHECK(row == 1 && rt_events_row(events, "worker 1") == 1);
    for (uint64_t i = 0; i < 6; i++)
        rt_event(events, row, RT_EVENT_LOOP, "map", 10 * i, 10 * i + 3, 7, i, 5);
    const RtEvent *on = rt_events_on(events, row, &count, &dropped, &busy);
    CHECK(count == 4 && dropped == 2 && busy == 18);
    CHECK(on[3].begin == 30 && on[3].end == 33 && on[3].turns == 3 && on[3].place == 5);
    CHECK(count_on(events, RT_EVENTS_HOST, &dropped) == 0 && dropped == 0);
    uint32_t first = rt_events_rows(events, "cpu:0 worker", 3);
    CHECK(first == 2 && rt_events_rows(events, "cpu:0 worker", 3) == first);
    CHECK(rt_events_row_count(events) == 5);
    CHECK(strcmp(rt_events_row_name(events, first + 2), "cpu:0 worker 2") == 0);
    mem.limit = mem.used; // no memory: nothing is taken, and nobody else's row is hit
    uint32_t none = rt_events_rows(events, "more", 2);
    for (uint32_t i = 0; i < 2; i++)
        rt_event(events, none + i, RT_EVENT_LOOP, "map", 1, 2, 0, 0, 0);
    CHECK(rt_events_lack_rows(events) && rt_events_row_count(events) == 5);
    CHECK(count_on(events, first, &dropped) == 0);
    rt_events_free(events);
    CHECK(mem.used == 0);
}

// Pieces that follow each other are one event; gaps and other loops begin a new one.
static void test_pieces(void) {
    Mem mem = {0};
    RtEvents *events = rt_events_new(&mem, 3);
    size_t count;
    uint64_t dropped, busy, ms = 1000000;
    uint32_t row = rt_events_row(events, "worker 1");
    rt_event_piece(events, row, RT_EVENT_LOOP, "map", 0, 10, 20, 4, 1);
    rt_event_piece(events, row, RT_EVENT_LOOP, "map", 0, 30, 50, 5, 1);
    rt_event_piece(events, row, RT_EVENT_LOOP, "map", 55, 60, 70, 6, 1); // a new loop
    rt_event_piece(events, row, RT_EVENT_LOOP, "map", 55, ms, ms + 10, 7, 1); // a gap
    const RtEvent *on = rt_events_on(events, row, &count, &dropped, &busy);
    CHECK(count == 3 && dropped == 0 && busy == 10 + 30 + 10 + 10);
    CHECK(on[0].begin == 10 && on[0].end == 50 && on[0].turns == 9);
    CHECK(on[1].begin == 60 && on[1].turns == 6 && on[2].begin == ms);
    rt_event_piece(events, row, RT_EVENT_LOOP, "map", 55, 3 * ms, 4 * ms, 8, 1);
    rt_event_piece(events, row, RT_EVENT_LOOP, "map", 55, 4 * ms, 5 * ms, 8, 1);
    CHECK(count_on(events, row, &dropped) == 3 && dropped == 2);
    rt_events_free(events);
    CHECK(mem.used == 0);
}

static void close_span(RtEvents *events, RtSpan span, RtEventKind kind,
                       uint32_t place) {
    rt_span_close(events, span,
                  &(RtEvent){.kind = kind, .name = "x", .place = place, .bytes = 3});
}

// Totals are the times without those inside them, and add up to that of the outermost.
static void test_totals(void) {
    Mem mem = {0};
    RtEvents *events = rt_events_new(&mem, 8);
    RtSpan outer = rt_span_open(events);
    for (uint32_t place = 1; place <= 1000; place++) { // makes the table grow
        RtSpan inner = rt_span_open(events), innermost = rt_span_open(events);
        RtSpan never_closed = rt_span_open(events);
        (void)never_closed;
        close_span(events, innermost, RT_EVENT_KERNEL, place);
        close_span(events, inner, RT_EVENT_KERNEL, 1 + place % 2);
    }
    close_span(events, outer, RT_EVENT_CALL, 0);
    size_t count, kept;
    uint64_t dropped, busy, total = 0, calls = 0, bytes = 0;
    const RtTotal *totals = rt_events_totals(events, &count);
    CHECK(count == 1001);
    for (size_t i = 0; i < count; i++) {
        total += totals[i].ns;
        calls += totals[i].count;
        bytes += totals[i].event.bytes;
    }
    const RtEvent *on = rt_events_on(events, RT_EVENTS_HOST, &kept, &dropped, &busy);
    CHECK(calls == 2001 && bytes == 3 * 2001);
    CHECK(kept == 9 && dropped == 2000 - 8); // the call that all lies in is kept
    CHECK(on[8].kind == RT_EVENT_CALL && total == on[8].end - on[8].begin);
    rt_events_free(events);
    CHECK(mem.used == 0);
    RtSpan nothing = rt_span_open(NULL);
    close_span(NULL, nothing, RT_EVENT_CALL, 0);
}

// Every allocation may fail: then rows take nothing, and all else goes on.
static void test_recorder_memory(void) {
    for (uint64_t k = 1; k <= 12; k++) {
        Mem mem = {.fail_at = k};
        RtEvents *events = rt_events_new(&mem, 8);
        if (events != NULL) {
            bool is_failing = mem.calls + 1 == k;
            uint32_t row = rt_events_row(events, "worker 1");
            CHECK(rt_events_lack_rows(events) == is_failing);
            rt_event(events, row, RT_EVENT_LOOP, "map", 1, 2, 0, 0, 0);
            rt_event_piece(events, row, RT_EVENT_LOOP, "map", 1, 2, 3, 0, 0);
            uint64_t calls = 0;
            for (uint32_t place = 0; place < 400; place++)
                close_span(events, rt_span_open(events), RT_EVENT_KERNEL, place);
            size_t count;
            const RtTotal *totals = rt_events_totals(events, &count);
            for (size_t i = 0; i < count; i++) calls += totals[i].count;
            CHECK(calls == 400);
        }
        rt_events_free(events);
        CHECK(mem.used == 0);
    }
}

// ---- the library --------------------------------------------------------------------

static const char text[] =
    "def twice (x: f64): f64 = x * 2\n"
    "entry main (n: i64): f64 =\n"
    "  loop s = 0 for i < n do\n"
    "    s + f64.sum (map (\\j -> twice (f64.i64 j))\n"
    "                     (iota i))\n"
    "entry fail (n: i64): i64 = loop s = 1 for i < n do s / (5 - i)\n";

typedef struct Seen {
    WeftContext *context;
    size_t rows, phases, lines, beside;
    double seconds, host;
    uint64_t before, after;
    WeftStatus called_back;
    char file[32], line_text[80];
    uint32_t line;
    bool has_main, has_read, has_print;
} Seen;

static void see_row(void *data, const WeftProfile *row) {
    Seen *seen = data;
    seen->rows++;
    CHECK(row->name != NULL && row->seconds >= 0);
    CHECK((row->file == NULL) == (row->text == NULL));
    bool is_beside = row->work == WEFT_WORK_BESIDE;
    if (!is_beside) seen->seconds += row->seconds;
    seen->beside += is_beside;
    seen->phases += row->work == WEFT_WORK_PHASE;
    seen->has_main |= row->work == WEFT_WORK_HOST && strcmp(row->name, "main") == 0;
    seen->has_read |= row->work == WEFT_WORK_VALUES && strcmp(row->name, "read") == 0;
    seen->has_print |= row->work == WEFT_WORK_VALUES && strcmp(row->name, "print") == 0;
    if (strcmp(row->name, "lower") == 0) seen->after = row->after;
    if (strcmp(row->name, "inline") == 0) seen->before = row->before;
    if (row->file != NULL && row->line == 4) {
        snprintf(seen->file, sizeof seen->file, "%s", row->file);
        snprintf(seen->line_text, sizeof seen->line_text, "%s", row->text);
        seen->line = row->line;
        CHECK(row->name[0] == '\0' && row->count > 0);
    }
    seen->lines += row->file != NULL;
    seen->called_back = weft_record(seen->context, WEFT_RECORD_NOTHING);
}

static Seen profile(WeftContext *context) {
    Seen seen = {.context = context};
    CHECK(weft_profile(context, see_row, &seen) == WEFT_STATUS_OK);
    return seen;
}

static WeftContext *open_context(WeftEngine engine) {
    WeftOptions options = {
        .struct_size = sizeof options, .engine = engine, .threads = 2};
    WeftContext *context = NULL;
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    return context;
}

static WeftStatus run(WeftContext *context, const char *entry, const char *input) {
    WeftProgram *program;
    WeftValue *arg, *result;
    const char *shown;
    WeftStatus status =
        weft_program_from_source(context, "main.weft", text, sizeof text - 1, &program);
    if (status != WEFT_STATUS_OK) return status;
    size_t number = weft_entry_find(program, entry);
    status = weft_values_read(program, number, "input", input, strlen(input), &arg, 1);
    if (status == WEFT_STATUS_OK) {
        status = weft_call(program, number, &arg, 1, &result, 1);
        weft_value_free(arg);
    }
    if (status == WEFT_STATUS_OK) {
        status = weft_value_text(result, &shown);
        weft_value_free(result);
    }
    weft_program_free(program); // its lines are known still
    return status;
}

static int take_text(void *data, const char *bytes, size_t length) {
    char *all = data;
    size_t len = strlen(all);
    if (len + length >= 1 << 20) return 1;
    memcpy(all + len, bytes, length);
    all[len + length] = '\0';
    return 0;
}

static int refuse(void *data, const char *bytes, size_t length) {
    (void)data, (void)bytes, (void)length;
    return 1;
}

static size_t count_of(const char *all, const char *word) {
    size_t count = 0;
    for (const char *at = all; (at = strstr(at, word)) != NULL; at++) count++;
    return count;
}

static char *trace(WeftContext *context) {
    char *all = calloc(1, 1 << 20);
    CHECK(all != NULL && weft_trace(context, take_text, all) == WEFT_STATUS_OK);
    return all;
}

static void test_profile(WeftEngine engine) {
    WeftContext *context = open_context(engine);
    CHECK(run(context, "main", "3") == WEFT_STATUS_OK);
    CHECK(profile(context).rows == 0);
    CHECK(weft_record(context, WEFT_RECORD_TOTALS) == WEFT_STATUS_OK);
    CHECK(run(context, "main", "40") == WEFT_STATUS_OK);
    Seen seen = profile(context);
    CHECK(seen.called_back == WEFT_STATUS_USAGE);
    CHECK(seen.phases > 8 && seen.seconds > 0 && seen.has_main);
    CHECK(seen.has_read && seen.has_print);
    CHECK(seen.lines > 0 && seen.before > 10 && seen.before == seen.after);
    CHECK(strcmp(seen.file, "main.weft") == 0);
    CHECK(strcmp(seen.line_text, "s + f64.sum (map (\\j -> twice (f64.i64 j))") == 0);
    char *all = trace(context); // totals alone: no events
    CHECK(count_of(all, "\"ph\"") == 0 && count_of(all, "traceEvents") == 1);
    free(all);
    CHECK(weft_record(context, WEFT_RECORD_NOTHING) == WEFT_STATUS_OK);
    CHECK(profile(context).rows == 0);
    CHECK(run(context, "main", "3") == WEFT_STATUS_OK);
    CHECK(profile(context).rows == 0);
    CHECK(weft_testing_context_free(context) == 0);
}

static void test_trace(void) {
    WeftContext *context = open_context(WEFT_ENGINE_INTERP);
    CHECK(weft_record(context, WEFT_RECORD_EVENTS) == WEFT_STATUS_OK);
    CHECK(run(context, "main", "40") == WEFT_STATUS_OK);
    CHECK(run(context, "fail", "9") == WEFT_STATUS_RUNTIME);
    char *all = trace(context);
    CHECK(count_of(all, "\"ph\":\"X\"") > 10);
    CHECK(count_of(all, "\"name\":\"main\"") == 1);
    CHECK(count_of(all, "\"name\":\"fail\"") == 1);
    CHECK(count_of(all, "\"name\":\"for main.weft:3\"") == 1);
    CHECK(count_of(all, "\"at\":\"main.weft:3:3\"") == 1);
    free(all);
    CHECK(weft_trace(context, refuse, NULL) == WEFT_STATUS_IO);
    Seen seen = profile(context);
    CHECK(seen.seconds > 0 && seen.has_main && seen.beside == 0);
    CHECK(weft_testing_context_free(context) == 0); // while it records
}

// A recording after another one, which may well lie where that did.
static void test_again(void) {
    WeftOptions options = {.struct_size = sizeof options, .devices = "cpu*2"};
    WeftContext *context;
    CHECK(weft_context_new(&options, &context) == WEFT_STATUS_OK);
    for (int i = 0; i < 20; i++) { // memory is laid out anew each time
        CHECK(weft_record(context, WEFT_RECORD_EVENTS) == WEFT_STATUS_OK);
        CHECK(run(context, "main", "40") == WEFT_STATUS_OK);
        char *all = trace(context);
        CHECK(count_of(all, "\"cpu:0\"") + count_of(all, "\"cpu:1\"") > 0);
        free(all);
    }
    CHECK(weft_testing_context_free(context) == 0);
}

static void test_usage(void) {
    WeftContext *context = open_context(WEFT_ENGINE_INTERP);
    Seen seen = {.context = context};
    CHECK(weft_record(NULL, WEFT_RECORD_TOTALS) == WEFT_STATUS_USAGE);
    CHECK(weft_record(context, (WeftRecord)3) == WEFT_STATUS_USAGE);
    CHECK(weft_profile(NULL, see_row, &seen) == WEFT_STATUS_USAGE);
    CHECK(weft_profile(context, NULL, &seen) == WEFT_STATUS_USAGE);
    CHECK(weft_trace(NULL, refuse, NULL) == WEFT_STATUS_USAGE);
    CHECK(weft_trace(context, NULL, NULL) == WEFT_STATUS_USAGE);
    weft_context_free(context);
}

// With the k-th allocation failing, for every k of the whole.
static void test_memory(void) {
    bool is_over = false;
    char *all = calloc(1, 1 << 20);
    for (uint64_t k = 1; !is_over && all != NULL; k += k < 60 ? 1 : 97) {
        WeftContext *context = open_context(WEFT_ENGINE_INTERP);
        Seen seen = {.context = context};
        uint64_t before = weft_testing_allocations(context);
        weft_testing_fail_allocation(context, k);
        all[0] = '\0';
        WeftStatus status[] = {
            weft_record(context, WEFT_RECORD_EVENTS), run(context, "main", "4"),
            weft_profile(context, see_row, &seen), weft_trace(context, take_text, all)};
        is_over = weft_testing_allocations(context) - before < k;
        for (size_t i = 0; i < 4; i++)
            CHECK(status[i] == WEFT_STATUS_OK || status[i] == WEFT_STATUS_MEMORY);
        CHECK(weft_testing_context_free(context) == 0);
    }
    free(all);
}

int main(void) {
    test_rows();
    test_pieces();
    test_totals();
    test_recorder_memory();
    test_profile(WEFT_ENGINE_INTERP);
    test_profile(WEFT_ENGINE_AUTO);
    test_trace();
    test_again();
    test_usage();
    test_memory();
    return test_done();
}
