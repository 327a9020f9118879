// SPDX-License-Identifier: Apache-2.0
//
// Values in and out: round trips over every scalar type and rank, floats against the C
// library's correctly rounded conversions, malformed text and binary data.
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "data/float.h"
#include "test.h"

static Mem mem;
static RtHeap heap;
static Arena arena;

// ---- helpers ------------------------------------------------------------------------

static uint64_t seed = 1;

static uint64_t random_bits(void) { // xorshift64*
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * 2685821657736338717u;
}

static bool collect(void *data, const char *bytes, size_t len) {
    strbuf_bytes(data, bytes, len);
    return true;
}

static Str print_as(const DataType *type, const RtValue *leaves, bool is_binary) {
    StrBuf text = strbuf(&arena);
    DataSink sink = {.write = collect, .data = &text};
    if (is_binary) CHECK(data_write_binary(&sink, type, leaves));
    else data_print(&sink, type, leaves);
    data_flush(&sink);
    return strbuf_done(&text);
}

static bool same_element(ScalarType elem, uint64_t a, uint64_t b) {
    return a == b ||
           (scalar_is_float(elem) && float_is_nan(elem, a) && float_is_nan(elem, b));
}

static bool same_value(const RtValue *a, const RtValue *b) {
    if (a->elem != b->elem || a->rank != b->rank) return false;
    if (a->rank == 0) return same_element(a->elem, a->bits, b->bits);
    size_t shape_size = a->rank * sizeof(int64_t), width = scalar_info[a->elem].bytes;
    if (memcmp(a->array->shape, b->array->shape, shape_size) != 0) return false;
    for (int64_t i = 0, n = rt_count(a->array); i < n; i++) {
        uint64_t x = rt_load(a->elem, a->array->data + (size_t)i * width);
        uint64_t y = rt_load(a->elem, b->array->data + (size_t)i * width);
        if (!same_element(a->elem, x, y)) return false;
    }
    return true;
}

// Reads text that must hold one leaf value; prints it back.
static Str read_print(const char *text, ScalarType elem, uint32_t rank) {
    DataType type = {.kind = DATA_LEAF, .elem = elem, .rank = rank};
    RtValue value = {.elem = elem, .rank = rank};
    DataReader r = data_reader(str_of(text), &heap, &arena);
    Status status = data_read(&r, &type, &value, 1);
    if (status == STATUS_OK && !data_at_end(&r)) {
        data_fail(&r, r.at, "more input");
        status = STATUS_VALUE;
    }
    if (status != STATUS_OK) {
        StrBuf error = strbuf(&arena);
        strbuf_printf(&error, "%u:%u: %.*s", r.error_line, r.error_column,
                      STR_ARG(r.error));
        return strbuf_done(&error);
    }
    Str printed = print_as(&type, &value, false);
    rt_release_value(&heap, &value);
    return printed;
}

static void expect(int line, const char *text, ScalarType elem, uint32_t rank,
                   const char *expected) {
    Str got = read_print(text, elem, rank);
    bool is_same = str_eq(got, str_of(expected));
    if (!is_same)
        printf("line %d: %s\n  expected %s\n  found    %.*s\n", line, text, expected,
               STR_ARG(got));
    CHECK(is_same);
}

#define EXPECT(text, elem, rank, expected)                                             \
    expect(__LINE__, text, SCALAR_##elem, rank, expected)

// ---- floats -------------------------------------------------------------------------

static double f64_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float f32_of(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return x;
}

static uint64_t bits_of_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double f16_value(uint64_t bits) {
    int exponent = (int)(bits >> 10 & 31);
    double mantissa = (double)(bits & 1023) / 1024;
    double x =
        exponent == 0 ? ldexp(mantissa, -14) : ldexp(1 + mantissa, exponent - 15);
    return (bits & 0x8000) != 0 ? -x : x;
}

static uint64_t read_float(ScalarType elem, const char *text) {
    DataType type = {.kind = DATA_LEAF, .elem = elem};
    RtValue value = {.elem = elem};
    DataReader r = data_reader(str_of(text), &heap, &arena);
    if (data_read(&r, &type, &value, 1) != STATUS_OK || !data_at_end(&r)) {
        printf("%s: %.*s\n", text, STR_ARG(r.error));
        CHECK(false);
    }
    return value.bits;
}

// Digits that were chosen: a whole number is printed exactly, as that is no longer.
static int digits_in(const char *text) {
    int count = 0, zeros = 0;
    size_t len = strlen(text);
    if (len > 2 && strcmp(text + len - 2, ".0") == 0) return 1;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text == '.' || *text == '-') continue;
        if (*text != '0') count += zeros + 1, zeros = 0;
        else if (count > 0) zeros++;
    }
    return count;
}

static void check_f64(uint64_t bits) {
    double x = f64_of(bits);
    if (!isfinite(x)) return;
    char text[FLOAT_TEXT + 1], other[64];
    text[float_print(SCALAR_F64, bits, text)] = '\0';
    if (bits_of(strtod(text, NULL)) != bits || read_float(SCALAR_F64, text) != bits) {
        printf("%a printed as %s\n", x, text);
        CHECK(false);
    }
    // No fewer digits would do; 17 always do.
    int count = digits_in(text);
    snprintf(other, sizeof other, "%.*e", count > 1 ? count - 2 : 0, x);
    if (count > 17 || (count > 1 && bits_of(strtod(other, NULL)) == bits)) {
        printf("%a printed as %s, not %s\n", x, text, other);
        CHECK(false);
    }
    snprintf(other, sizeof other, "%.20e", x);
    if (read_float(SCALAR_F64, other) != bits) CHECK(false);
}

static void check_f32(uint64_t bits) {
    float x = f32_of(bits);
    if (!isfinite(x)) return;
    char text[FLOAT_TEXT + 1], other[64];
    text[float_print(SCALAR_F32, bits, text)] = '\0';
    if (bits_of_f32(strtof(text, NULL)) != bits ||
        read_float(SCALAR_F32, text) != bits) {
        printf("%a printed as %s\n", (double)x, text);
        CHECK(false);
    }
    int count = digits_in(text);
    snprintf(other, sizeof other, "%.*e", count > 1 ? count - 2 : 0, (double)x);
    if (count > 9 || (count > 1 && bits_of_f32(strtof(other, NULL)) == bits)) {
        printf("%a printed as %s, not %s\n", (double)x, text, other);
        CHECK(false);
    }
}

static void test_floats(void) {
    static const double hard[] = {
        5e-324,
        2.2250738585072014e-308,
        2.2250738585072011e-308,
        1.7976931348623157e308,
        9007199254740993.0,
        9007199254740992.0,
        1e23,
        8.41e21,
        5.684341886080802e-14,
        2.98023223876953125e-8,
        4.35,
        0.1,
        0.3,
        1e22,
        1e21,
        123456,
        9.5367431640625e-7,
        0x1p-1074,
        0x1p1023,
        0x1.fffffffffffffp0,
        1.0,
        0.5,
        1e16,
        1e17,
        6.631236846766476e-316,
        4.4501477170144023e-308,
        1.8014398509481984e16,
    };
    for (size_t i = 0; i < sizeof hard / sizeof hard[0]; i++) {
        check_f64(bits_of(hard[i]));
        check_f64(bits_of(-hard[i]));
        check_f64(bits_of(nextafter(hard[i], 0)));
    }
    for (int e = -1074; e < 1024; e++) {
        check_f64(bits_of(ldexp(1, e)));
        check_f64(bits_of(nextafter(ldexp(1, e), 0)));
    }
    for (int i = 0; i < 60000; i++) check_f64(random_bits());
    for (int i = 0; i < 20000; i++)
        check_f64(bits_of((double)(random_bits() >> 40) / 1000));
    for (int e = -149; e < 128; e++) check_f32(bits_of_f32(ldexpf(1, e)));
    for (int i = 0; i < 60000; i++) check_f32(random_bits() >> 32);
    // Every f16, against its exact value and its neighbours.
    for (uint64_t bits = 0; bits < 0x7c00; bits++) {
        char text[FLOAT_TEXT + 1], exact[64];
        text[float_print(SCALAR_F16, bits, text)] = '\0';
        snprintf(exact, sizeof exact, "%.30e", f16_value(bits));
        if (read_float(SCALAR_F16, text) != bits ||
            read_float(SCALAR_F16, exact) != bits)
            CHECK(false);
        double middle =
            bits == 0x7bff ? 65520 : (f16_value(bits) + f16_value(bits + 1)) / 2;
        snprintf(exact, sizeof exact, "%.40f", middle);
        if (read_float(SCALAR_F16, exact) != bits + (bits & 1)) CHECK(false);
    }
    // Texts against the C library, long and short, exponents everywhere.
    for (int i = 0; i < 60000; i++) {
        char text[128];
        int exponent = (int)(random_bits() % 700) - 360,
            count = (int)(random_bits() % 40) + 1;
        size_t at = 0;
        for (int d = 0; d < count; d++) {
            text[at++] = (char)('0' + random_bits() % 10);
            if (d == 0) text[at++] = '.';
        }
        if (count == 1) text[at++] = '0';
        snprintf(text + at, sizeof text - at, "e%d", exponent);
        if (read_float(SCALAR_F64, text) != bits_of(strtod(text, NULL)) ||
            read_float(SCALAR_F32, text) != bits_of_f32(strtof(text, NULL))) {
            printf("%s\n", text);
            CHECK(false);
        }
    }
    // Halfway cases that only the last of very many digits decides.
    StrBuf far = strbuf(&arena);
    strbuf_cstr(&far, "9007199254740993.");
    for (int i = 0; i < 2000; i++) strbuf_char(&far, '0');
    size_t len = far.len;
    strbuf_char(&far, '1');
    strbuf_char(&far, '\0');
    CHECK(read_float(SCALAR_F64, far.data) == bits_of(9007199254740994.0));
    far.data[len] = '0';
    CHECK(read_float(SCALAR_F64, far.data) == bits_of(9007199254740992.0));
    // Rounded once: through f64 this would become a tie, and round the other way.
    CHECK(read_float(SCALAR_F32, "1.00000005960464477540") == 0x3f800001);
    CHECK(
        read_float(SCALAR_F32, "1.000000059604644775390625000000000000000000000001") ==
        0x3f800001);
    CHECK(read_float(SCALAR_F32, "1.000000059604644775390625") == 0x3f800000);
    CHECK(read_float(SCALAR_F64, "1e400") == float_inf(SCALAR_F64));
    CHECK(read_float(SCALAR_F64, "1e-400") == 0);
    CHECK(read_float(SCALAR_F64, "0e999999999999999999999") == 0);
    CHECK(read_float(SCALAR_F64, "0x1.8p3") == bits_of(12.0));
    CHECK(read_float(SCALAR_F64, "-0x1.8p-3f64") == bits_of(-0.1875));
    CHECK(read_float(SCALAR_F64, "0x1.00000000000008p0") == bits_of(1.0));
    CHECK(read_float(SCALAR_F64, "0x1.000000000000080000000000001p0") ==
          bits_of(1.0000000000000002));
    CHECK(read_float(SCALAR_F64, "0x1p-1075") == 0);
    CHECK(read_float(SCALAR_F64, "0x1.8p-1075") == 1);
    CHECK(read_float(SCALAR_F64, "0x10") == bits_of(16.0));
}

// ---- text ---------------------------------------------------------------------------

static void test_text(void) {
    EXPECT("3", I32, 0, "3i32");
    EXPECT("-128", I8, 0, "-128i8");
    EXPECT("-9223372036854775808", I64, 0, "-9223372036854775808i64");
    EXPECT("18446744073709551615u64", U64, 0, "18446744073709551615u64");
    EXPECT("1_000_000", U32, 0, "1000000u32");
    EXPECT("0xff", U8, 0, "255u8");
    EXPECT("0xffi8", I8, 0, "-1i8");
    EXPECT("0b1_01", I16, 0, "5i16");
    EXPECT("-0x10", I16, 0, "-16i16");
    EXPECT("true", BOOL, 0, "true");
    EXPECT(" -- a comment\n false -- another", BOOL, 0, "false");
    EXPECT("2", F32, 0, "2.0f32");
    EXPECT("1e-3", F32, 0, "0.001f32");
    EXPECT("1.", F64, 0, "1.0f64");
    EXPECT("1e-7f64", F64, 0, "1e-7f64");
    EXPECT("1_0.5_0f32", F32, 0, "10.5f32");
    EXPECT("-0.0f32", F32, 0, "-0.0f32");
    EXPECT("12345678901234567890", F64, 0, "1.2345678901234567e19f64");
    EXPECT("f32.nan", F32, 0, "f32.nan");
    EXPECT("-f32.nan", F32, 0, "f32.nan");
    EXPECT("16777216", F32, 0, "16777216.0f32");
    EXPECT("123456789", F32, 0, "123456792.0f32");
    EXPECT("-f16.inf", F16, 0, "-f16.inf");
    EXPECT("f64.inf", F64, 0, "f64.inf");
    EXPECT("65504", F16, 0, "65504.0f16");
    EXPECT("[1, 2,3 ]", I32, 1, "[1i32, 2i32, 3i32]");
    EXPECT("[[1i64,2i64]\n,[3i64,4i64]]", I64, 2, "[[1i64, 2i64], [3i64, 4i64]]");
    EXPECT("[]", I32, 1, "empty([0]i32)");
    EXPECT("[[], []]", I32, 2, "empty([2][0]i32)");
    EXPECT("empty([0][3]f32)", F32, 2, "empty([0][3]f32)");
    EXPECT("empty( [ 2 ] [ 0 ] f32 )", F32, 2, "empty([2][0]f32)");
    EXPECT("[empty([0]u8), empty([0]u8)]", U8, 2, "empty([2][0]u8)");
    EXPECT("\"ab\\n\\x41\\u{e9}\"", U8, 1, "[97u8, 98u8, 10u8, 65u8, 195u8, 169u8]");
    EXPECT("[\"ab\", \"cd\"]", U8, 2, "[[97u8, 98u8], [99u8, 100u8]]");
    EXPECT("\"\"", U8, 1, "empty([0]u8)");
}

static void test_malformed(void) {
    EXPECT("", I32, 0, "1:1: expected an i32, found the end of the input");
    EXPECT("\n  foo", I32, 0, "2:3: expected an i32, found `foo`");
    EXPECT("-", I32, 0, "1:1: expected an i32, found `-`");
    EXPECT("128", I8, 0, "1:1: `128` does not fit in an i8");
    EXPECT("-129", I8, 0, "1:1: `-129` does not fit in an i8");
    EXPECT("256u8", U8, 0, "1:1: `256u8` does not fit in a u8");
    EXPECT("-1", U8, 0, "1:1: `-1` does not fit in a u8");
    EXPECT("99999999999999999999", I64, 0,
           "1:1: `99999999999999999999` does not fit in an i64");
    EXPECT("1.5", I32, 0, "1:1: expected an i32, found `1.5`, which is not an integer");
    EXPECT("3i64", I32, 0, "1:1: expected an i32, found `3i64`, which is an i64");
    EXPECT("1.0f32", F64, 0, "1:1: expected an f64, found `1.0f32`, which is an f32");
    EXPECT("1.0i32", I32, 0, "1:1: malformed number `1.0i32`");
    EXPECT("3x", I32, 0, "1:1: malformed number `3x`");
    EXPECT("0x", I32, 0, "1:1: malformed number `0x`");
    EXPECT("1e", F32, 0, "1:1: malformed number `1e`");
    EXPECT("1 2", I32, 0, "1:3: more input");
    EXPECT("tru", BOOL, 0, "1:1: expected a bool, found `tru`");
    EXPECT("1", BOOL, 0, "1:1: expected a bool, found `1`");
    EXPECT("f32.nan", F64, 0, "1:1: expected an f64, found `f32.nan`");
    EXPECT("'a'", U8, 0, "1:1: expected a u8, found `'a'`");
    EXPECT("1", I32, 1, "1:1: expected an array of type []i32, found `1`");
    EXPECT("[1, 2", I32, 1,
           "1:6: expected `,` or `]` in this array, found the end of the input");
    EXPECT("[1,, 2]", I32, 1, "1:4: expected an i32, found `,`");
    EXPECT("[1 2]", I32, 1, "1:4: expected `,` or `]` in this array, found `2`");
    EXPECT("[[1, 2],\n [3]]", I32, 2,
           "2:2: irregular array: row 1 has length 1, row 0 has length 2");
    EXPECT("[[[1], [2, 3]]]", I32, 3,
           "1:8: irregular array: row [0, 1] has length 2, the first row has length 1");
    EXPECT("[[1], 2]", I32, 2, "1:7: expected an array of type []i32, found `2`");
    EXPECT("empty([0]f32)", I32, 1,
           "1:1: expected a value of type []i32, found an empty []f32");
    EXPECT("empty([0]i32)", I32, 2,
           "1:1: expected a value of type [][]i32, found an empty []i32");
    EXPECT("empty([1]i32)", I32, 1, "1:1: none of the sizes in this empty array is 0");
    EXPECT("empty([-1]i32)", I32, 1, "1:8: the size -1 is negative");
    EXPECT("empty([0]foo)", I32, 1, "1:10: expected a scalar type, found `foo`");
    EXPECT("\"abc", U8, 1, "1:1: this string is not closed");
    EXPECT("\"\\q\"", U8, 1, "1:2: unknown escape in a string");
    EXPECT("\xff\xfe", I32, 0, "1:1: expected an i32, found `\\xff\\xfe`");
    EXPECT("\x01", I32, 0, "1:1: expected an i32, found `\\x01`");
}

// ---- tuples, records, sums ----------------------------------------------------------

static void test_structures(void) {
    DataType x = {.kind = DATA_LEAF, .elem = SCALAR_I32, .leaf = 0};
    DataType y = {.kind = DATA_LEAF, .elem = SCALAR_F32, .rank = 1, .leaf = 1};
    DataField fields[] = {{STR("x"), &x}, {STR("ys"), &y}};
    DataType record = {.kind = DATA_RECORD, .fields = fields, .count = 2};
    DataType rows = {.kind = DATA_ARRAY, .rank = 1, .inner = &record};
    struct {
        const DataType *type;
        uint32_t outer;
        bool is_tuple;
        const char *text, *expected;
    } cases[] = {
        {&record, 0, false, "{x = 1, ys = [2, 3]}",
         "{x = 1i32, ys = [2.0f32, 3.0f32]}"},
        {&record, 0, false, "1 [2]", "{x = 1i32, ys = [2.0f32]}"},
        {&record, 0, true, "(1, [])", "(1i32, empty([0]f32))"},
        {&rows, 1, true, "[(1, [2]), (3, [4])]",
         "[(1i32, [2.0f32]), (3i32, [4.0f32])]"},
        {&rows, 1, false, "[]", "[]"},
        {&rows, 1, true, "[(1, [2]), (3, [4, 5])]", NULL},
        {&record, 0, false, "{ys = [2], x = 1}", "{x = 1i32, ys = [2.0f32]}"},
        {&rows, 1, false, "[{ys = [2], x = 1}, {x = 3, ys = [4]}]",
         "[{x = 1i32, ys = [2.0f32]}, {x = 3i32, ys = [4.0f32]}]"},
        {&record, 0, false, "{x = 1, x = 1}", NULL},
        {&record, 0, false, "{x = 1}", NULL},
        {&record, 0, false, "{ys = [1]}", NULL},
        {&record, 0, false, "{x = 1, y = [1]}", NULL},
        {&record, 0, false, "{x = 1, ys = [1], x = 1}", NULL},
        {&record, 0, false, "{}", NULL},
        {&record, 0, true, "(1, [2]", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        record.is_tuple = cases[i].is_tuple;
        RtValue leaves[2] = {{.elem = SCALAR_I32, .rank = cases[i].outer},
                             {.elem = SCALAR_F32, .rank = cases[i].outer + 1}};
        DataReader r = data_reader(str_of(cases[i].text), &heap, &arena);
        Status status = data_read(&r, cases[i].type, leaves, 2);
        CHECK((status == STATUS_OK) == (cases[i].expected != NULL));
        if (status != STATUS_OK) continue;
        Str printed = print_as(cases[i].type, leaves, false);
        CHECK(str_eq(printed, str_of(cases[i].expected)));
        rt_release_value(&heap, &leaves[0]);
        rt_release_value(&heap, &leaves[1]);
    }
    DataType tag_payload = {.kind = DATA_LEAF, .elem = SCALAR_I32, .leaf = 1};
    const DataType *payload[] = {&tag_payload};
    DataCtor ctors[] = {{STR("none"), NULL, 0, 2}, {STR("some"), payload, 1, 0}};
    DataType sum = {.kind = DATA_SUM, .leaf = 0, .ctors = ctors, .count = 2};
    DataType sums = {.kind = DATA_ARRAY, .rank = 1, .inner = &sum};
    RtValue leaves[3] = {{.elem = SCALAR_I8, .rank = 1},
                         {.elem = SCALAR_I32, .rank = 1},
                         {.elem = SCALAR_BOOL, .rank = 1}};
    DataReader r = data_reader(STR("[#some 1, #none, (#some 3)]"), &heap, &arena);
    CHECK(data_read(&r, &sums, leaves, 3) == STATUS_OK);
    CHECK(
        str_eq(print_as(&sums, leaves, false), STR("[#some 1i32, #none, #some 3i32]")));
    for (int i = 0; i < 3; i++) {
        CHECK(leaves[i].array->shape[0] == 3);
        rt_release_value(&heap, &leaves[i]);
    }
}

// ---- arrays inside arrays of sums ---------------------------------------------------

// The sizes in one value of the type below.
typedef struct Sizes {
    uint64_t items, row, deep, rows, columns;
} Sizes;

static void put_row(StrBuf *out, uint64_t size, const char *name) {
    for (uint64_t i = 0; i < size; i++)
        strbuf_printf(out, "%s%u%s", i == 0 ? "[" : ", ", (unsigned)random_bits() % 100,
                      name);
    strbuf_char(out, ']');
}

static void put_deep(StrBuf *out, const Sizes *sizes) {
    for (uint64_t i = 0; i < sizes->deep; i++) {
        strbuf_cstr(out, i == 0 ? "[" : ", ");
        uint64_t pick = random_bits() % 5;
        if (pick > 1) strbuf_cstr(out, "#q");
        if (pick == 0) strbuf_printf(out, "#p %di8", (int)(random_bits() % 100) - 50);
        if (pick != 1) continue;
        strbuf_cstr(out, "#r ");
        for (uint64_t k = 0; k < sizes->rows; k++) {
            strbuf_cstr(out, k == 0 ? "[" : ", ");
            put_row(out, sizes->columns, "u8");
        }
        strbuf_char(out, ']');
    }
    strbuf_char(out, ']');
}

static Str random_items(const Sizes *sizes) {
    StrBuf out = strbuf(&arena);
    for (uint64_t i = 0; i < sizes->items; i++) {
        strbuf_cstr(&out, i == 0 ? "[" : ", ");
        uint64_t pick = random_bits() % 4;
        strbuf_cstr(&out, pick == 0 ? "#row " : pick == 1 ? "#deep " : "#none");
        if (pick == 0) put_row(&out, sizes->row, "i32");
        if (pick == 1) put_deep(&out, sizes);
    }
    strbuf_char(&out, ']');
    return strbuf_done(&out);
}

// [](#none | #row []i32 | #deep [](#p i8 | #q | #r [][]u8)): what is not chosen leaves
// gaps, whose sizes are known late or never.
static void test_gaps(void) {
    DataType p = {.kind = DATA_LEAF, .elem = SCALAR_I8, .leaf = 4};
    DataType r = {.kind = DATA_LEAF, .elem = SCALAR_U8, .rank = 2, .leaf = 6};
    DataType row = {.kind = DATA_LEAF, .elem = SCALAR_I32, .rank = 1, .leaf = 2};
    const DataType *has_p[] = {&p}, *has_r[] = {&r}, *has_row[] = {&row};
    DataCtor inner_ctors[] = {
        {STR("p"), has_p, 1, 0}, {STR("q"), NULL, 0, 5}, {STR("r"), has_r, 1, 0}};
    DataType inner = {.kind = DATA_SUM, .leaf = 3, .ctors = inner_ctors, .count = 3};
    DataType deep = {.kind = DATA_ARRAY, .rank = 1, .inner = &inner};
    const DataType *has_deep[] = {&deep};
    DataCtor ctors[] = {{STR("none"), NULL, 0, 1},
                        {STR("row"), has_row, 1, 0},
                        {STR("deep"), has_deep, 1, 0}};
    DataType item = {.kind = DATA_SUM, .leaf = 0, .ctors = ctors, .count = 3};
    DataType items = {.kind = DATA_ARRAY, .rank = 1, .inner = &item};
    static const RtValue fresh[7] = {
        {.elem = SCALAR_U8, .rank = 1},  {.elem = SCALAR_BOOL, .rank = 1},
        {.elem = SCALAR_I32, .rank = 2}, {.elem = SCALAR_U8, .rank = 2},
        {.elem = SCALAR_I8, .rank = 2},  {.elem = SCALAR_BOOL, .rank = 2},
        {.elem = SCALAR_U8, .rank = 4}};
    for (int round = 0; round < 3000; round++) {
        Sizes sizes = {1 + random_bits() % 8, 1 + random_bits() % 4,
                       1 + random_bits() % 4, 1 + random_bits() % 3,
                       1 + random_bits() % 3};
        Str text = random_items(&sizes);
        RtValue leaves[7];
        memcpy(leaves, fresh, sizeof leaves);
        DataReader reader = data_reader(text, &heap, &arena);
        bool is_read = data_read(&reader, &items, leaves, 7) == STATUS_OK;
        bool is_same = is_read && str_eq(print_as(&items, leaves, false), text);
        if (!is_same)
            printf("%.*s\n%.*s\n", STR_ARG(text),
                   STR_ARG(is_read ? print_as(&items, leaves, false) : reader.error));
        CHECK(is_same);
        for (int i = 0; is_read && i < 7; i++) {
            CHECK(leaves[i].array->shape[0] == (int64_t)sizes.items);
            rt_release_value(&heap, &leaves[i]);
        }
    }
    RtValue leaves[7];
    memcpy(leaves, fresh, sizeof leaves);
    DataReader reader =
        data_reader(STR("[#row [1], #none, #row [2, 3]]"), &heap, &arena);
    CHECK(data_read(&reader, &items, leaves, 7) == STATUS_VALUE);
    CHECK(str_eq(reader.error,
                 STR("irregular array: row 2 has length 2, row 0 has length 1")));
}

// ---- round trips --------------------------------------------------------------------

static uint64_t random_element(ScalarType elem) {
    uint64_t bits = random_bits() >> (64 - scalar_info[elem].bytes * 8);
    return elem == SCALAR_BOOL ? bits & 1 : bits;
}

static void round_trip(ScalarType elem, uint32_t rank, bool is_binary) {
    RtValue value = {.elem = elem, .rank = rank}, again = value;
    int64_t shape[5];
    for (uint32_t d = 0; d < rank; d++) shape[d] = (int64_t)(random_bits() % 5);
    if (rank == 0) {
        value.bits = random_element(elem);
    } else {
        value.array = rt_new(&heap, elem, rank, shape);
        for (int64_t i = 0, n = rt_count(value.array); i < n; i++)
            rt_store(elem, value.array->data + (size_t)i * scalar_info[elem].bytes,
                     random_element(elem));
    }
    DataType type = {.kind = DATA_LEAF, .elem = elem, .rank = rank};
    Str text = print_as(&type, &value, is_binary);
    DataReader r = data_reader(text, &heap, &arena);
    bool is_read = data_read(&r, &type, &again, 1) == STATUS_OK && data_at_end(&r);
    bool is_same = is_read && same_value(&value, &again);
    if (!is_same && !is_binary) printf("%.*s: %.*s\n", STR_ARG(text), STR_ARG(r.error));
    CHECK(is_same);
    // Every shorter text is refused or shorter too, and never read past its end.
    for (size_t cut = 0; is_binary && cut < text.len; cut++) {
        char *exact = malloc(cut == 0 ? 1 : cut); // so that sanitizers see the end
        memcpy(exact, text.ptr, cut);
        RtValue none = {.elem = elem, .rank = rank};
        DataReader early = data_reader((Str){exact, cut}, &heap, &arena);
        CHECK(data_read(&early, &type, &none, 1) == STATUS_VALUE);
        free(exact);
    }
    if (is_same) rt_release_value(&heap, &again);
    rt_release_value(&heap, &value);
}

static void test_binary(void) {
    DataType matrix = {.kind = DATA_LEAF, .elem = SCALAR_F32, .rank = 2};
    RtValue value = {.elem = SCALAR_F32, .rank = 2};
    struct {
        const char *bytes;
        size_t len;
        bool is_good;
    } cases[] = {
#define CASE(text, good) {text, sizeof text - 1, good}
#define I64(byte)        byte "\0\0\0\0\0\0\0"
#define HUGE64           "\xff\xff\xff\xff\xff\xff\xff\x7f"
        CASE("b\2\2 f32" I64("\1") I64("\1") "\0\0\200\77", true),
        CASE("  b\2\2 f32" I64("\0") I64("\3"), true),
        CASE("b\2\2 f32" I64("\1") I64("\2") "\0\0\200\77", false),
        CASE("b\2\1 f32" I64("\1") "\0\0\200\77", false),
        CASE("b\2\2 f64" I64("\1") I64("\1") "\0\0\0\0\0\0\0\0", false),
        CASE("b\2\2 f99" I64("\1") I64("\1") "\0\0\200\77", false),
        CASE("b\2\2 f32" HUGE64 HUGE64 "\0\0\200\77", false),
        CASE("b\2\2 f32" I64("\1") HUGE64 "\0\0\200\77", false),
        CASE("b\2\2 f32" HUGE64 I64("\0"), true),
        CASE("b\2\2 f32\xff\xff\xff\xff\xff\xff\xff\xff" I64("\1"), false),
        CASE("b\2\377 f32", false),
        CASE("b\3\2 f32" I64("\1") I64("\1") "\0\0\200\77", false),
        CASE("b\2", false),
        CASE("b", false),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        DataReader r = data_reader((Str){cases[i].bytes, cases[i].len}, &heap, &arena);
        bool is_good = data_read(&r, &matrix, &value, 1) == STATUS_OK;
        CHECK(is_good == cases[i].is_good);
        if (!is_good) CHECK(r.error.len > 0);
        else rt_release_value(&heap, &value);
        value = (RtValue){.elem = SCALAR_F32, .rank = 2};
    }
    // Text and binary values one after another; NaN is made canonical.
    DataType scalar = {.kind = DATA_LEAF, .elem = SCALAR_F32};
    RtValue x = {.elem = SCALAR_F32}, y = {.elem = SCALAR_F32};
    DataReader r = data_reader(STR("1.5 b\2\0 f32\1\0\300\377 2"), &heap, &arena);
    CHECK(data_read(&r, &scalar, &x, 1) == STATUS_OK && x.bits == 0x3fc00000);
    CHECK(data_read(&r, &scalar, &y, 1) == STATUS_OK && y.bits == 0xffc00001);
    CHECK(data_read(&r, &scalar, &x, 1) == STATUS_OK && x.bits == 0x40000000);
    Str bytes = print_as(&scalar, &y, true);
    CHECK(str_eq(bytes, STR("b\2\0 f32\0\0\300\177")));
}

static void test_noise(void) {
    static const char alphabet[] = "[](){},.-_#\"\\ \n0123456789abefinrtux=\xff\x80";
    DataType type = {.kind = DATA_LEAF, .elem = SCALAR_F32, .rank = 2};
    for (int i = 0; i < 20000; i++) {
        char text[24];
        size_t len = random_bits() % sizeof text;
        for (size_t c = 0; c < len; c++)
            text[c] = alphabet[random_bits() % (sizeof alphabet - 1)];
        if (len > 2 && i % 2 == 0) text[0] = text[1] = '[';
        type.elem = (ScalarType)(random_bits() % SCALAR_COUNT);
        type.rank = (uint32_t)(random_bits() % 3);
        RtValue value = {.elem = type.elem, .rank = type.rank};
        DataReader r = data_reader((Str){text, len}, &heap, &arena);
        if (data_read(&r, &type, &value, 1) == STATUS_OK)
            rt_release_value(&heap, &value);
        else if (r.error.len == 0) CHECK(false);
    }
}

int main(void) {
    jmp_buf recover;
    mem.recover = &recover;
    if (setjmp(recover) != 0) {
        printf("out of memory\n");
        return 1;
    }
    setlocale(LC_ALL, "de_DE.UTF-8"); // must not matter, where there is one
    arena_init(&arena, &mem);
    rt_heap_init(&heap, &mem);
    test_text();
    test_malformed();
    test_structures();
    test_gaps();
    test_binary();
    for (int t = 0; t < SCALAR_COUNT; t++)
        for (uint32_t rank = 0; rank <= 5; rank++)
            for (int i = 0; i < (rank < 3 ? 8 : 2); i++) {
                round_trip((ScalarType)t, rank, false);
                round_trip((ScalarType)t, rank, true);
            }
    test_noise();
    setlocale(LC_ALL, "C");
    test_floats();
    CHECK(heap.live == NULL);
    rt_heap_free(&heap);
    arena_free(&arena);
    CHECK(mem.used == 0);
    return test_done();
}
