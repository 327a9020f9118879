// SPDX-License-Identifier: Apache-2.0
//
// Files of kernels: their functions, the functions of parallel loops, their root code;
// for GPUs their functions and launches (launch.c).
#include <stdio.h>

#include "emit/walk.h"
#include "loop/build.h"
#include "loop/machine.h"

static bool allocates(const LoopBody *body) {
    return loop_has_op(body, LOOP_ALLOC) || loop_has_op(body, LOOP_CALL);
}

// ---- parallel loops -----------------------------------------------------------------

static void put_frame(Walker *w, const LoopRefs *c, uint32_t chunk) {
    walk_line(w, "struct weft_%u_frame%u {", w->number, chunk);
    for (uint32_t i = 0; i < c->len; i++) {
        StrBuf text = strbuf(w->arena);
        walk_declare(w, c->data[i], "", &text);
        walk_line(w, "    %.*s;", STR_ARG(strbuf_done(&text)));
    }
    walk_line(w, "    bool is_far;");
    walk_line(w, "};");
}

static void put_chunk(Walker *w, const LoopStm *stm, const LoopRefs *c,
                      uint32_t chunk) {
    const LoopBody *body = stm->bodies[stm->body_count - 1]; // of one turn
    Str i = walk_value(w, stm->bodies[0]->params[0]);
    put_frame(w, c, chunk);
    walk_line(w,
              "static int32_t weft_%u_chunk%u(KernelEnv *env, const void *frame_, "
              "int64_t begin, int64_t end, int64_t *failed) {",
              w->number, chunk);
    w->indent++;
    walk_line(w, "const struct weft_%u_frame%u *frame = frame_;", w->number, chunk);
    for (uint32_t k = 0; k < c->len; k++) {
        StrBuf text = strbuf(w->arena);
        walk_declare(w, c->data[k], "", &text);
        walk_line(w, "%.*s = frame->%.*s;", STR_ARG(strbuf_done(&text)),
                  STR_ARG(walk_value(w, c->data[k])));
    }
    bool frees = allocates(body);
    if (frees) walk_line(w, "char *mark = env->top;");
    walk_find_streams(w, stm);
    bool streams = w->streams.len > 0;
    if (streams) walk_line(w, "const bool is_far = frame->is_far;");
    const char *after = frees ? "env->top = mark;" : NULL;
    StrBuf failing = strbuf(w->arena);
    strbuf_printf(&failing, "*failed = %.*s; %s", STR_ARG(i),
                  streams ? "weft_fence(); " : "");
    w->failing = str_terminated(w->arena, strbuf_done(&failing));
    uint32_t depth = w->depth;
    LoopRef turn = w->turn;
    const LoopBody *shared = w->shared;
    w->turn = stm->bodies[0]->params[0];
    w->shared = body;
    if (stm->number > 0) {
        w->depth = 0;
        walk_vector_loop(w, stm, &(WalkTurns){"begin", "end", .after = after});
    } else {
        w->depth = 1;
        walk_line(w, "for (int64_t %.*s = begin; %.*s < end; %.*s++) {", STR_ARG(i),
                  STR_ARG(i), STR_ARG(i));
        w->indent++;
        walk_body(w, body);
        if (after != NULL) walk_line(w, "%s", after);
        w->indent--;
        walk_line(w, "}");
    }
    w->depth = depth;
    w->turn = turn;
    w->shared = shared;
    if (streams) walk_line(w, "weft_fence();");
    walk_line(w, "return KERNEL_OK;");
    w->indent--;
    walk_line(w, "}\n");
}

enum {
    SOME_ROUNDS = 16,
    MANY_ROUNDS = 512,
    MOST_COST = 100000
}; // MOST_COST: and rounds

static int64_t rounds_of(const Walker *w, const LoopBody *body, LoopRef count);

// The same, if the count is a quotient: what is cut into parts is rather long.
static int64_t rounds_of_parts(const Walker *w, const LoopBody *body,
                               const LoopStm *quotient) {
    const LoopValue *part = &w->kernel->values.data[quotient->args[1]];
    int64_t rounds = rounds_of(w, body, quotient->args[0]);
    if (rounds == SOME_ROUNDS || !part->is_const || part->bits == 0) return MANY_ROUNDS;
    return 1 + rounds / (int64_t)part->bits;
}

// How many rounds a loop of the body makes: as many as are known, or are known to be
// the most, as of the blocks that a long array is cut into; else some.
static int64_t rounds_of(const Walker *w, const LoopBody *body, LoopRef count) {
    const LoopValue *n = &w->kernel->values.data[count];
    if (n->is_const) return n->bits < MOST_COST ? (int64_t)n->bits : MOST_COST;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op != LOOP_SCALAR || stm->outs[0] != count) continue;
        if (stm->scalar == OP_SUB) return rounds_of(w, body, stm->args[0]);
        if (stm->scalar == OP_QUOT) return rounds_of_parts(w, body, stm);
        for (uint32_t k = 0; k < stm->arg_count && stm->scalar == OP_MIN; k++)
            if (w->kernel->values.data[stm->args[k]].is_const)
                return rounds_of(w, body, stm->args[k]);
    }
    return SOME_ROUNDS;
}

// About how many statements an iteration runs.
static int64_t cost_of(const Walker *w, const LoopBody *body) {
    int64_t cost = 1;
    for (uint32_t i = 0; i < body->stms.len && cost < MOST_COST; i++) {
        const LoopStm *stm = body->stms.data[i];
        int64_t rounds = stm->op == LOOP_FOR     ? rounds_of(w, body, stm->args[0])
                         : stm->op == LOOP_WHILE ? SOME_ROUNDS
                                                 : 1;
        cost++;
        // Lanes first, then, one by one, what is left over.
        bool has_lanes = stm->op == LOOP_FOR && stm->number > 0;
        if (has_lanes && rounds != SOME_ROUNDS) rounds = 1 + rounds / stm->number;
        for (uint32_t k = 0; k < stm->body_count; k++)
            cost += cost_of(w, stm->bodies[k]) * (has_lanes && k > 0 ? 1 : rounds);
    }
    return cost < MOST_COST ? cost : MOST_COST;
}

void walk_parallel(Walker *w, const LoopStm *stm) {
    enum { GRAIN_COST = 32768 };
    uint32_t chunk = w->chunks++, indent = w->indent;
    LoopRefs captured;
    LoopStm *loop = (LoopStm *)(uintptr_t)stm;
    LoopBody both = {.stms = {&loop, 1, 1}};
    loop_captures(w->kernel, stm->number > 0 ? &both : stm->bodies[0], w->arena,
                  &captured);

    StrBuf text = strbuf(w->arena), *out = w->out;
    const char *failing = w->failing;
    w->out = &text;
    w->indent = 0;
    put_chunk(w, stm, &captured, chunk);
    strbuf_str(&w->done, strbuf_done(&text));
    w->out = out;
    w->indent = indent;
    w->failing = failing;

    StrBuf frame = strbuf(w->arena);
    for (uint32_t i = 0; i < captured.len; i++)
        strbuf_printf(&frame, "%.*s, ", STR_ARG(walk_value(w, captured.data[i])));
    strbuf_str(&frame, walk_are_far(w));
    w->streams = (LoopRefs){0};
    int64_t grain = GRAIN_COST / cost_of(w, stm->bodies[stm->body_count - 1]);
    int64_t lanes = stm->number > 0 ? stm->number : 1;
    walk_line(w, "const struct weft_%u_frame%u frame%u = {%.*s};", w->number, chunk,
              chunk, STR_ARG(strbuf_done(&frame)));
    walk_line(w,
              "{ const int32_t status = env->parallel(env, %.*s, %lld, %lld, "
              "weft_%u_chunk%u, &frame%u);",
              STR_ARG(walk_value(w, stm->args[0])), (long long)(grain < 1 ? 1 : grain),
              (long long)lanes, w->number, chunk, chunk);
    walk_line(w, "  if (status != KERNEL_OK) { %sreturn status; } }", w->failing);
}

// ---- functions ----------------------------------------------------------------------

static bool is_buffer(const Walker *w, LoopRef ref) {
    return w->kernel->values.data[ref].type.kind == LOOP_IS_BUFFER;
}

Str walk_params(Walker *w, const LoopRef *refs, uint32_t count) {
    StrBuf text = strbuf(w->arena);
    for (uint32_t i = 0; i < count; i++) {
        strbuf_cstr(&text, ", ");
        walk_declare(w, refs[i], "", &text);
    }
    return strbuf_done(&text);
}

// Frees what the function allocated, but for its results, and hands these out.
static void put_results(Walker *w, const LoopBody *body) {
    bool frees = allocates(body);
    LoopRefs kept = {0};
    for (uint32_t i = 0; i < body->result_count; i++)
        if (is_buffer(w, body->results[i])) vec_push(w->arena, &kept, body->results[i]);
    if (frees && kept.len > 0) walk_keep(w, 0, "mark", kept.data, kept.len);
    else if (frees) walk_line(w, "env->top = mark;");
    for (uint32_t i = 0, k = 0; i < body->result_count; i++) {
        LoopRef result = body->results[i];
        if (frees && is_buffer(w, result))
            walk_line(w, "*out%u = (%s)kept_0[%u];", i, walk_type(w, result), k++);
        else walk_line(w, "*out%u = %.*s;", i, STR_ARG(walk_value(w, result)));
    }
}

// Plain functions have no use for the environment, and nothing to return.
static void put_function(Walker *w, uint32_t number) {
    const LoopBody *body = w->kernel->funs.data[number].body;
    bool is_plain = w->kernel->funs.data[number].is_plain;
    StrBuf outs = strbuf(w->arena);
    for (uint32_t i = 0; i < body->result_count; i++)
        strbuf_printf(&outs, ", %s*out%u", walk_type(w, body->results[i]), i);
    walk_line(w, "%s%s weft_%u_f%u(KernelEnv *env%.*s%.*s) {", w->dialect->function,
              is_plain ? "void" : "int32_t", w->number, number,
              STR_ARG(walk_params(w, body->params, body->param_count)),
              STR_ARG(strbuf_done(&outs)));
    w->indent++;
    if (is_plain) walk_line(w, "(void)env;");
    if (allocates(body)) walk_line(w, "%schar *mark = env->top;", w->dialect->global);
    walk_body(w, body);
    put_results(w, body);
    if (!is_plain) walk_line(w, "return KERNEL_OK;");
    w->indent--;
    walk_line(w, "}\n");
}

static void put_root(Walker *w) {
    const LoopBody *root = w->kernel->root;
    walk_line(
        w,
        "int32_t weft_kernel_%u(KernelEnv *env, const uint64_t *in, uint64_t *out) {",
        w->number);
    w->indent++;
    walk_line(w, "(void)in;");
    for (uint32_t i = 0; i < root->param_count; i++)
        walk_take_slot(w, root->params[i], "in", i);
    walk_body(w, root);
    for (uint32_t i = 0; i < root->result_count; i++)
        walk_line(w, "out[%u] = %.*s;", i, STR_ARG(walk_to_slot(w, root->results[i])));
    walk_line(w, "return KERNEL_OK;");
    w->indent--;
    walk_line(w, "}\n");
}

// ---- files --------------------------------------------------------------------------

static void number_checks(Walker *w, const LoopBody *body, EmitChecks *checks) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op == LOOP_CHECK || stm->op == LOOP_CALL) {
            map_set(&w->checks, (uint64_t)(uintptr_t)stm, checks->len);
            vec_push(w->out->arena, checks, stm);
        }
        for (uint32_t k = 0; k < stm->body_count; k++)
            number_checks(w, stm->bodies[k], checks);
    }
}

// In C parallel loops come after the functions that they call and before the root.
static void put_kernel(Walker *w, EmitChecks *checks, StrBuf *out) {
    const LoopPlan *plan = w->plan;
    const LoopKernel *kernel = w->kernel;
    w->out = out;
    map_init(&w->checks, w->arena);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        number_checks(w, kernel->funs.data[i].body, checks);
    number_checks(w, kernel->root, checks);
    for (uint32_t i = 0; i < kernel->funs.len; i++) put_function(w, i);
    for (uint32_t i = 0; plan != NULL && i < plan->count; i++)
        walk_launch(w, &plan->launches[i]);
    if (plan != NULL) return;
    StrBuf root = strbuf(w->arena);
    w->done = strbuf(w->arena);
    w->out = &root;
    put_root(w);
    strbuf_str(out, strbuf_done(&w->done));
    strbuf_str(out, strbuf_done(&root));
}

// Whether the kernels have a scalar or element of that type.
static bool has_type(LoopKernel *const *kernels, uint32_t count, ScalarType type) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t ref = 1; ref < kernels[i]->values.len; ref++)
            if (kernels[i]->values.data[ref].type.elem == type) return true;
    return false;
}

static bool has_below(const LoopBody *body) {
    return loop_has_op(body, LOOP_BELOW);
}

static bool has_lanes(LoopKernel *const *kernels, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t ref = 1; ref < kernels[i]->values.len; ref++)
            if (kernels[i]->values.data[ref].type.lanes > 0) return true;
    return false;
}

static bool has_sift(const LoopBody *body) {
    return loop_has_op(body, LOOP_SIFT);
}

static bool is_scalar(const LoopStm *stm, int op) {
    return stm->op == LOOP_SCALAR && (int)stm->scalar == op;
}

static bool has_fma(const LoopBody *body) {
    return loop_has(body, is_scalar, OP_FMA);
}

// Whether one of the kernels' bodies has it.
static bool any_has(LoopKernel *const *kernels, uint32_t count,
                    bool (*has)(const LoopBody *)) {
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < kernels[i]->funs.len; k++)
            if (has(kernels[i]->funs.data[k].body)) return true;
        if (has(kernels[i]->root)) return true;
    }
    return false;
}

static void put_texts(const char *const *texts, StrBuf *out) {
    for (int i = 0; i < MOST_HEADS && texts[i] != NULL; i++) strbuf_cstr(out, texts[i]);
}

static void put_head(const Dialect *dialect, LoopKernel *const *kernels, uint32_t count,
                     StrBuf *out) {
    bool has_f16 = has_type(kernels, count, SCALAR_F16);
    bool is_in_lanes = has_lanes(kernels, count) || any_has(kernels, count, has_below);
    bool is_wide = is_in_lanes && machine_vector_bytes() == 64;
    if (is_wide && any_has(kernels, count, has_fma)) put_texts(dialect->head_long, out);
    put_texts(dialect->head, out);
    if (has_f16 || has_type(kernels, count, SCALAR_F64))
        put_texts(dialect->head_f64, out);
    if (has_f16) put_texts(dialect->head_f16, out);
    if (is_in_lanes) put_texts(dialect->head_lanes, out);
    if (is_wide) put_texts(dialect->head_wide, out);
    if (any_has(kernels, count, has_sift)) put_texts(dialect->head_sift, out);
    strbuf_char(out, '\n');
}

void emit_launches(const Dialect *dialect, LoopKernel *const *kernels,
                   const LoopPlan *plans, uint32_t count, bool for_people,
                   Arena *scratch, StrBuf *out, StrBuf *tables_out,
                   EmitChecks *checks_out) {
    Arena *arena = out->arena;
    Helpers helpers = {0};
    map_init(&helpers.made, arena);
    map_init(&helpers.loaded, arena);
    helpers.lanes = strbuf(arena);
    Tables tables = {.bytes = tables_out};
    map_init(&tables.places, arena);
    size_t start = out->len;
    for (uint32_t i = 0; i < count; i++) {
        const LoopStm *const *made = walk_made(kernels[i], scratch);
        Walker w = {.dialect = dialect,
                    .kernel = kernels[i],
                    .number = i,
                    .for_people = for_people,
                    .arena = scratch,
                    .names = arena_array(scratch, Str, kernels[i]->values.len),
                    .helpers = &helpers,
                    .tables = &tables,
                    .plan = plans == NULL ? NULL : &plans[i],
                    .is_local = plans == NULL ? loop_local_buffers(kernels[i], scratch)
                                              : plans[i].is_local,
                    .is_alone = arena_array(scratch, bool, kernels[i]->values.len),
                    .is_own = walk_own_buffers(kernels[i], scratch),
                    .is_size = walk_sizes(kernels[i], scratch),
                    .made = made,
                    .is_number = walk_numbers(kernels[i], made, scratch),
                    .failing = ""};
        put_kernel(&w, &checks_out[i], out);
        arena_reset(scratch);
    }
    arena_free(scratch);
    StrBuf head = strbuf(arena); // which helpers there are is known by now
    put_head(dialect, kernels, count, &head);
    emit_helpers(dialect, &helpers, &head);
    strbuf_char(&head, '\n');
    strbuf_insert(out, start, strbuf_done(&head));
}

void emit_kernels(const Dialect *dialect, LoopKernel *const *kernels, uint32_t count,
                  bool for_people, Arena *scratch, StrBuf *out,
                  EmitChecks *checks_out) {
    emit_launches(dialect, kernels, NULL, count, for_people, scratch, out, NULL,
                  checks_out);
}
