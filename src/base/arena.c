// SPDX-License-Identifier: Apache-2.0
//
// Arenas as lists of chunks that double in size up to 128 KiB, or less below a
// ceiling; an object larger than a chunk gets one of its own.
#include "base/arena.h"

#include <string.h>

enum { FIRST_CHUNK = 1 << 14, LARGEST_CHUNK = 1 << 17 };
enum { POISON = 0xA5 }; // who still reads what was given up shall see

struct ArenaChunk {
    ArenaChunk *older;
    size_t size;
};

static size_t round_up(size_t size) {
    return (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
}

static char *first_of(ArenaChunk *chunk) {
    return (char *)chunk + round_up(sizeof(ArenaChunk));
}

void arena_init(Arena *arena, Mem *mem) {
    *arena = (Arena){.mem = mem};
}

void arena_free(Arena *arena) {
    ArenaChunk *chunk = arena->chunks;
    while (chunk != NULL) {
        ArenaChunk *older = chunk->older;
        mem_free(arena->mem, chunk, chunk->size);
        chunk = older;
    }
    arena_init(arena, arena->mem);
}

void arena_reset(Arena *arena) {
    ArenaChunk *newest = arena->chunks;
    if (newest == NULL) return;
    Arena older = {.mem = arena->mem, .chunks = newest->older};
    arena_free(&older);
    newest->older = NULL;
#ifndef NDEBUG
    memset(first_of(newest), POISON, (size_t)(arena->next - first_of(newest)));
#endif
    arena->next = first_of(newest);
}

void arena_back(Arena *arena, ArenaMark mark) {
    while (arena->chunks != mark.chunks) {
        ArenaChunk *newest = arena->chunks;
        arena->chunks = newest->older;
        mem_free(arena->mem, newest, newest->size);
    }
    arena->next = mark.next;
    arena->end = NULL;
    if (mark.chunks == NULL) return;
    arena->end = (char *)mark.chunks + mark.chunks->size;
#ifndef NDEBUG
    memset(arena->next, POISON, (size_t)(arena->end - arena->next));
#endif
}

void arena_adopt(Arena *arena, Arena *other) {
    size_t size = 0;
    for (ArenaChunk *chunk = other->chunks; chunk != NULL; chunk = chunk->older)
        size += chunk->size;
    mem_give(other->mem, arena->mem, size);
    if (arena->chunks == NULL) {
        arena->next = other->next;
        arena->end = other->end;
    }
    ArenaChunk **oldest = &arena->chunks;
    while (*oldest != NULL) oldest = &(*oldest)->older;
    *oldest = other->chunks;
    arena_init(other, other->mem);
}

// What the newest chunk has not given out must not matter below a ceiling.
static size_t largest_chunk(const Mem *mem) {
    enum { SHARE = 128 };
    size_t largest = LARGEST_CHUNK;
    while (mem->limit != 0 && largest > FIRST_CHUNK && largest > mem->limit / SHARE)
        largest /= 2;
    return largest;
}

// Few sizes, so that a chunk that is given up is the next one of another arena.
static size_t chunk_size(const Arena *arena, size_t need) {
    size_t largest = largest_chunk(arena->mem);
    size_t size = arena->chunks == NULL ? FIRST_CHUNK : arena->chunks->size;
    if (arena->chunks != NULL && size < largest) size *= 2;
    if (size > largest) size = largest;
    while (size < need && size < largest) size *= 2;
    return size < need ? (need + largest - 1) / largest * largest : size;
}

static void add_chunk(Arena *arena, size_t need) {
    size_t header = round_up(sizeof(ArenaChunk));
    if (need > SIZE_MAX - header - LARGEST_CHUNK) mem_fail(arena->mem);
    size_t size = chunk_size(arena, need + header);
    ArenaChunk *chunk = mem_alloc(arena->mem, size);
    *chunk = (ArenaChunk){.older = arena->chunks, .size = size};
    arena->chunks = chunk;
    arena->next = first_of(chunk);
    arena->end = (char *)chunk + size;
}

void *arena_alloc_beyond(Arena *arena, size_t size) {
    if (size > SIZE_MAX - ARENA_ALIGN) mem_fail(arena->mem);
    size = round_up(size);
    add_chunk(arena, size);
    void *block = arena->next;
    arena->next += size;
    return block;
}

void *arena_extend(Arena *arena, void *block, size_t old_size, size_t size) {
    if (old_size == 0) return arena_alloc(arena, size);
    size_t old = round_up(old_size);
    bool is_last = (char *)block + old == arena->next;
    if (is_last && size <= old + (size_t)(arena->end - arena->next)) {
        mem_count(arena->mem);
        arena->next = (char *)block + round_up(size);
        return block;
    }
    void *moved = arena_alloc(arena, size);
    memcpy(moved, block, old_size);
    return moved;
}

void *arena_copy(Arena *arena, const void *from, size_t size) {
    void *block = arena_alloc(arena, size);
    if (size != 0) memcpy(block, from, size);
    return block;
}

void *vec_grow(Arena *arena, void *data, uint32_t *cap, size_t size) {
    uint32_t larger = *cap == 0 ? 8 : *cap * 2;
    if (larger <= *cap || larger > SIZE_MAX / size) mem_fail(arena->mem);
    size_t kept = *cap * size, whole = larger * size;
    char *moved = arena_extend(arena, data, kept, whole);
    memset(moved + kept, 0, whole - kept);
    *cap = larger;
    return moved;
}
