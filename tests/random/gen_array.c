// SPDX-License-Identifier: Apache-2.0
//
// Random programs: arrays. Only what gen_sized gives is ever made the row of an array,
// so that the sizes of rows are known wherever there is a row.
#include "make.h"

static GNode *resize(Gen *g, GNode *array, uint64_t n, GNode *otherwise) {
    GNode *node = gen_make(g, G_RESIZE, array->type);
    node->bits = n;
    node->kids[0] = array;
    node->kids[1] = otherwise;
    return node;
}

GNode *gen_sized_by(Gen *g, GType type, int depth, uint64_t n, uint64_t m) {
    if (type.rank == 0) return gen_exp(g, type, depth);
    GNode *array = gen_exp(g, type, depth - 1);
    GNode *row = gen_leaf(g, gen_element(type));
    if (type.rank == 2) {  // every row to one size, too
        GNode *rows = gen_make(g, G_MAP, type);
        rows->kids[0] = array;
        gen_bind(g, rows, 0, gen_element(type));
        GNode *var = gen_make(g, G_VAR, gen_element(type));
        var->var[0] = rows->var[0];
        rows->kids[1] = resize(g, var, m, gen_leaf(g, gen_element(var->type)));
        gen_unbind(g, 1);
        array = rows;
        row = resize(g, row, m, gen_leaf(g, gen_element(row->type)));
    }
    return resize(g, array, n, row);
}

// The same array with a size that the checker does not know.
static GNode *hidden(Gen *g, GNode *array) {
    GNode *node = gen_make(g, G_FILTER, array->type);
    node->kids[0] = array;
    gen_bind(g, node, 0, gen_element(array->type));
    gen_unbind(g, 1);
    node->kids[1] = gen_make(g, G_LIT, GEN_BOOL);
    node->kids[1]->bits = 1;
    return node;
}

GNode *gen_sized(Gen *g, GType type, int depth) {
    uint64_t n = gen_below(g, 4);
    return gen_sized_by(g, type, depth, n, 2);
}

void gen_body(Gen *g, GNode *node, int kid, GType type, int depth) {
    g->nesting++;
    node->kids[kid] = gen_sized(g, type, depth);
    g->nesting--;
}

static GType any_array(Gen *g, GType type) {
    return (GType){gen_below(g, 2) ? type.elem : gen_any_scalar(g), 1 + gen_below(g, 2)};
}

static GNode *make_map(Gen *g, GType type, int depth) {
    GNode *node;
    GType elem = gen_element(type);
    switch (gen_below(g, g->risky ? 7 : 6)) {
    default:
        node = gen_make(g, G_MAP, type);
        node->kids[0] = gen_exp(g, any_array(g, type), depth - 1);
        gen_bind(g, node, 0, gen_element(node->kids[0]->type));
        gen_body(g, node, 1, elem, depth - 1);
        gen_unbind(g, 1);
        return node;
    case 3: case 6:
        node = gen_make(g, g->risky && gen_below(g, 2) ? G_ZIPF : G_MAP2, type);
        node->bits = gen_below(g, 2);
        for (int i = 0; i < 2; i++) node->kids[i] = gen_exp(g, any_array(g, type), depth - 1);
        if (node->kind == G_ZIPF) node->kids[1] = hidden(g, node->kids[1]);
        for (int i = 0; i < 2; i++) gen_bind(g, node, i, gen_element(node->kids[i]->type));
        gen_body(g, node, 2, elem, depth - 1);
        gen_unbind(g, 2);
        return node;
    case 4: {
        if (type.rank <= 2 && gen_below(g, 2)) {
            node = gen_make(g, type.rank == 2 ? G_TABULATE2 : G_SPACE, type);
            node->bits = gen_below(g, 5);
            gen_bind(g, node, 0, GEN_INDEX);
            gen_bind(g, node, 1, GEN_INDEX);
            gen_body(g, node, 0, (GType){type.elem, 0}, depth - 1);
            gen_unbind(g, 2);
            return node;
        }
        node = gen_make(g, G_TABULATE, type);
        node->bits = gen_below(g, 6);
        gen_bind(g, node, 0, GEN_INDEX);
        gen_body(g, node, 0, elem, depth - 1);
        gen_unbind(g, 1);
        return node;
    }
    case 5:
        node = gen_make(g, G_SUMMAP, type);
        node->kids[0] = gen_exp(g, any_array(g, type), depth - 1);
        gen_bind(g, node, 0, gen_element(node->kids[0]->type));
        gen_body(g, node, 1, GEN_BOOL, depth - 2);
        gen_body(g, node, 2, (GType){type.elem, 0}, depth - 2);
        gen_body(g, node, 3, (GType){gen_any_scalar(g), 0}, depth - 2);
        gen_unbind(g, 1);
        uint64_t n = gen_below(g, 4);
        g->nesting++;
        for (int i = 0; i < 2; i++) {
            gen_bind(g, node, 1 + i, node->kids[2 + i]->type);
            node->kids[4 + i] = gen_sized_by(g, elem, depth - 1, n, 2);
            gen_unbind(g, 1);
        }
        g->nesting--;
        return node;
    }
}

static GNode *make_scan(Gen *g, GType type, int depth) {
    bool pairs = type.elem != SCALAR_BOOL && type.rank == 1 && gen_below(g, 4) == 0;
    GNode *node;
    if (pairs) {
        node = gen_make(g, G_AFFSCAN, type);
        node->kids[1] = gen_exp(g, type, depth - 1);
    } else if (type.rank == 2) {
        node = gen_make(g, G_ROWSCAN, type);
    } else if (type.rank == 1 && gen_below(g, 4) == 0) {
        node = gen_make(g, G_ROWRED, type);
    } else if (type.rank == 1) {
        node = gen_make(g, G_SCAN, type);
        node->bits = gen_below(g, 4);  // 0: exclusive
    } else {
        return make_map(g, type, depth);
    }
    node->op = gen_associative(g, type.elem);
    GType from = node->kind == G_ROWRED ? gen_array_of(type) : type;
    node->kids[0] = gen_exp(g, from, depth - 1);
    return node;
}

static GNode *make_selection(Gen *g, GType type, int depth) {
    GNode *node = gen_make(g, gen_below(g, 3) ? G_FILTER : G_PARTITION, type);
    node->kids[0] = gen_exp(g, type, depth - 1);
    gen_bind(g, node, 0, gen_element(type));
    gen_body(g, node, 1, GEN_BOOL, depth - 1);
    gen_unbind(g, 1);
    return node;
}

uint64_t gen_near_bits(Gen *g) {
    uint32_t bits = gen_below(g, 3 * NEAR_COUNT);
    return gen_near(bits) == NEAR_OUTSIDE && !g->risky ? bits - 1 : bits;
}

static GNode *make_neighbours(Gen *g, GType type, int depth) {
    GNode *node = gen_make(g, type.rank == 1 ? G_NEAR : G_NEAR2, type);
    node->bits = gen_near_bits(g) | gen_near_bits(g) << 8;
    node->kids[0] = gen_exp(g, type, depth - 1);
    return node;
}

// By itself, or by keys.
static GNode *make_sorted(Gen *g, GType type, int depth) {
    bool has_keys = type.rank > 1 || gen_below(g, 2);
    GNode *node = gen_make(g, has_keys ? G_SORTBY : G_SORT, type);
    node->kids[0] = gen_exp(g, type, depth - 1);
    if (has_keys) node->kids[1] = gen_exp(g, (GType){gen_any_scalar(g), 1}, depth - 1);
    if (g->large == 1 && g->nesting == 0 && g->loops == 0 && type.rank == 1 &&
        type.elem != SCALAR_BOOL && !has_keys) {  // long enough for digits
        node->kids[0] = gen_make(g, G_IOTA, type);
        node->kids[0]->bits = 16384 + gen_below(g, 20000);
    }
    return node;
}

static GNode *make_moved(Gen *g, GType type, int depth) {
    if (gen_below(g, 8) == 0) return make_sorted(g, type, depth);
    if (type.rank <= 2 && gen_below(g, 4) == 0) return make_neighbours(g, type, depth);
    static const GKind risky[] = {G_CUT, G_CAST, G_CONCAT};
    static const GKind kinds[] = {G_REVERSE, G_SLICE,   G_STRIDE,  G_STRIDE, G_SLICE2,
                                  G_ROTATE,  G_CONCAT,  G_TRANSPOSE, G_FLATTEN,
                                  G_UNFLATTEN};
    GKind kind = g->risky && gen_below(g, 4) == 0 ? risky[gen_below(g, 3)]
                                                  : kinds[gen_below(g, 10)];
    bool fits = true;
    GType from = type;
    switch ((int)kind) {
    case G_SLICE2: fits = type.rank == 2; break;
    case G_CONCAT: fits = type.rank == 1; break;
    case G_TRANSPOSE: fits = type.rank >= 2; break;
    case G_FLATTEN: fits = type.rank == 1, from.rank = 2; break;
    case G_UNFLATTEN: fits = type.rank == 2, from.rank = 1; break;
    }
    if (!fits) kind = G_STRIDE, from = type;
    GNode *node = gen_make(g, kind, type);
    node->bits = kind == G_CAST ? gen_below(g, 4) : gen_below(g, 64);
    node->kids[0] = gen_exp(g, from, depth - 1);
    if (kind == G_CONCAT) node->kids[1] = gen_exp(g, type, depth - 1);
    else
        for (int i = 1; i < gen_info[kind].kids; i++)
            node->kids[i] = gen_exp(g, GEN_INDEX, depth - 2);
    return node;
}

static GNode *make_update(Gen *g, GType type, int depth) {
    GNode *node;
    switch (gen_below(g, 4)) {
    case 0:
        if (type.rank == 2) {
            node = gen_make(g, G_UPDATE2, type);
            node->kids[0] = gen_exp(g, type, depth - 1);
            node->kids[1] = gen_exp(g, GEN_INDEX, depth - 2);
            node->kids[2] = gen_exp(g, GEN_INDEX, depth - 2);
            node->kids[3] = gen_exp(g, (GType){type.elem, 0}, depth - 1);
            return node;
        }  // fallthrough
    case 1:
        node = gen_make(g, G_UPROWS, type);
        node->bits = gen_below(g, type.rank == 2 ? 4 : 3);
        node->kids[0] = gen_exp(g, type, depth - 1);
        node->kids[1] = gen_exp(g, GEN_INDEX, depth - 2);
        node->kids[2] = gen_exp(g, GEN_INDEX, depth - 2);
        return node;
    case 2:
        if (type.rank == 1) {
            node = gen_make(g, G_UPLOOP, type);
            node->bits = gen_below(g, 5);
            node->kids[0] = gen_exp(g, type, depth - 1);
            gen_bind(g, node, 0, type);
            gen_bind(g, node, 1, GEN_INDEX);
            g->loops++;
            node->kids[1] = gen_exp(g, GEN_INDEX, depth - 2);
            node->kids[2] = gen_exp(g, gen_element(type), depth - 1);
            g->loops--;
            gen_unbind(g, 2);
            return node;
        }  // fallthrough
    default:
        if (type.rank > 2 || (type.rank == 2 && !g->risky))
            return make_moved(g, type, depth);
        node = gen_make(g, G_UPDATE, type);
        node->kids[0] = gen_exp(g, type, depth - 1);
        node->kids[1] = gen_exp(g, GEN_INDEX, depth - 2);
        node->kids[2] = gen_exp(g, gen_element(type), depth - 1);
        if (type.rank == 2) node->kids[2] = hidden(g, node->kids[2]);
        return node;
    }
}

GNode *gen_few(Gen *g, GNode *x) {
    GNode *rest = gen_make(g, G_BIN, GEN_INDEX);
    rest->op = GOP_MOD;
    rest->bits = 1;
    rest->kids[0] = x;
    rest->kids[1] = gen_make(g, G_LIT, GEN_INDEX);
    rest->kids[1]->bits = 2 + gen_below(g, 4);
    return rest;
}

// A histogram, scatter or filter of what is made of each element of one array.
static GNode *make_chain(Gen *g, GType type, int depth) {
    static const GKind kinds[] = {G_BINS, G_PUTS, G_KEEPS};
    GNode *node = gen_make(g, kinds[gen_below(g, 3)], type);
    node->op = gen_associative(g, type.elem);
    if (node->op == GOP_LAST) node->op = GOP_ADD;  // must commute
    node->kids[0] = gen_exp(g, any_array(g, type), depth - 1);
    if (node->kind != G_KEEPS) node->kids[3] = gen_exp(g, type, depth - 1);
    gen_bind(g, node, 0, gen_element(node->kids[0]->type));
    g->nesting++;
    node->kids[1] = node->kind == G_KEEPS ? gen_exp(g, GEN_BOOL, depth - 2)
                                          : gen_few(g, gen_exp(g, GEN_INDEX, depth - 2));
    node->kids[2] = gen_exp(g, (GType){type.elem, 0}, depth - 1);
    g->nesting--;
    gen_unbind(g, 1);
    return node;
}

// An array of indices, most of them small.
static GNode *make_indices(Gen *g, int depth) {
    GNode *array = gen_exp(g, (GType){SCALAR_I64, 1}, depth);
    if (gen_below(g, 3) == 0) return array;
    GNode *node = gen_make(g, G_MAP, array->type);
    node->kids[0] = array;
    gen_bind(g, node, 0, GEN_INDEX);
    g->nesting++;
    GNode *var = gen_make(g, G_VAR, GEN_INDEX);
    var->var[0] = node->var[0];
    node->kids[1] = gen_few(g, var);
    g->nesting--;
    gen_unbind(g, 1);
    return node;
}

static GNode *make_scattered(Gen *g, GType type, int depth) {
    if (type.rank > 2) return make_map(g, type, depth);
    if (type.rank == 1 && gen_below(g, 2)) return make_chain(g, type, depth);
    static const GKind kinds[2][2] = {{G_HIST, G_SCATTER}, {G_HIST2, G_SCATTER2}};
    GNode *node = gen_make(g, kinds[type.rank - 1][gen_below(g, 2)], type);
    node->op = gen_associative(g, type.elem);
    if (node->op == GOP_LAST) node->op = GOP_ADD;  // must commute
    node->kids[0] = gen_exp(g, type, depth - 1);
    if (g->large == 1 && type.rank == 1 && type.elem != SCALAR_BOOL && g->nesting == 0 &&
        g->loops == 0 && gen_below(g, 4)) {  // long enough for several parts
        for (uint32_t i = 0; i <= 2; i++) {
            node->kids[i] = gen_make(g, G_IOTA, i == 1 ? (GType){SCALAR_I64, 1} : type);
            node->kids[i]->bits = i == 0 ? 3 + gen_below(g, 20) : 16384 + gen_below(g, 12000);
        }
        return node;
    }
    for (uint32_t i = 1; i <= type.rank; i++) node->kids[i] = make_indices(g, depth - 1);
    node->kids[type.rank + 1] = gen_exp(g, (GType){type.elem, 1}, depth - 1);
    return node;
}

GNode *gen_fold(Gen *g, GType type, int depth) {
    return gen_below(g, 2) ? make_scan(g, type, depth) : make_scattered(g, type, depth);
}

static GNode *make_fresh(Gen *g, GType type, int depth) {
    GNode *node;
    if (type.rank == 1 && scalar_is_int(type.elem) && gen_below(g, 2)) {
        node = gen_make(g, G_RANGE, type);
        node->bits = gen_below(g, 32);
        node->kids[0] = gen_exp(g, GEN_INDEX, depth - 1);
    } else if (gen_below(g, 2)) {
        node = gen_make(g, G_REPLICATE, type);
        node->bits = gen_below(g, 5);
        node->kids[0] = gen_exp(g, gen_element(type), depth - 1);
    } else {
        node = gen_make(g, G_ARRAY, type);
        uint64_t n = gen_below(g, 4);
        for (int i = 0; i < 3; i++) {
            if (g->risky && type.rank == 2 && gen_below(g, 3) == 0) n = gen_below(g, 3);
            node->kids[i] = gen_sized_by(g, gen_element(type), depth - 1, n, 2);
            if (g->risky && type.rank == 2) node->kids[i] = hidden(g, node->kids[i]);
        }
    }
    return node;
}

GNode *gen_array(Gen *g, GType type, int depth) {
    if (g->deep && g->nesting < GEN_NESTING && gen_below(g, 2))
        return make_map(g, type, depth);
    switch (gen_below(g, 12)) {
    case 0: case 1: case 2: return make_map(g, type, depth);
    case 3: return make_scan(g, type, depth);
    case 4: return make_selection(g, type, depth);
    case 5: case 6: return make_moved(g, type, depth);
    case 7: case 8: return make_update(g, type, depth);
    case 9: return make_scattered(g, type, depth);
    case 10: return make_fresh(g, type, depth);
    default: return make_scan(g, type, depth);
    }
}
