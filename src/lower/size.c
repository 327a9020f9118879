// SPDX-License-Identifier: Apache-2.0
//
// Sizes: what they are in a frame, taking them from shapes, and checking shapes against
// them. A check is emitted only where the two sizes are not one core value already;
// what passes it is guarded, and from there on known to have the size that was wanted.
#include "lower/internal.h"

// ---- evaluation -------------------------------------------------------------------

static CoreRef entry_ref(Lower *l, const SizeEntry *entry) {
    if (entry == NULL) return 0;
    return entry->ref != 0 ? entry->ref : lower_ref_dim(l, entry->array, entry->axis);
}

// Whether everything an expression in a size mentions is bound. Forms that sizes do not
// usually have count as unbound.
static bool is_closed(const Frame *frame, const TExp *exp);

static bool is_bound(const Frame *frame, const Binding *size) {
    if (lower_frame_size(frame, size) != NULL) return true;
    if (size->alias == NULL) return false;
    Size *alias = size_resolve(size->alias);
    switch (alias->kind) {
    case SIZE_CONST: return true;
    case SIZE_NAME:
        if (alias->name->kind == BIND_SIZE) return is_bound(frame, alias->name);
        return alias->name->kind != BIND_LOCAL ||
               lower_frame_value(frame, alias->name) != NULL;
    case SIZE_EXP: return is_closed(frame, alias->exp);
    case SIZE_UNKNOWN: return lower_frame_unknown(frame, alias->id) != NULL;
    case SIZE_VAR:
    case SIZE_RAGGED: break;
    }
    return false;
}

static bool is_closed(const Frame *frame, const TExp *exp) {
    switch ((int)exp->kind) {
    case TEXP_LIT: return true;
    case TEXP_VAR: {
        const Binding *binding = exp->as.var.binding;
        if (binding->kind == BIND_SIZE) return is_bound(frame, binding);
        if (binding->kind == BIND_LOCAL)
            return lower_frame_value(frame, binding) != NULL;
        return true;
    }
    case TEXP_APPLY:
        for (uint32_t i = 0; i < exp->as.apply.args.len; i++)
            if (!is_closed(frame, exp->as.apply.args.data[i])) return false;
        return is_closed(frame, exp->as.apply.fun);
    case TEXP_FIELD: return is_closed(frame, exp->as.field.exp);
    case TEXP_COERCE: return is_closed(frame, exp->as.inner);
    case TEXP_ATTR: return is_closed(frame, exp->as.attr.exp);
    case TEXP_INDEX:
        for (uint32_t i = 0; i < exp->as.index.dims.len; i++) {
            const TIndex *dim = &exp->as.index.dims.data[i];
            if (dim->is_slice || !is_closed(frame, dim->index)) return false;
        }
        return is_closed(frame, exp->as.index.exp);
    }
    return false;
}

CoreRef lower_size_param(Lower *l, Frame *frame, const Binding *size) {
    const SizeEntry *entry = lower_frame_size(frame, size);
    if (entry != NULL) return entry_ref(l, entry);
    return size->alias != NULL ? lower_size_ref(l, frame, size->alias) : 0;
}

static CoreRef name_ref(Lower *l, Frame *frame, Binding *name, Span span) {
    switch (name->kind) {
    case BIND_SIZE: return lower_size_param(l, frame, name);
    case BIND_LOCAL: {
        const Value *value = lower_frame_value(frame, name);
        return value != NULL && value->kind == VALUE_LEAVES ? lower_value_ref(value)
                                                            : 0;
    }
    case BIND_GLOBAL: {
        TypeVec no_types = {0};
        SizeVec no_sizes = {0};
        Span here = l->span;
        const Value *value =
            lower_eval_binding(l, frame, name, &no_types, &no_sizes, span);
        lower_at(l, here);
        return lower_value_ref(value);
    }
    case BIND_INTRINSIC: break;
    }
    return 0;
}

CoreRef lower_size_ref(Lower *l, Frame *frame, Size *size) {
    size = size_resolve(size);
    switch (size->kind) {
    case SIZE_CONST: return lower_emit_i64(l, size->value);
    case SIZE_NAME: return name_ref(l, frame, size->name, size->origin);
    case SIZE_EXP: {
        if (!is_closed(frame, size->exp)) return 0;
        Span span = l->span;
        CoreRef ref = lower_eval_ref(l, frame, size->exp);
        lower_at(l, span);
        return ref;
    }
    case SIZE_UNKNOWN: return entry_ref(l, lower_frame_unknown(frame, size->id));
    case SIZE_VAR:
    case SIZE_RAGGED: break;
    }
    return 0;
}

// ---- taking sizes from shapes -----------------------------------------------------

// Of payloads, which parameters may not tell, the last one that is there tells.
static void bind_payload_size(Lower *l, Frame *frame, const Binding *name, CoreRef dim,
                              const Choice *choice) {
    const SizeEntry *old = lower_frame_size(frame, name);
    if (old != NULL && !old->is_payload) return;
    CoreRef otherwise = old != NULL ? old->ref : lower_emit_i64(l, 0);
    SizeEntry entry = {.ref = lower_choice_size(l, choice, dim, otherwise),
                       .is_given = true,
                       .is_payload = true};
    lower_frame_bind_size(l, frame, name, entry);
}

static void bind_size(Lower *l, Frame *frame, Size *size, CoreRef array, uint32_t axis,
                      Str what, const Choice *choice) {
    size = size_resolve(size);
    if (size->kind != SIZE_NAME && size->kind != SIZE_UNKNOWN) return;
    if (size->kind == SIZE_UNKNOWN) {
        SizeEntry unknown = {.array = array, .axis = axis};
        if (choice == NULL && lower_frame_unknown(frame, size->id) == NULL)
            lower_frame_bind_unknown(l, frame, size->id, unknown);
        return;
    }
    if (size->name->kind != BIND_SIZE) return;
    const SizeEntry *old = lower_frame_size(frame, size->name);
    if (old != NULL && !old->is_given) return;
    CoreRef dim = lower_ref_dim(l, array, axis);
    if (choice != NULL) {
        bind_payload_size(l, frame, size->name, dim, choice);
        return;
    }
    SizeEntry entry = {.ref = dim};
    if (axis == 0) entry.origin = lower_format(l, "the size of %.*s", STR_ARG(what));
    else
        entry.origin = lower_format(l, "dimension %u of %.*s", axis + 1, STR_ARG(what));
    lower_frame_bind_size(l, frame, size->name, entry);
}

// A type parameter's own sizes: those its instance left open come from the first value.
static void bind_var(Lower *l, Frame *frame, const TypeVar *var, const CoreRef *refs,
                     uint32_t depth) {
    const LType *type = lower_frame_type(frame, var);
    if (type == NULL || type->layout->dim_count == 0) return;
    bool is_open = type->dims == NULL;
    for (uint32_t d = 0; !is_open && d < type->layout->dim_count; d++)
        is_open = type->dims[d] == 0;
    if (!is_open) return;
    LType *refined = arena_new(l->arena, LType);
    refined->layout = type->layout;
    refined->dims = arena_array(l->arena, CoreRef, type->layout->dim_count);
    for (uint32_t leaf = 0, d = 0; leaf < type->layout->leaf_count; leaf++)
        for (uint32_t axis = 0; axis < type->layout->leaves[leaf].rank; axis++, d++) {
            CoreRef known = type->dims != NULL ? type->dims[d] : 0;
            refined->dims[d] =
                known != 0 ? known : lower_ref_dim(l, refs[leaf], depth + axis);
        }
    lower_frame_bind_type(l, frame, var, refined);
}

static void bind_leaves(Lower *l, Frame *frame, Type *type, const CoreRef *refs,
                        uint32_t depth, Str what, const Choice *choice);

// The leaves of a payload lie in slots of its own order behind the tag.
static CoreRef *payload_leaves(Lower *l, const Layout *sum, uint32_t ctor,
                               const CoreRef *refs) {
    const Layout *payload = sum->parts[ctor];
    CoreRef *own = arena_array(l->arena, CoreRef, payload->leaf_count);
    for (uint32_t i = 0; i < payload->leaf_count; i++)
        own[i] = refs[sum->slots[ctor][i]];
    return own;
}

static void bind_payloads(Lower *l, Frame *frame, Type *type, const CoreRef *refs,
                          uint32_t depth, Str what, const Choice *outer) {
    const Layout *sum = lower_layout_of(l, frame, type);
    for (uint32_t c = 0; c < sum->part_count; c++) {
        const TypeVec *types = &type->as.sum.data[c].payload;
        const CoreRef *own = payload_leaves(l, sum, c, refs);
        Choice choice = {refs[0], c, outer};
        for (uint32_t i = 0; i < types->len; i++) {
            bind_leaves(l, frame, types->data[i], own, depth, what,
                        sum->part_count > 1 ? &choice : outer);
            own += sum->parts[c]->parts[i]->leaf_count;
        }
    }
}

static void bind_leaves(Lower *l, Frame *frame, Type *type, const CoreRef *refs,
                        uint32_t depth, Str what, const Choice *choice) {
    type = type_reveal(type);
    switch (type->kind) {
    case TYPE_ARRAY:
        bind_size(l, frame, type->as.array.size, refs[0], depth, what, choice);
        bind_leaves(l, frame, type->as.array.elem, refs, depth + 1, what, choice);
        return;
    case TYPE_RECORD:
        for (uint32_t i = 0; i < type->as.record.len; i++) {
            Type *field = type->as.record.data[i].type;
            bind_leaves(l, frame, field, refs, depth, what, choice);
            refs += lower_layout_of(l, frame, field)->leaf_count;
        }
        return;
    case TYPE_SUM: bind_payloads(l, frame, type, refs, depth, what, choice); return;
    case TYPE_VAR:
        if (choice == NULL) bind_var(l, frame, type->as.var, refs, depth);
        return;
    case TYPE_SCALAR:
    case TYPE_FUN:
    case TYPE_ABS:
    case TYPE_STREAM: return;
    }
}

void lower_sizes_bind(Lower *l, Frame *frame, Type *type, const Value *value,
                      Str what) {
    type = type_reveal(type);
    if (value->kind == VALUE_LEAVES) {
        bind_leaves(l, frame, type, value->as.leaves.refs, 0, what, NULL);
    } else if (value->kind == VALUE_RECORD && type->kind == TYPE_RECORD) {
        for (uint32_t i = 0; i < value->as.record.count; i++)
            lower_sizes_bind(l, frame, type->as.record.data[i].type,
                             value->as.record.items[i], what);
    } else if (value->kind == VALUE_RECORD && type->kind == TYPE_VAR) {
        if (lower_value_layout(l, value)->has_fun) return;
        bind_leaves(l, frame, type, lower_value_refs(l, value).data, 0, what, NULL);
    }
}

// ---- checking shapes --------------------------------------------------------------

typedef struct Wanted { // for messages
    Frame *frame;
    Size *size; // or NULL: a size that came with a type parameter
    Str what;
    const Choice *choice; // of a payload; or NULL
} Wanted;

static Str describe_dim(Lower *l, const Wanted *wanted, uint32_t axis) {
    if (axis == 0) return lower_format(l, "%.*s has size", STR_ARG(wanted->what));
    return lower_format(l, "dimension %u of %.*s has size", axis + 1,
                        STR_ARG(wanted->what));
}

// "`n` = %1 is expected (n is the size of `a`)"
static Str describe_name(Lower *l, const Wanted *wanted, const Binding *binding) {
    Str name = lower_name(l, binding->name);
    const SizeEntry *entry =
        binding->kind == BIND_SIZE ? lower_frame_size(wanted->frame, binding) : NULL;
    Str origin = entry == NULL ? STR("") : entry->origin;
    if (name.len == 0 && origin.len == 0) return STR("%1 is expected");
    if (name.len == 0)
        return lower_format(l, "%%1 is expected (%.*s)", STR_ARG(origin));
    if (origin.len == 0)
        return lower_format(l, "`%.*s` = %%1 is expected", STR_ARG(name));
    return lower_format(l, "`%.*s` = %%1 is expected (%.*s is %.*s)", STR_ARG(name),
                        STR_ARG(name), STR_ARG(origin));
}

static Str describe_wanted(Lower *l, const Wanted *wanted) {
    Size *size = wanted->size == NULL ? NULL : size_resolve(wanted->size);
    if (size != NULL && size->kind == SIZE_NAME)
        return describe_name(l, wanted, size->name);
    Str text = STR("");
    if (size != NULL && size->kind == SIZE_EXP) text = lower_text(l, size->exp->span);
    if (text.len == 0) return STR("%1 is expected");
    return lower_format(l, "`%.*s` = %%1 is expected", STR_ARG(text));
}

// Checks dimension `axis` of the leaves; replaces them by guarded ones, whose size is
// guarded, too: who asks for that alone needs the check as well.
static void check_dim(Lower *l, const Wanted *wanted, CoreRef expected, CoreRef *refs,
                      uint32_t count, uint32_t axis) {
    if (expected == 0 || count == 0) return;
    CoreRef actual = lower_ref_dim(l, refs[0], axis);
    CoreRef same = lower_emit_same_size(l, actual, expected), cond = same;
    if (wanted->choice != NULL) cond = lower_choice_allows(l, wanted->choice, same);
    if (lower_needs_no_check(l, cond)) return;
    Str has = describe_dim(l, wanted, axis), wants = describe_wanted(l, wanted);
    Str text = lower_format(l, "size mismatch: %.*s %%0 where %.*s", STR_ARG(has),
                            STR_ARG(wants));
    CoreRef token = lower_emit_check(l, cond, text, (CoreRef[]){actual, expected}, 2);
    CoreRef size = lower_emit_guard(l, expected, token);
    lower_ref_is_size(l, size);
    for (uint32_t i = 0; i < count; i++) {
        if (wanted->choice != NULL)
            refs[i] = lower_choice_fit(l, same, refs[i], axis, expected);
        refs[i] = lower_emit_guard(l, refs[i], token);
        lower_ref_set_dim(l, refs[i], axis, size);
    }
}

static void check_var(Lower *l, const Wanted *wanted, const TypeVar *var, CoreRef *refs,
                      uint32_t depth) {
    const LType *type = lower_frame_type(wanted->frame, var);
    if (type == NULL || type->dims == NULL) return;
    const CoreRef *dim = type->dims;
    for (uint32_t leaf = 0; leaf < type->layout->leaf_count; leaf++)
        for (uint32_t axis = 0; axis < type->layout->leaves[leaf].rank; axis++)
            check_dim(l, wanted, *dim++, refs + leaf, 1, depth + axis);
}

static void check_leaves(Lower *l, Wanted wanted, Type *type, CoreRef *refs,
                         uint32_t depth);

static void check_payloads(Lower *l, Wanted wanted, Type *type, CoreRef *refs,
                           uint32_t depth) {
    const Layout *sum = lower_layout_of(l, wanted.frame, type);
    const Choice *outer = wanted.choice;
    for (uint32_t c = 0; c < sum->part_count; c++) {
        const Layout *payload = sum->parts[c];
        const TypeVec *types = &type->as.sum.data[c].payload;
        Choice choice = {refs[0], c, outer};
        CoreRef *own = payload_leaves(l, sum, c, refs);
        if (sum->part_count > 1) wanted.choice = &choice;
        for (uint32_t i = 0, leaf = 0; i < types->len; i++) {
            check_leaves(l, wanted, types->data[i], own + leaf, depth);
            leaf += payload->parts[i]->leaf_count;
        }
        for (uint32_t i = 0; i < payload->leaf_count; i++)
            refs[sum->slots[c][i]] = own[i];
    }
}

static void check_leaves(Lower *l, Wanted wanted, Type *type, CoreRef *refs,
                         uint32_t depth) {
    type = type_reveal(type);
    wanted.size = NULL;
    switch (type->kind) {
    case TYPE_ARRAY: {
        wanted.size = type->as.array.size;
        CoreRef expected = lower_size_ref(l, wanted.frame, wanted.size);
        uint32_t count = lower_layout_of(l, wanted.frame, type)->leaf_count;
        check_dim(l, &wanted, expected, refs, count, depth);
        check_leaves(l, wanted, type->as.array.elem, refs, depth + 1);
        return;
    }
    case TYPE_RECORD:
        for (uint32_t i = 0; i < type->as.record.len; i++) {
            Type *field = type->as.record.data[i].type;
            check_leaves(l, wanted, field, refs, depth);
            refs += lower_layout_of(l, wanted.frame, field)->leaf_count;
        }
        return;
    case TYPE_SUM: check_payloads(l, wanted, type, refs, depth); return;
    case TYPE_VAR: check_var(l, &wanted, type->as.var, refs, depth); return;
    case TYPE_SCALAR:
    case TYPE_FUN:
    case TYPE_ABS:
    case TYPE_STREAM: return;
    }
}

static Value *check_items(Lower *l, Frame *frame, Type *type, const Value *value,
                          Str what) {
    uint32_t count = value->as.record.count;
    Value **items = arena_array(l->arena, Value *, count);
    for (uint32_t i = 0; i < count; i++)
        items[i] = lower_sizes_check(l, frame, type->as.record.data[i].type,
                                     value->as.record.items[i], what);
    return lower_value_record(l, items, count);
}

static Value *check_args(Lower *l, Frame *frame, Type *type, const Value *value,
                         Str what) {
    uint32_t index = value->as.ctor.index, count = value->as.ctor.count;
    Value **args = arena_array(l->arena, Value *, count);
    for (uint32_t i = 0; i < count; i++)
        args[i] = lower_sizes_check(l, frame, type->as.sum.data[index].payload.data[i],
                                    value->as.ctor.args[i], what);
    return lower_value_ctor(l, value->as.ctor.type, index, args, count);
}

Value *lower_sizes_check(Lower *l, Frame *frame, Type *type, Value *value, Str what) {
    type = type_reveal(type);
    if ((l->now.b.flags & STM_UNSAFE) != 0) return value;
    if (value->kind == VALUE_RECORD && type->kind == TYPE_RECORD)
        return check_items(l, frame, type, value, what);
    if (value->kind == VALUE_CTOR && type->kind == TYPE_SUM)
        return check_args(l, frame, type, value, what);
    if (value->kind != VALUE_LEAVES && value->kind != VALUE_RECORD) return value;
    const Layout *layout = lower_value_layout(l, value);
    if (layout->has_fun || layout->dim_count == 0) return value;
    CoreRefs refs = lower_value_refs(l, value);
    CoreRef *before = arena_copy(l->arena, refs.data, refs.len * sizeof *before);
    Wanted wanted = {.frame = frame, .what = what};
    check_leaves(l, wanted, type, refs.data, 0);
    for (uint32_t i = 0; i < refs.len; i++)
        if (refs.data[i] != before[i]) return lower_value_leaves(l, layout, refs.data);
    return value;
}
