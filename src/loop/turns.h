// SPDX-License-Identifier: Apache-2.0
//
// What the files of the turns pass share: a loop that goes in order, each turn of which
// looks at one row of a matrix and then changes every row in place by itself and by
// what it has seen. turns_find.c finds it, turns.c makes blocks of its turns,
// turns_change.c changes rows by several of them, turns_idle.c says what stays as it
// is.
#ifndef WEFT_LOOP_TURNS_H
#define WEFT_LOOP_TURNS_H

#include "loop/copy.h"
#include "loop/lift.h"

typedef struct Turns {
    LoopBuilder *b;
    const LoopStm **defs; // by LoopRef: the scalar operator that makes it; or NULL
    uint32_t known;       // there are so many
    int group;            // rows at once
    LoopStm *loop;
    const LoopBody *body;
    uint32_t at;        // of the statement on rows
    LoopStm *rows;      // that loop
    LoopRef matrix;     // the buffer
    LoopRef high, wide; // of a row: how far from the next one, how many elements
    LoopRefs arrays;    // a row long, which a turn makes when it looks
    LoopRefs kept;      // scalars that it finds then and needs for the change
    // How rows change that are not of the block: what comes before their elements (of a
    // branch only the arm below counts), and the loop on these.
    LiftStms before;
    const LoopStm *cells;
    LiftStms cell;  // what is done for an element, but the store
    bool has_strip; // whether what comes before loads the element in its turn's column
    LoopRefs factors; // what the loop on elements needs of what comes before
    // Where x becomes fma(f, p, x), f being this factor and p this load of what the
    // turn has made for its column; or NULL.
    LoopRef scale;
    const LoopStm *pivot;
    bool takes_own; // f is minus what the row has in the column of the turn
} Turns;

// A block of turns: so many from the first.
typedef struct TurnsBlock {
    const Turns *t;
    LoopBuilder *b;
    LoopRef first, count;
    LoopRefs arrays, kept; // of all turns: row by row; element by element
    LoopRefs packed;       // of such arrays: panel by panel, in these turn by turn
    LoopRef wide, panels;  // elements of a panel, and how many there are
    // Of such arrays, if strips are wanted: what they have in the columns of the block,
    // and some zeros behind. How many there are of these columns, which may be less
    // than turns if one of these stops; and how far it is from turn to turn.
    LoopRefs near;
    LoopRef near_count, near_wide;
    // By panel: whether a turn of the block, or of this part of it, has other pivots
    // than zeros there; or 0.
    LoopRef busy, part_busy;
    // Whether each turn that has looked has a pivot of 1 in its own column, and zeros
    // in those of the turns before it: one flag; or 0.
    LoopRef clean;
    // By row and panel, for all blocks: whether no element there is -0, as far as is
    // known; or 0.
    LoopRef plain;
} TurnsBlock;

enum { TURNS_MOST_ROWS = 12 };

// Rows that are changed at once.
typedef struct TurnsGroup {
    int size;
    LoopRef rows[TURNS_MOST_ROWS], begin[TURNS_MOST_ROWS];
    LoopRef flags[TURNS_MOST_ROWS]; // where those of the row's panels begin
    LoopRef strip;    // by row and turn: its element in the column of the turn
    LoopRefs factors; // by turn and row
    LoopRef found;    // how many lanes of a panel something holds for: one number
} TurnsGroup;

// The place of a panel's element in packed arrays; without a panel: of an element in
// that column of the block.
typedef struct TurnsPlace {
    LoopRef panel, lane;
} TurnsPlace;

// One turn of the block.
typedef struct TurnsCopy {
    LoopRef number; // in the block
    LoopCopier copier;
} TurnsCopy;

// Whether the loop is one; fills in what is below `loop`.
bool turns_find(Turns *t, LoopStm *loop);
// The arm of a branch that rows go which are not of the block, where there are
// elements; -1: nobody knows.
int turns_arm(const Turns *t, const LoopStm *branch);

// ---- turns_change.c -----------------------------------------------------------------

ScalarType turns_elem(const TurnsBlock *x);
// Of so many elements each becomes 0.
void turns_clear(LoopBuilder *b, LoopRef buffer, LoopRef count);
LoopRef turns_load(LoopBuilder *b, LoopRef buffer, LoopRef begin, LoopRef at);
LoopRefs turns_alloc(LoopBuilder *b, const LoopRefs *values, LoopRef count);
void turns_alloc_group(const TurnsBlock *x, TurnsGroup *g);
// How wide panels are in all blocks, and their memory in one.
void turns_measure_panels(TurnsBlock *x);
void turns_alloc_panels(TurnsBlock *x);
TurnsCopy turns_copy(const TurnsBlock *x, LoopRef number);
void turns_recall(const TurnsBlock *x, TurnsCopy *turn);
void turns_append(const TurnsBlock *x, TurnsCopy *turn, const LoopStm *stm);
void turns_store(LoopBuilder *b, LoopRef buffer, LoopRef x, LoopRef at);
void turns_pack(const TurnsBlock *x, const TurnsGroup *g, LoopRef number);
// Of an array that turns make: where it is packed, and its element there.
LoopRef turns_packed(const TurnsBlock *x, LoopRef array);
LoopRef turns_load_packed(const TurnsBlock *x, LoopRef buffer, LoopRef turn,
                          const TurnsPlace *at);
// Of an array that turns make: what the turn has in that column of the block.
LoopRef turns_load_near(const TurnsBlock *x, LoopRef array, LoopRef turn,
                        LoopRef column);
// Changes the rows of a group by turns from `begin` to before `end`, none of which is
// of them; `busy`: of these turns.
void turns_change(const TurnsBlock *x, TurnsGroup *g, LoopRef begin, LoopRef end,
                  LoopRef busy);
// Whether it loads, from an array of the turn, the element in the column of a cell.
bool turns_is_along(const Turns *t, const LoopStm *stm);

// ---- turns_idle.c -------------------------------------------------------------------

// For all blocks, for one, for a part of it, for a group: nothing is known yet.
void turns_alloc_plain(TurnsBlock *x);
void turns_alloc_busy(TurnsBlock *x);
void turns_begin_part(const TurnsBlock *x);
void turns_alloc_lanes(const TurnsBlock *x, TurnsGroup *g);
// Looks for pivots of the turn where those before it in the part have none.
void turns_note_pivots(const TurnsBlock *x, const TurnsGroup *g, LoopRef turn,
                       LoopRef panel);
// Looks whether the turn is clean.
void turns_note_clean(const TurnsBlock *x, const TurnsGroup *g, LoopRef turn);
// Whether a scale of the rows by these turns is not finite.
LoopRef turns_has_wild(const TurnsBlock *x, const TurnsGroup *g, LoopRef begin,
                       LoopRef end);
// Before anybody asks for flags of the rows or notes any.
void turns_find_flags(const TurnsBlock *x, TurnsGroup *g);
// Whether turns change the panel of the rows; if it is busy they do.
LoopRef turns_is_changed(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel,
                         LoopRef is_busy);
// Whether all of the panel is in columns that these turns, whose scales are finite
// unless `wild`, make 0.
LoopRef turns_is_cleared(const TurnsBlock *x, LoopRef begin, LoopRef end, LoopRef wild,
                         LoopRef panel);
// The panel has become 0; it has changed, or all of the rows.
void turns_note_zeros(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel);
void turns_note_change(const TurnsBlock *x, const TurnsGroup *g, LoopRef panel);
void turns_note_row(const TurnsBlock *x, TurnsGroup *g);

#endif
