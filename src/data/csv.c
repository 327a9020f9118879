// SPDX-License-Identifier: Apache-2.0
//
// Tables of numbers: lines of cells between commas (or, if the first line has none,
// semicolons or tabs), as [rows][columns]f64. A first line without any number is a
// header and skipped. Cells may be in double quotes and have blanks around them; empty
// lines do not count. Source: RFC 4180, save that no cell holds a line end.
#include <stdio.h>
#include <string.h>

#include "data/file.h"
#include "data/float.h"
#include "data/number.h"

// ---- lines and cells ----------------------------------------------------------------

typedef struct Table {
    FileIn *in;
    char separator;
    Str rest;      // after the current line
    uint32_t line; // its number
} Table;

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static Str trim(Str s) {
    while (s.len > 0 && is_blank(s.ptr[0])) s.ptr++, s.len--;
    while (s.len > 0 && is_blank(s.ptr[s.len - 1])) s.len--;
    return s;
}

// The next line that is not empty; false at the end.
static bool next_line(Table *t, Str *line_out) {
    while (t->rest.len > 0) {
        const char *end = memchr(t->rest.ptr, '\n', t->rest.len);
        size_t len = end == NULL ? t->rest.len : (size_t)(end - t->rest.ptr);
        size_t taken = end == NULL ? len : len + 1;
        *line_out = (Str){t->rest.ptr, len};
        t->rest.ptr += taken;
        t->rest.len -= taken;
        t->line++;
        if (line_out->len > 0 && line_out->ptr[line_out->len - 1] == '\r')
            line_out->len--;
        if (trim(*line_out).len > 0) return true;
    }
    return false;
}

// Takes a cell off the line; false if there is none left. A line's ptr is NULL after
// its last cell.
static bool next_cell(const Table *t, Str *line, Str *cell_out) {
    if (line->ptr == NULL) return false;
    size_t len = 0;
    bool is_quoted = false;
    while (len < line->len && (is_quoted || line->ptr[len] != t->separator))
        is_quoted ^= line->ptr[len++] == '"';
    Str cell = trim((Str){line->ptr, len});
    if (cell.len >= 2 && cell.ptr[0] == '"' && cell.ptr[cell.len - 1] == '"')
        cell = trim((Str){cell.ptr + 1, cell.len - 2});
    *cell_out = cell;
    *line = len < line->len ? (Str){line->ptr + len + 1, line->len - len - 1}
                            : (Str){NULL, 0};
    return true;
}

static int64_t count_cells(const Table *t, Str line) {
    int64_t count = 0;
    for (Str cell; next_cell(t, &line, &cell);) count++;
    return count;
}

// ---- numbers ------------------------------------------------------------------------

static bool is_word(Str s, const char *word) {
    size_t len = strlen(word);
    if (s.len != len) return false;
    for (size_t i = 0; i < len; i++)
        if ((s.ptr[i] | 0x20) != word[i]) return false;
    return true;
}

typedef struct Digits {
    char digits[FLOAT_DIGITS];
    size_t count;
    int64_t exponent;
    bool is_more, is_any;
} Digits;

static void take_digits(Digits *d, Str *s, bool is_fraction) {
    for (; s->len > 0 && s->ptr[0] >= '0' && s->ptr[0] <= '9'; s->ptr++, s->len--) {
        char c = s->ptr[0];
        d->is_any = true;
        bool is_leading_zero = d->count == 0 && c == '0';
        if (!is_leading_zero && d->count < FLOAT_DIGITS) d->digits[d->count++] = c;
        else if (!is_leading_zero) {
            d->is_more |= c != '0';
            if (!is_fraction) d->exponent++;
            continue;
        }
        if (is_fraction) d->exponent--;
    }
}

static bool take_exponent(Digits *d, Str *s) {
    if (s->len == 0 || (s->ptr[0] | 0x20) != 'e') return true;
    s->ptr++, s->len--;
    bool is_negative = s->len > 0 && s->ptr[0] == '-', is_any = false;
    if (s->len > 0 && (s->ptr[0] == '-' || s->ptr[0] == '+')) s->ptr++, s->len--;
    int64_t exponent = 0;
    for (; s->len > 0 && s->ptr[0] >= '0' && s->ptr[0] <= '9'; s->ptr++, s->len--) {
        is_any = true;
        if (exponent < 1000000000000) exponent = exponent * 10 + (s->ptr[0] - '0');
    }
    d->exponent += is_negative ? -exponent : exponent;
    return is_any;
}

static bool parse_number(Str s, uint64_t *bits_out) {
    uint64_t sign = 0;
    if (s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+')) {
        if (s.ptr[0] == '-') sign = float_sign(SCALAR_F64);
        s.ptr++, s.len--;
    }
    *bits_out = float_nan(SCALAR_F64);
    if (is_word(s, "nan")) return true;
    *bits_out = float_inf(SCALAR_F64) | sign;
    if (is_word(s, "inf") || is_word(s, "infinity")) return true;
    Digits d = {.count = 0};
    take_digits(&d, &s, false);
    if (s.len > 0 && s.ptr[0] == '.') {
        s.ptr++, s.len--;
        take_digits(&d, &s, true);
    }
    if (!d.is_any || !take_exponent(&d, &s) || s.len > 0) return false;
    *bits_out =
        sign | float_from_decimal(SCALAR_F64, d.digits, d.count, d.exponent, d.is_more);
    return true;
}

// ---- reading ------------------------------------------------------------------------

static bool is_header(const Table *t, Str line) {
    uint64_t bits;
    bool has_text = false;
    for (Str cell; next_cell(t, &line, &cell);) {
        if (parse_number(cell, &bits)) return false;
        has_text |= cell.len > 0;
    }
    return has_text;
}

static char find_separator(const Table *table, Str line) {
    static const char separators[] = {',', ';', '\t'};
    for (size_t i = 0; i < sizeof separators; i++) {
        Table t = *table;
        t.separator = separators[i];
        if (count_cells(&t, line) > 1) return separators[i];
    }
    return ',';
}

static Status fail_cell(Table *t, int64_t row, int64_t column, Str cell) {
    if (cell.len == 0)
        return file_fail(t->in,
                         "line %u (row %lld), column %lld is empty; write nan for a "
                         "number that is missing",
                         t->line, (long long)row, (long long)column);
    DataReader r = data_reader(cell, t->in->heap, t->in->arena);
    Str found = data_excerpt(&r, 0);
    return file_fail(t->in, "line %u (row %lld), column %lld: %.*s is no number",
                     t->line, (long long)row, (long long)column, STR_ARG(found));
}

// Counts the rows and sees that all have as many cells as the first.
static Status measure(Table t, int64_t *shape) {
    int64_t first = shape[1]; // of the header, or unknown
    uint32_t first_line = first < 0 ? 0 : t.line;
    shape[0] = 0;
    for (Str line; next_line(&t, &line); shape[0]++) {
        int64_t cells = count_cells(&t, line);
        if (first < 0) first = cells, first_line = t.line;
        if (cells == first) continue;
        int64_t at = cells < first ? cells + 1 : first + 1;
        return file_fail(t.in,
                         "line %u (row %lld) has %lld cells, line %u has %lld: column "
                         "%lld is %s",
                         t.line, (long long)shape[0] + 1, (long long)cells, first_line,
                         (long long)first, (long long)at,
                         cells < first ? "missing" : "too many");
    }
    shape[1] = first;
    return STATUS_OK;
}

static Status fill(Table t, RtArray *array) {
    char *to = array->data;
    Str line, cell;
    for (int64_t row = 1; next_line(&t, &line); row++) {
        for (int64_t column = 1; next_cell(&t, &line, &cell); column++) {
            uint64_t bits;
            if (!parse_number(cell, &bits)) return fail_cell(&t, row, column, cell);
            memcpy(to, &bits, sizeof bits);
            to += sizeof bits;
        }
    }
    return STATUS_OK;
}

Status file_read_csv(FileIn *in, RtValue *value_out) {
    Table t = {.in = in, .rest = in->bytes};
    if (t.rest.len >= 3 && memcmp(t.rest.ptr, "\xef\xbb\xbf", 3) == 0)
        t.rest.ptr += 3, t.rest.len -= 3; // a byte-order mark
    Table body = t;
    Str line;
    if (!next_line(&body, &line)) return file_fail(in, "the table is empty");
    body.separator = t.separator = find_separator(&t, line);
    int64_t shape[2] = {0, -1};
    if (is_header(&t, line)) {
        t = body;
        shape[1] = count_cells(&t, line);
    }
    Status status = measure(t, shape);
    if (status != STATUS_OK) return status;
    RtArray *array = file_new_array(in, SCALAR_F64, 2, shape);
    status = fill(t, array);
    if (status != STATUS_OK) {
        rt_release(in->heap, array);
        return status;
    }
    *value_out = (RtValue){.elem = SCALAR_F64, .rank = 2, .array = array};
    return STATUS_OK;
}

// ---- writing ------------------------------------------------------------------------

// A number without its type; true and false are 1 and 0.
static void put_number(DataSink *sink, ScalarType elem, uint64_t bits) {
    char text[DATA_SCALAR_TEXT];
    size_t len;
    if (elem == SCALAR_BOOL) {
        data_put(sink, bits != 0 ? "1" : "0", 1);
    } else if (!scalar_is_float(elem)) {
        len = data_scalar_text(elem, bits, text);
        data_put(sink, text, len - strlen(scalar_info[elem].name));
    } else if (float_is_nan(elem, bits)) {
        data_put(sink, "nan", 3);
    } else if (float_is_inf(elem, bits)) {
        bool is_negative = (bits & float_sign(elem)) != 0;
        data_put(sink, &"-inf"[!is_negative], is_negative ? 4 : 3);
    } else {
        len = float_print(elem, bits, text);
        data_put(sink, text, len);
    }
}

void file_write_csv(DataSink *sink, const RtValue *value) {
    if (value->rank == 0) {
        put_number(sink, value->elem, value->bits);
        data_put(sink, "\n", 1);
        return;
    }
    const RtArray *a = value->array;
    int64_t columns = a->rank == 2 ? a->shape[1] : 1;
    int64_t width = (int64_t)scalar_info[a->elem].bytes;
    int64_t across = a->rank == 2 ? a->strides[1] : 0;
    for (int64_t i = 0; columns > 0 && i < a->shape[0] && !sink->has_failed; i++) {
        for (int64_t j = 0; j < columns; j++) {
            const char *at = a->data + (i * a->strides[0] + j * across) * width;
            if (j > 0) data_put(sink, ",", 1);
            put_number(sink, a->elem, rt_load(a->elem, at));
        }
        data_put(sink, "\n", 1);
    }
}
