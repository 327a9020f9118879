// SPDX-License-Identifier: Apache-2.0
//
// What the functions of the rules share: the statement that is being split, the parts,
// and building blocks in core.
#ifndef WEFT_FISSION_SPLIT_H
#define WEFT_FISSION_SPLIT_H

#include "core/messages.h"
#include "core/rules.h"
#include "fission/fission.h"
#include "opt/algebra.h"

// An array that was made in parts, cut as its length says.
typedef struct FissionKnown {
    CoreRef size, *rows; // dimension 0, and the others; rows NULL: the parts know
    CoreRef *parts;
} FissionKnown;

// What has been emitted in a body that is open in the builder, so that the parts of an
// array are the same for all who take them, and travel once.
typedef struct FissionShared {
    Cse cse;
    uint32_t depth; // of the body
    struct {
        struct FissionChoice {
            CoreRef c, yes, no, out;
        } * data;
        uint32_t len, cap;
    } choices; // of fission_select, each of which is made once
    struct {
        struct FissionBounds {
            CoreRef size, unit;
            CoreRef *start, *length;
        } * data;
        uint32_t len, cap;
    } cuts; // of sizes, each of which is cut once
} FissionShared;

struct FissionSplit {
    CoreProgram *program;
    const FissionRule *rule;
    const CoreBody *body; // in which the statement stands
    const CoreStm *stm;
    uint32_t dim;
    CoreBuilder *b; // NULL for a guard
    // The parts: part p has elements start[p] to start[p] + length[p] of size.
    CoreRef size;
    uint32_t parts;
    uint32_t devices; // that share the parts, for the strategy
    bool is_eager;    // these are to have parts however little is in them
    CoreRef start[FISSION_MOST_PARTS], length[FISSION_MOST_PARTS];
    CoreRef **pieces;         // by arg: its parts, once it is split
    const Map *known;         // array -> FissionKnown *; NULL: none is
    const FissionFacts *defs; // what binds a value; NULL: the body tells
    // For rules that ask about sizes: what binds values, and what loops keep of arrays.
    const FissionFacts *facts; // NULL: none are
    const struct FuseState *states;
    CoreCopies *copies; // of the statement's bodies; NULL: none was made
    bool is_safe; // a generate whose parts, the first of which was made, ask nothing
    FissionShared *shared;    // NULL: nothing is shared
    struct FissionNear *near; // of part_near, once that was asked for a part
    // By part: where its statements stand, the operator itself and what goes with it;
    // NULL: where the whole stands.
    const CoreLoc *own, *beside;
    bool says_lengths; // to what joins the results, which are as long as the parts
    // Of a rule that does everything: results[p * out_count + k], if the whole is these
    // in a row.
    CoreRef *results;
};

// ---- scalars, folded where both operands are constants -----------------------------

CoreRef fission_op2(FissionSplit *s, CoreOp op, CoreRef x, CoreRef y);
CoreRef fission_conv(FissionSplit *s, CoreRef x, ScalarType to);
CoreRef fission_int(const FissionSplit *s, ScalarType type, int64_t value);
// yes if c, else no.
CoreRef fission_select(FissionSplit *s, CoreRef c, CoreRef yes, CoreRef no);

// ---- statements --------------------------------------------------------------------

CoreRef fission_dim(FissionSplit *s, CoreRef array, uint32_t axis);
CoreRef fission_index(FissionSplit *s, CoreRef array, CoreRef index);
CoreRef fission_slice(FissionSplit *s, CoreRef array, uint32_t axis, CoreRef start,
                      CoreRef count);
// An element of an array, or a row.
CoreType fission_row(CoreType type);
// Fails with the message, about these two, unless `holds`.
void fission_check(FissionSplit *s, CoreRef holds, CoreMessage message, CoreRef v0,
                   CoreRef v1);
// A statement of a second-order operator or loop with one body.
CoreStm *fission_emit(FissionSplit *s, CoreOp op, const CoreRef *args,
                      uint32_t arg_count, const int32_t *attrs, uint32_t attr_count,
                      CoreBody *body, const CoreType *types, uint32_t out_count);
// Opens the body of a generate of so many indices, which it returns.
CoreRef *fission_open_indices(FissionSplit *s, uint32_t rank);
// Closes it: the generate of scalars, in arrays of those sizes and types.
CoreStm *fission_close_indices(FissionSplit *s, const CoreRef *sizes,
                               const CoreRef *results, const CoreType *types,
                               uint32_t count);
// The statement again, with other args and fresh results; its bodies are copied.
CoreStm *fission_again(FissionSplit *s, const CoreRef *args);
// A copy of the statement's args, to change.
CoreRef *fission_args(const FissionSplit *s);
// Makes the statement just emitted the one that binds the results of the whole.
void fission_finish(FissionSplit *s, CoreStm *last);
// Lets the param of a fresh body be what it was, plus `by`.
void fission_shift(FissionSplit *s, CoreBody *body, uint32_t param, CoreRef by);

// ---- parts -------------------------------------------------------------------------

// What is emitted from here on stands at the place of part p; with NULL, of the whole.
void fission_at(FissionSplit *s, const CoreLoc *places, uint32_t p);
// Sets the parts of s->size.
void fission_cut(FissionSplit *s, FissionCut cut);
// The parts of an array along that axis.
CoreRef *fission_split(FissionSplit *s, CoreRef array, uint32_t axis);
// Elements of an array from `start` on, cut out as other parts are, since a kernel
// looks at all of what it slices.
CoreRef fission_window(FissionSplit *s, CoreRef array, CoreRef start, CoreRef count);
// The parts of an arg of the statement along that axis; it is split once.
const CoreRef *fission_pieces(FissionSplit *s, uint32_t arg, uint32_t axis);
// A copy of the statement's args, with part p of each array that feeds it.
CoreRef *fission_part_args(FissionSplit *s, uint32_t p);
// The parts of an array joined along the axis.
CoreRef fission_join(FissionSplit *s, uint32_t axis, const CoreRef *parts);
// The parts, joined along the axis, become that result of the whole.
void fission_concat_as(FissionSplit *s, uint32_t axis, const CoreRef *parts,
                       CoreRef result);
// results[p * out_count + k], joined along the axis, become result k of the whole.
void fission_concat(FissionSplit *s, uint32_t axis, const CoreRef *results);

// ---- questions ---------------------------------------------------------------------

bool fission_holds(const CoreRefs *refs, CoreRef ref);
// The statement that binds the value, wherever that is as far as it is known; NULL:
// none.
const CoreStm *fission_find_def(const FissionSplit *s, CoreRef ref);
// Whether running the body may be noticed other than by its results.
bool fission_has_effect(const FissionSplit *s, const CoreBody *body);
// Whether all sizes of rows that the statement makes are said: none is the constant -1.
bool fission_rows_are_said(const FissionSplit *s, uint32_t first_size);
// Emits the size that the statement asks for of an array in parts, of which one is
// that.
void fission_known_dim(FissionSplit *s, const FissionKnown *known, CoreRef part,
                       CoreStm *dim);
// NULL: it was not made in parts.
const FissionKnown *fission_known(const FissionSplit *s, CoreRef array);
// The arrays that the statement takes element by element: their common length, after
// checks that they have it, in the words of the statement.
CoreRef fission_feed_length(FissionSplit *s);

#endif
