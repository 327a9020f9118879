// SPDX-License-Identifier: Apache-2.0
//
// Random programs: what exists at every type. Bindings, conditionals, matches, loops.
#include "make.h"

static GType any_bound(Gen *g, GType type) {
    return (GType){gen_below(g, 2) ? type.elem : gen_any_scalar(g), gen_below(g, 3)};
}

static void loop_body(Gen *g, GNode *node, int kid, GType type, int depth) {
    g->loops++;
    node->kids[kid] = gen_exp(g, type, depth);
    g->loops--;
}

static GNode *make_loop(Gen *g, GType type, int depth) {
    GNode *node;
    switch (gen_below(g, 4)) {
    case 0:
        node = gen_make(g, G_LOOP, type);
        node->bits = gen_below(g, 4);
        node->kids[0] = gen_exp(g, type, depth - 1);
        gen_bind(g, node, 0, type);
        gen_bind(g, node, 1, GEN_INDEX);
        loop_body(g, node, 1, type, depth - 1);
        gen_unbind(g, 2);
        return node;
    case 1:
        node = gen_make(g, G_WHILE, type);
        node->bits = gen_below(g, 4);
        node->kids[0] = gen_exp(g, type, depth - 1);
        gen_bind(g, node, 0, type);
        loop_body(g, node, 1, GEN_BOOL, depth - 2);
        loop_body(g, node, 2, type, depth - 1);
        gen_unbind(g, 1);
        return node;
    case 2:
        node = gen_make(g, G_FORIN, type);
        node->kids[0] = gen_exp(g, type, depth - 1);
        g->loops++;  // not over a long array
        node->kids[1] = gen_exp(g, (GType){gen_any_scalar(g), 1 + gen_below(g, 2)},
                                depth - 2);
        g->loops--;
        gen_bind(g, node, 0, type);
        gen_bind(g, node, 1, gen_element(node->kids[1]->type));
        loop_body(g, node, 2, type, depth - 1);
        gen_unbind(g, 2);
        return node;
    default: {
        node = gen_make(g, G_LOOP2, type);
        node->bits = gen_below(g, 5);
        GType other = gen_below(g, 2) ? type : any_bound(g, type);
        node->kids[0] = gen_exp(g, type, depth - 1);
        node->kids[1] = gen_exp(g, other, depth - 1);
        gen_bind(g, node, 0, type);
        gen_bind(g, node, 1, other);
        gen_bind(g, node, 2, GEN_INDEX);
        loop_body(g, node, 2, type, depth - 1);
        loop_body(g, node, 3, other, depth - 2);
        gen_unbind(g, 3);
        return node;
    }
    }
}

static GNode *make_choice(Gen *g, GType type, int depth) {
    GNode *node;
    switch (gen_below(g, 4)) {
    case 0:
        node = gen_make(g, G_IF, type);
        node->kids[0] = gen_exp(g, GEN_BOOL, depth - 1);
        node->kids[1] = gen_exp(g, type, depth - 1);
        node->kids[2] = gen_exp(g, type, depth - 1);
        return node;
    case 1:
        node = gen_make(g, G_MATCH, type);
        node->kids[0] = gen_exp(g, (GType){SCALAR_I32, 0}, depth - 1);
        for (int i = 1; i < 4; i++) node->kids[i] = gen_exp(g, type, depth - 1);
        return node;
    case 2:
        node = gen_make(g, G_CASES, type);
        node->kids[0] = gen_exp(g, (GType){gen_any_int(g), 0}, depth - 1);
        node->kids[1] = gen_exp(g, GEN_BOOL, depth - 1);
        gen_bind(g, node, 0, node->kids[0]->type);
        node->kids[2] = gen_exp(g, type, depth - 1);
        gen_unbind(g, 1);
        node->kids[3] = gen_exp(g, type, depth - 1);
        node->kids[4] = gen_exp(g, type, depth - 2);
        return node;
    default:
        node = gen_make(g, G_SUM, type);
        node->kids[0] = gen_exp(g, (GType){SCALAR_I32, 0}, depth - 1);
        for (int i = 1; i < 3; i++) {
            GType payload = any_bound(g, type);
            if (gen_below(g, 2)) payload.rank = 0;
            node->kids[i] = gen_exp(g, payload, depth - 1);
        }
        for (int i = 0; i < 2; i++) {
            gen_bind(g, node, i, node->kids[1 + i]->type);
            node->kids[3 + i] = gen_exp(g, type, depth - 1);
            gen_unbind(g, 1);
        }
        node->kids[5] = gen_exp(g, type, depth - 2);
        return node;
    }
}

static GNode *make_binding(Gen *g, GType type, int depth) {
    GNode *node;
    GType bound = any_bound(g, type);
    switch (gen_below(g, 7)) {
    default:
        node = gen_make(g, G_LET, type);
        node->kids[0] = gen_exp(g, bound, depth - 1);
        gen_bind(g, node, 0, bound);
        node->kids[1] = gen_exp(g, type, depth - 1);
        gen_unbind(g, 1);
        return node;
    case 0: case 1: {
        GType other = gen_below(g, 2) ? type : any_bound(g, type);
        node = gen_make(g, gen_below(g, 2) ? G_PAIR : G_RECORD, type);
        node->kids[0] = gen_exp(g, bound, depth - 1);
        node->kids[1] = gen_exp(g, other, depth - 1);
        gen_bind(g, node, 0, bound);
        gen_bind(g, node, 1, other);
        node->kids[2] = gen_exp(g, type, depth - 1);
        gen_unbind(g, 2);
        return node;
    }
    case 2:
        node = gen_make(g, G_CALL, type);  // let f x = body in f arg
        node->kids[0] = gen_exp(g, bound, depth - 1);
        gen_bind(g, node, 0, bound);
        node->kids[1] = gen_exp(g, type, depth - 1);
        gen_unbind(g, 1);
        return node;
    case 3:
        node = gen_make(g, G_UNZIP, type);
        bound.rank = 1 + gen_below(g, 2);
        node->kids[0] = gen_exp(g, bound, depth - 1);
        gen_bind(g, node, 0, gen_element(bound));
        gen_body(g, node, 1, (GType){type.elem, gen_below(g, 2)}, depth - 2);
        gen_body(g, node, 2, (GType){gen_any_scalar(g), gen_below(g, 2)}, depth - 2);
        gen_unbind(g, 1);
        gen_bind(g, node, 1, gen_array_of(node->kids[1]->type));
        gen_bind(g, node, 2, gen_array_of(node->kids[2]->type));
        node->kids[3] = gen_exp(g, type, depth - 1);
        gen_unbind(g, 2);
        return node;
    case 4:
        node = gen_make(g, G_LETUP, type);
        bound.rank = 1;
        node->kids[0] = gen_exp(g, bound, depth - 1);
        node->kids[1] = gen_exp(g, GEN_INDEX, depth - 2);
        node->kids[2] = gen_exp(g, gen_element(bound), depth - 1);
        gen_bind(g, node, 0, bound);
        gen_bind(g, node, 1, bound);
        node->kids[3] = gen_exp(g, type, depth - 1);
        gen_unbind(g, 2);
        return node;
    }
}

GNode *gen_control(Gen *g, GType type, int depth) {
    GNode *node;
    switch (gen_below(g, g->risky ? 9 : 7)) {
    case 0: case 1: return make_choice(g, type, depth);
    case 2: case 3: return make_loop(g, type, depth);
    default: return make_binding(g, type, depth);
    case 6:
        if (type.rank > 2) return make_binding(g, type, depth);
        node = gen_make(g, G_AT, type);
        node->kids[0] = gen_exp(g, gen_array_of(type), depth - 1);
        node->kids[1] = gen_exp(g, GEN_INDEX, depth - 2);
        node->kids[2] = gen_leaf(g, type);
        return node;
    case 7:
        node = gen_make(g, G_ASSERT, type);
        node->kids[0] = gen_exp(g, GEN_BOOL, depth - 1);
        node->kids[1] = gen_exp(g, type, depth - 1);
        return node;
    case 8:
        if (type.rank > 2) return make_choice(g, type, depth);
        node = gen_make(g, G_INDEX, type);
        node->kids[0] = gen_exp(g, gen_array_of(type), depth - 1);
        node->kids[1] = gen_exp(g, GEN_INDEX, depth - 2);
        return node;
    }
}
