// SPDX-License-Identifier: Apache-2.0
//
// What clusters leave over. Walking over the program we know, at each place, which
// signals are certainly resolved: those that the task has waited for or resolved so
// far, and what the one who resolved these knew. So a wait that says nothing new goes,
// and likewise a value that a task reads from a reference to which it has just written
// it. Then go signals that nobody waits for, references that nobody reads, and empty
// tasks.
//
// A wait is only dropped for another one that comes later in time, so that what is left
// still has everything in order; check.c proves it again.
#include <string.h>

#include "task/make.h"

typedef struct Tidy {
    TaskProgram *p;
    Arena *arena;
    uint32_t *number; // by name: of the signal, among those that are waited for, from
                      // 1; 0: nobody does, so nobody asks whether it is resolved
    uint32_t words;
    uint64_t *implied; // by number, a row of bits: resolved before that signal is
    struct {
        uint64_t **data;
        uint32_t len, cap;
    } known;        // by depth of the blocks that are walked: what they know
    uint8_t *ends;  // by name: how many terms resolve the signal, 2 for more
    TaskName *same; // by name: the value that it is; 0: itself
    TaskName *held; // by reference: what the task has written to it; 0: nothing
    bool *is_used;  // by name: it is waited for or read, or seen from outside
    bool is_last;   // of the walks: waits go now
} Tidy;

// ---- what is known ------------------------------------------------------------------

static uint64_t *implied_by(const Tidy *t, TaskName signal) {
    return &t->implied[(size_t)t->number[signal] * t->words];
}

static bool has(const Tidy *t, const uint64_t *row, TaskName signal) {
    uint32_t bit = t->number[signal];
    return (row[bit / 64] >> bit % 64 & 1) != 0;
}

static void add(const Tidy *t, uint64_t *known, TaskName signal) {
    if (t->number[signal] == 0) return;
    const uint64_t *implied = implied_by(t, signal);
    for (uint32_t w = 0; w < t->words && t->ends[signal] == 1; w++)
        known[w] |= implied[w];
    uint32_t bit = t->number[signal];
    known[bit / 64] |= (uint64_t)1 << bit % 64;
}

static bool is_implied(const Tidy *t, const TaskNames *waits, uint32_t at,
                       const uint64_t *known) {
    if (has(t, known, waits->data[at])) return true;
    for (uint32_t i = 0; i < waits->len; i++)
        if (i != at && t->ends[waits->data[i]] == 1 &&
            has(t, implied_by(t, waits->data[i]), waits->data[at]))
            return true;
    return false;
}

static void visit_wait(Tidy *t, TaskTerm *term, uint64_t *known) {
    TaskNames all = term->args, kept = {0};
    if (t->is_last) vec_reserve(t->p->arena, &kept, all.len);
    for (uint32_t i = 0; i < all.len && t->is_last; i++)
        if (!is_implied(t, &all, i, known)) vec_push(t->p->arena, &kept, all.data[i]);
    for (uint32_t i = 0; i < all.len; i++) add(t, known, all.data[i]);
    if (t->is_last) term->args = kept;
}

static void visit_resolve(Tidy *t, const TaskTerm *term, uint64_t *known) {
    for (uint32_t i = 0; i < term->args.len; i++)
        if (t->number[term->args.data[i]] != 0)
            memcpy(implied_by(t, term->args.data[i]), known, t->words * sizeof *known);
    for (uint32_t i = 0; i < term->args.len; i++) add(t, known, term->args.data[i]);
}

static TaskName known_as(const Tidy *t, TaskName name) {
    while (t->same[name] != 0) name = t->same[name];
    return name;
}

// A constant stays what is read: a loop's guard is known by its name (check_events.c).
static void visit_read(Tidy *t, const TaskTerm *term) {
    TaskName value = t->held[term->args.data[0]];
    if (!t->p->names.data[value].is_const) t->same[term->outs.data[0]] = value;
}

static void walk(Tidy *t, TaskBlock *block, const uint64_t *before, uint32_t depth) {
    if (depth == t->known.len)
        vec_push(t->arena, &t->known, arena_array(t->arena, uint64_t, t->words));
    uint64_t *known = t->known.data[depth];
    memcpy(known, before, t->words * sizeof *known);
    for (uint32_t i = 0; i < block->len; i++) {
        TaskTerm *term = &block->data[i];
        for (uint32_t k = 0; k < term->args.len; k++)
            term->args.data[k] = known_as(t, term->args.data[k]);
        for (uint32_t k = 0; k < term->outs.len && term->kind == TASK_KERNEL; k++)
            term->outs.data[k] = known_as(t, term->outs.data[k]);
        if (term->kind == TASK_WAIT) visit_wait(t, term, known);
        if (term->kind == TASK_RESOLVE) visit_resolve(t, term, known);
        if (term->kind == TASK_WRITE) t->held[term->args.data[0]] = term->args.data[1];
        if (term->kind == TASK_READ) visit_read(t, term);
        for (int k = 0; k < 2; k++)
            if (term->parts[k] != NULL) walk(t, term->parts[k], known, depth + 1);
        if (term->turn != NULL) walk(t, term->turn->block, known, depth + 1);
    }
    for (uint32_t i = 0; i < block->len; i++)
        if (block->data[i].kind == TASK_WRITE) t->held[block->data[i].args.data[0]] = 0;
}

// ---- what is needed -----------------------------------------------------------------

static void note_signals(Tidy *t, const TaskBlock *block) {
    for (uint32_t i = 0; i < block->len; i++) {
        const TaskTerm *term = &block->data[i];
        for (uint32_t k = 0; k < term->args.len && term->kind == TASK_WAIT; k++)
            t->number[term->args.data[k]] = 1;
        for (uint32_t k = 0; k < term->args.len && term->kind == TASK_RESOLVE; k++)
            if (t->ends[term->args.data[k]] < 2) t->ends[term->args.data[k]]++;
        for (int k = 0; k < 2; k++)
            if (term->parts[k] != NULL) note_signals(t, term->parts[k]);
        if (term->turn != NULL) note_signals(t, term->turn->block);
    }
}

static void use_ports(Tidy *t, const TaskPorts *ports) {
    for (uint32_t i = 0; i < ports->len; i++)
        t->is_used[ports->data[i].signal] = t->is_used[ports->data[i].ref] = true;
}

static void find_used(Tidy *t, const TaskBlock *block) {
    for (uint32_t i = 0; i < block->len; i++) {
        const TaskTerm *term = &block->data[i];
        bool is_read = term->kind == TASK_READ && t->same[term->outs.data[0]] == 0;
        if (term->kind == TASK_WAIT || term->kind == TASK_WHILE || is_read)
            for (uint32_t k = 0; k < term->args.len; k++)
                t->is_used[term->args.data[k]] = true;
        for (int k = 0; k < 2; k++)
            if (term->parts[k] != NULL) find_used(t, term->parts[k]);
        if (term->turn == NULL) continue;
        use_ports(t, &term->turn->next);
        use_ports(t, &(TaskPorts){&term->turn->guard, 1, 1});
        for (uint32_t k = 0; k < term->turn->next_carried.len; k++)
            t->is_used[term->turn->next_carried.data[k]] = true;
        find_used(t, term->turn->block);
    }
}

static bool is_idle(const TaskBlock *block) {
    for (uint32_t i = 0; i < block->len; i++)
        if (block->data[i].kind != TASK_WAIT) return false;
    return true;
}

static void sweep(Tidy *t, TaskBlock *block);

static bool is_needed(Tidy *t, TaskTerm *term) {
    switch (term->kind) {
    case TASK_SIGNAL:
    case TASK_REF: return t->is_used[term->outs.data[0]];
    case TASK_WRITE: return t->is_used[term->args.data[0]];
    case TASK_READ: return t->same[term->outs.data[0]] == 0;
    case TASK_WAIT: return term->args.len > 0;
    case TASK_RESOLVE: {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < term->args.len; i++)
            if (t->is_used[term->args.data[i]])
                term->args.data[kept++] = term->args.data[i];
        term->args.len = kept;
        return kept > 0;
    }
    case TASK_FORK: sweep(t, term->parts[0]); return !is_idle(term->parts[0]);
    case TASK_IF:
        for (int k = 0; k < 2; k++) sweep(t, term->parts[k]);
        return true;
    case TASK_WHILE: sweep(t, term->turn->block); return true;
    case TASK_EXP:
    case TASK_ALLOC:
    case TASK_USE:
    case TASK_UNIT:
    case TASK_KERNEL:
    case TASK_KIND_COUNT: return true;
    }
    return true;
}

static void sweep(Tidy *t, TaskBlock *block) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < block->len; i++)
        if (is_needed(t, &block->data[i])) block->data[kept++] = block->data[i];
    block->len = kept;
}

void task_tidy(TaskProgram *p, Arena *scratch) {
    enum { WALKS = 3 }; // what is known of a signal may come from one resolved later on
    uint32_t names = p->names.len, signals = 0;
    Tidy t = {.p = p, .arena = scratch};
    t.number = arena_array(scratch, uint32_t, names);
    t.ends = arena_array(scratch, uint8_t, names);
    t.same = arena_array(scratch, TaskName, names);
    t.held = arena_array(scratch, TaskName, names);
    t.is_used = arena_array(scratch, bool, names);
    note_signals(&t, p->block);
    for (uint32_t i = 0; i < names; i++)
        if (t.number[i] != 0) t.number[i] = ++signals;
    t.words = signals / 64 + 1;
    t.implied = arena_array(scratch, uint64_t, (size_t)(signals + 1) * t.words);
    const uint64_t *nothing = arena_array(scratch, uint64_t, t.words);
    for (int i = 0; i < WALKS; i++) {
        t.is_last = i + 1 == WALKS;
        walk(&t, p->block, nothing, 0);
    }
    use_ports(&t, &p->results);
    find_used(&t, p->block);
    sweep(&t, p->block);
}
