// SPDX-License-Identifier: Apache-2.0
//
// Recording what calls spend their time on (rt/events.h), and what that comes to by
// line of the program.
//
// A program that is called while a context records gets a number, and a reference that
// keeps it until recording ends: places are looked up when somebody asks.
#include <stdio.h>
#include <string.h>

#include "api/ahead.h"

const char api_compiles[] = "compile", api_reads[] = "read", api_prints[] = "print";

// ---- recording ----------------------------------------------------------------------

static void disown(WeftContext *context) {
    for (WeftProgram *p = context->programs, *next; p != NULL; p = next) {
        next = p->next;
        bool is_owner = p->owner != 0;
        p->owner = 0;
        if (is_owner && --p->refs == 0) api_program_destroy(p);
    }
}

void api_record_end(WeftContext *context) {
    disown(context);
    rt_events_free(context->events);
    context->events = NULL;
    context->owners = 0;
    // The next recording may lie where this one did.
    for (uint32_t i = 0; i < context->place_count; i++)
        context->places[i].events = NULL;
}

// From here on the most that memories hold is that of what is recorded.
static void watch_memory(WeftContext *context) {
    context->most_before = weft_memory_peak(context);
    atomic_store(&context->mem.peak, atomic_load(&context->mem.used));
    for (uint32_t i = 0; i < context->place_count; i++) {
        Device *device = context->places[i].device;
        if (device != NULL) device->counts.peak = device->counts.used;
    }
}

static WeftStatus record(WeftContext *context, void *data) {
    enum { MOST_EVENTS = 1 << 14 }; // on a row
    WeftRecord what = *(WeftRecord *)data;
    api_record_end(context);
    if (what == WEFT_RECORD_NOTHING) return WEFT_STATUS_OK;
    context->events =
        rt_events_new(&context->mem, what == WEFT_RECORD_EVENTS ? MOST_EVENTS : 0);
    if (context->events == NULL) mem_fail(&context->mem);
    watch_memory(context);
    return WEFT_STATUS_OK;
}

WeftStatus weft_record(WeftContext *context, WeftRecord what) {
    if (context == NULL || (unsigned)what > WEFT_RECORD_EVENTS)
        return WEFT_STATUS_USAGE;
    return api_guard(context, API_KEEPS, record, &what);
}

void api_record_entry(WeftProgram *program, const char *entry) {
    WeftContext *context = program->context;
    if (context->events == NULL) return;
    if (program->owner == 0) {
        program->owner = ++context->owners;
        program->refs++;
    }
    rt_events_own(context->events, program->owner);
    context->activity = entry;
}

static void count_stm(void *data, const CoreStm *stm) {
    (void)stm;
    ++*(uint64_t *)data;
}

void api_lap(WeftContext *context, const char *phase, const CoreProgram *core) {
    if (context->events == NULL) return;
    RtEvent event = {.kind = RT_EVENT_PASS, .name = phase};
    uint64_t statements = 0;
    for (uint32_t i = 0; core != NULL && i < core->funs.len; i++)
        core_walk(core->funs.data[i]->body, count_stm, &statements);
    if (core != NULL) {
        event.bytes = context->statements;
        event.turns = context->statements = statements;
    }
    if (phase != NULL) rt_span_close(context->events, context->lap, &event);
    context->lap = rt_span_open(context->events);
}

static uint64_t bytes_of(const RtValue *values, uint32_t count) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        if (values[i].rank > 0)
            bytes +=
                (uint64_t)rt_count(values[i].array) * scalar_info[values[i].elem].bytes;
    return bytes;
}

void api_record_kernel(WeftContext *context, RtSpan span, const InterpOffer *offer,
                       bool has_results) {
    if (context->events == NULL) return;
    const CoreBody *body = offer->kernel->body;
    uint64_t bytes = bytes_of(offer->args, body->param_count);
    if (has_results) bytes += bytes_of(offer->results, body->result_count);
    RtEvent event = {.kind = RT_EVENT_KERNEL,
                     .name = core_op_info[core_kernel_op(offer->kernel)].name,
                     .bytes = bytes,
                     .begin = span.begin,
                     .end = clock_ns(),
                     .place = offer->loc};
    if (api_is_beside(context)) rt_event_beside(context->events, &event);
    else rt_span_close(context->events, span, &event);
}

uint32_t api_worker_rows(WeftContext *context, const char *device, unsigned count) {
    char name[48] = "worker";
    if (strcmp(device, "cpu") != 0) snprintf(name, sizeof name, "%s worker", device);
    return rt_events_rows(context->events, name, count);
}

void api_record_builds(WeftContext *context) {
    for (WeftProgram *p = context->programs; p != NULL; p = p->next)
        if (p->engine != NULL) api_engine_record(p->engine);
}

// ---- places -------------------------------------------------------------------------

Place api_event_place(const WeftContext *context, const RtEvent *event,
                      const WeftProgram **program_out) {
    const WeftProgram *program = context->programs;
    while (program != NULL && program->owner != event->owner) program = program->next;
    *program_out = program;
    if (event->place == 0 || event->owner == 0 || program == NULL) return (Place){0};
    const CorePlace *place = api_place(program->core, event->place);
    if (place == NULL) return (Place){0};
    return sources_place(&program->core->cx->sources, place->span.start);
}

static Str trim(Str text) {
    while (text.len > 0 && strchr(" \t\r", text.ptr[text.len - 1]) != NULL) text.len--;
    while (text.len > 0 && strchr(" \t", text.ptr[0]) != NULL) text.ptr++, text.len--;
    return text;
}

// ---- the profile --------------------------------------------------------------------

typedef struct ProfileCall {
    void (*row)(void *data, const WeftProfile *row);
    void *data;
    Arena *arena;
    struct {
        WeftProfile *data;
        uint32_t len, cap;
    } rows;
} ProfileCall;

static WeftWork work_of(const RtEvent *event) {
    switch (event->kind) {
    case RT_EVENT_CALL:
        if (event->name == api_compiles) return WEFT_WORK_PHASE;
        if (event->name == api_reads || event->name == api_prints)
            return WEFT_WORK_VALUES;
        return WEFT_WORK_HOST;
    case RT_EVENT_PASS: return WEFT_WORK_PHASE;
    case RT_EVENT_BUILD: return WEFT_WORK_WAIT;
    case RT_EVENT_TRANSFER: return WEFT_WORK_TRANSFER;
    case RT_EVENT_KERNEL:
    case RT_EVENT_LOOP: return WEFT_WORK_KERNEL;
    case RT_EVENT_INTERPRET: return WEFT_WORK_INTERPRET;
    }
    return WEFT_WORK_HOST;
}

static bool is_same_row(const WeftProfile *a, const WeftProfile *b) {
    if (a->work != b->work || a->line != b->line || strcmp(a->name, b->name) != 0)
        return false;
    if (a->file == NULL || b->file == NULL) return a->file == b->file;
    return strcmp(a->file, b->file) == 0;
}

// The row with the same work, name and line, made if there is none.
static WeftProfile *find_row(ProfileCall *call, const WeftProfile *like) {
    for (uint32_t i = 0; i < call->rows.len; i++)
        if (is_same_row(&call->rows.data[i], like)) return &call->rows.data[i];
    vec_push(call->arena, &call->rows, *like);
    return &call->rows.data[call->rows.len - 1];
}

static void add_total(WeftContext *context, ProfileCall *call, const RtTotal *total) {
    const RtEvent *event = &total->event;
    const WeftProgram *program;
    Place place = api_event_place(context, event, &program);
    WeftProfile like = {.work = work_of(event), .name = ""};
    if (place.source != NULL) {
        like.file = place.source->name.ptr;
        like.line = place.line;
    } else if (event->name != NULL) {
        like.name = event->name;
    }
    WeftProfile *row = find_row(call, &like);
    if (place.source != NULL && row->text == NULL)
        row->text = str_terminated(
            call->arena,
            trim(source_line(&program->core->cx->sources, place.source, place.line)));
    row->count += total->count;
    row->seconds += (double)total->ns * 1e-9;
    if (event->kind == RT_EVENT_PASS) {
        row->before += event->bytes;
        row->after += event->turns;
    } else {
        row->bytes += event->bytes;
    }
}

static void add_rows(const RtEvents *events, ProfileCall *call) {
    for (uint32_t i = 0; i < rt_events_row_count(events); i++) {
        size_t count;
        uint64_t dropped, busy;
        rt_events_on(events, i, &count, &dropped, &busy);
        if (i != RT_EVENTS_HOST)
            vec_push(call->arena, &call->rows,
                     (WeftProfile){.work = WEFT_WORK_BESIDE,
                                   .name = rt_events_row_name(events, i),
                                   .count = count + dropped,
                                   .seconds = (double)busy * 1e-9});
    }
}

static WeftStatus tell_profile(WeftContext *context, void *data) {
    ProfileCall *call = data;
    call->arena = &context->scratch;
    if (context->events == NULL) return WEFT_STATUS_OK;
    api_record_builds(context);
    size_t count;
    const RtTotal *totals = rt_events_totals(context->events, &count);
    for (size_t i = 0; i < count; i++) add_total(context, call, &totals[i]);
    add_rows(context->events, call);
    for (uint32_t i = 0; i < call->rows.len; i++)
        call->row(call->data, &call->rows.data[i]);
    return WEFT_STATUS_OK;
}

WeftStatus weft_profile(WeftContext *context,
                        void (*row)(void *data, const WeftProfile *row), void *data) {
    if (context == NULL || row == NULL) return WEFT_STATUS_USAGE;
    ProfileCall call = {.row = row, .data = data};
    return api_guard(context, API_KEEPS, tell_profile, &call);
}
