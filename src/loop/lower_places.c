// SPDX-License-Identifier: Apache-2.0
//
// Folds that find the least of some keys, or the greatest, and where it is
// (opt/fuse_place.c): by each key goes a place, and of two pairs the operator keeps the
// better key and the better of the places that have it. What that takes for each
// element is several times what the keys take. So of blocks only the keys are found
// first, and then in those which have the best of all the places, too.
#include "loop/lower.h"

static const CoreStm *find_end(const CoreBody *op, CoreRef ref) {
    const CoreStm *def = core_find_def(op, ref);
    return def != NULL && (def->op == OP_MIN || def->op == OP_MAX) ? def : NULL;
}

static bool is_key(const CoreBody *op, uint32_t c) {
    const CoreStm *def = find_end(op, op->results[c]);
    CoreRef left = op->params[c], right = op->params[op->result_count + c];
    return def != NULL && def->args[0] == left && def->args[1] == right;
}

// Whether component c has places of the keys d: on each side that which is there if the
// key is the best of both, or else nothing.
static bool is_place_of(const CoreBody *op, uint32_t c, uint32_t d) {
    const CoreStm *def = find_end(op, op->results[c]);
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t first = side * op->result_count;
        const CoreStm *branch = def == NULL ? NULL : core_find_def(op, def->args[side]);
        if (branch == NULL || branch->op != OP_IF || branch->out_count != 1)
            return false;
        const CoreStm *has = core_find_def(op, branch->args[0]);
        if (has == NULL || has->op != OP_EQ || has->args[0] != op->params[first + d] ||
            has->args[1] != op->results[d] ||
            branch->bodies[0]->results[0] != op->params[first + c])
            return false;
    }
    return true;
}

// By component: whether it is a key. NULL: they are not such pairs.
const bool *loop_keys_of_places(const Fold *f) {
    bool *keys = arena_array(f->l->arena, bool, f->width), has_places = false;
    if (f->stm->stamp != STAMP_FREE || f->start == NULL || f->is_compact) return NULL;
    for (uint32_t c = 0; c < f->width; c++) {
        keys[c] = is_key(f->op, c);
        if (keys[c]) continue;
        bool is_place = false;
        for (uint32_t d = 0; d < c; d++)
            is_place = is_place || (keys[d] && is_place_of(f->op, c, d));
        if (!is_place) return NULL;
        has_places = true;
    }
    return has_places ? keys : NULL;
}
