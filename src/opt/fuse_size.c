// SPDX-License-Identifier: Apache-2.0
//
// Sizes that are known to be equal. A size is followed to where it comes from: through
// views and maps to an earlier array, and from an array that is guarded by a check of
// its size to what the check compares it with. An array that a loop carries has the
// size that the loop starts with if a turn, given an array of that size, hands on such
// a one. What a branch gives has the size that both arms know.
#include "core/messages.h"
#include "opt/algebra.h"
#include "opt/fuse.h"

typedef FuseSize Size;

typedef struct Search {
    const Rewrite *rw;
    const FuseState *states; // what is known, or supposed
    unsigned loops;          // and branches that may yet be looked into
} Search;

enum { MOST_LOOPS = 32 };

bool fuse_is_equal(FuseSize a, FuseSize b) {
    return a.value == b.value && a.array == b.array && a.axis == b.axis;
}

static CoreRef guarded(const Rewrite *rw, CoreRef array) {
    const CoreStm *def;
    while ((def = rewrite_def(rw, array)) != NULL && def->op == OP_GUARD)
        array = def->args[0];
    return array;
}

// Which dimension of the array, which is no guard's, the size is; -1: none.
static int32_t axis_of(const Rewrite *rw, CoreRef size, CoreRef array) {
    const CoreStm *def = rewrite_def(rw, size);
    bool is_dim = def != NULL && def->op == OP_DIM;
    return is_dim && guarded(rw, def->args[0]) == array ? def->attrs[0] : -1;
}

// What the guard's checks compare that dimension of what it guards with; or 0. Of two
// dimensions of one array the first one is what both have come from.
static CoreRef checked_size(const Rewrite *rw, const CoreStm *guard, int32_t axis) {
    CoreRef array = guarded(rw, guard->args[0]);
    for (uint32_t i = 1; i < guard->arg_count; i++) {
        const CoreStm *check = rewrite_def(rw, guard->args[i]);
        if (check == NULL || check->op != OP_CHECK) continue;
        if ((check->flags & STM_UNSAFE) != 0) continue; // it may not have been made
        const CoreStm *eq = rewrite_def(rw, check->args[0]);
        if (eq == NULL || eq->op != OP_EQ) continue;
        for (int side = 0; side < 2; side++)
            if (axis_of(rw, eq->args[side], array) == axis &&
                axis_of(rw, eq->args[1 - side], array) < axis)
                return eq->args[1 - side];
    }
    return 0;
}

static bool keeps_size(Search *search, const CoreStm *loop, uint32_t k, int32_t axis);
static Size find_size_in(Search *search, Size size);

static uint32_t state_index(const CoreStm *loop, CoreRef out) {
    uint32_t k = 0;
    while (loop->outs[k] != out) k++;
    return k;
}

// The array that the loop's result or state has the size of; 0: none is known.
static CoreRef step_loop(Search *search, const CoreStm *def, Size size) {
    for (const FuseState *s = search->states; s != NULL; s = s->outer)
        if (s->param == size.array && s->axis == size.axis) return s->first;
    if (def == NULL || (def->op != OP_FOR && def->op != OP_WHILE)) return 0;
    uint32_t k = state_index(def, size.array);
    return keeps_size(search, def, k, size.axis) ? def->args[(def->op == OP_FOR) + k]
                                                 : 0;
}

// The size that the result of a branch has in both arms, so that it comes from outside;
// false: none is known.
static bool step_branch(Search *search, const CoreStm *def, Size *size) {
    if (def == NULL || def->op != OP_IF || search->loops == 0) return false;
    search->loops--;
    Size arms[2];
    uint32_t k = state_index(def, size->array);
    for (int i = 0; i < 2; i++) {
        Size result = {.array = def->bodies[i]->results[k], .axis = size->axis};
        arms[i] = find_size_in(search, result);
    }
    bool is_known = fuse_is_equal(arms[0], arms[1]);
    if (is_known) *size = arms[0];
    return is_known;
}

// One step towards where the size comes from. Every one leads to a value bound earlier,
// so that they end.
static bool step(Search *search, Size *size) {
    const Rewrite *rw = search->rw;
    bool moved = false;
    if (size->array == 0) {
        const CoreStm *def = rewrite_def(rw, size->value);
        if (def == NULL) return false;
        if (def->op == OP_GUARD) {
            size->value = def->args[0];
            return true;
        }
        if (def->op == OP_DIM) *size = (Size){0, def->args[0], def->attrs[0]};
        return def->op == OP_DIM;
    }
    const CoreStm *def = rewrite_def(rw, size->array);
    CoreRef known = 0;
    if (def != NULL && def->op == OP_GUARD) known = checked_size(rw, def, size->axis);
    if (known == 0) known = opt_step_dim(rw, &size->array, &size->axis, &moved);
    if (known != 0) {
        *size = (Size){.value = known};
        return true;
    }
    if (moved) return true;
    if ((known = step_loop(search, def, *size)) != 0) {
        size->array = known;
        return true;
    }
    return step_branch(search, def, size);
}

static uint64_t key_of(Size size) {
    return (uint64_t)size.array << 8 | (uint64_t)size.axis;
}

// Each array of a chain asks for its size: the ways of long ones are noted, and the
// next one goes but a few steps. Sizes that only hold within a loop are not.
static Size find_size_in(Search *search, Size size) {
    enum { LONG = 8 };
    const CoreProgram *p = search->rw->program;
    Map *sizes = search->rw->sizes;
    Size from = size;
    uint64_t known = 0;
    uint32_t steps = 0;
    while (step(search, &size)) {
        if (search->states != NULL) continue;
        steps++;
        if (sizes->count == 0 || size.array == 0) continue;
        if (!map_get(sizes, key_of(size), &known)) continue;
        size = *(const Size *)(uintptr_t)known;
        if (size.array == 0) size.value = rewrite_get(search->rw, size.value);
    }
    if (steps >= LONG && from.array != 0)
        map_set(sizes, key_of(from),
                (uint64_t)(uintptr_t)arena_copy(core_notes(p), &size, sizeof size));
    return size;
}

static bool keeps_size(Search *search, const CoreStm *loop, uint32_t k, int32_t axis) {
    if (search->loops == 0) return false;
    search->loops--;
    uint32_t extra = loop->op == OP_FOR;
    const CoreBody *body = loop->bodies[loop->body_count - 1];
    FuseState state = {search->states, body->params[extra + k], loop->args[extra + k],
                       axis};
    Size first = find_size_in(search, (Size){.array = state.first, .axis = axis});
    search->states = &state;
    Size next = find_size_in(search, (Size){.array = body->results[k], .axis = axis});
    search->states = state.outer;
    return fuse_is_equal(first, next);
}

bool fuse_keeps_size(const Rewrite *rw, const FuseState *states, const CoreStm *loop,
                     uint32_t k, int32_t axis) {
    Search search = {rw, states, MOST_LOOPS};
    return keeps_size(&search, loop, k, axis);
}

const FuseState *fuse_loop_states(const Rewrite *rw, const FuseState *states,
                                  const CoreStm *loop) {
    if (loop->op != OP_FOR && loop->op != OP_WHILE) return states;
    uint32_t first = loop->op == OP_FOR;
    for (uint32_t k = 0; k < loop->out_count; k++) {
        int32_t rank = core_type(rw->program, loop->outs[k]).rank;
        for (int32_t axis = 0; axis < rank; axis++) {
            if (!fuse_keeps_size(rw, states, loop, k, axis)) continue;
            for (uint32_t i = 0; i < loop->body_count; i++) {
                FuseState *state = arena_new(rw->program->arena, FuseState);
                *state = (FuseState){states, loop->bodies[i]->params[first + k],
                                     loop->args[first + k], axis};
                states = state;
            }
        }
    }
    return states;
}

FuseSize fuse_find_size(const Rewrite *rw, const FuseState *states, FuseSize size) {
    Search search = {rw, states, MOST_LOOPS};
    return find_size_in(&search, size);
}

static Size find_size(const Rewrite *rw, Size size) {
    return fuse_find_size(rw, NULL, size);
}

static bool is_same_size(const Rewrite *rw, Size a, Size b) {
    return fuse_is_equal(find_size(rw, a), find_size(rw, b));
}

bool fuse_same_length(const Rewrite *rw, CoreRef a, CoreRef b) {
    return a == b || is_same_size(rw, (Size){.array = a}, (Size){.array = b});
}

// ---- rows ---------------------------------------------------------------------------

static void note_bound(void *data, const CoreStm *stm) {
    for (uint32_t i = 0; i < stm->out_count; i++) map_set(data, stm->outs[i], 1);
}

void fuse_find_bound(const CoreProgram *p, const CoreStm *stm, Map *bound_out) {
    const CoreBody *body = stm->bodies[0];
    map_init(bound_out, core_notes(p));
    core_walk(body, note_bound, bound_out);
    for (uint32_t i = 0; i < body->param_count; i++)
        map_set(bound_out, body->params[i], 1);
}

// Whether a size found for what the body makes is one of outside.
static bool is_outer(const Map *bound, Size size) {
    uint64_t known;
    return !map_get(bound, size.array != 0 ? size.array : size.value, &known);
}

bool fuse_has_equal_rows(const Rewrite *rw, const CoreStm *producer, uint32_t k) {
    CoreProgram *p = rw->program;
    const CoreBody *body = producer->bodies[0];
    uint32_t arg = (uint32_t)producer->attrs[0];
    for (uint32_t i = 0; i < k; i++) arg += core_type(p, producer->outs[i]).rank - 1u;
    Map bound;
    fuse_find_bound(p, producer, &bound);
    for (int32_t d = 0; d < core_type(p, body->results[k]).rank; d++, arg++) {
        Size row = find_size(rw, (Size){.array = body->results[k], .axis = d});
        if (!is_outer(&bound, row)) return false;
        const CoreValue *said = &p->values.data[producer->args[arg]];
        bool is_open = said->is_const && (int64_t)said->bits == -1;
        if (!is_open && !is_same_size(rw, row, (Size){.value = producer->args[arg]}))
            return false;
    }
    return true;
}

// ---- lengths ------------------------------------------------------------------------

// The array that the others are compared with, and the message if one differs.
static CoreRef reference_array(const CoreStm *stm, CoreFeeds feeds,
                               CoreMessage *message_out) {
    uint32_t last = feeds.first + feeds.count - 1;
    *message_out = MESSAGE_LENGTHS;
    if (feeds.producer == NULL && stm->op == OP_FILTER) *message_out = MESSAGE_FLAGS;
    if (feeds.producer != NULL || stm->op != OP_SCATTER) return stm->args[feeds.first];
    *message_out = MESSAGE_INDICES;
    return stm->args[last];
}

// The length, not of the array, which may be about to go, but of what it was made of.
static CoreRef emit_length(Rewrite *rw, CoreRef array) {
    int32_t axis = 0;
    for (bool moved = true; moved;) {
        CoreRef size = opt_step_dim(rw, &array, &axis, &moved);
        if (size != 0) return size;
    }
    return core_dim(&rw->builder, array, axis);
}

static bool takes_as_long(const Rewrite *rw, const CoreStm *stm, CoreRef array) {
    CoreFeeds feeds = core_feeds(stm);
    for (uint32_t i = 0; i < feeds.count; i++)
        if (fuse_same_length(rw, stm->args[feeds.first + i], array)) return true;
    return false;
}

bool fuse_have_met(const Rewrite *rw, CoreRef a, CoreRef b, const CoreStm *before) {
    enum { MOST_TRIED = 100 }; // statements
    const CoreBody *here = rw->builder.open.data[rw->builder.open.len - 1];
    uint32_t end = here->stms.len;
    if (fuse_same_length(rw, a, b)) return true;
    for (uint32_t i = end; i-- > 0;)
        if (here->stms.data[i] == before) end = i;
    for (uint32_t i = end; i-- > 0 && end - i <= MOST_TRIED;) {
        const CoreStm *stm = here->stms.data[i];
        if (takes_as_long(rw, stm, a) && takes_as_long(rw, stm, b)) return true;
    }
    return false;
}

void fuse_check_lengths(Rewrite *rw, const CoreStm *stm) {
    CoreBuilder *b = &rw->builder;
    CoreFeeds feeds = core_feeds(stm);
    CoreMessage message;
    CoreRef with = reference_array(stm, feeds, &message);
    b->loc = stm->loc;
    b->flags = 0;
    for (uint32_t i = 0; i < feeds.count; i++) {
        CoreRef array = stm->args[feeds.first + i];
        if (fuse_have_met(rw, array, with, stm)) continue;
        CoreRef n = emit_length(rw, with), m = emit_length(rw, array);
        CoreRef args[3] = {core_op2(b, OP_EQ, n, m), n, m};
        if (message == MESSAGE_INDICES) args[1] = m, args[2] = n;
        CoreType type = {SCALAR_BOOL, 0};
        core_emit(b, OP_CHECK, args, 3, &type, 1)->text = core_messages[message];
    }
    b->flags = stm->flags;
}
