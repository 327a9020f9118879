// SPDX-License-Identifier: Apache-2.0
//
// Random programs: what single passes on loops are for and chance seldom makes.
// Products of matrices are lifted, eliminations go several turns at a time, stencils
// several steps, stages of transforms several turns; few turns go inside of planes, or
// take rows as they are made; columns are read by neighbours, rows walked along; chains
// load what the last turn has stored, or seldom change it; lanes count, wait in long
// turns, and call functions; and sorts are of many.
#include "make.h"

static GNode *with_kid(Gen *g, GKind kind, GType type, GNode *kid) {
    GNode *node = gen_make(g, kind, type);
    node->kids[0] = kid;
    return node;
}

// A matrix with so many rows and columns more.
static GNode *grown(Gen *g, GType type, int depth, uint64_t by) {
    GNode *node = with_kid(g, G_GROWN, type, gen_exp(g, type, depth - 1));
    node->bits = by;
    return node;
}

static GNode *variable(Gen *g, const GNode *binder, int which, GType type) {
    GNode *node = gen_make(g, G_VAR, type);
    node->var[0] = binder->var[which];
    return node;
}

static GNode *make_product(Gen *g, GType type, int depth) {
    GNode *node = gen_make(g, G_PRODUCT, type);
    uint64_t n = 8 - gen_below(g, 6), k = 8 - gen_below(g, 9), m = 8 - gen_below(g, 3);
    node->bits = gen_below(g, 4); // rows by columns, or by rows; of known sizes, or not
    node->op = scalar_is_float(type.elem) || gen_below(g, 2)
                   ? GOP_ADD
                   : gen_associative(g, type.elem);
    if (node->bits < 2) {
        for (int i = 0; i < 2; i++) node->kids[i] = grown(g, type, depth - 1, 5);
        return node;
    }
    node->kids[0] = gen_sized_by(g, type, depth - 1, n, k);
    node->kids[1] = node->bits == 2 ? gen_sized_by(g, type, depth - 1, k, m)
                                    : gen_sized_by(g, type, depth - 1, m, k);
    return node;
}

static GNode *make_steps(Gen *g, GType type, int depth) {
    GNode *node = gen_make(g, G_STEPS, type);
    bool is_large = g->nesting == 0 && g->loops == 0 && gen_below(g, 8) == 0;
    node->bits = gen_near_bits(g) | gen_near_bits(g) << 8 | gen_below(g, 20) << 16;
    node->op = (GOp[]){GOP_ADD, GOP_SUB, GOP_MUL}[gen_below(g, 3)];
    node->kids[0] = is_large ? grown(g, type, depth, 256) : gen_exp(g, type, depth - 1);
    return node;
}

// Of two fields, of rank 1 or 2; what looks near its index never fails.
static GNode *make_flow(Gen *g, GType type, int depth) {
    GNode *node = with_kid(g, G_FLOW, type, gen_exp(g, type, depth - 1));
    for (int k = 0; k < 2; k++) {
        uint64_t near = gen_below(g, NEAR_OUTSIDE) + NEAR_COUNT * gen_below(g, 2);
        node->bits |= near << 8 * k;
    }
    node->bits |= (uint64_t)(1 + gen_below(g, 2)) << 16;
    node->op = (GOp[]){GOP_ADD, GOP_SUB, GOP_MUL}[gen_below(g, 3)];
    return node;
}

// Of cells that are 0 or 1; floats have no such.
static GNode *make_cells(Gen *g, GType type, int depth) {
    GNode *node = with_kid(g, G_CELLS, type, gen_exp(g, type, depth - 1));
    node->bits = 4 + gen_below(g, 4);
    return node;
}

// Few turns, on planes of a matrix or on rows of one that is made for them.
static GNode *make_planes(Gen *g, GType type, int depth) {
    GKind kind = gen_below(g, 2) ? G_PLANES : G_ROWS;
    GNode *node = with_kid(g, kind, type, gen_exp(g, type, depth - 1));
    node->op = (GOp[]){GOP_ADD, GOP_SUB, GOP_MUL}[gen_below(g, 3)];
    return node;
}

static GNode *make_elimination(Gen *g, GType type, int depth) {
    GNode *node =
        with_kid(g, G_ELIMINATE, type, grown(g, type, depth, 1 + gen_below(g, 6)));
    node->bits = gen_below(g, 2);
    return node;
}

// Elements beside those across the diagonal, or what goes along rows from both ends.
static GNode *make_walk(Gen *g, GType type, int depth) {
    GKind kind = gen_below(g, 2) ? G_TURNED : G_ALONG;
    GNode *node = with_kid(g, kind, type, grown(g, type, depth, 16 + gen_below(g, 20)));
    node->op = (GOp[]){GOP_ADD, GOP_SUB, GOP_MUL}[gen_below(g, 3)];
    return node;
}

// Of rank 2; the type is no bool.
static GNode *make_matrix(Gen *g, GType type, int depth) {
    switch (gen_below(g, 9)) {
    default: return make_product(g, type, depth);
    case 1: return make_elimination(g, type, depth);
    case 2:
        return gen_below(g, 2) ? make_flow(g, type, depth) : make_steps(g, type, depth);
    case 3:
    case 4:
        if (!scalar_is_float(type.elem) && g->nesting == 0 && g->loops == 0)
            return make_cells(g, type, depth);
        return make_steps(g, type, depth);
    case 5: return make_planes(g, type, depth);
    case 6:
    case 7: return make_walk(g, type, depth);
    }
}

// Of a transform, whose segments go side by side, several turns in a pass.
static GNode *make_stages(Gen *g, GType type, int depth) {
    GNode *node = with_kid(g, G_STAGES, type, gen_exp(g, type, depth - 1));
    node->bits = 64u << gen_below(g, 5);
    node->op = (GOp[]){GOP_ADD, GOP_SUB, GOP_MUL}[gen_below(g, 3)];
    return node;
}

// Of so many elements as are put into buckets, spread over 64 bits or fewer.
static GNode *make_sort(Gen *g, GType type, int depth) {
    GNode *node = with_kid(g, G_SORTMANY, type, gen_exp(g, type, depth - 1));
    node->op = GOP_ADD;
    node->bits = gen_below(g, 40);
    return node;
}

// The largest of each key, of a few elements more than there are lanes.
static GNode *make_largest(Gen *g, GType type, int depth) {
    GNode *node = gen_make(g, G_LARGEST, type);
    GType types[2] = {{gen_any_int(g), 1}, type};
    uint64_t count = gen_below(g, 100);
    node->op = GOP_MAX;
    for (int i = 0; i < 2; i++)
        node->kids[i] = gen_sized_by(g, types[i], depth, count, 0);
    return node;
}

static GNode *make_vector(Gen *g, GType type, int depth) {
    GNode *node;
    bool is_outside = g->nesting == 0 && g->loops == 0;
    bool is_wide = scalar_info[type.elem].bytes == 8;
    if (is_outside && gen_below(g, 16) == 0) return make_stages(g, type, depth);
    if (gen_below(g, 6) == 0) return make_flow(g, type, depth);
    if (is_outside && is_wide && gen_below(g, 40) == 0)
        return make_sort(g, type, depth);
    switch (gen_below(g, 8)) {
    case 7: // what is added to a sum has been looked up before
        node = with_kid(g, G_BIASED, type, gen_exp(g, type, depth - 1));
        node->op = (GOp[]){GOP_ADD, GOP_SUB, GOP_MUL}[gen_below(g, 3)];
        return node;
    case 5: return make_largest(g, type, depth);
    case 6:
        node = with_kid(g, G_LONG, type, gen_exp(g, type, depth - 1));
        node->op = (GOp[]){GOP_ADD, GOP_SUB, GOP_MUL}[gen_below(g, 3)];
        return node;
    case 0:
        node = with_kid(g, G_CHAIN, type, gen_exp(g, type, depth - 1));
        node->op = (GOp[]){GOP_ADD, GOP_SUB, GOP_MUL}[gen_below(g, 3)];
        return node;
    case 1:
        node = with_kid(g, G_ROWFOLDS, type, gen_exp(g, gen_array_of(type), depth - 1));
        node->op = gen_associative(g, type.elem);
        return node;
    case 4: // one element in many is stored
        return with_kid(g, G_GREATEST, type, gen_exp(g, type, depth - 1));
    case 2: // as many turns as lanes
        node = gen_make(g, G_TABULATE, type);
        node->bits = 8u << (gen_below(g, 6) + 1) / 2;
        gen_bind(g, node, 0, GEN_INDEX);
        g->nesting++;
        node->kids[0] = gen_make(g, G_BIN, gen_element(type));
        node->kids[0]->op = GOP_ADD;
        node->kids[0]->kids[0] = gen_exp(g, gen_element(type), depth - 1);
        node->kids[0]->kids[1] = with_kid(g, G_CONV, gen_element(type),
                                          gen_few(g, variable(g, node, 0, GEN_INDEX)));
        g->nesting--;
        gen_unbind(g, 1);
        return node;
    default: return with_kid(g, G_APARTS, type, gen_exp(g, type, depth - 1));
    }
}

static GNode *make_number(Gen *g, GType type, int depth) {
    if (gen_below(g, 2)) {
        GNode *node = gen_make(g, G_APART, type);
        for (int i = 0; i < 2; i++) node->kids[i] = gen_exp(g, type, depth - 1);
        return node;
    }
    GType from = {gen_any_int(g), 1};
    GNode *node = with_kid(g, G_TALLY, GEN_INDEX, gen_exp(g, from, depth - 1));
    gen_bind(g, node, 0, gen_element(from));
    GNode *test = node->kids[1] = gen_make(g, G_CMP, GEN_BOOL);
    test->op = (GOp)(GOP_EQ + gen_below(g, 4));
    test->kids[0] = variable(g, node, 0, gen_element(from));
    g->nesting++;
    test->kids[1] = gen_exp(g, gen_element(from), depth - 2);
    g->nesting--;
    gen_unbind(g, 1);
    return with_kid(g, G_CONV, type, node);
}

// Two maps of one array, side by side.
static GNode *make_beside(Gen *g, GType type, int depth) {
    GNode *node = gen_make(g, G_UNZIP, type);
    GType from = {gen_any_scalar(g), 1};
    node->bits = 1;
    node->kids[0] = gen_exp(g, from, depth - 1);
    gen_bind(g, node, 0, gen_element(from));
    g->nesting++;
    node->kids[1] = gen_exp(g, (GType){type.elem, 0}, depth - 2);
    bool joins = type.rank == 1;
    ScalarType second = joins ? type.elem : gen_any_scalar(g);
    node->kids[2] = gen_exp(g, (GType){second, 0}, depth - 2);
    g->nesting--;
    gen_unbind(g, 1);
    gen_bind(g, node, 1, gen_array_of(node->kids[1]->type));
    gen_bind(g, node, 2, gen_array_of(node->kids[2]->type));
    if (joins) {
        node->kids[3] = gen_make(g, G_CONCAT, type);
        for (int i = 0; i < 2; i++)
            node->kids[3]->kids[i] = variable(g, node, 1 + i, type);
    } else {
        node->kids[3] = gen_exp(g, type, depth - 1);
    }
    gen_unbind(g, 2);
    return node;
}

GNode *gen_tiled(Gen *g, GType type, int depth) {
    if (type.elem == SCALAR_BOOL || type.rank > 2) return NULL;
    if (g->nesting == 0 && gen_below(g, 6) == 0) return make_beside(g, type, depth);
    switch (type.rank) {
    case 0: return make_number(g, type, depth);
    case 1: return make_vector(g, type, depth);
    default: return make_matrix(g, type, depth);
    }
}
