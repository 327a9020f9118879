// SPDX-License-Identifier: Apache-2.0
//
// The generator's own evaluation of its programs: plain, strict, and sharing no code
// with Weft. An error counts as certain only where the result needs the value.
#include "eval.h"

static GValue eval(Run *r, const GNode *node);

GValue eval_kid(Run *r, const GNode *node, int kid) {
    bool outer = r->strict;
    r->strict = outer && (gen_info[node->kind].strict >> kid & 1);
    GValue value = eval(r, node->kids[kid]);
    r->strict = outer;
    return value;
}

void eval_fail(Run *r) {
    if (r->failed || r->inexact) return;
    r->failed = true;
    r->surely = r->strict;
}

// ---- values -------------------------------------------------------------------------

static int64_t count(GValue v) {
    int64_t n = 1;
    for (uint32_t d = 0; d < v.type.rank; d++) n *= v.shape[d];
    return n;
}

int64_t eval_row_count(GValue v) {
    int64_t n = 1;
    for (uint32_t d = 1; d < v.type.rank; d++) n *= v.shape[d];
    return n;
}

GValue eval_new_scalar(Run *r, ScalarType t, uint64_t bits) {
    GValue v = {.type = {t, 0}, .data = arena_array(r->arena, uint64_t, 1)};
    v.data[0] = bits;
    return v;
}

GValue eval_new_array(Run *r, GType t, const int64_t *shape) {
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

static GValue nothing(Run *r, GType t) {
    if (t.rank == 0) return eval_new_scalar(r, t.elem, 0);
    return eval_new_array(r, t, (int64_t[3]){0});
}

GValue eval_row(GValue v, int64_t i) {
    GValue out = {.type = {v.type.elem, v.type.rank - 1}};
    for (uint32_t d = 1; d < v.type.rank; d++) out.shape[d - 1] = v.shape[d];
    out.data = v.data + i * eval_row_count(v);
    return out;
}

GValue eval_stack(Run *r, GType t, const GValue *rows, int64_t n) {
    int64_t shape[3] = {n, 0, 0};
    if (n > 0)
        for (uint32_t d = 1; d < t.rank; d++) shape[d] = rows[0].shape[d - 1];
    GValue out = eval_new_array(r, t, shape);
    int64_t size = eval_row_count(out);
    for (int64_t i = 0; i < n && out.shape[0] == n; i++) {
        for (uint32_t d = 1; d < t.rank; d++)
            if (rows[i].shape[d - 1] != shape[d]) eval_fail(r);
        if (r->failed) return nothing(r, t);
        for (int64_t k = 0; k < size; k++) out.data[i * size + k] = rows[i].data[k];
    }
    return out;
}

// ---- control ------------------------------------------------------------------------

static GValue eval_loop(Run *r, const GNode *node) {
    bool two = node->kind == G_LOOP2;
    GValue state = eval_kid(r, node, 0), other = {0}, over = {0};
    if (two) other = eval_kid(r, node, 1);
    int64_t n = (int64_t)node->bits;
    if (node->kind == G_FORIN) {
        over = eval_kid(r, node, 1);
        n = over.shape[0];
    }
    for (int64_t i = 0; i < n && !r->failed && !r->inexact; i++) {
        GValue index = eval_new_scalar(r, SCALAR_I64, (uint64_t)i);
        r->vars[node->var[0]] = state;
        if (two) r->vars[node->var[1]] = other, r->vars[node->var[2]] = index;
        if (node->kind == G_LOOP) r->vars[node->var[1]] = index;
        if (node->kind == G_FORIN) r->vars[node->var[1]] = eval_row(over, i);
        if (node->kind == G_WHILE && !eval_kid(r, node, 1).data[0]) break;
        state = eval_kid(r, node, node->kind == G_LOOP ? 1 : 2);
        if (!two) continue;
        // the bodies bind the same variables anew inside: those of this node again
        r->vars[node->var[2]] = index;
        r->vars[node->var[1]] = other;
        other = eval_kid(r, node, 3);
    }
    return state;
}

static GValue eval_match(Run *r, const GNode *node) {
    int32_t x = (int32_t)eval_kid(r, node, 0).data[0];
    int pick = x == 0 ? 1 : x == -1 ? 2 : 3;
    if (node->kind == G_MATCH) return eval_kid(r, node, pick);
    if (pick == 3) return eval_kid(r, node, 5);
    r->vars[node->var[pick - 1]] = eval_kid(r, node, pick);
    return eval_kid(r, node, pick + 2);
}

static GValue eval_cases(Run *r, const GNode *node) {
    GValue x = eval_kid(r, node, 0), b = eval_kid(r, node, 1);
    if (x.data[0] == 0) return eval_kid(r, node, 3);
    if (!b.data[0]) return eval_kid(r, node, 4);
    r->vars[node->var[0]] = x;
    return eval_kid(r, node, 2);
}

static GValue eval_poly(Run *r, const GNode *node) {
    GValue x = eval_kid(r, node, 0);
    int times = node->bits % 5 == 2 ? 3 : 2;
    for (int i = 0; i < times; i++) {
        r->vars[node->var[0]] = x;
        x = eval_kid(r, node, 1);
    }
    return x;
}

static GValue eval_unzip(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0), *rows[2];
    for (int k = 0; k < 2; k++)
        rows[k] = arena_array(r->arena, GValue, (size_t)a.shape[0] + 1);
    for (int64_t i = 0; i < a.shape[0] && !r->failed && !r->inexact; i++) {
        for (int k = 0; k < 2; k++) {
            r->vars[node->var[0]] = eval_row(a, i);
            rows[k][i] = eval_kid(r, node, 1 + k);
        }
    }
    if (r->failed || r->inexact) return nothing(r, node->type);
    for (int k = 0; k < 2; k++) {
        GType t = node->kids[1 + k]->type;
        r->vars[node->var[1 + k]] =
            eval_stack(r, (GType){t.elem, t.rank + 1}, rows[k], a.shape[0]);
    }
    return eval_kid(r, node, 3);
}

static GValue eval_letup(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0), b = a;
    if (a.shape[0] > 0) {
        int64_t i = eval_modulo((int64_t)eval_kid(r, node, 1).data[0], a.shape[0]);
        GValue x = eval_kid(r, node, 2);
        b = eval_new_array(r, a.type, a.shape);
        for (int64_t k = 0; k < a.shape[0] && b.shape[0] > 0; k++)
            b.data[k] = k == i ? x.data[0] : a.data[k];
    }
    r->vars[node->var[0]] = a;
    r->vars[node->var[1]] = b;
    return eval_kid(r, node, 3);
}

static GValue eval_index(Run *r, const GNode *node) {
    GValue a = eval_kid(r, node, 0);
    int64_t n = a.shape[0];
    if (n == 0 && node->kind == G_AT) return eval_kid(r, node, 2);
    int64_t i = (int64_t)eval_kid(r, node, 1).data[0];
    if (node->kind == G_AT) i = eval_modulo(i, n);
    if (i >= 0 && i < n) return eval_row(a, i);
    eval_fail(r);
    return nothing(r, node->type);
}

// ---- the frame ----------------------------------------------------------------------

static GValue eval_node(Run *r, const GNode *node) {
    GValue a, kids[3];
    switch ((int)node->kind) {
    case G_LIT: return eval_new_scalar(r, node->type.elem, node->bits);
    case G_VAR: return r->vars[node->var[0]];
    case G_BIN: case G_CMP: case G_NOT: case G_NEG: case G_ABS: case G_UNARY:
    case G_CONV: case G_FMA:
        for (int i = 0; i < gen_info[node->kind].kids; i++) kids[i] = eval_kid(r, node, i);
        if (r->failed || r->inexact) return nothing(r, node->type);
        return eval_new_scalar(r, node->type.elem, eval_scalar(r, node, kids));
    case G_AND: case G_OR:
        a = eval_kid(r, node, 0);
        return (a.data[0] != 0) == (node->kind == G_AND) ? eval_kid(r, node, 1) : a;
    case G_IF: return eval_kid(r, node, eval_kid(r, node, 0).data[0] ? 1 : 2);
    case G_LET: case G_CALL:
        a = eval_kid(r, node, 0);
        r->vars[node->var[0]] = a;
        return eval_kid(r, node, 1);
    case G_PAIR: case G_RECORD:
        a = eval_kid(r, node, 0);
        r->vars[node->var[1]] = eval_kid(r, node, 1);
        r->vars[node->var[0]] = a;
        return eval_kid(r, node, 2);
    case G_LOOP: case G_LOOP2: case G_WHILE: case G_FORIN: return eval_loop(r, node);
    case G_MATCH: case G_SUM: return eval_match(r, node);
    case G_CASES: return eval_cases(r, node);
    case G_ASSERT:
        if (!eval_kid(r, node, 0).data[0]) eval_fail(r);
        return eval_kid(r, node, 1);
    case G_AT: case G_INDEX: return eval_index(r, node);
    case G_POLY: return eval_poly(r, node);
    case G_UNZIP: return eval_unzip(r, node);
    case G_LETUP: return eval_letup(r, node);
    case G_LENGTH:
        return eval_new_scalar(r, SCALAR_I64, (uint64_t)eval_kid(r, node, 0).shape[0]);
    case G_REDUCE: case G_DOT: case G_ARGMAX: case G_AFFINE: case G_ANY: case G_SCAN:
    case G_AFFSCAN: case G_ROWRED: case G_ROWSCAN: case G_ROWFOLDS: case G_SCATTER: case G_HIST:
    case G_SCATTER2: case G_HIST2: case G_BINS: case G_PUTS:
        return eval_reduction(r, node);
    case G_PRODUCT: case G_ELIMINATE: case G_STEPS: case G_FLOW: case G_CELLS: case G_PLANES: case G_ROWS:
    case G_GROWN: case G_CHAIN: case G_BIASED: case G_STAGES: case G_GREATEST: case G_LARGEST: case G_TURNED:
    case G_ALONG: case G_LONG: case G_SORTMANY: case G_TALLY: case G_APART: case G_APARTS:
        return eval_tiled(r, node);
    default: return eval_array(r, node);
    }
}

static GValue eval(Run *r, const GNode *node) {
    if (++r->steps > MOST_STEPS && !r->failed) r->inexact = true;
    if (r->inexact || r->failed) return nothing(r, node->type);
    GValue v = eval_node(r, node);
    return r->inexact || r->failed ? nothing(r, node->type) : v;
}

GValue gen_input(Arena *arena, const GProgram *program, uint32_t which) {
    GVar input = program->inputs[which];
    ScalarType t = input.type.elem;
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
        if (scalar_is_float(t) && !program->wild) {
            eval_from_double(t, (double)(bits % 12) - 4, &v.data[i]);
            continue;
        }
        switch ((int)t) {
        case SCALAR_BOOL: bits &= 1; break;
        case SCALAR_F16: bits = 0x3800 + bits % 0x800; break;  // 0.5 to 2
        case SCALAR_F32: bits = 0x3f000000 + bits % 0x1000000; break;
        case SCALAR_F64: bits = 0x3fe0000000000000 + (bits << 22) % 0x20000000000000; break;
        default: bits = (i % 3 == 0 ? bits : bits % 8) & eval_mask(t);
        }
        v.data[i] = bits;
    }
    return v;
}

GAnswer gen_eval(Arena *arena, const GProgram *program, GValue *result_out) {
    Run *r = arena_new(arena, Run);
    r->arena = arena;
    r->strict = true;
    for (uint32_t i = 0; i < GEN_INPUTS; i++)
        r->vars[program->inputs[i].id] = gen_input(arena, program, i);
    *result_out = eval(r, program->body);
    if (r->failed) return r->surely ? GEN_ERROR : GEN_MAYBE;
    return r->inexact ? GEN_SILENT : GEN_VALUE;
}
