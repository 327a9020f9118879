// SPDX-License-Identifier: Apache-2.0
//
// Making random programs: top down from the wanted type, with a budget of depth.
// Programs are total but for what they do on purpose: sizes fit by construction, and
// indices are reduced to the array's length. Some programs are risky and do neither.
#include "make.h"

const GKindInfo gen_info[G_COUNT] = {
#define NODE(name, kids, strict, inner, text) {#name, kids, strict, inner, text},
#include "nodes.def"
#undef NODE
};

static uint64_t draw(Gen *g) {  // xorshift64*
    g->state ^= g->state >> 12;
    g->state ^= g->state << 25;
    g->state ^= g->state >> 27;
    return g->state * 0x2545f4914f6cdd1du;
}

uint32_t gen_below(Gen *g, uint32_t n) {
    return (uint32_t)((draw(g) >> 33) % n);
}

ScalarType gen_any_scalar(Gen *g) {
    return (ScalarType)gen_below(g, g->no_floats ? SCALAR_F16 : SCALAR_COUNT);
}

ScalarType gen_any_int(Gen *g) {
    for (;;) {
        ScalarType t = (ScalarType)gen_below(g, SCALAR_COUNT);
        if (scalar_is_int(t)) return t;
    }
}

GNode *gen_make(Gen *g, GKind kind, GType type) {
    GNode *node = arena_new(g->arena, GNode);
    node->kind = kind;
    node->type = type;
    uint32_t deep = g->nesting < GEN_NESTING ? g->nesting : GEN_NESTING - 1;
    if (g->coverage != NULL) g->coverage->made[kind][type.rank][deep]++;
    return node;
}

// Whether what is bound is a parameter without a type, for whose size the checker may
// take that of what it meets: then the program might be rejected or stop for that.
static bool is_open(GKind kind, int which) {
    return kind == G_MAP2 || kind == G_ZIPF || (kind == G_SUMMAP && which > 0);
}

void gen_bind(Gen *g, GNode *node, int which, GType type) {
    g->scope[g->scope_len++] = (GVar){g->next_var, type, is_open(node->kind, which)};
    node->var[which] = g->next_var++;
}

void gen_unbind(Gen *g, uint32_t count) {
    g->scope_len -= count;
}

// ---- leaves -------------------------------------------------------------------------

static uint64_t float_bits(Gen *g, ScalarType t) {
    static const uint64_t wild[3][8] = {
        {0, 0x8000, 0x3c00, 0xbc00, 0x4248, 0x7c00, 1, 0x2e66},
        {0, 0x80000000, 0x3f800000, 0xbf800000, 0x40490fdb, 0x7f800000, 0x3dcccccd, 1},
        {0, 1ull << 63, 0x3ff0000000000000, 1, 0xbff8000000000000, 0x3fb999999999999a,
         0x7ff0000000000000, 0x400921fb54442d18}};
    static const uint64_t whole[3][8] = {
        {0, 0x8000, 0x3c00, 0xbc00, 0x4000, 0x4200, 0xc500, 0x4700},
        {0, 0x80000000, 0x3f800000, 0xbf800000, 0x40000000, 0x40400000, 0xc0a00000,
         0x40e00000},
        {0, 1ull << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x4000000000000000,
         0x4008000000000000, 0xc014000000000000, 0x401c000000000000}};
    return (g->wild ? wild : whole)[t - SCALAR_F16][gen_below(g, 8)];
}

static uint64_t literal_bits(Gen *g, ScalarType t) {
    if (t == SCALAR_BOOL) return gen_below(g, 2);
    if (scalar_is_float(t)) return float_bits(g, t);
    uint32_t bits = 8u * scalar_info[t].bytes;
    uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
    switch (gen_below(g, 6)) {
    case 0: return draw(g) & mask;
    case 1: return mask;                // -1, or the greatest
    case 2: return 1ull << (bits - 1);  // the least
    default: return gen_below(g, 10);
    }
}

// Long arrays must not be seen from inside what is done for each of their elements.
static bool is_visible(const Gen *g, uint32_t i, GType type) {
    if (g->scope[i].type.elem != type.elem || g->scope[i].type.rank != type.rank)
        return false;
    bool inner = g->nesting > 0 || g->loops > 0;
    return g->large == 0 || !inner || type.rank == 0 || i < GEN_INPUTS;
}

static GNode *variable(Gen *g, GType type) {
    uint32_t fitting = 0;
    for (uint32_t i = 0; i < g->scope_len; i++) fitting += is_visible(g, i, type);
    if (fitting == 0 || gen_below(g, 4) == 0) return NULL;
    // the innermost ones more often: they vary
    uint32_t pick = gen_below(g, fitting), again = gen_below(g, fitting);
    if (again > pick) pick = again;
    for (uint32_t i = 0; i < g->scope_len; i++) {
        if (!is_visible(g, i, type) || pick-- != 0) continue;
        GNode *node = gen_make(g, G_VAR, type);
        node->var[0] = g->scope[i].id;
        if (type.rank == 0 || !g->scope[i].is_open_size) return node;
        // a slice of it has a size of its own
        GNode *slice = gen_make(g, G_SLICE, type);
        slice->kids[0] = node;
        return slice;
    }
    return NULL;
}

static uint64_t count_for(Gen *g) {
    static const uint32_t lengths[] = {8192, 8193, 8200, 9000, 16384, 16385, 20000};
    bool may = g->large != 0 && g->nesting == g->large - 1 && g->loops == 0;
    if (may && gen_below(g, 3) != 0) return lengths[gen_below(g, g->large == 1 ? 7 : 4)];
    return gen_below(g, 7);
}

GNode *gen_leaf(Gen *g, GType type) {
    bool may_be_large = g->large != 0 && g->nesting == g->large - 1 && type.rank == 1;
    GNode *node = may_be_large && gen_below(g, 2) ? NULL : variable(g, type);
    if (node != NULL) return node;
    if (type.rank == 0) {
        node = gen_make(g, G_LIT, type);
        node->bits = literal_bits(g, type.elem);
        return node;
    }
    if (type.rank == 1 && type.elem != SCALAR_BOOL && gen_below(g, 3) != 0) {
        node = gen_make(g, G_IOTA, type);
        node->bits = count_for(g);
        return node;
    }
    node = gen_make(g, G_REPLICATE, type);
    node->bits = gen_below(g, 5);
    node->kids[0] = gen_leaf(g, gen_element(type));
    return node;
}

// ---- scalars ------------------------------------------------------------------------

GOp gen_associative(Gen *g, ScalarType t) {
    if (t == SCALAR_BOOL) return GOP_AND + gen_below(g, 3);
    if (scalar_is_float(t))
        return (GOp[]){GOP_ADD, GOP_ADD, GOP_MUL, GOP_MIN, GOP_MAX}[gen_below(g, 5)];
    return (GOp[]){GOP_ADD, GOP_MUL, GOP_AND, GOP_OR, GOP_XOR, GOP_MIN, GOP_MAX, GOP_LAST,
                   GOP_LAST}[gen_below(g, 9)];
}

static GNode *literal(Gen *g, GType type, uint64_t bits) {
    GNode *node = gen_make(g, G_LIT, type);
    node->bits = bits;
    return node;
}

static GNode *binary_of(Gen *g, GOp op, GNode *x, GNode *y) {
    GNode *node = gen_make(g, G_BIN, x->type);
    node->op = op;
    node->bits = 1;
    node->kids[0] = x;
    node->kids[1] = y;
    return node;
}

static GOp any_op(Gen *g, ScalarType t) {
    if (!scalar_is_float(t)) return (GOp)gen_below(g, GOP_POW + 1);
    return (GOp[]){GOP_ADD, GOP_SUB, GOP_MUL, GOP_DIV, GOP_MIN, GOP_MAX}
        [gen_below(g, g->wild ? 6 : 3)];
}

static GNode *make_binary(Gen *g, GType type, int depth) {
    ScalarType t = type.elem;
    if (t == SCALAR_BOOL) {
        GNode *node = gen_make(g, gen_below(g, 2) ? G_AND : G_OR, type);
        for (int i = 0; i < 2; i++) node->kids[i] = gen_exp(g, type, depth - 1);
        return node;
    }
    GOp op = any_op(g, t);
    GNode *x = gen_exp(g, type, depth - 1), *y;
    if (gen_below(g, 6) == 0) {  // the same operands in another order
        y = gen_leaf(g, type);
        return binary_of(g, any_op(g, t), binary_of(g, op, x, y), binary_of(g, op, y, x));
    }
    bool shifts = op == GOP_SHL || op == GOP_SHR || op == GOP_LSHR;
    if (shifts && gen_below(g, 2))  // about the width
        y = literal(g, type, 8u * scalar_info[t].bytes - 1 + gen_below(g, 3));
    else if (gen_below(g, 4) == 0)
        y = literal(g, type, gen_below(g, 2) ? 0 : literal_bits(g, t));
    else
        y = gen_below(g, 8) ? gen_exp(g, type, depth - 1) : x;
    GNode *node = binary_of(g, op, x, y);
    node->bits = g->risky ? gen_below(g, 2) : 1;  // guarded?
    return node;
}

static GNode *make_reduction(Gen *g, GType type, int depth) {
    GNode *node;
    uint32_t pick = gen_below(g, 8);
    if (g->large == 1 && g->nesting == 0) {  // mostly straight over long arrays
        pick = (uint32_t[]){1, 1, 2, 7}[gen_below(g, 4)];
        depth = gen_below(g, 3) ? 1 : depth;
    }
    if (pick == 0 && type.elem == SCALAR_I64) {
        node = gen_make(g, G_ARGMAX, type);
        node->kids[0] = gen_exp(g, (GType){gen_any_int(g), 1}, depth - 1);
    } else if (pick <= 1 && type.elem != SCALAR_BOOL) {
        node = gen_make(g, G_AFFINE, type);
        node->kids[0] = gen_exp(g, gen_array_of(type), depth - 1);
        node->kids[1] = gen_exp(g, gen_array_of(type), depth - 1);
    } else if (pick == 2 && type.elem != SCALAR_BOOL) {
        node = gen_make(g, G_DOT, type);
        node->op = GOP_ADD;
        node->kids[0] = gen_exp(g, gen_array_of(type), depth - 1);
        node->kids[1] = gen_exp(g, gen_array_of(type), depth - 1);
    } else if (pick <= 4 && type.elem == SCALAR_BOOL) {
        node = gen_make(g, G_ANY, type);
        node->bits = gen_below(g, 2);
        node->kids[0] = gen_exp(g, (GType){gen_any_scalar(g), 1 + gen_below(g, 2)},
                                depth - 1);
        gen_bind(g, node, 0, gen_element(node->kids[0]->type));
        gen_body(g, node, 1, GEN_BOOL, depth - 1);
        gen_unbind(g, 1);
    } else if (pick == 3 && scalar_is_float(type.elem)) {  // of products
        node = gen_make(g, G_REDUCE, type);
        node->op = GOP_ADD;
        GNode *map = node->kids[0] = gen_make(g, G_MAP, gen_array_of(type));
        map->kids[0] = gen_exp(g, gen_array_of(type), depth - 1);
        gen_bind(g, map, 0, type);
        g->nesting++;
        GNode *x = gen_exp(g, type, depth - 1);
        map->kids[1] = binary_of(g, GOP_MUL, x, gen_exp(g, type, depth - 1));
        g->nesting--;
        gen_unbind(g, 1);
    } else {
        node = gen_make(g, G_REDUCE, type);
        node->op = gen_associative(g, type.elem);
        node->bits = gen_below(g, 4);  // 1: declared commutative, 2: by a module
        if (node->op == GOP_LAST && node->bits == 1) node->bits = 0;
        node->kids[0] = gen_exp(g, gen_array_of(type), depth - 1);
    }
    return node;
}

static GNode *make_kids(Gen *g, GKind kind, GType type, GType kid, int depth) {
    GNode *node = gen_make(g, kind, type);
    node->bits = gen_below(g, 8);
    for (int i = 0; i < gen_info[kind].kids; i++) node->kids[i] = gen_exp(g, kid, depth - 1);
    return node;
}

static GNode *make_scalar(Gen *g, GType type, int depth) {
    GNode *node;
    bool is_bool = type.elem == SCALAR_BOOL;
    switch (gen_below(g, g->deep ? 10 : 20)) {
    default: return make_binary(g, type, depth);
    case 0: case 1: case 2: case 3: case 4: return make_reduction(g, type, depth);
    case 5:
        if (!is_bool) return make_kids(g, G_FMA, type, type, depth);
        node = make_kids(g, G_CMP, type, (GType){gen_any_scalar(g), 0}, depth);
        node->op = (GOp)(GOP_EQ + gen_below(g, 4));
        if (node->kids[0]->type.elem == SCALAR_BOOL)
            node->op = gen_below(g, 2) ? GOP_EQ : GOP_NE;
        return node;
    case 6:
        if (is_bool) return make_kids(g, G_NOT, type, type, depth);
        node = make_kids(g, (GKind[]){G_NEG, G_ABS, G_UNARY}[gen_below(g, 3)], type, type,
                         depth);
        if (gen_below(g, 2) == 0) return node;
        GNode *outer = gen_make(g, gen_below(g, 2) ? G_NEG : G_UNARY, type);
        outer->bits = gen_below(g, 2);
        outer->kids[0] = node;
        return outer;
    case 7:
        node = gen_make(g, G_CONV, type);
        node->kids[0] = gen_exp(g, (GType){gen_any_scalar(g), 0}, depth - 1);
        if (is_bool || gen_below(g, 2)) return node;
        // and by way of another type
        GNode *first = gen_make(g, G_CONV, (GType){gen_any_scalar(g), 0});
        first->kids[0] = node->kids[0];
        GNode *second = gen_make(g, G_CONV, type);
        second->kids[0] = first;
        return binary_of(g, GOP_SUB, node, second);
    case 8:
        if (type.elem != SCALAR_I64) return make_binary(g, type, depth);
        node = gen_make(g, G_LENGTH, type);
        node->kids[0] = gen_exp(g, (GType){gen_any_scalar(g), 1 + gen_below(g, 2)},
                                depth - 1);
        return node;
    case 9:
        node = gen_make(g, G_POLY, type);
        node->bits = gen_below(g, 5);
        node->kids[0] = gen_exp(g, type, depth - 1);
        gen_bind(g, node, 0, type);
        g->loops++;
        node->kids[1] = gen_exp(g, type, depth - 2);
        g->loops--;
        gen_unbind(g, 1);
        return node;
    }
}

// ---- the frame ----------------------------------------------------------------------

GNode *gen_exp(Gen *g, GType type, int depth) {
    bool crowded = g->scope_len + 8 > sizeof g->scope / sizeof *g->scope;
    if (depth <= 0 || g->budget == 0 || crowded) return gen_leaf(g, type);
    g->budget--;
    bool nests = g->deep && g->nesting < GEN_NESTING;
    if (g->tiled && gen_below(g, 3) == 0) {
        GNode *node = gen_tiled(g, type, depth);
        if (node != NULL) return node;
    }
    if (gen_below(g, nests ? 6 : 4) == 0) return gen_control(g, type, depth);
    return type.rank == 0 ? make_scalar(g, type, depth) : gen_array(g, type, depth);
}

GProgram *gen_program(Arena *arena, uint64_t seed, GCoverage *coverage) {
    Gen g = {.arena = arena, .state = seed * 0x9e3779b97f4a7c15u + 1, .next_var = 1,
             .coverage = coverage};
    for (int i = 0; i < 8; i++) draw(&g);
    g.no_floats = gen_below(&g, 2) == 0;
    g.wild = gen_below(&g, 3) == 0;
    g.risky = gen_below(&g, 5) == 0;
    g.deep = gen_below(&g, 3) == 0;
    if (gen_below(&g, 16) == 0) g.large = 1 + gen_below(&g, 2);
    if (g.large == 1 && gen_below(&g, 2)) g.no_floats = g.wild = false;
    g.tiled = seed % 8 == 0;
    g.budget = 10 + gen_below(&g, g.deep ? 120 : 70);
    GProgram *program = arena_new(arena, GProgram);
    program->seed = seed;
    program->wild = g.wild;
    for (uint32_t i = 0; i < GEN_INPUTS; i++) {
        GType type = {gen_any_scalar(&g), i % 3};
        program->inputs[i] = (GVar){g.next_var, type, false};
        g.scope[g.scope_len++] = (GVar){g.next_var++, type, false};
    }
    GType result = {gen_any_scalar(&g), gen_below(&g, 4)};
    if (g.large != 0 && result.rank > 1) result.rank = 1;
    if (g.large == 1 && !g.no_floats && gen_below(&g, 2))
        result.elem = SCALAR_F32 + gen_below(&g, 2);
    if (g.tiled && gen_below(&g, 2))
        program->inputs[2].type.elem = g.scope[2].type.elem = result.elem =
            SCALAR_F32 + gen_below(&g, 2);
    int depth = (g.deep ? 5 : 3) + (int)gen_below(&g, 5);
    if (g.large != 1) program->body = gen_exp(&g, result, depth);
    else if (result.rank == 1) program->body = gen_fold(&g, result, depth);
    else program->body = make_reduction(&g, result, depth);
    return program;
}

uint32_t gen_size(const GNode *node) {
    uint32_t size = 1;
    for (int i = 0; i < gen_info[node->kind].kids; i++) size += gen_size(node->kids[i]);
    return size;
}
