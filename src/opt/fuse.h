// SPDX-License-Identifier: Apache-2.0
//
// What the files of the pass `fuse` share: fuse.c decides, the others know.
#ifndef WEFT_OPT_FUSE_H
#define WEFT_OPT_FUSE_H

#include "core/rules.h"
#include "opt/rewrite.h"

// ---- sizes (fuse_size.c) ------------------------------------------------------------

// Dimension `axis` of `array`, or with array 0 the size itself.
typedef struct FuseSize {
    CoreRef value, array;
    int32_t axis;
} FuseSize;

// An array that a loop carries has in one dimension the size of what it starts with.
typedef struct FuseState {
    const struct FuseState *outer;
    CoreRef param, first;
    int32_t axis;
} FuseState;

bool fuse_is_equal(FuseSize a, FuseSize b);
// Where a size comes from.
FuseSize fuse_find_size(const Rewrite *rw, const FuseState *states, FuseSize size);
// Whether that holds of dimension `axis` of what the loop carries as number `k`.
bool fuse_keeps_size(const Rewrite *rw, const FuseState *states, const CoreStm *loop,
                     uint32_t k, int32_t axis);
// All that the statement, if it is a loop, keeps, beside those around it.
const FuseState *fuse_loop_states(const Rewrite *rw, const FuseState *states,
                                  const CoreStm *loop);
// What the body of the statement binds, its params besides: a set.
void fuse_find_bound(const CoreProgram *p, const CoreStm *stm, Map *bound_out);
// Whether two arrays are known to have equally many rows.
bool fuse_same_length(const Rewrite *rw, CoreRef a, CoreRef b);
// The same at `before`, or at the end of the open body if it is not there yet; a
// statement that comes before may have met both arrays, and found them to be so.
bool fuse_have_met(const Rewrite *rw, CoreRef a, CoreRef b, const CoreStm *before);
// Whether each row of what the producer gives for result `k` is known to have the shape
// that the statement says, or to have the same for all rows where it leaves it open.
bool fuse_has_equal_rows(const Rewrite *rw, const CoreStm *producer, uint32_t k);
// Emits the checks by which the statement finds that its arrays differ in length, save
// where they are known not to.
void fuse_check_lengths(Rewrite *rw, const CoreStm *stm);

// ---- generates that cannot fail (fuse_safe.c) ---------------------------------------

// Whether no element of it fails, by what is known where the values are bound.
bool fuse_is_safe(const Rewrite *defs, const FuseState *states,
                  const CoreStm *generate);

// An index of the generate, or a size, or neither, plus a constant.
typedef struct FuseForm {
    uint32_t index; // that number counted from 1; 0: none
    FuseSize size;  // all 0: none
    int64_t base;   // between -FUSE_FARTHEST and that, unless there is neither
} FuseForm;

enum { FUSE_FARTHEST = 1 << 20 }; // from an index, so that no sum wraps around

FuseForm fuse_find_form(const Rewrite *defs, const FuseState *states,
                        const CoreStm *generate, CoreRef ref);

// The size by which the statement takes a remainder that cannot fail, since the
// generate has a dimension of that size; all 0: there is none.
FuseSize fuse_find_modulus(const Rewrite *defs, const FuseState *states,
                           const CoreStm *generate, const CoreStm *stm);

// ---- how far from an index (fuse_offset.c) ------------------------------------------

enum { FUSE_WIDEST_END = 2 };

// Index i of dimension 0 of a generate plus `by`, but for so many of the first i, and
// of the last ones, where it may be anything.
typedef struct FuseOffset {
    int64_t by;
    uint32_t first, last; // FUSE_WIDEST_END at most
    // What it is there, too, is i plus something, if there are more than twice as many:
    // of the first i, in their order, and of the last ones, from the end.
    bool knows_ends;
    int64_t first_by[FUSE_WIDEST_END], last_by[FUSE_WIDEST_END];
    bool goes_around; // or it is i plus `by` everywhere, and behind the last is the
                      // first
} FuseOffset;

// Whether the value is such a one, and where it may be anything, can be told from i
// alone what it is (fuse_emit_at).
bool fuse_find_offset(const Rewrite *defs, const FuseState *states,
                      const CoreStm *generate, const Map *bound, CoreRef ref,
                      FuseOffset *offset_out);
// Whether two such values are the same for each i, as far as that can be seen.
bool fuse_are_alike(const Rewrite *defs, CoreRef a, CoreRef b);
// Emits what such a value is where i is that. It cannot fail.
CoreRef fuse_emit_at(CoreBuilder *b, const Rewrite *defs, const CoreStm *generate,
                     CoreRef ref, CoreRef i);

// ---- order (fuse_order.c) -----------------------------------------------------------

// Whether anything in the body may be noticed but by its results. What the program asks
// to leave the checks out of is not, nor does it count that memory may run out for as
// many numbers as an array has elements.
bool fuse_may_fail(const Rewrite *rw, const CoreBody *body);
// Whether the statement may fail once its elements are there.
bool fuse_consumer_may_fail(const Rewrite *rw, const CoreStm *stm);
// Whether the producer, which stands in the open body, may run at its end instead: no
// error changes its place among others, and no array that is overwritten in place
// meanwhile, or by the consumer, is needed for longer.
bool fuse_may_move(const Rewrite *rw, const CoreStm *producer, const CoreStm *consumer);
// How many scalar statements the body is, roots and divisions by what is not constant
// counting for more, and short loops for all their turns; UINT32_MAX if it makes
// arrays, or loops longer.
uint32_t fuse_weight(const CoreProgram *p, const CoreBody *body);

// ---- producers (fuse.c) -------------------------------------------------------------

// A map, or a generate of one dimension.
bool fuse_is_producer(const CoreStm *stm);
// Whether it is as well made anew, from one scalar of each element of one array, as
// loaded, and cannot fail.
bool fuse_is_small(const Rewrite *rw, const CoreStm *producer);
// Whether all uses of the array are its elements: those that a statement takes one by
// one, or single ones.
bool fuse_is_fed(const Rewrite *rw, CoreRef array);
// A small producer is made anew of the array, and stays where it is, too.
void fuse_use_again(Rewrite *rw, CoreRef array);
// Its elements are taken once instead of twice.
void fuse_use_less(Rewrite *rw, CoreRef array);
// The producer's arrays, a generate's being its indices. Its own errors, of lengths or
// a size, are raised where it stands.
const CoreRef *fuse_producer_arrays(Rewrite *rw, const CoreStm *producer);

// What the loops around keep of the sizes of the arrays that they carry.
const FuseState *fuse_states_here(Rewrite *rw);
// Whether no element of the generate, which stands here, can fail.
bool fuse_is_safe_here(Rewrite *rw, const CoreStm *generate);

// ---- views and elements (fuse_view.c) -----------------------------------------------

// Brings a producer nearer to the statement that takes its elements, if that is a view
// or takes a single one.
bool fuse_view(Rewrite *rw, CoreStm *stm);

// ---- spaces (fuse_space.c) ----------------------------------------------------------

// The generate of a short space of several dimensions whose elements the view has in a
// row, by steps of which none can fail; NULL: there is none.
const CoreStm *fuse_find_space(const Rewrite *rw, const CoreStm *view);
// Makes one dimension of a short space of several that is viewed so.
bool fuse_space(Rewrite *rw, CoreStm *stm);

// ---- bodies (fuse_body.c) -----------------------------------------------------------

// The consumer with the producer's function, a map's, put in front of its own. What
// `arrays` names are the producer's arrays. `goes`: whether the producer is dropped.
CoreStm *fuse_compose(Rewrite *rw, const CoreStm *producer, const CoreRef *arrays,
                      uint32_t array_count, const CoreStm *consumer, bool goes);

// Appends a copy of the body's statements, whose params are in the map, to the open
// body; *results_out gets what its results have become.
void fuse_append(CoreBuilder *b, const CoreBody *body, Map *map, CoreRefs *results_out);

// ---- maps of rows (fuse_nest.c) ------------------------------------------------------

static inline bool fuse_are_same(const CoreRef *a, const CoreRef *b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (a[i] != b[i]) return false;
    return true;
}
// How many maps stand in each other: all that a body does is to map the rows it was
// given, and what it makes of them it returns. The innermost one is returned, too.
uint32_t fuse_nest_depth(const CoreStm *map, const CoreStm **innermost_out);
// Whether the arrays and the results of the nest are known to have the shape of that
// array, as far as maps stand in each other.
bool fuse_has_shape(Rewrite *rw, const CoreStm *stm, CoreRef like, uint32_t depth);

// ---- neighbours (fuse_near.c) --------------------------------------------------------

// Notes of which arrays the generate, whose body is about to be rebuilt, makes the
// elements itself, by what it is of: in `near`, by array.
void fuse_find_near(Rewrite *rw, const CoreStm *generate, Map *near);
// Makes that element, if its array is one of those.
bool fuse_near(Rewrite *rw, CoreStm *index, const Map *near);

// ---- side by side (fuse_beside.c) ---------------------------------------------------

// Joins the statement, which is not in the open body yet, to one there that has an
// array in common with it, if it may; its results are those of that one then.
bool fuse_beside(Rewrite *rw, const CoreStm *stm);
// Whether the body, or one in it, names one of the values.
bool fuse_names_any(const CoreBody *body, const CoreRef *refs, uint32_t count);
// Moves the array, if it is one of indices, up to number `at` of the open body; returns
// the number that what was there has now.
uint32_t fuse_bring_indices(const Rewrite *rw, CoreRef array, uint32_t at);

// ---- the least, and where it is (fuse_place.c) --------------------------------------

// Joins the statement, which is not in the open body yet, to the reduction there that
// has found the key whose place it looks for.
bool fuse_place(Rewrite *rw, const CoreStm *stm);

#endif
