// SPDX-License-Identifier: Apache-2.0
//
// Cutting what is to be cut (cut.h): whether it is worth it, by which rule, and the
// operators in parts.
//
// Which operators are worth it `select.c` says; what they save, and how long it takes
// what travels, is told here. Sizes are not known: both are counted by element.
#include "fission/cut.h"

#include <string.h>

// ---- what it is worth ---------------------------------------------------------------

const CoreStm *cut_find_virtual(const Strategy *y, CoreRef array) {
    const CoreStm *def = rewrite_def(y->facts, array);
    if (def == NULL) return NULL;
    bool is_float = scalar_is_float((ScalarType)core_type(y->program, array).elem);
    if (def->op == OP_IOTA && !is_float) return def;
    bool is_scalar = core_type(y->program, array).rank == 1;
    return def->op == OP_REPLICATE && is_scalar ? def : NULL;
}

static double bytes_of(const Strategy *y, CoreRef array) {
    return fission_bytes(fission_row(core_type(y->program, array)));
}

// Bytes that travel for each element: of arrays that are not in parts, and of results
// that someone needs whole.
static double traffic_of(const Strategy *y, const FissionSplit *s) {
    CoreFeeds feeds = core_feeds(s->stm);
    uint64_t stays;
    double bytes = 0;
    if (y->devices->is_shared) return 0;
    for (uint32_t i = feeds.first; i < feeds.first + feeds.count; i++) {
        CoreRef array = s->stm->args[i];
        if (cut_find_virtual(y, array) == NULL && fission_known(s, array) == NULL)
            bytes += bytes_of(y, array);
    }
    for (uint32_t k = 0; k < s->stm->out_count && !y->in_turns; k++) {
        CoreRef out = s->stm->outs[k];
        if (core_type(y->program, out).rank > 0 && !map_get(&y->stays, out, &stays))
            bytes += bytes_of(y, out);
    }
    return bytes;
}

static double find_work(const Strategy *y, const CoreStm *stm) {
    double work = 0;
    if (!is_control(stm)) return fission_work(y->program, stm);
    const CoreBody *body = stm->bodies[0];
    for (uint32_t i = 0; i < body->stms.len; i++)
        work += fission_work(y->program, body->stms.data[i]);
    return work * fission_turns(y->program, stm);
}

double cut_work(const Strategy *y, const CoreStm *stm) {
    uint64_t bits;
    double work;
    if (!map_get(y->works, stm->outs[0], &bits)) {
        work = find_work(y, stm);
        memcpy(&bits, &work, sizeof bits);
        map_set(y->works, stm->outs[0], bits);
    }
    memcpy(&work, &bits, sizeof work);
    return work;
}

// Nanoseconds.
static const double operation_takes = 0.5, byte_takes = 0.25;

double cut_saves(const Strategy *y, const FissionSplit *s) {
    // Each part looks at all values.
    if (s->rule != NULL && s->rule->part == part_places) return 0;
    return cut_work(y, s->stm) * operation_takes;
}

double cut_travel_time(const Strategy *y, CoreRef array) {
    return y->devices->is_shared ? 0 : bytes_of(y, array) * byte_takes;
}

bool cut_takes_all(const Strategy *y) {
    return y->least <= 0 || y->log->is_stream;
}

bool cut_is_chosen(const Strategy *y, const CoreStm *stm) {
    uint64_t known;
    return cut_takes_all(y) || y->selects || y->in_turns ||
           (stm->out_count > 0 && map_get(&y->chosen, stm->outs[0], &known));
}

static bool is_worth_it(const Strategy *y, const FissionSplit *s) {
    return cut_takes_all(y) || (cut_saves(y, s) > 0 && cut_is_chosen(y, s->stm));
}

bool cut_may_be_bits(const Strategy *y, const CoreStm *stm) {
    CoreType type = core_type(y->program, stm->outs[0]);
    return y->devices->block_steps && y->least > 0 && scalar_info[type.elem].bytes == 1;
}

// ---- splitting ----------------------------------------------------------------------

// The rules whose parts may run side by side. One after the other they may go on from
// each other; but looking at all values in each part, or merging sorted parts, which
// takes them all at once, saves no memory.
static bool is_candidate(const Strategy *y, const FissionSplit *s,
                         const FissionRule *rule) {
    if (rule->part == part_near)
        return !y->devices->is_shared && !cut_may_be_bits(y, s->stm);
    if (rule->whole == whole_deep) return carry_in_steps(y, s->stm);
    if (y->log->is_stream && rule->whole == whole_chain) return true;
    if (y->log->is_stream && (rule->whole == whole_sort || rule->part == part_places))
        return false;
    return rule->part == part_map || rule->part == part_generate ||
           rule->part == part_stencil || rule->part == part_places ||
           rule->whole == whole_scan || rule->whole == whole_fold_blocks ||
           rule->whole == whole_hist_apart || rule->whole == whole_sort;
}

const CoreRefs *cut_near(const Strategy *y, const FissionSplit *s) {
    uint64_t known;
    CoreRef out = s->stm->outs[0];
    if (map_get(y->nears, out, &known)) return (const CoreRefs *)(uintptr_t)known;
    CoreRefs *near = arena_new(core_notes(y->program), CoreRefs);
    *near = fission_near(s);
    map_set(y->nears, out, (uint64_t)(uintptr_t)near);
    return near;
}

static bool applies_to(const Strategy *y, const FissionSplit *s) {
    return s->rule->part == part_near ? cut_near(y, s)->len > 0 : s->rule->guard(s);
}

// Sets the rule to cut by, if it is to be.
static FissionVerdict judge(const Strategy *y, FissionSplit *s) {
    FissionVerdict verdict = FISSION_HAS_NO_RULE;
    for (uint32_t i = 0; i < fission_rule_count; i++) {
        const FissionRule *rule = &fission_rules[i];
        if (rule->op != s->stm->op || !is_candidate(y, s, rule)) continue;
        s->rule = rule;
        bool applies = applies_to(y, s);
        if (applies && is_worth_it(y, s)) return FISSION_IS_CUT;
        if (applies)
            verdict = traffic_of(y, s) > 0 && cut_work(y, s->stm) > 0
                          ? FISSION_TRAVELS
                          : FISSION_SAVES_NOTHING;
        else if (verdict == FISSION_HAS_NO_RULE)
            verdict =
                s->stm->stamp > STAMP_FREE ? FISSION_KEEPS_ORDER : FISSION_MAY_CHANGE;
    }
    return verdict;
}

const FissionRule *cut_find_rule(const Strategy *y, FissionSplit *s) {
    return judge(y, s) == FISSION_IS_CUT ? s->rule : NULL;
}

bool cut_is_operator(const CoreStm *stm) {
    return core_op_info[stm->op].kind == KIND_ORDER2 || stm->op == OP_SORT;
}

bool cut_is_judged(const CoreStm *stm) {
    return cut_is_operator(stm) || stm->op == OP_FOR;
}

// Notes what was decided about the operator, unless it is none.
static void note(const Strategy *y, const FissionSplit *s, FissionVerdict verdict) {
    bool is_loop = s->stm->op == OP_FOR && verdict == FISSION_IS_CUT;
    if (!cut_is_operator(s->stm) && !is_loop) return;
    FissionDecision decision = {.stm = s->stm,
                                .entry = y->entry,
                                .verdict = verdict,
                                .work = cut_work(y, s->stm),
                                .bytes = traffic_of(y, s)};
    if (verdict == FISSION_IS_CUT) {
        decision.rule = s->rule->name;
        decision.op = y->log->rows.data[y->row].operators;
    }
    vec_push(y->program->arena, y->log, decision);
}

void cut_note_whole(const Strategy *y, const CoreBody *body, uint32_t i) {
    if (!cut_is_judged(body->stms.data[i])) return;
    FissionSplit s = cut_of(y, body, i);
    note(y, &s, judge(y, &s));
}

// The parts of an array that takes no memory, made as such. Their lengths are right, so
// those that nobody needs can go.
static CoreRef *make_parts(const FissionSplit *s, const CoreStm *def) {
    FissionSplit of = *s;
    CoreStm safe = *def;
    CoreRef *parts = arena_array(core_notes(s->program), CoreRef, s->parts);
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
        const CoreStm *def = cut_find_virtual(y, s->stm->args[i]);
        if (known != NULL) s->pieces[i] = known->parts;
        else if (def != NULL) s->pieces[i] = make_parts(s, def);
    }
}

bool cut_has_parts(const FissionSplit *s) {
    return s->rule->whole == whole_scan || s->rule->whole == whole_deep ||
           (s->stm->op != OP_FILTER && s->rule->join == JOIN_CONCAT);
}

static void keep_parts(Strategy *y, const FissionSplit *s, const CoreRef *results) {
    Arena *arena = core_notes(s->program);
    for (uint32_t k = 0; k < s->stm->out_count; k++) {
        FissionKnown *known = arena_new(arena, FissionKnown);
        known->size = s->size;
        bool is_plain = s->stm->op == OP_GENERATE &&
                        core_type(s->program, s->stm->outs[k]).rank == s->stm->attrs[0];
        known->rows = is_plain ? s->stm->args + 1 : NULL; // else rows in rows
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
    CoreLoc *own = arena_array(core_notes(s->program), CoreLoc, y->parts);
    CoreLoc *beside = arena_array(core_notes(s->program), CoreLoc, y->parts);
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
    s->results = arena_array(core_notes(s->program), CoreRef, s->parts * outs);
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
    CoreType *types = arena_array(core_notes(p), CoreType, stm->out_count);
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
    s->pieces = arena_array(core_notes(p), CoreRef *, s->stm->arg_count);
    make_places(y, s);
    s->size = s->rule->size(s);
    FissionCut cut = {.parts = y->parts, .at = -1, .shares = y->shares};
    s->parts = y->parts;
    s->devices = y->devices->count;
    s->is_eager = y->least <= 1 || y->log->is_stream;
    if (y->at_blocks) cut.unit = fission_unit(s);
    fission_cut(s, cut);
    s->says_lengths = cut_has_parts(s) && core_type(p, s->size).elem == SCALAR_I64;
    CoreRef holds = fission_condition(s);
    if (holds != 0) {
        emit_choice(y, s, holds);
        return;
    }
    take_parts(y, s);
    if (s->rule->join == JOIN_OWN) s->rule->whole(s);
    else emit_parts(s);
    if (cut_has_parts(s)) keep_parts(y, s, s->results);
}

// ---- bodies -------------------------------------------------------------------------

FissionSplit cut_of(const Strategy *y, const CoreBody *body, uint32_t i) {
    return (FissionSplit){.program = y->program,
                          .body = body,
                          .stm = body->stms.data[i],
                          .known = &y->known,
                          .defs = y->facts,
                          .facts = y->facts,
                          .states = y->states,
                          .shared = y->shared};
}

static void append(Strategy *y, FissionSplit *s) {
    CoreStm *stm = (CoreStm *)s->stm;
    const FissionKnown *known =
        stm->op == OP_DIM ? fission_known(s, stm->args[0]) : NULL;
    s->b = &y->builder;
    if (known != NULL) {
        fission_known_dim(s, known, known->parts[0], stm);
    } else if (cut_is_operator(stm)) { // the other version has its body
        s->b->loc = stm->loc;
        fission_finish(s, fission_again(s, stm->args));
    } else {
        core_append(s->b, stm);
    }
}

void cut_all(Strategy *y, const CoreBody *body) {
    uint32_t first = y->log->len;
    FissionShared shared = {.depth = y->builder.open.len}, *outer = y->shared;
    cse_init(&shared.cse, y->program, body->stms.len);
    cse_open(&shared.cse);
    // Parts of a stream are not kept for others.
    y->shared = y->log->is_stream ? NULL : &shared;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        FissionSplit s = cut_of(y, body, i);
        if (!cut_is_judged(s.stm)) {
            append(y, &s);
            continue;
        }
        if (carry_can(y, s.stm)) {
            carry(y, s.stm);
            continue;
        }
        FissionVerdict verdict = judge(y, &s);
        note(y, &s, verdict);
        if (verdict == FISSION_IS_CUT) split(y, &s);
        else append(y, &s);
    }
    for (uint32_t i = first; i < y->log->len; i++) {
        y->log->data[i].first = first;
        y->log->data[i].row = y->row;
    }
    y->shared = outer;
}
