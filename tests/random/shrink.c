// SPDX-License-Identifier: Apache-2.0
//
// Shrinking: try to put one of a node's own kids, or a leaf, in its place, the largest
// nodes first; keep what still fails; stop when nothing does.
#include "gen.h"

typedef struct Shrink {
    Arena *arena;
    GProgram *program;
    bool (*fails)(void *data, const GProgram *program);
    void *data;
    uint32_t tries;
} Shrink;

enum { MOST_TRIES = 3000 };

static bool same_type(GType a, GType b) {
    return a.elem == b.elem && a.rank == b.rank;
}

static bool try_in(Shrink *s, GNode **place, GNode *candidate) {
    if (s->tries++ > MOST_TRIES) return false;
    GNode *old = *place;
    *place = candidate;
    if (s->fails(s->data, s->program)) return true;
    *place = old;
    return false;
}

// Collects the nodes below `node` that have its type: variables bound in between may
// escape, which makes an ill-scoped program that does not fail in the same way.
static bool try_below(Shrink *s, GNode **place, GNode *node, GType type) {
    for (int i = 0; i < gen_kids[node->kind]; i++) {
        if (same_type(node->kids[i]->type, type) && try_in(s, place, node->kids[i]))
            return true;
        if (try_below(s, place, node->kids[i], type)) return true;
    }
    return false;
}

static bool shrink_at(Shrink *s, GNode **place) {
    GNode *node = *place;
    if (node->kind == G_LIT || node->kind == G_VAR) return false;
    if (node->type.rank == 0 || gen_kids[node->kind] > 0) {
        GNode *leaf = arena_new(s->arena, GNode);
        leaf->type = node->type;
        leaf->kind = node->type.rank == 0 ? G_LIT : G_REPLICATE;
        leaf->bits = 1;
        GNode *inner = leaf;
        while (inner->type.rank > 0) {
            GNode *kid = arena_new(s->arena, GNode);
            kid->type = (GType){node->type.elem, inner->type.rank - 1};
            kid->kind = kid->type.rank == 0 ? G_LIT : G_REPLICATE;
            kid->bits = 1;
            inner->kids[0] = kid;
            inner = kid;
        }
        bool is_leaf = node->kind == G_REPLICATE && node->kids[0]->kind == G_LIT;
        if (!is_leaf && try_in(s, place, leaf)) return true;
    }
    if (try_below(s, place, node, node->type)) return true;
    for (int i = 0; i < gen_kids[node->kind]; i++)
        if (shrink_at(s, &node->kids[i])) return true;
    return false;
}

GProgram *gen_shrink(Arena *arena, GProgram *program,
                     bool (*fails)(void *data, const GProgram *program), void *data) {
    Shrink s = {arena, program, fails, data, 0};
    while (s.tries <= MOST_TRIES && shrink_at(&s, &program->body)) {
    }
    return program;
}
