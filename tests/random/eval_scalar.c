// SPDX-License-Identifier: Apache-2.0
//
// The generator's own evaluation: numbers. Integers wholly; floats as long as they are
// small whole numbers, on which nothing rounds and every order gives the same bits.
#include <math.h>
#include <string.h>

#include "eval.h"

static __int128 number(ScalarType t, uint64_t bits) {
    if (!scalar_is_signed(t)) return (__int128)bits;
    uint64_t sign = 1ull << (8u * scalar_info[t].bytes - 1);
    return (__int128)(int64_t)((bits ^ sign) - sign);
}

// ---- floats -------------------------------------------------------------------------

static double limit_of(ScalarType t) {
    return t == SCALAR_F16 ? 2048 : t == SCALAR_F32 ? 16777216 : 9007199254740992;
}

static double to_double(ScalarType t, uint64_t bits) {
    double d;
    if (t == SCALAR_F64) {
        memcpy(&d, &bits, 8);
    } else if (t == SCALAR_F32) {
        float f;
        uint32_t word = (uint32_t)bits;
        memcpy(&f, &word, 4);
        d = (double)f;
    } else {
        int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
        if (exponent == 31) d = fraction ? (double)NAN : (double)INFINITY;
        else if (exponent == 0) d = ldexp(fraction, -24);
        else d = ldexp(1024 + fraction, exponent - 25);
        if (bits >> 15) d = -d;
    }
    return d;
}

bool eval_whole(ScalarType t, uint64_t bits, double *value_out) {
    *value_out = to_double(t, bits);
    return fabs(*value_out) <= limit_of(t) && trunc(*value_out) == *value_out;
}

bool eval_from_double(ScalarType t, double d, uint64_t *bits_out) {
    if (!(fabs(d) <= limit_of(t)) || trunc(d) != d) return false;
    if (t == SCALAR_F64) {
        memcpy(bits_out, &d, 8);
    } else if (t == SCALAR_F32) {
        float f = (float)d;
        uint32_t word;
        memcpy(&word, &f, 4);
        *bits_out = word;
    } else {
        uint64_t sign = signbit(d) ? 0x8000 : 0;
        int exponent = 0;
        double fraction = frexp(fabs(d), &exponent);  // in [0.5, 1)
        *bits_out = sign;
        if (d != 0)
            *bits_out |= (uint64_t)(exponent + 14) << 10 |
                         ((uint64_t)ldexp(fraction, 11) & 1023);
    }
    return true;
}

static uint64_t rounded(Run *r, ScalarType t, double d) {
    uint64_t bits = 0;
    if (!eval_from_double(t, d, &bits)) r->inexact = true;
    return bits;
}

static uint64_t float_op(Run *r, GOp op, ScalarType t, uint64_t xb, uint64_t yb) {
    double x = to_double(t, xb), y = to_double(t, yb), d;
    switch ((int)op) {  // comparisons are exact on any floats
    case GOP_EQ: return x == y;
    case GOP_NE: return x != y;
    case GOP_LT: return x < y;
    case GOP_LE: return x <= y;
    case GOP_MIN: case GOP_MAX:
        if (isnan(x) || isnan(y)) r->inexact = true;
        if (x == y) return (signbit(x) != 0) == (op == GOP_MIN) ? xb : yb;
        return (x < y) == (op == GOP_MIN) ? xb : yb;
    }
    if (!eval_whole(t, xb, &x) || !eval_whole(t, yb, &y)) {
        r->inexact = true;
        return 0;
    }
    switch ((int)op) {
    case GOP_ADD: return rounded(r, t, x + y);
    case GOP_SUB: return rounded(r, t, x - y);
    case GOP_MUL: return rounded(r, t, x * y);
    case GOP_DIV:
        d = x / y;
        if (y == 0 || d * y != x) r->inexact = true;
        return rounded(r, t, d);
    }
    r->inexact = true;
    return 0;
}

// ---- operators ----------------------------------------------------------------------

static uint64_t divide(Run *r, GOp op, ScalarType t, __int128 x, __int128 y) {
    if (y == 0) {
        eval_fail(r);
        return 0;
    }
    __int128 quotient = x / y, rest = x % y;
    bool floors = op == GOP_DIV || op == GOP_MOD;
    if (floors && rest != 0 && (rest < 0) != (y < 0)) quotient--, rest += y;
    bool wants_quotient = op == GOP_DIV || op == GOP_QUOT;
    return (uint64_t)(wants_quotient ? quotient : rest) & eval_mask(t);
}

static uint64_t power(Run *r, ScalarType t, uint64_t x, __int128 y) {
    if (y < 0) {
        eval_fail(r);
        return 0;
    }
    uint64_t result = 1;
    for (uint64_t n = (uint64_t)y; n != 0; n >>= 1, x *= x)
        if (n & 1) result *= x;
    return result & eval_mask(t);
}

uint64_t eval_op(Run *r, GOp op, ScalarType t, uint64_t xb, uint64_t yb) {
    if (scalar_is_float(t)) return float_op(r, op, t, xb, yb);
    __int128 x = number(t, xb), y = number(t, yb), q = 0;
    unsigned width = 8u * scalar_info[t].bytes;
    switch (op) {
    case GOP_ADD: q = x + y; break;
    case GOP_SUB: q = x - y; break;
    case GOP_MUL: return (xb * yb) & eval_mask(t);
    case GOP_AND: return xb & yb;
    case GOP_OR: return xb | yb;
    case GOP_XOR: return xb ^ yb;
    case GOP_MIN: q = x < y ? x : y; break;
    case GOP_MAX: q = x > y ? x : y; break;
    case GOP_DIV: case GOP_MOD: case GOP_QUOT: case GOP_REM: return divide(r, op, t, x, y);
    case GOP_SHL: return yb >= width ? 0 : (xb << yb) & eval_mask(t);
    case GOP_SHR:
        if (yb >= width) q = x < 0 ? -1 : 0;
        else q = x >> yb;
        break;
    case GOP_LSHR: return yb >= width ? 0 : xb >> yb;
    case GOP_POW: return power(r, t, xb, y);
    case GOP_LAST: return yb == 0 ? xb : yb;
    case GOP_EQ: return x == y;
    case GOP_NE: return x != y;
    case GOP_LT: return x < y;
    case GOP_LE: return x <= y;
    case GOP_COUNT: break;
    }
    return (uint64_t)q & eval_mask(t);
}

uint64_t eval_neutral(GOp op, ScalarType t) {
    uint64_t sign = 1ull << (8u * scalar_info[t].bytes - 1), one = 1;
    if (scalar_is_float(t) && op == GOP_MUL) {
        eval_from_double(t, 1, &one);
        return one;
    }
    switch ((int)op) {
    case GOP_MUL: return 1;
    case GOP_AND: return eval_mask(t);
    case GOP_MIN: return scalar_is_signed(t) ? sign - 1 : eval_mask(t);
    case GOP_MAX: return scalar_is_signed(t) ? sign : 0;
    default: return 0;
    }
}

// ---- nodes --------------------------------------------------------------------------

static uint64_t unary(Run *r, const GNode *node, uint64_t bits) {
    ScalarType t = node->type.elem;
    unsigned width = 8u * scalar_info[t].bytes, n = 0;
    if (scalar_is_float(t)) {
        double x;
        if (node->bits % 5 == 4 || !eval_whole(t, bits, &x)) r->inexact = true;
        return bits;
    }
    __int128 x = number(t, bits);
    switch (node->bits % 5) {
    case 0: return (uint64_t)((x > 0) - (x < 0)) & eval_mask(t);
    case 1: return ~bits & eval_mask(t);
    case 2:
        for (unsigned i = 0; i < width; i++) n += (unsigned)(bits >> i & 1);
        return n;
    case 3:
        while (n < width && !(bits >> (width - 1 - n) & 1)) n++;
        return n;
    default:
        while (n < width && !(bits >> n & 1)) n++;
        return n;
    }
}

static uint64_t convert(Run *r, ScalarType from, ScalarType to, uint64_t bits) {
    double x;
    if (!scalar_is_float(from)) {
        __int128 n = number(from, bits);
        if (to == SCALAR_BOOL) return n != 0;
        if (!scalar_is_float(to)) return (uint64_t)n & eval_mask(to);
        if (n > 1 << 30 || n < -(1 << 30)) r->inexact = true;
        return rounded(r, to, (double)(int64_t)n);
    }
    if (from == to) return bits;
    x = to_double(from, bits);
    if (scalar_is_float(to)) return rounded(r, to, x);
    if (!(fabs(x) < 1e15)) {
        r->inexact = true;
        return 0;
    }
    if (to == SCALAR_BOOL) return x != 0;
    return (uint64_t)(int64_t)trunc(x) & eval_mask(to);
}

static uint64_t fma_of(Run *r, const GNode *node, uint64_t x, uint64_t y, uint64_t z) {
    ScalarType t = node->type.elem;
    uint64_t p = eval_op(r, GOP_MUL, t, x, y);
    switch (node->bits & 7) {
    case 2: return eval_op(r, GOP_SUB, t, p, z);
    case 3: return eval_op(r, GOP_SUB, t, z, p);
    case 4:
        p = scalar_is_float(t) ? p ^ (eval_mask(t) ^ eval_mask(t) >> 1)
                               : eval_op(r, GOP_SUB, t, 0, p);
        return eval_op(r, GOP_ADD, t, p, z);
    case 6: return eval_op(r, GOP_ADD, t, p, eval_op(r, GOP_MUL, t, y, z));
    case 7: return eval_op(r, GOP_SUB, t, eval_op(r, GOP_ADD, t, p, z), p);
    default: return eval_op(r, GOP_ADD, t, p, z);
    }
}

uint64_t eval_scalar(Run *r, const GNode *node, const GValue *kids) {
    ScalarType t = node->type.elem, from = kids[0].type.elem;
    uint64_t x = kids[0].data[0], y = gen_info[node->kind].kids > 1 ? kids[1].data[0] : 0;
    uint64_t sign = eval_mask(t) ^ eval_mask(t) >> 1;
    switch ((int)node->kind) {
    case G_NOT: return !x;
    case G_NEG: return scalar_is_float(t) ? x ^ sign : (0 - x) & eval_mask(t);
    case G_ABS:
        if (scalar_is_float(t)) return x & ~sign;
        return (scalar_is_signed(t) && (x & sign) ? 0 - x : x) & eval_mask(t);
    case G_UNARY: return unary(r, node, x);
    case G_CONV: return convert(r, from, t, x);
    case G_FMA: return fma_of(r, node, x, y, kids[2].data[0]);
    case G_CMP: return eval_op(r, node->op, from, x, y);
    default: {  // BIN
        bool divides = node->op >= GOP_DIV && node->op <= GOP_REM;
        bool guarded = node->bits != 0 && !scalar_is_float(t);
        if (divides && guarded && y == 0) y = 1;
        if (node->op == GOP_POW && guarded) y &= 7;
        return eval_op(r, node->op, t, x, y);
    }
    }
}
