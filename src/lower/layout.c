// SPDX-License-Identifier: Apache-2.0
//
// Layouts and types: a Type of the checker in a Frame becomes a Layout (which leaves)
// and an LType (and how large). Layouts are interned by structure, names left out.
//
// The rules of flattening: a scalar is one leaf; a record its fields' leaves; unit one
// bool, so that an array of units keeps its length; an array its element's leaves with
// one more dimension; a sum a u8 tag and slots for the payloads. Constructors share
// scalar slots of one type. Array slots are not shared: their sizes may differ, and an
// array of such sums would have irregular rows.
#include "lower/internal.h"

static uint64_t structure_hash(LayoutKind kind, const Layout *const *parts,
                               uint32_t count) {
    uint64_t hash = (uint64_t)kind + 1;
    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ parts[i]->id) * 0x9e3779b97f4a7c15u + (hash >> 31);
    return (hash | 1) << 1; // never 0
}

static bool has_structure(const Layout *layout, LayoutKind kind,
                          const Layout *const *parts, uint32_t count) {
    if (layout->kind != kind || layout->part_count != count) return false;
    for (uint32_t i = 0; i < count; i++)
        if (layout->parts[i] != parts[i]) return false;
    return true;
}

static void add_leaves(Layout *layout, const Layout *part, uint32_t more_rank) {
    for (uint32_t i = 0; i < part->leaf_count; i++) {
        CoreType leaf = part->leaves[i];
        leaf.rank = (uint8_t)(leaf.rank + more_rank);
        layout->leaves[layout->leaf_count++] = leaf;
    }
}

static bool same_scalar(CoreType a, CoreType b) {
    return a.rank == 0 && b.rank == 0 && a.elem == b.elem;
}

// The first slot of the leaf's type behind `taken` ones that this payload uses already.
static uint32_t find_slot(Layout *sum, const Layout *payload, uint32_t leaf) {
    uint32_t skip = 0;
    for (uint32_t i = 0; i < leaf; i++)
        skip += same_scalar(payload->leaves[i], payload->leaves[leaf]);
    for (uint32_t slot = 1; slot < sum->leaf_count; slot++)
        if (same_scalar(sum->leaves[slot], payload->leaves[leaf]) && skip-- == 0)
            return slot;
    sum->leaves[sum->leaf_count] = payload->leaves[leaf];
    return sum->leaf_count++;
}

static void lay_out_sum(Lower *l, Layout *sum) {
    if (sum->part_count > 256) lower_fail(l, LOWER_CONSTRUCTORS, STR(""));
    sum->leaves[sum->leaf_count++] = (CoreType){SCALAR_U8, 0};
    sum->slots = arena_array(l->arena, uint32_t *, sum->part_count);
    for (uint32_t c = 0; c < sum->part_count; c++) {
        const Layout *payload = sum->parts[c];
        sum->slots[c] = arena_array(l->arena, uint32_t, payload->leaf_count);
        for (uint32_t i = 0; i < payload->leaf_count; i++)
            sum->slots[c][i] = find_slot(sum, payload, i);
    }
}

static void lay_out(Lower *l, Layout *layout) {
    uint32_t most = 1;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        most += layout->parts[i]->leaf_count;
        layout->has_fun |= layout->parts[i]->has_fun;
    }
    layout->leaves = arena_array(l->arena, CoreType, most);
    switch (layout->kind) {
    case LAYOUT_SCALAR:
        layout->leaves[layout->leaf_count++] = (CoreType){(uint8_t)layout->scalar, 0};
        break;
    case LAYOUT_ARRAY: add_leaves(layout, layout->parts[0], 1); break;
    case LAYOUT_RECORD:
        for (uint32_t i = 0; i < layout->part_count; i++)
            add_leaves(layout, layout->parts[i], 0);
        if (layout->part_count == 0)
            layout->leaves[layout->leaf_count++] = (CoreType){SCALAR_BOOL, 0};
        break;
    case LAYOUT_SUM: lay_out_sum(l, layout); break;
    case LAYOUT_FUN: layout->has_fun = true; break;
    }
    for (uint32_t i = 0; i < layout->leaf_count; i++) {
        if (layout->leaves[i].rank > CORE_MAX_RANK) lower_fail(l, LOWER_RANK, STR(""));
        layout->dim_count += layout->leaves[i].rank;
    }
}

static Layout *add_layout(Lower *l, LayoutKind kind, ScalarType scalar,
                          const Layout *const *parts, uint32_t count) {
    Layout *layout = arena_new(l->arena, Layout);
    layout->kind = kind;
    layout->id = l->layouts.len + 1;
    layout->scalar = scalar;
    layout->part_count = count;
    layout->parts = arena_array(l->arena, const Layout *, count);
    for (uint32_t i = 0; i < count; i++) layout->parts[i] = parts[i];
    lay_out(l, layout);
    vec_push(l->arena, &l->layouts, layout);
    return layout;
}

static const Layout *intern(Lower *l, LayoutKind kind, const Layout *const *parts,
                            uint32_t count) {
    uint64_t key = structure_hash(kind, parts, count), found;
    for (; map_get(&l->layout_index, key, &found); key += 2) {
        const Layout *layout = l->layouts.data[found];
        if (has_structure(layout, kind, parts, count)) return layout;
        if (key + 2 == 0) key += 2;
    }
    const Layout *layout = add_layout(l, kind, SCALAR_BOOL, parts, count);
    map_set(&l->layout_index, key, layout->id - 1);
    return layout;
}

const Layout *lower_layout_scalar(Lower *l, ScalarType scalar) {
    if (l->scalars[scalar] == NULL)
        l->scalars[scalar] = add_layout(l, LAYOUT_SCALAR, scalar, NULL, 0);
    return l->scalars[scalar];
}

const Layout *lower_layout_fun(Lower *l) {
    if (l->fun_layout == NULL)
        l->fun_layout = add_layout(l, LAYOUT_FUN, SCALAR_BOOL, NULL, 0);
    return l->fun_layout;
}

const Layout *lower_layout_array(Lower *l, const Layout *elem) {
    return intern(l, LAYOUT_ARRAY, &elem, 1);
}

const Layout *lower_layout_record(Lower *l, const Layout *const *parts,
                                  uint32_t count) {
    return intern(l, LAYOUT_RECORD, parts, count);
}

// ---- types ------------------------------------------------------------------------

static const Layout *layout_fields(Lower *l, const Frame *frame,
                                   const FieldVec *fields) {
    const Layout **parts = arena_array(l->arena, const Layout *, fields->len);
    for (uint32_t i = 0; i < fields->len; i++)
        parts[i] = lower_layout_of(l, frame, fields->data[i].type);
    return lower_layout_record(l, parts, fields->len);
}

static const Layout *layout_payload(Lower *l, const Frame *frame,
                                    const TypeVec *types) {
    const Layout **parts = arena_array(l->arena, const Layout *, types->len);
    for (uint32_t i = 0; i < types->len; i++)
        parts[i] = lower_layout_of(l, frame, types->data[i]);
    return lower_layout_record(l, parts, types->len);
}

static const Layout *layout_ctors(Lower *l, const Frame *frame, const CtorVec *ctors) {
    const Layout **parts = arena_array(l->arena, const Layout *, ctors->len);
    for (uint32_t i = 0; i < ctors->len; i++)
        parts[i] = layout_payload(l, frame, &ctors->data[i].payload);
    return intern(l, LAYOUT_SUM, parts, ctors->len);
}

const Layout *lower_layout_of(Lower *l, const Frame *frame, Type *type) {
    if (stack_is_low(&l->cx->stack)) lower_too_large(l, LOWER_TOO_DEEP);
    type = type_reveal(type);
    switch (type->kind) {
    case TYPE_SCALAR: return lower_layout_scalar(l, type->as.scalar);
    case TYPE_ARRAY: {
        if (size_resolve(type->as.array.size)->kind == SIZE_RAGGED)
            lower_fail(l, LOWER_UNSUPPORTED, STR("a ragged array"));
        const Layout *elem = lower_layout_of(l, frame, type->as.array.elem);
        if (elem->has_fun) lower_fail(l, LOWER_FUNCTION, STR("stored in an array"));
        return lower_layout_array(l, elem);
    }
    case TYPE_RECORD: return layout_fields(l, frame, &type->as.record);
    case TYPE_SUM: return layout_ctors(l, frame, &type->as.sum);
    case TYPE_FUN: return lower_layout_fun(l);
    case TYPE_VAR: {
        const LType *bound = lower_frame_type(frame, type->as.var);
        // What nothing determines may be anything: unit.
        return bound != NULL ? bound->layout : lower_layout_record(l, NULL, 0);
    }
    case TYPE_ABS: lower_fail(l, LOWER_UNSUPPORTED, STR("a type without a definition"));
    case TYPE_STREAM: lower_fail(l, LOWER_UNSUPPORTED, STR("a stream"));
    }
    return NULL;
}

static void add_dims(Lower *l, const CoreRefs *outer, const CoreRef *own,
                     uint32_t count, CoreRefs *out) {
    for (uint32_t i = 0; i < outer->len; i++) vec_push(l->arena, out, outer->data[i]);
    for (uint32_t i = 0; i < count; i++)
        vec_push(l->arena, out, own != NULL ? own[i] : 0);
}

static void dims_of(Lower *l, Frame *frame, Type *type, CoreRefs *outer, CoreRefs *out);

// A sum's dimensions: those of the tag, then of each slot as its constructor says.
static void sum_dims(Lower *l, Frame *frame, Type *type, const CoreRefs *outer,
                     CoreRefs *out) {
    const Layout *sum = lower_layout_of(l, frame, type);
    CoreRef **own = arena_array(l->arena, CoreRef *, sum->leaf_count);
    for (uint32_t c = 0; c < sum->part_count; c++) {
        CoreRefs payload = {0}, none = {0};
        const TypeVec *types = &type->as.sum.data[c].payload;
        for (uint32_t i = 0; i < types->len; i++)
            dims_of(l, frame, types->data[i], &none, &payload);
        uint32_t next = 0;
        for (uint32_t i = 0; i < sum->parts[c]->leaf_count; i++) {
            own[sum->slots[c][i]] = payload.len == 0 ? NULL : payload.data + next;
            next += sum->parts[c]->leaves[i].rank;
        }
    }
    for (uint32_t i = 0; i < sum->leaf_count; i++)
        add_dims(l, outer, own[i], sum->leaves[i].rank, out);
}

static void var_dims(Lower *l, const Frame *frame, const TypeVar *var,
                     const CoreRefs *outer, CoreRefs *out) {
    const LType *bound = lower_frame_type(frame, var);
    if (bound == NULL) {
        add_dims(l, outer, NULL, 0, out);
        return;
    }
    const CoreRef *own = bound->dims;
    for (uint32_t i = 0; i < bound->layout->leaf_count; i++) {
        add_dims(l, outer, own, bound->layout->leaves[i].rank, out);
        if (own != NULL) own += bound->layout->leaves[i].rank;
    }
}

// Appends the dimensions of every leaf of the type, those of `outer` in front.
static void dims_of(Lower *l, Frame *frame, Type *type, CoreRefs *outer,
                    CoreRefs *out) {
    type = type_reveal(type);
    switch (type->kind) {
    case TYPE_SCALAR: add_dims(l, outer, NULL, 0, out); return;
    case TYPE_ARRAY:
        vec_push(l->arena, outer, lower_size_ref(l, frame, type->as.array.size));
        dims_of(l, frame, type->as.array.elem, outer, out);
        outer->len--;
        return;
    case TYPE_RECORD:
        for (uint32_t i = 0; i < type->as.record.len; i++)
            dims_of(l, frame, type->as.record.data[i].type, outer, out);
        if (type->as.record.len == 0) add_dims(l, outer, NULL, 0, out);
        return;
    case TYPE_SUM: sum_dims(l, frame, type, outer, out); return;
    case TYPE_VAR: var_dims(l, frame, type->as.var, outer, out); return;
    case TYPE_FUN:
    case TYPE_ABS:
    case TYPE_STREAM: return;
    }
}

LType lower_ltype_of(Lower *l, Frame *frame, Type *type) {
    LType result = {.layout = lower_layout_of(l, frame, type)};
    if (result.layout->dim_count == 0) return result;
    CoreRefs outer = {0}, dims = {0};
    dims_of(l, frame, type, &outer, &dims);
    result.dims = dims.data;
    return result;
}
