// SPDX-License-Identifier: Apache-2.0
//
// The library under built programs (include/weft_rt.h): arguments are checked and lent
// to the kernel, results are blocks of the WeftRt, and a fault becomes a message from
// the texts that the generated code carries.
#include "weft_rt.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "abi/show.h"
#include "rt/team.h"

// A result's memory, in front of its elements.
typedef struct Block {
    alignas(64) struct Block *next;
    struct Block *prev;
    size_t size, most; // with this; `most` bytes, of which `size` count
} Block;

struct WeftRt {
    Mem mem;
    RtTeam *team;
    Block *blocks;
    atomic_bool cancel;
    const char *error; // "" or static or `message`
    char *message;
    size_t message_size;
    // While a call runs:
    const WeftRtEntry *entry;
    Block **made;  // by result, then spares: what the kernel asked for
    size_t wanted; // bytes that there were not
};

const char *weft_rt_version(void) {
    return WEFT_VERSION;
}

// ---- blocks -------------------------------------------------------------------------

static Block *link_block(WeftRt *rt, Block *block, size_t size, size_t most) {
    *block = (Block){.next = rt->blocks, .size = size, .most = most};
    if (rt->blocks != NULL) rt->blocks->prev = block;
    rt->blocks = block;
    return block;
}

static Block *new_block(WeftRt *rt, size_t bytes) {
    rt->wanted = bytes;
    if (bytes > PTRDIFF_MAX - sizeof(Block)) return NULL;
    size_t size = sizeof(Block) + bytes;
    Block *block = mem_try_alloc(&rt->mem, size);
    if (block == NULL) return NULL;
    rt->wanted = 0;
    return link_block(rt, block, size, size);
}

// For an unknown number of bytes up to that; NULL: there is little.
static Block *new_room(WeftRt *rt, size_t bytes) {
    if (bytes > PTRDIFF_MAX - sizeof(Block)) return NULL;
    size_t most = sizeof(Block) + bytes;
    Block *block = mem_try_room(&rt->mem, most);
    return block == NULL ? NULL : link_block(rt, block, 0, most);
}

static void fit_block(WeftRt *rt, Block *block, size_t bytes) {
    block->size = sizeof *block + bytes;
    mem_fit(&rt->mem, block, block->most, block->size);
}

static void free_block(WeftRt *rt, Block *block) {
    if (block == NULL) return;
    if (block->next != NULL) block->next->prev = block->prev;
    if (block->prev != NULL) block->prev->next = block->next;
    else rt->blocks = block->next;
    mem_free_room(&rt->mem, block, block->most, block->size);
}

void weft_rt_free(WeftRt *rt, const void *data) {
    if (rt != NULL && data != NULL) free_block(rt, (Block *)(uintptr_t)data - 1);
}

// ---- life ---------------------------------------------------------------------------

WeftRt *weft_rt_open(const WeftRtOptions *options) {
    WeftRtOptions own = {0};
    if (options != NULL && options->struct_size == 0) return NULL;
    if (options != NULL)
        memcpy(&own, options,
               options->struct_size < sizeof own ? options->struct_size : sizeof own);
    Mem mem = {.limit = own.memory_ceiling, .spare_most = mem_spare_most()};
    WeftRt *rt = mem_try_alloc(&mem, sizeof *rt);
    if (rt == NULL) return NULL;
    memset(rt, 0, sizeof *rt);
    rt->mem = mem;
    rt->error = "";
    rt->team = rt_team_new(&rt->mem, &(RtPoolOptions){.threads = own.threads});
    if (rt->team != NULL) return rt;
    weft_rt_close(rt);
    return NULL;
}

void weft_rt_close(WeftRt *rt) {
    if (rt == NULL) return;
    while (rt->blocks != NULL) free_block(rt, rt->blocks);
    mem_free(&rt->mem, rt->message, rt->message_size);
    rt_team_free(rt->team);
    mem_trim(&rt->mem);
    Mem mem = rt->mem;
    mem_free(&mem, rt, sizeof *rt);
}

void weft_rt_cancel(WeftRt *rt) {
    if (rt != NULL) atomic_store(&rt->cancel, true);
}

// ---- errors -------------------------------------------------------------------------

const char *weft_rt_error(const WeftRt *rt) {
    return rt == NULL ? "there is no WeftRt: out of memory" : rt->error;
}

// Makes room for a message; NULL when there is none.
static char *new_message(WeftRt *rt, size_t size) {
    mem_free(&rt->mem, rt->message, rt->message_size);
    rt->message = mem_try_alloc(&rt->mem, size);
    rt->message_size = rt->message == NULL ? 0 : size;
    rt->error = rt->message == NULL ? "out of memory" : rt->message;
    return rt->message;
}

static WeftRtStatus refuse(WeftRt *rt, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static WeftRtStatus refuse(WeftRt *rt, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t size = (size_t)vsnprintf(NULL, 0, format, args) + 1;
    if (new_message(rt, size) != NULL) vsnprintf(rt->message, size, format, again);
    va_end(again);
    va_end(args);
    return WEFT_RT_USAGE;
}

// The innermost place in the user's own files; else the innermost of all.
static const char *place_of(const WeftRtEntry *entry, const KernelFault *fault) {
    const WeftRtCheck *check = &entry->checks[fault->check];
    if (check->is_user) return check->place;
    for (int32_t i = 0; i < fault->call_count; i++) {
        const WeftRtCheck *call = &entry->checks[fault->calls[i]];
        if (call->is_user) return call->place;
    }
    return check->place;
}

static void tell_fault(WeftRt *rt, const KernelFault *fault) {
    const WeftRtCheck *check = &rt->entry->checks[fault->check];
    const char *place = place_of(rt->entry, fault);
    ScalarType types[KERNEL_FAULT_VALUES];
    uint32_t count = (uint32_t)strlen(check->types);
    for (uint32_t i = 0; i < count; i++) types[i] = (ScalarType)(check->types[i] - 'a');
    size_t text_len = strlen(check->text), place_len = strlen(place);
    size_t len =
        show_filled_in(NULL, 0, check->text, text_len, count, types, fault->values);
    char *at = new_message(rt, place_len + 2 + len + 1);
    if (at == NULL) return;
    if (place_len > 0) {
        memcpy(at, place, place_len);
        memcpy(at + place_len, ": ", 2);
        at += place_len + 2;
    }
    show_filled_in(at, len, check->text, text_len, count, types, fault->values);
    at[len] = '\0';
}

static WeftRtStatus tell_end(WeftRt *rt, int32_t status, const KernelFault *fault) {
    switch ((KernelStatus)status) {
    case KERNEL_OK: return WEFT_RT_OK;
    case KERNEL_FAULT: tell_fault(rt, fault); return WEFT_RT_ERROR;
    case KERNEL_CANCELLED: rt->error = "cancelled"; return WEFT_RT_CANCELLED;
    case KERNEL_MEMORY: break;
    }
    uint64_t wanted = rt->wanted > 0 ? rt->wanted : fault->wanted;
    rt->error = "out of memory";
    if (wanted > 0)
        refuse(rt, "out of memory: %llu bytes were wanted", (unsigned long long)wanted);
    return WEFT_RT_MEMORY;
}

// ---- arguments and results ----------------------------------------------------------

// The bytes of an array whose address and sizes are in these slots; false: there is no
// such array.
static bool measure(const WeftRtPort *port, const uint64_t *slot, size_t *bytes_out) {
    size_t bytes = port->bytes;
    bool is_empty = false, is_huge = false;
    for (uint32_t d = 0; d < port->rank; d++) {
        if ((int64_t)slot[1 + d] < 0) return false;
        is_empty = is_empty || slot[1 + d] == 0;
        is_huge = is_huge || __builtin_mul_overflow(bytes, slot[1 + d], &bytes);
    }
    *bytes_out = is_empty ? 0 : bytes;
    return is_empty || (!is_huge && bytes <= PTRDIFF_MAX && slot[0] != 0);
}

// Which slot a port's first one is.
static size_t slot_of(const WeftRtPort *ports, uint32_t number) {
    size_t slot = 0;
    for (uint32_t i = 0; i < number; i++) slot += 1u + ports[i].rank;
    return slot;
}

static WeftRtStatus check_params(WeftRt *rt, const uint64_t *in) {
    const WeftRtEntry *entry = rt->entry;
    if (entry->lacks() != NULL)
        return refuse(rt, "%s: compiled for a CPU with %s, which this one lacks",
                      entry->name, entry->lacks());
    if (in == NULL)
        return refuse(rt, "%s: an argument or a result is NULL", entry->name);
    for (uint32_t i = 0; i < entry->param_count; i++) {
        const WeftRtPort *port = &entry->params[i];
        const uint64_t *slot = in + slot_of(entry->params, i);
        const uint64_t *other = in + slot_of(entry->params, port->as);
        size_t bytes;
        if (port->rank > 0 && !measure(port, slot, &bytes))
            return refuse(rt, "%s: `%s` is no array: %s", entry->name, port->name,
                          slot[0] == 0 ? "its data is NULL"
                                       : "a size is negative, or they are too large");
        for (uint32_t d = 1; d <= port->same; d++)
            if (slot[d] != other[d])
                return refuse(rt, "%s: `%s` and `%s` differ in size %u: %lld and %lld",
                              entry->name, entry->params[port->as].name, port->name, d,
                              (long long)other[d], (long long)slot[d]);
    }
    return WEFT_RT_OK;
}

static void *note_made(WeftRt *rt, uint32_t number, Block *block) {
    if (block == NULL) return NULL;
    free_block(rt, rt->made[number]);
    rt->made[number] = block;
    return block + 1;
}

static void *make_result(void *data, uint32_t number, uint32_t rank,
                         const int64_t *shape) {
    WeftRt *rt = data;
    size_t bytes = rt->entry->results[number % rt->entry->result_count].bytes;
    for (uint32_t d = 0; d < rank; d++)
        bytes *= (size_t)shape[d]; // it has been checked
    return note_made(rt, number, new_block(rt, bytes));
}

static void *make_room(void *data, uint32_t number, uint32_t rank,
                       const int64_t *shape) {
    WeftRt *rt = data;
    size_t bytes = rt->entry->results[number].bytes;
    for (uint32_t d = 0; d < rank; d++)
        if (__builtin_mul_overflow(bytes, (size_t)shape[d], &bytes)) return NULL;
    return note_made(rt, number, new_room(rt, bytes));
}

// Copies of what the kernel overwrites, into blocks that may become results.
static bool own_params(WeftRt *rt, uint64_t *slots, Block **owned) {
    for (uint32_t i = 0; i < rt->entry->param_count; i++) {
        const WeftRtPort *port = &rt->entry->params[i];
        size_t bytes;
        if (port->is_owned && measure(port, slots, &bytes)) {
            owned[i] = new_block(rt, bytes);
            if (owned[i] == NULL) return false;
            if (bytes > 0)
                memcpy(owned[i] + 1, (const void *)(uintptr_t)slots[0], bytes);
            slots[0] = (uint64_t)(uintptr_t)(owned[i] + 1);
        }
        slots += 1u + port->rank;
    }
    return true;
}

// Takes out of the list the block that a result of so many bytes lies in: it is the
// user's now.
static void hand_out(WeftRt *rt, Block **blocks, uint32_t count, uint64_t data,
                     size_t bytes) {
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i] != NULL && data == (uint64_t)(uintptr_t)(blocks[i] + 1)) {
            if (blocks[i]->size == 0) fit_block(rt, blocks[i], bytes);
            blocks[i] = NULL;
        }
}

static int32_t run(WeftRt *rt, uint64_t *in, uint64_t *out, Block **owned,
                   RtCall *call) {
    const WeftRtEntry *entry = rt->entry;
    if (atomic_load(&rt->cancel)) return KERNEL_CANCELLED;
    if (!own_params(rt, in, owned)) return KERNEL_MEMORY;
    // What the ceiling leaves is for private memory, too.
    if (rt->mem.limit != 0) mem_trim(&rt->mem);
    int32_t status = rt_call(call, entry->kernel, in, out);
    for (uint32_t i = 0; i < entry->result_count && status == KERNEL_OK; i++) {
        const uint64_t *slot = out + slot_of(entry->results, i);
        size_t bytes;
        if (entry->results[i].rank == 0) continue;
        measure(&entry->results[i], slot, &bytes);
        hand_out(rt, rt->made, 2 * entry->result_count, *slot, bytes);
        hand_out(rt, owned, entry->param_count, *slot, bytes);
    }
    return status;
}

WeftRtStatus weft_rt_call(WeftRt *rt, const WeftRtEntry *entry, const uint64_t *in,
                          uint64_t *out) {
    if (rt == NULL) return WEFT_RT_USAGE;
    rt->error = "";
    rt->entry = entry;
    WeftRtStatus checked = check_params(rt, in);
    if (checked != WEFT_RT_OK) return checked;
    // One piece of memory for what the call needs to know.
    size_t params = entry->param_count, made = 2 * entry->result_count;
    size_t slots = slot_of(entry->params, entry->param_count);
    size_t size = slots * sizeof *in + (params + made) * sizeof(Block *);
    uint64_t *own = mem_try_alloc(&rt->mem, size);
    rt->wanted = own == NULL ? size : 0;
    if (own == NULL) return tell_end(rt, KERNEL_MEMORY, NULL);
    memset(own, 0, size);
    memcpy(own, in, slots * sizeof *in);
    Block **owned = (Block **)(own + slots);
    rt->made = owned + params;
    RtCall call = {.team = rt->team,
                   .cancel = &rt->cancel,
                   .result = make_result,
                   .room = make_room,
                   .data = rt};
    int32_t status = run(rt, own, out, owned, &call);
    for (size_t i = 0; i < params + made; i++) free_block(rt, owned[i]);
    mem_free(&rt->mem, own, size);
    mem_age(&rt->mem);
    atomic_store(&rt->cancel, false);
    return tell_end(rt, status, &call.env.fault);
}
