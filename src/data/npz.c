// SPDX-License-Identifier: Apache-2.0
//
// One array out of NumPy's .npz, a zip archive of .npy files, stored or deflated.
// Source: PKWARE's APPNOTE 6.3, zip64 included. The directory at the end says where
// everything is. No more is unpacked than it says and deflate can make of the bytes
// there are; the checksum must be right.
#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "data/file.h"

enum {
    END_SIZE = 22,     // the end record, without its comment
    LOCATOR_SIZE = 20, // before it, in large archives: where the larger end record is
    END64_SIZE = 56,
    ENTRY_SIZE = 46, // a directory entry, without its name
    LOCAL_SIZE = 30, // what stands before the data, without its name
    MOST_COMMENT = 65535,
    DEFLATE_RATIO = 1032 // see png.c
};

typedef struct Member {
    Str name; // without .npy
    uint32_t flags, method, crc;
    uint64_t packed, size, at;
} Member;

static uint32_t load16(const char *at) {
    const unsigned char *p = (const unsigned char *)at;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t load32(const char *at) {
    return load16(at) | load16(at + 2) << 16;
}

static uint64_t load64(const char *at) {
    return load32(at) | (uint64_t)load32(at + 4) << 32;
}

static Status fail_zip(FileIn *in) {
    return file_fail(in, "the archive is damaged or cut short");
}

// ---- the directory ------------------------------------------------------------------

static bool find_end(Str bytes, size_t *at_out) {
    if (bytes.len < END_SIZE) return false;
    for (size_t comment = 0; comment <= MOST_COMMENT; comment++) {
        if (bytes.len < END_SIZE + comment) return false;
        size_t at = bytes.len - END_SIZE - comment;
        const char *p = bytes.ptr + at;
        if (memcmp(p, "PK\5\6", 4) != 0 || load16(p + 20) != comment) continue;
        *at_out = at;
        return true;
    }
    return false;
}

// The directory, by what the end of the archive says; false: there is none.
static bool find_directory(Str bytes, size_t end, uint64_t *count_out, Str *out) {
    const char *p = bytes.ptr + end;
    uint64_t size = load32(p + 12), start = load32(p + 16);
    *count_out = load16(p + 10);
    if (end >= LOCATOR_SIZE && memcmp(p - LOCATOR_SIZE, "PK\6\7", 4) == 0) {
        uint64_t larger = load64(p - LOCATOR_SIZE + 8);
        if (end < END64_SIZE || larger > end - END64_SIZE) return false;
        p = bytes.ptr + larger;
        if (memcmp(p, "PK\6\6", 4) != 0) return false;
        *count_out = load64(p + 32);
        size = load64(p + 40);
        start = load64(p + 48);
    }
    if (start > end || size > end - start) return false;
    *out = (Str){bytes.ptr + start, (size_t)size};
    return true;
}

// What has no place in 32 bits stands in a field of its own among the extra ones.
static bool take_larger(Str extra, Member *m) {
    uint64_t *const parts[] = {&m->size, &m->packed, &m->at};
    while (extra.len >= 4) {
        size_t len = load16(extra.ptr + 2);
        bool is_larger = load16(extra.ptr) == 1;
        extra.ptr += 4, extra.len -= 4;
        if (len > extra.len) return false;
        for (int i = 0; is_larger && i < 3; i++) {
            if (*parts[i] != UINT32_MAX) continue;
            if (len < 8) return false;
            *parts[i] = load64(extra.ptr);
            extra.ptr += 8, extra.len -= 8, len -= 8;
        }
        extra.ptr += len, extra.len -= len;
    }
    return true;
}

// The entry at the beginning of the directory, taken off it; false: it is damaged.
static bool take_entry(Str *directory, Member *out) {
    if (directory->len < ENTRY_SIZE) return false;
    const char *p = directory->ptr;
    if (memcmp(p, "PK\1\2", 4) != 0) return false;
    size_t name = load16(p + 28), extra = load16(p + 30), comment = load16(p + 32);
    size_t whole = ENTRY_SIZE + name + extra + comment;
    if (directory->len < whole) return false;
    *out = (Member){.name = {p + ENTRY_SIZE, name},
                    .flags = load16(p + 8),
                    .method = load16(p + 10),
                    .crc = load32(p + 16),
                    .packed = load32(p + 20),
                    .size = load32(p + 24),
                    .at = load32(p + 42)};
    directory->ptr += whole, directory->len -= whole;
    return take_larger((Str){p + ENTRY_SIZE + name, extra}, out);
}

static bool take_npy_ending(Str *name) {
    Str ending = STR(".npy");
    if (name->len < ending.len) return false;
    size_t len = name->len - ending.len;
    if (memcmp(name->ptr + len, ending.ptr, ending.len) != 0) return false;
    name->len = len;
    return true;
}

static void add_name(StrBuf *names, Str name) {
    enum { ENOUGH = 200 };
    if (names->len > ENOUGH) return;
    strbuf_cstr(names, names->len > 0 ? ", `" : "`");
    for (size_t i = 0; i < name.len && i < ENOUGH; i++)
        strbuf_char(names, name.ptr[i] < ' ' || name.ptr[i] > '~' ? '?' : name.ptr[i]);
    strbuf_char(names, '`');
}

static Status find_member(FileIn *in, Member *out) {
    size_t end;
    uint64_t count;
    Str directory;
    if (!find_end(in->bytes, &end))
        return file_fail(in, "this is no .npz file: it does not end as a zip archive");
    if (!find_directory(in->bytes, end, &count, &directory)) return fail_zip(in);
    StrBuf names = strbuf(in->arena);
    for (uint64_t i = 0; i < count; i++) {
        if (!take_entry(&directory, out)) return fail_zip(in);
        if (!take_npy_ending(&out->name)) continue;
        if (in->member.len == 0 || str_eq(in->member, out->name)) return STATUS_OK;
        add_name(&names, out->name);
    }
    if (in->member.len == 0 || names.len == 0)
        return file_fail(in, "the archive holds no array");
    return file_fail(in, "the archive has no array `%.*s`; it has %.*s",
                     STR_ARG(in->member), STR_ARG(strbuf_done(&names)));
}

// ---- unpacking ----------------------------------------------------------------------

static void *allocate(void *heap, unsigned count, unsigned size) {
    return file_heap_alloc(heap, (size_t)count * size);
}

static void release(void *heap, void *block) {
    file_heap_free(heap, block);
}

// As much of *left as zlib takes at once, taken off it.
static uInt take_piece(size_t *left) {
    uInt piece = *left > UINT_MAX ? UINT_MAX : (uInt)*left;
    *left -= piece;
    return piece;
}

// Whether the packed bytes are exactly `size` unpacked ones.
static bool unpack(FileHeap *heap, Str packed, char *to, size_t size) {
    z_stream z = {.zalloc = allocate, .zfree = release, .opaque = heap};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return false;
    z.next_in = (z_const Bytef *)(uintptr_t)packed.ptr;
    z.next_out = (Bytef *)to;
    size_t in_left = packed.len, out_left = size;
    int code = Z_OK;
    while (code == Z_OK) {
        if (z.avail_in == 0) z.avail_in = take_piece(&in_left);
        if (z.avail_out == 0) z.avail_out = take_piece(&out_left);
        code = inflate(&z, Z_NO_FLUSH);
    }
    bool is_whole = code == Z_STREAM_END && z.avail_in == 0 && z.avail_out == 0 &&
                    in_left == 0 && out_left == 0;
    inflateEnd(&z);
    return is_whole;
}

static Status unpack_member(FileIn *in, const Member *m, Str packed, Str *out) {
    if (m->size / DEFLATE_RATIO > m->packed)
        return file_fail(in,
                         "the archive promises %llu bytes for `%.*s`, which its %zu "
                         "packed bytes cannot hold",
                         (unsigned long long)m->size, STR_ARG(m->name), packed.len);
    size_t size = (size_t)m->size; // at most DEFLATE_RATIO times what is there
    char *data = arena_alloc(in->arena, size + 1);
    FileHeap heap = {.mem = in->heap->mem};
    bool is_whole = unpack(&heap, packed, data, size);
    if (heap.has_failed) mem_fail(heap.mem);
    if (!is_whole) return fail_zip(in);
    *out = (Str){data, size};
    return STATUS_OK;
}

static Status load_member(FileIn *in, const Member *m, Str *out) {
    Str all = in->bytes;
    if ((m->flags & 1) != 0) return file_fail(in, "the archive is encrypted");
    if (all.len < LOCAL_SIZE || m->at > all.len - LOCAL_SIZE) return fail_zip(in);
    const char *local = all.ptr + m->at;
    if (memcmp(local, "PK\3\4", 4) != 0) return fail_zip(in);
    size_t skip = LOCAL_SIZE + load16(local + 26) + (size_t)load16(local + 28);
    size_t left = all.len - (size_t)m->at;
    if (skip > left || m->packed > left - skip) return fail_zip(in);
    Str packed = {local + skip, (size_t)m->packed};
    if (m->method == 8) return unpack_member(in, m, packed, out);
    if (m->method != 0)
        return file_fail(in, "the archive is packed in a way (%u) that is not known",
                         m->method);
    if (m->packed != m->size) return fail_zip(in);
    *out = packed;
    return STATUS_OK;
}

Status file_read_npz(FileIn *in, RtValue *value_out) {
    Member member = {.at = 0};
    Status status = find_member(in, &member);
    if (status != STATUS_OK) return status;
    FileIn npy = *in;
    status = load_member(in, &member, &npy.bytes);
    if (status != STATUS_OK) return status;
    uLong crc = crc32_z(0, (const Bytef *)npy.bytes.ptr, npy.bytes.len);
    if (crc != member.crc)
        return file_fail(in, "`%.*s` is damaged: its checksum is wrong",
                         STR_ARG(member.name));
    status = file_read_npy(&npy, value_out);
    if (status != STATUS_OK)
        return file_fail(in, "in `%.*s`: %.*s", STR_ARG(member.name),
                         STR_ARG(npy.error));
    return STATUS_OK;
}
