// SPDX-License-Identifier: Apache-2.0
//
// Cuts of least capacity between the source and the sink of a network: which of many
// things go together, when each is better on one side, and so much is lost where two
// are apart.
#ifndef WEFT_FISSION_FLOW_H
#define WEFT_FISSION_FLOW_H

#include "base/arena.h"

enum { FLOW_SOURCE, FLOW_SINK }; // two nodes that are there from the first
static const uint64_t flow_endless = UINT64_MAX / 2; // that is never cut

// Edge e, and e ^ 1 back.
typedef struct FlowEdge {
    uint32_t to, next; // of the edges that leave the same node
    uint64_t left;     // of what it can carry
} FlowEdge;

typedef struct Flow {
    Arena *arena;
    struct {
        FlowEdge *data;
        uint32_t len, cap;
    } edges;
    struct {
        uint32_t *data; // first edge, by node
        uint32_t len, cap;
    } nodes;
} Flow;

void flow_init(Flow *f, Arena *arena);
uint32_t flow_node(Flow *f);
void flow_edge(Flow *f, uint32_t from, uint32_t to, uint64_t capacity);
// By node, whether it is on the side of the source: of all cuts of least capacity the
// one with the fewest. Uses up what edges can carry. Capacities that are not endless
// may come to less than that in all. (Dinic: Algorithm for solution of a problem of
// maximum flow in networks with power estimation, 1970.)
const bool *flow_cut(Flow *f);

#endif
