// SPDX-License-Identifier: Apache-2.0
//
// What planning costs: programs whose plans have about 1,000 tasks on two devices (and
// on twelve about as many), with known sizes. One plan (plan_make); a choice of what is
// cut, which takes several (plan_choose), as the first call with new sizes does; and
// all that weft_explain says, as text and as a picture. The least, in milliseconds.
// Usage: plan [ROUNDS]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans.h"
#include "base/clock.h"

enum { LENGTH = 100000 };

typedef struct Bench {
    WeftContext *context;
    WeftProgram *program;
    WeftValue *args[1];
    Arena arena;
} Bench;

// ---- programs -----------------------------------------------------------------------

static const char busy[] =
    "def busy (x: i64): i64 = loop x for i < 100 do (x * 31 + i) % 1009\n";

// Number i + 1, of two numbers before it.
static void write_map(StrBuf *text, int i, int x, int y) {
    strbuf_printf(text,
                  "  let x%d = map (\\i -> busy (x%d[i] + x%d[i * 7 %% n])) (iota n)\n",
                  i + 1, x, y);
}

// Each needs all of what the one before made.
static void write_chain(StrBuf *text, int count) {
    strbuf_cstr(text, "entry main (n: i64): []i64 =\n  let x0 = iota n\n");
    for (int i = 0; i < count; i++) write_map(text, i, i, i);
    strbuf_printf(text, "  in x%d", count);
}

// They have nothing in common.
static void write_apart(StrBuf *text, int count) {
    strbuf_cstr(text, "entry main (n: i64) = (");
    for (int i = 0; i < count; i++)
        strbuf_printf(text, "%smap (\\i -> busy (i + %d)) (iota n)",
                      i == 0 ? "" : ",\n  ", i);
    strbuf_cstr(text, ")");
}

// Each needs what two before have made, one of them long before.
static void write_net(StrBuf *text, int count) {
    strbuf_cstr(text, "entry main (n: i64) =\n  let x0 = iota n\n");
    for (int i = 0; i < count; i++) write_map(text, i, i - i % 10, i / 2);
    strbuf_cstr(text, "  in (x0");
    for (int i = 1; i <= count; i++)
        if (i > count / 2 || i % 10 == 0) strbuf_printf(text, ", x%d", i);
    strbuf_cstr(text, ")");
}

static const struct {
    const char *name;
    void (*write)(StrBuf *text, int count);
} programs[] = {{"chain", write_chain}, {"apart", write_apart}, {"net", write_net}};

// ---- measuring ----------------------------------------------------------------------

static PlanInput input_of(Bench *b) {
    ApiPlanning planning = {b->context, b->program, &b->program->entries[0], b->args,
                            &b->arena};
    PlanInput in = api_plan_input(&planning);
    api_plan_devices(b->context, &in);
    stack_measure(&b->program->cx.stack);
    return in;
}

static uint32_t make_plan(Bench *b) {
    PlanInput in = input_of(b);
    return plan_make(&in)->tasks.len;
}

static uint32_t choose(Bench *b) {
    PlanInput in = input_of(b);
    plan_choose(&in);
    return 0;
}

static uint32_t explain(Bench *b, WeftExplanation form) {
    const char *text;
    if (weft_explain(b->program, 0, b->args, 1, form, &text) != WEFT_STATUS_OK) abort();
    return 0;
}

static uint32_t explain_text(Bench *b) {
    return explain(b, WEFT_EXPLAIN_TEXT);
}

static uint32_t explain_svg(Bench *b) {
    return explain(b, WEFT_EXPLAIN_SVG);
}

static double least(Bench *b, uint32_t (*run)(Bench *), int rounds, uint32_t *tasks) {
    double best = INFINITY;
    for (int i = 0; i < rounds; i++) {
        arena_init(&b->arena, &b->context->mem);
        double start = clock_seconds();
        *tasks = run(b);
        double took = clock_seconds() - start;
        arena_free(&b->arena);
        if (took < best) best = took;
    }
    return best * 1e3;
}

static void measure(const char *devices, int operators, size_t k, int rounds) {
    Bench b = {0};
    WeftOptions options = {.struct_size = sizeof options,
                           .devices = devices,
                           .threads = 2,
                           .engine = WEFT_ENGINE_NATIVE};
    Arena arena;
    int64_t n = LENGTH;
    if (weft_context_new(&options, &b.context) != WEFT_STATUS_OK) abort();
    arena_init(&arena, &b.context->mem);
    StrBuf text = strbuf(&arena);
    strbuf_cstr(&text, busy);
    programs[k].write(&text, operators);
    Str all = strbuf_done(&text);
    if (weft_program_from_source(b.context, "plan.weft", all.ptr, all.len,
                                 &b.program) != WEFT_STATUS_OK ||
        weft_value_new(b.context, WEFT_I64, 0, NULL, &n, &b.args[0]) !=
            WEFT_STATUS_OK) {
        fputs(weft_render(b.context, 0), stderr);
        exit(1);
    }
    uint32_t tasks, none;
    double one = least(&b, make_plan, rounds, &tasks);
    double choice = least(&b, choose, rounds, &none);
    double told = least(&b, explain_text, 3, &none);
    double drawn = least(&b, explain_svg, 3, &none);
    printf("%-12s %-6s %6u  %8.2f  %8.2f  %8.2f  %8.2f\n", devices, programs[k].name,
           tasks, one, choice, told, drawn);
    weft_value_free(b.args[0]);
    arena_free(&arena);
    weft_context_free(b.context);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    if (rounds < 1) return 2;
    printf("%-12s %-6s %6s  %8s  %8s  %8s  %8s\n", "devices", "", "tasks", "a plan",
           "a choice", "text", "picture");
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
        measure("cpu:0,cpu:1", 333, k, rounds);
        measure("cpu*2", 333, k, rounds);
        measure("cpu*12", 76, k, rounds);
        measure("cpu:0,cpu:1", 36, k, rounds);
    }
    return 0;
}
