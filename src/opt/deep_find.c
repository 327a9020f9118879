// SPDX-License-Identifier: Apache-2.0
//
// Finding nests, and what must hold of their sizes. A nest may make a row before it
// folds it, of a row that it gets and of whatever else; it must not fail at that. It
// cannot where arrays are of one length, and rows of one shape; both are sizes, which
// are told where the nest begins, or the outermost map around it.
#include "opt/deep.h"

#include "core/rules.h"

enum { LEAST = 24, LEAST_FAR = 8 };

// ---- sizes --------------------------------------------------------------------------

static void note_inside(void *data, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++) map_set(data, stm->outs[i], 1);
    for (uint32_t i = 0; i < stm->body_count; i++)
        for (uint32_t k = 0; k < stm->bodies[i]->param_count; k++)
            map_set(data, stm->bodies[i]->params[k], 1);
}

DeepScope deep_scope(const Rewrite *rw, const CoreStm *stm) {
    DeepScope s = {.rw = rw};
    map_init(&s.inside, core_notes(rw->program));
    note_inside(&s.inside, stm);
    for (uint32_t i = 0; i < stm->body_count; i++)
        core_walk(stm->bodies[i], note_inside, &s.inside);
    return s;
}

bool deep_is_inside(const DeepScope *s, CoreRef ref) {
    uint64_t unused;
    return map_get(&s->inside, ref, &unused);
}

static bool is_size_inside(const DeepScope *s, FuseSize size) {
    return deep_is_inside(s, size.array != 0 ? size.array : size.value);
}

bool deep_tell(const DeepScope *s, FuseSize *size) {
    if (is_size_inside(s, *size)) *size = fuse_find_size(s->rw, NULL, *size);
    return !is_size_inside(s, *size);
}

CoreRef deep_emit_size(CoreBuilder *b, FuseSize size) {
    return size.array == 0 ? size.value : core_dim(b, size.array, size.axis);
}

static FuseSize size_of(CoreRef array, uint32_t axis) {
    return (FuseSize){.array = array, .axis = (int32_t)axis};
}

bool deep_want_equal(DeepScope *s, FuseSize a, FuseSize b) {
    bool is_told = deep_tell(s, &a) && deep_tell(s, &b);
    bool is_known = is_told && fuse_is_equal(fuse_find_size(s->rw, NULL, a),
                                             fuse_find_size(s->rw, NULL, b));
    if (!is_told || is_known) return is_told;
    vec_push(core_notes(s->rw->program), &s->equal, a);
    vec_push(core_notes(s->rw->program), &s->equal, b);
    return true;
}

bool deep_want_lengths(DeepScope *s, const CoreStm *stm) {
    for (int32_t i = 1; i < stm->attrs[0]; i++)
        if (!deep_want_equal(s, size_of(stm->args[0], 0), size_of(stm->args[i], 0)))
            return false;
    return true;
}

// All rows that the map makes have one shape, which is the one that is said.
static bool want_shapes(DeepScope *s, const CoreStm *map) {
    const CoreProgram *p = s->rw->program;
    const CoreRef *said = map->args + map->attrs[0];
    for (uint32_t k = 0; k < map->out_count; k++) {
        CoreRef row = map->bodies[0]->results[k];
        for (uint32_t axis = 0; axis < core_type(p, row).rank; axis++, said++) {
            const CoreValue *value = &p->values.data[*said];
            bool is_open = value->is_const && (int64_t)value->bits == -1;
            FuseSize size = size_of(row, axis), other = {.value = *said};
            if (!(is_open ? deep_tell(s, &size) : deep_want_equal(s, size, other)))
                return false;
        }
    }
    return true;
}

static bool gives_scalars(const CoreProgram *p, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (core_type(p, stm->outs[i]).rank > 0) return false;
    return true;
}

// Whether the statement cannot fail where sizes are equal, which the scope notes.
static bool is_sure(DeepScope *s, const CoreStm *stm) {
    const CoreProgram *p = s->rw->program;
    if (!opt_is_effect(p, stm)) return true;
    if (stm->op != OP_MAP && stm->op != OP_REDUCE) return false;
    if (!deep_want_lengths(s, stm)) return false;
    for (uint32_t i = 0; i < stm->body_count; i++)
        for (uint32_t k = 0; k < stm->bodies[i]->stms.len; k++)
            if (!is_sure(s, stm->bodies[i]->stms.data[k])) return false;
    return stm->op == OP_MAP ? want_shapes(s, stm) : gives_scalars(p, stm);
}

// ---- nests --------------------------------------------------------------------------

// The only reduction of a body; NULL: there is none, or another one.
static const CoreStm *find_fold(const CoreBody *body) {
    const CoreStm *found = NULL;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op != OP_REDUCE) continue;
        if (found != NULL || stm->out_count != 1) return NULL;
        found = stm;
    }
    return found;
}

static bool is_bound(const CoreBody *body, CoreRef ref) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (deep_has(body->stms.data[i]->outs, body->stms.data[i]->out_count, ref))
            return true;
    return false;
}

uint32_t deep_find_param(const CoreBody *body, CoreRef ref) {
    uint32_t i = 0;
    while (i < body->param_count && body->params[i] != ref) i++;
    return i;
}

// Notes the array of which the fold takes elements; false: it is none to slice.
static bool note_feed(Deep *d, CoreRef ref) {
    const CoreBody *outer = d->outer->bodies[0], *inner = d->inner->bodies[0];
    uint32_t row = deep_find_param(outer, ref), column = deep_find_param(inner, ref);
    bool is_row = row < outer->param_count, is_column = column < inner->param_count;
    bool is_made = is_bound(outer, ref);
    if (core_type(d->program, ref).rank != 1 || d->count == DEEP_FEEDS ||
        is_bound(inner, ref))
        return false;
    d->row_of[d->count] = is_row || is_made ? ref : 0;
    d->axes[d->count] = is_row || is_column;
    d->feeds[d->count++] = is_row      ? d->outer->args[row]
                           : is_column ? d->inner->args[column]
                                       : ref;
    return is_row || is_column || !deep_has(d->inner->args, d->inner->arg_count, ref);
}

// Whether what it does with elements may fail, where the first failure is told, or
// looks at arrays, which might be those to be sliced.
static bool does_more(const Deep *d) {
    CoreProgram *p = d->program;
    for (uint32_t i = 0; i < d->fold->body_count; i++) {
        const CoreBody *body = d->fold->bodies[i];
        CoreRefs refs = {0};
        core_free(p, body, p->arena, &refs);
        for (uint32_t k = 0; k < refs.len; k++)
            if (core_type(p, refs.data[k]).rank > 0 ||
                is_bound(d->inner->bodies[0], refs.data[k]))
                return true;
        for (uint32_t k = 0; k < body->stms.len; k++)
            if (opt_is_effect(p, body->stms.data[k])) return true;
    }
    return false;
}

// Whether each row has columns of its own.
static bool has_own_columns(const Deep *d) {
    const CoreBody *outer = d->outer->bodies[0];
    for (int32_t i = 0; i < d->inner->attrs[0]; i++)
        if (deep_find_param(outer, d->inner->args[i]) < outer->param_count ||
            is_bound(outer, d->inner->args[i]))
            return true;
    return false;
}

bool deep_is_less(const Rewrite *rw, FuseSize size, int64_t least) {
    size = fuse_find_size(rw, NULL, size);
    return size.array == 0 && core_is_const(rw->program, size.value) &&
           (int64_t)rw->program->values.data[size.value].bits < least;
}

// Whether elements of rows that are folded lie apart.
static bool has_far(const Deep *d) {
    bool is_far = false;
    for (uint32_t i = 0; i < d->count; i++) {
        const CoreStm *def = rewrite_def(d->rw, d->feeds[i]);
        uint32_t last = core_type(d->program, d->feeds[i]).rank - 1u;
        is_far = is_far || (def != NULL && def->op == OP_PERMUTE &&
                            def->attrs[last] != (int32_t)last);
    }
    return is_far;
}

static int64_t least_of(const Deep *d) {
    return has_far(d) ? LEAST_FAR : LEAST;
}

static bool find_sizes(Deep *d, DeepScope *s) {
    d->elements_size = size_of(d->feeds[0], d->axes[0]);
    d->rows_size = size_of(d->outer->args[0], 0);
    d->columns_size = size_of(d->inner->args[0], 0);
    if (!deep_tell(s, &d->elements_size) || !deep_tell(s, &d->rows_size) ||
        !deep_tell(s, &d->columns_size) ||
        deep_is_less(d->rw, d->elements_size, CORE_BLOCK + 1) ||
        deep_is_less(d->rw, d->rows_size, least_of(d)) ||
        deep_is_less(d->rw, d->columns_size, least_of(d)))
        return false;
    for (uint32_t i = 1; i < d->count; i++)
        if (!deep_want_equal(s, d->elements_size, size_of(d->feeds[i], d->axes[i])))
            return false;
    return deep_want_lengths(s, d->outer) && deep_want_lengths(s, d->inner);
}

// Whether the nest gives as many numbers as there are sums, all of which are there at
// once by parts: else they might take far more memory than anything does as it was.
static bool gives_as_many(const Deep *d) {
    const CoreBody *body = d->outer->bodies[0];
    FuseSize columns = fuse_find_size(d->rw, NULL, d->columns_size);
    for (uint32_t k = 0; k < body->result_count; k++)
        for (uint32_t i = 0; i < core_type(d->program, body->results[k]).rank; i++)
            if (fuse_is_equal(
                    columns, fuse_find_size(d->rw, NULL, size_of(body->results[k], i))))
                return true;
    return false;
}

// Whether it is a nest with that statement as the inner map.
static bool find_at(Deep *d, DeepScope *s, uint32_t at) {
    const CoreBody *body = d->outer->bodies[0];
    d->at = at;
    d->inner = body->stms.data[at];
    d->count = 0;
    if (d->inner->op != OP_MAP) return false;
    d->fold = find_fold(d->inner->bodies[0]);
    if (d->fold == NULL || d->fold->stamp != STAMP_NESTED_LANES || does_more(d) ||
        has_own_columns(d))
        return false;
    for (int32_t i = 0; i < d->fold->attrs[0]; i++)
        if (!note_feed(d, d->fold->args[i])) return false;
    for (uint32_t i = 0; i < at; i++)
        if (!is_sure(s, body->stms.data[i])) return false;
    d->lanes = scalar_info[deep_elements(d, 0).elem].bytes == 8 ? 16 : 32;
    return core_is_const(d->program, d->fold->args[d->fold->attrs[0]]) &&
           find_sizes(d, s) && gives_as_many(d);
}

bool deep_find(Deep *d, DeepScope *s, const CoreStm *stm) {
    uint32_t noted = s->equal.len;
    d->outer = stm;
    if (stm->op != OP_MAP) return false;
    for (uint32_t at = 0; at < stm->bodies[0]->stms.len; at++) {
        if (find_at(d, s, at)) return true;
        s->equal.len = noted;
    }
    return false;
}

CoreRef deep_emit_wanted(Deep *d) {
    CoreRef least = deep_number(d->b, least_of(d));
    d->n = deep_emit_size(d->b, d->elements_size);
    d->rows = deep_emit_size(d->b, d->rows_size);
    d->columns = deep_emit_size(d->b, d->columns_size);
    CoreRef c = core_op2(d->b, OP_LT, deep_number(d->b, CORE_BLOCK), d->n);
    c = core_op2(d->b, OP_AND, c, core_op2(d->b, OP_LE, least, d->rows));
    return core_op2(d->b, OP_AND, c, core_op2(d->b, OP_LE, least, d->columns));
}
