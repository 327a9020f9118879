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

// While elements travel others may have the turn. Who moves them sees to it that the
// array, and where it is, stay (pins, a reference).
static void tell_idle(void *data, bool begins) {
    RtTurn *turn = data;
    if (begins) rt_turn_give(turn);
    else rt_turn_take(turn);
}

static const DeviceIdle *idle_in(const RtHeap *heap, DeviceIdle *idle) {
    *idle = (DeviceIdle){tell_idle, heap->turn};
    return heap->turn != NULL && !heap->keeps_turn ? idle : NULL;
}

static Status write_to(RtHeap *heap, Device *device, uint64_t to, const RtArray *a) {
    DeviceIdle idle;
    return dev_write_idle(device, to, a->data, size_of(a), idle_in(heap, &idle));
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

// The pieces that its elements are to be had from: what the host has is there at once.
static RtPiece *sources(const RtArray *a) {
    return a->is_away ? a->pieces : NULL;
}

// Adds a part, at that place; false: memory is short.
static bool add_piece(RtHeap *heap, RtPiece ***link, RtArray *part, size_t at) {
    assert(rt_is_contiguous(part));
    RtPiece *piece = mem_try_alloc(heap->mem, sizeof *piece);
    if (piece == NULL) return false;
    *piece = (RtPiece){.part = rt_retain(part), .at = at};
    **link = piece;
    *link = &piece->next;
    return true;
}

// The same of a part that nobody has joined yet: its own parts, each from where it is.
static bool add_pieces(RtHeap *heap, RtPiece ***link, RtArray *part, size_t at) {
    const RtPiece *inner = part->copies == NULL ? sources(part) : NULL;
    if (inner == NULL) return add_piece(heap, link, part, at);
    bool ok = true;
    for (; inner != NULL && ok; inner = inner->next)
        ok = add_piece(heap, link, inner->part, at + inner->at);
    return ok;
}

RtArray *rt_join(RtHeap *heap, ScalarType elem, uint32_t rank, const int64_t *shape,
                 const RtValue *parts, uint32_t count) {
    RtArray *a = rt_new_away(heap, elem, rank, shape);
    if (a == NULL) return NULL;
    RtPiece **link = &a->pieces;
    size_t at = 0;
    bool ok = true;
    for (uint32_t i = 0; i < count && ok; i++) {
        if (rt_count(parts[i].array) == 0) continue;
        ok = add_pieces(heap, &link, parts[i].array, at);
        at += size_of(parts[i].array);
    }
    if (ok) return a;
    rt_release(heap, a);
    return NULL;
}

static void pin_pieces(const RtArray *a, int by) {
    for (RtPiece *piece = a->pieces; piece != NULL; piece = piece->next)
        owner_of(piece->part)->pins += (uint32_t)by;
}

static bool are_pinned(const RtPiece *piece) {
    while (piece != NULL && owner_of(piece->part)->pins == 0) piece = piece->next;
    return piece != NULL;
}

static bool is_on(const RtArray *a, const Device *device) {
    return copy_on(owner_of(a), device) != NULL || copy_on(a, device) != NULL;
}

// Sees to it that what the device does not have of the array is on the host.
static Status fetch_for(RtHeap *heap, RtArray *a, const Device *device) {
    Status status = STATUS_OK;
    if (sources(a) == NULL) return rt_fetch(heap, a);
    for (RtPiece *piece = sources(a); piece != NULL && status == STATUS_OK;
         piece = piece->next)
        if (!is_on(piece->part, device)) status = rt_fetch(heap, owner_of(piece->part));
    return status;
}

static bool is_coming_to(const RtArray *owner, const Device *device) {
    const RtCopy *copy = copy_on(owner, device);
    return copy != NULL && copy->is_coming;
}

typedef struct Coming {
    const RtHeap *heap;
    const RtArray *owner; // NULL: any
    const Device *device;
} Coming;

static bool has_arrived(const void *data) {
    const Coming *c = data;
    if (c->owner != NULL) return !is_coming_to(c->owner, c->device);
    const RtArray *a = c->heap->live;
    while (a != NULL && !is_coming_to(a, c->device)) a = a->next;
    return a == NULL;
}

// The copy there, once it has come; NULL: there is none.
static RtCopy *await_copy(RtHeap *heap, RtArray *owner, const Device *device) {
    Coming coming = {heap, owner, device};
    while (!has_arrived(&coming)) rt_turn_wait(heap->turn, has_arrived, &coming, -1);
    return copy_on(owner, device);
}

// Waits for what is coming, which then can go again; false: nothing is.
static bool await_all(RtHeap *heap, const Device *device) {
    Coming coming = {heap, NULL, device};
    if (has_arrived(&coming)) return false;
    rt_turn_wait(heap->turn, has_arrived, &coming, -1);
    return true;
}

// Writes all elements of the array to the device, from there and from the host.
static Status write_all(RtHeap *heap, RtArray *a, Device *device, uint64_t address) {
    Status status = STATUS_OK;
    if (sources(a) == NULL) return write_to(heap, device, address, a);
    for (RtPiece *piece = sources(a); piece != NULL && status == STATUS_OK;
         piece = piece->next) {
        RtArray *part = piece->part;
        uint64_t from, to = address + piece->at;
        bool is_there = is_on(part, device);
        status = is_there ? rt_send(heap, part, device, &from) // which waits for it
                          : write_to(heap, device, to, part);
        if (is_there && status == STATUS_OK)
            status = dev_copy(device, to, from, size_of(part));
    }
    return status;
}

static Status read_pieces(RtHeap *heap, RtArray *a, char *to) {
    Status status = STATUS_OK;
    for (RtPiece *piece = a->pieces; piece != NULL && status == STATUS_OK;
         piece = piece->next) {
        RtArray *part = piece->part;
        if (part->is_away) status = rt_read(heap, part, to + piece->at);
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
    while (status == STATUS_MEMORY &&
           (make_room(heap, device) || await_all(heap, device)))
        status = dev_alloc(device, bytes, address_out);
    return status;
}

void rt_drop_spare(RtHeap *heap, const Device *device) {
    for (RtArray *a = heap->live; a != NULL; a = a->next)
        while (drop_one(heap, a, device)) continue;
}

void rt_settle(RtHeap *heap) {
    for (RtArray *a = heap->live; a != NULL; a = a->next) a->stays = true;
}

// Memory for a copy of its elements there, for which room is made or not.
static Status add_copy(RtHeap *heap, RtArray *owner, Device *device, bool makes_room,
                       RtCopy **copy_out) {
    if (device->is_left) return STATUS_IO;
    RtCopy *copy = mem_try_alloc(heap->mem, sizeof *copy);
    if (copy == NULL) return STATUS_MEMORY;
    owner->pins++;
    *copy = (RtCopy){.device = device, .next = owner->copies};
    Status status = makes_room
                        ? rt_alloc_on(heap, device, size_of(owner), &copy->address)
                        : dev_alloc(device, size_of(owner), &copy->address);
    owner->pins--;
    copy->next = owner->copies;
    if (status == STATUS_OK) owner->copies = copy;
    else mem_free(heap->mem, copy, sizeof *copy);
    *copy_out = status == STATUS_OK ? copy : NULL;
    return status;
}

// ---- to and fro ---------------------------------------------------------------------

Status rt_read(RtHeap *heap, RtArray *a, char *to) {
    const RtCopy *from = a->copies;
    DeviceIdle idle;
    if (from == NULL && a->pieces == NULL) return STATUS_IO; // lost with a device
    a->pins++;
    pin_pieces(a, 1);
    Status status = a->pieces != NULL
                        ? read_pieces(heap, a, to)
                        : dev_read_idle(from->device, to, from->address, a->memory_size,
                                        idle_in(heap, &idle));
    pin_pieces(a, -1);
    a->pins--;
    return status;
}

static bool has_come(const void *data) {
    return !((const RtArray *)data)->is_coming;
}

// Reads an array that is away into memory of its own. It stays away meanwhile.
static Status bring(RtHeap *heap, RtArray *a) {
    a->is_away = a->is_coming = true;
    Status status = rt_read(heap, a, a->data);
    a->is_away = a->is_coming = false;
    if (status != STATUS_OK) free_memory(heap, a);
    else if (!are_pinned(a->pieces)) rt_drop_pieces(heap, a);
    if (heap->turn != NULL) rt_turn_tell(heap->turn);
    return status;
}

Status rt_fetch(RtHeap *heap, RtArray *a) {
    while (a->is_coming) rt_turn_wait(heap->turn, has_come, a, -1);
    if (!a->is_away) return STATUS_OK;
    if (a->copies == NULL && a->pieces == NULL) return STATUS_IO; // lost with a device
    a->pins++;
    while (!rt_bring_memory(heap, a) && make_room(heap, NULL)) continue;
    a->pins--;
    return a->is_away ? STATUS_MEMORY : bring(heap, a);
}

static uint64_t address_in(const RtArray *a, const RtArray *owner, const RtCopy *copy) {
    return copy->address + (a == owner ? 0 : (uint64_t)(a->data - owner->data));
}

// Writes the elements to memory for them, or drops that. It may be gone with its
// device.
static Status fill_copy(RtHeap *heap, RtArray *owner, Device *device, RtCopy *copy) {
    Status status = write_all(heap, owner, device, copy->address);
    if (copy_on(owner, device) == NULL) return STATUS_IO;
    if (status != STATUS_OK) drop_copy(heap, owner, copy);
    return status;
}

// Makes a copy of the owner's elements there; without the memory for its parts beside
// the whole, if the host takes it first.
static Status copy_to(RtHeap *heap, RtArray *owner, Device *device, RtCopy **copy_out) {
    owner->pins++;
    pin_pieces(owner, 1);
    Status status = fetch_for(heap, owner, device);
    if (status == STATUS_OK) status = add_copy(heap, owner, device, true, copy_out);
    if (status == STATUS_OK) status = fill_copy(heap, owner, device, *copy_out);
    pin_pieces(owner, -1);
    owner->pins--;
    if (status != STATUS_MEMORY || sources(owner) == NULL) return status;
    status = rt_fetch(heap, owner);
    return status == STATUS_OK ? copy_to(heap, owner, device, copy_out) : status;
}

// What travels if the device is to have the array: a part of what is not there alone.
static RtArray *traveller(RtArray *a, const Device *device) {
    RtArray *owner = owner_of(a);
    bool is_part = copy_on(owner, device) == NULL && size_of(a) < size_of(owner);
    return is_part ? a : owner;
}

Status rt_send(RtHeap *heap, RtArray *a, Device *device, uint64_t *address_out) {
    assert(rt_is_contiguous(a));
    RtArray *owner = traveller(a, device);
    RtCopy *copy = await_copy(heap, owner, device);
    if (copy == NULL) {
        Status status = copy_to(heap, owner, device, &copy);
        if (status != STATUS_OK) return status;
    }
    *address_out = address_in(a, owner, copy);
    return STATUS_OK;
}

bool rt_wants_early(RtArray *a, const Device *device) {
    const RtArray *owner = traveller(a, device);
    if (owner->is_away || copy_on(owner, device) != NULL) return false;
    size_t used = device->counts.used + device->held;
    return device->limit == 0 || used + size_of(owner) <= device->limit / 2;
}

RtEarly rt_send_early(RtHeap *heap, RtArray *a, Device *device) {
    RtArray *owner = traveller(a, device);
    RtCopy *copy;
    if (!rt_wants_early(a, device) ||
        add_copy(heap, owner, device, false, &copy) != STATUS_OK)
        return RT_EARLY_NOTHING;
    copy->is_coming = true;
    rt_retain(owner); // its call may end elsewhere meanwhile
    owner->pins++;
    Status status = fill_copy(heap, owner, device, copy);
    if (status == STATUS_OK) copy->is_coming = false;
    owner->pins--;
    rt_release(heap, owner);
    if (heap->turn != NULL) rt_turn_tell(heap->turn);
    return status == STATUS_OK ? RT_EARLY_SENT : RT_EARLY_FAILED;
}

size_t rt_bytes_to_send(const RtArray *a, const Device *device) {
    const RtArray *owner = a->base != NULL ? a->base : a;
    if (sources(a) != NULL && copy_on(a, device) == NULL) {
        size_t bytes = 0;
        for (RtPiece *piece = sources(a); piece != NULL; piece = piece->next)
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
    *status_out = add_copy(heap, a, device, true, &copy);
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
    const RtCopy *copy = await_copy(heap, owner, device);
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
    if (*status_out != STATUS_MEMORY || sources(owner) == NULL) return NULL;
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

static RtArray *first_on(const RtHeap *heap, const Device *device) {
    RtArray *a = heap->live;
    while (a != NULL && copy_on(a, device) == NULL) a = a->next;
    return a;
}

bool rt_leave(RtHeap *heap, Device *device) {
    bool all = true;
    device->is_left = true;
    heap->keeps_turn = true;
    // Where another thread fetches one, others may come and go meanwhile.
    for (RtArray *a; (a = first_on(heap, device)) != NULL;) {
        rt_retain(a);
        if (count_copies(a) == 1 && rt_fetch(heap, a) != STATUS_OK) all = false;
        RtCopy *copy = copy_on(a, device);
        if (copy != NULL) drop_copy(heap, a, copy);
        rt_release(heap, a);
    }
    heap->keeps_turn = false;
    return all;
}
