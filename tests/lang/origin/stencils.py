"""Steps of stencils over arrays of many sizes, from numpy.roll and numpy.pad."""
import numpy as np


def numbers(n):
    i = np.arange(n, dtype=np.int64)
    return (i * i * 7 + 3) % 101


def digest(a):
    a = a.ravel()
    return np.int64(np.sum(a * (np.arange(len(a)) + 1)) % 1000003)


def grid(h, w):
    return numbers(h * w).reshape(h, w)


def torus(count, h, w):
    a = grid(h, w)
    for _ in range(count):
        if a.size > 0:
            a = (np.roll(a, 1, 0) + 2 * np.roll(a, -1, 0) + 3 * np.roll(a, 1, 1)
                 + 5 * np.roll(a, -1, 1)) % 101
    return digest(a)


def edges(count, h, w):
    a = grid(h, w)
    for _ in range(count):
        b = a.copy()
        if min(h, w) > 2:
            b[1:-1, 1:-1] = (a[:-2, 1:-1] + 2 * a[2:, 1:-1] + 3 * a[1:-1, :-2]
                             + 5 * a[1:-1, 2:]) % 101
        a = b
    return digest(a)


def window(n):
    a = numbers(n)
    if n == 0:
        return np.int64(0)
    p = np.pad(a, 4, "edge")
    return digest(sum((k + 1) * p[k:k + n] for k in range(9)))


def zeros(n):
    p = np.pad(numbers(n), 2)
    return digest(sum((k + 1) * p[k:k + n] for k in range(5)))


def bytes(count, h, w):
    a = grid(h, w).astype(np.uint8)
    for _ in range(count):
        if a.size > 0:
            a = np.roll(a, 1, 0) + np.roll(a, 1, 1) * np.uint8(3) + np.roll(a, -1, 1)
    return digest(a.astype(np.int64))
