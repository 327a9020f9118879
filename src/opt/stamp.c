// SPDX-License-Identifier: Apache-2.0
//
// Stamps: how each reduction, scan and histogram associates, decided once, from the
// operator and the place alone (design: core.md, "Stage 0"; the table is there).
//
//   operator, per component of a tuple                   nested         outermost
//   exact: + * & | ^ && || on integers and bools,        free           free
//     min max on any type
//   float + and *, perhaps beside exact components       nested_lanes   outer_lanes
//   any other on scalars                                 nested_runs    outer_runs
//   arrays in any component                              nested_rows    outer_rows
//   histogram: exact as above, else                      parts          parts
//
// Nested means inside a body of a second-order statement of the same function: inlining
// has been, so a #[noinline] function counts as outermost. On scans, lanes means the
// rule of float scans and the others that of other scans. An operator is recognised
// when each component is one such statement on the two params of that component, in
// either order; `if a then b else false` is a && b, `if a then true else b` is a || b.
#include "opt/passes.h"
#include "opt/rewrite.h"

// From the most to the least that is known of a component.
typedef enum Operator { EXACT, FLOAT_SUM, INEXACT } Operator;

static bool is_pair(CoreRef a, CoreRef b, CoreRef x, CoreRef y) {
    return (a == x && b == y) || (a == y && b == x);
}

static bool is_bool(const CoreProgram *p, CoreRef ref, bool value) {
    return ref == core_bool((CoreProgram *)p, value);
}

// && and || as conditionals, which is how lowering keeps the right operand unevaluated.
static bool is_logic(const CoreProgram *p, const CoreStm *stm, CoreRef result,
                     CoreRef x, CoreRef y) {
    uint32_t index = 0;
    while (stm->outs[index] != result) index++;
    CoreRef yes = stm->bodies[0]->results[index], no = stm->bodies[1]->results[index];
    if (is_bool(p, no, false)) return is_pair(stm->args[0], yes, x, y);
    if (is_bool(p, yes, true)) return is_pair(stm->args[0], no, x, y);
    return false;
}

static Operator recognise(const CoreProgram *p, const CoreBody *op, uint32_t index) {
    CoreRef x = op->params[index], y = op->params[op->result_count + index];
    CoreRef result = op->results[index];
    const CoreStm *stm = core_find_def(op, result);
    if (stm == NULL) return INEXACT;
    if (stm->op == OP_IF && is_logic(p, stm, result, x, y)) return EXACT;
    if (stm->arg_count != 2 || !is_pair(stm->args[0], stm->args[1], x, y))
        return INEXACT;
    bool is_float = scalar_is_float((ScalarType)core_type(p, x).elem);
    switch ((int)stm->op) {
    case OP_MIN:
    case OP_MAX:
    case OP_AND:
    case OP_OR:
    case OP_XOR: return EXACT;
    case OP_ADD:
    case OP_MUL: return is_float ? FLOAT_SUM : EXACT;
    }
    return INEXACT;
}

static bool has_arrays(const CoreProgram *p, const CoreBody *op) {
    for (uint32_t i = 0; i < op->result_count; i++)
        if (core_type(p, op->params[i]).rank > 0) return true;
    return false;
}

static CoreStamp choose_stamp(const CoreProgram *p, const CoreStm *stm, bool nested) {
    const CoreBody *op = stm->bodies[0];
    Operator worst = EXACT;
    for (uint32_t i = 0; i < op->result_count; i++) {
        Operator component = recognise(p, op, i);
        if (component > worst) worst = component;
    }
    if (stm->op == OP_HIST) return worst == EXACT ? STAMP_FREE : STAMP_PARTS;
    if (has_arrays(p, op)) return nested ? STAMP_NESTED_ROWS : STAMP_OUTER_ROWS;
    switch (worst) {
    case EXACT: return STAMP_FREE;
    case FLOAT_SUM: return nested ? STAMP_NESTED_LANES : STAMP_OUTER_LANES;
    case INEXACT: return nested ? STAMP_NESTED_RUNS : STAMP_OUTER_RUNS;
    }
    return STAMP_NONE;
}

typedef struct Stamper {
    uint32_t depth; // second-order statements around
} Stamper;

static void enter(Rewrite *rw, const CoreStm *stm, const CoreBody *body) {
    (void)body;
    if (core_op_info[stm->op].kind == KIND_ORDER2) ((Stamper *)rw->data)->depth++;
}

static void leave(Rewrite *rw, const CoreStm *stm, const CoreBody *body) {
    (void)body;
    if (core_op_info[stm->op].kind == KIND_ORDER2) ((Stamper *)rw->data)->depth--;
}

static bool stamp_stm(Rewrite *rw, CoreStm *stm) {
    if (stm->op != OP_REDUCE && stm->op != OP_SCAN && stm->op != OP_HIST) return false;
    if (stm->stamp != STAMP_NONE) return false;
    CoreStm *copy = rewrite_copy(rw, stm);
    copy->stamp =
        (uint8_t)choose_stamp(rw->program, stm, ((Stamper *)rw->data)->depth > 0);
    core_append(&rw->builder, copy);
    return true;
}

bool opt_stamp(CoreProgram *program) {
    Stamper stamper = {0};
    Rewrite rw = rewrite_new(program);
    rw.visit = stamp_stm;
    rw.enter = enter;
    rw.leave = leave;
    rw.data = &stamper;
    rewrite_all(&rw);
    return rw.changed;
}
