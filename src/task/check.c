// SPDX-License-Identifier: Apache-2.0
//
// What is proved of a task program before it runs. Its events (check_events.c) form a
// graph: each comes after the one before it in its task, and a wait after what resolves
// its signals.
//
// - Signals: the places that resolve one lie on different branches and cover all paths.
//   So it is for what writes a reference.
// - Deadlock: the graph has no circle, be the branches what they may.
// - Races: what certainly came before an event follows from what came before it in its
//   task and, of a signal, before all that may resolve it; on another branch anything
//   may be said to have come before. Of two events that touch a buffer, of which one
//   writes, one must have come before the other.
#include "task/check.h"

// ---- every path ---------------------------------------------------------------------

// The branch that the path takes at depth `depth`.
static const CheckPath *path_at(const CheckPath *path, uint32_t depth) {
    while (path->depth > depth) path = path->outer;
    return path;
}

// Whether exactly one of the nodes, which are all on paths that begin alike up to
// `depth`, is met whichever way one goes on.
static const char *cover(const Check *c, const CheckNodes *nodes, uint32_t depth) {
    for (uint32_t i = 0; i < nodes->len; i++) {
        const CheckPath *path = c->nodes.data[nodes->data[i]].path;
        if (path->depth == depth) return nodes->len == 1 ? NULL : "twice on a path";
    }
    if (nodes->len == 0) return "never on a path";
    uint32_t branch = path_at(c->nodes.data[nodes->data[0]].path, depth + 1)->branch;
    CheckNodes parts[2] = {{0}, {0}};
    for (uint32_t i = 0; i < nodes->len; i++) {
        const CheckPath *path = path_at(c->nodes.data[nodes->data[i]].path, depth + 1);
        if (path->branch != branch) return "twice on a path";
        vec_push(c->arena, &parts[path->side], nodes->data[i]);
    }
    for (int side = 0; side < 2; side++) {
        // Of the turns that a loop may have, those behind the second are not looked at.
        if (side == 0 && parts[0].len == 0 && c->branches.data[branch].is_last_turn)
            continue;
        const char *fault = cover(c, &parts[side], depth + 1);
        if (fault != NULL) return fault;
    }
    return NULL;
}

static void complain(Check *c, TaskName name, const char *what, const char *how) {
    c->faults++;
    task_print_name(c->p, name, c->out);
    strbuf_printf(c->out, " is %s %s\n", what, how);
}

static void check_once(Check *c, const CheckCell *cell, const char *what) {
    for (uint32_t i = 0; i < cell->ends.len; i++) {
        const CheckPath *path = c->nodes.data[cell->ends.data[i]].path;
        if (path_at(path, cell->path->depth) == cell->path) continue;
        complain(c, cell->name, what, "where it is not there");
        return;
    }
    const char *fault = cover(c, &cell->ends, cell->path->depth);
    if (fault != NULL) complain(c, cell->name, what, fault);
}

// ---- what comes before what ---------------------------------------------------------

// Whether only one of them can be met.
static bool excludes(const CheckPath *a, const CheckPath *b) {
    while (a->depth > b->depth) a = a->outer;
    while (b->depth > a->depth) b = b->outer;
    for (; a != b; a = a->outer, b = b->outer)
        if (a->branch == b->branch && a->side != b->side) return true;
    return false;
}

static uint64_t *row(const Check *c, uint32_t node) {
    return &c->before[(size_t)node * c->words];
}

static bool came_before(const Check *c, uint32_t column, uint32_t node) {
    return (row(c, node)[column / 64] >> column % 64 & 1) != 0;
}

// What came before the end of that node.
static void add_past(const Check *c, uint32_t from, uint64_t *to) {
    const uint64_t *past = row(c, from);
    for (uint32_t w = 0; w < c->words; w++) to[w] |= past[w];
    uint32_t column = c->nodes.data[from].column;
    if (column != CHECK_NONE) to[column / 64] |= (uint64_t)1 << column % 64;
}

// One of several has happened: what came before all of them that may have.
static void add_one_of(Check *c, const CheckNodes *several, uint32_t node) {
    CheckNodes able = {0};
    const CheckPath *path = c->nodes.data[node].path;
    for (uint32_t i = 0; i < several->len; i++)
        if (!excludes(path, c->nodes.data[several->data[i]].path))
            vec_push(c->arena, &able, several->data[i]);
    if (able.len == 1) add_past(c, able.data[0], row(c, node));
    if (able.len <= 1) return;
    for (uint32_t w = 0; w < c->words; w++) c->common[w] = UINT64_MAX;
    for (uint32_t i = 0; i < able.len; i++) {
        const CheckPath *other = c->nodes.data[able.data[i]].path;
        for (uint32_t w = 0; w < c->words; w++) c->past[w] = 0;
        add_past(c, able.data[i], c->past);
        for (uint32_t k = 0; k < c->columns.len; k++)
            if (excludes(other, c->nodes.data[c->columns.data[k]].path))
                c->past[k / 64] |= (uint64_t)1 << k % 64;
        for (uint32_t w = 0; w < c->words; w++) c->common[w] &= c->past[w];
    }
    for (uint32_t w = 0; w < c->words; w++) row(c, node)[w] |= c->common[w];
}

// The value of `to` may lie where that of `from` does; if so, it was so at that node.
static void add_homes(Check *c, uint32_t from, uint32_t node, uint32_t to) {
    const CheckHomes *homes = &c->cells.data[from].homes;
    CheckHomes *all = &c->cells.data[to].homes;
    for (uint32_t i = 0; i < homes->len; i++) {
        uint64_t *past = arena_array(c->arena, uint64_t, c->words);
        add_past(c, node, past);
        for (uint32_t w = 0; w < c->words; w++) past[w] |= homes->data[i].past[w];
        uint32_t at = 0;
        while (at < all->len && all->data[at].buffer != homes->data[i].buffer) at++;
        if (at == all->len)
            vec_push(c->arena, all, (CheckHome){homes->data[i].buffer, past});
        for (uint32_t w = 0; w < c->words; w++) all->data[at].past[w] &= past[w];
    }
}

// Where the value that the node binds may lie.
static void bind_value(Check *c, uint32_t at) {
    const CheckNode *node = &c->nodes.data[at];
    if (node->from != CHECK_NONE) { // a reference that is read
        const CheckCell *ref = &c->cells.data[node->from];
        for (uint32_t i = 0; i < ref->values.len; i++)
            if (ref->values.data[i] != CHECK_NONE)
                add_homes(c, ref->values.data[i], ref->ends.data[i], node->binds);
        return;
    }
    for (uint32_t i = 0; i < node->views.len; i++)
        add_homes(c, node->views.data[i], at, node->binds);
}

static void pass(Check *c, uint32_t at) {
    const CheckNode *node = &c->nodes.data[at];
    if (node->after != CHECK_NONE) add_past(c, node->after, row(c, at));
    for (uint32_t i = 0; i < node->waits.len; i++)
        add_one_of(c, &c->cells.data[node->waits.data[i]].ends, at);
    if (node->joins.len > 0) add_one_of(c, &node->joins, at);
    if (node->binds != CHECK_NONE) bind_value(c, at);
}

static void add_edges(Check *c, const CheckNodes *from, uint32_t to) {
    const CheckPath *path = c->nodes.data[to].path;
    for (uint32_t i = 0; i < from->len; i++) {
        if (excludes(path, c->nodes.data[from->data[i]].path)) continue;
        vec_push(c->arena, &c->nodes.data[from->data[i]].next, to);
        c->nodes.data[to].missing++;
    }
}

// Goes through the graph; false: there is a circle.
static bool order(Check *c) {
    CheckNodes ready = {0};
    for (uint32_t i = 0; i < c->nodes.len; i++) {
        const CheckNode *node = &c->nodes.data[i];
        CheckNodes after = {(uint32_t *)&node->after, node->after != CHECK_NONE, 0};
        add_edges(c, &after, i);
        add_edges(c, &node->joins, i);
        for (uint32_t k = 0; k < node->waits.len; k++)
            add_edges(c, &c->cells.data[node->waits.data[k]].ends, i);
    }
    for (uint32_t i = 0; i < c->nodes.len; i++)
        if (c->nodes.data[i].missing == 0) vec_push(c->arena, &ready, i);
    for (uint32_t i = 0; i < ready.len; i++) {
        pass(c, ready.data[i]);
        CheckNode *node = &c->nodes.data[ready.data[i]];
        for (uint32_t k = 0; k < node->next.len; k++)
            if (--c->nodes.data[node->next.data[k]].missing == 0)
                vec_push(c->arena, &ready, node->next.data[k]);
    }
    if (ready.len == c->nodes.len) return true;
    for (uint32_t i = 0; i < c->nodes.len; i++) {
        const CheckNode *node = &c->nodes.data[i];
        if (node->missing == 0 || node->waits.len == 0) continue;
        c->faults++;
        strbuf_cstr(c->out, "a circle: wait for ");
        task_print_name(c->p, c->cells.data[node->waits.data[0]].name, c->out);
        strbuf_char(c->out, '\n');
        return false;
    }
    c->faults++;
    return false;
}

// ---- races --------------------------------------------------------------------------

static void check_ref(Check *c, const CheckCell *ref) {
    for (uint32_t i = 0; i < ref->reads.len; i++)
        for (uint32_t k = 0; k < ref->ends.len; k++) {
            const CheckNode *reader = &c->nodes.data[ref->reads.data[i]];
            const CheckNode *writer = &c->nodes.data[ref->ends.data[k]];
            if (excludes(reader->path, writer->path) ||
                came_before(c, writer->column, ref->reads.data[i]))
                continue;
            complain(c, ref->name, "read", "before it is written");
            return;
        }
}

static void note_touch(Check *c, uint32_t cell, uint32_t node, bool writes) {
    const CheckHomes *homes = &c->cells.data[cell].homes;
    for (uint32_t i = 0; i < homes->len; i++)
        vec_push(c->arena, &c->cells.data[homes->data[i].buffer].touches,
                 (CheckTouch){node, writes, homes->data[i].past});
}

static bool touches_after(const Check *c, CheckTouch touch, CheckTouch other) {
    uint32_t column = c->nodes.data[other.node].column;
    return came_before(c, column, touch.node) ||
           (touch.past[column / 64] >> column % 64 & 1) != 0;
}

static void check_buffer(Check *c, const CheckCell *buffer) {
    for (uint32_t i = 0; i < buffer->touches.len; i++)
        for (uint32_t k = 0; k < i; k++) {
            CheckTouch a = buffer->touches.data[k], b = buffer->touches.data[i];
            const CheckNode *x = &c->nodes.data[a.node], *y = &c->nodes.data[b.node];
            if (a.node == b.node || (!a.writes && !b.writes) ||
                excludes(x->path, y->path) || touches_after(c, a, b) ||
                touches_after(c, b, a))
                continue;
            complain(c, buffer->name, "written", "while it is in use");
            return;
        }
}

static void check_races(Check *c) {
    for (uint32_t i = 0; i < c->columns.len; i++) {
        const CheckNode *node = &c->nodes.data[c->columns.data[i]];
        for (uint32_t k = 0; k < node->views.len; k++)
            note_touch(c, node->views.data[k], c->columns.data[i], false);
        for (uint32_t k = 0; k < node->writes.len; k++)
            note_touch(c, node->writes.data[k], c->columns.data[i], true);
    }
    for (uint32_t i = 0; i < c->cells.len; i++) {
        const CheckCell *cell = &c->cells.data[i];
        if (cell->sort == CHECK_REF) check_ref(c, cell);
        if (cell->sort == CHECK_VALUE && cell->touches.len > 0) check_buffer(c, cell);
    }
}

bool task_check(const TaskProgram *p, Arena *scratch, StrBuf *out) {
    Check c = {.p = p, .arena = scratch, .out = out};
    check_events(&c);
    for (uint32_t i = 0; i < c.cells.len; i++) {
        const CheckCell *cell = &c.cells.data[i];
        if (cell->sort == CHECK_SIGNAL) check_once(&c, cell, "resolved");
        if (cell->sort == CHECK_REF) check_once(&c, cell, "written");
    }
    c.words = c.columns.len / 64 + 1;
    c.before = arena_array(scratch, uint64_t, (size_t)c.nodes.len * c.words);
    c.past = arena_array(scratch, uint64_t, c.words);
    c.common = arena_array(scratch, uint64_t, c.words);
    for (uint32_t i = 0; i < c.cells.len; i++)
        if (c.cells.data[i].is_buffer)
            vec_push(scratch, &c.cells.data[i].homes,
                     (CheckHome){i, arena_array(scratch, uint64_t, c.words)});
    if (order(&c)) check_races(&c);
    return c.faults == 0;
}
