// SPDX-License-Identifier: Apache-2.0
//
// Making random programs: top down from the wanted type, with a budget of depth.
// Programs are total but for what they do on purpose: sizes fit by construction, and
// indices are reduced to the array's length.
#include "gen.h"

const char *const gen_names[G_COUNT] = {
#define NODE(name, kids) #name,
    GEN_NODES(NODE)
#undef NODE
};

const uint8_t gen_kids[G_COUNT] = {
#define NODE(name, kids) kids,
    GEN_NODES(NODE)
#undef NODE
};

typedef struct Gen {
    Arena *arena;
    uint64_t state;
    GVar scope[64];
    uint32_t scope_len, next_var;
    uint32_t nesting;
    uint32_t budget;
    bool no_floats;  // then the generator's own evaluation says every bit
    GCoverage *coverage;
} Gen;

static uint64_t draw(Gen *g) {  // xorshift64*
    g->state ^= g->state >> 12;
    g->state ^= g->state << 25;
    g->state ^= g->state >> 27;
    return g->state * 0x2545f4914f6cdd1du;
}

static uint32_t below(Gen *g, uint32_t n) {
    return (uint32_t)((draw(g) >> 33) % n);
}

static const GType INDEX = {SCALAR_I64, 0}, BOOLEAN = {SCALAR_BOOL, 0};

static GType element(GType t) {
    return (GType){t.elem, t.rank - 1};
}

static GType array_of(GType t) {
    return (GType){t.elem, t.rank + 1};
}

static GNode *make(Gen *g, GKind kind, GType type) {
    GNode *node = arena_new(g->arena, GNode);
    node->kind = kind;
    node->type = type;
    uint32_t deep = g->nesting < GEN_NESTING ? g->nesting : GEN_NESTING - 1;
    if (g->coverage != NULL) g->coverage->made[kind][type.rank][deep]++;
    return node;
}

static uint32_t bind(Gen *g, GType type) {
    g->scope[g->scope_len++] = (GVar){g->next_var, type};
    return g->next_var++;
}

static GNode *make_exp(Gen *g, GType type, int depth);

static uint64_t literal_bits(Gen *g, ScalarType t) {
    static const uint32_t f32_bits[] = {0, 0x80000000, 0x3f800000, 0xbf800000, 0x40490fdb,
                                        0x7f800000, 0x3dcccccd, 0x00000001};
    static const uint64_t f64_bits[] = {0, 1ull << 63, 0x3ff0000000000000, 1,
                                        0xbff8000000000000, 0x3fb999999999999a,
                                        0x7ff0000000000000, 0x400921fb54442d18};
    static const uint16_t f16_bits[] = {0, 0x8000, 0x3c00, 0xbc00, 0x4248, 0x7c00, 1,
                                        0x2e66};
    switch (t) {
    case SCALAR_BOOL: return below(g, 2);
    case SCALAR_F16: return f16_bits[below(g, 8)];
    case SCALAR_F32: return f32_bits[below(g, 8)];
    case SCALAR_F64: return f64_bits[below(g, 8)];
    default: break;
    }
    uint32_t bits = 8u * scalar_info[t].bytes;
    uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
    switch (below(g, 5)) {
    case 0: return draw(g) & mask;
    case 1: return mask;              // -1, or the greatest
    case 2: return 1ull << (bits - 1);  // the least
    default: return below(g, 10);
    }
}

static GNode *make_leaf(Gen *g, GType type) {
    uint32_t fitting = 0;
    for (uint32_t i = 0; i < g->scope_len; i++)
        fitting += g->scope[i].type.elem == type.elem &&
                   g->scope[i].type.rank == type.rank;
    if (fitting > 0 && below(g, 4) != 0) {
        uint32_t pick = below(g, fitting);
        for (uint32_t i = 0; i < g->scope_len; i++) {
            bool fits = g->scope[i].type.elem == type.elem &&
                        g->scope[i].type.rank == type.rank;
            if (!fits || pick-- != 0) continue;
            GNode *node = make(g, G_VAR, type);
            node->var = g->scope[i].id;
            return node;
        }
    }
    if (type.rank == 0) {
        GNode *node = make(g, G_LIT, type);
        node->bits = literal_bits(g, type.elem);
        return node;
    }
    if (type.rank == 1 && scalar_is_int(type.elem) && below(g, 2) == 0) {
        GNode *node = make(g, G_IOTA, type);
        node->bits = below(g, 7);
        return node;
    }
    GNode *node = make(g, G_REPLICATE, type);
    node->bits = below(g, 5);
    node->kids[0] = make_leaf(g, element(type));
    return node;
}

// The associative operators with a neutral element at a type.
static GOp associative_op(Gen *g, ScalarType t) {
    if (t == SCALAR_BOOL) return GOP_AND + below(g, 3);
    if (scalar_is_float(t)) return (GOp[]){GOP_ADD, GOP_MUL, GOP_MIN, GOP_MAX}[below(g, 4)];
    return (GOp[]){GOP_ADD, GOP_MUL, GOP_AND, GOP_OR, GOP_XOR, GOP_MIN, GOP_MAX,
                   GOP_LAST}[below(g, 8)];
}

static ScalarType any_scalar(Gen *g) {
    return (ScalarType)below(g, g->no_floats ? SCALAR_F16 : SCALAR_COUNT);
}

static void bound_kid(Gen *g, GNode *node, int kid, GType type, int depth,
                      uint32_t binders) {
    node->kids[kid] = make_exp(g, type, depth);
    g->scope_len -= binders;
}

// The body of a map: of a row type it must have one size, so it is resized.
static GNode *make_element(Gen *g, GType type, int depth) {
    if (type.rank == 0) return make_exp(g, type, depth);
    GNode *node = make(g, G_RESIZE, type);
    node->bits = below(g, 4);
    node->kids[0] = make_exp(g, type, depth - 1);
    node->kids[1] = make_leaf(g, element(type));
    if (type.rank == 2) {  // the default row must have the rows' size: resize it too
        GNode *row = make(g, G_RESIZE, element(type));
        row->bits = 2;
        row->kids[0] = node->kids[1];
        row->kids[1] = make_leaf(g, element(element(type)));
        node->kids[1] = row;
        GNode *rows = make(g, G_MAP, type);  // every row to that size
        rows->kids[0] = node->kids[0];
        rows->var = bind(g, element(type));
        GNode *sized = make(g, G_RESIZE, element(type));
        sized->bits = 2;
        sized->kids[0] = make(g, G_VAR, element(type));
        sized->kids[0]->var = rows->var;
        sized->kids[1] = make_leaf(g, element(element(type)));
        g->scope_len--;
        rows->kids[1] = sized;
        node->kids[0] = rows;
    }
    return node;
}

static GNode *make_binary(Gen *g, GType type, int depth) {
    GNode *node = make(g, G_BIN, type);
    if (type.elem == SCALAR_BOOL) {
        node = make(g, below(g, 2) ? G_AND : G_OR, type);
    } else if (scalar_is_float(type.elem)) {
        node->op = (GOp[]){GOP_ADD, GOP_SUB, GOP_MUL, GOP_DIV, GOP_MIN, GOP_MAX}[below(g, 6)];
    } else {
        node->op = (GOp)below(g, GOP_SHR + 1);
        node->bits = below(g, 8);
    }
    node->kids[0] = make_exp(g, type, depth - 1);
    node->kids[1] = make_exp(g, type, depth - 1);
    return node;
}

static GNode *make_scalar(Gen *g, GType type, int depth) {
    GNode *node;
    switch (below(g, 16)) {
    default: return make_binary(g, type, depth);
    case 0: {
        if (type.elem != SCALAR_BOOL) return make_binary(g, type, depth);
        node = make(g, G_CMP, type);
        node->op = (GOp)(GOP_EQ + below(g, 4));
        GType operand = {any_scalar(g), 0};
        if (operand.elem == SCALAR_BOOL) operand.elem = SCALAR_I32;
        node->kids[0] = make_exp(g, operand, depth - 1);
        node->kids[1] = make_exp(g, operand, depth - 1);
        return node;
    }
    case 1:
        node = make(g, type.elem == SCALAR_BOOL ? G_NOT
                       : below(g, 2)            ? G_NEG
                                                : G_ABS, type);
        node->kids[0] = make_exp(g, type, depth - 1);
        return node;
    case 2: case 3:
        node = make(g, G_CONV, type);
        node->kids[0] = make_exp(g, (GType){any_scalar(g), 0}, depth - 1);
        return node;
    case 4: case 5:
        node = make(g, G_AT, type);
        node->kids[0] = make_exp(g, array_of(type), depth - 1);
        node->kids[1] = make_exp(g, INDEX, depth - 2);
        node->kids[2] = make_leaf(g, type);
        return node;
    case 6: case 7: case 8:
        node = make(g, G_REDUCE, type);
        node->op = associative_op(g, type.elem);
        node->kids[0] = make_exp(g, array_of(type), depth - 1);
        return node;
    case 9:
        if (type.elem != SCALAR_I64) return make_binary(g, type, depth);
        node = make(g, G_LENGTH, type);
        node->kids[0] = make_exp(g, (GType){any_scalar(g), 1 + below(g, 2)}, depth - 1);
        return node;
    case 10:
        node = make(g, G_MATCH, type);
        node->kids[0] = make_exp(g, (GType){SCALAR_I32, 0}, depth - 1);
        for (int i = 1; i < 4; i++) node->kids[i] = make_exp(g, type, depth - 1);
        return node;
    }
}

static GNode *make_array(Gen *g, GType type, int depth) {
    GNode *node;
    GType elem = element(type);
    switch (below(g, 18)) {
    default:
        node = make(g, G_MAP, type);
        node->kids[0] = make_exp(
            g, (GType){below(g, 2) ? type.elem : any_scalar(g), 1 + below(g, 2)},
            depth - 1);
        g->nesting++;
        node->var = bind(g, element(node->kids[0]->type));
        node->kids[1] = make_element(g, elem, depth - 1);
        g->scope_len--;
        g->nesting--;
        return node;
    case 0:
        node = make(g, G_MAP2, type);
        node->kids[0] = make_exp(g, (GType){type.elem, 1}, depth - 1);
        node->kids[1] = make_exp(g, (GType){any_scalar(g), 1}, depth - 1);
        g->nesting++;
        node->var = bind(g, element(node->kids[0]->type));
        node->var2 = bind(g, element(node->kids[1]->type));
        node->kids[2] = make_element(g, elem, depth - 1);
        g->scope_len -= 2;
        g->nesting--;
        return node;
    case 1:
        if (type.rank != 1) return make_leaf(g, type);
        node = make(g, G_SCAN, type);
        node->op = associative_op(g, type.elem);
        node->kids[0] = make_exp(g, type, depth - 1);
        return node;
    case 2: case 3:
        node = make(g, below(g, 3) ? G_FILTER : G_PARTITION, type);
        node->kids[0] = make_exp(g, type, depth - 1);
        g->nesting++;
        node->var = bind(g, elem);
        node->kids[1] = make_exp(g, BOOLEAN, depth - 1);
        g->scope_len--;
        g->nesting--;
        return node;
    case 4:
        node = make(g, G_REVERSE, type);
        node->kids[0] = make_exp(g, type, depth - 1);
        return node;
    case 5:
        node = make(g, G_SLICE, type);
        node->bits = below(g, 64);
        node->kids[0] = make_exp(g, type, depth - 1);
        return node;
    case 6:
        node = make(g, G_ROTATE, type);
        node->kids[0] = make_exp(g, type, depth - 1);
        node->kids[1] = make_exp(g, INDEX, depth - 2);
        return node;
    case 7:
        if (type.rank != 1) return make_leaf(g, type);
        node = make(g, G_CONCAT, type);
        node->kids[0] = make_exp(g, type, depth - 1);
        node->kids[1] = make_exp(g, type, depth - 1);
        return node;
    case 8:
        if (type.rank < 2) return make_leaf(g, type);
        node = make(g, G_TRANSPOSE, type);
        node->kids[0] = make_exp(g, type, depth - 1);
        return node;
    case 9:
        if (type.rank != 1) return make_leaf(g, type);
        node = make(g, G_FLATTEN, type);
        node->kids[0] = make_exp(g, array_of(type), depth - 1);
        return node;
    case 10: case 11:
        if (type.rank != 1) return make_leaf(g, type);
        node = make(g, G_UPDATE, type);
        node->kids[0] = make_exp(g, type, depth - 1);
        node->kids[1] = make_exp(g, INDEX, depth - 2);
        node->kids[2] = make_exp(g, elem, depth - 1);
        return node;
    case 12: case 13:
        if (type.rank != 1) return make_leaf(g, type);
        node = make(g, below(g, 2) ? G_SCATTER : G_HIST, type);
        node->op = associative_op(g, type.elem);
        if (node->op == GOP_LAST) node->op = GOP_ADD;  // must commute
        node->kids[0] = make_exp(g, type, depth - 1);
        node->kids[1] = make_exp(g, (GType){SCALAR_I64, 1}, depth - 1);
        node->kids[2] = make_exp(g, type, depth - 1);
        return node;
    case 14:
        node = make(g, G_TABULATE, type);
        node->bits = below(g, 6);
        g->nesting++;
        node->var = bind(g, INDEX);
        node->kids[0] = make_element(g, elem, depth - 1);
        g->scope_len--;
        g->nesting--;
        return node;
    case 15:
        if (type.rank != 1) return make_leaf(g, type);
        node = make(g, G_ARRAY, type);
        for (int i = 0; i < 3; i++) node->kids[i] = make_exp(g, elem, depth - 1);
        return node;
    }
}

// What exists at every type.
static GNode *make_control(Gen *g, GType type, int depth) {
    GNode *node;
    GType bound = {below(g, 2) ? type.elem : any_scalar(g), below(g, 3)};
    switch (below(g, 7)) {
    default:
        node = make(g, G_LET, type);
        node->kids[0] = make_exp(g, bound, depth - 1);
        node->var = bind(g, bound);
        bound_kid(g, node, 1, type, depth - 1, 1);
        return node;
    case 0:
        node = make(g, G_IF, type);
        node->kids[0] = make_exp(g, BOOLEAN, depth - 1);
        node->kids[1] = make_exp(g, type, depth - 1);
        node->kids[2] = make_exp(g, type, depth - 1);
        return node;
    case 1:
        node = make(g, G_LOOP, type);
        node->bits = below(g, 4);
        node->kids[0] = make_exp(g, type, depth - 1);
        node->var = bind(g, type);
        node->var2 = bind(g, INDEX);
        bound_kid(g, node, 1, type, depth - 2, 2);
        return node;
    case 2:
        node = make(g, G_WHILE, type);
        node->bits = below(g, 4);
        node->kids[0] = make_exp(g, type, depth - 1);
        node->var = bind(g, type);
        node->kids[1] = make_exp(g, BOOLEAN, depth - 2);
        bound_kid(g, node, 2, type, depth - 2, 1);
        return node;
    case 3:
        node = make(g, G_FORIN, type);
        node->kids[0] = make_exp(g, type, depth - 1);
        node->kids[1] = make_exp(g, (GType){any_scalar(g), 1}, depth - 2);
        node->var = bind(g, type);
        node->var2 = bind(g, element(node->kids[1]->type));
        bound_kid(g, node, 2, type, depth - 2, 2);
        return node;
    case 4:
        node = make(g, G_PAIR, type);  // let (x, y) = (a, b) in c
        node->kids[0] = make_exp(g, bound, depth - 1);
        node->kids[1] = make_exp(g, type, depth - 1);
        node->var = bind(g, bound);
        node->var2 = bind(g, type);
        bound_kid(g, node, 2, type, depth - 1, 2);
        return node;
    case 5:
        node = make(g, G_CALL, type);  // let f x = body in f arg
        node->var = bind(g, bound);
        bound_kid(g, node, 1, type, depth - 1, 1);
        node->kids[0] = make_exp(g, bound, depth - 1);
        return node;
    }
}

static GNode *make_exp(Gen *g, GType type, int depth) {
    bool crowded = g->scope_len + 8 > sizeof g->scope / sizeof *g->scope;
    if (depth <= 0 || g->budget == 0 || crowded) return make_leaf(g, type);
    g->budget--;
    if (below(g, 5) == 0) return make_control(g, type, depth);
    return type.rank == 0 ? make_scalar(g, type, depth) : make_array(g, type, depth);
}

GProgram *gen_program(Arena *arena, uint64_t seed, GCoverage *coverage) {
    Gen g = {.arena = arena, .state = seed * 0x9e3779b97f4a7c15u + 1, .next_var = 1,
             .budget = 60, .coverage = coverage};
    for (int i = 0; i < 8; i++) draw(&g);
    g.no_floats = below(&g, 2) == 0;
    GProgram *program = arena_new(arena, GProgram);
    program->seed = seed;
    for (uint32_t i = 0; i < GEN_INPUTS; i++) {
        GType type = {any_scalar(&g), i % 3};
        program->inputs[i] = (GVar){g.next_var, type};
        bind(&g, type);
    }
    GType result = {any_scalar(&g), below(&g, 4)};
    program->body = make_exp(&g, result, 3 + (int)below(&g, 4));
    return program;
}

uint32_t gen_size(const GNode *node) {
    uint32_t size = 1;
    for (int i = 0; i < gen_kids[node->kind]; i++) size += gen_size(node->kids[i]);
    return size;
}
