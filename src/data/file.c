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

// The scalar type that a text names at its start.
static bool names_scalar(Str text, ScalarType *out) {
    size_t len = 0;
    while (len < text.len && data_is_word(text.ptr[len]) && text.ptr[len] != '.') len++;
    return scalar_by_name(text.ptr, len, out);
}

// The scalar type of the first word of an array's elements, and whether it has one at
// all. A number without a suffix is an i32, or an f64 if it has a point or an exponent.
static bool type_of_word(Str text, ScalarType *out) {
    size_t len = 0;
    if (text.len > 0 && (*text.ptr == '-' || *text.ptr == '+')) text.ptr++, text.len--;
    while (len < text.len && data_is_word(text.ptr[len])) {
        bool is_exponent = (text.ptr[len] == 'e' || text.ptr[len] == 'E') &&
                           len + 1 < text.len &&
                           (text.ptr[len + 1] == '-' || text.ptr[len + 1] == '+');
        len += is_exponent ? 2 : 1;
    }
    Str word = {text.ptr, len};
    if (len == 0) return false;
    *out = SCALAR_BOOL;
    if (str_eq(word, STR("true")) || str_eq(word, STR("false"))) return true;
    if (names_scalar(word, out)) return true; // f64.nan
    if (word.ptr[0] < '0' || word.ptr[0] > '9') return false;
    bool is_hex = len > 1 && word.ptr[0] == '0' && lower(word.ptr[1]) == 'x';
    for (int t = 0; t < SCALAR_COUNT; t++) {
        const char *name = scalar_info[t].name;
        size_t tail = strlen(name);
        if (len <= tail || memcmp(word.ptr + len - tail, name, tail) != 0) continue;
        if (is_hex && name[0] == 'f') continue; // 0xf16 is a number
        *out = (ScalarType)t;
        return true;
    }
    bool is_float = memchr(word.ptr, '.', len) != NULL ||
                    (!is_hex && memchr(word.ptr, 'e', len) != NULL);
    *out = is_float ? SCALAR_F64 : SCALAR_I32;
    return true;
}

static void skip_blanks(Str *text) {
    while (text->len > 0 && memchr(" \t\r\n", text->ptr[0], 4) != NULL)
        text->ptr++, text->len--;
}

// Takes "[[", or of a type "[3][0]".
static uint32_t count_brackets(Str *text, bool is_type) {
    uint32_t rank = 0;
    for (; text->len > 0 && text->ptr[0] == '['; rank++) {
        text->ptr++, text->len--;
        while (is_type && text->len > 0 && text->ptr[0] != '[' &&
               !(text->ptr[0] >= 'a' && text->ptr[0] <= 'z'))
            text->ptr++, text->len--;
        skip_blanks(text);
    }
    return rank;
}

static bool sniff_text(Str text, RtValue *out) {
    Str empty = STR("empty(");
    *out = (RtValue){.elem = SCALAR_U8, .rank = 0};
    if (text.len > empty.len && memcmp(text.ptr, empty.ptr, empty.len) == 0) {
        text.ptr += empty.len, text.len -= empty.len;
        skip_blanks(&text);
        out->rank = count_brackets(&text, true);
        return names_scalar(text, &out->elem) && out->rank <= DATA_MOST_RANK;
    }
    out->rank = count_brackets(&text, false);
    if (out->rank > DATA_MOST_RANK) return false;
    if (text.len > 0 && text.ptr[0] == '"') return ++out->rank <= DATA_MOST_RANK;
    return type_of_word(text, &out->elem);
}

static bool sniff_binary(Str bytes, RtValue *out) {
    if (bytes.len < 7 || (unsigned char)bytes.ptr[2] > DATA_MOST_RANK) return false;
    *out = (RtValue){.rank = (unsigned char)bytes.ptr[2]};
    for (int t = 0; t < SCALAR_COUNT; t++) {
        if (memcmp(bytes.ptr + 3, scalar_info[t].binary_name, 4) != 0) continue;
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
    Str rest = {in->bytes.ptr + r.at, in->bytes.len - r.at};
    RtValue leaf;
    if (!(is_binary ? sniff_binary(rest, &leaf) : sniff_text(rest, &leaf))) {
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
