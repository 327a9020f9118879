// SPDX-License-Identifier: Apache-2.0
//
// A random program as Weft. Everything is parenthesised, so that only the shape of the
// tree matters; precedence has tests of its own.
#include "gen.h"

static const char *elem_name(GType t) {
    return scalar_info[t.elem].name;
}

static void put_type(StrBuf *out, GType t) {
    for (uint32_t i = 0; i < t.rank; i++) strbuf_cstr(out, "[]");
    strbuf_cstr(out, elem_name(t));
}

static void put_literal(StrBuf *out, ScalarType t, uint64_t bits) {
    const char *name = scalar_info[t].name;
    unsigned width = 8u * scalar_info[t].bytes;
    if (t == SCALAR_BOOL) {
        strbuf_cstr(out, bits ? "true" : "false");
    } else if (scalar_is_float(t)) {
        strbuf_printf(out, "(%s.from_bits %lluu%u)", name, (unsigned long long)bits, width);
    } else if (scalar_is_signed(t)) {
        uint64_t sign = 1ull << (width - 1);
        long long value = (long long)((bits ^ sign) - sign);
        if (value < 0) strbuf_printf(out, "(-%llu%s)", 0 - (unsigned long long)value, name);
        else strbuf_printf(out, "%lld%s", value, name);
    } else {
        strbuf_printf(out, "%llu%s", (unsigned long long)bits, name);
    }
}

// The operator as a function of two arguments and its neutral element.
static void put_operator(StrBuf *out, GOp op, GType t) {
    const char *name = elem_name(t);
    uint64_t ones = ~0ull >> (64 - 8u * scalar_info[t.elem].bytes);
    uint64_t one = t.elem == SCALAR_F16   ? 0x3c00
                   : t.elem == SCALAR_F32 ? 0x3f800000
                   : t.elem == SCALAR_F64 ? 0x3ff0000000000000
                                          : 1;
    bool is_bool = t.elem == SCALAR_BOOL;
    switch (op) {
    case GOP_ADD: strbuf_cstr(out, "(+) "), put_literal(out, t.elem, 0); return;
    case GOP_MUL: strbuf_cstr(out, "(*) "), put_literal(out, t.elem, one); return;
    case GOP_AND:
        strbuf_cstr(out, is_bool ? "(&&) " : "(&) ");
        put_literal(out, t.elem, is_bool ? 1 : ones);
        return;
    case GOP_OR:
        strbuf_cstr(out, is_bool ? "(||) " : "(|) ");
        put_literal(out, t.elem, 0);
        return;
    case GOP_XOR:
        strbuf_cstr(out, is_bool ? "(!=) " : "(^) ");
        put_literal(out, t.elem, 0);
        return;
    case GOP_MIN: strbuf_printf(out, "%s.min %s.highest", name, name); return;
    case GOP_MAX: strbuf_printf(out, "%s.max %s.lowest", name, name); return;
    case GOP_LAST:
        strbuf_cstr(out, "(\\a b -> if b == 0 then a else b) ");
        put_literal(out, t.elem, 0);
        return;
    default: return;
    }
}

static const char *const infix[GOP_COUNT] = {
    [GOP_ADD] = "+", [GOP_SUB] = "-", [GOP_MUL] = "*",   [GOP_AND] = "&", [GOP_OR] = "|",
    [GOP_XOR] = "^", [GOP_DIV] = "/", [GOP_MOD] = "%",   [GOP_QUOT] = "//",
    [GOP_REM] = "%%", [GOP_SHL] = "<<", [GOP_SHR] = ">>", [GOP_EQ] = "==", [GOP_LT] = "<",
    [GOP_LE] = "<=", [GOP_NE] = "!="};

// Appends the template, in which $0..$3 are the kids, $v and $w the bound variables, $n
// the small number, $t the element type, $V and $W the types of $v and $w.
static void put(StrBuf *out, const GNode *node, const char *template);

static void put_node(StrBuf *out, const GNode *node) {
    GType t = node->type;
    switch (node->kind) {
    case G_LIT: put_literal(out, t.elem, node->bits); return;
    case G_VAR: strbuf_printf(out, "v%u", node->var); return;
    case G_BIN:
        if (node->op == GOP_MIN || node->op == GOP_MAX) {
            put(out, node, node->op == GOP_MIN ? "($t.min $0 $1)" : "($t.max $0 $1)");
        } else if (node->op >= GOP_DIV && node->op <= GOP_REM && node->bits != 0 &&
                   !scalar_is_float(t.elem)) {
            put(out, node, "(let d = $1 in $0 $o (if d == 0 then 1 else d))");
        } else {
            put(out, node, "($0 $o $1)");
        }
        return;
    case G_CMP: put(out, node, "($0 $o $1)"); return;
    case G_AND: put(out, node, "($0 && $1)"); return;
    case G_OR: put(out, node, "($0 || $1)"); return;
    case G_NOT: put(out, node, "(!$0)"); return;
    case G_NEG: put(out, node, "($t.neg $0)"); return;
    case G_ABS: put(out, node, "($t.abs $0)"); return;
    case G_CONV:
        strbuf_printf(out, "(%s.%s ", elem_name(t), elem_name(node->kids[0]->type));
        put(out, node, "$0)");
        return;
    case G_IF: put(out, node, "(if $0 then $1 else $2)"); return;
    case G_LET: put(out, node, "(let $v = $0 in $1)"); return;
    case G_AT:
        put(out, node, "(let a = $0 in if length a == 0 then $2 else a[$1 % length a])");
        return;
    case G_REDUCE: put(out, node, "(reduce $p $0)"); return;
    case G_LENGTH: put(out, node, "(length $0)"); return;
    case G_LOOP: put(out, node, "(loop ($v: $T) = $0 for $w < $ni64 do $1)"); return;
    case G_WHILE:
        put(out, node, "(loop ($v: $T, k) = ($0, 0i32) while k < $ni32 && $1 "
                       "do ($2, k + 1)).0");
        return;
    case G_FORIN: put(out, node, "(loop ($v: $T) = $0 for $w in $1 do $2)"); return;
    case G_MATCH:
        put(out, node, "(match $0 case 0i32 -> $1 case -1i32 -> $2 case _ -> $3)");
        return;
    case G_IOTA: put(out, node, "(map (\\i -> $t.i64 i) (iota $n))"); return;
    case G_ARRAY: put(out, node, "[$0, $1, $2]"); return;
    case G_REPLICATE: put(out, node, "(replicate $n $0)"); return;
    case G_MAP: put(out, node, "(map (\\$v -> $1) $0)"); return;
    case G_MAP2:
        put(out, node, "(let a = $0 let b = $1 let n = i64.min (length a) (length b) "
                       "in map2 (\\$v $w -> $2) (take n a) (take n b))");
        return;
    case G_SCAN: put(out, node, "(scan $p $0)"); return;
    case G_FILTER: put(out, node, "(filter (\\$v -> $1) $0)"); return;
    case G_PARTITION:
        put(out, node, "(let (a, b) = partition (\\$v -> $1) $0 in b ++ a)");
        return;
    case G_REVERSE: put(out, node, "(reverse $0)"); return;
    case G_SLICE: {
        // bits: 2 for the form, then a start
        static const char *const forms[] = {"a[i64.min (length a) $s:]",
                                            "a[:i64.min (length a) $s]", "a[::-1]",
                                            "a[::2]"};
        strbuf_cstr(out, "(let a = ");
        put_node(out, node->kids[0]);
        strbuf_cstr(out, " in ");
        for (const char *c = forms[node->bits & 3]; *c != '\0'; c++) {
            if (c[0] == '$') strbuf_printf(out, "%u", (unsigned)(node->bits >> 2)), c++;
            else strbuf_char(out, *c);
        }
        strbuf_char(out, ')');
        return;
    }
    case G_ROTATE: put(out, node, "(rotate $1 $0)"); return;
    case G_CONCAT: put(out, node, "($0 ++ $1)"); return;
    case G_TRANSPOSE: put(out, node, "(transpose $0)"); return;
    case G_FLATTEN: put(out, node, "(flatten $0)"); return;
    case G_UPDATE:
        put(out, node, "(let a = $0 in if length a == 0 then a "
                       "else a with [$1 % length a] = $2)");
        return;
    case G_SCATTER: case G_HIST:
        put(out, node, "(let d = $0 let i = $1 let x = $2 "
                       "let n = i64.min (length i) (length x) in ");
        put(out, node, node->kind == G_SCATTER
                           ? "scatter (copy d) (take n i) (take n x))"
                           : "reduce_by_index (copy d) $p (take n i) (take n x))");
        return;
    case G_TABULATE: put(out, node, "(tabulate $n (\\$v -> $0))"); return;
    case G_RESIZE:
        put(out, node, "(let a = $0 let d = $1 in tabulate $n "
                       "(\\i -> if length a == 0 then d else a[i % length a]))");
        return;
    case G_PAIR: put(out, node, "(let ($v, $w) = ($0, $1) in $2)"); return;
    case G_CALL:
        strbuf_printf(out, "(let f%u (v%u: ", node->var, node->var);
        put_type(out, node->kids[0]->type);
        put(out, node, ") = $1 in f");
        strbuf_printf(out, "%u ", node->var);
        put(out, node, "$0)");
        return;
    case G_COUNT: return;
    }
}

static void put(StrBuf *out, const GNode *node, const char *template) {
    for (const char *c = template; *c != '\0'; c++) {
        if (*c != '$') {
            strbuf_char(out, *c);
            continue;
        }
        switch (*++c) {
        case 'v': strbuf_printf(out, "v%u", node->var); break;
        case 'w': strbuf_printf(out, "v%u", node->var2); break;
        case 'n': strbuf_printf(out, "%u", (unsigned)node->bits); break;
        case 't': strbuf_cstr(out, elem_name(node->type)); break;
        case 'T': put_type(out, node->type); break;
        case 'o': strbuf_cstr(out, infix[node->op]); break;
        case 'p': put_operator(out, node->op, node->type); break;
        default: put_node(out, node->kids[*c - '0']); break;
        }
    }
}

void gen_print(const GProgram *program, StrBuf *out) {
    strbuf_printf(out, "-- seed %llu\ndef main", (unsigned long long)program->seed);
    for (uint32_t i = 0; i < GEN_INPUTS; i++) {
        strbuf_printf(out, " (v%u: ", program->inputs[i].id);
        put_type(out, program->inputs[i].type);
        strbuf_char(out, ')');
    }
    strbuf_cstr(out, " =\n  ");
    put_node(out, program->body);
    strbuf_char(out, '\n');
}
