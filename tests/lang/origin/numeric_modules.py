"""The numeric modules from Python's math module and unbounded integers."""
import math

import numpy as np

from exact import bits
from scalars_int import typ, wrap


def bit_tests(t):
    w = int(t[1:])

    def f(x):
        b = int(x) & ((1 << w) - 1)
        clz = w - b.bit_length()
        ctz = (b & -b).bit_length() - 1 if b else w
        return np.int32(bin(b).count("1")), np.int32(clz), np.int32(ctz)
    return f


def high_products(t):
    w = int(t[1:])

    def f(a, b, c):
        hi = int(a) * int(b) >> w
        return wrap(hi, t), wrap(hi + int(c), t)
    return f


for _t in ("i8", "i32", "i64", "u8", "u32", "u64"):
    globals()["bit_counts_" + _t] = bit_tests(_t)
    globals()["mul_hi_" + _t] = high_products(_t)


def f64s(*xs):
    return tuple(np.float64(x) for x in xs)


def trigonometry(x):
    x = float(x)
    return f64s(math.sin(x), math.cos(x), math.tan(x))


def inverse_trigonometry(x):
    x = float(x)
    return f64s(math.asin(x), math.acos(x), math.atan(x))


def hyperbolic(x):
    x = float(x)
    return f64s(math.sinh(x), math.cosh(x), math.tanh(x))


def inverse_hyperbolic(x):
    x = float(x)
    return f64s(math.asinh(x), math.acosh(1 + x), math.atanh(x / (1 + x)))


def exponentials(x):
    x = float(x)
    return f64s(math.exp(x), 2 ** x, 10 ** x, math.expm1(x))


def logarithms(x):
    x = float(x)
    return f64s(math.log(x), math.log2(x), math.log10(x), math.log1p(x))


def roots(x):
    x = float(x)
    return f64s(math.sqrt(x), x ** (1 / 3), 1 / math.sqrt(x), math.hypot(x, 2 * x))


def error_and_gamma(x):
    x = float(x)
    return f64s(math.erf(x), math.erfc(x), math.gamma(x), math.lgamma(x))


def angles(y, x):
    y, x = float(y), float(x)
    return f64s(math.atan2(y, x), math.atan2(y, x) / math.pi)


def multiples_of_pi(x):
    x = float(x)
    return f64s(math.sin(math.pi * x), math.cos(math.pi * x), math.tan(math.pi * x))


def inverse_multiples_of_pi(x):
    x = float(x)
    return f64s(*(v / math.pi for v in (math.asin(x), math.acos(x), math.atan(x))))


def elementary_f32(x):
    x = float(x)
    return tuple(np.float32(v) for v in (math.sin(x), math.exp(x), math.log(x), x ** 1.5,
                                         math.atan(x), math.tanh(x)))


def elementary_f16(x):
    x = float(x)
    return tuple(np.float16(v) for v in (math.sin(x), math.exp(x), math.log(x), math.sqrt(x)))


def next_after(x, y):
    return bits(np.nextafter(x, y))


def from_fraction(a, b):
    return np.float32(int(a) / int(b)), np.float64(int(a) / int(b)), np.float16(int(a) / int(b))


def small_arguments(x):
    x = float(x)
    return f64s(math.expm1(x) / x, math.log1p(x) / x, math.sinh(x) / x, math.erf(x) / x)


def large_angles(x):
    x = float(x)
    return f64s(math.sin(x), math.cos(x))
