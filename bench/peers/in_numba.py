# SPDX-License-Identifier: Apache-2.0
"""The workloads as a user of Numba would write them: loops, the outer one parallel."""

import math

import numpy as np
from numba import get_num_threads, njit, prange

parallel = njit(parallel=True)


@parallel
def dot_f32(xs, ys):
    total = np.float32(0)
    for i in prange(xs.size):
        total += xs[i] * ys[i]
    return total


@parallel
def saxpy_f32(a, xs, ys):
    out = np.empty_like(xs)
    for i in prange(xs.size):
        out[i] = a * xs[i] + ys[i]
    return out


@njit
def prefix_sum(xs):
    out = np.empty_like(xs)
    total = xs.dtype.type(0)
    for i in range(xs.size):
        total += xs[i]
        out[i] = total
    return out


scan_f32 = scan_i64 = prefix_sum


@njit
def filter_f64(xs):
    return xs[xs < 0.5]


@njit
def product(a, b):
    return np.dot(a, b)


matmul_f32 = matmul_f64 = product


def mandelbrot(real):
    two, four = real(2), real(4)

    @parallel
    def square(n, limit):
        out = np.empty((n, n), np.int32)
        for i in prange(n):
            cy = real(3) * (real(i) / real(n)) - real(1.5)
            for j in range(n):
                cx = real(3) * (real(j) / real(n)) - two
                x, y, k = real(0), real(0), 0
                while x * x + y * y <= four and k < limit:
                    x, y, k = x * x - y * y + cx, two * x * y + cy, k + 1
                out[i, j] = k
        return out

    return square


mandelbrot_f32 = mandelbrot(np.float32)
mandelbrot_f64 = mandelbrot(np.float64)


def nbody(real):
    softening = real(0.01)

    @parallel
    def accelerations(xs, ys, zs, ms):
        n = xs.size
        ax, ay, az = np.empty_like(xs), np.empty_like(xs), np.empty_like(xs)
        for i in prange(n):
            a, b, c = real(0), real(0), real(0)
            for j in range(n):
                dx, dy, dz = xs[j] - xs[i], ys[j] - ys[i], zs[j] - zs[i]
                d2 = dx * dx + dy * dy + dz * dz + softening
                s = ms[j] / (d2 * np.sqrt(d2))
                a += dx * s
                b += dy * s
                c += dz * s
            ax[i], ay[i], az[i] = a, b, c
        return ax, ay, az

    return accelerations


nbody_f32 = nbody(np.float32)
nbody_f64 = nbody(np.float64)


@parallel
def histogram_i32(bins, keys):
    parts = get_num_threads()
    counts = np.zeros((parts, bins), np.int32)
    for p in prange(parts):
        for i in range(p * keys.size // parts, (p + 1) * keys.size // parts):
            counts[p, keys[i]] += 1
    return counts.sum(0).astype(np.int32)


def black_scholes(real):
    rate, volatility = real(0.02), real(0.3)
    one, half, scale = real(1), real(0.5), real(0.3989422804014327)
    a = [real(c) for c in (0.2316419, 0.319381530, -0.356563782, 1.781477937,
                           -1.821255978, 1.330274429)]
    a0, a1, a2, a3, a4, a5 = a

    @njit
    def normal(d):
        k = one / (one + a0 * abs(d))
        p = k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5))))
        tail = scale * math.exp(-(d * d) * half) * p
        return one - tail if d > 0 else tail

    @parallel
    def prices(stocks, strikes, years):
        call, put = np.empty_like(stocks), np.empty_like(stocks)
        for i in prange(stocks.size):
            root = volatility * math.sqrt(years[i])
            d1 = (math.log(stocks[i] / strikes[i])
                  + (rate + volatility * volatility * half) * years[i]) / root
            n1, n2 = normal(d1), normal(d1 - root)
            now = strikes[i] * math.exp(-rate * years[i])
            call[i] = stocks[i] * n1 - now * n2
            put[i] = now * (one - n2) - stocks[i] * (one - n1)
        return call, put

    return prices


blackscholes_f32 = black_scholes(np.float32)
blackscholes_f64 = black_scholes(np.float64)


@parallel
def mean27_f32(box):
    d, h, w = box.shape
    out = np.empty_like(box)
    for z in prange(d):
        for y in range(h):
            for x in range(w):
                total = np.float32(0)
                for dz in range(-1, 2):
                    for dy in range(-1, 2):
                        for dx in range(-1, 2):
                            total += box[min(max(z + dz, 0), d - 1),
                                         min(max(y + dy, 0), h - 1),
                                         min(max(x + dx, 0), w - 1)]
                out[z, y, x] = total / np.float32(27)
    return out


@parallel
def heat7_f32(box):
    d, h, w = box.shape
    out = np.empty_like(box)
    for z in prange(d):
        up, down = max(z - 1, 0), min(z + 1, d - 1)
        for y in range(h):
            north, south = max(y - 1, 0), min(y + 1, h - 1)
            for x in range(w):
                out[z, y, x] = (np.float32(0.4) * box[z, y, x] + np.float32(0.1)
                                * (box[up, y, x] + box[down, y, x]
                                   + box[z, north, x] + box[z, south, x]
                                   + box[z, y, max(x - 1, 0)]
                                   + box[z, y, min(x + 1, w - 1)]))
    return out


def jacobi(real):
    quarter = real(0.25)

    @parallel
    def step(grid, out):
        h, w = grid.shape
        for y in prange(1, h - 1):
            for x in range(1, w - 1):
                out[y, x] = quarter * (grid[y - 1, x] + grid[y + 1, x]
                                       + grid[y, x - 1] + grid[y, x + 1])

    @njit
    def steps(count, grid):
        grid, out = grid.copy(), grid.copy()
        for _ in range(count):
            step(grid, out)
            grid, out = out, grid
        return grid

    return steps


jacobi_f32 = jacobi(np.float32)
jacobi_f64 = jacobi(np.float64)


@parallel
def sumlog_f64(n):
    total = 0.0
    for i in prange(n):
        total += math.log(i + 1.0)
    return total


@parallel
def spmv_f32(starts, at, values, x):
    out = np.empty(starts.size - 1, np.float32)
    for i in prange(starts.size - 1):
        total = np.float32(0)
        for e in range(starts[i], starts[i + 1]):
            total += values[e] * x[at[e]]
        out[i] = total
    return out


@parallel
def kmeans_f32(points, centres):
    (n, d), k = points.shape, centres.shape[0]
    parts = get_num_threads()
    sums = np.zeros((parts, k, d), np.float32)
    counts = np.zeros((parts, k), np.int32)
    for p in prange(parts):
        for i in range(p * n // parts, (p + 1) * n // parts):
            best, nearest = np.float32(np.inf), 0
            for c in range(k):
                distance = np.float32(0)
                for j in range(d):
                    difference = points[i, j] - centres[c, j]
                    distance += difference * difference
                if distance < best:
                    best, nearest = distance, c
            counts[p, nearest] += 1
            for j in range(d):
                sums[p, nearest, j] += points[i, j]
    count = counts.sum(0).astype(np.int32)
    means = np.empty((k, d), np.float32)
    for c in range(k):
        for j in range(d):
            total = np.float32(0)
            for p in range(parts):
                total += sums[p, c, j]
            means[c, j] = total / np.float32(count[c])
    return means, count


@parallel
def generation(world, out):
    h, w = world.shape
    for y in prange(h):
        north, south = (y + h - 1) % h, (y + 1) % h
        for x in range(w):
            west, east = (x + w - 1) % w, (x + 1) % w
            around = (world[north, west] + world[north, x] + world[north, east]
                      + world[y, west] + world[y, east]
                      + world[south, west] + world[south, x] + world[south, east])
            out[y, x] = around == 3 or (around == 2 and world[y, x] == 1)


@njit
def life_u8(steps, world):
    world, out = world.copy(), np.empty_like(world)
    for _ in range(steps):
        generation(world, out)
        world, out = out, world
    return world
