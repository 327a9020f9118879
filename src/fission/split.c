// SPDX-License-Identifier: Apache-2.0
//
// The building blocks of split.h. Helping statements stand at the place of the
// statement that is split, without its flags.
#include "fission/split.h"

#include <string.h>

#include "opt/rewrite.h"

static const CoreType BOOL = {SCALAR_BOOL, 0};

// The results of the statement emitted last, or of one like it in the same body, which
// goes for it.
static CoreRef *share(FissionSplit *s, CoreRef *outs) {
    FissionShared *shared = s->shared;
    if (shared == NULL || s->b->open.len != shared->depth) return outs;
    CoreBody *body = s->b->open.data[shared->depth - 1];
    const CoreStm *stm = body->stms.data[body->stms.len - 1], *same = NULL;
    if (stm->outs[0] == outs[0]) same = cse_find(&shared->cse, stm);
    if (same == NULL) return outs;
    body->stms.len--;
    return same->outs;
}

static CoreRef share_one(FissionSplit *s, CoreRef out) {
    return *share(s, &out);
}

// ---- scalars ------------------------------------------------------------------------

CoreRef fission_op2(FissionSplit *s, CoreOp op, CoreRef x, CoreRef y) {
    CoreProgram *p = s->program;
    const CoreValue *a = &p->values.data[x], *c = &p->values.data[y];
    ScalarType in = (ScalarType)a->type.elem, to;
    uint64_t bits;
    if (a->is_const && c->is_const && core_op_gives(op, in, &to) &&
        core_eval(op, in, to, (uint64_t[]){a->bits, c->bits}, &bits) == FAULT_NONE)
        return core_const(p, to, bits);
    return share_one(s, core_op2(s->b, op, x, y));
}

CoreRef fission_conv(FissionSplit *s, CoreRef x, ScalarType to) {
    ScalarType in = (ScalarType)core_type(s->program, x).elem;
    const CoreValue *value = &s->program->values.data[x];
    uint64_t bits;
    if (in == to) return x;
    if (value->is_const &&
        core_eval(OP_CONV, in, to, &value->bits, &bits) == FAULT_NONE)
        return core_const(s->program, to, bits);
    return share_one(s, core_conv(s->b, OP_CONV, x, to));
}

CoreRef fission_int(const FissionSplit *s, ScalarType type, int64_t value) {
    return core_const(s->program, type, (uint64_t)value);
}

CoreRef fission_select(FissionSplit *s, CoreRef c, CoreRef yes, CoreRef no) {
    const CoreValue *value = &s->program->values.data[c];
    if (value->is_const) return value->bits != 0 ? yes : no;
    FissionShared *shared = s->shared;
    if (shared == NULL || s->b->open.len != shared->depth)
        return core_select(s->b, c, yes, no);
    for (uint32_t i = 0; i < shared->choices.len; i++) {
        struct FissionChoice *old = &shared->choices.data[i];
        if (old->c == c && old->yes == yes && old->no == no) return old->out;
    }
    struct FissionChoice made = {c, yes, no, core_select(s->b, c, yes, no)};
    vec_push(core_notes(s->program), &shared->choices, made);
    return made.out;
}

// ---- statements ---------------------------------------------------------------------

CoreRef fission_dim(FissionSplit *s, CoreRef array, uint32_t axis) {
    return share_one(s, core_dim(s->b, array, (int32_t)axis));
}

CoreType fission_row(CoreType type) {
    return (CoreType){type.elem, (uint8_t)(type.rank - 1)};
}

CoreRef fission_index(FissionSplit *s, CoreRef array, CoreRef index) {
    CoreType type = fission_row(core_type(s->program, array));
    CoreRef args[] = {array, index};
    return share(s, core_emit(s->b, OP_INDEX, args, 2, &type, 1)->outs)[0];
}

// A view of the first argument along that axis, of its type.
static CoreRef emit_view(FissionSplit *s, CoreOp op, const CoreRef *args,
                         uint32_t count, uint32_t axis) {
    CoreType type = core_type(s->program, args[0]);
    CoreStm *stm = core_emit(s->b, op, args, count, &type, 1);
    core_set_attrs(s->b, stm, &(int32_t){(int32_t)axis}, 1);
    return share(s, stm->outs)[0];
}

CoreRef fission_slice(FissionSplit *s, CoreRef array, uint32_t axis, CoreRef start,
                      CoreRef count) {
    CoreRef args[] = {array, start, count, core_i64(s->program, 1)};
    return emit_view(s, OP_SLICE, args, 4, axis);
}

void fission_check(FissionSplit *s, CoreRef holds, CoreMessage message, CoreRef v0,
                   CoreRef v1) {
    CoreRef args[] = {holds, v0, v1};
    core_emit(s->b, OP_CHECK, args, 3, &BOOL, 1)->text = core_messages[message];
}

CoreStm *fission_emit(FissionSplit *s, CoreOp op, const CoreRef *args,
                      uint32_t arg_count, const int32_t *attrs, uint32_t attr_count,
                      CoreBody *body, const CoreType *types, uint32_t out_count) {
    CoreStm *stm = core_emit(s->b, op, args, arg_count, types, out_count);
    core_set_attrs(s->b, stm, attrs, attr_count);
    core_set_bodies(s->b, stm, &body, 1);
    return stm;
}

CoreRef *fission_open_indices(FissionSplit *s, uint32_t rank) {
    CoreRef *i = arena_array(core_notes(s->program), CoreRef, rank);
    for (uint32_t d = 0; d < rank; d++)
        i[d] = core_value(s->program, (CoreType){SCALAR_I64, 0}, 0);
    core_open(s->b, i, rank);
    return i;
}

CoreStm *fission_close_indices(FissionSplit *s, const CoreRef *sizes,
                               const CoreRef *results, const CoreType *types,
                               uint32_t count) {
    CoreBody *body = core_close(s->b, results, count);
    uint32_t rank = types[0].rank;
    return fission_emit(s, OP_GENERATE, sizes, rank, (int32_t[]){(int32_t)rank}, 1,
                        body, types, count);
}

CoreRef *fission_args(const FissionSplit *s) {
    return arena_copy(core_notes(s->program), s->stm->args,
                      s->stm->arg_count * sizeof *s->stm->args);
}

CoreStm *fission_again(FissionSplit *s, const CoreRef *args) {
    const CoreStm *stm = s->stm;
    CoreProgram *p = s->program;
    CoreStm *again = arena_copy(p->arena, stm, sizeof *stm);
    again->loc = s->b->loc;
    again->args = arena_copy(p->arena, args, stm->arg_count * sizeof *args);
    again->outs = arena_array(p->arena, CoreRef, stm->out_count);
    for (uint32_t i = 0; i < stm->out_count; i++) {
        CoreValue value = p->values.data[stm->outs[i]];
        again->outs[i] = core_value(p, value.type, value.name);
    }
    again->bodies = arena_array(p->arena, CoreBody *, stm->body_count);
    if (s->copies == NULL)
        s->copies = arena_array(core_notes(p), CoreCopies, stm->body_count);
    for (uint32_t i = 0; i < stm->body_count; i++)
        again->bodies[i] = core_copy_again(p, &s->copies[i], stm->bodies[i]);
    core_append(s->b, again);
    return again;
}

void fission_finish(FissionSplit *s, CoreStm *last) {
    last->outs = s->stm->outs;
}

void fission_shift(FissionSplit *s, CoreBody *body, uint32_t param, CoreRef by) {
    CoreRef old = body->params[param];
    CoreType type = core_type(s->program, old);
    CoreRef fresh = core_value(s->program, type, 0), args[] = {fresh, by};
    uint32_t count = body->stms.len;
    CoreStm **stms = arena_alloc(s->program->arena, (count + 1) * sizeof *stms);
    core_open(s->b, NULL, 0);
    stms[0] = core_emit(s->b, OP_ADD, args, 2, &type, 1);
    core_close(s->b, NULL, 0);
    stms[0]->outs[0] = old;
    memcpy(stms + 1, body->stms.data, count * sizeof *stms);
    body->stms.data = stms;
    body->stms.len = body->stms.cap = count + 1;
    body->params[param] = fresh;
}

// ---- parts --------------------------------------------------------------------------

// The first element of part p of equal ones, of which the last are longer by one, if
// some are. No step on the way leaves the narrowest type.
static CoreRef equal_bound(FissionSplit *s, ScalarType type, uint32_t p) {
    CoreRef parts = fission_int(s, type, s->parts), part = fission_int(s, type, p);
    CoreRef each = fission_op2(s, OP_QUOT, s->size, parts);
    if (s->parts == 2) return each;
    CoreRef before = fission_op2(s, OP_MUL, each, part);
    CoreRef rest = fission_op2(s, OP_REM, s->size, parts);
    CoreRef longer = fission_op2(s, OP_MAX, fission_op2(s, OP_ADD, rest, part), parts);
    return fission_op2(s, OP_ADD, before, fission_op2(s, OP_SUB, longer, parts));
}

// What a share of FISSION_WHOLE is of the size: so many for each, and a part of the
// rest.
typedef struct Shared {
    CoreRef whole, each, rest;
} Shared;

static Shared emit_shared(FissionSplit *s) {
    CoreRef whole = fission_int(s, SCALAR_I64, FISSION_WHOLE);
    CoreRef each = fission_op2(s, OP_QUOT, s->size, whole);
    return (Shared){whole, each, fission_op2(s, OP_REM, s->size, whole)};
}

// The first element of a part with such a share before it; nothing overflows. Rounded
// down at each bound, like equal parts of two.
static CoreRef share_bound(FissionSplit *s, Shared of, CoreRef share) {
    CoreRef more = fission_op2(s, OP_MUL, of.rest, share);
    more = fission_op2(s, OP_QUOT, more, of.whole);
    return fission_op2(s, OP_ADD, fission_op2(s, OP_MUL, of.each, share), more);
}

void fission_at(FissionSplit *s, const CoreLoc *places, uint32_t p) {
    s->b->loc = places != NULL ? places[p] : s->stm->loc;
}

// A size that is negative is that of the first part, which fails as the whole would.
static void emit_cut(FissionSplit *s, FissionCut cut) {
    ScalarType type = (ScalarType)core_type(s->program, s->size).elem;
    bool by_shares = cut.at < 0 && cut.shares != NULL && type == SCALAR_I64;
    Shared of = by_shares ? emit_shared(s) : (Shared){0};
    s->start[0] = fission_int(s, type, 0);
    for (uint32_t p = 1; p < cut.parts; p++) {
        CoreRef bound = by_shares     ? share_bound(s, of, cut.shares[p - 1])
                        : cut.at >= 0 ? fission_int(s, type, cut.at)
                                      : equal_bound(s, type, p);
        if (cut.unit != 0 && type == SCALAR_I64)
            bound =
                fission_op2(s, OP_SUB, bound, fission_op2(s, OP_REM, bound, cut.unit));
        s->start[p] = fission_op2(s, OP_MIN, s->size, bound);
        s->length[p - 1] =
            p == 1 ? s->start[1] : fission_op2(s, OP_SUB, s->start[p], s->start[p - 1]);
    }
    s->length[cut.parts - 1] = fission_op2(s, OP_SUB, s->size, s->start[cut.parts - 1]);
}

// Where sizes are shared all is cut by the same shares, so a size is cut once.
void fission_cut(FissionSplit *s, FissionCut cut) {
    FissionShared *shared = s->shared;
    Arena *notes = core_notes(s->program);
    size_t bytes = cut.parts * sizeof(CoreRef);
    s->parts = cut.parts;
    for (uint32_t i = 0; shared != NULL && i < shared->cuts.len; i++) {
        const struct FissionBounds *old = &shared->cuts.data[i];
        if (old->size != s->size || old->unit != cut.unit) continue;
        memcpy(s->start, old->start, bytes);
        memcpy(s->length, old->length, bytes);
        return;
    }
    // No two bounds are alike, unless the size is a constant.
    if (!core_is_const(s->program, s->size)) s->shared = NULL;
    emit_cut(s, cut);
    s->shared = shared;
    if (shared == NULL) return;
    struct FissionBounds made = {s->size, cut.unit, arena_copy(notes, s->start, bytes),
                                 arena_copy(notes, s->length, bytes)};
    vec_push(notes, &shared->cuts, made);
}

// The parts of the array, the last part's length first if it is to be read backwards.
static CoreRef *emit_split(FissionSplit *s, CoreRef array, uint32_t axis,
                           bool is_backwards) {
    CoreRef args[1 + FISSION_MOST_PARTS] = {array};
    CoreType types[FISSION_MOST_PARTS];
    for (uint32_t p = 0; p < s->parts; p++) {
        args[1 + p] = s->length[is_backwards ? s->parts - 1 - p : p];
        types[p] = core_type(s->program, array);
    }
    CoreStm *stm = core_emit(s->b, OP_SPLIT, args, 1 + s->parts, types, s->parts);
    core_set_attrs(s->b, stm, &(int32_t){(int32_t)axis}, 1);
    return share(s, stm->outs);
}

// What the array is with its elements along that axis in reverse; 0: it is nothing.
static CoreRef reversed_of(const FissionSplit *s, CoreRef array, uint32_t axis) {
    const CoreStm *def = fission_find_def(s, array);
    bool is_it =
        def != NULL && def->op == OP_REVERSE && (uint32_t)def->attrs[0] == axis;
    return is_it ? def->args[0] : 0;
}

// A part of what is reversed is a part, reversed: kernels read that where it lies.
static CoreRef *split_reversed(FissionSplit *s, CoreRef base, uint32_t axis) {
    const CoreRef *parts = emit_split(s, base, axis, true);
    CoreRef *pieces = arena_array(core_notes(s->program), CoreRef, s->parts);
    for (uint32_t p = 0; p < s->parts; p++)
        pieces[p] = emit_view(s, OP_REVERSE, &parts[s->parts - 1 - p], 1, axis);
    return pieces;
}

CoreRef fission_window(FissionSplit *s, CoreRef array, CoreRef start, CoreRef count) {
    CoreRef rest = fission_op2(s, OP_SUB, fission_dim(s, array, 0), start);
    CoreRef args[] = {array, start, count, fission_op2(s, OP_SUB, rest, count)};
    CoreType type = core_type(s->program, array), types[] = {type, type, type};
    CoreStm *split = core_emit(s->b, OP_SPLIT, args, 4, types, 3);
    core_set_attrs(s->b, split, (int32_t[]){0}, 1);
    return share(s, split->outs)[1];
}

CoreRef *fission_split(FissionSplit *s, CoreRef array, uint32_t axis) {
    return emit_split(s, array, axis, false);
}

const CoreRef *fission_pieces(FissionSplit *s, uint32_t arg, uint32_t axis) {
    if (s->pieces[arg] != NULL) return s->pieces[arg];
    CoreRef array = s->stm->args[arg], base = reversed_of(s, array, axis);
    return s->pieces[arg] = base != 0 ? split_reversed(s, base, axis)
                                      : emit_split(s, array, axis, false);
}

// The first of the arrays that it takes by elements which is that one.
static uint32_t first_like(const FissionSplit *s, uint32_t arg) {
    uint32_t first = core_feeds(s->stm).first;
    while (s->stm->args[first] != s->stm->args[arg]) first++;
    return first;
}

// What it takes twice is split once.
CoreRef *fission_part_args(FissionSplit *s, uint32_t p) {
    CoreFeeds feeds = core_feeds(s->stm);
    CoreRef *args = fission_args(s);
    for (uint32_t i = feeds.first; i < feeds.first + feeds.count; i++)
        args[i] = fission_pieces(s, first_like(s, i), 0)[p];
    return args;
}

static CoreStm *emit_concat(FissionSplit *s, uint32_t axis, const CoreRef *parts,
                            bool says_lengths) {
    CoreRef args[2 * FISSION_MOST_PARTS];
    CoreType type = core_type(s->program, parts[0]);
    memcpy(args, parts, s->parts * sizeof *args);
    memcpy(args + s->parts, s->length, s->parts * sizeof *args);
    uint32_t count = says_lengths ? 2 * s->parts : s->parts;
    CoreStm *stm = core_emit(s->b, OP_CONCAT, args, count, &type, 1);
    core_set_attrs(s->b, stm, (int32_t[]){(int32_t)axis, (int32_t)s->parts},
                   says_lengths ? 2 : 1);
    return stm;
}

CoreRef fission_join(FissionSplit *s, uint32_t axis, const CoreRef *parts) {
    return emit_concat(s, axis, parts, false)->outs[0];
}

void fission_concat_as(FissionSplit *s, uint32_t axis, const CoreRef *parts,
                       CoreRef result) {
    emit_concat(s, axis, parts, s->says_lengths)->outs[0] = result;
}

void fission_concat(FissionSplit *s, uint32_t axis, const CoreRef *results) {
    uint32_t outs = s->stm->out_count;
    for (uint32_t k = 0; k < outs; k++) {
        CoreRef parts[FISSION_MOST_PARTS];
        for (uint32_t p = 0; p < s->parts; p++) parts[p] = results[p * outs + k];
        fission_concat_as(s, axis, parts, s->stm->outs[k]);
    }
}

// ---- questions ----------------------------------------------------------------------

bool fission_holds(const CoreRefs *refs, CoreRef ref) {
    bool found = false;
    for (uint32_t i = 0; i < refs->len; i++) found |= refs->data[i] == ref;
    return found;
}

bool fission_has_effect(const FissionSplit *s, const CoreBody *body) {
    for (uint32_t i = 0; i < body->stms.len; i++)
        if (opt_is_effect(s->program, body->stms.data[i])) return true;
    return false;
}

bool fission_rows_are_said(const FissionSplit *s, uint32_t first_size) {
    for (uint32_t i = first_size; i < s->stm->arg_count; i++)
        if (s->stm->args[i] == core_i64(s->program, -1)) return false;
    return true;
}

const FissionKnown *fission_known(const FissionSplit *s, CoreRef array) {
    uint64_t known;
    if (s->known == NULL || !map_get(s->known, array, &known)) return NULL;
    return (const FissionKnown *)(uintptr_t)known;
}

void fission_known_dim(FissionSplit *s, const FissionKnown *known, CoreRef part,
                       CoreStm *dim) {
    uint32_t axis = (uint32_t)dim->attrs[0];
    CoreType i64 = {SCALAR_I64, 0};
    if (axis > 0 && known->rows == NULL) {
        dim->args = arena_copy(s->program->arena, &part, sizeof part);
        core_append(s->b, dim);
        return;
    }
    CoreRef size = axis == 0 ? known->size : known->rows[axis - 1];
    CoreRef args[] = {size, core_i64(s->program, 0)};
    core_emit(s->b, OP_ADD, args, 2, &i64, 1)->outs = dim->outs;
}

const CoreStm *fission_find_def(const FissionSplit *s, CoreRef ref) {
    return s->defs == NULL ? core_find_def(s->body, ref) : rewrite_def(s->defs, ref);
}

// Of what was made in parts, or takes no memory, the length is known without the whole.
static CoreRef length_of(FissionSplit *s, CoreRef array) {
    const FissionKnown *known = fission_known(s, array);
    if (known != NULL) return known->size;
    const CoreStm *def = fission_find_def(s, array);
    bool is_said = def != NULL && (def->op == OP_IOTA || def->op == OP_REPLICATE);
    return is_said ? def->args[0] : fission_dim(s, array, 0);
}

CoreRef fission_feed_length(FissionSplit *s) {
    CoreFeeds feeds = core_feeds(s->stm);
    const CoreRef *arrays = s->stm->args + feeds.first;
    bool is_scatter = s->stm->op == OP_SCATTER && feeds.producer == NULL;
    bool is_filter = s->stm->op == OP_FILTER && feeds.producer == NULL;
    // A scatter compares its indices with its values, all others with the first array.
    uint32_t with = is_scatter ? feeds.count - 1 : 0;
    CoreMessage message = is_scatter  ? MESSAGE_INDICES
                          : is_filter ? MESSAGE_FLAGS
                                      : MESSAGE_LENGTHS;
    CoreRef n = length_of(s, arrays[with]);
    for (uint32_t i = 0; i < feeds.count; i++) {
        if (i == with || arrays[i] == arrays[with]) continue;
        CoreRef m = length_of(s, arrays[i]);
        if (m == n) continue;
        CoreRef holds = fission_op2(s, OP_EQ, n, m);
        fission_check(s, holds, message, is_scatter ? m : n, is_scatter ? n : m);
    }
    return n;
}
