// SPDX-License-Identifier: Apache-2.0
//
// Reading divides exactly and rounds the quotient once. Printing generates digits until
// what is left lies within the rounding interval (Steele and White, "How to print
// floating-point numbers accurately", 1990; Burger and Dybvig, 1996). Both use plain
// multi-word integers, which stay at two or three words for everyday numbers.
#include "data/float.h"

#include <assert.h>
#include <string.h>

typedef unsigned __int128 Wide;

typedef struct Format {
    int precision; // bits of the mantissa with the implied one
    int least;     // exponent of the least normal number
    int greatest;  // exponent of the greatest
} Format;

static Format format_of(ScalarType type) {
    switch (scalar_info[type].bytes) {
    case 2: return (Format){11, -14, 15};
    case 4: return (Format){24, -126, 127};
    default: return (Format){53, -1022, 1023};
    }
}

uint64_t float_inf(ScalarType type) {
    Format f = format_of(type);
    return (uint64_t)(2 * f.greatest + 1) << (f.precision - 1);
}

uint64_t float_nan(ScalarType type) {
    return float_inf(type) | (uint64_t)1 << (format_of(type).precision - 2);
}

uint64_t float_sign(ScalarType type) {
    return (uint64_t)1 << (scalar_info[type].bytes * 8 - 1);
}

bool float_is_nan(ScalarType type, uint64_t bits) {
    return (bits & ~float_sign(type)) > float_inf(type);
}

bool float_is_inf(ScalarType type, uint64_t bits) {
    return (bits & ~float_sign(type)) == float_inf(type);
}

// ---- whole numbers of many words ----------------------------------------------------

enum { BIG_WORDS = 80 }; // 5120 bits: the largest divisor, 10^1201, and a quotient

typedef struct Big {
    int len; // words in use; the highest is not 0
    uint64_t words[BIG_WORDS];
} Big;

static void big_set(Big *a, uint64_t value) {
    a->len = value != 0;
    a->words[0] = value;
}

static void big_mul_add(Big *a, uint64_t factor, uint64_t addend) {
    uint64_t carry = addend;
    for (int i = 0; i < a->len; i++) {
        Wide product = (Wide)a->words[i] * factor + carry;
        a->words[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
    assert(carry == 0 || a->len < BIG_WORDS);
    if (carry != 0) a->words[a->len++] = carry;
}

static void big_mul_pow10(Big *a, int64_t power) {
    for (; power >= 19; power -= 19) big_mul_add(a, 10000000000000000000u, 0);
    uint64_t factor = 1;
    for (; power > 0; power--) factor *= 10;
    if (factor != 1) big_mul_add(a, factor, 0);
}

static void big_shift(Big *a, int64_t count) {
    int words = (int)(count / 64), bits = (int)(count % 64);
    if (a->len == 0) return;
    assert(a->len + words < BIG_WORDS);
    a->words[a->len] = 0;
    for (int i = a->len; i >= 0; i--) {
        uint64_t low = i > 0 && bits != 0 ? a->words[i - 1] >> (64 - bits) : 0;
        a->words[i + words] = a->words[i] << bits | low;
    }
    memset(a->words, 0, (size_t)words * sizeof a->words[0]);
    a->len += words + (a->words[a->len + words] != 0);
}

static int64_t big_bits(const Big *a) {
    if (a->len == 0) return 0;
    return (int64_t)a->len * 64 - __builtin_clzll(a->words[a->len - 1]);
}

static int big_compare(const Big *a, const Big *b) {
    if (a->len != b->len) return a->len < b->len ? -1 : 1;
    for (int i = a->len - 1; i >= 0; i--)
        if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
    return 0;
}

static void big_subtract(Big *a, const Big *b) { // a >= b
    uint64_t borrow = 0;
    for (int i = 0; i < a->len; i++) {
        Wide take = (Wide)(i < b->len ? b->words[i] : 0) + borrow;
        borrow = take > a->words[i];
        a->words[i] -= (uint64_t)take;
    }
    while (a->len > 0 && a->words[a->len - 1] == 0) a->len--;
}

static void big_add(Big *a, const Big *b) {
    uint64_t carry = 0;
    for (int i = 0; i < b->len || carry != 0; i++) {
        assert(i < BIG_WORDS);
        if (i == a->len) a->words[a->len++] = 0;
        Wide sum = (Wide)a->words[i] + (i < b->len ? b->words[i] : 0) + carry;
        a->words[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
}

// ---- reading ------------------------------------------------------------------------

uint64_t float_from_binary(ScalarType type, uint64_t mantissa, int64_t exponent,
                           bool is_more) {
    if (mantissa == 0) return 0;
    Format f = format_of(type);
    int length = 64 - __builtin_clzll(mantissa);
    if (exponent > 4096) return float_inf(type);
    if (exponent < -4096) return 0;
    int leading = (int)exponent + length - 1;
    if (leading > f.greatest) return float_inf(type);
    bool is_normal = leading >= f.least;
    // The last place that the format keeps, counted from the mantissa's own last.
    int drop = (is_normal ? leading : f.least) - (f.precision - 1) - (int)exponent;
    if (drop > length + 1) return 0;
    uint64_t kept;
    if (drop <= 0) {
        kept = mantissa << -drop;
    } else {
        Wide wide = mantissa, half = (Wide)1 << (drop - 1);
        Wide rest = wide & (2 * half - 1);
        kept = (uint64_t)(wide >> drop);
        kept += rest > half || (rest == half && (is_more || (kept & 1) != 0));
    }
    if (!is_normal) return kept;
    // A mantissa rounded up to 2^precision carries into the exponent, as it should.
    uint64_t biased = (uint64_t)(leading + f.greatest);
    return (biased << (f.precision - 1)) + (kept - ((uint64_t)1 << (f.precision - 1)));
}

// The quotient of two numbers to 65 bits, the last of which stands for the rest too.
static uint64_t divide_and_round(ScalarType type, Big *number, Big *divisor) {
    int64_t shift = big_bits(divisor) - big_bits(number) + 63;
    if (shift >= 0) big_shift(number, shift);
    else big_shift(divisor, -shift);
    // Now number / divisor lies in (2^62, 2^64): find its bits from the top.
    uint64_t quotient = 0;
    big_shift(divisor, 63);
    for (int bit = 0; bit < 64; bit++) {
        quotient <<= 1;
        if (big_compare(number, divisor) >= 0) {
            big_subtract(number, divisor);
            quotient |= 1;
        }
        big_shift(number, 1);
    }
    return float_from_binary(type, quotient, -shift, number->len != 0);
}

uint64_t float_from_decimal(ScalarType type, const char *digits, size_t count,
                            int64_t exponent, bool is_more) {
    assert(count <= FLOAT_DIGITS);
    while (count > 0 && digits[0] == '0') digits++, count--;
    while (count > 0 && digits[count - 1] == '0' && !is_more) count--, exponent++;
    if (count == 0) return 0;
    int64_t magnitude = exponent > INT32_MAX    ? INT32_MAX
                        : exponent < -INT32_MAX ? -INT32_MAX
                                                : exponent;
    magnitude += (int64_t)count; // the number lies below 10^magnitude
    if (magnitude > 310) return float_inf(type);
    if (magnitude < -400) return 0;
    if (count <= 19 && !is_more && exponent >= -19 && exponent <= 19) {
        uint64_t number = 0, power = 1;
        for (size_t i = 0; i < count; i++)
            number = number * 10 + (uint64_t)(digits[i] - '0');
        for (int64_t i = exponent < 0 ? -exponent : exponent; i > 0; i--) power *= 10;
        int shift = 0;
        Wide wide = number, rest = 0;
        if (exponent >= 0) {
            wide *= power;
        } else {
            shift = 64 + __builtin_clzll(number);
            wide <<= shift;
            rest = wide % power;
            wide /= power;
        }
        int excess = 0; // keep the top 64 bits
        if (wide >> 64 != 0) excess = 64 - __builtin_clzll((uint64_t)(wide >> 64));
        bool is_cut = rest != 0 || (wide & (((Wide)1 << excess) - 1)) != 0;
        return float_from_binary(type, (uint64_t)(wide >> excess), excess - shift,
                                 is_cut);
    }
    Big number, divisor;
    big_set(&number, 0);
    for (size_t i = 0; i < count; i++) {
        uint64_t digit = (uint64_t)(digits[i] - '0');
        if (number.len == 0) big_set(&number, digit);
        else big_mul_add(&number, 10, digit);
    }
    if (is_more) { // any further digit will do
        big_mul_add(&number, 10, 1);
        exponent--;
    }
    big_set(&divisor, 1);
    if (exponent >= 0) big_mul_pow10(&number, exponent);
    else big_mul_pow10(&divisor, -exponent);
    return divide_and_round(type, &number, &divisor);
}

// ---- printing -----------------------------------------------------------------------

// The digits of a number, 0.DIGITS * 10^point, as they come.
typedef struct Digits {
    char text[20];
    int count, point;
} Digits;

// A number between its neighbours: value = rest / unit; below and above are half the
// gaps, in the same unit. At a power of two the gap below is half as wide.
typedef struct Gap {
    int uneven;   // 1: the gap below is the narrow one
    bool is_even; // ties go to even: then the ends of the interval belong to it
    int guess;    // the point, or less
} Gap;

static Gap gap_of(Format f, uint64_t mantissa, int exponent, bool is_lowest) {
    int leading = exponent + 63 - __builtin_clzll(mantissa);
    return (Gap){
        .uneven = mantissa == (uint64_t)1 << (f.precision - 1) && !is_lowest,
        .is_even = (mantissa & 1) == 0,
        .guess = (int)(((int64_t)leading * 1233) >> 12), // log10(2) > 1233/4096
    };
}

static Wide wide_pow10(int power) {
    Wide result = 1;
    for (; power > 0; power--) result *= 10;
    return result;
}

// For exponents from -115 to 56, where all numbers stay below 2^128 / 10.
static void few_digits(Gap gap, uint64_t mantissa, int exponent, Digits *out) {
    int up = exponent > 0 ? exponent : 0, down = exponent < 0 ? -exponent : 0;
    Wide rest = (Wide)mantissa << (1 + gap.uneven + up);
    Wide unit = (Wide)1 << (1 + gap.uneven + down);
    Wide above = (Wide)1 << (gap.uneven + up), below = (Wide)1 << up;
    out->point = gap.guess;
    if (gap.guess > 0) unit *= wide_pow10(gap.guess);
    Wide scale = gap.guess < 0 ? wide_pow10(-gap.guess) : 1;
    rest *= scale, above *= scale, below *= scale;
    for (; rest + above + gap.is_even > unit; out->point++) unit *= 10;
    for (out->count = 0;;) {
        int digit = 0;
        rest *= 10, above *= 10, below *= 10;
        for (; rest >= unit; digit++) rest -= unit;
        bool is_low = rest < below + gap.is_even;
        bool is_high = rest + above + gap.is_even > unit;
        if (is_low && is_high) is_high = rest * 2 >= unit;
        out->text[out->count++] = (char)('0' + digit + is_high);
        if (is_low || is_high) return;
    }
}

// Whether a + b is beyond the limit, or just there and the end belongs.
static bool reaches(const Big *a, const Big *b, const Big *limit, bool is_even) {
    Big sum;
    sum.len = a->len;
    memcpy(sum.words, a->words, (size_t)a->len * sizeof a->words[0]);
    big_add(&sum, b);
    int order = big_compare(&sum, limit);
    return order > 0 || (order == 0 && is_even);
}

// The same for any exponent.
static void many_digits(Gap gap, uint64_t mantissa, int exponent, Digits *out) {
    int up = exponent > 0 ? exponent : 0, down = exponent < 0 ? -exponent : 0;
    Big rest, unit, below, above;
    big_set(&rest, mantissa);
    big_set(&unit, 1);
    big_set(&below, 1);
    big_set(&above, 1);
    big_shift(&rest, 1 + gap.uneven + up);
    big_shift(&unit, 1 + gap.uneven + down);
    big_shift(&above, gap.uneven + up);
    big_shift(&below, up);
    out->point = gap.guess;
    if (gap.guess > 0) big_mul_pow10(&unit, gap.guess);
    Big *scaled[] = {&rest, &below, &above};
    for (int i = 0; i < 3; i++)
        big_mul_pow10(scaled[i], gap.guess < 0 ? -gap.guess : 0);
    for (; reaches(&rest, &above, &unit, gap.is_even); out->point++)
        big_mul_add(&unit, 10, 0);
    for (out->count = 0;;) {
        int digit = 0;
        for (int i = 0; i < 3; i++) big_mul_add(scaled[i], 10, 0);
        for (; big_compare(&rest, &unit) >= 0; digit++) big_subtract(&rest, &unit);
        bool is_low = big_compare(&rest, &below) < gap.is_even;
        bool is_high = reaches(&rest, &above, &unit, gap.is_even);
        if (is_low && is_high) {
            big_shift(&rest, 1);
            is_high = big_compare(&rest, &unit) >= 0;
        }
        out->text[out->count++] = (char)('0' + digit + is_high);
        if (is_low || is_high) return;
    }
}

static size_t put_number(char *out, int number) {
    char reversed[8];
    size_t len = 0, at = 0;
    unsigned rest = (unsigned)(number < 0 ? -number : number);
    do reversed[len++] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0) out[at++] = '-';
    while (len > 0) out[at++] = reversed[--len];
    return at;
}

size_t float_print(ScalarType type, uint64_t bits, char out[FLOAT_TEXT]) {
    Format f = format_of(type);
    size_t at = 0;
    if ((bits & float_sign(type)) != 0) out[at++] = '-';
    bits &= ~float_sign(type);
    assert(bits < float_inf(type));
    if (bits == 0) {
        memcpy(out + at, "0.0", 3);
        return at + 3;
    }
    uint64_t mantissa = bits & (((uint64_t)1 << (f.precision - 1)) - 1);
    int biased = (int)(bits >> (f.precision - 1));
    if (biased != 0) mantissa |= (uint64_t)1 << (f.precision - 1);
    int exponent = (biased == 0 ? 1 : biased) - f.greatest - (f.precision - 1);
    Gap gap = gap_of(f, mantissa, exponent, biased <= 1);
    Digits found;
    if (exponent >= -115 && exponent <= 56) few_digits(gap, mantissa, exponent, &found);
    else many_digits(gap, mantissa, exponent, &found);
    char *digits = found.text;
    int count = found.count, point = found.point;
    if (point < -4 || point > 16) { // 1e-6, 1.5e17
        out[at++] = digits[0];
        if (count > 1) out[at++] = '.';
        memcpy(out + at, digits + 1, (size_t)(count - 1));
        at += (size_t)(count - 1);
        out[at++] = 'e';
        return at + put_number(out + at, point - 1);
    }
    if (point > count) { // a whole number: its own digits are as short as zeros
        uint64_t whole = exponent >= 0 ? mantissa << exponent : mantissa >> -exponent;
        count = point;
        for (int i = count; i-- > 0; whole /= 10) digits[i] = (char)('0' + whole % 10);
    }
    if (point <= 0) out[at++] = '0';
    for (int i = 0; i < point; i++) out[at++] = digits[i];
    out[at++] = '.';
    for (int i = point; i < 0; i++) out[at++] = '0';
    for (int i = point > 0 ? point : 0; i < count; i++) out[at++] = digits[i];
    if (count <= point) out[at++] = '0';
    return at;
}
