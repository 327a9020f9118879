// SPDX-License-Identifier: Apache-2.0
//
// Contexts: the lock, the recovery from out of memory, and who owns what. The context
// itself lies in memory of its own Mem, which is moved out to free it.
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/places.h"
#include "api/testing.h"
#include "base/clock.h"

#ifndef WEFT_VERSION
#define WEFT_VERSION "unknown" // the build says which
#endif

#define STATUS(name, meaning)                                                          \
    _Static_assert((int)WEFT_STATUS_##name == (int)STATUS_##name,                      \
                   "weft.h and "                                                       \
                   "status.def must agree");
#include "base/status.def"
#undef STATUS

#define SCALAR(name, text, bytes, class, binary)                                       \
    _Static_assert((int)WEFT_##name == (int)SCALAR_##name, "weft.h and types.def "     \
                                                           "must agree");
#include "abi/types.def"
#undef SCALAR

const char *weft_version(void) {
    return WEFT_VERSION;
}

const char *weft_status_text(WeftStatus status) {
    switch (status) {
#define STATUS(name, meaning)                                                          \
    case WEFT_STATUS_##name:                                                           \
        return meaning;
#include "base/status.def"
#undef STATUS
    }
    return "unknown status";
}

// ---- contexts -----------------------------------------------------------------------

static bool init_lock(pthread_mutex_t *lock) {
    pthread_mutexattr_t kind;
    if (pthread_mutexattr_init(&kind) != 0) return false;
    bool is_made = pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE) == 0 &&
                   pthread_mutex_init(lock, &kind) == 0;
    pthread_mutexattr_destroy(&kind);
    return is_made;
}

WeftStatus weft_context_new(const WeftOptions *options, WeftContext **context_out) {
    if (context_out == NULL) return WEFT_STATUS_USAGE;
    if (options != NULL && options->struct_size == 0) return WEFT_STATUS_USAGE;
    Mem mem = {0};
    WeftContext *context = mem_try_alloc(&mem, sizeof *context);
    if (context == NULL) return WEFT_STATUS_MEMORY;
    memset(context, 0, sizeof *context);
    if (options != NULL) {
        size_t size = options->struct_size; // of the caller's version of the struct
        if (size > sizeof *options) size = sizeof *options;
        memcpy(&context->options, options, size);
    }
    if (!init_lock(&context->lock)) {
        mem_free(&mem, context, sizeof *context);
        return WEFT_STATUS_MEMORY;
    }
    context->mem = mem;
    context->mem.limit = context->options.memory_ceiling;
    context->mem.spare_most = mem_spare_most();
    if (context->options.devices != NULL)
        snprintf(context->devices, sizeof context->devices, "%s",
                 context->options.devices);
    context->holders = 1;
    context->message = "";
    rt_heap_init(&context->heap, &context->mem);
    arena_init(&context->report, &context->mem);
    arena_init(&context->scratch, &context->mem);
    *context_out = context;
    return WEFT_STATUS_OK;
}

// Destroys what was dropped; that may call the user, who may drop more.
static void destroy_dropped(WeftContext *context) {
    while (context->dropped != NULL) {
        ApiDrop *drop = context->dropped;
        context->dropped = drop->next;
        drop->destroy(drop->what);
    }
}

static void sweep(WeftContext *context) {
    context->is_busy = true;
    destroy_dropped(context);
    context->is_busy = false;
}

// Unlocks the context, and frees it if nobody holds it any more: then the result is how
// many bytes it still held after giving back all it knew of (0 unless some leaked).
static size_t unlock(WeftContext *context) {
    bool is_held = context->holders > 0 || context->is_busy;
    pthread_mutex_unlock(&context->lock);
    if (is_held) return 0;
    rt_heap_free(&context->heap);
    mem_trim(&context->mem);
    pthread_mutex_destroy(&context->lock);
    Mem mem = context->mem;
    mem_free(&mem, context, sizeof *context);
    return mem.used;
}

static size_t drop_under_lock(WeftContext *context, ApiDrop *drop) {
    pthread_mutex_lock(&context->lock);
    drop->next = context->dropped;
    context->dropped = drop;
    if (!context->is_busy) sweep(context);
    return unlock(context);
}

void api_drop(WeftContext *context, ApiDrop *drop) {
    size_t left = drop_under_lock(context, drop);
    assert(left == 0);
    (void)left;
}

static void close_context(void *what) {
    WeftContext *context = what;
    destroy_dropped(context); // while there is something to take it out of
    while (context->tests != NULL) api_tests_destroy(context->tests);
    while (context->sessions != NULL) api_session_destroy(context->sessions);
    while (context->values != NULL) api_value_destroy(context->values);
    while (context->programs != NULL) api_program_destroy(context->programs);
    api_places_close(context);
    api_record_end(context);
    arena_free(&context->report);
    arena_free(&context->scratch);
    context->holders--;
}

size_t weft_testing_context_free(WeftContext *context) {
    if (context == NULL) return 0;
    context->drop = (ApiDrop){.destroy = close_context, .what = context};
    return drop_under_lock(context, &context->drop);
}

void weft_context_free(WeftContext *context) {
    size_t left = weft_testing_context_free(context);
    assert(left == 0);
    (void)left;
}

void weft_context_lock(WeftContext *context) {
    if (context != NULL) pthread_mutex_lock(&context->lock);
}

void weft_context_unlock(WeftContext *context) {
    if (context != NULL) pthread_mutex_unlock(&context->lock);
}

void weft_cancel(WeftContext *context) {
    if (context == NULL) return;
    atomic_store(&context->cancel, true);
    atomic_store(&context->stop, true);
}

size_t weft_memory_used(const WeftContext *context) {
    return context == NULL ? 0 : atomic_load(&context->mem.used);
}

size_t weft_memory_peak(const WeftContext *context) {
    if (context == NULL) return 0;
    size_t most = atomic_load(&context->mem.peak);
    return most > context->most_before ? most : context->most_before;
}

void weft_testing_fail_allocation(WeftContext *context, uint64_t k) {
    context->mem.fail_at = k == 0 ? 0 : context->mem.calls + k;
}

uint64_t weft_testing_allocations(const WeftContext *context) {
    return context->mem.calls;
}

// ---- the guard ----------------------------------------------------------------------

// A look at the clock is a tenth of a short call. An engine that may do without kernels
// asks how long it has been interpreting.
static bool asks_for_time(const WeftContext *context) {
    const WeftOptions *options = &context->options;
    return options->log != NULL || options->progress != NULL ||
           options->engine != WEFT_ENGINE_NATIVE;
}

static void begin(WeftContext *context, ApiScope scope) {
    arena_free(&context->scratch);
    context->message = "";
    context->activity = NULL;
    if (asks_for_time(context)) context->began = context->told = clock_seconds();
    if (scope == API_KEEPS) return;
    context->fault.is_set = false;
    context->diagnosed = NULL;
    if (context->failed != NULL) api_program_destroy(context->failed);
    arena_free(&context->report);
}

// Frees the arrays newer than the mark. Whatever refers to an array is newer than it,
// so going from the newest each can be taken to have one reference left.
static void undo_arrays(WeftContext *context, const RtArray *mark) {
    while (context->heap.live != mark) {
        context->heap.live->refs = 1;
        rt_release(&context->heap, context->heap.live);
    }
}

static WeftStatus out_of_memory(WeftContext *context) {
    for (uint32_t i = 0; i < context->loan_count; i++)
        context->loans[i].array->refs = context->loans[i].refs;
    context->fault.is_set = false;
    context->message =
        context->mem.limit != 0
            ? "out of memory: the program needs more than the ceiling allows"
            : "out of memory";
    return WEFT_STATUS_MEMORY;
}

static WeftStatus run_body(WeftContext *context, ApiBody body, void *call) {
    jmp_buf recover;
    context->mem.recover = &recover;
    if (setjmp(recover) != 0) return out_of_memory(context);
    return body(context, call);
}

WeftStatus api_guard(WeftContext *context, ApiScope scope, ApiBody body, void *call) {
    pthread_mutex_lock(&context->lock);
    if (context->is_busy) { // a callback calls back
        pthread_mutex_unlock(&context->lock);
        return WEFT_STATUS_USAGE;
    }
    context->is_busy = true;
    begin(context, scope);
    const RtArray *arrays = context->heap.live;
    const WeftProgram *programs = context->programs;
    const WeftValue *values = context->values;
    const WeftTests *tests = context->tests;
    RtSpan span = rt_span_open(context->events);
    WeftStatus status = run_body(context, body, call);
    if (context->activity != NULL)
        rt_span_close(context->events, span,
                      &(RtEvent){.kind = RT_EVENT_CALL, .name = context->activity});
    context->mem.recover = NULL;
    context->loan_count = 0;
    context->loans = NULL;
    if (status != WEFT_STATUS_OK) {
        while (context->tests != tests) api_tests_destroy(context->tests);
        while (context->values != values) api_value_destroy(context->values);
        while (context->programs != programs && context->programs != context->failed)
            api_program_destroy(context->programs);
        undo_arrays(context, arrays);
        if (status == WEFT_STATUS_MEMORY) arena_free(&context->scratch);
        if (status == WEFT_STATUS_CANCELLED) atomic_store(&context->cancel, false);
        if (context->message[0] == '\0') context->message = weft_status_text(status);
    }
    sweep(context);
    unlock(context);
    return status;
}

WeftStatus api_fail(WeftContext *context, WeftStatus status, const char *format, ...) {
    StrBuf text = strbuf(&context->report);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    strbuf_char(&text, '\0');
    context->message = strbuf_done(&text).ptr;
    return status;
}

const char *weft_message(const WeftContext *context) {
    if (context == NULL) return "there is no context";
    WeftContext *locked = (WeftContext *)context;
    pthread_mutex_lock(&locked->lock);
    const char *message = context->message;
    pthread_mutex_unlock(&locked->lock);
    return message;
}

// ---- programs and values ------------------------------------------------------------

static void drop_program(void *what) {
    WeftProgram *program = what;
    if (--program->refs == 0) api_program_destroy(program);
}

WeftProgram *api_program_new(WeftContext *context) {
    WeftProgram *program = mem_alloc(&context->mem, sizeof *program);
    *program = (WeftProgram){.context = context, .refs = 1};
    program->drop = (ApiDrop){.destroy = drop_program, .what = program};
    arena_init(&program->arena, &context->mem);
    arena_init(&program->workspace, &context->mem);
    arena_init(&program->notes, &context->mem);
    program->next = context->programs;
    if (program->next != NULL) program->next->prev = program;
    context->programs = program;
    return program;
}

void api_program_destroy(WeftProgram *program) {
    WeftContext *context = program->context;
    if (program->prev != NULL) program->prev->next = program->next;
    else context->programs = program->next;
    if (program->next != NULL) program->next->prev = program->prev;
    if (context->failed == program) context->failed = NULL;
    if (context->diagnosed == &program->cx) context->diagnosed = NULL;
    api_engine_free(program->engine);
    for (uint32_t i = 0; i < program->entry_count; i++)
        arena_free(&program->entries[i].code.arena);
    arena_free(&program->workspace);
    arena_free(&program->notes);
    arena_free(&program->arena);
    mem_free(&context->mem, program, sizeof *program);
}

static size_t value_size(uint32_t leaves) {
    return sizeof(WeftValue) + leaves * sizeof(RtValue);
}

static void destroy_value(void *what) {
    api_value_destroy(what);
}

WeftValue *api_value_new(WeftContext *context, WeftProgram *program, uint32_t leaves) {
    WeftValue *value = mem_alloc(&context->mem, value_size(leaves));
    memset(value, 0, value_size(leaves));
    value->context = context;
    value->drop = (ApiDrop){.destroy = destroy_value, .what = value};
    value->program = program;
    value->leaf_count = leaves;
    if (program != NULL) program->refs++;
    value->next = context->values;
    if (value->next != NULL) value->next->prev = value;
    context->values = value;
    return value;
}

void api_value_destroy(WeftValue *value) {
    WeftContext *context = value->context;
    for (uint32_t i = 0; i < value->leaf_count; i++)
        rt_release_value(&context->heap, &value->leaves[i]);
    if (value->prev != NULL) value->prev->next = value->next;
    else context->values = value->next;
    if (value->next != NULL) value->next->prev = value->prev;
    WeftProgram *program = value->program;
    mem_free(&context->mem, value, value_size(value->leaf_count));
    if (program != NULL && --program->refs == 0) api_program_destroy(program);
}

void weft_program_free(WeftProgram *program) {
    if (program != NULL) api_drop(program->context, &program->drop);
}

void weft_value_free(WeftValue *value) {
    if (value != NULL) api_drop(value->context, &value->drop);
}
