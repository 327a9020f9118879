// SPDX-License-Identifier: Apache-2.0
//
// One coherent store over the host's memory and that of devices. An array's elements
// are valid in at least one place; a copy is made where it is needed, and dropped where
// the elements are overwritten elsewhere (states per memory: none, valid, old; what is
// old is freed at once, so that it takes no room; as the runtime of Delite
// has them).
//
// An array that has views, or is lent, always has its elements on the host, too. A view
// may have copies of its own on devices that do not have the whole.
//
// What was made in parts on devices is joined where it is needed, so that only what is
// not there travels; until the host has the whole, or memory is short, its parts are
// kept, for others who need it.
//
// Threads: as the heap's. While elements travel to or from a device others have the
// turn; the caller has a reference to their array.
#ifndef WEFT_RT_STORE_H
#define WEFT_RT_STORE_H

#include "base/status.h"
#include "dev/dev.h"
#include "rt/array.h"

// Valid elements on a device: all that the array's own memory has, in its order.
struct RtCopy {
    RtCopy *next;
    Device *device;
    uint64_t address;
    bool is_coming; // its elements are on their way, sent early; others wait for them
};

// A part of an array: the elements from so many bytes on.
struct RtPiece {
    RtPiece *next;
    RtArray *part; // retained; row-major
    size_t at;
};

// An array that is away and consists of these row-major parts, one after the other
// along dimension 0, of which some are away. Retains them. NULL when memory is short.
RtArray *rt_join(RtHeap *heap, ScalarType elem, uint32_t rank, const int64_t *shape,
                 const RtValue *parts, uint32_t count);
// Sees to it that the host has the elements. STATUS_MEMORY, or STATUS_IO with
// device->why; then all is as before.
Status rt_fetch(RtHeap *heap, RtArray *a);
// Reads the elements of a, which the host does not have, row-major to where they are
// wanted; a stays away. Likewise.
Status rt_read(RtHeap *heap, RtArray *a, char *to);
// Sees to it that the device has the elements of a, which is row-major; *address_out is
// where. Likewise.
Status rt_send(RtHeap *heap, RtArray *a, Device *device, uint64_t *address_out);
// The same for a later call, while the device is at work: sends what the host has, if
// there is memory for it, with room to spare where that is limited; makes none. Unless
// there was NOTHING to do, others have had the turn, and the call may be over.
typedef enum RtEarly { RT_EARLY_NOTHING, RT_EARLY_SENT, RT_EARLY_FAILED } RtEarly;
RtEarly rt_send_early(RtHeap *heap, RtArray *a, Device *device);
// Whether there is something to send, memory apart.
bool rt_wants_early(RtArray *a, const Device *device);
// A row-major array on the device only, with unspecified contents. NULL: *status_out.
RtArray *rt_new_on(RtHeap *heap, Device *device, ScalarType elem, uint32_t rank,
                   const int64_t *shape, uint64_t *address_out, Status *status_out);
// The elements of a, row-major, on the device and nowhere else, for a kernel to
// overwrite: those of a itself if `may_take` and nobody else sees them, else a copy. A
// reference of its own; NULL: *status_out.
RtArray *rt_own_on(RtHeap *heap, RtArray *a, bool may_take, Device *device,
                   uint64_t *address_out, Status *status_out);
// The bytes that rt_send would move.
size_t rt_bytes_to_send(const RtArray *a, const Device *device);

// Memory on the device for something else than an array: first makes room, as the other
// functions do: by dropping copies that are valid elsewhere, then by fetching what
// nothing holds there (pins). Where the memory is the host's own, the copies of all
// such devices and of the host count alike.
Status rt_alloc_on(RtHeap *heap, Device *device, size_t bytes, uint64_t *address_out);
// Gives up copies in that memory, the host's if it is NULL, of what is valid elsewhere.
void rt_drop_spare(RtHeap *heap, const Device *device);
// Arrays that there are now stay on the host, too: their owners may look at them.
void rt_settle(RtHeap *heap);
// Takes all arrays off a device, fetching those that are nowhere else; none comes there
// any more (STATUS_IO). False if some are lost, since the device does not answer; they
// are gone from its books then.
bool rt_leave(RtHeap *heap, Device *device);

// ---- for array.c --------------------------------------------------------------------

void rt_drop_copies(RtHeap *heap, RtArray *a);
// Gives up the pieces; without the references to them, for those that are all freed.
void rt_drop_pieces(RtHeap *heap, RtArray *a);
void rt_free_pieces(RtHeap *heap, RtArray *a);
// Own memory on the host, if there is any.
void rt_free_memory(RtHeap *heap, RtArray *a);
// An array without memory anywhere, and memory on the host for one; NULL and false when
// memory is short.
RtArray *rt_new_away(RtHeap *heap, ScalarType elem, uint32_t rank,
                     const int64_t *shape);
bool rt_bring_memory(RtHeap *heap, RtArray *a);

#endif
