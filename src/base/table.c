// SPDX-License-Identifier: Apache-2.0
//
// The two hash tables of base/str.h: interned names and integer maps. Both use open
// addressing with linear probing and stay at most half full.
#include <string.h>

#include "base/str.h"

void symbols_init(Symbols *symbols, Arena *arena) {
    *symbols = (Symbols){.arena = arena, .slot_count = 1024};
    symbols->slots = arena_array(arena, uint32_t, symbols->slot_count);
    struct {
        Str *data;
        uint32_t len, cap;
    } names = {0};
    vec_push(arena, &names, STR(""));
    symbols->names = names.data;
    symbols->len = names.len;
    symbols->cap = names.cap;
}

static uint32_t *find_name(const Symbols *symbols, Str name) {
    uint32_t mask = symbols->slot_count - 1;
    uint32_t at = (uint32_t)str_hash(name) & mask;
    while (symbols->slots[at] != 0 && !str_eq(symbols->names[symbols->slots[at]], name))
        at = (at + 1) & mask;
    return &symbols->slots[at];
}

static void grow_names(Symbols *symbols) {
    symbols->slot_count *= 2;
    symbols->slots = arena_array(symbols->arena, uint32_t, symbols->slot_count);
    for (uint32_t sym = 1; sym < symbols->len; sym++)
        *find_name(symbols, symbols->names[sym]) = sym;
}

Sym sym_intern(Symbols *symbols, Str name) {
    if (name.len == 0) return 0;
    uint32_t *slot = find_name(symbols, name);
    if (*slot != 0) return *slot;
    Str copy = str_copy(symbols->arena, name);
    if (symbols->len == symbols->cap)
        symbols->names = vec_grow(symbols->arena, symbols->names, &symbols->cap,
                                  sizeof *symbols->names);
    Sym sym = symbols->len++;
    symbols->names[sym] = copy;
    *slot = sym;
    if (symbols->len > symbols->slot_count / 2) grow_names(symbols);
    return sym;
}

Sym sym_cstr(Symbols *symbols, const char *name) {
    return sym_intern(symbols, str_of(name));
}

Str sym_str(const Symbols *symbols, Sym sym) {
    return symbols->names[sym];
}

void map_init(Map *map, Arena *arena) {
    map_init_for(map, arena, 0);
}

void map_init_for(Map *map, Arena *arena, uint32_t count) {
    *map = (Map){.arena = arena, .slot_count = 16};
    while (map->slot_count / 2 < count) map->slot_count *= 2;
    map->slots = arena_array(arena, struct MapSlot, map->slot_count);
}

// Multiplicative hashing (Knuth: The art of computer programming, volume 3, 6.4): the
// bits in the middle of the product depend on all key bits below them, and the upper
// half of the key is added to these first.
static uint32_t hash_key(uint64_t key) {
    return (uint32_t)((key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 32);
}

static struct MapSlot *find_key(const Map *map, uint64_t key) {
    uint32_t mask = map->slot_count - 1, at = hash_key(key) & mask;
    while (map->slots[at].key != 0 && map->slots[at].key != key) at = (at + 1) & mask;
    return &map->slots[at];
}

bool map_get(const Map *map, uint64_t key, uint64_t *value_out) {
    const struct MapSlot *slot = find_key(map, key);
    if (slot->key == 0) return false;
    *value_out = slot->value;
    return true;
}

void map_reserve(Map *map, uint32_t more) {
    if (map->slot_count / 2 >= map->count + more) return;
    Map larger;
    map_init_for(&larger, map->arena, map->count + more);
    for (uint32_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].key != 0)
            *find_key(&larger, map->slots[i].key) = map->slots[i];
    larger.count = map->count;
    *map = larger;
}

void map_set(Map *map, uint64_t key, uint64_t value) {
    struct MapSlot *slot = find_key(map, key);
    if (slot->key == 0) {
        if (map->count >= map->slot_count / 2) {
            map_reserve(map, 1);
            slot = find_key(map, key);
        }
        map->count++;
    }
    *slot = (struct MapSlot){key, value};
}
