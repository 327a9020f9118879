// SPDX-License-Identifier: Apache-2.0
//
// The generator's own evaluation: arrays made, mapped, moved and updated.
#include "eval.h"

// ---- moved --------------------------------------------------------------------------

static GValue select_rows(Run *r, GValue a, const int64_t *from, int64_t n) {
    int64_t shape[3] = {n, a.shape[1], a.shape[2]}, size = eval_row_count(a);
    GValue out = eval_new_array(r, a.type, shape);
    for (int64_t i = 0; i < out.shape[0]; i++)
        for (int64_t k = 0; k < size; k++)
            out.data[i * size + k] = a.data[from[i] * size + k];
    return out;
}

// Whether x may come before y. Of NaN and signed zeros min knows the order, too.
static bool may_precede(Run *r, ScalarType t, uint64_t x, uint64_t y) {
    if (t == SCALAR_BOOL) return x <= y;
    return eval_op(r, GOP_MIN, t, x, y) == x;
}

// The rows of a in the order of their keys.
static GValue sorted(Run *r, GValue a, GValue keys) {
    int64_t n = a.shape[0] < keys.shape[0] ? a.shape[0] : keys.shape[0];
    if (n == 0 && a.type.rank > 1) r->inexact = true;  // rows of nothing have any size
    int64_t *from = arena_array(r->arena, int64_t, (size_t)n + 1);
    for (int64_t i = 0; i < n && !r->inexact; i++) {
        int64_t at = i;
        if ((r->steps += (uint64_t)i) > MOST_STEPS) r->inexact = true;
        for (; at > 0; at--) {
            uint64_t before = keys.data[from[at - 1]];
            if (may_precede(r, keys.type.elem, before, keys.data[i])) break;
            from[at] = from[at - 1];
        }
        from[at] = i;
    }
    return r->inexact ? a : select_rows(r, a, from, n);
}

static GValue stretch(Run *r, GValue a, int64_t start, int64_t end, int64_t stride) {
    int64_t *from = arena_array(r->arena, int64_t, (size_t)a.shape[0] + 1), n = 0;
    for (int64_t i = start; stride > 0 ? i < end : i > end; i += stride) from[n++] = i;
    return select_rows(r, a, from, n);
}

static GValue transposed(Run *r, GValue a) {
    if (a.shape[0] == 0) r->inexact = true;  // rows of nothing have any size
    int64_t shape[3] = {a.shape[1], a.shape[0], a.shape[2]};
    GValue out = eval_new_array(r, a.type, shape);
    int64_t n = a.shape[0], m = a.shape[1], size = a.type.rank == 3 ? a.shape[2] : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            for (int64_t k = 0; k < size; k++)
                out.data[(j * n + i) * size + k] = a.data[(i * m + j) * size + k];
    return out;
}

// ---- neighbours ---------------------------------------------------------------------

int64_t eval_near_index(Run *r, int64_t i, int64_t n, uint64_t bits) {
    int64_t c = gen_near_by(bits), at = i;
    switch (gen_near(bits)) {
    case NEAR_MAX: return i < c ? 0 : i - c;
    case NEAR_MIN: return i + c < n ? i + c : n - 1;
    case NEAR_WRAP: return eval_modulo(i + c, n);
    case NEAR_WRAP_BACK: return eval_modulo(i - c, n);
    case NEAR_TEST_LOW: return i < c ? i : i - c;
    case NEAR_TEST_HIGH: return i >= n - c ? i : i + c;
    case NEAR_TEST_BOTH: return i == 0 || i == n - 1 ? i : i + 2 - c;
    case NEAR_OUTSIDE: at = i + c - 2; break;
    case NEAR_COUNT: break;
    }
    if (at >= 0 && at < n) return at;
    eval_fail(r);
    return 0;
}

static GValue eval_near(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], *from = arena_array(r->arena, int64_t, (size_t)n + 1);
    for (int64_t i = 0; i < n && !r->failed && !r->inexact; i++)
        from[i] = eval_near_index(r, i, n, i % 2 == 0 ? node->bits : node->bits >> 8);
    return r->failed || r->inexact ? a : select_rows(r, a, from, n);
}

static GValue eval_near2(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], m = a.shape[1];
    if (n == 0) r->inexact = true; // rows of nothing have any size
    if (r->failed || r->inexact) return a;
    GValue out = eval_new_array(r, a.type, a.shape);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m && !r->failed; j++) {
            int64_t row = eval_near_index(r, i, n, node->bits);
            int64_t column = eval_near_index(r, j, m, node->bits >> 8);
            out.data[i * m + j] = a.data[row * m + column];
        }
    return out;
}

static GValue eval_moved(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], i, j, low, high, start = (int64_t)(node->bits >> 2);
    switch ((int)node->kind) {
    case G_REVERSE: return stretch(r, a, n - 1, -1, -1);
    case G_SORT: return sorted(r, a, a);
    case G_SORTBY: return sorted(r, a, eval_kid(r, node, 1));
    case G_SLICE:
        if (start > n) start = n;
        switch (node->bits & 3) {
        case 0: return stretch(r, a, start, n, 1);
        case 1: return stretch(r, a, 0, start, 1);
        case 2: return stretch(r, a, n - 1, -1, -1);
        default: return stretch(r, a, 0, n, 2);
        }
    case G_SLICE2:
        if ((node->bits & 3) == 0) return stretch(r, a, 0, n, 2);
        if ((node->bits & 3) == 3) return stretch(r, a, 0, n < 1 ? n : 1, 1);
        if (n == 0) return a;
        a = transposed(r, a);
        if ((node->bits & 3) == 1) a = stretch(r, a, a.shape[0] - 1, -1, -1);
        else a = stretch(r, a, 0, a.shape[0], 2);
        if (a.shape[0] == 0) {  // [n][0] again
            a.shape[0] = n, a.shape[1] = 0;
            return (node->bits & 3) == 1 ? a : stretch(r, a, n - 1, -1, -1);
        }
        a = transposed(r, a);
        return (node->bits & 3) == 1 ? a : stretch(r, a, n - 1, -1, -1);
    case G_STRIDE:
        i = eval_modulo((int64_t)eval_kid(r, node, 1).data[0], n + 1);
        j = eval_modulo((int64_t)eval_kid(r, node, 2).data[0], n + 1);
        low = i < j ? i : j, high = i < j ? j : i;
        if (node->bits % 5 < 3) return stretch(r, a, low, high, 1 + (int64_t)(node->bits % 5));
        return stretch(r, a, high - 1, low - 1, node->bits % 5 == 3 ? -1 : -2);
    case G_CUT:
        i = (int64_t)eval_kid(r, node, 1).data[0];
        j = (int64_t)eval_kid(r, node, 2).data[0];
        if (r->failed || r->inexact) return a;
        if (i >= 0 && i <= j && j <= n) return stretch(r, a, i, j, 1);
        if (i == j) r->inexact = true;  // an empty slice may lie anywhere
        else eval_fail(r);
        return a;
    case G_ROTATE: {
        i = (int64_t)eval_kid(r, node, 1).data[0];
        int64_t *from = arena_array(r->arena, int64_t, (size_t)n + 1);
        for (int64_t k = 0; k < n; k++) from[k] = (k + eval_modulo(i, n)) % n;
        return select_rows(r, a, from, n);
    }
    case G_TRANSPOSE: return transposed(r, a);
    case G_FLATTEN:
        a.shape[0] = a.shape[0] * a.shape[1];
        a.type.rank = 1;
        return a;
    case G_UNFLATTEN:
        a.type.rank = 2;
        a.shape[0] = n / 2, a.shape[1] = 2;
        return a;
    default:  // CAST
        if (n != (int64_t)node->bits) eval_fail(r);
        return a;
    }
}

static GValue eval_concat(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0), b = eval_kid(r, node, 1);
    int64_t n = a.shape[0], m = b.shape[0], size = eval_row_count(n > 0 ? a : b);
    if (a.type.rank > 1 && (n == 0 || m == 0)) r->inexact = true;
    if (a.type.rank > 1 && a.shape[1] != b.shape[1]) eval_fail(r);
    if (r->failed || r->inexact) return a;
    GValue out = eval_new_array(r, a.type, (int64_t[3]){n + m, a.shape[1], a.shape[2]});
    for (int64_t k = 0; k < out.shape[0] * size; k++)
        out.data[k] = k < n * size ? a.data[k] : b.data[k - n * size];
    return out;
}

static GValue eval_filter(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], kept = 0, passes = 0;
    int64_t *from = arena_array(r->arena, int64_t, (size_t)n + 1);
    int64_t *passed = arena_array(r->arena, int64_t, (size_t)n + 1);
    for (int64_t i = 0; i < n && !r->failed && !r->inexact; i++) {
        r->vars[node->var[0]] = eval_row(a, i);
        if (eval_kid(r, node, 1).data[0]) passed[passes++] = i;
        else if (node->kind == G_PARTITION) from[kept++] = i;  // those come first
    }
    for (int64_t i = 0; i < passes; i++) from[kept++] = passed[i];
    return select_rows(r, a, from, kept);
}

static GValue eval_keeps(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    GValue out = eval_new_array(r, node->type, (int64_t[3]){a.shape[0], 0, 0});
    int64_t kept = 0;
    for (int64_t i = 0; i < a.shape[0] && !r->failed && !r->inexact; i++) {
        r->vars[node->var[0]] = eval_row(a, i);
        out.data[kept] = eval_kid(r, node, 2).data[0];
        kept += eval_kid(r, node, 1).data[0] != 0;
    }
    out.shape[0] = kept;
    return out;
}

// ---- made ---------------------------------------------------------------------------

static GValue eval_map(Run *r, const GNode *node) {
    GValue a = {0}, b = {0};
    bool two = node->kind == G_MAP2 || node->kind == G_ZIPF;
    int body = node->kind == G_TABULATE ? 0 : two ? 2 : 1;
    int64_t n = (int64_t)node->bits;
    if (node->kind != G_TABULATE) {
        a = eval_kid(r, node, 0);
        n = a.shape[0];
    }
    if (two) b = eval_kid(r, node, 1);
    if (node->kind == G_MAP2 && b.shape[0] < n) n = b.shape[0];
    if (node->kind == G_ZIPF && b.shape[0] != n) {
        r->strict = false;  // where the second array is not used, nor is its size
        eval_fail(r);
    }
    GValue *rows = arena_array(r->arena, GValue, (size_t)n + 1);
    for (int64_t i = 0; i < n && !r->failed && !r->inexact; i++) {
        r->vars[node->var[0]] = node->kind == G_TABULATE
                                    ? eval_new_scalar(r, SCALAR_I64, (uint64_t)i)
                                    : eval_row(a, i);
        if (two) r->vars[node->var[1]] = eval_row(b, i);
        rows[i] = eval_kid(r, node, body);
    }
    if (r->failed || r->inexact) return a;
    return eval_stack(r, node->type, rows, n);
}

static GValue eval_summap(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0];
    GValue *rows = arena_array(r->arena, GValue, (size_t)n + 1);
    for (int64_t i = 0; i < n && !r->failed && !r->inexact; i++) {
        r->vars[node->var[0]] = eval_row(a, i);
        int pick = eval_kid(r, node, 1).data[0] ? 0 : 1;
        r->vars[node->var[1 + pick]] = eval_kid(r, node, 2 + pick);
        rows[i] = eval_kid(r, node, 4 + pick);
    }
    if (r->failed || r->inexact) return a;
    return eval_stack(r, node->type, rows, n);
}

// TABULATE2; SPACE: in a row.
static GValue eval_tabulate2(Run *r, const GNode *node) {
    bool in_a_row = node->kind == G_SPACE;
    int64_t height = in_a_row ? 2 : (int64_t)node->bits;
    GValue out = eval_new_array(
        r, node->type, in_a_row ? (int64_t[3]){6, 0, 0} : (int64_t[3]){height, 3, 0});
    for (int64_t i = 0; i < height; i++) {
        for (int64_t j = 0; j < 3; j++) {
            r->vars[node->var[0]] = eval_new_scalar(r, SCALAR_I64, (uint64_t)i);
            r->vars[node->var[1]] = eval_new_scalar(r, SCALAR_I64, (uint64_t)j);
            out.data[3 * i + j] = eval_kid(r, node, 0).data[0];
        }
    }
    return out;
}

static GValue eval_made(Run *r, const GNode *node) {
    enum { MOST_ROWS = 128 };
    GValue rows[MOST_ROWS] = {{.data = NULL}}, a;
    int64_t n = (int64_t)node->bits;
    ScalarType t = node->type.elem;
    switch ((int)node->kind) {
    case G_IOTA:
        a = eval_new_array(r, node->type, (int64_t[3]){n, 0, 0});
        for (int64_t i = 0; i < a.shape[0]; i++) {
            if (scalar_is_float(t)) eval_from_double(t, (double)(i % 11), &a.data[i]);
            else a.data[i] = (uint64_t)(i % 11);
        }
        return a;
    case G_RANGE: {
        static const int64_t steps[] = {2, -3, 1, 1};
        int64_t step = steps[node->bits & 3], size = (n >> 2) + 1 + ((n & 3) == 3);
        int64_t start = eval_modulo((int64_t)eval_kid(r, node, 0).data[0], 100), k = 0;
        a = eval_new_array(r, node->type, (int64_t[3]){size, 0, 0});
        for (int64_t i = 0; (step < 0 ? -i : i) < size; i += step)
            a.data[k++] = (uint64_t)(start + i) & eval_mask(t);
        a.shape[0] = k;
        return a;
    }
    case G_ARRAY:
        for (int i = 0; i < 3; i++) rows[i] = eval_kid(r, node, i);
        return eval_stack(r, node->type, rows, 3);
    case G_REPLICATE:
        a = eval_kid(r, node, 0);
        for (int64_t i = 0; i < n; i++) rows[i] = a;
        GValue out = eval_stack(r, node->type, rows, n);
        for (uint32_t d = 1; d < out.type.rank; d++) out.shape[d] = a.shape[d - 1];
        return out;
    default: {  // RESIZE
        a = eval_kid(r, node, 0);
        GValue otherwise = eval_kid(r, node, 1);
        if (r->failed || r->inexact) return a;
        for (int64_t i = 0; i < n; i++)
            rows[i] = a.shape[0] == 0 ? otherwise : eval_row(a, i % a.shape[0]);
        return eval_stack(r, node->type, rows, n);
    }
    }
}

// ---- updated ------------------------------------------------------------------------

static GValue copied(Run *r, GValue a) {
    int64_t n = a.shape[0];
    GValue out = eval_new_array(r, a.type, a.shape);
    for (int64_t k = 0; k < n * eval_row_count(a) && out.shape[0] == n; k++)
        out.data[k] = a.data[k];
    return out;
}

static void set_row(GValue to, int64_t i, GValue from, int64_t j) {
    int64_t size = eval_row_count(to);
    for (int64_t k = 0; k < size; k++) to.data[i * size + k] = from.data[j * size + k];
}

static GValue eval_uploop(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    for (int64_t i = 0; i < (int64_t)node->bits && a.shape[0] > 0; i++) {
        r->vars[node->var[0]] = a;
        r->vars[node->var[1]] = eval_new_scalar(r, SCALAR_I64, (uint64_t)i);
        int64_t at = eval_modulo((int64_t)eval_kid(r, node, 1).data[0], a.shape[0]);
        GValue x = eval_kid(r, node, 2);
        if (r->failed || r->inexact) return a;
        a = copied(r, a);
        if (a.shape[0] > at) a.data[at] = x.data[0];
    }
    return a;
}

static GValue eval_uprows(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], i, j;
    GValue out = copied(r, a);
    switch (node->bits & 3) {
    case 0:
        if (n == 0) return a;
        i = eval_modulo((int64_t)eval_kid(r, node, 1).data[0], n);
        j = eval_modulo((int64_t)eval_kid(r, node, 2).data[0], n);
        if (!r->failed && !r->inexact) set_row(out, i, a, j);
        return out;
    case 1:
        i = eval_modulo((int64_t)eval_kid(r, node, 1).data[0], n + 1);
        if (r->failed || r->inexact) return a;
        for (j = 0; j < i; j++) set_row(out, j, a, n - i + j);
        return out;
    case 2:
        for (i = 0; i < n; i += 2) set_row(out, i, a, (n - 1) / 2 * 2 - i);
        return out;
    default:
        if (n == 0 || a.shape[1] == 0) return a;
        i = eval_modulo((int64_t)eval_kid(r, node, 1).data[0], a.shape[1]);
        int64_t to = eval_modulo((int64_t)eval_kid(r, node, 2).data[0], a.shape[1]);
        if (r->failed || r->inexact) return a;
        for (j = 0; j < n; j++)
            out.data[j * a.shape[1] + to] = a.data[j * a.shape[1] + i];
        return out;
    }
}

static GValue eval_update(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0];
    if (n == 0 && node->kind == G_UPDATE) return a;
    int64_t i = (int64_t)eval_kid(r, node, 1).data[0];
    if (node->kind == G_UPDATE) {
        GValue x = eval_kid(r, node, 2), out = copied(r, a);
        if (a.type.rank > 1 && x.shape[0] != a.shape[1]) eval_fail(r);
        if (!r->failed && !r->inexact) set_row(out, eval_modulo(i, n), x, 0);
        return out;
    }
    int64_t j = (int64_t)eval_kid(r, node, 2).data[0];
    uint64_t x = eval_kid(r, node, 3).data[0];
    if (n == 0 || a.shape[1] == 0 || r->failed || r->inexact) return a;
    GValue out = copied(r, a);
    out.data[eval_modulo(i, n) * a.shape[1] + eval_modulo(j, a.shape[1])] = x;
    return out;
}

GValue eval_array(Run *r, const GNode *node) {
    switch ((int)node->kind) {
    case G_IOTA: case G_RANGE: case G_ARRAY: case G_REPLICATE: case G_RESIZE:
        return eval_made(r, node);
    case G_MAP: case G_MAP2: case G_ZIPF: case G_TABULATE: return eval_map(r, node);
    case G_SUMMAP: return eval_summap(r, node);
    case G_SPACE:
    case G_TABULATE2: return eval_tabulate2(r, node);
    case G_FILTER: case G_PARTITION: return eval_filter(r, node);
    case G_KEEPS: return eval_keeps(r, node);
    case G_CONCAT: return eval_concat(r, node);
    case G_UPDATE: case G_UPDATE2: return eval_update(r, node);
    case G_UPROWS: return eval_uprows(r, node);
    case G_UPLOOP: return eval_uploop(r, node);
    case G_NEAR: return eval_near(r, node);
    case G_NEAR2: return eval_near2(r, node);
    default: return eval_moved(r, node);
    }
}
