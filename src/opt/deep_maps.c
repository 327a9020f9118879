// SPDX-License-Identifier: Apache-2.0
//
// The choice of a nest by parts, or as it was; and nests inside of maps, and generates.
// One that goes by parts there does so in the thread that has the row of the map, one
// nest after the other, each with lanes of its own:
//
//   map {row -> ...; for each strip: for each block: ...}
//
// But whether it does is told once, outside of the outermost map, which is there twice
// then: as it was, what is short in a map is found as it always is. What fails in a map
// does so in the same order.
#include "opt/deep.h"

// A nest, or a statement around some.
typedef struct Node {
    const CoreStm *stm;
    Deep *nest;          // or
    DeepTall *tall;      // which; both NULL: it is around others
    struct Node **inner; // what goes by parts in its body, in this order
    uint32_t count;
    CoreRef c; // whether it goes by parts
} Node;

typedef struct Nodes {
    Node **data;
    uint32_t len, cap;
} Nodes;

// ---- finding them -------------------------------------------------------------------

static Node *find_node(const Deep *like, DeepScope *s, const CoreStm *stm);

static bool find_inside(const Deep *like, DeepScope *s, Node *node) {
    Nodes found = {0};
    if (node->stm->op != OP_MAP && node->stm->op != OP_GENERATE) return false;
    const CoreBody *body = node->stm->bodies[0];
    for (uint32_t i = 0; i < body->stms.len; i++) {
        Node *inner = find_node(like, s, body->stms.data[i]);
        if (inner != NULL) vec_push(like->program->arena, &found, inner);
    }
    node->inner = found.data;
    node->count = found.len;
    return found.len > 0;
}

// What of the statement goes by parts; NULL: nothing.
static Node *find_node(const Deep *like, DeepScope *s, const CoreStm *stm) {
    Arena *arena = like->program->arena;
    Node node = {.stm = stm};
    Deep d = *like;
    DeepTall t = {.program = like->program, .rw = like->rw, .b = like->b};
    if (deep_find(&d, s, stm)) node.nest = arena_copy(arena, &d, sizeof d);
    else if (deep_find_tall(&t, s, stm)) node.tall = arena_copy(arena, &t, sizeof t);
    else if (!find_inside(like, s, &node)) return NULL;
    return arena_copy(arena, &node, sizeof node);
}

// ---- conditions ---------------------------------------------------------------------

// Of a map: whether any nest inside goes by parts.
static CoreRef emit_wanted(CoreBuilder *b, Node *node) {
    if (node->nest != NULL) return node->c = deep_emit_wanted(node->nest);
    if (node->tall != NULL) return node->c = deep_emit_tall_wanted(node->tall);
    node->c = emit_wanted(b, node->inner[0]);
    for (uint32_t i = 1; i < node->count; i++)
        node->c = core_op2(b, OP_OR, node->c, emit_wanted(b, node->inner[i]));
    return node->c;
}

static CoreRef emit_equal(CoreBuilder *b, const DeepScope *s, CoreRef c) {
    for (uint32_t i = 0; i < s->equal.len; i += 2) {
        CoreRef x = deep_emit_size(b, s->equal.data[i]);
        CoreRef y = deep_emit_size(b, s->equal.data[i + 1]);
        c = core_op2(b, OP_AND, c, core_op2(b, OP_EQ, x, y));
    }
    return c;
}

// ---- the choice ---------------------------------------------------------------------

static void emit_branch(CoreBuilder *b, const Node *node);
static void emit_around(CoreBuilder *b, const Node *node);

static CoreStm *last_of(CoreBuilder *b) {
    const CoreBody *open = b->open.data[b->open.len - 1];
    return open->stms.data[open->stms.len - 1];
}

// By parts; the last statement of the open body has its results then.
static void emit_node(CoreBuilder *b, const Node *node) {
    if (node->nest != NULL) deep_emit_parts(node->nest);
    else if (node->tall != NULL) deep_emit_tall(node->tall);
    else emit_around(b, node);
}

// Where there are several in a body, some of them may stay as they were.
static void emit_body(CoreBuilder *b, const Node *node) {
    const CoreBody *body = node->stm->bodies[0];
    uint32_t next = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        if (next == node->count || node->inner[next]->stm != stm) {
            core_append(b, stm);
            continue;
        }
        const Node *inner = node->inner[next++];
        if (node->count > 1) {
            emit_branch(b, inner);
            continue;
        }
        emit_node(b, inner);
        last_of(b)->outs = stm->outs;
    }
}

static CoreRef *values_like(CoreProgram *p, const CoreStm *stm) {
    CoreRef *values = arena_array(p->arena, CoreRef, stm->out_count);
    for (uint32_t i = 0; i < stm->out_count; i++)
        values[i] = core_value(p, core_type(p, stm->outs[i]), 0);
    return values;
}

static void emit_around(CoreBuilder *b, const Node *node) {
    CoreProgram *p = b->program;
    const CoreBody *was = node->stm->bodies[0];
    core_open(b, was->params, was->param_count);
    emit_body(b, node);
    CoreBody *body = core_close(b, was->results, was->result_count);
    CoreStm *copy = arena_copy(p->arena, node->stm, sizeof *copy);
    core_set_bodies(b, copy, &body, 1);
    copy->outs = values_like(p, node->stm);
    core_append(b, copy);
}

static CoreBody *close_last(CoreBuilder *b) {
    const CoreStm *last = last_of(b);
    return core_close(b, last->outs, last->out_count);
}

static CoreBody *as_it_was(CoreBuilder *b, const CoreStm *stm) {
    Map none;
    map_init(&none, core_notes(b->program));
    core_open(b, NULL, 0);
    deep_emit_map(b, stm, stm->args, &none);
    return close_last(b);
}

static CoreBody *by_parts(CoreBuilder *b, const Node *node) {
    core_open(b, NULL, 0);
    emit_node(b, node);
    return close_last(b);
}

static void emit_branch(CoreBuilder *b, const Node *node) {
    CoreBody *bodies[] = {by_parts(b, node), as_it_was(b, node->stm)};
    CoreStm *choice = core_emit(b, OP_IF, &node->c, 1, NULL, 0);
    core_set_bodies(b, choice, bodies, 2);
    choice->flags |= STM_LARGE;
    choice->outs = node->stm->outs;
    choice->out_count = node->stm->out_count;
}

bool deep_emit_choice(const Deep *like, const CoreStm *stm) {
    DeepScope s = deep_scope(like->rw, stm);
    Node *node = find_node(like, &s, stm);
    if (node == NULL) return false;
    node->c = emit_equal(like->b, &s, emit_wanted(like->b, node));
    emit_branch(like->b, node);
    return true;
}
