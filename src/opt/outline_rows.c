// SPDX-License-Identifier: Apache-2.0
#include "opt/outline_rows.h"

enum { MOST_TURNS = 32, LEAST_RANK = 2, MOST_RANK = 3 };

typedef struct Rows {
    const CoreProgram *p;
    const CoreStm *maker;
    Map sizes; // of index spaces, by index
    uint32_t reads;
    bool is_other; // something but the row is read
} Rows;

static bool is_made(const Rows *r, CoreRef ref) {
    for (uint32_t i = 0; i < r->maker->out_count; i++)
        if (r->maker->outs[i] == ref) return true;
    return false;
}

static bool any_made(const Rows *r, const CoreRef *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (is_made(r, refs[i])) return true;
    return false;
}

// Whether the indices but the last go over all rows.
static bool reads_row(const Rows *r, const CoreStm *stm) {
    uint32_t rank = (uint32_t)r->maker->attrs[0];
    if (stm->op != OP_INDEX || stm->arg_count != 1 + rank) return false;
    for (uint32_t i = 0; i + 1 < rank; i++) {
        uint64_t size;
        if (!map_get(&r->sizes, stm->args[1 + i], &size) || size != r->maker->args[i])
            return false;
    }
    return true;
}

static void note_sizes(void *data, const CoreStm *stm) {
    Rows *r = data;
    if (stm->op != OP_GENERATE) return;
    for (uint32_t i = 0; i < stm->bodies[0]->param_count; i++)
        map_set(&r->sizes, stm->bodies[0]->params[i], stm->args[i]);
}

static void note_reads(void *data, const CoreStm *stm) {
    Rows *r = data;
    for (uint32_t k = 0; k < stm->body_count; k++)
        r->is_other |=
            any_made(r, stm->bodies[k]->results, stm->bodies[k]->result_count);
    if (!any_made(r, stm->args, stm->arg_count)) return;
    r->reads++;
    r->is_other |= !reads_row(r, stm);
}

static bool makes_rows(const CoreProgram *p, const CoreStm *stm) {
    if (stm->op != OP_GENERATE || stm->attrs[0] < LEAST_RANK ||
        stm->attrs[0] > MOST_RANK)
        return false;
    for (uint32_t i = 0; i < stm->out_count; i++)
        if (core_type(p, stm->outs[i]).rank != stm->attrs[0]) return false;
    return true;
}

static bool has_few_turns(const CoreProgram *p, const CoreStm *stm) {
    if (stm->op != OP_GENERATE || stm->attrs[0] != 1) return false;
    const CoreValue *turns = &p->values.data[stm->args[0]];
    return turns->is_const && turns->bits >= 1 && turns->bits <= MOST_TURNS;
}

// Whether it may as well come before what makes the rows: it cannot fail.
static bool can_pass(const CoreProgram *p, const CoreStm *stm) {
    if (stm->op == OP_LITERAL) return true;
    if ((core_op_info[stm->op].flags & OP_FAILS) != 0 || stm->body_count > 0)
        return false;
    for (uint32_t i = 0; i < stm->arg_count; i++)
        if (core_type(p, stm->args[i]).rank > 0) return false;
    return stm->out_count == 1 && core_type(p, stm->outs[0]).rank == 0;
}

uint32_t outline_find_reader(const CoreProgram *p, const CoreBody *body, uint32_t at) {
    uint32_t next = at + 1;
    if (!makes_rows(p, body->stms.data[at])) return 0;
    while (next < body->stms.len && can_pass(p, body->stms.data[next])) next++;
    if (next == body->stms.len || !has_few_turns(p, body->stms.data[next])) return 0;
    Rows r = {.p = p, .maker = body->stms.data[at]};
    const CoreStm *reader = body->stms.data[next];
    map_init(&r.sizes, core_notes(p));
    core_walk(reader->bodies[0], note_sizes, &r);
    core_walk(reader->bodies[0], note_reads, &r);
    note_reads(&r, reader);
    if (r.reads == 0 || r.is_other) return 0;
    CoreBody rest = *body;
    CoreRefs used = {0};
    rest.stms.data += next + 1;
    rest.stms.len -= next + 1;
    core_free(p, &rest, p->arena, &used);
    return any_made(&r, used.data, used.len) ? 0 : next;
}
