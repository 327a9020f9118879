// SPDX-License-Identifier: Apache-2.0
//
// The events of a task program, by walking over it once; a loop is entered twice.
#include "task/check.h"

typedef struct Frame {
    const struct Frame *outer;
    const TaskTurn *turn; // NULL: the program
    Map cells;            // TaskName -> cell
    uint32_t guard;       // the value that was written as the guard, or CHECK_NONE
    const CheckPath *then, *otherwise; // where it decided; NULL: it has not
} Frame;

// Where a task is.
typedef struct Walk {
    Check *c;
    Frame *frame;
    const CheckPath *path;
    uint32_t last; // node, or CHECK_NONE
} Walk;

// ---- cells --------------------------------------------------------------------------

static uint32_t new_cell(Walk *w, TaskName name, CheckSort sort) {
    vec_push(w->c->arena, &w->c->cells,
             (CheckCell){.sort = sort, .name = name, .path = w->path});
    map_set(&w->frame->cells, name, w->c->cells.len - 1);
    return w->c->cells.len - 1;
}

static uint32_t cell_of(const Walk *w, TaskName name) {
    uint64_t cell;
    for (const Frame *frame = w->frame; frame != NULL; frame = frame->outer)
        if (map_get(&frame->cells, name, &cell)) return (uint32_t)cell;
    return CHECK_NONE;
}

// The cell of a name that must be bound.
static uint32_t need_cell(Walk *w, TaskName name) {
    uint32_t cell = cell_of(w, name);
    if (cell != CHECK_NONE) return cell;
    w->c->faults++;
    task_print_name(w->c->p, name, w->c->out);
    strbuf_cstr(w->c->out, " is not bound\n");
    TaskSort sort = w->c->p->names.data[name].sort;
    return new_cell(w, name,
                    sort == TASK_IS_SIGNAL ? CHECK_SIGNAL
                    : sort == TASK_IS_REF  ? CHECK_REF
                                           : CHECK_VALUE);
}

static void new_port(Walk *w, TaskPort port) {
    new_cell(w, port.signal, CHECK_SIGNAL);
    new_cell(w, port.ref, CHECK_REF);
}

// ---- nodes --------------------------------------------------------------------------

static CheckNode *new_node(Walk *w, bool may_race) {
    Check *c = w->c;
    CheckNode node = {.path = w->path,
                      .after = w->last,
                      .column = CHECK_NONE,
                      .binds = CHECK_NONE,
                      .from = CHECK_NONE};
    if (may_race) node.column = c->columns.len;
    if (may_race) vec_push(c->arena, &c->columns, c->nodes.len);
    vec_push(c->arena, &c->nodes, node);
    w->last = c->nodes.len - 1;
    return &c->nodes.data[w->last];
}

static bool is_value(const Walk *w, TaskName name) {
    return !w->c->p->names.data[name].is_const;
}

// EXP, USE, UNIT, ALLOC: what is bound is a buffer, or may be a view of the args.
static void walk_binding(Walk *w, const TaskTerm *term) {
    Check *c = w->c;
    CheckNode *node = new_node(w, true);
    uint32_t at = w->last;
    for (uint32_t i = 0; i < term->args.len; i++)
        if (is_value(w, term->args.data[i]))
            vec_push(c->arena, &node->views, need_cell(w, term->args.data[i]));
    for (uint32_t i = 0; i < term->outs.len; i++) {
        TaskName out = term->outs.data[i];
        uint32_t cell = new_cell(w, out, CHECK_VALUE);
        if (term->kind != TASK_EXP) {
            c->cells.data[cell].is_buffer = true;
        } else if (c->p->names.data[out].type.rank > 0) {
            CheckNodes views = c->nodes.data[at].views;
            if (i > 0) new_node(w, false)->views = views;
            c->nodes.data[w->last].binds = cell;
        }
    }
}

static void walk_kernel(Walk *w, const TaskTerm *term) {
    Check *c = w->c;
    CheckNode *node = new_node(w, true);
    for (uint32_t i = 0; i < term->args.len; i++)
        if (is_value(w, term->args.data[i]))
            vec_push(c->arena, &node->views, need_cell(w, term->args.data[i]));
    for (uint32_t i = 0; i < term->outs.len; i++)
        vec_push(c->arena, &node->writes, need_cell(w, term->outs.data[i]));
}

static void walk_read(Walk *w, const TaskTerm *term) {
    uint32_t ref = need_cell(w, term->args.data[0]);
    CheckNode *node = new_node(w, false);
    node->from = ref;
    vec_push(w->c->arena, &w->c->cells.data[ref].reads, w->last);
    uint32_t value = new_cell(w, term->outs.data[0], CHECK_VALUE);
    w->c->nodes.data[w->last].binds = value;
}

static void walk_write(Walk *w, const TaskTerm *term) {
    Check *c = w->c;
    uint32_t ref = need_cell(w, term->args.data[0]);
    new_node(w, true);
    TaskName name = term->args.data[1];
    uint32_t value = is_value(w, name) ? need_cell(w, name) : CHECK_NONE;
    vec_push(c->arena, &c->cells.data[ref].ends, w->last);
    vec_push(c->arena, &c->cells.data[ref].values, value);
    for (Frame *frame = w->frame; frame != NULL; frame = (Frame *)frame->outer)
        if (frame->turn != NULL && term->args.data[0] == frame->turn->guard.ref) {
            frame->guard = value;
            return;
        }
}

// ---- control ------------------------------------------------------------------------

static void walk_block(Walk *w, const TaskBlock *block);

static const CheckPath *new_side(Walk *w, uint32_t branch, int side) {
    CheckPath path = {w->path, w->path->depth + 1, branch, side};
    return arena_copy(w->c->arena, &path, sizeof path);
}

static uint32_t new_branch(Check *c) {
    vec_push(c->arena, &c->branches, (CheckBranch){0});
    return c->branches.len - 1;
}

static void walk_if(Walk *w, const TaskTerm *term) {
    Check *c = w->c;
    uint32_t branch = new_branch(c);
    CheckNode *decision = new_node(w, true);
    uint32_t condition = CHECK_NONE;
    if (is_value(w, term->args.data[0])) {
        condition = need_cell(w, term->args.data[0]);
        vec_push(c->arena, &decision->views, condition);
    }
    const CheckPath *path = w->path;
    uint32_t before = w->last, ends[2];
    for (int side = 0; side < 2; side++) {
        w->path = path;
        w->path = new_side(w, branch, side);
        w->last = before;
        if (w->frame->turn != NULL && condition == w->frame->guard &&
            condition != CHECK_NONE)
            *(side == 0 ? &w->frame->then : &w->frame->otherwise) = w->path;
        new_node(w, false);
        walk_block(w, term->parts[side]);
        ends[side] = w->last;
    }
    w->path = path;
    w->last = before;
    CheckNode *end = new_node(w, false);
    for (int side = 0; side < 2; side++) vec_push(c->arena, &end->joins, ends[side]);
}

// Enters a turn: the first one with the args of the loop, others with what the one
// before has made. Its states and signals are the cells of those.
static Frame *walk_turn(Walk *w, const TaskTerm *term, const Frame *before) {
    const TaskTurn *turn = term->turn;
    Check *c = w->c;
    Walk from = *w, task = *w;
    Frame *frame = arena_new(c->arena, Frame);
    *frame = (Frame){.outer = w->frame, .turn = turn, .guard = CHECK_NONE};
    map_init(&frame->cells, c->arena);
    if (before != NULL) from.frame = (Frame *)before;
    uint32_t states = turn->states.len;
    for (uint32_t k = 0; k < states; k++) {
        TaskPort port = before == NULL ? (TaskPort){term->args.data[2 * k],
                                                    term->args.data[2 * k + 1]}
                                       : turn->next.data[k];
        map_set(&frame->cells, turn->states.data[k].signal,
                need_cell(&from, port.signal));
        map_set(&frame->cells, turn->states.data[k].ref, need_cell(&from, port.ref));
    }
    for (uint32_t k = 0; k < turn->carried.len; k++)
        map_set(&frame->cells, turn->carried.data[k],
                need_cell(&from, before == NULL ? term->args.data[2 * states + k]
                                                : turn->next_carried.data[k]));
    task.frame = frame;
    new_port(&task, turn->guard);
    uint32_t first = c->cells.len;
    for (uint32_t k = 0; k < states; k++) new_port(&task, turn->next.data[k]);
    for (uint32_t k = 0; k < turn->carried.len; k++)
        new_cell(&task, turn->next_carried.data[k], CHECK_SIGNAL);
    uint32_t last = c->cells.len;
    walk_block(&task, turn->block);
    if (frame->then == NULL) {
        c->faults++;
        strbuf_cstr(c->out, "a turn does not branch on its guard\n");
        frame->then = new_side(w, new_branch(c), 0);
        frame->otherwise = new_side(w, c->branches.len - 1, 1);
    }
    // The next turn's are only there if there is a next turn.
    for (uint32_t i = first; i < last; i++) c->cells.data[i].path = frame->then;
    CheckNode *node = new_node(w, false);
    vec_push(c->arena, &node->waits, need_cell(&task, turn->guard.signal));
    return frame;
}

static void walk_while(Walk *w, const TaskTerm *term) {
    const CheckPath *path = w->path;
    CheckNodes ends = {0};
    Frame *frame = NULL;
    for (int turn = 0; turn < 2; turn++) {
        frame = walk_turn(w, term, frame);
        uint32_t at = w->last;
        w->path = frame->otherwise;
        new_node(w, false);
        vec_push(w->c->arena, &ends, w->last);
        w->path = frame->then;
        w->last = at;
    }
    w->c->branches.data[frame->then->branch].is_last_turn = true;
    w->path = path;
    w->last = CHECK_NONE;
    new_node(w, false)->joins = ends;
}

static void walk_term(Walk *w, const TaskTerm *term) {
    Check *c = w->c;
    switch (term->kind) {
    case TASK_EXP:
    case TASK_USE:
    case TASK_UNIT:
    case TASK_ALLOC: walk_binding(w, term); return;
    case TASK_SIGNAL: new_cell(w, term->outs.data[0], CHECK_SIGNAL); return;
    case TASK_REF: new_cell(w, term->outs.data[0], CHECK_REF); return;
    case TASK_READ: walk_read(w, term); return;
    case TASK_KERNEL: walk_kernel(w, term); return;
    case TASK_WRITE: walk_write(w, term); return;
    case TASK_WAIT: {
        CheckNodes waits = {0};
        for (uint32_t i = 0; i < term->args.len; i++)
            vec_push(c->arena, &waits, need_cell(w, term->args.data[i]));
        new_node(w, false)->waits = waits;
        return;
    }
    case TASK_RESOLVE:
        new_node(w, false);
        for (uint32_t i = 0; i < term->args.len; i++) {
            uint32_t signal = need_cell(w, term->args.data[i]);
            vec_push(c->arena, &c->cells.data[signal].ends, w->last);
        }
        return;
    case TASK_IF: walk_if(w, term); return;
    case TASK_WHILE: walk_while(w, term); return;
    case TASK_FORK: {
        Walk task = *w;
        walk_block(&task, term->parts[0]);
        return;
    }
    case TASK_KIND_COUNT: return;
    }
}

static void walk_block(Walk *w, const TaskBlock *block) {
    for (uint32_t i = 0; i < block->len; i++) walk_term(w, &block->data[i]);
}

// The caller writes a param whenever it likes.
static void walk_param(Walk *w, TaskPort port) {
    Check *c = w->c;
    Walk caller = *w;
    new_port(w, port);
    new_node(&caller, true);
    CheckCell *ref = &c->cells.data[cell_of(w, port.ref)];
    vec_push(c->arena, &ref->ends, caller.last);
    vec_push(c->arena, &ref->values, CHECK_NONE);
    new_node(&caller, false);
    vec_push(c->arena, &c->cells.data[cell_of(w, port.signal)].ends, caller.last);
}

void check_events(Check *c) {
    Frame *frame = arena_new(c->arena, Frame);
    map_init(&frame->cells, c->arena);
    frame->guard = CHECK_NONE;
    Walk w = {.c = c,
              .frame = frame,
              .path = arena_new(c->arena, CheckPath),
              .last = CHECK_NONE};
    for (uint32_t i = 0; i < c->p->params.len; i++)
        walk_param(&w, c->p->params.data[i]);
    for (uint32_t i = 0; i < c->p->results.len; i++)
        new_port(&w, c->p->results.data[i]);
    walk_block(&w, c->p->block);
}
