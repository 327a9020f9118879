"""Large inputs for array operators, by plain loops."""
import numpy as np


def large_non_commutative_scan(n):
    m, x, out = 1000003, 5, []
    for i in range(int(n)):
        x = (x * ((i * 7 + 3) % m) + (i * i + 1) % m) % m
        out.append(x)
    return np.int64(out[-1]), np.int64(out[8191]), np.int64(out[8192])


def large_reduce_order(n):
    h = 0
    for i in range(int(n)):
        h = (h * 257 + i * i % 251) % 2**64
    return np.uint64(h)


def large_partition(n):
    xs = [i * 7919 % 10007 for i in range(int(n))]
    a = [x for x in xs if x < 3000]
    b = [x for x in xs if x >= 3000 and x % 2 == 0]
    c = [x for x in xs if x >= 3000 and x % 2 == 1]
    return (np.int64(len(a)), np.int64(len(b)), np.int64(len(c)),
            np.int64(a[100] + b[100] + c[100]),
            np.int64(sum(i % 13 * x for i, x in enumerate(c))))


def large_scatter_last_wins(n, k):
    n, k = int(n), int(k)
    out = [-1] * k
    for i in range(n):
        if i * i % (k + 7) < k:
            out[i * i % (k + 7)] = i
    return np.int64(sum(out)), np.int64(out[k // 3])


def large_hist_operators(n):
    sums, tops = [0] * 1000, [-2**63] * 1000
    for i in range(int(n)):
        k, v = i * 31 % 1009, i * 17 % 4096
        if k < 1000:
            sums[k] += v
            tops[k] = max(tops[k], v)
    return (np.int64(sums[0]), np.int64(sum(s * i for i, s in enumerate(sums))),
            np.int64(sum(t ^ i for i, t in enumerate(tops))))


def large_hist_ranges(n, k):
    n, k = int(n), int(k)
    bins = [[0, -2**63, 0, 0] for _ in range(k)]
    value = lambda i: (i * 2654435761 ^ i >> 3) % 1000 - 500
    for i in range(n):
        at = (i * 7919 + i // 3) % (k + 2) - 1
        if at >> 16 == 2:
            at = k - 1 - at % 1000
        if 0 <= at < k:
            a, b, c, d = bins[at]
            bins[at] = [a + value(i), max(b, value(i + 1)), c ^ i, d + 1]
    return np.array([sum(at % 1009 * (bins[at][c] & 0xffffff) for at in range(k))
                     for c in range(4)])


def large_hist_copies(n, k):
    n, k = int(n), int(k)
    sums, tops = [0] * k, [-2**31] * k
    for i in range(n):
        at = (i * 7919 + i // 5) % (k + 3) - 1
        if 0 <= at < k:
            value = (i * 2654435761 ^ i >> 3) % 1000 - 500
            sums[at] += value
            tops[at] = max(tops[at], value)
    weighed = lambda bins: sum(at % 1009 * (x & 0xffffff) for at, x in enumerate(bins))
    return np.int64(weighed(sums)), np.int64(weighed(tops))


def large_transpose(n, m):
    n, m = int(n), int(m)
    a = [[i * 1000 + j * 3 % 17 for j in range(m)] for i in range(n)]
    cols = [[a[i][j] for i in range(n)] for j in range(m)]
    weighed = lambda v: sum(i * x for i, x in enumerate(v))
    return np.int64(weighed([weighed(c) for c in cols])), \
        np.int64(weighed([x for c in cols for x in c]))
