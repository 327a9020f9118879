"""Plain sequential versions of the bigger programs, written without looking at
their parallel structure: lists, dictionaries and loops of Python, or NumPy."""
import base64 as b64
import cmath
import hashlib
import itertools
import math
from fractions import Fraction

import numpy as np

I32, I64, F32, F64 = np.int32, np.int64, np.float32, np.float64


def ints(xs, t=np.int64):
    return np.array(list(xs), t)


def text(s):
    return np.array(list(s), np.uint8)


def matrix_product(a, b):
    return a @ b


def matrix_power(a, e):
    return np.linalg.matrix_power(a, int(e)).astype(I64)


def nbody_step(xs, ys, zs, ms, vs, dt, steps):
    p = np.stack([xs, ys, zs], 1).astype(float)
    v = vs.astype(float).copy()
    for _ in range(int(steps)):
        acc = np.zeros_like(p)
        for i in range(len(p)):
            for j in range(len(p)):
                r = p[j] - p[i]
                d2 = r @ r + 0.01
                acc[i] += ms[j] / (d2 * math.sqrt(d2)) * r
        v = v + dt * acc
        p = p + dt * v
    return p[:, 0], p[:, 1], p[:, 2]


def mandelbrot(w, h, limit):
    out = np.zeros((int(h), int(w)), I32)
    for j in range(int(h)):
        for i in range(int(w)):
            c = complex(-2 + 3 * (i + 0.5) / int(w), -1 + 2 * (j + 0.5) / int(h))
            z, k = 0, 0
            while k < limit and abs(z) <= 2:
                z, k = z * z + c, k + 1
            out[j, i] = k
    return out


def life(g, steps):
    g = g.copy()
    n, m = g.shape
    for _ in range(int(steps)):
        new = g.copy()
        for i in range(n):
            for j in range(m):
                k = sum(int(g[(i + a) % n, (j + b) % m])
                        for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0))
                new[i, j] = k == 3 or (g[i, j] and k == 2)
        g = new
    return g


def kmeans(points, centres, steps):
    def label(p):
        return min(range(len(centres)), key=lambda i: (((p - centres[i]) ** 2).sum(), i))
    centres = centres.copy()
    for _ in range(int(steps)):
        labels = [label(p) for p in points]
        new = centres.copy()
        for k in range(len(centres)):
            mine = [p for p, l in zip(points, labels) if l == k]
            if mine:
                new[k] = sum(mine) / len(mine)
        centres = new
    return centres, ints(label(p) for p in points)


def fft_radix2(re):
    n = len(re)
    out = [sum(x * cmath.exp(-2j * cmath.pi * k * i / n) for i, x in enumerate(re))
           for k in range(n)]
    clean = lambda v: 0.0 if abs(v) < 1e-12 else v
    return np.array([clean(c.real) for c in out]), np.array([clean(c.imag) for c in out])


def radix_sort(xs):
    return np.sort(xs)


merge_sort_bitonic = quicksort_levels = radix_sort


def stream_compaction(xs):
    at = np.nonzero(xs)[0]
    return xs[at], at.astype(I64)


def run_length(s):
    runs = [(c, len(list(g))) for c, g in itertools.groupby(s)]
    return text(c for c, _ in runs), ints(k for _, k in runs), np.bool_(True)


def segmented_sums(lengths, xs):
    out, at = [], 0
    for k in lengths:
        out.append(sum(xs[at:at + k], 0.0))
        at += k
    return np.array(out, F64)


def sparse_matvec(rows, cols, vals, x):
    return np.array([sum(vals[j] * x[cols[j]] for j in range(a, b))
                     for a, b in zip(rows, rows[1:])], F64)


def dijkstra(w, s):
    import heapq
    n, far = len(w), 2**31 - 1
    dist, heap = [far] * n, [(0, int(s))]
    dist[int(s)] = 0
    while heap:
        d, u = heapq.heappop(heap)
        if d > dist[u]:
            continue
        for v in range(n):
            e = int(w[u, v])
            if e > 0 and d + e < dist[v]:
                dist[v] = d + e
                heapq.heappush(heap, (d + e, v))
    return ints(dist, I32)


def floyd_warshall(d):
    d = d.copy()
    for k, i, j in itertools.product(range(len(d)), repeat=3):
        d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


def bellman_ford(fr, to, w, n):
    far = 2**40
    d = [0] + [far] * (int(n) - 1)

    def relax(d):
        e = list(d)
        for u, v, c in zip(fr, to, w):
            if d[u] < far:
                e[v] = min(e[v], d[u] + int(c))
        return e
    for _ in range(int(n) - 1):
        d = relax(d)
    return ints(d), np.bool_(relax(d) != d)


def bfs_levels(adj, s):
    level = {int(s): 0}
    queue = [int(s)]
    for u in queue:
        for v in range(len(adj)):
            if adj[u, v] and v not in level:
                level[v] = level[u] + 1
                queue.append(v)
    return ints((level.get(v, -1) for v in range(len(adj))), I32)


def connected_components(image):
    n, m = image.shape
    labels, count = np.zeros((n, m), I64), 0
    for i, j in itertools.product(range(n), range(m)):
        if image[i, j] == 1 and labels[i, j] == 0:
            part, queue = {(i, j)}, [(i, j)]
            for a, b in queue:
                for c, d in ((a - 1, b), (a + 1, b), (a, b - 1), (a, b + 1)):
                    if 0 <= c < n and 0 <= d < m and image[c, d] == 1 and (c, d) not in part:
                        part.add((c, d))
                        queue.append((c, d))
            name = max(a * m + b + 1 for a, b in part)
            for a, b in part:
                labels[a, b] = name
            count += 1
    return labels, I64(count)


def word_statistics(s):
    words = bytes(s).decode().split()
    return I64(len(words)), I64(max(map(len, words), default=0)), I64(sum(map(len, words)))


def caesar__encode(s, k):
    def turn(c):
        for base in (97, 65):
            if base <= c < base + 26:
                return base + (c - base + int(k)) % 26
        return c
    return text(turn(int(c)) for c in s)


def caesar__decode(s, k):
    return caesar__encode(s, -k)


def base64(s):
    return text(b64.b64encode(bytes(s)))


def parse_numbers(s):
    return ints(int(f) for f in bytes(s).decode().split(","))


def palindromes(s):
    s = bytes(s)
    spans = [(j - i, -i) for i in range(len(s)) for j in range(i + 1, len(s) + 1)
             if s[i:j] == s[i:j][::-1]]
    k, at = max(spans)
    return I64(k), I64(-at)


def bigint_add(a, b):
    value = lambda d: sum(int(x) << 32 * i for i, x in enumerate(d))
    s = value(a) + value(b)
    return ints((s >> 32 * i & 0xFFFFFFFF for i in range(len(a))), np.uint32), \
        np.bool_(s >> 32 * len(a))


def bigint_factorial(n):
    return ints(map(int, str(math.factorial(int(n)))))


def lu_decomposition(a):
    n = len(a)
    l, u = np.eye(n), a.astype(float).copy()
    for k in range(n):
        for i in range(k + 1, n):
            l[i, k] = u[i, k] / u[k, k]
            u[i] = u[i] - l[i, k] * u[k]
    return l, np.triu(u), F64(np.linalg.det(a))


def linear_solve(a, b):
    x = np.linalg.solve(a, b)
    return np.round(x, 12)


def heat_1d(u, k, steps):
    u = u.copy()
    for _ in range(int(steps)):
        v = u.copy()
        for i in range(1, len(u) - 1):
            v[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1])
        u = v
    return u


def heat_2d(g, k):
    g = g.copy()
    for _ in range(int(k)):
        h = g.copy()
        h[1:-1, 1:-1] = F32(0.25) * (g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:])
        g = h
    return g


def black_scholes(spot, strike, years, r, v):
    cdf = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))
    calls, puts = [], []
    for s, x, t in zip(spot, strike, years):
        d1 = (math.log(s / x) + (r + v * v / 2) * t) / (v * math.sqrt(t))
        d2 = d1 - v * math.sqrt(t)
        calls.append(s * cdf(d1) - x * math.exp(-r * t) * cdf(d2))
        puts.append(x * math.exp(-r * t) * cdf(-d2) - s * cdf(-d1))
    return np.array(calls, F64), np.array(puts, F64)


def vector_spaces(a, b):
    a, b = a.astype(float), b.astype(float)
    na, nb = math.sqrt(a @ a), math.sqrt(b @ b)
    return F32(na), F32(nb), F32(a @ b / na / nb), (a - 2 * (a @ b) / (b @ b) * b).astype(F32)


def monoid_tower(xs):
    xs = list(map(int, xs))
    return (I64(len(xs)), I32(min(xs, default=2**31 - 1)), I32(sum(xs)),
            I32(xs[0] if xs else 0), I32(xs[-1] if xs else 0))


def linear_algebra_functor__modular(a, b):
    for x, y in itertools.product(range(7), repeat=2):
        if all((int(r[0]) * x + int(r[1]) * y - int(c)) % 7 == 0 for r, c in zip(a, b)):
            return ints((x, y), I32), ints((int(c) % 7 for c in b), I32)


def linear_algebra_functor__real(a, b):
    return np.linalg.solve(a, b), b


def ray_sphere(w, h):
    out = np.full((int(h), int(w)), -1.0)
    for j in range(int(h)):
        for i in range(int(w)):
            d = np.array([(i + 0.5) / int(w) * 2 - 1, (j + 0.5) / int(h) * 2 - 1, 2.0])
            d /= math.sqrt(d @ d)
            # |t d - c|^2 = 1 with c = (0, 0, 3)
            b, c = 3 * d[2], 9 - 1
            if b * b - c >= 0:
                out[j, i] = b - math.sqrt(b * b - c)
    return out


def max_subarray(xs):
    return I32(max([0] + [sum(map(int, xs[i:j])) for i in range(len(xs))
                          for j in range(i + 1, len(xs) + 1)]))


def bracket_depth(s):
    d, out = 0, []
    for c in bytes(s):
        d += 1 if c == 40 else -1
        out.append(d)
    return ints(out, I32), np.bool_(min(out, default=0) >= 0 and d == 0), \
        I32(max(out + [0]))


def edit_distance(a, b):
    a, b = bytes(a), bytes(b)
    memo = {}

    def d(i, j):
        if i == 0 or j == 0:
            return i + j
        if (i, j) not in memo:
            memo[i, j] = min(d(i - 1, j) + 1, d(i, j - 1) + 1,
                             d(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
        return memo[i, j]
    return I64(d(len(a), len(b)))


def longest_common_subsequence(a, b):
    a, b = bytes(a), bytes(b)
    best = 0
    for k in range(len(a) + 1):
        for pick in itertools.combinations(a, k):
            it = iter(b)
            if all(c in it for c in pick):
                best = k
    return I64(best)


def knapsack(w, v, c):
    return I64(max(sum(int(v[i]) for i in s) for k in range(len(w) + 1)
                   for s in itertools.combinations(range(len(w)), k)
                   if sum(int(w[i]) for i in s) <= int(c)))


def longest_increasing(xs):
    return I64(max(k for k in range(len(xs) + 1) for s in itertools.combinations(xs, k)
                   if all(a < b for a, b in zip(s, s[1:]))))


def queens(n):
    n = int(n)
    return I32(sum(len({q[i] + i for i in range(n)}) == n == len({q[i] - i for i in range(n)})
                   for q in itertools.permutations(range(n))))


def sudoku_check(g):
    want = {1, 2, 3, 4}
    boxes = [g[i:i + 2, j:j + 2].ravel() for i in (0, 2) for j in (0, 2)]
    return tuple(np.bool_(all(set(map(int, p)) == want for p in parts))
                 for parts in (g, g.T, boxes))


def rule_automaton(rule, n, steps):
    cells = [0] * int(n)
    cells[int(n) // 2] = 1
    for _ in range(int(steps)):
        cells = [int(rule) >> (4 * cells[i - 1] + 2 * cells[i] + cells[(i + 1) % len(cells)]) & 1
                 for i in range(len(cells))]
    return ints(cells, np.uint8)


def sand_pile(g):
    g, rounds = g.astype(int), 0
    n, m = g.shape
    while (g >= 4).any():
        h = g.copy()
        for i, j in zip(*np.nonzero(g >= 4)):
            h[i, j] -= 4
            for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= a < n and 0 <= b < m:
                    h[a, b] += 1
        g, rounds = h, rounds + 1
    return g.astype(I32), I32(rounds)


def page_rank(fr, to, n, steps):
    n = int(n)
    out = [sum(1 for f in fr if f == u) for u in range(n)]
    rank = [1 / n] * n
    for _ in range(int(steps)):
        new = [0.15 / n] * n
        for u, v in zip(fr, to):
            new[v] += 0.85 * rank[u] / out[u]
        rank = new
    return np.array(rank, F64)


def convolution(xs, w):
    return np.convolve(xs, w, "valid").astype(I32), np.convolve(xs, w, "full").astype(I32)


def sobel(g):
    kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    n, m = g.shape
    return np.array([[abs((g[i:i + 3, j:j + 3] * kx).sum()) + abs((g[i:i + 3, j:j + 3] * kx.T).sum())
                      for j in range(m - 2)] for i in range(n - 2)], I32)


def histogram_equalise(p):
    n = len(p)
    cdf = lambda v: sum(1 for q in p if q <= v)
    least = min(cdf(v) for v in p)
    out = []
    for v in p:
        x = Fraction(255 * (cdf(v) - least), n - least)
        assert x.denominator != 2
        out.append(round(x))
    return ints(out, np.uint8)


def summed_area(a, queries):
    return ints((int(a[r[0]:r[2], r[1]:r[3]].sum()) for r in queries), I32)


def tridiagonal(a, b, c, d):
    m = np.diag(b) + np.diag(a[1:], -1) + np.diag(c[:-1], 1)
    return np.linalg.solve(m, d)


def conjugate_gradient(a, b):
    return np.linalg.solve(a, b)


def power_iteration(a, steps):
    w, v = np.linalg.eigh(a)
    u = v[:, -1]
    return F64(w[-1]), u if u[0] > 0 else -u


def linear_regression(xs, ys):
    slope, offset = np.polyfit(xs, ys, 1)
    return F64(slope), F64(offset), F64(np.corrcoef(xs, ys)[0, 1] ** 2)


def softmax_classifier(x, w):
    z = x.astype(float) @ w.astype(float)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    return p.astype(F32), p.argmax(1).astype(I64)


def moving_average(xs, w):
    w = int(w)
    return np.array([sum(xs[i:i + w]) / w for i in range(len(xs) - w + 1)], F64)


def stock_profit(p):
    p = list(map(int, p))
    return (I32(max([0] + [b - a for a, b in itertools.combinations(p, 2)])),
            I32(sum(max(0, b - a) for a, b in zip(p, p[1:]))))


def monte_carlo_pi(n, seed):
    def h(x):
        x = (x ^ x >> 16) * 0x7FEB352D % 2**32
        x = (x ^ x >> 15) * 0x846CA68B % 2**32
        return x ^ x >> 16
    hits = 0
    for i in range(int(n)):
        k = (2 * i) ^ int(seed)
        x, y = h(k) >> 16, h((k + 1) % 2**32) >> 16
        hits += x * x + y * y < 2**32
    return I32(hits), F64(4 * hits / int(n))


def sha256_block(s):
    d = hashlib.sha256(bytes(s)).digest()
    return ints((int.from_bytes(d[i:i + 4], "big") for i in range(0, 32, 4)), np.uint32)


def rc4(key, data):
    s, j, key = list(range(256)), 0, bytes(key)
    for i in range(256):
        j = (j + s[i] + key[i % len(key)]) % 256
        s[i], s[j] = s[j], s[i]
    i = j = 0
    out = []
    for c in bytes(data):
        i = (i + 1) % 256
        j = (j + s[i]) % 256
        s[i], s[j] = s[j], s[i]
        out.append(c ^ s[(s[i] + s[j]) % 256])
    return text(out)


def tea_cipher(v0, v1, k):
    v0, v1, k, s, mask = int(v0), int(v1), list(map(int, k)), 0, 0xFFFFFFFF
    for _ in range(32):
        s = s + 0x9E3779B9 & mask
        v0 = v0 + (((v1 << 4) + k[0]) ^ (v1 + s) ^ ((v1 >> 5) + k[1])) & mask
        v1 = v1 + (((v0 << 4) + k[2]) ^ (v0 + s) ^ ((v0 >> 5) + k[3])) & mask
    return np.uint32(v0), np.uint32(v1), np.bool_(True)


def permutations(n):
    return np.array(list(itertools.permutations(range(int(n)))), I64)


def sieve(n):
    return ints(p for p in range(2, int(n)) if all(p % d for d in range(2, p)))


def polynomials(a, b, x):
    p = np.convolve(a, b)
    return p.astype(I64), ints(i * int(c) for i, c in enumerate(p) if i > 0), np.bool_(True)


def rational_arithmetic(n):
    h = sum(Fraction(1, k) for k in range(1, int(n) + 1))
    return I64(h.numerator), I64(h.denominator)


def text_wrap(s, width):
    lines, line = [], ""
    for word in bytes(s).decode().split(" "):
        if line and len(line) + 1 + len(word) > int(width):
            lines.append(line)
            line = word
        else:
            line = line + " " + word if line else word
    return text("\n".join(lines + [line]).encode())


def spiral_matrix(n, m):
    g, k = np.zeros((int(n), int(m)), I32), 1
    top, left, bottom, right = 0, 0, int(n) - 1, int(m) - 1
    while top <= bottom and left <= right:
        ring = [(top, j) for j in range(left, right + 1)]
        ring += [(i, right) for i in range(top + 1, bottom + 1)]
        if bottom > top:
            ring += [(bottom, j) for j in range(right - 1, left - 1, -1)]
        if right > left:
            ring += [(i, left) for i in range(bottom - 1, top, -1)]
        for i, j in ring:
            g[i, j], k = k, k + 1
        top, left, bottom, right = top + 1, left + 1, bottom - 1, right - 1
    return g


def josephus(n, k):
    circle, out, at = list(range(1, int(n) + 1)), [], 0
    while circle:
        at = (at + int(k) - 1) % len(circle)
        out.append(circle.pop(at))
    return ints(out)


def bilinear_resize(a, h, w):
    n, m = a.shape

    def at(i, to, size):
        return 0.0 if to == 1 else i * (size - 1) / (to - 1)
    out = np.zeros((int(h), int(w)), F32)
    for i in range(int(h)):
        for j in range(int(w)):
            y, x = at(i, int(h), n), at(j, int(w), m)
            out[i, j] = sum(float(a[r, c]) * max(0, 1 - abs(y - r)) * max(0, 1 - abs(x - c))
                            for r in range(n) for c in range(m))
    return out


def runge_kutta(h, steps):
    t = float(h) * int(steps)
    return F64(math.cos(t)), F64(-math.sin(t))


def lotka_volterra(prey, predator, dt, steps):
    x, y, dt, a, b = float(prey), float(predator), float(dt), [], []
    for k in range(1, int(steps) + 1):
        x, y = x + dt * (1.1 * x - 0.4 * x * y), y + dt * (0.1 * x * y - 0.4 * y)
        if k % 250 == 0:
            a.append(x)
            b.append(y)
    return np.array(a), np.array(b)


def kalman(z):
    x, p, out = 0.0, 1.0, []
    for m in z:
        k = p / (p + 0.1)
        x, p = x + k * (m - x), (1 - k) * p
        out.append(x)
    return np.array(out, F64)


def big_radix_sort(n):
    def key(i):
        x = i * 2654435761 % 2**32
        return (x ^ x >> 15) % 100000
    kv = sorted((key(i), i) for i in range(int(n)))
    return np.bool_(True), np.uint32(kv[0][0]), np.uint32(kv[-1][0]), I64(kv[int(n) // 2][1])


def prefix_tree_sum(xs):
    return ints(sum(map(int, xs[:i])) for i in range(len(xs)))


def grundy_table(n, m):
    g = np.zeros((int(n), int(m)), I32)
    for i in range(int(n)):
        for j in range(int(m)):
            seen = {int(g[k, j]) for k in range(i)} | {int(g[i, k]) for k in range(j)} \
                | {int(g[i - k, j - k]) for k in range(1, min(i, j) + 1)}
            g[i, j] = next(v for v in range(99) if v not in seen)
    return g


def lz_decoder(code):
    out, it = [], iter(map(int, code))
    for c in it:
        if c > 0:
            out += [next(it) for _ in range(c)]
        else:
            for _ in range(next(it)):
                out.append(out[c])
    return text(out)


def semiring_products(a, b):
    def product(plus, times):
        return np.array([[plus(times(int(x), int(y)) for x, y in zip(r, c)) for c in b.T]
                         for r in a], I32)
    return (product(min, lambda x, y: x + y), product(max, min),
            product(sum, lambda x, y: x * y))
