// SPDX-License-Identifier: Apache-2.0
//
// What the files of the interpreter share. A run first prepares the functions it can
// reach: every value gets a slot, every statement becomes a step (prepare.c), and each
// use of an array that is the last one is marked (lastuse.c). Then it executes.
//
// Invariant: every reference to an array that the run owns lies in a slot that is
// marked as an array's; a slot without one is NULL. So a failure may leave from
// anywhere by interp_fail, and the driver releases all slots. A function is active at
// most once (there is no recursion), so slots and steps need no stack of frames.
#ifndef WEFT_INTERP_RUN_H
#define WEFT_INTERP_RUN_H

#include <setjmp.h>
#include <string.h>

#include "core/messages.h"
#include "core/rules.h"
#include "interp/interp.h"
#include "rt/store.h"

typedef union Slot {
    uint64_t bits;
    RtArray *array;
} Slot;

typedef struct Run Run;
typedef struct Step Step;

// A prepared body. After it ran, all slots of arrays bound in it are empty.
typedef struct Code {
    Step *steps;
    uint32_t step_count;
    uint32_t param, param_count;  // the params lie in slots of their own, in a row
    uint32_t result_count;
    uint32_t *results;            // slots
    bool *moves;                  // per result: its slot gives its reference away
    uint32_t *unused;             // array params that nothing uses
    uint32_t unused_count;
    uint32_t *awaits;  // results that are scalars which a kernel makes
    uint32_t await_count;
    uint32_t spare;  // of a loop whose results permute its params: slots for them, or 0
} Code;

// Where a second-order step reads its elements: the rows of an array, or its scalars.
typedef struct Feed {
    char *at;       // element 0
    int64_t step;   // bytes to the next
    size_t bytes;   // of a scalar
    RtArray *array;
    uint32_t view; // slot of the view that goes along the rows; 0: elements are scalars
} Feed;

// Where a second-order step writes one of its results, in the step's out slot.
typedef struct Sink {
    char *at;            // NULL: the shape is not known before the first row
    size_t bytes;        // of an element or row
    uint32_t space_rank;
    uint32_t row_rank;
    int64_t *shape;      // of the whole; a row size may still be -1
} Sink;

// How a step runs.
typedef enum StepForm {
    FORM_SCALAR1, FORM_SCALAR2, FORM_SCALAR3,
    FORM_ELEMENT,  // INDEX down to a scalar
    FORM_OTHER,
    FORM_AWAITS,  // some of its args are scalars that a kernel makes; then as step->then
} StepForm;

// A result of a kernel that a later CONCAT of the same body joins with others.
typedef struct Joined {
    const Step *by; // NULL: it is not
    uint32_t part;
} Joined;

struct Step {
    const CoreStm *stm;
    uint8_t form, then, in, to;  // two StepForms; types of a scalar operator
    bool looks;            // FORM_OTHER: at elements of its args
    uint32_t out;          // the outs lie in a row of slots from here
    uint32_t *args;        // slots
    bool *moves;           // per arg: this is the last use, the reference may be taken
    uint32_t *dead;        // arrays without a further use after this step
    uint32_t dead_count;
    uint32_t spare;        // slots of the operator's own
    uint32_t made;         // slots of what the producer made, if there is one
    void (*run)(Run *run, const Step *step);  // FORM_OTHER
    Code **bodies;
    Feed *feeds;
    Sink *sinks;
    int64_t *index_space;  // GENERATE
    RtValue *offer;        // CALL of a kernel: args, then results
    Joined *joined;        // its results; NULL: none
    RtLay *lays;
};

// A loop or second-order operator that is running.
typedef struct Loop {
    const Step *step;
    struct Loop *outer;
    int64_t at, total;  // turns done and turns to do; total -1: unknown
} Loop;

typedef struct Call {
    const Step *step;
    struct Call *outer;
} Call;

// A step that is being recorded.
typedef struct Recorded {
    const Step *step;
    struct Recorded *outer;
    RtSpan span;
} Recorded;

struct Run {
    const CoreProgram *program;
    const InterpOptions *options;
    RtHeap *heap;
    Arena *arena;
    Arena *code_arena;  // of what is prepared
    struct { Slot *data; uint32_t len, cap; } slots;  // slot 0 is unused
    struct { bool *data; uint32_t len, cap; } is_array;
    // By slot of a scalar: its promise, as long as nobody has looked at it. NULL: nothing
    // runs beside.
    RtArray **promised;
    struct { CoreLoc *data; uint32_t len, cap; } calls;  // of the kernel that is offered
    struct { RtValue *data; uint32_t len, cap; } parts;  // of the whole that is promised
    Code **funs;  // by function index; NULL: not prepared
    Code *entry;
    Call *call;   // innermost call of a function kept out of line
    Loop *loop;   // innermost loop
    // Polls until progress is next told, and from one telling to the next: as many as
    // take about 20 ms, found out on the way.
    uint32_t polls, interval;
    double told;  // when
    RtEvents *events;  // NULL inside a second-order statement, which counts as one
    Recorded *recorded;  // innermost
    jmp_buf *exit;
    Status status;
    InterpError error;
};

// ---- prepare.c, lastuse.c -----------------------------------------------------------

void interp_prepare(Run *run, const CoreFun *fun);
void interp_mark_last_uses(Run *run);

// ---- failures (interp.c); none of them returns --------------------------------------

_Noreturn void interp_fail(Run *run, const Step *step, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Stops with a text that all engines share, in which %0, %1, %2 are these.
_Noreturn void interp_say(Run *run, const Step *step, CoreMessage message,
                          const char *v0, const char *v1, const char *v2);
const char *interp_number_text(Run *run, int64_t number);
_Noreturn void interp_fail_memory(Run *run, const Step *step, size_t bytes);
_Noreturn void interp_fail_deep(Run *run, const Step *step);  // the stack is low
_Noreturn void interp_fail_cancelled(Run *run, const Step *step);
// The run is to end; what runs beside says why.
_Noreturn void interp_fail_beside(Run *run);
// Where the run is, for an engine that may fail when the run has gone on.
void interp_note_place(Run *run, InterpOffer *offer);
// As an engine failed.
_Noreturn void interp_fail_as(Run *run, const InterpError *error);
// Calls interp_fail unless core_eval succeeded with these operands.
_Noreturn void interp_fault(Run *run, const Step *step, CoreFault fault,
                            const uint64_t *args);
// "[3][4]", for messages.
const char *interp_shape_text(Run *run, uint32_t rank, const int64_t *shape);

// ---- slots --------------------------------------------------------------------------

static inline uint64_t interp_load(size_t bytes, const char *at) {
    uint8_t b;
    uint16_t h;
    uint32_t w;
    uint64_t d;
    switch (bytes) {
    case 1: memcpy(&b, at, 1); return b;
    case 2: memcpy(&h, at, 2); return h;
    case 4: memcpy(&w, at, 4); return w;
    default: memcpy(&d, at, 8); return d;
    }
}

static inline void interp_store(size_t bytes, char *at, uint64_t bits) {
    uint8_t b = (uint8_t)bits;
    uint16_t h = (uint16_t)bits;
    uint32_t w = (uint32_t)bits;
    switch (bytes) {
    case 1: memcpy(at, &b, 1); return;
    case 2: memcpy(at, &h, 2); return;
    case 4: memcpy(at, &w, 4); return;
    default: memcpy(at, &bits, 8); return;
    }
}

// The value of an index of any integer type; a u64 beyond i64 comes out negative.
static inline int64_t interp_wide(ScalarType type, uint64_t bits) {
    unsigned unused = 64 - 8u * scalar_info[type].bytes;
    return scalar_is_signed(type) ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}
static inline RtArray *interp_array(const Run *run, uint32_t slot) {
    return run->slots.data[slot].array;
}
static inline int64_t interp_int(const Run *run, uint32_t slot) {
    return (int64_t)run->slots.data[slot].bits;
}
static inline ScalarType interp_elem(const Run *run, CoreRef ref) {
    return (ScalarType)core_type(run->program, ref).elem;
}

// Sees to it that an array is there, wherever; its shape is known then.
void interp_await(Run *run, const RtArray *a);
// The same for scalars in slots.
void interp_await_scalars(Run *run, const uint32_t *slots, uint32_t count);
// Sees to it that the elements of an array are on the host.
void interp_fetch(Run *run, const Step *step, RtArray *a);
// Fails unless so many bytes were brought from a device.
void interp_check_brought(Run *run, const Step *step, Status status, size_t bytes);
// Empties a slot of an array.
void interp_drop(Run *run, uint32_t slot);
// Fills `count` slots from others: lend shares references, give moves them.
void interp_lend(Run *run, uint32_t to, uint32_t from, uint32_t count);
void interp_give(Run *run, uint32_t to, uint32_t from, uint32_t count);
void interp_drop_all(Run *run, uint32_t first, uint32_t count);
// Fills the slot from the step's arg, moving the reference if this is its last use.
void interp_pass(Run *run, const Step *step, uint32_t arg, uint32_t to);

// ---- arrays.c -----------------------------------------------------------------------

// Puts a new array into an empty slot; fails on sizes that are negative or too large.
RtArray *interp_new(Run *run, const Step *step, uint32_t slot, ScalarType elem,
                    uint32_t rank, const int64_t *shape);
RtArray *interp_view(Run *run, const Step *step, uint32_t slot, RtArray *a, char *data,
                     uint32_t rank, const int64_t *shape, const int64_t *strides);
// Puts a copy of a, in row-major order, into an empty slot.
RtArray *interp_copy(Run *run, const Step *step, uint32_t slot, RtArray *a);
// Puts the arg into the slot such that it may be overwritten: itself at its last use
// when nobody shares it, else a copy.
RtArray *interp_own(Run *run, const Step *step, uint32_t arg, uint32_t slot);
// The number of points of an index space; fails on sizes that are negative or too large
// for an array of that type.
int64_t interp_points(Run *run, const Step *step, ScalarType elem, uint32_t rank,
                      const int64_t *shape);
// Where the element at that offset lies; an empty array has no other place than its
// data.
static inline char *interp_at(const RtArray *a, int64_t offset) {
    return rt_count(a) == 0 ? a->data
                            : a->data + offset * (int64_t)scalar_info[a->elem].bytes;
}

// ---- execution (step.c) -------------------------------------------------------------

// Runs a body whose params are filled; interp_take then moves its results into slots.
void interp_code(Run *run, const Code *code);
// The innermost step that is being recorded is over, be it done or not.
void interp_end_recorded(Run *run);
void interp_take(Run *run, const Code *code, uint32_t to);
// The index in a slot, which must be in [0, size of dimension d).
int64_t interp_check_index(Run *run, const Step *step, const RtArray *a, uint32_t d,
                           int64_t index);
// A loop that is entered is the innermost one until it is left.
static inline void interp_enter(Run *run, Loop *loop, const Step *step, int64_t total) {
    *loop = (Loop){.step = step, .outer = run->loop, .total = total};
    run->loop = loop;
}
static inline void interp_leave(Run *run) {
    run->loop = run->loop->outer;
}
void interp_tell_progress(Run *run);
static inline void interp_poll(Run *run, const Step *step) {
    const atomic_bool *cancel = run->options->cancel;
    if (cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed))
        interp_fail_cancelled(run, step);
    const InterpBeside *beside = run->options->beside;
    if (beside != NULL && !beside->poll(run->options->kernel_data))
        interp_fail_beside(run);
    if (--run->polls == 0) interp_tell_progress(run);
}
// The same at the start of turn `at` of the innermost loop, from 0.
static inline void interp_turn(Run *run, const Step *step, int64_t at) {
    run->loop->at = at;
    interp_poll(run, step);
}

// ---- feeds and sinks (order2.c) -----------------------------------------------------

// Opens the step's feeds on `count` args from `first` on; returns their common length.
int64_t interp_open_feeds(Run *run, const Step *step, uint32_t first, uint32_t count);
// Fills `count` slots with element i of the feeds from `first` on.
void interp_feed(Run *run, const Step *step, uint32_t first, uint32_t count, int64_t i,
                 uint32_t to);
void interp_close_feeds(Run *run, const Step *step, uint32_t count);
// Makes what the step's producer, its last body, makes of element i, in slots `made`.
void interp_produce(Run *run, const Step *step, int64_t i);
// Empties these.
void interp_drop_made(Run *run, const Step *step);
// Opens sink `k` of n elements whose row sizes are in `row` (-1: as the rows have it).
void interp_open_sink(Run *run, const Step *step, uint32_t k, uint32_t space_rank,
                      const int64_t *space, const int64_t *row);
// Writes the value in a slot as element or row i.
void interp_sink(Run *run, const Step *step, uint32_t k, int64_t i, uint32_t from);
// Makes the result if no row came; `row` says what to put for -1 (NULL: 0).
void interp_close_sink(Run *run, const Step *step, uint32_t k, const int64_t *row);

// ---- folds (reduce.c), used by scans and histograms ---------------------------------

// A reduction's operator and elements. A group is `width` slots that hold one value of
// the operator's type.
typedef struct Fold {
    Run *run;
    const Step *step;
    const Code *op, *pre, *acc;  // pre, acc: NULL if there is none
    uint32_t width;              // results of the operator
    uint32_t arrays;             // feeds
} Fold;

// The aligned trees over what was pushed so far, as a binary counter: the tree over
// 2^k pushes lies in group k when bit k of the count is set.
typedef struct Tree {
    uint32_t groups;
    uint64_t count;
} Tree;

enum {
    FOLD_LANES = 32,
    FOLD_ROW = 16,
    TREE_LEVELS = 51,
    MOST_PARTS = 64,
    PART_LEVELS = 7
};

Fold interp_fold(Run *run, const Step *step);
void interp_fold_first(const Fold *f, int64_t i, uint32_t group);
void interp_fold_later(const Fold *f, int64_t i, uint32_t group);
// to = left op right; both are emptied, `to` may be one of them.
void interp_fold_join(const Fold *f, uint32_t to, uint32_t left, uint32_t right);
void interp_tree_push(const Fold *f, Tree *tree, uint32_t group);
// The tree over all pushed, an odd last one moving up. The trees stay.
void interp_tree_total(const Fold *f, const Tree *tree, uint32_t group);
// Slots that a REDUCE or SCAN of that width needs for itself: groups laid out as below.
enum {
    GROUP_TOTAL, GROUP_NEXT, GROUP_CARRY, GROUP_SUM, GROUP_OUT,
    GROUP_LANES,
    GROUP_TREE = GROUP_LANES + FOLD_LANES,
    GROUP_COUNT = GROUP_TREE + TREE_LEVELS
};
static inline uint32_t interp_group(const Fold *f, uint32_t number) {
    return f->step->spare + number * f->width;
}
// How the shape of a reduction or scan of n elements is chosen: nested ones of up to a
// block go left to right.
static inline bool interp_is_serial(CoreStamp stamp, int64_t n) {
    if (stamp == STAMP_NESTED_LANES || stamp == STAMP_NESTED_RUNS ||
        stamp == STAMP_NESTED_ROWS)
        return n <= CORE_BLOCK;
    return stamp == STAMP_FREE || stamp == STAMP_NONE;
}
static inline bool interp_has_lanes(CoreStamp stamp) {
    return stamp == STAMP_NESTED_LANES || stamp == STAMP_OUTER_LANES;
}

// ---- the operators that are not scalar ----------------------------------------------

typedef void StepFunction(Run *run, const Step *step);
StepFunction interp_check, interp_guard, interp_if, interp_for, interp_while,
    interp_call, interp_trace;
StepFunction interp_literal, interp_list, interp_iota, interp_replicate, interp_scratch,
    interp_concat, interp_split, interp_duplicate, interp_filter,
    interp_sort;
StepFunction interp_dim, interp_index, interp_slice, interp_reshape, interp_permute,
    interp_reverse, interp_update, interp_scatter;
StepFunction interp_generate, interp_map, interp_reduce, interp_scan, interp_hist;

#endif
