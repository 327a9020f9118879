// SPDX-License-Identifier: Apache-2.0
//
// Sizes of arrays that the host has: also of those that a loop carries, if each turn
// keeps them.
#include "opt/outline.h"

// Of the sizes that checks in force have found equal to this one, the earliest.
static CoreRef first_equal(const Outliner *o, CoreRef size) {
    for (uint32_t i = 0; i < o->checks.len; i++) {
        uint64_t eq;
        map_get(&o->scalars, o->checks.data[i]->args[0], &eq);
        const CoreRef *sides = ((const CoreStm *)(uintptr_t)eq)->args;
        CoreRef x = outline_unguarded(o, sides[0]), y = outline_unguarded(o, sides[1]);
        if ((x != size && y != size) || (x >= size && y >= size)) continue;
        size = x < y ? x : y;
        i = UINT32_MAX; // from the first check on
    }
    return size;
}

// What the host has of that size of an array, by what is known of states; 0: nothing.
static CoreRef find_size(const Outliner *o, const FuseState *states, CoreRef array,
                         int32_t axis) {
    FuseSize size = {.array = array, .axis = axis};
    size = fuse_find_size(&o->defs, states, size);
    uint64_t value = size.value;
    if (size.array != 0 &&
        !map_get(&o->dims, outline_dim_key(size.array, size.axis), &value))
        return 0;
    return first_equal(o, (CoreRef)value);
}

void outline_note_size(Outliner *o, CoreRef array, int32_t axis) {
    CoreRef size = find_size(o, o->states, array, axis);
    if (size != 0) map_set(&o->sizes, outline_dim_key(array, axis), size);
}

// Whether a turn that is given an array of the size that the loop starts with hands on
// such a one.
static bool keeps_axis(const Outliner *o, const CoreStm *loop, uint32_t k,
                       int32_t axis) {
    const CoreBody *turn = loop->bodies[loop->body_count - 1];
    uint32_t at = k + (loop->op == OP_FOR);
    if (fuse_keeps_size(&o->defs, o->states, loop, k, axis)) return true;
    FuseState state = {o->states, turn->params[at], loop->args[at], axis};
    CoreRef first = find_size(o, o->states, state.first, axis);
    return first != 0 && first == find_size(o, &state, turn->results[k], axis);
}

void outline_note_state(Outliner *o, const CoreStm *loop, uint32_t k) {
    uint32_t at = k + (loop->op == OP_FOR);
    for (int32_t axis = 0; axis < core_type(o->program, loop->outs[k]).rank; axis++) {
        if (!keeps_axis(o, loop, k, axis)) continue;
        for (uint32_t i = 0; i < loop->body_count; i++) {
            FuseState *state = arena_new(o->program->arena, FuseState);
            CoreRef param = loop->bodies[i]->params[at];
            *state = (FuseState){o->states, param, loop->args[at], axis};
            o->states = state;
            outline_note_size(o, param, axis);
        }
    }
}
