// SPDX-License-Identifier: Apache-2.0
//
// Tasks: what becomes of the thesis's examples and of others (tests/task/golden, one
// file for each form that is looked at); which of their tasks waits for which; broken
// task programs, which the checker must refuse and some order of running must show; how
// an error and a small memory end.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <string.h>

#include "base/cx.h"
#include "opt/opt.h"
#include "opt/passes.h"
#include "task/run.h"
#include "test.h"

typedef struct Bench {
    Mem mem;
    jmp_buf out_of_memory;
    Arena arena;
    RtHeap heap;
    Cx cx;
    CoreProgram *program;
    CoreFun *fun;
    FlowFun *flow;
} Bench;

static char text_of[1 << 16];

static const char *read_file(const char *name, const char *ending) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/task/golden/%s.%s", WEFT_SOURCE_DIR, name,
             ending);
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    size_t length = fread(text_of, 1, sizeof text_of - 1, file);
    fclose(file);
    text_of[length] = '\0';
    return text_of;
}

static void open_bench(Bench *b, const char *name) {
    memset(b, 0, sizeof *b);
    b->mem.recover = &b->out_of_memory;
    arena_init(&b->arena, &b->mem);
    rt_heap_init(&b->heap, &b->mem);
    cx_init(&b->cx, &b->arena);
    stack_measure(&b->cx.stack);
    const char *text = read_file(name, "core");
    CHECK(text != NULL);
    const Source *source = sources_add(&b->cx.sources, STR("case"), str_of(text), true);
    StrBuf faults = strbuf(&b->arena);
    b->program = core_read(&b->cx, &b->arena, source);
    CHECK(b->program != NULL && core_verify(b->program, &faults));
    opt_outline(b->program);
    b->fun = b->program->funs.data[b->program->funs.len - 1];
    b->flow = flow_make(b->program, b->fun, &b->arena);
}

static void close_bench(Bench *b) {
    rt_heap_free(&b->heap);
    arena_free(&b->arena);
    CHECK(b->mem.used == 0);
}

// ---- what becomes of programs -------------------------------------------------------

static const char *const names[] = {"thesis_4_13_1", "thesis_4_13_2", "thesis_4_13_2_k",
                                    "in_place",      "branch",        "turns",
                                    "keeps",         "reads"};
enum { NAMES = sizeof names / sizeof *names };

static void test_golden(const char *name) {
    unsigned seen = 0;
    for (int form = 0; form < TASK_FORM_COUNT; form++) {
        Bench b;
        open_bench(&b, name);
        StrBuf text = strbuf(&b.arena);
        task_print(task_make(b.flow, (TaskForm)form, &b.arena), &text);
        const char *expected = read_file(name, task_form_names[form]);
        bool is_same = expected == NULL || str_eq(strbuf_done(&text), str_of(expected));
        CHECK(is_same);
        if (!is_same)
            printf("%s.%s is now\n%.*s", name, task_form_names[form],
                   STR_ARG(strbuf_done(&text)));
        seen += expected != NULL;
        close_bench(&b);
    }
    CHECK(seen > 0);
}

// ---- what waits for what ------------------------------------------------------------

typedef struct Step {
    int task;                 // 0: the one that forks the others; these in order
    const char *does, *waits; // after what it waits
} Step;

// The threads of the thesis's examples and what they wait for, read off its text and
// not off the goldens. Its `wait [s9]` is here what resolves that signal: a param, or
// what was done before that. Where this is not what it prints:
// - who forks whom is the other way round (docs/tasks.md);
// - of a param that is an array it waits for the size and the elements, here in one;
// - an operation that is a generate here takes its size, a backpermute does not;
// - in 4.13.2 and 5.4.1 the size e2 is a constant, which core has in the operation, so
//   the allocation waits for nothing; "_k" is where e2 is computed, of a param k.
static const struct Example {
    const char *name;
    TaskForm form;
    Step steps[12];
} examples[] = {
    {"thesis_4_13_1",
     TASK_RULES,
     {{1, "alloc b1", "e0"},                // wait [s0]
      {2, "kernel b1", "e0, b0, alloc b1"}, // wait [s0, s1, s4, s5]
      {0, "return e0", "e0, kernel b1"},    // wait [s0, s6]
      {0, "return b1", ""}}},
    {"thesis_4_13_2",
     TASK_RULES,
     {{1, "alloc b1", "e0"},                                // wait [s0]
      {2, "kernel b1", "e0, b0, alloc b1"},                 // wait [s0, s1, s6, s7]
      {3, "exp e2", ""},                                    //
      {4, "alloc b3", ""},                                  // wait [s9], for e2
      {5, "kernel b3", "b0, alloc b3"},                     // wait [s0, s1, s10, s11]
      {0, "return e0", "e0, kernel b1, exp e2, kernel b3"}, // wait [s0, s8, s9, s12]
      {0, "return b1", ""},
      {0, "return e2", ""},
      {0, "return b3", ""}}},
    {"thesis_4_13_2_k",
     TASK_RULES,
     {{1, "alloc b1", "e0"},
      {2, "kernel b1", "e0, b0, alloc b1"},
      {3, "exp e2", "k"},
      {4, "alloc b3", "exp e2"}, // wait [s9]
      {5, "kernel b3", "exp e2, b0, alloc b3"},
      {0, "return e0", "e0, kernel b1, exp e2, kernel b3"},
      {0, "return b1", ""},
      {0, "return e2", ""},
      {0, "return b3", ""}}},
    // Example 5.4.1.
    {"thesis_4_13_2",
     TASK_RETURNS,
     {{1, "alloc b1", "e0"},                // wait [s0]
      {1, "kernel b1", "e0, b0, alloc b1"}, // wait [s0, s1, s6, s7]
      {0, "exp e2", ""},                    // trivial, in the block itself
      {0, "alloc b3", ""},                  // nothing to wait for: so trivial here
      {2, "kernel b3", "b0"},               // wait [s0, s1, s10, s11]
      {3, "return e0", "e0"},               // wait [s0]
      {4, "return b1", "kernel b1"},        // wait [s8]
      {5, "return e2", ""},                 //
      {0, "return b3", "kernel b3"}}},      // wait [s12]
    {"thesis_4_13_2_k",
     TASK_RETURNS,
     {{1, "alloc b1", "e0"},
      {1, "kernel b1", "e0, b0, alloc b1"},
      {2, "exp e2", "k"}, // is not trivial, so by 5.2 the allocation joins it
      {2, "alloc b3", "exp e2"},
      {2, "kernel b3", "exp e2, b0, alloc b3"},
      {3, "return e0", "e0"},
      {4, "return b1", "kernel b1"},
      {5, "return e2", "exp e2"},
      {0, "return b3", "kernel b3"}}},
};

typedef struct Walk {
    Arena *arena;
    const CoreProgram *core;
    const TaskProgram *p;
    Str *resolver; // by signal: a param, or what is done before it is resolved
    StrBuf steps;
    int tasks;
} Walk;

static Str name_in(const Walk *w, TaskName name) {
    return sym_str(&w->core->cx->syms, w->p->names.data[name].name);
}

static bool is_result(const Walk *w, TaskName ref) {
    for (uint32_t i = 0; i < w->p->results.len; i++)
        if (w->p->results.data[i].ref == ref) return true;
    return false;
}

// What a term does to a value; empty: nothing.
static Str step_of(const Walk *w, const TaskTerm *term) {
    StrBuf step = strbuf(w->arena);
    TaskKind kind = term->kind;
    if (kind == TASK_EXP || kind == TASK_ALLOC || kind == TASK_KERNEL)
        strbuf_printf(&step, "%s %.*s", task_kind_names[kind],
                      STR_ARG(name_in(w, term->outs.data[0])));
    if (kind == TASK_WRITE && is_result(w, term->args.data[0]))
        strbuf_printf(&step, "return %.*s", STR_ARG(name_in(w, term->args.data[1])));
    return strbuf_done(&step);
}

static void walk(Walk *w, const TaskBlock *block, int task) {
    Str last = {0};
    StrBuf waits = strbuf(w->arena);
    for (uint32_t i = 0; i < block->len; i++) {
        const TaskTerm *term = &block->data[i];
        Str step = step_of(w, term);
        for (uint32_t k = 0; k < term->args.len && term->kind == TASK_WAIT; k++)
            strbuf_printf(&waits, "%s%.*s", waits.len > 0 ? ", " : "",
                          STR_ARG(w->resolver[term->args.data[k]]));
        for (uint32_t k = 0; k < term->args.len && term->kind == TASK_RESOLVE; k++)
            w->resolver[term->args.data[k]] = last;
        if (term->kind == TASK_FORK) walk(w, term->parts[0], ++w->tasks);
        if (step.len == 0) continue;
        strbuf_printf(&w->steps, "%d %.*s: %.*s\n", task, STR_ARG(step),
                      STR_ARG(strbuf_done(&waits)));
        waits = strbuf(w->arena);
        last = step;
    }
}

static void test_forks(const struct Example *example) {
    Bench b;
    open_bench(&b, example->name);
    const TaskProgram *p = task_make(b.flow, example->form, &b.arena);
    Walk w = {.arena = &b.arena, .core = b.program, .p = p};
    w.resolver = arena_array(&b.arena, Str, p->names.len);
    for (uint32_t i = 0; i < p->params.len; i++)
        w.resolver[p->params.data[i].signal] = name_in(&w, p->params.data[i].ref);
    for (int pass = 0; pass < 2; pass++) { // the first learns who resolves what
        w.tasks = 0;
        w.steps = strbuf(&b.arena);
        walk(&w, p->block, 0);
    }
    StrBuf expected = strbuf(&b.arena);
    for (const Step *step = example->steps; step->does != NULL; step++)
        strbuf_printf(&expected, "%d %s: %s\n", step->task, step->does, step->waits);
    bool is_same = str_eq(strbuf_done(&w.steps), strbuf_done(&expected));
    CHECK(is_same);
    if (!is_same)
        printf("%s.%s does\n%.*s", example->name, task_form_names[example->form],
               STR_ARG(strbuf_done(&w.steps)));
    close_bench(&b);
}

// ---- running ------------------------------------------------------------------------

static RtValue new_array(Bench *b, ScalarType elem, int64_t n) {
    RtArray *a = rt_new(&b->heap, elem, 1, &n);
    if (a == NULL) mem_fail(&b->mem);
    for (int64_t i = 0; i < n; i++)
        rt_store(elem, a->data + i * scalar_info[elem].bytes, (uint64_t)(i * 5 % 7));
    return (RtValue){.elem = elem, .rank = 1, .array = a};
}

static RtValue scalar(ScalarType elem, uint64_t bits) {
    return (RtValue){.elem = elem, .bits = bits};
}

// By the types of the params: arrays of 6, their length, three turns, true.
static void make_args(Bench *b, RtValue *args) {
    for (uint32_t i = 0; i < b->fun->body->param_count; i++) {
        CoreType type = core_type(b->program, b->fun->body->params[i]);
        args[i] = type.rank > 0              ? new_array(b, (ScalarType)type.elem, 6)
                  : type.elem == SCALAR_BOOL ? scalar(SCALAR_BOOL, 1)
                                             : scalar(SCALAR_I64, i == 0 ? 6 : 3);
    }
}

static uint64_t digest(Bench *b, RtValue *results) {
    uint64_t hash = 1469598103934665603u;
    for (uint32_t k = 0; k < b->fun->body->result_count; k++) {
        if (results[k].rank == 0) hash = (hash ^ results[k].bits) * 1099511628211u;
        for (int64_t i = 0; results[k].rank > 0 && i < rt_count(results[k].array); i++)
            hash = (hash ^ rt_load(SCALAR_I32, results[k].array->data + i * 4)) *
                   1099511628211u;
        rt_release_value(&b->heap, &results[k]);
    }
    return hash;
}

// Each order, and those by chance again and again.
static TaskOrder nth_order(int n) {
    if (n < TASK_ORDER_COUNT) return (TaskOrder)n;
    return n % 2 == 0 ? TASK_RANDOM : TASK_RANKED;
}

static TaskOutcome run(Bench *b, const TaskProgram *p, TaskOrder order, uint64_t seed,
                       uint64_t *digest_out, TaskReport *report) {
    RtValue args[5], results[4];
    make_args(b, args);
    TaskRunOptions options = {&b->heap, &b->arena, order, seed, 100000};
    TaskOutcome outcome = task_run(p, &options, args, results, report);
    if (outcome == TASK_DONE) *digest_out = digest(b, results);
    for (uint32_t i = 0; i < b->fun->body->param_count; i++)
        rt_release_value(&b->heap, &args[i]);
    return outcome;
}

static void test_orders(const char *name) {
    Bench b;
    open_bench(&b, name);
    RtValue args[5], results[4];
    InterpError error;
    InterpOptions options = {.heap = &b.heap, .arena = &b.arena};
    make_args(&b, args);
    CHECK(interp_run(b.program, b.fun, &options, args, results, &error) == STATUS_OK);
    uint64_t expected = digest(&b, results);
    for (int form = 0; form < TASK_FORM_COUNT; form++) {
        const TaskProgram *p = task_make(b.flow, (TaskForm)form, &b.arena);
        StrBuf faults = strbuf(&b.arena);
        CHECK(task_check(p, &b.arena, &faults));
        for (int order = 0; order < TASK_ORDER_COUNT + 8; order++) {
            TaskOrder by = nth_order(order);
            uint64_t found = 0;
            TaskReport report;
            CHECK(run(&b, p, by, (uint64_t)order, &found, &report) == TASK_DONE);
            CHECK(found == expected);
            CHECK(form != TASK_GRAPH || report.span == report.critical);
        }
    }
    CHECK(b.heap.live == NULL);
    close_bench(&b);
}

// How tasks of two operations fail that may each fail.
static void check_error(int64_t n, int64_t z, TaskForm form, int order, Str message) {
    Bench b;
    open_bench(&b, "errors");
    const TaskProgram *p = task_make(b.flow, form, &b.arena);
    RtValue results[4],
        args[] = {scalar(SCALAR_I64, (uint64_t)n), scalar(SCALAR_I64, (uint64_t)z)};
    TaskOrder by = nth_order(order);
    TaskRunOptions options = {&b.heap, &b.arena, by, (uint64_t)order, 100000};
    TaskReport report;
    CHECK(task_run(p, &options, args, results, &report) == TASK_FAILED);
    CHECK(str_eq(report.error.message, message));
    CHECK(b.heap.live == NULL);
    close_bench(&b);
}

static void test_errors(void) {
    for (int form = 0; form < TASK_FORM_COUNT; form++)
        for (int order = 0; order < 20; order++) {
            check_error(-4, 0, (TaskForm)form, order, STR("a size of -4 is negative"));
            check_error(4, 0, (TaskForm)form, order, STR("division by zero"));
            check_error(4, -1, (TaskForm)form, order, STR("a size of -1 is negative"));
        }
}

// ---- broken programs ----------------------------------------------------------------

// The n-th term of a kind, counted from 0 through blocks and what is in them.
static TaskTerm *find(TaskBlock *block, TaskKind kind, uint32_t *n, TaskBlock **in) {
    for (uint32_t i = 0; i < block->len; i++) {
        TaskTerm *term = &block->data[i];
        if (term->kind == kind && (*n)-- == 0) {
            *in = block;
            return term;
        }
        TaskTerm *found = NULL;
        for (int k = 0; k < 2 && found == NULL; k++)
            if (term->parts[k] != NULL) found = find(term->parts[k], kind, n, in);
        if (found == NULL && term->turn != NULL)
            found = find(term->turn->block, kind, n, in);
        if (found != NULL) return found;
    }
    return NULL;
}

static void drop(TaskBlock *block, TaskTerm *term) {
    size_t after = (size_t)(block->data + block->len - term - 1);
    memmove(term, term + 1, after * sizeof *term);
    block->len--;
}

// Everything that the checker said in refusing programs.
static char said[1 << 20];

static bool is_refused(Bench *b, const TaskProgram *p) {
    StrBuf faults = strbuf(&b->arena);
    bool is_fine = task_check(p, &b->arena, &faults);
    Str text = strbuf_done(&faults);
    size_t end = strlen(said), room = sizeof said - 1 - end;
    memcpy(said + end, text.ptr, text.len < room ? text.len : room);
    return !is_fine && text.len > 0;
}

// Leaves out each term of a kind in turn, or does it twice.
static void test_broken(const char *name, TaskForm form, TaskKind kind, bool twice) {
    uint32_t count = 0;
    for (;; count++) {
        Bench b;
        open_bench(&b, name);
        TaskProgram *p = task_make(b.flow, form, &b.arena);
        TaskBlock *in = NULL;
        uint32_t n = count;
        TaskTerm *term = find(p->block, kind, &n, &in);
        if (term != NULL && twice) vec_push(&b.arena, in, *term);
        else if (term != NULL) drop(in, term);
        bool is_over = term == NULL;
        bool is_fine = is_over || is_refused(&b, p);
        CHECK(is_fine);
        if (!is_fine)
            printf("%s.%s: %s %u is not missed\n", name, task_form_names[form],
                   task_kind_names[kind], count);
        close_bench(&b);
        if (is_over) break;
    }
    CHECK(count > 0);
}

// Moves what a branch itself resolves to behind the condition; how much that was.
static uint32_t move_out(Bench *b, TaskBlock *block, TaskTerm *condition) {
    TaskBlock *branch = condition->parts[0];
    uint32_t moved = 0;
    for (uint32_t i = branch->len; i-- > 0;) {
        TaskTerm term = branch->data[i];
        if (term.kind != TASK_RESOLVE) continue;
        drop(branch, &branch->data[i]);
        vec_push(&b->arena, block, term);
        moved++;
    }
    return moved;
}

// Every way in which a program is refused is met, and has a text of its own.
static void test_texts(void) {
    static const char *const texts[] = {" is resolved never on a path\n",
                                        " is resolved twice on a path\n",
                                        " is written never on a path\n",
                                        " is resolved where it is not there\n",
                                        " is not bound\n",
                                        "a circle: wait for ",
                                        " is read before it is written\n",
                                        " is written while it is in use\n",
                                        "a turn does not branch on its guard\n"};
    test_broken("turns", TASK_RULES, TASK_SIGNAL, false);
    test_broken("turns", TASK_RULES, TASK_REF, false);
    test_broken("turns", TASK_RULES, TASK_IF, false);
    for (int i = 0; i < NAMES; i++) {
        Bench b;
        open_bench(&b, names[i]);
        TaskProgram *p = task_make(b.flow, TASK_RULES, &b.arena);
        TaskBlock *in = NULL;
        uint32_t first = 0;
        TaskTerm *condition = find(p->block, TASK_IF, &first, &in);
        if (condition != NULL) {
            uint32_t moved = move_out(&b, in, condition);
            CHECK(is_refused(&b, p) == (moved > 0));
        }
        close_bench(&b);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK(strstr(said, texts[i]) != NULL);
        if (strstr(said, texts[i]) == NULL)
            printf("nothing is refused with%s", texts[i]);
    }
}

// Whether some order of running shows that the program is broken.
static void test_found_by_running(const char *name, TaskKind kind) {
    uint32_t count = 0, found = 0;
    for (;; count++) {
        Bench b;
        open_bench(&b, name);
        TaskProgram *p = task_make(b.flow, TASK_GRAPH, &b.arena);
        TaskBlock *in = NULL;
        uint32_t n = count;
        TaskTerm *term = find(p->block, kind, &n, &in);
        if (term != NULL) drop(in, term);
        bool is_broken = false;
        for (int order = 0; term != NULL && order < 200 && !is_broken; order++) {
            TaskReport report;
            uint64_t unused;
            TaskOrder by = nth_order(order);
            is_broken =
                run(&b, p, by, (uint64_t)order, &unused, &report) == TASK_BROKEN &&
                report.fault.len > 0;
        }
        found += is_broken;
        close_bench(&b);
        if (term == NULL) break;
    }
    CHECK(count > 0 && found == count);
    if (found != count) printf("%s: %u of %u\n", name, found, count);
}

// Two tasks that each wait for the other.
static void test_circle(void) {
    Bench b;
    open_bench(&b, "thesis_4_13_2");
    TaskProgram *p = task_make(b.flow, TASK_RULES, &b.arena);
    TaskBlock *in = NULL;
    uint32_t first = 0;
    TaskTerm *wait = find(p->block, TASK_WAIT, &first, &in);
    // The first task waits for what the return, which waits for it, resolves.
    vec_push(&b.arena, &wait->args, p->results.data[0].signal);
    CHECK(is_refused(&b, p));
    uint64_t unused;
    TaskReport report;
    CHECK(run(&b, p, TASK_OLDEST_FIRST, 0, &unused, &report) == TASK_BROKEN);
    close_bench(&b);
}

// ---- memory -------------------------------------------------------------------------

// Whether nothing failed before allocation k.
static bool runs_before(uint64_t k) {
    Bench b;
    open_bench(&b, "turns");
    volatile bool is_done = false;
    b.mem.fail_at = b.mem.calls + k;
    if (setjmp(b.out_of_memory) == 0) {
        const FlowFun *flow = flow_make(b.program, b.fun, &b.arena);
        const TaskProgram *p = task_make(flow, TASK_GRAPH, &b.arena);
        StrBuf faults = strbuf(&b.arena);
        CHECK(task_check(p, &b.arena, &faults));
        uint64_t unused;
        TaskReport report;
        TaskOutcome outcome = run(&b, p, TASK_RANDOM, 1, &unused, &report);
        CHECK(outcome == TASK_DONE || outcome == TASK_TIRED);
        is_done = outcome == TASK_DONE && b.mem.calls < b.mem.fail_at;
    }
    close_bench(&b);
    return is_done;
}

static void test_memory(void) {
    uint64_t k = 1;
    while (k < 20000 && !runs_before(k)) k += k < 400 ? 1 : 37;
    CHECK(k > 400 && k < 20000);
}

int main(void) {
    for (int i = 0; i < NAMES; i++) {
        test_golden(names[i]);
        test_orders(names[i]);
        for (int form = 0; form < TASK_FORM_COUNT; form++) {
            test_broken(names[i], (TaskForm)form, TASK_RESOLVE, false);
            test_broken(names[i], (TaskForm)form, TASK_RESOLVE, true);
            test_broken(names[i], (TaskForm)form, TASK_WRITE, false);
        }
    }
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        test_forks(&examples[i]);
    // Without relays, each wait that tidying leaves is needed.
    static const char *const plain[] = {"thesis_4_13_1", "thesis_4_13_2",
                                        "thesis_4_13_2_k"};
    for (int i = 0; i < 3; i++) {
        test_broken(plain[i], TASK_GRAPH, TASK_WAIT, false);
        test_found_by_running(plain[i], TASK_WAIT);
        test_found_by_running(plain[i], TASK_RESOLVE);
    }
    test_errors();
    test_circle();
    test_texts();
    test_memory();
    return test_done();
}
