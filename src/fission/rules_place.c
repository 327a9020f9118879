// SPDX-License-Identifier: Apache-2.0
//
// Rules of what puts values into places: filters, scatters, histograms; and of loops,
// whose turns are taken in order.
#include "fission/rules.h"

// ---- one part after the other -------------------------------------------------------

// Part p goes on from the arrays that part p - 1 has made. So values come in the same
// order as in the whole, and need not be joined.
void whole_chain(FissionSplit *s) {
    CoreStm *stm = NULL;
    for (uint32_t p = 0; p < s->parts; p++) {
        CoreRef *args = fission_part_args(s, p);
        fission_at(s, s->own, p);
        for (uint32_t k = 0; k < s->stm->out_count && p > 0; k++)
            args[k] = stm->outs[k];
        stm = fission_again(s, args);
    }
    fission_at(s, NULL, 0);
    fission_finish(s, stm);
}

bool guard_exact(const FissionSplit *s) {
    return s->dim == 0 && s->stm->stamp == STAMP_FREE;
}

// The turns of a loop: the second part goes on from the state that the first leaves.
void whole_seq(FissionSplit *s) {
    CoreStm *stm = NULL;
    for (uint32_t p = 0; p < s->parts; p++) {
        CoreRef *args = fission_args(s);
        args[0] = s->length[p];
        for (uint32_t k = 0; k < s->stm->out_count && p > 0; k++)
            args[1 + k] = stm->outs[k];
        stm = fission_again(s, args);
        if (p > 0) fission_shift(s, stm->bodies[0], 0, s->start[p]);
    }
    fission_finish(s, stm);
}

// ---- parts of the places ------------------------------------------------------------

// The array that is written, or the bins, in parts: what is out of range is ignored, so
// an index less the part's start finds its place in one of them.

CoreRef size_places(FissionSplit *s) {
    return fission_dim(s, s->stm->args[0], 0);
}

bool guard_hist_bins(const FissionSplit *s) {
    return guard_exact(s) && s->stm->out_count == 1;
}

// The indices less `by`, which is not negative; one that wraps is beyond every array.
static CoreRef emit_less(FissionSplit *s, CoreRef indices, CoreRef by) {
    CoreType type = core_type(s->program, indices);
    CoreRef i = core_value(s->program, fission_row(type), 0);
    core_open(s->b, &i, 1);
    CoreRef less = core_op2(s->b, OP_SUB, i, by);
    CoreBody *body = core_close(s->b, &less, 1);
    return fission_emit(s, OP_MAP, &indices, 1, (int32_t[]){1}, 1, body, &type, 1)
        ->outs[0];
}

// The same for indices that the producer makes: its first result.
static void lessen_result(FissionSplit *s, CoreBody *producer, CoreRef by) {
    core_open(s->b, NULL, 0);
    for (uint32_t i = 0; i < producer->stms.len; i++)
        core_append(s->b, producer->stms.data[i]);
    producer->results[0] = core_op2(s->b, OP_SUB, producer->results[0], by);
    producer->stms = core_close(s->b, NULL, 0)->stms;
}

void part_places(FissionSplit *s, uint32_t p, CoreRef *results) {
    CoreFeeds feeds = core_feeds(s->stm);
    CoreRef *args = fission_args(s);
    args[0] = fission_pieces(s, 0, 0)[p];
    fission_at(s, s->beside, p);
    if (p > 0 && feeds.producer == NULL)
        args[feeds.first] = emit_less(s, args[feeds.first], s->start[p]);
    fission_at(s, s->own, p);
    CoreStm *stm = fission_again(s, args);
    if (p > 0 && feeds.producer != NULL)
        lessen_result(s, stm->bodies[feeds.body], s->start[p]);
    results[0] = stm->outs[0];
}

// ---- histograms apart ---------------------------------------------------------------

// The bits of the greatest or least value of a type.
static uint64_t extreme(ScalarType type, bool is_greatest) {
    unsigned width = 8u * scalar_info[type].bytes;
    uint64_t all = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    uint64_t sign = (uint64_t)1 << (width - 1);
    if (scalar_is_signed(type)) return is_greatest ? all ^ sign : sign;
    return is_greatest ? all : 0;
}

// Whether component k of the operator is op(x, y) of its two params with that constant
// as its neutral element, for integers.
static bool is_neutral(const FissionSplit *s, const CoreStm *hist, uint32_t k) {
    const CoreBody *body = hist->bodies[0];
    const CoreStm *stm = core_find_def(body, body->results[k]);
    CoreRef x = body->params[k], y = body->params[hist->out_count + k];
    const CoreValue *ne = &s->program->values.data[hist->args[hist->out_count + k]];
    ScalarType type = (ScalarType)ne->type.elem;
    if (stm == NULL || stm->arg_count != 2 || !ne->is_const || !scalar_is_int(type))
        return false;
    if (stm->args[0] + stm->args[1] != x + y ||
        (stm->args[0] != x && stm->args[0] != y))
        return false;
    uint64_t all = extreme(type, true) | extreme(type, false);
    switch ((int)stm->op) {
    case OP_ADD:
    case OP_OR:
    case OP_XOR: return ne->bits == 0;
    case OP_MUL: return ne->bits == 1;
    case OP_AND: return ne->bits == all;
    case OP_MIN: return ne->bits == extreme(type, true);
    case OP_MAX: return ne->bits == extreme(type, false);
    }
    return false;
}

bool fission_bins_may_be_apart(const FissionSplit *s, const CoreStm *hist) {
    bool is_fine = hist->stamp == STAMP_FREE;
    for (uint32_t k = 0; k < hist->out_count && is_fine; k++) {
        CoreType type = core_type(s->program, hist->outs[k]);
        is_fine = type.rank == (uint32_t)hist->attrs[1] && is_neutral(s, hist, k);
    }
    return is_fine;
}

bool guard_hist_apart(const FissionSplit *s) {
    return s->dim == 0 && fission_bins_may_be_apart(s, s->stm);
}

CoreRef *fission_open_space(FissionSplit *s, CoreRef like, CoreRef *sizes) {
    uint32_t rank = core_type(s->program, like).rank;
    for (uint32_t d = 0; d < rank; d++) sizes[d] = fission_dim(s, like, d);
    return fission_open_indices(s, rank);
}

CoreRef fission_neutral_bins(FissionSplit *s, const CoreStm *hist, uint32_t k) {
    CoreRef sizes[CORE_MAX_RANK], dest = hist->args[k];
    CoreType type = core_type(s->program, dest);
    fission_open_space(s, dest, sizes);
    return fission_close_indices(s, sizes, &hist->args[hist->out_count + k], &type, 1)
        ->outs[0];
}

CoreRef fission_cell(FissionSplit *s, CoreRef array, const CoreRef *i) {
    CoreType type = core_type(s->program, array), scalar = {type.elem, 0};
    CoreRef args[1 + CORE_MAX_RANK] = {array};
    for (uint32_t d = 0; d < type.rank; d++) args[1 + d] = i[d];
    return core_emit(s->b, OP_INDEX, args, 1 + type.rank, &scalar, 1)->outs[0];
}

CoreStm *fission_join_bins(FissionSplit *s, const CoreBody *op, const CoreRef *left,
                           const CoreRef *right) {
    uint32_t width = op->result_count;
    Arena *arena = s->program->arena;
    CoreRef sizes[CORE_MAX_RANK];
    CoreRef *both = arena_array(arena, CoreRef, 2 * width);
    CoreRef *joined = arena_array(arena, CoreRef, width);
    CoreType *types = arena_array(arena, CoreType, width);
    const CoreRef *i = fission_open_space(s, left[0], sizes);
    fission_types(s, left, width, types);
    for (uint32_t k = 0; k < width; k++) {
        both[k] = fission_cell(s, left[k], i);
        both[width + k] = fission_cell(s, right[k], i);
    }
    core_inline(s->b, op, both, joined);
    return fission_close_indices(s, sizes, joined, types, width);
}

// The first part goes into the bins given, each other into neutral ones.
void whole_hist_apart(FissionSplit *s) {
    CoreStm *parts[FISSION_MOST_PARTS];
    for (uint32_t p = 0; p < s->parts; p++) {
        CoreRef *args = fission_part_args(s, p);
        fission_at(s, s->beside, p);
        for (uint32_t k = 0; k < s->stm->out_count && p > 0; k++)
            args[k] = fission_neutral_bins(s, s->stm, k);
        fission_at(s, s->own, p);
        parts[p] = fission_again(s, args);
    }
    fission_at(s, NULL, 0);
    CoreStm *sum = parts[0];
    for (uint32_t p = 1; p < s->parts; p++)
        sum = fission_join_bins(s, s->stm->bodies[0], sum->outs, parts[p]->outs);
    fission_finish(s, sum);
}
