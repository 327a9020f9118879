#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Origin of eval_values.def: what the scalar operators give at edge values, by exact
# arithmetic on Python's integers and fractions and nothing of the machine's floats.
#   python3 eval_values.py > eval_values.def
import random
from fractions import Fraction
from math import isqrt

random.seed(20)
INTS = {"I8": (8, True), "I16": (16, True), "I32": (32, True), "I64": (64, True),
        "U8": (8, False), "U16": (16, False), "U32": (32, False), "U64": (64, False)}
FLOATS = {"F16": (16, 11), "F32": (32, 24), "F64": (64, 53)}  # width, precision


def row(op, type_in, type_to, args, result, fault="NONE"):
    a = [f"0x{x:x}" for x in args] + ["0"] * (3 - len(args))
    print(f"EVAL({op}, {type_in}, {type_to}, {fault}, {a[0]}, {a[1]}, {a[2]}, 0x{result:x})")


# ---- integers ------------------------------------------------------------------------


def cut(width, x):
    return x % (1 << width)


def value(width, signed, bits):
    return bits - (1 << width) if signed and bits >> (width - 1) else bits


def toward_zero(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def int_op(op, width, signed, a, b):
    """The result before it is cut to its width; None: a division by zero."""
    n = cut(width, b)
    if op in ("DIV", "MOD", "QUOT", "REM") and b == 0:
        return None
    if op == "POW":
        return None if b < 0 else pow(a, b, 1 << width)
    return {
        "ADD": lambda: a + b, "SUB": lambda: a - b, "MUL": lambda: a * b,
        "DIV": lambda: a // b, "MOD": lambda: a % b,
        "QUOT": lambda: toward_zero(a, b), "REM": lambda: a - b * toward_zero(a, b),
        "MIN": lambda: min(a, b), "MAX": lambda: max(a, b),
        "MULHI": lambda: (a * b) >> width,
        "AND": lambda: a & b, "OR": lambda: a | b, "XOR": lambda: a ^ b,
        "SHL": lambda: a << n if n < width else 0,
        "SHR": lambda: a >> min(n, width),
        "LSHR": lambda: cut(width, a) >> min(n, width),
        "EQ": lambda: a == b, "NE": lambda: a != b, "LT": lambda: a < b,
        "LE": lambda: a <= b,
    }[op]()


def int_op1(op, width, a):
    bits = cut(width, a)
    return {
        "NOT": lambda: ~a, "NEG": lambda: -a, "ABS": lambda: abs(a),
        "SGN": lambda: (a > 0) - (a < 0),
        "POPC": lambda: bin(bits).count("1"), "CLZ": lambda: width - bits.bit_length(),
        "CTZ": lambda: (bits & -bits).bit_length() - 1 if bits else width,
    }[op]()


BINARY = ["ADD", "SUB", "MUL", "DIV", "MOD", "QUOT", "REM", "POW", "MIN", "MAX", "MULHI",
          "AND", "OR", "XOR", "SHL", "SHR", "LSHR", "EQ", "NE", "LT", "LE"]
for name, (w, signed) in INTS.items():
    if w == 8:
        continue  # the test tries all of these
    edges = [0, 1, (1 << w) - 1, 1 << (w - 1), (1 << (w - 1)) - 1, w, 7]
    for op in BINARY:
        pairs = [(a, b) for a in edges for b in edges]
        for a, b in random.sample(pairs, 6) + [(edges[3], edges[2]), (7, 0)]:
            b = random.choice([b, b, random.getrandbits(w)])
            r = int_op(op, w, signed, value(w, signed, a), value(w, signed, b))
            fault = "NONE" if r is not None else \
                "NEGATIVE_EXPONENT" if op == "POW" else "DIVISION_BY_ZERO"
            to = "BOOL" if op in ("EQ", "NE", "LT", "LE") else name
            row(op, name, to, (a, b), 0 if r is None else cut(w, int(r)), fault)
    for op in ["NOT", "NEG", "ABS", "SGN", "POPC", "CLZ", "CTZ"]:
        to, to_w = ("I32", 32) if op in ("POPC", "CLZ", "CTZ") else (name, w)
        for a in edges:
            row(op, name, to, (a,), cut(to_w, int_op1(op, w, value(w, signed, a))))

# ---- floats ------------------------------------------------------------------------
# A float is (sign, magnitude): a magnitude is a Fraction, "inf" or "nan".


def limits(name):
    width, p = FLOATS[name]
    emax = (1 << (width - p - 1)) - 1
    return width, p, emax


def decode(name, bits):
    width, p, emax = limits(name)
    sign, field = bits >> (width - 1), bits >> (p - 1) & (2 * emax + 1)
    fraction = bits & ((1 << (p - 1)) - 1)
    if field == 2 * emax + 1:
        return sign, "nan" if fraction else "inf"
    if field:
        fraction |= 1 << (p - 1)
    return sign, Fraction(fraction) * Fraction(2) ** (max(field, 1) - emax - (p - 1))


def encode(name, x):
    """Rounds to nearest, ties to even."""
    width, p, emax = limits(name)
    sign, m = x
    infinity = (2 * emax + 1) << (p - 1)
    if m == "nan":
        return infinity | 1 << (p - 2)
    if m == "inf":
        return sign << (width - 1) | infinity
    if m == 0:
        return sign << (width - 1)
    e = m.numerator.bit_length() - m.denominator.bit_length()
    if Fraction(2) ** e > m:
        e -= 1
    e = max(e, 1 - emax)  # 2^e is the weight of the hidden bit
    scaled = m / Fraction(2) ** (e - (p - 1))
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    twice = 2 * rest - scaled.denominator
    whole += twice > 0 or (twice == 0 and whole & 1)
    bits = whole + ((e + emax - 1) << (p - 1))  # the hidden bit adds one to the field
    return sign << (width - 1) | min(bits, infinity)


def number(x):
    return -x[1] if x[0] else x[1]


def of_number(q, zero_sign=0):
    return (int(q < 0), abs(q)) if q else (zero_sign, Fraction(0))


NAN = (0, "nan")


def add(x, y):
    if "nan" in (x[1], y[1]):
        return NAN
    if x[1] == "inf":
        return NAN if y[1] == "inf" and x[0] != y[0] else x
    if y[1] == "inf":
        return y
    return of_number(number(x) + number(y), x[0] & y[0])


def mul(x, y):
    sign = x[0] ^ y[0]
    if "nan" in (x[1], y[1]):
        return NAN
    if "inf" in (x[1], y[1]):
        return NAN if 0 in (x[1], y[1]) else (sign, "inf")
    return sign, x[1] * y[1]


def div(x, y):
    sign = x[0] ^ y[0]
    if "nan" in (x[1], y[1]) or x[1] == y[1] == "inf" or x[1] == y[1] == 0:
        return NAN
    if x[1] == "inf" or y[1] == 0:
        return sign, "inf"
    return sign, Fraction(0) if y[1] == "inf" else x[1] / y[1]


def fmod(x, y):
    if "nan" in (x[1], y[1]) or x[1] == "inf" or y[1] == 0:
        return NAN
    return x if y[1] == "inf" else (x[0], x[1] % y[1])


def root(x):
    """Near enough to round right: 2^-300 relative, nudged off a false tie."""
    if x[1] == "nan" or x[1] == 0:
        return x
    if x[0]:
        return NAN
    if x[1] == "inf":
        return x
    scaled = x[1] * Fraction(4) ** 1400
    whole = scaled.numerator // scaled.denominator
    r = isqrt(whole)
    exact = r * r == scaled
    return 0, (Fraction(r) + (0 if exact else Fraction(1, 2))) / Fraction(2) ** 1400


def whole(x, how):
    if x[1] in ("nan", "inf"):
        return x
    q = number(x)
    floor = q.numerator // q.denominator
    r = {"FLOOR": floor, "CEIL": -(-q.numerator // q.denominator),
         "TRUNC": int(q), "ROUND": round(q)}[how]  # round: ties to even
    return of_number(Fraction(r), x[0])


def order(x, y, less):
    """min and max: a number before NaN, -0 before +0."""
    if x[1] == "nan" or y[1] == "nan":
        return y if x[1] == "nan" else x
    def key(v):
        return (Fraction(10) ** 400 if v[1] == "inf" else v[1]) * (-1 if v[0] else 1), -v[0]
    return (x if key(x) <= key(y) else y) if less else (x if key(x) >= key(y) else y)


def compare(op, x, y):
    if "nan" in (x[1], y[1]):
        return op == "NE"
    def key(v):
        return (Fraction(10) ** 400 if v[1] == "inf" else v[1]) * (-1 if v[0] else 1)
    a, b = key(x), key(y)
    return {"EQ": a == b, "NE": a != b, "LT": a < b, "LE": a <= b}[op]


def neighbour(name, xb, yb):
    width = FLOATS[name][0]
    x, y = decode(name, xb), decode(name, yb)
    if "nan" in (x[1], y[1]):
        return encode(name, NAN)
    if compare("EQ", x, y):
        return yb
    if x[1] == 0:
        return 1 | y[0] << (width - 1)
    return xb + 1 if compare("LT", x, y) != bool(x[0]) else xb - 1


def to_int(x, w, signed):
    if x[1] in ("nan", "inf"):
        return 0
    m = int(x[1])
    limit = 1 << (64 if w == 64 and not signed else 63)
    return cut(w, -m if x[0] else m) if m < limit else 0


for name, (w, p) in FLOATS.items():
    _, _, emax = limits(name)
    one = emax << (p - 1)
    top = (2 * emax + 1) << (p - 1)
    least_normal = 1 << (p - 1)
    positive = [0, 1, least_normal - 1, least_normal, one, one + 1, one - 1,
                one + (1 << (p - 2)), (emax + p) << (p - 1), top - 1, top,
                one + (1 << (p - 1)) + (1 << (p - 3)), (one // 2) | 1]
    edges = positive + [x | 1 << (w - 1) for x in positive] + [top | 1 << (p - 2)]
    def some():
        return random.choice(edges) if random.random() < 0.6 else random.getrandbits(w)
    def near():  # of moderate size, so that sums and products stay finite
        return (emax + random.randint(-p, p)) << (p - 1) | \
            random.getrandbits(p - 1) | random.getrandbits(1) << (w - 1)
    for op, f in [("ADD", add), ("MUL", mul), ("DIV", div), ("MOD", fmod),
                  ("SUB", lambda x, y: add(x, (1 - y[0], y[1]))),
                  ("MIN", lambda x, y: order(x, y, True)),
                  ("MAX", lambda x, y: order(x, y, False))]:
        for i in range(40):
            a, b = (some(), some()) if i % 2 else (near(), near())
            row(op, name, name, (a, b), encode(name, f(decode(name, a), decode(name, b))))
    for op in ["EQ", "NE", "LT", "LE"]:
        for a, b in [(some(), some()) for _ in range(20)] + [(x, x) for x in edges[-3:]]:
            row(op, name, "BOOL", (a, b), int(compare(op, decode(name, a), decode(name, b))))
    for i in range(80):
        a, b = near(), near()
        x = mul(decode(name, a), decode(name, b))
        c = near() if i % 3 else encode(name, (1 - x[0], x[1]))  # cancellation
        row("FMA", name, name, (a, b, c), encode(name, add(x, decode(name, c))))
    for i in range(40):
        a, b, c = some(), some(), some()
        x = mul(decode(name, a), decode(name, b))
        row("FMA", name, name, (a, b, c), encode(name, add(x, decode(name, c))))
    for a in edges + [near() for _ in range(8)]:
        x = decode(name, a)
        is_nan = x[1] == "nan"
        row("NEG", name, name, (a,), a ^ 1 << (w - 1))
        row("ABS", name, name, (a,), a & ~(1 << (w - 1)))
        row("SGN", name, name, (a,),
            encode(name, x if is_nan or x[1] == 0 else (x[0], Fraction(1))))
        row("SQRT", name, name, (a,), encode(name, root(x)))
        for op in ["FLOOR", "CEIL", "TRUNC", "ROUND"]:
            row(op, name, name, (a,), encode(name, whole(x, op)))
        row("ISNAN", name, "BOOL", (a,), int(is_nan))
        row("ISINF", name, "BOOL", (a,), int(x[1] == "inf"))
        row("TO_BITS", name, "U%d" % w, (a,), encode(name, x) if is_nan else a)
        row("CONV", name, "BOOL", (a,), int(x[1] != 0))
        for to, (to_w, signed) in INTS.items():
            row("CONV", name, to, (a,), to_int(x, to_w, signed))
        for to in FLOATS:
            if to != name and not is_nan:
                row("CONV", name, to, (a,), encode(to, x))
    for i in range(40):
        a, b = some(), some()
        row("NEXT", name, name, (a, b), neighbour(name, a, b))

# Halfway cases of narrowing, and a little to either side.
for wide, narrow in [("F64", "F32"), ("F64", "F16"), ("F32", "F16")]:
    p, w = FLOATS[narrow][1], FLOATS[narrow][0]
    for i in range(30):
        bits = random.getrandbits(w - 1) if i % 2 else random.getrandbits(p + 1)
        x, y = decode(narrow, bits), decode(narrow, bits + 1)
        if "nan" in (x[1], y[1]) or "inf" in (x[1], y[1]):
            continue
        middle = encode(wide, (0, (x[1] + y[1]) / 2))
        for b in (middle - 1, middle, middle + 1):
            row("CONV", wide, narrow, (b,), encode(narrow, decode(wide, b)))

# Integers to floats: where one unit decides, and where rounding twice would be wrong.
for name, (w, signed) in INTS.items():
    for to, (_, p) in FLOATS.items():
        values = [0, 1, (1 << w) - 1, 1 << (w - 1), (1 << (w - 1)) - 1]
        for shift in range(max(0, w - p - 2)):
            if random.random() < 0.15 or shift == w - p - 3:
                base = (random.getrandbits(p) | 1 << (p - 1)) * 2 + 1 << shift
                values += [cut(w, base + d) for d in (-1, 0, 1)]
        if to == "F16" and w > 16:
            values += [65504, 65519, 65520, 65521, 2049, 2051, (1 << 25) + 1]
        for a in values:
            row("CONV", name, to, (a,),
                encode(to, of_number(Fraction(value(w, signed, a)))))
    for to, (to_w, _) in INTS.items():
        for a in [1, (1 << w) - 1, 1 << (w - 1)]:
            row("CONV", name, to, (a,), cut(to_w, value(w, signed, a)))
    row("CONV", name, "BOOL", (1 << (w - 1),), 1)
    row("CONV", name, "BOOL", (0,), 0)
    row("CONV", "BOOL", name, (1,), 1)
for to in FLOATS:
    row("CONV", "BOOL", to, (1,), encode(to, (0, Fraction(1))))
