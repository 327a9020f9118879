// SPDX-License-Identifier: Apache-2.0
//
// Loops over tiles (square.h).
#include "loop/square.h"

bool square_is_plain(const LoopBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++) {
        const LoopStm *stm = body->stms.data[i];
        if (stm->op != LOOP_SCALAR && stm->op != LOOP_LOAD && stm->op != LOOP_STORE &&
            stm->op != LOOP_IF)
            return false;
        for (uint32_t k = 0; k < stm->body_count; k++)
            if (!square_is_plain(stm->bodies[k])) return false;
    }
    return true;
}

LoopRef square_open(LoopBuilder *b) {
    LoopRef index = loop_value(b, loop_scalar_type(SCALAR_I64), 0);
    loop_open(b, &index, 1);
    return index;
}

void square_close(LoopBuilder *b, LoopRef times, LoopOrder order) {
    LoopBody *body = loop_close(b, NULL, 0);
    LoopStm *loop = loop_emit(b, LOOP_FOR, &times, 1, NULL, 0);
    loop->order = (uint8_t)order;
    loop_set_bodies(b, loop, &body, 1);
}

LoopBody *square_else(LoopBuilder *b, LoopStm *stm) {
    loop_open(b, NULL, 0);
    if (stm != NULL) loop_append(b, stm);
    LoopBody *otherwise = loop_close(b, NULL, 0);
    loop_open(b, NULL, 0);
    return otherwise;
}

void square_if(LoopBuilder *b, LoopRef c, LoopBody *otherwise) {
    LoopBody *bodies[] = {loop_close(b, NULL, 0), otherwise};
    LoopStm *stm = loop_emit(b, LOOP_IF, &c, 1, NULL, 0);
    loop_set_bodies(b, stm, bodies, 2);
}

LoopRef square_place(LoopBuilder *b, LoopRef i, LoopRef j) {
    LoopRef column = loop_scalar(b, OP_XOR, SCALAR_I64, (LoopRef[]){i, j}, 2);
    return loop_add(b, loop_mul(b, i, loop_int(b, SQUARE_SIDE)), column);
}

LoopRef square_alloc(LoopBuilder *b, LoopRef like, int64_t count) {
    LoopRef places = loop_int(b, count);
    ScalarType elem = (ScalarType)loop_type(b, like).elem;
    return loop_emit1(b, LOOP_ALLOC, &places, 1, loop_buffer_type(elem));
}

LoopRef square_fits(LoopBuilder *b, LoopRef rows, LoopRef columns) {
    LoopRef side = loop_int(b, SQUARE_SIDE);
    LoopRef are_wide = loop_le(b, side, columns);
    return loop_and(b, loop_le(b, side, rows), are_wide);
}

LoopRef square_count(LoopBuilder *b, LoopRef size) {
    return loop_quot(b, loop_add(b, size, loop_int(b, SQUARE_SIDE - 1)),
                     loop_int(b, SQUARE_SIDE));
}

static void change_body(LoopBuilder *b, LoopBody *body, SquareChange *change) {
    LoopStm **stms = body->stms.data;
    uint32_t count = body->stms.len;
    body->stms.data = NULL;
    body->stms.len = body->stms.cap = 0;
    loop_reopen(b, body);
    for (uint32_t i = 0; i < count; i++) {
        LoopStm *stm = stms[i];
        b->loc = stm->loc;
        if (change(b, stm)) continue;
        for (uint32_t k = 0; k < stm->body_count && stm->order != ORDER_PARALLEL; k++)
            change_body(b, stm->bodies[k], change);
        loop_append(b, stm);
    }
    loop_close(b, body->results, body->result_count);
}

void square_change(LoopKernel *kernel, SquareChange *change) {
    LoopBuilder b = loop_builder(kernel);
    change_body(&b, kernel->root, change);
    loop_tidy(&b);
}
