// SPDX-License-Identifier: Apache-2.0
//
// Values as files: which form an ending means, and the forms that need no file of their
// own: raw bytes, and text or binary of a type that is not known beforehand, which is
// told from its first value.
#include "data/file.h"

#include <stdarg.h>
#include <string.h>

#include "data/number.h"

// ---- kinds --------------------------------------------------------------------------

static const struct {
    const char *ending;
    FileKind kind;
} endings[] = {{".in", FILE_TEXT},    {".out", FILE_TEXT}, {".val", FILE_TEXT},
               {".bin", FILE_BINARY}, {".npy", FILE_NPY},  {".npz", FILE_NPZ},
               {".png", FILE_PNG},    {".csv", FILE_CSV},  {".txt", FILE_BYTES}};

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool ends_with(const char *path, size_t len, const char *ending) {
    size_t tail = strlen(ending);
    if (len <= tail) return false;
    for (size_t i = 0; i < tail; i++)
        if (lower(path[len - tail + i]) != ending[i]) return false;
    return true;
}

FileKind file_kind(const char *path, size_t *path_len_out) {
    size_t len = strlen(path), whole = len;
    const char *colon = strrchr(path, ':');
    if (colon != NULL && ends_with(path, (size_t)(colon - path), ".npz"))
        len = (size_t)(colon - path);
    if (path_len_out != NULL) *path_len_out = len;
    if (len != whole) return FILE_NPZ;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (ends_with(path, len, endings[i].ending)) return endings[i].kind;
    return FILE_UNKNOWN;
}

// ---- what the readers share ---------------------------------------------------------

Status file_fail(FileIn *in, const char *format, ...) {
    StrBuf text = strbuf(in->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    in->error = strbuf_done(&text);
    return STATUS_VALUE;
}

RtArray *file_new_array(FileIn *in, ScalarType elem, uint32_t rank,
                        const int64_t *shape) {
    RtArray *array = rt_new(in->heap, elem, rank, shape);
    if (array == NULL) mem_fail(in->heap->mem);
    return array;
}

enum { HEAP_HEADER = 64 }; // room for the size; keeps the alignment

void *file_heap_alloc(FileHeap *heap, size_t size) {
    char *block = size > SIZE_MAX - HEAP_HEADER
                      ? NULL
                      : mem_try_alloc(heap->mem, size + HEAP_HEADER);
    if (block == NULL) {
        heap->has_failed = true;
        return NULL;
    }
    memcpy(block, &size, sizeof size);
    return block + HEAP_HEADER;
}

void file_heap_free(FileHeap *heap, void *block) {
    if (block == NULL) return;
    char *start = (char *)block - HEAP_HEADER;
    size_t size;
    memcpy(&size, start, sizeof size);
    mem_free(heap->mem, start, size + HEAP_HEADER);
}

// ---- raw bytes ----------------------------------------------------------------------

static Status read_bytes(FileIn *in, RtValue *out) {
    int64_t shape[1] = {(int64_t)in->bytes.len};
    RtArray *array = file_new_array(in, SCALAR_U8, 1, shape);
    if (in->bytes.len > 0) memcpy(array->data, in->bytes.ptr, in->bytes.len);
    *out = (RtValue){.elem = SCALAR_U8, .rank = 1, .array = array};
    return STATUS_OK;
}

static void write_bytes(DataSink *sink, const RtValue *value) {
    const RtArray *a = value->array;
    for (int64_t i = 0; i < a->shape[0] && !sink->has_failed; i++)
        data_put(sink, a->data + i * a->strides[0], 1);
}

// ---- text and binary of a type yet to be found --------------------------------------

// The word at the reader's position, with the sign of an exponent in it.
static Str look_at_word(const DataReader *r) {
    Str word = {r->bytes.ptr + r->at, 0};
    size_t left = r->bytes.len - r->at;
    for (; word.len < left; word.len++) {
        char c = word.ptr[word.len];
        char before = word.len > 0 ? lower(word.ptr[word.len - 1]) : '\0';
        bool is_sign = (c == '-' || c == '+') && (before == 'e' || before == 'p');
        if (!data_is_word(c) && !is_sign) break;
    }
    return word;
}

static bool has_letter(Str word, char letter) {
    for (size_t i = 0; i < word.len; i++)
        if (lower(word.ptr[i]) == letter) return true;
    return false;
}

// The type of a number: that of its suffix, or else i32, or f64 if it has a point or an
// exponent.
static ScalarType type_of_number(Str word) {
    bool is_hex = word.len > 1 && lower(word.ptr[1]) == 'x';
    bool is_float = has_letter(word, '.') || has_letter(word, is_hex ? 'p' : 'e');
    for (int t = 0; t < SCALAR_COUNT; t++) {
        Str name = str_of(scalar_info[t].name);
        if (is_hex && !is_float && name.ptr[0] == 'f') continue; // 0xf16 is a number
        if (word.len > name.len &&
            memcmp(word.ptr + word.len - name.len, name.ptr, name.len) == 0)
            return (ScalarType)t;
    }
    return is_float ? SCALAR_F64 : SCALAR_I32;
}

// The type of the first scalar; false: there is none.
static bool sniff_scalar(DataReader *r, ScalarType *out) {
    if (data_at_end(r)) return false;
    if (r->bytes.ptr[r->at] == '-') r->at++;
    Str word = look_at_word(r);
    if (word.len == 0) return false;
    *out = SCALAR_BOOL;
    if (str_eq(word, STR("true")) || str_eq(word, STR("false"))) return true;
    const char *point = memchr(word.ptr, '.', word.len); // f64.nan
    size_t name = point == NULL ? word.len : (size_t)(point - word.ptr);
    if (scalar_by_name(word.ptr, name, out)) return true;
    if (word.ptr[0] < '0' || word.ptr[0] > '9') return false;
    *out = type_of_number(word);
    return true;
}

static bool take(DataReader *r, char c) {
    if (data_at_end(r) || r->bytes.ptr[r->at] != c) return false;
    r->at++;
    return true;
}

// The type of a value in a text by its brackets and its first scalar, enough for it to
// be read, or else for a message on why not.
static bool sniff_text(DataReader r, RtValue *out) {
    *out = (RtValue){.elem = SCALAR_U8, .rank = 0};
    bool is_empty = str_eq(look_at_word(&r), STR("empty"));
    if (is_empty) {
        r.at += strlen("empty");
        take(&r, '(');
    }
    for (; take(&r, '['); out->rank++) {
        if (out->rank == DATA_MOST_RANK) return false;
        if (!is_empty) continue;
        data_at_end(&r);
        r.at += look_at_word(&r).len;
        take(&r, ']');
    }
    if (take(&r, '"')) return ++out->rank <= DATA_MOST_RANK;
    return sniff_scalar(&r, &out->elem);
}

static bool sniff_binary(const DataReader *r, RtValue *out) {
    const char *header = r->bytes.ptr + r->at;
    if (r->bytes.len - r->at < 7) return false;
    *out = (RtValue){.rank = (unsigned char)header[2]};
    if (out->rank > DATA_MOST_RANK) return false;
    for (int t = 0; t < SCALAR_COUNT; t++) {
        if (memcmp(header + 3, scalar_info[t].binary_name, 4) != 0) continue;
        out->elem = (ScalarType)t;
        return true;
    }
    return false;
}

static Status fail_text(FileIn *in, const DataReader *r) {
    in->line = r->error_line;
    in->column = r->error_column;
    if (r->error_line != 0) return file_fail(in, "%.*s", STR_ARG(r->error));
    return file_fail(in, "%.*s (at byte %zu)", STR_ARG(r->error), r->error_at);
}

static Status read_text(FileIn *in, FileKind kind, RtValue *out) {
    DataReader r = data_reader(in->bytes, in->heap, in->arena);
    if (data_at_end(&r)) return file_fail(in, "the file holds no value");
    bool is_binary = data_is_binary(&r);
    if (kind == FILE_BINARY && !is_binary)
        return file_fail(in, "this is no value in the binary format");
    RtValue leaf;
    if (!(is_binary ? sniff_binary(&r, &leaf) : sniff_text(r, &leaf))) {
        if (is_binary)
            return file_fail(in, "the header of the binary value is garbled");
        Str found = data_excerpt(&r, r.at);
        data_fail(&r, r.at,
                  "expected a number or an array of numbers, found %.*s; a value of "
                  "another type can only be read as the argument of an entry",
                  STR_ARG(found));
        return fail_text(in, &r);
    }
    DataType type = {.kind = DATA_LEAF, .elem = leaf.elem, .rank = leaf.rank};
    if (data_read(&r, &type, &leaf, 1) != STATUS_OK) return fail_text(in, &r);
    if (!data_at_end(&r)) {
        rt_release_value(in->heap, &leaf);
        data_fail(&r, r.at, "expected one value, found more");
        return fail_text(in, &r);
    }
    *out = leaf;
    return STATUS_OK;
}

// ---- dispatch -----------------------------------------------------------------------

Status file_read(FileIn *in, FileKind kind, RtValue *value_out) {
    switch (kind) {
    case FILE_TEXT:
    case FILE_BINARY: return read_text(in, kind, value_out);
    case FILE_NPY: return file_read_npy(in, value_out);
    case FILE_NPZ: return file_read_npz(in, value_out);
    case FILE_PNG: return file_read_png(in, value_out);
    case FILE_CSV: return file_read_csv(in, value_out);
    case FILE_BYTES: return read_bytes(in, value_out);
    case FILE_UNKNOWN: break;
    }
    return file_fail(in, "no form of file has this ending");
}

static bool always(void *data, const char *bytes, size_t len) {
    (void)data, (void)bytes, (void)len;
    return true;
}

// Why a value that is a leaf, or else one that is not (NULL), has no such form; or
// NULL.
static const char *refuses(FileKind kind, const RtValue *leaf) {
    switch (kind) {
    case FILE_TEXT:
    case FILE_BINARY: return NULL;
    case FILE_NPY:
        return leaf == NULL ? "an .npy file holds one array of numbers" : NULL;
    case FILE_PNG:
        return leaf == NULL ? "an image is an array of numbers"
                            : file_png_refuses(leaf);
    case FILE_CSV:
        return leaf == NULL || leaf->rank > 2 ? "a table has one or two dimensions"
                                              : NULL;
    case FILE_BYTES:
        return leaf == NULL || leaf->rank != 1 || leaf->elem != SCALAR_U8
                   ? "a .txt file holds a []u8"
                   : NULL;
    case FILE_NPZ: return "an .npz file can only be read; write an .npy file";
    case FILE_UNKNOWN: break;
    }
    return "no form of file has this ending";
}

bool file_can_hold(FileKind kind, const DataType *type, const RtValue *leaves,
                   Arena *arena, Str *why_out) {
    const char *why =
        refuses(kind, type->kind == DATA_LEAF ? &leaves[type->leaf] : NULL);
    if (kind == FILE_BINARY && type->kind != DATA_LEAF) {
        DataSink *nowhere = arena_new(arena, DataSink);
        nowhere->write = always;
        if (!data_write_binary(nowhere, type, leaves))
            why = "sums and arrays of records have no binary form";
    }
    if (why != NULL) *why_out = str_of(why);
    return why == NULL;
}

void file_write(DataSink *sink, FileKind kind, const DataType *type,
                const RtValue *leaves, Arena *arena) {
    const RtValue *leaf = &leaves[type->leaf];
    switch (kind) {
    case FILE_TEXT:
        data_print(sink, type, leaves);
        data_put(sink, "\n", 1);
        break;
    case FILE_BINARY: data_write_binary(sink, type, leaves); break;
    case FILE_NPY: file_write_npy(sink, leaf); break;
    case FILE_PNG: file_write_png(sink, leaf, arena); break;
    case FILE_CSV: file_write_csv(sink, leaf); break;
    case FILE_BYTES: write_bytes(sink, leaf); break;
    case FILE_NPZ:
    case FILE_UNKNOWN: break;
    }
    data_flush(sink);
}
