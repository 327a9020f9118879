// SPDX-License-Identifier: Apache-2.0
//
// Compares tasks with the oracle. Linked into the command in place of the oracle's
// entry (the linker's --wrap), it lets every run of a program also be made into tasks,
// in every form; these are checked and run in adversarial orders. The bits must be the
// same, or the error. So `task_check test tests/lang` tries every program there.
//
// A program may have lines "-- length ENTRY: 4 5", with a number for each input of that
// entry, in their order: how long its tasks take in the form GRAPH, worked out by hand.
//
// One line per run and form goes to the file that TASK_CHECK names: "same", "tired" or
// "differs: how"; and "reaches" for each of those numbers that is right.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt/opt.h"
#include "opt/passes.h"
#include "same.h"
#include "task/run.h"

Status __real_interp_run(const CoreProgram *program, const CoreFun *fun,
                         const InterpOptions *options, RtValue *args, RtValue *results,
                         InterpError *error_out);
Status __wrap_interp_run(const CoreProgram *program, const CoreFun *fun,
                         const InterpOptions *options, RtValue *args, RtValue *results,
                         InterpError *error_out);

enum { MOST_STEPS = 400000, MOST_BYTES = 1 << 30 };

typedef struct Trial {
    CoreProgram *core; // outlined
    const CoreFun *fun;
    const RtValue *args;
    Status status; // the oracle's
    const RtValue *results;
    const InterpError *error;
    RtHeap *heap;
    Arena *arena;
    StrBuf why;
    const double *length; // that the program's text says; NULL: it says nothing
} Trial;

static _Thread_local bool is_inside; // of a trial, where the oracle runs operations
static _Thread_local uint64_t seed;

static void tell(Trial *t, TaskForm form, const char *what) {
    Str why = strbuf_done(&t->why);
    same_tell("TASK_CHECK", t->core, t->fun, task_form_names[form], what, why,
              t->arena);
}

static bool agrees(Trial *t, TaskOutcome outcome, const TaskReport *report,
                   const RtValue *results) {
    if (outcome == TASK_BROKEN) {
        strbuf_str(&t->why, report->fault);
        return false;
    }
    bool is_done = outcome == TASK_DONE;
    if (is_done != (t->status == STATUS_OK)) {
        strbuf_printf(&t->why, "%s: %.*s", is_done ? "no error" : "an error",
                      STR_ARG(is_done ? t->error->message : report->error.message));
        return false;
    }
    for (uint32_t i = 0; i < t->fun->body->result_count && is_done; i++)
        if (!same_value(&results[i], &t->results[i], &t->why)) return false;
    if (is_done || (str_eq(report->error.message, t->error->message) &&
                    report->error.loc == t->error->loc))
        return true;
    strbuf_printf(&t->why, "%.*s at %u, not %.*s at %u", STR_ARG(report->error.message),
                  report->error.loc, STR_ARG(t->error->message), t->error->loc);
    return false;
}

// Lengths of tasks in the form GRAPH, after a run that came to the right end.
static bool has_its_length(Trial *t, const TaskReport *report) {
    if (report->span > report->critical) {
        strbuf_printf(&t->why, "it takes %g, its critical path %g", report->span,
                      report->critical);
        return false;
    }
    if (t->length == NULL) return true;
    if (report->span == *t->length && report->critical == *t->length) return true;
    strbuf_printf(&t->why, "it takes %g, its critical path %g, by hand %g",
                  report->span, report->critical, *t->length);
    return false;
}

// False: it was told.
static bool try_order(Trial *t, const TaskProgram *tasks, TaskForm form,
                      TaskOrder order) {
    TaskRunOptions options = {.heap = t->heap,
                              .arena = t->arena,
                              .order = order,
                              .seed = ++seed,
                              .most_steps = MOST_STEPS};
    uint32_t count = t->fun->body->result_count;
    RtValue *results = arena_array(t->arena, RtValue, count);
    TaskReport report;
    TaskOutcome outcome = task_run(tasks, &options, t->args, results, &report);
    if (outcome == TASK_TIRED) {
        tell(t, form, "tired");
        return false;
    }
    bool is_same = agrees(t, outcome, &report, results);
    for (uint32_t i = 0; i < count && outcome == TASK_DONE; i++)
        rt_release_value(t->heap, &results[i]);
    if (is_same && form == TASK_GRAPH && outcome == TASK_DONE)
        is_same = has_its_length(t, &report);
    if (!is_same) tell(t, form, "differs");
    return is_same;
}

static void try_form(Trial *t, TaskForm form) {
    t->why = strbuf(t->arena);
    const FlowFun *flow = flow_make(t->core, t->fun, t->arena);
    if (flow == NULL) {
        tell(t, form, "tired");
        return;
    }
    const TaskProgram *tasks = task_make(flow, form, t->arena);
    if (getenv("TASK_CHECK_DUMP") != NULL) {
        StrBuf text = strbuf(t->arena);
        task_print(tasks, &text);
        fprintf(stderr, "%.*s\n", STR_ARG(strbuf_done(&text)));
    }
    if (!task_check(tasks, t->arena, &t->why)) {
        tell(t, form, "differs");
        return;
    }
    // Two of the orders each time, one of them by chance.
    if (!try_order(t, tasks, form,
                   (TaskOrder)((seed + (uint64_t)form) % TASK_RANDOM)) ||
        !try_order(t, tasks, form, seed % 2 == 0 ? TASK_RANDOM : TASK_RANKED))
        return;
    tell(t, form, "same");
    if (form == TASK_GRAPH && t->length != NULL) tell(t, form, "reaches");
}

// A copy that passes may change: nodes are shared, tables are not.
static CoreProgram *copy_program(const CoreProgram *p, const CoreFun **fun,
                                 Arena *arena) {
    CoreProgram *copy = arena_copy(arena, p, sizeof *p);
    copy->arena = arena;
    copy->is_stage0 = true; // tests run core as they wrote it, stamps and all
    copy->values.data =
        arena_copy(arena, p->values.data, p->values.cap * sizeof *p->values.data);
    copy->places.data =
        arena_copy(arena, p->places.data, p->places.cap * sizeof *p->places.data);
    copy->funs.data = arena_array(arena, CoreFun *, p->funs.cap);
    for (uint32_t i = 0; i < p->funs.len; i++) {
        copy->funs.data[i] = arena_copy(arena, p->funs.data[i], sizeof(CoreFun));
        if (p->funs.data[i] == *fun) *fun = copy->funs.data[i];
    }
    map_init(&copy->constants, arena);
    for (uint32_t i = 0; i < p->constants.slot_count; i++)
        if (p->constants.slots[i].key != 0)
            map_set(&copy->constants, p->constants.slots[i].key,
                    p->constants.slots[i].value);
    return copy;
}

// Looks for the length of this run in the texts of the program. An entry's inputs come
// one after the other.
static void find_length(Trial *t) {
    static Sym entry;
    static uint32_t nth; // of its inputs
    nth = t->fun->name == entry ? nth + 1 : 0;
    entry = t->fun->name;
    const Cx *cx = t->core->cx;
    StrBuf start = strbuf(t->arena);
    strbuf_printf(&start, "\n-- length %.*s:", STR_ARG(sym_str(&cx->syms, entry)));
    strbuf_char(&start, '\0');
    for (uint32_t i = 0; i < cx->sources.len; i++) {
        const Source *source = cx->sources.data[i];
        if (source->is_lib) continue;
        const char *at = strstr(str_terminated(t->arena, source->text), start.data);
        if (at == NULL) continue;
        char *end = (char *)at + start.len - 1;
        double *length = arena_new(t->arena, double);
        for (uint32_t k = 0; k <= nth; k++) *length = strtod(end, &end); // 0: no more
        t->length = length;
    }
}

static void try_all(Trial *t, const CoreProgram *program) {
    t->core = copy_program(program, &t->fun, t->arena);
    bool is_entry = t->fun->is_entry;
    ((CoreFun *)t->fun)->is_entry = true; // outlining goes by entries
    opt_outline(t->core);
    ((CoreFun *)t->fun)->is_entry = is_entry;
    find_length(t);
    for (int form = 0; form < TASK_FORM_COUNT; form++) try_form(t, (TaskForm)form);
}

Status __wrap_interp_run(const CoreProgram *program, const CoreFun *fun,
                         const InterpOptions *options, RtValue *args, RtValue *results,
                         InterpError *error_out) {
    if (is_inside)
        return __real_interp_run(program, fun, options, args, results, error_out);
    uint32_t count = fun->body->param_count;
    RtValue *kept = calloc(count + 1, sizeof *kept);
    if (kept == NULL) abort();
    for (uint32_t i = 0; i < count; i++) {
        kept[i] = args[i];
        if (args[i].rank > 0) rt_retain(args[i].array);
    }
    Status status = __real_interp_run(program, fun, options, args, results, error_out);
    if (status == STATUS_OK || status == STATUS_RUNTIME) {
        jmp_buf recover;
        Mem mem = {.limit = MOST_BYTES, .recover = &recover};
        Arena arena;
        RtHeap heap;
        arena_init(&arena, &mem);
        rt_heap_init(&heap, &mem);
        Trial t = {.fun = fun,
                   .args = kept,
                   .status = status,
                   .results = results,
                   .error = error_out,
                   .heap = &heap,
                   .arena = &arena};
        is_inside = true;
        if (setjmp(recover) == 0) try_all(&t, program);
        is_inside = false;
        rt_heap_free(&heap);
        arena_free(&arena);
    }
    for (uint32_t i = 0; i < count; i++) rt_release_value(options->heap, &kept[i]);
    free(kept);
    return status;
}
