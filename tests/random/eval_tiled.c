// SPDX-License-Identifier: Apache-2.0
//
// The generator's own evaluation: products of matrices, eliminations, steps of
// stencils, chains, biases, stages, largest elements, rows walked along, sorts of many,
// counts, and functions that stay functions.
#include <stdlib.h>

#include "eval.h"

// Two numbers; floats only where nothing rounds and no zero has a sign.
static uint64_t apply(Run *r, GOp op, ScalarType t, uint64_t x, uint64_t y) {
    double value;
    uint64_t made = eval_op(r, op, t, x, y);
    if (scalar_is_float(t) && (!eval_whole(t, made, &value) || value == 0))
        r->inexact = true;
    return made;
}

static GValue eval_product(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0), b = eval_kid(r, node, 1);
    ScalarType t = node->type.elem;
    bool by_columns = node->bits % 2 == 0;
    int64_t n = a.shape[0], m = b.shape[by_columns], depth = b.shape[!by_columns];
    int64_t down = by_columns ? m : 1, across = by_columns ? 1 : depth,
            wide = a.shape[1];
    if (wide < depth) depth = wide;
    // Rows of nothing have any size.
    if (n == 0 || b.shape[0] == 0 || depth == 0 || m == 0) r->inexact = true;
    GValue out = eval_new_array(r, node->type, (int64_t[3]){n, m, 0});
    for (int64_t i = 0; i < n && !r->inexact && !r->failed; i++)
        for (int64_t j = 0; j < m; j++) {
            uint64_t sum = 0;
            for (int64_t k = 0; k < depth; k++) {
                uint64_t y = b.data[j * across + k * down];
                uint64_t x = apply(r, GOP_MUL, t, a.data[i * wide + k], y);
                sum = k == 0 ? x : apply(r, node->op, t, sum, x);
            }
            out.data[i * m + j] = sum;
        }
    return out;
}

static GValue eval_eliminate(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    ScalarType t = node->type.elem;
    int64_t n = a.shape[0], m = a.shape[1],
            shape[3] = {n < m ? n : m, n < m ? n : m, 0};
    if (scalar_is_float(t)) r->inexact = true;
    GValue square = eval_new_array(r, node->type, shape);
    n = shape[0];
    for (int64_t i = 0; i < n * n && !r->inexact; i++)
        square.data[i] = a.data[i / n * m + i % n];
    a = square;
    for (int64_t k = 0; k < n && !r->inexact && !r->failed; k++) {
        GValue next = eval_new_array(r, node->type, a.shape);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                uint64_t x = a.data[i * n + j], y = a.data[k * n + j];
                uint64_t by = eval_op(r, GOP_MUL, t, a.data[i * n + k], y);
                if (node->bits == 0) by = eval_op(r, GOP_MUL, t, by, a.data[k * n + k]);
                next.data[i * n + j] = i == k ? y : eval_op(r, GOP_SUB, t, x, by);
            }
        a = next;
    }
    return a;
}

static GValue eval_steps(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], m = a.shape[1];
    if (n == 0) r->inexact = true; // rows of nothing have any size
    int64_t steps = (int64_t)(node->bits >> 16) < n ? (int64_t)(node->bits >> 16) : n;
    for (int64_t k = 0; k < steps && !r->inexact && !r->failed; k++) {
        GValue next = eval_new_array(r, node->type, a.shape);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m && !r->failed; j++) {
                int64_t row = eval_near_index(r, i, n, node->bits);
                int64_t column = eval_near_index(r, j, m, node->bits >> 8);
                next.data[i * m + j] =
                    apply(r, node->op, node->type.elem, a.data[row * m + j],
                          a.data[i * m + column]);
            }
        a = next;
    }
    return a;
}

// Steps of two fields: one looks near its index in both, the other where nothing can
// be outside.
static GValue eval_flow(Run *r, const GNode *node) {
    GValue b = eval_kid(r, node, 0);
    GOp op = node->op;
    ScalarType t = node->type.elem;
    bool is_wide = node->type.rank == 2;
    int64_t n = b.shape[0], m = is_wide ? b.shape[1] : 1,
            apart = (int64_t)(node->bits >> 16);
    if (n == 0 && is_wide) r->inexact = true; // rows of nothing have any size
    GValue c = eval_new_array(r, node->type, b.shape);
    for (int64_t x = 0; x < n * m && !r->failed && !r->inexact; x++)
        c.data[x] = apply(r, op, t, b.data[x], b.data[x]);
    for (int64_t k = 0; k < n && k < 5 && !r->failed && !r->inexact; k++) {
        GValue next_b = eval_new_array(r, node->type, b.shape);
        GValue next_c = eval_new_array(r, node->type, b.shape);
        for (int64_t x = 0; x < n * m && !r->failed && !r->inexact; x++) {
            int64_t i = x / m, j = x % m;
            int64_t row = eval_near_index(r, i, n, node->bits);
            int64_t other = is_wide ? i * m + eval_near_index(r, j, m, node->bits >> 8)
                                    : eval_near_index(r, i, n, node->bits >> 8);
            bool is_edge = i < apart || i >= n - apart || (is_wide && j >= m - apart);
            next_b.data[x] = apply(r, op, t, b.data[row * m + j], c.data[other]);
            next_c.data[x] = is_edge ? b.data[x]
                                     : apply(r, op, t, c.data[x - apart * m],
                                             b.data[is_wide ? x + apart : i + apart]);
        }
        b = next_b;
        c = next_c;
    }
    return b;
}

// Steps of zeros and ones on a torus, which are too few to wrap in any type; then sums.
static GValue eval_cells(Run *r, const GNode *node) {
    enum { HIGH = 16, WIDE = 1024, BLOCK = 32 };
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], m = a.shape[1];
    if (n == 0) r->inexact = true; // rows of nothing have any size
    uint64_t worlds[2][HIGH][WIDE];
    for (int64_t y = 0; y < HIGH; y++)
        for (int64_t x = 0; x < WIDE; x++)
            worlds[0][y][x] = n == 0 || m == 0 ? 0 : a.data[y % n * m + x % m] & 1;
    for (uint64_t k = 0; k < node->bits; k++)
        for (int64_t y = 0; y < HIGH; y++)
            for (int64_t x = 0; x < WIDE; x++) {
                uint64_t(*b)[WIDE] = worlds[k % 2];
                int64_t above = (y + HIGH - 1) % HIGH, below = (y + 1) % HIGH;
                int64_t west = (x + WIDE - 1) % WIDE, east = (x + 1) % WIDE;
                uint64_t sum = b[above][x] + b[y][west] + b[below][east] + b[y][x];
                worlds[1 - k % 2][y][x] = sum == 2;
            }
    GValue out = eval_new_array(r, node->type, (int64_t[3]){HIGH, WIDE / BLOCK, 0});
    for (int64_t i = 0; i < HIGH * WIDE; i++)
        out.data[i / BLOCK] += worlds[node->bits % 2][i / WIDE][i % WIDE];
    return out;
}

// A matrix of which each element joins the four at its place and opposite.
static GValue eval_mirrored(Run *r, const GNode *node, GValue a) {
    int64_t n = a.shape[0], m = a.shape[1];
    ScalarType t = node->type.elem;
    GValue out = eval_new_array(r, node->type, a.shape);
    for (int64_t k = 0; k < n * m && !r->inexact && !r->failed; k++) {
        const uint64_t *row = a.data + k / m * m, *other = a.data + (n - 1 - k / m) * m;
        int64_t j = k % m;
        uint64_t x = apply(r, node->op, t, row[j], other[j]);
        uint64_t y = apply(r, node->op, t, row[m - 1 - j], other[m - 1 - j]);
        out.data[k] = apply(r, node->op, t, x, y);
    }
    return out;
}

static GValue eval_planes(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], m = a.shape[1];
    if (n == 0 || m == 0) r->inexact = true; // rows of nothing have any size
    if (node->kind == G_ROWS) a = eval_mirrored(r, node, a);
    GValue out = eval_new_array(r, node->type, (int64_t[3]){3 * n, m, 0});
    for (int64_t k = 0; k < 3 * n * m && !r->inexact && !r->failed; k++) {
        const uint64_t *row = a.data + k / m % n * m;
        out.data[k] = apply(r, node->op, node->type.elem, row[k % m],
                            row[(k % m + k / m / n) % m]);
    }
    return out;
}

static GValue eval_grown(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], m = a.shape[1], by = (int64_t)node->bits;
    if (n == 0) r->inexact = true; // rows of nothing have any size
    GValue out =
        eval_new_array(r, node->type, (int64_t[3]){n + by, m + (by < 99 ? by : 16), 0});
    for (int64_t i = 0; i < out.shape[0]; i++)
        for (int64_t j = 0; j < out.shape[1]; j++)
            out.data[i * out.shape[1] + j] =
                n == 0 || m == 0 ? eval_neutral(node->op, node->type.elem)
                                 : a.data[i % n * m + j % m];
    return out;
}

static GValue eval_chain(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    GValue out = eval_new_array(r, node->type, a.shape);
    for (int64_t i = 0; i < a.shape[0] && !r->failed && !r->inexact; i++)
        out.data[i] =
            i == 0 ? a.data[0]
                   : apply(r, node->op, node->type.elem, out.data[i - 1], a.data[i]);
    return out;
}

static GValue eval_biased(Run *r, const GNode *node) {
    static const uint8_t biases[] = {3, 1, 2, 5};
    GValue a = eval_kid(r, node, 0);
    ScalarType t = node->type.elem;
    GValue out = eval_new_array(r, node->type, a.shape);
    for (int64_t i = 0; i < a.shape[0] && !r->failed && !r->inexact; i++) {
        uint64_t sum = a.data[i], bias = biases[i % 4];
        for (int64_t k = 0; k < a.shape[0] && k < 5; k++)
            sum = apply(r, node->op, t, sum, a.data[k]);
        if (scalar_is_float(t)) eval_from_double(t, biases[i % 4], &bias);
        out.data[i] = apply(r, node->op, t, sum, bias);
    }
    return out;
}

// Pairs half of the elements apart, in segments of h, then of 2 h.
static GValue eval_stages(Run *r, const GNode *node) {
    enum { MOST = 1024, KEPT = 32 };
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], size = (int64_t)node->bits;
    ScalarType t = node->type.elem;
    uint64_t turns[3][MOST]; // the first is what is given, which all turns need
    for (int64_t i = 0; i < size; i++)
        turns[0][i] = n == 0 ? eval_neutral(node->op, t) : a.data[i % n];
    const uint64_t *from = turns[0];
    uint64_t *to = turns[1];
    for (int64_t h = n % 2 == 0 ? 1 : 16; h < size; h *= 2) {
        for (int64_t i = 0; i < size && !r->failed && !r->inexact; i++) {
            int64_t at = i / (2 * h) * h + i % h;
            uint64_t weight = turns[0][i % h * (size / (2 * h))];
            uint64_t y = apply(r, node->op, t, from[at + size / 2], weight);
            to[i] = i / h % 2 == 0 ? apply(r, node->op, t, from[at], y)
                                   : apply(r, node->op, t, y, from[at]);
        }
        from = to;
        to = to == turns[1] ? turns[2] : turns[1];
    }
    GValue out = eval_new_array(r, node->type, (int64_t[3]){KEPT, 0, 0});
    for (int64_t i = 0; i < KEPT && !r->failed && !r->inexact; i++)
        out.data[i] = from[i * (size / KEPT) + i % 2];
    return out;
}

static GValue eval_greatest(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    GValue out = eval_new_array(r, node->type, a.shape);
    for (int64_t i = 0; i < a.shape[0]; i++) out.data[i] = a.data[i];
    for (int64_t i = 0; i < a.shape[0] && !r->failed && !r->inexact; i++)
        if (eval_op(r, GOP_LT, node->type.elem, out.data[i / 2], a.data[i]) != 0)
            out.data[i / 2] = a.data[i];
    return out;
}

// The bits of a small number.
static uint64_t small_bits(ScalarType t, int64_t value) {
    uint64_t bits = (uint64_t)value;
    if (scalar_is_float(t)) eval_from_double(t, (double)value, &bits);
    return bits;
}

static int64_t as_i64(ScalarType t, uint64_t bits) {
    unsigned unused = 64 - 8u * scalar_info[t].bytes;
    return scalar_is_signed(t) ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

// Of each key the largest element, the first of equal ones, and then the places.
static GValue eval_largest(Run *r, const GNode *node) {
    enum { KEYS = 8, MOST = 64 };
    GValue k = eval_kid(r, node, 0), a = eval_kid(r, node, 1);
    ScalarType t = node->type.elem;
    int64_t n = k.shape[0] < a.shape[0] ? k.shape[0] : a.shape[0];
    GValue out = eval_new_array(r, node->type, (int64_t[3]){2 * KEYS, 0, 0});
    int64_t places[KEYS];
    for (int64_t at = 0; at < KEYS; at++) {
        out.data[at] = eval_neutral(GOP_MAX, t);
        places[at] = n;
    }
    for (int64_t i = 0; i < n && !r->failed && !r->inexact; i++) {
        int64_t at = as_i64(k.type.elem, k.data[i]);
        double value;
        if (scalar_is_float(t) && !eval_whole(t, a.data[i], &value)) r->inexact = true;
        if (at < 0 || at >= KEYS ||
            (places[at] < n && eval_op(r, GOP_LT, t, out.data[at], a.data[i]) == 0))
            continue;
        out.data[at] = a.data[i];
        places[at] = i;
    }
    for (int64_t at = 0; at < KEYS; at++) {
        if (scalar_is_float(t) && places[at] == n) r->inexact = true; // -inf
        out.data[KEYS + at] = small_bits(t, places[at] % MOST);
    }
    return out;
}

static GValue eval_turned(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t m = a.shape[1], n = a.shape[0] < m ? a.shape[0] : m;
    if (a.shape[0] == 0) r->inexact = true; // rows of nothing have any size
    GValue out = eval_new_array(r, node->type, (int64_t[3]){n, n, 0});
    for (int64_t i = 0; i < n * n && !r->failed && !r->inexact; i++)
        out.data[i] = apply(r, node->op, node->type.elem, a.data[i / n * m + i % n],
                            a.data[i % n * m + i / n]);
    return out;
}

// Along each row, with what the row's other end makes.
static GValue eval_along(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], m = a.shape[1];
    ScalarType t = node->type.elem;
    if (n == 0) r->inexact = true; // rows of nothing have any size
    GValue out = eval_new_array(r, node->type, a.shape);
    for (int64_t i = 0; i < n * m && !r->failed && !r->inexact; i++) {
        uint64_t *row = a.data + i / m * m, other = row[m - 1 - i % m];
        uint64_t before = i % m == 0 ? eval_neutral(node->op, t) : out.data[i - 1];
        uint64_t x = apply(r, node->op, t, row[i % m], before);
        out.data[i] = apply(r, node->op, t, x, apply(r, node->op, t, other, other));
    }
    return out;
}

// Long turns, of which each step waits for the one before.
static GValue eval_long(Run *r, const GNode *node) {
    enum { STEPS = 32 };
    GValue a = eval_kid(r, node, 0);
    ScalarType t = node->type.elem;
    GValue out = eval_new_array(r, node->type, a.shape);
    for (int64_t i = 0; i < a.shape[0]; i++) {
        uint64_t y = a.data[i], x = y;
        for (int step = 0; step < STEPS && !r->failed && !r->inexact; step++) {
            uint64_t left = apply(r, GOP_ADD, t, apply(r, GOP_MUL, t, x, y), x);
            uint64_t right = apply(r, GOP_SUB, t, y, apply(r, GOP_MUL, t, x, x));
            x = apply(r, node->op, t, left, right);
        }
        out.data[i] = x;
    }
    return out;
}

static int compare_keys(const void *x, const void *y) {
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

// Of integers of 64 bits.
static GValue eval_sort_many(Run *r, const GNode *node) {
    enum { MANY = 262147, KEPT = 64, APART = 4097 };
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0];
    uint64_t sign = scalar_is_signed(node->type.elem) ? (uint64_t)1 << 63 : 0;
    GValue out = eval_new_array(r, node->type, (int64_t[3]){KEPT, 0, 0});
    if (scalar_is_float(node->type.elem)) r->inexact = true;
    if (r->failed || r->inexact) return out;
    uint64_t *keys = arena_array(r->arena, uint64_t, MANY);
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t spread = (uint64_t)((int64_t)(i * 6364136223846793005u) >> node->bits);
        keys[i] = ((n == 0 ? 0 : a.data[i % (uint64_t)n]) + spread) ^ sign;
    }
    qsort(keys, MANY, sizeof *keys, compare_keys);
    for (int64_t i = 0; i < KEPT; i++) out.data[i] = keys[i * APART] ^ sign;
    return out;
}

static GValue eval_count(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    uint64_t count = 0;
    for (int64_t i = 0; i < a.shape[0] && !r->failed && !r->inexact; i++) {
        r->vars[node->var[0]] = eval_row(a, i);
        count += eval_kid(r, node, 1).data[0] != 0;
    }
    return eval_new_scalar(r, SCALAR_I64, count);
}

// As print.c has it.
static uint64_t apart(Run *r, ScalarType t, uint64_t x, uint64_t y) {
    bool is_less = eval_op(r, GOP_LT, t, x, y) != 0;
    return is_less ? apply(r, GOP_ADD, t, x, y) : x;
}

static GValue eval_aparts(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0];
    GValue out = eval_new_array(r, node->type, a.shape);
    for (int64_t i = 0; i < n && !r->failed && !r->inexact; i++)
        out.data[i] = apart(r, node->type.elem, a.data[i], a.data[n - 1 - i]);
    return out;
}

GValue eval_tiled(Run *r, const GNode *node) {
    switch ((int)node->kind) {
    case G_PRODUCT: return eval_product(r, node);
    case G_ELIMINATE: return eval_eliminate(r, node);
    case G_STEPS: return eval_steps(r, node);
    case G_FLOW: return eval_flow(r, node);
    case G_CELLS: return eval_cells(r, node);
    case G_PLANES:
    case G_ROWS: return eval_planes(r, node);
    case G_GROWN: return eval_grown(r, node);
    case G_CHAIN: return eval_chain(r, node);
    case G_BIASED: return eval_biased(r, node);
    case G_STAGES: return eval_stages(r, node);
    case G_GREATEST: return eval_greatest(r, node);
    case G_LARGEST: return eval_largest(r, node);
    case G_TURNED: return eval_turned(r, node);
    case G_ALONG: return eval_along(r, node);
    case G_LONG: return eval_long(r, node);
    case G_SORTMANY: return eval_sort_many(r, node);
    case G_TALLY: return eval_count(r, node);
    case G_APARTS: return eval_aparts(r, node);
    default: { // APART
        uint64_t x = eval_kid(r, node, 0).data[0], y = eval_kid(r, node, 1).data[0];
        return eval_new_scalar(r, node->type.elem, apart(r, node->type.elem, x, y));
    }
    }
}
