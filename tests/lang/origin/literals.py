"""Literals: correctly rounded reading, from exact rationals."""
import struct
from fractions import Fraction

import numpy as np


def nearest_bits(text, fmt):
    """The bits of the IEEE number nearest to a decimal, ties to even."""
    exact = Fraction(text)
    code, top = ("<I", 0x7F800000) if fmt == "<f" else ("<Q", 0x7FF << 52)

    def value(bits):
        return Fraction(struct.unpack(fmt, struct.pack(code, bits))[0])

    lo, hi = 0, top - 1
    while lo < hi:
        mid = (lo + hi + 1) // 2
        if value(mid) <= exact:
            lo = mid
        else:
            hi = mid - 1
    below, above = exact - value(lo), value(lo + 1) - exact
    return lo + (above < below or (above == below and lo % 2 == 1))


def f32_bits(text):
    return np.uint32(nearest_bits(text, "<f"))


def f64_bits(text):
    return np.uint64(nearest_bits(text, "<d"))


def float_rounding_bits():
    return (f32_bits("0.1"), f32_bits("16777217.0"), f64_bits("0.1"),
            f64_bits("9007199254740993.0"), f32_bits("1e-45"))


def float_double_rounding():
    return (f32_bits("1.00000005960464485"), f32_bits("1.00000005960464477"),
            f64_bits("2.2250738585072011e-308"))
