// SPDX-License-Identifier: Apache-2.0
//
// Contexts: the lock, the recovery from out of memory, and who owns what. The context
// itself lies in memory of its own Mem, which is moved out to free it.
#include <assert.h>
#include <string.h>

#include "api/api.h"
#include "api/testing.h"

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
    if (pthread_mutex_init(&context->lock, NULL) != 0) {
        mem_free(&mem, context, sizeof *context);
        return WEFT_STATUS_MEMORY;
    }
    context->mem = mem;
    context->mem.limit = context->options.memory_ceiling;
    context->message = "";
    rt_heap_init(&context->heap, &context->mem);
    arena_init(&context->report, &context->mem);
    arena_init(&context->scratch, &context->mem);
    *context_out = context;
    return WEFT_STATUS_OK;
}

size_t weft_testing_context_free(WeftContext *context) {
    if (context == NULL) return 0;
    while (context->values != NULL) api_value_destroy(context->values);
    while (context->programs != NULL) api_program_destroy(context->programs);
    rt_heap_free(&context->heap);
    arena_free(&context->report);
    arena_free(&context->scratch);
    pthread_mutex_destroy(&context->lock);
    Mem mem = context->mem;
    mem_free(&mem, context, sizeof *context);
    return mem.used;
}

void weft_context_free(WeftContext *context) {
    size_t left = weft_testing_context_free(context);
    assert(left == 0);
    (void)left;
}

void weft_cancel(WeftContext *context) {
    if (context != NULL) context->cancel = true;
}

size_t weft_memory_used(const WeftContext *context) {
    return context == NULL ? 0 : context->mem.used;
}

size_t weft_memory_peak(const WeftContext *context) {
    return context == NULL ? 0 : context->mem.peak;
}

void weft_testing_fail_allocation(WeftContext *context, uint64_t k) {
    context->mem.fail_at = k == 0 ? 0 : context->mem.calls + k;
}

uint64_t weft_testing_allocations(const WeftContext *context) {
    return context->mem.calls;
}

// ---- the guard ----------------------------------------------------------------------

static void begin(WeftContext *context, ApiScope scope) {
    arena_free(&context->scratch);
    context->message = "";
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
    begin(context, scope);
    const RtArray *arrays = context->heap.live;
    const WeftProgram *programs = context->programs;
    const WeftValue *values = context->values;
    WeftStatus status = run_body(context, body, call);
    context->mem.recover = NULL;
    context->loan_count = 0;
    context->loans = NULL;
    if (status != WEFT_STATUS_OK) {
        while (context->values != values) api_value_destroy(context->values);
        while (context->programs != programs && context->programs != context->failed)
            api_program_destroy(context->programs);
        undo_arrays(context, arrays);
        if (status == WEFT_STATUS_MEMORY) arena_free(&context->scratch);
        if (status == WEFT_STATUS_CANCELLED) context->cancel = false;
        if (context->message[0] == '\0') context->message = weft_status_text(status);
    }
    pthread_mutex_unlock(&context->lock);
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
    return context == NULL ? "there is no context" : context->message;
}

// ---- programs and values ------------------------------------------------------------

WeftProgram *api_program_new(WeftContext *context) {
    WeftProgram *program = mem_alloc(&context->mem, sizeof *program);
    *program = (WeftProgram){.context = context, .refs = 1};
    arena_init(&program->arena, &context->mem);
    arena_init(&program->trees, &context->mem);
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
    arena_free(&program->trees);
    arena_free(&program->arena);
    mem_free(&context->mem, program, sizeof *program);
}

static size_t value_size(uint32_t leaves) {
    return sizeof(WeftValue) + leaves * sizeof(RtValue);
}

WeftValue *api_value_new(WeftContext *context, WeftProgram *program, uint32_t leaves) {
    WeftValue *value = mem_alloc(&context->mem, value_size(leaves));
    memset(value, 0, value_size(leaves));
    value->context = context;
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
    if (program == NULL) return;
    pthread_mutex_t *lock = &program->context->lock;
    pthread_mutex_lock(lock);
    if (--program->refs == 0) api_program_destroy(program);
    pthread_mutex_unlock(lock);
}

void weft_value_free(WeftValue *value) {
    if (value == NULL) return;
    pthread_mutex_t *lock = &value->context->lock;
    pthread_mutex_lock(lock);
    api_value_destroy(value);
    pthread_mutex_unlock(lock);
}
