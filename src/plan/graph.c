// SPDX-License-Identifier: Apache-2.0
//
// Where what a picture of a plan shows stands. A task stands below those that it needs,
// in the first row that has room; in a row, nodes stand near what they are joined to.
// An edge over several rows passes through bends (Sugiyama, Tagawa and Toda, 1981), and
// all that leave one node share them.
#include "plan/graph.h"

enum {
    BEND_WIDTH = 8,
    SPACE = 26,      // between boxes
    BEND_SPACE = 10, // beside bends
    SWEEPS = 12,
    NARROWEST = 640,
    MOST_IN_ROW = 7, // boxes
    MOST_DRAWN = 400
};

// ---- the graph ----------------------------------------------------------------------

static uint32_t add_node(Graph *g, GraphNodeKind kind, uint32_t number, uint32_t row) {
    vec_push(
        g->arena, &g->nodes,
        (GraphNode){.kind = kind, .number = number, .row = row, .next = PLAN_NONE});
    return g->nodes.len - 1;
}

static uint32_t add_box(Graph *g, GraphNodeKind kind, uint32_t number, uint32_t row) {
    g->row_lens[row]++;
    return add_node(g, kind, number, row);
}

// What it is made of; arguments are made of nothing.
static PlanUses uses_of(const Graph *g, const GraphNode *node) {
    if (node->kind == NODE_TASK) return g->plan->tasks.data[node->number].uses;
    if (node->kind == NODE_RESULT) return g->plan->results.data[node->number].uses;
    return (PlanUses){0};
}

static uint32_t maker_of(const Graph *g, PlanUse use) {
    uint32_t task = g->plan->blocks.data[use.block].task;
    return task == PLAN_NONE ? g->args[use.block] : g->tasks[task];
}

// The first row from this one on that is below all that it is made of, and has room.
static uint32_t row_below(const Graph *g, PlanUses uses, uint32_t row) {
    for (uint32_t k = 0; k < uses.len; k++) {
        uint32_t maker = maker_of(g, uses.data[k]);
        if (maker != PLAN_NONE && g->nodes.data[maker].row >= row)
            row = g->nodes.data[maker].row + 1;
    }
    while (g->row_lens[row] >= MOST_IN_ROW) row++;
    return row;
}

// The last task of which it is made; PLAN_NONE: of none.
static uint32_t last_maker(const Plan *plan, PlanUses uses) {
    uint32_t last = PLAN_NONE;
    for (uint32_t k = 0; k < uses.len; k++) {
        uint32_t task = plan->blocks.data[uses.data[k].block].task;
        if (task != PLAN_NONE && (last == PLAN_NONE || task > last)) last = task;
    }
    return last;
}

// Those that are there once the task has run.
static void add_results(Graph *g, uint32_t task, uint32_t row) {
    for (uint32_t i = 0; i < g->plan->results.len; i++) {
        PlanUses uses = g->plan->results.data[i].uses;
        if (last_maker(g->plan, uses) == task)
            add_box(g, NODE_RESULT, i, row_below(g, uses, row));
    }
}

static void add_tasks(Graph *g, uint32_t row) {
    for (uint32_t i = 0; i < g->task_count; i++) {
        g->tasks[i] =
            add_box(g, NODE_TASK, i, row_below(g, g->plan->tasks.data[i].uses, row));
        add_results(g, i, row);
    }
    add_results(g, PLAN_NONE, row);
}

// Arguments stand above the first node that uses them.
static void add_args(Graph *g) {
    const Plan *plan = g->plan;
    uint32_t *rows = arena_array(g->arena, uint32_t, plan->params + 1);
    memset(rows, 0xff, plan->params * sizeof *rows);
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        PlanUses uses = uses_of(g, &g->nodes.data[i]);
        for (uint32_t k = 0; k < uses.len; k++) {
            uint32_t block = uses.data[k].block;
            if (block < plan->params && g->nodes.data[i].row < rows[block])
                rows[block] = g->nodes.data[i].row;
        }
    }
    for (uint32_t i = 0; i < plan->params; i++) {
        if (rows[i] == PLAN_NONE) continue;
        uint32_t row = rows[i] - 1;
        while (g->row_lens[row] >= MOST_IN_ROW) row--;
        g->args[i] = add_box(g, NODE_ARG, i, row);
    }
}

// Several uses of what one node makes by another are one edge. What is but waited for
// does not travel.
static void add_edge(Graph *g, uint32_t to, PlanUse use) {
    uint32_t from = maker_of(g, use);
    const GraphNode *by = &g->nodes.data[to];
    double moved;
    bool is_task = by->kind == NODE_TASK;
    bool travels = plan_travels(
        g->plan, use, is_task ? &g->plan->tasks.data[by->number] : NULL, &moved);
    double bytes = travels ? moved : use.bytes;
    for (uint32_t i = g->edges.len; i-- > 0 && g->edges.data[i].to == to;) {
        GraphEdge *e = &g->edges.data[i];
        if (e->from != from) continue;
        if (bytes > 0) e->bytes += bytes;
        e->travels |= travels;
        return;
    }
    GraphEdge edge = {from, to, use.block, bytes, travels, 0};
    vec_push(g->arena, &g->edges, edge);
}

static void add_piece(Graph *g, uint32_t from, uint32_t to) {
    vec_push(g->arena, &g->pieces, (GraphPiece){.from = from, .to = to});
}

static void add_pieces(Graph *g, GraphEdge *edge) {
    uint32_t at = edge->from;
    while (g->nodes.data[at].row + 1 < g->nodes.data[edge->to].row) {
        if (g->nodes.data[at].next == PLAN_NONE) {
            uint32_t bend = add_node(g, NODE_BEND, 0, g->nodes.data[at].row + 1);
            g->nodes.data[bend].above = g->pieces.len;
            g->nodes.data[at].next = bend;
            add_piece(g, at, bend);
        }
        at = g->nodes.data[at].next;
    }
    edge->piece = g->pieces.len;
    add_piece(g, at, edge->to);
}

static void add_edges(Graph *g) {
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        PlanUses uses = uses_of(g, &g->nodes.data[i]);
        for (uint32_t k = 0; k < uses.len; k++) add_edge(g, i, uses.data[k]);
    }
    for (uint32_t i = 0; i < g->edges.len; i++) add_pieces(g, &g->edges.data[i]);
}

static void link_pieces(Graph *g) {
    for (uint32_t i = 0; i < g->nodes.len; i++)
        g->nodes.data[i].up = g->nodes.data[i].down = PLAN_NONE;
    for (uint32_t i = g->pieces.len; i-- > 0;) {
        GraphPiece *p = &g->pieces.data[i];
        GraphNode *from = &g->nodes.data[p->from], *to = &g->nodes.data[p->to];
        p->next_up = to->up;
        p->next_down = from->down;
        to->up = from->down = i;
    }
}

// The nodes of each row. Above those in use there may be empty ones, for arguments that
// nothing uses, or that stand further down.
static void collect_rows(Graph *g) {
    uint32_t first = PLAN_NONE;
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        uint32_t row = g->nodes.data[i].row;
        if (row < first) first = row;
        if (row >= g->row_count) g->row_count = row + 1;
    }
    if (g->nodes.len > 0) g->row_count -= first;
    g->rows = arena_array(g->arena, uint32_t *, g->row_count + 1);
    g->row_lens = arena_array(g->arena, uint32_t, g->row_count + 1);
    for (uint32_t i = 0; i < g->nodes.len; i++)
        g->row_lens[g->nodes.data[i].row -= first]++;
    for (uint32_t r = 0; r < g->row_count; r++) {
        g->rows[r] = arena_array(g->arena, uint32_t, g->row_lens[r]);
        g->row_lens[r] = 0;
    }
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        uint32_t row = g->nodes.data[i].row;
        g->rows[row][g->row_lens[row]++] = i;
    }
}

static void build(Graph *g) {
    const Plan *plan = g->plan;
    g->task_count = plan->tasks.len < MOST_DRAWN ? plan->tasks.len : MOST_DRAWN;
    g->tasks = arena_array(g->arena, uint32_t, plan->tasks.len + 1);
    g->args = arena_array(g->arena, uint32_t, plan->params + 1);
    memset(g->tasks, 0xff, plan->tasks.len * sizeof *g->tasks);
    memset(g->args, 0xff, plan->params * sizeof *g->args);
    g->row_lens = arena_array(g->arena, uint32_t,
                              plan->params + plan->tasks.len + plan->results.len + 2);
    add_tasks(g, (plan->params + MOST_IN_ROW - 1) / MOST_IN_ROW);
    add_args(g);
    add_edges(g);
    link_pieces(g);
    collect_rows(g);
}

// ---- where nodes stand --------------------------------------------------------------

// How much a piece wants to be straight: between bends most of all.
static double pull_of(const Graph *g, const GraphPiece *p) {
    bool has_bends = g->nodes.data[p->from].kind == NODE_BEND &&
                     g->nodes.data[p->to].kind == NODE_BEND;
    return has_bends ? 8 : 1;
}

static void pull(const Graph *g, GraphNode *node, const GraphPiece *p, uint32_t by,
                 double *sum) {
    double strength = pull_of(g, p);
    node->wanted += strength * g->nodes.data[by].x;
    *sum += strength;
}

// The mean of the neighbours above, below or on both sides; its own place without any.
static void want(Graph *g, uint32_t row, bool above, bool below) {
    const GraphPiece *pieces = g->pieces.data;
    for (uint32_t i = 0; i < g->row_lens[row]; i++) {
        GraphNode *node = &g->nodes.data[g->rows[row][i]];
        double sum = node->wanted = 0;
        for (uint32_t p = node->up; p != PLAN_NONE && above; p = pieces[p].next_up)
            pull(g, node, &pieces[p], pieces[p].from, &sum);
        for (uint32_t p = node->down; p != PLAN_NONE && below; p = pieces[p].next_down)
            pull(g, node, &pieces[p], pieces[p].to, &sum);
        node->wanted = sum > 0 ? node->wanted / sum : node->x;
    }
}

static double half_of(const GraphNode *node) {
    return (node->kind == NODE_BEND ? BEND_WIDTH : GRAPH_BOX_WIDTH) / 2.0;
}

static double apart(const Graph *g, uint32_t a, uint32_t b) {
    const GraphNode *x = &g->nodes.data[a], *y = &g->nodes.data[b];
    bool has_bend = x->kind == NODE_BEND || y->kind == NODE_BEND;
    return half_of(x) + half_of(y) + (has_bend ? BEND_SPACE : SPACE);
}

// As wide as the row is at least.
static double width_of_row(const Graph *g, uint32_t row) {
    const uint32_t *order = g->rows[row];
    double width = half_of(&g->nodes.data[order[0]]);
    for (uint32_t i = 1; i < g->row_lens[row]; i++)
        width += apart(g, order[i - 1], order[i]);
    return width + half_of(&g->nodes.data[order[g->row_lens[row] - 1]]);
}

// As near as they can be to where they are wanted, in their order, within the widest
// row and some room beside it.
static void settle(Graph *g, uint32_t row) {
    uint32_t len = g->row_lens[row], *order = g->rows[row];
    GraphNode *nodes = g->nodes.data;
    double *left = arena_array(g->arena, double, len + 1);
    double *right = arena_array(g->arena, double, len + 1);
    for (uint32_t i = 0; i < len; i++) {
        left[i] = nodes[order[i]].wanted;
        double least = i > 0 ? left[i - 1] + apart(g, order[i - 1], order[i]) : left[i];
        if (left[i] < least) left[i] = least;
    }
    for (uint32_t i = len; i-- > 0;) {
        right[i] = nodes[order[i]].wanted;
        double most =
            i + 1 < len ? right[i + 1] - apart(g, order[i], order[i + 1]) : right[i];
        if (right[i] > most) right[i] = most;
    }
    double least = half_of(&nodes[order[0]]);
    double most = least + fmax(g->width - width_of_row(g, row), 0);
    for (uint32_t i = 0; i < len; i++) {
        double space = i > 0 ? apart(g, order[i - 1], order[i]) : 0;
        least += space;
        most += space;
        double x = (left[i] + right[i]) / 2;
        nodes[order[i]].x = x < least ? least : x > most ? most : x;
    }
}

// In the order in which they are wanted; equal ones as they were.
static void sort_row(Graph *g, uint32_t row) {
    uint32_t *order = g->rows[row];
    for (uint32_t i = 1; i < g->row_lens[row]; i++)
        for (uint32_t k = i; k > 0; k--) {
            uint32_t a = order[k - 1], b = order[k];
            if (g->nodes.data[a].wanted <= g->nodes.data[b].wanted) break;
            order[k - 1] = b;
            order[k] = a;
        }
}

static void sweep(Graph *g, bool above, bool below, bool sorts) {
    for (uint32_t i = 0; i < g->row_count; i++) {
        uint32_t row = above ? i : g->row_count - 1 - i;
        want(g, row, above, below);
        if (sorts) sort_row(g, row);
        settle(g, row);
    }
}

static void place(Graph *g) {
    for (uint32_t r = 0; r < g->row_count; r++)
        if (width_of_row(g, r) > g->width) g->width = width_of_row(g, r);
    g->width *= 1.1;
    for (uint32_t r = 0; r < g->row_count; r++) settle(g, r);
    for (int i = 0; i < SWEEPS; i++) sweep(g, i % 2 == 0, i % 2 == 1, true);
    for (int i = 0; i < SWEEPS; i++) sweep(g, true, true, false);
    double least = 0, most = 0;
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        const GraphNode *node = &g->nodes.data[i];
        double low = node->x - half_of(node), high = node->x + half_of(node);
        if (i == 0 || low < least) least = low;
        if (i == 0 || high > most) most = high;
    }
    double shift = GRAPH_MARGIN - least;
    g->width = most - least + 2 * GRAPH_MARGIN;
    if (g->width < NARROWEST) {
        shift += (NARROWEST - g->width) / 2;
        g->width = NARROWEST;
    }
    for (uint32_t i = 0; i < g->nodes.len; i++) g->nodes.data[i].x += shift;
}

// Where the piece meets the node: pieces at one side of a box stand in the order of
// where they go.
static double port_of(const Graph *g, const GraphPiece *piece, bool at_end) {
    enum { WIDEST = 50 };
    uint32_t node = at_end ? piece->to : piece->from;
    double mine = g->nodes.data[at_end ? piece->from : piece->to].x;
    uint32_t before = 0, count = 0;
    const GraphPiece *p;
    uint32_t at = at_end ? g->nodes.data[node].up : g->nodes.data[node].down;
    for (; at != PLAN_NONE; at = at_end ? p->next_up : p->next_down) {
        p = &g->pieces.data[at];
        count++;
        before += g->nodes.data[at_end ? p->from : p->to].x < mine;
    }
    double step = GRAPH_BOX_WIDTH * 0.8 / count;
    if (step > WIDEST) step = WIDEST;
    if (g->nodes.data[node].kind == NODE_BEND) step = 0;
    return g->nodes.data[node].x + (before - (count - 1) / 2.0) * step;
}

static void place_pieces(Graph *g) {
    for (uint32_t i = 0; i < g->pieces.len; i++) {
        GraphPiece *p = &g->pieces.data[i];
        p->from_x = port_of(g, p, false);
        p->to_x = port_of(g, p, true);
    }
}

Graph *graph_make(const Plan *plan) {
    Graph *g = arena_new(plan->in.arena, Graph);
    g->plan = plan;
    g->arena = plan->in.arena;
    build(g);
    place(g);
    place_pieces(g);
    return g;
}
