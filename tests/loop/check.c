// SPDX-License-Identifier: Apache-2.0
//
// Compares the loop language with the oracle. Linked into the command in place of the
// oracle's entry (the linker's --wrap), it lets every run of a program also be lowered,
// sequentially and in parallel, and evaluated: the bits must be the same, or the error.
// So `loop_check test tests/lang` tries every program there.
//
// One line per run goes to the file that LOOP_CHECK names: "same", "refused: why",
// "tired" or "differs: how".
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval.h"
#include "interp/interp.h"
#include "loop/passes.h"
#include "loop/vector.h"
#include "plan.h"
#include "same.h"
#include "small.h"

Status __real_interp_run(const CoreProgram *program, const CoreFun *fun,
                         const InterpOptions *options, RtValue *args, RtValue *results,
                         InterpError *error_out);
Status __wrap_interp_run(const CoreProgram *program, const CoreFun *fun,
                         const InterpOptions *options, RtValue *args, RtValue *results,
                         InterpError *error_out);

typedef struct Trial {
    const CoreProgram *core;
    const CoreFun *fun;
    const RtValue *args;
    Status status; // the oracle's
    const RtValue *results;
    const InterpError *error;
    RtHeap *heap;
    Arena *arena;
    StrBuf why;
    bool is_unsound; // after a pass
} Trial;

static void tell(const Trial *t, const char *form, const char *what, Str why) {
    same_tell("LOOP_CHECK", t->core, t->fun, form, what, why, t->arena);
}

static bool agrees(Trial *t, EvalOutcome outcome, const EvalReport *report,
                   const RtValue *results) {
    if (outcome == EVAL_BUG) {
        strbuf_str(&t->why, report->message);
        return false;
    }
    if (t->status == STATUS_OK && outcome == EVAL_OK) {
        for (uint32_t i = 0; i < t->fun->body->result_count; i++)
            if (!same_value(&results[i], &t->results[i], &t->why)) return false;
        return true;
    }
    if (t->status == STATUS_OK || outcome == EVAL_OK) {
        strbuf_printf(
            &t->why, "%s: %.*s", outcome == EVAL_OK ? "no error" : "an error",
            STR_ARG(outcome == EVAL_OK ? t->error->message : report->message));
        return false;
    }
    if (str_eq(report->message, t->error->message) && report->loc == t->error->loc)
        return true;
    strbuf_printf(&t->why, "%.*s at %u, not %.*s at %u", STR_ARG(report->message),
                  report->loc, STR_ARG(t->error->message), t->error->loc);
    return false;
}

// Devices run no lanes.
static bool has_lanes(const LoopKernel *kernel) {
    for (LoopRef ref = 1; ref < kernel->values.len; ref++)
        if (kernel->values.data[ref].type.lanes > 0) return true;
    return false;
}

// The kernel and its plan are sound, and its text reads back to the same text.
static bool verifies(Trial *t, const LoopKernel *kernel) {
    StrBuf first = strbuf(t->arena), second = strbuf(t->arena);
    Cx *cx = t->core->cx;
    if (!loop_verify(kernel, &t->why)) return false;
    const char *fault = has_lanes(kernel) ? NULL : plan_fault(kernel, t->arena);
    if (fault != NULL) strbuf_cstr(&t->why, fault);
    if (fault != NULL) return false;
    loop_print(kernel, &first);
    Source source = {.name = STR("printed"), .text = strbuf_done(&first)};
    uint32_t errors = cx->diags.len;
    const LoopKernel *again = loop_read(cx, t->arena, t->core, &source);
    if (again == NULL) {
        strbuf_str(&t->why, cx->diags.data[errors]->message);
        return false;
    }
    loop_print(again, &second);
    if (str_eq(strbuf_done(&first), strbuf_done(&second))) return true;
    strbuf_cstr(&t->why, "its text reads back otherwise");
    return false;
}

static void verify_after(Trial *t, const char *pass, const LoopKernel *kernel) {
    if (t->is_unsound || loop_verify(kernel, &t->why)) return;
    t->is_unsound = true;
    strbuf_printf(&t->why, " after %s", pass);
}

static void verify_pass(void *data, const LoopPassInfo *pass,
                        const LoopKernel *kernel) {
    verify_after(data, pass->name, kernel);
}

// Parallel kernels go through the passes for cores, others, and those for GPUs,
// through those for all targets, and both are also tried as they were lowered, and with
// all nests lifted and all loops in lanes that can be, whether that gains or not
// (stop_after being the pass before those).
static void try_form(Trial *t, const char *form, LoopShape shape, int stop_after) {
    const char *reason;
    LoopOptions options = {shape == LOOP_PARALLEL ? LOOP_FOR_HERE : LOOP_FOR_ALL,
                           stop_after, verify_pass, t};
    t->why = strbuf(t->arena);
    t->is_unsound = false;
    LoopKernel *kernel = loop_lower(t->core, t->fun, shape, t->arena, &reason);
    if (kernel == NULL) {
        tell(t, form, "refused", str_of(reason));
        return;
    }
    static uint32_t bytes = 32; // of a vector; and 64, in turns
    bool is_small = stop_after == LOOP_PASS_BATCH - 1;
    if (is_small) bytes = 96 - bytes;
    if (is_small && shape == LOOP_PARALLEL) kernel->vector_bytes = bytes;
    loop_optimise(kernel, &options);
    if (is_small) {
        LiftMachine wide = small_with(bytes);
        batch_run(kernel, &wide);
        verify_after(t, "batches for a small machine", kernel);
        lift_run(kernel, &small);
        verify_after(t, "lift for a small machine", kernel);
        loop_ends(kernel);
        verify_after(t, "ends for a small machine", kernel);
        vector_run(kernel, bytes, true);
    }
    if (getenv("LOOP_CHECK_DUMP") != NULL) {
        StrBuf text = strbuf(t->arena);
        loop_print(kernel, &text);
        fprintf(stderr, "%.*s\n", STR_ARG(strbuf_done(&text)));
    }
    bool ok = !t->is_unsound && verifies(t, kernel);
    RtValue *results = arena_array(t->arena, RtValue, t->fun->body->result_count);
    // Of what no engine runs one order says enough.
    for (int order = stop_after == LOOP_PASSES_ALL ? EVAL_FORWARD : EVAL_SHUFFLED;
         order <= EVAL_SHUFFLED && ok; order++) {
        EvalReport report;
        EvalOutcome outcome = loop_eval(kernel, (EvalOrder)order, t->arena, t->heap,
                                        t->args, results, &report);
        if (outcome == EVAL_TIRED) {
            tell(t, form, "tired", STR(""));
            return;
        }
        ok = agrees(t, outcome, &report, results);
        for (uint32_t i = 0; i < t->fun->body->result_count && outcome == EVAL_OK; i++)
            rt_release_value(t->heap, &results[i]);
    }
    tell(t, form, ok ? "same" : "differs", strbuf_done(&t->why));
}

Status __wrap_interp_run(const CoreProgram *program, const CoreFun *fun,
                         const InterpOptions *options, RtValue *args, RtValue *results,
                         InterpError *error_out) {
    uint32_t count = fun->body->param_count;
    RtValue *kept = calloc(count + 1, sizeof *kept);
    if (kept == NULL) abort();
    for (uint32_t i = 0; i < count; i++) {
        kept[i] = args[i];
        if (args[i].rank > 0) rt_retain(args[i].array);
    }
    Status status = __real_interp_run(program, fun, options, args, results, error_out);
    if (status == STATUS_OK || status == STATUS_RUNTIME) {
        // Tests run core as they wrote it, stamps and all: for them it is past stage 0.
        CoreProgram final = *program;
        final.is_stage0 = true;
        Mem mem = {.recover = options->arena->mem->recover};
        Arena arena;
        RtHeap heap;
        arena_init(&arena, &mem);
        rt_heap_init(&heap, &mem);
        Trial t = {.core = &final,
                   .fun = fun,
                   .args = kept,
                   .status = status,
                   .results = results,
                   .error = error_out,
                   .heap = &heap,
                   .arena = &arena};
        static const int stops[] = {LOOP_PASSES_NONE, LOOP_PASS_BATCH - 1,
                                    LOOP_PASSES_ALL};
        for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
            if (stops[i] != LOOP_PASSES_ALL) // the last pass leaves these as they are
                try_form(&t, "sequential", LOOP_SEQUENTIAL, stops[i]);
            try_form(&t, "parallel", LOOP_PARALLEL, stops[i]);
        }
        try_form(&t, "parallel", LOOP_FOR_GPUS, LOOP_PASSES_ALL);
        try_form(&t, "parallel", LOOP_FOR_GPUS_64, LOOP_PASSES_ALL);
        rt_heap_free(&heap);
        arena_free(&arena);
    }
    for (uint32_t i = 0; i < count; i++) rt_release_value(options->heap, &kept[i]);
    free(kept);
    return status;
}
