// SPDX-License-Identifier: Apache-2.0
//
// The strategy (strategy.h), one pass from what makes arrays to what takes them.
//
// Within a run of statements all is cut by one row of shares, so that where something
// is cut depends on its length alone. So arrays of one length have parts of one length
// each, and an operator on arrays that were made in parts takes those, with nothing in
// between; it remains to be seen that the lengths are equal.
#include "fission/cut.h"

// ---- runs of statements -------------------------------------------------------------
//
// Statements in a row, from the first to the last operator of a run (runs.c), become
// two versions: in parts if the first one's length says that there is enough to do,
// else as they were.

typedef struct Part {
    uint32_t first, end; // of the body's statements
    double work;         // for one element of each operator
    double uneven;       // of that, what some elements may not have
    bool at_blocks;      // one of them is cut at blocks
    bool needs_few;      // one of them does more the more parts there are
    CoreRefs rows;       // the sizes of rows that the first one makes, as far as known
} Part;

static void add_rule(const Strategy *y, FissionSplit *s, double times, Part *part) {
    const FissionRule *rule = cut_find_rule(y, s);
    part->uneven += fission_uneven(y->program, s->stm) * times;
    if (rule == NULL) return;
    part->at_blocks |= rule->whole == whole_fold_blocks;
    part->needs_few |= rule->part == part_places || rule->whole == whole_sort ||
                       rule->whole == whole_hist_apart;
}

static void add_operator(const Strategy *y, const CoreBody *body, FissionOperator op,
                         Part *part) {
    FissionSplit s = cut_of(y, body, op.stm);
    part->work += op.work;
    if (!is_control(s.stm)) {
        add_rule(y, &s, 1, part);
        return;
    }
    Strategy inside = carry_inside(y, s.stm);
    for (uint32_t i = 0; i < s.stm->bodies[0]->stms.len; i++) {
        FissionSplit turn = cut_of(&inside, s.stm->bodies[0], i);
        add_rule(&inside, &turn, fission_turns(y->program, s.stm), part);
    }
}

// Of constants the work knows.
static void note_rows(const Strategy *y, const CoreStm *stm, CoreRefs *rows) {
    if (stm->op != OP_MAP && stm->op != OP_GENERATE) return;
    uint32_t from = stm->op == OP_GENERATE ? 1 : (uint32_t)stm->attrs[0];
    uint32_t end = from + core_type(y->program, stm->outs[0]).rank - 1u;
    for (uint32_t i = from; i < end; i++)
        if (!core_is_const(y->program, stm->args[i]))
            vec_push(core_notes(y->program), rows, stm->args[i]);
}

// The next run from statement `from` on; an empty one at the end of the body. For one
// device after the other all of a row is one: what it takes at once is what counts.
static Part find_part(Strategy *y, const CoreBody *body, uint32_t from, CutRow *row) {
    if (row->next == row->len) cut_select(y, body, from, row);
    uint32_t first = row->next, count = row->len;
    if (first == count) return (Part){.first = body->stms.len, .end = body->stms.len};
    uint32_t end = y->log->is_stream ? count : fission_run(row->data, first, count);
    row->next = end;
    Part part = {.first = row->data[first].stm, .end = row->data[end - 1].stm + 1};
    for (uint32_t i = first; i < end; i++) add_operator(y, body, row->data[i], &part);
    note_rows(y, body->stms.data[part.first], &part.rows);
    return part;
}

// Adds so much for each use.
static void add_uses(uint32_t *uses, const CoreBody *body, uint32_t by) {
    for (uint32_t i = 0; i < body->result_count; i++) uses[body->results[i]] += by;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) uses[stm->args[k]] += by;
        for (uint32_t k = 0; k < stm->body_count; k++)
            add_uses(uses, stm->bodies[k], by);
    }
}

// The run as a body, whose results are what others use.
static CoreBody *body_of(const Strategy *y, const CoreBody *body, Part part) {
    CoreProgram *p = y->program;
    CoreBody *run = arena_new(p->arena, CoreBody);
    CoreRefs results = {0};
    run->stms.data = body->stms.data + part.first;
    run->stms.len = run->stms.cap = part.end - part.first;
    add_uses(y->uses, run, UINT32_MAX); // others' are left
    for (uint32_t i = 0; i < run->stms.len; i++) {
        const CoreStm *stm = run->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++)
            if (y->uses[stm->outs[k]] > 0) vec_push(p->arena, &results, stm->outs[k]);
    }
    run->results = results.data;
    run->result_count = results.len;
    return run;
}

// Whether so much may be missing that devices would wait for each other.
static bool is_uneven(Part part) {
    return part.uneven > part.work / 8;
}

// How many chunks the share of a device is cut into, so that devices which would wait
// can take some.
static uint32_t chunks_of(const Strategy *y, Part part) {
    enum { CHUNKS = 4 };
    bool may_wait = is_uneven(part) || y->devices->is_mixed;
    if (!may_wait || part.needs_few || y->log->is_stream) return 1;
    uint32_t most = FISSION_MOST_PARTS / y->devices->count;
    return most < CHUNKS ? most : CHUNKS;
}

// From how many elements of its first operator on a run is cut. Chunks have to be long
// enough, too, unless there may be more to do than is known.
static int64_t least_of(const Strategy *y, Part part) {
    double all = is_uneven(part) ? y->least : y->least * chunks_of(y, part);
    double least = part.work > 0 ? all / part.work : all;
    if (y->least <= 0) return 1;
    for (uint32_t i = 0; i < part.rows.len; i++) least *= FISSION_SOME;
    return least < 1 ? 1 : (int64_t)least;
}

static void add_row(Strategy *y, Part part) {
    Arena *arena = y->program->arena;
    FissionRow row = {.at = fission_new_switch(arena, y->entry, least_of(y, part)),
                      .devices = y->devices->count,
                      .chunks = chunks_of(y, part),
                      .is_uneven = is_uneven(part)};
    y->row = fission_new_row(y->log, arena, row, y->devices->weights);
    y->parts = fission_parts(&row);
}

// A literal of so many numbers, which may be others in the next run.
static CoreRef read_numbers(Strategy *y, const int64_t *numbers, uint32_t count) {
    CoreType type = {SCALAR_I64, 1};
    CoreStm *stm = core_emit(&y->builder, OP_LITERAL, NULL, 0, &type, 1);
    stm->flags |= STM_CHANGES;
    stm->text = (Str){(const char *)numbers, count * sizeof *numbers};
    return stm->outs[0];
}

static CoreRef read_number(Strategy *y, CoreRef numbers, uint32_t i) {
    CoreRef args[] = {numbers, core_i64(y->program, i)};
    CoreType type = {SCALAR_I64, 0};
    return core_emit(&y->builder, OP_INDEX, args, 2, &type, 1)->outs[0];
}

// The bounds of the row, read once, so that all is cut by the same.
static void read_bounds(Strategy *y) {
    CoreRef bounds = read_numbers(y, y->log->rows.data[y->row].bounds, y->parts - 1);
    for (uint32_t i = 0; i + 1 < y->parts; i++)
        y->shares[i] = read_number(y, bounds, i);
}

// A size of what is in parts is known without the whole.
static CoreBody *in_parts(Strategy *y, const CoreBody *run) {
    core_open(&y->builder, NULL, 0);
    read_bounds(y);
    cut_all(y, run);
    return core_close(&y->builder, run->results, run->result_count);
}

static CoreRef is_on(Strategy *y, FissionSwitch *at, CoreRef size) {
    CoreRef from = read_number(y, read_numbers(y, at->from, 1), 0);
    return at->holds = core_op2(&y->builder, OP_LE, from, size);
}

// One of the two, as that says; both have results of their own.
static void emit_either(Strategy *y, CoreRef holds, CoreBody *parts, CoreBody *whole,
                        CoreRef *outs) {
    uint32_t count = parts->result_count;
    CoreType *types = arena_array(core_notes(y->program), CoreType, count);
    for (uint32_t i = 0; i < count; i++) types[i] = core_type(y->program, outs[i]);
    CoreStm *stm = core_emit(&y->builder, OP_IF, &holds, 1, types, count);
    core_set_bodies(&y->builder, stm, (CoreBody *[]){parts, whole}, 2);
    stm->outs = outs;
    y->changed = true;
}

// Whether there is enough to do, by how many elements the first operator makes.
static CoreRef is_enough(Strategy *y, const CoreBody *body, Part part) {
    FissionSplit s = cut_of(y, body, part.first);
    bool is_loop = carry_can(y, s.stm);
    if (!is_loop) cut_find_rule(y, &s);
    s.b = &y->builder;
    s.b->loc = s.stm->loc;
    CoreRef size = is_loop ? carry_length(y, s.stm) : s.rule->size(&s);
    for (uint32_t i = 0; i < part.rows.len && y->least > 0; i++)
        size = core_op2(s.b, OP_MUL, size, part.rows.data[i]);
    return is_on(y, &y->log->rows.data[y->row].at, fission_conv(&s, size, SCALAR_I64));
}

static void emit_both(Strategy *y, const CoreBody *body, Part part) {
    CoreBody *run = body_of(y, body, part);
    add_row(y, part);
    CoreRef enough = is_enough(y, body, part);
    y->at_blocks = part.at_blocks;
    CoreBody *parts = in_parts(y, version_to_cut(y, run)),
             *whole = version_whole(y, run);
    emit_either(y, enough, parts, whole, run->results);
}

// ---- bodies -------------------------------------------------------------------------

static CoreBody *visit(Strategy *y, const CoreBody *body);

static CoreStm *visit_bodies(Strategy *y, const CoreStm *stm) {
    Arena *arena = y->program->arena;
    CoreStm *copy = arena_copy(arena, stm, sizeof *stm);
    copy->bodies = arena_array(arena, CoreBody *, stm->body_count);
    uint32_t rows = y->log->rows.len;
    const FuseState *outer = y->states;
    y->states = fuse_loop_states(y->facts, outer, stm);
    for (uint32_t i = 0; i < stm->body_count; i++)
        copy->bodies[i] = visit(y, stm->bodies[i]);
    y->states = outer;
    y->cuts_loops = y->cuts_loops || (stm->op != OP_IF && y->log->rows.len > rows);
    return copy;
}

static CoreBody *visit(Strategy *y, const CoreBody *body) {
    core_open(&y->builder, body->params, body->param_count);
    CutRow row = {.len = 0};
    Part part = find_part(y, body, 0, &row);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        if (i == part.first) {
            emit_both(y, body, part);
            i = part.end - 1;
            part = find_part(y, body, part.end, &row);
        } else {
            cut_note_whole(y, body, i);
            core_append(&y->builder, is_control(stm) ? visit_bodies(y, stm) : stm);
        }
    }
    return core_close(&y->builder, body->results, body->result_count);
}

// ---- entries ------------------------------------------------------------------------

// As part of a body that has its params.
static CoreBody *without_params(const Strategy *y, const CoreBody *body) {
    CoreBody *inner = arena_copy(y->program->arena, body, sizeof *body);
    inner->params = NULL;
    inner->param_count = 0;
    return inner;
}

// What an entry does, in parts and as it was: among its rows nothing may be worth it,
// and then loops are kernels, and what is made is known as though there were one
// device.
static CoreBody *emit_entry(Strategy *y, const CoreBody *parts, const CoreBody *body) {
    CoreProgram *p = y->program;
    vec_push(p->arena, &y->log->entries, fission_new_switch(p->arena, y->entry, 1));
    FissionSwitch *at = &y->log->entries.data[y->log->entries.len - 1];
    CoreRef *outs = arena_array(p->arena, CoreRef, body->result_count);
    for (uint32_t k = 0; k < body->result_count; k++)
        outs[k] = core_value(p, core_type(p, body->results[k]), 0);
    core_open(&y->builder, body->params, body->param_count);
    CoreRef holds = is_on(y, at, core_i64(p, 1));
    CoreBody *whole = core_copy(p, without_params(y, body));
    emit_either(y, holds, without_params(y, parts), whole, outs);
    return core_close(&y->builder, outs, body->result_count);
}

static CoreBody *visit_entry(Strategy *y) {
    const CoreBody *body = y->entry->body;
    uint32_t rows = y->log->rows.len;
    y->cuts_loops = false;
    CoreBody *parts = visit(y, body);
    bool cuts_more = y->log->rows.len > rows + 1 || y->cuts_loops;
    bool may_stay = y->least > 0 && !y->log->is_stream;
    return may_stay && cuts_more ? emit_entry(y, parts, body) : parts;
}

bool fission_for_devices(CoreProgram *p, const FissionDevices *devices, double least,
                         FissionLog *log) {
    Strategy y = {.program = p,
                  .facts = fission_new_facts(p),
                  .builder = core_builder(p),
                  .uses = opt_count_uses(p),
                  .least = least,
                  .devices = devices,
                  .log = log};
    Map works, nears;
    map_init(&works, core_notes(p));
    map_init(&nears, core_notes(p));
    y.works = &works;
    y.nears = &nears;
    map_init(&y.known, core_notes(p));
    map_init(&y.chosen, core_notes(p));
    map_init(&y.stays, core_notes(p));
    for (uint32_t i = 0; i < p->funs.len; i++) {
        y.entry = p->funs.data[i];
        if (y.entry->is_entry) p->funs.data[i]->body = visit_entry(&y);
    }
    if (!y.changed) return false;
    cut_sweep(&y);
    p->is_divided = true;
    return true;
}

bool fission_for_stream(CoreProgram *p, uint32_t count, double least, FissionLog *log) {
    uint32_t weights[FISSION_MOST_PARTS];
    for (uint32_t i = 0; i < count; i++) weights[i] = 1;
    FissionDevices same = {.weights = weights, .count = count};
    log->is_stream = true;
    bool is_split = fission_for_devices(p, &same, least, log);
    fission_cut_stream(log, 1, count, false);
    return is_split;
}
