// SPDX-License-Identifier: Apache-2.0
//
// Arrays at run time. An array is a header, allocated with its shape and strides behind
// it, and separate memory for the elements. A view is a header whose base is the owner
// of the memory and never another view, so that releasing goes one level deep. All
// headers are in heap->live.
#include "rt/array.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "rt/store.h"

void rt_heap_init(RtHeap *heap, Mem *mem) {
    *heap = (RtHeap){.mem = mem};
}

static size_t header_size(uint32_t rank) {
    return sizeof(RtArray) + 2 * (size_t)rank * sizeof(int64_t);
}

// ---- arrays -------------------------------------------------------------------------

void rt_free_memory(RtHeap *heap, RtArray *a) {
    if (a->room > 0) mem_free_room(heap->mem, a->memory, a->room, a->memory_size);
    else mem_free(heap->mem, a->memory, a->memory_size);
    a->memory = NULL;
    a->room = 0;
}

static void free_array(RtHeap *heap, RtArray *a) {
    RtLender lender = {0};
    rt_drop_copies(heap, a);
    if (a->is_lent) memcpy(&lender, a->memory, sizeof lender);
    rt_free_memory(heap, a);
    rt_free_pieces(heap, a);
    mem_free(heap->mem, a, header_size(a->rank));
    if (lender.release != NULL) lender.release(lender.data);
}

void rt_heap_free(RtHeap *heap) {
    RtArray *a = heap->live;
    while (a != NULL) {
        RtArray *next = a->next;
        free_array(heap, a);
        a = next;
    }
    heap->live = NULL;
}

// A header outside the list of live arrays, or NULL. Without a shape all sizes are 0.
static RtArray *new_header(RtHeap *heap, ScalarType elem, uint32_t rank,
                           const int64_t *shape) {
    assert(rank >= 1);
    RtArray *a = mem_try_alloc(heap->mem, header_size(rank));
    if (a == NULL) return NULL;
    *a = (RtArray){.refs = 1, .rank = rank, .elem = elem};
    a->shape = (int64_t *)(void *)(a + 1);
    a->strides = a->shape + rank;
    if (shape != NULL) memcpy(a->shape, shape, rank * sizeof *shape);
    else memset(a->shape, 0, rank * sizeof *shape);
    return a;
}

static void link_live(RtHeap *heap, RtArray *a) {
    a->next = heap->live;
    if (a->next != NULL) a->next->prev = a;
    heap->live = a;
}

bool rt_byte_count(ScalarType elem, uint32_t rank, const int64_t *shape,
                   size_t *bytes_out) {
    bool is_empty = false;
    for (uint32_t d = 0; d < rank; d++) {
        if (shape[d] < 0) return false;
        if (shape[d] == 0) is_empty = true;
    }
    size_t bytes = is_empty ? 0 : scalar_info[elem].bytes;
    for (uint32_t d = 0; d < rank && !is_empty; d++) {
        if (__builtin_mul_overflow(bytes, (uint64_t)shape[d], &bytes)) return false;
        if (bytes > PTRDIFF_MAX) return false;
    }
    *bytes_out = bytes;
    return true;
}

static void set_row_major(RtArray *a) {
    int64_t stride = 1;
    for (uint32_t d = a->rank; d-- > 0;) {
        a->strides[d] = stride;
        // Of an empty array the product may overflow; its strides are never used.
        if (__builtin_mul_overflow(stride, a->shape[d], &stride)) stride = 0;
    }
}

RtArray *rt_new_away(RtHeap *heap, ScalarType elem, uint32_t rank,
                     const int64_t *shape) {
    size_t bytes;
    if (!rt_byte_count(elem, rank, shape, &bytes)) return NULL;
    RtArray *a = new_header(heap, elem, rank, shape);
    if (a == NULL) return NULL;
    a->memory_size = bytes;
    a->is_away = true;
    set_row_major(a);
    link_live(heap, a);
    return a;
}

RtArray *rt_new(RtHeap *heap, ScalarType elem, uint32_t rank, const int64_t *shape) {
    RtArray *a = rt_new_away(heap, elem, rank, shape);
    if (a == NULL || rt_bring_memory(heap, a)) return a;
    rt_release(heap, a);
    return NULL;
}

bool rt_bring_memory(RtHeap *heap, RtArray *a) {
    a->memory = mem_try_alloc(heap->mem, a->memory_size);
    a->data = a->memory;
    a->is_away = a->memory == NULL;
    heap->made += !a->is_away;
    heap->made_bytes += a->is_away ? 0 : a->memory_size;
    return !a->is_away;
}

RtArray *rt_new_room(RtHeap *heap, ScalarType elem, uint32_t rank,
                     const int64_t *shape) {
    size_t most;
    if (!rt_byte_count(elem, rank, shape, &most)) return NULL;
    void *memory = mem_try_room(heap->mem, most);
    if (memory == NULL) return NULL;
    RtArray *a = new_header(heap, elem, rank, shape);
    if (a == NULL) {
        mem_free_room(heap->mem, memory, most, 0);
        return NULL;
    }
    a->memory = a->data = memory;
    a->room = most;
    set_row_major(a);
    link_live(heap, a);
    return a;
}

void rt_fit(RtHeap *heap, RtArray *a, int64_t rows) {
    assert(a->room > 0 && rows <= a->shape[0]);
    a->shape[0] = rows;
    rt_byte_count(a->elem, a->rank, a->shape, &a->memory_size);
    mem_fit(heap->mem, a->memory, a->room, a->memory_size);
    heap->made++;
    heap->made_bytes += a->memory_size;
}

RtArray *rt_lent(RtHeap *heap, ScalarType elem, uint32_t rank, const int64_t *shape,
                 const int64_t *strides, char *data, RtLender lender) {
    RtArray *owner = new_header(heap, elem, rank, shape);
    if (owner == NULL) return NULL;
    RtLender *held = mem_try_alloc(heap->mem, sizeof *held);
    if (held == NULL) {
        mem_free(heap->mem, owner, header_size(rank));
        return NULL;
    }
    *held = (RtLender){0}; // until nothing can fail any more
    owner->is_lent = true;
    owner->memory = held;
    owner->memory_size = sizeof *held;
    owner->data = data != NULL ? data : owner->memory; // if empty, any place will do
    memcpy(owner->strides, strides, rank * sizeof *strides);
    link_live(heap, owner);
    RtArray *a = owner;
    if (!rt_is_contiguous(owner)) {
        a = rt_view(heap, owner, owner->data, rank, shape, strides);
        rt_release(heap, owner);
    }
    if (a != NULL) *held = lender;
    return a;
}

bool rt_make_contiguous(RtHeap *heap, RtArray *a) {
    if (rt_is_contiguous(a)) return true;
    assert(a->base != NULL);
    RtArray *copy = rt_new(heap, a->elem, a->rank, a->shape);
    if (copy == NULL) return false;
    rt_copy_elements(copy->data, copy->strides, a->data, a->strides, a->rank, a->shape,
                     scalar_info[a->elem].bytes);
    memcpy(a->strides, copy->strides, a->rank * sizeof *a->strides);
    a->memory = copy->memory;
    a->memory_size = copy->memory_size;
    a->data = copy->data;
    copy->memory = NULL;
    rt_release(heap, copy);
    a->base->views--;
    rt_release(heap, a->base);
    a->base = NULL;
    return true;
}

RtArray *rt_view(RtHeap *heap, RtArray *a, char *data, uint32_t rank,
                 const int64_t *shape, const int64_t *strides) {
    RtArray *view = new_header(heap, a->elem, rank, shape);
    if (view == NULL) return NULL;
    memcpy(view->strides, strides, rank * sizeof *strides);
    view->base = rt_retain(a->base != NULL ? a->base : a);
    view->base->views++;
    view->data = data;
    link_live(heap, view);
    return view;
}

RtArray *rt_promise(RtHeap *heap, ScalarType elem, uint32_t rank,
                    struct RtErrand *maker) {
    RtArray *a = new_header(heap, elem, rank, NULL);
    if (a == NULL) return NULL;
    a->is_away = true;
    a->maker = maker;
    link_live(heap, a);
    return a;
}

void rt_keep_promise(RtHeap *heap, RtArray *promised, RtArray *made) {
    assert(made->refs == 1 && made->views == 0 && !made->is_lent);
    assert(promised->pieces == NULL);
    size_t row = made->rank * sizeof(int64_t);
    memcpy(promised->shape, made->shape, row);
    memcpy(promised->strides, made->strides, row);
    promised->base = made->base;
    promised->memory = made->memory;
    promised->memory_size = made->memory_size;
    promised->room = made->room;
    promised->data = made->data;
    promised->is_away = made->is_away;
    promised->copies = made->copies;
    promised->pieces = made->pieces;
    promised->maker = NULL;
    made->base = NULL;
    made->memory = NULL;
    made->copies = NULL;
    made->pieces = NULL;
    rt_release(heap, made);
}

bool rt_begin_whole(RtHeap *heap, RtArray *whole, int64_t size, const int64_t *shape) {
    memcpy(whole->shape, shape, whole->rank * sizeof *shape);
    whole->shape[0] = size;
    if (!rt_byte_count(whole->elem, whole->rank, whole->shape, &whole->memory_size))
        return false;
    set_row_major(whole);
    return rt_bring_memory(heap, whole);
}

RtArray *rt_part(RtHeap *heap, const RtLay *lay, const int64_t *shape) {
    RtArray *whole = lay->whole;
    if (shape[0] != lay->count) return NULL;
    if (whole->is_away && !rt_begin_whole(heap, whole, lay->size, shape)) return NULL;
    size_t rows = (whole->rank - 1) * sizeof *shape;
    if (whole->shape[0] != lay->size || memcmp(whole->shape + 1, shape + 1, rows) != 0)
        return NULL;
    char *data = whole->data;
    if (whole->memory_size > 0)
        data += lay->first * whole->strides[0] * scalar_info[whole->elem].bytes;
    return rt_view(heap, whole, data, whole->rank, shape, whole->strides);
}

RtArray *rt_retain(RtArray *a) {
    a->refs++;
    return a;
}

void rt_release(RtHeap *heap, RtArray *a) {
    while (a != NULL) {
        assert(a->refs > 0);
        if (--a->refs > 0) return;
        if (a->prev != NULL) a->prev->next = a->next;
        else heap->live = a->next;
        if (a->next != NULL) a->next->prev = a->prev;
        RtArray *base = a->base;
        if (base != NULL) base->views--;
        rt_drop_pieces(heap, a);
        free_array(heap, a);
        a = base;
    }
}

void rt_release_value(RtHeap *heap, RtValue *value) {
    if (value->rank > 0) rt_release(heap, value->array);
    *value = (RtValue){0};
}

int64_t rt_count(const RtArray *a) {
    int64_t count = 1;
    for (uint32_t d = 0; d < a->rank; d++)
        if (a->shape[d] == 0) return 0;
    for (uint32_t d = 0; d < a->rank; d++) count *= a->shape[d];
    return count;
}

bool rt_is_contiguous(const RtArray *a) {
    if (rt_count(a) == 0) return true;
    int64_t stride = 1;
    for (uint32_t d = a->rank; d-- > 0;) {
        if (a->shape[d] != 1 && a->strides[d] != stride) return false;
        stride *= a->shape[d];
    }
    return true;
}

bool rt_is_unshared(const RtArray *a) {
    if (a->refs != 1 || (a->base != NULL && a->base->refs != 1)) return false;
    const RtArray *owner = a->base != NULL ? a->base : a;
    if (owner->is_lent || owner->copies != NULL || a->copies != NULL) return false;
    if (a->pieces != NULL) return false;
    // Of the views we make, only those with a stride of 0 repeat an element.
    for (uint32_t d = 0; d < a->rank; d++)
        if (a->strides[d] == 0 && a->shape[d] > 1) return false;
    return true;
}

RtArray *rt_contiguous(RtHeap *heap, RtArray *a) {
    if (rt_is_contiguous(a)) return a;
    RtArray *copy = rt_new(heap, a->elem, a->rank, a->shape);
    if (copy != NULL)
        rt_copy_elements(copy->data, copy->strides, a->data, a->strides, a->rank,
                         a->shape, scalar_info[a->elem].bytes);
    rt_release(heap, a);
    return copy;
}

// ---- elements -----------------------------------------------------------------------

uint64_t rt_load(ScalarType elem, const char *at) {
    uint8_t b;
    uint16_t h;
    uint32_t w;
    uint64_t d;
    switch (scalar_info[elem].bytes) {
    case 1: memcpy(&b, at, 1); return b;
    case 2: memcpy(&h, at, 2); return h;
    case 4: memcpy(&w, at, 4); return w;
    default: memcpy(&d, at, 8); return d;
    }
}

void rt_store(ScalarType elem, char *at, uint64_t bits) {
    uint8_t b = (uint8_t)bits;
    uint16_t h = (uint16_t)bits;
    uint32_t w = (uint32_t)bits;
    switch (scalar_info[elem].bytes) {
    case 1: memcpy(at, &b, 1); return;
    case 2: memcpy(at, &h, 2); return;
    case 4: memcpy(at, &w, 4); return;
    default: memcpy(at, &bits, 8); return;
    }
}

static void copy_line(char *to, ptrdiff_t to_step, const char *from,
                      ptrdiff_t from_step, int64_t count, size_t bytes) {
    if (to_step == (ptrdiff_t)bytes && from_step == (ptrdiff_t)bytes) {
        memcpy(to, from, (size_t)count * bytes);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        char *t = to + i * to_step;
        const char *f = from + i * from_step;
        switch (bytes) { // constant sizes become single moves
        case 1: memcpy(t, f, 1); break;
        case 2: memcpy(t, f, 2); break;
        case 4: memcpy(t, f, 4); break;
        default: memcpy(t, f, 8); break;
        }
    }
}

void rt_copy_elements(char *to, const int64_t *to_strides, const char *from,
                      const int64_t *from_strides, uint32_t rank, const int64_t *shape,
                      size_t bytes) {
    ptrdiff_t size = (ptrdiff_t)bytes;
    for (uint32_t d = 0; d < rank; d++)
        if (shape[d] == 0) return;
    if (rank == 0) {
        memcpy(to, from, bytes);
        return;
    }
    // Inner dimensions that are dense on both sides make one line.
    uint32_t last = rank - 1;
    int64_t line = shape[last];
    while (last > 0 && to_strides[rank - 1] == 1 && from_strides[rank - 1] == 1 &&
           to_strides[last - 1] == line && from_strides[last - 1] == line)
        line *= shape[--last];
    if (last == 0) {
        copy_line(to, to_strides[rank - 1] * size, from, from_strides[rank - 1] * size,
                  line, bytes);
        return;
    }
    if (last == 1) {
        for (int64_t i = 0; i < shape[0]; i++)
            copy_line(to + i * to_strides[0] * size, to_strides[rank - 1] * size,
                      from + i * from_strides[0] * size, from_strides[rank - 1] * size,
                      line, bytes);
        return;
    }
    for (int64_t i = 0; i < shape[0]; i++)
        rt_copy_elements(to + i * to_strides[0] * size, to_strides + 1,
                         from + i * from_strides[0] * size, from_strides + 1, rank - 1,
                         shape + 1, bytes);
}
