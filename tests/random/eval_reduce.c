// SPDX-License-Identifier: Apache-2.0
//
// The generator's own evaluation: reductions, scans, histograms and scatters. Sums and
// products of floats count only where no order of them can round.
#include <math.h>

#include "eval.h"

typedef struct Fold {
    GOp op;
    ScalarType t;
    uint64_t value;
    double magnitude;  // of every partial result, at most
    bool any;
} Fold;

static Fold start_fold(GOp op, ScalarType t) {
    return (Fold){op, t, eval_neutral(op, t), op == GOP_MUL ? 1 : 0, false};
}

static void add_to_fold(Run *r, Fold *fold, uint64_t x) {
    fold->value = fold->any ? eval_op(r, fold->op, fold->t, fold->value, x) : x;
    fold->any = true;
    if (!scalar_is_float(fold->t) || fold->op == GOP_MIN || fold->op == GOP_MAX) return;
    double d;
    uint64_t bits;
    if (!eval_whole(fold->t, x, &d)) r->inexact = true;
    d = fabs(d);
    if (fold->op == GOP_MUL) fold->magnitude *= d > 1 ? d : 1;
    else fold->magnitude += d;
    if (!eval_from_double(fold->t, fold->magnitude, &bits)) r->inexact = true;
}

static bool is_negative_zero(ScalarType t, uint64_t bits) {
    return scalar_is_float(t) && bits == (eval_mask(t) ^ eval_mask(t) >> 1);
}

static bool is_extreme(GOp op) {
    return op == GOP_MIN || op == GOP_MAX;
}

// The fold's value; of nothing, the neutral element, which floats' min and max lack here.
static uint64_t end_fold(Run *r, const Fold *fold) {
    if (!fold->any && is_extreme(fold->op) && scalar_is_float(fold->t)) r->inexact = true;
    return fold->value;
}

static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static GValue eval_scalars(Run *r, const GNode *node) {
    ScalarType t = node->type.elem;
    GValue a = eval_kid(r, node, 0), b = {0}, out = {0};
    int64_t n = a.shape[0];
    if (node->kind != G_REDUCE && node->kind != G_SCAN) {
        b = eval_kid(r, node, 1);
        n = lesser(n, b.shape[0]);
    }
    if (r->failed || r->inexact) return a;
    bool scans = node->kind == G_SCAN || node->kind == G_AFFSCAN;
    bool excludes = node->kind == G_SCAN && node->bits == 0;
    if (scans) out = eval_new_array(r, node->type, (int64_t[3]){n, 0, 0});
    Fold fold = start_fold(node->op, t);
    uint64_t x = 1, y = 0;  // AFFINE: the composed map
    bool affine = node->kind == G_AFFINE || node->kind == G_AFFSCAN;
    if (affine && scalar_is_float(t)) r->inexact = true;
    for (int64_t i = 0; i < n && !r->inexact; i++) {
        if (scans && excludes) out.data[i] = i == 0 ? eval_neutral(node->op, t) : fold.value;
        if (scans && excludes && i == 0) end_fold(r, &fold);
        if (affine) {
            y = eval_op(r, GOP_ADD, t, eval_op(r, GOP_MUL, t, y, a.data[i]), b.data[i]);
            x = eval_op(r, GOP_MUL, t, x, a.data[i]);
        } else {
            uint64_t element = a.data[i];
            if (node->kind == G_DOT) element = eval_op(r, GOP_MUL, t, element, b.data[i]);
            add_to_fold(r, &fold, element);
        }
        if (scans && !excludes) out.data[i] = affine ? y : fold.value;
    }
    if (scans) return out;
    uint64_t value = affine ? y : end_fold(r, &fold);
    // whether a multiply-add starts from +0 or from the first product is core's to say
    if (node->kind == G_DOT && is_negative_zero(t, value)) r->inexact = true;
    return eval_new_scalar(r, t, value);
}

static GValue eval_argmax(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t best = -1;
    for (int64_t i = 0; i < a.shape[0]; i++)
        if (best < 0 || eval_op(r, GOP_LE, a.type.elem, a.data[best], a.data[i])) best = i;
    return eval_new_scalar(r, SCALAR_I64, (uint64_t)best);
}

static GValue eval_any(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    uint64_t value = node->bits;
    for (int64_t i = 0; i < a.shape[0] && !r->failed && !r->inexact; i++) {
        r->vars[node->var[0]] = eval_row(a, i);
        uint64_t x = eval_kid(r, node, 1).data[0];
        value = node->bits ? value & x : value | x;
    }
    return eval_new_scalar(r, SCALAR_BOOL, value);
}

static GValue eval_rows(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0], m = a.shape[1];
    bool scans = node->kind == G_ROWSCAN;
    if (n == 0 && !scans) r->inexact = true;  // as many as the rows of nothing are long
    GValue out = eval_new_array(r, node->type, (int64_t[3]){scans ? n : m, m, 0});
    if (r->failed || r->inexact) return out;
    for (int64_t j = 0; j < m; j++) {
        Fold fold = start_fold(node->op, node->type.elem);
        for (int64_t i = 0; i < n; i++) {
            add_to_fold(r, &fold, a.data[i * m + j]);
            if (scans) out.data[i * m + j] = fold.value;
        }
        if (!scans) out.data[j] = end_fold(r, &fold);
    }
    return out;
}

static GValue eval_row_folds(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    GValue out = eval_new_array(r, node->type, a.shape);
    for (int64_t i = 0; i < a.shape[0] && !r->failed && !r->inexact; i++) {
        Fold fold = start_fold(node->op, node->type.elem);
        for (int64_t j = 0; j < a.shape[1]; j++)
            add_to_fold(r, &fold, a.data[i * a.shape[1] + j]);
        out.data[i] = end_fold(r, &fold);
    }
    return out;
}

// What kid `body`, a scalar, is for each element of the array.
static GValue eval_each(Run *r, const GNode *node, GValue array, int body) {
    GType type = {node->kids[body]->type.elem, 1};
    GValue out = eval_new_array(r, type, (int64_t[3]){array.shape[0], 0, 0});
    for (int64_t i = 0; i < array.shape[0] && !r->failed && !r->inexact; i++) {
        r->vars[node->var[0]] = eval_row(array, i);
        out.data[i] = eval_kid(r, node, body).data[0];
    }
    return out;
}

static GValue eval_scattered(Run *r, const GNode *node) {
    bool two = node->type.rank == 2;
    bool made = node->kind == G_BINS || node->kind == G_PUTS;
    bool hist = node->kind == G_HIST || node->kind == G_HIST2 || node->kind == G_BINS;
    ScalarType t = node->type.elem;
    GValue a = eval_kid(r, node, 0), d = made ? eval_kid(r, node, 3) : a;
    GValue is = made ? eval_each(r, node, a, 1) : eval_kid(r, node, 1), js = {0};
    if (two) js = eval_kid(r, node, 2);
    GValue vs = made ? eval_each(r, node, a, 2) : eval_kid(r, node, two ? 3 : 2);
    if (r->failed || r->inexact) return d;
    int64_t rows = d.shape[0], columns = two ? d.shape[1] : 1;
    int64_t n = lesser(is.shape[0], vs.shape[0]);
    if (two) n = lesser(n, js.shape[0]);
    GValue out = eval_new_array(r, d.type, d.shape);
    Fold *folds = arena_array(r->arena, Fold, (size_t)(rows * columns) + 1);
    for (int64_t k = 0; k < rows * columns; k++) {
        folds[k] = start_fold(node->op, t);
        out.data[k] = d.data[k];
    }
    for (int64_t k = 0; k < n && !r->inexact; k++) {
        uint64_t i = is.data[k], j = two ? js.data[k] : 0;
        if (i >= (uint64_t)rows || j >= (uint64_t)columns) continue;
        int64_t at = (int64_t)i * columns + (int64_t)j;
        if (hist) add_to_fold(r, &folds[at], vs.data[k]);
        else out.data[at] = vs.data[k];
    }
    for (int64_t k = 0; hist && k < rows * columns; k++) {
        // a neutral sum turns -0 into +0; any other cell without values keeps its own
        bool may_change = is_negative_zero(t, d.data[k]) && !is_extreme(node->op);
        if (!folds[k].any && !may_change) continue;
        Fold all = folds[k];
        add_to_fold(r, &all, d.data[k]);
        out.data[k] = eval_op(r, node->op, t, d.data[k], folds[k].value);
        // the parts start from the neutral element
        if (is_negative_zero(t, out.data[k])) r->inexact = true;
    }
    return out;
}

GValue eval_reduction(Run *r, const GNode *node) {
    switch ((int)node->kind) {
    case G_ARGMAX: return eval_argmax(r, node);
    case G_ANY: return eval_any(r, node);
    case G_ROWFOLDS: return eval_row_folds(r, node);
    case G_ROWRED: case G_ROWSCAN: return eval_rows(r, node);
    case G_SCATTER: case G_SCATTER2: case G_HIST: case G_HIST2: case G_BINS:
    case G_PUTS:
        return eval_scattered(r, node);
    default: return eval_scalars(r, node);
    }
}
