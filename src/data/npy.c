// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy: six bytes of magic, a version, the length of a header, the header (a
// Python dictionary with the keys descr, fortran_order and shape), the elements.
// Source: NumPy Enhancement Proposal 1, with the later versions 2 (a longer header) and
// 3 (its text in UTF-8). Written are version 1, little-endian, row-major.
#include <stdio.h>
#include <string.h>

#include "data/file.h"
#include "data/number.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "elements are copied as they stand");

// ---- the header ---------------------------------------------------------------------

typedef struct Npy {
    FileIn *in;
    const char *at, *end; // what is left of the header
    ScalarType elem;
    bool is_big_endian, is_fortran;
    bool has_descr, has_order, has_shape;
    uint32_t rank;
    int64_t shape[DATA_MOST_RANK];
} Npy;

static char next_char(Npy *n) {
    while (n->at < n->end && (*n->at == ' ' || *n->at == '\t' || *n->at == '\n'))
        n->at++;
    return n->at < n->end ? *n->at : '\0';
}

static bool take_char(Npy *n, char c) {
    if (next_char(n) != c) return false;
    n->at++;
    return true;
}

static Status fail_header(Npy *n, const char *expected) {
    size_t left = (size_t)(n->end - n->at), shown = 0;
    while (shown < left && shown < 20 && n->at[shown] >= ' ' && n->at[shown] <= '~')
        shown++;
    if (left == 0)
        return file_fail(n->in, "the .npy header ends where %s should be", expected);
    return file_fail(n->in, "the .npy header has `%.*s` where %s should be", (int)shown,
                     n->at, expected);
}

// A string in single or double quotes, without escapes.
static bool take_string(Npy *n, Str *out) {
    char quote = next_char(n);
    if (quote != '\'' && quote != '"') return false;
    const char *start = n->at + 1,
               *stop = memchr(start, quote, (size_t)(n->end - start));
    if (stop == NULL) return false;
    *out = (Str){start, (size_t)(stop - start)};
    n->at = stop + 1;
    return true;
}

static bool is_printable(Str s) {
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < ' ' || s.ptr[i] > '~') return false;
    return s.len <= 40;
}

// "<f8": a byte order, a kind, a count of bytes.
static Status take_dtype(Npy *n) {
    static const struct {
        const char *code;
        ScalarType elem;
    } known[] = {{"b1", SCALAR_BOOL}, {"i1", SCALAR_I8},  {"i2", SCALAR_I16},
                 {"i4", SCALAR_I32},  {"i8", SCALAR_I64}, {"u1", SCALAR_U8},
                 {"u2", SCALAR_U16},  {"u4", SCALAR_U32}, {"u8", SCALAR_U64},
                 {"f2", SCALAR_F16},  {"f4", SCALAR_F32}, {"f8", SCALAR_F64}};
    if (next_char(n) == '[' || next_char(n) == '{')
        return file_fail(n->in, "the elements are records (a structured NumPy type); "
                                "save each field as an array of its own");
    Str text;
    if (!take_string(n, &text)) return fail_header(n, "the type of the elements");
    Str code = text;
    char order = code.len > 0 ? code.ptr[0] : '\0';
    if (order != '\0' && strchr("<>=|", order) != NULL) code.ptr++, code.len--;
    n->is_big_endian = order == '>';
    n->has_descr = true;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!str_eq(code, str_of(known[i].code))) continue;
        n->elem = known[i].elem;
        return STATUS_OK;
    }
    if (code.len > 0 && code.ptr[0] == 'O')
        return file_fail(n->in,
                         "the elements are Python objects, which only Python can "
                         "read; save an array of numbers");
    if (!is_printable(text))
        return file_fail(n->in, "the type of the elements is garbled");
    return file_fail(n->in,
                     "the elements are of the NumPy type `%.*s`; a scalar type of "
                     "Weft is needed",
                     STR_ARG(text));
}

static Status take_size(Npy *n, int64_t *size_out) {
    int64_t size = 0;
    char c = next_char(n);
    if (c == '-') return file_fail(n->in, "a size of the array is negative");
    if (c < '0' || c > '9') return fail_header(n, "a size");
    for (; n->at < n->end && *n->at >= '0' && *n->at <= '9'; n->at++)
        if (__builtin_mul_overflow(size, (int64_t)10, &size) ||
            __builtin_add_overflow(size, (int64_t)(*n->at - '0'), &size))
            return file_fail(n->in, "a size of the array exceeds 64 bits");
    if (n->at < n->end && *n->at == 'L') n->at++; // as Python 2 wrote it
    *size_out = size;
    return STATUS_OK;
}

static Status take_shape(Npy *n) {
    if (!take_char(n, '(')) return fail_header(n, "the shape");
    n->rank = 0;
    while (!take_char(n, ')')) {
        if (n->rank == DATA_MOST_RANK)
            return file_fail(n->in, "the array has more than %d dimensions",
                             (int)DATA_MOST_RANK);
        Status status = take_size(n, &n->shape[n->rank]);
        if (status != STATUS_OK) return status;
        n->rank++;
        if (!take_char(n, ',') && next_char(n) != ')')
            return fail_header(n, "a comma or a parenthesis");
    }
    n->has_shape = true;
    return STATUS_OK;
}

static Status take_order(Npy *n) {
    next_char(n);
    size_t left = (size_t)(n->end - n->at);
    bool is_true = left >= 4 && memcmp(n->at, "True", 4) == 0;
    bool is_false = left >= 5 && memcmp(n->at, "False", 5) == 0;
    if (!is_true && !is_false) return fail_header(n, "True or False");
    n->at += is_true ? 4 : 5;
    n->is_fortran = is_true;
    n->has_order = true;
    return STATUS_OK;
}

static Status take_entry(Npy *n) {
    Str key;
    if (!take_string(n, &key)) return fail_header(n, "a key");
    if (!take_char(n, ':')) return fail_header(n, "a colon");
    if (str_eq(key, STR("descr"))) return take_dtype(n);
    if (str_eq(key, STR("fortran_order"))) return take_order(n);
    if (str_eq(key, STR("shape"))) return take_shape(n);
    if (!is_printable(key)) return file_fail(n->in, "the .npy header is garbled");
    return file_fail(n->in, "the .npy header has the unknown key `%.*s`", STR_ARG(key));
}

static Status take_header(Npy *n) {
    if (!take_char(n, '{')) return fail_header(n, "a dictionary");
    while (!take_char(n, '}')) {
        Status status = take_entry(n);
        if (status != STATUS_OK) return status;
        if (!take_char(n, ',') && next_char(n) != '}')
            return fail_header(n, "a comma or the end of the dictionary");
    }
    next_char(n);
    if (n->at < n->end) return fail_header(n, "the end of the header");
    if (!n->has_descr || !n->has_order || !n->has_shape)
        return file_fail(n->in, "the .npy header lacks `%s`",
                         !n->has_descr   ? "descr"
                         : !n->has_order ? "fortran_order"
                                         : "shape");
    return STATUS_OK;
}

// ---- reading ------------------------------------------------------------------------

static void swap_bytes(char *data, uint64_t count, size_t width) {
    for (uint64_t i = 0; i < count; i++, data += width)
        for (size_t k = 0; k < width / 2; k++) {
            char byte = data[k];
            data[k] = data[width - 1 - k];
            data[width - 1 - k] = byte;
        }
}

// Copies the elements, whose bytes are known to be there, in the host's order.
static void load_elements(const Npy *n, const char *from, char *to,
                          const RtArray *array) {
    size_t width = scalar_info[n->elem].bytes;
    uint64_t count = array == NULL ? 1 : (uint64_t)rt_count(array);
    if (count == 0) return;
    if (array != NULL && n->is_fortran && n->rank > 1) {
        int64_t strides[DATA_MOST_RANK], stride = 1;
        for (uint32_t d = 0; d < n->rank; d++) {
            strides[d] = stride;
            stride *= n->shape[d];
        }
        rt_copy_elements(to, array->strides, from, strides, n->rank, n->shape, width);
    } else {
        memcpy(to, from, (size_t)count * width);
    }
    if (n->is_big_endian) swap_bytes(to, count, width);
    for (uint64_t i = 0; n->elem == SCALAR_BOOL && i < count; i++) to[i] = to[i] != 0;
}

static Status read_elements(Npy *n, Str data, RtValue *out) {
    size_t bytes;
    if (!rt_byte_count(n->elem, n->rank, n->shape, &bytes))
        return file_fail(n->in,
                         "the array promises more elements than memory can have");
    if (bytes != data.len)
        return file_fail(n->in, "the array takes %zu bytes, but %zu follow the header",
                         bytes, data.len);
    *out = (RtValue){.elem = n->elem, .rank = n->rank};
    char scalar[8];
    if (n->rank == 0) {
        load_elements(n, data.ptr, scalar, NULL);
        out->bits = rt_load(n->elem, scalar);
        return STATUS_OK;
    }
    out->array = file_new_array(n->in, n->elem, n->rank, n->shape);
    load_elements(n, data.ptr, out->array->data, out->array);
    return STATUS_OK;
}

Status file_read_npy(FileIn *in, RtValue *value_out) {
    Str bytes = in->bytes;
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    if (bytes.len < 6 || memcmp(p, "\x93NUMPY", 6) != 0)
        return file_fail(in, "this is no .npy file: it does not begin with \\x93NUMPY");
    if (bytes.len >= 8 && (p[6] < 1 || p[6] > 3))
        return file_fail(in, "version %d.%d of the .npy format is not known", p[6],
                         p[7]);
    size_t start = bytes.len >= 8 && p[6] == 1 ? 10 : 12, length = 0;
    if (bytes.len < start) return file_fail(in, "the file ends within the .npy header");
    for (size_t i = start; i-- > 8;) length = length << 8 | p[i];
    if (length > bytes.len - start)
        return file_fail(in,
                         "the file ends within the .npy header: %zu of its %zu bytes "
                         "are there",
                         bytes.len - start, length);
    const char *header = bytes.ptr + start;
    Npy npy = {.in = in, .at = header, .end = header + length};
    Status status = take_header(&npy);
    if (status != STATUS_OK) return status;
    Str data = {header + length, bytes.len - start - length};
    return read_elements(&npy, data, value_out);
}

// ---- writing ------------------------------------------------------------------------

// The dictionary; shape is (), (3,) or (3, 4).
static size_t print_header(const RtValue *value, char *text, size_t size) {
    static const char kinds[] = {'b', 'i', 'u', 'f'}; // by ScalarClass
    const ScalarInfo *info = &scalar_info[value->elem];
    int at =
        snprintf(text, size, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
                 info->bytes == 1 ? '|' : '<', kinds[info->class], info->bytes);
    for (uint32_t d = 0; d < value->rank; d++)
        at += snprintf(text + at, size - (size_t)at, "%s%lld%s", d > 0 ? " " : "",
                       (long long)value->array->shape[d],
                       d + 1 < value->rank || d == 0 ? "," : "");
    at += snprintf(text + at, size - (size_t)at, "), }");
    return (size_t)at;
}

void file_write_npy(DataSink *sink, const RtValue *value) {
    enum { START = 10, ALIGN = 64 };
    char header[DATA_MOST_RANK * 24 + 2 * ALIGN];
    size_t len = print_header(value, header, sizeof header - ALIGN);
    while ((START + len + 1) % ALIGN != 0) header[len++] = ' ';
    header[len++] = '\n';
    char start[START] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(len & 255), (char)(len >> 8)};
    data_put(sink, start, sizeof start);
    data_put(sink, header, len);
    data_put_elements(sink, value);
}
