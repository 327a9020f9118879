// SPDX-License-Identifier: Apache-2.0
//
// Values while lowering: making them, taking them apart, and flattening them to the
// core values that carry them at run time.
#include "lower/internal.h"

static Value *new_value(Lower *l, ValueKind kind) {
    Value *value = arena_new(l->arena, Value);
    value->kind = kind;
    return value;
}

Value *lower_value_leaves(Lower *l, const Layout *layout, const CoreRef *refs) {
    Value *value = new_value(l, VALUE_LEAVES);
    value->as.leaves.layout = layout;
    value->as.leaves.refs =
        arena_copy(l->arena, refs, layout->leaf_count * sizeof *refs);
    return value;
}

Value *lower_value_scalar(Lower *l, CoreRef ref) {
    ScalarType type = (ScalarType)lower_ref_type(l, ref).elem;
    return lower_value_leaves(l, lower_layout_scalar(l, type), &ref);
}

Value *lower_value_record(Lower *l, Value *const *items, uint32_t count) {
    Value *value = new_value(l, VALUE_RECORD);
    value->as.record.count = count;
    value->as.record.items = arena_array(l->arena, Value *, count);
    for (uint32_t i = 0; i < count; i++) value->as.record.items[i] = items[i];
    return value;
}

Value *lower_value_ctor(Lower *l, LType type, uint32_t index, Value *const *args,
                        uint32_t count) {
    Value *value = new_value(l, VALUE_CTOR);
    value->as.ctor.type = type;
    value->as.ctor.index = index;
    value->as.ctor.count = count;
    value->as.ctor.args = arena_array(l->arena, Value *, count);
    for (uint32_t i = 0; i < count; i++) value->as.ctor.args[i] = args[i];
    return value;
}

Value *lower_value_fun(Lower *l, Fun fun) {
    Value *value = new_value(l, VALUE_FUN);
    value->as.fun = arena_copy(l->arena, &fun, sizeof fun);
    return value;
}

Value *lower_value_general(Lower *l, const TExp *exp, Frame *frame, FnInfo *info) {
    Value *value = new_value(l, VALUE_GENERAL);
    value->as.general.exp = exp;
    value->as.general.frame = frame;
    value->as.general.info = info;
    return value;
}

Value *lower_value_fresh(Lower *l, const Layout *layout, Sym name, CoreRefs *refs) {
    uint32_t first = refs->len;
    for (uint32_t i = 0; i < layout->leaf_count; i++)
        vec_push(l->arena, refs, core_value(l->program, layout->leaves[i], name));
    return lower_value_leaves(l, layout, refs->data + first);
}

// ---- taking apart -----------------------------------------------------------------

const Layout *lower_value_layout(Lower *l, const Value *value) {
    switch (value->kind) {
    case VALUE_LEAVES: return value->as.leaves.layout;
    case VALUE_RECORD: {
        uint32_t count = value->as.record.count;
        const Layout **parts = arena_array(l->arena, const Layout *, count);
        for (uint32_t i = 0; i < count; i++)
            parts[i] = lower_value_layout(l, value->as.record.items[i]);
        return lower_layout_record(l, parts, count);
    }
    case VALUE_CTOR: return value->as.ctor.type.layout;
    case VALUE_FUN:
    case VALUE_GENERAL: break;
    }
    return lower_layout_fun(l);
}

CoreRef lower_value_ref(const Value *value) {
    return value->as.leaves.refs[0];
}

static uint32_t first_leaf(const Layout *record, uint32_t part) {
    uint32_t leaf = 0;
    for (uint32_t i = 0; i < part; i++) leaf += record->parts[i]->leaf_count;
    return leaf;
}

Value *lower_value_field(Lower *l, const Value *value, uint32_t index) {
    if (value->kind == VALUE_RECORD) return value->as.record.items[index];
    const Layout *record = value->as.leaves.layout;
    const CoreRef *refs = value->as.leaves.refs + first_leaf(record, index);
    return lower_value_leaves(l, record->parts[index], refs);
}

CoreRef lower_value_tag(Lower *l, const Value *value) {
    if (value->kind == VALUE_CTOR)
        return core_const(l->program, SCALAR_U8, value->as.ctor.index);
    return value->as.leaves.refs[0];
}

Value *lower_value_payload(Lower *l, const Value *value, uint32_t ctor,
                           uint32_t index) {
    if (value->kind == VALUE_CTOR && value->as.ctor.index == ctor)
        return value->as.ctor.args[index];
    // A payload that a known constructor does not have is never used.
    if (value->kind == VALUE_CTOR) {
        CoreRefs refs = lower_value_refs(l, value);
        value = lower_value_leaves(l, value->as.ctor.type.layout, refs.data);
    }
    const Layout *sum = value->as.leaves.layout;
    const Layout *payload = sum->parts[ctor];
    uint32_t first = first_leaf(payload, index);
    CoreRefs refs = {0};
    for (uint32_t i = 0; i < payload->parts[index]->leaf_count; i++)
        vec_push(l->arena, &refs, value->as.leaves.refs[sum->slots[ctor][first + i]]);
    return lower_value_leaves(l, payload->parts[index], refs.data);
}

// ---- flattening -------------------------------------------------------------------

static void flatten_ctor(Lower *l, const Value *value, CoreRefs *out) {
    const LType *type = &value->as.ctor.type;
    const Layout *sum = type->layout;
    CoreRefs payload = {0};
    CoreRef *refs = arena_array(l->arena, CoreRef, sum->leaf_count);
    for (uint32_t i = 0; i < value->as.ctor.count; i++)
        lower_value_flatten(l, value->as.ctor.args[i], &payload);
    refs[0] = lower_value_tag(l, value);
    for (uint32_t i = 0; i < payload.len; i++)
        refs[sum->slots[value->as.ctor.index][i]] = payload.data[i];
    const CoreRef *dims = type->dims;
    for (uint32_t i = 0; i < sum->leaf_count; i++) {
        if (refs[i] == 0) refs[i] = lower_emit_zero(l, sum->leaves[i], dims);
        if (dims != NULL) dims += sum->leaves[i].rank;
        vec_push(l->arena, out, refs[i]);
    }
}

void lower_value_flatten(Lower *l, const Value *value, CoreRefs *out) {
    switch (value->kind) {
    case VALUE_LEAVES:
        for (uint32_t i = 0; i < value->as.leaves.layout->leaf_count; i++)
            vec_push(l->arena, out, value->as.leaves.refs[i]);
        return;
    case VALUE_RECORD:
        for (uint32_t i = 0; i < value->as.record.count; i++)
            lower_value_flatten(l, value->as.record.items[i], out);
        if (value->as.record.count == 0)
            vec_push(l->arena, out, core_bool(l->program, false));
        return;
    case VALUE_CTOR: flatten_ctor(l, value, out); return;
    case VALUE_FUN:
    case VALUE_GENERAL:
        lower_fail(l, LOWER_FUNCTION, STR("a value of the running program"));
    }
}

CoreRefs lower_value_refs(Lower *l, const Value *value) {
    CoreRefs refs = {0};
    lower_value_flatten(l, value, &refs);
    return refs;
}

// ---- guards, sizes and zeros ------------------------------------------------------

static Value *guard_items(Lower *l, const Value *value, CoreRef token) {
    Value *copy = arena_copy(l->arena, value, sizeof *value);
    bool is_record = value->kind == VALUE_RECORD;
    uint32_t count = is_record ? value->as.record.count : value->as.ctor.count;
    Value **from = is_record ? value->as.record.items : value->as.ctor.args;
    Value **items = arena_array(l->arena, Value *, count);
    for (uint32_t i = 0; i < count; i++)
        items[i] = lower_value_guard(l, from[i], token);
    if (is_record) copy->as.record.items = items;
    else copy->as.ctor.args = items;
    return copy;
}

static Value *guard_fun(Lower *l, const Value *value, CoreRef token) {
    Fun fun = *value->as.fun;
    CoreRef *tokens = arena_array(l->arena, CoreRef, fun.token_count + 1);
    for (uint32_t i = 0; i < fun.token_count; i++) tokens[i] = fun.tokens[i];
    tokens[fun.token_count++] = token;
    fun.tokens = tokens;
    return lower_value_fun(l, fun);
}

Value *lower_value_guard(Lower *l, Value *value, CoreRef token) {
    if (token == 0) return value;
    const Layout *layout = lower_value_layout(l, value);
    if (value->kind == VALUE_RECORD && value->as.record.count > 0)
        return guard_items(l, value, token);
    if (value->kind == VALUE_CTOR && layout->has_fun)
        return guard_items(l, value, token);
    if (value->kind == VALUE_FUN) return guard_fun(l, value, token);
    if (value->kind == VALUE_GENERAL) return value;
    CoreRefs refs = lower_value_refs(l, value);
    for (uint32_t i = 0; i < refs.len; i++)
        refs.data[i] = lower_emit_guard(l, refs.data[i], token);
    return lower_value_leaves(l, layout, refs.data);
}

void lower_value_set_dims(Lower *l, const Value *value, const LType *type) {
    const CoreRef *dim = type->dims;
    if (dim == NULL) return;
    for (uint32_t i = 0; i < type->layout->leaf_count; i++) {
        CoreRef ref = value->as.leaves.refs[i];
        for (uint32_t axis = 0; axis < type->layout->leaves[i].rank; axis++, dim++)
            if (lower_ref_known_dim(l, ref, axis) == 0)
                lower_ref_set_dim(l, ref, axis, *dim);
    }
}

Value *lower_value_zero(Lower *l, const LType *type) {
    const CoreRef *dims = type->dims;
    CoreRefs refs = {0};
    for (uint32_t i = 0; i < type->layout->leaf_count; i++) {
        vec_push(l->arena, &refs, lower_emit_zero(l, type->layout->leaves[i], dims));
        if (dims != NULL) dims += type->layout->leaves[i].rank;
    }
    return lower_value_leaves(l, type->layout, refs.data);
}
