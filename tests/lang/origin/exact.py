"""Correct rounding of exact rationals to IEEE formats, ties to even."""
from fractions import Fraction

import numpy as np

FORMATS = {"f16": (np.float16, np.uint16, 11, -14, 15), "f32": (np.float32, np.uint32, 24, -126, 127),
           "f64": (np.float64, np.uint64, 53, -1022, 1023)}


def to_float(x, t):
    """The float of type t nearest to the rational x."""
    cls, _, p, emin, emax = FORMATS[t]
    x = Fraction(x)
    if x == 0:
        return cls(0)
    sign, x = (-1, -x) if x < 0 else (1, x)
    e = x.numerator.bit_length() - x.denominator.bit_length()
    if Fraction(2) ** e > x:
        e -= 1
    e = max(e, emin)
    unit = Fraction(2) ** (e - p + 1)
    q = x / unit
    n = q.numerator // q.denominator
    rest = q - n
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and n % 2):
        n += 1
    if n * unit >= Fraction(2) ** (emax + 1):
        return cls(sign * np.inf)
    return cls(sign * np.ldexp(float(n), e - p + 1))


def exact(x):
    return Fraction(float(x))


def fma(a, b, c, t):
    return to_float(exact(a) * exact(b) + exact(c), t)


def bits(x):
    x = np.asarray(x)
    return x.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[x.dtype.itemsize])[()]


def shown_bits(x):
    """The bits with NaN made canonical, as to_bits gives them."""
    if np.isnan(x):
        return {2: np.uint16(0x7E00), 4: np.uint32(0x7FC00000),
                8: np.uint64(0x7FF8000000000000)}[np.asarray(x).dtype.itemsize]
    return bits(x)
