// SPDX-License-Identifier: Apache-2.0
//
// Kernels as text. As in core, what is printed depends on the structure and the names
// alone: the first value called x is x, later ones x.1, x.2, …; values without a name
// that fits are %1, %2, ….
#include "core/text.h"
#include "loop/loop.h"

typedef struct Printer {
    const LoopKernel *kernel;
    StrBuf *out;
    Map labels; // LoopRef -> its suffix + 1
    Map counts; // Sym + 1 -> how many values have that name
    unsigned depth;
} Printer;

// ---- names --------------------------------------------------------------------------

// The name if it is a word of the text, else 0.
static Sym plain_name(const Printer *p, Sym name) {
    Str text = sym_str(&p->kernel->core->cx->syms, name);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_letter = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool is_other = c == '\'' || (c >= '0' && c <= '9');
        if (!is_letter && (i == 0 || !is_other)) return 0;
    }
    return str_eq(text, STR("true")) || str_eq(text, STR("false")) ? 0 : name;
}

static void label_refs(Printer *p, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t known, seen = 0;
        if (map_get(&p->labels, refs[i], &known)) continue; // bound twice: broken
        uint64_t key =
            (uint64_t)plain_name(p, p->kernel->values.data[refs[i]].name) + 1;
        map_get(&p->counts, key, &seen);
        map_set(&p->counts, key, seen + 1);
        map_set(&p->labels, refs[i], seen + 1);
    }
}

static void label_body(Printer *p, const LoopBody *body) {
    label_refs(p, body->params, body->param_count);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        label_refs(p, stm->outs, stm->out_count);
        for (uint32_t k = 0; k < stm->body_count; k++) label_body(p, stm->bodies[k]);
    }
}

static void print_ref(Printer *p, LoopRef ref) {
    const LoopValue *value = &p->kernel->values.data[ref];
    if (value->is_const) {
        core_print_const(p->out, (ScalarType)value->type.elem, value->bits, false);
        return;
    }
    uint64_t label = 0;
    bool is_known = map_get(&p->labels, ref, &label);
    Sym name = plain_name(p, value->name);
    if (name == 0 || !is_known) {
        strbuf_printf(p->out, is_known ? "%%%llu" : "%%#%llu",
                      (unsigned long long)(is_known ? label : ref));
        return;
    }
    strbuf_str(p->out, sym_str(&p->kernel->core->cx->syms, name));
    if (label > 1) strbuf_printf(p->out, ".%llu", (unsigned long long)(label - 1));
}

static void print_refs(Printer *p, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) strbuf_cstr(p->out, ", ");
        print_ref(p, refs[i]);
    }
}

static void print_binders(Printer *p, const LoopRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        LoopType type = p->kernel->values.data[refs[i]].type;
        if (i > 0) strbuf_cstr(p->out, ", ");
        print_ref(p, refs[i]);
        strbuf_cstr(p->out, ": ");
        if (type.kind == LOOP_IS_MARK) strbuf_cstr(p->out, "mark");
        else
            strbuf_printf(p->out, type.kind == LOOP_IS_BUFFER ? "[%s]" : "%s",
                          scalar_info[type.elem].name);
        if (type.lanes > 0) strbuf_printf(p->out, "[%u]", type.lanes);
    }
}

// ---- statements ---------------------------------------------------------------------

static void new_line(Printer *p) {
    strbuf_char(p->out, '\n');
    for (unsigned i = 0; i < p->depth; i++) strbuf_cstr(p->out, "  ");
}

static void print_stm(Printer *p, const LoopStm *stm);

static void print_body(Printer *p, const LoopBody *body) {
    strbuf_char(p->out, '{');
    if (body->param_count > 0) {
        strbuf_char(p->out, '|');
        print_binders(p, body->params, body->param_count);
        strbuf_char(p->out, '|');
    }
    bool is_short = body->stms.len == 0;
    p->depth++;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        new_line(p);
        print_stm(p, body->stms.data[i]);
    }
    if (!is_short) new_line(p);
    else if (body->param_count > 0) strbuf_char(p->out, ' ');
    strbuf_cstr(p->out, body->result_count > 0 ? "-> " : "->");
    print_refs(p, body->results, body->result_count);
    p->depth--;
    if (!is_short) new_line(p);
    strbuf_char(p->out, '}');
}

static void print_data(Printer *p, const LoopStm *stm) {
    ScalarType elem = (ScalarType)p->kernel->values.data[stm->outs[0]].type.elem;
    size_t size = scalar_info[elem].bytes;
    strbuf_cstr(p->out, " [");
    for (size_t at = 0; at + size <= stm->text.len; at += size) {
        uint64_t bits = 0;
        for (size_t i = 0; i < size; i++)
            bits |= (uint64_t)(unsigned char)stm->text.ptr[at + i] << (8 * i);
        if (at > 0) strbuf_cstr(p->out, ", ");
        core_print_const(p->out, elem, bits, true);
    }
    strbuf_char(p->out, ']');
}

static void print_stm(Printer *p, const LoopStm *stm) {
    print_binders(p, stm->outs, stm->out_count);
    strbuf_cstr(p->out, stm->out_count > 0 ? " = " : "= ");
    if (loop_is_unsafe(stm) || loop_keeps_bits(stm)) strbuf_cstr(p->out, "unsafe ");
    strbuf_cstr(p->out, stm->op == LOOP_SCALAR ? core_op_info[stm->scalar].name
                                               : loop_op_names[stm->op]);
    if (stm->op == LOOP_ATOMIC)
        strbuf_printf(p->out, ".%s", core_op_info[stm->scalar].name);
    if (stm->op == LOOP_FOR && stm->order < ORDER_COUNT)
        strbuf_cstr(p->out, loop_order_names[stm->order]);
    if (stm->op == LOOP_RESULT || stm->op == LOOP_CALL || stm->op == LOOP_APPLY ||
        (stm->op == LOOP_FOR && stm->number > 0))
        strbuf_printf(p->out, "[%u]", stm->number);
    if (stm->arg_count > 0) {
        strbuf_char(p->out, '(');
        print_refs(p, stm->args, stm->arg_count);
        strbuf_char(p->out, ')');
    }
    if (stm->op == LOOP_DATA) print_data(p, stm);
    if (stm->op == LOOP_CHECK) {
        strbuf_char(p->out, ' ');
        core_print_quoted(p->out, stm->text);
    }
    for (uint32_t i = 0; i < stm->body_count; i++) {
        strbuf_char(p->out, ' ');
        print_body(p, stm->bodies[i]);
    }
    if (stm->loc != 0) strbuf_printf(p->out, " @%u", stm->loc);
}

// ---- kernels ------------------------------------------------------------------------

static void print_name(Printer *p, Sym name) {
    Str text = sym_str(&p->kernel->core->cx->syms, name);
    strbuf_char(p->out, ' ');
    core_print_quoted(p->out, text);
}

static void print_ports(Printer *p, const LoopPort *ports, uint32_t count) {
    strbuf_char(p->out, '(');
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) strbuf_cstr(p->out, ", ");
        if (ports[i].is_owned) strbuf_cstr(p->out, "owned ");
        for (unsigned d = 0; d < ports[i].type.rank; d++) strbuf_cstr(p->out, "[]");
        strbuf_cstr(p->out, scalar_info[ports[i].type.elem].name);
    }
    strbuf_char(p->out, ')');
}

void loop_print(const LoopKernel *kernel, StrBuf *out) {
    Printer p = {.kernel = kernel, .out = out};
    map_init(&p.labels, out->arena);
    map_init(&p.counts, out->arena);
    for (uint32_t i = 0; i < kernel->funs.len; i++) {
        label_body(&p, kernel->funs.data[i].body);
        strbuf_cstr(out, kernel->funs.data[i].is_plain ? "plain function" : "function");
        print_name(&p, kernel->funs.data[i].name);
        strbuf_char(out, ' ');
        print_body(&p, kernel->funs.data[i].body);
        strbuf_cstr(out, "\n\n");
    }
    label_body(&p, kernel->root);
    strbuf_cstr(out, "kernel");
    print_name(&p, kernel->name);
    strbuf_char(out, ' ');
    print_ports(&p, kernel->params, kernel->param_count);
    strbuf_cstr(out, " -> ");
    print_ports(&p, kernel->results, kernel->result_count);
    strbuf_char(out, ' ');
    print_body(&p, kernel->root);
    strbuf_char(out, '\n');
}
