// SPDX-License-Identifier: Apache-2.0
//
// Where elements are (store.h). Host memory is freed when a device has overwritten the
// elements, so an array is away exactly if it has no host memory.
#include "rt/store.h"

#include <assert.h>
#include <string.h>

static RtArray *owner_of(RtArray *a) {
    return a->base != NULL ? a->base : a;
}

static RtCopy *copy_on(const RtArray *owner, const Device *device) {
    RtCopy *copy = owner->copies;
    while (copy != NULL && copy->device != device) copy = copy->next;
    return copy;
}

// The bytes of what is copied: of a view, and of what is lent, by the shape.
static size_t size_of(const RtArray *a) {
    size_t bytes = a->memory_size;
    if (a->is_lent || a->base != NULL)
        rt_byte_count(a->elem, a->rank, a->shape, &bytes);
    return bytes;
}

static void drop_copy(RtHeap *heap, RtArray *owner, RtCopy *copy) {
    RtCopy **link = &owner->copies;
    while (*link != copy) link = &(*link)->next;
    *link = copy->next;
    dev_free(copy->device, copy->address, size_of(owner));
    mem_free(heap->mem, copy, sizeof *copy);
}

void rt_drop_copies(RtHeap *heap, RtArray *a) {
    while (a->copies != NULL) drop_copy(heap, a, a->copies);
}

// ---- pieces -------------------------------------------------------------------------

void rt_free_pieces(RtHeap *heap, RtArray *a) {
    while (a->pieces != NULL) {
        RtPiece *piece = a->pieces;
        a->pieces = piece->next;
        mem_free(heap->mem, piece, sizeof *piece);
    }
}

void rt_drop_pieces(RtHeap *heap, RtArray *a) {
    for (RtPiece *piece = a->pieces; piece != NULL; piece = piece->next)
        rt_release(heap, piece->part);
    rt_free_pieces(heap, a);
}

RtArray *rt_join(RtHeap *heap, ScalarType elem, uint32_t rank, const int64_t *shape,
                 const RtValue *parts, uint32_t count) {
    RtArray *a = rt_new_away(heap, elem, rank, shape);
    RtPiece **link = a != NULL ? &a->pieces : NULL;
    size_t at = 0;
    for (uint32_t i = 0; i < count && link != NULL; i++) {
        RtArray *part = parts[i].array;
        assert(rt_is_contiguous(part));
        RtPiece *piece = mem_try_alloc(heap->mem, sizeof *piece);
        if (piece == NULL) {
            rt_release(heap, a);
            return NULL;
        }
        *piece = (RtPiece){.part = rt_retain(part), .at = at};
        *link = piece;
        link = &piece->next;
        at += size_of(part);
    }
    return a;
}

static void pin_pieces(const RtArray *a, int by) {
    for (RtPiece *piece = a->pieces; piece != NULL; piece = piece->next)
        owner_of(piece->part)->pins += (uint32_t)by;
}

static bool is_on(const RtArray *a, const Device *device) {
    return copy_on(owner_of(a), device) != NULL || copy_on(a, device) != NULL;
}

// Sees to it that what the device does not have of the array is on the host.
static Status fetch_for(RtHeap *heap, RtArray *a, const Device *device) {
    Status status = STATUS_OK;
    if (a->pieces == NULL) return rt_fetch(heap, a);
    for (RtPiece *piece = a->pieces; piece != NULL && status == STATUS_OK;
         piece = piece->next)
        if (!is_on(piece->part, device)) status = rt_fetch(heap, owner_of(piece->part));
    return status;
}

// Writes all elements of the array to the device, from there and from the host.
static Status write_all(RtHeap *heap, RtArray *a, Device *device, uint64_t address) {
    Status status = STATUS_OK;
    if (a->pieces == NULL) return dev_write(device, address, a->data, size_of(a));
    for (RtPiece *piece = a->pieces; piece != NULL && status == STATUS_OK;
         piece = piece->next) {
        RtArray *part = piece->part;
        uint64_t from, to = address + piece->at;
        if (!is_on(part, device))
            status = dev_write(device, to, part->data, size_of(part));
        else if (rt_send(heap, part, device, &from) == STATUS_OK)
            status = dev_copy(device, to, from, size_of(part));
    }
    return status;
}

static Status read_pieces(const RtArray *a, char *to) {
    Status status = STATUS_OK;
    for (RtPiece *piece = a->pieces; piece != NULL && status == STATUS_OK;
         piece = piece->next) {
        const RtArray *part = piece->part;
        if (part->is_away) status = rt_read(part, to + piece->at);
        else memcpy(to + piece->at, part->data, size_of(part));
    }
    return status;
}

// ---- room ---------------------------------------------------------------------------

static uint32_t count_copies(const RtArray *a) {
    uint32_t count = (a->is_away ? 0u : 1u) + (a->pieces != NULL ? 1u : 0u);
    for (const RtCopy *copy = a->copies; copy != NULL; copy = copy->next) count++;
    return count;
}

// Whether memory freed on `device` is memory for `wanted`; NULL is the host.
static bool is_same_memory(const Device *device, const Device *wanted) {
    bool is_host = device == NULL || device->kind == DEVICE_CPU;
    bool wants_host = wanted == NULL || wanted->kind == DEVICE_CPU;
    return device == wanted || (is_host && wants_host);
}

static void free_memory(RtHeap *heap, RtArray *a) {
    rt_free_memory(heap, a);
    a->data = NULL;
    a->is_away = true;
}

// Drops one copy of an array that is valid elsewhere and takes the wanted memory, or
// may do so: parts may be kept by others.
static bool drop_one(RtHeap *heap, RtArray *a, const Device *wanted) {
    if (a->pins > 0 || count_copies(a) < 2) return false;
    if (a->pieces != NULL) {
        rt_drop_pieces(heap, a);
        return true;
    }
    for (RtCopy *copy = a->copies; copy != NULL; copy = copy->next) {
        if (!is_same_memory(copy->device, wanted)) continue;
        drop_copy(heap, a, copy);
        return true;
    }
    // While the host looks at elements, it is also what wants memory.
    bool is_free =
        !a->is_away && a->base == NULL && !a->is_lent && !a->stays && a->views == 0;
    if (!is_free || wanted == NULL || !is_same_memory(NULL, wanted)) return false;
    free_memory(heap, a);
    return true;
}

// An array that is on that device alone comes to the host.
static bool bring_home(RtHeap *heap, RtArray *a, const Device *wanted) {
    if (a->pins > 0 || a->copies == NULL || is_same_memory(NULL, wanted)) return false;
    if (!a->is_away || count_copies(a) != 1 || a->copies->device != wanted)
        return false;
    if (!rt_bring_memory(heap, a)) return false;
    if (dev_read(a->copies->device, a->data, a->copies->address, a->memory_size) !=
        STATUS_OK) {
        free_memory(heap, a);
        return false;
    }
    drop_copy(heap, a, a->copies);
    return true;
}

// Makes some room where `wanted` has its memory; false: there is none to make.
static bool make_room(RtHeap *heap, const Device *wanted) {
    for (RtArray *a = heap->live; a != NULL; a = a->next)
        if (drop_one(heap, a, wanted)) return true;
    for (RtArray *a = heap->live; a != NULL; a = a->next)
        if (bring_home(heap, a, wanted)) return true;
    return false;
}

Status rt_alloc_on(RtHeap *heap, Device *device, size_t bytes, uint64_t *address_out) {
    Status status = dev_alloc(device, bytes, address_out);
    while (status == STATUS_MEMORY && make_room(heap, device))
        status = dev_alloc(device, bytes, address_out);
    return status;
}

void rt_settle(RtHeap *heap) {
    for (RtArray *a = heap->live; a != NULL; a = a->next) a->stays = true;
}

static Status add_copy(RtHeap *heap, RtArray *owner, Device *device,
                       RtCopy **copy_out) {
    RtCopy *copy = mem_try_alloc(heap->mem, sizeof *copy);
    if (copy == NULL) return STATUS_MEMORY;
    owner->pins++;
    *copy = (RtCopy){.device = device, .next = owner->copies};
    Status status = rt_alloc_on(heap, device, size_of(owner), &copy->address);
    owner->pins--;
    copy->next = owner->copies;
    if (status == STATUS_OK) owner->copies = copy;
    else mem_free(heap->mem, copy, sizeof *copy);
    *copy_out = status == STATUS_OK ? copy : NULL;
    return status;
}

// ---- to and fro ---------------------------------------------------------------------

Status rt_read(const RtArray *a, char *to) {
    const RtCopy *from = a->copies;
    if (a->pieces != NULL) return read_pieces(a, to);
    if (from == NULL) return STATUS_IO; // lost with a device
    return dev_read(from->device, to, from->address, a->memory_size);
}

Status rt_fetch(RtHeap *heap, RtArray *a) {
    if (!a->is_away) return STATUS_OK;
    if (a->copies == NULL && a->pieces == NULL) return STATUS_IO; // lost with a device
    a->pins++;
    while (!rt_bring_memory(heap, a) && make_room(heap, NULL)) continue;
    a->pins--;
    if (a->is_away) return STATUS_MEMORY;
    Status status = rt_read(a, a->data);
    if (status == STATUS_OK) rt_drop_pieces(heap, a);
    else free_memory(heap, a);
    return status;
}

static uint64_t address_in(const RtArray *a, const RtArray *owner, const RtCopy *copy) {
    return copy->address + (a == owner ? 0 : (uint64_t)(a->data - owner->data));
}

// Makes a copy of the owner's elements there; without the memory for its parts beside
// the whole, if the host takes it first.
static Status copy_to(RtHeap *heap, RtArray *owner, Device *device, RtCopy **copy_out) {
    pin_pieces(owner, 1);
    Status status = fetch_for(heap, owner, device);
    if (status == STATUS_OK) status = add_copy(heap, owner, device, copy_out);
    bool has_memory = status == STATUS_OK;
    if (has_memory) status = write_all(heap, owner, device, (*copy_out)->address);
    if (has_memory && status != STATUS_OK) drop_copy(heap, owner, *copy_out);
    pin_pieces(owner, -1);
    if (status != STATUS_MEMORY || owner->pieces == NULL) return status;
    status = rt_fetch(heap, owner);
    return status == STATUS_OK ? copy_to(heap, owner, device, copy_out) : status;
}

Status rt_send(RtHeap *heap, RtArray *a, Device *device, uint64_t *address_out) {
    RtArray *owner = owner_of(a);
    RtCopy *copy = copy_on(owner, device);
    assert(rt_is_contiguous(a));
    if (copy == NULL && size_of(a) < size_of(owner)) {
        owner = a; // a part of what is not there travels alone
        copy = copy_on(a, device);
    }
    if (copy == NULL) {
        Status status = copy_to(heap, owner, device, &copy);
        if (status != STATUS_OK) return status;
    }
    *address_out = address_in(a, owner, copy);
    return STATUS_OK;
}

size_t rt_bytes_to_send(const RtArray *a, const Device *device) {
    const RtArray *owner = a->base != NULL ? a->base : a;
    if (a->pieces != NULL && copy_on(a, device) == NULL) {
        size_t bytes = 0;
        for (RtPiece *piece = a->pieces; piece != NULL; piece = piece->next)
            bytes += rt_bytes_to_send(piece->part, device);
        return bytes;
    }
    if (device == NULL ? !owner->is_away : copy_on(owner, device) != NULL) return 0;
    return device != NULL && copy_on(a, device) != NULL ? 0 : size_of(a);
}

RtArray *rt_new_on(RtHeap *heap, Device *device, ScalarType elem, uint32_t rank,
                   const int64_t *shape, uint64_t *address_out, Status *status_out) {
    RtCopy *copy;
    *status_out = STATUS_MEMORY;
    RtArray *a = rt_new_away(heap, elem, rank, shape);
    if (a == NULL) return NULL;
    *status_out = add_copy(heap, a, device, &copy);
    if (*status_out == STATUS_OK) {
        *address_out = copy->address;
        return a;
    }
    rt_release(heap, a);
    return NULL;
}

// Whether the array is all there is of its elements.
static bool is_sole(const RtArray *a) {
    return a->refs == 1 && a->base == NULL && !a->is_lent && rt_is_contiguous(a);
}

// The elements stay on this device only.
static void keep_only(RtHeap *heap, RtArray *a, const RtCopy *kept) {
    for (RtCopy *copy = a->copies, *next; copy != NULL; copy = next) {
        next = copy->next;
        if (copy != kept) drop_copy(heap, a, copy);
    }
    rt_drop_pieces(heap, a);
    free_memory(heap, a);
}

// A copy of a's elements on the device, made from where they are.
static RtArray *duplicate_on(RtHeap *heap, RtArray *a, Device *device,
                             uint64_t *address_out, Status *status_out) {
    RtArray *owner = owner_of(a);
    owner->pins++;
    pin_pieces(owner, 1);
    RtArray *own =
        rt_new_on(heap, device, a->elem, a->rank, a->shape, address_out, status_out);
    const RtCopy *copy = copy_on(owner, device);
    if (own != NULL && copy == NULL) {
        *status_out = fetch_for(heap, a, device);
        if (*status_out == STATUS_OK)
            *status_out = write_all(heap, a, device, *address_out);
    } else if (own != NULL) {
        *status_out = dev_copy(device, *address_out, address_in(a, owner, copy),
                               own->memory_size);
    }
    pin_pieces(owner, -1);
    owner->pins--;
    if (*status_out == STATUS_OK) return own;
    rt_release(heap, own);
    if (*status_out != STATUS_MEMORY || owner->pieces == NULL) return NULL;
    *status_out = rt_fetch(heap, owner); // as copy_to
    if (*status_out != STATUS_OK) return NULL;
    return duplicate_on(heap, a, device, address_out, status_out);
}

RtArray *rt_own_on(RtHeap *heap, RtArray *a, bool may_take, Device *device,
                   uint64_t *address_out, Status *status_out) {
    if (!may_take || !is_sole(a))
        return duplicate_on(heap, a, device, address_out, status_out);
    *status_out = rt_send(heap, a, device, address_out);
    if (*status_out != STATUS_OK) return NULL;
    keep_only(heap, a, copy_on(a, device));
    return rt_retain(a);
}

bool rt_leave(RtHeap *heap, Device *device) {
    bool all = true;
    for (RtArray *a = heap->live; a != NULL; a = a->next) {
        RtCopy *copy = copy_on(a, device);
        if (copy == NULL) continue;
        if (count_copies(a) == 1 && rt_fetch(heap, a) != STATUS_OK) all = false;
        drop_copy(heap, a, copy);
    }
    return all;
}
