"""Conversions between numbers: every source is exact, so one rounding decides."""
import numpy as np

from exact import bits, exact, to_float


def each(xs, t):
    return np.array([bits(to_float(int(x) if x.dtype.kind in "iu" else exact(x), t)) for x in xs])


def int_to_f32_rounding(xs):
    return each(xs, "f32"), each(xs, "f64")


def u64_to_float_rounding(xs):
    return each(xs, "f32"), each(xs, "f64")


def int_to_f16(xs):
    return each(xs, "f16")


def f64_to_f32(xs):
    return each(xs, "f32")


def to_f16(xs):
    return each(xs, "f16")


def f16_through_f32(xs):
    return each(xs, "f16"), np.bool_(True)
