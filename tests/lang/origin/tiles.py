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
