// SPDX-License-Identifier: Apache-2.0
//
// The entry as it is run: core after outlining, written like a source text. Kernels
// stand where they are called, scalars that are used once where that is, and in front
// of each line the one of the source that it comes from.
#include <inttypes.h>
#include <string.h>

#include "core/rules.h"
#include "core/text.h"
#include "plan/plan.h"

// Expressions in one; bodies in bodies; statements of an operator's body that are told.
enum { LONGEST = 8, DEEPEST = 64, TOLD = 8 };

typedef struct Printer {
    const Plan *plan;
    const CoreProgram *p;
    StrBuf *out;
    uint32_t *uses;       // by CoreRef
    uint32_t *sizes;      // of expressions that stand where they are used; 0: others
    uint32_t *labels;     // from 1, among values of one name; 0: not met yet
    CoreRef *same;        // another name of the value; 0: none
    const CoreStm **defs; // of such expressions
    Map counts;           // Sym + 1 -> labels given
    struct {
        uint32_t *data; // functions that are called, to be printed
        uint32_t len, cap;
    } funs;
    Map told; // (place, operator) -> 1: its bodies stand above
    unsigned depth;
    unsigned inside; // of operators
    uint32_t left;   // statements to tell there
    CoreLoc loc;
} Printer;

// ---- lines --------------------------------------------------------------------------

static void new_line(Printer *pr) {
    char line[PLAN_TEXT];
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
    while (pr->same[ref] != 0) ref = pr->same[ref];
    return ref;
}

static void put_ref(Printer *pr, CoreRef ref, bool is_inner) {
    ref = real(pr, ref);
    const CoreValue *value = &pr->p->values.data[ref];
    if (value->is_const) {
        put_const(pr, value);
        return;
    }
    if (pr->sizes[ref] > 0) {
        put_exp(pr, pr->defs[ref], is_inner);
        return;
    }
    if (pr->labels[ref] == 0) {
        uint64_t count = 0;
        map_get(&pr->counts, (uint64_t)value->name + 1, &count);
        map_set(&pr->counts, (uint64_t)value->name + 1, ++count);
        pr->labels[ref] = (uint32_t)count;
    }
    if (value->name == 0) {
        strbuf_printf(pr->out, "_%" PRIu32, pr->labels[ref]);
        return;
    }
    strbuf_str(pr->out, sym_str(&pr->p->cx->syms, value->name));
    if (pr->labels[ref] > 1) strbuf_printf(pr->out, ".%" PRIu32, pr->labels[ref] - 1);
}

static void put_refs(Printer *pr, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) strbuf_cstr(pr->out, ", ");
        put_ref(pr, refs[i], false);
    }
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
    const CoreStm *list = pr->defs[real(pr, index->args[0])];
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

static void put_exp(Printer *pr, const CoreStm *stm, bool is_inner) {
    const char *infix = infix_of(stm->op);
    if (infix != NULL) {
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

// Whether the statement stands where its one result is used once; notes it then.
static bool moves(Printer *pr, const CoreStm *stm) {
    bool may = core_is_scalar_op(stm->op) || stm->op == OP_DIM || stm->op == OP_INDEX ||
               is_list(pr, stm);
    if (!may || stm->out_count != 1 || pr->uses[stm->outs[0]] != 1) return false;
    uint32_t size = 1;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        size += pr->sizes[real(pr, stm->args[i])];
    if (size > LONGEST || pr->same[stm->outs[0]] != 0) return false;
    pr->sizes[stm->outs[0]] = size;
    pr->defs[stm->outs[0]] = stm;
    return true;
}

// ---- statements ---------------------------------------------------------------------

static void put_stm(Printer *pr, const CoreStm *stm);

static void put_stms(Printer *pr, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!moves(pr, body->stms.data[i])) put_stm(pr, body->stms.data[i]);
}

static void put_results(Printer *pr, const CoreBody *body) {
    put_refs(pr, body->results, body->result_count);
}

// In braces: the params, statements each on its line, and the results.
static void put_body(Printer *pr, const CoreBody *body) {
    strbuf_cstr(pr->out, " {");
    if (body->param_count > 0) {
        put_refs(pr, body->params, body->param_count);
        strbuf_cstr(pr->out, " ->");
    }
    bool is_one_line = true;
    CoreLoc loc = pr->loc;
    pr->depth++;
    if (pr->depth > DEEPEST || stack_is_low(&pr->p->cx->stack)) {
        strbuf_cstr(pr->out, "...}");
        pr->depth--;
        return;
    }
    uint32_t untold = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (moves(pr, stm)) continue;
        is_one_line = is_one_line && stm->op == OP_GUARD;
        if (pr->inside > 0 && pr->left == 0) {
            untold++;
            continue;
        }
        pr->left--;
        put_stm(pr, stm);
    }
    if (untold > 0) {
        new_line(pr);
        strbuf_printf(pr->out, ".. (%" PRIu32 " more)", untold);
    }
    pr->loc = loc;
    if (!is_one_line) new_line(pr);
    else if (body->param_count > 0) strbuf_char(pr->out, ' ');
    pr->depth--;
    put_results(pr, body);
    strbuf_char(pr->out, '}');
}

// The statements of a function in place of a call.
static void put_inside(Printer *pr, const CoreStm *call, const CoreFun *fun) {
    const CoreBody *body = fun->body;
    for (uint32_t i = 0; i < body->param_count; i++)
        pr->same[body->params[i]] = real(pr, call->args[i]);
    for (uint32_t k = 0; k < body->result_count; k++) {
        CoreRef result = body->results[k];
        bool is_own = pr->same[result] == 0 && !core_is_const(pr->p, result);
        if (is_own) pr->same[result] = call->outs[k];
        else pr->same[call->outs[k]] = real(pr, result);
    }
    put_stms(pr, body);
    for (uint32_t k = 0; k < body->result_count; k++)
        if (real(pr, body->results[k]) == call->outs[k]) pr->same[body->results[k]] = 0;
    for (uint32_t i = 0; i < body->param_count; i++) pr->same[body->params[i]] = 0;
}

static void put_loop(Printer *pr, const CoreStm *stm) {
    bool is_for = stm->op == OP_FOR;
    strbuf_cstr(pr->out, is_for ? "for" : "while");
    strbuf_char(pr->out, '(');
    put_refs(pr, stm->args, stm->arg_count);
    strbuf_char(pr->out, ')');
    for (uint32_t k = 0; k < stm->body_count; k++) put_body(pr, stm->bodies[k]);
}

static void put_if(Printer *pr, const CoreStm *stm) {
    strbuf_cstr(pr->out, "if ");
    put_ref(pr, stm->args[0], false);
    put_body(pr, stm->bodies[0]);
    strbuf_cstr(pr->out, " else");
    put_body(pr, stm->bodies[1]);
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

// The bodies of an operator, which its parts have in common: once.
static void put_operator(Printer *pr, const CoreStm *stm) {
    CoreLoc loc = fission_whole(pr->plan->in.decisions, stm->loc);
    uint64_t key = ((uint64_t)loc << 8 | (uint64_t)stm->op) + 1, known;
    if (pr->inside == 0 && map_get(&pr->told, key, &known)) {
        strbuf_cstr(pr->out, " {as above}");
        return;
    }
    map_set(&pr->told, key, 1);
    if (pr->inside++ == 0) pr->left = TOLD;
    for (uint32_t k = 0; k < stm->body_count; k++) put_body(pr, stm->bodies[k]);
    pr->inside--;
}

static void put_right(Printer *pr, const CoreStm *stm) {
    switch ((int)stm->op) {
    case OP_IF: put_if(pr, stm); return;
    case OP_FOR:
    case OP_WHILE: put_loop(pr, stm); return;
    case OP_SPLIT: put_split(pr, stm); return;
    case OP_CONCAT: put_concat(pr, stm); return;
    default: break;
    }
    put_exp(pr, stm, false);
    if (stm->body_count > 0) put_operator(pr, stm);
}

static const CoreFun *inside_of(const Printer *pr, const CoreStm *stm) {
    if (stm->op != OP_CALL) return NULL;
    const CoreFun *fun = pr->p->funs.data[stm->attrs[0]];
    if (fun->otherwise != 0) return pr->p->funs.data[fun->otherwise - 1];
    return fun->kernel != CORE_NO_KERNEL ? fun : NULL;
}

static void put_stm(Printer *pr, const CoreStm *stm);

// Of what an entry does in two versions, and of what stays whole, the one that is run.
static bool put_chosen(Printer *pr, const CoreStm *stm) {
    if (stm->op != OP_IF) return false;
    uint32_t arm = fission_only_arm(pr->plan->in.decisions, stm->args[0]);
    if (arm == FISSION_EITHER) return false;
    const CoreBody *body = stm->bodies[arm];
    put_stms(pr, body);
    for (uint32_t k = 0; k < stm->out_count; k++)
        pr->same[stm->outs[k]] = real(pr, body->results[k]);
    return true;
}

static void put_stm(Printer *pr, const CoreStm *stm) {
    const CoreFun *inside = inside_of(pr, stm);
    if (inside != NULL) {
        put_inside(pr, stm, inside);
        return;
    }
    if (put_chosen(pr, stm)) return;
    if (stm->op == OP_GUARD) {
        pr->same[stm->outs[0]] = real(pr, stm->args[0]);
        return;
    }
    if (stm->loc != 0) pr->loc = stm->loc;
    new_line(pr);
    if (stm->op == OP_CHECK) {
        strbuf_cstr(pr->out, "check ");
        put_ref(pr, stm->args[0], false);
        strbuf_cstr(pr->out, ", or else ");
        core_print_quoted(pr->out, stm->text);
        return;
    }
    put_refs(pr, stm->outs, stm->out_count);
    strbuf_cstr(pr->out, " = ");
    put_right(pr, stm);
}

// ---- functions ----------------------------------------------------------------------

static void count_uses(uint32_t *uses, const CoreBody *body) {
    for (uint32_t i = 0; i < body->result_count; i++) uses[body->results[i]]++;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) uses[stm->args[k]]++;
        for (uint32_t k = 0; k < stm->body_count; k++) count_uses(uses, stm->bodies[k]);
    }
}

static void put_fun(Printer *pr, const CoreFun *fun) {
    pr->loc = 0;
    pr->depth = 0;
    new_line(pr);
    strbuf_printf(pr->out, "%s %.*s(", fun->is_entry ? "entry" : "def",
                  STR_ARG(sym_str(&pr->p->cx->syms, fun->name)));
    put_refs(pr, fun->body->params, fun->body->param_count);
    strbuf_cstr(pr->out, ") =");
    pr->depth = 1;
    put_stms(pr, fun->body);
    new_line(pr);
    strbuf_cstr(pr->out, "in ");
    put_results(pr, fun->body);
}

void plan_print_source(const Plan *plan, StrBuf *out) {
    const CoreProgram *p = plan->in.program;
    uint32_t count = p->values.len;
    Arena *arena = plan->in.arena;
    Printer pr = {.plan = plan,
                  .p = p,
                  .out = out,
                  .uses = arena_array(arena, uint32_t, count),
                  .sizes = arena_array(arena, uint32_t, count),
                  .labels = arena_array(arena, uint32_t, count),
                  .same = arena_array(arena, CoreRef, count),
                  .defs = arena_array(arena, const CoreStm *, count)};
    map_init(&pr.counts, arena);
    map_init(&pr.told, arena);
    for (uint32_t i = 0; i < p->funs.len; i++)
        count_uses(pr.uses, p->funs.data[i]->body);
    strbuf_cstr(out, "\nProgram");
    put_fun(&pr, plan->in.entry);
    bool *is_done = arena_array(arena, bool, p->funs.len);
    for (uint32_t i = 0; i < pr.funs.len; i++) {
        if (is_done[pr.funs.data[i]]) continue;
        is_done[pr.funs.data[i]] = true;
        put_fun(&pr, p->funs.data[pr.funs.data[i]]);
    }
    strbuf_char(out, '\n');
}
