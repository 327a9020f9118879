"""Integer arithmetic from Python's unbounded integers, wrapped by hand."""
import math
import zlib

import numpy as np

from origin import NAMES, TYPES


def wrap(v, t):
    w = int(t[1:])
    v &= (1 << w) - 1
    if t[0] == "i" and v >> (w - 1):
        v -= 1 << w
    return TYPES[t](v)


def typ(x):
    return NAMES[x.dtype]


def trunc_div(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def wraparound(a, b):
    t, a, b = typ(a), int(a), int(b)
    return tuple(wrap(v, t) for v in (a + b, a - b, a * b, -a))


def division(a, b):
    t, a, b = typ(a), int(a), int(b)
    q = trunc_div(a, b)
    return tuple(wrap(v, t) for v in (a // b, a % b, q, a - q * b))


def shift(a, k):
    t, a, w = typ(a), int(a), int(typ(a)[1:])
    k = int(k) & ((1 << w) - 1)
    bits = a & ((1 << w) - 1)
    if k >= w:
        return wrap(0, t), wrap(-1 if a < 0 else 0, t), wrap(0, t)
    return wrap(bits << k, t), wrap(a >> k, t), wrap(bits >> k, t)


def power(a, b):
    t, a, b, w = typ(a), int(a), int(b), int(typ(a)[1:])
    return wrap(pow(a % (1 << w), b, 1 << w), t)


for _t in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"):
    globals()["wrap_" + _t] = wraparound
    globals()["division_" + _t] = division
    globals()["shift_" + _t] = shift
    globals()["pow_" + _t] = power


def gcd_lcm(a, b):
    return np.uint64(math.gcd(int(a), int(b))), np.uint64(math.lcm(int(a), int(b)))


def modular_power(b, e, m):
    return np.uint64(pow(int(b), int(e), int(m)))


def collatz_steps(n):
    n, steps = int(n), 0
    while n != 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    return np.int32(steps)


def integer_sqrt(n):
    return np.uint64(math.isqrt(int(n)))


def crc32(data):
    return np.uint32(zlib.crc32(bytes(data)))


def fnv1a(data):
    h = 0xCBF29CE484222325
    for c in bytes(data):
        h = (h ^ c) * 0x100000001B3 % 2**64
    return np.uint64(h)


def xorshift(seed, n):
    x, out = int(seed), []
    for _ in range(int(n)):
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        out.append(x)
    return np.array(out, np.uint32)


def linear_congruential(seed, n):
    s = int(seed)
    for _ in range(int(n)):
        s = (6364136223846793005 * s + 1442695040888963407) % 2**64
    return np.uint64(s)


def murmur_finish(h):
    h = int(h)
    h = (h ^ h >> 16) * 0x85EBCA6B % 2**32
    h = (h ^ h >> 13) * 0xC2B2AE35 % 2**32
    return np.uint32(h ^ h >> 16)


def day_of_week(y, m, d):
    import datetime
    return np.int32(datetime.date(int(y), int(m), int(d)).isoweekday() % 7)


def bit_reversal(x):
    return np.uint32(int(format(int(x), "032b")[::-1], 2))


def morton(x, y):
    code = 0
    for i in range(16):
        code |= (int(x) >> i & 1) << (2 * i) | (int(y) >> i & 1) << (2 * i + 1)
    return np.uint32(code)


def wide_product(a, b):
    p = int(a) * int(b)
    return np.uint64(p >> 64), np.uint64(p % 2**64)


def digits_reversed(n):
    s = str(int(n))
    return np.int64(int(s[::-1])), np.int32(sum(map(int, s))), np.int32(len(s))


def primes_below(n):
    return np.array([p for p in range(2, int(n)) if all(p % d for d in range(2, p))], np.int32)


def adler32(data):
    return np.uint32(zlib.adler32(bytes(data)))


def fibonacci(n):
    a, b = 0, 1
    for _ in range(int(n)):
        a, b = b, (a + b) % 2**64
    return np.uint64(a)
