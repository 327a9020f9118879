// SPDX-License-Identifier: Apache-2.0
//
// Loops of stencils, several turns at a time. A loop whose turns make an array by a
// generate that looks at the last one near its index (rules_near.c),
//
//   for n a {t, a -> generate h w {i, j -> .. a[i - 1, j] .. a[i, j] .. a[i + 1, j]
//   ..}}
//
// becomes a loop of blocks, in which each part goes some turns alone. It has the rows
// beside it, too, as many as those turns reach: its halo, which is deep. Of these,
// those that are next to what the part does not have stay as they are, so that in each
// turn a few more rows are wrong, from the far end of the halo on; after the last one
// the halo is, and the part is not. Between two blocks the parts get new halos from
// each other.
//
//   for blocks a0 a1 {b, a0, a1 ->
//     b0 = the rows of a0, with a1's first ones for those of its halo, and b1 likewise
//     (for turns b0 {t, a -> generate .. a ..}, for turns b1 {t, a -> generate .. a
//     ..})}
//
// What elements at the ends look at must be near them, or around: behind the last row
// is the first, and then the first part and the last have halos at both ends, too. And
// all that is done to rows that are wrong must end, and not fail.
#include "fission/near.h"

#include "opt/opt.h"

// ---- which loops --------------------------------------------------------------------

// The generate that makes what the loop carries, to be split: it is the last statement
// of the turns; no other one looks at that, and none can be noticed.
static bool find_turn(const FissionSplit *s, FissionSplit *turn_out) {
    const CoreStm *loop = s->stm;
    CoreProgram *p = s->program;
    const CoreBody *body = loop->bodies[0];
    if (loop->out_count != 1 || body->stms.len == 0) return false;
    const CoreStm *last = body->stms.data[body->stms.len - 1];
    if (last->op != OP_GENERATE || last->outs[0] != body->results[0]) return false;
    for (uint32_t i = 0; i + 1 < body->stms.len; i++) {
        CoreBody alone = {.stms = {&body->stms.data[i], 1, 1}};
        CoreRefs free = {0};
        core_free(p, &alone, p->arena, &free);
        if (fission_holds(&free, body->params[1]) ||
            opt_is_effect(p, body->stms.data[i]))
            return false;
    }
    *turn_out = (FissionSplit){.program = p,
                               .body = body,
                               .stm = last,
                               .defs = s->facts,
                               .facts = s->facts,
                               .states = fuse_loop_states(s->facts, s->states, loop)};
    return true;
}

static void note_endless(void *data, const CoreStm *stm) {
    bool is_plain = core_op_info[stm->op].kind <= KIND_SCALAR3 || stm->op == OP_IF ||
                    stm->op == OP_INDEX || stm->op == OP_DIM;
    if (!is_plain) *(bool *)data = true;
}

static int64_t farther(int64_t reach, int64_t by) {
    int64_t far = by < 0 ? -by : by;
    return far > reach ? far : reach;
}

// Whether all indices go around, of which one has to.
static bool goes_around(const FissionNear *near) {
    bool all = true, some = false;
    for (uint32_t i = 0; i < near->sites.len; i++) {
        all &= near->sites.data[i].offset.goes_around;
        some |= !near->sites.data[i].offset.knows_ends;
    }
    return all && some;
}

// How many rows away a turn looks, at the ends, too; -1: that is not known.
static int64_t find_reach(const FissionNear *near) {
    int64_t reach = 1;
    bool is_around = goes_around(near);
    for (uint32_t i = 0; i < near->sites.len; i++) {
        const FuseOffset *offset = &near->sites.data[i].offset;
        reach = farther(reach, offset->by);
        if (is_around) continue;
        if (!offset->knows_ends) return -1;
        for (uint32_t k = 0; k < offset->first; k++)
            reach = farther(reach, offset->first_by[k]);
        for (uint32_t k = 0; k < offset->last; k++)
            reach = farther(reach, offset->last_by[k]);
    }
    return reach;
}

static bool keeps_sizes(const FissionSplit *s) {
    bool all = true;
    for (uint32_t d = 0; d < core_type(s->program, s->stm->outs[0]).rank && all; d++)
        all = fuse_keeps_size(s->facts, s->states, s->stm, 0, (int32_t)d);
    return all;
}

bool guard_deep(const FissionSplit *s) {
    FissionSplit turn;
    bool is_endless = false;
    if (s->dim != 0 || s->facts == NULL || !find_turn(s, &turn)) return false;
    const CoreStm *generate = turn.stm;
    uint32_t rank = core_type(s->program, s->stm->outs[0]).rank;
    if (generate->attrs[0] != (int32_t)rank || generate->arg_count != rank ||
        !guard_near(&turn) || !keeps_sizes(s))
        return false;
    core_walk(generate->bodies[0], note_endless, &is_endless);
    near_find(&turn);
    CoreRefs near = near_arrays(&turn);
    return !is_endless && fission_holds(&near, turn.body->params[1]) &&
           find_reach(turn.near) > 0;
}

CoreRef size_deep(FissionSplit *s) {
    return fission_dim(s, s->stm->args[1], 0);
}

const CoreBody *fission_turn(const FissionSplit *s) {
    FissionSplit turn;
    return guard_deep(s) && find_turn(s, &turn) ? turn.stm->bodies[0] : NULL;
}

// ---- how deep -----------------------------------------------------------------------

typedef struct Deep {
    FissionSplit *s;   // the loop
    FissionSplit turn; // its parts are with their halos
    int64_t reach;     // how many rows away a turn looks
    bool is_around;    // and behind the last one is the first
    CoreRef turns;     // of the whole loop
    CoreRef deep;      // turns at a time
    CoreRef halo;      // rows that these reach
} Deep;

// Whether this is to take less time, and not only to be right.
static bool has_to_pay(const Deep *d) {
    return d->s->devices > 0 && !d->s->is_eager;
}

// As many turns as parts are long enough for. Devices do the rows of halos twice, and
// wait for each other between two blocks: a sixteenth more to do is little.
static void find_depth(Deep *d) {
    enum { MOST_TURNS = 64, SHARE = 16, FEW_TURNS = 2 };
    FissionSplit *s = d->s;
    int64_t most = has_to_pay(d) ? MOST_TURNS : FEW_TURNS;
    int64_t rows = has_to_pay(d) ? SHARE * d->reach : d->reach;
    CoreRef least = s->length[0];
    for (uint32_t p = 1; p < s->parts; p++)
        least = fission_op2(s, OP_MIN, least, s->length[p]);
    least = fission_op2(s, OP_SUB, least, core_i64(s->program, FUSE_WIDEST_END));
    d->turns = fission_conv(s, s->stm->args[0], SCALAR_I64);
    d->deep = fission_op2(s, OP_QUOT, least, core_i64(s->program, rows));
    d->deep = fission_op2(s, OP_MIN, d->deep, core_i64(s->program, most));
    d->halo = fission_op2(s, OP_MUL, d->deep, core_i64(s->program, d->reach));
}

// Whether there are enough turns and rows.
static CoreRef is_deep(Deep *d) {
    enum { LEAST_TURNS = 16 }; // that go over memory once (loop/steps.c)
    FissionSplit *s = d->s;
    CoreRef least = core_i64(s->program, has_to_pay(d) ? LEAST_TURNS : 1);
    CoreRef are_many = fission_op2(s, OP_LE, least, d->turns);
    return fission_op2(s, OP_AND, fission_op2(s, OP_LE, least, d->deep), are_many);
}

// ---- parts --------------------------------------------------------------------------

// Whether there is a halo at that end of the part.
static bool has_front(const Deep *d, uint32_t p) {
    return p > 0 || d->is_around;
}

static bool has_back(const Deep *d, uint32_t p) {
    return p + 1 < d->s->parts || d->is_around;
}

// With halos. What begins before the first row is around.
static void find_bounds(Deep *d) {
    FissionSplit *s = d->s, *turn = &d->turn;
    turn->b = s->b;
    turn->size = s->size;
    for (uint32_t p = 0; p < s->parts; p++) {
        CoreRef end = p + 1 < s->parts ? s->start[p + 1] : s->size;
        turn->start[p] = s->start[p];
        if (has_front(d, p))
            turn->start[p] = fission_op2(s, OP_SUB, s->start[p], d->halo);
        if (has_back(d, p)) end = fission_op2(s, OP_ADD, end, d->halo);
        turn->length[p] = fission_op2(s, OP_SUB, end, turn->start[p]);
    }
}

// Notes that element i of a part looks so far away, if that is not as others do.
static void add_end(NearEnds *ends, const NearSite *site, CoreRef i, int64_t by) {
    if (by == site->offset.by) return;
    ends->i[ends->count] = i;
    ends->by[ends->count++] = by;
}

// What elements near the ends of all find, in the parts that have them.
static void find_ends(Deep *d) {
    FissionSplit *s = d->s;
    CoreProgram *p = s->program;
    uint32_t last = s->parts - 1;
    for (uint32_t k = 0; !d->is_around && k < d->turn.near->sites.len; k++) {
        const NearSite *site = &d->turn.near->sites.data[k];
        NearPart *parts = d->turn.near->parts;
        for (uint32_t i = 0; i < site->offset.first; i++)
            add_end(&parts[0].ends[k], site, core_i64(p, i), site->offset.first_by[i]);
        for (uint32_t i = 0; i < site->offset.last; i++) {
            CoreRef at =
                fission_op2(s, OP_SUB, d->turn.length[last], core_i64(p, i + 1));
            add_end(&parts[last].ends[k], site, at, site->offset.last_by[i]);
        }
    }
}

// ---- rows ---------------------------------------------------------------------------

// Opens a body of indices, of the rank of the array.
static const CoreRef *open_indices(Deep *d, CoreRef array) {
    return fission_open_indices(d->s, core_type(d->s->program, array).rank);
}

// The element there, of row x.
static CoreRef emit_element(Deep *d, CoreRef array, CoreRef x, const CoreRef *i) {
    CoreType type = core_type(d->s->program, array), scalar = {type.elem, 0};
    CoreRef args[1 + CORE_MAX_RANK] = {array, x};
    for (uint32_t k = 1; k < type.rank; k++) args[1 + k] = i[k];
    CoreStm *index = core_emit(d->s->b, OP_INDEX, args, 1 + type.rank, &scalar, 1);
    index->flags |= STM_UNSAFE;
    return index->outs[0];
}

// Closes the body as that of a generate of so many rows of an array.
static CoreRef close_rows(Deep *d, CoreRef count, CoreRef array, CoreRef element) {
    CoreType type = core_type(d->s->program, array);
    CoreRef sizes[CORE_MAX_RANK] = {count};
    for (uint32_t k = 1; k < type.rank; k++) sizes[k] = d->turn.stm->args[k];
    return fission_close_indices(d->s, sizes, &element, &type, 1)->outs[0];
}

// Where the rows of a part with halos are: at both ends, unless that is 0, as many as
// a halo has; else in another array, with so many before its first.
typedef struct Rows {
    CoreRef before, behind, array, skipped;
} Rows;

// The element there of part p.
static CoreRef emit_among(Deep *d, uint32_t p, Rows rows, const CoreRef *i) {
    CoreBuilder *b = d->s->b;
    CoreRef end = fission_op2(d->s, OP_SUB, d->turn.length[p], d->halo), x = i[0], c;
    if (rows.before == 0 && rows.behind == 0)
        return emit_element(d, rows.array, fission_op2(d->s, OP_SUB, x, rows.skipped),
                            i);
    bool is_before = rows.before != 0;
    CoreRef halo = is_before ? rows.before : rows.behind;
    c = is_before ? core_op2(b, OP_LT, x, d->halo) : core_op2(b, OP_LE, end, x);
    core_open(b, NULL, 0);
    CoreRef there =
        emit_element(d, halo, is_before ? x : core_op2(b, OP_SUB, x, end), i);
    CoreBody *yes = core_close(b, &there, 1);
    core_open(b, NULL, 0);
    if (is_before) rows.before = 0;
    else rows.behind = 0;
    CoreRef rest = emit_among(d, p, rows, i);
    CoreBody *no = core_close(b, &rest, 1);
    CoreType scalar = {core_type(d->s->program, halo).elem, 0};
    return fission_if(d->s, c, yes, no, &scalar, 1)->outs[0];
}

static CoreRef join_rows(Deep *d, uint32_t p, Rows rows) {
    fission_at(d->s, d->s->beside, p);
    const CoreRef *i = open_indices(d, rows.array);
    CoreRef joined =
        close_rows(d, d->turn.length[p], rows.array, emit_among(d, p, rows, i));
    fission_at(d->s, NULL, 0);
    return joined;
}

// ---- halos --------------------------------------------------------------------------

// Part p of the whole array, with its halos, of which one may be around.
static CoreRef cut_part(Deep *d, CoreRef array, uint32_t p) {
    FissionSplit *s = d->s;
    CoreRef zero = core_i64(s->program, 0);
    bool is_first = d->is_around && p == 0, is_last = d->is_around && p + 1 == s->parts;
    if (!is_first && !is_last)
        return fission_window(s, array, d->turn.start[p], d->turn.length[p]);
    CoreRef count = fission_op2(s, OP_SUB, d->turn.length[p], d->halo);
    CoreRef last = fission_op2(s, OP_SUB, s->size, d->halo);
    Rows rows = {
        .array = fission_window(s, array, is_first ? zero : d->turn.start[p], count),
        .skipped = is_first ? d->halo : zero};
    if (is_first) rows.before = fission_window(s, array, last, d->halo);
    else rows.behind = fission_window(s, array, zero, d->halo);
    return join_rows(d, p, rows);
}

static CoreRef *cut_parts(Deep *d, CoreRef array) {
    CoreRef *parts = arena_array(d->s->program->arena, CoreRef, d->s->parts);
    for (uint32_t p = 0; p < d->s->parts; p++) parts[p] = cut_part(d, array, p);
    return parts;
}

// Of what the loop carries each turn has parts of its own.
static void cut_arrays(Deep *d) {
    Arena *arena = d->s->program->arena;
    CoreRefs near = near_arrays(&d->turn);
    for (uint32_t i = 0; i < near.len; i++) {
        bool is_carried = near.data[i] == d->turn.body->params[1];
        FissionKnown *known = arena_new(arena, FissionKnown);
        known->size = d->s->size;
        known->parts = is_carried ? arena_array(arena, CoreRef, d->s->parts)
                                  : cut_parts(d, near.data[i]);
        map_set(&d->turn.near->cut, near.data[i], (uint64_t)(uintptr_t)known);
    }
}

// So many rows as a halo has, from that one of part p on, copied where that lies.
static CoreRef copy_halo(Deep *d, const CoreRef *parts, uint32_t p, CoreRef row) {
    fission_at(d->s, d->s->beside, p);
    const CoreRef *i = open_indices(d, parts[p]);
    CoreRef x = core_op2(d->s->b, OP_ADD, i[0], row);
    CoreRef copy = close_rows(d, d->halo, parts[p], emit_element(d, parts[p], x, i));
    fission_at(d->s, NULL, 0);
    return copy;
}

// All parts, with halos from each other.
static CoreBody *renew_halos(Deep *d, const CoreRef *parts) {
    FissionSplit *s = d->s;
    CoreRef renewed[FISSION_MOST_PARTS], zero = core_i64(s->program, 0);
    Rows rows[FISSION_MOST_PARTS];
    core_open(s->b, NULL, 0);
    for (uint32_t p = 0; p < s->parts; p++) {
        uint32_t front = (p + s->parts - 1) % s->parts, back = (p + 1) % s->parts;
        rows[p] = (Rows){.array = parts[p], .skipped = zero};
        CoreRef end = p > 0 ? s->start[p] : s->size;
        CoreRef row = fission_op2(s, OP_SUB, end, d->halo);
        row = fission_op2(s, OP_SUB, row, d->turn.start[front]);
        if (has_front(d, p)) rows[p].before = copy_halo(d, parts, front, row);
        // The part behind begins with a halo of its own.
        if (has_back(d, p)) rows[p].behind = copy_halo(d, parts, back, d->halo);
    }
    for (uint32_t p = 0; p < s->parts; p++) renewed[p] = join_rows(d, p, rows[p]);
    return core_close(s->b, renewed, s->parts);
}

// ---- turns --------------------------------------------------------------------------

// Rows next to what the part does not have stay as they are.
static void keep_ends(Deep *d, uint32_t p, CoreBody *body, CoreRef part) {
    CoreBuilder *b = d->s->b;
    CoreProgram *program = d->s->program;
    CoreRef reach = core_i64(program, d->reach), i = body->params[0], stays = 0;
    CoreType scalar = {core_type(program, part).elem, 0};
    core_open(b, NULL, 0);
    if (has_front(d, p)) stays = core_op2(b, OP_LT, i, reach);
    if (has_back(d, p)) {
        CoreRef end = fission_op2(d->s, OP_SUB, d->turn.length[p], reach);
        CoreRef is_behind = core_op2(b, OP_LE, end, i);
        stays = stays == 0 ? is_behind : core_op2(b, OP_OR, stays, is_behind);
    }
    core_open(b, NULL, 0);
    CoreRef kept = emit_element(d, part, i, body->params);
    CoreBody *yes = core_close(b, &kept, 1), *no = arena_new(program->arena, CoreBody);
    *no = *body;
    no->params = NULL;
    no->param_count = 0;
    const CoreStm *either = fission_if(d->s, stays, yes, no, &scalar, 1);
    CoreBody *both = core_close(b, either->outs, 1);
    body->stms = both->stms;
    body->results = both->results;
}

// Lets the index, which the first statement computes, go around.
static void go_around(Deep *d, CoreBody *body) {
    CoreBuilder *b = d->s->b;
    CoreRef size = d->s->size, zero = core_i64(d->s->program, 0);
    CoreStm *shift = body->stms.data[0];
    CoreRef old = shift->outs[0],
            i = core_value(d->s->program, core_type(d->s->program, old), 0);
    shift->outs[0] = i;
    core_open(b, NULL, 0);
    core_append(b, shift);
    CoreRef more = core_select(b, core_op2(b, OP_LT, i, zero), size, zero);
    CoreRef less = core_select(b, core_op2(b, OP_LE, size, i), size, zero);
    CoreType i64 = {SCALAR_I64, 0};
    CoreRef args[] = {core_op2(b, OP_ADD, i, more), less};
    core_emit(b, OP_SUB, args, 2, &i64, 1)->outs[0] = old;
    for (uint32_t k = 1; k < body->stms.len; k++) core_append(b, body->stms.data[k]);
    body->stms = core_close(b, NULL, 0)->stms;
}

// So many turns of the part, the first of which is number `first` of all.
static CoreRef emit_turns(Deep *d, uint32_t p, CoreRef part, CoreRef first,
                          CoreRef turns) {
    FissionSplit *s = d->s;
    CoreProgram *program = s->program;
    const CoreBody *body = d->turn.body;
    CoreType type = core_type(program, part);
    CoreRef params[] = {core_value(program, (CoreType){SCALAR_I64, 0}, 0),
                        core_value(program, type, 0)};
    fission_at(s, s->own, p);
    core_open(s->b, params, 2);
    CoreRef t = core_op2(s->b, OP_ADD, first, params[0]), made;
    t = fission_conv(s, t, (ScalarType)core_type(program, body->params[0]).elem);
    core_inline(s->b, body, (CoreRef[]){t, params[1]}, &made);
    CoreBody *own = core_close(s->b, &made, 1);
    CoreStm *generate = own->stms.data[own->stms.len - 1];
    CoreBody *element = generate->bodies[0];
    NearPart *near = &d->turn.near->parts[p];
    near_parts(&d->turn, body->params[1])->parts[p] = params[1];
    generate->args[0] = d->turn.length[p];
    if (has_front(d, p)) fission_shift(s, element, 0, d->turn.start[p]);
    if (d->is_around) go_around(d, element);
    fission_leave_checks_out(element);
    near->i = element->params[0];
    near_change(near, d->turn.stm->bodies[0], element);
    keep_ends(d, p, element, params[1]);
    CoreRef args[] = {turns, part};
    return fission_emit(s, OP_FOR, args, 2, NULL, 0, own, &type, 1)->outs[0];
}

// ---- the loop -----------------------------------------------------------------------

// The loop of blocks.
static CoreStm *emit_blocks(Deep *d, const CoreRef *parts) {
    FissionSplit *s = d->s;
    CoreProgram *p = s->program;
    CoreRef params[1 + FISSION_MOST_PARTS], args[1 + FISSION_MOST_PARTS];
    CoreRef made[FISSION_MOST_PARTS];
    CoreType types[FISSION_MOST_PARTS];
    CoreRef most = fission_op2(s, OP_SUB, d->deep, core_i64(p, 1));
    args[0] = fission_op2(s, OP_QUOT, fission_op2(s, OP_ADD, d->turns, most), d->deep);
    params[0] = core_value(p, (CoreType){SCALAR_I64, 0}, 0);
    for (uint32_t k = 0; k < s->parts; k++) {
        args[1 + k] = parts[k];
        types[k] = core_type(p, parts[k]);
        params[1 + k] = core_value(p, types[k], 0);
    }
    core_open(s->b, params, 1 + s->parts);
    CoreRef first = fission_op2(s, OP_MUL, params[0], d->deep);
    CoreRef turns =
        fission_op2(s, OP_MIN, d->deep, fission_op2(s, OP_SUB, d->turns, first));
    CoreRef is_later = core_op2(s->b, OP_LT, core_i64(p, 0), params[0]);
    CoreBody *later = renew_halos(d, params + 1);
    CoreBody *at_first = fission_body(s, params + 1, s->parts);
    const CoreStm *begun = fission_if(s, is_later, later, at_first, types, s->parts);
    for (uint32_t k = 0; k < s->parts; k++)
        made[k] = emit_turns(d, k, begun->outs[k], first, turns);
    fission_at(s, NULL, 0);
    CoreBody *body = core_close(s->b, made, s->parts);
    CoreStm *loop =
        fission_emit(s, OP_FOR, args, 1 + s->parts, NULL, 0, body, types, s->parts);
    loop->flags |= STM_APART;
    return loop;
}

static CoreBody *emit_parts(Deep *d) {
    FissionSplit *s = d->s;
    CoreRef *parts = arena_array(s->program->arena, CoreRef, s->parts);
    core_open(s->b, NULL, 0);
    d->deep = fission_op2(s, OP_MAX, d->deep, core_i64(s->program, 1));
    find_bounds(d);
    find_ends(d);
    cut_arrays(d);
    const CoreStm *blocks = emit_blocks(d, cut_parts(d, s->stm->args[1]));
    for (uint32_t p = 0; p < s->parts; p++) {
        CoreRef from = fission_op2(s, OP_SUB, s->start[p], d->turn.start[p]);
        parts[p] = fission_window(s, blocks->outs[p], from, s->length[p]);
    }
    return core_close(s->b, parts, s->parts);
}

void whole_deep(FissionSplit *s) {
    Deep d = {.s = s};
    find_turn(s, &d.turn);
    d.turn.parts = s->parts;
    near_find(&d.turn);
    d.is_around = goes_around(d.turn.near);
    d.reach = find_reach(d.turn.near);
    find_depth(&d);
    CoreRef enough = is_deep(&d);
    CoreBody *deep = emit_parts(&d);
    core_open(s->b, NULL, 0);
    const CoreStm *again = fission_again(s, fission_args(s));
    CoreRef *parts = fission_split(s, again->outs[0], 0);
    CoreBody *whole = core_close(s->b, parts, s->parts);
    CoreType types[FISSION_MOST_PARTS];
    fission_types(s, parts, s->parts, types);
    s->results = fission_if(s, enough, deep, whole, types, s->parts)->outs;
    fission_concat(s, 0, s->results);
}
