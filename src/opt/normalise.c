// SPDX-License-Identifier: Apache-2.0
//
// Normalisation: the few canonical forms that make the rest of stage 0 see through what
// lowering and inlining leave behind. It runs before the meaning is fixed, yet changes
// no value; a check that always holds and a map that only copies go.
//
//   guard x                          x              (true tokens are dropped first)
//   guard constant                   the constant   (after stage 0: its checks stay)
//   check true                       true
//   exact scalar op on constants     its value      (first operand no float)
//   permute, reverse                 composed; identities go
//   concat a                         a
//   dim a                            the size that made a, but for guarded a: asking
//                                    for a size is no use of an array
//   if c {-> true} {-> false}        c              (and not c)
//   if c {.. -> x} {.. -> x}         x, when x is bound outside both (after stage 0,
//                                    when the condition's error stays by itself)
//   if true {A} {B}                  A              (and B for false)
//   for, while: state that every     its initial value (what comes out: after stage 0,
//     iteration hands on unchanged   when the error of the count or condition stays)
//   for 0 s                          s
//   map result that is one of the    the array itself, for scalar rows of one array
//     params
//
// Termination: every rule removes a statement, a token or uses of a statement's
// results, and none adds one, save `not` for used results of an if, which then are
// unused, and a dim of an earlier value. The walk is repeated until it finds nothing.
#include "core/rules.h"
#include "opt/algebra.h"
#include "opt/passes.h"

static bool is_bool_const(const CoreProgram *p, CoreRef ref, bool value) {
    const CoreValue *v = &p->values.data[ref];
    return v->is_const && v->type.elem == SCALAR_BOOL && (v->bits != 0) == value;
}

static bool replace(Rewrite *rw, const CoreStm *stm, CoreRef by) {
    rewrite_set(rw, stm->outs[0], by);
    return true;
}

// ---- errors as values ---------------------------------------------------------------

static bool visit_guard(Rewrite *rw, CoreStm *stm) {
    CoreRefs args = {0};
    vec_push(rw->program->arena, &args, stm->args[0]);
    for (uint32_t i = 1; i < stm->arg_count; i++) {
        bool is_new = !is_bool_const(rw->program, stm->args[i], true);
        for (uint32_t j = 1; j < args.len; j++)
            is_new = is_new && args.data[j] != stm->args[i];
        if (is_new) vec_push(rw->program->arena, &args, stm->args[i]);
    }
    bool is_known = rw->program->is_stage0 && core_is_const(rw->program, stm->args[0]);
    if (args.len == 1 || is_known) return replace(rw, stm, stm->args[0]);
    if (args.len == stm->arg_count) return false;
    CoreStm *copy = rewrite_copy(rw, stm);
    copy->args = args.data;
    copy->arg_count = args.len;
    core_append(&rw->builder, copy);
    return true;
}

static bool visit_check(Rewrite *rw, CoreStm *stm) {
    if (!is_bool_const(rw->program, stm->args[0], true)) return false;
    return replace(rw, stm, stm->args[0]);
}

// ---- scalars ------------------------------------------------------------------------

static bool visit_scalar(Rewrite *rw, CoreStm *stm) {
    const CoreProgram *p = rw->program;
    uint64_t args[3], result;
    ScalarType in = (ScalarType)core_type(p, stm->args[0]).elem;
    ScalarType to = (ScalarType)core_type(p, stm->outs[0]).elem;
    if (scalar_is_float(in) || stm->arg_count > 3) return false;
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        if (!core_is_const(p, stm->args[i])) return false;
        args[i] = p->values.data[stm->args[i]].bits;
    }
    if (core_eval(stm->op, in, to, args, &result) != FAULT_NONE) return false;
    return replace(rw, stm, core_const(rw->program, to, result));
}

// ---- views --------------------------------------------------------------------------

static bool visit_permute(Rewrite *rw, CoreStm *stm) {
    const CoreStm *inner = rewrite_def(rw, stm->args[0]);
    int32_t dims[CORE_MAX_RANK];
    bool composed = inner != NULL && inner->op == OP_PERMUTE, is_identity = true;
    for (uint32_t d = 0; d < stm->attr_count; d++) {
        dims[d] = composed ? inner->attrs[stm->attrs[d]] : stm->attrs[d];
        is_identity = is_identity && dims[d] == (int32_t)d;
    }
    CoreRef array = composed ? inner->args[0] : stm->args[0];
    if (is_identity) return replace(rw, stm, array);
    if (!composed) return false;
    CoreStm *copy = rewrite_copy(rw, stm);
    copy->args = arena_copy(rw->program->arena, &array, sizeof array);
    core_set_attrs(&rw->builder, copy, dims, stm->attr_count);
    core_append(&rw->builder, copy);
    return true;
}

static bool visit_reverse(Rewrite *rw, CoreStm *stm) {
    const CoreStm *inner = rewrite_def(rw, stm->args[0]);
    if (inner == NULL || inner->op != OP_REVERSE || inner->attrs[0] != stm->attrs[0])
        return false;
    return replace(rw, stm, inner->args[0]);
}

// ---- control ------------------------------------------------------------------------

// Whether the result was used when this round began. Unused ones must not be given
// new statements, or the rounds would never end.
static bool is_used(const Rewrite *rw, const CoreStm *stm, uint32_t out) {
    return stm->outs[out] < rw->use_count && rw->uses[stm->outs[out]] > 0;
}

static bool visit_if(Rewrite *rw, CoreStm *stm) {
    const CoreProgram *p = rw->program;
    const CoreBody *yes = stm->bodies[0], *no = stm->bodies[1];
    if (core_is_const(p, stm->args[0])) {
        rewrite_splice(rw, is_bool_const(p, stm->args[0], true) ? yes : no, stm->outs);
        return true;
    }
    for (uint32_t i = 0; i < stm->out_count; i++) {
        CoreRef a = yes->results[i], b = no->results[i];
        if (a == b && p->is_stage0) rewrite_set(rw, stm->outs[i], a);
        if (is_bool_const(p, a, true) && is_bool_const(p, b, false))
            rewrite_set(rw, stm->outs[i], stm->args[0]);
        if (is_bool_const(p, a, false) && is_bool_const(p, b, true) &&
            is_used(rw, stm, i))
            rewrite_set(rw, stm->outs[i], core_op1(&rw->builder, OP_NOT, stm->args[0]));
    }
    return false;
}

// State that every iteration hands on unchanged means its initial value, inside the
// loop and after it. Inside, this must be known before the bodies are rebuilt.
void opt_normalise_enter(Rewrite *rw, const CoreStm *stm, const CoreBody *entered) {
    if (stm->op != OP_FOR && stm->op != OP_WHILE) return;
    uint32_t first = stm->op == OP_FOR;
    const CoreBody *step = stm->bodies[stm->body_count - 1];
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (step->results[i] == step->params[first + i])
            rewrite_set(rw, entered->params[first + i], stm->args[first + i]);
}

static bool visit_loop(Rewrite *rw, CoreStm *stm) {
    const CoreProgram *p = rw->program;
    uint32_t first = stm->op == OP_FOR;
    bool never_runs = first == 1 && core_is_const(p, stm->args[0]) &&
                      !opt_is_positive(p, stm->args[0]);
    const CoreBody *step = stm->bodies[stm->body_count - 1];
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (never_runs || (p->is_stage0 && step->results[i] == stm->args[first + i]))
            rewrite_set(rw, stm->outs[i], stm->args[first + i]);
    return never_runs;
}

static bool visit_dim(Rewrite *rw, CoreStm *stm) {
    CoreRef size = opt_fold_dim(rw, stm);
    return size != 0 && replace(rw, stm, size);
}

static bool visit_map(Rewrite *rw, CoreStm *stm) {
    const CoreBody *body = stm->bodies[0];
    if (stm->attrs[0] != 1) return false;
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (body->results[i] == body->params[0] &&
            core_type(rw->program, body->params[0]).rank == 0)
            rewrite_set(rw, stm->outs[i], stm->args[0]);
    return false;
}

bool opt_normalise_stm(Rewrite *rw, CoreStm *stm) {
    if (core_op_operands(stm->op) != 0) return visit_scalar(rw, stm);
    switch ((int)stm->op) {
    case OP_GUARD: return visit_guard(rw, stm);
    case OP_CHECK: return visit_check(rw, stm);
    case OP_DIM: return visit_dim(rw, stm);
    case OP_PERMUTE: return visit_permute(rw, stm);
    case OP_REVERSE: return visit_reverse(rw, stm);
    case OP_CONCAT: return stm->arg_count == 1 && replace(rw, stm, stm->args[0]);
    case OP_IF: return visit_if(rw, stm);
    case OP_FOR:
    case OP_WHILE: return visit_loop(rw, stm);
    case OP_MAP: return visit_map(rw, stm);
    }
    return false;
}

static bool normalise_once(CoreProgram *program) {
    Rewrite rw = rewrite_new(program);
    rw.visit = opt_normalise_stm;
    rw.enter = opt_normalise_enter;
    rw.use_count = program->values.len;
    rw.uses = opt_count_uses(program);
    rewrite_all(&rw);
    return rw.changed;
}

bool opt_normalise(CoreProgram *program) {
    bool changed = normalise_once(program);
    for (bool more = changed; more;) more = normalise_once(program);
    return changed;
}
