// SPDX-License-Identifier: Apache-2.0
//
// Finding maps over tall columns. A fold of a column takes elements of it, and of
// others of the map, and of arrays that all columns share. It may want numbers of its
// column too, if these are made of such sums, and of nothing that may fail: then they
// can be made for all columns before it.
#include "opt/deep.h"

enum { LEAST = 2, LEAST_MORE = 4 };

static bool is_array(const DeepTall *t, CoreRef ref) {
    return core_type(t->program, ref).rank > 0;
}

static bool gives_arrays(const DeepTall *t, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (is_array(t, stm->outs[i])) return true;
    return false;
}

static bool knows(const Map *known, CoreRef ref) {
    uint64_t unused;
    return map_get(known, ref, &unused);
}

// Whether the rows of the matrix lie a column apart.
static bool is_tall(const DeepTall *t, CoreRef matrix) {
    const CoreStm *def = rewrite_def(t->rw, matrix);
    return def != NULL && def->op == OP_PERMUTE &&
           core_type(t->program, matrix).rank == 2 && def->attrs[1] != 1;
}

// ---- folds --------------------------------------------------------------------------

// Whether what bodies want of the map's body are numbers that are known, and of what is
// outside none but numbers, too; and they cannot fail.
static bool is_plain(const DeepTall *t, const DeepScope *own, const Map *known,
                     const CoreBody *body) {
    CoreProgram *p = t->program;
    CoreRefs refs = {0};
    core_free(p, body, p->arena, &refs);
    for (uint32_t i = 0; i < refs.len; i++)
        if (is_array(t, refs.data[i]) ||
            (deep_is_inside(own, refs.data[i]) && !knows(known, refs.data[i])))
            return false;
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (opt_is_effect(p, body->stms.data[i])) return false;
    return true;
}

// Whether the body wants anything of the map's.
static bool asks_for(const DeepTall *t, const DeepScope *own, const CoreBody *body) {
    CoreRefs refs = {0};
    core_free(t->program, body, t->program->arena, &refs);
    for (uint32_t i = 0; i < refs.len; i++)
        if (deep_is_inside(own, refs.data[i])) return true;
    return false;
}

static bool is_int(const DeepTall *t, CoreRef ref, int64_t value) {
    return core_is_const(t->program, ref) &&
           (int64_t)t->program->values.data[ref].bits == value;
}

// Whether it is the number of the map's turn.
static bool is_turn(const DeepTall *t, CoreRef ref) {
    uint32_t param = deep_find_param(t->map->bodies[0], ref);
    if (param == t->map->bodies[0]->param_count) return false;
    const CoreStm *def = rewrite_def(t->rw, t->map->args[param]);
    return def != NULL && def->op == OP_IOTA && is_int(t, def->args[1], 0) &&
           is_int(t, def->args[2], 1);
}

// The matrix of which the map's turn has that column, an array of the map or one that
// the turn asks for; 0: it is none.
static CoreRef find_matrix(const DeepTall *t, DeepScope *s, CoreRef ref) {
    const CoreBody *body = t->map->bodies[0];
    uint32_t param = deep_find_param(body, ref);
    if (param < body->param_count) return t->map->args[param];
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        FuseSize columns = {.array = stm->args[0]};
        if (stm->out_count == 0 || stm->outs[0] != ref) continue;
        return stm->op == OP_INDEX && stm->arg_count == 2 && is_turn(t, stm->args[1]) &&
                       deep_want_equal(s, t->columns_size, columns)
                   ? stm->args[0]
                   : 0;
    }
    return 0;
}

// Notes an array of which the fold takes elements; false: it is none to go down.
static bool note_feed(DeepTall *t, DeepScope *s, const DeepScope *own, DeepFold *f,
                      CoreRef ref) {
    CoreRef matrix = find_matrix(t, s, ref), array = matrix != 0 ? matrix : ref;
    if (f->count == DEEP_FEEDS || deep_is_inside(own, array) ||
        (matrix != 0 && !is_tall(t, matrix)))
        return false;
    f->is_column[f->count] = matrix != 0;
    f->asks_more = f->asks_more || matrix == 0;
    f->feeds[f->count++] = array;
    FuseSize size = {.array = array, .axis = matrix != 0};
    bool is_first = t->folds.len == 0 && f->count == 1;
    if (!is_first) return deep_want_equal(s, t->rows_size, size);
    t->rows_size = size;
    return deep_tell(s, &t->rows_size);
}

// How many lanes its components have; 0: not all as many.
static uint32_t lanes_of(const DeepTall *t, const CoreStm *fold) {
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < fold->out_count; i++) {
        uint32_t bytes = scalar_info[core_type(t->program, fold->outs[i]).elem].bytes;
        uint32_t own = bytes == 8 ? 16 : 32;
        if (lanes != 0 && own != lanes) return 0;
        lanes = own;
    }
    return lanes;
}

static bool find_fold(DeepTall *t, DeepScope *s, const DeepScope *own, const Map *known,
                      uint32_t at) {
    const CoreStm *stm = t->map->bodies[0]->stms.data[at];
    DeepFold f = {.stm = stm, .at = at, .lanes = lanes_of(t, stm)};
    bool is_stamped = stm->stamp == STAMP_NESTED_LANES || stm->stamp == STAMP_FREE;
    if (!is_stamped || stm->out_count > DEEP_OUTS || f.lanes == 0 ||
        gives_arrays(t, stm))
        return false;
    for (uint32_t i = 0; i < stm->body_count; i++) {
        if (!is_plain(t, own, known, stm->bodies[i])) return false;
        f.asks_more = f.asks_more || asks_for(t, own, stm->bodies[i]);
    }
    bool has_columns = false;
    for (int32_t i = 0; i < stm->attrs[0]; i++) {
        if (!note_feed(t, s, own, &f, stm->args[i])) return false;
        has_columns = has_columns || f.is_column[i];
        // Rows by columns in any order are tiles, however long (loop/lift.c).
        if (stm->stamp == STAMP_FREE && !f.is_column[i] &&
            deep_is_inside(s, f.feeds[i]))
            return false;
    }
    if (has_columns) vec_push(t->program->arena, &t->folds, f);
    return has_columns;
}

// ---- maps ---------------------------------------------------------------------------

// Whether the statement makes numbers of those that are known, and cannot fail.
static bool is_number(const DeepTall *t, const DeepScope *own, const Map *known,
                      const CoreStm *stm) {
    CoreBody alone = {.stms = {(CoreStm **)&stm, 1, 1}};
    return !gives_arrays(t, stm) && is_plain(t, own, known, &alone);
}

bool deep_find_tall(DeepTall *t, DeepScope *s, const CoreStm *stm) {
    uint32_t noted = s->equal.len;
    Map known;
    if (stm->op != OP_MAP) return false;
    t->map = stm;
    t->columns_size = (FuseSize){.array = stm->args[0]};
    if (!deep_tell(s, &t->columns_size) || !deep_want_lengths(s, stm)) return false;
    map_init(&known, core_notes(t->program));
    DeepScope own = deep_scope(t->rw, stm);
    const CoreBody *body = stm->bodies[0];
    for (uint32_t i = 0; i < body->param_count; i++)
        if (!is_array(t, body->params[i])) map_set(&known, body->params[i], 1);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *inner = body->stms.data[i];
        uint32_t equal = s->equal.len;
        bool is_known = inner->op == OP_REDUCE ? find_fold(t, s, &own, &known, i)
                                               : is_number(t, &own, &known, inner);
        if (!is_known) s->equal.len = equal;
        for (uint32_t k = 0; is_known && k < inner->out_count; k++)
            map_set(&known, inner->outs[k], 1);
    }
    bool is_short = deep_is_less(t->rw, t->rows_size, CORE_BLOCK + 1) ||
                    deep_is_less(t->rw, t->columns_size, LEAST);
    if (t->folds.len > 0 && !is_short) return true;
    s->equal.len = noted;
    return false;
}

// Few columns that are alone go down as one row of lanes; with others, they are loops.
static int64_t least_of(const DeepTall *t) {
    for (uint32_t i = 0; i < t->folds.len; i++)
        if (t->folds.data[i].asks_more) return LEAST_MORE;
    return LEAST;
}

CoreRef deep_emit_tall_wanted(DeepTall *t) {
    // Of the array that the matrix is a view of: kernels know these to be its sizes.
    t->rows = deep_emit_size(t->b, fuse_find_size(t->rw, NULL, t->rows_size));
    t->columns = deep_emit_size(t->b, fuse_find_size(t->rw, NULL, t->columns_size));
    CoreRef is_long = core_op2(t->b, OP_LT, deep_number(t->b, CORE_BLOCK), t->rows);
    CoreRef is_wide = core_op2(t->b, OP_LE, deep_number(t->b, least_of(t)), t->columns);
    return core_op2(t->b, OP_AND, is_long, is_wide);
}
