// SPDX-License-Identifier: Apache-2.0
//
// What the files that lower core to loops share (docs/internals/loop.md says how).
//
// Arrays are known at lowering time only: an Array says where elements are or how they
// follow from their index. It is immutable once it has been handed on.
//
// Memory is tracked in blocks, sets of memory that one name may reach. A name that is
// used for the last time, and alone reaches a block of ours, may be overwritten.
#ifndef WEFT_LOOP_LOWER_H
#define WEFT_LOOP_LOWER_H

#include <setjmp.h>

#include "core/messages.h"
#include "loop/build.h"

typedef uint32_t BlockId; // 0: memory that is never ours

typedef enum ArrayKind {
    ARRAY_MEMORY,
    ARRAY_IOTA, // start + step * place, computed in the array's type
    ARRAY_FILL  // start everywhere
} ArrayKind;

typedef struct Home Home;

// An element's place is off + the sum of strides times indices.
typedef struct Array {
    uint8_t kind, elem, rank;
    bool is_dense; // strides are those of row-major order without gaps
    bool repeats;  // an element may have several indices
    LoopRef buf;   // MEMORY
    LoopRef start, step;
    LoopRef off;
    LoopRef *shape, *strides;
    BlockId block;
    const Home *if_fits; // it lies in that place if it has the place's shape
} Array;

typedef struct Val {
    LoopRef scalar;
    Array *array; // NULL: a scalar
} Val;

// Where a result should be put. A place is taken at most once.
struct Home {
    enum { PLACE_ROW, PLACE_RESULT } kind;
    uint32_t number;      // RESULT
    LoopRef buf, off;     // ROW: row-major from off; RESULT: once it is taken
    const LoopRef *shape; // likewise
    bool is_taken;
    BlockId block;      // once it is taken
    const Home *origin; // the place that this is a copy of, for one branch; or itself
};

typedef struct Block {
    BlockId same;   // the block that it has become part of, or 0
    bool is_ours;   // may be overwritten
    bool *is_owned; // of a parameter: set when it is overwritten or given away
    bool is_lent;   // of a parameter: that may cost its owner a copy
    struct {
        CoreRef *data;
        uint32_t len, cap;
    } names;
} Block;

// What lower_uses.c finds out about a statement or body.
typedef struct Uses {
    bool *moves;   // per arg or result: this is its last use
    CoreRef *dead; // arrays without a further use after the statement
    uint32_t dead_count;
    uint32_t body; // of a body: its number
} Uses;

typedef struct Name {
    const CoreStm *stm; // that binds it; NULL: a param
    uint32_t body;      // number of the body that binds it
    uint32_t depth;     // while it is being lowered: of bodies
    bool is_live;       // an array that may still be used
    uint32_t region;    // number of the region that it is bound in (lower_uses.c)
    bool is_met;        // by who looks for last uses: later in the program
    Val val;
    Home *place; // where its memory should be; or NULL
} Name;

enum { NAMES_AT_ONCE = 64 };

typedef struct Sizes {
    LoopRef *data;
    uint32_t rank;
    uint32_t bytes; // an array of elements up to this wide can have that shape
} Sizes;

typedef struct Lower {
    const CoreProgram *core;
    LoopKernel *kernel;
    Arena *arena;
    Stack stack; // of the thread that lowers
    LoopBuilder *b;
    bool is_parallel; // in root code of a parallel kernel
    bool is_for_gpus;
    bool can_sift;       // SIFT runs wherever the kernel may
    bool has_atomics_64; // these have ATOMICs of 64 bits
    Name **names;        // by CoreRef / NAMES_AT_ONCE; NULL: none of them is met yet
    Map uses;            // address of a CoreStm or CoreBody -> Uses
    struct {
        Block *data;
        uint32_t len, cap;
    } blocks;
    struct {
        CoreRef *data;
        uint32_t len, cap;
    } ended; // is_live was cleared, in order
    struct {
        Sizes *data;
        uint32_t len, cap;
    } sizes; // shapes that arrays can have
    uint32_t depth;
    uint32_t allocs, checks; // how many were emitted, unsafe ones aside
    bool is_unsafe;          // so are the checks that are emitted now
    uint32_t *funs;          // by function index: 1 + LoopFun
    bool **fun_owns;         // by function index: per param
    const char *why;
    jmp_buf exit;
} Lower;

// ---- lower_uses.c ------------------------------------------------------------------

void loop_find_uses(Lower *l, const CoreBody *body);
const Uses *loop_uses(const Lower *l, const void *stm_or_body);

// ---- lower.c: values and bodies -----------------------------------------------------

_Noreturn void loop_refuse(Lower *l, const char *why);
Val loop_val(Lower *l, CoreRef ref);
LoopRef loop_ref(Lower *l, CoreRef ref); // of a scalar
Name *loop_name(const Lower *l, CoreRef ref);
Array *loop_array(Lower *l, CoreRef ref);
void loop_bind(Lower *l, CoreRef ref, Val val);
static inline Val val_scalar(LoopRef ref) {
    return (Val){.scalar = ref};
}
static inline Val val_array(Array *a) {
    return (Val){.array = a};
}
static inline LoopRef loop_arg(Lower *l, const CoreStm *stm, uint32_t i) {
    return loop_ref(l, stm->args[i]);
}
static inline Array *loop_arg_array(Lower *l, const CoreStm *stm, uint32_t i) {
    return loop_array(l, stm->args[i]);
}
static inline CoreType loop_core_type(const Lower *l, CoreRef ref) {
    return core_type(l->core, ref);
}

// Lowers the body's statements in the loop body that is open. places (or NULL) say
// where results should be; is_ours_out tells which results' memory nobody else sees.
void loop_body(Lower *l, const CoreBody *body, const Val *args, Home **places,
               Val *results_out, bool *is_ours_out);
// Around a loop body in which core values are bound. Ended: they are gone.
void loop_enter(Lower *l);
void loop_leave(Lower *l);

// ---- checks (lower.c) ---------------------------------------------------------------

typedef struct CheckArg {
    LoopRef scalar;
    const LoopRef *shape; // if scalar is 0: shown as [3][4]
    uint32_t rank;
} CheckArg;

static inline CheckArg show_scalar(LoopRef ref) {
    return (CheckArg){.scalar = ref};
}
static inline CheckArg show_shape(uint32_t rank, const LoopRef *shape) {
    return (CheckArg){.shape = shape, .rank = rank};
}
static inline CheckArg show_const(Lower *l, int64_t value) {
    return (CheckArg){.scalar = loop_int(l->b, value)};
}
// Stops with the text, in which %0, %1... are the args, unless c.
void loop_check(Lower *l, LoopRef c, Str text, const CheckArg *args, uint32_t count);
// Likewise with a text of core/messages.def; args is an array.
#define LOWER_CHECK(l, c, message, ...)                                                \
    loop_check((l), (c), core_messages[message], (CheckArg[]){__VA_ARGS__},            \
               sizeof((CheckArg[]){__VA_ARGS__}) / sizeof(CheckArg))
void loop_check_size(Lower *l, LoopRef size);
void loop_check_index(Lower *l, const Array *a, uint32_t d, LoopRef index);
// Every index start + i * stride of a range must lie in dimension d.
void loop_check_range(Lower *l, const Array *a, uint32_t d, LoopRef start,
                      LoopRef count, LoopRef stride);
// An array of that type and shape can exist.
void loop_check_shape(Lower *l, ScalarType elem, uint32_t rank, const LoopRef *shape);
// Whether it is known to be a size: not negative.
bool loop_is_size(Lower *l, LoopRef ref);
// The sizes are those of an array that exists, and need no check any more.
void loop_know_shape(Lower *l, const Array *a);
// The number is not negative.
void loop_know_size(Lower *l, LoopRef size);
// Whether an array of that type and shape can exist and has `count` elements: a bool.
LoopRef loop_shape_holds(Lower *l, ScalarType elem, uint32_t rank, const LoopRef *shape,
                         LoopRef count);
// Whether two shapes are equal: a bool.
LoopRef loop_same_shape(Lower *l, uint32_t rank, const LoopRef *x, const LoopRef *y);
// Rows of this shape, and another one.
void loop_check_rows(Lower *l, uint32_t rank, const LoopRef *x, const LoopRef *y);

// ---- lower_memory.c ----------------------------------------------------------------

BlockId loop_block(Lower *l);
Block *loop_block_of(Lower *l, const Array *a);
// One block that holds both; 0 only if both are.
BlockId loop_join_blocks(Lower *l, BlockId x, BlockId y);
// Nobody but arg i of the statement, for which this is the last use, sees its memory.
bool loop_is_ours(Lower *l, const CoreStm *stm, uint32_t i);
// Nobody but `name`, whose last use is at hand, sees the array's memory.
bool loop_is_alone(Lower *l, const Array *a, CoreRef name);
// It is about to be overwritten or given away.
void loop_take(Lower *l, const Array *a);

Array *loop_new_array(Lower *l, ArrayKind kind, ScalarType elem, uint32_t rank);
// Row-major strides for the shape.
void loop_set_dense(Lower *l, Array *a);
// Memory in row-major order at `off` of a buffer.
Array *loop_dense(Lower *l, ScalarType elem, LoopRef buf, LoopRef off, uint32_t rank,
                  const LoopRef *shape);
LoopRef loop_count(Lower *l, uint32_t rank, const LoopRef *shape);
LoopRef loop_alloc(Lower *l, ScalarType elem, LoopRef count);
// Fresh memory, at the place if there is one that is not taken.
Array *loop_fresh(Lower *l, ScalarType elem, uint32_t rank, const LoopRef *shape,
                  Home *place);

// Memory that the turns of the statement, a map or generate of scalars, may overwrite
// to make result k, of which the earlier ones are outs; NULL: there is none.
Array *loop_reuse(Lower *l, const CoreStm *stm, uint32_t k, uint32_t rank,
                  const LoopRef *shape, Array *const *outs);

// The place of an element: pairs of stride and index, of which there are *count_out.
LoopRef loop_load(Lower *l, const Array *a, const LoopRef *index);
void loop_store(Lower *l, const Array *a, const LoopRef *index, LoopRef value);
// Where loop_is_atomic: the element becomes itself op value, with others at once.
void loop_atomic(Lower *l, CoreOp op, const Array *a, const LoopRef *index,
                 LoopRef value);
// The part at the first `depth` indices.
Array *loop_part(Lower *l, const Array *a, uint32_t depth, const LoopRef *index);
// Element or row i.
Val loop_element(Lower *l, const Array *a, LoopRef i);
void loop_set_element(Lower *l, const Array *a, LoopRef i, Val v);
// Copies between arrays of one shape that do not overlap.
void loop_copy(Lower *l, const Array *to, const Array *from);
// The array in fresh memory.
Array *loop_copied(Lower *l, const Array *a, Home *place);
// Row-major in memory that nobody else sees: itself, or a copy.
Array *loop_own(Lower *l, Array *a, bool is_ours, Home *place);
// Row-major in memory: itself, or a copy.
Array *loop_make_dense(Lower *l, Array *a);
bool loop_is_in(const Lower *l, const Array *a, const Home *place);
// Puts a body's results where they belong, after checks that they have that shape.
void loop_deliver(Lower *l, Home **places, Val *vals, uint32_t count);

// ---- lower_nest.c: loops -----------------------------------------------------------

// A nest of loops that carries nothing.
typedef struct Nest {
    uint32_t rank;
    LoopOrder order;
    LoopRef index[CORE_MAX_RANK];
    const LoopRef *shape;
    LoopRef mark;
    uint32_t allocs, known;
    LoopRef outer; // of a parallel nest: how many parallel iterations
    bool was_parallel;
} Nest;

// Opens a nest over an index space. A parallel one has its outer dimensions as one
// parallel loop, and the last as independent turns within.
void loop_open_nest(Lower *l, Nest *nest, uint32_t rank, const LoopRef *shape,
                    LoopOrder order);
void loop_close_nest(Lower *l, Nest *nest);
// Of turns that may go in any order: parallel where loops may be.
static inline LoopOrder loop_free_order(const Lower *l) {
    return l->is_parallel ? ORDER_PARALLEL : ORDER_INDEPENDENT;
}

// What is done in turn i of a loop in which several stand side by side, as the k-th.
typedef void LoopTake(const void *env, LoopRef i, uint32_t k);

// Turns from..from+count-1 in order, several in a turn of a loop, what is left one by
// one as if each were the first.
void loop_several(Lower *l, LoopRef from, LoopRef count, uint32_t several,
                  LoopTake *take, const void *env);

// An IF without results and without an else: what is emitted between open and close.
typedef struct When {
    LoopRef c;
    uint32_t known;
} When;

When loop_open_if(Lower *l, LoopRef c);
void loop_close_if(Lower *l, When when);

// A FOR or WHILE that carries values. Arrays are carried as buffer, offset and sizes.
typedef struct Carry {
    uint32_t count;
    const Val *init;        // arrays: dense
    const bool *is_ours;    // of these; NULL: all of them
    bool *is_taken;         // a turn may overwrite the state's memory, or keep it
    Val *state;             // inside: dense and ours
    LoopRef times, index;   // of a FOR
    LoopRef *params, *args; // the flattened state; width of them
    uint32_t width;
    LoopBody *guard; // WHILE: over params of its own
    LoopRef mark;
    uint32_t allocs, known;
} Carry;

// Opens the body of a FOR or, with times 0, of a WHILE. Arrays that are not ours are
// copied only if a turn takes their memory.
void loop_open_carry(Lower *l, Carry *c, const Val *init, const bool *is_ours,
                     uint32_t count, LoopRef times);
// Inside the body of a WHILE: opens the guard, whose state is not ours. Who closes it
// puts it into c->guard.
void loop_open_guard(Lower *l, Carry *c, Val *state_out);
// Closes the body with the next state; outs is the state in the end. is_ours tells of
// arrays whether their memory may be taken over.
void loop_close_carry(Lower *l, Carry *c, const Val *next, const bool *is_ours,
                      Val *outs);
// Buffer, offset and sizes of arrays in a row with the scalars; returns how many.
uint32_t loop_flatten(Lower *l, const Val *vals, uint32_t count, LoopRef *refs);
LoopType *loop_types(Lower *l, const LoopRef *refs, uint32_t count);
// Frees what was allocated since the mark, if anything was; bufs stay.
void loop_keep(Lower *l, LoopRef mark, uint32_t allocs, LoopRef *bufs, uint32_t count);
LoopRef loop_mark(Lower *l);

// ---- the operators ------------------------------------------------------------------

typedef void LowerStm(Lower *l, const CoreStm *stm);
LowerStm loop_if, loop_for, loop_while, loop_call, loop_guard, loop_user_check;
LowerStm loop_literal, loop_list, loop_iota, loop_replicate, loop_scratch, loop_concat,
    loop_split, loop_duplicate, loop_filter;
LowerStm loop_dim, loop_index, loop_slice, loop_reshape, loop_permute, loop_reverse,
    loop_update, loop_scatter;
LowerStm loop_generate, loop_map, loop_reduce, loop_scan, loop_hist, loop_sort;

// Whether result k of a loop is its state k, overwritten in place.
bool loop_is_in_place(Lower *l, const CoreStm *stm, uint32_t k);
// Says for names bound in the body where their memory should be.
void loop_assign(Lower *l, CoreRef ref, Home *place, uint32_t body);

// ---- lower_order2.c ----------------------------------------------------------------

// The common length of `count` arrays.
LoopRef loop_length(Lower *l, Array *const *arrays, uint32_t count);
// Element or row i, for the param of a body that may run often.
Val loop_feed(Lower *l, const Array *a, LoopRef i);

// What a histogram, scatter or filter takes one by one: rows of arrays, or what its
// producer makes of them.
typedef struct Feeds {
    Array **arrays;
    uint32_t count;
    LoopRef n;
    const CoreBody *producer; // NULL: the rows themselves
} Feeds;

Feeds loop_feeds(Lower *l, const CoreStm *stm);
// Whether what it makes costs less to make twice than to keep in memory.
bool loop_is_cheap(const CoreBody *producer);
// What is made of element i, if there is a producer; else NULL.
Val *loop_produce(Lower *l, const Feeds *s, LoopRef i);
// The array whose rows result k, an array, of a producer is; without one, array k.
Array *loop_feeds_array(const Feeds *s, uint32_t k);

// ---- lower_fold.c -------------------------------------------------------------------

// A reduction's operator and elements. A group is `width` values of the operator's
// type.
typedef struct Fold {
    Lower *l;
    const CoreStm *stm;
    const CoreBody *op, *pre, *acc; // pre, acc: NULL if there is none
    uint32_t width, arrays;
    bool is_compact; // there are folds inside: code must not multiply with their depth
    Array **feeds;
    const Val *ne;
    const Val *start;       // before the first element; NULL: that one is taken apart
    const LoopRef **shapes; // by component: of its rows in slots
    LoopRef n;
} Fold;

// Slots that hold a group each: per component a buffer of elements or rows.
typedef struct Slots {
    Array **parts; // by component, of rank 1 + that of a value
} Slots;

Fold loop_fold(Lower *l, const CoreStm *stm);
// The group of element i alone, or taken into what is so far.
void loop_fold_first(const Fold *f, LoopRef i, Val *out, bool *is_ours);
void loop_fold_later(const Fold *f, const Val *so_far, LoopRef i, Val *out,
                     bool *is_ours);
void loop_fold_join(const Fold *f, const Val *left, const Val *right, Val *out,
                    bool *is_ours);
// Elements from..from+count-1, left to right; count > 0 unless there is a start.
void loop_fold_serially(const Fold *f, LoopRef from, LoopRef count, Val *out);
// What is neutral to each component's operator, whatever the program takes for that;
// false: it is not known.
bool loop_neutrals(const Fold *f, Val *ne_out);
// By component of pairs of a key and its place: whether it is a key; NULL: they are not
// such (lower_places.c).
const bool *loop_keys_of_places(const Fold *f);
// What to start a fold of all n elements with, or of some if n > 0 (lower_start.c).
Val *loop_start(const Fold *f);
// Whether joining may stop with an error.
bool loop_join_fails(const Fold *f);
Slots loop_slots(const Fold *f, LoopRef count);
void loop_load_slot(const Fold *f, const Slots *s, LoopRef i, Val *out);
// is_ours: whether the values lie in memory of their own; NULL: none in the slot's.
void loop_store_slot(const Fold *f, const Slots *s, LoopRef i, const Val *vals,
                     const bool *is_ours);
void loop_copy_slot(const Fold *f, const Slots *to, LoopRef i, const Slots *from,
                    LoopRef j);
// slot i = itself op right
void loop_join_into(const Fold *f, const Slots *s, LoopRef i, const Val *right);
// slot to = left op right
void loop_join_slots(const Fold *f, const Slots *to, LoopRef i, const Slots *left,
                     LoopRef j, const Slots *right, LoopRef k);

// Stamped as nested: left to right up to a block.
bool loop_is_nested(CoreStamp stamp);

// An IF whose results are a group: the bodies are emitted between these.
typedef struct Fork {
    LoopBody *bodies[2];
    uint32_t known;
} Fork;

void loop_open_fork(Lower *l, Fork *fork);
// Ends the first body, and begins the second; ends the second.
void loop_close_arm(const Fold *f, Fork *fork, uint32_t arm, Val *vals);
void loop_close_fork(const Fold *f, const Fork *fork, LoopRef c, Val *out);

// The aligned trees over what was pushed so far, as a binary counter.
typedef struct Tree {
    Slots levels;  // the last one is for a tree that is being made
    LoopRef spare; // its number
} Tree;

// For up to that many pushes.
Tree loop_tree(const Fold *f, LoopRef blocks);
// Pushes what lies in slot spare as number `count`.
void loop_tree_push(const Fold *f, const Tree *tree, LoopRef count);
// The tree over `count` > 0 pushes into slot spare; the trees stay.
void loop_tree_total(const Fold *f, const Tree *tree, LoopRef count);

// How many blocks n elements make, and where block b ends.
LoopRef loop_block_count(Lower *l, LoopRef n);
LoopRef loop_block_size(Lower *l, LoopRef n, LoopRef b);
Val *loop_group(const Fold *f);
bool *loop_flags(const Fold *f);

// ---- lower_count.c ------------------------------------------------------------------

// Whether it adds up bools, in any order.
bool loop_is_count(const Fold *f);
// How many elements a block of the fold has.
int64_t loop_fold_block(const Fold *f);
// The sums of so many elements of a block.
void loop_count_block(const Fold *f, LoopRef from, LoopRef size, Val *out);

// ---- lower_narrow.c -----------------------------------------------------------------

// Whether it adds up bytes or shorts as wider integers; and the sum of so many elements
// of a block.
bool loop_is_narrow_sum(const Fold *f);
void loop_sum_narrow(const Fold *f, LoopRef from, LoopRef size, Val *out);

// ---- lower_best.c -------------------------------------------------------------------

// If the fold finds the best key and its place: what each run of so many elements
// amounts to, in slots, with the run's beginning for the place; false: it does not.
// Then, of the best of all runs, the place, and the key that is there.
bool loop_best_runs(const Fold *f, const Slots *runs, LoopRef from, LoopRef size,
                    LoopRef run);
void loop_best_place(const Fold *f, LoopRef from, LoopRef size, LoopRef run, Val *out);

// ---- lower_scan_rows.c --------------------------------------------------------------

// Scans so many elements into `outs`, with the carry into them; returns what they
// amount to without it.
const Val *loop_scan_rows(const Fold *f, const Slots *outs, LoopRef from, LoopRef size,
                          const Val *carry_in);
// What a block amounts to, save the last one, for which nobody asks: there it is
// something else.
void loop_sum_rows(const Fold *f, LoopRef block, Val *total);

// ---- lower_scan_tiles.c -------------------------------------------------------------

// Whether teams of work items scan it, by tiles; and such a scan, in a parallel kernel.
bool loop_scans_tiles(const Fold *f);
void loop_scan_tiles(const Fold *f, const Slots *outs);
// A tile has rows, one for each item of a team, that lie so far apart that as many
// items in a column touch as many banks of its memory. The place of its number k.
enum { LOOP_TILE_ROW = 16, LOOP_TILE_ROWS = 32, LOOP_TILE_APART = LOOP_TILE_ROW + 1 };
LoopRef loop_tile_place(Lower *l, LoopRef k);

#endif
