// SPDX-License-Identifier: Apache-2.0
//
// Payloads of sums and their sizes. Where another constructor was chosen, the arrays of
// a payload have whatever size they were given, from outside often 0: no check may fail
// for it, and zeros of the size that is wanted take their place, so that what passed
// has the sizes of its type in any case (arrays of sums are regular).
#include "lower/internal.h"

static CoreRef is_chosen(Lower *l, const Choice *choice, const CoreRef *index) {
    CoreRef all = core_bool(l->program, true);
    for (; choice != NULL; choice = choice->outer) {
        uint32_t rank = lower_ref_type(l, choice->tag).rank;
        CoreRef tag =
            rank == 0 ? choice->tag : lower_emit_index(l, choice->tag, index, rank);
        CoreRef ctor = core_const(l->program, SCALAR_U8, choice->ctor);
        all = lower_emit_both(l, lower_emit_compare(l, OP_EQ, tag, ctor), all);
    }
    return all;
}

// Whether no element of the array (or the scalar) that the tags belong to is so.
static CoreRef is_absent(Lower *l, const Choice *choice) {
    CoreType type = {SCALAR_BOOL, lower_ref_type(l, choice->tag).rank};
    if (type.rank == 0) return lower_emit_not(l, is_chosen(l, choice, NULL));
    CoreRef sizes[CORE_MAX_RANK], index[CORE_MAX_RANK];
    for (uint32_t i = 0; i < type.rank; i++) {
        sizes[i] = lower_ref_dim(l, choice->tag, i);
        index[i] = core_value(l->program, (CoreType){SCALAR_I64, 0}, 0);
    }
    Mark mark = lower_body_open(l, index, type.rank);
    CoreRef flag = lower_emit_not(l, is_chosen(l, choice, index));
    CoreBody *body = lower_body_close(l, mark, &flag, 1);
    CoreStm *stm = lower_emit(l, OP_GENERATE, sizes, type.rank, &type, 1);
    int32_t rank = type.rank;
    core_set_attrs(&l->now.b, stm, &rank, 1);
    core_set_bodies(&l->now.b, stm, &body, 1);
    for (uint32_t i = 0; i < type.rank; i++)
        lower_ref_set_dim(l, stm->outs[0], i, sizes[i]);
    return lower_emit_all(l, stm->outs[0]);
}

static CoreRef emit_if(Lower *l, CoreRef cond, CoreBody *yes, CoreBody *no,
                       CoreType type) {
    CoreStm *stm = lower_emit(l, OP_IF, &cond, 1, &type, 1);
    core_set_bodies(&l->now.b, stm, (CoreBody *[]){yes, no}, 2);
    return stm->outs[0];
}

CoreRef lower_choice_size(Lower *l, const Choice *choice, CoreRef size,
                          CoreRef otherwise) {
    CoreRef result = lower_emit_select(l, is_absent(l, choice), otherwise, size);
    lower_ref_is_size(l, result);
    return result;
}

CoreRef lower_choice_allows(Lower *l, const Choice *choice, CoreRef same) {
    int64_t known = 0;
    if (lower_ref_is_const(l, same, &known) && known != 0) return same;
    Mark mark = lower_body_open(l, NULL, 0);
    CoreBody *yes = lower_body_close(l, mark, &same, 1);
    mark = lower_body_open(l, NULL, 0);
    CoreRef absent = is_absent(l, choice);
    CoreBody *no = lower_body_close(l, mark, &absent, 1);
    return emit_if(l, same, yes, no, (CoreType){SCALAR_BOOL, 0});
}

CoreRef lower_choice_fit(Lower *l, CoreRef same, CoreRef ref, uint32_t axis,
                         CoreRef size) {
    CoreType type = lower_ref_type(l, ref);
    CoreRef dims[CORE_MAX_RANK];
    for (uint32_t i = 0; i < type.rank; i++)
        dims[i] = i == axis ? size : lower_ref_dim(l, ref, i);
    Mark mark = lower_body_open(l, NULL, 0);
    CoreBody *yes = lower_body_close(l, mark, &ref, 1);
    mark = lower_body_open(l, NULL, 0);
    CoreRef zero = lower_emit_zero(l, type, dims);
    CoreBody *no = lower_body_close(l, mark, &zero, 1);
    CoreRef result = emit_if(l, same, yes, no, type);
    for (uint32_t i = 0; i < type.rank; i++) lower_ref_set_dim(l, result, i, dims[i]);
    return result;
}
