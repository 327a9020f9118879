// SPDX-License-Identifier: Apache-2.0
//
// Patterns: binding names and sizes, and testing whether a value matches. Sizes are
// bound over all patterns of a definition before any is checked, so that parameters may
// come in any order.
#include "lower/internal.h"

static Str describe(Lower *l, const TPat *pat, Subject subject) {
    Str text = pat->kind == TPAT_NAME ? lower_name(l, pat->as.name->name)
                                      : lower_text(l, pat->span);
    if (subject.of == 0) return lower_format(l, "`%.*s`", STR_ARG(text));
    return lower_format(l, "%s`%.*s` of `%.*s`", subject.role, STR_ARG(text),
                        STR_ARG(lower_name(l, subject.of)));
}

static Str describe_short(Lower *l, const TPat *pat) {
    return describe(l, pat, (Subject){"", 0});
}

// ---- sizes ------------------------------------------------------------------------

static void bind_sizes(Lower *l, Frame *frame, const TPat *pat, const Value *value) {
    if (pat->ascribed != NULL)
        lower_sizes_bind(l, frame, pat->ascribed, value, describe_short(l, pat));
    switch (pat->kind) {
    case TPAT_RECORD:
        for (uint32_t i = 0; i < pat->as.record.len; i++)
            bind_sizes(l, frame, pat->as.record.data[i],
                       lower_value_field(l, value, i));
        return;
    case TPAT_CTOR:
        for (uint32_t i = 0; i < pat->as.ctor.args.len; i++)
            bind_sizes(l, frame, pat->as.ctor.args.data[i],
                       lower_value_payload(l, value, pat->as.ctor.index, i));
        return;
    case TPAT_NAME:
    case TPAT_WILD:
    case TPAT_LIT: return;
    }
}

// Size parameters that no shape told keep what the instance gave them.
static void settle_sizes(Lower *l, Frame *frame, const BindingVec *sizes) {
    for (uint32_t i = 0; sizes != NULL && i < sizes->len; i++) {
        const SizeEntry *entry = lower_frame_size(frame, sizes->data[i]);
        if (entry == NULL || !entry->is_given) continue;
        SizeEntry settled = *entry;
        settled.is_given = false;
        lower_frame_bind_size(l, frame, sizes->data[i], settled);
    }
}

// ---- names ------------------------------------------------------------------------

static void bind_name(Lower *l, Frame *frame, const Binding *name, Value *value) {
    if (value->kind == VALUE_LEAVES)
        for (uint32_t i = 0; i < value->as.leaves.layout->leaf_count; i++)
            lower_ref_name(l, value->as.leaves.refs[i], name->name);
    lower_frame_bind(l, frame, name, value);
}

static void bind_pat(Lower *l, Frame *frame, const TPat *pat, Value *value,
                     Subject subject) {
    if (pat->ascribed != NULL)
        value = lower_sizes_check(l, frame, pat->ascribed, value,
                                  describe(l, pat, subject));
    switch (pat->kind) {
    case TPAT_NAME: bind_name(l, frame, pat->as.name, value); return;
    case TPAT_RECORD:
        for (uint32_t i = 0; i < pat->as.record.len; i++)
            bind_pat(l, frame, pat->as.record.data[i], lower_value_field(l, value, i),
                     subject);
        return;
    case TPAT_CTOR:
        for (uint32_t i = 0; i < pat->as.ctor.args.len; i++)
            bind_pat(l, frame, pat->as.ctor.args.data[i],
                     lower_value_payload(l, value, pat->as.ctor.index, i), subject);
        return;
    case TPAT_WILD:
    case TPAT_LIT: return;
    }
}

void lower_pats_bind(Lower *l, Frame *frame, const BindingVec *sizes, TPat *const *pats,
                     Value *const *values, uint32_t count, Subject subject) {
    for (uint32_t i = 0; i < count; i++) bind_sizes(l, frame, pats[i], values[i]);
    settle_sizes(l, frame, sizes);
    for (uint32_t i = 0; i < count; i++)
        bind_pat(l, frame, pats[i], values[i], subject);
}

// ---- tests ------------------------------------------------------------------------

static CoreRef test_literal(Lower *l, const TPat *pat, const Value *value) {
    CoreRef wanted = core_const(l->program, pat->as.lit.scalar, pat->as.lit.bits);
    if (scalar_is_float(pat->as.lit.scalar))
        return lower_emit_op2(l, OP_EQ, lower_value_ref(value), wanted);
    return lower_emit_compare(l, OP_EQ, lower_value_ref(value), wanted);
}

static bool is_false(const Lower *l, CoreRef ref) {
    int64_t known = 1;
    return lower_ref_is_const(l, ref, &known) && known == 0;
}

CoreRef lower_pat_test(Lower *l, Frame *frame, const TPat *pat, const Value *value) {
    CoreRef result = core_bool(l->program, true);
    switch (pat->kind) {
    case TPAT_NAME:
    case TPAT_WILD: return result;
    case TPAT_LIT: return test_literal(l, pat, value);
    case TPAT_RECORD:
        for (uint32_t i = 0; i < pat->as.record.len && !is_false(l, result); i++) {
            const Value *field = lower_value_field(l, value, i);
            result = lower_emit_both(
                l, result, lower_pat_test(l, frame, pat->as.record.data[i], field));
        }
        return result;
    case TPAT_CTOR: {
        uint32_t index = pat->as.ctor.index;
        CoreRef wanted = core_const(l->program, SCALAR_U8, index);
        if (lower_value_layout(l, value)->part_count > 1)
            result = lower_emit_compare(l, OP_EQ, lower_value_tag(l, value), wanted);
        for (uint32_t i = 0; i < pat->as.ctor.args.len && !is_false(l, result); i++) {
            const Value *arg = lower_value_payload(l, value, index, i);
            const TPat *arg_pat = pat->as.ctor.args.data[i];
            result = lower_emit_both(l, result, lower_pat_test(l, frame, arg_pat, arg));
        }
        return result;
    }
    }
    return result;
}
