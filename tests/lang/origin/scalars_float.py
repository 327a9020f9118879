"""Floating point from exact rationals (exact.py) and IEEE operations of NumPy."""
import math
from fractions import Fraction

import numpy as np

from exact import bits, exact, fma, to_float

F = np.float32


def rounded(a, b, t):
    a, b = exact(a), exact(b)
    return tuple(bits(to_float(v, t)) for v in (a + b, a - b, a * b, a / b))


def arith_bits_f32(a, b):
    return rounded(a, b, "f32")


def arith_bits_f64(a, b):
    return rounded(a, b, "f64")


def arith_bits_f16(a, b):
    return rounded(a, b, "f16")


def half_rounds_each_step(a, b, c):
    def r(x):
        return to_float(x, "f16")
    s = r(exact(r(exact(a) + exact(b))) + exact(c))
    p = r(exact(r(exact(a) * exact(b))) + exact(c))
    return bits(s), bits(p)


def subnormals(x):
    half = to_float(exact(x) / 2, "f32")
    tiny = to_float(exact(x) * exact(x), "f32")
    back = to_float(exact(half) * 2, "f32")
    return bits(half), bits(tiny), bits(back)


def contraction_f32(x, y, z):
    return np.array([bits(v) for v in (
        fma(x, y, z, "f32"), fma(x, y, z, "f32"), fma(x, y, -z, "f32"),
        to_float(exact(z) - exact(x) * exact(y), "f32"))])


def contraction_f64(x, y, z):
    return np.array([bits(v) for v in (
        fma(x, y, z, "f64"), to_float(exact(z) - exact(x) * exact(y), "f64"))])


def contraction_right_operand(a, b, c, d):
    return bits(fma(c, d, to_float(exact(a) * exact(b), "f32"), "f32"))


def no_contraction_two_uses(x, y, z):
    p = to_float(exact(x) * exact(y), "f32")
    return bits(to_float(exact(p) + exact(z), "f32")), bits(p)


def no_contraction_f16(x, y, z):
    p = to_float(exact(x) * exact(y), "f16")
    return bits(to_float(exact(p) + exact(z), "f16"))


def kahan(xs):
    s, c = F(0), F(0)
    plain = F(0)
    for x in xs:
        y = F(x - c)
        t = F(s + y)
        c = F(F(t - s) - y)
        s = t
        plain = F(plain + x)
    return bits(s), bits(plain)


def newton_sqrt(x):
    return np.float64(math.sqrt(float(x)))


def quadratic(a, b, c):
    a, b, c = (Fraction(float(v)) for v in (a, b, c))
    d = float(b * b - 4 * a * c)
    if d < 0:
        return np.int32(0), np.array([], np.float64).reshape(0)
    if d == 0:
        return np.int32(1), np.array([float(-b / (2 * a))])
    r = math.sqrt(d)
    return np.int32(2), np.array(sorted(((float(-b) - r) / float(2 * a), (float(-b) + r) / float(2 * a))))


def two_sum(a, b):
    s = to_float(exact(a) + exact(b), "f64")
    return np.array([bits(s), bits(to_float(exact(a) + exact(b) - exact(s), "f64"))])


def two_product(a, b):
    p = to_float(exact(a) * exact(b), "f64")
    return np.array([bits(p), bits(to_float(exact(a) * exact(b) - exact(p), "f64"))])


def power_functions(x, y):
    return np.float64(math.pow(float(x), float(y)))


def horner(cs, x):
    return np.float64(float(sum(exact(c) * exact(x) ** i for i, c in enumerate(cs))))


def simpson(n):
    return np.float64(math.e - 1)


def bisection(lo, hi):
    return np.float64(2 ** (1 / 3))


def golden_angle_points(n):
    g = math.pi * (3 - math.sqrt(5))
    return (np.array([math.sqrt(i) * math.cos(i * g) for i in range(int(n))], np.float32),
            np.array([math.sqrt(i) * math.sin(i * g) for i in range(int(n))], np.float32))


def leibniz(n):
    return np.float64(4 * sum((-1) ** k / (2 * k + 1) for k in range(int(n))))


def logistic_map(r, x, n):
    x = float(x)
    for _ in range(int(n)):
        x = float(r) * x * (1 - x)
    return np.float64(x)
