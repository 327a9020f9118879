// SPDX-License-Identifier: Apache-2.0
//
// Forms are told apart by what is there: core is looked at before and after fusion, a
// kernel before and after each pass on loops, by its text. Tiles and batches are those
// for a machine so small that the programs' arrays are large, and all loops that can
// have lanes have them.
#include "forms.h"

#include <stdio.h>
#include <string.h>

#include "core/rules.h"
#include "loop/passes.h"
#include "loop/vector.h"
#include "small.h"

// ---- fusion -------------------------------------------------------------------------

typedef enum Fused {
    FUSED_MAP,
    FUSED_REDUCE,
    FUSED_SCAN,
    FUSED_HIST,
    FUSED_SCATTER,
    FUSED_FILTER,
    MAPS_BESIDE,
    REDUCTIONS_BESIDE,
    FUSED_COUNT
} Fused;

static const char *const fused_names[FUSED_COUNT] = {
    "map into map",      "map into reduce",        "map into scan",
    "map into hist",     "map into scatter",       "map into filter",
    "maps side by side", "reductions side by side"};

static uint64_t fused[FUSED_COUNT];
static uint64_t passed[LOOP_PASS_COUNT], lowered[LOOP_COUNT];

// Statements of a program.
typedef struct Census {
    uint32_t ops[OP_COUNT];
    uint32_t with_producer[OP_COUNT];
    uint32_t results[OP_COUNT]; // of those, at most
} Census;

static Census before;

static void count_stm(void *data, const CoreStm *stm) {
    Census *census = data;
    census->ops[stm->op]++;
    census->with_producer[stm->op] += core_feeds(stm).producer != NULL;
    if (stm->out_count > census->results[stm->op])
        census->results[stm->op] = stm->out_count;
}

static Census take_census(const CoreProgram *core) {
    Census census = {{0}, {0}, {0}};
    for (uint32_t i = 0; i < core->funs.len; i++)
        core_walk(core->funs.data[i]->body, count_stm, &census);
    return census;
}

void forms_before_fusion(const CoreProgram *core) {
    before = take_census(core);
}

static void note_fused(const CoreProgram *core) {
    static const struct {
        Fused form;
        CoreOp op;
    } taking[] = {{FUSED_REDUCE, OP_REDUCE},
                  {FUSED_SCAN, OP_SCAN},
                  {FUSED_HIST, OP_HIST},
                  {FUSED_SCATTER, OP_SCATTER},
                  {FUSED_FILTER, OP_FILTER}};
    Census after = take_census(core);
    for (size_t i = 0; i < sizeof taking / sizeof *taking; i++) {
        CoreOp op = taking[i].op;
        fused[taking[i].form] += after.with_producer[op] > before.with_producer[op];
    }
    fused[FUSED_MAP] += after.ops[OP_MAP] < before.ops[OP_MAP];
    fused[MAPS_BESIDE] += after.results[OP_MAP] > before.results[OP_MAP];
    fused[REDUCTIONS_BESIDE] += after.results[OP_REDUCE] > before.results[OP_REDUCE];
}

// ---- loops --------------------------------------------------------------------------

// A kernel on its way through the passes.
typedef struct Way {
    Arena *arena;
    Str text;                      // after the last pass
    bool changes[LOOP_PASS_COUNT]; // by pass
    bool has[LOOP_COUNT];          // by operator, anywhere on the way
} Way;

static void note_ops(Way *way, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        way->has[stm->op] = true;
        for (uint32_t k = 0; k < stm->body_count; k++) note_ops(way, stm->bodies[k]);
    }
}

static bool has_changed(Way *way, const LoopKernel *kernel) {
    StrBuf text = strbuf(way->arena);
    loop_print(kernel, &text);
    Str now = strbuf_done(&text);
    bool changed = way->text.ptr != NULL && !str_eq(now, way->text);
    way->text = now;
    return changed;
}

static void after_pass(void *data, const LoopPassInfo *pass, const LoopKernel *kernel) {
    Way *way = data;
    if (has_changed(way, kernel)) way->changes[pass - loop_passes] = true;
}

static void go(Way *way, const CoreProgram *core, const CoreFun *fun, LoopShape shape) {
    bool is_here = shape == LOOP_PARALLEL;
    const char *why;
    LoopKernel *kernel = loop_lower(core, fun, shape, way->arena, &why);
    LoopOptions options = {is_here ? LOOP_FOR_HERE : LOOP_FOR_ALL, LOOP_PASS_BATCH - 1,
                           after_pass, way};
    if (kernel == NULL) return;
    LiftMachine wide = small_with(32);
    if (is_here) kernel->vector_bytes = wide.bytes;
    way->text = (Str){0};
    has_changed(way, kernel);
    loop_optimise(kernel, &options);
    if (is_here) {
        batch_run(kernel, &wide);
        after_pass(way, &loop_passes[LOOP_PASS_BATCH], kernel);
        lift_run(kernel, &small);
        after_pass(way, &loop_passes[LOOP_PASS_LIFT], kernel);
        loop_ends(kernel);
        after_pass(way, &loop_passes[LOOP_PASS_ENDS], kernel);
        vector_run(kernel, wide.bytes, true);
        after_pass(way, &loop_passes[LOOP_PASS_VECTOR], kernel);
        loop_late(kernel);
        after_pass(way, &loop_passes[LOOP_PASS_LATE], kernel);
        loop_jam(kernel);
        after_pass(way, &loop_passes[LOOP_PASS_JAM], kernel);
        loop_planes(kernel);
        after_pass(way, &loop_passes[LOOP_PASS_PLANES], kernel);
        loop_rare(kernel);
        after_pass(way, &loop_passes[LOOP_PASS_RARE], kernel);
        loop_guards(kernel);
        after_pass(way, &loop_passes[LOOP_PASS_GUARDS], kernel);
        loop_lookup(kernel);
        after_pass(way, &loop_passes[LOOP_PASS_LOOKUP], kernel);
    }
    note_ops(way, kernel->root);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        note_ops(way, kernel->funs.data[i].body);
}

void forms_of(Mem *mem, const CoreProgram *core) {
    static const LoopShape shapes[] = {LOOP_PARALLEL, LOOP_FOR_GPUS};
    Arena arena;
    arena_init(&arena, mem);
    Way *way = arena_new(&arena, Way);
    way->arena = &arena;
    note_fused(core);
    for (uint32_t i = 0; i < core->funs.len; i++)
        for (int k = 0; k < 2 && core->funs.data[i]->is_entry; k++)
            go(way, core, core->funs.data[i], shapes[k]);
    for (int i = 0; i < LOOP_PASS_COUNT; i++) passed[i] += way->changes[i];
    for (int i = 0; i < LOOP_COUNT; i++) lowered[i] += way->has[i];
    arena_free(&arena);
}

// ---- telling ------------------------------------------------------------------------

static int tell(const char *kind, const char *name, uint64_t count, uint64_t least) {
    printf("%s %-24s %8llu%s\n", kind, name, (unsigned long long)count,
           count < least ? "  too few" : "");
    return count < least;
}

int forms_print(uint64_t least) {
    int missed = 0;
    for (int i = 0; i < FUSED_COUNT; i++)
        missed += tell("fused ", fused_names[i], fused[i], least);
    for (int i = 0; i < LOOP_PASS_COUNT; i++)
        missed += tell("pass  ", loop_passes[i].name, passed[i], least);
    for (int i = 0; i < LOOP_COUNT; i++) // PACK depends on how long vectors are
        missed += tell("loop  ", i == LOOP_SCALAR ? "scalar" : loop_op_names[i],
                       lowered[i], i == LOOP_PACK ? 0 : least);
    return missed;
}
