// SPDX-License-Identifier: Apache-2.0
//
// Tasks from the graph of dependences of a body: which statements follow each other in
// one task. (The thesis leaves a graph-based form open, in its section 8.3.)
//
// An operation goes behind the last one that it waits for, if that is still the end of
// a cluster: it could not have begun earlier anywhere. Of several that end last, it
// goes where it takes most from. So clusters are chains, and no node in them waits
// longer than for what it needs: with workers enough, the whole takes as long as the
// critical path of the graph.
//
// A small node takes no time. It goes in front of the first node that needs it, if all
// that need it are in one cluster, for that one would wait for it anyway; else behind
// one that it needs, if all else that it needs came before that. Results are small
// nodes.
#include "task/make.h"

enum { NONE = UINT32_MAX };

typedef struct Nodes {
    uint32_t *data;
    uint32_t len, cap;
} Nodes;

// A variable of the body, and the bits for it: from 1, or 0 if it has none.
typedef struct GraphVar {
    FlowVar var;
    uint32_t outer; // it is from outside
    uint32_t inner; // branches or loops use or make it
} GraphVar;

typedef struct Graph {
    const FlowFun *flow;
    const FlowBody *body;
    Arena *arena;
    uint32_t stms, count;
    uint32_t *number; // by variable: its place among those of this body, from 1; else 0
    struct {
        GraphVar *data;
        uint32_t len, cap;
    } vars;
    // A row of bits has one for each variable from outside, then for each that branches
    // and loops use or make, then for each node.
    uint32_t outers, bits; // bits for the first; for all that are no nodes
    Nodes *succs;          // by node
    uint64_t **before; // by node: what it needs, a row that ends with the node itself
    uint64_t *ops;     // such a row: the operations
    uint32_t *finish;  // by node: how many large nodes end with it
    uint32_t *cluster, *next, *previous;
    Nodes first, last;
} Graph;

static const FlowStm *stm_of(const Graph *g, uint32_t node) {
    return node < g->stms ? g->body->stms.data[node] : NULL;
}

static bool is_large(const Graph *g, uint32_t node) {
    const FlowStm *stm = stm_of(g, node);
    return stm != NULL && stm->kind >= FLOW_OP;
}

static bool is_trivial(const Graph *g, uint32_t node) {
    const FlowStm *stm = stm_of(g, node);
    return stm != NULL && task_is_trivial(stm);
}

// Branches and loops begin before all that they need is there, and what they make may
// be ready before they end, so neither do they go behind something nor anything behind
// them.
static bool is_control(const Graph *g, uint32_t node) {
    const FlowStm *stm = stm_of(g, node);
    return stm != NULL && stm->kind >= FLOW_IF;
}

// ---- dependences --------------------------------------------------------------------

static GraphVar *var_at(const Graph *g, FlowVar var) {
    return &g->vars.data[g->number[var] - 1];
}

static void number_var(Graph *g, FlowVar var, bool is_bound) {
    if (g->number[var] != 0) return;
    uint32_t outer = is_bound ? 0 : ++g->outers;
    vec_push(g->arena, &g->vars, (GraphVar){.var = var, .outer = outer});
    g->number[var] = g->vars.len;
}

// What is used before anything binds it is from outside.
static void number_vars(Graph *g) {
    for (uint32_t i = 0; i < g->stms; i++) {
        const FlowStm *stm = g->body->stms.data[i];
        for (uint32_t k = 0; k < stm->uses.len; k++)
            number_var(g, stm->uses.data[k].var, false);
        for (uint32_t k = 0; k < stm->outs.len; k++)
            number_var(g, stm->outs.data[k], true);
    }
    for (uint32_t k = 0; k < g->body->results.len; k++)
        number_var(g, g->body->results.data[k], false);
}

static void forget_numbers(const Graph *g) {
    for (uint32_t n = 0; n < g->vars.len; n++) g->number[g->vars.data[n].var] = 0;
}

static void add_inner(Graph *g, FlowVar var) {
    uint32_t *bit = &var_at(g, var)->inner;
    if (*bit == 0) *bit = ++g->bits;
}

// Rows of bits are as long as the body is, not as the function.
static void number_bits(Graph *g) {
    g->bits = g->outers;
    for (uint32_t i = 0; i < g->stms; i++) {
        const FlowStm *stm = g->body->stms.data[i];
        for (uint32_t k = 0; k < stm->uses.len && is_control(g, i); k++)
            add_inner(g, stm->uses.data[k].var);
        for (uint32_t k = 0; k < stm->outs.len && is_control(g, i); k++)
            add_inner(g, stm->outs.data[k]);
    }
}

static uint32_t bit_of(const Graph *g, uint32_t node) {
    return g->bits + node;
}

// Words of the node's row.
static uint32_t words_of(const Graph *g, uint32_t node) {
    return bit_of(g, node) / 64 + 1;
}

static void make_rows(Graph *g) {
    size_t words = 0;
    for (uint32_t i = 0; i < g->count; i++) words += words_of(g, i);
    uint64_t *row = arena_array(g->arena, uint64_t, words);
    g->before = arena_array(g->arena, uint64_t *, g->count);
    for (uint32_t i = 0; i < g->count; i++) {
        g->before[i] = row;
        row += words_of(g, i);
    }
}

static void set_bit(uint64_t *row, uint32_t bit) {
    row[bit / 64] |= (uint64_t)1 << bit % 64;
}

static bool has_bit(const uint64_t *row, uint32_t bit) {
    return (row[bit / 64] >> bit % 64 & 1) != 0;
}

// `bit`: of a variable, which needs nothing.
static void need_var(Graph *g, uint32_t bit, uint32_t to) {
    set_bit(g->before[to], bit);
}

static bool has_succ(const Graph *g, uint32_t from, uint32_t to) {
    const Nodes *succs = &g->succs[from]; // in the order of the nodes
    return succs->len > 0 && succs->data[succs->len - 1] == to;
}

// What is needed for something else that is needed says nothing new, but to branches
// and loops, which may want it before that.
static void need_node(Graph *g, uint32_t from, uint32_t to) {
    uint64_t *before = g->before[to];
    bool is_known = has_bit(before, bit_of(g, from));
    if (from == to || (is_known && !is_control(g, to)) || has_succ(g, from, to)) return;
    set_bit(before, bit_of(g, from));
    const uint64_t *row = g->before[from];
    for (uint32_t w = 0; w < words_of(g, from); w++) before[w] |= row[w];
    vec_push(g->arena, &g->succs[from], to);
    if (g->finish[from] > g->finish[to]) g->finish[to] = g->finish[from];
}

typedef struct Access {
    uint32_t writer; // the last one; NONE: it is from outside
    Nodes readers;   // since then
} Access;

// What to wait for: of a branch or loop only what it does with that variable, and when
// that is nobody knows here.
static void need(Graph *g, uint32_t from, FlowVar var, uint32_t to) {
    const GraphVar *known = var_at(g, var);
    if (from == NONE) need_var(g, known->outer - 1, to);
    else if (is_control(g, from)) need_var(g, known->inner - 1, to);
    else need_node(g, from, to);
}

static void use(Graph *g, Access *access, uint32_t node, FlowUse u) {
    need(g, access->writer, u.var, node);
    for (uint32_t i = 0; i < access->readers.len && u.writes; i++)
        need(g, access->readers.data[i], u.var, node);
    if (u.writes) *access = (Access){.writer = node};
    else vec_push(g->arena, &access->readers, node);
}

static void find_edges(Graph *g) {
    Access *by_var = arena_array(g->arena, Access, g->vars.len + 1); // by number
    for (uint32_t i = 1; i <= g->vars.len; i++) by_var[i].writer = NONE;
    for (uint32_t i = 0; i < g->count; i++) {
        const FlowStm *stm = stm_of(g, i);
        for (uint32_t k = 0; stm != NULL && k < stm->uses.len; k++)
            use(g, &by_var[g->number[stm->uses.data[k].var]], i, stm->uses.data[k]);
        if (stm == NULL) {
            FlowVar result = g->body->results.data[i - g->stms];
            if (!flow_is_const(g->flow, result))
                use(g, &by_var[g->number[result]], i,
                    (FlowUse){.var = result, .reads = true});
        }
        for (uint32_t k = 0; stm != NULL && stm->kind != FLOW_OP && k < stm->outs.len;
             k++)
            by_var[g->number[stm->outs.data[k]]] = (Access){.writer = i};
        g->finish[i] += is_large(g, i) ? 1 : 0;
    }
}

// ---- clusters -----------------------------------------------------------------------

static void put_between(Graph *g, uint32_t node, uint32_t previous, uint32_t next,
                        uint32_t cluster) {
    g->cluster[node] = cluster;
    g->previous[node] = previous;
    g->next[node] = next;
    if (previous != NONE) g->next[previous] = node;
    else g->first.data[cluster] = node;
    if (next != NONE) g->previous[next] = node;
    else g->last.data[cluster] = node;
}

static void put_alone(Graph *g, uint32_t node) {
    vec_push(g->arena, &g->first, node);
    vec_push(g->arena, &g->last, node);
    put_between(g, node, NONE, NONE, g->first.len - 1);
}

// How much one node takes from another: arrays before scalars.
static uint32_t transfer(const Graph *g, uint32_t from, uint32_t to) {
    const FlowStm *source = stm_of(g, from), *stm = stm_of(g, to);
    uint32_t sum = 0;
    for (uint32_t k = 0; k < source->outs.len; k++)
        for (uint32_t i = 0; i < stm->uses.len; i++)
            if (stm->uses.data[i].var == source->outs.data[k])
                sum += 1 + g->flow->vars.data[source->outs.data[k]].type.rank;
    return sum;
}

static void put_large(Graph *g, uint32_t node) {
    uint32_t best = NONE;
    const uint64_t *before = g->before[node];
    for (uint32_t c = 0; c < g->last.len && !is_control(g, node); c++) {
        uint32_t end = g->last.data[c];
        if (!has_bit(before, bit_of(g, end)) || is_control(g, end)) continue;
        if (best == NONE || g->finish[end] > g->finish[best] ||
            (g->finish[end] == g->finish[best] &&
             transfer(g, end, node) > transfer(g, best, node)))
            best = end;
    }
    if (best == NONE) put_alone(g, node);
    else put_between(g, node, best, NONE, g->cluster[best]);
}

// Whether the node begins by waiting for what `small` makes.
static bool waits_first(const Graph *g, uint32_t node, uint32_t small) {
    if (!is_control(g, node)) return true;
    const FlowStm *stm = stm_of(g, node), *maker = stm_of(g, small);
    return stm->kind == FLOW_IF && maker->outs.data[0] == stm->ins.data[0];
}

static uint32_t first_user(const Graph *g, uint32_t node) {
    const Nodes *users = &g->succs[node];
    if (users->len == 0) return NONE;
    uint32_t cluster = g->cluster[users->data[0]];
    for (uint32_t i = 0; i < users->len; i++)
        if (g->cluster[users->data[i]] != cluster) return NONE;
    uint32_t from = users->len == 1 ? users->data[0] : g->first.data[cluster];
    for (uint32_t at = from;; at = g->next[at])
        for (uint32_t i = 0; i < users->len; i++)
            if (users->data[i] == at) return waits_first(g, at, node) ? at : NONE;
}

// Of a word of bits, those of variables from outside: params are there at once.
static uint64_t outer_bits(const Graph *g, uint32_t w) {
    if (g->body != g->flow->body || w > g->outers / 64) return 0;
    return w < g->outers / 64 ? ~(uint64_t)0 : ((uint64_t)1 << g->outers % 64) - 1;
}

// Whether all that the node needs is there once `after` has begun.
static bool is_before_all(const Graph *g, uint32_t node, uint32_t after) {
    const uint64_t *row = g->before[after], *needs = g->before[node];
    for (uint32_t w = 0; w < words_of(g, node); w++) {
        uint64_t left = needs[w] & ~outer_bits(g, w);
        if (w < words_of(g, after)) left &= ~row[w];
        // Small nodes that it needs go where it goes.
        for (; left != 0; left &= left - 1) {
            uint32_t bit = w * 64 + (uint32_t)__builtin_ctzll(left);
            if (bit < g->bits) return false;
            uint32_t need = bit - g->bits;
            if (need != after && is_large(g, need)) return false;
        }
    }
    return true;
}

// The last operation before `end` that the node needs; NONE: there is none.
static uint32_t last_needed(const Graph *g, uint32_t node, uint32_t end) {
    const uint64_t *needs = g->before[node];
    uint32_t last = bit_of(g, end < node ? end : node); // the first that is too late
    for (; last > g->bits; last = (last - 1) / 64 * 64) {
        uint32_t w = (last - 1) / 64;
        uint64_t left = needs[w] & g->ops[w] & ~(uint64_t)0 >> (63 - (last - 1) % 64);
        if (left != 0) return w * 64 + 63 - (uint32_t)__builtin_clzll(left) - g->bits;
    }
    return NONE;
}

static void put_small(Graph *g, uint32_t node) {
    uint32_t user = first_user(g, node);
    if (user != NONE) {
        put_between(g, node, g->previous[user], user, g->cluster[user]);
        return;
    }
    uint32_t p = last_needed(g, node, g->stms);
    while (p != NONE && !is_before_all(g, node, p)) p = last_needed(g, node, p);
    if (p != NONE) {
        put_between(g, node, p, g->next[p], g->cluster[p]);
        return;
    }
    put_alone(g, node);
}

// Values that nobody outside of their cluster asks for.
static bool *find_inner(const Graph *g) {
    bool *is_inner = arena_array(g->arena, bool, g->count);
    uint32_t *maker =
        arena_array(g->arena, uint32_t, g->vars.len + 1); // by number: + 1
    for (uint32_t i = 0; i < g->stms; i++) {
        const FlowStm *stm = stm_of(g, i);
        is_inner[i] = stm->kind == FLOW_EXP && !is_trivial(g, i);
        for (uint32_t k = 0; k < stm->outs.len && is_inner[i]; k++)
            maker[g->number[stm->outs.data[k]]] = i + 1;
    }
    for (uint32_t i = 0; i < g->count; i++) {
        const FlowStm *stm = stm_of(g, i);
        uint32_t uses = stm == NULL ? 1 : stm->uses.len;
        for (uint32_t k = 0; k < uses; k++) {
            FlowVar var = stm == NULL ? g->body->results.data[i - g->stms]
                                      : stm->uses.data[k].var;
            uint32_t made = maker[g->number[var]];
            if (made != 0 && g->cluster[made - 1] != g->cluster[i])
                is_inner[made - 1] = false;
        }
    }
    return is_inner;
}

TaskClusters task_clusters(const FlowFun *flow, const FlowBody *body, uint32_t *number,
                           Arena *arena) {
    Graph g = {.flow = flow,
               .body = body,
               .arena = arena,
               .stms = body->stms.len,
               .number = number};
    g.count = g.stms + body->results.len;
    number_vars(&g);
    number_bits(&g);
    g.succs = arena_array(arena, Nodes, g.count);
    make_rows(&g);
    g.ops = arena_array(arena, uint64_t, words_of(&g, g.count));
    g.finish = arena_array(arena, uint32_t, g.count);
    g.cluster = arena_array(arena, uint32_t, g.count);
    g.next = arena_array(arena, uint32_t, g.count);
    g.previous = arena_array(arena, uint32_t, g.count);
    find_edges(&g);
    for (uint32_t i = 0; i < g.stms; i++)
        if (is_large(&g, i)) put_large(&g, i);
    for (uint32_t i = 0; i < g.stms; i++)
        if (is_large(&g, i) && !is_control(&g, i)) set_bit(g.ops, bit_of(&g, i));
    for (uint32_t i = g.count; i-- > 0;)
        if (!is_large(&g, i) && !is_trivial(&g, i)) put_small(&g, i);
    bool *is_inner = find_inner(&g);
    forget_numbers(&g);
    return (TaskClusters){.next = g.next,
                          .first = g.first.data,
                          .count = g.first.len,
                          .is_inner = is_inner};
}
