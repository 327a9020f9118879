// SPDX-License-Identifier: Apache-2.0
//
// Exact algebra: rewriting single statements to values that are there already.
//
// Every row holds for all inputs, bit for bit (NaNs aside, which cannot be told apart),
// and raises an error exactly when what it replaces does. So there is x + 0 = x for
// integers only (-0 + 0 is +0), but x + (-0) = x and x - 0 = x for floats; x * 0 = 0
// for integers only; and nothing is regrouped. Rows with constants are tried with
// swapped operands where the operator commutes exactly.
//
// Termination: each rule replaces a statement by a value bound before it or a constant,
// those for `dim` by a `dim` of an array bound earlier at most.
#include "opt/algebra.h"

#include "core/rules.h"

typedef enum Operand {
    ANY,
    SAME,  // the same value as the left operand
    ZERO,  // 0, +0.0, false
    ONE,   // 1, 1.0, true
    ONES,  // all bits set, true
    MINUS0 // -0.0
} Operand;

typedef enum Outcome { LEFT, TO_ZERO, TO_ONE, TO_ONES, TRUE, FALSE } Outcome;

enum { BOOL = 1, INT = 2, FLOAT = 4, EXACT = BOOL | INT, ALL = BOOL | INT | FLOAT };

typedef struct Rule {
    CoreOp op;
    unsigned types;
    Operand right;
    Outcome outcome;
} Rule;

// clang-format off
static const Rule rules[] = {
    {OP_ADD,  INT,         ZERO,   LEFT},
    {OP_ADD,  FLOAT,       MINUS0, LEFT},
    {OP_SUB,  INT | FLOAT, ZERO,   LEFT},
    {OP_SUB,  INT,         SAME,   TO_ZERO},
    {OP_MUL,  INT | FLOAT, ONE,    LEFT},
    {OP_MUL,  INT,         ZERO,   TO_ZERO},
    {OP_DIV,  INT | FLOAT, ONE,    LEFT},
    {OP_QUOT, INT,         ONE,    LEFT},
    {OP_MOD,  INT,         ONE,    TO_ZERO},
    {OP_REM,  INT,         ONE,    TO_ZERO},
    {OP_POW,  INT,         ONE,    LEFT},
    {OP_POW,  INT,         ZERO,   TO_ONE},
    {OP_MIN,  INT | FLOAT, SAME,   LEFT},
    {OP_MAX,  INT | FLOAT, SAME,   LEFT},
    {OP_AND,  EXACT,       ZERO,   TO_ZERO},
    {OP_AND,  EXACT,       ONES,   LEFT},
    {OP_AND,  EXACT,       SAME,   LEFT},
    {OP_OR,   EXACT,       ZERO,   LEFT},
    {OP_OR,   EXACT,       ONES,   TO_ONES},
    {OP_OR,   EXACT,       SAME,   LEFT},
    {OP_XOR,  EXACT,       ZERO,   LEFT},
    {OP_XOR,  EXACT,       SAME,   TO_ZERO},
    {OP_SHL,  INT,         ZERO,   LEFT},
    {OP_SHR,  INT,         ZERO,   LEFT},
    {OP_LSHR, INT,         ZERO,   LEFT},
    {OP_EQ,   EXACT,       SAME,   TRUE},
    {OP_EQ,   BOOL,        ONE,    LEFT},
    {OP_NE,   EXACT,       SAME,   FALSE},
    {OP_NE,   BOOL,        ZERO,   LEFT},
    {OP_LT,   ALL,         SAME,   FALSE},
    {OP_LE,   EXACT,       SAME,   TRUE},
};
// clang-format on

static unsigned class_of(ScalarType type) {
    if (type == SCALAR_BOOL) return BOOL;
    return scalar_is_float(type) ? FLOAT : INT;
}

static uint64_t one_of(ScalarType type) {
    switch ((int)type) {
    case SCALAR_F16: return 0x3c00;
    case SCALAR_F32: return 0x3f800000;
    case SCALAR_F64: return 0x3ff0000000000000;
    }
    return 1;
}

static uint64_t ones_of(ScalarType type) {
    return type == SCALAR_BOOL ? 1 : UINT64_MAX >> (64 - scalar_info[type].bytes * 8u);
}

static bool operand_fits(const CoreProgram *p, Operand operand, CoreRef left,
                         CoreRef right) {
    const CoreValue *value = &p->values.data[right];
    ScalarType type = (ScalarType)value->type.elem;
    switch (operand) {
    case ANY: return true;
    case SAME: return left == right;
    case ZERO: return value->is_const && value->bits == 0;
    case ONE: return value->is_const && value->bits == one_of(type);
    case ONES: return value->is_const && value->bits == ones_of(type);
    case MINUS0:
        return value->is_const &&
               value->bits == (uint64_t)1 << (scalar_info[type].bytes * 8u - 1);
    }
    return false;
}

static CoreRef outcome_of(CoreProgram *p, Outcome outcome, CoreRef left) {
    ScalarType type = (ScalarType)core_type(p, left).elem;
    switch (outcome) {
    case LEFT: return left;
    case TO_ZERO: return core_const(p, type, 0);
    case TO_ONE: return core_const(p, type, one_of(type));
    case TO_ONES: return core_const(p, type, ones_of(type));
    case TRUE: return core_bool(p, true);
    case FALSE: return core_bool(p, false);
    }
    return 0;
}

static CoreRef fold_by_rule(CoreProgram *p, const CoreStm *stm) {
    CoreRef x = stm->args[0], y = stm->args[1];
    unsigned types = class_of((ScalarType)core_type(p, x).elem);
    bool commutes = (core_op_info[stm->op].flags & OP_COMMUTES) != 0;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const Rule *rule = &rules[i];
        if (rule->op != stm->op || (rule->types & types) == 0) continue;
        if (operand_fits(p, rule->right, x, y)) return outcome_of(p, rule->outcome, x);
        if (commutes && operand_fits(p, rule->right, y, x))
            return outcome_of(p, rule->outcome, y);
    }
    return 0;
}

// not not x, neg neg x, conv to the same type.
static CoreRef fold_unary(const Rewrite *rw, const CoreStm *stm) {
    const CoreProgram *p = rw->program;
    if (stm->op == OP_CONV)
        return core_type(p, stm->args[0]).elem == core_type(p, stm->outs[0]).elem
                   ? stm->args[0]
                   : 0;
    if (stm->op != OP_NOT && stm->op != OP_NEG) return 0;
    const CoreStm *inner = rewrite_def(rw, stm->args[0]);
    return inner != NULL && inner->op == stm->op ? inner->args[0] : 0;
}

static CoreRef fold_constants(CoreProgram *p, const CoreStm *stm) {
    uint64_t args[3], result;
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        if (!core_is_const(p, stm->args[i])) return 0;
        args[i] = p->values.data[stm->args[i]].bits;
    }
    ScalarType in = (ScalarType)core_type(p, stm->args[0]).elem;
    ScalarType to = (ScalarType)core_type(p, stm->outs[0]).elem;
    if (core_eval(stm->op, in, to, args, &result) != FAULT_NONE) return 0;
    return core_const(p, to, result);
}

// ---- sizes --------------------------------------------------------------------------

static uint32_t out_index(const CoreStm *stm, CoreRef ref) {
    uint32_t index = 0;
    while (stm->outs[index] != ref) index++;
    return index;
}

// What a map or generate says of a dimension of its rows; 0: nothing. In stage 0 a size
// must need the checks that its array needs.
static CoreRef row_size(const CoreProgram *p, const CoreStm *def, CoreRef array,
                        int32_t axis) {
    if (!p->is_stage0) return 0;
    int32_t outer = def->op == OP_MAP ? 1 : def->attrs[0], at = def->attrs[0];
    for (uint32_t i = 0; def->outs[i] != array; i++)
        at += core_type(p, def->outs[i]).rank - outer;
    CoreRef size = def->args[at + axis - outer];
    const CoreValue *value = &p->values.data[size];
    return value->is_const && (int64_t)value->bits == -1 ? 0 : size;
}

// The size that the parts of a concatenation were cut out of, if it says their lengths
// and each of these is from where the part begins to where the next one does; or 0.
static CoreRef size_of_parts(const Rewrite *rw, const CoreStm *concat) {
    uint32_t parts = core_parts(concat);
    if (parts < 2 || parts == concat->arg_count) return 0;
    const CoreRef *lengths = concat->args + parts;
    CoreRef end = lengths[0]; // of the parts so far
    for (uint32_t p = 1; p < parts; p++) {
        const CoreStm *length = rewrite_def(rw, lengths[p]);
        if (length == NULL || length->op != OP_SUB || length->args[1] != end) return 0;
        end = length->args[0];
    }
    return end;
}

CoreRef opt_step_dim(const Rewrite *rw, CoreRef *array, int32_t *axis,
                     bool *moved_out) {
    CoreProgram *p = rw->program;
    const CoreStm *def = rewrite_def(rw, *array);
    CoreRef rows = rewrite_rows(rw, *array);
    *moved_out = true;
    if (rows != 0) {
        *array = rewrite_get(rw, rows);
        ++*axis;
        return 0;
    }
    *moved_out = false;
    if (def == NULL) return 0;
    bool is_axis = def->attr_count > 0 && *axis == def->attrs[0];
    CoreRef from = 0; // an array with the same dimension, as number `to`
    int32_t to = *axis;
    switch ((int)def->op) {
    case OP_LITERAL:
        return core_i64(
            p, (int64_t)(def->text.len / scalar_info[core_type(p, *array).elem].bytes));
    case OP_IOTA: return def->args[0];
    case OP_SCRATCH: return def->args[*axis];
    case OP_RESHAPE: return def->args[1 + *axis];
    case OP_GENERATE:
        return *axis < def->attrs[0] ? def->args[*axis]
                                     : row_size(p, def, *array, *axis);
    case OP_ARRAY:
        if (*axis == 0) return core_i64(p, def->arg_count);
        from = def->args[0];
        to = *axis - 1;
        break;
    case OP_REPLICATE:
        if (*axis == 0) return def->args[0];
        from = def->args[1];
        to = *axis - 1;
        break;
    case OP_INDEX:
        from = def->args[0];
        to = *axis + (int32_t)def->arg_count - 1;
        break;
    case OP_SLICE:
        if (is_axis) return def->args[2];
        from = def->args[0];
        break;
    case OP_SPLIT:
        if (is_axis) return def->args[1 + out_index(def, *array)];
        from = def->args[0];
        break;
    case OP_CONCAT:
        if (is_axis) return size_of_parts(rw, def);
        from = def->args[0];
        break;
    case OP_PERMUTE:
        from = def->args[0];
        to = def->attrs[*axis];
        break;
    case OP_HIST: from = def->args[out_index(def, *array)]; break;
    case OP_GUARD: // in stage 0 a size must need the checks that its array needs
        if (p->is_stage0) from = def->args[0];
        break;
    case OP_MAP:
        if (*axis > 0) return row_size(p, def, *array, *axis);
        from = def->args[0];
        break;
    case OP_SCAN:
        if (*axis == 0) from = def->args[0];
        break;
    case OP_REVERSE:
    case OP_COPY:
    case OP_UPDATE:
    case OP_SORT:
    case OP_SCATTER: from = def->args[0]; break;
    }
    *moved_out = from != 0;
    if (from == 0) return 0;
    *array = from;
    *axis = to;
    return 0;
}

CoreRef opt_fold_dim(Rewrite *rw, const CoreStm *stm) {
    CoreRef array = stm->args[0];
    int32_t axis = stm->attrs[0];
    for (bool moved = true; moved;) {
        CoreRef size = opt_step_dim(rw, &array, &axis, &moved);
        if (size != 0) return size;
    }
    return array == stm->args[0] ? 0 : core_dim(&rw->builder, array, axis);
}

CoreRef opt_fold(Rewrite *rw, const CoreStm *stm) {
    if (stm->op == OP_DIM) return opt_fold_dim(rw, stm);
    uint32_t operands = core_op_operands(stm->op);
    if (operands == 0) return 0;
    CoreRef to = fold_constants(rw->program, stm);
    if (to == 0 && operands == 1) to = fold_unary(rw, stm);
    if (to == 0 && operands == 2) to = fold_by_rule(rw->program, stm);
    return to;
}
