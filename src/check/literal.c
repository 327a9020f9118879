// SPDX-License-Identifier: Apache-2.0
//
// Literals: an unsuffixed one has the type its use gives it, and only then its bits.
// Decimals are rounded once, from their digits to the final type.
#define _GNU_SOURCE
#include "check/literal.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FLOATS = 1 << SCALAR_F16 | 1 << SCALAR_F32 | 1 << SCALAR_F64,
    NUMBERS = FLOATS | 1 << SCALAR_I8 | 1 << SCALAR_I16 | 1 << SCALAR_I32 |
              1 << SCALAR_I64 | 1 << SCALAR_U8 | 1 << SCALAR_U16 | 1 << SCALAR_U32 |
              1 << SCALAR_U64
};

Type *literal_type(Checker *ck, const Lit *lit, Span span) {
    if (lit->kind == LIT_BOOL) return type_scalar(ck, SCALAR_BOOL);
    if (lit->suffix != 0) {
        Str suffix = sym_str(&ck->cx->syms, lit->suffix);
        ScalarType scalar;
        if (scalar_by_name(suffix.ptr, suffix.len, &scalar))
            return type_scalar(ck, scalar);
    }
    Type *type =
        type_fresh_scalar(ck, span, lit->kind == LIT_FLOAT ? FLOATS : NUMBERS, 0);
    if (lit->kind == LIT_CHAR)
        ((Constraint *)type->as.var->constraint)->from_char = true;
    return type;
}

// The digits alone: no underscores, no suffix.
static const char *plain_text(Checker *ck, const Lit *lit) {
    StrBuf buf = strbuf(ck->arena);
    Str suffix = sym_str(&ck->cx->syms, lit->suffix);
    size_t len = lit->text.len - (lit->text.len >= suffix.len ? suffix.len : 0);
    for (size_t i = 0; i < len; i++)
        if (lit->text.ptr[i] != '_') strbuf_char(&buf, lit->text.ptr[i]);
    return str_terminated(ck->arena, strbuf_done(&buf));
}

static uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Half precision from a value that is exact but for its sticky tail: above < 0, 0, > 0
// says on which side of `value` the true number lies.
static uint64_t bits_of_half(double value, int above) {
    if (value == 0) return 0;
    if (isinf(value)) return 0x7c00;
    int exponent;
    double fraction = frexp(value, &exponent); // in [0.5, 1)
    int digits = exponent < -13 ? 11 - (-13 - exponent) : 11;
    if (digits < 0) return 0;
    double scaled = ldexp(fraction, digits), whole = floor(scaled);
    double rest = scaled - whole;
    bool odd = fmod(whole, 2) != 0;
    if (rest > 0.5 || (rest == 0.5 && (above > 0 || (above == 0 && odd)))) whole += 1;
    double rounded = ldexp(whole, exponent - digits);
    if (rounded >= 65536.0) return 0x7c00;
    if (rounded == 0) return 0;
    fraction = frexp(rounded, &exponent);
    if (exponent < -13) return (uint64_t)ldexp(rounded, 24);
    return (uint64_t)(exponent + 14) << 10 | ((uint64_t)ldexp(fraction, 11) & 0x3ff);
}

static uint64_t read_decimal(Checker *ck, const Lit *lit, ScalarType type) {
    const char *text = plain_text(ck, lit);
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t old = plain == (locale_t)0 ? (locale_t)0 : uselocale(plain);
    uint64_t bits = 0;
    if (type == SCALAR_F32) {
        bits = bits_of_float(strtof(text, NULL));
    } else if (type == SCALAR_F64) {
        bits = bits_of_double(strtod(text, NULL));
    } else {
        double value = strtod(text, NULL);
        long double precise = strtold(text, NULL);
        bits = bits_of_half(value, precise > value ? 1 : precise < value ? -1 : 0);
    }
    if (plain != (locale_t)0) {
        uselocale(old);
        freelocale(plain);
    }
    return bits;
}

static uint64_t float_bits(Checker *ck, const Lit *lit, ScalarType type) {
    if (lit->kind == LIT_FLOAT && type == SCALAR_F64) return lit->bits;
    if (lit->kind == LIT_FLOAT || lit->too_big) return read_decimal(ck, lit, type);
    if (type == SCALAR_F64) return bits_of_double((double)lit->bits);
    if (type == SCALAR_F32) return bits_of_float((float)lit->bits);
    return bits_of_half((double)lit->bits, 0);
}

bool literal_bits(Checker *ck, const Lit *lit, bool negative, ScalarType type,
                  uint64_t *bits_out) {
    unsigned width = scalar_info[type].bytes * 8u;
    if (type == SCALAR_BOOL) {
        *bits_out = lit->bits;
        return true;
    }
    if (scalar_is_float(type)) {
        *bits_out = float_bits(ck, lit, type);
        if (negative) *bits_out ^= (uint64_t)1 << (width - 1);
        return true;
    }
    uint64_t most = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    if (lit->too_big || lit->bits > most) return false;
    *bits_out = (negative ? 0 - lit->bits : lit->bits) & most;
    return true;
}
