// SPDX-License-Identifier: Apache-2.0
//
// Shrinking: try the whole program as one of its parts; put one of a node's descendants,
// a leaf or a smaller number in its place, the largest nodes first; keep what still
// fails; stop when nothing does. Only well-scoped programs are tried.
#include "gen.h"

typedef struct Shrink {
    Arena *arena;
    GProgram *program;
    bool (*fails)(void *data, const GProgram *program);
    void *data;
    uint32_t tries;
} Shrink;

enum { MOST_TRIES = 4000, MOST_BOUND = 8192 };

static bool same_type(GType a, GType b) {
    return a.elem == b.elem && a.rank == b.rank;
}

// ---- scopes -------------------------------------------------------------------------

typedef struct Scope {
    bool bound[MOST_BOUND];
} Scope;

static bool is_scoped(Scope *scope, const GNode *node) {
    if (node->kind == G_VAR)
        return scope->bound[node->var[0]];
    for (int i = 0; i < gen_info[node->kind].kids; i++) {
        bool outer[GEN_BINDERS], sees = gen_info[node->kind].inner >> i & 1;
        for (int k = 0; k < GEN_BINDERS; k++) outer[k] = scope->bound[node->var[k]];
        for (int k = 0; k < GEN_BINDERS && sees; k++)
            if (node->var[k] != 0) scope->bound[node->var[k]] = true;
        bool good = is_scoped(scope, node->kids[i]);
        for (int k = 0; k < GEN_BINDERS; k++) scope->bound[node->var[k]] = outer[k];
        if (!good) return false;
    }
    return true;
}

bool gen_is_scoped(const GProgram *program) {
    Scope scope = {{0}};
    for (int i = 0; i < GEN_INPUTS; i++) scope.bound[program->inputs[i].id] = true;
    return is_scoped(&scope, program->body);
}

// ---- trying -------------------------------------------------------------------------

static bool try_now(Shrink *s) {
    if (!gen_is_scoped(s->program) || s->tries++ > MOST_TRIES) return false;
    return s->fails(s->data, s->program);
}

static bool try_in(Shrink *s, GNode **place, GNode *candidate) {
    GNode *old = *place;
    if (gen_size(candidate) >= gen_size(old)) return false;
    *place = candidate;
    if (try_now(s)) return true;
    *place = old;
    return false;
}

// What binds a variable gives its value another type when a kid is replaced by one of
// another type, so only kids of the same type are put in a node's place.
static bool try_below(Shrink *s, GNode **place, GNode *node, GType type) {
    for (int i = 0; i < gen_info[node->kind].kids; i++) {
        if (same_type(node->kids[i]->type, type) && try_in(s, place, node->kids[i]))
            return true;
        if (try_below(s, place, node->kids[i], type)) return true;
    }
    return false;
}

static bool try_part(Shrink *s, GNode *node) {
    for (int i = 0; i < gen_info[node->kind].kids; i++) {
        if (try_part(s, node->kids[i])) return true;
        if (try_in(s, &s->program->body, node->kids[i])) return true;
    }
    return false;
}

static GNode *leaf_of(Shrink *s, GType type, GKind kind, uint64_t bits) {
    GNode *leaf = arena_new(s->arena, GNode);
    leaf->type = type;
    leaf->kind = kind;
    leaf->bits = bits;
    return leaf;
}

static bool try_leaves(Shrink *s, GNode **place) {
    GType type = (*place)->type;
    for (uint64_t bits = 0; bits < 2; bits++) {
        GNode *leaf = leaf_of(s, (GType){type.elem, 0}, G_LIT, bits);
        for (uint32_t rank = 1; rank <= type.rank; rank++) {
            GNode *array = leaf_of(s, (GType){type.elem, rank}, G_REPLICATE, 1 + bits);
            array->kids[0] = leaf;
            leaf = array;
        }
        if (try_in(s, place, leaf)) return true;
    }
    if (type.rank == 1 && type.elem != SCALAR_BOOL &&
        try_in(s, place, leaf_of(s, type, G_IOTA, 3)))
        return true;
    for (int i = 0; i < GEN_INPUTS; i++) {
        if (!same_type(s->program->inputs[i].type, type)) continue;
        GNode *leaf = leaf_of(s, type, G_VAR, 0);
        leaf->var[0] = s->program->inputs[i].id;
        if (try_in(s, place, leaf)) return true;
    }
    return false;
}

static bool try_number(Shrink *s, GNode *node) {
    bool counts = node->kind == G_LIT || node->kind == G_IOTA || node->kind == G_REPLICATE ||
                  node->kind == G_LOOP || node->kind == G_RESIZE || node->kind == G_TABULATE;
    if (!counts || node->bits < 2 || scalar_is_float(node->type.elem)) return false;
    uint64_t old = node->bits, smaller[] = {1, 2, old / 2, old - 1};
    for (int i = 0; i < 4; i++) {
        node->bits = smaller[i];
        if (smaller[i] < old && try_now(s)) return true;
    }
    node->bits = old;
    return false;
}

static bool shrink_at(Shrink *s, GNode **place) {
    GNode *node = *place;
    if (try_leaves(s, place)) return true;
    if (try_below(s, place, node, node->type)) return true;
    for (int i = 0; i < gen_info[node->kind].kids; i++)
        if (shrink_at(s, &node->kids[i])) return true;
    return try_number(s, node);
}

GProgram *gen_shrink(Arena *arena, GProgram *program,
                     bool (*fails)(void *data, const GProgram *program), void *data) {
    Shrink s = {arena, program, fails, data, 0};
    while (s.tries <= MOST_TRIES &&
           (try_part(&s, program->body) || shrink_at(&s, &program->body))) {
    }
    return program;
}
