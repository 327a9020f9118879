// SPDX-License-Identifier: Apache-2.0
//
// Core as text. What is printed depends on the structure and the source names alone,
// not on the numbers of values, so that printing what was read gives the same text.
//
// Names: the first value called x in a function is x, later ones x.1, x.2, … in the
// order of the text; values without a name are %1, %2, …. A value met outside its
// function (a single statement, a broken program) is shown by its number: x.#12.
#include <string.h>

#include "core/text.h"

typedef struct Printer {
    const CoreProgram *program;
    StrBuf *out;
    Arena *arena;   // the buffer's, for tables that live as long as the text
    Map labels;     // CoreRef -> its suffix + 1
    Map counts;     // Sym + 1 -> how many values of the function have that name
    Map places;     // CoreLoc -> its number in the table
    Map fun_counts; // Sym + 1 -> likewise for functions
    Map fun_labels; // function index + 1 -> its suffix + 1
    uint32_t place_count;
    unsigned depth;
    bool is_brief;    // bodies are only hinted at
    uint32_t callees; // how many functions may be called: those before this one
} Printer;

static Printer printer(const CoreProgram *p, StrBuf *out) {
    Printer pr = {
        .program = p, .out = out, .arena = out->arena, .callees = p->funs.len};
    map_init(&pr.labels, pr.arena);
    map_init(&pr.counts, pr.arena);
    map_init(&pr.places, pr.arena);
    map_init(&pr.fun_counts, pr.arena);
    map_init(&pr.fun_labels, pr.arena);
    return pr;
}

// Returns how often the name was seen before.
static uint64_t count_name(Map *counts, Sym name) {
    uint64_t count = 0;
    map_get(counts, (uint64_t)name + 1, &count);
    map_set(counts, (uint64_t)name + 1, count + 1);
    return count;
}

static bool is_name_char(char c, bool is_first) {
    if (c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
    return !is_first && (c == '\'' || (c >= '0' && c <= '9'));
}

// The source name as a word of the text: characters that no word may hold become _.
// Operators and the names of constants and types so cannot be mistaken for others.
static Str spell_name(const Printer *pr, Sym name) {
    Str text = sym_str(&pr->program->cx->syms, name);
    bool is_plain = true;
    for (size_t i = 0; i < text.len; i++)
        is_plain = is_plain && is_name_char(text.ptr[i], i == 0);
    bool is_word = str_eq(text, STR("true")) || str_eq(text, STR("false"));
    if (is_plain && !is_word) return text;
    StrBuf buf = strbuf(pr->arena);
    if (is_word || !is_name_char(text.ptr[0], true)) strbuf_char(&buf, '_');
    for (size_t i = 0; i < text.len; i++)
        strbuf_char(&buf, is_name_char(text.ptr[i], false) ? text.ptr[i] : '_');
    return strbuf_done(&buf);
}

static void print_type(Printer *pr, CoreType type) {
    for (unsigned i = 0; i < type.rank; i++) strbuf_cstr(pr->out, "[]");
    strbuf_cstr(pr->out,
                type.elem < SCALAR_COUNT ? scalar_info[type.elem].name : "<bad type>");
}

static void print_ref(Printer *pr, CoreRef ref) {
    const CoreProgram *p = pr->program;
    if (ref == 0 || ref >= p->values.len) {
        strbuf_printf(pr->out, "?%u", ref);
        return;
    }
    const CoreValue *value = &p->values.data[ref];
    if (value->is_const) {
        core_print_const(pr->out, (ScalarType)value->type.elem, value->bits, false);
        return;
    }
    uint64_t label;
    bool known = map_get(&pr->labels, ref, &label);
    if (value->name == 0) {
        strbuf_printf(pr->out, known ? "%%%llu" : "%%#%llu",
                      (unsigned long long)(known ? label : ref));
        return;
    }
    strbuf_str(pr->out, spell_name(pr, value->name));
    if (!known) strbuf_printf(pr->out, ".#%u", ref);
    else if (label > 1)
        strbuf_printf(pr->out, ".%llu", (unsigned long long)(label - 1));
}

static void print_refs(Printer *pr, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) strbuf_cstr(pr->out, ", ");
        print_ref(pr, refs[i]);
    }
}

static void print_binders(Printer *pr, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) strbuf_cstr(pr->out, ", ");
        print_ref(pr, refs[i]);
        strbuf_cstr(pr->out, ": ");
        if (refs[i] != 0 && refs[i] < pr->program->values.len)
            print_type(pr, core_type(pr->program, refs[i]));
    }
}

// ---- names of a function's values ---------------------------------------------------

static void label_refs(Printer *pr, const CoreRef *refs, uint32_t count) {
    uint64_t known;
    for (uint32_t i = 0; i < count; i++) {
        if (refs[i] == 0 || refs[i] >= pr->program->values.len) continue;
        if (map_get(&pr->labels, refs[i], &known)) continue; // bound twice: broken
        // Names are told apart by how they are spelled, which may differ from what
        // they are.
        Sym name = pr->program->values.data[refs[i]].name;
        if (name != 0) name = sym_intern(&pr->program->cx->syms, spell_name(pr, name));
        map_set(&pr->labels, refs[i], count_name(&pr->counts, name) + 1);
    }
}

static void label_body(Printer *pr, const CoreBody *body) {
    label_refs(pr, body->params, body->param_count);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        label_refs(pr, stm->outs, stm->out_count);
        for (uint32_t j = 0; j < stm->body_count; j++) label_body(pr, stm->bodies[j]);
    }
}

// ---- statements ---------------------------------------------------------------------

static void new_line(Printer *pr) {
    strbuf_char(pr->out, '\n');
    for (unsigned i = 0; i < pr->depth; i++) strbuf_cstr(pr->out, "  ");
}

static void print_fun_name(Printer *pr, uint32_t index) {
    uint64_t label = 1;
    Sym name = pr->program->funs.data[index]->name;
    map_get(&pr->fun_labels, (uint64_t)index + 1, &label);
    strbuf_str(pr->out, name == 0 ? STR("_") : spell_name(pr, name));
    if (label > 1) strbuf_printf(pr->out, ".%llu", (unsigned long long)(label - 1));
}

static void print_attrs(Printer *pr, const CoreStm *stm) {
    if (stm->attr_count == 0) return;
    for (uint32_t i = 0; i < stm->attr_count; i++) {
        strbuf_cstr(pr->out, i == 0 ? "[" : ", ");
        int32_t attr = stm->attrs[i];
        if (stm->op == OP_CALL && attr >= 0 && (uint32_t)attr < pr->callees)
            print_fun_name(pr, (uint32_t)attr);
        else strbuf_printf(pr->out, "%d", attr);
    }
    strbuf_char(pr->out, ']');
}

static uint64_t load_element(Str data, size_t index, size_t size) {
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++)
        bits |= (uint64_t)(unsigned char)data.ptr[index * size + i] << (8 * i);
    return bits;
}

static void print_text(Printer *pr, const CoreStm *stm) {
    CoreType type = {SCALAR_U8, 1};
    if (stm->out_count > 0 && stm->outs[0] != 0 &&
        stm->outs[0] < pr->program->values.len)
        type = core_type(pr->program, stm->outs[0]);
    size_t size = type.elem < SCALAR_COUNT ? scalar_info[type.elem].bytes : 1;
    bool is_list =
        stm->op == OP_LITERAL && type.elem != SCALAR_U8 && stm->text.len % size == 0;
    if (is_list) {
        strbuf_cstr(pr->out, " [");
        for (size_t i = 0; i < stm->text.len / size; i++) {
            if (i > 0) strbuf_cstr(pr->out, ", ");
            core_print_const(pr->out, (ScalarType)type.elem,
                             load_element(stm->text, i, size), true);
        }
        strbuf_char(pr->out, ']');
    } else if (stm->text.len > 0 || stm->op == OP_LITERAL) {
        strbuf_char(pr->out, ' ');
        core_print_quoted(pr->out, stm->text);
    }
}

static void print_stm(Printer *pr, const CoreStm *stm);

static bool fits_one_line(const CoreBody *body) {
    if (body->stms.len == 0) return true;
    const CoreStm *stm = body->stms.data[0];
    return body->stms.len == 1 && stm->body_count == 0 && stm->loc == 0;
}

static void print_results(Printer *pr, const CoreBody *body) {
    strbuf_cstr(pr->out, body->result_count > 0 ? "-> " : "->");
    print_refs(pr, body->results, body->result_count);
}

static void print_body(Printer *pr, const CoreBody *body) {
    if (pr->is_brief) {
        strbuf_cstr(pr->out, "{...}");
        return;
    }
    strbuf_char(pr->out, '{');
    if (body->param_count > 0) {
        strbuf_char(pr->out, '|');
        print_binders(pr, body->params, body->param_count);
        strbuf_char(pr->out, '|');
    }
    if (fits_one_line(body)) {
        if (body->param_count > 0) strbuf_char(pr->out, ' ');
        if (body->stms.len == 1) {
            print_stm(pr, body->stms.data[0]);
            strbuf_char(pr->out, ' ');
        }
        print_results(pr, body);
    } else {
        pr->depth++;
        for (uint32_t i = 0; i < body->stms.len; i++) {
            new_line(pr);
            print_stm(pr, body->stms.data[i]);
        }
        new_line(pr);
        print_results(pr, body);
        pr->depth--;
        new_line(pr);
    }
    strbuf_char(pr->out, '}');
}

static void print_stm(Printer *pr, const CoreStm *stm) {
    print_binders(pr, stm->outs, stm->out_count);
    strbuf_cstr(pr->out, stm->out_count > 0 ? " = " : "= ");
    if ((stm->flags & STM_UNSAFE) != 0) strbuf_cstr(pr->out, "unsafe ");
    strbuf_cstr(pr->out, stm->op < OP_COUNT ? core_op_info[stm->op].name : "<bad op>");
    if (stm->stamp != STAMP_NONE)
        strbuf_printf(pr->out, ".%s",
                      stm->stamp < STAMP_COUNT ? core_stamp_names[stm->stamp]
                                               : "<bad>");
    print_attrs(pr, stm);
    if (stm->arg_count > 0) {
        strbuf_char(pr->out, '(');
        print_refs(pr, stm->args, stm->arg_count);
        strbuf_char(pr->out, ')');
    }
    print_text(pr, stm);
    for (uint32_t i = 0; i < stm->body_count; i++) {
        strbuf_char(pr->out, ' ');
        print_body(pr, stm->bodies[i]);
    }
    uint64_t place;
    if (stm->loc != 0 && map_get(&pr->places, stm->loc, &place))
        strbuf_printf(pr->out, " @%llu", (unsigned long long)place);
}

// ---- places -------------------------------------------------------------------------

// Numbers a place and, before it, its callers; prints their rows of the table.
static void print_place(Printer *pr, CoreLoc loc) {
    const CoreProgram *p = pr->program;
    uint64_t number;
    if (loc == 0 || loc >= p->places.len || map_get(&pr->places, loc, &number)) return;
    map_set(&pr->places, loc, 0); // a circle of callers (broken) stops here
    const CorePlace *place = &p->places.data[loc];
    print_place(pr, place->caller);
    number = ++pr->place_count;
    map_set(&pr->places, loc, number);
    strbuf_printf(pr->out, "place %llu", (unsigned long long)number);
    const Source *source = sources_find(&p->cx->sources, place->span);
    if (source != NULL && (place->span.start != 0 || place->span.end != 0)) {
        strbuf_char(pr->out, ' ');
        core_print_quoted(pr->out, source->name);
        strbuf_printf(pr->out, "[%u, %u]", place->span.start - source->base,
                      place->span.end - source->base);
    }
    if (place->function != 0) {
        strbuf_cstr(pr->out, " in ");
        core_print_quoted(pr->out, sym_str(&p->cx->syms, place->function));
    }
    if (place->caller != 0 && map_get(&pr->places, place->caller, &number))
        strbuf_printf(pr->out, " from %llu", (unsigned long long)number);
    strbuf_char(pr->out, '\n');
}

static void print_stm_place(void *data, const CoreStm *stm) {
    print_place(data, stm->loc);
}

// ---- functions and programs ---------------------------------------------------------

static void print_port(Printer *pr, const char *word, const CorePort *port) {
    strbuf_printf(pr->out, "\n  %s ", word);
    core_print_quoted(pr->out, port->name);
    strbuf_cstr(pr->out, port->is_unique ? ": unique " : ": ");
    core_print_quoted(pr->out, port->type);
    strbuf_printf(pr->out, " [%u, %u]", port->first, port->count);
}

static void print_attribute(Printer *pr, const CoreFun *fun) {
    if (fun->kernel == CORE_NO_KERNEL) {
        if (fun->no_inline) strbuf_cstr(pr->out, "#[noinline]\n");
        return;
    }
    strbuf_cstr(pr->out, fun->kernel == CORE_PARALLEL_KERNEL ? "#[parallel" : "#[sequential");
    if (fun->otherwise != 0) {
        strbuf_char(pr->out, ' ');
        print_fun_name(pr, fun->otherwise - 1);
    }
    strbuf_cstr(pr->out, "]\n");
}

static void print_fun(Printer *pr, const CoreFun *fun, uint32_t index) {
    map_init(&pr->labels, pr->arena);
    map_init(&pr->counts, pr->arena);
    label_body(pr, fun->body);
    pr->callees = index;
    print_attribute(pr, fun);
    strbuf_cstr(pr->out, fun->is_entry ? "entry " : "def ");
    if (index < pr->program->funs.len) print_fun_name(pr, index);
    else strbuf_str(pr->out, spell_name(pr, fun->name));
    strbuf_char(pr->out, '(');
    print_binders(pr, fun->body->params, fun->body->param_count);
    strbuf_cstr(pr->out, ") -> (");
    for (uint32_t i = 0; i < fun->body->result_count; i++) {
        if (i > 0) strbuf_cstr(pr->out, ", ");
        print_type(pr, fun->result_types[i]);
    }
    strbuf_char(pr->out, ')');
    for (uint32_t i = 0; i < fun->params.len; i++)
        print_port(pr, "param", &fun->params.data[i]);
    for (uint32_t i = 0; i < fun->results.len; i++)
        print_port(pr, "result", &fun->results.data[i]);
    strbuf_cstr(pr->out, fun->params.len + fun->results.len > 0 ? "\n{" : " {");
    pr->depth = 1;
    for (uint32_t i = 0; i < fun->body->stms.len; i++) {
        new_line(pr);
        print_stm(pr, fun->body->stms.data[i]);
    }
    new_line(pr);
    print_results(pr, fun->body);
    strbuf_cstr(pr->out, "\n}\n");
}

static void label_funs(Printer *pr) {
    for (uint32_t i = 0; i < pr->program->funs.len; i++) {
        Sym name = pr->program->funs.data[i]->name;
        name = sym_intern(&pr->program->cx->syms,
                          name == 0 ? STR("_") : spell_name(pr, name));
        map_set(&pr->fun_labels, (uint64_t)i + 1,
                count_name(&pr->fun_counts, name) + 1);
    }
}

void core_print(const CoreProgram *p, StrBuf *out) {
    Printer pr = printer(p, out);
    label_funs(&pr);
    if (p->is_stage0) strbuf_cstr(out, "stage0\n");
    for (uint32_t i = 0; i < p->funs.len; i++)
        core_walk(p->funs.data[i]->body, print_stm_place, &pr);
    for (uint32_t i = 0; i < p->funs.len; i++) {
        if (i > 0 || p->is_stage0 || pr.place_count > 0) strbuf_char(out, '\n');
        print_fun(&pr, p->funs.data[i], i);
    }
}

void core_print_fun(const CoreProgram *p, const CoreFun *fun, StrBuf *out) {
    Printer pr = printer(p, out);
    label_funs(&pr);
    uint32_t index = 0;
    while (index < p->funs.len && p->funs.data[index] != fun) index++;
    print_fun(&pr, fun, index);
}

void core_print_stm_in(const CoreProgram *p, const CoreFun *fun, const CoreStm *stm,
                       StrBuf *out) {
    Printer pr = printer(p, out);
    pr.is_brief = true;
    label_funs(&pr);
    label_body(&pr, fun->body);
    print_stm(&pr, stm);
}

void core_print_stm(const CoreProgram *p, const CoreStm *stm, StrBuf *out) {
    Printer pr = printer(p, out);
    print_stm(&pr, stm);
}
