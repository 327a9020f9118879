// SPDX-License-Identifier: Apache-2.0
//
// A random program as Weft. Everything is parenthesised, so that only the shape of the
// tree matters; precedence has tests of its own. Most nodes are printed by their text in
// nodes.def; those with variants are here.
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

// ---- operators ----------------------------------------------------------------------

static void put_neutral(StrBuf *out, GOp op, GType t) {
    const char *name = elem_name(t);
    uint64_t ones = ~0ull >> (64 - 8u * scalar_info[t.elem].bytes);
    uint64_t one = t.elem == SCALAR_F16   ? 0x3c00
                   : t.elem == SCALAR_F32 ? 0x3f800000
                   : t.elem == SCALAR_F64 ? 0x3ff0000000000000
                                          : 1;
    switch ((int)op) {
    case GOP_MUL: put_literal(out, t.elem, one); return;
    case GOP_AND: put_literal(out, t.elem, t.elem == SCALAR_BOOL ? 1 : ones); return;
    case GOP_MIN: strbuf_printf(out, "%s.highest", name); return;
    case GOP_MAX: strbuf_printf(out, "%s.lowest", name); return;
    default: put_literal(out, t.elem, 0); return;
    }
}

static void put_function(StrBuf *out, GOp op, GType t) {
    const char *name = elem_name(t);
    bool is_bool = t.elem == SCALAR_BOOL;
    switch ((int)op) {
    case GOP_ADD: strbuf_cstr(out, "(+)"); return;
    case GOP_MUL: strbuf_cstr(out, "(*)"); return;
    case GOP_AND: strbuf_cstr(out, is_bool ? "(&&)" : "(&)"); return;
    case GOP_OR: strbuf_cstr(out, is_bool ? "(||)" : "(|)"); return;
    case GOP_XOR: strbuf_cstr(out, is_bool ? "(!=)" : "(^)"); return;
    case GOP_MIN: strbuf_printf(out, "%s.min", name); return;
    case GOP_MAX: strbuf_printf(out, "%s.max", name); return;
    default:
        strbuf_printf(out, "(\\(a: %s) b -> if b == 0 then a else b)", name);
        return;
    }
}

static const char *const infix[GOP_COUNT] = {
    [GOP_ADD] = "+",  [GOP_SUB] = "-",  [GOP_MUL] = "*",   [GOP_AND] = "&", [GOP_OR] = "|",
    [GOP_XOR] = "^",  [GOP_DIV] = "/",  [GOP_MOD] = "%",   [GOP_QUOT] = "//",
    [GOP_REM] = "%%", [GOP_SHL] = "<<", [GOP_SHR] = ">>",  [GOP_LSHR] = ">>>",
    [GOP_POW] = "**", [GOP_EQ] = "==",  [GOP_LT] = "<",    [GOP_LE] = "<=", [GOP_NE] = "!="};

// ---- nodes --------------------------------------------------------------------------

static void put(StrBuf *out, const GNode *node, const char *text);

static const char *binary_text(const GNode *node) {
    bool divides = node->op >= GOP_DIV && node->op <= GOP_REM;
    bool guarded = node->bits != 0 && !scalar_is_float(node->type.elem);
    if (node->op == GOP_MIN) return "($t.min $0 $1)";
    if (node->op == GOP_MAX) return "($t.max $0 $1)";
    if (divides && guarded) return "(let d = $1 in $0 $o (if d == 0 then 1 else d))";
    if (node->op == GOP_POW && guarded) return "($0 ** ($1 & 7))";
    return "($0 $o $1)";
}

static const char *unary_text(const GNode *node) {
    static const char *const of_ints[] = {"($t.sgn $0)", "(!$0)", "($t.i32 ($t.popc $0))",
                                          "($t.i32 ($t.clz $0))", "($t.i32 ($t.ctz $0))"};
    static const char *const of_floats[] = {"($t.floor $0)", "($t.ceil $0)",
                                            "($t.trunc $0)", "($t.round $0)",
                                            "($t.sqrt $0)"};
    return (scalar_is_float(node->type.elem) ? of_floats : of_ints)[node->bits % 5];
}

static const char *const fma_texts[] = {
    "($0 * $1 + $2)", "($2 + $0 * $1)", "($0 * $1 - $2)", "($2 - $0 * $1)",
    "($t.neg ($0 * $1) + $2)", "(let p = $0 * $1 in p + $2)",
    "(let x = $1 let p = $0 * x let q = x * $2 in p + q)",
    "(let p = $0 * $1 in (p + $2) - p)"};

static const char *const poly_texts[] = {
    "(twice (\\$v -> $1) $0)", "($0 |> (\\$v -> $1) |> (\\$v -> $1))",
    "(iterate 3 (\\$v -> $1) $0)", "(((\\$v -> $1) >-> (\\$v -> $1)) $0)",
    "(foldl (\\$v _ -> $1) $0 (iota 2))"};

static const char *const range_texts[] = {
    "(let s = $0 % 100 in map $t.i64 (s..s + 2..<s + $n))",
    "(let s = $0 % 100 in map $t.i64 (s..s - 3..>s - $n))",
    "(let s = $0 % 100 in map $t.i64 (s..<s + $n))",
    "(let s = $0 % 100 in map $t.i64 (s...s + $n))"};

static const char *const slice_texts[] = {
    "(let a = $0 in a[i64.min (length a) $n:])", "(let a = $0 in a[:i64.min (length a) $n])",
    "(let a = $0 in a[::-1])", "(let a = $0 in a[::2])"};

static const char *const slice2_texts[] = {
    "(let a = $0 in a[::2, :])", "(let a = $0 in a[:, ::-1])", "(let a = $0 in a[::-1, ::2])",
    "(let a = $0 in a[:i64.min 1 (length a), 0:])"};

static const char *const stride_texts[] = {
    "a[i64.min i j:i64.max i j]", "a[i64.min i j:i64.max i j:2]",
    "a[i64.min i j:i64.max i j:3]",
    "if i == j then a[0:0] else a[i64.max i j - 1:i64.min i j - 1:-1]",
    "if i == j then a[0:0] else a[i64.max i j - 1:i64.min i j - 1:-2]"};

static const char *const uprows_texts[] = {
    "(let a = $0 let n = length a in if n == 0 then a else a with [$1 % n] = a[$2 % n])",
    "(let a = $0 let n = length a let h = $1 % (n + 1) in a with [0:h] = a[n - h:])",
    "(let a = $0 in a with [::2] = reverse a[::2])",
    ("(let a = $0 let n = length a in if n == 0 then a else let m = length a[0] in "
     "if m == 0 then a else let i = $1 in a with [:, $2 % m] = map (\\r -> r[i % m]) a)")};

static const char *const unzip_texts[] = {
    "(let ($w, $u) = unzip (map (\\$r -> ($1, $2)) $0) in $3)",
    "(let a = $0 let $w = map (\\$r -> $1) a let $u = map (\\$r -> $2) a in $3)"};

static const char *const product_texts[] = { // with as many as both have
    "(let f [n][k][l][m] (a: [n][k]$t) (b: [l][m]$t): [n][m]$t = let s = i64.min k l in "
    "map (\\x -> map (\\y -> reduce $p (map2 (*) (take s x) (take s y))) (transpose b)) a "
    "in f $0 $1)",
    "(let f [n][k][l][m] (a: [n][k]$t) (b: [m][l]$t): [n][m]$t = let s = i64.min k l in "
    "map (\\x -> map (\\y -> reduce $p (map2 (*) (take s x) (take s y))) b) a in f $0 $1)",
    "(let f [n][k][m] (a: [n][k]$t) (b: [k][m]$t): [n][m]$t = "
    "map (\\x -> map (\\y -> reduce $p (map2 (*) x y)) (transpose b)) a in f $0 $1)",
    "(let f [n][k][m] (a: [n][k]$t) (b: [m][k]$t): [n][m]$t = "
    "map (\\x -> map (\\y -> reduce $p (map2 (*) x y)) b) a in f $0 $1)"};

static const char *const eliminate_texts[] = { // the multiple as a product, or alone
    ("(let f [n][m] (b: [n][m]$t): [][]$t = let s = i64.min n m in "
     "loop a = tabulate_2d s s (\\i j -> b[i, j]) for k < s do "
     "let p = copy a[k] let c = a[k, k] in map2 (\\i r -> if i == k then p "
     "else map2 (\\x y -> x - r[k] * y * c) r p) (iota s) a in f $0)"),
    ("(let f [n][m] (b: [n][m]$t): [][]$t = let s = i64.min n m in "
     "loop a = tabulate_2d s s (\\i j -> b[i, j]) for k < s do "
     "let p = copy a[k] in map2 (\\i r -> if i == k then p "
     "else map2 (\\x y -> x - r[k] * y) r p) (iota s) a in f $0)")};

static const char *const flow_texts[] = { // by rank
    ("(let f [n] (a: [n]$t): [n]$t = (loop (b, c) = (a, map (\\x -> x $o x) a) "
     "for _k < i64.min n 5 do (tabulate n (\\i -> b[$a] $o c[$b]), "
     "tabulate n (\\i -> if i < $n || i > n - 1 - $n then b[i] "
     "else c[i - $n] $o b[i + $n]))).0 in f $0)"),
    ("(let f [n][m] (a: [n][m]$t): [n][m]$t = "
     "(loop (b, c) = (a, map (map (\\x -> x $o x)) a) "
     "for _k < i64.min n 5 do (tabulate_2d n m (\\i j -> b[$a, j] $o c[i, $c]), "
     "tabulate_2d n m (\\i j -> if i < $n || i > n - 1 - $n || j >= m - $n then b[i, j] "
     "else c[i - $n, j] $o b[i, j + $n]))).0 in f $0)")};

static const char *text_of(const GNode *node) {
    uint64_t bits = node->bits;
    switch ((int)node->kind) {
    case G_BIN: return binary_text(node);
    case G_UNARY: return unary_text(node);
    case G_FMA: return fma_texts[bits & 7];
    case G_POLY: return poly_texts[bits % 5];
    case G_REDUCE:
        return bits == 1   ? "(reduce_comm $p $0)"
               : bits == 2 ? "($m.run $0)"
                           : "(reduce $p $0)";
    case G_ANY: return bits ? "(all (\\$r -> $1) $0)" : "(any (\\$r -> $1) $0)";
    case G_IOTA: return "(map (\\i -> $t.i64 (i % 11)) (iota $n))";
    case G_RANGE: return range_texts[bits & 3];
    case G_MAP2:
        return bits ? "(let a = $0 let b = $1 let n = i64.min (length a) (length b) "
                      "in map2 (\\$v $w -> $2) (take n a) (take n b))"
                    : "(let a = $0 let b = $1 let n = i64.min (length a) (length b) "
                      "in map (\\($v, $w) -> $2) (zip (take n a) (take n b)))";
    case G_SCAN: return bits == 0 ? "(exscan $p $0)" : "(scan $p $0)";
    case G_SLICE: return slice_texts[bits & 3];
    case G_SLICE2: return slice2_texts[bits & 3];
    case G_UNZIP: return unzip_texts[bits & 1];
    case G_PRODUCT: return product_texts[bits & 3];
    case G_FLOW: return flow_texts[node->type.rank - 1];
    case G_ELIMINATE: return eliminate_texts[bits & 1];
    case G_UPROWS: return uprows_texts[bits & 3];
    default: return gen_info[node->kind].text;
    }
}

static void put_near(StrBuf *out, char i, char n, uint64_t bits) {
    static const char *const texts[NEAR_COUNT] = {
        [NEAR_MAX] = "i64.max 0 (I - C)",
        [NEAR_MIN] = "i64.min (N - 1) (I + C)",
        [NEAR_WRAP] = "(I + C) % N",
        [NEAR_WRAP_BACK] = "(I - C) % N",
        [NEAR_TEST_LOW] = "if I < C then I else I - C",
        [NEAR_TEST_HIGH] = "if I >= N - C then I else I + C",
        [NEAR_TEST_BOTH] = "if I == 0 || I == N - 1 then I else I + 2 - C",
        [NEAR_OUTSIDE] = "I + C - 2"};
    for (const char *c = texts[gen_near(bits)]; *c != '\0'; c++)
        strbuf_char(out, *c == 'I'   ? i
                         : *c == 'N' ? n
                         : *c == 'C' ? (char)('0' + gen_near_by(bits))
                                     : *c);
}

static void put_kid(StrBuf *out, const GNode *node) {
    if (node->kind == G_LIT) put_literal(out, node->type.elem, node->bits);
    else put(out, node, text_of(node));
}

// SLICE and RANGE keep the variant in the two lowest bits.
static unsigned small_number(const GNode *node) {
    if (node->kind == G_SLICE) return (unsigned)(node->bits >> 2);
    if (node->kind == G_STEPS || node->kind == G_FLOW)
        return (unsigned)(node->bits >> 16);
    if (node->kind == G_RANGE) return (unsigned)(node->bits >> 2) + 1;
    return (unsigned)node->bits;
}

static void put(StrBuf *out, const GNode *node, const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        if (*c != '$') {
            strbuf_char(out, *c);
            continue;
        }
        switch (*++c) {
        case 'r': {  // the first variable as a parameter that is an element of kid 0
            GType array = node->kids[0]->type;
            if (array.rank > 1) strbuf_printf(out, "(v%u: ", node->var[0]);
            else strbuf_printf(out, "v%u", node->var[0]);
            if (array.rank > 1) put_type(out, (GType){array.elem, array.rank - 1});
            if (array.rank > 1) strbuf_char(out, ')');
            break;
        }
        case 'v': strbuf_printf(out, "v%u", node->var[0]); break;
        case 'w': strbuf_printf(out, "v%u", node->var[1]); break;
        case 'u': strbuf_printf(out, "v%u", node->var[2]); break;
        case 'n': strbuf_printf(out, "%u", small_number(node)); break;
        case 't': strbuf_cstr(out, elem_name(node->type)); break;
        case 'T': put_type(out, node->type); break;
        case 'o': strbuf_cstr(out, infix[node->op]); break;
        case 'p':
            put_function(out, node->op, node->type);
            strbuf_char(out, ' ');
            put_neutral(out, node->op, node->type);
            break;
        case 'q': put_function(out, node->op, node->type); break;
        case 'z': put_neutral(out, node->op, node->type); break;
        case 'm': strbuf_printf(out, "fold_%d_%s", node->op, elem_name(node->type)); break;
        case 'a': put_near(out, 'i', 'n', node->bits); break;
        case 'b': put_near(out, 'i', 'n', node->bits >> 8); break;
        case 'c': put_near(out, 'j', 'm', node->bits >> 8); break;
        case 's': put(out, node, stride_texts[node->bits % 5]); break;
        case ':': put_type(out, node->kids[*++c - '0']->type); break;
        case '.': strbuf_cstr(out, elem_name(node->kids[*++c - '0']->type)); break;
        case '=': {
            GType array = node->kids[*++c - '0']->type;
            put_type(out, (GType){array.elem, array.rank - 1});
            break;
        }
        default: put_kid(out, node->kids[*c - '0']); break;
        }
    }
}

// ---- programs -----------------------------------------------------------------------

typedef struct Used {
    bool twice, modules;
    bool apart[SCALAR_COUNT];
    bool fold[GOP_COUNT][SCALAR_COUNT];
} Used;

static void find_used(const GNode *node, Used *used) {
    if (node->kind == G_APART || node->kind == G_APARTS) used->apart[node->type.elem] = true;
    if (node->kind == G_POLY) used->twice = true;
    if (node->kind == G_REDUCE && node->bits == 2)
        used->modules = used->fold[node->op][node->type.elem] = true;
    for (int i = 0; i < gen_info[node->kind].kids; i++) find_used(node->kids[i], used);
}

static void put_modules(StrBuf *out, const Used *used) {
    if (used->twice)
        strbuf_cstr(out, "def twice 't (f: t -> t) (x: t): t = f (f x)\n");
    for (int t = 0; t < SCALAR_COUNT; t++) {
        const char *name = scalar_info[t].name;
        if (!used->apart[t]) continue;
        strbuf_printf(out, "#[noinline]\ndef apart_%s (x: %s) (y: %s): %s = "
                           "if x < y then x + y else x\n", name, name, name, name);
        strbuf_printf(out, "#[noinline]\ndef aparts_%s [n] (a: [n]%s): [n]%s = "
                           "map2 apart_%s a (reverse a)\n", name, name, name, name);
    }
    if (!used->modules) return;
    strbuf_cstr(out, "module type operator = {type t val op: t -> t -> t val ne: t}\n"
                     "module fold (m: operator) = "
                     "{def run [n] (a: [n]m.t): m.t = reduce m.op m.ne a}\n");
    for (int op = 0; op < GOP_COUNT; op++) {
        for (int t = 0; t < SCALAR_COUNT; t++) {
            if (!used->fold[op][t]) continue;
            GType type = {(ScalarType)t, 0};
            const char *name = scalar_info[t].name;
            strbuf_printf(out, "module fold_%d_%s = fold {type t = %s ", op, name, name);
            strbuf_printf(out, "def op: %s -> %s -> %s = ", name, name, name);
            put_function(out, (GOp)op, type);
            strbuf_printf(out, " def ne: %s = ", name);
            put_neutral(out, (GOp)op, type);
            strbuf_cstr(out, "}\n");
        }
    }
}

void gen_print(const GProgram *program, StrBuf *out) {
    Used used = {0};
    find_used(program->body, &used);
    strbuf_printf(out, "-- seed %llu\n", (unsigned long long)program->seed);
    put_modules(out, &used);
    strbuf_cstr(out, "def main");
    for (uint32_t i = 0; i < GEN_INPUTS; i++) {
        strbuf_printf(out, " (v%u: ", program->inputs[i].id);
        put_type(out, program->inputs[i].type);
        strbuf_char(out, ')');
    }
    strbuf_cstr(out, " =\n  ");
    put_kid(out, program->body);
    strbuf_char(out, '\n');
}
