// SPDX-License-Identifier: Apache-2.0
//
// Files of kernels: their functions, the functions of parallel loops, their root code;
// for GPUs their functions and launches (launch.c).
#include <stdio.h>

#include "emit/walk.h"

static bool allocates(const LoopBody *body) {
    return walk_has(body, LOOP_ALLOC) || walk_has(body, LOOP_CALL);
}

// ---- parallel loops -----------------------------------------------------------------

static void put_frame(Walker *w, const LoopRefs *c, uint32_t chunk) {
    walk_line(w, "struct weft_%u_frame%u {", w->number, chunk);
    for (uint32_t i = 0; i < c->len; i++) {
        StrBuf text = strbuf(w->arena);
        walk_declare(w, c->data[i], "", &text);
        walk_line(w, "    %.*s;", STR_ARG(strbuf_done(&text)));
    }
    if (c->len == 0) walk_line(w, "    char none;");
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
    const char *after = frees ? "env->top = mark;" : NULL;
    StrBuf failing = strbuf(w->arena);
    strbuf_printf(&failing, "*failed = %.*s; ", STR_ARG(i));
    w->failing = str_terminated(w->arena, strbuf_done(&failing));
    uint32_t depth = w->depth;
    if (stm->number > 0) {
        w->depth = 0;
        walk_vector_loop(w, stm, STR("begin"), STR("end"), NULL, after);
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
    walk_line(w, "return KERNEL_OK;");
    w->indent--;
    walk_line(w, "}\n");
}

// About how many statements an iteration runs; loops count as some rounds.
static int64_t cost_of(const LoopBody *body) {
    int64_t cost = 1;
    for (uint32_t i = 0; i < body->stms.len && cost < 100000; i++) {
        const LoopStm *stm = body->stms.data[i];
        bool repeats = stm->op == LOOP_FOR || stm->op == LOOP_WHILE;
        cost++;
        for (uint32_t k = 0; k < stm->body_count; k++)
            cost += cost_of(stm->bodies[k]) * (repeats ? 16 : 1);
    }
    return cost;
}

void walk_parallel(Walker *w, const LoopStm *stm) {
    enum { GRAIN_COST = 16384 };
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
        strbuf_printf(&frame, i == 0 ? "%.*s" : ", %.*s",
                      STR_ARG(walk_value(w, captured.data[i])));
    if (captured.len == 0) strbuf_char(&frame, '0');
    int64_t grain = GRAIN_COST / cost_of(stm->bodies[stm->body_count - 1]);
    walk_line(w, "const struct weft_%u_frame%u frame%u = {%.*s};", w->number, chunk,
              chunk, STR_ARG(strbuf_done(&frame)));
    walk_line(
        w,
        "{ const int32_t status = env->parallel(env, %.*s, %lld, weft_%u_chunk%u, "
        "&frame%u);",
        STR_ARG(walk_value(w, stm->args[0])), (long long)(grain < 1 ? 1 : grain),
        w->number, chunk, chunk);
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

static void put_function(Walker *w, uint32_t number) {
    const LoopBody *body = w->kernel->funs.data[number].body;
    StrBuf outs = strbuf(w->arena);
    for (uint32_t i = 0; i < body->result_count; i++)
        strbuf_printf(&outs, ", %s*out%u", walk_type(w, body->results[i]), i);
    walk_line(w, "%sint32_t weft_%u_f%u(KernelEnv *env%.*s%.*s) {",
              w->dialect->function, w->number, number,
              STR_ARG(walk_params(w, body->params, body->param_count)),
              STR_ARG(strbuf_done(&outs)));
    w->indent++;
    if (allocates(body)) walk_line(w, "%schar *mark = env->top;", w->dialect->global);
    walk_body(w, body);
    put_results(w, body);
    walk_line(w, "return KERNEL_OK;");
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
            vec_push(w->arena, checks, stm);
        }
        for (uint32_t k = 0; k < stm->body_count; k++)
            number_checks(w, stm->bodies[k], checks);
    }
}

// In C parallel loops come after the functions that they call and before the root.
static void put_kernel(Walker *w, EmitChecks *checks, StrBuf *out) {
    const LoopPlan *plan = w->plan;
    const LoopKernel *kernel = w->kernel;
    map_init(&w->checks, w->arena);
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        number_checks(w, kernel->funs.data[i].body, checks);
    number_checks(w, kernel->root, checks);
    w->out = out;
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

static bool has_lanes(LoopKernel *const *kernels, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t ref = 1; ref < kernels[i]->values.len; ref++)
            if (kernels[i]->values.data[ref].type.lanes > 0) return true;
    return false;
}

static void put_texts(const char *const *texts, StrBuf *out) {
    for (int i = 0; i < MOST_HEADS && texts[i] != NULL; i++) strbuf_cstr(out, texts[i]);
}

static void put_head(const Dialect *dialect, LoopKernel *const *kernels, uint32_t count,
                     StrBuf *out) {
    bool has_f16 = has_type(kernels, count, SCALAR_F16);
    put_texts(dialect->head, out);
    if (has_f16 || has_type(kernels, count, SCALAR_F64))
        put_texts(dialect->head_f64, out);
    if (has_f16) put_texts(dialect->head_f16, out);
    if (has_lanes(kernels, count)) put_texts(dialect->head_lanes, out);
    strbuf_char(out, '\n');
}

void emit_launches(const Dialect *dialect, LoopKernel *const *kernels,
                   const LoopPlan *plans, uint32_t count, bool for_people, StrBuf *out,
                   StrBuf *tables_out, EmitChecks *checks_out) {
    Arena *arena = out->arena;
    Helpers helpers = {0};
    map_init(&helpers.made, arena);
    helpers.lanes = strbuf(arena);
    Tables tables = {.bytes = tables_out};
    map_init(&tables.places, arena);
    StrBuf code = strbuf(arena);
    for (uint32_t i = 0; i < count; i++) {
        Walker w = {.dialect = dialect,
                    .kernel = kernels[i],
                    .number = i,
                    .for_people = for_people,
                    .arena = arena,
                    .names = arena_array(arena, Str, kernels[i]->values.len),
                    .helpers = &helpers,
                    .tables = &tables,
                    .plan = plans == NULL ? NULL : &plans[i],
                    .is_local = plans == NULL ? loop_local_buffers(kernels[i], arena)
                                              : plans[i].is_local,
                    .is_own = walk_own_buffers(kernels[i], arena),
                    .failing = ""};
        put_kernel(&w, &checks_out[i], &code);
    }
    put_head(dialect, kernels, count, out);
    emit_helpers(dialect, &helpers, out);
    strbuf_char(out, '\n');
    strbuf_str(out, strbuf_done(&code));
}

void emit_kernels(const Dialect *dialect, LoopKernel *const *kernels, uint32_t count,
                  bool for_people, StrBuf *out, EmitChecks *checks_out) {
    emit_launches(dialect, kernels, NULL, count, for_people, out, NULL, checks_out);
}
