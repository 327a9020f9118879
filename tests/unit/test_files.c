// SPDX-License-Identifier: Apache-2.0
//
// Values as files: what NumPy and Pillow wrote (tests/files) reads as they say, every
// form gives back what was written, malformed files are refused with a reason, and out
// of memory anywhere leaves nothing behind.
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/testing.h"
#include "data/file.h"
#include "test.h"
#include "weft.h"

static WeftContext *context;
static char folder[] = "/tmp/weft-files-XXXXXX";
static char place[200];

static const char *in_folder(const char *name) {
    snprintf(place, sizeof place, "%s/%s", folder, name);
    return place;
}

static char *load(const char *path, size_t *len_out) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *bytes = malloc(1 << 16);
    if (bytes != NULL) *len_out = fread(bytes, 1, (1 << 16) - 1, file);
    if (bytes != NULL) bytes[*len_out] = '\0';
    fclose(file);
    return bytes;
}

static void expect_text(const char *path, const char *expected) {
    WeftValue *value;
    const char *found = "";
    if (weft_value_from_file(context, path, &value) != WEFT_STATUS_OK) {
        printf("%s: %s\n", path, weft_message(context));
        CHECK(false);
        return;
    }
    CHECK(weft_value_text(value, &found) == WEFT_STATUS_OK);
    bool is_same = strcmp(found, expected) == 0;
    if (!is_same) printf("%s\n  expected %s\n  found    %s\n", path, expected, found);
    CHECK(is_same);
    weft_value_free(value);
}

// ---- files of others ----------------------------------------------------------------

static const char files[] = WEFT_SOURCE_DIR "/tests/files/";

static void test_golden(void) {
    size_t len, count = 0;
    char path[400];
    snprintf(path, sizeof path, "%sexpected", files);
    char *all = load(path, &len);
    CHECK(all != NULL);
    if (all == NULL) return;
    char *line = all;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1, count++) {
        *end = '\0';
        char *tab = strchr(line, '\t');
        *tab = '\0';
        snprintf(path, sizeof path, "%s%s", files, line);
        expect_text(path, tab + 1);
    }
    CHECK(count > 50);
    free(all);
}

// ---- there and back -----------------------------------------------------------------

// Writes a random value and reads it again; `as` is the type that comes back.
static void round_trip(const char *type, const char *name, const char *as) {
    WeftValue *value = NULL;
    const char *text;
    CHECK(weft_value_random(context, type, 7, &value) == WEFT_STATUS_OK);
    CHECK(weft_value_text(value, &text) == WEFT_STATUS_OK);
    char *wanted = strdup(text);
    CHECK(weft_value_to_file(value, in_folder(name)) == WEFT_STATUS_OK);
    weft_value_free(value);
    if (as == NULL) {
        expect_text(place, wanted);
    } else {
        CHECK(weft_value_from_file(context, place, &value) == WEFT_STATUS_OK);
        CHECK(strcmp(weft_value_type(value), as) == 0);
        weft_value_free(value);
    }
    free(wanted);
}

static void test_round_trips(void) {
    static const char *const shapes[] = {"",          "[5]",    "[3][4]",
                                         "[2][3][4]", "[0][3]", "[0]"};
    static const char *const names[] = {"v.npy", "v.bin", "v.val", "v.in", "v.out"};
    for (int t = 0; t < SCALAR_COUNT; t++)
        for (size_t s = 0; s < 6; s++)
            for (size_t n = 0; n < 5; n++) {
                char type[40];
                snprintf(type, sizeof type, "%s%s", shapes[s], scalar_info[t].name);
                round_trip(type, names[n], NULL);
            }
    round_trip("[7][5]u8", "v.png", NULL);
    round_trip("[7][5][3]u8", "v.png", NULL);
    round_trip("[7][5][4]u8", "V.PNG", NULL);
    round_trip("[7][5]f32", "v.png", "[][]u8");
    round_trip("[7][5][3]f64", "v.png", "[][][]u8");
    round_trip("[7][5][3]f16", "v.png", "[][][]u8");
    round_trip("[300]u8", "v.txt", NULL);
    round_trip("[0]u8", "v.txt", NULL);
    round_trip("[40][3]f64", "v.csv", NULL);
    for (int t = 0; t < SCALAR_COUNT; t++) {
        char type[20];
        snprintf(type, sizeof type, "[9]%s", scalar_info[t].name);
        round_trip(type, "v.csv", "[][]f64");
    }
}

static void test_shades(void) {
    float row[8] = {-1, 0, 0.5F / 255, 0.49F / 255, 1, 2, 0.5F, 0};
    row[7] = 0 / (row[1] * -1); // NaN
    WeftValue *value;
    int64_t shape[] = {2, 4};
    CHECK(weft_value_new(context, WEFT_F32, 2, shape, row, &value) == WEFT_STATUS_OK);
    CHECK(weft_value_to_file(value, in_folder("s.png")) == WEFT_STATUS_OK);
    expect_text(place, "[[0u8, 0u8, 1u8, 0u8], [255u8, 255u8, 128u8, 0u8]]");
    weft_value_free(value);
}

static void test_refusals(void) {
    static const struct {
        const char *type, *name;
    } refused[] = {{"[3]u8", "r.png"},        {"[3][3]i32", "r.png"},
                   {"[3][3][2]u8", "r.png"},  {"[0][3]u8", "r.png"},
                   {"[2][2][2]f32", "r.csv"}, {"[3]i8", "r.txt"},
                   {"[3][3]u8", "r.txt"},     {"[3]u8", "r.npz"},
                   {"[3]u8", "r.foo"},        {"[3]u8", "r"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        WeftValue *value;
        CHECK(weft_value_random(context, refused[i].type, 1, &value) == WEFT_STATUS_OK);
        CHECK(weft_value_to_file(value, in_folder(refused[i].name)) ==
              WEFT_STATUS_USAGE);
        CHECK(access(place, F_OK) != 0);
        weft_value_free(value);
    }
    WeftValue *value = NULL;
    static const char *const types[] = {
        "[3]", "", "[]f32", "[3 ]f32", "[-1]i8", "f33", "[99999999999999999999]u8"};
    for (size_t i = 0; i < 7; i++)
        CHECK(weft_value_random(context, types[i], 1, &value) == WEFT_STATUS_USAGE);
    CHECK(weft_value_random(context, "[9999999999][9999999999]u8", 1, &value) ==
          WEFT_STATUS_MEMORY);
    CHECK(weft_value_from_file(context, in_folder("none.npy"), &value) ==
          WEFT_STATUS_IO);
    CHECK(weft_value_from_file(NULL, place, &value) == WEFT_STATUS_USAGE);
    CHECK(weft_value_from_file(context, NULL, &value) == WEFT_STATUS_USAGE);
    CHECK(weft_value_to_file(NULL, place) == WEFT_STATUS_USAGE);
    CHECK(value == NULL);
}

// The generator as its paper has it, which does not change.
static void test_random(void) {
    WeftValue *value;
    const char *text;
    CHECK(weft_value_random(context, "[2]u64", 0, &value) == WEFT_STATUS_OK);
    CHECK(weft_value_text(value, &text) == WEFT_STATUS_OK);
    CHECK(strcmp(text, "[16294208416658607535u64, 7960286522194355700u64]") == 0);
    weft_value_free(value);
}

// ---- malformed files ----------------------------------------------------------------

// Reads bytes as a file within so much memory; the message, or NULL if they are one.
// Nothing may be left.
static const char *refusal_within(size_t limit, const char *name, const char *bytes,
                                  size_t len) {
    static char message[1000];
    Mem mem = {.limit = limit};
    RtHeap heap;
    Arena arena;
    jmp_buf recover;
    rt_heap_init(&heap, &mem);
    arena_init(&arena, &mem);
    mem.recover = &recover;
    volatile bool is_read = false;
    strcpy(message, "out of memory");
    if (setjmp(recover) == 0) {
        FileIn in = {.bytes = {bytes, len}, .heap = &heap, .arena = &arena};
        RtValue value;
        is_read = file_read(&in, file_kind(name, NULL), &value) == STATUS_OK;
        if (is_read) rt_release_value(&heap, &value);
        snprintf(message, sizeof message, "%.*s", (int)in.error.len, in.error.ptr);
        CHECK(heap.live == NULL);
    }
    rt_heap_free(&heap);
    arena_free(&arena);
    CHECK(mem.used == 0);
    return is_read ? NULL : message;
}

static const char *refusal(const char *name, const char *bytes, size_t len) {
    return refusal_within((size_t)1 << 28, name, bytes, len);
}

static void expect_refusal(const char *name, const char *bytes, size_t len,
                           const char *reason) {
    const char *found = refusal(name, bytes, len);
    bool is_so = found != NULL && strstr(found, reason) != NULL;
    if (!is_so)
        printf("%s: expected \"%s\", found \"%s\"\n", name, reason,
               found == NULL ? "(a value)" : found);
    CHECK(is_so);
}

static void test_npy_headers(void) {
#define HEADER(type, order, shape)                                                     \
    "{'descr': " type ", 'fortran_order': " order ", 'shape': " shape ", }"
    static const struct {
        const char *header, *reason;
    } wrong[] = {
        {HEADER("'|O'", "False", "(3,)"), "Python objects"},
        {HEADER("[('a', '<i4'), ('b', '<f8')]", "False", "(3,)"), "structured"},
        {HEADER("'<c16'", "False", "(3,)"), "NumPy type `<c16`"},
        {HEADER("'<U5'", "False", "(3,)"), "NumPy type `<U5`"},
        {HEADER("'<f16'", "False", "(3,)"), "NumPy type `<f16`"},
        {HEADER("''", "False", "(3,)"), "NumPy type ``"},
        {HEADER("'\001\002'", "False", "(3,)"), "garbled"},
        {HEADER("'<f8'", "Maybe", "(3,)"), "True or False"},
        {HEADER("'<f8'", "False", "(-3,)"), "negative"},
        {HEADER("'<f8'", "False", "(99999999999999999999,)"), "exceeds 64 bits"},
        {HEADER("'<f8'", "False", "(4294967296, 4294967296)"), "memory can have"},
        {HEADER("'<f8'", "False", "(1000000000,)"),
         "takes 8000000000 bytes, but 8 follow"},
        {HEADER("'<f8'", "False", "()"), NULL},
        {HEADER("'<f8'", "False", "(2,)"), "takes 16 bytes, but 8 follow"},
        {HEADER("'<i4'", "False", "(1,)"), "takes 4 bytes, but 8 follow"},
        {HEADER("'<f8'", "False", "(x)"), "`x), }` where a size"},
        {HEADER("'<f8'", "False", "3"), "where the shape"},
        {HEADER("8", "False", "(1,)"), "where the type of the elements"},
        {HEADER("'<f8'", "False",
                "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"),
         "more than 32 dimensions"},
        {"{'descr': '<f8', 'shape': (1,), }", "lacks `fortran_order`"},
        {"{'shape': (1,), 'fortran_order': True}", "lacks `descr`"},
        {"{'descr': '<f8', 'fortran_order': False", "where a comma"},
        {"{'colour': 3}", "unknown key `colour`"},
        {HEADER("'<f8'", "Truely", "(1,)"), "`ly,"},
        {HEADER("'<f8'", "False", "(1,)") "x", "`x` where the end of the header"},
        {"", "ends where a dictionary"},
        {"[]", "`[]` where a dictionary"},
        {"{\"shape\":(1L),'fortran_order':True,'descr':'f8'}", NULL},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char bytes[400] = "\x93NUMPY\1";
        size_t len = strlen(wrong[i].header);
        bytes[8] = (char)len;
        memcpy(bytes + 10, wrong[i].header, len);
        if (wrong[i].reason == NULL) CHECK(refusal("a.npy", bytes, len + 18) == NULL);
        else expect_refusal("a.npy", bytes, len + 18, wrong[i].reason);
    }
    static const char nul[] =
        "\x93NUMPY\1\0\76\0" HEADER("'<f8'", "False", "()") "\0\0";
    expect_refusal("a.npy", nul, sizeof nul + 6, "where the end of the header");
    expect_refusal("a.npy", "", 0, "no .npy file");
    expect_refusal("a.npy", "\x93NUMPY\4\0\0\0\0\0", 12, "version 4.0");
    expect_refusal("a.npy", "\x93NUMPY\1\0\377\377xx", 12, "2 of its 65535 bytes");
    expect_refusal("a.npy", "\x93NUMPY\2\0\377\377\377\377", 12, "0 of its 4294967295");
}

static void test_tables(void) {
    static const struct {
        const char *text, *reason;
    } wrong[] = {
        {"", "the table is empty"},
        {"\n\n  \n", "the table is empty"},
        {"a,b\n1,2\n3\n",
         "line 3 (row 2) has 1 cells, line 1 has 2: column 2 is missing"},
        {"1,2\n3,4,5\n", "column 3 is too many"},
        {"1,2\n\n3,\n", "line 3 (row 2), column 2 is empty"},
        {"1,2\nx1,4\n", "line 2 (row 2), column 1: `x1` is no number"},
        {"1,x\n3,4\n", "line 1 (row 1), column 2: `x` is no number"},
        {"1,2e\n", "`2e` is no number"},
        {"1,.\n", "`.` is no number"},
        {"1,1.5.2\n", "is no number"},
        {"1,--2\n", "is no number"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_refusal("a.csv", wrong[i].text, strlen(wrong[i].text), wrong[i].reason);
    static const char *const fine[][2] = {
        {"a,b\r\n1,-2.5e1\r\n", "[[1.0f64, -25.0f64]]"},
        {"\xef\xbb\xbf\"a, b\";c\n \"1\" ; +.5\n", "[[1.0f64, 0.5f64]]"},
        {"1\t2\n3\t4", "[[1.0f64, 2.0f64], [3.0f64, 4.0f64]]"},
        {"nan,inf,-Infinity,NaN\n", "[[f64.nan, f64.inf, -f64.inf, f64.nan]]"},
        {"1e400,-1e-400,0.1,00012.50\n", "[[f64.inf, -0.0f64, 0.1f64, 12.5f64]]"},
        {"x,y\n", "empty([0][2]f64)"},
        {"# x y\n 1E2 \n\n-0.\r\n\r\n", "[[100.0f64], [-0.0f64]]"},
    };
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        FILE *file = fopen(in_folder("t.csv"), "wb");
        fputs(fine[i][0], file);
        fclose(file);
        expect_text(place, fine[i][1]);
    }
}

static void test_texts(void) {
    static const char *const texts[][2] = {
        {"[1, 2]", "[1i32, 2i32]"},
        {"-- hello\n[[0.5, 2]]", "[[0.5f64, 2.0f64]]"},
        {"[-1e-3]", "[-0.001f64]"},
        {"0xf16", "3862i32"},
        {"[f32.nan, 1]", "[f32.nan, 1.0f32]"},
        {"-f16.inf", "-f16.inf"},
        {"\"hi\"", "[104u8, 105u8]"},
        {"empty([2][0]bool)", "empty([2][0]bool)"},
        {"true", "true"},
        {"1E5", "100000.0f64"},
        {"[0x1p3, 1]", "[8.0f64, 1.0f64]"},
        {"0x1P-3f32", "0.125f32"},
        {"[ -- a comment\n 1u8]", "[1u8]"},
        {"empty ( [2] [0] i8 )", "empty([2][0]i8)"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        FILE *file = fopen(in_folder("t.val"), "wb");
        fputs(texts[i][0], file);
        fclose(file);
        expect_text(place, texts[i][1]);
    }
    expect_refusal("a.val", "", 0, "no value");
    expect_refusal("a.val", "[1] 2", 5, "found more");
    expect_refusal("a.val", "(1, 2)", 6, "expected a number");
    expect_refusal("a.val", "[[[", 3, "expected a number");
    expect_refusal("a.val", "[1, true]", 9, "expected an i32");
    expect_refusal("a.val", "empty(", 6, "expected a number");
    expect_refusal("a.val", "empty([0][", 10, "expected a number");
    expect_refusal("a.val", "empty([0]f99)", 13, "expected a number");
    expect_refusal("a.bin", "[1]", 3, "no value in the binary format");
    expect_refusal("a.bin", "b\2\1 i33", 7, "garbled");
    expect_refusal("a.bin", "b\2\1 i32\377\377\377\377\377\377\377\17", 15,
                   "more elements");
}

// Cut short anywhere, a file is refused; with any byte changed, it is read or refused.
static void test_damage(void) {
    static const char *const names[] = {
        "grey.png",   "interlaced.png", "palette.png", "deflated.npz",
        "stored.npz", "f8-big-c.npy",   "large.npz",   "streamed.npz"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        char path[400];
        size_t len = 0, accepted = 0;
        snprintf(path, sizeof path, "%s%s", files, names[n]);
        char *bytes = load(path, &len);
        CHECK(bytes != NULL && len > 0);
        if (bytes == NULL) continue;
        CHECK(refusal(names[n], bytes, len) == NULL);
        for (size_t cut = 0; cut < len; cut++) {
            char *part = malloc(cut + 1); // of that size, for the sanitizers
            memcpy(part, bytes, cut);
            accepted += refusal(names[n], part, cut) == NULL;
            free(part);
        }
        CHECK(accepted == 0);
        for (size_t i = 0; i < len; i++)
            for (int bit = 0; bit < 8; bit += 3) {
                bytes[i] ^= (char)(1 << bit);
                const char *reason = refusal(names[n], bytes, len);
                CHECK(reason == NULL || reason[0] != '\0');
                bytes[i] ^= (char)(1 << bit);
            }
        free(bytes);
    }
}

// A PNG of a few bytes that says it is a million pixels wide and high.
static void test_lying_image(void) {
    static const char png[] =
        "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x0f\x42\x40\0\x0f\x42\x40\x08\0\0\0\0\x4f\x7f"
        "\x54\x7e"
        "\0\0\0\0IDAT\x35\xaf\x06\x1e\0\0\0\0IEND\xae\x42\x60\x82";
    expect_refusal("a.png", png, sizeof png - 1, "the PNG is damaged: ");
}

// What is not pixels is not unpacked: memory for the file's few, and no more.
static void test_bomb(void) {
    char path[400];
    size_t len = 0;
    snprintf(path, sizeof path, "%sbomb.png", files);
    char *bytes = load(path, &len);
    CHECK(bytes != NULL);
    if (bytes == NULL) return;
    CHECK(refusal_within((size_t)1 << 18, path, bytes, len) == NULL);
    free(bytes);
}

static void put_number(char *at, size_t bytes, uint64_t x) {
    for (size_t i = 0; i < bytes; i++) at[i] = (char)(x >> 8 * i);
}

// The archive with some bytes of its first directory entry set to a number.
static void expect_refusal_with(char *bytes, size_t len, size_t offset, size_t width,
                                uint64_t x, const char *reason) {
    size_t at = 0;
    while (at + 46 < len && memcmp(bytes + at, "PK\1\2", 4) != 0) at++;
    char kept[8];
    memcpy(kept, bytes + at + offset, width);
    put_number(bytes + at + offset, width, x);
    expect_refusal("a.npz", bytes, len, reason);
    memcpy(bytes + at + offset, kept, width);
}

static void test_archives(void) {
    char path[400];
    size_t len = 0;
    snprintf(path, sizeof path, "%sdeflated.npz", files);
    char *bytes = load(path, &len);
    CHECK(bytes != NULL);
    if (bytes == NULL) return;
    enum {
        FLAGS = 8,
        METHOD = 10,
        CRC = 16,
        PACKED = 20,
        SIZE = 24,
        NAME = 28,
        AT = 42
    };
    expect_refusal_with(bytes, len, FLAGS, 2, 1, "encrypted");
    expect_refusal_with(bytes, len, METHOD, 2, 12, "packed in a way (12)");
    expect_refusal_with(bytes, len, CRC, 4, 1, "`first` is damaged: its checksum");
    expect_refusal_with(bytes, len, SIZE, 4, UINT32_MAX - 1, "promises 4294967294");
    expect_refusal_with(bytes, len, SIZE, 4, UINT32_MAX, "packed bytes cannot hold");
    expect_refusal_with(bytes, len, SIZE, 4, 10, "damaged or cut short");
    expect_refusal_with(bytes, len, PACKED, 4, UINT32_MAX, "damaged or cut short");
    expect_refusal_with(bytes, len, PACKED, 4, 5, "damaged or cut short");
    expect_refusal_with(bytes, len, NAME, 2, 65535, "damaged or cut short");
    expect_refusal_with(bytes, len, AT, 4, UINT32_MAX, "damaged or cut short");
    expect_refusal_with(bytes, len, METHOD, 2, 0, "damaged or cut short");
    free(bytes);
    snprintf(path, sizeof path, "%sstored.npz:third", files);
    WeftValue *value;
    CHECK(weft_value_from_file(context, path, &value) == WEFT_STATUS_VALUE);
    CHECK(strstr(weft_message(context), "it has `first`, `second`") != NULL);
    expect_refusal("a.npz", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22,
                   "holds no array");
}

// ---- out of memory ------------------------------------------------------------------

static size_t files_in_folder(void) {
    char command[300];
    size_t count = 0;
    snprintf(command, sizeof command, "ls -A %s | grep -c part", folder);
    FILE *pipe = popen(command, "r");
    if (pipe != NULL && fscanf(pipe, "%zu", &count) != 1) count = 99;
    if (pipe != NULL) pclose(pipe);
    return count;
}

static void test_out_of_memory(void) {
    static const char *const names[] = {"v.png", "v.npy", "v.val"};
    WeftValue *value, *again = NULL;
    CHECK(weft_value_random(context, "[9][8][3]u8", 1, &value) == WEFT_STATUS_OK);
    for (size_t n = 0; n < 3; n++) {
        for (uint64_t k = 1;; k++) {
            weft_testing_fail_allocation(context, k);
            WeftStatus status = weft_value_to_file(value, in_folder(names[n]));
            if (status == WEFT_STATUS_OK) break;
            CHECK(status == WEFT_STATUS_MEMORY);
        }
        for (uint64_t k = 1;; k++) {
            weft_testing_fail_allocation(context, k);
            WeftStatus status = weft_value_from_file(context, place, &again);
            if (status == WEFT_STATUS_OK) break;
            CHECK(status == WEFT_STATUS_MEMORY);
        }
        weft_value_free(again);
    }
    char path[400];
    snprintf(path, sizeof path, "%sdeflated.npz:second", files);
    for (uint64_t k = 1;; k++) {
        weft_testing_fail_allocation(context, k);
        WeftStatus status = weft_value_from_file(context, path, &again);
        if (status == WEFT_STATUS_OK) break;
        CHECK(status == WEFT_STATUS_MEMORY);
    }
    weft_testing_fail_allocation(context, 0);
    weft_value_free(again);
    weft_value_free(value);
    CHECK(files_in_folder() == 0);
}

int main(void) {
    if (mkdtemp(folder) == NULL) return 1;
    WeftOptions options = {.struct_size = sizeof options};
    if (weft_context_new(&options, &context) != WEFT_STATUS_OK) return 1;
    test_golden();
    test_round_trips();
    test_shades();
    test_refusals();
    test_npy_headers();
    test_tables();
    test_texts();
    test_damage();
    test_lying_image();
    test_bomb();
    test_archives();
    test_random();
    test_out_of_memory();
    CHECK(weft_testing_context_free(context) == 0);
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0) return 1;
    return test_done();
}
