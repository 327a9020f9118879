// SPDX-License-Identifier: Apache-2.0
//
// The entry as it is run: core after outlining, written like a source text. Kernels
// stand where they are called, scalars that are used once where that is, and in front
// of each line the one of the source that it comes from. Checks, and scalars that serve
// nothing but checks and bounds of shares, are left out.
//
// Bodies of operators are compared as texts in which names are set apart (names.h).
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/rules.h"
#include "core/text.h"
#include "fission/fission.h"
#include "plan/names.h"
#include "plan/plan.h"

// Expressions in one; bodies in bodies; lines of an operator's bodies that are told;
// operations from the share of a bound to the bound.
enum { LONGEST = 8, DEEPEST = 64, TOLD = 16, STEPS = 8 };

// Bodies of a statement that stands in the text.
typedef struct Told {
    NamedText text;
    uint32_t statement; // the name of its first result
} Told;

// A scalar outside of operators that has a name.
typedef struct Known {
    Str text;
    uint32_t id;
} Known;

typedef struct Printer {
    const Plan *plan;
    const CoreProgram *p;
    StrBuf *out;
    uint32_t *uses;       // by CoreRef, in what is told
    uint32_t *sizes;      // of expressions that stand where they are used; 0: others
    uint32_t *ids;        // of the value's name
    CoreRef *same;        // a constant or an expression that it is; 0: none
    CoreRef *called;      // the value outside whose name it has; 0: its own
    const CoreStm **defs; // what binds it
    NameList names;
    struct {
        uint32_t *data; // functions that are called, to be printed
        uint32_t len, cap;
    } funs;
    struct {
        Told *data;
        uint32_t len, cap;
    } told;
    struct {
        Known *data; // where the text is
        uint32_t len, cap;
    } known;
    unsigned depth;
    unsigned inside; // of operators
    uint32_t lines;
    CoreLoc loc;
} Printer;

// ---- lines --------------------------------------------------------------------------

static void new_line(Printer *pr) {
    char line[PLAN_TEXT];
    pr->lines++;
    strbuf_printf(pr->out, "\n%6s | ",
                  pr->loc == 0 ? "" : plan_line(line, pr->plan, pr->loc));
    for (unsigned i = 0; i < pr->depth; i++) strbuf_cstr(pr->out, "  ");
}

// ---- values -------------------------------------------------------------------------

static void put_exp(Printer *pr, const CoreStm *stm, bool is_inner);

// Numbers of f64 and i64 are plain, the former to nine digits.
static void put_const(Printer *pr, const CoreValue *value) {
    double x;
    memcpy(&x, &value->bits, sizeof x);
    if (value->type.elem == SCALAR_F64 && isfinite(x))
        strbuf_printf(pr->out, x == floor(x) && fabs(x) < 1e9 ? "%.1f" : "%.9g", x);
    else
        core_print_const(pr->out, (ScalarType)value->type.elem, value->bits,
                         value->type.elem == SCALAR_I64);
}

static CoreRef real(const Printer *pr, CoreRef ref) {
    return pr->same[ref] != 0 ? pr->same[ref] : ref;
}

static void put_ref(Printer *pr, CoreRef ref, bool is_inner) {
    ref = real(pr, ref);
    const CoreValue *value = &pr->p->values.data[ref];
    if (value->is_const) put_const(pr, value);
    else if (pr->sizes[ref] > 0) put_exp(pr, pr->defs[ref], is_inner);
    else names_put(pr->out, pr->ids[ref]);
}

// From here on it has a name that no other value has, as often as it is bound.
static void bind(Printer *pr, CoreRef ref) {
    CoreRef called = pr->called[ref] != 0 ? pr->called[ref] : ref;
    pr->sizes[ref] = 0;
    pr->same[ref] = 0;
    pr->ids[ref] = names_add(&pr->names, pr->p->values.data[called].name);
}

// It is another name of that value.
static void take(Printer *pr, CoreRef ref, CoreRef of) {
    of = real(pr, of);
    pr->sizes[ref] = 0;
    pr->same[ref] = core_is_const(pr->p, of) || pr->sizes[of] > 0 ? of : 0;
    pr->ids[ref] = pr->ids[of];
}

static void put_refs(Printer *pr, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) strbuf_cstr(pr->out, ", ");
        put_ref(pr, refs[i], false);
    }
}

static void put_bound_refs(Printer *pr, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) bind(pr, refs[i]);
    put_refs(pr, refs, count);
}

// ---- expressions --------------------------------------------------------------------

static const char *infix_of(CoreOp op) {
    switch ((int)op) {
    case OP_ADD: return "+";
    case OP_SUB: return "-";
    case OP_MUL: return "*";
    case OP_DIV: return "/";
    case OP_MOD: return "%";
    case OP_QUOT: return "//";
    case OP_REM: return "%%";
    case OP_POW: return "**";
    case OP_AND: return "&";
    case OP_OR: return "|";
    case OP_XOR: return "^";
    case OP_SHL: return "<<";
    case OP_SHR: return ">>";
    case OP_LSHR: return ">>>";
    case OP_EQ: return "==";
    case OP_NE: return "!=";
    case OP_LT: return "<";
    case OP_LE: return "<=";
    default: return NULL;
    }
}

static void put_call(Printer *pr, const char *name, const CoreStm *stm) {
    strbuf_printf(pr->out, "%s(", name);
    put_refs(pr, stm->args, stm->arg_count);
    strbuf_char(pr->out, ')');
}

static void put_slice(Printer *pr, const CoreStm *stm) {
    put_ref(pr, stm->args[0], true);
    strbuf_char(pr->out, '[');
    for (int32_t d = 0; d < stm->attrs[0]; d++) strbuf_cstr(pr->out, ":, ");
    put_ref(pr, stm->args[1], true);
    strbuf_cstr(pr->out, " : +");
    put_ref(pr, stm->args[2], true);
    const CoreValue *stride = &pr->p->values.data[stm->args[3]];
    if (!stride->is_const || stride->bits != 1) {
        strbuf_cstr(pr->out, " : ");
        put_ref(pr, stm->args[3], true);
    }
    strbuf_char(pr->out, ']');
}

// Numbers of which there are few, such as shares.
static bool is_list(const Printer *pr, const CoreStm *stm) {
    return stm->op == OP_LITERAL && core_type(pr->p, stm->outs[0]).elem == SCALAR_I64 &&
           stm->text.len <= LONGEST * sizeof(int64_t);
}

// The only one of such a list, which is as good as itself.
static bool put_only(Printer *pr, const CoreStm *index) {
    const CoreStm *list = pr->defs[index->args[0]];
    int64_t x;
    if (list == NULL || list->text.len != sizeof x || !is_list(pr, list)) return false;
    memcpy(&x, list->text.ptr, sizeof x);
    strbuf_printf(pr->out, "%" PRId64, x);
    return true;
}

static void put_list(Printer *pr, Str elements) {
    int64_t x;
    for (size_t i = 0; i < elements.len; i += sizeof x) {
        memcpy(&x, elements.ptr + i, sizeof x);
        strbuf_printf(pr->out, "%s%" PRId64, i == 0 ? "[" : ", ", x);
    }
    strbuf_cstr(pr->out, elements.len == 0 ? "[]" : "]");
}

// How much of FISSION_WHOLE is before the bound that the value is made of; NULL: it is
// made of none.
static const int64_t *find_share(const Printer *pr, CoreRef ref, unsigned steps) {
    const FissionLog *log = pr->plan->in.decisions;
    const CoreStm *def = pr->defs[ref], *list;
    const int64_t *found = NULL;
    if (def == NULL || steps == 0) return NULL;
    if (def->op == OP_INDEX && (list = pr->defs[def->args[0]]) != NULL) {
        const CoreValue *at = &pr->p->values.data[def->args[1]];
        for (uint32_t i = 0; i < log->rows.len; i++)
            if (list->op == OP_LITERAL && at->is_const &&
                list->text.ptr == (const char *)log->rows.data[i].bounds)
                return &log->rows.data[i].bounds[at->bits];
    }
    if (!core_is_scalar_op(def->op) || def->op == OP_MIN) return NULL;
    for (uint32_t i = 0; i < def->arg_count && found == NULL; i++)
        found = find_share(pr, def->args[i], steps - 1);
    return found;
}

// Whether it is the bound of a share, of that size (fission_cut).
static const int64_t *find_bound(const Printer *pr, const CoreStm *stm,
                                 CoreRef *size_out) {
    if (stm->op != OP_MIN) return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const int64_t *share = find_share(pr, stm->args[i], STEPS);
        *size_out = stm->args[1 - i];
        if (share != NULL) return share;
    }
    return NULL;
}

static void put_bound(Printer *pr, int64_t share, CoreRef size, bool is_inner) {
    strbuf_printf(pr->out, is_inner ? "(%.3g %% of " : "%.3g %% of ",
                  100.0 * (double)share / FISSION_WHOLE);
    put_ref(pr, size, true);
    if (is_inner) strbuf_char(pr->out, ')');
}

static void put_exp(Printer *pr, const CoreStm *stm, bool is_inner) {
    const char *infix = infix_of(stm->op);
    CoreRef size;
    const int64_t *share = find_bound(pr, stm, &size);
    if (share != NULL) {
        put_bound(pr, *share, size, is_inner);
    } else if (infix != NULL) {
        if (is_inner) strbuf_char(pr->out, '(');
        put_ref(pr, stm->args[0], true);
        strbuf_printf(pr->out, " %s ", infix);
        put_ref(pr, stm->args[1], true);
        if (is_inner) strbuf_char(pr->out, ')');
    } else if (stm->op == OP_INDEX && put_only(pr, stm)) {
        return;
    } else if (stm->op == OP_INDEX) {
        put_ref(pr, stm->args[0], true);
        strbuf_char(pr->out, '[');
        put_refs(pr, stm->args + 1, stm->arg_count - 1);
        strbuf_char(pr->out, ']');
    } else if (stm->op == OP_DIM) {
        strbuf_cstr(pr->out, "length");
        if (stm->attrs[0] > 0) strbuf_printf(pr->out, "_%d", stm->attrs[0]);
        strbuf_char(pr->out, '(');
        put_ref(pr, stm->args[0], false);
        strbuf_char(pr->out, ')');
    } else if (stm->op == OP_CONV) {
        put_call(pr, scalar_info[core_type(pr->p, stm->outs[0]).elem].name, stm);
    } else if (stm->op == OP_SLICE) {
        put_slice(pr, stm);
    } else if (is_list(pr, stm)) {
        put_list(pr, stm->text);
    } else if (stm->op == OP_CALL) {
        const CoreFun *fun = pr->p->funs.data[stm->attrs[0]];
        Str name = sym_str(&pr->p->cx->syms, fun->name);
        if (pr->inside == 0)
            vec_push(pr->out->arena, &pr->funs, (uint32_t)stm->attrs[0]);
        put_call(pr, str_terminated(pr->out->arena, name), stm);
    } else {
        put_call(pr, core_op_info[stm->op].name, stm);
    }
}

// The value that it hands on, of a guard, a sum with 0, or a product with 1; 0: none.
static CoreRef find_handed(const Printer *pr, const CoreStm *stm) {
    if (stm->op == OP_GUARD) return stm->args[0];
    if (stm->op != OP_ADD && stm->op != OP_MUL) return 0;
    for (uint32_t i = 0; i < 2; i++) {
        const CoreValue *value = &pr->p->values.data[stm->args[i]];
        bool is_neutral = value->bits == (stm->op == OP_MUL ? 1 : 0);
        if (value->is_const && value->type.elem == SCALAR_I64 && is_neutral)
            return stm->args[1 - i];
    }
    return 0;
}

static bool is_scalar(const Printer *pr, const CoreStm *stm) {
    return core_is_scalar_op(stm->op) || stm->op == OP_DIM || stm->op == OP_INDEX ||
           is_list(pr, stm);
}

// Whether the statement stands where its one result is used: once, or it is a length,
// which tells more than a name; notes it then.
static bool moves(Printer *pr, const CoreStm *stm) {
    if (!is_scalar(pr, stm) || find_handed(pr, stm) != 0) return false;
    if (stm->op != OP_DIM && pr->uses[stm->outs[0]] != 1) return false;
    uint32_t size = 1;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        size += pr->sizes[real(pr, stm->args[i])];
    if (size > LONGEST || pr->called[stm->outs[0]] != 0) return false;
    pr->same[stm->outs[0]] = 0;
    pr->sizes[stm->outs[0]] = size;
    return true;
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
    if (stm->op != OP_IF) return stm->op == OP_CHECK || is_scalar(pr, stm);
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
    CoreRef size, handed = find_handed(pr, stm);
    if (handed != 0) {
        pr->uses[handed] += pr->uses[stm->outs[0]];
    } else if (chosen != NULL) {
        for (uint32_t k = 0; k < stm->out_count; k++)
            pr->uses[chosen->results[k]] += pr->uses[stm->outs[k]];
        count_uses(pr, chosen);
    } else if (find_bound(pr, stm, &size) != NULL) {
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
        if (!is_left_out(pr, stm) && !moves(pr, stm)) put_stm(pr, stm);
    }
}

static void put_results(Printer *pr, const CoreBody *body) {
    put_refs(pr, body->results, body->result_count);
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
        take(pr, body->params[i], call->args[i]);
    for (uint32_t k = 0; k < body->result_count; k++)
        pr->called[core_unguarded(body, body->results[k])] = call->outs[k];
    put_stms(pr, body);
    for (uint32_t k = 0; k < body->result_count; k++) {
        pr->called[core_unguarded(body, body->results[k])] = 0;
        take(pr, call->outs[k], body->results[k]);
    }
}

static void put_loop(Printer *pr, const CoreStm *stm) {
    strbuf_cstr(pr->out, stm->op == OP_FOR ? "for(" : "while(");
    put_refs(pr, stm->args, stm->arg_count);
    strbuf_char(pr->out, ')');
}

static void put_if(Printer *pr, const CoreStm *stm) {
    strbuf_cstr(pr->out, "if ");
    put_ref(pr, stm->args[0], false);
}

static void put_split(Printer *pr, const CoreStm *stm) {
    strbuf_cstr(pr->out, "split ");
    put_ref(pr, stm->args[0], true);
    strbuf_cstr(pr->out, " into ");
    put_refs(pr, stm->args + 1, stm->arg_count - 1);
}

static void put_concat(Printer *pr, const CoreStm *stm) {
    for (uint32_t i = 0; i < core_parts(stm); i++) {
        if (i > 0) strbuf_cstr(pr->out, " ++ ");
        put_ref(pr, stm->args[i], true);
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
    default: put_exp(pr, stm, false);
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
    put_refs(pr, stm->outs, stm->out_count);
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
    strbuf_printf(&key, "%p", (const void *)find_bound(pr, stm, &size));
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
    CoreRef handed = find_handed(pr, stm);
    if (stm->loc != 0) pr->loc = stm->loc;
    if (inside != NULL) {
        put_inside(pr, stm, inside);
    } else if (chosen != NULL) {
        put_stms(pr, chosen);
        for (uint32_t k = 0; k < stm->out_count; k++)
            take(pr, stm->outs[k], chosen->results[k]);
    } else if (handed != 0) {
        take(pr, stm->outs[0], handed);
    } else {
        for (uint32_t k = 0; k < stm->out_count; k++) bind(pr, stm->outs[k]);
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
