// SPDX-License-Identifier: Apache-2.0
//
// Control: if, && and ||, match, loops. Their results are flattened: what comes out of
// a branch or an iteration is known only when the program runs.
#include "lower/internal.h"

// ---- branches ---------------------------------------------------------------------

typedef struct Branch {
    CoreBody *body;
    const Layout *layout;
    CoreRef *dims;    // of the results, where bound outside the branch
    CoreRef *origins; // of these, those unguarded
} Branch;

static Branch close_branch(Lower *l, Mark mark, const Value *value) {
    Branch branch = {.layout = lower_value_layout(l, value)};
    if (branch.layout->has_fun)
        lower_fail(l, LOWER_FUNCTION, STR("the result of a condition"));
    CoreRefs results = lower_value_refs(l, value);
    branch.dims = arena_array(l->arena, CoreRef, branch.layout->dim_count);
    branch.origins = arena_array(l->arena, CoreRef, branch.layout->dim_count);
    for (uint32_t i = 0, d = 0; i < results.len; i++)
        for (uint32_t axis = 0; axis < branch.layout->leaves[i].rank; axis++, d++) {
            CoreRef dim = lower_ref_known_dim(l, results.data[i], axis);
            branch.dims[d] = lower_body_outer(l, mark, dim);
            branch.origins[d] = lower_body_outer(l, mark, lower_ref_origin(l, dim));
        }
    branch.body = lower_body_close(l, mark, results.data, results.len);
    return branch;
}

// Sizes that agree once they are checked are known, but only the array says that they
// were.
static void join_dim(Lower *l, CoreRef array, uint32_t axis, const Branch *yes,
                     const Branch *no, uint32_t d) {
    CoreRef dim = yes->dims[d], origin = yes->origins[d];
    if (dim != 0 && dim == no->dims[d]) {
        lower_ref_set_dim(l, array, axis, dim);
    } else if (origin != 0 && origin == no->origins[d]) {
        dim = lower_ref_dim(l, array, axis);
        lower_ref_info(l, dim)->origin = origin;
    }
}

static Value *join(Lower *l, CoreRef cond, const Branch *yes, const Branch *no) {
    const Layout *layout = yes->layout;
    if (layout != no->layout)
        lower_fail(l, LOWER_UNSUPPORTED, STR("a condition with such results"));
    CoreStm *stm = lower_emit(l, OP_IF, &cond, 1, layout->leaves, layout->leaf_count);
    core_set_bodies(&l->now.b, stm, (CoreBody *[]){yes->body, no->body}, 2);
    for (uint32_t i = 0, d = 0; i < layout->leaf_count; i++)
        for (uint32_t axis = 0; axis < layout->leaves[i].rank; axis++, d++)
            join_dim(l, stm->outs[i], axis, yes, no, d);
    return lower_value_leaves(l, layout, stm->outs);
}

static Branch eval_branch(Lower *l, Frame *frame, const TExp *exp) {
    Mark mark = lower_body_open(l, NULL, 0);
    return close_branch(l, mark, lower_eval(l, lower_frame_new(l, frame), exp));
}

Value *lower_eval_if(Lower *l, Frame *frame, const TExp *exp) {
    CoreRef cond = lower_eval_ref(l, frame, exp->as.if_exp.cond);
    const TExp *yes_exp = exp->as.if_exp.then_exp, *no_exp = exp->as.if_exp.else_exp;
    int64_t known = 0;
    if (lower_ref_is_const(l, cond, &known))
        return lower_eval(l, lower_frame_new(l, frame), known != 0 ? yes_exp : no_exp);
    Branch yes = eval_branch(l, frame, yes_exp);
    Branch no = eval_branch(l, frame, no_exp);
    lower_at(l, exp->span);
    return join(l, cond, &yes, &no);
}

// ---- && and || --------------------------------------------------------------------

enum { TINY = 8 }; // statements that may as well be evaluated in any case

static bool is_tiny(const Lower *l, const CoreBody *body) {
    if (body->stms.len > TINY) return false;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        CoreOpKind kind = core_op_info[stm->op].kind;
        bool is_cheap = kind == KIND_SCALAR1 || kind == KIND_SCALAR2 ||
                        kind == KIND_SCALAR3 || stm->op == OP_DIM;
        if (!is_cheap || lower_stm_may_fail(l->program, stm)) return false;
    }
    return true;
}

Value *lower_eval_logic(Lower *l, Frame *frame, const TExp *exp, const Value *first) {
    bool is_and = exp->kind == TEXP_AND;
    CoreRef left = lower_value_ref(first);
    int64_t known = 0;
    if (lower_ref_is_const(l, left, &known))
        return (known != 0) == is_and ? lower_eval(l, frame, exp->as.logic.right)
                                      : lower_value_scalar(l, left);
    Mark mark = lower_body_open(l, NULL, 0);
    CoreRef right = lower_eval_ref(l, lower_frame_new(l, frame), exp->as.logic.right);
    CoreBody *body = lower_body_close(l, mark, &right, 1);
    lower_at(l, exp->span);
    if (is_tiny(l, body)) {
        for (uint32_t i = 0; i < body->stms.len; i++)
            core_append(&l->now.b, body->stms.data[i]);
        CoreRef both = lower_emit_scalar2(l, is_and ? OP_AND : OP_OR, left, right);
        return lower_value_scalar(l, both);
    }
    CoreRef other = core_bool(l->program, !is_and);
    mark = lower_body_open(l, NULL, 0);
    CoreBody *skip = lower_body_close(l, mark, &other, 1);
    CoreType type = {SCALAR_BOOL, 0};
    CoreStm *stm = lower_emit(l, OP_IF, &left, 1, &type, 1);
    core_set_bodies(&l->now.b, stm,
                    (CoreBody *[]){is_and ? body : skip, is_and ? skip : body}, 2);
    return lower_value_scalar(l, stm->outs[0]);
}

// ---- match ------------------------------------------------------------------------

static Value *eval_case(Lower *l, Frame *frame, const TCase *taken, Value *value) {
    Frame *inner = lower_frame_new(l, frame);
    TPat *pat = taken->pat;
    lower_at(l, taken->span);
    lower_pats_bind(l, inner, NULL, &pat, &value, 1, (Subject){"", 0});
    return lower_eval(l, inner, taken->body);
}

static Value *match_from(Lower *l, Frame *frame, const TExp *exp, Value *value,
                         uint32_t first) {
    if (stack_is_low(&l->cx->stack)) lower_too_large(l, LOWER_TOO_DEEP);
    uint32_t last = exp->as.match.cases.len - 1;
    for (uint32_t i = first; i < last; i++) {
        const TCase *tried = &exp->as.match.cases.data[i];
        lower_at(l, tried->span);
        CoreRef cond = lower_pat_test(l, frame, tried->pat, value);
        int64_t known = 0;
        bool is_known = lower_ref_is_const(l, cond, &known);
        if (is_known && known != 0) return eval_case(l, frame, tried, value);
        if (is_known) continue;
        Mark mark = lower_body_open(l, NULL, 0);
        Branch yes = close_branch(l, mark, eval_case(l, frame, tried, value));
        mark = lower_body_open(l, NULL, 0);
        Branch no = close_branch(l, mark, match_from(l, frame, exp, value, i + 1));
        lower_at(l, tried->span);
        return join(l, cond, &yes, &no);
    }
    return eval_case(l, frame, &exp->as.match.cases.data[last], value);
}

Value *lower_eval_match(Lower *l, Frame *frame, const TExp *exp) {
    Value *value = lower_eval(l, frame, exp->as.match.exp);
    lower_at(l, exp->span);
    if (value->kind != VALUE_FUN)
        lower_sizes_bind(l, frame, exp->as.match.exp->type, value, STR("it"));
    return match_from(l, frame, exp, value, 0);
}

// ---- loops ------------------------------------------------------------------------

typedef struct Loop {
    const TExp *exp;
    Frame *frame; // around the loop
    LType type;   // of the state; sizes that vary are unknown
} Loop;

// The state as parameters of a body, and the pattern bound to it in a new frame.
static Value *fresh_state(Lower *l, const Loop *loop, CoreRefs *params) {
    Value *state = lower_value_fresh(l, loop->type.layout, 0, params);
    lower_value_set_dims(l, state, &loop->type);
    return state;
}

static void bind_state(Lower *l, const Loop *loop, Frame *inner, Value *state) {
    TPat *pat = loop->exp->as.loop.pat;
    lower_at(l, pat->span);
    lower_sizes_bind(l, inner, pat->type, state, STR("the loop's state"));
    lower_pats_bind(l, inner, &loop->exp->as.loop.sizes, &pat, &state, 1,
                    (Subject){"", 0});
}

// Evaluates the body and closes it with the next state.
static CoreBody *close_iteration(Lower *l, const Loop *loop, Frame *inner, Mark mark) {
    const TExp *exp = loop->exp;
    Value *next = lower_eval(l, inner, exp->as.loop.body);
    lower_at(l, exp->as.loop.body->span);
    next = lower_sizes_check(l, loop->frame, exp->as.loop.pat->type, next,
                             STR("the next state of the loop"));
    CoreRefs results = lower_value_refs(l, next);
    if (lower_value_layout(l, next) != loop->type.layout)
        lower_fail(l, LOWER_UNSUPPORTED, STR("a loop with such a state"));
    return lower_body_close(l, mark, results.data, results.len);
}

static CoreBody *eval_while_cond(Lower *l, const Loop *loop) {
    CoreRefs params = {0};
    Value *state = fresh_state(l, loop, &params);
    Mark mark = lower_body_open(l, params.data, params.len);
    Frame *inner = lower_frame_new(l, loop->frame);
    bind_state(l, loop, inner, state);
    CoreRef cond = lower_eval_ref(l, inner, loop->exp->as.loop.bound);
    return lower_body_close(l, mark, &cond, 1);
}

static CoreBody *eval_while_body(Lower *l, const Loop *loop) {
    CoreRefs params = {0};
    Value *state = fresh_state(l, loop, &params);
    Mark mark = lower_body_open(l, params.data, params.len);
    Frame *inner = lower_frame_new(l, loop->frame);
    bind_state(l, loop, inner, state);
    return close_iteration(l, loop, inner, mark);
}

static CoreStm *emit_while(Lower *l, const Loop *loop, const CoreRefs *init) {
    const Layout *layout = loop->type.layout;
    CoreBody *bodies[2];
    bodies[0] = eval_while_cond(l, loop);
    bodies[1] = eval_while_body(l, loop);
    lower_at(l, loop->exp->span);
    CoreStm *stm = lower_emit(l, OP_WHILE, init->data, init->len, layout->leaves,
                              layout->leaf_count);
    core_set_bodies(&l->now.b, stm, bodies, 2);
    return stm;
}

// The element of `array` at the index of the loop, which is never out of bounds.
static Value *loop_element(Lower *l, const Value *array, CoreRef index) {
    CoreRefs leaves = lower_value_refs(l, array);
    uint8_t flags = l->now.b.flags;
    l->now.b.flags |= STM_UNSAFE;
    for (uint32_t i = 0; i < leaves.len; i++)
        leaves.data[i] = lower_emit_index(l, leaves.data[i], &index, 1);
    l->now.b.flags = flags;
    return lower_value_leaves(l, lower_value_layout(l, array)->parts[0], leaves.data);
}

static CoreStm *emit_for(Lower *l, const Loop *loop, const CoreRefs *init) {
    const TExp *exp = loop->exp;
    const Value *bound = lower_eval(l, loop->frame, exp->as.loop.bound);
    bool over_array = exp->as.loop.form == TLOOP_IN;
    lower_at(l, exp->as.loop.bound->span);
    CoreRef n = over_array ? lower_ref_dim(l, lower_value_refs(l, bound).data[0], 0)
                           : lower_value_ref(bound);
    CoreRefs params = {0}, args = {0};
    vec_push(l->arena, &params, core_value(l->program, lower_ref_type(l, n), 0));
    CoreRef index = params.data[0];
    Value *state = fresh_state(l, loop, &params);
    Mark mark = lower_body_open(l, params.data, params.len);
    if (lower_ref_type(l, n).elem == SCALAR_I64) lower_ref_is_size(l, index);
    Frame *inner = lower_frame_new(l, loop->frame);
    bind_state(l, loop, inner, state);
    if (over_array) {
        TPat *elem = exp->as.loop.elem;
        lower_at(l, elem->span);
        Value *value = loop_element(l, bound, index);
        lower_pats_bind(l, inner, NULL, &elem, &value, 1, (Subject){"", 0});
    } else {
        lower_ref_name(l, index, exp->as.loop.index->name);
        lower_frame_bind(l, inner, exp->as.loop.index, lower_value_scalar(l, index));
    }
    CoreBody *body = close_iteration(l, loop, inner, mark);
    lower_at(l, exp->span);
    vec_push(l->arena, &args, n);
    for (uint32_t i = 0; i < init->len; i++) vec_push(l->arena, &args, init->data[i]);
    const Layout *layout = loop->type.layout;
    CoreStm *stm =
        lower_emit(l, OP_FOR, args.data, args.len, layout->leaves, layout->leaf_count);
    core_set_bodies(&l->now.b, stm, &body, 1);
    return stm;
}

Value *lower_eval_loop(Lower *l, Frame *frame, const TExp *exp) {
    Value *init = lower_eval(l, frame, exp->as.loop.init);
    Type *type = exp->as.loop.pat->type;
    lower_at(l, exp->as.loop.init->span);
    Loop loop = {exp, frame, lower_ltype_of(l, frame, type)};
    if (loop.type.layout->has_fun)
        lower_fail(l, LOWER_FUNCTION, STR("the state of a loop"));
    init = lower_sizes_check(l, frame, type, init, STR("the first state of the loop"));
    CoreRefs leaves = lower_value_refs(l, init);
    CoreStm *stm = exp->as.loop.form == TLOOP_WHILE ? emit_while(l, &loop, &leaves)
                                                    : emit_for(l, &loop, &leaves);
    Value *result = lower_value_leaves(l, loop.type.layout, stm->outs);
    lower_value_set_dims(l, result, &loop.type);
    return result;
}
