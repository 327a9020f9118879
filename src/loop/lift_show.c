// SPDX-License-Identifier: Apache-2.0
//
// What the lift pass makes of a kernel, for people: for each nest the levels that its
// rows, columns and fold become, how large they are, and why.
#include "loop/lift.h"
#include "loop/machine.h"

typedef struct Show {
    LoopKernel *kernel;
    StrBuf *out;
    uint32_t nests;
    LiftMachine machine;
} Show;

// " rows 4096", or " rows any" if the program does not say how many.
static void put_size(const Show *s, const char *what, const LoopStm *loop) {
    const LoopValue *n = &s->kernel->values.data[loop->args[0]];
    strbuf_cstr(s->out, what);
    if (n->is_const) strbuf_printf(s->out, "%llu", (unsigned long long)n->bits);
    else strbuf_cstr(s->out, "any");
}

static void put_place(const Show *s, CoreLoc loc) {
    const CoreProgram *core = s->kernel->core;
    if (loc == 0) return;
    strbuf_cstr(s->out, " at ");
    strbuf_str(s->out, sources_show(&core->cx->sources, s->out->arena,
                                    core->places.data[loc].span));
}

static void put_packed(const Show *s, const LoopRefs *refs) {
    for (uint32_t i = 0; i < refs->len; i++) {
        LoopType type = s->kernel->values.data[refs->data[i]].type;
        strbuf_printf(s->out, "%s%s", i == 0 ? ", packed: " : ", ",
                      scalar_info[type.elem].name);
    }
}

static void put_nest(Show *s, const LiftNest *n) {
    const LiftMachine *m = &s->machine;
    StrBuf *out = s->out;
    uint32_t sums = n->depth->out_count;
    s->nests++;
    strbuf_cstr(out, "  nest");
    put_place(s, n->rows->loc);
    strbuf_char(out, ':');
    put_size(s, " rows ", n->rows);
    put_size(s, ", columns ", n->columns);
    put_size(s, ", fold ", n->depth);
    strbuf_printf(
        out, "\n    lanes      %u columns: a vector of %u bytes for elements of %u\n",
        m->bytes / n->bytes, m->bytes, n->bytes);
    strbuf_printf(out,
                  "    registers  %u rows × %u vectors%s: %u of %u hold sums, %u what "
                  "rows share\n",
                  n->high, LIFT_VECTORS, sums > 1 ? " of each sum" : "",
                  n->high * LIFT_VECTORS * sums, m->registers,
                  LIFT_VECTORS * n->columns_packed.len);
    strbuf_printf(out, "    panel      %u columns × the fold", n->wide);
    put_packed(s, &n->columns_packed);
    strbuf_printf(out, "; at most %u KiB at a time\n", m->packed >> 10);
    strbuf_printf(out,
                  "    strip      up to %u rows, as fit in %u KiB and leave %u turns, "
                  "or %u for a thread",
                  n->high * LIFT_MOST_STRIP, m->near >> 10, LIFT_SPREAD, LIFT_SHARE);
    put_packed(s, &n->rows_packed);
    if (!n->is_far && n->rows_packed.len > 0)
        strbuf_printf(out, " for %u columns or more", m->many);
    strbuf_printf(out, "\n    turn       a strip × %u panels%s, %s\n", LIFT_PANELS,
                  n->rows_packed.len > 0 ? " or more" : "",
                  n->rows->order == ORDER_PARALLEL ? "on any core"
                                                   : "one after the other");
    strbuf_printf(
        out, "    used if there are %u rows, %u columns and %u turns of the fold\n",
        2 * n->high, n->wide, m->least);
}

static void show_body(Show *s, const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        LoopStm *stm = body->stms.data[i];
        LiftNest nest;
        if (lift_find(s->kernel, &s->machine, stm, &nest)) {
            put_nest(s, &nest);
            continue;
        }
        for (uint32_t k = 0; k < stm->body_count; k++) show_body(s, stm->bodies[k]);
    }
}

void lift_show(LoopKernel *kernel, StrBuf *out) {
    uint32_t bytes = machine_vector_bytes();
    Show s = {
        .kernel = kernel, .out = out, .machine = lift_machine(bytes > 0 ? bytes : 32)};
    strbuf_printf(out, "kernel %.*s\n",
                  STR_ARG(sym_str(&kernel->core->cx->syms, kernel->name)));
    for (uint32_t i = 0; i < kernel->funs.len; i++)
        show_body(&s, kernel->funs.data[i].body);
    show_body(&s, kernel->root);
    if (s.nests == 0) strbuf_cstr(out, "  nothing to lift\n");
}
