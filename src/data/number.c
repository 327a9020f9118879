// SPDX-License-Identifier: Apache-2.0
//
// One scalar from text: -12i32, 0xff, 0b101, 1_000, 1.5e-3f32, 0x1.8p3, f32.nan,
// -f64.inf, true. A number without a suffix takes the type wanted.
#include "data/number.h"

#include <string.h>

#include "data/float.h"

// A number as written, before its type has had a say.
typedef struct Number {
    size_t start; // of the text, sign included
    bool is_negative;
    bool is_decimal_form; // base 10: digits and exponent hold; else mantissa, exponent
    bool is_float_form;   // has a point or an exponent
    bool is_too_big;      // as an integer: beyond 2^64 - 1
    bool is_more;         // nonzero digits were cut off
    uint64_t whole;       // the value, for integers
    uint64_t mantissa;    // bases 2 and 16: value = mantissa * 2^exponent
    int64_t exponent;     // base 10: value = digits * 10^exponent
    size_t count;
    char digits[FLOAT_DIGITS];
} Number;

static char peek(const DataReader *r, size_t ahead) {
    return r->at + ahead < r->bytes.len ? r->bytes.ptr[r->at + ahead] : '\0';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool data_is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '_' || c == '\'' || c == '.' || (unsigned char)c >= 0x80;
}

static int digit_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 16;
}

static const char *article(ScalarType type) {
    char first = scalar_info[type].name[0];
    return first == 'i' || first == 'f' ? "an" : "a";
}

static Status fail_expected(DataReader *r, size_t at, ScalarType type) {
    Str found = data_excerpt(r, at);
    data_fail(r, at, "expected %s %s, found %.*s", article(type),
              scalar_info[type].name, STR_ARG(found));
    return STATUS_VALUE;
}

// Takes a run of digits of the base, with underscores between; returns how many.
static size_t take_digits(DataReader *r, int base, Number *n, bool is_fraction) {
    size_t taken = 0;
    int bits = base == 16 ? 4 : 1;
    for (;; r->at++) {
        char c = peek(r, 0);
        if (c == '_' && taken > 0) continue;
        int digit = digit_value(c);
        if (digit >= base) return taken;
        taken++;
        uint64_t shifted;
        if (__builtin_mul_overflow(n->whole, (uint64_t)base, &shifted) ||
            __builtin_add_overflow(shifted, (uint64_t)digit, &n->whole))
            n->is_too_big = true;
        if (base != 10) {
            if (n->mantissa >> (64 - bits) != 0) {
                n->is_more |= digit != 0;
                n->exponent += bits;
            } else {
                n->mantissa = n->mantissa << bits | (uint64_t)digit;
            }
            if (is_fraction) n->exponent -= bits;
            continue;
        }
        if (n->count == 0 && digit == 0) {
            // A zero in front counts for nothing.
        } else if (n->count < FLOAT_DIGITS) {
            n->digits[n->count++] = c;
        } else {
            n->is_more |= digit != 0;
            n->exponent++;
        }
        if (is_fraction) n->exponent--;
    }
}

// Takes e-12 or p+3 if one stands here; a very large exponent saturates.
static bool take_exponent(DataReader *r, char letter, Number *n) {
    if ((peek(r, 0) | 0x20) != letter) return true;
    size_t sign = peek(r, 1) == '+' || peek(r, 1) == '-';
    if (!is_digit(peek(r, 1 + sign))) return false;
    bool is_negative = peek(r, 1) == '-';
    int64_t value = 0;
    for (r->at += 1 + sign; is_digit(peek(r, 0)) || peek(r, 0) == '_'; r->at++) {
        if (peek(r, 0) == '_') continue;
        if (value < INT64_MAX / 4 / 10) value = value * 10 + (peek(r, 0) - '0');
    }
    n->exponent += is_negative ? -value : value;
    n->is_float_form = true;
    return true;
}

// Takes the digits of a number after its sign. Returns false if it is malformed.
static bool take_number(DataReader *r, Number *n) {
    char second = (char)(peek(r, 1) | 0x20);
    int base = peek(r, 0) != '0' ? 10 : second == 'x' ? 16 : second == 'b' ? 2 : 10;
    n->is_decimal_form = base == 10;
    if (base != 10) r->at += 2;
    if (take_digits(r, base, n, false) == 0) return false;
    if (base != 2 && peek(r, 0) == '.' && digit_value(peek(r, 1)) < base) {
        r->at++;
        take_digits(r, base, n, true);
        n->is_float_form = true;
    } else if (base == 10 && peek(r, 0) == '.' && !data_is_word(peek(r, 1))) {
        r->at++; // 1.
        n->is_float_form = true;
    }
    if (base == 10) return take_exponent(r, 'e', n);
    return base == 2 || take_exponent(r, 'p', n);
}

static Status to_float(const Number *n, ScalarType type, uint64_t *bits_out) {
    uint64_t bits =
        n->is_decimal_form
            ? float_from_decimal(type, n->digits, n->count, n->exponent, n->is_more)
            : float_from_binary(type, n->mantissa, n->exponent, n->is_more);
    *bits_out = bits | (n->is_negative ? float_sign(type) : 0);
    return STATUS_OK;
}

static Status to_int(DataReader *r, const Number *n, ScalarType type,
                     uint64_t *bits_out) {
    Str found = data_excerpt(r, n->start);
    if (n->is_float_form) {
        data_fail(r, n->start, "expected %s %s, found %.*s, which is not an integer",
                  article(type), scalar_info[type].name, STR_ARG(found));
        return STATUS_VALUE;
    }
    unsigned width = scalar_info[type].bytes * 8u;
    uint64_t most = UINT64_MAX >> (64 - width);
    // Hexadecimal and binary may spell out the bits of a negative number.
    bool is_signed = scalar_is_signed(type);
    uint64_t limit = is_signed && n->is_decimal_form ? most / 2 : most;
    if (n->is_negative) limit = is_signed ? most / 2 + 1 : 0;
    if (n->is_too_big || n->whole > limit) {
        data_fail(r, n->start, "%.*s does not fit in %s %s", STR_ARG(found),
                  article(type), scalar_info[type].name);
        return STATUS_VALUE;
    }
    *bits_out = (n->is_negative ? 0 - n->whole : n->whole) & most;
    return STATUS_OK;
}

// The word at the reader's position.
static Str take_word(DataReader *r) {
    size_t start = r->at;
    while (r->at < r->bytes.len && data_is_word(r->bytes.ptr[r->at])) r->at++;
    return (Str){r->bytes.ptr + start, r->at - start};
}

// true, false, f32.nan, f64.inf.
static Status read_word(DataReader *r, ScalarType type, size_t start, bool is_negative,
                        uint64_t *bits_out) {
    Str word = take_word(r);
    if (type == SCALAR_BOOL && !is_negative) {
        bool is_true = str_eq(word, STR("true"));
        if (!is_true && !str_eq(word, STR("false")))
            return fail_expected(r, start, type);
        *bits_out = is_true;
        return STATUS_OK;
    }
    size_t name = strlen(scalar_info[type].name);
    if (!scalar_is_float(type) || word.len != name + 4 ||
        memcmp(word.ptr, scalar_info[type].name, name) != 0)
        return fail_expected(r, start, type);
    Str kind = {word.ptr + name, 4};
    uint64_t sign = is_negative ? float_sign(type) : 0;
    if (str_eq(kind, STR(".nan"))) *bits_out = float_nan(type);
    else if (str_eq(kind, STR(".inf"))) *bits_out = float_inf(type) | sign;
    else return fail_expected(r, start, type);
    return STATUS_OK;
}

// The commonest case, quickly: a short decimal integer that ends where a value may.
static bool read_short_int(DataReader *r, ScalarType type, uint64_t *bits_out) {
    const char *p = r->bytes.ptr + r->at, *end = r->bytes.ptr + r->bytes.len;
    uint64_t value = 0;
    const char *q = p;
    while (q < end && q < p + 18 && is_digit(*q))
        value = value * 10 + (uint64_t)(*q++ - '0');
    if (q == p || q == end || data_is_word(*q)) return false;
    unsigned width = scalar_info[type].bytes * 8u;
    if (value > UINT64_MAX >> (64 - width) >> scalar_is_signed(type)) return false;
    *bits_out = value;
    r->at += (size_t)(q - p);
    return true;
}

Status data_read_scalar(DataReader *r, ScalarType type, uint64_t *bits_out) {
    if (scalar_is_int(type) && read_short_int(r, type, bits_out)) return STATUS_OK;
    size_t start = r->at;
    bool is_negative = peek(r, 0) == '-';
    if (is_negative) r->at++;
    char first = peek(r, 0);
    if (!is_digit(first)) {
        if (data_is_word(first))
            return read_word(r, type, start, is_negative, bits_out);
        return fail_expected(r, start, type);
    }
    Number n;
    memset(&n, 0, offsetof(Number, digits));
    n.start = start;
    n.is_negative = is_negative;
    if (!take_number(r, &n)) {
        Str found = data_excerpt(r, start);
        data_fail(r, start, "malformed number %.*s", STR_ARG(found));
        return STATUS_VALUE;
    }
    if (data_is_word(peek(r, 0))) {
        Str suffix = take_word(r), found = data_excerpt(r, start);
        ScalarType written;
        if (!scalar_by_name(suffix.ptr, suffix.len, &written) ||
            written == SCALAR_BOOL || (n.is_float_form && !scalar_is_float(written))) {
            data_fail(r, start, "malformed number %.*s", STR_ARG(found));
            return STATUS_VALUE;
        }
        if (written != type) {
            data_fail(r, start, "expected %s %s, found %.*s, which is %s %s",
                      article(type), scalar_info[type].name, STR_ARG(found),
                      article(written), scalar_info[written].name);
            return STATUS_VALUE;
        }
    }
    if (type == SCALAR_BOOL) return fail_expected(r, start, type);
    return scalar_is_float(type) ? to_float(&n, type, bits_out)
                                 : to_int(r, &n, type, bits_out);
}
