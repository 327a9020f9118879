// SPDX-License-Identifier: Apache-2.0
//
// Expressions. Evaluating one gives its Value and emits what must run into the
// innermost open body. Chains of lets are a loop here, not a recursion.
#include <string.h>

#include "lower/internal.h"

CoreRef lower_eval_ref(Lower *l, Frame *frame, const TExp *exp) {
    return lower_value_ref(lower_eval(l, frame, exp));
}

static Value **eval_all(Lower *l, Frame *frame, const TExpVec *exps) {
    Value **values = arena_array(l->arena, Value *, exps->len);
    for (uint32_t i = 0; i < exps->len; i++)
        values[i] = lower_eval(l, frame, exps->data[i]);
    return values;
}

// ---- literals ---------------------------------------------------------------------

static Value *eval_lit(Lower *l, const Frame *frame, const TExp *exp) {
    const Layout *layout = lower_layout_of(l, frame, exp->type);
    CoreRef ref = core_const(l->program, layout->scalar, exp->as.lit.bits);
    return lower_value_leaves(l, layout, &ref);
}

static CoreRef emit_literal(Lower *l, ScalarType elem, Str data) {
    CoreType type = {(uint8_t)elem, 1};
    CoreStm *stm = lower_emit(l, OP_LITERAL, NULL, 0, &type, 1);
    stm->text = data;
    int64_t count = (int64_t)(data.len / scalar_info[elem].bytes);
    lower_ref_set_dim(l, stm->outs[0], 0, lower_emit_i64(l, count));
    return stm->outs[0];
}

static Value *eval_string(Lower *l, const TExp *exp) {
    CoreRef leaf = emit_literal(l, SCALAR_U8, str_copy(l->arena, exp->as.string));
    return lower_value_leaves(
        l, lower_layout_array(l, lower_layout_scalar(l, SCALAR_U8)), &leaf);
}

// The bytes of constant elements; an empty text if some is no constant.
static Str constant_bytes(Lower *l, const CoreRef *refs, uint32_t count) {
    CoreType type = lower_ref_type(l, refs[0]);
    if (type.rank > 0) return STR("");
    unsigned size = scalar_info[type.elem].bytes;
    char *bytes = arena_alloc(l->arena, (size_t)count * size);
    for (uint32_t i = 0; i < count; i++) {
        const CoreValue *value = &l->program->values.data[refs[i]];
        if (!value->is_const) return STR("");
        for (unsigned b = 0; b < size; b++)
            bytes[(size_t)i * size + b] = (char)(value->bits >> (8 * b));
    }
    return (Str){bytes, (size_t)count * size};
}

static CoreRef emit_array(Lower *l, const CoreRef *refs, uint32_t count) {
    CoreType type = lower_ref_type(l, refs[0]);
    Str bytes = constant_bytes(l, refs, count);
    if (bytes.len > 0) return emit_literal(l, (ScalarType)type.elem, bytes);
    type.rank++;
    CoreRef result = lower_emit_one(l, OP_ARRAY, refs, count, type);
    lower_ref_set_dim(l, result, 0, lower_emit_i64(l, count));
    lower_ref_copy_dims(l, result, 1, refs[0], 0, type.rank - 1u);
    return result;
}

static Value *empty_array(Lower *l, Frame *frame, const TExp *exp) {
    LType type = lower_ltype_of(l, frame, exp->type);
    const CoreRef *dims = type.dims;
    CoreRefs leaves = {0};
    for (uint32_t i = 0; i < type.layout->leaf_count; i++) {
        CoreType leaf = type.layout->leaves[i];
        CoreRef *own = arena_copy(l->arena, dims, leaf.rank * sizeof *own);
        own[0] = lower_emit_i64(l, 0);
        CoreRef ref = leaf.rank == 1 ? emit_literal(l, (ScalarType)leaf.elem, STR(""))
                                     : lower_emit_zero(l, leaf, own);
        vec_push(l->arena, &leaves, ref);
        dims += leaf.rank;
    }
    return lower_value_leaves(l, type.layout, leaves.data);
}

static Value *eval_array(Lower *l, Frame *frame, const TExp *exp) {
    uint32_t count = exp->as.items.len;
    if (count == 0) return empty_array(l, frame, exp);
    Value **items = eval_all(l, frame, &exp->as.items);
    lower_at(l, exp->span);
    const Layout *elem = lower_value_layout(l, items[0]);
    CoreRef **rows = arena_array(l->arena, CoreRef *, count);
    for (uint32_t i = 0; i < count; i++) rows[i] = lower_value_refs(l, items[i]).data;
    CoreRef *column = arena_array(l->arena, CoreRef, count);
    CoreRefs leaves = {0};
    for (uint32_t leaf = 0; leaf < elem->leaf_count; leaf++) {
        for (uint32_t i = 0; i < count; i++) column[i] = rows[i][leaf];
        vec_push(l->arena, &leaves, emit_array(l, column, count));
    }
    return lower_value_leaves(l, lower_layout_array(l, elem), leaves.data);
}

// ---- bindings ---------------------------------------------------------------------

static void eval_let(Lower *l, Frame *frame, const TExp *exp) {
    TPat *pat = exp->as.let.pat;
    const TExp *bound = exp->as.let.exp;
    const Binding *name = pat->kind == TPAT_NAME ? pat->as.name : NULL;
    bool is_function = bound->kind == TEXP_LAMBDA;
    if (name != NULL && (name->type_params.len > 0 || name->size_params.len > 0)) {
        FnInfo *info = is_function ? lower_fn_info(l, name) : NULL;
        lower_frame_bind(l, frame, name, lower_value_general(l, bound, frame, info));
        return;
    }
    Value *value = lower_eval(l, frame, bound);
    if (name != NULL && is_function) value->as.fun->info = lower_fn_info(l, name);
    lower_at(l, pat->span);
    if (value->kind != VALUE_FUN)
        lower_sizes_bind(l, frame, bound->type, value, STR("it"));
    lower_pats_bind(l, frame, &exp->as.let.sizes, &pat, &value, 1, (Subject){"", 0});
}

static Value *eval_lambda(Lower *l, Frame *frame, const TExp *exp) {
    return lower_value_fun(l, (Fun){.lambda = exp, .frame = frame});
}

// ---- records and constructors -----------------------------------------------------

static Value *update_path(Lower *l, const Value *record, const uint32_t *path,
                          uint32_t len, Value *value) {
    if (len == 0) return value;
    uint32_t count = record->kind == VALUE_RECORD
                         ? record->as.record.count
                         : record->as.leaves.layout->part_count;
    Value **items = arena_array(l->arena, Value *, count);
    for (uint32_t i = 0; i < count; i++) items[i] = lower_value_field(l, record, i);
    items[path[0]] = update_path(l, items[path[0]], path + 1, len - 1, value);
    return lower_value_record(l, items, count);
}

static Value *eval_record_update(Lower *l, Frame *frame, const TExp *exp) {
    Value *record = lower_eval(l, frame, exp->as.record_update.exp);
    Value *value = lower_eval(l, frame, exp->as.record_update.value);
    return update_path(l, record, exp->as.record_update.path.data,
                       exp->as.record_update.path.len, value);
}

static Value *eval_ctor(Lower *l, Frame *frame, const TExp *exp) {
    Value **args = eval_all(l, frame, &exp->as.ctor.args);
    lower_at(l, exp->span);
    LType type = lower_ltype_of(l, frame, exp->type);
    return lower_value_ctor(l, type, exp->as.ctor.index, args, exp->as.ctor.args.len);
}

// ---- checks and attributes --------------------------------------------------------

static Value *eval_coerce(Lower *l, Frame *frame, const TExp *exp) {
    Value *value = lower_eval(l, frame, exp->as.inner);
    lower_at(l, exp->span);
    Str text = lower_text(l, exp->as.inner->span);
    bool is_short =
        text.len > 0 && text.len <= 40 && memchr(text.ptr, '\n', text.len) == NULL;
    Str what = is_short ? lower_format(l, "`%.*s`", STR_ARG(text)) : STR("this value");
    return lower_sizes_check(l, frame, exp->type, value, what);
}

static Value *eval_assert(Lower *l, Frame *frame, const TExp *exp) {
    CoreRef cond = lower_eval_ref(l, frame, exp->as.assert_exp.cond);
    lower_at(l, exp->span);
    Str text = lower_format(l, "assertion failed: %.*s",
                            STR_ARG(lower_quotable(l, exp->as.assert_exp.text)));
    CoreRef token = lower_emit_check(l, cond, text, NULL, 0);
    return lower_value_guard(l, lower_eval(l, frame, exp->as.assert_exp.body), token);
}

static Value *eval_hole(Lower *l, Frame *frame, const TExp *exp) {
    lower_at(l, exp->span);
    LType type = lower_ltype_of(l, frame, exp->type);
    if (type.layout->has_fun) lower_fail(l, LOWER_UNSUPPORTED, STR("a function hole"));
    CoreRef never = core_bool(l->program, false);
    CoreRef token = lower_emit_check(l, never, STR("a hole was reached"), NULL, 0);
    return lower_value_guard(l, lower_value_zero(l, &type), token);
}

static Value *trace(Lower *l, const Value *value) {
    CoreRefs leaves = lower_value_refs(l, value);
    for (uint32_t i = 0; i < leaves.len; i++) {
        CoreRef leaf = leaves.data[i];
        leaves.data[i] = lower_emit_one(l, OP_TRACE, &leaf, 1, lower_ref_type(l, leaf));
        lower_ref_copy_dims(l, leaves.data[i], 0, leaf, 0,
                            lower_ref_type(l, leaf).rank);
    }
    return lower_value_leaves(l, lower_value_layout(l, value), leaves.data);
}

static Value *eval_attr(Lower *l, Frame *frame, const TExp *exp) {
    Str name = lower_name(l, exp->as.attr.name);
    uint8_t flags = l->now.b.flags;
    if (str_eq(name, STR("unsafe"))) l->now.b.flags |= STM_UNSAFE;
    Value *value = lower_eval(l, frame, exp->as.attr.exp);
    l->now.b.flags = flags;
    if (!str_eq(name, STR("trace"))) return value;
    lower_at(l, exp->span);
    return trace(l, value);
}

// ---- applications -----------------------------------------------------------------

// What an application or a logical operator evaluates first, or NULL.
static const TExp *first_operand(const TExp *exp) {
    if (exp->kind == TEXP_APPLY && exp->as.apply.args.len > 0)
        return exp->as.apply.args.data[0];
    if (exp->kind == TEXP_AND || exp->kind == TEXP_OR) return exp->as.logic.left;
    return NULL;
}

static Value *apply_to(Lower *l, Frame *frame, const TExp *exp, Value *first) {
    if (exp->kind != TEXP_APPLY) return lower_eval_logic(l, frame, exp, first);
    const TExpVec *exps = &exp->as.apply.args;
    Value *fun = lower_eval(l, frame, exp->as.apply.fun);
    Value **args = arena_array(l->arena, Value *, exps->len);
    args[0] = first;
    for (uint32_t i = 1; i < exps->len; i++)
        args[i] = lower_eval(l, frame, exps->data[i]);
    return lower_apply(l, fun, args, exps->len, exp->span);
}

// Chains such as a + b + c + ... may be long, and their first operand is the deep one.
static Value *eval_chain(Lower *l, Frame *frame, const TExp *exp) {
    enum { FEW = 8 };
    const TExp *few[FEW], *first = exp;
    struct {
        const TExp **data;
        uint32_t len, cap;
    } chain = {few, 0, FEW};
    for (; first_operand(first) != NULL; first = first_operand(first))
        vec_push(l->arena, &chain, first);
    Value *value = lower_eval(l, frame, first);
    while (chain.len > 0) value = apply_to(l, frame, chain.data[--chain.len], value);
    return value;
}

// ---- all --------------------------------------------------------------------------

Value *lower_eval(Lower *l, Frame *frame, const TExp *exp) {
    if (stack_is_low(&l->cx->stack)) lower_too_large(l, LOWER_TOO_DEEP);
    while (exp->kind == TEXP_LET) {
        eval_let(l, frame, exp);
        exp = exp->as.let.body;
    }
    switch (exp->kind) {
    case TEXP_LIT: return eval_lit(l, frame, exp);
    case TEXP_STRING: lower_at(l, exp->span); return eval_string(l, exp);
    case TEXP_VAR: return lower_eval_var(l, frame, exp);
    case TEXP_RECORD:
        return lower_value_record(l, eval_all(l, frame, &exp->as.items),
                                  exp->as.items.len);
    case TEXP_ARRAY: return eval_array(l, frame, exp);
    case TEXP_FIELD:
        return lower_value_field(l, lower_eval(l, frame, exp->as.field.exp),
                                 exp->as.field.index);
    case TEXP_INDEX: return lower_eval_index(l, frame, exp);
    case TEXP_APPLY:
    case TEXP_AND:
    case TEXP_OR: return eval_chain(l, frame, exp);
    case TEXP_LAMBDA: return eval_lambda(l, frame, exp);
    case TEXP_IF: return lower_eval_if(l, frame, exp);
    case TEXP_LOOP: return lower_eval_loop(l, frame, exp);
    case TEXP_RANGE: return lower_eval_range(l, frame, exp);
    case TEXP_UPDATE: return lower_eval_update(l, frame, exp);
    case TEXP_RECORD_UPDATE: return eval_record_update(l, frame, exp);
    case TEXP_COERCE: return eval_coerce(l, frame, exp);
    case TEXP_ASSERT: return eval_assert(l, frame, exp);
    case TEXP_CTOR: return eval_ctor(l, frame, exp);
    case TEXP_MATCH: return lower_eval_match(l, frame, exp);
    case TEXP_HOLE: return eval_hole(l, frame, exp);
    case TEXP_ATTR: return eval_attr(l, frame, exp);
    case TEXP_LET: break;
    }
    return NULL;
}
