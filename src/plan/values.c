// SPDX-License-Identifier: Apache-2.0
//
// What is known of values, and what statements make of it (walk.h).
#include <string.h>

#include "core/rules.h"
#include "plan/walk.h"

// ---- values -------------------------------------------------------------------------

WalkValue visit_value(const Walk *w, CoreRef ref) {
    const CoreValue *core = &w->p->values.data[ref];
    if (!core->is_const) return w->values[ref];
    return (WalkValue){
        .type = core->type, .is_known = true, .bits = core->bits, .block = PLAN_NONE};
}

// Of which nothing is known.
static WalkValue value_new(const Walk *w, CoreType type) {
    WalkValue v = {.type = type, .block = PLAN_NONE};
    if (type.rank > 0) v.dims = arena_array(w->arena, int64_t, type.rank);
    for (uint32_t d = 0; d < type.rank; d++) v.dims[d] = -1;
    return v;
}

WalkValue visit_value_like(const Walk *w, CoreRef ref) {
    return value_new(w, core_type(w->p, ref));
}

// An integer; -1: not known, or negative.
int64_t visit_int(const Walk *w, CoreRef ref) {
    WalkValue v = visit_value(w, ref);
    if (!v.is_known) return -1;
    int64_t value = (int64_t)v.bits;
    return value < 0 ? -1 : value;
}

static double or_most(int64_t number, int64_t most) {
    return number < 0 && most > 0 ? (double)most : visit_number(number);
}

double visit_at_most(const Walk *w, CoreRef ref) {
    return or_most(visit_int(w, ref), visit_value(w, ref).most);
}

double visit_rows(const WalkValue *v) {
    return or_most(v->dims[0], v->most);
}

double visit_count(const WalkValue *v) {
    double count = 1;
    for (uint32_t d = 0; d < v->type.rank; d++)
        count *= v->dims[d] < 0 ? NAN : (double)v->dims[d];
    return count;
}

double visit_bytes(const WalkValue *v) {
    return visit_count(v) * scalar_info[v->type.elem].bytes;
}

// The row behind the first `skip` dimensions, or an element: it looks the same in each.
WalkValue visit_row(const Walk *w, const WalkValue *v, uint32_t skip) {
    CoreType type = {v->type.elem, (uint8_t)(v->type.rank - skip)};
    WalkValue row = value_new(w, type);
    for (uint32_t d = 0; d < type.rank; d++) row.dims[d] = v->dims[skip + d];
    return row;
}

// What is the same in both.
WalkValue visit_merge(const Walk *w, const WalkValue *a, const WalkValue *b) {
    WalkValue v = value_new(w, a->type);
    v.is_known = a->is_known && b->is_known && a->bits == b->bits;
    v.bits = a->bits;
    v.block = a->block != PLAN_NONE ? a->block : b->block;
    if (v.block == b->block) v.part = a->part == b->part ? a->part : 0;
    for (uint32_t d = 0; d < v.type.rank; d++)
        if (a->dims[d] == b->dims[d]) v.dims[d] = a->dims[d];
    return v;
}

// ---- shapes -------------------------------------------------------------------------

void visit_bind(Walk *w, const CoreStm *stm, uint32_t k, WalkValue v) {
    w->values[stm->outs[k]] = v;
}

// The same memory seen in another way.
static WalkValue view_of(const Walk *w, const CoreStm *stm) {
    WalkValue a = visit_value(w, stm->args[0]), v = visit_value_like(w, stm->outs[0]);
    v.block = a.block;
    v.part = a.part;
    return v;
}

void visit_split(Walk *w, const CoreStm *stm) {
    WalkValue a = visit_value(w, stm->args[0]);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        WalkValue v = visit_row(w, &a, 0);
        v.dims[stm->attrs[0]] = visit_int(w, stm->args[1 + k]);
        v.block = a.block;
        v.part = ++w->parts;
        visit_bind(w, stm, k, v);
    }
}

static void walk_concat(Walk *w, const CoreStm *stm) {
    WalkValue first = visit_value(w, stm->args[0]), v = visit_row(w, &first, 0);
    uint32_t axis = (uint32_t)stm->attrs[0];
    for (uint32_t i = 1; i < core_parts(stm); i++) {
        WalkValue more = visit_value(w, stm->args[i]);
        bool is_known = v.dims[axis] >= 0 && more.dims[axis] >= 0;
        v.dims[axis] = is_known ? v.dims[axis] + more.dims[axis] : -1;
    }
    visit_bind(w, stm, 0, v);
}

void visit_index(Walk *w, const CoreStm *stm) {
    WalkValue a = visit_value(w, stm->args[0]),
              v = visit_row(w, &a, stm->arg_count - 1);
    if (v.type.rank > 0) v.block = a.block, v.part = ++w->parts;
    int64_t at = visit_int(w, stm->args[1]);
    v.is_known = at >= 0 && (uint64_t)at < a.elements.len / sizeof v.bits;
    if (v.is_known)
        memcpy(&v.bits, a.elements.ptr + (size_t)at * sizeof v.bits, sizeof v.bits);
    visit_bind(w, stm, 0, v);
}

void visit_dim(Walk *w, const CoreStm *stm) {
    WalkValue a = visit_value(w, stm->args[0]), v = visit_value_like(w, stm->outs[0]);
    int64_t size = a.dims[stm->attrs[0]];
    v.is_known = size >= 0;
    v.bits = (uint64_t)size;
    visit_bind(w, stm, 0, v);
}

// Sizes from args, and then those of the row that arg `row` is, if there is one.
void visit_sized(Walk *w, const CoreStm *stm, uint32_t sizes, uint32_t row) {
    WalkValue v = visit_value_like(w, stm->outs[0]);
    for (uint32_t d = 0; d < sizes; d++) v.dims[d] = visit_int(w, stm->args[d]);
    for (uint32_t d = sizes; d < v.type.rank; d++)
        v.dims[d] = visit_value(w, stm->args[row]).dims[d - sizes];
    visit_bind(w, stm, 0, v);
}

void visit_view(Walk *w, const CoreStm *stm) {
    WalkValue a = visit_value(w, stm->args[0]), v = view_of(w, stm);
    for (uint32_t d = 0; d < v.type.rank; d++) {
        if (stm->op == OP_RESHAPE) v.dims[d] = visit_int(w, stm->args[1 + d]);
        else if (stm->op == OP_PERMUTE) v.dims[d] = a.dims[stm->attrs[d]];
        else v.dims[d] = a.dims[d];
    }
    // A part may be copied, and the whole be freed.
    if (stm->op == OP_RESHAPE && v.block != PLAN_NONE && v.part != 0)
        w->plan->blocks.data[v.block].is_held = false;
    if (stm->op == OP_SLICE) {
        v.dims[stm->attrs[0]] = visit_int(w, stm->args[2]);
        v.most = stm->attrs[0] == 0 ? visit_value(w, stm->args[2]).most : a.most;
        v.part = ++w->parts;
    }
    visit_bind(w, stm, 0, v);
}

void visit_scalar(Walk *w, const CoreStm *stm) {
    WalkValue v = visit_value_like(w, stm->outs[0]);
    uint64_t args[3];
    bool are_known = stm->arg_count <= 3;
    for (uint32_t i = 0; i < stm->arg_count && are_known; i++) {
        WalkValue arg = visit_value(w, stm->args[i]);
        are_known = arg.is_known;
        args[i] = arg.bits;
    }
    if (are_known) {
        ScalarType in = (ScalarType)core_type(w->p, stm->args[0]).elem;
        CoreFault fault =
            core_eval(stm->op, in, (ScalarType)v.type.elem, args, &v.bits);
        v.is_known = fault == FAULT_NONE;
    }
    // Blocks of rows: the last one may be shorter.
    for (uint32_t i = 0; stm->op == OP_MIN && i < 2; i++)
        if (visit_int(w, stm->args[i]) > 0) v.most = visit_int(w, stm->args[i]);
    if (w->depth > 0 && v.most > 0 &&
        !v.is_known) { // where only work is counted, it counts as whole
        v.is_known = true;
        v.bits = (uint64_t)v.most;
    }
    visit_bind(w, stm, 0, v);
}

// Arrays that are made one element after the other. Returns the work.
double visit_array(Walk *w, const CoreStm *stm) {
    WalkValue first = {0};
    switch ((int)stm->op) {
    case OP_LITERAL:
        first = visit_value_like(w, stm->outs[0]);
        first.dims[0] =
            (int64_t)(stm->text.len / (size_t)scalar_info[first.type.elem].bytes);
        if (first.type.elem == SCALAR_I64) first.elements = stm->text;
        visit_bind(w, stm, 0, first);
        return 0;
    case OP_ARRAY:
        first = visit_value(w, stm->args[0]);
        visit_bind(w, stm, 0, visit_value_like(w, stm->outs[0]));
        w->values[stm->outs[0]].dims[0] = stm->arg_count;
        for (uint32_t d = 0; d < first.type.rank; d++)
            w->values[stm->outs[0]].dims[d + 1] = first.dims[d];
        break;
    case OP_CONCAT: walk_concat(w, stm); break;
    default: // COPY, UPDATE, SORT: as large as the first
        first = visit_value(w, stm->args[0]);
        for (uint32_t k = 0; k < stm->out_count; k++) {
            WalkValue v = visit_value_like(w, stm->outs[k]);
            memcpy(v.dims, first.dims, v.type.rank * sizeof *v.dims);
            visit_bind(w, stm, k, v);
        }
    }
    double work = visit_count(&w->values[stm->outs[0]]);
    if (stm->op == OP_UPDATE) {
        first = visit_value(w, stm->args[1]);
        work = visit_count(&first);
    }
    return stm->op == OP_SORT ? 2 * work * log2(work + 2) : work;
}
