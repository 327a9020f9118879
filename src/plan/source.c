// SPDX-License-Identifier: Apache-2.0
//
// The entry as it is run: core after outlining, written like a source text. Kernels
// stand where they are called, scalars that are used once where that is, and in front
// of each line the one of the source that it comes from. Checks, and scalars that serve
// nothing but checks and bounds of shares, are left out.
//
// Bodies of operators are compared as texts in which names are set apart (names.h).
#include <inttypes.h>
#include <string.h>

#include "core/rules.h"
#include "fission/fission.h"
#include "plan/source.h"

// Bodies in bodies; lines of an operator's bodies that are told.
enum { DEEPEST = 64, TOLD = 16 };

// ---- lines --------------------------------------------------------------------------

static void new_line(Printer *pr) {
    char line[PLAN_TEXT];
    pr->lines++;
    strbuf_printf(pr->out, "\n%6s | ",
                  pr->loc == 0 ? "" : plan_line(line, pr->plan, pr->loc));
    for (unsigned i = 0; i < pr->depth; i++) strbuf_cstr(pr->out, "  ");
}

static void put_bound_refs(Printer *pr, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) source_bind(pr, refs[i]);
    source_put_refs(pr, refs, count);
}

// ---- what is told -------------------------------------------------------------------

// Of what an entry does in two versions, and of what stays whole, the one that is run;
// NULL: that depends, or it is no branch.
static const CoreBody *find_chosen(const Printer *pr, const CoreStm *stm) {
    if (stm->op != OP_IF) return NULL;
    uint32_t arm = fission_only_arm(pr->plan->in.decisions, stm->args[0]);
    return arm == FISSION_EITHER ? NULL : stm->bodies[arm];
}

// Whether it does nothing but compute scalars, and check.
static bool is_arithmetic(const Printer *pr, const CoreStm *stm) {
    if (stm->op != OP_IF) return stm->op == OP_CHECK || source_is_scalar(pr, stm);
    for (uint32_t k = 0; k < stm->body_count; k++)
        for (uint32_t i = 0; i < stm->bodies[k]->stms.len; i++)
            if (!is_arithmetic(pr, stm->bodies[k]->stms.data[i])) return false;
    return true;
}

// Once uses are counted.
static bool is_left_out(const Printer *pr, const CoreStm *stm) {
    if (stm->op == OP_CHECK) return true;
    for (uint32_t k = 0; k < stm->out_count; k++)
        if (pr->uses[stm->outs[k]] > 0) return false;
    return is_arithmetic(pr, stm);
}

static void note_defs(Printer *pr, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++) pr->defs[stm->outs[k]] = stm;
        for (uint32_t k = 0; k < stm->body_count; k++) note_defs(pr, stm->bodies[k]);
    }
}

static void count_uses(Printer *pr, const CoreBody *body);

// Those of a statement that is told; what hands a value on uses it as often as that is.
static void count_stm(Printer *pr, const CoreStm *stm) {
    const CoreBody *chosen = find_chosen(pr, stm);
    CoreRef size, handed = source_find_handed(pr, stm);
    if (handed != 0) {
        pr->uses[handed] += pr->uses[stm->outs[0]];
    } else if (chosen != NULL) {
        for (uint32_t k = 0; k < stm->out_count; k++)
            pr->uses[chosen->results[k]] += pr->uses[stm->outs[k]];
        count_uses(pr, chosen);
    } else if (source_find_bound(pr, stm, &size) != NULL) {
        pr->uses[size]++;
    } else {
        for (uint32_t i = 0; i < stm->arg_count; i++) pr->uses[stm->args[i]]++;
        for (uint32_t k = 0; k < stm->body_count; k++) {
            const CoreBody *inner = stm->bodies[k];
            for (uint32_t i = 0; i < inner->result_count; i++)
                pr->uses[inner->results[i]]++;
            count_uses(pr, inner);
        }
    }
}

// Those of all statements, once those of the results are counted.
static void count_uses(Printer *pr, const CoreBody *body) {
    for (uint32_t i = body->stms.len; i-- > 0;)
        if (!is_left_out(pr, body->stms.data[i])) count_stm(pr, body->stms.data[i]);
}

// ---- statements ---------------------------------------------------------------------

static void put_stm(Printer *pr, const CoreStm *stm);

static void put_stms(Printer *pr, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (!is_left_out(pr, stm) && !source_moves(pr, stm)) put_stm(pr, stm);
    }
}

static void put_results(Printer *pr, const CoreBody *body) {
    source_put_refs(pr, body->results, body->result_count);
}

// In braces: the params, statements each on its line, and the results.
static void put_body(Printer *pr, const CoreBody *body) {
    strbuf_cstr(pr->out, " {");
    if (body->param_count > 0) {
        put_bound_refs(pr, body->params, body->param_count);
        strbuf_cstr(pr->out, " ->");
    }
    if (pr->depth == DEEPEST || stack_is_low(&pr->p->cx->stack)) {
        strbuf_cstr(pr->out, "...}");
        return;
    }
    CoreLoc loc = pr->loc;
    uint32_t lines = pr->lines, known = pr->known.len;
    pr->depth++;
    put_stms(pr, body);
    pr->known.len = known;
    pr->loc = loc;
    if (pr->lines > lines) new_line(pr);
    else if (body->param_count > 0) strbuf_char(pr->out, ' ');
    pr->depth--;
    put_results(pr, body);
    strbuf_char(pr->out, '}');
}

// The statements of a function in place of a call.
static void put_inside(Printer *pr, const CoreStm *call, const CoreFun *fun) {
    const CoreBody *body = fun->body;
    for (uint32_t i = 0; i < body->param_count; i++)
        source_take(pr, body->params[i], call->args[i]);
    for (uint32_t k = 0; k < body->result_count; k++)
        pr->called[core_unguarded(body, body->results[k])] = call->outs[k];
    put_stms(pr, body);
    for (uint32_t k = 0; k < body->result_count; k++) {
        pr->called[core_unguarded(body, body->results[k])] = 0;
        source_take(pr, call->outs[k], body->results[k]);
    }
}

static void put_loop(Printer *pr, const CoreStm *stm) {
    strbuf_cstr(pr->out, stm->op == OP_FOR ? "for(" : "while(");
    source_put_refs(pr, stm->args, stm->arg_count);
    strbuf_char(pr->out, ')');
}

static void put_if(Printer *pr, const CoreStm *stm) {
    strbuf_cstr(pr->out, "if ");
    source_put_ref(pr, stm->args[0], false);
}

static void put_split(Printer *pr, const CoreStm *stm) {
    strbuf_cstr(pr->out, "split ");
    source_put_ref(pr, stm->args[0], true);
    strbuf_cstr(pr->out, " into ");
    source_put_refs(pr, stm->args + 1, stm->arg_count - 1);
}

static void put_concat(Printer *pr, const CoreStm *stm) {
    for (uint32_t i = 0; i < core_parts(stm); i++) {
        if (i > 0) strbuf_cstr(pr->out, " ++ ");
        source_put_ref(pr, stm->args[i], true);
    }
}

// ---- bodies that are told already ---------------------------------------------------

static void put_as_for(Printer *pr, const Told *told, const NamePairs *names) {
    const char *before = ", with ";
    strbuf_cstr(pr->out, " {as for ");
    names_put(pr->out, told->statement);
    for (uint32_t i = 0; i < names->len; i++) {
        if (names->data[i].here == names->data[i].there) continue;
        strbuf_cstr(pr->out, before);
        names_put(pr->out, names->data[i].there);
        strbuf_cstr(pr->out, " for ");
        names_put(pr->out, names->data[i].here);
        before = ", ";
    }
    strbuf_char(pr->out, '}');
}

// The first of so many lines, behind what is on the line already.
static void put_lines(Printer *pr, Str text, uint32_t lines) {
    if (lines <= TOLD) {
        strbuf_str(pr->out, text);
        return;
    }
    size_t len = 0;
    for (uint32_t left = TOLD; text.ptr[len] != '\n' || left-- > 0;) len++;
    strbuf_bytes(pr->out, text.ptr, len);
    pr->depth++;
    new_line(pr);
    pr->depth--;
    strbuf_printf(pr->out, ".. (%" PRIu32 " more)}", lines - TOLD);
}

// Instead of bodies such that mean the same, if there are: which, and what differs.
static bool put_again(Printer *pr, const Told *told) {
    NamePairs names;
    for (uint32_t i = 0; i < pr->told.len; i++) {
        const NamedText *before = &pr->told.data[i].text;
        if (!names_are_same(before, &told->text, pr->out->arena, &names)) continue;
        put_as_for(pr, &pr->told.data[i], &names);
        return true;
    }
    return false;
}

static void put_all(Printer *pr, const CoreStm *stm) {
    for (uint32_t k = 0; k < stm->body_count; k++) {
        if (k > 0 && stm->op == OP_IF) strbuf_cstr(pr->out, " else");
        put_body(pr, stm->bodies[k]);
    }
}

// Bodies, such as have several lines once. Inside of operators, which are told as a
// whole, nothing is looked for.
static void put_bodies(Printer *pr, const CoreStm *stm) {
    bool is_operator = core_op_info[stm->op].kind == KIND_ORDER2;
    StrBuf *out = pr->out, text = {.arena = out->arena};
    uint32_t lines = pr->lines;
    Told told = {.statement = pr->ids[stm->outs[0]]};
    if (pr->inside > 0) {
        put_all(pr, stm);
        return;
    }
    told.text.first = pr->names.len;
    pr->inside++;
    pr->out = &text;
    put_all(pr, stm);
    pr->out = out;
    pr->inside--;
    told.text.text = strbuf_done(&text);
    lines = pr->lines - lines;
    if (lines > 0 && put_again(pr, &told)) return;
    if (lines > 0) vec_push(out->arena, &pr->told, told);
    if (lines == 0 || is_operator) put_lines(pr, told.text.text, lines);
    else put_all(pr, stm);
}

static void put_right(Printer *pr, const CoreStm *stm) {
    switch ((int)stm->op) {
    case OP_IF: put_if(pr, stm); break;
    case OP_FOR:
    case OP_WHILE: put_loop(pr, stm); break;
    case OP_SPLIT: put_split(pr, stm); break;
    case OP_CONCAT: put_concat(pr, stm); break;
    default: source_put_exp(pr, stm, false);
    }
    if (stm->body_count > 0) put_bodies(pr, stm);
}

static const CoreFun *inside_of(const Printer *pr, const CoreStm *stm) {
    if (stm->op != OP_CALL) return NULL;
    const CoreFun *fun = pr->p->funs.data[stm->attrs[0]];
    if (fun->otherwise != 0) return pr->p->funs.data[fun->otherwise - 1];
    return fun->kernel != CORE_NO_KERNEL ? fun : NULL;
}

// The names of what it binds, on its line.
static void put_left(Printer *pr, const CoreStm *stm) {
    new_line(pr);
    source_put_refs(pr, stm->outs, stm->out_count);
    strbuf_cstr(pr->out, " = ");
}

// A scalar outside of operators, which takes the name of one that is the same. Bounds
// of different rows are not: they may be rounded otherwise.
static void put_scalar(Printer *pr, const CoreStm *stm) {
    StrBuf *out = pr->out, text = {.arena = out->arena}, key = text;
    CoreRef size;
    pr->out = &text;
    put_right(pr, stm);
    pr->out = out;
    strbuf_printf(&key, "%p", (const void *)source_find_bound(pr, stm, &size));
    strbuf_str(&key, strbuf_done(&text));
    for (uint32_t i = 0; i < pr->known.len; i++) {
        if (!str_eq(pr->known.data[i].text, strbuf_done(&key))) continue;
        pr->ids[stm->outs[0]] = pr->known.data[i].id;
        return;
    }
    vec_push(out->arena, &pr->known, (Known){strbuf_done(&key), pr->ids[stm->outs[0]]});
    put_left(pr, stm);
    strbuf_str(out, strbuf_done(&text));
}

static void put_stm(Printer *pr, const CoreStm *stm) {
    const CoreFun *inside = inside_of(pr, stm);
    const CoreBody *chosen = find_chosen(pr, stm);
    CoreRef handed = source_find_handed(pr, stm);
    if (stm->loc != 0) pr->loc = stm->loc;
    if (inside != NULL) {
        put_inside(pr, stm, inside);
    } else if (chosen != NULL) {
        put_stms(pr, chosen);
        for (uint32_t k = 0; k < stm->out_count; k++)
            source_take(pr, stm->outs[k], chosen->results[k]);
    } else if (handed != 0) {
        source_take(pr, stm->outs[0], handed);
    } else {
        for (uint32_t k = 0; k < stm->out_count; k++) source_bind(pr, stm->outs[k]);
        if (pr->inside == 0 && stm->out_count == 1 && is_arithmetic(pr, stm)) {
            put_scalar(pr, stm);
            return;
        }
        put_left(pr, stm);
        put_right(pr, stm);
    }
}

// ---- functions ----------------------------------------------------------------------

static void put_params(Printer *pr, const CoreBody *body) {
    for (uint32_t i = 0; i < body->param_count; i++) {
        CoreType type = core_type(pr->p, body->params[i]);
        if (i > 0) strbuf_cstr(pr->out, ", ");
        put_bound_refs(pr, &body->params[i], 1);
        strbuf_cstr(pr->out, ": ");
        for (uint32_t d = 0; d < type.rank; d++) strbuf_cstr(pr->out, "[]");
        strbuf_cstr(pr->out, scalar_info[type.elem].name);
    }
}

static void put_fun(Printer *pr, const CoreFun *fun) {
    pr->loc = 0;
    pr->depth = 0;
    pr->known.len = 0;
    new_line(pr);
    strbuf_printf(pr->out, "%s %.*s(", fun->is_entry ? "entry" : "def",
                  STR_ARG(sym_str(&pr->p->cx->syms, fun->name)));
    put_params(pr, fun->body);
    strbuf_cstr(pr->out, ") =");
    pr->depth = 1;
    put_stms(pr, fun->body);
    new_line(pr);
    strbuf_cstr(pr->out, "in ");
    put_results(pr, fun->body);
}

static void put_program(Printer *pr) {
    const CoreProgram *p = pr->p;
    bool *is_done = arena_array(pr->out->arena, bool, p->funs.len);
    put_fun(pr, pr->plan->in.entry);
    for (uint32_t i = 0; i < pr->funs.len; i++) {
        if (is_done[pr->funs.data[i]]) continue;
        is_done[pr->funs.data[i]] = true;
        put_fun(pr, p->funs.data[pr->funs.data[i]]);
    }
}

void plan_print_source(const Plan *plan, StrBuf *out) {
    const CoreProgram *p = plan->in.program;
    uint32_t count = p->values.len;
    Arena *arena = plan->in.arena;
    StrBuf text = {.arena = arena};
    Printer pr = {.plan = plan,
                  .p = p,
                  .out = &text,
                  .uses = arena_array(arena, uint32_t, count),
                  .sizes = arena_array(arena, uint32_t, count),
                  .ids = arena_array(arena, uint32_t, count),
                  .same = arena_array(arena, CoreRef, count),
                  .called = arena_array(arena, CoreRef, count),
                  .defs = arena_array(arena, const CoreStm *, count)};
    names_init(&pr.names, p, arena);
    for (uint32_t i = 0; i < p->funs.len; i++) {
        const CoreBody *body = p->funs.data[i]->body;
        note_defs(&pr, body);
        for (uint32_t k = 0; k < body->result_count; k++) pr.uses[body->results[k]]++;
        count_uses(&pr, body);
    }
    put_program(&pr);
    strbuf_cstr(out, "\nProgram");
    names_give(&pr.names, strbuf_done(&text), out);
    strbuf_char(out, '\n');
}
