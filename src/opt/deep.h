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

enum { DEEP_FEEDS = 8 };

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
CoreRef deep_emit_size(CoreBuilder *b, FuseSize size);
// Whether the statement is such a nest. Its program, builder and so on must be set.
bool deep_find(Deep *d, DeepScope *s, const CoreStm *stm);
// Emits what tells whether the nest is long and wide enough, and asks for its sizes.
CoreRef deep_emit_wanted(Deep *d);

static inline bool deep_has(const CoreRef *refs, uint32_t count, CoreRef ref) {
    for (uint32_t i = 0; i < count; i++)
        if (refs[i] == ref) return true;
    return false;
}

// ---- maps (deep_rows.c) -------------------------------------------------------------

static inline CoreType deep_elements(const Deep *d, uint32_t rank) {
    return (CoreType){core_type(d->program, d->fold->outs[0]).elem, (uint8_t)rank};
}

CoreRef deep_op2(Deep *d, CoreOp op, CoreRef x, CoreRef y);
CoreRef deep_number(Deep *d, int64_t value);
// A statement that cannot be out of bounds.
CoreRef deep_emit_safe(Deep *d, CoreOp op, const CoreRef *args, uint32_t count,
                       CoreType type, const int32_t *attrs, uint32_t attr_count);
// A copy of the map on these arrays, in which `map` says what others mean.
CoreStm *deep_emit_map(CoreBuilder *b, const CoreStm *stm, const CoreRef *args,
                       Map *map);
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

// ---- maps around nests (deep_maps.c) ------------------------------------------------

// Emits a branch in place of the statement, if it is a nest or a map around nests, with
// such results: by parts, or as it was. What is said of a nest is taken from `like`.
bool deep_emit_choice(const Deep *like, const CoreStm *stm);

#endif
