// SPDX-License-Identifier: Apache-2.0
//
// Scalar operators as expressions: fills in the templates of scalar.def. What takes
// more than an expression is a helper function, of which a file has those that it uses.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "emit/dialect.h"

typedef enum TemplateForm { TEMPLATE_NONE, TEMPLATE_EXPR, TEMPLATE_FUNC } TemplateForm;

typedef struct Template {
    CoreOp op;
    unsigned classes;
    TemplateForm form;
    const char *text;
} Template;

enum { B = 1, S = 2, U = 4, I = S | U, L = 8, F = 16, H = 32 };

const char *const emit_types[SCALAR_COUNT] = {
    [SCALAR_BOOL] = "bool",    [SCALAR_I8] = "int8_t",    [SCALAR_I16] = "int16_t",
    [SCALAR_I32] = "int32_t",  [SCALAR_I64] = "int64_t",  [SCALAR_U8] = "uint8_t",
    [SCALAR_U16] = "uint16_t", [SCALAR_U32] = "uint32_t", [SCALAR_U64] = "uint64_t",
    [SCALAR_F16] = "uint16_t", [SCALAR_F32] = "float",    [SCALAR_F64] = "double"};

static const Template templates[] = {
#define EXPR(op, classes, text) {OP_##op, classes, TEMPLATE_EXPR, text},
#define FUNC(op, classes, text) {OP_##op, classes, TEMPLATE_FUNC, text},
#include "emit/scalar.def"
#undef EXPR
#undef FUNC
};

static unsigned classes_of(ScalarType type) {
    unsigned wide = scalar_info[type].bytes == 8 ? L : 0;
    switch (scalar_info[type].class) {
    case CLASS_BOOLEAN: return B;
    case CLASS_SIGNED: return S | wide;
    case CLASS_UNSIGNED: return U | wide;
    case CLASS_FLOAT: return type == SCALAR_F16 ? H : F;
    }
    return 0;
}

static const Template *find_template(CoreOp op, ScalarType in) {
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++)
        if (templates[i].op == op && (templates[i].classes & classes_of(in)) != 0)
            return &templates[i];
    assert(false && "a scalar operator on a type it does not take");
    return NULL;
}

// ---- constants ----------------------------------------------------------------------

static void emit_float(ScalarType type, uint64_t bits, StrBuf *out) {
    double value;
    float single;
    uint32_t word = (uint32_t)bits;
    memcpy(&single, &word, sizeof single);
    memcpy(&value, &bits, sizeof value);
    if (type == SCALAR_F32) value = (double)single;
    bool is_finite = value - value == 0;
    if (!is_finite)
        strbuf_printf(out, "weft_%s(0x%llx)", scalar_info[type].name,
                      (unsigned long long)bits);
    else
        strbuf_printf(out, value < 0 || (value == 0 && bits != 0) ? "(%a%s)" : "%a%s",
                      value, type == SCALAR_F32 ? "f" : "");
}

void emit_constant(ScalarType type, uint64_t bits, StrBuf *out) {
    unsigned unused = 64 - 8u * scalar_info[type].bytes;
    int64_t value = (int64_t)(bits << unused) >> unused;
    switch (scalar_info[type].class) {
    case CLASS_BOOLEAN: strbuf_cstr(out, bits != 0 ? "true" : "false"); return;
    case CLASS_UNSIGNED:
        strbuf_printf(out, bits > UINT32_MAX ? "%lluul" : "%lluu",
                      (unsigned long long)bits);
        return;
    case CLASS_SIGNED:
        if (value == INT64_MIN) strbuf_cstr(out, "(-9223372036854775807l - 1)");
        else if (value > INT32_MAX || value <= INT32_MIN)
            strbuf_printf(out, value < 0 ? "(%lldl)" : "%lldl", (long long)value);
        else strbuf_printf(out, value < 0 ? "(%lld)" : "%lld", (long long)value);
        return;
    case CLASS_FLOAT:
        if (type == SCALAR_F16)
            strbuf_printf(out, "(uint16_t)0x%llx", (unsigned long long)bits);
        else emit_float(type, bits, out);
        return;
    }
}

// ---- templates ----------------------------------------------------------------------

typedef struct Filling {
    const Dialect *dialect;
    ScalarType in, to;
    const Str *operands;
} Filling;

static unsigned width_of(ScalarType type) {
    return 8u * scalar_info[type].bytes;
}

static const char *unsigned_type(unsigned width) {
    ScalarType type = width == 8    ? SCALAR_U8
                      : width == 16 ? SCALAR_U16
                      : width == 32 ? SCALAR_U32
                                    : SCALAR_U64;
    return emit_types[type];
}

static void put_variable(const Filling *f, char name, StrBuf *out) {
    unsigned width = width_of(f->in);
    switch (name) {
    case 'T': strbuf_cstr(out, emit_types[f->to]); return;
    case 'N': strbuf_cstr(out, scalar_info[f->in].name); return;
    case 'V': strbuf_cstr(out, unsigned_type(width)); return;
    case 'U': strbuf_cstr(out, unsigned_type(width < 32 ? 32 : width)); return;
    case 'Q':
        strbuf_cstr(out, width == 16   ? "0x7e00"
                         : width == 32 ? "0x7fc00000u"
                                       : "0x7ff8000000000000ul");
        return;
    case 'W': strbuf_printf(out, "%u", width); return;
    case 'x':
    case 'y':
    case 'z': strbuf_str(out, f->operands[name - 'x']); return;
    case 'X':
    case 'Y':
    case 'Z':
        strbuf_printf(out, "half_to_double(%.*s)", STR_ARG(f->operands[name - 'X']));
        return;
    }
    assert(false && "an unknown variable in scalar.def");
}

static bool is_letter(char c) {
    return c >= 'a' && c <= 'z';
}

static void put_template(const Filling *f, const char *text, StrBuf *out) {
    while (*text != 0) {
        if (*text == '$') {
            put_variable(f, text[1], out);
            text += 2;
        } else if (*text == '@') {
            size_t len = 0;
            while (is_letter(text[1 + len])) len++;
            strbuf_cstr(out, f->dialect->math);
            strbuf_bytes(out, text + 1, len);
            if (f->dialect->math_has_suffix && f->in == SCALAR_F32)
                strbuf_char(out, 'f');
            text += 1 + len;
        } else {
            strbuf_char(out, *text++);
        }
    }
}

// ---- conversions --------------------------------------------------------------------

static void put_conversion(const Filling *f, Helpers *helpers, StrBuf *out) {
    ScalarType in = f->in, to = f->to;
    Str x = f->operands[0];
    const char *type = emit_types[to];
    if (in == to) {
        strbuf_str(out, x);
    } else if (in == SCALAR_F16 && to == SCALAR_BOOL) {
        strbuf_printf(out, "(%.*s & 0x7fff) != 0", STR_ARG(x));
    } else if (to == SCALAR_BOOL) {
        strbuf_printf(out, "%.*s != 0", STR_ARG(x));
    } else if (scalar_is_float(in) && !scalar_is_float(to)) {
        ScalarType from = in == SCALAR_F32 ? SCALAR_F32 : SCALAR_F64;
        helpers->to_int[from][to] = true;
        strbuf_printf(out,
                      in == SCALAR_F16 ? "weft_%s_to_%s(half_to_double(%.*s))"
                                       : "weft_%s_to_%s(%.*s)",
                      scalar_info[from].name, scalar_info[to].name, STR_ARG(x));
    } else if (to == SCALAR_F16) {
        strbuf_printf(out, "half_of_double((double)%.*s)", STR_ARG(x));
    } else if (in == SCALAR_F16) {
        strbuf_printf(out, "(%s)half_to_double(%.*s)", type, STR_ARG(x));
    } else {
        strbuf_printf(out, "(%s)%.*s", type, STR_ARG(x));
    }
}

static void define_to_int(const Dialect *dialect, ScalarType from, ScalarType to,
                          StrBuf *out) {
    const char *limit = to == SCALAR_U64 ? "0x1p64" : "0x1p63";
    const char *suffix = from == SCALAR_F32 ? "f" : "";
    strbuf_printf(out,
                  "WEFT_FUN %s weft_%s_to_%s(%s x) {\n"
                  "    %s m = %sfabs%s(x);\n"
                  "    if (!(m < %s%s)) return 0;\n"
                  "    uint64_t whole = (uint64_t)m;\n"
                  "    return (%s)(x < 0 ? 0 - whole : whole);\n"
                  "}\n",
                  emit_types[to], scalar_info[from].name, scalar_info[to].name,
                  emit_types[from], emit_types[from], dialect->math,
                  dialect->math_has_suffix ? suffix : "", limit, suffix,
                  emit_types[to]);
}

void emit_of_bits(ScalarType type, Str bits, StrBuf *out) {
    bool is_word = type != SCALAR_F32 && type != SCALAR_F64;
    strbuf_printf(out, is_word ? "(%s)%.*s" : "weft_%s(%.*s)",
                  is_word ? emit_types[type] : scalar_info[type].name, STR_ARG(bits));
}

void emit_bits(ScalarType type, Str value, StrBuf *out) {
    if (type == SCALAR_F32 || type == SCALAR_F64)
        strbuf_printf(out, "weft_bits_%s(%.*s)", scalar_info[type].name,
                      STR_ARG(value));
    else strbuf_printf(out, "(%s)%.*s", unsigned_type(width_of(type)), STR_ARG(value));
}

// ---- operators ----------------------------------------------------------------------

static void put_helper_name(CoreOp op, ScalarType in, StrBuf *out) {
    strbuf_printf(out, "weft_%s_%s", core_op_info[op].name, scalar_info[in].name);
}

void emit_scalar(const Dialect *dialect, CoreOp op, ScalarType in, ScalarType to,
                 const Str *operands, Helpers *helpers, StrBuf *out) {
    Filling filling = {dialect, in, to, operands};
    if (op == OP_CONV) {
        put_conversion(&filling, helpers, out);
        return;
    }
    if (op == OP_FROM_BITS) {
        emit_of_bits(to, operands[0], out);
        return;
    }
    const Template *template = find_template(op, in);
    if (template->form == TEMPLATE_EXPR) {
        put_template(&filling, template->text, out);
        return;
    }
    helpers->is_used[op][in] = true;
    put_helper_name(op, in, out);
    uint32_t count = core_op_info[op].kind == KIND_SCALAR1 ? 1 : 2;
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(out, i == 0 ? "(%.*s" : ", %.*s", STR_ARG(operands[i]));
    strbuf_char(out, ')');
}

void emit_helpers(const Dialect *dialect, const Helpers *helpers, StrBuf *out) {
    static const Str names[] = {{"x", 1}, {"y", 1}, {"z", 1}};
    for (int op = 0; op < OP_COUNT; op++) {
        for (int in = 0; in < SCALAR_COUNT; in++) {
            if (!helpers->is_used[op][in]) continue;
            bool is_count = op == OP_CLZ || op == OP_CTZ;
            ScalarType to = is_count ? SCALAR_I32 : (ScalarType)in;
            Filling filling = {dialect, (ScalarType)in, to, names};
            const char *type = emit_types[in];
            strbuf_printf(out, "WEFT_FUN %s ", emit_types[to]);
            put_helper_name((CoreOp)op, (ScalarType)in, out);
            strbuf_printf(
                out, core_op_info[op].kind == KIND_SCALAR1 ? "(%s x" : "(%s x, %s y",
                type, type);
            strbuf_cstr(out, ") {\n    ");
            put_template(&filling, find_template((CoreOp)op, (ScalarType)in)->text,
                         out);
            strbuf_cstr(out, "\n}\n");
        }
    }
    for (int from = 0; from < SCALAR_COUNT; from++)
        for (int to = 0; to < SCALAR_COUNT; to++)
            if (helpers->to_int[from][to])
                define_to_int(dialect, (ScalarType)from, (ScalarType)to, out);
    strbuf_str(out, (Str){helpers->lanes.data, helpers->lanes.len});
}
