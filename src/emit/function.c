// SPDX-License-Identifier: Apache-2.0
//
// Files of kernels: their functions, the functions of parallel loops, their root code.
#include <stdio.h>

#include "emit/walk.h"

// ---- parallel loops -----------------------------------------------------------------

// What the body of a loop uses from outside, each once, in order.
typedef struct Captured {
    struct {
        LoopRef *data;
        uint32_t len, cap;
    } refs;
    Map seen; // bound inside, or in refs
} Captured;

static void capture(Walker *w, Captured *c, LoopRef ref) {
    uint64_t unused;
    if (w->kernel->values.data[ref].is_const || map_get(&c->seen, ref, &unused)) return;
    map_set(&c->seen, ref, 1);
    vec_push(w->arena, &c->refs, ref);
}

static void capture_body(Walker *w, Captured *c, const LoopBody *body) {
    for (uint32_t i = 0; i < body->param_count; i++)
        map_set(&c->seen, body->params[i], 1);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) capture(w, c, stm->args[k]);
        for (uint32_t k = 0; k < stm->out_count; k++)
            map_set(&c->seen, stm->outs[k], 1);
        for (uint32_t k = 0; k < stm->body_count; k++)
            capture_body(w, c, stm->bodies[k]);
    }
    for (uint32_t i = 0; i < body->result_count; i++) capture(w, c, body->results[i]);
}

static void put_frame(Walker *w, const Captured *c, uint32_t chunk) {
    walk_line(w, "struct weft_%u_frame%u {", w->number, chunk);
    for (uint32_t i = 0; i < c->refs.len; i++) {
        StrBuf text = strbuf(w->arena);
        walk_declare(w, c->refs.data[i], "", &text);
        walk_line(w, "    %.*s;", STR_ARG(strbuf_done(&text)));
    }
    if (c->refs.len == 0) walk_line(w, "    char none;");
    walk_line(w, "};");
}

static void put_chunk(Walker *w, const LoopStm *stm, const Captured *c,
                      uint32_t chunk) {
    const LoopBody *body = stm->bodies[0];
    Str i = walk_value(w, body->params[0]);
    put_frame(w, c, chunk);
    walk_line(w,
              "static int32_t weft_%u_chunk%u(KernelEnv *env, const void *frame_, "
              "int64_t begin, int64_t end, int64_t *failed) {",
              w->number, chunk);
    w->indent++;
    walk_line(w, "const struct weft_%u_frame%u *frame = frame_;", w->number, chunk);
    for (uint32_t k = 0; k < c->refs.len; k++) {
        StrBuf text = strbuf(w->arena);
        walk_declare(w, c->refs.data[k], "", &text);
        walk_line(w, "%.*s = frame->%.*s;", STR_ARG(strbuf_done(&text)),
                  STR_ARG(walk_value(w, c->refs.data[k])));
    }
    bool allocates = walk_has(body, LOOP_ALLOC) || walk_has(body, LOOP_CALL);
    if (allocates) walk_line(w, "char *mark = env->top;");
    walk_line(w, "for (int64_t %.*s = begin; %.*s < end; %.*s++) {", STR_ARG(i),
              STR_ARG(i), STR_ARG(i));
    w->indent++;
    StrBuf failing = strbuf(w->arena);
    strbuf_printf(&failing, "*failed = %.*s; ", STR_ARG(i));
    w->failing = str_terminated(w->arena, strbuf_done(&failing));
    uint32_t depth = w->depth;
    w->depth = 1;
    walk_body(w, body);
    w->depth = depth;
    if (allocates) walk_line(w, "env->top = mark;");
    w->indent--;
    walk_line(w, "}");
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
    Captured captured = {0};
    map_init(&captured.seen, w->arena);
    capture_body(w, &captured, stm->bodies[0]);

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
    for (uint32_t i = 0; i < captured.refs.len; i++)
        strbuf_printf(&frame, i == 0 ? "%.*s" : ", %.*s",
                      STR_ARG(walk_value(w, captured.refs.data[i])));
    if (captured.refs.len == 0) strbuf_char(&frame, '0');
    int64_t grain = GRAIN_COST / cost_of(stm->bodies[0]);
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

static void put_function(Walker *w, uint32_t number) {
    const LoopBody *body = w->kernel->funs.data[number].body;
    StrBuf params = strbuf(w->arena);
    for (uint32_t i = 0; i < body->param_count; i++) {
        strbuf_cstr(&params, ", ");
        walk_declare(w, body->params[i], "", &params);
    }
    for (uint32_t i = 0; i < body->result_count; i++)
        strbuf_printf(&params, ", %s*out%u", walk_type(w, body->results[i]), i);
    walk_line(w, "static int32_t weft_%u_f%u(KernelEnv *env%.*s) {", w->number, number,
              STR_ARG(strbuf_done(&params)));
    w->indent++;
    bool allocates = walk_has(body, LOOP_ALLOC) || walk_has(body, LOOP_CALL);
    if (allocates) walk_line(w, "char *mark = env->top;");
    walk_body(w, body);
    uint32_t kept = 0;
    StrBuf list = strbuf(w->arena);
    for (uint32_t i = 0; i < body->result_count; i++)
        if (w->kernel->values.data[body->results[i]].type.kind == LOOP_IS_BUFFER)
            strbuf_printf(&list, kept++ == 0 ? "%.*s" : ", %.*s",
                          STR_ARG(walk_value(w, body->results[i])));
    if (allocates && kept > 0) {
        walk_line(w, "void *kept[] = {%.*s};", STR_ARG(strbuf_done(&list)));
        walk_line(w, "weft_keep(env, mark, kept, %u);", kept);
    } else if (allocates) {
        walk_line(w, "env->top = mark;");
    }
    kept = 0;
    for (uint32_t i = 0; i < body->result_count; i++) {
        LoopRef result = body->results[i];
        if (allocates && w->kernel->values.data[result].type.kind == LOOP_IS_BUFFER)
            walk_line(w, "*out%u = kept[%u];", i, kept++);
        else walk_line(w, "*out%u = %.*s;", i, STR_ARG(walk_value(w, result)));
    }
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
    for (uint32_t i = 0; i < root->param_count; i++) {
        char slot[24];
        StrBuf text = strbuf(w->arena);
        snprintf(slot, sizeof slot, "in[%u]", i);
        walk_declare(w, root->params[i], "", &text);
        walk_line(w, "%.*s = %.*s;", STR_ARG(strbuf_done(&text)),
                  STR_ARG(walk_from_slot(w, root->params[i], slot)));
    }
    walk_body(w, root);
    for (uint32_t i = 0; i < root->result_count; i++)
        walk_line(w, "out[%u] = %.*s;", i, STR_ARG(walk_to_slot(w, root->results[i])));
    walk_line(w, "return KERNEL_OK;");
    w->indent--;
    walk_line(w, "}\n");
}

static void put_kernel(Walker *w) {
    StrBuf text = strbuf(w->arena);
    w->done = strbuf(w->arena);
    w->out = &text;
    for (uint32_t i = 0; i < w->kernel->funs.len; i++) put_function(w, i);
    // Parallel loops come after the functions that they call and before the root.
    StrBuf functions = text;
    text = strbuf(w->arena);
    put_root(w);
    strbuf_str(&functions, strbuf_done(&w->done));
    strbuf_str(&functions, strbuf_done(&text));
    w->done = functions;
}

void emit_kernels(const Dialect *dialect, LoopKernel *const *kernels, uint32_t count,
                  bool for_people, StrBuf *out, EmitChecks *checks_out) {
    Arena *arena = out->arena;
    Helpers helpers = {0};
    StrBuf code = strbuf(arena);
    for (uint32_t i = 0; i < count; i++) {
        Walker w = {.dialect = dialect,
                    .kernel = kernels[i],
                    .number = i,
                    .for_people = for_people,
                    .arena = arena,
                    .names = arena_array(arena, Str, kernels[i]->values.len),
                    .helpers = &helpers,
                    .checks = &checks_out[i],
                    .failing = ""};
        put_kernel(&w);
        strbuf_str(&code, strbuf_done(&w.done));
    }
    for (const char *const *head = dialect->head; *head != NULL; head++)
        strbuf_cstr(out, *head);
    strbuf_char(out, '\n');
    emit_helpers(dialect, &helpers, out);
    strbuf_char(out, '\n');
    strbuf_str(out, strbuf_done(&code));
}
