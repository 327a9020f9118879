// SPDX-License-Identifier: Apache-2.0
//
// Which operators of a row are worth cutting (cut.h).
//
// Each that is cut saves the time that other devices take over. But what is made in
// parts and needed as a whole has to travel, and so has the whole of which someone
// takes parts. What one operator hands to the next in parts does not, so what cutting
// one is worth depends on the others. The best choice is a least cut of a network: an
// operator that is whole cuts what it would have saved, an array that is in parts at
// one of its ends alone cuts what it takes to travel, once, however many take it
// (Picard: Maximal closure of a graph and applications to combinatorial problems,
// 1976). Sizes are not known here: all is counted by element.
#include "fission/cut.h"
#include "fission/flow.h"

static const uint32_t nobody = UINT32_MAX;

// An array of which parts may be made or taken.
typedef struct Made {
    uint32_t maker;        // the statement that may make it in parts, or nobody
    uint32_t whole, apart; // nodes: someone needs it whole; someone takes parts of it
    uint32_t whole_at;     // the node whose need of the whole was the last one noted
    bool is_needed;        // as a whole, by what was chosen
} Made;

// That a statement takes an array; nobody: what is behind the row.
typedef struct Link {
    uint32_t made, taker;
} Link;

// A statement that is looked at.
typedef struct Looked {
    const FissionRule *rule; // by which it may be cut; NULL: none, or as a loop
    uint32_t node;           // FLOW_SINK: it stays whole in any case
} Looked;

typedef struct Selection {
    Strategy *y;
    const CoreBody *body;
    uint32_t from, end; // the statements that are looked at
    struct {
        Looked *data;
        uint32_t len, cap;
    } looked;
    Flow flow;
    Map numbers; // array -> of `made`
    struct {
        Made *data;
        uint32_t len, cap;
    } made;
    struct {
        Link *data;
        uint32_t len, cap;
    } links;
} Selection;

static const CoreStm *stm_of(const Selection *x, uint32_t i) {
    return x->body->stms.data[i];
}

static uint32_t node_of(const Selection *x, uint32_t i) {
    return x->looked.data[i - x->from].node;
}

// As many picoseconds; what is more than 11 days is that.
static uint64_t capacity_of(double nanoseconds) {
    return nanoseconds < 1e15 ? (uint64_t)(nanoseconds * 1e3) : (uint64_t)1e18;
}

static Made *find_made(const Selection *x, CoreRef array) {
    uint64_t number;
    return map_get(&x->numbers, array, &number) ? &x->made.data[number] : NULL;
}

static void add_made(Selection *x, CoreRef array, uint32_t maker) {
    Arena *arena = x->flow.arena;
    uint32_t node = maker == nobody ? (uint32_t)FLOW_SINK : node_of(x, maker);
    uint64_t travels = capacity_of(cut_travel_time(x->y, array));
    Made made = {
        .maker = maker, .whole = flow_node(&x->flow), .apart = flow_node(&x->flow)};
    if (maker != nobody) flow_edge(&x->flow, node, made.whole, travels);
    flow_edge(&x->flow, made.apart, node, travels);
    map_set(&x->numbers, array, x->made.len);
    vec_push(arena, &x->made, made);
}

// That the statement takes parts of it, if it is cut, or else the whole.
static void link_parts(Selection *x, CoreRef array, uint32_t taker) {
    if (core_type(x->y->program, array).rank == 0 ||
        cut_find_virtual(x->y, array) != NULL)
        return;
    if (find_made(x, array) == NULL) add_made(x, array, nobody);
    Made *made = find_made(x, array);
    Link link = {(uint32_t)(made - x->made.data), taker};
    if (made->maker != nobody)
        flow_edge(&x->flow, made->whole, node_of(x, taker), flow_endless);
    flow_edge(&x->flow, node_of(x, taker), made->apart, flow_endless);
    vec_push(x->flow.arena, &x->links, link);
}

// That all of it is needed where that node is, or by each device if the node is cut:
// then it travels whether it is made in parts or not.
static void link_whole(Selection *x, CoreRef array, uint32_t node) {
    Made *made = find_made(x, array);
    if (made == NULL || made->maker == nobody || made->whole_at == node) return;
    made->whole_at = node;
    Link link = {(uint32_t)(made - x->made.data), nobody};
    flow_edge(&x->flow, made->whole, node, flow_endless);
    vec_push(x->flow.arena, &x->links, link);
}

static void link_refs(Selection *x, uint32_t i, const CoreRefs *near,
                      const CoreRef *refs, uint32_t count) {
    for (uint32_t k = 0; k < count; k++)
        if (core_type(x->y->program, refs[k]).rank > 0 && !fission_holds(near, refs[k]))
            link_whole(x, refs[k], node_of(x, i));
}

// What statement i takes in that body of its.
static void link_inside(Selection *x, uint32_t i, const CoreRefs *near,
                        const CoreBody *body) {
    for (uint32_t k = 0; k < body->stms.len; k++) {
        const CoreStm *stm = body->stms.data[k];
        link_refs(x, i, near, stm->args, stm->arg_count);
        for (uint32_t b = 0; b < stm->body_count; b++)
            link_inside(x, i, near, stm->bodies[b]);
    }
    link_refs(x, i, near, body->results, body->result_count);
}

// What the statement takes, in which way.
static void link_statement(Selection *x, uint32_t i) {
    const CoreStm *stm = stm_of(x, i);
    bool may_be_cut = node_of(x, i) != FLOW_SINK;
    const FissionRule *rule = x->looked.data[i - x->from].rule;
    CoreFeeds feeds = may_be_cut ? core_feeds(stm) : (CoreFeeds){.count = 0};
    CoreRefs near = {0};
    if (stm->op == OP_DIM) return;
    if (may_be_cut && is_control(stm))
        feeds = (CoreFeeds){.first = 1, .count = stm->arg_count - 1};
    if (rule != NULL && rule->part == part_near) {
        FissionSplit s = cut_of(x->y, x->body, i);
        near = *cut_near(x->y, &s);
    }
    for (uint32_t a = 0; a < stm->arg_count; a++)
        if (a >= feeds.first && a < feeds.first + feeds.count)
            link_parts(x, stm->args[a], i);
        else link_whole(x, stm->args[a], node_of(x, i));
    for (uint32_t k = 0; k < near.len; k++) link_parts(x, near.data[k], i);
    for (uint32_t k = 0; k < stm->body_count; k++)
        link_inside(x, i, &near, stm->bodies[k]);
}

// ---- who comes later ----------------------------------------------------------------

static void note_last(const CoreProgram *p, Map *last, const CoreRef *refs,
                      uint32_t count, uint32_t at) {
    for (uint32_t i = 0; i < count; i++)
        if (core_type(p, refs[i]).rank > 0) map_set(last, refs[i], at);
}

static void note_inside(const CoreProgram *p, Map *last, const CoreBody *body,
                        uint32_t at) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        note_last(p, last, stm->args, stm->arg_count, at);
        for (uint32_t k = 0; k < stm->body_count; k++)
            note_inside(p, last, stm->bodies[k], at);
    }
    note_last(p, last, body->results, body->result_count, at);
}

// Who takes each array last; of sizes nobody asks for the array.
static void find_last(const CoreProgram *p, const CoreBody *body, Map *last) {
    map_init(last, core_notes(p));
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        if (stm->op != OP_DIM) note_last(p, last, stm->args, stm->arg_count, i);
        for (uint32_t k = 0; k < stm->body_count; k++)
            note_inside(p, last, stm->bodies[k], i);
    }
    note_last(p, last, body->results, body->result_count, body->stms.len);
}

// What is taken behind the statements that are looked at is needed whole.
static void link_later(Selection *x, const Map *last) {
    uint64_t taker;
    for (uint32_t i = x->from; i < x->end; i++)
        for (uint32_t k = 0; k < stm_of(x, i)->out_count; k++) {
            CoreRef out = stm_of(x, i)->outs[k];
            if (map_get(last, out, &taker) && taker >= x->end)
                link_whole(x, out, FLOW_SINK);
        }
}

// ---- what may be cut ----------------------------------------------------------------

// Where the statement may be cut: what that saves, and the arrays it makes. Returns
// whether it may be.
static bool add_operator(Selection *x, uint32_t i) {
    Strategy *y = x->y;
    if (!cut_is_judged(stm_of(x, i))) return false;
    FissionSplit s = cut_of(y, x->body, i);
    bool is_carried = carry_can(y, s.stm);
    if (!is_carried && cut_find_rule(y, &s) == NULL) return false;
    uint32_t node = flow_node(&x->flow);
    x->looked.data[i - x->from] = (Looked){is_carried ? NULL : s.rule, node};
    flow_edge(&x->flow, FLOW_SOURCE, node,
              cut_takes_all(y) ? flow_endless : capacity_of(cut_saves(y, &s)));
    for (uint32_t k = 0; k < s.stm->out_count; k++) {
        CoreRef out = s.stm->outs[k];
        if (core_type(y->program, out).rank == 0) continue;
        if (is_carried || cut_has_parts(&s)) add_made(x, out, i);
        else flow_edge(&x->flow, node, FLOW_SINK, capacity_of(cut_travel_time(y, out)));
    }
    return true;
}

static void note_operator(void *any, const CoreStm *stm) {
    if (cut_is_operator(stm)) *(bool *)any = true;
}

// Whether that is a loop or branch in which something may be cut.
static bool has_operators(const CoreStm *stm) {
    bool any = false;
    for (uint32_t k = 0; k < stm->body_count && is_control(stm); k++)
        core_walk(stm->bodies[k], note_operator, &any);
    return any;
}

// Up to the next loop or branch with operators, behind one that may be cut. Returns
// whether there is one.
static bool add_operators(Selection *x) {
    bool any = false;
    for (x->end = x->from; x->end < x->body->stms.len; x->end++) {
        vec_push(x->flow.arena, &x->looked, (Looked){NULL, FLOW_SINK});
        bool may_be_cut = add_operator(x, x->end);
        if (any && !may_be_cut && has_operators(stm_of(x, x->end))) break;
        any = any || may_be_cut;
    }
    return any;
}

static Selection new_selection(Strategy *y, const CoreBody *body, uint32_t from) {
    Arena *arena = core_notes(y->program);
    Selection x = {.y = y, .body = body, .from = from};
    flow_init(&x.flow, arena);
    map_init(&x.numbers, arena);
    return x;
}

// ---- what is cut --------------------------------------------------------------------

// Puts what was chosen into the row.
static void fill_row(Selection *x, const bool *is_cut, CutRow *row) {
    Arena *arena = x->flow.arena;
    uint32_t *numbers = arena_array(arena, uint32_t, x->end - x->from); // in the row
    for (uint32_t i = x->from; i < x->end; i++) {
        if (!is_cut[node_of(x, i)]) continue;
        FissionOperator op = {i, row->len, cut_work(x->y, stm_of(x, i))};
        numbers[i - x->from] = row->len;
        vec_push(arena, row, op);
        map_set(&x->y->chosen, stm_of(x, i)->outs[0], 1);
    }
    for (uint32_t k = 0; k < x->links.len; k++) {
        Made *made = &x->made.data[x->links.data[k].made];
        uint32_t taker = x->links.data[k].taker;
        if (made->maker == nobody || !is_cut[node_of(x, made->maker)]) continue;
        if (taker == nobody || !is_cut[node_of(x, taker)]) made->is_needed = true;
        else row->data[numbers[made->maker - x->from]].last = numbers[taker - x->from];
    }
    for (uint32_t i = x->from; i < x->end; i++)
        for (uint32_t k = 0; k < stm_of(x, i)->out_count; k++) {
            const Made *made = find_made(x, stm_of(x, i)->outs[k]);
            if (made != NULL && is_cut[node_of(x, i)] && !made->is_needed)
                map_set(&x->y->stays, stm_of(x, i)->outs[k], 1);
        }
}

void cut_select(Strategy *y, const CoreBody *body, uint32_t from, CutRow *row) {
    row->len = row->next = 0;
    while (row->len == 0 && from < body->stms.len) {
        Selection x = new_selection(y, body, from);
        y->selects = true;
        bool any = add_operators(&x);
        if (any && row->last.slots == NULL) find_last(y->program, body, &row->last);
        for (uint32_t i = from; any && i < x.end; i++) link_statement(&x, i);
        if (any) link_later(&x, &row->last);
        y->selects = false;
        if (any) fill_row(&x, flow_cut(&x.flow), row);
        from = x.end;
    }
}
