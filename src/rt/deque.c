// SPDX-License-Identifier: Apache-2.0
//
// The deque's two invariants: an item is taken by who moves `top` over it, or by the
// owner while it is not the top; a slot is reused only when `top` has passed its item.
// So a thief may read a slot while it is being overwritten, but then its exchange
// fails.
#include "rt/deque.h"

#include <stddef.h>

static RtSlot *slot_of(RtDeque *deque, int64_t number) {
    return &deque->slots[(uint64_t)number % RT_DEQUE_CAPACITY];
}

static int64_t load(atomic_int_least64_t *from) {
    return atomic_load_explicit(from, memory_order_relaxed);
}

static void read_slot(RtSlot *slot, RtItem *item_out) {
    item_out->job = (RtJob *)atomic_load_explicit(&slot->job, memory_order_relaxed);
    item_out->depth = load(&slot->depth);
    item_out->begin = load(&slot->begin);
    item_out->end = load(&slot->end);
}

bool rt_deque_push(RtDeque *deque, RtItem item) {
    int64_t bottom = load(&deque->bottom);
    int64_t top = atomic_load_explicit(&deque->top, memory_order_acquire);
    if (bottom - top >= RT_DEQUE_CAPACITY) return false;
    RtSlot *slot = slot_of(deque, bottom);
    atomic_store_explicit(&slot->job, (uintptr_t)item.job, memory_order_relaxed);
    atomic_store_explicit(&slot->depth, item.depth, memory_order_relaxed);
    atomic_store_explicit(&slot->begin, item.begin, memory_order_relaxed);
    atomic_store_explicit(&slot->end, item.end, memory_order_relaxed);
    // Publishes the slot; before any later look at who sleeps (pool.c).
    atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_seq_cst);
    return true;
}

bool rt_deque_pop(RtDeque *deque, int64_t least_depth, RtItem *item_out) {
    int64_t last = load(&deque->bottom) - 1;
    if (last < load(&deque->top)) return false;
    RtSlot *slot = slot_of(deque, last);
    if (load(&slot->depth) < least_depth) return false;
    // Claims the last item before looking at how far the thieves are.
    atomic_store_explicit(&deque->bottom, last, memory_order_seq_cst);
    int64_t top = atomic_load_explicit(&deque->top, memory_order_seq_cst);
    bool is_mine = top < last;
    if (top == last) // the only one: a race with the thieves
        is_mine = atomic_compare_exchange_strong_explicit(
            &deque->top, &top, last + 1, memory_order_seq_cst, memory_order_relaxed);
    if (top >= last) // now empty, in either case
        atomic_store_explicit(&deque->bottom, last + 1, memory_order_relaxed);
    if (is_mine) read_slot(slot, item_out);
    return is_mine;
}

int64_t rt_deque_size(RtDeque *deque) {
    return load(&deque->bottom) - load(&deque->top);
}

// The top item's number and slot, if it may be taken.
static RtSlot *find_top(RtDeque *deque, int64_t least_depth, int64_t *top_out) {
    *top_out = atomic_load_explicit(&deque->top, memory_order_seq_cst);
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_seq_cst);
    if (*top_out >= bottom) return NULL;
    RtSlot *slot = slot_of(deque, *top_out);
    return load(&slot->depth) >= least_depth ? slot : NULL;
}

bool rt_deque_steal(RtDeque *deque, int64_t least_depth, RtItem *item_out) {
    int64_t top;
    RtSlot *slot = find_top(deque, least_depth, &top);
    if (slot == NULL) return false;
    RtItem item;
    read_slot(slot, &item); // of use only if the exchange succeeds
    if (!atomic_compare_exchange_strong_explicit(
            &deque->top, &top, top + 1, memory_order_seq_cst, memory_order_relaxed))
        return false;
    *item_out = item;
    return true;
}

bool rt_deque_offers(RtDeque *deque, int64_t least_depth) {
    int64_t top;
    return find_top(deque, least_depth, &top) != NULL;
}
