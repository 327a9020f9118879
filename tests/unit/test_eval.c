// SPDX-License-Identifier: Apache-2.0
//
// The scalar operators: the table that eval_values.py worked out exactly, all pairs of
// the 8-bit integers, and f16 against an f64 computation rounded by search.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/half.h"
#include "core/core.h"
#include "test.h"

// ---- the table ----------------------------------------------------------------------

typedef struct Row {
    CoreOp op;
    ScalarType in, to;
    CoreFault fault;
    uint64_t args[3], result;
} Row;

static const Row rows[] = {
#define EVAL(op, in, to, fault, a, b, c, result)                                       \
    {OP_##op, SCALAR_##in, SCALAR_##to, FAULT_##fault, {a, b, c}, result},
#include "../interp/eval_values.def"
#undef EVAL
};

static bool is_nan_bits(ScalarType type, uint64_t bits) {
    switch ((int)type) {
    case SCALAR_F16: return (bits & 0x7fff) > 0x7c00;
    case SCALAR_F32: return (bits & 0x7fffffff) > 0x7f800000;
    case SCALAR_F64: return (bits & INT64_MAX) > (uint64_t)0x7ff << 52;
    }
    return false;
}

// Which NaN comes out is not the operator's business, save for those that say so.
static bool agrees(const Row *row, uint64_t got) {
    bool exact = row->op == OP_NEG || row->op == OP_ABS || row->op == OP_NEXT ||
                 row->op == OP_TO_BITS;
    if (!exact && is_nan_bits(row->to, row->result)) return is_nan_bits(row->to, got);
    return got == row->result;
}

static void test_table(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Row *row = &rows[i];
        uint64_t got = 0;
        CoreFault fault = core_eval(row->op, row->in, row->to, row->args, &got);
        bool ok = fault == row->fault && (fault != FAULT_NONE || agrees(row, got));
        CHECK(ok);
        if (!ok)
            printf("  %s %s->%s %llx %llx %llx: %llx, not %llx\n",
                   core_op_info[row->op].name, scalar_info[row->in].name,
                   scalar_info[row->to].name, (unsigned long long)row->args[0],
                   (unsigned long long)row->args[1], (unsigned long long)row->args[2],
                   (unsigned long long)got, (unsigned long long)row->result);
    }
}

// ---- all pairs of bytes -------------------------------------------------------------

static int floor_divide(int a, int b) {
    int q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static int power_of(int a, int b) {
    unsigned result = 1;
    for (int i = 0; i < b; i++) result *= (unsigned)a;
    return (int)(result & 255);
}

enum { FAILURE = 1 << 24 };

// In the integers. n is the shift count.
static int expect_bytes(CoreOp op, bool is_signed, int a, int b) {
    int n = b & 255;
    switch ((int)op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return b == 0 ? FAILURE : floor_divide(a, b);
    case OP_MOD: return b == 0 ? FAILURE : a - b * floor_divide(a, b);
    case OP_QUOT: return b == 0 ? FAILURE : a / b;
    case OP_REM: return b == 0 ? FAILURE : a % b;
    case OP_POW: return b < 0 ? FAILURE : power_of(a, b);
    case OP_MIN: return a < b ? a : b;
    case OP_MAX: return a > b ? a : b;
    case OP_MULHI: return floor_divide(a * b, 256);
    case OP_AND: return a & b;
    case OP_OR: return a | b;
    case OP_XOR: return a ^ b;
    case OP_SHL: return n >= 8 ? 0 : a * (1 << n);
    case OP_SHR:
        return n >= 8 ? (is_signed && a < 0 ? -1 : 0) : floor_divide(a, 1 << n);
    case OP_LSHR: return n >= 8 ? 0 : (a & 255) / (1 << n);
    case OP_EQ: return a == b;
    case OP_NE: return a != b;
    case OP_LT: return a < b;
    case OP_LE: return a <= b;
    }
    return 0;
}

static void test_bytes(void) {
    static const CoreOp ops[] = {
        OP_ADD, OP_SUB, OP_MUL,  OP_DIV,   OP_MOD, OP_QUOT, OP_REM,
        OP_POW, OP_MIN, OP_MAX,  OP_MULHI, OP_AND, OP_OR,   OP_XOR,
        OP_SHL, OP_SHR, OP_LSHR, OP_EQ,    OP_NE,  OP_LT,   OP_LE,
    };
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            ScalarType type = is_signed ? SCALAR_I8 : SCALAR_U8, to = type;
            if (ops[k] == OP_EQ || ops[k] == OP_NE || ops[k] == OP_LT ||
                ops[k] == OP_LE)
                to = SCALAR_BOOL;
            int wrong = 0;
            for (unsigned x = 0; x < 256; x++)
                for (unsigned y = 0; y < 256; y++) {
                    int a = is_signed ? (int8_t)x : (int)x;
                    int b = is_signed ? (int8_t)y : (int)y;
                    int want = expect_bytes(ops[k], is_signed, a, b);
                    uint64_t got = 0, args[2] = {x, y};
                    CoreFault fault = core_eval(ops[k], type, to, args, &got);
                    if (want == FAILURE) wrong += fault == FAULT_NONE;
                    else wrong += fault != FAULT_NONE || got != (uint64_t)(want & 255);
                }
            CHECK(wrong == 0);
            if (wrong != 0)
                printf("  %s: %d wrong\n", core_op_info[ops[k]].name, wrong);
        }
}

// ---- f16 ----------------------------------------------------------------------------

// The value of a half from its definition.
static double plain_half(unsigned bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(1024 + fraction, exponent - 25);
    return (bits & 0x8000) != 0 ? -value : value;
}

// The half nearest to x, found by bisection among the finite ones.
static unsigned search_half(double x) {
    if (isnan(x)) return 0x7e00;
    unsigned sign = signbit(x) ? 0x8000 : 0, low = 0, high = 0x7c00;
    double m = fabs(x);
    if (m >= 65520) return sign | 0x7c00;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (plain_half(middle) <= m) low = middle;
        else high = middle;
    }
    double next = high == 0x7c00 ? 65536 : plain_half(high), down = m - plain_half(low);
    double up = next - m;
    return sign | (down < up || (down == up && low % 2 == 0) ? low : high);
}

static double result_of(CoreOp op, double x, double y) {
    switch ((int)op) {
    case OP_ADD: return x + y;
    case OP_SUB: return x - y;
    case OP_MUL: return x * y;
    case OP_DIV: return x / y;
    case OP_MOD: return fmod(x, y);
    case OP_SQRT: return sqrt(x);
    case OP_FLOOR: return floor(x);
    case OP_CEIL: return ceil(x);
    case OP_TRUNC: return trunc(x);
    case OP_ROUND: return nearbyint(x);
    }
    return 0;
}

static bool same_half(uint64_t got, double exact) {
    if (isnan(exact)) return is_nan_bits(SCALAR_F16, got);
    return got == search_half(exact);
}

static void test_half_conversions(void) {
    int wrong = 0;
    for (unsigned x = 0; x < 0x10000; x++) {
        double value = plain_half(x);
        if (isnan(value)) {
            wrong += !isnan(half_to_double((uint16_t)x));
            continue;
        }
        wrong += half_to_double((uint16_t)x) != value || half_of_double(value) != x;
        // Between x and its neighbour, and a hair to either side of the middle.
        double middle = x == 0x7bff ? 65520 : (value + plain_half(x + 1)) / 2;
        if (isnan(middle) || isinf(middle) || (x & 0x7fff) == 0x7c00) continue;
        for (int k = -1; k <= 1; k++) {
            double near = k < 0   ? nextafter(middle, 0)
                          : k > 0 ? nextafter(middle, 1e9)
                                  : middle;
            wrong += half_of_double(near) != search_half(near);
        }
    }
    CHECK(wrong == 0);
    CHECK(half_of_double(1e300) == 0x7c00 && half_of_double(-1e300) == 0xfc00);
    CHECK(half_of_double(1e-300) == 0 && half_of_double(-0x1p-25) == 0x8000);
    CHECK(half_of_double(0x1.000001p-25) == 1);
}

static void test_half_operators(void) {
    static const CoreOp binary[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD};
    static const CoreOp unary[] = {OP_SQRT, OP_FLOOR, OP_CEIL, OP_TRUNC, OP_ROUND};
    for (size_t k = 0; k < sizeof binary / sizeof *binary; k++) {
        int wrong = 0;
        uint32_t seed = 1;
        for (unsigned x = 0; x < 0x10000; x += 3)
            for (int i = 0; i < 8; i++) {
                seed = seed * 1664525 + 1013904223;
                uint64_t got, args[2] = {x, seed >> 16};
                core_eval(binary[k], SCALAR_F16, SCALAR_F16, args, &got);
                double a = plain_half(x), b = plain_half(seed >> 16);
                wrong += !same_half(got, result_of(binary[k], a, b));
            }
        CHECK(wrong == 0);
    }
    for (size_t k = 0; k < sizeof unary / sizeof *unary; k++) {
        int wrong = 0;
        for (unsigned x = 0; x < 0x10000; x++) {
            uint64_t got, arg = x;
            core_eval(unary[k], SCALAR_F16, SCALAR_F16, &arg, &got);
            wrong += !same_half(got, result_of(unary[k], plain_half(x), 0));
        }
        CHECK(wrong == 0);
    }
}

// ---- f32 against the machine's own --------------------------------------------------

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void test_singles(void) {
    int wrong = 0;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 1000000; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        uint32_t x = (uint32_t)seed, y = (uint32_t)(seed >> 32);
        if (i % 2 != 0) y = (x & 0xff800000u) ^ (y & 0x80ffffffu); // of similar size
        float a = float_of(x), b = float_of(y);
        float want[] = {a + b, a - b, a * b, a / b, sqrtf(a)};
        static const CoreOp ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_SQRT};
        for (int k = 0; k < 5; k++) {
            uint64_t got, args[2] = {x, y};
            core_eval(ops[k], SCALAR_F32, SCALAR_F32, args, &got);
            if (isnan(want[k])) wrong += !is_nan_bits(SCALAR_F32, got);
            else wrong += got != bits_of(want[k]);
        }
    }
    CHECK(wrong == 0);
}

int main(void) {
    test_table();
    test_bytes();
    test_half_conversions();
    test_half_operators();
    test_singles();
    return test_done();
}
