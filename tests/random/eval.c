// SPDX-License-Identifier: Apache-2.0
//
// The generator's own evaluation of its programs: plain, strict, and sharing no code
// with Weft. Integers and booleans only; computing with floats clears `exact`.
#include "gen.h"

enum { MOST_VARS = 4096, MOST_STEPS = 2000000 };

typedef struct Run {
    Arena *arena;
    GValue vars[MOST_VARS];
    uint64_t steps;
    bool failed;   // an error that the program must raise, if the value is needed
    bool inexact;  // floats computed, shapes of nothing looked at, or too long
} Run;

static GValue eval(Run *r, const GNode *node);

static int64_t count(GValue v) {
    int64_t n = 1;
    for (uint32_t d = 0; d < v.type.rank; d++) n *= v.shape[d];
    return n;
}

static int64_t row_count(GValue v) {
    int64_t n = 1;
    for (uint32_t d = 1; d < v.type.rank; d++) n *= v.shape[d];
    return n;
}

static GValue scalar(Run *r, ScalarType t, uint64_t bits) {
    GValue v = {.type = {t, 0}, .data = arena_array(r->arena, uint64_t, 1)};
    v.data[0] = bits;
    return v;
}

static GValue array(Run *r, GType t, const int64_t *shape) {
    GValue v = {.type = t};
    for (uint32_t d = 0; d < t.rank; d++) v.shape[d] = shape[d];
    int64_t n = count(v);
    r->steps += (uint64_t)n;
    if (n > MOST_STEPS) {
        r->inexact = true;
        v.shape[0] = 0;
        n = 0;
    }
    v.data = arena_array(r->arena, uint64_t, (size_t)n + 1);
    return v;
}

static GValue row(Run *r, GValue v, int64_t i) {
    GValue out = {.type = {v.type.elem, v.type.rank - 1}};
    for (uint32_t d = 1; d < v.type.rank; d++) out.shape[d - 1] = v.shape[d];
    out.data = v.data + i * row_count(v);
    (void)r;
    return out;
}

// Stacks n rows; they must agree in shape, or the program fails.
static GValue stack(Run *r, GType t, const GValue *rows, int64_t n) {
    int64_t shape[3] = {n, 0, 0};
    if (n > 0)
        for (uint32_t d = 1; d < t.rank; d++) shape[d] = rows[0].shape[d - 1];
    GValue out = array(r, t, shape);
    int64_t size = row_count(out);
    for (int64_t i = 0; i < n && out.shape[0] == n; i++) {
        for (uint32_t d = 1; d < t.rank; d++)
            if (rows[i].shape[d - 1] != shape[d]) r->failed = true;
        if (r->failed) return array(r, t, (int64_t[3]){0});
        for (int64_t k = 0; k < size; k++) out.data[i * size + k] = rows[i].data[k];
    }
    return out;
}

static uint64_t width_mask(ScalarType t) {
    return t == SCALAR_BOOL ? 1 : ~0ull >> (64 - 8u * scalar_info[t].bytes);
}

static __int128 number(ScalarType t, uint64_t bits) {
    if (!scalar_is_signed(t)) return (__int128)bits;
    uint64_t sign = 1ull << (8u * scalar_info[t].bytes - 1);
    return (__int128)(int64_t)((bits ^ sign) - sign);
}

static uint64_t binary(Run *r, GOp op, ScalarType t, uint64_t xb, uint64_t yb) {
    if (scalar_is_float(t)) {
        r->inexact = true;
        return 0;
    }
    __int128 x = number(t, xb), y = number(t, yb), q = 0;
    unsigned width = 8u * scalar_info[t].bytes;
    switch (op) {
    case GOP_ADD: q = x + y; break;
    case GOP_SUB: q = x - y; break;
    case GOP_MUL: return (xb * yb) & width_mask(t);
    case GOP_AND: return xb & yb;
    case GOP_OR: return xb | yb;
    case GOP_XOR: return xb ^ yb;
    case GOP_MIN: q = x < y ? x : y; break;
    case GOP_MAX: q = x > y ? x : y; break;
    case GOP_DIV: case GOP_MOD: case GOP_QUOT: case GOP_REM: {
        if (y == 0) {
            r->failed = true;
            return 0;
        }
        __int128 quotient = x / y, rest = x % y;
        bool floor = op == GOP_DIV || op == GOP_MOD;
        if (floor && rest != 0 && (rest < 0) != (y < 0)) quotient--, rest += y;
        q = op == GOP_DIV || op == GOP_QUOT ? quotient : rest;
        break;
    }
    case GOP_SHL: return yb >= width ? 0 : (xb << yb) & width_mask(t);
    case GOP_SHR:
        if (yb >= width) q = x < 0 ? -1 : 0;
        else q = x >> yb;
        break;
    case GOP_LAST: return yb == 0 ? xb : yb;
    case GOP_EQ: return x == y;
    case GOP_NE: return x != y;
    case GOP_LT: return x < y;
    case GOP_LE: return x <= y;
    case GOP_COUNT: break;
    }
    return (uint64_t)q & width_mask(t);
}

static uint64_t neutral(GOp op, ScalarType t) {
    uint64_t sign = 1ull << (8u * scalar_info[t].bytes - 1);
    switch (op) {
    case GOP_MUL: return 1;
    case GOP_AND: return width_mask(t);
    case GOP_MIN: return scalar_is_signed(t) ? sign - 1 : width_mask(t);
    case GOP_MAX: return scalar_is_signed(t) ? sign : 0;
    default: return 0;
    }
}

static GValue eval_with(Run *r, const GNode *node, uint32_t var, GValue value) {
    r->vars[var] = value;
    return eval(r, node);
}

static int64_t modulo(int64_t i, int64_t n) {
    int64_t rest = i % n;
    return rest < 0 ? rest + n : rest;
}

static GValue select_rows(Run *r, GValue a, const int64_t *from, int64_t n) {
    int64_t shape[3] = {n, a.shape[1], a.shape[2]}, size = row_count(a);
    GValue out = array(r, a.type, shape);
    for (int64_t i = 0; i < out.shape[0]; i++)
        for (int64_t k = 0; k < size; k++)
            out.data[i * size + k] = a.data[from[i] * size + k];
    return out;
}

static GValue eval_select(Run *r, const GNode *node) {
    GValue a = eval(r, node->kids[0]);
    int64_t n = a.shape[0], kept = 0;
    int64_t *from = arena_array(r->arena, int64_t, (size_t)(2 * n) + 1);
    switch (node->kind) {
    case G_REVERSE:
        for (int64_t i = n; i-- > 0;) from[kept++] = i;
        break;
    case G_ROTATE: {
        int64_t by = (int64_t)eval(r, node->kids[1]).data[0];
        for (int64_t i = 0; i < n; i++) from[kept++] = (i + modulo(by, n)) % n;
        break;
    }
    case G_SLICE: {
        int64_t start = (int64_t)(node->bits >> 2) < n ? (int64_t)(node->bits >> 2) : n;
        switch (node->bits & 3) {
        case 0: for (int64_t i = start; i < n; i++) from[kept++] = i; break;
        case 1: for (int64_t i = 0; i < start; i++) from[kept++] = i; break;
        case 2: for (int64_t i = n; i-- > 0;) from[kept++] = i; break;
        default: for (int64_t i = 0; i < n; i += 2) from[kept++] = i; break;
        }
        break;
    }
    default: {  // FILTER, PARTITION (printed as the others, then those that pass)
        int64_t *passed = arena_array(r->arena, int64_t, (size_t)n + 1), passes = 0;
        for (int64_t i = 0; i < n; i++) {
            bool keep = eval_with(r, node->kids[1], node->var, row(r, a, i)).data[0];
            if (keep) passed[passes++] = i;
            else if (node->kind == G_PARTITION) from[kept++] = i;
        }
        for (int64_t i = 0; i < passes; i++) from[kept++] = passed[i];
        break;
    }
    }
    return select_rows(r, a, from, kept);
}

static GValue eval_map(Run *r, const GNode *node) {
    GValue a = {0}, b = {0};
    const GNode *body = node->kids[gen_kids[node->kind] - 1];
    int64_t n = (int64_t)node->bits;
    if (node->kind != G_TABULATE) {
        a = eval(r, node->kids[0]);
        n = a.shape[0];
    }
    if (node->kind == G_MAP2) {
        b = eval(r, node->kids[1]);
        if (b.shape[0] < n) n = b.shape[0];
    }
    GValue *rows = arena_array(r->arena, GValue, (size_t)n + 1);
    for (int64_t i = 0; i < n && !r->failed; i++) {
        r->vars[node->var] = node->kind == G_TABULATE
                                 ? scalar(r, SCALAR_I64, (uint64_t)i)
                                 : row(r, a, i);
        if (node->kind == G_MAP2) r->vars[node->var2] = row(r, b, i);
        rows[i] = eval(r, body);
    }
    if (r->failed) return array(r, node->type, (int64_t[3]){0});
    return stack(r, node->type, rows, n);
}

static GValue eval_combine(Run *r, const GNode *node) {
    ScalarType t = node->type.elem;
    GValue a = eval(r, node->kids[0]);
    if (scalar_is_float(t) && node->kind != G_SCATTER) r->inexact = true;
    if (node->kind == G_REDUCE || node->kind == G_SCAN) {
        GValue out = array(r, (GType){t, 1}, a.shape);
        uint64_t acc = neutral(node->op, t);
        for (int64_t i = 0; i < out.shape[0]; i++)
            out.data[i] = acc = binary(r, node->op, t, acc, a.data[i]);
        return node->kind == G_SCAN ? out : scalar(r, t, acc);
    }
    GValue is = eval(r, node->kids[1]), vs = eval(r, node->kids[2]);
    GValue out = array(r, a.type, a.shape);
    for (int64_t i = 0; i < out.shape[0]; i++) out.data[i] = a.data[i];
    for (int64_t k = 0; k < is.shape[0] && k < vs.shape[0]; k++) {
        uint64_t i = is.data[k];
        if (i >= (uint64_t)out.shape[0]) continue;
        out.data[i] = node->kind == G_SCATTER ? vs.data[k]
                                              : binary(r, node->op, t, out.data[i], vs.data[k]);
    }
    return out;
}

static GValue eval_shape(Run *r, const GNode *node) {
    GValue a = eval(r, node->kids[0]);
    switch (node->kind) {
    case G_CONCAT: {
        GValue b = eval(r, node->kids[1]);
        GValue out = array(r, a.type, (int64_t[3]){a.shape[0] + b.shape[0], 0, 0});
        for (int64_t i = 0; i < out.shape[0]; i++)
            out.data[i] = i < a.shape[0] ? a.data[i] : b.data[i - a.shape[0]];
        return out;
    }
    case G_FLATTEN: {
        GValue out = a;
        out.type.rank = 1;
        out.shape[0] = count(a);
        return out;
    }
    case G_TRANSPOSE: {
        if (a.shape[0] == 0) r->inexact = true;  // rows of nothing have any size
        GValue out = array(r, a.type, (int64_t[3]){a.shape[1], a.shape[0], a.shape[2]});
        int64_t n = a.shape[0], m = a.shape[1], size = a.type.rank == 3 ? a.shape[2] : 1;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++)
                for (int64_t k = 0; k < size; k++)
                    out.data[(j * n + i) * size + k] = a.data[(i * m + j) * size + k];
        return out;
    }
    case G_RESIZE: {
        GValue d = eval(r, node->kids[1]);
        int64_t n = (int64_t)node->bits;
        GValue *rows = arena_array(r->arena, GValue, (size_t)n + 1);
        for (int64_t i = 0; i < n; i++)
            rows[i] = a.shape[0] == 0 ? d : row(r, a, i % a.shape[0]);
        return stack(r, node->type, rows, n);
    }
    default: {  // UPDATE
        if (a.shape[0] == 0) return a;
        int64_t i = modulo((int64_t)eval(r, node->kids[1]).data[0], a.shape[0]);
        uint64_t x = eval(r, node->kids[2]).data[0];
        GValue out = array(r, a.type, a.shape);
        for (int64_t k = 0; k < out.shape[0]; k++) out.data[k] = a.data[k];
        if (out.shape[0] > i) out.data[i] = x;
        return out;
    }
    }
}

static GValue eval_loop(Run *r, const GNode *node) {
    GValue state = eval(r, node->kids[0]), over = {0};
    int64_t n = (int64_t)node->bits;
    if (node->kind == G_FORIN) {
        over = eval(r, node->kids[1]);
        n = over.shape[0];
    }
    for (int64_t i = 0; i < n && !r->failed; i++) {
        r->vars[node->var] = state;
        if (node->kind == G_LOOP) r->vars[node->var2] = scalar(r, SCALAR_I64, (uint64_t)i);
        if (node->kind == G_FORIN) r->vars[node->var2] = row(r, over, i);
        if (node->kind == G_WHILE && !eval(r, node->kids[1]).data[0]) break;
        state = eval(r, node->kids[node->kind == G_LOOP ? 1 : 2]);
    }
    return state;
}

static GValue eval_scalar(Run *r, const GNode *node) {
    ScalarType t = node->type.elem;
    GValue x = eval(r, node->kids[0]);
    if (scalar_is_float(t) || scalar_is_float(x.type.elem)) {
        r->inexact = true;
        return scalar(r, t, 0);
    }
    switch (node->kind) {
    case G_NOT: return scalar(r, t, !x.data[0]);
    case G_NEG: return scalar(r, t, (0 - x.data[0]) & width_mask(t));
    case G_ABS: {
        __int128 value = number(t, x.data[0]);
        return scalar(r, t, (uint64_t)(value < 0 ? -value : value) & width_mask(t));
    }
    case G_CONV: {
        if (t == SCALAR_BOOL) return scalar(r, t, x.data[0] != 0);
        return scalar(r, t, (uint64_t)number(x.type.elem, x.data[0]) & width_mask(t));
    }
    default:
        return scalar(r, t, binary(r, node->op, x.type.elem, x.data[0],
                                   eval(r, node->kids[1]).data[0]));
    }
}

static GValue eval_binary(Run *r, const GNode *node) {
    bool divides = node->op >= GOP_DIV && node->op <= GOP_REM;
    if (!divides || node->bits == 0) return eval_scalar(r, node);
    GValue x = eval(r, node->kids[0]), y = eval(r, node->kids[1]);
    uint64_t divisor = y.data[0] == 0 ? 1 : y.data[0];
    return scalar(r, node->type.elem,
                  binary(r, node->op, node->type.elem, x.data[0], divisor));
}

static GValue eval(Run *r, const GNode *node) {
    if (++r->steps > MOST_STEPS) r->inexact = true;
    if (r->inexact || r->failed) {
        if (node->type.rank == 0) return scalar(r, node->type.elem, 0);
        return array(r, node->type, (int64_t[3]){0});
    }
    switch (node->kind) {
    case G_LIT: return scalar(r, node->type.elem, node->bits);
    case G_VAR: return r->vars[node->var];
    case G_BIN: return eval_binary(r, node);
    case G_CMP: case G_NOT: case G_NEG: case G_ABS: case G_CONV:
        return eval_scalar(r, node);
    case G_AND: return eval(r, node->kids[0]).data[0] ? eval(r, node->kids[1])
                                                      : scalar(r, SCALAR_BOOL, 0);
    case G_OR: return eval(r, node->kids[0]).data[0] ? scalar(r, SCALAR_BOOL, 1)
                                                     : eval(r, node->kids[1]);
    case G_IF: return eval(r, node->kids[eval(r, node->kids[0]).data[0] ? 1 : 2]);
    case G_LET: case G_CALL:
        return eval_with(r, node->kids[1], node->var, eval(r, node->kids[0]));
    case G_PAIR: {
        GValue a = eval(r, node->kids[0]), b = eval(r, node->kids[1]);
        r->vars[node->var] = a;
        return eval_with(r, node->kids[2], node->var2, b);
    }
    case G_AT: {
        GValue a = eval(r, node->kids[0]);
        if (a.shape[0] == 0) return eval(r, node->kids[2]);
        int64_t i = (int64_t)eval(r, node->kids[1]).data[0];
        return row(r, a, modulo(i, a.shape[0]));
    }
    case G_LENGTH: return scalar(r, SCALAR_I64, (uint64_t)eval(r, node->kids[0]).shape[0]);
    case G_LOOP: case G_WHILE: case G_FORIN: return eval_loop(r, node);
    case G_MATCH: {
        int64_t x = (int64_t)number(SCALAR_I32, eval(r, node->kids[0]).data[0]);
        return eval(r, node->kids[x == 0 ? 1 : x == -1 ? 2 : 3]);
    }
    case G_IOTA: {
        GValue out = array(r, node->type, (int64_t[3]){(int64_t)node->bits, 0, 0});
        for (int64_t i = 0; i < out.shape[0]; i++) out.data[i] = (uint64_t)i;
        return out;
    }
    case G_ARRAY: {
        GValue rows[3];
        for (int i = 0; i < 3; i++) rows[i] = eval(r, node->kids[i]);
        return stack(r, node->type, rows, 3);
    }
    case G_REPLICATE: {
        GValue x = eval(r, node->kids[0]), rows[8];
        for (uint64_t i = 0; i < node->bits; i++) rows[i] = x;
        GValue out = stack(r, node->type, rows, (int64_t)node->bits);
        for (uint32_t d = 1; d < out.type.rank; d++) out.shape[d] = x.shape[d - 1];
        return out;
    }
    case G_MAP: case G_MAP2: case G_TABULATE: return eval_map(r, node);
    case G_REDUCE: case G_SCAN: case G_SCATTER: case G_HIST: return eval_combine(r, node);
    case G_FILTER: case G_PARTITION: case G_REVERSE: case G_SLICE: case G_ROTATE:
        return eval_select(r, node);
    case G_CONCAT: case G_TRANSPOSE: case G_FLATTEN: case G_UPDATE: case G_RESIZE:
        return eval_shape(r, node);
    case G_COUNT: break;
    }
    return scalar(r, node->type.elem, 0);
}

GValue gen_input(Arena *arena, const GProgram *program, uint32_t which) {
    GVar input = program->inputs[which];
    GValue v = {.type = input.type};
    uint64_t state = program->seed * 31 + which + 1;
    int64_t n = 1;
    for (uint32_t d = 0; d < input.type.rank; d++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        n *= v.shape[d] = (int64_t)((state >> 40) % 6);
    }
    v.data = arena_array(arena, uint64_t, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = state >> 33;
        switch (input.type.elem) {
        case SCALAR_BOOL: bits &= 1; break;
        case SCALAR_F16: bits = 0x3800 + bits % 0x800; break;     // 0.5 to 2
        case SCALAR_F32: bits = 0x3f000000 + bits % 0x1000000; break;
        case SCALAR_F64: bits = 0x3fe0000000000000 + (bits << 22) % 0x20000000000000; break;
        default: bits = (i % 3 == 0 ? bits : bits % 8) & width_mask(input.type.elem);
        }
        v.data[i] = bits;
    }
    return v;
}

bool gen_eval(Arena *arena, const GProgram *program, GValue *result_out,
              bool *exact_out) {
    Run *r = arena_new(arena, Run);
    r->arena = arena;
    for (uint32_t i = 0; i < GEN_INPUTS; i++)
        r->vars[program->inputs[i].id] = gen_input(arena, program, i);
    *result_out = eval(r, program->body);
    *exact_out = !r->inexact;
    return !r->failed;
}
