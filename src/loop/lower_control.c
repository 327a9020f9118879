// SPDX-License-Identifier: Apache-2.0
//
// Control: branches, loops and calls. Branches hand out arrays as they are where both
// are of a kind; loops carry them dense and in memory of their own.
#include "core/rules.h"
#include "loop/lower.h"

#include <string.h>

void loop_guard(Lower *l, const CoreStm *stm) {
    loop_bind(l, stm->outs[0], loop_val(l, stm->args[0]));
}

// ---- places -------------------------------------------------------------------------

static bool reaches(Lower *l, CoreRef ref, CoreRef param);

static bool branches_reach(Lower *l, const CoreStm *stm, uint32_t k, CoreRef param) {
    for (uint32_t i = 0; i < 2; i++)
        if (!loop_uses(l, stm->bodies[i])->moves[k] ||
            !reaches(l, stm->bodies[i]->results[k], param))
            return false;
    return true;
}

// Which arg a result takes over the memory of, if it does; else arg_count.
static uint32_t taken_arg(Lower *l, const CoreStm *stm, uint32_t k) {
    switch ((int)stm->op) {
    case OP_UPDATE:
    case OP_SCATTER:
    case OP_GUARD:
    case OP_COPY: return 0;
    case OP_HIST: return k;
    case OP_SORT: return k == 0 ? 0 : stm->arg_count;
    case OP_FOR: return loop_is_in_place(l, stm, k) ? 1 + k : stm->arg_count;
    case OP_WHILE: return loop_is_in_place(l, stm, k) ? k : stm->arg_count;
    }
    return stm->arg_count;
}

static uint32_t out_number(const CoreStm *stm, CoreRef ref) {
    uint32_t k = 0;
    while (stm->outs[k] != ref) k++;
    return k;
}

// Whether the value's memory is that of the param, by steps that overwrite it.
static bool reaches(Lower *l, CoreRef ref, CoreRef param) {
    while (ref != param) {
        const CoreStm *stm = loop_name(l, ref)->stm;
        if (stm == NULL || core_is_const(l->core, ref)) return false;
        uint32_t k = out_number(stm, ref);
        if (stm->op == OP_IF) return branches_reach(l, stm, k, param);
        uint32_t arg = taken_arg(l, stm, k);
        if (arg == stm->arg_count || !loop_uses(l, stm)->moves[arg]) return false;
        ref = stm->args[arg];
    }
    return true;
}

bool loop_is_in_place(Lower *l, const CoreStm *stm, uint32_t k) {
    const CoreBody *body = stm->bodies[stm->body_count - 1];
    return reaches(l, body->results[k], body->params[(stm->op == OP_FOR) + k]);
}

void loop_assign(Lower *l, CoreRef ref, Home *place, uint32_t body) {
    for (;;) {
        Name *name = loop_name(l, ref);
        if (core_is_const(l->core, ref) || name->stm == NULL || name->body != body ||
            name->place != NULL)
            return;
        name->place = place;
        uint32_t arg = taken_arg(l, name->stm, out_number(name->stm, ref));
        if (arg == name->stm->arg_count || !loop_uses(l, name->stm)->moves[arg]) return;
        ref = name->stm->args[arg];
    }
}

// ---- IF -----------------------------------------------------------------------------

typedef struct Branch {
    LoopBody *body;
    Val *vals;
    bool *is_ours;
    Home **places;
    uint32_t ended; // l->ended when it began
} Branch;

// A copy of the place for one branch: each may take it.
static Home **places_for_branch(Lower *l, const CoreStm *stm) {
    Home **places = arena_array(l->arena, Home *, stm->out_count);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        const Home *place = loop_name(l, stm->outs[k])->place;
        if (loop_core_type(l, stm->outs[k]).rank == 0 || place == NULL ||
            place->is_taken)
            continue;
        places[k] = arena_copy(l->arena, place, sizeof *place);
    }
    return places;
}

static Branch loop_branch(Lower *l, const CoreStm *stm, uint32_t i) {
    Branch branch = {.places = places_for_branch(l, stm), .ended = l->ended.len};
    branch.vals = arena_array(l->arena, Val, stm->out_count);
    branch.is_ours = arena_array(l->arena, bool, stm->out_count);
    loop_open(l->b, NULL, 0);
    loop_body(l, stm->bodies[i], NULL, branch.places, branch.vals, branch.is_ours);
    branch.body = loop_close(l->b, NULL, 0);
    return branch;
}

// What ended in the branches has ended, but each is lowered as if there were no other.
static void set_live(Lower *l, uint32_t from, uint32_t to, bool is_live) {
    for (uint32_t i = from; i < to; i++) {
        Name *name = loop_name(l, l->ended.data[i]);
        if (name->depth <= l->depth) name->is_live = is_live;
    }
}

static void reopen(Lower *l, Branch *branch) {
    loop_reopen(l->b, branch->body);
}

static void close_again(Lower *l) {
    loop_close(l->b, NULL, 0);
}

static bool fits_place(Lower *l, const Array *a, const Home *place) {
    if (loop_is_in(l, a, place)) return true;
    uint64_t bits;
    LoopRef fits = loop_same_shape(l, a->rank, a->shape, place->shape);
    return loop_is_known(l->b, fits, &bits) && bits != 0;
}

// Puts result k of both branches into its place, if that is sure to fit.
static void fill_place(Lower *l, Branch *branches, uint32_t k) {
    if (branches[0].places[k] == NULL) return;
    for (uint32_t i = 0; i < 2; i++) {
        const Home *place = branches[i].places[k];
        if (place->kind == PLACE_ROW &&
            !fits_place(l, branches[i].vals[k].array, place))
            return;
    }
    for (uint32_t i = 0; i < 2; i++) {
        reopen(l, &branches[i]);
        loop_deliver(l, branches[i].places + k, branches[i].vals + k, 1);
        close_again(l);
    }
}

static void make_memory(Lower *l, Branch *branch, uint32_t k) {
    Array *a = branch->vals[k].array;
    if (a->kind == ARRAY_MEMORY) return;
    reopen(l, branch);
    branch->vals[k].array = loop_copied(l, a, NULL);
    branch->is_ours[k] = true;
    close_again(l);
}

// The results of both branches as they are made one.
typedef struct Merger {
    Lower *l;
    struct {
        LoopRef *data;
        uint32_t len, cap;
    } refs[2];
    struct {
        LoopRef **data;
        uint32_t len, cap;
    } outs; // where the result's ref goes
} Merger;

static void merge_refs(Merger *m, LoopRef x, LoopRef y, LoopRef *out) {
    *out = x;
    if (loop_same(m->l->b, x, y)) return;
    vec_push(m->l->arena, &m->refs[0], x);
    vec_push(m->l->arena, &m->refs[1], y);
    vec_push(m->l->arena, &m->outs, out);
}

static Array *merge_arrays(Merger *m, const Branch *branches, uint32_t k) {
    Lower *l = m->l;
    const Array *x = branches[0].vals[k].array, *y = branches[1].vals[k].array;
    Array *a = loop_new_array(l, (ArrayKind)x->kind, (ScalarType)x->elem, x->rank);
    a->is_dense = x->is_dense && y->is_dense;
    a->repeats = x->repeats || y->repeats;
    if (x->if_fits == y->if_fits) a->if_fits = x->if_fits;
    merge_refs(m, x->off, y->off, &a->off);
    if (a->kind == ARRAY_MEMORY) merge_refs(m, x->buf, y->buf, &a->buf);
    if (a->kind != ARRAY_MEMORY) merge_refs(m, x->start, y->start, &a->start);
    if (a->kind == ARRAY_IOTA) merge_refs(m, x->step, y->step, &a->step);
    for (uint32_t d = 0; d < a->rank; d++) {
        merge_refs(m, x->shape[d], y->shape[d], &a->shape[d]);
        if (!a->is_dense) merge_refs(m, x->strides[d], y->strides[d], &a->strides[d]);
    }
    a->block = loop_join_blocks(l, x->block, y->block);
    return a;
}

// What a branch has put into its copy of the place is there.
static void take_place(Lower *l, CoreRef out, const Branch *branches, uint32_t k,
                       const Array *a) {
    Home *place = loop_name(l, out)->place;
    if (!branches[0].places[k]->is_taken && !branches[1].places[k]->is_taken) return;
    place->is_taken = true;
    place->block = a->block;
    if (place->kind != PLACE_RESULT) return;
    place->buf = a->buf;
    place->off = a->off;
    place->shape = a->shape;
}

void loop_if(Lower *l, const CoreStm *stm) {
    LoopRef c = loop_arg(l, stm, 0);
    Branch branches[2];
    uint32_t start = l->ended.len;
    branches[0] = loop_branch(l, stm, 0);
    uint32_t middle = l->ended.len;
    set_live(l, start, middle, true);
    branches[1] = loop_branch(l, stm, 1);
    set_live(l, start, l->ended.len, false);
    Merger m = {.l = l};
    Val *outs = arena_array(l->arena, Val, stm->out_count);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        if (branches[0].vals[k].array == NULL) {
            merge_refs(&m, branches[0].vals[k].scalar, branches[1].vals[k].scalar,
                       &outs[k].scalar);
            continue;
        }
        fill_place(l, branches, k);
        if (branches[0].vals[k].array->kind != branches[1].vals[k].array->kind)
            for (uint32_t i = 0; i < 2; i++) make_memory(l, &branches[i], k);
        outs[k].array = merge_arrays(&m, branches, k);
    }
    LoopBody *bodies[2];
    for (uint32_t i = 0; i < 2; i++) {
        reopen(l, &branches[i]);
        bodies[i] = loop_close(l->b, m.refs[i].data, m.refs[i].len);
    }
    LoopStm *made =
        loop_emit(l->b, LOOP_IF, &c, 1, loop_types(l, m.refs[0].data, m.refs[0].len),
                  m.refs[0].len);
    loop_set_bodies(l->b, made, bodies, 2);
    for (uint32_t i = 0; i < m.outs.len; i++) *m.outs.data[i] = made->outs[i];
    for (uint32_t k = 0; k < stm->out_count; k++) {
        Array *a = outs[k].array;
        if (a != NULL && a->is_dense) loop_set_dense(l, a);
        if (a != NULL) loop_know_shape(l, a);
        loop_bind(l, stm->outs[k], outs[k]);
        if (branches[0].places[k] != NULL) take_place(l, stm->outs[k], branches, k, a);
    }
}

// ---- loops --------------------------------------------------------------------------

typedef struct Loop {
    const CoreStm *stm;
    const CoreBody *body;
    uint32_t first;   // of the args and of the params that are state
    uint32_t width;   // of what is carried: state that stays the same is not
    uint32_t *number; // of state by carried value
    Val *init, *state;
    bool *is_ours; // of init
    bool is_wide;  // it counts in i64, whatever the program says
} Loop;

static Loop open_loop(Lower *l, const CoreStm *stm) {
    uint32_t count = stm->out_count;
    Loop loop = {.stm = stm,
                 .body = stm->bodies[stm->body_count - 1],
                 .first = stm->op == OP_FOR};
    loop.number = arena_array(l->arena, uint32_t, count);
    loop.init = arena_array(l->arena, Val, count);
    loop.state = arena_array(l->arena, Val, count);
    loop.is_ours = arena_array(l->arena, bool, count);
    for (uint32_t k = 0; k < count; k++) {
        loop.state[k] = loop_val(l, stm->args[loop.first + k]);
        if (loop.body->results[k] == loop.body->params[loop.first + k]) continue;
        Val v = loop.state[k];
        if (v.array != NULL) {
            bool is_ours = loop_is_ours(l, stm, loop.first + k);
            Array *given = v.array;
            v.array =
                loop_is_in_place(l, stm, k)
                    ? loop_own(l, given, is_ours, loop_name(l, stm->outs[k])->place)
                    : loop_make_dense(l, given);
            loop.is_ours[loop.width] = is_ours || v.array != given;
        }
        loop.init[loop.width] = v;
        loop.number[loop.width++] = k;
    }
    return loop;
}

// The params of a body: what is carried, and what stays.
static Val *loop_args(Lower *l, const Loop *loop, const Val *carried) {
    Val *args = arena_array(l->arena, Val, loop->first + loop->stm->out_count);
    for (uint32_t k = 0; k < loop->stm->out_count; k++)
        args[loop->first + k] = loop->state[k];
    for (uint32_t i = 0; i < loop->width; i++)
        args[loop->first + loop->number[i]] = carried[i];
    return args;
}

// A loop that carries arrays counts in i64, for which passes look: `for i < 100` counts
// in i32.
static bool is_to_be_wide(const Lower *l, const Loop *loop, LoopRef times) {
    ScalarType type = (ScalarType)loop_type(l->b, times).elem;
    bool carries = false;
    for (uint32_t i = 0; i < loop->width; i++) carries |= loop->init[i].array != NULL;
    return carries && scalar_info[type].bytes <= 4;
}

// The number of the turn, as the program has it.
static LoopRef index_of(Lower *l, const Loop *loop, LoopRef turn) {
    ScalarType type = (ScalarType)loop_core_type(l, loop->body->params[0]).elem;
    return loop->is_wide ? loop_scalar(l->b, OP_CONV, type, &turn, 1) : turn;
}

// Lowers the body and closes the loop.
static void finish_loop(Lower *l, const Loop *loop, Carry *carry) {
    uint32_t count = loop->stm->out_count;
    Val *args = loop_args(l, loop, carry->state);
    Val *vals = arena_array(l->arena, Val, count),
        *outs = arena_array(l->arena, Val, count);
    bool *is_ours = arena_array(l->arena, bool, count);
    if (loop->first != 0) args[0] = val_scalar(index_of(l, loop, carry->index));
    loop_body(l, loop->body, args, NULL, vals, is_ours);
    for (uint32_t i = 0; i < loop->width; i++) {
        vals[i] = vals[loop->number[i]];
        is_ours[i] = is_ours[loop->number[i]];
    }
    loop_close_carry(l, carry, vals, is_ours, outs);
    for (uint32_t i = 0; i < loop->width; i++) loop->state[loop->number[i]] = outs[i];
    for (uint32_t k = 0; k < count; k++)
        loop_bind(l, loop->stm->outs[k], loop->state[k]);
}

void loop_for(Lower *l, const CoreStm *stm) {
    LoopRef times = loop_arg(l, stm, 0);
    Loop loop = open_loop(l, stm);
    Carry carry;
    loop.is_wide = is_to_be_wide(l, &loop, times);
    if (loop.is_wide) times = loop_scalar(l->b, OP_CONV, SCALAR_I64, &times, 1);
    loop_open_carry(l, &carry, loop.init, loop.is_ours, loop.width, times);
    finish_loop(l, &loop, &carry);
}

void loop_while(Lower *l, const CoreStm *stm) {
    Loop loop = open_loop(l, stm);
    Carry carry;
    loop_open_carry(l, &carry, loop.init, loop.is_ours, loop.width, 0);
    Val *state = arena_array(l->arena, Val, stm->out_count), c;
    bool is_ours;
    loop_open_guard(l, &carry, state);
    LoopRef mark = loop_mark(l);
    uint32_t allocs = l->allocs;
    loop_body(l, stm->bodies[0], loop_args(l, &loop, state), NULL, &c, &is_ours);
    loop_keep(l, mark, allocs, NULL, 0);
    carry.guard = loop_close(l->b, &c.scalar, 1);
    carry.allocs = l->allocs;
    finish_loop(l, &loop, &carry);
}

// ---- calls --------------------------------------------------------------------------

// An array passed to a function: buffer, offset and sizes, dense.
static Val open_param(Lower *l, CoreType type, bool *is_owned, LoopRef *params,
                      uint32_t *count) {
    ScalarType elem = (ScalarType)type.elem;
    if (type.rank == 0) {
        params[*count] = loop_value(l->b, loop_scalar_type(elem), 0);
        return val_scalar(params[(*count)++]);
    }
    LoopRef *refs = params + *count;
    refs[0] = loop_value(l->b, loop_buffer_type(elem), 0);
    for (uint32_t d = 0; d <= type.rank; d++)
        refs[1 + d] = loop_value(l->b, loop_scalar_type(SCALAR_I64), 0);
    *count += 2u + type.rank;
    Array *a = loop_dense(l, elem, refs[0], refs[1], type.rank, refs + 2);
    loop_know_shape(l, a);
    a->block = loop_block(l);
    loop_block_of(l, a)->is_owned = is_owned;
    loop_block_of(l, a)->is_lent = true;
    return val_array(a);
}

static LoopBody *loop_function(Lower *l, const CoreBody *body, bool *owns) {
    uint32_t most = 0, count = 0;
    for (uint32_t i = 0; i < body->param_count; i++)
        most += 2u + loop_core_type(l, body->params[i]).rank;
    for (uint32_t i = 0; i < body->result_count; i++)
        most += 2u + loop_core_type(l, body->results[i]).rank;
    LoopRef *refs = arena_array(l->arena, LoopRef, most);
    Val *args = arena_array(l->arena, Val, body->param_count);
    Val *vals = arena_array(l->arena, Val, body->result_count);
    bool *is_ours = arena_array(l->arena, bool, body->result_count);
    LoopBody *made = loop_open(l->b, NULL, 0);
    for (uint32_t i = 0; i < body->param_count; i++)
        args[i] =
            open_param(l, loop_core_type(l, body->params[i]), &owns[i], refs, &count);
    made->params = arena_copy(l->arena, refs, count * sizeof *refs);
    made->param_count = count;
    loop_body(l, body, args, NULL, vals, is_ours);
    for (uint32_t i = 0; i < body->result_count; i++)
        if (vals[i].array != NULL)
            vals[i].array = loop_own(l, vals[i].array, is_ours[i], NULL);
    count = loop_flatten(l, vals, body->result_count, refs);
    return loop_close(l->b, refs, count);
}

// The number of the function in the kernel, which is made when it is first called.
static uint32_t function_of(Lower *l, const CoreStm *stm) {
    uint32_t index = (uint32_t)stm->attrs[0];
    if (l->funs[index] != 0) return l->funs[index] - 1;
    const CoreFun *fun = l->core->funs.data[index];
    l->fun_owns[index] = arena_array(l->arena, bool, fun->body->param_count);
    bool was_parallel = l->is_parallel;
    uint32_t sizes = l->sizes.len, outer = l->depth;
    l->is_parallel = false;
    loop_find_uses(l, fun->body);
    loop_enter(l);
    LoopBody *body = loop_function(l, fun->body, l->fun_owns[index]);
    loop_leave(l);
    l->depth = outer;
    l->sizes.len = sizes;
    l->is_parallel = was_parallel;
    bool is_plain = core_is_plain_call(l->core, stm);
    vec_push(l->arena, &l->kernel->funs, (LoopFun){fun->name, body, is_plain});
    l->funs[index] = l->kernel->funs.len;
    return l->kernel->funs.len - 1;
}

void loop_call(Lower *l, const CoreStm *stm) {
    uint32_t index = (uint32_t)stm->attrs[0];
    uint32_t number = function_of(l, stm), width = 0;
    Val *vals = arena_array(l->arena, Val, stm->arg_count);
    for (uint32_t i = 0; i < stm->arg_count; i++) {
        vals[i] = loop_val(l, stm->args[i]);
        width += vals[i].array == NULL ? 1 : 2u + vals[i].array->rank;
        if (vals[i].array == NULL) continue;
        vals[i].array = l->fun_owns[index][i]
                            ? loop_own(l, vals[i].array, loop_is_ours(l, stm, i), NULL)
                            : loop_make_dense(l, vals[i].array);
    }
    LoopRef *args = arena_array(l->arena, LoopRef, width);
    loop_flatten(l, vals, stm->arg_count, args);
    struct {
        LoopType *data;
        uint32_t len, cap;
    } types = {0};
    for (uint32_t k = 0; k < stm->out_count; k++) {
        CoreType type = loop_core_type(l, stm->outs[k]);
        ScalarType elem = (ScalarType)type.elem;
        vec_push(l->arena, &types,
                 type.rank == 0 ? loop_scalar_type(elem) : loop_buffer_type(elem));
        for (uint32_t d = 0; d <= type.rank && type.rank > 0; d++)
            vec_push(l->arena, &types, loop_scalar_type(SCALAR_I64));
    }
    bool is_plain = l->kernel->funs.data[number].is_plain;
    LoopStm *call = loop_emit(l->b, is_plain ? LOOP_APPLY : LOOP_CALL, args, width,
                              types.data, types.len);
    call->number = number;
    if (!is_plain) l->allocs++;
    const LoopRef *outs = call->outs;
    for (uint32_t k = 0; k < stm->out_count; k++) {
        CoreType type = loop_core_type(l, stm->outs[k]);
        if (type.rank == 0) {
            loop_bind(l, stm->outs[k], val_scalar(*outs++));
            continue;
        }
        Array *a =
            loop_dense(l, (ScalarType)type.elem, outs[0], outs[1], type.rank, outs + 2);
        loop_know_shape(l, a);
        a->block = loop_block(l);
        loop_bind(l, stm->outs[k], val_array(a));
        outs += 2 + type.rank;
    }
}
