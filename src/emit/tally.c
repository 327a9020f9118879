// SPDX-License-Identifier: Apache-2.0
//
// Loops that count in lanes. How many lanes of a mask are set is three instructions, of
// which one leaves the vectors; to add the mask to a vector of counts is one. So many
// turns are a block that counts in vectors, whose lanes, of bytes at worst, hold it,
// and after which these are added up. Masks of vectors of 64 bytes are bits: they are
// counted where they are.
#include "emit/vector.h"
#include "loop/build.h"
#include "loop/machine.h"

enum { BLOCK = 128 }; // vector turns

static bool gives(const LoopBody *body, LoopRef ref) {
    for (uint32_t i = 0; i < body->param_count; i++)
        if (body->params[i] == ref) return true;
    for (uint32_t i = 0; i < body->stms.len; i++)
        for (uint32_t k = 0; k < body->stms.data[i]->out_count; k++)
            if (body->stms.data[i]->outs[k] == ref) return true;
    return false;
}

// Whether a count is added to one place, and that is all that becomes of it.
static bool is_for_one_place(const Walker *w, const LoopBody *body,
                             const LoopStm *atomic) {
    const LoopStm *tally = w->made[atomic->args[1]];
    if (atomic->scalar != OP_ADD || tally == NULL || tally->op != LOOP_TALLY ||
        !gives(body, tally->outs[0]) || loop_count_uses(body, tally->outs[0]) != 1)
        return false;
    for (uint32_t k = 2; k < atomic->arg_count; k++)
        if (gives(body, atomic->args[k])) return false;
    return true;
}

uint32_t walk_tally_turns(const Walker *w, const LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    const LoopValue *count = &w->kernel->values.data[loop->args[0]];
    uint32_t tallies = 0;
    if (machine_vector_bytes() != 32 || loop->order != ORDER_INDEPENDENT ||
        loop_has_op(body, LOOP_SURE) ||
        (count->is_const && count->bits < (uint64_t)BLOCK * loop->number))
        return 1;
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (loop_has_op(stm->bodies[k], LOOP_ATOMIC)) return 1;
        if (stm->op != LOOP_ATOMIC) continue;
        if (!is_for_one_place(w, body, stm)) return 1;
        tallies++;
    }
    return tallies > 0 ? BLOCK : 1;
}

// The counts of a part.
static Str counts_of(Walker *w, const LoopStm *tally, uint32_t part) {
    StrBuf text = strbuf(w->arena);
    strbuf_printf(&text, "counts_%u_%u", tally->outs[0], part);
    return strbuf_done(&text);
}

void walk_open_tallies(Walker *w, const LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    Str type = walk_vector_type(w, SCALAR_BOOL);
    for (uint32_t s = 0; s < body->stms.len; s++) {
        const LoopStm *stm = body->stms.data[s];
        if (stm->op != LOOP_TALLY) continue;
        for (uint32_t p = 0; p < walk_parts(w, stm->args[0]); p++)
            walk_line(w, "%.*s %.*s = {0};", STR_ARG(type),
                      STR_ARG(counts_of(w, stm, p)));
    }
    w->is_tallied = true;
}

void walk_tally(Walker *w, const LoopStm *stm) {
    for (uint32_t p = 0; p < walk_parts(w, stm->args[0]); p++) {
        Str counts = counts_of(w, stm, p);
        walk_line(w, "%.*s += %.*s;", STR_ARG(counts),
                  STR_ARG(walk_part(w, stm->args[0], p)));
    }
}

static void put_sums(Walker *w, const LoopStm *tally) {
    StrBuf text = strbuf(w->arena);
    for (uint32_t p = 0; p < walk_parts(w, tally->args[0]); p++)
        strbuf_printf(&text, "%sweft_sum_%.*s(%.*s)", p > 0 ? " + " : "",
                      STR_ARG(walk_vector_type(w, SCALAR_BOOL)),
                      STR_ARG(counts_of(w, tally, p)));
    walk_line(w, "const int64_t %.*s = %.*s;", STR_ARG(walk_value(w, tally->outs[0])),
              STR_ARG(strbuf_done(&text)));
}

void walk_close_tallies(Walker *w, const LoopStm *loop) {
    const LoopBody *body = loop->bodies[0];
    w->is_tallied = false;
    for (uint32_t s = 0; s < body->stms.len; s++)
        if (body->stms.data[s]->op == LOOP_TALLY) put_sums(w, body->stms.data[s]);
    for (uint32_t s = 0; s < body->stms.len; s++)
        if (body->stms.data[s]->op == LOOP_ATOMIC)
            walk_statement(w, body->stms.data[s]);
}
