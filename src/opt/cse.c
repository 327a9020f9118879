// SPDX-License-Identifier: Apache-2.0
//
// Common subexpressions: a statement equal to one that is in scope has the same
// results. One that may fail has failed already if it would. Only scalars, views,
// checks and literals are joined: to share an array that could have been updated in
// place may cost more than to make it twice.
#include "opt/algebra.h"

#include <string.h>

#include "core/rules.h"

typedef struct CseEntry {
    const CoreStm *stm;
    uint32_t body;  // number of the body it stands in
    uint32_t older; // index of the next entry with that hash + 1
} CseEntry;

void cse_init(Cse *cse, CoreProgram *p, uint32_t count) {
    *cse = (Cse){.program = p};
    map_init_for(&cse->heads, core_notes(p), count);
}

void cse_open(Cse *cse) {
    vec_push(core_notes(cse->program), &cse->bodies, cse->is_open.len);
    vec_push(core_notes(cse->program), &cse->is_open, true);
}

void cse_close(Cse *cse) {
    cse->is_open.data[cse->bodies.data[--cse->bodies.len]] = false;
}

static bool is_joined(const CoreStm *stm) {
    if (core_op_operands(stm->op) != 0) return true;
    switch ((int)stm->op) {
    case OP_CHECK:
    case OP_GUARD:
    case OP_LITERAL:
    case OP_DIM:
    case OP_INDEX:
    case OP_SLICE:
    case OP_SPLIT:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_REVERSE: return true;
    }
    return false;
}

// Operators that commute name their operands in order, so that a + b equals b + a.
static void sort_args(const CoreStm *stm, CoreRef args[2]) {
    bool swap =
        (core_op_info[stm->op].flags & OP_COMMUTES) != 0 && stm->args[0] > stm->args[1];
    args[0] = stm->args[swap];
    args[1] = stm->args[!swap];
}

static uint64_t hash_stm(const CoreProgram *p, const CoreStm *stm) {
    uint64_t hash = hash_add(stm->op, stm->flags);
    CoreType type = core_type(p, stm->outs[0]);
    hash = hash_add(hash, (uint64_t)type.elem << 8 | type.rank);
    CoreRef sorted[2];
    const CoreRef *args = stm->args;
    if (stm->arg_count == 2) {
        sort_args(stm, sorted);
        args = sorted;
    }
    for (uint32_t i = 0; i < stm->arg_count; i++) hash = hash_add(hash, args[i]);
    for (uint32_t i = 0; i < stm->attr_count; i++)
        hash = hash_add(hash, (uint32_t)stm->attrs[i]);
    if (stm->text.len > 0) hash = hash_add(hash, str_hash(stm->text));
    return hash == 0 ? 1 : hash;
}

bool cse_are_equal(const CoreProgram *p, const CoreStm *a, const CoreStm *b) {
    CoreType s = core_type(p, a->outs[0]), t = core_type(p, b->outs[0]);
    if (a->op != b->op || a->flags != b->flags || s.elem != t.elem ||
        s.rank != t.rank || a->arg_count != b->arg_count ||
        a->attr_count != b->attr_count || !str_eq(a->text, b->text))
        return false;
    for (uint32_t i = 0; i < a->attr_count; i++)
        if (a->attrs[i] != b->attrs[i]) return false;
    if (a->arg_count == 2) {
        CoreRef x[2], y[2];
        sort_args(a, x);
        sort_args(b, y);
        return x[0] == y[0] && x[1] == y[1];
    }
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (a->args[i] != b->args[i]) return false;
    return true;
}

const CoreStm *cse_find(Cse *cse, const CoreStm *stm) {
    if (!is_joined(stm)) return NULL;
    uint64_t hash = hash_stm(cse->program, stm), head = 0;
    map_get(&cse->heads, hash, &head);
    for (uint32_t at = (uint32_t)head; at != 0; at = cse->entries.data[at - 1].older) {
        const CseEntry *entry = &cse->entries.data[at - 1];
        if (cse->is_open.data[entry->body] &&
            cse_are_equal(cse->program, entry->stm, stm))
            return entry->stm;
    }
    uint32_t body = cse->bodies.data[cse->bodies.len - 1];
    vec_push(core_notes(cse->program), &cse->entries,
             (CseEntry){stm, body, (uint32_t)head});
    map_set(&cse->heads, hash, cse->entries.len);
    return NULL;
}
