# SPDX-License-Identifier: Apache-2.0
"""Where the expected values of the programs in this folder come from: NumPy, and for the
mixture's derivatives differences of its objective."""
from math import lgamma

import numpy as np


def megapar(n, steps):
    start = np.float32(np.arange(n) % 1000 + 1) / np.float32(1001)
    results = []
    for rate, xs in ((3.5, start), (3.6, start[::-1]), (3.7, np.roll(start, -1)),
                     (3.8, start)):
        for _ in range(steps):
            xs = np.float32(rate) * xs * (1 - xs)
        results.append(xs)
    return results


def strength(turn, n):
    at = np.arange(n) / n
    p = np.stack([at * np.cos(turn * at), at * np.sin(turn * at), at], 1)
    d = p[None] - p[:, None]
    r2 = (d ** 2).sum(2) + 0.01
    return np.linalg.norm((d / (n * r2 * np.sqrt(r2))[..., None]).sum(1), axis=1)


def saltmarsh(n, m, steps):
    def x(f):
        return (np.roll(f, -1, 1) - np.roll(f, 1, 1)) / 2

    def y(f):
        return (np.roll(f, -1, 0) - np.roll(f, 1, 0)) / 2

    def bend(f):
        return sum(np.roll(f, k, a) for k in (1, -1) for a in (0, 1)) - 4 * f

    i, j = np.mgrid[:n, :m]
    h, u, v = np.full((n, m), 0.2), np.zeros((n, m)), np.zeros((n, m))
    s = 0.1 + 0.01 * ((7 * i + 3 * j) % 11)
    b = 0.05 * ((2 * i + 5 * j) % 11)
    dt = 0.002
    for _ in range(steps):
        w = np.hypot(u, v)

        def pushed(f):
            drag = (0.02 + 0.2 * b) * w / h
            return f + dt * (0.5 * bend(f) - u * x(f) - v * y(f) - drag * f)

        h, u, v, s, b = (
            h + dt * (0.0005 - x(u * h) - y(v * h)),
            pushed(u) - dt * 9.81 * x(h + s),
            pushed(v) - dt * 9.81 * y(h + s),
            s + dt * (0.002 * h / (0.05 + h) - 0.05 * (1 - 0.9 * b) * s * w
                      + 0.01 * bend(s)),
            b + dt * (0.05 * b * (1 - b) * 0.05 / (0.05 + h) - 0.1 * b * w
                      + 0.02 * bend(b)))
    return h.mean(), abs(u).mean(), abs(v).mean(), s.mean(), b.mean()


def objective(alphas, means, logs, ls, points, gamma=1, m=0):
    """One distribution and one point after the other."""
    (n, d), k = points.shape, len(alphas)
    q = [np.diag(np.exp(logs[c])) + np.tril(ls[c], -1) for c in range(k)]
    fits = np.array([[alphas[c] + logs[c].sum()
                      - 0.5 * ((q[c] @ (p - means[c])) ** 2).sum() for c in range(k)]
                     for p in points])
    value = (np.log(np.exp(fits).sum(1)).sum() - n * np.log(np.exp(alphas).sum())
             - n * d / 2 * np.log(2 * np.pi))
    for c in range(k):
        value += 0.5 * gamma ** 2 * (q[c] ** 2).sum() - m * logs[c].sum()
    dof = d + m + 1
    gammas = d * (d - 1) / 4 * np.log(np.pi) + sum(lgamma((dof - j) / 2) for j in range(d))
    return value - k * (dof * d * (np.log(gamma) - 0.5 * np.log(2)) - gammas)


def gmm(n, d, k):
    def made(i, j):
        return (7 * i + 3 * j + i * j) % 23 / 23

    i, j = np.mgrid[:k, :d]
    points = np.fromfunction(lambda i, j: 2 * made(i + 11, j + 3), (n, d))
    c, row, column = np.mgrid[:k, :d, :d]
    parameters = [made(1, np.arange(k)), 2 * made(i, j), made(i + 5, j) - 0.5,
                  made(row + c, column + 1) - 0.5]
    sums = []
    for which, array in enumerate(parameters):
        total = 0
        for at in np.ndindex(array.shape):
            def moved(by):
                changed = [a.copy() for a in parameters]
                changed[which][at] += by
                return objective(*changed, points)
            step = 1e-3  # an error of the order of step^4
            total += abs(8 * (moved(step) - moved(-step))
                         - moved(2 * step) + moved(-2 * step)) / (12 * step)
        sums.append(total)
    return objective(*parameters, points), *sums


np.set_printoptions(precision=9)
print("megapar", *megapar(3, 4))
print("nbody", strength(7, 3), strength(11, 3))
print("saltmarsh", *saltmarsh(12, 16, 5))
print("gmm", *gmm(7, 2, 3))
