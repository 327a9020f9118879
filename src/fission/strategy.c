// SPDX-License-Identifier: Apache-2.0
//
// The strategy (strategy.h), one pass from what makes arrays to what takes them.
//
// Within a run of statements all is cut by one row of shares, so that where something
// is cut depends on its length alone. So arrays of one length have parts of one length
// each, and an operator on arrays that were made in parts takes those, with nothing in
// between; it remains to be seen that the lengths are equal.
//
// Splitting is worth it if the time that the other devices save is more than what the
// parts take to travel. Sizes are not known here: both are counted by element.
#include "fission/strategy.h"

#include "fission/rules.h"
#include "opt/rewrite.h"

typedef struct Strategy {
    CoreProgram *program;
    CoreBuilder builder;
    Map known;            // array -> FissionKnown
    Map planned;          // array -> 1: it will be made in parts, in the next run
    Map defs;             // value -> the CoreStm that binds it
    const uint32_t *uses; // by CoreRef, before anything was split
    const FissionDevices *devices;
    double least; // operations from which on splitting pays
    FissionLog *log;
    const CoreFun *entry;               // that is being split
    uint32_t row, parts;                // of shares, of the run that is being split
    CoreRef shares[FISSION_MOST_PARTS]; // its bounds
    bool at_blocks;  // they are rounded to blocks, of what has enough of them
    bool cuts_loops; // the entry's, inside
    bool changed;
} Strategy;

// ---- what it is worth ---------------------------------------------------------------

// What binds an array that takes no memory where it is used; NULL: it takes some.
static const CoreStm *find_virtual(const Strategy *y, CoreRef array) {
    uint64_t known;
    if (!map_get(&y->defs, array, &known)) return NULL;
    const CoreStm *def = (const CoreStm *)(uintptr_t)known;
    bool is_float = scalar_is_float((ScalarType)core_type(y->program, array).elem);
    if (def->op == OP_IOTA && !is_float) return def;
    bool is_scalar = core_type(y->program, array).rank == 1;
    return def->op == OP_REPLICATE && is_scalar ? def : NULL;
}

static bool is_in_parts(const Strategy *y, const FissionSplit *s, CoreRef array) {
    uint64_t known;
    return fission_known(s, array) != NULL || map_get(&y->planned, array, &known);
}

// Bytes that travel for each element: of arrays that are not in parts, and of results.
static double traffic_of(const Strategy *y, const FissionSplit *s) {
    const CoreProgram *p = y->program;
    CoreFeeds feeds = core_feeds(s->stm);
    double bytes = 0;
    if (y->devices->is_shared) return 0;
    for (uint32_t i = feeds.first; i < feeds.first + feeds.count; i++) {
        CoreRef array = s->stm->args[i];
        if (find_virtual(y, array) == NULL && !is_in_parts(y, s, array))
            bytes += fission_bytes(fission_row(core_type(p, array)));
    }
    for (uint32_t k = 0; k < s->stm->out_count; k++) {
        CoreType type = core_type(p, s->stm->outs[k]);
        if (type.rank > 0) bytes += fission_bytes(fission_row(type));
    }
    return bytes;
}

static bool is_worth_it(const Strategy *y, const FissionSplit *s) {
    static const double operation = 0.5, byte = 0.25; // nanoseconds
    double work = fission_work(y->program, s->stm);
    if (s->rule->part == part_places) work = 0; // each part looks at all values
    return y->least <= 0 || work * operation > traffic_of(y, s) * byte;
}

// ---- splitting ----------------------------------------------------------------------

// The rules whose parts may run side by side. One after the other they may go on from
// each other; but looking at all values in each part, or merging sorted parts, which
// takes them all at once, saves no memory.
static bool is_candidate(const Strategy *y, const FissionRule *rule) {
    if (y->log->is_stream && rule->whole == whole_chain) return true;
    if (y->log->is_stream && (rule->whole == whole_sort || rule->part == part_places))
        return false;
    return rule->part == part_map || rule->part == part_generate ||
           rule->part == part_stencil || rule->part == part_places ||
           rule->whole == whole_scan || rule->whole == whole_fold_blocks ||
           rule->whole == whole_hist_apart || rule->whole == whole_sort;
}

// Sets the rule to cut by, if it is to be.
static FissionVerdict judge(const Strategy *y, FissionSplit *s) {
    FissionVerdict verdict = FISSION_HAS_NO_RULE;
    for (uint32_t i = 0; i < fission_rule_count; i++) {
        const FissionRule *rule = &fission_rules[i];
        if (rule->op != s->stm->op || !is_candidate(y, rule)) continue;
        s->rule = rule;
        bool applies = rule->guard(s);
        if (applies && is_worth_it(y, s)) return FISSION_IS_CUT;
        if (applies) verdict = FISSION_TRAVELS;
        else if (verdict == FISSION_HAS_NO_RULE)
            verdict =
                s->stm->stamp > STAMP_FREE ? FISSION_KEEPS_ORDER : FISSION_MAY_CHANGE;
    }
    return verdict;
}

static const FissionRule *find_rule(const Strategy *y, FissionSplit *s) {
    return judge(y, s) == FISSION_IS_CUT ? s->rule : NULL;
}

// Notes what was decided about the operator, unless it is none.
static void note(const Strategy *y, const FissionSplit *s, FissionVerdict verdict) {
    CoreOp op = s->stm->op;
    if (core_op_info[op].kind != KIND_ORDER2 && op != OP_SORT) return;
    FissionDecision decision = {.stm = s->stm,
                                .verdict = verdict,
                                .work = fission_work(y->program, s->stm),
                                .bytes = traffic_of(y, s)};
    if (verdict == FISSION_IS_CUT) {
        decision.rule = s->rule->name;
        decision.op = y->log->rows.data[y->row].operators;
    }
    vec_push(y->program->arena, y->log, decision);
}

// The parts of an array that takes no memory, made as such. Their lengths are right, so
// those that nobody needs can go.
static CoreRef *make_parts(const FissionSplit *s, const CoreStm *def) {
    FissionSplit of = *s;
    CoreStm safe = *def;
    CoreRef *parts = arena_array(s->program->arena, CoreRef, s->parts);
    safe.flags |= STM_UNSAFE;
    of.stm = &safe;
    for (uint32_t p = 0; p < s->parts; p++)
        if (def->op == OP_IOTA) part_iota(&of, p, &parts[p]);
        else part_replicate(&of, p, &parts[p]);
    return parts;
}

// The parts of what the operator takes, where they are there already, or easily made.
static void take_parts(const Strategy *y, FissionSplit *s) {
    CoreFeeds feeds = core_feeds(s->stm);
    for (uint32_t i = feeds.first; i < feeds.first + feeds.count; i++) {
        const FissionKnown *known = fission_known(s, s->stm->args[i]);
        const CoreStm *def = find_virtual(y, s->stm->args[i]);
        if (known != NULL) s->pieces[i] = known->parts;
        else if (def != NULL) s->pieces[i] = make_parts(s, def);
    }
}

// Whether others can take the results part by part: what a filter keeps is of other
// lengths.
static bool has_parts(const FissionSplit *s) {
    return s->rule->whole == whole_scan ||
           (s->stm->op != OP_FILTER && s->rule->join == JOIN_CONCAT);
}

static void keep_parts(Strategy *y, const FissionSplit *s, const CoreRef *results) {
    Arena *arena = s->program->arena;
    for (uint32_t k = 0; k < s->stm->out_count; k++) {
        FissionKnown *known = arena_new(arena, FissionKnown);
        known->size = s->size;
        known->parts = arena_array(arena, CoreRef, s->parts);
        for (uint32_t p = 0; p < s->parts; p++)
            known->parts[p] = results[p * s->stm->out_count + k];
        map_set(&y->known, s->stm->outs[k], (uint64_t)(uintptr_t)known);
    }
}

// Each part has places of its own, by which it is known when it runs.
static void make_places(const Strategy *y, FissionSplit *s) {
    CoreLoc loc = s->stm->loc;
    if (loc == 0) return;
    CoreLoc *own = arena_array(s->program->arena, CoreLoc, y->parts);
    CoreLoc *beside = arena_array(s->program->arena, CoreLoc, y->parts);
    FissionRow *row = &y->log->rows.data[y->row];
    uint32_t op = row->operators++, chunks = row->chunks;
    for (uint32_t part = 0; part < y->parts; part++) {
        FissionPiece piece = {.whole = loc,
                              .row = y->row,
                              .op = op,
                              .part = part,
                              .device = part / chunks,
                              .is_chunk = chunks > 1,
                              .is_timed = true};
        own[part] = fission_new_piece(y->log, y->program, piece);
        piece.is_timed = false;
        beside[part] = fission_new_piece(y->log, y->program, piece);
    }
    s->own = own;
    s->beside = beside;
}

static void emit_parts(FissionSplit *s) {
    uint32_t outs = s->stm->out_count;
    s->results = arena_array(s->program->arena, CoreRef, s->parts * outs);
    for (uint32_t part = 0; part < s->parts; part++) {
        fission_at(s, s->own, part);
        s->rule->part(s, part, s->results + part * outs);
    }
    fission_at(s, NULL, 0);
    if (s->rule->join == JOIN_CONCAT) fission_concat(s, 0, s->results);
    else fission_fold(s, fission_inner_op(s), s->results);
}

// In parts by a rule that does everything, if that holds, else whole.
static void emit_choice(const Strategy *y, FissionSplit *s, CoreRef holds) {
    CoreProgram *p = y->program;
    CoreStm *stm = (CoreStm *)s->stm, *inner = arena_copy(p->arena, stm, sizeof *stm);
    CoreType *types = arena_array(p->arena, CoreType, stm->out_count);
    inner->outs = arena_array(p->arena, CoreRef, stm->out_count);
    for (uint32_t k = 0; k < stm->out_count; k++) {
        types[k] = core_type(p, stm->outs[k]);
        inner->outs[k] = core_value(p, types[k], 0);
    }
    core_open(s->b, NULL, 0);
    s->stm = inner;
    take_parts(y, s);
    s->rule->whole(s);
    CoreBody *parts = core_close(s->b, inner->outs, inner->out_count);
    CoreBody *whole = fission_uncut(s);
    s->stm = stm;
    CoreStm *choice = core_emit(s->b, OP_IF, &holds, 1, types, stm->out_count);
    core_set_bodies(s->b, choice, (CoreBody *[]){parts, whole}, 2);
    choice->outs = stm->outs;
}

static void split(Strategy *y, FissionSplit *s) {
    CoreProgram *p = y->program;
    s->b = &y->builder;
    s->b->loc = s->stm->loc;
    s->pieces = arena_array(p->arena, CoreRef *, s->stm->arg_count);
    make_places(y, s);
    s->size = s->rule->size(s);
    FissionCut cut = {.parts = y->parts, .at = -1, .shares = y->shares};
    s->parts = y->parts;
    s->devices = y->devices->count;
    if (y->at_blocks) cut.unit = fission_unit(s);
    fission_cut(s, cut);
    s->says_lengths = has_parts(s) && core_type(p, s->size).elem == SCALAR_I64;
    CoreRef holds = fission_condition(s);
    if (holds != 0) {
        emit_choice(y, s, holds);
        return;
    }
    take_parts(y, s);
    if (s->rule->join == JOIN_OWN) s->rule->whole(s);
    else emit_parts(s);
    if (has_parts(s)) keep_parts(y, s, s->results);
}

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

// The operators worth it that no loop or branch is between, of which some are in runs.
typedef struct Row {
    FissionOperator *data;
    uint32_t len, cap;
    uint32_t next; // the first one that is in none
} Row;

static bool is_control(const CoreStm *stm) {
    return stm->op == OP_IF || stm->op == OP_FOR || stm->op == OP_WHILE;
}

static FissionSplit split_of(const Strategy *y, const CoreBody *body, uint32_t i) {
    return (FissionSplit){.program = y->program,
                          .body = body,
                          .stm = body->stms.data[i],
                          .known = &y->known,
                          .defs = &y->defs};
}

// Whose results are parts that this operator takes, it is the last to take them.
static void note_taker(const Strategy *y, Row *row, const CoreStm *stm) {
    CoreFeeds feeds = core_feeds(stm);
    for (uint32_t i = feeds.first; i < feeds.first + feeds.count; i++) {
        uint64_t maker;
        if (map_get(&y->planned, stm->args[i], &maker))
            row->data[maker].last = row->len;
    }
}

// The next operators from statement `from` on.
static void find_row(Strategy *y, const CoreBody *body, uint32_t from, Row *row) {
    *row = (Row){.len = 0};
    map_init(&y->planned, y->program->arena);
    for (uint32_t i = from; i < body->stms.len; i++) {
        FissionSplit s = split_of(y, body, i);
        if (is_control(s.stm) && row->len > 0) break;
        if (is_control(s.stm) || find_rule(y, &s) == NULL) continue;
        note_taker(y, row, s.stm);
        for (uint32_t k = 0; k < s.stm->out_count && has_parts(&s); k++)
            map_set(&y->planned, s.stm->outs[k], row->len);
        FissionOperator op = {i, row->len, fission_work(y->program, s.stm)};
        vec_push(y->program->arena, row, op);
    }
}

static void add_operator(const Strategy *y, const CoreBody *body, FissionOperator op,
                         Part *part) {
    FissionSplit s = split_of(y, body, op.stm);
    find_rule(y, &s);
    part->work += op.work;
    part->uneven += fission_uneven(y->program, s.stm);
    part->at_blocks |= s.rule->whole == whole_fold_blocks;
    part->needs_few |= s.rule->part == part_places || s.rule->whole == whole_sort ||
                       s.rule->whole == whole_hist_apart;
}

// Of constants the work knows.
static void note_rows(const Strategy *y, const CoreStm *stm, CoreRefs *rows) {
    if (stm->op != OP_MAP && stm->op != OP_GENERATE) return;
    uint32_t from = stm->op == OP_GENERATE ? 1 : (uint32_t)stm->attrs[0];
    uint32_t end = from + core_type(y->program, stm->outs[0]).rank - 1u;
    for (uint32_t i = from; i < end; i++)
        if (!core_is_const(y->program, stm->args[i]))
            vec_push(y->program->arena, rows, stm->args[i]);
}

// The next run from statement `from` on; an empty one at the end of the body. For one
// device after the other all of a row is one: what it takes at once is what counts.
static Part find_part(Strategy *y, const CoreBody *body, uint32_t from, Row *row) {
    if (row->next == row->len) find_row(y, body, from, row);
    uint32_t first = row->next, count = row->len;
    if (first == count) return (Part){.first = body->stms.len, .end = body->stms.len};
    uint32_t end = y->log->is_stream ? count : fission_run(row->data, first, count);
    row->next = end;
    Part part = {.first = row->data[first].stm, .end = row->data[end - 1].stm + 1};
    for (uint32_t i = first; i < end; i++) add_operator(y, body, row->data[i], &part);
    note_rows(y, body->stms.data[part.first], &part.rows);
    return part;
}

static void note_def(void *data, const CoreStm *stm) {
    Strategy *y = data;
    for (uint32_t i = 0; i < stm->out_count; i++)
        map_set(&y->defs, stm->outs[i], (uint64_t)(uintptr_t)stm);
}

static void count_uses(const CoreBody *body, uint32_t *uses) {
    for (uint32_t i = 0; i < body->result_count; i++) uses[body->results[i]]++;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->arg_count; k++) uses[stm->args[k]]++;
        for (uint32_t k = 0; k < stm->body_count; k++) count_uses(stm->bodies[k], uses);
    }
}

// The run as a body, whose results are what others use.
static CoreBody *body_of(const Strategy *y, const CoreBody *body, Part part) {
    CoreProgram *p = y->program;
    CoreBody *run = arena_new(p->arena, CoreBody);
    uint32_t *uses = arena_array(p->arena, uint32_t, p->values.len);
    CoreRefs results = {0};
    for (uint32_t i = part.first; i < part.end; i++)
        vec_push(p->arena, &run->stms, body->stms.data[i]);
    count_uses(run, uses);
    for (uint32_t i = part.first; i < part.end; i++) {
        const CoreStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->out_count; k++)
            if (y->uses[stm->outs[k]] > uses[stm->outs[k]])
                vec_push(p->arena, &results, stm->outs[k]);
    }
    run->results = results.data;
    run->result_count = results.len;
    return run;
}

static CoreBody *copy_of(Strategy *y, const CoreBody *run) {
    Map map;
    map_init(&map, y->program->arena);
    CoreBody *copy = core_clone(y->program, run, &map, 0);
    core_walk(copy, note_def, y);
    return copy;
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

static CoreBody *in_parts(Strategy *y, const CoreBody *run) {
    uint32_t first = y->log->len;
    core_open(&y->builder, NULL, 0);
    read_bounds(y);
    for (uint32_t i = 0; i < run->stms.len; i++) {
        FissionSplit s = split_of(y, run, i);
        FissionVerdict verdict = judge(y, &s);
        note(y, &s, verdict);
        if (verdict == FISSION_IS_CUT) split(y, &s);
        else core_append(&y->builder, run->stms.data[i]);
    }
    for (uint32_t i = first; i < y->log->len; i++) {
        y->log->data[i].first = first;
        y->log->data[i].row = y->row;
    }
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
    CoreType *types = arena_array(y->program->arena, CoreType, count);
    for (uint32_t i = 0; i < count; i++) types[i] = core_type(y->program, outs[i]);
    CoreStm *stm = core_emit(&y->builder, OP_IF, &holds, 1, types, count);
    core_set_bodies(&y->builder, stm, (CoreBody *[]){parts, whole}, 2);
    stm->outs = outs;
    y->changed = true;
}

// Whether there is enough to do, by how many elements the first operator makes.
static CoreRef is_enough(Strategy *y, const CoreBody *body, Part part) {
    FissionSplit s = split_of(y, body, part.first);
    find_rule(y, &s);
    s.b = &y->builder;
    s.b->loc = s.stm->loc;
    CoreRef size = s.rule->size(&s);
    for (uint32_t i = 0; i < part.rows.len && y->least > 0; i++)
        size = core_op2(s.b, OP_MUL, size, part.rows.data[i]);
    return is_on(y, &y->log->rows.data[y->row].at, fission_conv(&s, size, SCALAR_I64));
}

static void emit_both(Strategy *y, const CoreBody *body, Part part) {
    CoreBody *run = body_of(y, body, part);
    add_row(y, part);
    CoreRef enough = is_enough(y, body, part);
    y->at_blocks = part.at_blocks;
    CoreBody *parts = in_parts(y, copy_of(y, run)), *whole = copy_of(y, run);
    emit_either(y, enough, parts, whole, run->results);
}

// ---- bodies -------------------------------------------------------------------------

static CoreBody *visit(Strategy *y, const CoreBody *body);

static CoreStm *visit_bodies(Strategy *y, const CoreStm *stm) {
    Arena *arena = y->program->arena;
    CoreStm *copy = arena_copy(arena, stm, sizeof *stm);
    copy->bodies = arena_array(arena, CoreBody *, stm->body_count);
    uint32_t rows = y->log->rows.len;
    for (uint32_t i = 0; i < stm->body_count; i++)
        copy->bodies[i] = visit(y, stm->bodies[i]);
    y->cuts_loops = y->cuts_loops || (stm->op != OP_IF && y->log->rows.len > rows);
    return copy;
}

static CoreBody *visit(Strategy *y, const CoreBody *body) {
    core_open(&y->builder, body->params, body->param_count);
    Row row = {.len = 0};
    Part part = find_part(y, body, 0, &row);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        if (i == part.first) {
            emit_both(y, body, part);
            i = part.end - 1;
            part = find_part(y, body, part.end, &row);
        } else {
            FissionSplit s = split_of(y, body, i);
            note(y, &s, judge(y, &s));
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
    emit_either(y, holds, without_params(y, parts), copy_of(y, without_params(y, body)),
                outs);
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

// ---- wholes that nobody needs -------------------------------------------------------

// Parts fit each other, so joining them cannot fail, and is no effect.
static void prune(const Strategy *y, CoreBody *body, const uint32_t *uses) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        CoreStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count && is_control(stm); k++)
            prune(y, stm->bodies[k], uses);
        uint64_t known;
        bool is_idle = stm->op == OP_CONCAT && uses[stm->outs[0]] == 0 &&
                       map_get(&y->known, stm->outs[0], &known);
        if (!is_idle) body->stms.data[kept++] = stm;
    }
    body->stms.len = kept;
}

bool fission_for_devices(CoreProgram *p, const FissionDevices *devices, double least,
                         FissionLog *log) {
    Strategy y = {.program = p,
                  .builder = core_builder(p),
                  .uses = opt_count_uses(p),
                  .least = least,
                  .devices = devices,
                  .log = log};
    map_init(&y.known, p->arena);
    map_init(&y.defs, p->arena);
    for (uint32_t i = 0; i < p->funs.len; i++)
        core_walk(p->funs.data[i]->body, note_def, &y);
    for (uint32_t i = 0; i < p->funs.len; i++) {
        y.entry = p->funs.data[i];
        if (y.entry->is_entry) p->funs.data[i]->body = visit_entry(&y);
    }
    if (!y.changed) return false;
    const uint32_t *uses = opt_count_uses(p);
    for (uint32_t i = 0; i < p->funs.len; i++)
        if (p->funs.data[i]->is_entry) prune(&y, p->funs.data[i]->body, uses);
    opt_drop_dead(p, true);
    p->is_divided = true;
    return true;
}

bool fission_for_stream(CoreProgram *p, uint32_t count, FissionLog *log) {
    uint32_t weights[FISSION_MOST_PARTS];
    for (uint32_t i = 0; i < count; i++) weights[i] = 1;
    FissionDevices same = {.weights = weights, .count = count};
    log->is_stream = true;
    bool is_split = fission_for_devices(p, &same, 0, log);
    fission_cut_stream(log, 1, count);
    return is_split;
}
