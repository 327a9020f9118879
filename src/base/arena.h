// SPDX-License-Identifier: Apache-2.0
//
// Arenas: memory given out in order and freed all at once. The compiler's data lives
// in arenas, one per phase or product. Allocation never returns NULL: it unwinds
// through the arena's Mem.
#ifndef WEFT_BASE_ARENA_H
#define WEFT_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
    Mem *mem;
    ArenaChunk *chunks; // newest first
    char *next, *end;   // what is left of the newest
} Arena;

void arena_init(Arena *arena, Mem *mem);
void arena_free(Arena *arena);
// Gives up all objects, but keeps the newest memory for what comes next: who works in
// rounds touches the same pages in each.
void arena_reset(Arena *arena);
// Where an arena is now. arena_back gives up what has been allocated since.
typedef struct ArenaMark {
    ArenaChunk *chunks;
    char *next;
} ArenaMark;
static inline ArenaMark arena_mark(const Arena *arena) {
    return (ArenaMark){arena->chunks, arena->next};
}
void arena_back(Arena *arena, ArenaMark mark);
// Takes over all that is in the other one, which is empty then. It may be of another
// Mem, which another thread has used.
void arena_adopt(Arena *arena, Arena *other);
// Returns size bytes, aligned to 16 and not cleared.
static inline void *arena_alloc(Arena *arena, size_t size);
// Returns count * size cleared bytes; an overflowing product counts as out of memory.
static inline void *arena_zeroed(Arena *arena, size_t count, size_t size);
// A larger block with what is in the old one, which is given up: where that is the
// newest block of all, it is made longer.
void *arena_extend(Arena *arena, void *block, size_t old_size, size_t size);
void *arena_copy(Arena *arena, const void *from, size_t size);

#define arena_new(arena, T)      ((T *)arena_zeroed((arena), 1, sizeof(T)))
#define arena_array(arena, T, n) ((T *)arena_zeroed((arena), (n), sizeof(T)))

// A growable array is any struct with the members {T *data; uint32_t len, cap;}.
// It lives in an arena; a grown one leaves its old block behind, if that is not the
// newest.
#define vec_push(arena, vec, ...)                                                      \
    do {                                                                               \
        if ((vec)->len == (vec)->cap)                                                  \
            (vec)->data =                                                              \
                vec_grow((arena), (vec)->data, &(vec)->cap, sizeof *(vec)->data);      \
        (vec)->data[(vec)->len++] = __VA_ARGS__;                                       \
    } while (0)

// Gives an empty one room for so many elements.
#define vec_reserve(arena, vec, room)                                                  \
    do {                                                                               \
        (vec)->cap = (room);                                                           \
        (vec)->data = arena_zeroed((arena), (vec)->cap, sizeof *(vec)->data);          \
    } while (0)

// Lets there be room for so many more elements.
#define vec_room(arena, vec, more)                                                     \
    do {                                                                               \
        while ((vec)->cap - (vec)->len < (more))                                       \
            (vec)->data =                                                              \
                vec_grow((arena), (vec)->data, &(vec)->cap, sizeof *(vec)->data);      \
    } while (0)

// Doubles *cap and returns the moved block; use through vec_push.
void *vec_grow(Arena *arena, void *data, uint32_t *cap, size_t size);

// ---- what is done most often, where it is wanted --------------------------------------

enum { ARENA_ALIGN = 16 };

// The same from another chunk.
void *arena_alloc_beyond(Arena *arena, size_t size);

static inline void *arena_alloc(Arena *arena, size_t size) {
    size_t left = (size_t)(arena->end - arena->next);
    mem_count(arena->mem);
    // What is left is a multiple of the alignment, so that it has room for the rest.
    if (arena->next == NULL || left < size) return arena_alloc_beyond(arena, size);
    void *block = arena->next;
    arena->next += (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    return block;
}

static inline void *arena_zeroed(Arena *arena, size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) mem_fail(arena->mem);
    void *block = arena_alloc(arena, count * size);
    if (count != 0) memset(block, 0, count * size);
    return block;
}

#endif
