// SPDX-License-Identifier: Apache-2.0
//
// Compiled code on disk: files named by a hash of all that they were made from, in
// $XDG_CACHE_HOME/weft or ~/.cache/weft. Processes share it: an entry is written under
// another name and then renamed, ends in a checksum, and a damaged one counts as none.
// Old entries go when the whole exceeds a cap. Every failure only means no cache.
#ifndef WEFT_DEV_CACHE_H
#define WEFT_DEV_CACHE_H

#include "base/arena.h"
#include "base/str.h"

enum { CACHE_NAME = 32 };  // hexadecimal digits of a name

typedef struct CacheEntry {
    char name[CACHE_NAME + 1];
    uint64_t bytes;
    int64_t used;  // when last, in seconds since 1970
} CacheEntry;

typedef struct CacheEntries { CacheEntry *data; uint32_t len, cap; } CacheEntries;

// The folder, made if need be; NULL if there is none that can be written to.
const char *cache_folder(Arena *arena);
// Whether its disk is not too full to try to write there.
bool cache_has_room(const char *folder);
// The name of what was made from these texts.
void cache_name(const Str *parts, uint32_t count, char name_out[CACHE_NAME + 1]);
// The path of an entry's file in the folder.
const char *cache_path(Arena *arena, const char *folder, const char *name);
// Whether the entry is there and whole; then it counts as used now.
bool cache_has(Arena *arena, const char *folder, const char *name);
// What was added under that name. False: the entry is not there, or not whole.
bool cache_read(Arena *arena, const char *folder, const char *name, Str *bytes_out);
// Completes a file that lies in the folder under another name and makes it the entry;
// then drops what is left of dead processes and the oldest entries beyond the cap. False: it is as before.
bool cache_add(Arena *arena, const char *folder, const char *name, const char *file);
void cache_list(Arena *arena, const char *folder, CacheEntries *entries_out);
// Removes a folder and the files in it.
void cache_drop_folder(const char *path);
// Removes all entries and what interrupted processes left; returns how many entries.
uint32_t cache_clear(Arena *arena, const char *folder);

#endif
