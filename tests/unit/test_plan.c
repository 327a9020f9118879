// SPDX-License-Identifier: Apache-2.0
//
// Plans: the tasks of small programs on two devices, what they make and take, where
// they go, what travels and is freed, and the most memory; the program as it is told;
// weft_explain and its mistakes, and no memory at each of its allocations; the least
// memory of calls, those that are refused for it, and those that are not.
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/testing.h"
#include "plan/plan.h"
#include "test.h"

static const char busy[] =
    "def busy (x: i64): i64 = loop x for i < 100 do (x * 31 + i) % 1009\n";

typedef struct World {
    WeftContext *context;
    WeftProgram *program;
    Arena arena;
} World;

static World open_world(const char *devices, const char *text) {
    World w = {0};
    WeftOptions options = {
        .struct_size = sizeof options, .devices = devices, .threads = 2};
    if (weft_context_new(&options, &w.context) != WEFT_STATUS_OK) abort();
    char all[4096];
    snprintf(all, sizeof all, "%s%s", busy, text);
    if (weft_program_from_source(w.context, "plan.weft", all, strlen(all),
                                 &w.program) != WEFT_STATUS_OK) {
        fputs(weft_render(w.context, 0), stdout);
        abort();
    }
    arena_init(&w.arena, &w.context->mem);
    return w;
}

static void close_world(World *w) {
    arena_free(&w->arena);
    CHECK(weft_testing_context_free(w->context) == 0);
}

// On two equal devices of two billion operations a second, in vectors of so many bytes.
static const Plan *plan_in(World *w, const PlanArg *args, bool is_shared,
                           uint32_t vector_bytes) {
    PlanDevice *devices = arena_array(&w->arena, PlanDevice, 2);
    devices[0] = (PlanDevice){"cpu:0", 2e9, 2e9, is_shared};
    devices[1] = (PlanDevice){"cpu:1", 2e9, 2e9, is_shared};
    stack_measure(&w->program->cx.stack);
    return plan_make(&(PlanInput){.program = w->program->core,
                                  .entry = w->program->entries[0].fun,
                                  .decisions = &w->program->decisions,
                                  .devices = devices,
                                  .device_count = 2,
                                  .vector_bytes = vector_bytes,
                                  .args = args,
                                  .arena = &w->arena});
}

static const Plan *plan_on(World *w, const PlanArg *args, bool is_shared) {
    return plan_in(w, args, is_shared, 0);
}

// Each has memory of its own.
static const Plan *plan_of(World *w, const PlanArg *args) {
    return plan_on(w, args, false);
}

static const PlanArg *ints(const int64_t *values, PlanArg *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        args[i] = (PlanArg){.is_known = true, .bits = (uint64_t)values[i]};
    return args;
}

static uint32_t steps_of(const Plan *plan, PlanStepKind kind) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->steps.len; i++)
        count += plan->steps.data[i].kind == kind;
    return count;
}

static bool is_near(double x, double y) {
    return fabs(x - y) <= 1e-9 * fabs(y);
}

// ---- plans --------------------------------------------------------------------------

static void test_parts(void) {
    PlanArg args[1];
    World w = open_world("cpu:0,cpu:1", "entry main (n: i64) = scan (\\a b -> 3 * a + "
                                        "b) 0 (map busy (map busy (iota n)))");
    const Plan *plan = plan_of(&w, ints((int64_t[]){40001}, args, 1));
    CHECK(plan->tasks.len == 4 && plan->is_timed && !plan->took_a_branch);
    if (plan->tasks.len != 4) return close_world(&w);
    const PlanTask *t = plan->tasks.data;
    CHECK(t[0].op == OP_MAP && t[1].op == OP_MAP && t[2].op == OP_CONCAT &&
          t[3].op == OP_SCAN);
    CHECK(t[0].device != t[1].device && t[2].device == 2);
    // One part has an element more.
    CHECK(plan_made(plan, &t[0]) == 160000 && plan_made(plan, &t[1]) == 160008);
    CHECK(plan_made(plan, &t[2]) == 320008 && plan_made(plan, &t[3]) == 320008);
    CHECK(t[0].end > t[0].begin && t[2].begin >= t[1].end && t[3].begin >= t[2].end);
    // A sum, a product and a division by a constant in each of two hundred turns.
    CHECK(t[0].work >= 20000 * 200 * 7.0 && t[0].work < 20000 * 200 * 8.0);
    // Both parts come to the host, and the whole goes to a device.
    CHECK(steps_of(plan, PLAN_SEND) == 3 && t[2].sent == 320008 && t[3].sent == 320008);
    CHECK(steps_of(plan, PLAN_FREE) == 3 && steps_of(plan, PLAN_FETCH) == 1);
    CHECK(plan->peak.bytes == 640016 && plan->peak.task == 2);
    CHECK(plan->blocks.data[t[0].first].last == 2);
    CHECK(is_near(plan->longest, t[1].end - t[1].begin + (t[2].end - t[2].begin) +
                                     (t[3].end - t[3].begin)));
    CHECK(!t[0].is_critical && t[1].is_critical && t[2].is_critical);
    bool is_run, is_cut = plan_is_cut(plan, &w.program->decisions.data[0], &is_run);
    CHECK(is_cut && is_run);
    close_world(&w);
}

// Where memory is shared nothing travels, and parts are made where they belong.
static void test_shared(void) {
    PlanArg args[1];
    World w =
        open_world("cpu*2", "entry main (n: i64) =\n"
                            "  let ys = map busy (iota n)\n"
                            "  in (map2 (\\i y -> y + ys[i * 7 % n]) (iota n) ys)");
    const Plan *plan = plan_on(&w, ints((int64_t[]){40001}, args, 1), true);
    CHECK(plan->tasks.len == 6);
    if (plan->tasks.len != 6) return close_world(&w);
    const PlanTask *join = &plan->tasks.data[2], *last = &plan->tasks.data[5];
    CHECK(join->op == OP_CONCAT && join->end == join->begin);
    CHECK(last->op == OP_CONCAT && last->end == last->begin);
    CHECK(steps_of(plan, PLAN_SEND) == 0 && steps_of(plan, PLAN_FETCH) == 0);
    CHECK(steps_of(plan, PLAN_FREE) == 1); // ys, once
    CHECK(plan->peak.bytes == 640016);
    // Parts are used beside the whole, and are the same memory: only that is sure.
    CHECK(plan_least(plan, false).bytes == 320008);
    plan = plan_on(&w, ints((int64_t[]){40001}, args, 1), false);
    CHECK(plan->tasks.data[2].end > plan->tasks.data[2].begin);
    close_world(&w);
}

static void test_unknown(void) {
    World w = open_world("cpu:0,cpu:1", "entry main (n: i64) = map busy (iota n)");
    const Plan *plan = plan_of(&w, NULL);
    CHECK(plan->tasks.len == 3 && !plan->is_timed && plan->took_a_branch);
    for (uint32_t i = 0; i < plan->tasks.len; i++)
        CHECK(isnan(plan_made(plan, &plan->tasks.data[i])));
    CHECK(plan->tasks.len == 3 &&
          plan->tasks.data[0].device != plan->tasks.data[1].device);
    close_world(&w);
}

// A loop on the host is its first turn, and a second one for all others.
static void test_turns(void) {
    PlanArg args[2];
    World w =
        open_world("cpu:0,cpu:1", "entry main (k: i64) (n: i64) =\n"
                                  "  loop v = iota n for i < k do\n"
                                  "    filter (> 0) (map (\\x -> busy x + v[i]) v)\n");
    const Plan *plan = plan_of(&w, ints((int64_t[]){10, 100000}, args, 2));
    double first = 0, others = 0, strange = 0;
    for (uint32_t i = 0; i < plan->tasks.len; i++) {
        double turns = plan->tasks.data[i].turns;
        if (turns == 1) first++;
        else if (turns == 9) others++;
        else strange++;
    }
    CHECK(first > 0 && others > 0 && strange == 0);
    // What a filter keeps is not known, nor the work after it.
    CHECK(!plan->is_timed);
    plan = plan_of(&w, ints((int64_t[]){1, 100000}, args, 2));
    for (uint32_t i = 0; i < plan->tasks.len; i++)
        CHECK(plan->tasks.data[i].turns == 1);
    CHECK(plan->tasks.len > 0);
    plan = plan_of(&w, ints((int64_t[]){0, 100000}, args, 2));
    CHECK(plan->tasks.len == 0 && plan->longest == 0);
    close_world(&w);
}

// How many times as long a kernel takes in the first turn as in each of the others.
static double first_to_others(const Plan *plan) {
    double most = 0;
    for (uint32_t i = 0; i < plan->tasks.len; i++)
        for (uint32_t k = 0; k < i; k++) {
            const PlanTask *first = &plan->tasks.data[k], *other = &plan->tasks.data[i];
            if (first->kernel == NULL || first->kernel != other->kernel ||
                first->turns != 1 || other->turns <= 1)
                continue;
            double ratio = (first->end - first->begin) /
                           ((other->end - other->begin) / other->turns);
            most = ratio > most ? ratio : most;
        }
    return most;
}

// What all turns move is in the last cache from the second one on, if it fits.
static void test_cached(void) {
    PlanArg args[2];
    World w = open_world("cpu*2", "entry main (k: i64) (n: i64) =\n"
                                  "  loop v = iota n for i < k do scan (+) v[i] v\n");
    const Plan *plan = plan_of(&w, ints((int64_t[]){10, 100000}, args, 2));
    CHECK(first_to_others(plan) > 1.2);
    plan = plan_of(&w, ints((int64_t[]){10, 10000000}, args, 2));
    CHECK(is_near(first_to_others(plan), 1));
    close_world(&w);
}

// A loop is one kernel unless it takes or makes much: then the host walks it.
static void test_inside(void) {
    PlanArg args[2];
    World w = open_world("cpu:0,cpu:1",
                         "entry main (k: i64) (n: i64) =\n"
                         "  loop s = 0 for i < k do\n"
                         "    s + i64.sum (map busy (map (% (s + i)) (iota n)))\n");
    const Plan *plan = plan_of(&w, ints((int64_t[]){10, 1 << 14}, args, 2));
    CHECK(plan->tasks.len == 1 && plan->sure == PLAN_NONE);
    plan = plan_of(&w, ints((int64_t[]){10, (1 << 14) + 1}, args, 2));
    CHECK(plan->tasks.len > 1 && plan->sure == PLAN_NONE);
    args[1].is_known = false;
    plan = plan_of(&w, args);
    CHECK(plan->tasks.len > 1 && plan->sure == 0);
    close_world(&w);
}

// An array stays as long as somebody uses it, and then no longer.
static void test_memory(void) {
    int64_t dims[] = {1000};
    PlanArg args[] = {{.is_known = true, .dims = dims}};
    World w = open_world("cpu:0,cpu:1", "entry main [n] (xs: [n]f64) =\n"
                                        "  let a = scan (+) 0 xs\n"
                                        "  let b = scan (+) 0 a\n"
                                        "  let c = scan (+) 0 b\n"
                                        "  in scan (+) 0 c\n");
    const Plan *plan = plan_of(&w, args);
    CHECK(plan->tasks.len == 4 && plan->args == 8000);
    CHECK(plan->peak.bytes == 24000 && plan->peak.blocks.len == 3);
    CHECK(steps_of(plan, PLAN_FREE) == 3 && steps_of(plan, PLAN_FETCH) == 1);
    // All on the device that has it: only the argument travels.
    CHECK(steps_of(plan, PLAN_SEND) == 1);
    StrBuf text = strbuf(&w.arena);
    plan_name_bytes(plan, &plan->peak, &text);
    CHECK(str_eq(strbuf_done(&text),
                 STR("8.00 kB of arguments, 8.00 kB of line 3, 8.00 kB of line 4")));
    close_world(&w);
}

// What is written into where it is stays, as long as it is used.
static void test_taken_over(void) {
    PlanArg args[2];
    World w = open_world("cpu", "entry main (n: i64) (k: i64) =\n"
                                "  let a = scan (+) 0 (iota n) with [k] = 1\n"
                                "  let b = scan (+) 1 a\n"
                                "  in (a, b)\n");
    const Plan *plan = plan_of(&w, ints((int64_t[]){1000, 3}, args, 2));
    CHECK(plan->tasks.len == 3 && plan->peak.bytes == 16000 && plan->peak.task == 2);
    CHECK(steps_of(plan, PLAN_FREE) == 1);
    close_world(&w);
}

static bool holds(const Plan *plan, double first, double second, double host) {
    const double *most = plan_most_held(plan);
    if (most[0] != first || most[1] != second || most[2] != host)
        printf("%.0f, %.0f, %.0f\n", most[0], most[1], most[2]);
    return most[0] == first && most[1] == second && most[2] == host;
}

// What each memory holds at most: with copies, joined on the host or late, and where
// something is written over.
static void test_held(void) {
    PlanArg args[1];
    World w = open_world("cpu:0,cpu:1", "entry main (n: i64) = scan (\\a b -> 3 * a + "
                                        "b) 0 (map busy (map busy (iota n)))");
    enum { N = 320000 }; // bytes, in two equal parts
    const Plan *plan = plan_of(&w, ints((int64_t[]){N / 8}, args, 1));
    CHECK(plan->tasks.len == 4 && plan->tasks.data[3].device == 0);
    CHECK(holds(plan, N + N, N / 2, N));
    PlanInput in = plan->in;
    in.joins_late = true;
    plan = plan_make(&in);
    CHECK(plan->tasks.len == 4 && plan->tasks.data[3].device == 0);
    CHECK(holds(plan, N / 2 + N + N, N / 2, N));
    PlanDevice mixed[] = {plan->in.devices[0], plan->in.devices[1]};
    mixed[0].is_host = true;
    in.devices = mixed;
    plan = plan_make(&in);
    CHECK(plan->tasks.len == 4 && plan->tasks.data[3].device == 0);
    CHECK(holds(plan, 0, N / 2, N + N));
    CHECK(holds(plan_on(&w, args, true), 0, 0, N + N));
    close_world(&w);

    int64_t dims[] = {1000};
    PlanArg array[] = {{.is_known = true, .dims = dims}};
    w = open_world("cpu:0,cpu:1", "entry main [n] (xs: [n]f64) =\n"
                                  "  let a = scan (+) 0 xs\n  let b = scan (+) 0 a\n"
                                  "  let c = scan (+) 0 b\n  in scan (+) 0 c\n");
    CHECK(holds(plan_of(&w, array), 24000, 0, 16000));
    close_world(&w);

    w = open_world("cpu", "entry main (n: i64) = scan (+) 0 (iota n) with [3] = 1\n");
    ints((int64_t[]){1000}, args, 1);
    CHECK(holds(plan_on(&w, args, true), 0, 0, 8000));
    CHECK(holds(plan_of(&w, args), 8000, 0, 8000));
    close_world(&w);
}

// What a launched device needs next travels while it computes.
static void test_beside(void) {
    int64_t dims[] = {40000};
    PlanArg args[] = {{.is_known = true, .dims = dims},
                      {.is_known = true, .dims = dims}};
    World w = open_world("cpu:0,cpu:1",
                         "entry main [n] (xs: [n]i64) (ys: [n]i64) =\n"
                         "  (i64.sum (map busy xs), i64.maximum (map busy ys[1:]))\n");
    PlanInput in = plan_of(&w, args)->in;
    double began[2] = {0};
    for (int i = 0; i < 2; i++) {
        PlanDevice devices[] = {in.devices[0], in.devices[1]};
        devices[1].is_beside = i == 1;
        in.devices = devices;
        const Plan *plan = plan_make(&in);
        const PlanStep *run = NULL, *sends[2] = {NULL, NULL};
        for (uint32_t k = 0; k < plan->steps.len; k++) {
            const PlanStep *step = &plan->steps.data[k];
            if (step->device != 1) continue;
            if (step->kind == PLAN_SEND) sends[sends[0] == NULL ? 0 : 1] = step;
            if (step->kind == PLAN_RUN && run == NULL) run = step;
        }
        CHECK(run != NULL && sends[1] != NULL);
        if (run == NULL || sends[1] == NULL) continue;
        CHECK(sends[0]->begin == 0 && run->begin == sends[0]->end);
        CHECK(sends[1]->task > run->task && sends[1]->end > sends[1]->begin);
        CHECK((sends[1] == run + 1) == (i == 1));
        if (i == 0) CHECK(sends[1]->begin >= run->end);
        else CHECK(sends[1]->begin == run->begin);
        began[i] = plan->tasks.data[sends[1]->task].begin;
        CHECK(i == 1 || began[0] == sends[1]->end);
    }
    CHECK(is_near(began[1], began[0] - 20000 * 8 / 8e9));
    close_world(&w);
}

// The most that the context ever held stays, whatever is recorded since.
static void test_most(void) {
    World w = open_world("cpu", "entry main (n: i64) = scan (+) 0 (iota n)");
    int64_t n = 1 << 20;
    WeftValue *arg, *result;
    CHECK(weft_value_new(w.context, WEFT_I64, 0, NULL, &n, &arg) == WEFT_STATUS_OK);
    CHECK(weft_call(w.program, 0, &arg, 1, &result, 1) == WEFT_STATUS_OK);
    weft_value_free(result);
    size_t most = weft_memory_peak(w.context);
    CHECK(most > 8 << 20);
    CHECK(weft_record(w.context, WEFT_RECORD_EVENTS) == WEFT_STATUS_OK);
    CHECK(weft_memory_peak(w.context) == most);
    weft_value_free(arg);
    close_world(&w);
}

// ---- the work -----------------------------------------------------------------------

typedef struct Pace {
    const char *text;
    double plain, wide; // work of an element without vectors, and in those of 64 bytes
} Pace;

static const Pace paces[] = {
    // Sums that do not wait for each other: four at a time, in sixteen or eight lanes.
    {"entry main (n: i64) (k: i64) = map (\\i -> i32.i64 i * 3 + 1) (iota n)", 0.75,
     0.75 / 16},
    {"entry main (n: i64) (k: i64) = i64.sum (iota n)", 0.25, 0.25 / 8},
    // Turns wait for the one before.
    {"entry main (n: i64) (k: i64) =\n"
     "  map (\\i -> loop x = i32.i64 i for _j < 100 do x * 3 + 1) (iota n)",
     200.25, 200.25 / 16},
    // No vector divides integers; of floats they do.
    {"entry main (n: i64) (k: i64) = map (k /) (map (+ 1) (iota n))", 5.25,
     5 + 0.25 / 8},
    {"entry main (n: i64) (k: i64) = map (\\i -> 3 / f32.i64 i) (iota n)", 5.25,
     5.25 / 16},
    // There is one divider, which powers of two do not need.
    {"entry main (n: i64) (k: i64) = map (\\i -> f32.i64 i / 5) (iota n)", 5.25,
     5.25 / 16},
    {"entry main (n: i64) (k: i64) = map (\\i -> f64.i64 i / 4) (iota n)", 0.5,
     0.5 / 8},
    {"entry main (n: i64) (k: i64) = map (\\i -> f32.sqrt (f32.i64 i)) (iota n)", 5.25,
     5.25 / 16},
    // Of blocks the last one may be shorter; all count as whole.
    {"entry main (n: i64) (k: i64) =\n"
     "  loop t = 0 for b < n / 100 do\n"
     "    t + i64.sum (iota (i64.min 100 (n - b * 100)))",
     0.25 + 0.06, 0.25 / 8 + 0.06},
    // Each element finds its place.
    {"entry main (n: i64) (k: i64) = hist (+) 0 10 (iota n) (iota n)", 2, 2},
};

static void test_paces(void) {
    enum { COUNT = 1000 };
    PlanArg args[2];
    for (size_t i = 0; i < sizeof paces / sizeof *paces; i++) {
        World w = open_world("cpu", paces[i].text);
        ints((int64_t[]){COUNT, 3}, args, 2);
        double plain = 0, wide = 0;
        const Plan *plan = plan_in(&w, args, true, 0);
        for (uint32_t t = 0; t < plan->tasks.len; t++)
            plain += plan->tasks.data[t].work;
        plan = plan_in(&w, args, true, 64);
        for (uint32_t t = 0; t < plan->tasks.len; t++) wide += plan->tasks.data[t].work;
        bool is_right = is_near(plain, COUNT * paces[i].plain) &&
                        is_near(wide, COUNT * paces[i].wide);
        if (!is_right)
            printf("%s\n  %g, %g\n", paces[i].text, plain / COUNT, wide / COUNT);
        CHECK(is_right);
        close_world(&w);
    }
}

// Sums in blocks, of which the last one may be shorter: as long as all others, about.
static void test_blocks(void) {
    PlanArg args[1];
    World w =
        open_world("cpu*2", "entry main (n: i64) =\n"
                            "  f64.sum (map (\\i -> f64.sin (f64.i64 i)) (iota n))");
    const Plan *plan = plan_on(&w, ints((int64_t[]){1000000}, args, 1), true);
    CHECK(plan->tasks.len > 3 && plan->is_timed);
    close_world(&w);
}

// ---- kernels ------------------------------------------------------------------------

typedef struct Sharing {
    const char *text;
    uint32_t tasks, kernels; // calls of kernels, and kernels that these call
} Sharing;

static const Sharing sharings[] = {
    {"entry main [n] (xs: [n]i64) (k: i64) = map (\\x -> busy x + k) xs", 2, 1},
    // The first part of places begins at 0.
    {"entry main [n] (xs: [n]i64) (k: i64) = map (\\i -> busy i + k) (iota n)", 2, 2},
    // What is done may not be another thing.
    {"entry main [n] (xs: [n]i64) (k: i64) =\n"
     "  (map (\\x -> busy x + k) xs, map (\\x -> busy x - k) xs)",
     4, 2},
    {"entry main [n] (xs: [n]i64) (k: i64) =\n"
     "  (map (\\x -> busy x + 3) xs, map (\\x -> busy x + 4) xs)",
     4, 2},
    // Nor may what it is done with, in one place.
    {"def more (k: i64) (xs: []i64): []i64 = map (\\x -> busy x + k) xs\n"
     "entry main (xs: []i64) = (more 3 xs, more 4 xs)",
     4, 2},
};

// Parts of an operator that do the same are calls of one kernel.
static void test_sharing(void) {
    int64_t dims[] = {40001};
    PlanArg args[] = {{.is_known = true, .dims = dims}, {.is_known = true, .bits = 3}};
    for (size_t i = 0; i < sizeof sharings / sizeof *sharings; i++) {
        World w = open_world("cpu*2", sharings[i].text);
        const Plan *plan = plan_on(&w, args, true);
        uint32_t tasks = 0, kernels = 0;
        for (uint32_t t = 0; t < plan->tasks.len; t++) {
            const CoreFun *kernel = plan->tasks.data[t].kernel;
            bool is_new = kernel != NULL;
            tasks += kernel != NULL;
            for (uint32_t k = 0; k < t; k++)
                is_new = is_new && plan->tasks.data[k].kernel != kernel;
            kernels += is_new;
        }
        bool is_right = tasks == sharings[i].tasks && kernels == sharings[i].kernels;
        if (!is_right) printf("%s\n  %u, %u\n", sharings[i].text, tasks, kernels);
        CHECK(is_right);
        close_world(&w);
    }
}

// ---- the least memory ---------------------------------------------------------------

typedef struct Need {
    const char *text;
    double in_order, in_parts; // of 1000 elements of 8 bytes, and 3 turns
} Need;

static const Need needs[] = {
    // What is made, while the next is made of it; an argument is there all the time.
    {"entry main (n: i64) (k: i64) = scan (+) k (iota n)", 8000, 8000},
    {"entry main (n: i64) (k: i64) = i64.sum (scan (+) k (iota n))", 8000, 8000},
    {"entry main (n: i64) (k: i64) =\n"
     "  let a = scan (+) 0 (iota n)\n"
     "  let b = scan (+) k a\n"
     "  let c = scan (+) 1 b\n"
     "  in i64.sum (scan (+) 0 (map2 (+) a c))",
     16000, 16000},
    {"entry main (n: i64) (k: i64) =\n"
     "  let a = scan (+) 0 (iota n)\n"
     "  let b = scan (+) k (scan (+) 1 a)\n"
     "  in a[0] + i64.sum (scan (+) a[1] (scan (+) 2 b))",
     8000, 8000},
    {"entry main (n: i64) (k: i64) =\n"
     "  let a = scan (+) 0 (iota n)\n"
     "  let b = scan (+) k (scan (+) 1 a)\n"
     "  in (b, a)",
     16000, 16000},
    // In any order the first two may be gone before the others are made.
    {"entry main (n: i64) (k: i64) =\n"
     "  let a = scan (+) 0 (iota n)\n"
     "  let b = scan (+) k (iota n)\n"
     "  let c = scan (+) 1 b\n"
     "  in (i64.sum (scan (+) 0 c), i64.sum (scan (+) 2 a))",
     16000, 8000},
    {"entry main (n: i64) (k: i64) =\n"
     "  let a = scan (+) 0 (iota n)\n"
     "  let b = scan (+) k (iota n)\n"
     "  let c = scan (+) 1 (iota n)\n"
     "  in (a, i64.sum (scan (+) 0 (map2 (+) b c)))",
     24000, 16000},
    // One array, however often it is given.
    {"entry main (n: i64) (k: i64) = let a = scan (+) k (iota n) in (a, a, reverse a)",
     8000, 8000},
    // It is written into where it is.
    {"entry main (n: i64) (k: i64) = scan (+) k (iota n) with [k] = 1", 8000, 8000},
    // What is alone in having elements is what is joined.
    {"entry main (n: i64) (k: i64) = scan (+) 0 (iota n) ++ scan (+) 0 (iota k)", 8024,
     8024},
    {"entry main (n: i64) (k: i64) =\n"
     "  let a = scan (+) 0 (iota n)\n"
     "  in (a ++ scan (+) 1 (iota (k - 3)), a)",
     8000, 8000},
    // A part may be copied, and the rest be gone.
    {"entry main (n: i64) (k: i64) =\n"
     "  (unflatten (take (10 * 10) (scan (+) k (iota n))) : [10][10]i64)",
     0, 0},
    // What a filter keeps is not known, nor which branch is taken.
    {"entry main (n: i64) (k: i64) = filter (> k) (iota n)", 0, 0},
    {"entry main (n: i64) (k: i64) =\n"
     "  let a = scan (+) k (iota (100 * n))\n"
     "  in if a[n / 2] > 3 then a else scan (+) 0 (iota (200 * n))",
     0, 0},
    // A loop on the host: as many turns as are known, or none for sure; it begins.
    {"entry main (n: i64) (k: i64) =\n"
     "  loop v = scan (+) 0 (iota (100 * n)) for i < k do scan (+) i v",
     800000, 800000},
    {"entry main (n: i64) (k: i64) =\n"
     "  loop v = scan (+) 0 (iota (100 * n)) while v[k] < 100 do scan (+) 1 v",
     800000, 800000},
};

static double least_of(World *w, const PlanArg *args, bool in_order) {
    return plan_least(plan_of(w, args), in_order).bytes;
}

static void test_least(void) {
    PlanArg args[2];
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        World w = open_world("cpu", needs[i].text);
        ints((int64_t[]){1000, 3}, args, 2);
        double in_order = least_of(&w, args, true),
               in_parts = least_of(&w, args, false);
        bool is_right = in_order == needs[i].in_order && in_parts == needs[i].in_parts;
        if (!is_right) printf("%s\n  %g, %g\n", needs[i].text, in_order, in_parts);
        CHECK(is_right);
        CHECK(least_of(&w, NULL, true) == 0);
        close_world(&w);
    }
}

// ---- the program --------------------------------------------------------------------

static const char *program_of(World *w) {
    const char *text = "";
    CHECK(weft_explain(w->program, 0, NULL, 0, WEFT_EXPLAIN_TEXT, &text) ==
          WEFT_STATUS_OK);
    text = strstr(text, "\nProgram\n");
    return text != NULL ? text : "";
}

// Three parts of each operator, two of which are calls of one kernel. Bodies that
// differ in names from outside are told once, unless two of them stand for one; all
// else has a name of its own.
static void test_bodies(void) {
    static const char told[] =
        "     3 |     _3 = 33.3 % of n\n"
        "     3 |     _4 = 66.7 % of n\n"
        "     3 |     _5 = _4 - _3\n"
        "     3 |     _6 = n - _4\n"
        "     3 |     _7 = iota(_3, 0, 1)\n"
        "     3 |     ys = map(_7) {x ->\n"
        "     1 |       _8 = for(100, x) {i, x.1 -> (i + (x.1 * 31)) % 1009}\n"
        "     3 |       _8}\n"
        "     3 |     _9 = iota(_5, _3, 1)\n"
        "     3 |     ys.1 = map(_9) {as for ys}\n"
        "     3 |     _10 = iota(_6, _4, 1)\n"
        "     3 |     ys.2 = map(_10) {as for ys}\n"
        "     3 |     ys.3 = ys ++ ys.1 ++ ys.2\n"
        "     4 |     zs = map(ys) {x.2 ->\n"
        "     1 |       _11 = for(100, x.2) {i.1, x.3 -> (i.1 + (31 * x.3)) % 1009}\n"
        "     4 |       _11}\n"
        "     4 |     zs.1 = map(ys.1) {as for zs}\n"
        "     4 |     zs.2 = map(ys.2) {as for zs}\n"
        "     4 |     zs.3 = zs ++ zs.1 ++ zs.2\n"
        "     5 |     _12 = n / 2\n"
        "     5 |     _13 = generate(_3) {_1.0 ->\n"
        "     1 |       _14 = for(100, ys.3[_1.0] - ys.3[_12]) {i.2, x.4 -> (i.2 + (31 "
        "* x.4)) % 1009}\n"
        "     5 |       _14}\n"
        "     5 |     _15 = generate(_5) {_16 ->\n"
        "     1 |       _17 = for(100, ys.3[_16 + _3] - ys.3[_12]) {i.3, x.5 -> (i.3 + "
        "(31 * x.5)) % 1009}\n"
        "     5 |       _17}\n"
        "     5 |     _18 = generate(length(ys.3) - _4) {as for _15, with _4 for _3}\n"
        "     5 |     _19 = _13 ++ _15 ++ _18\n"
        "     5 |     _20 = 33.3 % of 9\n"
        "     5 |     _21 = 66.7 % of 9\n"
        "     5 |     _22 = _21 - _20\n"
        "     5 |     _23 = generate(_20) {i.4 ->\n"
        "     1 |       _24 = for(100, ys.3[i.4] - zs.3[_12]) {i.5, x.6 -> (i.5 + (31 "
        "* x.6)) % 1009}\n"
        "     5 |       _24}\n"
        "     5 |     _25 = generate(_22) {_26 ->\n"
        "     1 |       _27 = for(100, ys.3[_26 + _20] - zs.3[_12]) {i.6, x.7 -> (i.6 "
        "+ (31 * x.7)) % 1009}\n"
        "     5 |       _27}\n"
        "     5 |     _28 = generate(9 - _21) {as for _25, with _21 for _20}\n"
        "     5 |     _29 = _23 ++ _25 ++ _28\n"
        "     5 |     _19, _29} else {\n"
        "     3 |     _30 = iota(n, 0, 1)\n"
        "     3 |     ys.4 = map(_30) {as for ys}\n"
        "     4 |     zs.4 = map(ys.4) {as for zs}\n"
        "     5 |     _31 = n / 2\n"
        "     5 |     _32 = generate(length(ys.4)) {as for _13, with ys.4 for ys.3, "
        "_31 for _12}\n"
        "     5 |     _33 = generate(9) {as for _23, with ys.4 for ys.3, zs.4 for "
        "zs.3, _31 for _12}\n"
        "     5 |     _32, _33}\n"
        "     5 |   in _1, _2\n";
    World w = open_world("cpu:0,cpu:1,cpu:2",
                         "entry main (n: i64) =\n"
                         "  let ys = map busy (iota n)\n"
                         "  let zs = map busy ys\n"
                         "  in (tabulate n (\\_1 -> busy (ys[_1] - ys[n / 2])), "
                         "tabulate 9 (\\i -> busy (ys[i] - zs[n / 2])))\n");
    const char *text = program_of(&w);
    bool is_right = strstr(text, told) != NULL;
    if (!is_right) printf("%s\n", text);
    CHECK(is_right);
    close_world(&w);
}

// Of a body with many lines what is not told is not used.
static void test_long_body(void) {
    char text[2048] = "entry main (xs: []i64) = map (\\x -> let y0 = x in ";
    for (int i = 0; i < 30; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "let y%d = busy (y%d + x) in ", i + 1,
                 i);
    }
    strcat(text, "y30) xs");
    World w = open_world("cpu:0,cpu:1", text);
    const char *told = program_of(&w);
    CHECK(strstr(told, ".. (15 more)}\n") != NULL && strstr(told, "y30") == NULL);
    CHECK(strstr(told, "{as for ") != NULL);
    close_world(&w);
}

// What both versions compute has one name: how long the array is but for one element.
static void test_same_scalars(void) {
    World w = open_world("cpu:0,cpu:1",
                         "entry main (xs: []i64) =\n"
                         "  map2 (\\x y -> busy (x + y)) (init xs) (tail xs)\n");
    const char *told = program_of(&w), *size = strstr(told, "_1 = length(xs) - 1\n");
    CHECK(size != NULL && strstr(strchr(size, '\n'), "= length(xs) - 1\n") == NULL);
    const char *other = strstr(told, "} else {\n");
    CHECK(other != NULL && strstr(other, " = xs[1 : +_1]\n") != NULL);
    close_world(&w);
}

// ---- the call -----------------------------------------------------------------------

static void test_mistakes(void) {
    World w = open_world("cpu:0,cpu:1", "entry main (n: i64) = map busy (iota n)");
    const char *text = NULL;
    WeftValue *args[1], *wrong;
    CHECK(weft_explain(NULL, 0, NULL, 0, WEFT_EXPLAIN_TEXT, &text) ==
          WEFT_STATUS_USAGE);
    CHECK(weft_explain(w.program, 0, NULL, 0, WEFT_EXPLAIN_TEXT, NULL) ==
          WEFT_STATUS_USAGE);
    CHECK(weft_explain(w.program, 1, NULL, 0, WEFT_EXPLAIN_TEXT, &text) ==
          WEFT_STATUS_USAGE);
    CHECK(weft_explain(w.program, 0, NULL, 1, WEFT_EXPLAIN_TEXT, &text) ==
          WEFT_STATUS_USAGE);
    CHECK(weft_explain(w.program, 0, NULL, 0, (WeftExplanation)3, &text) ==
          WEFT_STATUS_USAGE);
    CHECK(weft_value_read(w.program, 0, 0, "n", "100000", 6, &args[0]) ==
          WEFT_STATUS_OK);
    CHECK(weft_explain(w.program, 0, args, 0, WEFT_EXPLAIN_TEXT, &text) ==
          WEFT_STATUS_USAGE);
    CHECK(weft_value_random(w.context, "[3]f32", 1, &wrong) == WEFT_STATUS_OK);
    CHECK(weft_explain(w.program, 0, &wrong, 1, WEFT_EXPLAIN_TEXT, &text) ==
          WEFT_STATUS_VALUE);
    CHECK(text == NULL);
    CHECK(weft_explain(w.program, 0, args, 1, WEFT_EXPLAIN_TEXT, &text) ==
          WEFT_STATUS_OK);
    CHECK(strstr(text, "cut in 2") != NULL);
    weft_value_free(args[0]);
    weft_value_free(wrong);
    CHECK(weft_value_read(w.program, 0, 0, "n", "-5", 2, &args[0]) == WEFT_STATUS_OK);
    CHECK(weft_explain(w.program, 0, args, 1, WEFT_EXPLAIN_TEXT, &text) ==
          WEFT_STATUS_RUNTIME);
    CHECK(strstr(weft_message(w.context), "a run with these values fails here") != NULL);
    weft_value_free(args[0]);
    close_world(&w);
    WeftOptions options = {.struct_size = sizeof options, .engine = WEFT_ENGINE_INTERP};
    WeftProgram *program;
    CHECK(weft_context_new(&options, &w.context) == WEFT_STATUS_OK);
    CHECK(weft_program_from_source(w.context, "p", "def main = 1", 12, &program) ==
          WEFT_STATUS_OK);
    CHECK(weft_explain(program, 0, NULL, 0, WEFT_EXPLAIN_TEXT, &text) ==
          WEFT_STATUS_USAGE);
    weft_context_free(w.context);
}

static WeftValue *ones(WeftContext *context, const int64_t *data, int64_t count,
                       bool is_lent) {
    WeftValue *value = NULL;
    WeftStatus status =
        is_lent ? weft_value_borrow(context, WEFT_I64, 1, &count, NULL, data, NULL,
                                    NULL, &value)
                : weft_value_new(context, WEFT_I64, 1, &count, data, &value);
    CHECK(status == WEFT_STATUS_OK);
    return value;
}

// Arguments count once, and not if their memory is another's: two arrays fit below the
// ceiling, and three do not.
static void test_refused(void) {
    enum { COUNT = 2000000 };
    static const char text[] =
        "entry add [n] (xs: [n]i64) (ys: [n]i64) = map2 (+) xs ys";
    static int64_t data[COUNT];
    WeftOptions options = {
        .struct_size = sizeof options, .memory_ceiling = 44000000, .threads = 2};
    World w;
    CHECK(weft_context_new(&options, &w.context) == WEFT_STATUS_OK);
    CHECK(weft_program_from_source(w.context, "p", text, sizeof text - 1, &w.program) ==
          WEFT_STATUS_OK);
    WeftValue *own = ones(w.context, data, COUNT, false), *result;
    WeftValue *lent = ones(w.context, data, COUNT, true);
    WeftValue *pairs[][2] = {{own, own}, {own, lent}, {lent, lent}};
    for (size_t i = 0; i < 3; i++) {
        CHECK(weft_call(w.program, 0, pairs[i], 2, &result, 1) == WEFT_STATUS_OK);
        weft_value_free(result);
    }
    weft_value_free(lent);
    WeftValue *both[] = {own, ones(w.context, data, COUNT, false)};
    size_t before = weft_memory_used(w.context);
    CHECK(weft_call(w.program, 0, both, 2, &result, 1) == WEFT_STATUS_MEMORY);
    CHECK(strcmp(weft_message(w.context),
                 "`add` needs at least 48.0 MB of memory at once, and the ceiling is "
                 "44.0 MB: 32.0 MB of arguments, 16.0 MB of line 1") == 0);
    CHECK(weft_memory_used(w.context) < before + COUNT);
    weft_value_free(both[1]);
    weft_value_free(own);
    CHECK(weft_testing_context_free(w.context) == 0);
}

// Without memory there is no text, and the next call has one.
static void test_no_memory(void) {
    World w = open_world(
        "cpu:0,cpu:1",
        "entry main (n: i64) =\n"
        "  let xs = loop v = iota n for i < 5 do map (\\x -> busy x + v[i]) v\n"
        "  in (i64.sum xs, scan (+) 0 xs)");
    for (int form = WEFT_EXPLAIN_TEXT; form <= WEFT_EXPLAIN_SVG; form++) {
        uint64_t k = 0, wrong = 0;
        WeftStatus status = WEFT_STATUS_MEMORY;
        const char *text;
        while (status == WEFT_STATUS_MEMORY && k < 100000) {
            weft_testing_fail_allocation(w.context, ++k);
            status = weft_explain(w.program, 0, NULL, 0, (WeftExplanation)form, &text);
            weft_testing_fail_allocation(w.context, 0);
            wrong += status != WEFT_STATUS_OK && weft_message(w.context)[0] == '\0';
        }
        CHECK(status == WEFT_STATUS_OK && wrong == 0 && k > 20);
        CHECK(weft_explain(w.program, 0, NULL, 0, (WeftExplanation)form, &text) ==
              WEFT_STATUS_OK);
    }
    close_world(&w);
}

int main(void) {
    test_parts();
    test_shared();
    test_unknown();
    test_turns();
    test_cached();
    test_inside();
    test_memory();
    test_taken_over();
    test_held();
    test_beside();
    test_most();
    test_paces();
    test_blocks();
    test_sharing();
    test_least();
    test_bodies();
    test_long_body();
    test_same_scalars();
    test_mistakes();
    test_refused();
    test_no_memory();
    return test_done();
}
