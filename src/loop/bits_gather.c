// SPDX-License-Identifier: Apache-2.0
//
// Cells to bits and back (bits.c): bit k of byte i of a row is cell k * bytes + i, so
// that cells are loaded and stored as they lie, as many at once as lanes have.
#include "loop/bits.h"

enum { TILES = 64 }; // of rows, which see for themselves what cells there are

LoopRef bits_load(LoopBuilder *b, LoopRef buffer, LoopRef width, LoopRef row,
                  LoopRef column) {
    LoopType type = loop_scalar_type((ScalarType)loop_type(b, buffer).elem);
    LoopRef args[] = {buffer, loop_int(b, 0), width, row, loop_int(b, 1), column};
    return loop_emit1(b, LOOP_LOAD, args, 6, type);
}

void bits_store(LoopBuilder *b, LoopRef buffer, LoopRef value, LoopRef width,
                LoopRef row, LoopRef column) {
    LoopRef args[] = {buffer, value,          loop_int(b, 0), width,
                      row,    loop_int(b, 1), column};
    loop_emit(b, LOOP_STORE, args, 7, NULL, 0);
}

static LoopRef column_of(LoopBuilder *b, const BitsRows *bytes, LoopRef index,
                         int bit) {
    return loop_add(b, loop_mul(b, loop_int(b, bit), bytes->width), index);
}

// A byte of cells that are 0 or 1; and what any of them has besides.
static LoopRef gather_byte(LoopBuilder *b, const BitsRows *cells, const BitsRows *bytes,
                           LoopRef row, LoopRef index, LoopRef *any) {
    ScalarType elem = (ScalarType)loop_type(b, cells->buffer).elem;
    LoopRef sum = 0;
    for (int bit = BITS_CELLS - 1; bit >= 0; bit--) {
        LoopRef column = column_of(b, bytes, index, bit);
        LoopRef cell = bits_load(b, cells->buffer, cells->width, row, column), x = cell;
        if (elem != SCALAR_U8) x = loop_scalar(b, OP_CONV, SCALAR_U8, &cell, 1);
        sum = sum == 0 ? x : bits_byte2(b, OP_ADD, bits_byte2(b, OP_ADD, sum, sum), x);
        *any = loop_scalar(b, OP_OR, elem, (LoopRef[]){*any, cell}, 2);
    }
    return sum;
}

// Whether all elements of the buffer are 0 or 1.
static LoopRef are_bits(LoopBuilder *b, LoopRef buffer, LoopRef count) {
    LoopType type = loop_scalar_type((ScalarType)loop_type(b, buffer).elem);
    ScalarType elem = (ScalarType)type.elem;
    LoopRef one = loop_const(b, elem, 1), zero = loop_int(b, 0);
    LoopRef params[] = {loop_value(b, loop_scalar_type(SCALAR_I64), 0),
                        loop_value(b, type, 0)};
    loop_open(b, params, 2);
    LoopRef x = bits_load(b, buffer, zero, zero, params[0]);
    x = loop_scalar(b, OP_OR, elem, (LoopRef[]){params[1], x}, 2);
    LoopBody *body = loop_close(b, &x, 1);
    LoopStm *loop = loop_emit(b, LOOP_FOR, (LoopRef[]){count, one}, 2, &type, 1);
    loop_set_bodies(b, loop, &body, 1);
    return loop_eq(b, loop->outs[0], one);
}

// Tiles of rows go at once. What any cell of a tile has is kept byte by byte, in a row
// of the tile's own.
LoopRef bits_gather(LoopBuilder *b, const BitsRows *cells, const BitsRows *bytes) {
    LoopType type = loop_type(b, cells->buffer);
    LoopRef tiles = loop_min(b, cells->rows, loop_int(b, TILES)), width = bytes->width;
    LoopRef size = loop_mul(b, tiles, width);
    LoopRef any = loop_emit1(b, LOOP_ALLOC, &size, 1, type);
    LoopRef tile = loop_open_turns(b), next = loop_add(b, tile, loop_int(b, 1));
    LoopRef begin = loop_quot(b, loop_mul(b, tile, cells->rows), tiles);
    LoopRef end = loop_quot(b, loop_mul(b, next, cells->rows), tiles);
    LoopRef count = loop_sub(b, end, begin),
            zero = loop_const(b, (ScalarType)type.elem, 0);
    LoopRef i = loop_open_turns(b);
    bits_store(b, any, zero, width, tile, i);
    loop_close_turns(b, width, ORDER_INDEPENDENT);
    LoopRef row = loop_add(b, begin, loop_open_turns(b));
    i = loop_open_turns(b);
    LoopRef has = bits_load(b, any, width, tile, i);
    LoopRef byte = gather_byte(b, cells, bytes, row, i, &has);
    bits_store(b, bytes->buffer, byte, width, row, i);
    bits_store(b, any, has, width, tile, i);
    loop_close_turns(b, width, ORDER_INDEPENDENT);
    loop_close_turns(b, count, ORDER_SEQUENTIAL);
    loop_close_turns(b, tiles, ORDER_PARALLEL);
    return are_bits(b, any, size);
}

void bits_spread(LoopBuilder *b, const BitsRows *bytes, const BitsRows *cells) {
    ScalarType elem = (ScalarType)loop_type(b, cells->buffer).elem;
    LoopRef zero = loop_const(b, elem, 0), one = loop_const(b, elem, 1);
    LoopRef row = loop_open_turns(b), i = loop_open_turns(b);
    LoopRef byte = bits_load(b, bytes->buffer, bytes->width, row, i);
    for (int bit = 0; bit < BITS_CELLS; bit++) {
        LoopRef alone = bits_byte2(b, OP_AND, byte, bits_byte(b, 1u << bit));
        LoopRef is_zero = loop_eq(b, alone, bits_byte(b, 0));
        LoopRef column = column_of(b, bytes, i, bit);
        bits_store(b, cells->buffer, loop_select(b, is_zero, zero, one), cells->width,
                   row, column);
    }
    loop_close_turns(b, bytes->width, ORDER_INDEPENDENT);
    loop_close_turns(b, cells->rows, ORDER_PARALLEL);
}
