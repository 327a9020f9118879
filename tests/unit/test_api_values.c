// SPDX-License-Identifier: Apache-2.0
//
// Values that share memory with others: borrowed arrays, their elements in place, and
// DLPack tensors in and out; and when two values are equal.
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/dlpack.h"
#include "api/testing.h"
#include "test.h"
#include "weft.h"

static const char source[] =
    "entry same [n] (xs: [n]f64) : [n]f64 = xs\n"
    "entry more [n] (xs: *[n]f64) : [n]f64 = xs with [0] = 100\n"
    "entry turn [n][m] (xs: [n][m]f64) : [m][n]f64 = transpose xs\n"
    "entry tail [n] (xs: [n]f64) : []f64 = xs[1:]\n"
    "entry any [n] (xs: [n]bool) : bool = reduce (||) false xs\n"
    "entry grid (n: i64) : [][]i64 = transpose (tabulate_2d n 3 (\\i j -> i * 10 + "
    "j))\n"
    "type t = #a i32 | #b\n"
    "entry sum (x: i32) : t = if x > 0 then #a x else #b\n"
    "entry pair (x: i32) : {x: i32, y: bool} = {x, y = true}\n";

static WeftContext *context;
static WeftProgram *program;

static void count_up(void *data) {
    ++*(int *)data;
}

// Calls an entry of one parameter and one result.
static WeftValue *call(const char *name, WeftValue *arg) {
    WeftValue *result = NULL;
    CHECK(weft_call(program, weft_entry_find(program, name), &arg, 1, &result, 1) ==
          WEFT_STATUS_OK);
    return result;
}

static bool prints(WeftValue *value, const char *expected) {
    const char *text = "";
    bool is_printed = weft_value_text(value, &text) == WEFT_STATUS_OK;
    if (strcmp(text, expected) != 0) printf("found %s, not %s\n", text, expected);
    return is_printed && strcmp(text, expected) == 0;
}

// ---- borrowing ----------------------------------------------------------------------

static void test_borrow(void) {
    double numbers[6] = {1, 2, 3, 4, 5, 6};
    int64_t six[1] = {6}, shape[2] = {2, 3}, by_columns[2] = {1, 2}, back[1] = {-1};
    int freed = 0;
    WeftValue *value, *result;
    CHECK(weft_value_borrow(context, WEFT_F64, 1, six, NULL, numbers, count_up, &freed,
                            &value) == WEFT_STATUS_OK);
    const void *data;
    CHECK(weft_value_data(value, &data) == WEFT_STATUS_OK && data == numbers);
    // A result that shares the memory keeps it.
    result = call("tail", value);
    weft_value_free(value);
    CHECK(freed == 0);
    CHECK(prints(result, "[2.0f64, 3.0f64, 4.0f64, 5.0f64, 6.0f64]"));
    CHECK(weft_value_data(result, &data) == WEFT_STATUS_OK && data == numbers + 1);
    weft_value_free(result);
    CHECK(freed == 1);
    // It is never written to, not even where a program may update in place.
    CHECK(weft_value_borrow(context, WEFT_F64, 1, six, NULL, numbers, count_up, &freed,
                            &value) == WEFT_STATUS_OK);
    result = call("more", value);
    weft_value_free(value);
    CHECK(numbers[0] == 1 && freed == 2);
    CHECK(prints(result, "[100.0f64, 2.0f64, 3.0f64, 4.0f64, 5.0f64, 6.0f64]"));
    weft_value_free(result);
    // Any strides: by columns, backwards, one element for all.
    CHECK(weft_value_borrow(context, WEFT_F64, 2, shape, by_columns, numbers, count_up,
                            &freed, &value) == WEFT_STATUS_OK);
    CHECK(prints(value, "[[1.0f64, 3.0f64, 5.0f64], [2.0f64, 4.0f64, 6.0f64]]"));
    result = call("turn", value);
    CHECK(prints(result, "[[1.0f64, 2.0f64], [3.0f64, 4.0f64], [5.0f64, 6.0f64]]"));
    weft_value_free(value);
    CHECK(freed == 2);
    weft_value_free(result);
    CHECK(freed == 3);
    CHECK(weft_value_borrow(context, WEFT_F64, 1, six, back, numbers + 5, NULL, NULL,
                            &value) == WEFT_STATUS_OK);
    CHECK(prints(value, "[6.0f64, 5.0f64, 4.0f64, 3.0f64, 2.0f64, 1.0f64]"));
    // Asking for the elements in order copies them, and gives the memory back.
    const double *copied = NULL;
    CHECK(weft_value_data(value, (const void **)&copied) == WEFT_STATUS_OK);
    CHECK(copied[0] == 6 && copied[5] == 1);
    weft_value_free(value);
    int64_t none[1] = {0};
    CHECK(weft_value_borrow(context, WEFT_F64, 1, six, none, numbers, NULL, NULL,
                            &value) == WEFT_STATUS_OK);
    result = call("same", value);
    CHECK(prints(result, "[1.0f64, 1.0f64, 1.0f64, 1.0f64, 1.0f64, 1.0f64]"));
    weft_value_free(value);
    weft_value_free(result);
    // An empty array needs no memory.
    CHECK(weft_value_borrow(context, WEFT_F64, 1, none, NULL, NULL, count_up, &freed,
                            &value) == WEFT_STATUS_OK);
    CHECK(prints(value, "empty([0]f64)"));
    weft_value_free(value);
    CHECK(freed == 4);
}

static void test_data(void) {
    int64_t shape[2] = {2, 3};
    double numbers[6] = {1, 2, 3, 4, 5, 6};
    WeftValue *value, *turned;
    CHECK(weft_value_new(context, WEFT_F64, 2, shape, numbers, &value) ==
          WEFT_STATUS_OK);
    turned = call("turn", value);
    const int64_t *sizes = weft_value_shape(turned);
    const double *data, *again, *rows;
    CHECK(weft_value_data(turned, (const void **)&data) == WEFT_STATUS_OK);
    CHECK(data[1] == 4 && data[2] == 2 && data[5] == 6);
    CHECK(weft_value_data(turned, (const void **)&again) == WEFT_STATUS_OK);
    CHECK(again == data && weft_value_shape(turned) == sizes && sizes[0] == 3);
    CHECK(weft_value_data(value, (const void **)&rows) == WEFT_STATUS_OK);
    CHECK(rows[1] == 2 && rows != numbers);
    weft_value_free(value);
    CHECK(data[4] == 3);
    weft_value_free(turned);
    // A scalar; what is no array.
    uint16_t half = 0x3c00;
    const void *at = NULL;
    CHECK(weft_value_new(context, WEFT_F16, 0, NULL, &half, &value) == WEFT_STATUS_OK);
    CHECK(weft_value_data(value, &at) == WEFT_STATUS_OK && at != NULL);
    CHECK(memcmp(at, &half, sizeof half) == 0);
    weft_value_free(value);
    int32_t one = 1;
    CHECK(weft_value_new(context, WEFT_I32, 0, NULL, &one, &value) == WEFT_STATUS_OK);
    WeftValue *record = call("pair", value);
    CHECK(weft_value_data(record, &at) == WEFT_STATUS_USAGE);
    struct DLManagedTensor *tensor = NULL;
    CHECK(weft_value_to_dlpack(record, &tensor) == WEFT_STATUS_USAGE && tensor == NULL);
    weft_value_free(record);
    weft_value_free(value);
}

// Nothing is taken, and nothing released, when the call fails.
static void test_borrow_misuse(void) {
    double numbers[2] = {1, 2};
    const unsigned char bools[2] = {1, 2};
    int64_t two[1] = {2}, negative[1] = {-1}, huge[2] = {INT64_MAX, 16},
            far[1] = {INT64_MAX / 4}, least[1] = {INT64_MIN};
    int freed = 0;
    WeftValue *value = NULL;
#define BORROW(element, rank, shape, strides, data)                                    \
    weft_value_borrow(context, element, rank, shape, strides, data, count_up, &freed,  \
                      &value)
    CHECK(BORROW(WEFT_F64, 0, NULL, NULL, numbers) == WEFT_STATUS_USAGE);
    CHECK(BORROW(WEFT_F64, 1, NULL, NULL, numbers) == WEFT_STATUS_USAGE);
    CHECK(BORROW(WEFT_F64, 1000, two, NULL, numbers) == WEFT_STATUS_USAGE);
    CHECK(BORROW((WeftScalar)99, 1, two, NULL, numbers) == WEFT_STATUS_USAGE);
    CHECK(BORROW((WeftScalar)-1, 1, two, NULL, numbers) == WEFT_STATUS_USAGE);
    CHECK(BORROW(WEFT_F64, 1, negative, NULL, numbers) == WEFT_STATUS_USAGE);
    CHECK(BORROW(WEFT_F64, 2, huge, NULL, numbers) == WEFT_STATUS_USAGE);
    CHECK(BORROW(WEFT_F64, 1, two, far, numbers) == WEFT_STATUS_USAGE);
    CHECK(BORROW(WEFT_F64, 1, two, least, numbers) == WEFT_STATUS_USAGE);
    CHECK(BORROW(WEFT_F64, 1, two, NULL, NULL) == WEFT_STATUS_USAGE);
    CHECK(BORROW(WEFT_F64, 1, two, NULL, (char *)numbers + 1) == WEFT_STATUS_USAGE);
    CHECK(strstr(weft_message(context), "aligned") != NULL);
    CHECK(BORROW(WEFT_BOOL, 1, two, NULL, bools) == WEFT_STATUS_VALUE);
    CHECK(weft_value_borrow(NULL, WEFT_F64, 1, two, NULL, numbers, count_up, &freed,
                            &value) == WEFT_STATUS_USAGE);
    CHECK(weft_value_borrow(context, WEFT_F64, 1, two, NULL, numbers, count_up, &freed,
                            NULL) == WEFT_STATUS_USAGE);
#undef BORROW
    const void *data;
    CHECK(weft_value_data(NULL, &data) == WEFT_STATUS_USAGE);
    CHECK(value == NULL && freed == 0);
}

// ---- DLPack -------------------------------------------------------------------------

static int deleted;

static void delete_plain(struct DLManagedTensor *self) {
    CHECK(self->manager_ctx == &deleted);
    deleted++;
}

static void delete_versioned(struct DLManagedTensorVersioned *self) {
    CHECK(self->manager_ctx == &deleted);
    deleted++;
}

static void test_dlpack_in(void) {
    float numbers[6] = {0, 1, 2, 3, 4, 5};
    int64_t shape[2] = {2, 2}, strides[2] = {1, 3};
    struct DLManagedTensor tensor = {.dl_tensor = {.data = numbers,
                                                   .device_type = DL_CPU,
                                                   .ndim = 2,
                                                   .dtype = {DL_FLOAT, 32, 1},
                                                   .shape = shape,
                                                   .strides = strides,
                                                   .byte_offset = 4},
                                     .manager_ctx = &deleted,
                                     .deleter = delete_plain};
    WeftValue *value = NULL;
    CHECK(weft_value_from_dlpack(context, &tensor, &value) == WEFT_STATUS_OK);
    CHECK(prints(value, "[[1.0f32, 4.0f32], [2.0f32, 5.0f32]]"));
    CHECK(deleted == 0);
    weft_value_free(value);
    CHECK(deleted == 1);
    tensor.dl_tensor.strides = NULL;
    tensor.deleter = NULL; // allowed: there is nothing to delete
    CHECK(weft_value_from_dlpack(context, &tensor, &value) == WEFT_STATUS_OK);
    CHECK(prints(value, "[[1.0f32, 2.0f32], [3.0f32, 4.0f32]]"));
    weft_value_free(value);
    // Scalars are copied.
    struct DLManagedTensorVersioned scalar = {
        .version = {1, 1},
        .manager_ctx = &deleted,
        .deleter = delete_versioned,
        .dl_tensor = {
            .data = numbers + 5, .device_type = DL_CPU, .dtype = {DL_FLOAT, 32, 1}}};
    CHECK(weft_value_from_dlpack_versioned(context, &scalar, &value) == WEFT_STATUS_OK);
    CHECK(prints(value, "5.0f32") && deleted == 2);
    weft_value_free(value);
    // What cannot be taken stays the caller's.
    value = NULL;
    scalar.version.major = 2;
    CHECK(weft_value_from_dlpack_versioned(context, &scalar, &value) ==
          WEFT_STATUS_VALUE);
    CHECK(strstr(weft_message(context), "version 2") != NULL);
    tensor.deleter = delete_plain;
    tensor.dl_tensor.device_type = 2;
    CHECK(weft_value_from_dlpack(context, &tensor, &value) == WEFT_STATUS_VALUE);
    tensor.dl_tensor.device_type = DL_CPU;
    tensor.dl_tensor.dtype.lanes = 4;
    CHECK(weft_value_from_dlpack(context, &tensor, &value) == WEFT_STATUS_VALUE);
    tensor.dl_tensor.dtype.lanes = 1;
    tensor.dl_tensor.dtype.bits = 24;
    CHECK(weft_value_from_dlpack(context, &tensor, &value) == WEFT_STATUS_VALUE);
    tensor.dl_tensor.dtype.bits = 32;
    tensor.dl_tensor.ndim = -1;
    CHECK(weft_value_from_dlpack(context, &tensor, &value) == WEFT_STATUS_USAGE);
    tensor.dl_tensor.ndim = 2;
    tensor.dl_tensor.byte_offset = 2;
    CHECK(weft_value_from_dlpack(context, &tensor, &value) == WEFT_STATUS_USAGE);
    CHECK(weft_value_from_dlpack(context, NULL, &value) == WEFT_STATUS_USAGE);
    CHECK(weft_value_from_dlpack(NULL, &tensor, &value) == WEFT_STATUS_USAGE);
    CHECK(weft_value_from_dlpack(context, &tensor, NULL) == WEFT_STATUS_USAGE);
    CHECK(weft_value_from_dlpack_versioned(context, NULL, &value) == WEFT_STATUS_USAGE);
    CHECK(value == NULL && deleted == 2);
}

static void test_dlpack_out(void) {
    static const struct {
        WeftScalar scalar;
        uint8_t code, bits;
    } types[] = {
        {WEFT_BOOL, DL_BOOL, 8},  {WEFT_I8, DL_INT, 8},     {WEFT_I16, DL_INT, 16},
        {WEFT_I32, DL_INT, 32},   {WEFT_I64, DL_INT, 64},   {WEFT_U8, DL_UINT, 8},
        {WEFT_U16, DL_UINT, 16},  {WEFT_U32, DL_UINT, 32},  {WEFT_U64, DL_UINT, 64},
        {WEFT_F16, DL_FLOAT, 16}, {WEFT_F32, DL_FLOAT, 32}, {WEFT_F64, DL_FLOAT, 64},
    };
    static const char bytes[48] = {1, 0, 1};
    int64_t shape[2] = {2, 3};
    WeftValue *value, *back;
    struct DLManagedTensor *tensor;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        CHECK(weft_value_new(context, types[t].scalar, 2, shape, bytes, &value) ==
              WEFT_STATUS_OK);
        CHECK(weft_value_to_dlpack(value, &tensor) == WEFT_STATUS_OK);
        const DlTensor *found = &tensor->dl_tensor;
        CHECK(found->dtype.code == types[t].code && found->dtype.lanes == 1);
        CHECK(found->dtype.bits == types[t].bits && found->device_type == DL_CPU);
        CHECK(found->ndim == 2 && found->shape[1] == 3 && found->strides[0] == 3);
        CHECK(memcmp(found->data, bytes, types[t].bits / 8 * 6) == 0);
        // And in again: the very same elements.
        CHECK(weft_value_from_dlpack(context, tensor, &back) == WEFT_STATUS_OK);
        int is_equal = 0;
        CHECK(weft_value_equal(back, value, 0, &is_equal) == WEFT_STATUS_OK);
        CHECK(is_equal);
        weft_value_free(value);
        weft_value_free(back);
    }
    int32_t seven = 7;
    struct DLManagedTensorVersioned *versioned;
    CHECK(weft_value_new(context, WEFT_I32, 0, NULL, &seven, &value) == WEFT_STATUS_OK);
    CHECK(weft_value_to_dlpack_versioned(value, &versioned) == WEFT_STATUS_OK);
    weft_value_free(value);
    CHECK(versioned->version.major == 1 && versioned->flags == DL_READ_ONLY);
    CHECK(versioned->dl_tensor.ndim == 0);
    CHECK(memcmp(versioned->dl_tensor.data, &seven, sizeof seven) == 0);
    versioned->deleter(versioned);
    CHECK(weft_value_to_dlpack(NULL, &tensor) == WEFT_STATUS_USAGE);
    CHECK(weft_value_to_dlpack_versioned(NULL, &versioned) == WEFT_STATUS_USAGE);
}

// A tensor outlives its value and the context; what the value does later is not seen.
static void test_dlpack_life(void) {
    WeftContext *own;
    double numbers[6] = {1, 2, 3, 4, 5, 6};
    int64_t shape[2] = {2, 3}, strides[2] = {1, 2};
    int freed = 0;
    WeftValue *value;
    struct DLManagedTensor *first;
    struct DLManagedTensorVersioned *second;
    CHECK(weft_context_new(NULL, &own) == WEFT_STATUS_OK);
    CHECK(weft_value_borrow(own, WEFT_F64, 2, shape, strides, numbers, count_up, &freed,
                            &value) == WEFT_STATUS_OK);
    CHECK(weft_value_to_dlpack(value, &first) == WEFT_STATUS_OK);
    const double *data;
    CHECK(weft_value_data(value, (const void **)&data) == WEFT_STATUS_OK);
    CHECK(data != numbers && data[1] == 3);
    CHECK(weft_value_to_dlpack_versioned(value, &second) == WEFT_STATUS_OK);
    CHECK(first->dl_tensor.data == numbers && first->dl_tensor.strides[0] == 1);
    CHECK(second->dl_tensor.data == data && second->dl_tensor.strides[0] == 3);
    weft_context_free(own);
    CHECK(freed == 0);
    CHECK(((const double *)second->dl_tensor.data)[5] == 6);
    first->deleter(first);
    CHECK(freed == 1);
    second->deleter(second);
}

// ---- equality -----------------------------------------------------------------------

static WeftValue *make(WeftScalar element, int64_t count, const void *data) {
    WeftValue *value = NULL;
    CHECK(weft_value_new(context, element, 1, &count, data, &value) == WEFT_STATUS_OK);
    return value;
}

static int equal(WeftValue *found, WeftValue *expected, double tolerance) {
    int is_equal = -1;
    CHECK(weft_value_equal(found, expected, tolerance, &is_equal) == WEFT_STATUS_OK);
    return is_equal;
}

static void test_equal(void) {
    const double a[3] = {1, 1000, NAN}, b[3] = {1.5, 1000, NAN}, c[3] = {1, 1000, 0};
    WeftValue *x = make(WEFT_F64, 3, a), *y = make(WEFT_F64, 3, b),
              *z = make(WEFT_F64, 3, c), *fewer = make(WEFT_F64, 2, a),
              *others = make(WEFT_I64, 3, a);
    CHECK(equal(x, x, 0) == 1);
    CHECK(equal(x, y, 0) == 0);
    CHECK(equal(x, y, 0.001) == 1); // of 1000
    CHECK(equal(x, y, 0.0001) == 0);
    CHECK(equal(x, z, 0.5) == 0);
    CHECK(equal(x, fewer, 0.5) == 0);
    CHECK(equal(x, others, 0.5) == 0);
    int32_t five = 5;
    WeftValue *number;
    CHECK(weft_value_new(context, WEFT_I32, 0, NULL, &five, &number) == WEFT_STATUS_OK);
    WeftValue *sum = call("sum", number), *same = call("sum", number);
    CHECK(equal(sum, same, 0) == 1);
    CHECK(equal(sum, x, 0) == 0);
    int is_equal;
    CHECK(weft_value_equal(NULL, x, 0, &is_equal) == WEFT_STATUS_USAGE);
    CHECK(weft_value_equal(x, NULL, 0, &is_equal) == WEFT_STATUS_USAGE);
    CHECK(weft_value_equal(x, x, 0, NULL) == WEFT_STATUS_USAGE);
    WeftValue *all[] = {x, y, z, fewer, others, number, sum, same};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) weft_value_free(all[i]);
}

int main(void) {
    CHECK(weft_context_new(NULL, &context) == WEFT_STATUS_OK);
    if (weft_program_from_source(context, "values.weft", source, sizeof source - 1,
                                 &program) != WEFT_STATUS_OK) {
        fputs(weft_render(context, 0), stdout);
        CHECK(false);
        return test_done();
    }
    test_borrow();
    test_data();
    test_borrow_misuse();
    test_dlpack_in();
    test_dlpack_out();
    test_dlpack_life();
    test_equal();
    weft_program_free(program);
    CHECK(weft_testing_context_free(context) == 0);
    return test_done();
}
