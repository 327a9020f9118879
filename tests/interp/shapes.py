#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Origin of shapes.def: a second model of the stamped shapes (design: core.md, "Stage 0"),
# written from the table there on lists of numpy scalars, and the bits it expects.
#   python3 shapes.py > shapes.def
# Rows: SHAPE(case, n, result...) where a result is the bits of a reduction, or of a
# scan or histogram the FNV-1a hash of all its elements' bytes.
import numpy as np

np.seterr(all="ignore")
F16, F32, F64, I64 = np.float16, np.float32, np.float64, np.int64
BLOCK = 8192


def element(i, t, salt=0):
    """Exact in every type: a fraction of 10 bits in [0.5, 1.5), odd ones negative."""
    h = ((i + salt) * 2654435761 + 12345) % 2**32 >> 22
    x = 0.5 + h / 1024
    return t(-x if i % 3 == 1 else x)


def bits(x):
    return int.from_bytes(x.tobytes(), "little")


def fnv(values):
    h = 0xCBF29CE484222325
    for b in b"".join(v.tobytes() for v in values):
        h = (h ^ b) * 0x100000001B3 % 2**64
    return h


# ---- shapes: fold(op, pre, acc, xs) gives one value -----------------------------------


def serial(op, pre, acc, xs):
    total = pre(xs[0])
    for x in xs[1:]:
        total = acc(total, x)
    return total


def pairs(op, parts):
    """The tree (2i, 2i+1), an odd last one moving up."""
    while len(parts) > 1:
        parts = [op(*parts[i:i + 2]) if i + 1 < len(parts) else parts[i]
                 for i in range(0, len(parts), 2)]
    return parts[0]


def lanes(count):
    def block(op, pre, acc, xs):
        parts = [serial(op, pre, acc, xs[k::count]) for k in range(min(count, len(xs)))]
        half = count // 2
        while half:
            for i in range(half):
                if i + half < len(parts):
                    parts[i] = op(parts[i], parts[i + half])
            del parts[half:]
            half //= 2
        return parts[0]
    return block


def runs(op, pre, acc, xs):
    return pairs(op, [serial(op, pre, acc, xs[k:k + 256]) for k in range(0, len(xs), 256)])


def reduce(block, op, xs, pre=lambda x: x, acc=None, nested=False):
    acc = acc or (lambda a, x: op(a, pre(x)))
    if nested and len(xs) <= BLOCK:
        return serial(op, pre, acc, xs)
    return pairs(op, [block(op, pre, acc, xs[k:k + BLOCK]) for k in range(0, len(xs), BLOCK)])


def sklansky(op, xs):
    xs, d = list(xs), 1
    while d < 16:
        xs = [op(xs[i // d * d - 1], x) if i // d % 2 else x for i, x in enumerate(xs)]
        d *= 2
    return xs


def scan_floats(op, xs):
    out, totals = [], []
    for k in range(0, len(xs), BLOCK):
        carry = pairs(op, list(totals)) if totals else None
        total = None
        for r in range(k, min(k + BLOCK, len(xs)), 16):
            row = sklansky(op, xs[r:min(r + 16, k + BLOCK)])
            out += row if carry is None else [op(carry, x) for x in row]
            carry = row[-1] if carry is None else op(carry, row[-1])
            total = row[-1] if total is None else op(total, row[-1])
        totals.append(total)
    return out


def scan_others(op, xs, pre=lambda x: x, acc=None):
    acc, out, carry = acc or (lambda a, x: op(a, pre(x))), [], None
    for k in range(0, len(xs), BLOCK):
        local = None
        for x in xs[k:k + BLOCK]:
            local = pre(x) if local is None else acc(local, x)
            out.append(local if carry is None else op(carry, local))
        carry = out[-1]
    return out


def hist(op, ne, dest, bins, xs):
    n, k = len(xs), len(dest)
    parts = min(max(n // max(8192, 4 * k), 1), 64)
    made = []
    for p in range(parts):
        part = [ne] * k
        for i in range(p * n // parts, (p + 1) * n // parts):
            if 0 <= bins[i] < k:
                part[bins[i]] = op(part[bins[i]], xs[i])
        made.append(part)
    join = lambda a, b: [op(x, y) for x, y in zip(a, b)]
    return join(dest, pairs(join, made))


# ---- cases --------------------------------------------------------------------------------


def emit(case, n, *results):
    r = list(results) + [0] * (3 - len(results))
    print(f"SHAPE({case}, {n}, " + ", ".join(f"0x{x:x}" for x in r) + ")")


add = lambda a, b: a + b
mul = lambda a, b: a * b
sub = lambda a, b: a - b  # neither associative nor commutative: shows the shape
SIZES = [1, 2, 5, 15, 16, 17, 31, 33, 100, 255, 256, 257, 1000, 8191, 8192, 8193, 20000,
         3 * 8192, 6 * 8192 + 5, 7 * 8192 + 300]
for n in SIZES:
    f32 = [element(i, F32) for i in range(n)]
    f64 = [element(i, F64, 7) for i in range(n)]
    f16 = [element(i, F16) for i in range(n)]
    count = lambda t: lanes(16 if t is F64 else 32)
    emit("sum_f32", n, bits(reduce(count(F32), add, f32)))
    emit("sum_f64", n, bits(reduce(count(F64), add, f64)))
    emit("sum_f16", n, bits(reduce(count(F16), add, f16)))
    emit("product_f32", n, bits(reduce(count(F32), mul, f32)))
    emit("nested_f32", n, bits(reduce(count(F32), add, f32, nested=True)))
    # A map fused in: pre squares, acc adds the square.
    square = lambda x: x * x
    emit("squares_f32", n, bits(reduce(count(F32), add, f32, square)))
    # fma in acc: exact products of 11-bit numbers in f64, so one rounding at the end.
    fma = lambda a, x: F32(F64(x) * F64(x) + F64(a))
    emit("fma_f32", n, bits(reduce(count(F32), add, f32, square, fma)))
    emit("tuple", n, bits(reduce(count(F32), add, f32)), bits(reduce(count(F64), mul, f64)),
         bits(reduce(count(F16), add, f16)))
    emit("runs_f32", n, bits(reduce(runs, sub, f32)))
    emit("nested_runs_f32", n, bits(reduce(runs, sub, f32, nested=True)))
    emit("rows_f32", n, *[bits(reduce(serial, sub, [element(i, F32, 11 * c)
                                                    for i in range(n)])) for c in range(2)])
    emit("scan_f32", n, fnv(scan_floats(add, f32)))
    emit("scan_f64", n, fnv(scan_floats(mul, f64)))
    emit("nested_scan_f32", n, fnv(scan_floats(add, f32) if n > BLOCK else
                                   [x for x in np.add.accumulate(f32, dtype=F32)]))
    emit("scan_runs_f32", n, fnv(scan_others(sub, f32)))
    # A map fused into a scan: minus the square.
    emit("scan_squares_f32", n, fnv(scan_others(sub, f32, square)))
    for k in (3, 5000):
        bins = [(i * 7919 + i // 5) % (k + 2) - 1 for i in range(n)]
        dest = [element(i, F32, 5) for i in range(k)]
        emit(f"hist_{k}", n, fnv(hist(add, F32(0), dest, bins, f32)))
for n in (70 * 8192, 64 * 8192 + 17):
    bins = [(i * 7919 + i // 5) % 5 - 1 for i in range(n)]
    dest = [element(i, F32, 5) for i in range(3)]
    f32 = [element(i, F32) for i in range(n)]
    emit("hist_3", n, fnv(hist(add, F32(0), dest, bins, f32)))
