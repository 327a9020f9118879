// SPDX-License-Identifier: Apache-2.0
//
// What the files that write functions and statements share.
#ifndef WEFT_EMIT_WALK_H
#define WEFT_EMIT_WALK_H

#include "emit/dialect.h"

// Constant tables: in C part of the code, for GPUs apart from it.
typedef struct Tables {
    StrBuf *bytes; // NULL in C
    Map places;    // address of a DATA -> 1 + where it lies in bytes
} Tables;

// Rows that a vector turn reads of planes: a load of each, and where in them the turn
// is.
typedef struct WalkRows {
    const LoopStm *const *loads;
    uint32_t count;
    LoopRef column;
} WalkRows;

// Loads or stores of the rows of a square, and pointers to these; empty: not yet.
typedef struct WalkSquare {
    LoopStm *const *stms;
    Str *names;
    uint32_t rows;
} WalkSquare;

// The elements of a buffer from an offset on, to which there is a pointer.
typedef struct WalkPart {
    LoopRef buffer, offset;
} WalkPart;

// Buffers that each vector turn fetches from, so many bytes ahead.
enum { WALK_MOST_AHEAD = 2 };
typedef struct WalkAhead {
    LoopRef buffers[WALK_MOST_AHEAD];
    uint32_t count, bytes;
} WalkAhead;

// Writing one kernel. In C parallel loops are functions of their own, put before the
// one that is being written.
typedef struct Walker {
    const Dialect *dialect;
    const LoopKernel *kernel;
    uint32_t number; // of the kernel
    bool for_people;
    Arena *arena;
    Str *names; // by LoopRef, made when first asked for
    Helpers *helpers;
    Map checks; // address of a CHECK or CALL -> its number
    Tables *tables;
    const LoopPlan *plan;  // of a GPU's; else NULL
    const bool *is_local;  // by LoopRef, of an ALLOC: it is an array of the function's
    bool *is_alone;        // by LoopRef: no turn but the one being written sees it
    const bool *is_own;    // by LoopRef, of a buffer: no other shares its memory
    const bool *is_number; // by LoopRef, of a float: it is no NaN
    const bool *is_size;   // by LoopRef: it is a size of a param
    // By LoopRef: the statement that gives it; or NULL.
    const LoopStm *const *made;
    StrBuf done;               // functions finished
    StrBuf *out;               // the function being written
    uint32_t indent;           // in levels
    const char *failing;       // what goes before the return of a status
    uint32_t chunks;           // parallel loops so far
    uint32_t depth;            // loops that the statement is in, within its function
    bool is_short;             // the vector turn
    LoopRef turn;              // the index of the innermost of them; 0: none has one
    const LoopBody *shared;    // a turn of the parallel loop; NULL: in root code
    const LoopStm *key;        // a load of the loop that fetches ahead; or NULL
    CoreLoc loc;               // last one commented on
    uint32_t lanes;            // of the vector turn; 0: in none
    Lanes part;                // of its values
    uint32_t vector;           // its number
    bool is_in_order;          // its loop
    const WalkRows *next_rows; // of which it fetches the next ones; or NULL
    WalkSquare loaded, stored; // the last squares
    uint32_t square_rows;      // named so far
    bool is_tallied;           // it adds its counts to vectors (tally.c)
    LoopRefs streams;        // results that the loop stores past the caches (stream.c)
    uint32_t least_streamed; // bytes of a vector
    WalkAhead ahead;         // of the vector turn
    struct {
        WalkPart *data;
        uint32_t len, cap;
    } parts;                // of the vector loop
    bool *is_used;          // by LoopRef: a vector turn so far uses it
    bool *is_counted;       // by LoopRef: it is not used in places alone
    bool *is_bits;          // by LoopRef, of a mask: it is bits (bits.c); or NULL
    const LoopLaunch *team; // whose turn this is, outside of loops that are spread
} Walker;

// Starts a line.
void walk_line(Walker *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The value as an expression that needs no parentheses.
static inline Str walk_value(Walker *w, LoopRef ref);
// "float *xs_3" or, with a star more, "float **xs_3".
void walk_declare(Walker *w, LoopRef ref, const char *star, StrBuf *out);
// "float *", "int32_t "
const char *walk_type(Walker *w, LoopRef ref);
// "float *xs_3 = (float *)in[0];", that slot being number `slot` of `array`.
void walk_take_slot(Walker *w, LoopRef ref, const char *array, uint32_t slot);
// The 64 bits that a value has in a slot.
Str walk_to_slot(Walker *w, LoopRef ref);
// Frees private memory from the mark on but for these buffers, which are in the array
// kept_<number> afterwards.
void walk_keep(Walker *w, uint32_t number, const char *mark, const LoopRef *buffers,
               uint32_t count);
void walk_body(Walker *w, const LoopBody *body);
// Branches and loops (walk_control.c).
void walk_if(Walker *w, const LoopStm *stm);
void walk_for(Walker *w, const LoopStm *stm);
void walk_while(Walker *w, const LoopStm *stm);
// Which buffers share memory with no other that is used where they are (own.c).
const bool *walk_own_buffers(const LoopKernel *kernel, Arena *arena);
// The statement that gives each value; and which floats are no NaN (numbers.c).
const LoopStm *const *walk_made(const LoopKernel *kernel, Arena *arena);
const bool *walk_numbers(const LoopKernel *kernel, const LoopStm *const *made,
                         Arena *arena);
// Whether it is the constant of these bits.
bool walk_is_const(const Walker *w, LoopRef ref, uint64_t bits);
// Whether they are one value, or the same constant.
bool walk_is_same(const Walker *w, LoopRef x, LoopRef y);
// Whether the operator gives the bits of a float as they are.
bool walk_keeps_bits(const Walker *w, const LoopStm *stm);
// Which values are sizes of params; whether a statement asks if an index is at least 0
// and below such a one (within.c).
const bool *walk_sizes(const LoopKernel *kernel, Arena *arena);
bool walk_is_within(const Walker *w, const LoopStm *stm, LoopRef *index_out,
                    LoopRef *size_out);
// "float xs_3[32];" for an ALLOC of so many, that being before it.
void walk_declare_array(Walker *w, const LoopStm *alloc, const char *before);
// ", float *xs_3, int64_t n_4"
Str walk_params(Walker *w, const LoopRef *refs, uint32_t count);
// Writes a launch; and a loop that is spread over the team at work (launch.c).
void walk_launch(Walker *w, const LoopLaunch *launch);
void walk_spread(Walker *w, const LoopStm *stm);
// For people: where in the source what follows is from.
void walk_place(Walker *w, CoreLoc loc);
void walk_statement(Walker *w, const LoopStm *stm);
// Writes a statement of a vector turn if it is one for all lanes at once (vector.c).
bool walk_in_lanes(Walker *w, const LoopStm *stm);
// Writes what follows from there on and goes lane by lane, where one waits for the
// other all of it for a part before the next part: so a compiler has few values at a
// time to find registers for. Returns where it ends.
uint32_t walk_parts_in_turn(Walker *w, const LoopBody *body, uint32_t from);
// Whether it stores a vector side by side.
bool walk_stores_side_by_side(const Walker *w, const LoopStm *stm);
// Notes which results the loop stores past the caches, if they are far (stream.c).
void walk_find_streams(Walker *w, const LoopStm *loop);
bool walk_is_streamed(const Walker *w, LoopRef buffer, uint32_t bytes);
// Whether these results are, as an expression.
Str walk_are_far(Walker *w);
// Of a loop with lanes.
typedef struct WalkTurns {
    const char *begin, *end; // of its turns, as expressions
    const char *poll;        // a line that may end the run; or NULL
    bool polls_each;         // before each vector turn, else before a strip of them
    const char *after;       // a line after a turn that goes alone; or NULL
} WalkTurns;

// Whether there is a pointer to that part: "part_<buffer>_<offset>".
bool walk_has_part(const Walker *w, LoopRef buffer, LoopRef offset);
// Finds the masks of a vector turn that are bits; whether it is one of them; and the
// type of a part (bits.c).
void walk_find_bits(Walker *w, const LoopBody *vector);
bool walk_is_bits(const Walker *w, LoopRef ref);
void walk_bits_type(const Walker *w, StrBuf *out);
// Whether a loop that lanes leave one by one may ask in a few of its turns alone if one
// is left; it then ends, too, when that other value is false, if it is not 0 (leave.c).
bool walk_asks_seldom(const Walker *w, const LoopStm *loop, LoopRef *also_out);
// Writes a loop with lanes.
void walk_vector_loop(Walker *w, const LoopStm *stm, const WalkTurns *turns);
// How many turns of a loop with lanes are a block that counts in vectors, if it does;
// or 1 (tally.c).
uint32_t walk_tally_turns(const Walker *w, const LoopStm *loop);
// Writes what fetches rows ahead of a turn of a vector loop, if that helps (fetch.c).
void walk_fetch_rows(Walker *w, const LoopStm *loop);
// Which rows such a turn reads that are short and more than processors follow; NULL: it
// reads no such. Behind the load of one, fetches what lies there in the next row.
WalkRows *walk_next_rows(const Walker *w, const LoopStm *loop);
void walk_fetch_next_row(Walker *w, const LoopStm *stm);
// If a square is loaded or stored from there on, notes its rows: each will be found
// from the one before (vector_memory.c).
void walk_note_rows(Walker *w, const LoopBody *body, uint32_t from);
// Writes a square that is copied from there on (square.c); returns where it ends, or
// `from` if there is none.
uint32_t walk_square(Walker *w, const LoopBody *body, uint32_t from);
// Writes whether elements are below a bound (below.c).
void walk_below(Walker *w, const LoopStm *stm);
// Writes what is sifted by the same flags from there on (sift.c); returns likewise.
uint32_t walk_sifts(Walker *w, const LoopBody *body, uint32_t from);
// Before a loop along a row: fetches of the rows behind it what lies ahead
// (fetch_next.c).
void walk_fetch_next(Walker *w, const LoopStm *loop);
// Whether a loop in the body counts with it (fetch_next.c).
bool walk_counts(const LoopBody *body, LoopRef ref);
// How many bytes behind the elements that it loads those lie which a later loop of the
// turn loads of the same array, far away; or 0 (fetch_later.c).
uint64_t walk_later(const Walker *w, const LoopStm *load);
// The load of a loop's turn that says where to store, if it goes along an array; or
// NULL. Behind that one, fetches what lies further on.
const LoopStm *walk_find_key(const Walker *w, const LoopStm *loop);
void walk_fetch_key(Walker *w, const LoopStm *stm);
// The vectors that a value in lanes is; of others one, the value.
uint32_t walk_parts(const Walker *w, LoopRef ref);
Str walk_part(Walker *w, LoopRef ref, uint32_t part);
// Writes the function of a parallel loop and the statements that run it (function.c).
void walk_parallel(Walker *w, const LoopStm *stm);

// The same where the value has no name yet.
Str walk_name_value(Walker *w, LoopRef ref);

static inline Str walk_value(Walker *w, LoopRef ref) {
    return w->names[ref].len > 0 ? w->names[ref] : walk_name_value(w, ref);
}

#endif
