// SPDX-License-Identifier: Apache-2.0
//
// Values and expressions of the program that is told (source.h): scalars that are used
// once stand where that is, and the arithmetic of shares is `50 % of n`.
#include <inttypes.h>
#include <string.h>

#include "core/rules.h"
#include "core/text.h"
#include "fission/fission.h"
#include "plan/source.h"

// Expressions in one; operations from the share of a bound to the bound.
enum { LONGEST = 8, STEPS = 8 };

// ---- values -------------------------------------------------------------------------

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

void source_put_ref(Printer *pr, CoreRef ref, bool is_inner) {
    ref = real(pr, ref);
    const CoreValue *value = &pr->p->values.data[ref];
    if (value->is_const) put_const(pr, value);
    else if (pr->sizes[ref] > 0) source_put_exp(pr, pr->defs[ref], is_inner);
    else names_put(pr->out, pr->ids[ref]);
}

void source_bind(Printer *pr, CoreRef ref) {
    CoreRef called = pr->called[ref] != 0 ? pr->called[ref] : ref;
    pr->sizes[ref] = 0;
    pr->same[ref] = 0;
    pr->ids[ref] = names_add(&pr->names, pr->p->values.data[called].name);
}

void source_take(Printer *pr, CoreRef ref, CoreRef of) {
    of = real(pr, of);
    pr->sizes[ref] = 0;
    pr->same[ref] = core_is_const(pr->p, of) || pr->sizes[of] > 0 ? of : 0;
    pr->ids[ref] = pr->ids[of];
}

void source_put_refs(Printer *pr, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) strbuf_cstr(pr->out, ", ");
        source_put_ref(pr, refs[i], false);
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
    source_put_refs(pr, stm->args, stm->arg_count);
    strbuf_char(pr->out, ')');
}

static void put_slice(Printer *pr, const CoreStm *stm) {
    source_put_ref(pr, stm->args[0], true);
    strbuf_char(pr->out, '[');
    for (int32_t d = 0; d < stm->attrs[0]; d++) strbuf_cstr(pr->out, ":, ");
    source_put_ref(pr, stm->args[1], true);
    strbuf_cstr(pr->out, " : +");
    source_put_ref(pr, stm->args[2], true);
    const CoreValue *stride = &pr->p->values.data[stm->args[3]];
    if (!stride->is_const || stride->bits != 1) {
        strbuf_cstr(pr->out, " : ");
        source_put_ref(pr, stm->args[3], true);
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

const int64_t *source_find_bound(const Printer *pr, const CoreStm *stm,
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
    source_put_ref(pr, size, true);
    if (is_inner) strbuf_char(pr->out, ')');
}

void source_put_exp(Printer *pr, const CoreStm *stm, bool is_inner) {
    const char *infix = infix_of(stm->op);
    CoreRef size;
    const int64_t *share = source_find_bound(pr, stm, &size);
    if (share != NULL) {
        put_bound(pr, *share, size, is_inner);
    } else if (infix != NULL) {
        if (is_inner) strbuf_char(pr->out, '(');
        source_put_ref(pr, stm->args[0], true);
        strbuf_printf(pr->out, " %s ", infix);
        source_put_ref(pr, stm->args[1], true);
        if (is_inner) strbuf_char(pr->out, ')');
    } else if (stm->op == OP_INDEX && put_only(pr, stm)) {
        return;
    } else if (stm->op == OP_INDEX) {
        source_put_ref(pr, stm->args[0], true);
        strbuf_char(pr->out, '[');
        source_put_refs(pr, stm->args + 1, stm->arg_count - 1);
        strbuf_char(pr->out, ']');
    } else if (stm->op == OP_DIM) {
        strbuf_cstr(pr->out, "length");
        if (stm->attrs[0] > 0) strbuf_printf(pr->out, "_%d", stm->attrs[0]);
        strbuf_char(pr->out, '(');
        source_put_ref(pr, stm->args[0], false);
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

CoreRef source_find_handed(const Printer *pr, const CoreStm *stm) {
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

bool source_is_scalar(const Printer *pr, const CoreStm *stm) {
    return core_is_scalar_op(stm->op) || stm->op == OP_DIM || stm->op == OP_INDEX ||
           is_list(pr, stm);
}

bool source_moves(Printer *pr, const CoreStm *stm) {
    if (!source_is_scalar(pr, stm) || source_find_handed(pr, stm) != 0) return false;
    if (stm->op != OP_DIM && pr->uses[stm->outs[0]] != 1) return false;
    uint32_t size = 1;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        size += pr->sizes[real(pr, stm->args[i])];
    if (size > LONGEST || pr->called[stm->outs[0]] != 0) return false;
    pr->same[stm->outs[0]] = 0;
    pr->sizes[stm->outs[0]] = size;
    return true;
}
