// SPDX-License-Identifier: Apache-2.0
//
// Within the loop room: tiles of 32 by 32 elements that a team of work items has
// (launch.h), for passes that make loops over such tiles.
#ifndef WEFT_LOOP_SQUARE_H
#define WEFT_LOOP_SQUARE_H

#include "loop/copy.h"
#include "loop/launch.h"

enum { SQUARE_SIDE = LAUNCH_TEAM };

// Opens the body of a loop; returns its index.
LoopRef square_open(LoopBuilder *b);
void square_close(LoopBuilder *b, LoopRef times, LoopOrder order);
// Makes what an IF does else, a statement or NULL for nothing, and opens what it does.
LoopBody *square_else(LoopBuilder *b, LoopStm *stm);
// Closes the body that is open as what an IF does if c holds.
void square_if(LoopBuilder *b, LoopRef c, LoopBody *otherwise);
// Place (i, j) of a tile, 32 i + (i xor j): neither 32 items in a row nor in a column
// meet in a bank of local memory.
LoopRef square_place(LoopBuilder *b, LoopRef i, LoopRef j);
// Memory for `count` values like that one.
LoopRef square_alloc(LoopBuilder *b, LoopRef like, int64_t count);
// Whether there is a whole tile.
LoopRef square_fits(LoopBuilder *b, LoopRef rows, LoopRef columns);
// How many tiles cover so many elements.
LoopRef square_count(LoopBuilder *b, LoopRef size);
// Whether nothing in the body loops, fails or takes memory.
bool square_is_plain(const LoopBody *body);
// A statement of root code, appended in another form; false: it was not.
typedef bool SquareChange(LoopBuilder *b, LoopStm *stm);
// Tries each of the kernel.
void square_change(LoopKernel *kernel, SquareChange *change);

#endif
