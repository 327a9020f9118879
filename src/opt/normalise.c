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
//   a <= x and x <= b                x - a <= b - a, for unsigned x and constants a <=
//   b permute, reverse                 composed; identities go concat a a array of
//   constants, of literals  a literal, reshaped (up to so many bytes) dim a the size
//   that made a, but for guarded a: asking
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
// results, and none adds one, save a difference in place of a conjunction, `not` for
// used results of an if, which then are unused, a dim of an earlier value, and literals
// for arrays. The walk is repeated until it finds nothing.
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

// Whether it is `a <= x` (side 1) or `x <= b` (side 0) of an unsigned x, and the bound.
static bool find_bound(const Rewrite *rw, CoreRef c, uint32_t side, CoreRef *x_out,
                       uint64_t *bound_out) {
    const CoreProgram *p = rw->program;
    const CoreStm *def = rewrite_def(rw, c);
    if (def == NULL || def->op != OP_LE) return false;
    ScalarType elem = (ScalarType)core_type(p, def->args[0]).elem;
    *x_out = def->args[side];
    *bound_out = p->values.data[def->args[1 - side]].bits;
    return scalar_is_int(elem) && !scalar_is_signed(elem) &&
           core_is_const(p, def->args[1 - side]);
}

// A range, by one comparison: what is below a is above all differences.
static bool visit_range(Rewrite *rw, const CoreStm *stm) {
    CoreProgram *p = rw->program;
    for (uint32_t k = 0; k < 2 && stm->op == OP_AND; k++) {
        CoreRef x, y;
        uint64_t low, high;
        if (!find_bound(rw, stm->args[k], 1, &x, &low) ||
            !find_bound(rw, stm->args[1 - k], 0, &y, &high) || x != y || low > high)
            continue;
        CoreType type = core_type(p, x), truth = core_type(p, stm->outs[0]);
        ScalarType elem = (ScalarType)type.elem;
        CoreRef above[] = {x, core_const(p, elem, low)};
        CoreRef sides[] = {core_emit(&rw->builder, OP_SUB, above, 2, &type, 1)->outs[0],
                           core_const(p, elem, high - low)};
        return replace(rw, stm,
                       core_emit(&rw->builder, OP_LE, sides, 2, &truth, 1)->outs[0]);
    }
    return false;
}

static bool visit_scalar(Rewrite *rw, CoreStm *stm) {
    const CoreProgram *p = rw->program;
    uint64_t args[3], result;
    if (visit_range(rw, stm)) return true;
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

// ---- tables -------------------------------------------------------------------------

enum { MOST_TABLE_BYTES = 1 << 16 }; // rows that share rows could be many more

// Appends the elements of a value that is known: a scalar, or a literal, reshaped or
// not.
static bool add_known(const Rewrite *rw, CoreRef ref, StrBuf *bytes) {
    const CoreProgram *p = rw->program;
    const CoreStm *def = rewrite_def(rw, ref);
    if (core_is_const(p, ref)) {
        for (unsigned i = 0; i < scalar_info[core_type(p, ref).elem].bytes; i++)
            strbuf_char(bytes, (char)(p->values.data[ref].bits >> (8 * i)));
        return true;
    }
    if (def != NULL && def->op == OP_RESHAPE) def = rewrite_def(rw, def->args[0]);
    if (def == NULL || def->op != OP_LITERAL) return false;
    strbuf_str(bytes, def->text);
    return bytes->len <= MOST_TABLE_BYTES;
}

// The sizes of a row that is a literal, reshaped or not, are constants and follow in
// `shape`; false: they are not.
static bool add_shape(Rewrite *rw, CoreRef row, CoreRef *shape) {
    CoreProgram *p = rw->program;
    const CoreStm *def = rewrite_def(rw, row);
    uint32_t rank = core_type(p, row).rank;
    if (rank == 0) return true;
    if (def->op == OP_LITERAL) {
        size_t size = scalar_info[core_type(p, row).elem].bytes;
        shape[0] = core_i64(p, (int64_t)(def->text.len / size));
        return true;
    }
    for (uint32_t d = 0; d < rank; d++) {
        shape[d] = def->args[1 + d];
        if (!core_is_const(p, shape[d])) return false;
    }
    return true;
}

static bool visit_array(Rewrite *rw, CoreStm *stm) {
    CoreProgram *p = rw->program;
    CoreType type = core_type(p, stm->outs[0]);
    CoreRef first[CORE_MAX_RANK] = {0}, shape[CORE_MAX_RANK] = {0};
    StrBuf bytes = strbuf(p->arena);
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        if (!add_known(rw, stm->args[i], &bytes) ||
            !add_shape(rw, stm->args[i], i == 0 ? first : shape))
            return false;
        for (uint32_t d = 0; i > 0 && d + 1 < type.rank; d++)
            if (shape[d] != first[d]) return false;
    }
    CoreType flat = {type.elem, 1};
    CoreStm *literal = core_emit(&rw->builder, OP_LITERAL, NULL, 0, &flat, 1);
    literal->text = strbuf_done(&bytes);
    if (type.rank == 1) return replace(rw, stm, literal->outs[0]);
    CoreRef args[CORE_MAX_RANK + 1] = {literal->outs[0], core_i64(p, stm->arg_count)};
    for (uint32_t d = 0; d + 1 < type.rank; d++) args[2 + d] = first[d];
    CoreStm *table =
        core_emit(&rw->builder, OP_RESHAPE, args, 1u + type.rank, &type, 1);
    return replace(rw, stm, table->outs[0]);
}

// ---- control ------------------------------------------------------------------------

// Whether the result was used when this round began. Unused ones must not be given
// new statements, or the rounds would never end.
static bool is_used(const Rewrite *rw, const CoreStm *stm, uint32_t out) {
    return stm->outs[out] < rw->use_count && rw->uses[stm->outs[out]] > 0;
}

static bool is_int_const(const CoreProgram *p, CoreRef ref, uint64_t bits) {
    const CoreValue *v = &p->values.data[ref];
    return v->is_const && v->type.elem != SCALAR_BOOL && v->bits == bits &&
           !scalar_is_float((ScalarType)v->type.elem);
}

// A choice of 1 or 0 is the condition as a number, which is how sums count.
static void find_number(Rewrite *rw, const CoreStm *stm, uint32_t out) {
    const CoreProgram *p = rw->program;
    CoreRef yes = stm->bodies[0]->results[out], no = stm->bodies[1]->results[out];
    bool is_it = is_int_const(p, yes, 1) && is_int_const(p, no, 0);
    bool is_other = is_int_const(p, yes, 0) && is_int_const(p, no, 1);
    if ((!is_it && !is_other) || !is_used(rw, stm, out)) return;
    CoreRef holds = stm->args[0];
    if (is_other) holds = core_op1(&rw->builder, OP_NOT, holds);
    ScalarType type = (ScalarType)core_type(p, yes).elem;
    rewrite_set(rw, stm->outs[out], core_conv(&rw->builder, OP_CONV, holds, type));
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
        if (!p->is_stage0) find_number(rw, stm, i);
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
    case OP_ARRAY: return visit_array(rw, stm);
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
