// SPDX-License-Identifier: Apache-2.0
//
// The operator table as data, and the typing of scalar operators: which classes of
// types each takes and what it gives. Builder, reader and verifier share it.
#include "core/rules.h"

const CoreOpInfo core_op_info[OP_COUNT] = {
#define FAILS                                OP_FAILS
#define COMMUTES                             OP_COMMUTES
#define OP(name, text, kind, flags, meaning) {text, KIND_##kind, flags},
#include "core/ops.def"
#undef OP
#undef COMMUTES
#undef FAILS
};

const char *const core_stamp_names[STAMP_COUNT] = {
    [STAMP_NONE] = "none",
    [STAMP_FREE] = "free",
    [STAMP_NESTED_LANES] = "nested_lanes",
    [STAMP_NESTED_RUNS] = "nested_runs",
    [STAMP_NESTED_ROWS] = "nested_rows",
    [STAMP_OUTER_LANES] = "outer_lanes",
    [STAMP_OUTER_RUNS] = "outer_runs",
    [STAMP_OUTER_ROWS] = "outer_rows",
    [STAMP_PARTS] = "parts",
};

// Sets of scalar classes.
enum { BOOLS = 1, INTS = 2, UNSIGNEDS = 4, FLOATS = 8 };

static unsigned accepted_classes(CoreOp op) {
    switch ((int)op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_MOD:
    case OP_MIN:
    case OP_MAX:
    case OP_NEG:
    case OP_ABS:
    case OP_SGN: return INTS | FLOATS;
    case OP_QUOT:
    case OP_REM:
    case OP_POW:
    case OP_MULHI:
    case OP_SHL:
    case OP_SHR:
    case OP_LSHR:
    case OP_POPC:
    case OP_CLZ:
    case OP_CTZ: return INTS;
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_NOT: return BOOLS | INTS;
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_CONV: return BOOLS | INTS | FLOATS;
    case OP_FMA:
    case OP_SQRT:
    case OP_FLOOR:
    case OP_CEIL:
    case OP_TRUNC:
    case OP_ROUND:
    case OP_ISNAN:
    case OP_ISINF:
    case OP_NEXT:
    case OP_TO_BITS: return FLOATS;
    case OP_FROM_BITS: return UNSIGNEDS;
    }
    return 0;
}

bool core_op_takes(CoreOp op, ScalarType in) {
    unsigned set = accepted_classes(op);
    switch (scalar_info[in].class) {
    case CLASS_BOOLEAN: return (set & BOOLS) != 0;
    case CLASS_SIGNED: return (set & INTS) != 0;
    case CLASS_UNSIGNED:
        if ((set & UNSIGNEDS) != 0) return in != SCALAR_U8; // no float has 8 bits
        return (set & INTS) != 0;
    case CLASS_FLOAT: return (set & FLOATS) != 0;
    }
    return false;
}

bool core_op_gives(CoreOp op, ScalarType in, ScalarType *out) {
    switch ((int)op) {
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_ISNAN:
    case OP_ISINF: *out = SCALAR_BOOL; return true;
    case OP_POPC:
    case OP_CLZ:
    case OP_CTZ: *out = SCALAR_I32; return true;
    case OP_TO_BITS:
        *out = in == SCALAR_F16   ? SCALAR_U16
               : in == SCALAR_F32 ? SCALAR_U32
                                  : SCALAR_U64;
        return true;
    case OP_FROM_BITS:
        *out = in == SCALAR_U16   ? SCALAR_F16
               : in == SCALAR_U32 ? SCALAR_F32
                                  : SCALAR_F64;
        return true;
    case OP_CONV: return false;
    }
    *out = in;
    return true;
}

uint32_t core_op_operands(CoreOp op) {
    switch (core_op_info[op].kind) {
    case KIND_SCALAR1: return 1;
    case KIND_SCALAR2: return 2;
    case KIND_SCALAR3: return 3;
    case KIND_ARRAY:
    case KIND_ORDER2:
    case KIND_CONTROL: return 0;
    }
    return 0;
}

CoreFeeds core_feeds(const CoreStm *stm) {
    CoreFeeds f = {0};
    f.body = stm->op == OP_REDUCE || stm->op == OP_SCAN || stm->op == OP_HIST;
    if (stm->body_count > f.body) f.producer = stm->bodies[f.body];
    switch ((int)stm->op) {
    case OP_MAP:
    case OP_REDUCE:
    case OP_SCAN: f.count = (uint32_t)stm->attrs[0]; return f;
    case OP_HIST:
        f.first = 2 * stm->out_count;
        f.attr = 2;
        f.count = stm->arg_count - f.first;
        return f;
    case OP_SCATTER:
        f.first = 1;
        f.attr = 1;
        f.count = stm->arg_count - 1;
        return f;
    case OP_FILTER: f.count = stm->arg_count; return f;
    }
    return (CoreFeeds){0};
}

// ---- plain calls --------------------------------------------------------------------

static bool are_scalars(const CoreProgram *p, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (core_type(p, refs[i]).rank > 0) return false;
    return true;
}

static bool is_plain_body(const CoreProgram *p, const CoreBody *body);

static bool is_plain_stm(const CoreProgram *p, const CoreStm *stm) {
    if (stm->op == OP_CALL) return core_is_plain_call(p, stm);
    if (stm->op == OP_IF)
        return are_scalars(p, stm->outs, stm->out_count) &&
               is_plain_body(p, stm->bodies[0]) && is_plain_body(p, stm->bodies[1]);
    return core_is_scalar_op(stm->op) &&
           ((core_op_info[stm->op].flags & OP_FAILS) == 0 ||
            scalar_is_float((ScalarType)core_type(p, stm->args[0]).elem));
}

static bool is_plain_body(const CoreProgram *p, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (!is_plain_stm(p, body->stms.data[i])) return false;
    return true;
}

bool core_is_plain_call(const CoreProgram *p, const CoreStm *stm) {
    if (stm->op != OP_CALL) return false;
    const CoreBody *body = p->funs.data[stm->attrs[0]]->body;
    return are_scalars(p, body->params, body->param_count) &&
           are_scalars(p, body->results, body->result_count) && is_plain_body(p, body);
}

CoreRef core_unguarded(const CoreBody *body, CoreRef ref) {
    for (uint32_t i = body->stms.len; i-- > 0;) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op == OP_GUARD && stm->outs[0] == ref) ref = stm->args[0];
    }
    return ref;
}
