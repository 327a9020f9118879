// SPDX-License-Identifier: Apache-2.0
//
// Values from text and from Futhark's binary format. A text is read in one walk over
// the type: every leaf collects its elements in a growing array and learns each of its
// dimensions when the first list at that depth closes; later lists must agree. In an
// array of sums, leaves of the constructors not chosen leave gaps, filled with zeros as
// soon as their size is known. Binary values are binary.c's.
#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "data/data.h"
#include "data/number.h"

enum { UNKNOWN = -1 };

// A leaf while it is read.
typedef struct Leaf {
    ScalarType elem;
    uint32_t rank;
    uint64_t bits;   // of a scalar
    RtArray *buffer; // elements so far, or NULL; one reference
    int64_t count, capacity;
    int64_t shape[DATA_MOST_RANK]; // UNKNOWN until a list at that depth has closed
} Leaf;

typedef struct Walk {
    DataReader *r;
    Leaf *leaves;
    int64_t index[DATA_MOST_RANK]; // where in the value the walk is
} Walk;

DataReader data_reader(Str bytes, RtHeap *heap, Arena *arena) {
    return (DataReader){.bytes = bytes, .heap = heap, .arena = arena};
}

// ---- messages -----------------------------------------------------------------------

void data_fail(DataReader *r, size_t at, const char *format, ...) {
    StrBuf text = strbuf(r->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    r->error = strbuf_done(&text);
    r->error_at = at;
    r->error_line = r->error_column = 1;
    for (size_t i = 0; i < at && i < r->bytes.len; i++) {
        unsigned char c = (unsigned char)r->bytes.ptr[i];
        if (c == '\n') r->error_line++, r->error_column = 1;
        else if ((c & 0xc0) != 0x80) r->error_column++;
    }
}

Str data_excerpt(const DataReader *r, size_t at) {
    enum { MOST = 30 };
    if (at >= r->bytes.len) return STR("the end of the input");
    size_t end = at + 1;
    if (r->bytes.ptr[at] == '-') end++;
    if (end <= r->bytes.len && data_is_word(r->bytes.ptr[end - 1]))
        while (end < r->bytes.len && data_is_word(r->bytes.ptr[end])) end++;
    if (end > r->bytes.len) end = r->bytes.len;
    StrBuf text = strbuf(r->arena);
    strbuf_char(&text, '`');
    for (size_t i = at; i < end;) {
        if (i - at >= MOST) {
            strbuf_cstr(&text, "...");
            break;
        }
        size_t len = str_utf8((Str){r->bytes.ptr + i, end - i});
        unsigned char c = (unsigned char)r->bytes.ptr[i];
        if (len == 0 || c < 0x20 || c == 0x7f) strbuf_printf(&text, "\\x%02x", c);
        else strbuf_bytes(&text, r->bytes.ptr + i, len);
        i += len == 0 ? 1 : len;
    }
    strbuf_char(&text, '`');
    return strbuf_done(&text);
}

static Status fail_found(DataReader *r, const char *expected) {
    Str found = data_excerpt(r, r->at);
    data_fail(r, r->at, "expected %s, found %.*s", expected, STR_ARG(found));
    return STATUS_VALUE;
}

Str data_show_type(Arena *arena, ScalarType elem, uint32_t rank) {
    StrBuf text = strbuf(arena);
    for (uint32_t d = 0; d < rank; d++) strbuf_cstr(&text, "[]");
    strbuf_cstr(&text, scalar_info[elem].name);
    return strbuf_done(&text);
}

// ---- characters ---------------------------------------------------------------------

static void skip_space(DataReader *r) {
    const char *p = r->bytes.ptr;
    while (r->at < r->bytes.len) {
        char c = p[r->at];
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            r->at++;
        } else if (c == '-' && r->at + 1 < r->bytes.len && p[r->at + 1] == '-') {
            const char *line_end = memchr(p + r->at, '\n', r->bytes.len - r->at);
            r->at = line_end == NULL ? r->bytes.len : (size_t)(line_end - p);
        } else {
            return;
        }
    }
}

bool data_at_end(DataReader *r) {
    skip_space(r);
    return r->at == r->bytes.len;
}

static bool is_next(DataReader *r, char c) {
    skip_space(r);
    return r->at < r->bytes.len && r->bytes.ptr[r->at] == c;
}

static bool take(DataReader *r, char c) {
    if (!is_next(r, c)) return false;
    r->at++;
    return true;
}

static bool is_next_word(DataReader *r, Str word) {
    skip_space(r);
    size_t left = r->bytes.len - r->at;
    return left >= word.len && memcmp(r->bytes.ptr + r->at, word.ptr, word.len) == 0 &&
           (left == word.len || !data_is_word(r->bytes.ptr[r->at + word.len]));
}

// ---- leaves -------------------------------------------------------------------------

// Makes room for that many elements.
static void reserve(Walk *w, Leaf *leaf, int64_t count) {
    if (count <= leaf->capacity) return;
    RtHeap *heap = w->r->heap;
    int64_t larger = leaf->capacity == 0 ? 16 : leaf->capacity * 2;
    if (larger < count) larger = count;
    RtArray *grown = rt_new(heap, leaf->elem, 1, &larger);
    if (grown == NULL) mem_fail(heap->mem);
    if (leaf->count != 0)
        memcpy(grown->data, leaf->buffer->data,
               (size_t)leaf->count * scalar_info[leaf->elem].bytes);
    rt_release(heap, leaf->buffer);
    leaf->buffer = grown;
    leaf->capacity = larger;
}

static void push(Walk *w, Leaf *leaf, uint64_t bits) {
    if (leaf->rank == 0) {
        leaf->bits = bits;
        return;
    }
    reserve(w, leaf, leaf->count + 1);
    int64_t at = leaf->count++ * (int64_t)scalar_info[leaf->elem].bytes;
    rt_store(leaf->elem, leaf->buffer->data + at, bits);
}

// ---- gaps ---------------------------------------------------------------------------

// a * b + c, none of which is negative; unwinds if memory cannot have that many.
static int64_t times_plus(const Walk *w, int64_t a, int64_t b, int64_t c) {
    int64_t product, sum;
    if (__builtin_mul_overflow(a, b, &product) ||
        __builtin_add_overflow(product, c, &sum))
        mem_fail(w->r->heap->mem);
    return sum;
}

// The scalars in what an index of `depth` numbers selects; UNKNOWN if no such value has
// been read.
static int64_t count_inside(const Walk *w, const Leaf *leaf, uint32_t depth) {
    int64_t count = 1;
    for (uint32_t d = depth; d < leaf->rank; d++) {
        if (leaf->shape[d] == UNKNOWN) return UNKNOWN;
        count = times_plus(w, count, leaf->shape[d], 0);
    }
    return count;
}

// How many of these come before where the walk is. A list that is the first to close at
// its depth has nothing before it yet: when it does, insert_gap makes up for that.
static int64_t count_before(const Walk *w, const Leaf *leaf, uint32_t depth) {
    int64_t before = 0, size = 1;
    for (uint32_t d = depth; d-- > 0;) {
        before = times_plus(w, w->index[d], size, before);
        if (leaf->shape[d] == UNKNOWN) break;
        size = times_plus(w, size, leaf->shape[d], 0);
    }
    return before;
}

static void fill_up(Walk *w, Leaf *leaf, int64_t count) {
    if (count <= leaf->count) return;
    reserve(w, leaf, count);
    size_t width = scalar_info[leaf->elem].bytes;
    memset(leaf->buffer->data + (size_t)leaf->count * width, 0,
           (size_t)(count - leaf->count) * width);
    leaf->count = count;
}

// Fills what was left out before the value that is about to be read at this depth.
static void fill_gap(Walk *w, Leaf *leaf, uint32_t depth) {
    int64_t size = depth == 0 ? UNKNOWN : count_inside(w, leaf, depth);
    if (size == UNKNOWN) return;
    fill_up(w, leaf, times_plus(w, count_before(w, leaf, depth), size, 0));
}

// Fills what was left out before and in the first list that closed at this depth.
static void insert_gap(Walk *w, Leaf *leaf, uint32_t depth) {
    if (leaf->count == 0) return;
    int64_t size = count_inside(w, leaf, depth);
    fill_up(w, leaf, size);
    int64_t total = times_plus(w, count_before(w, leaf, depth), size, size);
    if (total == size) return;
    fill_up(w, leaf, total);
    size_t width = scalar_info[leaf->elem].bytes, bytes = (size_t)size * width;
    size_t gap = (size_t)total * width - bytes;
    memmove(leaf->buffer->data + gap, leaf->buffer->data, bytes);
    memset(leaf->buffer->data, 0, gap);
}

// ---- sizes --------------------------------------------------------------------------

// "row 2", or "row [2, 0]" of deeper nesting: the list that has just closed.
static Str show_row(Walk *w, uint32_t depth) {
    StrBuf text = strbuf(w->r->arena);
    strbuf_cstr(&text, depth > 1 ? "row [" : "row ");
    for (uint32_t d = 0; d < depth; d++)
        strbuf_printf(&text, d > 0 ? ", %lld" : "%lld", (long long)w->index[d]);
    if (depth > 1) strbuf_char(&text, ']');
    return strbuf_done(&text);
}

// A list at this depth had `size` elements.
static Status set_dim(Walk *w, Leaf *leaf, uint32_t depth, int64_t size, size_t at) {
    if (leaf->shape[depth] == UNKNOWN) {
        leaf->shape[depth] = size;
        insert_gap(w, leaf, depth);
    }
    if (leaf->shape[depth] == size) return STATUS_OK;
    Str row = show_row(w, depth);
    const char *first = depth == 1 ? "row 0" : "the first row";
    data_fail(w->r, at, "irregular array: %.*s has length %lld, %s has length %lld",
              STR_ARG(row), (long long)size, first, (long long)leaf->shape[depth]);
    return STATUS_VALUE;
}

static Status set_dims(Walk *w, const DataType *type, uint32_t depth, int64_t size,
                       size_t at) {
    switch (type->kind) {
    case DATA_LEAF: return set_dim(w, &w->leaves[type->leaf], depth, size, at);
    case DATA_ARRAY: return set_dims(w, type->inner, depth, size, at);
    case DATA_RECORD:
        if (type->count == 0)
            return set_dim(w, &w->leaves[type->leaf], depth, size, at);
        for (uint32_t i = 0; i < type->count; i++) {
            Status status = set_dims(w, type->fields[i].type, depth, size, at);
            if (status != STATUS_OK) return status;
        }
        return STATUS_OK;
    case DATA_SUM: {
        Status status = set_dim(w, &w->leaves[type->leaf], depth, size, at);
        for (uint32_t c = 0; c < type->count && status == STATUS_OK; c++) {
            const DataCtor *ctor = &type->ctors[c];
            if (ctor->count == 0)
                status = set_dim(w, &w->leaves[ctor->leaf], depth, size, at);
            for (uint32_t i = 0; i < ctor->count && status == STATUS_OK; i++)
                status = set_dims(w, ctor->payload[i], depth, size, at);
        }
        return status;
    }
    }
    return STATUS_OK;
}

// empty([0][3]f32), of the leaf's dimensions from depth on.
static Status read_empty(Walk *w, Leaf *leaf, uint32_t depth) {
    DataReader *r = w->r;
    size_t start = r->at;
    r->at += strlen("empty");
    if (!take(r, '(')) return fail_found(r, "`(` after empty");
    uint32_t d = depth;
    bool is_empty = false;
    while (take(r, '[')) {
        skip_space(r);
        size_t at = r->at;
        uint64_t size;
        Status status = data_read_scalar(r, SCALAR_I64, &size);
        if (status != STATUS_OK) return status;
        if ((int64_t)size < 0) {
            data_fail(r, at, "the size %lld is negative", (long long)size);
            return STATUS_VALUE;
        }
        if (!take(r, ']')) return fail_found(r, "`]`");
        is_empty |= size == 0;
        if (d < leaf->rank) {
            status = set_dim(w, leaf, d, (int64_t)size, at);
            if (status != STATUS_OK) return status;
        }
        d++;
    }
    skip_space(r);
    size_t name = r->at;
    while (r->at < r->bytes.len && data_is_word(r->bytes.ptr[r->at])) r->at++;
    ScalarType elem = leaf->elem;
    bool is_type = scalar_by_name(r->bytes.ptr + name, r->at - name, &elem);
    if (!is_type) {
        r->at = name;
        return fail_found(r, "a scalar type");
    }
    if (elem != leaf->elem || d != leaf->rank) {
        Str wanted = data_show_type(r->arena, leaf->elem, leaf->rank - depth);
        Str given = data_show_type(r->arena, elem, d - depth);
        data_fail(r, start, "expected a value of type %.*s, found an empty %.*s",
                  STR_ARG(wanted), STR_ARG(given));
        return STATUS_VALUE;
    }
    if (!is_empty) {
        data_fail(r, start, "none of the sizes in this empty array is 0");
        return STATUS_VALUE;
    }
    return take(r, ')') ? STATUS_OK : fail_found(r, "`)`");
}

static void push_utf8(Walk *w, Leaf *leaf, uint32_t code) {
    if (code < 0x80) {
        push(w, leaf, code);
        return;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    uint32_t lead = more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0;
    push(w, leaf, lead | code >> (6 * more));
    while (more-- > 0) push(w, leaf, 0x80 | (code >> (6 * more) & 0x3f));
}

// What follows a backslash in a string.
static Status read_escape(Walk *w, Leaf *leaf) {
    DataReader *r = w->r;
    size_t start = r->at - 1;
    static const char letters[] = "ntr\\\"'0", meant[] = "\n\t\r\\\"'\0";
    char c = r->at < r->bytes.len ? r->bytes.ptr[r->at] : '\1';
    const char *letter = memchr(letters, c, sizeof letters - 1);
    if (letter != NULL) {
        r->at++;
        push(w, leaf, (unsigned char)meant[letter - letters]);
        return STATUS_OK;
    }
    uint32_t code = 0;
    int digits = 0;
    bool is_code = c == 'u', is_byte = c == 'x';
    size_t at = r->at + 1;
    bool is_braced = is_code && at < r->bytes.len && r->bytes.ptr[at] == '{';
    if (is_braced) at++;
    for (int most = is_byte ? 2 : 6; digits < most && at < r->bytes.len;
         at++, digits++) {
        char h = r->bytes.ptr[at];
        int value = h >= '0' && h <= '9'                     ? h - '0'
                    : (h | 0x20) >= 'a' && (h | 0x20) <= 'f' ? (h | 0x20) - 'a' + 10
                                                             : -1;
        if (value < 0) break;
        code = code * 16 + (uint32_t)value;
    }
    if (is_braced && (at >= r->bytes.len || r->bytes.ptr[at++] != '}')) digits = 0;
    bool is_valid = is_byte ? digits == 2
                            : is_braced && digits > 0 && code < 0x110000 &&
                                  (code < 0xd800 || code > 0xdfff);
    if (!is_valid) {
        data_fail(r, start, "unknown escape in a string");
        return STATUS_VALUE;
    }
    r->at = at;
    if (is_byte) push(w, leaf, code);
    else push_utf8(w, leaf, code);
    return STATUS_OK;
}

// "text", as the bytes of a []u8.
static Status read_string(Walk *w, Leaf *leaf, uint32_t depth) {
    DataReader *r = w->r;
    size_t start = r->at++;
    int64_t before = leaf->count;
    for (;;) {
        if (r->at == r->bytes.len || r->bytes.ptr[r->at] == '\n') {
            data_fail(r, start, "this string is not closed");
            return STATUS_VALUE;
        }
        char c = r->bytes.ptr[r->at++];
        if (c == '"') break;
        if (c != '\\') {
            push(w, leaf, (unsigned char)c);
            continue;
        }
        Status status = read_escape(w, leaf);
        if (status != STATUS_OK) return status;
    }
    return set_dim(w, leaf, depth, leaf->count - before, start);
}

static Status read_leaf(Walk *w, Leaf *leaf, uint32_t depth) {
    DataReader *r = w->r;
    skip_space(r);
    if (depth == leaf->rank) {
        uint64_t bits;
        Status status = data_read_scalar(r, leaf->elem, &bits);
        if (status == STATUS_OK) push(w, leaf, bits);
        return status;
    }
    bool is_string = leaf->elem == SCALAR_U8 && depth + 1 == leaf->rank;
    if (is_next_word(r, STR("empty"))) return read_empty(w, leaf, depth);
    if (is_string && is_next(r, '"')) return read_string(w, leaf, depth);
    size_t start = r->at;
    if (!take(r, '[')) {
        Str type = data_show_type(r->arena, leaf->elem, leaf->rank - depth);
        Str found = data_excerpt(r, r->at);
        data_fail(r, r->at, "expected an array of type %.*s, found %.*s", STR_ARG(type),
                  STR_ARG(found));
        return STATUS_VALUE;
    }
    int64_t count = 0;
    if (take(r, ']')) return set_dim(w, leaf, depth, 0, start);
    do {
        w->index[depth] = count++;
        Status status = read_leaf(w, leaf, depth + 1);
        if (status != STATUS_OK) return status;
    } while (take(r, ','));
    if (!take(r, ']')) return fail_found(r, "`,` or `]` in this array");
    return set_dim(w, leaf, depth, count, start);
}

// ---- tuples, records and sums -------------------------------------------------------

static Status read_value(Walk *w, const DataType *type, uint32_t depth);

static Status read_array(Walk *w, const DataType *type, uint32_t depth, uint32_t rank) {
    if (rank == 0) return read_value(w, type->inner, depth);
    DataReader *r = w->r;
    skip_space(r);
    size_t start = r->at;
    if (!take(r, '[')) return fail_found(r, "`[`");
    int64_t count = 0;
    if (!take(r, ']')) {
        do {
            w->index[depth] = count++;
            Status status = read_array(w, type, depth + 1, rank - 1);
            if (status != STATUS_OK) return status;
        } while (take(r, ','));
        if (!take(r, ']')) return fail_found(r, "`,` or `]` in this array");
    }
    return set_dims(w, type->inner, depth, count, start);
}

static Status read_tuple(Walk *w, const DataType *type, uint32_t depth) {
    DataReader *r = w->r;
    r->at++;
    for (uint32_t i = 0; i < type->count; i++) {
        if (i > 0 && !take(r, ',')) return fail_found(r, "`,` in this tuple");
        Status status = read_value(w, type->fields[i].type, depth);
        if (status != STATUS_OK) return status;
    }
    return take(r, ')') ? STATUS_OK : fail_found(r, "`)` at the end of this tuple");
}

// The field whose name stands here and is not marked in `seen`.
static Status take_field(Walk *w, const DataType *type, bool *seen, uint32_t *out) {
    DataReader *r = w->r;
    uint32_t i = 0, missing = 0;
    while (seen[missing]) missing++;
    while (i < type->count && !is_next_word(r, type->fields[i].name)) i++;
    if (i == type->count) {
        Str found = data_excerpt(r, r->at), name = type->fields[missing].name;
        data_fail(r, r->at, "expected the field `%.*s`, found %.*s", STR_ARG(name),
                  STR_ARG(found));
        return STATUS_VALUE;
    }
    if (seen[i]) {
        data_fail(r, r->at, "the field `%.*s` is given twice",
                  STR_ARG(type->fields[i].name));
        return STATUS_VALUE;
    }
    seen[i] = true;
    r->at += type->fields[i].name.len;
    *out = i;
    return take(r, '=') ? STATUS_OK : fail_found(r, "`=`");
}

// {y = 2, x = 1}
static Status read_record(Walk *w, const DataType *type, uint32_t depth) {
    DataReader *r = w->r;
    r->at++;
    bool *seen = arena_zeroed(r->arena, type->count, sizeof *seen);
    for (uint32_t i = 0, field; i < type->count; i++) {
        if (i > 0 && !take(r, ',')) return fail_found(r, "`,` in this record");
        Status status = take_field(w, type, seen, &field);
        if (status != STATUS_OK) return status;
        status = read_value(w, type->fields[field].type, depth);
        if (status != STATUS_OK) return status;
    }
    return take(r, '}') ? STATUS_OK : fail_found(r, "`}` at the end of this record");
}

static Status read_sum(Walk *w, const DataType *type, uint32_t depth) {
    DataReader *r = w->r;
    bool is_wrapped = take(r, '(');
    if (!is_next(r, '#')) return fail_found(r, "a constructor such as #name");
    r->at++;
    uint32_t which = 0;
    while (which < type->count && !is_next_word(r, type->ctors[which].name)) which++;
    if (which == type->count) {
        Str found = data_excerpt(r, r->at);
        data_fail(r, r->at, "this type has no constructor %.*s", STR_ARG(found));
        return STATUS_VALUE;
    }
    const DataCtor *ctor = &type->ctors[which];
    r->at += ctor->name.len;
    Leaf *tag = &w->leaves[type->leaf];
    fill_gap(w, tag, depth);
    push(w, tag, which);
    for (uint32_t i = 0; i < ctor->count; i++) {
        Status status = read_value(w, ctor->payload[i], depth);
        if (status != STATUS_OK) return status;
    }
    if (is_wrapped && !take(r, ')')) return fail_found(r, "`)`");
    return STATUS_OK;
}

static Status read_value(Walk *w, const DataType *type, uint32_t depth) {
    switch (type->kind) {
    case DATA_LEAF:
        fill_gap(w, &w->leaves[type->leaf], depth);
        return read_leaf(w, &w->leaves[type->leaf], depth);
    case DATA_ARRAY: return read_array(w, type, depth, type->rank);
    case DATA_SUM: return read_sum(w, type, depth);
    case DATA_RECORD: break;
    }
    if (is_next(w->r, type->is_tuple ? '(' : '{'))
        return type->is_tuple ? read_tuple(w, type, depth)
                              : read_record(w, type, depth);
    return fail_found(w->r, type->is_tuple ? "`(` of a tuple" : "`{` of a record");
}

// ---- whole values -------------------------------------------------------------------

static Status finish_leaf(DataReader *r, Leaf *leaf, RtValue *out) {
    if (leaf->rank == 0) {
        out->bits = leaf->bits;
        return STATUS_OK;
    }
    for (uint32_t d = 0; d < leaf->rank; d++)
        if (leaf->shape[d] == UNKNOWN) leaf->shape[d] = 0;
    RtArray *array = rt_new(r->heap, leaf->elem, leaf->rank, leaf->shape);
    if (array == NULL) mem_fail(r->heap->mem);
    size_t width = scalar_info[leaf->elem].bytes, size = (size_t)leaf->count * width;
    assert(rt_count(array) >= leaf->count);
    if (size != 0) memcpy(array->data, leaf->buffer->data, size);
    memset(array->data + size, 0, (size_t)rt_count(array) * width - size);
    rt_release(r->heap, leaf->buffer);
    leaf->buffer = NULL;
    out->array = array;
    return STATUS_OK;
}

static Leaf fresh_leaf(const RtValue *value) {
    Leaf leaf = {.elem = value->elem, .rank = value->rank};
    for (uint32_t d = 0; d < DATA_MOST_RANK; d++) leaf.shape[d] = UNKNOWN;
    return leaf;
}

// Reads one value as it stands: binary for a leaf, text for everything.
static Status read_one(DataReader *r, const DataType *type, Leaf *leaves,
                       RtValue *values) {
    skip_space(r);
    if (data_is_binary(r) && type->kind == DATA_LEAF) {
        RtValue *value = &values[type->leaf];
        Status status = data_read_binary(r, value);
        leaves[type->leaf].bits = value->bits;
        return status;
    }
    if (data_is_binary(r)) {
        data_fail(r, r->at, "values of this type have no binary form");
        return STATUS_VALUE;
    }
    Walk walk = {.r = r, .leaves = leaves};
    return read_value(&walk, type, 0);
}

static Status read_fields(DataReader *r, const DataType *type, Leaf *leaves,
                          RtValue *values) {
    char open = type->is_tuple ? '(' : '{';
    if (type->kind != DATA_RECORD || type->count == 0 || is_next(r, open))
        return read_one(r, type, leaves, values);
    for (uint32_t i = 0; i < type->count; i++) {
        Status status = read_fields(r, type->fields[i].type, leaves, values);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

Status data_read(DataReader *r, const DataType *type, RtValue *values,
                 uint32_t leaf_count) {
    Leaf *leaves = arena_array(r->arena, Leaf, leaf_count == 0 ? 1 : leaf_count);
    for (uint32_t i = 0; i < leaf_count; i++) {
        assert(values[i].rank <= DATA_MOST_RANK);
        leaves[i] = fresh_leaf(&values[i]);
        values[i].array = NULL;
    }
    Status status = read_fields(r, type, leaves, values);
    for (uint32_t i = 0; i < leaf_count && status == STATUS_OK; i++)
        if (values[i].array == NULL) finish_leaf(r, &leaves[i], &values[i]);
    if (status == STATUS_OK) return status;
    for (uint32_t i = 0; i < leaf_count; i++) {
        rt_release(r->heap, leaves[i].buffer);
        rt_release(r->heap, values[i].array);
        values[i].array = NULL;
    }
    return status;
}
