// SPDX-License-Identifier: Apache-2.0
//
// c += sign * a * b for row-major matrices, by packed panels: of a as high as fit in L2
// with a panel of b, so deep that sums are seldom put down. The kernel holds ROWS by
// COLUMNS sums in registers. Each thread does a part of the rows, and packs b for itself.
#ifndef BENCH_GEMM_H
#define BENCH_GEMM_H

#include "vector.h"

enum {
    GEMM_ROWS = VECTOR_BYTES == 64 ? 12 : 6,
    GEMM_VECS = 2,
    GEMM_COLUMNS = GEMM_VECS * LANES,
    GEMM_DEPTH = 1024,
    GEMM_HIGH = GEMM_ROWS * 8,
    GEMM_WIDE = 1024 / (int)sizeof(Real) * 4
};

typedef struct Matrix {
    Real *at;
    int64_t rows, columns, stride;
} Matrix;

// Reals of scratch for one thread, on a vector's boundary.
enum { GEMM_SCRATCH = GEMM_DEPTH * (GEMM_HIGH + GEMM_WIDE + GEMM_COLUMNS) + 64 };

static inline Matrix part_of(Matrix m, int64_t row, int64_t column, int64_t rows,
                             int64_t columns) {
    if (rows > m.rows - row) rows = m.rows - row;
    if (columns > m.columns - column) columns = m.columns - column;
    return (Matrix){m.at + row * m.stride + column, rows, columns, m.stride};
}

// Strips of GEMM_ROWS rows, column by column, zeros beyond the end.
static void gemm_pack_a(Matrix a, Real sign, Real *to) {
    for (int64_t i = 0; i < a.rows; i += GEMM_ROWS)
        for (int64_t k = 0; k < a.columns; k++)
            for (int64_t r = 0; r < GEMM_ROWS; r++)
                *to++ = i + r < a.rows ? sign * a.at[(i + r) * a.stride + k] : 0;
}

// Strips of GEMM_COLUMNS columns, row by row.
static void gemm_pack_b(Matrix b, Real *to) {
    for (int64_t j = 0; j < b.columns; j += GEMM_COLUMNS) {
        int64_t width = b.columns - j < GEMM_COLUMNS ? b.columns - j : GEMM_COLUMNS;
        for (int64_t k = 0; k < b.rows; k++, to += GEMM_COLUMNS) {
            memcpy(to, b.at + k * b.stride + j, (size_t)width * sizeof(Real));
            memset(to + width, 0, (size_t)(GEMM_COLUMNS - width) * sizeof(Real));
        }
    }
}

static inline void gemm_kernel(const Real *a, const Real *b, int64_t depth, Matrix c) {
    Vec sums[GEMM_ROWS][GEMM_VECS];
    for (int r = 0; r < GEMM_ROWS; r++)
        for (int v = 0; v < GEMM_VECS; v++) sums[r][v] = (Vec){0};
    for (int64_t k = 0; k < depth; k++, a += GEMM_ROWS, b += GEMM_COLUMNS) {
        Vec row[GEMM_VECS];
        for (int v = 0; v < GEMM_VECS; v++) row[v] = load(b + v * LANES);
#pragma GCC unroll 12
        for (int r = 0; r < GEMM_ROWS; r++)
            for (int v = 0; v < GEMM_VECS; v++) sums[r][v] += a[r] * row[v];
    }
    if (c.rows >= GEMM_ROWS && c.columns >= GEMM_COLUMNS) {
#pragma GCC unroll 12
        for (int r = 0; r < GEMM_ROWS; r++)
            for (int v = 0; v < GEMM_VECS; v++) {
                Real *to = c.at + r * c.stride + v * LANES;
                store(to, load(to) + sums[r][v]);
            }
        return;
    }
    Real edge[GEMM_ROWS][GEMM_COLUMNS];
    memcpy(edge, sums, sizeof edge);
    for (int64_t r = 0; r < c.rows && r < GEMM_ROWS; r++)
        for (int64_t j = 0; j < c.columns && j < GEMM_COLUMNS; j++)
            c.at[r * c.stride + j] += edge[r][j];
}

static void gemm_block(Matrix c, const Real *a, const Real *b, int64_t depth) {
    for (int64_t j = 0; j < c.columns; j += GEMM_COLUMNS)
        for (int64_t i = 0; i < c.rows; i += GEMM_ROWS)
            gemm_kernel(a + i * depth, b + j * depth, depth,
                        part_of(c, i, j, c.rows, c.columns));
}

static void gemm(Matrix c, Real sign, Matrix a, Matrix b, Real *scratch) {
    Real *packed_a = scratch, *packed_b = scratch + GEMM_DEPTH * GEMM_HIGH;
    for (int64_t j = 0; j < b.columns; j += GEMM_WIDE)
        for (int64_t k = 0; k < a.columns; k += GEMM_DEPTH) {
            Matrix wide = part_of(b, k, j, GEMM_DEPTH, GEMM_WIDE);
            gemm_pack_b(wide, packed_b);
            for (int64_t i = 0; i < a.rows; i += GEMM_HIGH) {
                Matrix high = part_of(a, i, k, GEMM_HIGH, GEMM_DEPTH);
                gemm_pack_a(high, sign, packed_a);
                gemm_block(part_of(c, i, j, GEMM_HIGH, GEMM_WIDE), packed_a, packed_b,
                           high.columns);
            }
        }
}

#endif
