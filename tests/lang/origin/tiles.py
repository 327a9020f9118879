"""Products of matrices of small whole numbers, by numpy's product of integers."""
import numpy as np


def left(n, m):
    return (np.arange(n)[:, None] * 5 + np.arange(m)[None, :] * 3) % 11 - 4


def right(m, p):
    return (np.arange(m)[:, None] * 7 + np.arange(p)[None, :] * 2) % 13 - 5


def weigh(c):
    n, p = c.shape
    j = np.arange(p)
    return np.int64((c * (np.arange(n) + 2)[:, None] * (j * j + 1)[None, :]).sum())


def product(n, m, p):
    return weigh(left(n, m) @ right(m, p))


products__singles = products__doubles = products__wholes = products__halves = product
transposed__tt = transposed__tn = transposed__nt = transposed__nn = product


def batched(q, n, m, p):
    c = [left(n, m) @ (right(m, p) + i) for i in range(q)]
    return np.array([weigh(x) for x in c], dtype=np.int64)


def epilogues__dense(n, m, p):
    c = left(n, m) @ right(m, p) + np.arange(p)[None, :] - 7
    return weigh(np.maximum(c, 0))


def epilogues__pairs(n, m, p):
    a, b = left(n, m), right(m, p)
    return np.array([weigh(a @ b), weigh(a @ (b * b))])


def epilogues__distances(n, m, p):
    a, b = left(n, m), right(m, p)
    return weigh(((a[:, :, None] - b[None, :, :]) ** 2).sum(axis=1))


def epilogues__masked(n, m, p):
    c = left(n, m) @ right(m, p)
    i, j = np.arange(n)[:, None], np.arange(p)[None, :]
    return weigh(np.where(i < j, c, -i - j))


def point(n, d, m):
    i, j = np.arange(n)[:, None], np.arange(d)[None, :]
    return ((i * 7 + j * 5) % m - 3) / 4


def checksum(rows):
    return (rows * (np.arange(len(rows)) % 7 + 1)[:, None]).sum(axis=0)


def batches__nearest(n, k, d):
    i, j = np.arange(k)[:, None], np.arange(d)[None, :]
    centres = ((i * 11 + j * 3) % 19 - 2) / 4
    far = ((point(n, d, 23)[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return np.int64(checksum(np.argmin(far, axis=1)[:, None])[0])


def batches__layers(n, d):
    o, i = np.arange(9)[:, None], np.arange(d)[None, :]
    first = ((o * 5 + i * 3) % 11 - 5) / 2
    o, i = np.arange(3)[:, None], np.arange(9)[None, :]
    second = ((o * 2 + i * 7) % 5 - 2) / 2
    return checksum(np.maximum(point(n, d, 17) @ first.T, 0) @ second.T).astype(np.float32)


def batches__windows(n, d):
    x = point(n, d, 29)
    smooth = x[:, :-2] + 2 * x[:, 1:-1] + 3 * x[:, 2:]
    greater = np.maximum(smooth[:, 0::2], smooth[:, 1::2])
    o, i = np.arange(4)[:, None], np.arange((d - 2) // 2)[None, :]
    return checksum(greater @ ((o + i) % 3 - 1).T.astype(np.float64))


def batches__recurrences(n, d):
    f, rows = np.float32, point(n, d, 23).astype(np.float32)
    c, e = np.zeros((n, d + 1), f), np.zeros((n, d + 1), f)
    for i in range(d):
        c[:, i] = f(1) / (f(3) + c[:, i - 1])
        e[:, i] = (rows[:, i] + e[:, i - 1]) / (f(4) - c[:, i - 1])
    for i in range(d - 2, -1, -1):
        e[:, i] -= c[:, i] + e[:, i + 1]
    return np.int64((np.trunc(e * 1024).sum(axis=1) * (np.arange(n) % 7 + 1)).sum())


def batches__along(n, d):
    x, y = point(n, d, 23).astype(np.float64), point(n, d + 2, 19).astype(np.float64)
    a, b, s, t = np.zeros((n, d)), np.zeros((n, d)), np.ones(n), np.ones(n)
    for k in range(d):
        j = d - 1 - k
        s = (x[:, k] + y[:, k + 1]) / (3 + s)
        t = (x[:, j] - x[:, k] * 2) / (7 - t)
        a[:, k], b[:, j] = s + t, t
    turns = np.arange(n) % 7 + 1
    return np.array([(np.trunc(z * 1024).sum(axis=1) * turns).sum() for z in (a, b)],
                    dtype=np.int64)


def batches__earlier(n, d):
    f, x = np.float32, point(n, d, 23).astype(np.float32)
    a, s = np.full((n, d), f(2)), np.ones(n, f)
    for k in range(d):
        s = (x[:, k] + a[:, d - 1 - k]) / (f(3) + s) + (x[:, d - 1 - k] + f(1))
        a[:, k] = s
    return np.int64((np.trunc(a * f(1024)).sum(axis=1, dtype=np.float64)
                     * (np.arange(n) % 7 + 1)).sum())


def batches__parts(n, d):
    f, x = np.float32, point(n, d, 23).astype(np.float32)
    a = np.concatenate([x, np.full((n, 1), f(2)), np.full((n, 1), f(3))], axis=1)
    s = np.ones(n, f)
    for k in range(d):
        s = (a[:, k] + a[:, k + 1] + (x[:, d - 1 - k] + f(1))) / (f(3) + s)
        a[:, k] = s
    return np.int64((np.trunc(a * f(1024)).sum(axis=1, dtype=np.float64)
                     * (np.arange(n) % 7 + 1)).sum())
