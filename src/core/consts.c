// SPDX-License-Identifier: Apache-2.0
//
// Printing and reading constants exactly. A float is sign * mantissa * 2^exponent;
// texts that no float of the type equals are refused rather than rounded, so that what
// a dump shows is what the program computes with.
#include <string.h>

#include "core/text.h"

// ---- floats as mantissa and exponent ------------------------------------------------

typedef struct Format {
    int fraction; // bits of the stored fraction
    int bias;
    int width;
} Format;

static Format format_of(ScalarType type) {
    if (type == SCALAR_F16) return (Format){10, 15, 16};
    if (type == SCALAR_F32) return (Format){23, 127, 32};
    return (Format){52, 1023, 64};
}

static uint64_t exponent_mask(Format f) {
    return ((uint64_t)1 << (f.width - 1 - f.fraction)) - 1;
}

static uint64_t infinity(Format f) {
    return exponent_mask(f) << f.fraction;
}

static uint64_t canonical_nan(Format f) {
    return infinity(f) | (uint64_t)1 << (f.fraction - 1);
}

// Encodes mantissa * 2^exponent; returns whether it is a number of the format.
static bool encode(Format f, uint64_t mantissa, int exponent, uint64_t *bits) {
    *bits = 0;
    if (mantissa == 0) return true;
    while (mantissa % 2 == 0) {
        mantissa /= 2;
        exponent++;
    }
    int top = 63 - __builtin_clzll(mantissa); // the leading bit's position
    int scale = exponent + top;               // the number is 1.xxx * 2^scale
    if (scale > f.bias) return false;
    int least = 1 - f.bias - f.fraction; // the exponent of the last subnormal bit
    int last = scale >= 1 - f.bias ? scale - f.fraction : least;
    if (exponent < last) return false;
    uint64_t fraction = mantissa << (exponent - last);
    if (scale < 1 - f.bias) {
        *bits = fraction;
        return true;
    }
    fraction &= ((uint64_t)1 << f.fraction) - 1;
    *bits = (uint64_t)(scale + f.bias) << f.fraction | fraction;
    return true;
}

// ---- printing -----------------------------------------------------------------------

static void print_float(StrBuf *out, ScalarType type, uint64_t bits, bool bare) {
    Format f = format_of(type);
    const char *name = scalar_info[type].name;
    uint64_t sign = bits >> (f.width - 1) & 1;
    uint64_t magnitude = bits & ~((uint64_t)1 << (f.width - 1));
    if (magnitude == infinity(f)) {
        strbuf_printf(out, "%s%s.inf", sign != 0 ? "-" : "", name);
        return;
    }
    if (bits == canonical_nan(f)) {
        strbuf_printf(out, "%s.nan", name);
        return;
    }
    if (magnitude > infinity(f)) {
        strbuf_printf(out, "%s.bits.0x%llx", name, (unsigned long long)bits);
        return;
    }
    int scale = (int)(magnitude >> f.fraction);
    uint64_t mantissa = magnitude & (((uint64_t)1 << f.fraction) - 1);
    if (scale != 0) mantissa |= (uint64_t)1 << f.fraction;
    int exponent = (scale == 0 ? 1 : scale) - f.bias - f.fraction;
    while (mantissa != 0 && mantissa % 2 == 0) {
        mantissa /= 2;
        exponent++;
    }
    if (sign != 0) strbuf_char(out, '-');
    if (mantissa == 0) exponent = 0;
    if (exponent >= 0 && exponent <= 20 && mantissa < (uint64_t)1 << 20) {
        strbuf_printf(out, "%llu", (unsigned long long)(mantissa << exponent));
    } else {
        // 1.hhh * 2^top: the digits after the point are groups of four bits
        int top = 63 - __builtin_clzll(mantissa);
        int pad = (4 - top % 4) % 4;
        uint64_t rest = (mantissa ^ (uint64_t)1 << top) << pad;
        int digits = (top + pad) / 4;
        strbuf_cstr(out, "0x1");
        if (digits > 0) strbuf_printf(out, ".%0*llx", digits, (unsigned long long)rest);
        strbuf_printf(out, "p%d", exponent + top);
    }
    if (!bare) strbuf_cstr(out, name);
}

void core_print_const(StrBuf *out, ScalarType type, uint64_t bits, bool bare) {
    const ScalarInfo *info = &scalar_info[type];
    unsigned unused = 64 - info->bytes * 8u;
    switch (info->class) {
    case CLASS_BOOLEAN: strbuf_cstr(out, (bits & 1) != 0 ? "true" : "false"); return;
    case CLASS_SIGNED:
        strbuf_printf(out, "%lld", (long long)((int64_t)(bits << unused) >> unused));
        break;
    case CLASS_UNSIGNED:
        strbuf_printf(out, "%llu", (unsigned long long)(bits << unused >> unused));
        break;
    case CLASS_FLOAT: print_float(out, type, bits << unused >> unused, bare); return;
    }
    if (!bare) strbuf_cstr(out, info->name);
}

void core_print_quoted(StrBuf *out, Str text) {
    strbuf_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        size_t utf8 = str_utf8((Str){text.ptr + i, text.len - i});
        if (c == '"' || c == '\\') {
            strbuf_char(out, '\\');
            strbuf_char(out, (char)c);
        } else if (c == '\n') {
            strbuf_cstr(out, "\\n");
        } else if (c == '\t') {
            strbuf_cstr(out, "\\t");
        } else if (utf8 > 1 && c != 0xc2) { // U+0080..U+00BF hold control characters
            strbuf_bytes(out, text.ptr + i, utf8);
            i += utf8 - 1;
        } else if (c < 0x20 || c >= 0x7f) {
            strbuf_printf(out, "\\x%02x", c);
        } else {
            strbuf_char(out, (char)c);
        }
    }
    strbuf_char(out, '"');
}

// ---- reading ------------------------------------------------------------------------

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 16;
}

// A number as written: mantissa * 2^exponent / 10^decimals.
typedef struct Number {
    uint64_t mantissa;
    int exponent, decimals;
    bool is_float; // has a point or an exponent
} Number;

// Reads the digits at text[*at]; false when there is none or they do not fit.
static bool read_digits(Str text, size_t *at, unsigned base, Number *n, int *count) {
    *count = 0;
    for (; *at < text.len; ++*at) {
        unsigned digit = (unsigned)digit_value(text.ptr[*at]);
        if (digit >= base) break;
        if (n->mantissa > (UINT64_MAX - digit) / base) return false;
        n->mantissa = n->mantissa * base + digit;
        ++*count;
    }
    return *count > 0;
}

static bool read_exponent(Str text, size_t *at, int *exponent) {
    bool negative = *at < text.len && text.ptr[*at] == '-';
    if (negative) ++*at;
    int value = 0;
    size_t start = *at;
    for (; *at < text.len && digit_value(text.ptr[*at]) < 10; ++*at) {
        value = value * 10 + digit_value(text.ptr[*at]);
        if (value > 9999) return false;
    }
    *exponent += negative ? -value : value;
    return *at > start;
}

static const char *read_number(Str text, size_t *at, Number *n) {
    const char *too_long = "a number with too many digits";
    unsigned base = 10;
    int count;
    if (text.len - *at > 2 && text.ptr[*at] == '0' && text.ptr[*at + 1] == 'x') {
        base = 16;
        *at += 2;
    }
    if (!read_digits(text, at, base, n, &count)) return too_long;
    if (*at < text.len && text.ptr[*at] == '.') {
        ++*at;
        n->is_float = true;
        if (!read_digits(text, at, base, n, &count)) return too_long;
        if (base == 16) n->exponent = -4 * count;
        else n->decimals = count;
    }
    if (base == 16 && *at < text.len && text.ptr[*at] == 'p') {
        ++*at;
        n->is_float = true;
        if (!read_exponent(text, at, &n->exponent))
            return "a number with a bad exponent";
    }
    return NULL;
}

static const char *convert_number(Number n, bool negative, ScalarType type,
                                  uint64_t *bits) {
    const ScalarInfo *info = &scalar_info[type];
    unsigned width = info->bytes * 8u;
    if (info->class == CLASS_BOOLEAN) return "no bool";
    if (info->class == CLASS_FLOAT) {
        for (; n.decimals > 0; n.decimals--) { // 10 is 5 * 2
            if (n.mantissa % 5 != 0) return "no float exactly; write it in hexadecimal";
            n.mantissa /= 5;
            n.exponent--;
        }
        if (!encode(format_of(type), n.mantissa, n.exponent, bits))
            return "no float of this type exactly";
        if (negative) *bits |= (uint64_t)1 << (width - 1);
        return NULL;
    }
    if (n.is_float) return "no integer";
    uint64_t most = UINT64_MAX >> (64 - width);
    if (info->class == CLASS_SIGNED) most = most / 2 + (negative ? 1 : 0);
    if (info->class == CLASS_UNSIGNED && negative)
        return "negative, but its type is not";
    if (n.mantissa > most) return "too large for its type";
    uint64_t value = negative ? 0 - n.mantissa : n.mantissa;
    *bits = value << (64 - width) >> (64 - width);
    return NULL;
}

// f32.inf, f32.nan, f32.bits.0x…: `rest` is what follows the type's name.
static const char *read_special(Str rest, bool negative, ScalarType type,
                                uint64_t *bits) {
    Format f = format_of(type);
    Str hex = STR(".bits.0x");
    if (!scalar_is_float(type)) return "no constant";
    if (str_eq(rest, STR(".inf"))) {
        *bits = infinity(f);
        if (negative) *bits |= (uint64_t)1 << (f.width - 1);
        return NULL;
    }
    if (negative) return "no constant";
    if (str_eq(rest, STR(".nan"))) {
        *bits = canonical_nan(f);
        return NULL;
    }
    if (rest.len <= hex.len || memcmp(rest.ptr, hex.ptr, hex.len) != 0)
        return "no constant";
    Number n = {0};
    size_t at = hex.len;
    int count;
    if (!read_digits(rest, &at, 16, &n, &count) || at != rest.len ||
        n.mantissa > UINT64_MAX >> (64 - f.width))
        return "no bit pattern of its type";
    *bits = n.mantissa;
    return NULL;
}

const char *core_read_const(Str text, bool has_type, ScalarType *type, uint64_t *bits) {
    if (str_eq(text, STR("true")) || str_eq(text, STR("false"))) {
        if (has_type && *type != SCALAR_BOOL) return "a bool, but its type is not";
        *type = SCALAR_BOOL;
        *bits = text.len == 4;
        return NULL;
    }
    bool negative = text.len > 0 && text.ptr[0] == '-';
    size_t at = negative;
    ScalarType own = *type;
    if (at < text.len && digit_value(text.ptr[at]) >= 10) {
        size_t end = at;
        while (end < text.len && text.ptr[end] != '.') end++;
        if (!scalar_by_name(text.ptr + at, end - at, &own)) return "no constant";
        if (has_type && own != *type) return "a constant of another type";
        *type = own;
        return read_special((Str){text.ptr + end, text.len - end}, negative, own, bits);
    }
    Number n = {0};
    const char *fault = read_number(text, &at, &n);
    if (fault != NULL) return fault;
    bool has_suffix = at < text.len;
    if (has_suffix && !scalar_by_name(text.ptr + at, text.len - at, &own))
        return "a number with an unknown suffix";
    if (has_suffix && has_type && own != *type) return "a constant of another type";
    if (!has_suffix && !has_type) return "a number without a type";
    *type = own;
    return convert_number(n, negative, own, bits);
}
