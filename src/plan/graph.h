// SPDX-License-Identifier: Apache-2.0
//
// The graph of a plan as a picture has it: rows of nodes from top to bottom, and edges
// from one row to the next (graph.c).
#ifndef WEFT_PLAN_GRAPH_H
#define WEFT_PLAN_GRAPH_H

#include "plan/plan.h"

enum { GRAPH_BOX_WIDTH = 216, GRAPH_MARGIN = 32 };

// A bend is where edges pass a row that they have nothing to do with.
typedef enum GraphNodeKind {
    NODE_ARG,
    NODE_TASK,
    NODE_RESULT,
    NODE_BEND
} GraphNodeKind;

typedef struct GraphNode {
    GraphNodeKind kind;
    uint32_t number; // of the block, the task or the result
    uint32_t row;
    uint32_t next;     // the bend below, where its edges go on; PLAN_NONE: none does
    uint32_t above;    // of a bend: the piece that leads to it
    uint32_t up, down; // its first pieces from above, and to below; PLAN_NONE
    double x;          // of the middle
    double wanted;     // where its neighbours would have it
} GraphNode;

// A piece of edges, from one row to the next: at these places.
typedef struct GraphPiece {
    uint32_t from, to;
    uint32_t next_up, next_down; // of those that end, or begin, where it does
    double from_x, to_x;
} GraphPiece;

typedef struct GraphEdge {
    uint32_t from, to, block;
    double bytes;
    bool travels;
    uint32_t piece; // the last; those before lead to bends
} GraphEdge;

typedef struct Graph {
    const Plan *plan;
    Arena *arena;
    uint32_t task_count; // that are drawn
    struct {
        GraphNode *data;
        uint32_t len, cap;
    } nodes;
    struct {
        GraphEdge *data;
        uint32_t len, cap;
    } edges;
    struct {
        GraphPiece *data;
        uint32_t len, cap;
    } pieces;
    uint32_t *args, *tasks; // nodes, by number; PLAN_NONE: there is none
    uint32_t **rows;        // nodes from left to right
    uint32_t *row_lens;
    uint32_t row_count;
    double width; // with margins, once all has its place
} Graph;

Graph *graph_make(const Plan *plan);

#endif
