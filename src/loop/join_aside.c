// SPDX-License-Identifier: Apache-2.0
//
// Rows of results that wait in private memory. Turns at the ends of a row that clamp or
// wrap become loops of their own (borders.c), so that what lies between begins anywhere
// in a line of the caches, and cannot be stored past them. Where a short loop makes
// many such rows, each is made aside, and then copied:
//
//   for(few) {|q| for(row) {|x| r[.., x] = ..}}
//
// becomes
//
//   a = alloc(few * row)
//   for(few) {|q| for(row) {|x| a[q, x] = ..}}
//   for(few) {|q| for(row) {|x| r[.., x] = a[q, x]}}
//
// in which no load has to wait for stores of the last few turns.
#include "loop/copy.h"
#include "loop/join.h"

static bool is_result(const LoopBuilder *b, LoopRef buffer) {
    const LoopBody *root = b->kernel->root;
    for (uint32_t i = 0; i < root->stms.len; i++) {
        const LoopStm *stm = root->stms.data[i];
        if (stm->op == LOOP_RESULT && stm->outs[0] == buffer) return true;
    }
    return false;
}

// The store of a loop along a row, with branches, that stores to one place of a result.
static LoopStm *find_store(const LoopBuilder *b, const LoopStm *loop, LoopRef row) {
    LoopStm *store = NULL;
    if (loop->op != LOOP_FOR || loop->order != ORDER_INDEPENDENT ||
        !loop_same(b, loop->args[0], row) || !loop_has_op(loop->bodies[0], LOOP_IF))
        return NULL;
    const LoopBody *turn = loop->bodies[0];
    for (uint32_t i = 0; i < turn->stms.len; i++) {
        LoopStm *stm = turn->stms.data[i];
        bool is_plain = stm->op == LOOP_SCALAR || stm->op == LOOP_LOAD ||
                        (stm->op == LOOP_IF && stm->out_count > 0);
        if (stm->op == LOOP_STORE && store == NULL) store = stm;
        else if (!is_plain) return NULL;
    }
    if (store == NULL || store->arg_count < 5 || !is_result(b, store->args[0]) ||
        !loop_is_int(b, store->args[store->arg_count - 2], 1) ||
        store->args[store->arg_count - 1] != turn->params[0])
        return NULL;
    return store;
}

// Appends the copy of a row from the buffer to where the store would have put it.
static void copy_row(LoopBuilder *b, const LoopCopier *copier, const LoopStm *store,
                     LoopRef buffer, LoopRef from, LoopRef row) {
    LoopRef x = loop_open_turns(b), one = loop_int(b, 1);
    LoopType elem = loop_type(b, store->args[1]);
    LoopRef *args = arena_array(b->arena, LoopRef, store->arg_count);
    for (uint32_t i = 0; i < store->arg_count; i++)
        args[i] = loop_copy_of(copier, store->args[i]);
    args[1] = loop_emit1(b, LOOP_LOAD, (LoopRef[]){buffer, from, one, x}, 4, elem);
    args[store->arg_count - 1] = x;
    loop_emit(b, LOOP_STORE, args, store->arg_count, NULL, 0);
    loop_close_turns(b, row, ORDER_INDEPENDENT);
}

// Appends the short loop again, in which what stores to results copies rows instead.
// What else it computes is there for the places.
static void put_copies(LoopBuilder *b, const LoopStm *few, LoopRef row,
                       const LoopRef *buffers) {
    const LoopBody *body = few->bodies[0];
    LoopCopier copier = loop_copier(b);
    LoopRef q = loop_open_turns(b);
    loop_copy_as(&copier, body->params[0], q);
    LoopRef from = loop_mul(b, q, row);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (buffers[i] != 0)
            copy_row(b, &copier, find_store(b, stm, row), buffers[i], from, row);
        else if (stm->op == LOOP_SCALAR || stm->op == LOOP_LOAD)
            loop_append(b, loop_copy_stm(&copier, stm));
        else if (stm->op == LOOP_IF && stm->out_count > 0)
            loop_append(b, loop_copy_stm(&copier, stm));
    }
    loop_close_turns(b, few->args[0], ORDER_INDEPENDENT);
}

// The store of the loop goes to the buffer.
static void use_buffer(LoopBuilder *b, const LoopStm *loop, LoopRef buffer,
                       LoopRef from) {
    LoopStm *store = find_store(b, loop, loop->args[0]);
    LoopRef args[] = {buffer, store->args[1], from, loop_int(b, 1),
                      loop->bodies[0]->params[0]};
    store->args = arena_copy(b->arena, args, sizeof args);
    store->arg_count = sizeof args / sizeof *args;
}

// Puts the statements before those that the body has.
static void put_before(LoopBuilder *b, const LoopBody *stms, LoopBody *body) {
    LoopBody old = *body;
    body->stms = stms->stms;
    for (uint32_t i = 0; i < old.stms.len; i++)
        vec_push(b->arena, &body->stms, old.stms.data[i]);
}

void join_set_aside(LoopBuilder *b, LoopBody *turn, LoopStm *few, LoopRef row) {
    LoopBody *body = few->bodies[0];
    LoopRef *buffers = arena_array(b->arena, LoopRef, body->stms.len);
    bool any = false;
    b->loc = few->loc;
    loop_open(b, NULL, 0);
    LoopRef count = loop_mul(b, few->args[0], row);
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *store = find_store(b, body->stms.data[i], row);
        if (store == NULL) continue;
        buffers[i] = loop_emit1(b, LOOP_ALLOC, &count, 1, loop_type(b, store->args[0]));
        any = true;
    }
    const LoopBody *allocs = loop_close(b, NULL, 0);
    if (!any) return;
    loop_reopen(b, turn);
    put_copies(b, few, row, buffers);
    loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    LoopRef from = loop_mul(b, body->params[0], row);
    const LoopBody *offset = loop_close(b, NULL, 0);
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (buffers[i] != 0) use_buffer(b, body->stms.data[i], buffers[i], from);
    put_before(b, offset, body);
    put_before(b, allocs, turn);
}
