// SPDX-License-Identifier: Apache-2.0
//
// The cache of compiled code (cache.h). An entry is NAME.so with 16 bytes behind it,
// which loaders ignore: a mark and the hash of what precedes. Other files and folders
// of ours start with "tmp-"; they belong to processes at work, or are logs, or are an
// hour old and belong to none.
#define _GNU_SOURCE
#include "dev/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { TRAILER = 16, STALE_SECONDS = 3600 };
static const char mark[8] = {'w', 'e', 'f', 't', 'c', 'o', 'd', '1'};
static const uint64_t most_bytes = (uint64_t)256 << 20, least_room = (uint64_t)8 << 20;

// ---- where it is --------------------------------------------------------------------

static const char *join(Arena *arena, const char *a, const char *b) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text, "%s/%s", a, b);
    return str_terminated(arena, strbuf_done(&text));
}

static bool make_folder(const char *path) {
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

const char *cache_folder(Arena *arena) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base == NULL || base[0] != '/') {
        if (home == NULL || home[0] != '/') return NULL;
        base = join(arena, home, ".cache");
    }
    const char *folder = join(arena, base, "weft");
    if (access(folder, W_OK | X_OK) != 0) {
        if (!make_folder(base) || !make_folder(folder)) return NULL;
        if (access(folder, W_OK | X_OK) != 0) return NULL;
    }
    return folder;
}

bool cache_has_room(const char *folder) {
    struct statvfs info;
    return statvfs(folder, &info) != 0 ||
           (uint64_t)info.f_bavail * info.f_frsize >= least_room;
}

void cache_name(const Str *parts, uint32_t count, char name_out[CACHE_NAME + 1]) {
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t len = parts[i].len;
        XXH3_128bits_update(&state, &len, sizeof len);
        XXH3_128bits_update(&state, parts[i].ptr, parts[i].len);
    }
    XXH128_hash_t hash = XXH3_128bits_digest(&state);
    snprintf(name_out, CACHE_NAME + 1, "%016llx%016llx",
             (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}

const char *cache_path(Arena *arena, const char *folder, const char *name) {
    StrBuf text = strbuf(arena);
    strbuf_printf(&text, "%s/%s.so", folder, name);
    return str_terminated(arena, strbuf_done(&text));
}

// ---- entries ------------------------------------------------------------------------

// The hash of a file's first `size` bytes, and the trailer behind them if there is one.
static bool read_whole(int file, size_t size, uint64_t *hash_out, char *trailer_out) {
    if (size == 0) return false;
    size_t mapped = size + (trailer_out != NULL ? TRAILER : 0);
    void *bytes = mmap(NULL, mapped, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) return false;
    *hash_out = XXH3_64bits(bytes, size);
    if (trailer_out != NULL) memcpy(trailer_out, (char *)bytes + size, TRAILER);
    munmap(bytes, mapped);
    return true;
}

static void make_trailer(uint64_t hash, char trailer[TRAILER]) {
    memcpy(trailer, mark, sizeof mark);
    memcpy(trailer + sizeof mark, &hash, sizeof hash);
}

static bool is_whole(int file) {
    struct stat info;
    uint64_t hash;
    char found[TRAILER], wanted[TRAILER];
    if (fstat(file, &info) != 0 || info.st_size <= TRAILER) return false;
    if (!read_whole(file, (size_t)info.st_size - TRAILER, &hash, found)) return false;
    make_trailer(hash, wanted);
    return memcmp(found, wanted, TRAILER) == 0;
}

bool cache_has(Arena *arena, const char *folder, const char *name) {
    int file = open(cache_path(arena, folder, name), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool whole = is_whole(file);
    if (whole) futimens(file, NULL);
    close(file);
    return whole;
}

bool cache_read(Arena *arena, const char *folder, const char *name, Str *bytes_out) {
    const char *path = cache_path(arena, folder, name);
    struct stat info;
    if (!cache_has(arena, folder, name) || stat(path, &info) != 0) return false;
    size_t size = (size_t)info.st_size - TRAILER;
    char *bytes = arena_alloc(arena, size);
    FILE *file = fopen(path, "rbe");
    if (file == NULL) return false;
    bool done = fread(bytes, 1, size, file) == size;
    fclose(file);
    *bytes_out = (Str){bytes, size};
    return done;
}

void cache_drop_folder(const char *path) {
    int file = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = file < 0 ? NULL : fdopendir(file);
    if (dir == NULL) return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(path);
}

static bool is_name(const char *file) {
    if (strlen(file) != CACHE_NAME + 3 || strcmp(file + CACHE_NAME, ".so") != 0)
        return false;
    return strspn(file, "0123456789abcdef") == CACHE_NAME;
}

static void drop(const char *folder, DIR *dir, const char *name, bool is_folder) {
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!is_folder) unlinkat(dirfd(dir), name, 0);
    else if (len < (int)sizeof path) cache_drop_folder(path);
}

// Drops what dead processes left. Returns the bytes of all entries.
static uint64_t sweep(const char *folder) {
    DIR *dir = opendir(folder);
    if (dir == NULL) return 0;
    uint64_t total = 0;
    time_t now = time(NULL);
    for (struct dirent *file; (file = readdir(dir)) != NULL;) {
        struct stat info;
        bool is_entry = is_name(file->d_name);
        if ((!is_entry && strncmp(file->d_name, "tmp-", 4) != 0) ||
            fstatat(dirfd(dir), file->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (is_entry) total += (uint64_t)info.st_size;
        else if (now - info.st_mtime > STALE_SECONDS)
            drop(folder, dir, file->d_name, S_ISDIR(info.st_mode));
    }
    closedir(dir);
    return total;
}

static int is_older(const void *a, const void *b) {
    const CacheEntry *x = a, *y = b;
    if (x->used != y->used) return x->used < y->used ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void tidy(Arena *arena, const char *folder, const char *newest) {
    uint64_t total = sweep(folder);
    if (total <= most_bytes) return;
    CacheEntries entries;
    cache_list(arena, folder, &entries);
    qsort(entries.data, entries.len, sizeof *entries.data, is_older);
    for (uint32_t i = 0; i < entries.len && total > most_bytes / 4 * 3; i++) {
        if (strcmp(entries.data[i].name, newest) == 0) continue;
        if (unlink(cache_path(arena, folder, entries.data[i].name)) == 0)
            total -= entries.data[i].bytes;
    }
}

static bool append_trailer(const char *path) {
    struct stat info;
    uint64_t hash;
    char trailer[TRAILER];
    int file = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    if (file < 0) return false;
    bool done =
        fstat(file, &info) == 0 && read_whole(file, (size_t)info.st_size, &hash, NULL);
    if (done) {
        make_trailer(hash, trailer);
        done = write(file, trailer, TRAILER) == TRAILER;
    }
    return close(file) == 0 && done;
}

bool cache_add(Arena *arena, const char *folder, const char *name, const char *file) {
    if (!append_trailer(file) || rename(file, cache_path(arena, folder, name)) != 0)
        return false;
    tidy(arena, folder, name);
    return true;
}

// ---- all of it ----------------------------------------------------------------------

// Up to `room` entries; into NULL: only counts them.
static uint32_t read_entries(const char *folder, CacheEntry *entries, uint32_t room) {
    uint32_t count = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL) return 0;
    for (struct dirent *file; count < room && (file = readdir(dir)) != NULL;) {
        struct stat info;
        if (!is_name(file->d_name) || fstatat(dirfd(dir), file->d_name, &info, 0) != 0)
            continue;
        CacheEntry entry = {.bytes = (uint64_t)info.st_size, .used = info.st_mtime};
        memcpy(entry.name, file->d_name, CACHE_NAME);
        if (entries != NULL) entries[count] = entry;
        count++;
    }
    closedir(dir);
    return count;
}

// The arena may unwind, so that nothing is open when it is used.
void cache_list(Arena *arena, const char *folder, CacheEntries *entries_out) {
    uint32_t count = read_entries(folder, NULL, UINT32_MAX);
    CacheEntry *entries = arena_array(arena, CacheEntry, count);
    count = read_entries(folder, entries, count);
    *entries_out = (CacheEntries){entries, count, count};
}

uint32_t cache_clear(Arena *arena, const char *folder) {
    CacheEntries entries;
    uint32_t cleared = 0;
    cache_list(arena, folder, &entries);
    for (uint32_t i = 0; i < entries.len; i++)
        cleared += unlink(cache_path(arena, folder, entries.data[i].name)) == 0;
    sweep(folder);
    return cleared;
}
