#!/usr/bin/env python3
"""Fit the polynomials of lib/math and print them as Horner steps in Weft.

    fit.py [NAME…]          all, or the named ones; wants mpmath, numpy
    from fit import POLYS, horner

The printed error is the largest over a grid, weighted to be relative to the function
that the polynomial serves, with rounded coefficients in exact arithmetic.
"""
import sys
from mpmath import mp, mpf, matrix, lu_solve, cos, pi, log, sqrt, frexp, ldexp
import mpmath as m
import numpy as np

mp.dps = 70


def minimax(f, lo, hi, degree, weight):
    """Remez's exchange on a grid of Chebyshev points; weight times error is levelled."""
    n = degree + 2
    grid = [mid_point(lo, hi, mpf(i) / (24 * n)) for i in range(24 * n + 1)]
    want = [f(x) for x in grid]
    ws = [abs(weight(x)) for x in grid]
    top = max(ws)
    ws = [max(w, top / 10 ** 5) for w in ws]
    at = [round(24 * n * (2 * i + 1) / (2 * n)) for i in range(n)]
    for _ in range(12):
        a, y = matrix(n, n), matrix(n, 1)
        for row, i in enumerate(at):
            for j in range(degree + 1):
                a[row, j] = grid[i] ** j
            a[row, degree + 1] = (-1) ** row / ws[i]
            y[row] = want[i]
        c = list(lu_solve(a, y))
        level, c = abs(c[-1]), c[:-1]
        err = [(m.polyval(c[::-1], x) - v) * w for x, v, w in zip(grid, want, ws)]
        # one extremum per run of equal signs
        runs, best = [], 0
        for i in range(1, len(err)):
            if err[i] * err[i - 1] < 0:
                runs.append(best)
                best = i
            elif abs(err[i]) > abs(err[best]):
                best = i
        runs.append(best)
        while len(runs) > n:
            runs.pop(0 if abs(err[runs[0]]) < abs(err[runs[-1]]) else -1)
        if len(runs) < n or max(map(abs, err)) < level * mpf("1.02"):
            break
        at = runs
    return c


def mid_point(lo, hi, t):
    x = (mpf(lo) + hi) / 2 - (mpf(hi) - lo) / 2 * cos(pi * t)
    return x if abs(x) > mpf(10) ** -15 else mpf(10) ** -15


def rounded(x, bits):
    """The nearest float of that many bits (normal range)."""
    if x == 0:
        return mpf(0)
    man, e = frexp(x)
    return ldexp(mpf(int(m.nint(ldexp(man, bits)))), e - bits)


def literal(x, typ):
    """A float as a hexadecimal Weft literal."""
    s = float(x).hex()
    man, e = s.split("p")
    if "." in man:
        man = man.rstrip("0").rstrip(".")
    return f"{man}p{int(e)}{typ}"


FIRST_AS_PAIR = {"erfc", "erfc32", "lgamma"}  # the library adds its rounding error
BITS = {"f64": 53, "f32": 24}
LN2 = log(2)
# name -> (target, interval, {type: degree}, weight): the weight turns the error of the
# polynomial into a relative error of the function it serves.
EXP = mpf("0.3467")
SQ = (3 - 2 * sqrt(2)) ** 2 * mpf("1.0001")
QP = (pi / 4) ** 2 * mpf("1.001")


def odd(f, k, c=1):
    """(f(x) - c·x)/x³, or with k = 1 f(x)/x - c, as a function of z = x²."""
    def g(z):
        x = sqrt(z)
        return (f(x) - c * x) / x ** k
    return g


def stirling(z):
    x = 1 / sqrt(z)
    return (m.loggamma(x) - (x - 0.5) * log(x) + x - log(2 * pi) / 2) * x


def erfc_scaled(mid):
    def g(u):
        x = mid * (1 + u) / (1 - u)
        return (1 + 2 * x) * m.exp(x * x) * m.erfc(x)
    return g


def near2(t):
    return (m.loggamma(2 + t) - (1 - m.euler) * t) / t ** 2


def atanh2(k):
    def g(z):
        s = sqrt(z)
        r = 2 * m.atanh(s) - 2 * s
        return r / s ** 3 if k == 3 else (r / s ** 3 - mpf(2) / 3) / z
    return g


POLYS = {
    "exp": (lambda r: (m.exp(r) - 1 - r) / r ** 2, (-EXP, EXP),
            {"f64": 9, "f32": 5}, abs),
    "log": (atanh2(3), (0, SQ), {"f64": 6, "f32": 2}, lambda z: z / 2),
    "log_tail": (atanh2(5), (0, SQ), {"f64": 7, "f32": 2}, lambda z: z * z / 2),
    "cbrt": (lambda f: f ** (-mpf(1) / 3), (1, 2), {"f64": 5, "f32": 3}, lambda f: 1),
    "sin": (odd(m.sin, 3), (0, QP), {"f64": 5, "f32": 2}, lambda z: z),
    "cos": (lambda z: (m.cos(sqrt(z)) - 1 + z / 2) / z ** 2, (0, QP),
            {"f64": 5, "f32": 2}, lambda z: z ** 2),
    "asin": (odd(m.asin, 3), (0, mpf("0.2501")), {"f64": 12, "f32": 5}, lambda z: z),
    "atan": (odd(m.atan, 3), (0, 1), {"f64": 20, "f32": 9}, lambda z: z),
    "sinh": (odd(m.sinh, 3), (0, 1), {"f64": 7, "f32": 3}, lambda z: z),
    "asinh": (odd(m.asinh, 3), (0, mpf("0.2501")), {"f64": 12, "f32": 5}, lambda z: z),
    "atanh": (odd(m.atanh, 3), (0, mpf("0.2501")), {"f64": 13, "f32": 5}, lambda z: z),
    "erf": (odd(m.erf, 1), (0, mpf("0.766")), {"f64": 14, "f32": 7}, lambda z: 1),
    "erfc": (erfc_scaled(2.5), (mpf(-7) / 13, mpf("25.5") / mpf("30.5")), {"f64": 22},
             lambda u: 1),
    "erfc32": (erfc_scaled(2), (mpf(-21) / 43, mpf("8.5") / mpf("12.5")), {"f32": 10},
               lambda u: 1),
    "stirling": (stirling, (0, mpf(1) / 64), {"f64": 8}, lambda z: z / 4),
    "lgamma": (near2, (mpf("-0.625"), mpf("0.5")), {"f64": 23}, lambda t: abs(t)),
    # for f32, computed in f64
    "wide_log2": (lambda z: 2 * m.atanh(sqrt(z)) / sqrt(z) / LN2, (0, SQ), {"f64": 5},
                  lambda z: 1),
    "wide_exp2": (lambda r: mpf(2) ** r, (-0.5, 0.5), {"f64": 7}, lambda r: 1),
    "wide_stirling": (lambda z: stirling(z) / LN2, (0, mpf(1) / 64), {"f64": 3},
                      lambda z: sqrt(z)),
    "wide_sinpi": (lambda z: m.sinpi(sqrt(z)) / sqrt(z), (0, 0.25), {"f64": 6},
                   lambda z: 1),
    "wide_lgamma": (lambda t: m.loggamma(2 + t) / t, (-0.75, 0.5), {"f64": 13},
                    lambda t: 1),
}


def polished(cs, exact_error, steps, powers):
    """Moves rounded coefficients by units in the last place, one or two at a time,
    while that lowers the largest error."""
    n, err = len(cs), exact_error
    rows = [steps[j] * powers[j] for j in range(n)]
    moves = [((j, d),) for j in range(n) for d in (-1, 1)]
    moves += [((i, d), (j, e)) for i in range(n) for j in range(i)
              for d in (-2, -1, 1, 2) for e in (-2, -1, 1, 2)]
    best = abs(err).max()
    while True:
        trials = [(abs(err + sum(d * rows[j] for j, d in mv)).max(), mv) for mv in moves]
        level, move = min(trials)
        if level >= best * 0.999:
            return cs, best
        for j, d in move:
            cs[j] += d * mpf(float(steps[j]))
            err = err + d * rows[j]
        best = level


def fit(name, typ):
    """Rounded coefficients, their error, and the first one unrounded."""
    f, (lo, hi), degrees, weight = POLYS[name]
    exact = minimax(f, lo, hi, degrees[typ], weight)
    cs = [rounded(c, BITS[typ]) for c in exact]
    first = [exact[0] if name in FIRST_AS_PAIR else cs[0]]
    xs = [mid_point(lo, hi, (i + mpf("0.5")) / 250) for i in range(250)]
    err = np.array([float((m.polyval(cs[:0:-1] + first, x) - f(x)) * weight(x))
                    for x in xs])
    steps = [float(ldexp(1, frexp(c)[1] - BITS[typ])) for c in cs]
    if name in FIRST_AS_PAIR:
        steps[0] = 0.0
    powers = [np.array([float(x ** j * weight(x)) for x in xs]) for j in range(len(cs))]
    cs, error = polished(cs, err, steps, powers)
    return cs, mpf(float(error)), exact[0]


def horner(name, typ, result, x):
    cs, worst, _ = fit(name, typ)
    lines = [f"let {result} = {literal(cs[-1], typ)}"]
    for c in cs[-2::-1]:
        lines.append(f"let {result} = {typ}.fma {result} {x} ({literal(c, typ)})"
                     if c < 0 else
                     f"let {result} = {typ}.fma {result} {x} {literal(c, typ)}")
    return lines, worst


if __name__ == "__main__":
    for name in sys.argv[1:] or POLYS:
        for typ in POLYS[name][2]:
            lines, worst = horner(name, typ, "p", "x")
            print(f"-- {name} {typ}, error 2^{float(log(worst, 2)):.1f}")
            print("\n".join(lines))
