// SPDX-License-Identifier: Apache-2.0
//
// Frames: what names, type parameters and sizes mean while one body is evaluated. Every
// binding has an identity of its own, so a frame may grow while its body is evaluated;
// a new one is made for each body of core, for each application, for each instance.
#include "lower/internal.h"

enum { FEW = 8, USUAL = 2 };

Frame *lower_frame_new(Lower *l, Frame *parent) {
    Frame *frame = arena_new(l->arena, Frame);
    if (parent != NULL) {
        frame->info = parent->info;
        frame->caller = parent->caller;
    }
    // What is bound in the parent later on is not in scope here.
    while (parent != NULL && parent->few.len == 0) parent = parent->parent;
    frame->parent = parent;
    return frame;
}

static void bind(Lower *l, Frame *frame, uint64_t key, void *item) {
    for (uint32_t i = 0; i < frame->few.len; i++) {
        if (frame->few.data[i].key != key) continue;
        frame->few.data[i].item = item;
        return;
    }
    if (frame->few.cap == 0) vec_reserve(l->arena, &frame->few, USUAL);
    if (frame->many == NULL && frame->few.len < FEW) {
        vec_push(l->arena, &frame->few, (FrameItem){key, item});
        return;
    }
    if (frame->many == NULL) {
        frame->many = arena_new(l->arena, Map);
        map_init(frame->many, l->arena);
    }
    map_set(frame->many, key, (uintptr_t)item);
}

static void *find(const Frame *frame, uint64_t key) {
    for (; frame != NULL; frame = frame->parent) {
        for (uint32_t i = 0; i < frame->few.len; i++)
            if (frame->few.data[i].key == key) return frame->few.data[i].item;
        uint64_t found;
        if (frame->many != NULL && map_get(frame->many, key, &found))
            return (void *)(uintptr_t)found;
    }
    return NULL;
}

// Keys are the addresses of bindings and type variables, which are even, and the odd
// numbers for existential sizes.
static uint64_t address(const void *of) {
    return (uint64_t)(uintptr_t)of;
}

static uint64_t unknown_key(uint32_t id) {
    return (uint64_t)id * 2 + 1;
}

void lower_frame_bind(Lower *l, Frame *frame, const Binding *binding, Value *value) {
    bind(l, frame, address(binding), value);
}

Value *lower_frame_value(const Frame *frame, const Binding *binding) {
    return find(frame, address(binding));
}

void lower_frame_bind_type(Lower *l, Frame *frame, const TypeVar *var, LType *type) {
    bind(l, frame, address(var), type);
}

LType *lower_frame_type(const Frame *frame, const TypeVar *var) {
    return find(frame, address(var));
}

void lower_frame_bind_size(Lower *l, Frame *frame, const Binding *binding,
                           SizeEntry entry) {
    bind(l, frame, address(binding), arena_copy(l->arena, &entry, sizeof entry));
}

SizeEntry *lower_frame_size(const Frame *frame, const Binding *binding) {
    return find(frame, address(binding));
}

void lower_frame_bind_unknown(Lower *l, Frame *frame, uint32_t id, SizeEntry entry) {
    bind(l, frame, unknown_key(id), arena_copy(l->arena, &entry, sizeof entry));
}

SizeEntry *lower_frame_unknown(const Frame *frame, uint32_t id) {
    return find(frame, unknown_key(id));
}
