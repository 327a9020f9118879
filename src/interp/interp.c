// SPDX-License-Identifier: Apache-2.0
//
// The driver of the oracle: sets up a run, executes it in the default floating-point
// environment, and cleans up after success and failure alike. All failures come here
// by a jump; what the run held is in its slots.
#include "interp/interp.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/floats.h"
#include "interp/run.h"

// ---- failures -----------------------------------------------------------------------

// The calls that an engine was in, if one failed, are inside those of the run.
static void note_calls(Run *run, const InterpError *inner) {
    struct {
        CoreLoc *data;
        uint32_t len, cap;
    } calls = {0};
    for (uint32_t i = 0; inner != NULL && i < inner->call_count; i++)
        vec_push(run->arena, &calls, inner->calls[i]);
    for (const Call *call = run->call; call != NULL; call = call->outer)
        vec_push(run->arena, &calls, call->step->stm->loc);
    run->error.calls = calls.data;
    run->error.call_count = calls.len;
}

static _Noreturn void leave(Run *run, Status status) {
    while (run->recorded != NULL) interp_end_recorded(run);
    run->status = status;
    longjmp(*run->exit, 1);
}

_Noreturn void interp_fail(Run *run, const Step *step, const char *format, ...) {
    run->error.loc = step->stm->loc;
    StrBuf text = strbuf(run->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    run->error.message = strbuf_done(&text);
    note_calls(run, NULL);
    leave(run, STATUS_RUNTIME);
}

_Noreturn void interp_say(Run *run, const Step *step, CoreMessage message,
                          const char *v0, const char *v1, const char *v2) {
    const char *const values[] = {v0, v1, v2};
    StrBuf out = strbuf(run->arena);
    Str text = core_messages[message];
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '%') strbuf_cstr(&out, values[text.ptr[++i] - '0']);
        else strbuf_char(&out, text.ptr[i]);
    }
    interp_fail(run, step, "%.*s", STR_ARG(strbuf_done(&out)));
}

const char *interp_number_text(Run *run, int64_t number) {
    StrBuf text = strbuf(run->arena);
    strbuf_printf(&text, "%lld", (long long)number);
    return str_terminated(run->arena, strbuf_done(&text));
}

_Noreturn void interp_fail_memory(Run *run, const Step *step, size_t bytes) {
    run->error.loc = step->stm->loc;
    run->error.message = STR("out of memory");
    run->status = STATUS_MEMORY; // should the message itself not fit
    StrBuf text = strbuf(run->arena);
    strbuf_printf(&text, "out of memory: %zu bytes were wanted", bytes);
    run->error.message = strbuf_done(&text);
    note_calls(run, NULL);
    leave(run, STATUS_MEMORY);
}

_Noreturn void interp_fail_deep(Run *run, const Step *step) {
    interp_fail(run, step, "the program is nested too deeply to run");
}

_Noreturn void interp_fail_cancelled(Run *run, const Step *step) {
    run->error.loc = step->stm->loc;
    run->error.message = STR("cancelled");
    leave(run, STATUS_CANCELLED);
}

_Noreturn void interp_fail_beside(Run *run) {
    leave(run, STATUS_RUNTIME);
}

_Noreturn void interp_fail_as(Run *run, const InterpError *error) {
    run->error.loc = error->loc;
    run->error.message = error->message;
    note_calls(run, error);
    leave(run, error->status);
}

_Noreturn void interp_fault(Run *run, const Step *step, CoreFault fault,
                            const uint64_t *args) {
    if (fault == FAULT_DIVISION_BY_ZERO)
        interp_say(run, step, MESSAGE_DIVISION, NULL, NULL, NULL);
    int64_t exponent = interp_wide((ScalarType)step->in, args[1]);
    interp_say(run, step, MESSAGE_EXPONENT, interp_number_text(run, exponent), NULL,
               NULL);
}

const char *interp_shape_text(Run *run, uint32_t rank, const int64_t *shape) {
    StrBuf text = strbuf(run->arena);
    for (uint32_t d = 0; d < rank; d++)
        strbuf_printf(&text, "[%lld]", (long long)shape[d]);
    return str_terminated(run->arena, strbuf_done(&text));
}

// ---- progress -----------------------------------------------------------------------

// How far the outermost loop is: its turns, the share done of the present one taken
// from the loop within, and so on inwards; a loop of unknown length adds nothing.
static double fraction_done(const Run *run) {
    double done = 0;
    bool is_known = false;
    for (const Loop *loop = run->loop; loop != NULL; loop = loop->outer) {
        is_known = loop->total > 0;
        done = is_known ? ((double)loop->at + done) / (double)loop->total : 0;
    }
    return is_known ? done : -1;
}

void interp_tell_progress(Run *run) {
    enum { MOST = 1 << 14 };
    const double often = 0.01, seldom = 0.04;
    if (run->options->progress == NULL) return; // until 2^32 polls from now
    double now = clock_seconds(), gone = now - run->told;
    if (gone < often && run->interval < MOST) run->interval *= 2;
    if (gone > seldom) run->interval = run->interval / 4 + 1;
    run->polls = run->interval;
    if (gone < often) return;
    run->told = now;
    const Loop *loop = run->loop;
    while (loop->outer != NULL) loop = loop->outer;
    run->options->progress(run->options->progress_data, loop->step->stm->loc,
                           fraction_done(run));
}

// ---- a run --------------------------------------------------------------------------

static void put_args(Run *run, RtValue *args) {
    for (uint32_t i = 0; i < run->entry->param_count; i++) {
        Slot *slot = &run->slots.data[run->entry->param + i];
        if (args[i].rank > 0) slot->array = args[i].array;
        else slot->bits = args[i].bits;
        args[i] = (RtValue){0};
    }
}

static void get_results(Run *run, const CoreFun *fun, RtValue *results) {
    for (uint32_t i = 0; i < run->entry->result_count; i++) {
        CoreType type = fun->result_types[i];
        uint32_t from = run->entry->results[i];
        results[i] = (RtValue){.elem = (ScalarType)type.elem, .rank = type.rank};
        Slot *slot = &run->slots.data[from];
        if (type.rank == 0) {
            results[i].bits = slot->bits;
        } else {
            results[i].array = slot->array;
            if (run->entry->moves[i]) slot->array = NULL;
            else rt_retain(slot->array);
        }
    }
}

// Results that are there come to the host while others are being made. What that cannot
// do is seen when all are wanted.
static void fetch_results(Run *run) {
    const InterpOptions *options = run->options;
    for (uint32_t i = 0; i < run->entry->result_count; i++) {
        uint32_t slot = run->entry->results[i];
        if (!run->is_array.data[slot]) continue;
        RtArray *a = run->slots.data[slot].array;
        if (!options->beside->await(options->kernel_data, a)) return;
        if (rt_fetch(run->heap, a) != STATUS_OK) return;
    }
}

// Waits for what runs beside; then nothing is promised any more.
static void finish_beside(Run *run) {
    const InterpOptions *options = run->options;
    if (options->beside == NULL) return;
    if (run->status == STATUS_OK) fetch_results(run);
    run->status =
        options->beside->finish(options->kernel_data, run->status, &run->error);
    for (uint32_t i = 0; run->promised != NULL && i < run->slots.len; i++)
        rt_release(run->heap, run->promised[i]);
}

// What a run takes from the one before.
typedef struct Prepared {
    Code *entry;
    Slot *slots;
    const Slot *fresh; // as they are before a run: with the constants
    bool *is_array;
    uint32_t slot_count;
    uint32_t *arrays; // the slots that hold arrays
    uint32_t array_count;
} Prepared;

static Prepared *keep_prepared(const Run *run, Arena *arena) {
    Prepared *p = arena_new(arena, Prepared);
    p->entry = run->entry;
    p->slot_count = run->slots.len;
    p->slots = arena_array(arena, Slot, p->slot_count);
    p->fresh = arena_copy(arena, run->slots.data, p->slot_count * sizeof *p->fresh);
    p->is_array =
        arena_copy(arena, run->is_array.data, p->slot_count * sizeof *p->is_array);
    p->arrays = arena_array(arena, uint32_t, p->slot_count);
    for (uint32_t slot = 0; slot < p->slot_count; slot++)
        if (p->is_array[slot]) p->arrays[p->array_count++] = slot;
    return p;
}

static void prepare(Run *run, const CoreFun *fun, InterpCode *code) {
    if (code == NULL) {
        interp_prepare(run, fun);
        return;
    }
    if (code->prepared == NULL) {
        arena_free(&code->arena); // of one that failed
        arena_init(&code->arena, run->arena->mem);
        run->code_arena = &code->arena;
        interp_prepare(run, fun);
        code->prepared = keep_prepared(run, &code->arena);
    }
    const Prepared *p = code->prepared;
    memcpy(p->slots, p->fresh, p->slot_count * sizeof *p->slots);
    run->entry = p->entry;
    run->slots.data = p->slots;
    run->is_array.data = p->is_array;
    run->slots.len = run->is_array.len = p->slot_count;
}

static void prepare_beside(Run *run) {
    if (run->options->beside == NULL) return;
    run->promised = arena_array(run->arena, RtArray *, run->slots.len);
}

// What failed before it was prepared has slots that nobody listed.
static void drop_slots(Run *run) {
    const InterpCode *code = run->options->code;
    const Prepared *p = code == NULL ? NULL : code->prepared;
    if (p == NULL) interp_drop_all(run, 0, run->is_array.len);
    else
        for (uint32_t i = 0; i < p->array_count; i++) interp_drop(run, p->arrays[i]);
}

// Apart, so that no variable of a caller lives across the jump.
static void execute(Run *run, const CoreFun *fun, RtValue *args) {
    run->status = STATUS_MEMORY; // what a jump from the arena means
    run->error.message = STR("out of memory");
    if (setjmp(*run->exit) != 0) return;
    prepare(run, fun, run->options->code);
    prepare_beside(run);
    put_args(run, args);
    interp_code(run, run->entry);
    run->status = STATUS_OK;
}

Status interp_run(const CoreProgram *program, const CoreFun *fun,
                  const InterpOptions *options, RtValue *args, RtValue *results,
                  InterpError *error_out) {
    jmp_buf exit;
    Run run = {.program = program,
               .exit = &exit,
               .options = options,
               .heap = options->heap,
               .arena = options->arena,
               .code_arena = options->arena,
               .polls = 1,
               .interval = 1,
               .told = options->progress != NULL ? clock_seconds() : 0,
               .events = options->events};
    Mem *mem = options->arena->mem;
    jmp_buf *recover = mem->recover;
    mem->recover = &exit;
    FloatState floats = floats_enter();
    execute(&run, fun, args);
    finish_beside(&run);
    floats_leave(&floats);
    mem->recover = recover;

    if (run.status == STATUS_OK) get_results(&run, fun, results);
    for (uint32_t i = 0; i < fun->body->param_count; i++)
        rt_release_value(run.heap, &args[i]); // those that never reached a slot
    drop_slots(&run);
    if (run.status != STATUS_OK) {
        *error_out = run.error;
        error_out->status = run.status;
    }
    return run.status;
}
