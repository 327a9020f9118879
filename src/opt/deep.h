// SPDX-License-Identifier: Apache-2.0
//
// What the files of the pass `deep` share. deep_find.c finds nests, and what must hold
// of sizes; deep_fold.c folds their sums by lanes and blocks; deep_rows.c makes the
// maps of which each part is one; deep_maps.c goes through maps around nests; deep.c is
// the pass.
#ifndef WEFT_OPT_DEEP_H
#define WEFT_OPT_DEEP_H

#include "opt/fuse.h"
#include "opt/rewrite.h"

enum { DEEP_FEEDS = 8, DEEP_OUTS = 4 };

// ---- finding them (deep_find.c) -----------------------------------------------------

// What must hold for a statement to go by parts, told outside of it.
typedef struct DeepScope {
    const Rewrite *rw;
    Map inside; // what is bound in the statement's bodies
    struct {
        FuseSize *data;
        uint32_t len, cap;
    } equal; // sizes, by two, that must be equal
} DeepScope;

// A nest: a map over rows of a map over columns that folds elements of both.
typedef struct Deep {
    CoreProgram *program;
    Rewrite *rw;
    CoreBuilder *b;
    OptStrips strips;
    const CoreStm *outer, *inner, *fold;
    uint32_t at;                // of the outer map's statements the inner one
    CoreRef feeds[DEEP_FEEDS];  // arrays, or arrays of rows, that are folded
    uint32_t axes[DEEP_FEEDS];  // along which of their dimensions
    CoreRef row_of[DEEP_FEEDS]; // the row of the outer map's body that it is; 0: none
    uint32_t count, lanes;
    FuseSize elements_size, rows_size, columns_size;
    CoreRef n, rows, columns; // the same, once they are asked for
    const CoreStm *sums;      // the outer map, of which nothing but the sums is wanted
} Deep;

DeepScope deep_scope(const Rewrite *rw, const CoreStm *stm);
// Whether it is bound in the statement's bodies.
bool deep_is_inside(const DeepScope *s, CoreRef ref);
// Finds where the size can be told outside of the statement; false: nowhere.
bool deep_tell(const DeepScope *s, FuseSize *size);
// Notes that the two must be equal, if they are not known to be; false: nobody can
// tell.
bool deep_want_equal(DeepScope *s, FuseSize a, FuseSize b);
// The same of the rows of all arrays of the map, or reduction.
bool deep_want_lengths(DeepScope *s, const CoreStm *stm);
// Whether the size is known to be less than that.
bool deep_is_less(const Rewrite *rw, FuseSize size, int64_t least);
CoreRef deep_emit_size(CoreBuilder *b, FuseSize size);
// Which param of the body that is; its number of params: none.
uint32_t deep_find_param(const CoreBody *body, CoreRef ref);
// Whether the statement is such a nest. Its program, builder and so on must be set.
bool deep_find(Deep *d, DeepScope *s, const CoreStm *stm);
// Emits what tells whether the nest is long and wide enough, and asks for its sizes.
CoreRef deep_emit_wanted(Deep *d);

static inline bool deep_has(const CoreRef *refs, uint32_t count, CoreRef ref) {
    for (uint32_t i = 0; i < count; i++)
        if (refs[i] == ref) return true;
    return false;
}

// ---- statements and maps like others (deep_like.c) ----------------------------------

CoreRef deep_number(CoreBuilder *b, int64_t value);
// A statement that cannot be out of bounds.
CoreRef deep_emit_safe(CoreBuilder *b, CoreOp op, const CoreRef *args, uint32_t count,
                       CoreType type, const int32_t *attrs, uint32_t attr_count);
// The array, which is made here if it is a view: as one from outside it might be
// copied.
CoreRef deep_view(const Rewrite *rw, CoreBuilder *b, CoreRef array);
// How many levels the tree of pairs has over items up to number `last`.
CoreRef deep_emit_levels(CoreBuilder *b, CoreRef last);
// A copy of the map on these arrays, in which `map` says what others mean.
CoreStm *deep_emit_map(CoreBuilder *b, const CoreStm *stm, const CoreRef *args,
                       Map *map);

// A loop with an index from 0 on, and arrays or numbers that it carries.
typedef struct DeepLoop {
    CoreRef index, state[DEEP_OUTS];
    uint32_t count;
    CoreRef args[1 + DEEP_OUTS]; // how often, and what is carried at first
    CoreType types[DEEP_OUTS];
} DeepLoop;

DeepLoop deep_open_loop(CoreBuilder *b, CoreRef times, const CoreRef *init,
                        uint32_t count);
const CoreRef *deep_close_loop(CoreBuilder *b, const DeepLoop *loop,
                               const CoreRef *next);
// Numbers by their place in arrays of one shape.
void deep_open_space(CoreBuilder *b, CoreRef *place_out, uint32_t rank);
const CoreRef *deep_close_space(CoreBuilder *b, const CoreRef *shape, uint32_t rank,
                                const CoreRef *values, uint32_t count);

// Statements of which a body is to be made.
typedef struct DeepStms {
    CoreStm **data;
    uint32_t len, cap;
} DeepStms;

// A map like that one, but for its body's statements and results.
CoreStm *deep_map_like(CoreProgram *p, const CoreStm *stm, const DeepStms *stms,
                       const CoreRef *results, uint32_t count);
// Says the sizes of the map's rows anew.
void deep_set_row_sizes(CoreProgram *p, CoreStm *map, const CoreRef *sizes,
                        uint32_t count);
// Takes away those of the map's arrays of which it makes no use, and gives it others,
// whose rows are `params` in its body.
void deep_change_arrays(CoreBuilder *b, CoreStm *map, const CoreRef *arrays,
                        const CoreRef *params, uint32_t count);
// Those of the first statements of a body of which the other one makes use.
DeepStms deep_wanted(CoreProgram *p, const CoreBody *of, uint32_t count,
                     const CoreBody *body);

// ---- maps (deep_rows.c) -------------------------------------------------------------

static inline CoreType deep_elements(const Deep *d, uint32_t rank) {
    return (CoreType){core_type(d->program, d->fold->outs[0]).elem, (uint8_t)rank};
}

CoreStm *deep_sums_alone(Deep *d);
// The rows of a strip: where they begin, how many, and what is made of each first.
typedef struct DeepRows {
    CoreRef row, rows;
    const CoreRef *made;
} DeepRows;

// Emits what makes, of `rows` rows from `row` on, those that the sums are of; or NULL.
const CoreRef *deep_emit_made(Deep *d, CoreRef row, CoreRef rows);
// How many bytes of them one row takes.
uint32_t deep_made_bytes(const Deep *d);
// The sums of `count` elements of each row from `start` on, every so manyth.
CoreRef deep_emit_nest(Deep *d, DeepRows at, CoreRef start, CoreRef count);
// Whether the nest gives the sums, and nothing else.
bool deep_is_bare(const Deep *d);
// What the nest makes of these sums.
void deep_emit_rest(Deep *d, CoreRef sums);

// ---- parts (deep_fold.c) ------------------------------------------------------------

// Emits the nest by parts; the last statement of the open body has its results then.
void deep_emit_parts(Deep *d);

// ---- tall columns (deep_tall_find.c, deep_tall.c) -----------------------------------

// A fold of each column that goes down with those beside it.
typedef struct DeepFold {
    const CoreStm *stm;
    uint32_t at; // of the map's statements this one
    CoreRef
        feeds[DEEP_FEEDS]; // matrices, one column for each, or arrays that all share
    bool is_column[DEEP_FEEDS];
    bool asks_more; // than elements of columns
    uint32_t count, lanes;
} DeepFold;

// A map over columns that folds them.
typedef struct DeepTall {
    CoreProgram *program;
    Rewrite *rw;
    CoreBuilder *b;
    const CoreStm *map;
    struct {
        DeepFold *data;
        uint32_t len, cap;
    } folds;
    FuseSize rows_size, columns_size;
    CoreRef rows, columns; // the same, once they are asked for
} DeepTall;

// Whether the statement is such a map. Its program, rewrite and builder must be set.
bool deep_find_tall(DeepTall *t, DeepScope *s, const CoreStm *stm);
// Emits what tells whether columns are tall and many, and asks for sizes.
CoreRef deep_emit_tall_wanted(DeepTall *t);
// Emits the map with its folds side by side; the last statement of the open body has
// its results then.
void deep_emit_tall(DeepTall *t);

// ---- maps around nests (deep_maps.c) ------------------------------------------------

// Emits a branch in place of the statement, if it is a nest or a map around nests, with
// such results: by parts, or as it was. What is said of a nest is taken from `like`.
bool deep_emit_choice(const Deep *like, const CoreStm *stm);

#endif
