// SPDX-License-Identifier: Apache-2.0
#include "fission/flow.h"

static const uint32_t none = UINT32_MAX;

void flow_init(Flow *f, Arena *arena) {
    *f = (Flow){.arena = arena};
    flow_node(f);
    flow_node(f);
}

uint32_t flow_node(Flow *f) {
    vec_push(f->arena, &f->nodes, none);
    return f->nodes.len - 1;
}

static void add_edge(Flow *f, uint32_t from, uint32_t to, uint64_t capacity) {
    FlowEdge edge = {to, f->nodes.data[from], capacity};
    f->nodes.data[from] = f->edges.len;
    vec_push(f->arena, &f->edges, edge);
}

void flow_edge(Flow *f, uint32_t from, uint32_t to, uint64_t capacity) {
    add_edge(f, from, to, capacity);
    add_edge(f, to, from, 0);
}

// How many edges that can carry more lead from the source to each node; none: nothing
// does. Returns whether the sink is reached.
static bool find_levels(const Flow *f, uint32_t *levels, uint32_t *queue) {
    uint32_t head = 0, tail = 0;
    for (uint32_t n = 0; n < f->nodes.len; n++) levels[n] = none;
    levels[FLOW_SOURCE] = 0;
    queue[tail++] = FLOW_SOURCE;
    while (head < tail) {
        uint32_t from = queue[head++];
        for (uint32_t e = f->nodes.data[from]; e != none; e = f->edges.data[e].next) {
            uint32_t to = f->edges.data[e].to;
            if (f->edges.data[e].left == 0 || levels[to] != none) continue;
            levels[to] = levels[from] + 1;
            queue[tail++] = to;
        }
    }
    return levels[FLOW_SINK] != none;
}

static void send(Flow *f, const uint32_t *path, uint32_t length) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < length; i++)
        if (f->edges.data[path[i]].left < least) least = f->edges.data[path[i]].left;
    for (uint32_t i = 0; i < length; i++) {
        f->edges.data[path[i]].left -= least;
        f->edges.data[path[i] ^ 1].left += least;
    }
}

// Sends as much as shortest paths carry. What leads nowhere is left out from then on;
// next is, by node, the first edge that may still lead on.
static void send_all(Flow *f, uint32_t *levels, uint32_t *next, uint32_t *path) {
    uint32_t length = 0, node = FLOW_SOURCE;
    for (;;) {
        uint32_t e = next[node];
        if (node == FLOW_SINK) {
            send(f, path, length);
            length = 0;
            node = FLOW_SOURCE;
        } else if (e == none) {
            if (length == 0) return;
            levels[node] = none;
            node = f->edges.data[path[--length] ^ 1].to;
        } else if (f->edges.data[e].left > 0 &&
                   levels[f->edges.data[e].to] == levels[node] + 1) {
            path[length++] = e;
            node = f->edges.data[e].to;
        } else {
            next[node] = f->edges.data[e].next;
        }
    }
}

const bool *flow_cut(Flow *f) {
    uint32_t count = f->nodes.len;
    uint32_t *levels = arena_array(f->arena, uint32_t, count);
    uint32_t *next = arena_array(f->arena, uint32_t, count);
    uint32_t *path = arena_array(f->arena, uint32_t, count);
    bool *is_reached = arena_array(f->arena, bool, count);
    while (find_levels(f, levels, path)) {
        for (uint32_t n = 0; n < count; n++) next[n] = f->nodes.data[n];
        send_all(f, levels, next, path);
    }
    for (uint32_t n = 0; n < count; n++) is_reached[n] = levels[n] != none;
    return is_reached;
}
