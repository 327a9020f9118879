// SPDX-License-Identifier: Apache-2.0
//
// The meaning of the scalar operators (design: language.md, "Scalar rules"). The oracle
// and constant folding both call core_eval, so there is no second opinion.
//
// Integers of every width are computed in 64 bits and cut to their width. Floats of
// every width are computed in f64 and rounded to their width, which rounds correctly:
// - products of two f32 or f16 are exact in f64; sums, quotients and roots of p-bit
//   floats, rounded first to q >= 2p + 2 bits and then to p, are as if rounded once
//   (here p = 24 or 11, q = 53). This holds for subnormal results too: such sums are
//   exact, and a quotient of p-bit numbers that is not a midpoint of p bits or fewer
//   is further from it than rounding to q bits moves it;
// - minimum, remainder and rounding to an integer are exact;
// - fma on f32 is fmaf. On f16 the product is exact in f64. If it is a multiple of
//   2^-24 the sum is too, hence exact below 2^29, above which it overflows. Else the
//   product is below 2^-2 and a multiple of some 2^a; if the sum is inexact, the addend
//   is at least 2^30 times the product, and both roundings give the addend.
// The rounding mode must be to nearest, subnormals on: entry points see to it.
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "abi/half.h"
#include "core/core.h"

_Static_assert(FLT_EVAL_METHOD == 0, "floats must be computed in their own precision");

static unsigned width_of(ScalarType type) {
    return type == SCALAR_BOOL ? 1u : scalar_info[type].bytes * 8u;
}

static uint64_t cut(unsigned width, uint64_t x) {
    return x & (~(uint64_t)0 >> (64 - width));
}

static int64_t sign_extend(unsigned width, uint64_t x) {
    return (int64_t)(x << (64 - width)) >> (64 - width);
}

// ---- integers -----------------------------------------------------------------------

static uint64_t power(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
        if ((exponent & 1) != 0) result *= base;
        base *= base;
    }
    return result;
}

static uint64_t high_product(uint64_t x, uint64_t y) {
    uint64_t x0 = (uint32_t)x, x1 = x >> 32, y0 = (uint32_t)y, y1 = y >> 32;
    uint64_t middle = x1 * y0 + (x0 * y0 >> 32);
    uint64_t low_middle = x0 * y1 + (uint32_t)middle;
    return x1 * y1 + (middle >> 32) + (low_middle >> 32);
}

// The high half of the product of two integers of that width, extended to 64 bits.
static uint64_t high_half(unsigned width, bool is_signed, uint64_t x, uint64_t y) {
    if (width < 64) return x * y >> width;
    uint64_t high = high_product(x, y);
    if (is_signed && (int64_t)x < 0) high -= y;
    if (is_signed && (int64_t)y < 0) high -= x;
    return high;
}

static int count_ones(uint64_t x) {
    int count = 0;
    for (; x != 0; x &= x - 1) count++;
    return count;
}

static int bit_length(uint64_t x) {
    return x == 0 ? 0 : 64 - __builtin_clzll(x);
}

// x / y and x % y towards zero, or towards -infinity if `floors`. The least integer
// by -1 wraps.
static uint64_t divide(bool is_signed, bool floors, uint64_t x, uint64_t y,
                       bool remainder) {
    if (!is_signed) return remainder ? x % y : x / y;
    int64_t a = (int64_t)x, b = (int64_t)y;
    if (b == -1) return remainder ? 0 : 0 - x;
    int64_t quotient = a / b, rest = a % b;
    if (floors && rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    return (uint64_t)(remainder ? rest : quotient);
}

// x and y are extended to 64 bits; the result is not yet cut.
static CoreFault eval_int(CoreOp op, ScalarType type, uint64_t x, uint64_t y,
                          uint64_t *out) {
    unsigned width = width_of(type);
    bool is_signed = scalar_is_signed(type);
    bool less = is_signed ? (int64_t)x < (int64_t)y : x < y;
    uint64_t count = cut(width, y);  // of a shift
    switch ((int)op) {
    case OP_ADD: *out = x + y; return FAULT_NONE;
    case OP_SUB: *out = x - y; return FAULT_NONE;
    case OP_MUL: *out = x * y; return FAULT_NONE;
    case OP_DIV: case OP_MOD: case OP_QUOT: case OP_REM:
        if (y == 0) return FAULT_DIVISION_BY_ZERO;
        *out = divide(is_signed, op == OP_DIV || op == OP_MOD, x, y,
                      op == OP_MOD || op == OP_REM);
        return FAULT_NONE;
    case OP_POW:
        if (is_signed && (int64_t)y < 0) return FAULT_NEGATIVE_EXPONENT;
        *out = power(x, y);
        return FAULT_NONE;
    case OP_MIN: *out = less ? x : y; return FAULT_NONE;
    case OP_MAX: *out = less ? y : x; return FAULT_NONE;
    case OP_MULHI: *out = high_half(width, is_signed, x, y); return FAULT_NONE;
    case OP_AND: *out = x & y; return FAULT_NONE;
    case OP_OR: *out = x | y; return FAULT_NONE;
    case OP_XOR: *out = x ^ y; return FAULT_NONE;
    case OP_SHL: *out = count >= width ? 0 : x << count; return FAULT_NONE;
    case OP_SHR:
        if (count >= width) count = width - 1, x = is_signed ? x : 0;
        *out = is_signed ? (uint64_t)((int64_t)x >> count) : x >> count;
        return FAULT_NONE;
    case OP_LSHR: *out = count >= width ? 0 : cut(width, x) >> count; return FAULT_NONE;
    case OP_NOT: *out = ~x; return FAULT_NONE;
    case OP_NEG: *out = 0 - x; return FAULT_NONE;
    case OP_ABS: *out = is_signed && (int64_t)x < 0 ? 0 - x : x; return FAULT_NONE;
    case OP_SGN:
        *out = is_signed && (int64_t)x < 0 ? ~(uint64_t)0 : x != 0;
        return FAULT_NONE;
    case OP_EQ: *out = x == y; return FAULT_NONE;
    case OP_NE: *out = x != y; return FAULT_NONE;
    case OP_LT: *out = less; return FAULT_NONE;
    case OP_LE: *out = less || x == y; return FAULT_NONE;
    case OP_POPC: *out = (uint64_t)count_ones(cut(width, x)); return FAULT_NONE;
    case OP_CLZ:
        *out = width - (uint64_t)bit_length(cut(width, x));
        return FAULT_NONE;
    case OP_CTZ:
        *out = cut(width, x) == 0 ? width : (uint64_t)__builtin_ctzll(x);
        return FAULT_NONE;
    case OP_FROM_BITS: *out = x; return FAULT_NONE;
    }
    assert(op == OP_COUNT && "not an operator on integers");
    *out = 0;
    return FAULT_NONE;
}

// ---- floats -------------------------------------------------------------------------

static double float_value(ScalarType type, uint64_t bits) {
    float single;
    double value;
    uint32_t word = (uint32_t)bits;
    if (type == SCALAR_F64) {
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (type == SCALAR_F16) return half_to_double((uint16_t)bits);
    memcpy(&single, &word, sizeof single);
    return (double)single;
}

static uint64_t float_bits(ScalarType type, double value) {
    uint64_t bits;
    if (type == SCALAR_F64) {
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    if (type == SCALAR_F16) return half_of_double(value);
    float single = (float)value;
    uint32_t word;
    memcpy(&word, &single, sizeof word);
    return word;
}

static uint64_t canonical_nan(ScalarType type) {
    return type == SCALAR_F16   ? 0x7e00
           : type == SCALAR_F32 ? 0x7fc00000
                                : (uint64_t)0x7ff8 << 48;
}

static double lesser(double x, double y) {
    if (isnan(x)) return y;
    if (isnan(y)) return x;
    if (x == y) return signbit(x) ? x : y;
    return x < y ? x : y;
}

static double greater(double x, double y) {
    if (isnan(x)) return y;
    if (isnan(y)) return x;
    if (x == y) return signbit(x) ? y : x;
    return x < y ? y : x;
}

static double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static double multiply_add(ScalarType type, double x, double y, double z) {
    if (type == SCALAR_F32) return (double)fmaf((float)x, (float)y, (float)z);
    return fma(x, y, z);
}

static uint64_t next_towards(ScalarType type, uint64_t bits, double x, double y) {
    if (isnan(x) || isnan(y)) return canonical_nan(type);
    if (x == y) return float_bits(type, y);
    uint64_t sign_bit = (uint64_t)1 << (width_of(type) - 1);
    if (x == 0) return 1 | (y < 0 ? sign_bit : 0);
    return (x < y) == (x > 0) ? bits + 1 : bits - 1;
}

static uint64_t eval_float(CoreOp op, ScalarType type, const uint64_t *args) {
    bool is_binary = core_op_info[op].kind != KIND_SCALAR1;
    uint64_t sign_bit = (uint64_t)1 << (width_of(type) - 1);
    double x = float_value(type, args[0]);
    double y = is_binary ? float_value(type, args[1]) : 0;
    switch ((int)op) {
    case OP_ADD: return float_bits(type, x + y);
    case OP_SUB: return float_bits(type, x - y);
    case OP_MUL: return float_bits(type, x * y);
    case OP_DIV: return float_bits(type, x / y);
    case OP_MOD: return float_bits(type, fmod(x, y));
    case OP_MIN: return float_bits(type, lesser(x, y));
    case OP_MAX: return float_bits(type, greater(x, y));
    case OP_FMA:
        return float_bits(type, multiply_add(type, x, y, float_value(type, args[2])));
    case OP_EQ: return x == y;
    case OP_NE: return x != y;
    case OP_LT: return x < y;
    case OP_LE: return x <= y;
    case OP_NEG: return args[0] ^ sign_bit;
    case OP_ABS: return args[0] & ~sign_bit;
    case OP_SGN: return float_bits(type, sign(x));
    case OP_SQRT: return float_bits(type, sqrt(x));
    case OP_FLOOR: return float_bits(type, floor(x));
    case OP_CEIL: return float_bits(type, ceil(x));
    case OP_TRUNC: return float_bits(type, trunc(x));
    case OP_ROUND: return float_bits(type, rint(x));
    case OP_ISNAN: return x != x;
    case OP_ISINF: return isinf(x) != 0;
    case OP_NEXT: return next_towards(type, args[0], x, y);
    case OP_TO_BITS: return isnan(x) ? canonical_nan(type) : args[0];
    }
    assert(op == OP_COUNT && "not an operator on floats");
    return 0;
}

// ---- conversions --------------------------------------------------------------------

static uint64_t int_of_float(ScalarType to, double x) {
    double magnitude = fabs(trunc(x));
    double limit = to == SCALAR_U64 ? 0x1p64 : 0x1p63;
    if (!(magnitude < limit)) return 0;
    uint64_t whole = (uint64_t)magnitude;
    return x < 0 ? 0 - whole : whole;
}

// f16 holds no integer of 2^16 or more, so going through f64 rounds only once.
static uint64_t float_of_int(ScalarType to, bool is_signed, uint64_t x) {
    if (to == SCALAR_F32)
        return float_bits(to, (double)(is_signed ? (float)(int64_t)x : (float)x));
    return float_bits(to, is_signed ? (double)(int64_t)x : (double)x);
}

// From an integer or boolean extended to 64 bits.
static uint64_t convert_int(ScalarType in, ScalarType to, uint64_t x) {
    if (scalar_is_float(to)) return float_of_int(to, scalar_is_signed(in), x);
    return to == SCALAR_BOOL ? x != 0 : x;
}

static uint64_t convert_float(ScalarType in, ScalarType to, uint64_t bits) {
    if (in == to) return bits;
    double x = float_value(in, bits);
    if (scalar_is_float(to)) return float_bits(to, x);
    return to == SCALAR_BOOL ? x != 0 : int_of_float(to, x);
}

CoreFault core_eval(CoreOp op, ScalarType in, ScalarType to, const uint64_t *args,
                    uint64_t *result_out) {
    if (scalar_is_float(in)) {
        uint64_t result = op == OP_CONV ? convert_float(in, to, args[0])
                                        : eval_float(op, in, args);
        *result_out = cut(width_of(to), result);
        return FAULT_NONE;
    }
    unsigned width = width_of(in);
    bool is_signed = scalar_is_signed(in);
    uint64_t x = is_signed ? (uint64_t)sign_extend(width, args[0]) : args[0];
    if (op == OP_CONV) {
        *result_out = cut(width_of(to), convert_int(in, to, x));
        return FAULT_NONE;
    }
    uint64_t y = 0, result;
    if (core_op_info[op].kind == KIND_SCALAR2)
        y = is_signed ? (uint64_t)sign_extend(width, args[1]) : args[1];
    CoreFault fault = eval_int(op, in, x, y, &result);
    if (fault == FAULT_NONE) *result_out = cut(width_of(to), result);
    return fault;
}
