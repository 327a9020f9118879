"""Sorting, by Python's own stable sort."""
import struct

import numpy as np

U64 = 2**64
WORDS = {"e": "H", "f": "I", "d": "Q"}


def bits(form, x):
    word = struct.unpack("<" + WORDS[form], struct.pack("<" + form, x))[0]
    return word if x == x else {"e": 0x7e00, "f": 0x7fc00000, "d": 0x7ff8 << 48}[form]


def places(xs, key=lambda x: x):
    return sorted(range(len(xs)), key=lambda i: key(xs[i]))


def scalars__signed(*arrays):
    return tuple(np.array(sorted(a.tolist()), a.dtype) for a in arrays)


scalars__unsigned = scalars__signed


def scalars__bools(xs):
    xs = xs.tolist()
    return np.array(sorted(xs), np.bool_), np.array(places(xs), np.int64)


def float_order(x):
    return (x != x, 0 if x != x else x, str(x)[0] != "-")


def floats(form, dtype, xs):
    xs = [float(x) for x in xs]
    order = places(xs, float_order)
    return (np.array([bits(form, xs[i]) for i in order], dtype),
            np.array(order, np.int64))


def floats__singles(xs):
    return floats("f", np.uint32, xs)


def floats__doubles(xs):
    return floats("d", np.uint64, xs)


def floats__halves(xs):
    return floats("e", np.uint16, xs)


def random(i):
    x = (i + 1) * 0x9E3779B97F4A7C15 % U64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % U64
    return x ^ (x >> 27)


def signed(x, width):
    x %= 2**width
    return x - 2**width if x >> (width - 1) else x


def check(xs):
    return np.int64(signed(sum(x * (i + 1) for i, x in enumerate(xs)), 64))


def key(kind, n, i):
    if kind == 0:
        return signed(random(i), 64)
    if kind == 5:
        return signed(random(i) & -0x1000000, 64)
    return [0, random(i) % 7, 77, i * 1000003, (n - i) * 3][kind]


def each(ns, f):
    out = []
    for kind in range(6):
        out.append([check(f([key(kind, n, i) for i in range(n)])) for n in ns.tolist()])
    return np.array(out, np.int64)


def sizes__words(ns):
    return (each(ns, sorted), each(ns, places),
            each(ns, lambda xs: sorted(signed(x, 32) for x in xs)),
            each(ns, lambda xs: places(xs, lambda x: x % 2**16)),
            each(ns, lambda xs: places(xs, lambda x: signed(x, 8))))


def sizes__others(ns):
    def by(f):
        return each(ns, lambda xs: places([f(x) for x in xs]))
    return (by(lambda x: x % 2**64), by(lambda x: x % 2**32), by(lambda x: signed(x, 16)),
            by(lambda x: x % 256), by(lambda x: x >> 11), by(lambda x: x >> 40),
            by(lambda x: x >> 53))


def outermost__words(n):
    xs = [random(i) for i in range(int(n))]
    words = [signed(x, 32) for x in xs]
    return (check(signed(x, 64) for x in sorted(xs)), check(sorted(words)),
            check(places(words)))


def outermost__others(n):
    xs = [random(i) for i in range(int(n))]
    rows = [(x >> 40, x >> 45) for x in xs]
    rows.sort(key=lambda row: row[1] % 1000)
    return (check(places(xs, lambda x: signed(x, 32))), check(sorted(x % 256 for x in xs)),
            check(places(xs, lambda x: x % 3 == 0)), check(a + 3 * b for a, b in rows))


def weigh(pairs):
    return check(3 * x + i for x, i in pairs)


def merge__sorted(ns):
    return np.array([weigh(sorted(((random(i) % 50, i) for i in range(n)), key=lambda p: p[0]))
                     for n in ns.tolist()], np.int64)


def merge__merged(n, m):
    pairs = [(i // 3, i) for i in range(int(n))] + [(i // 2, -i) for i in range(int(m))]
    return weigh(sorted(pairs, key=lambda p: p[0]))


def merge__rows(xs):
    return np.array(sorted(xs.tolist(), key=lambda row: row[0]), np.int32)


def merge__keys(xs):
    return np.array(sorted(xs.tolist(), key=lambda x: -(x % 10)), np.int32)
