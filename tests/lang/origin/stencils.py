"""Steps of stencils over arrays of many sizes, from numpy.roll and numpy.pad."""
import numpy as np


def numbers(n):
    i = np.arange(n, dtype=np.int64)
    return (i * i * 7 + 3) % 101


def digest(a):
    a = a.ravel()
    return np.int64(np.sum(a * (np.arange(len(a)) + 1)) % 1000003)


def grid(h, w):
    return numbers(h * w).reshape(h, w)


def torus(count, h, w):
    a = grid(h, w)
    for _ in range(count):
        if a.size > 0:
            a = (np.roll(a, 1, 0) + 2 * np.roll(a, -1, 0) + 3 * np.roll(a, 1, 1)
                 + 5 * np.roll(a, -1, 1)) % 101
    return digest(a)


def edges(count, h, w):
    a = grid(h, w)
    for _ in range(count):
        b = a.copy()
        if min(h, w) > 2:
            b[1:-1, 1:-1] = (a[:-2, 1:-1] + 2 * a[2:, 1:-1] + 3 * a[1:-1, :-2]
                             + 5 * a[1:-1, 2:]) % 101
        a = b
    return digest(a)


def window(n):
    a = numbers(n)
    if n == 0:
        return np.int64(0)
    p = np.pad(a, 4, "edge")
    return digest(sum((k + 1) * p[k:k + n] for k in range(9)))


def zeros(n):
    p = np.pad(numbers(n), 2)
    return digest(sum((k + 1) * p[k:k + n] for k in range(5)))


def bytes(count, h, w):
    a = grid(h, w).astype(np.uint8)
    for _ in range(count):
        if a.size > 0:
            a = np.roll(a, 1, 0) + np.roll(a, 1, 1) * np.uint8(3) + np.roll(a, -1, 1)
    return digest(a.astype(np.int64))


DIRECTIONS = [(0, 0), (0, 1), (0, -1), (1, 0), (-2, 0), (1, 1), (-1, -1), (1, -3), (-1, 1)]
WEIGHTS = [4, -1, 3, 1, 7, -2, 5, 2, 6]


def flow(parts):
    down = sum(f * dy for f, (dy, _) in zip(parts, DIRECTIONS))
    right = sum(f * dx for f, (_, dx) in zip(parts, DIRECTIONS))
    bent = np.ones_like(parts[0])
    for f, weight in zip(parts[::-1], WEIGHTS):
        bent = (bent * 3 + f * weight) % 1009
    cells = sum(parts) + 2 * down + 3 * right + bent
    return digest(np.array([cells + weight * f * (dy + 5 * dx + 1) for f, weight, (dy, dx)
                            in zip(parts, WEIGHTS, DIRECTIONS)]))


def velocities__torus(h, w):
    return flow([np.roll(grid(h, w), d, (0, 1)) for d in DIRECTIONS])


def velocities__held(h, w):
    a, y, x = grid(h, w), np.arange(h), np.arange(w)
    if a.size == 0:
        return np.int64(0)
    return flow([a[np.clip(y - dy, 0, h - 1)][:, np.clip(x - dx, 0, w - 1)]
                 for dy, dx in DIRECTIONS])


def rows__box(d, h, w):
    a = numbers(d * h * w).reshape(d, h, w)
    if a.size == 0:
        return np.int64(0)
    for axis, factors in ((2, (1, 2, 3)), (1, (1, 5, 7)), (0, (1, 11, 13))):
        n = a.shape[axis]
        a = sum(factor * np.take(a, np.clip(np.arange(n) + k - 1, 0, n - 1), axis)
                for k, factor in enumerate(factors))
    return digest(a)


def rows__cross(d, h, w):
    a = numbers(d * h * w).reshape(d, h, w)
    if a.size == 0:
        return np.int64(0)
    p = np.pad(a, 1, "edge")
    i = slice(1, -1)
    return digest(a + 2 * p[:-2, i, i] + 3 * p[2:, i, i] + 5 * p[i, :-2, i]
                  + 7 * p[i, 2:, i] + 11 * p[i, i, :-2] + 13 * p[i, i, 2:])


def rows__plane(h, w):
    a = grid(h, w).astype(np.uint8)
    if a.size == 0:
        return np.int64(0)
    shifts = [((2, 0), 1), ((1, 1), 3), ((0, 0), 5), ((-1, -1), 7), ((-2, 0), 9)]
    return digest(sum(np.roll(a, shift, (0, 1)) * np.uint8(factor)
                      for shift, factor in shifts).astype(np.int64))


def rows__both(h, w):
    a = grid(h, w)
    if a.size == 0:
        return np.int64(0)
    p = np.pad(a, 1, "edge")
    up, down, diagonal = p[:-2, 1:-1], p[2:, 1:-1], p[2:, 2:]
    pairs = np.where(up > down, up * 3 + a + down, -(up * 3 + a + down))
    return digest(np.concatenate([(up + 2 * a + 3 * down).ravel(),
                                  (up + diagonal).astype(np.uint8).astype(np.int64).ravel(),
                                  pairs.ravel()]))


def steps__plane(count, h, w):
    a = grid(h, w)
    for _ in range(count):
        b = a.copy()
        b[1:-1, 1:-1] = (a[:-2, 1:-1] + 2 * a[2:, 1:-1] + 3 * a[1:-1, :-2]
                         + 5 * a[1:-1, 2:]) % 127
        a = b
    return digest(a)


def steps__numbered(count, h, w):
    a = grid(h, w)
    for i in range(count):
        p = np.pad(a, 2, "edge")
        a = (p[1:-3, 2:-2] + 3 * p[1:-3, 1:-3] + 7 * p[3:-1, 4:] + i) % 127
    return digest(a)


def steps__line(count, n):
    a = numbers(n)
    for _ in range(count):
        p = np.pad(a, 3, "edge")
        a = (p[:-6] + 2 * p[2:-4] + p[3:-3] + 3 * p[6:]) % 127
    return digest(a)


def steps__torus(count, h, w):
    a = grid(h, w)
    for _ in range(count):
        a = (np.roll(a, (1, -1), (0, 1)) + 2 * np.roll(a, -1, 0) + 3 * np.roll(a, 1, 1)
             + 5 * a) % 127
    return digest(a)


def steps__leaning(count, h, w):
    a = grid(h, w)
    for _ in range(count):
        p = np.pad(a, 1, "edge")
        a = (np.roll(a, 1, 0) + 3 * p[2:, 1:-1] + 7 * p[1:-1, :-2]) % 127
    return digest(a)


def steps__halved(count, h, w):
    a = grid(h, w)
    for _ in range(count):
        half = np.arange(h) - h // 2
        far = np.where(half < 0, np.arange(h) + h // 2, half)
        a = (a[far] + 3 * np.pad(a, ((1, 1), (0, 0)), "edge")[2:]) % 127
    return digest(a)


def steps__mirrored(count, h, w):
    a = grid(h, w)
    for _ in range(count):
        a = (a[::-1] + 3 * np.pad(a, ((1, 1), (0, 0)), "edge")[2:]) % 127
    return digest(a)


def sparse(h, w, most=1):
    a = grid(h, w)
    return np.where(a % 3 == 0, most, 0) | (a % 5 == 0)


def around(a, places):
    return sum(np.roll(a, (-y, -x), (0, 1)) for y, x in places)


NEAR = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0)]


def bits__life(count, h, w, most=1):
    a = sparse(h, w, most)
    for _ in range(count):
        n = around(a, NEAR)
        a = ((n == 3) | ((n == 2) & (a == 1))).astype(np.int64)
    return digest(a)


bits__life_of_integers = bits__life


def bits__life_of_others(count, h, w):
    return bits__life(count, h, w, 2)


def bits__life_of_negatives(count, h, w):
    return bits__life(count, h, w, -4)


def bits__majority(count, h, w):
    a = sparse(h, w)
    for _ in range(count):
        a = (around(a, [(-2, 0), (2, 0), (0, -3), (0, 4), (0, 0), (1, 1)]) >= 3) * 1
    return digest(a)


def bits__parity(count, h, w):
    a = sparse(h, w)
    for _ in range(count):
        west, east = around(a, [(0, -1)]), around(a, [(1, 1)])
        north, south = around(a, [(-1, 0)]), around(a, [(1, 0)])
        a = np.where(west == east, north ^ a, np.where(north <= south, east, 1 - west))
    return digest(a)


def bits__climb(count, h, w):
    a = sparse(h, w)
    for _ in range(count):
        a = a + around(a, [(0, -1)])
    return digest(a % 256)


def ends(count, h, w):
    a = grid(h, w)
    if a.size == 0 or count == 0:
        return digest(a)
    left = np.pad(a, ((0, 0), (1, 0)), "edge")[:, :-1]
    right = np.pad(a, ((0, 0), (0, 2)), "edge")[:, 2:]
    far = np.roll(np.roll(a, -1, 0), 2, 1)
    x = np.arange(w)
    edge = 100 * (x == 0) + 7 * (x >= w - 2)
    return digest(left + 3 * right + 5 * far + 11 * np.roll(a, -3, 1) + edge)


ends__narrow = ends__wide = ends


def parts__fields(count, h, w):
    a, b = grid(h, w), numbers(h * w + 5)[5:].reshape(h, w)
    for _ in range(count):
        up, down = (lambda f: np.roll(f, 1, 0)), (lambda f: np.roll(f, -1, 0))
        left = lambda f: np.roll(f, 1, 1)
        a, b = (up(a) + 2 * down(b) + left(a)) % 101, (down(a) * 3 + up(b) - left(b)) % 103
    return digest(a + 2 * b)


def parts__twice(count, h, w):
    a = grid(h, w)
    for t in range(count):
        if a.size > 0:
            b = (np.pad(a, ((1, 0), (0, 0)), "edge")[:-1] * 2 + a + t) % 101
            a = (np.pad(b, ((0, 1), (0, 0)), "edge")[1:] + 3 * b) % 97
            a = a + 1
    return digest(a)


def parts__far(count, n):
    a = numbers(n)
    for _ in range(count):
        if n > 0:
            p = np.pad(a, 2, "edge")
            a = (p[:-4] + 2 * p[1:-3] + 3 * p[2:-2] + 5 * p[3:-1] + 7 * p[4:]) % 1009
    return digest(a)


def parts__remainders(count, h, w):
    a = grid(h, w)
    for _ in range(count):
        a = (np.roll(a, 1, 0) + 2 * np.roll(a, -2, 0) + np.roll(a, -1, 1)) % 101
    return digest(a)


def parts__framed(count, h, w):
    a = grid(h, w)
    for _ in range(count):
        b = a + 1
        if min(h, w) > 2:
            b[1:-1, 1:-1] = (a[:-2, 1:-1] - a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) % 101
        a = b
    return digest(a)


parts__edges = parts__framed


def parts__within(count, n):
    a, b = numbers(n), numbers(n)
    for _ in range(count):
        c, d = a.copy(), a + 3 * b
        if n > 4:
            c[2:-2] = (a[:-4] + 2 * b[4:]) % 1009
        d[1:-1] += a[2:] - a[1:-1]
        d[2:] += 3 * (b[:-2] - b[2:])
        a, b = c, d % 1013
    return digest(a) + digest(b)


def parts__guided(count, n):
    a, most = numbers(n), np.int64(1)
    for t in range(count):
        b = (np.roll(a, 1) + most * a + t) % 1013
        a, most = b, (np.max(b) if n > 0 else np.iinfo(np.int64).min)
    return digest(a) + most % 1000003


def parts__mirrored(count, n):
    a = numbers(n)
    for _ in range(count):
        a = (np.roll(a, 1) + 2 * a[::-1]) % 1009
    return digest(a)


def parts__of_two_lengths(count, n):
    a, b = numbers(n), numbers(2 * n)
    for _ in range(count):
        a, b = (np.roll(a, 1) + 2 * a) % 1009, (np.roll(b, -1) + 3 * b) % 1009
    return digest(a) + digest(b)


def parts__growing(count, n):
    a = numbers(n)
    for t in range(count):
        i = np.arange(2 * len(a), dtype=np.int64)
        a = (i * i + t) % 101
    return digest(a)


def offsets__tested(start, end, n):
    xs = np.cumsum(numbers(n))
    i = np.arange(n, dtype=np.int64)
    with np.errstate(over="ignore"):
        y = i + np.int64(start)
    padded = np.pad(xs, 1)
    out = (padded[:-2] + 2 * padded[2:]) % 103
    out = np.where((y == 0) | (y == end), xs * 7, out)
    return digest(np.where((i == 0) | (i == n - 1), xs * 5, out))


def offsets__unless(start, end, n):
    xs = np.cumsum(numbers(n))
    i = np.arange(n, dtype=np.int64)
    before = np.where(start + i != end, xs[np.maximum(0, i - 1)], 2 * xs)
    return digest(before + np.where(i == end, xs, 3 * xs[np.minimum(n - 1, i + 1)]))


def offsets__last_one(start, end, n):
    xs = np.cumsum(numbers(n))
    i = np.arange(n, dtype=np.int64)
    return digest(np.where(start + i == end, 2 * xs, 3 * xs[np.maximum(0, i - 1)]))
