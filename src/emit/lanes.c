// SPDX-License-Identifier: Apache-2.0
//
// Scalar operators in lanes, as expressions of the compilers' vectors: fills in the
// templates of lanes.def. The others are done lane by lane in helper functions.
#include <assert.h>
#include <inttypes.h>

#include "core/rules.h"
#include "emit/dialect.h"

enum { B = 1, S = 2, U = 4, I = S | U, F = 16 };

typedef struct Template {
    CoreOp op;
    unsigned classes;
    const char *text;
} Template;

static const Template templates[] = {
#define LANES(op, classes, text) {OP_##op, classes, text},
#include "emit/lanes.def"
#undef LANES
};

static const Template *find_template(CoreOp op, ScalarType in) {
    static const unsigned classes[] = {[CLASS_BOOLEAN] = B,
                                       [CLASS_SIGNED] = S,
                                       [CLASS_UNSIGNED] = U,
                                       [CLASS_FLOAT] = F};
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++)
        if (templates[i].op == op && in != SCALAR_F16 &&
            (templates[i].classes & classes[scalar_info[in].class]) != 0)
            return &templates[i];
    return NULL;
}

// ---- types --------------------------------------------------------------------------

static unsigned width_of(ScalarType type) {
    return 8u * scalar_info[type].bytes;
}

void emit_lanes_type(ScalarType type, Lanes lanes, StrBuf *out) {
    if (type == SCALAR_BOOL) {
        strbuf_char(out, 'i');
        strbuf_number(out, lanes.mask);
    } else {
        strbuf_cstr(out, type == SCALAR_F16 ? "u16" : scalar_info[type].name);
    }
    strbuf_char(out, 'x');
    strbuf_number(out, lanes.count);
}

// Vectors of integers get another width in one step where that fills a register, by
// what the heads have for it. Else they go from width to width, each twice the one
// before or half of it: gcc takes longer steps lane by lane.
typedef struct Resize {
    uint32_t from, to, count;
    bool is_unsigned;
} Resize;

static uint32_t next_width(uint32_t width, uint32_t to) {
    return width < to ? 2 * width : width / 2;
}

static bool is_one_step(const Resize *r) {
    uint32_t bytes = (r->from > r->to ? r->from : r->to) * r->count / 8;
    return r->from != r->to && (bytes == 64 || (bytes == 32 && r->from < r->to));
}

static void open_resize(const Resize *r, StrBuf *out) {
    char sign = r->is_unsigned && r->from < r->to ? 'u' : 'i';
    if (is_one_step(r)) {
        strbuf_printf(out, "weft_%c%ux%u_%u((%c%ux%u)(", sign, r->from, r->count, r->to,
                      sign, r->from, r->count);
        return;
    }
    for (uint32_t width = r->from; width != r->to; width = next_width(width, r->to))
        strbuf_cstr(out, "__builtin_convertvector(");
}

static void close_resize(const Resize *r, StrBuf *out) {
    if (is_one_step(r)) {
        strbuf_cstr(out, "))");
        return;
    }
    for (uint32_t width = r->from; width != r->to;) {
        width = next_width(width, r->to);
        strbuf_printf(out, ", i%ux%u)", width, r->count);
    }
}

static bool is_unsigned(ScalarType type) {
    return scalar_info[type].class == CLASS_UNSIGNED;
}

void emit_mask_for(ScalarType type, Lanes lanes, Str mask, StrBuf *out) {
    uint32_t width = type == SCALAR_BOOL ? lanes.mask : width_of(type);
    Resize resize = {lanes.mask, width, lanes.count, false};
    open_resize(&resize, out);
    strbuf_str(out, mask);
    close_resize(&resize, out);
}

void emit_loaded(uint64_t bits, Helpers *helpers, StrBuf *out) {
    uint64_t unused;
    if (!map_get(&helpers->loaded, bits, &unused)) {
        map_set(&helpers->loaded, bits, 1);
        strbuf_printf(&helpers->lanes,
                      "WEFT_LOADED(weft_k_%" PRIx64 ", 0x%" PRIx64 ")\n", bits, bits);
    }
    strbuf_printf(out, "weft_k_%" PRIx64, bits);
}

// ---- templates ----------------------------------------------------------------------

typedef struct Filling {
    ScalarType in, to;
    Lanes lanes;
    const Str *operands;
} Filling;

static void put_variable(const Filling *f, char name, StrBuf *out) {
    unsigned width = width_of(f->in);
    switch (name) {
    case 'T': emit_lanes_type(f->to, f->lanes, out); return;
    case 'V': emit_lanes_type(f->in, f->lanes, out); return;
    case 'U': strbuf_printf(out, "u%ux%u", width, f->lanes.count); return;
    case 'S': strbuf_printf(out, "i%ux%u", width, f->lanes.count); return;
    case 'W': strbuf_printf(out, "%u", width); return;
    case 'Q':
        strbuf_cstr(out, width == 32 ? "0x7fc00000" : "0x7ff8000000000000");
        return;
    case 'x':
    case 'y':
    case 'z': strbuf_str(out, f->operands[name - 'x']); return;
    }
    assert(false && "an unknown variable in lanes.def");
}

static void put_template(const Filling *f, const char *text, StrBuf *out) {
    for (; *text != 0; text++) {
        if (*text == '$') put_variable(f, *++text, out);
        else strbuf_char(out, *text);
    }
}

// A comparison, whose lanes are as wide as the operands', as a mask.
static void put_mask(const Filling *f, const char *text, StrBuf *out) {
    uint32_t width = f->in == SCALAR_BOOL ? f->lanes.mask : width_of(f->in);
    Resize resize = {width, f->lanes.mask, f->lanes.count, false};
    open_resize(&resize, out);
    put_template(f, text, out);
    close_resize(&resize, out);
}

// ---- lane by lane -------------------------------------------------------------------

static void put_helper_name(CoreOp op, const Filling *f, StrBuf *out) {
    strbuf_printf(out, "weft_%s_%s_%s_x%u_%u", core_op_info[op].name,
                  scalar_info[f->in].name, scalar_info[f->to].name, f->lanes.count,
                  f->lanes.mask);
}

static void define_helper(const Dialect *dialect, CoreOp op, const Filling *f,
                          Helpers *helpers) {
    static const Str names[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    StrBuf *out = &helpers->lanes;
    uint32_t count = core_op_operands(op);
    strbuf_cstr(out, "WEFT_FUN ");
    emit_lanes_type(f->to, f->lanes, out);
    strbuf_char(out, ' ');
    put_helper_name(op, f, out);
    for (uint32_t i = 0; i < count; i++) {
        strbuf_cstr(out, i == 0 ? "(" : ", ");
        emit_lanes_type(f->in, f->lanes, out);
        strbuf_printf(out, " %c", "xyz"[i]);
    }
    strbuf_cstr(out, ") {\n    ");
    emit_lanes_type(f->to, f->lanes, out);
    strbuf_printf(out, " r;\n    for (int i = 0; i < %u; i++) {\n", f->lanes.count);
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(out, "        const %s %c = %c[i]%s;\n", emit_types[f->in],
                      "abc"[i], "xyz"[i], f -> in == SCALAR_BOOL ? " != 0" : "");
    strbuf_cstr(out, f->to == SCALAR_BOOL ? "        r[i] = -(" : "        r[i] = (");
    emit_scalar(dialect, op, f->in, f->to, names, helpers, out);
    strbuf_cstr(out, ");\n    }\n    return r;\n}\n");
}

static void put_lane_by_lane(const Dialect *dialect, CoreOp op, const Filling *f,
                             Helpers *helpers, StrBuf *out) {
    uint64_t key = (uint64_t)op << 16 | (uint64_t)f->in << 8 | (uint64_t)f->to;
    uint64_t unused;
    key = key << 16 | (uint64_t)f->lanes.count << 8 | f->lanes.mask;
    if (!map_get(&helpers->made, key, &unused)) {
        map_set(&helpers->made, key, 1);
        define_helper(dialect, op, f, helpers);
    }
    put_helper_name(op, f, out);
    for (uint32_t i = 0; i < core_op_operands(op); i++)
        strbuf_printf(out, i == 0 ? "(%.*s" : ", %.*s", STR_ARG(f->operands[i]));
    strbuf_char(out, ')');
}

// ---- quotients of integers ----------------------------------------------------------

// Of integers of so many bits in a lane, in one, two or four vectors of floats.
typedef struct Division {
    ScalarType type;             // of the vector that is divided
    uint32_t width, bits, parts; // of that, in bits; of an integer; vectors of floats
    uint32_t float_width, float_count;
} Division;

static Division division_of(const Filling *f) {
    uint32_t width = width_of(f->in);
    Division d = {.type = f->in, .float_width = width <= 16 ? 32 : 64};
    d.width = f->lanes.mask < d.float_width ? f->lanes.mask : d.float_width;
    d.parts = d.float_width / d.width;
    d.float_count = f->lanes.count / d.parts;
    d.bits = d.parts > 1 ? d.width : width < d.width ? width + 1 : 64;
    if (width < d.width)
        d.type = d.width == 16 ? SCALAR_I16 : d.width == 32 ? SCALAR_I32 : SCALAR_I64;
    return d;
}

static void define_division(const Dialect *dialect, CoreOp op, const Division *d,
                            uint32_t count, Helpers *helpers) {
    static const Str places[] = {{"x[i]", 4}, {"y[i]", 4}};
    StrBuf *out = &helpers->lanes;
    const char *name = scalar_info[d->type].name;
    if (d->bits == 64 && count == 8) return; // head_wide.h has them
    if (d->bits == 64) {
        strbuf_printf(out,
                      "WEFT_DIVIDE_LONG(%s, %sx%u, f64x%u, u64x%u, %u, i64x%u, %u, ",
                      core_op_info[op].name, name, count, count, count,
                      scalar_is_signed(d->type), count, count);
        emit_scalar(dialect, op, d->type, d->type, places, helpers, out);
        strbuf_cstr(out, ")\n");
        return;
    }
    strbuf_printf(out, "WEFT_DIVIDE_%u(%s, %sx%u, u%ux%u, f%ux%u, u%ux%u, %u, %u)\n",
                  d->parts, core_op_info[op].name, name, count, d->width, count,
                  d->float_width, d->float_count, d->float_width, d->float_count,
                  scalar_is_signed(d->type), d->bits);
}

static void put_division(const Dialect *dialect, CoreOp op, const Filling *f,
                         Helpers *helpers, StrBuf *out) {
    Division d = division_of(f);
    uint64_t key = (uint64_t)op << 16 | (uint64_t)d.type << 8 | d.bits, unused;
    key = key << 16 | (uint64_t)f->lanes.count << 8 | d.parts;
    if (!map_get(&helpers->made, key, &unused)) {
        map_set(&helpers->made, key, 1);
        define_division(dialect, op, &d, f->lanes.count, helpers);
    }
    uint32_t width = width_of(f->in);
    Resize there = {width, d.width, f->lanes.count, is_unsigned(f->in)};
    Resize back = {d.width, width, f->lanes.count, is_unsigned(d.type)};
    put_template(f, "($T)", out);
    open_resize(&back, out);
    strbuf_printf(out, "weft_%s_%sx%u_%u", core_op_info[op].name,
                  scalar_info[d.type].name, f->lanes.count, d.bits);
    for (int i = 0; i < 2; i++) {
        strbuf_cstr(out, i == 0 ? "(" : ", ");
        open_resize(&there, out);
        strbuf_str(out, f->operands[i]);
        close_resize(&there, out);
    }
    strbuf_char(out, ')');
    close_resize(&back, out);
}

// ---- conversions --------------------------------------------------------------------

// From integers to integers, or to floats by way of those of 32 bits at least.
static void put_steps(const Filling *f, StrBuf *out) {
    bool is_float = scalar_is_float(f->to);
    uint32_t from = width_of(f->in), to = width_of(f->to);
    if (is_float) to = from < 32 ? 32 : from;
    put_template(f, is_float ? "__builtin_convertvector(" : "($T)(", out);
    Resize resize = {from, to, f->lanes.count, is_unsigned(f->in)};
    open_resize(&resize, out);
    strbuf_str(out, f->operands[0]);
    close_resize(&resize, out);
    put_template(f, is_float ? ", $T)" : ")", out);
}

// False: it is done lane by lane.
static bool put_conversion(const Filling *f, StrBuf *out) {
    ScalarType in = f->in, to = f->to;
    if (in == to) {
        strbuf_str(out, f->operands[0]);
    } else if (in == SCALAR_F16 || to == SCALAR_F16) {
        return false;
    } else if (to == SCALAR_BOOL) {
        put_mask(f, "$x != 0", out);
    } else if (in == SCALAR_BOOL) {
        put_template(f, scalar_is_float(to) ? "weft_select_$T(" : "($T)(", out);
        emit_mask_for(to, f->lanes, f->operands[0], out);
        put_template(
            f, scalar_is_float(to) ? ", weft_splat_$T(1), weft_splat_$T(0))" : " & 1)",
            out);
    } else if (scalar_is_float(in) && !scalar_is_float(to)) {
        return false;
    } else if (to == SCALAR_F64 && width_of(in) == 64 && !scalar_is_float(in)) {
        put_template(f, "weft_float_$V($x)", out);
    } else if (scalar_is_float(in)) {
        put_template(f, "__builtin_convertvector($x, $T)", out);
    } else {
        put_steps(f, out);
    }
    return true;
}

void emit_lanes(const Dialect *dialect, CoreOp op, ScalarType in, ScalarType to,
                Lanes lanes, const Str *operands, Helpers *helpers, StrBuf *out) {
    Filling f = {in, to, lanes, operands};
    if (op == OP_CONV && put_conversion(&f, out)) return;
    if (core_divides(op, in)) {
        put_division(dialect, op, &f, helpers, out);
        return;
    }
    const Template *template = find_template(op, in);
    bool is_bits = op == OP_FROM_BITS || op == OP_TO_BITS;
    if (template == NULL || (is_bits && to == SCALAR_F16))
        put_lane_by_lane(dialect, op, &f, helpers, out);
    else if (to == SCALAR_BOOL) put_mask(&f, template->text, out);
    else put_template(&f, template->text, out);
}
