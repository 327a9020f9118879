#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Makes the files here with NumPy and Pillow, and `expected`: on each line a file, a tab,
# and the value in it as Weft prints it. Usage: python3 make.py (pip install numpy pillow)
import csv
import io
import os
import struct
import zipfile
import zlib

import numpy as np
from numpy.lib import format as npy
from PIL import Image

os.chdir(os.path.dirname(os.path.abspath(__file__)))
expected = []
NAMES = {"b": "bool", "i": "i", "u": "u", "f": "f"}


def type_of(a):
    return "bool" if a.dtype.kind == "b" else NAMES[a.dtype.kind] + str(8 * a.dtype.itemsize)


def scalar(x, name):
    if name == "bool":
        return "true" if x else "false"
    if name[0] != "f":
        return f"{int(x)}{name}"
    x = float(x)
    if x != x:
        return name + ".nan"
    if abs(x) == float("inf"):
        return ("-" if x < 0 else "") + name + ".inf"
    return repr(x).replace("e+", "e") + name


def text(a):
    name = type_of(a)
    if a.ndim > 0 and a.size == 0:
        return "empty(" + "".join(f"[{n}]" for n in a.shape) + name + ")"
    if a.ndim == 0:
        return scalar(a[()], name)
    return "[" + ", ".join(text(x) for x in a) + "]"


def expect(name, a):
    expected.append(f"{name}\t{text(np.asarray(a))}\n")


def save(name, a, version=(1, 0)):
    with open(name, "wb") as f:
        npy.write_array(f, np.asanyarray(a), version=version)
    expect(name, a)


for code in "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split():
    kind = code[0]
    if kind == "b":
        base = np.array([[True, False, True], [False, False, True]])
    elif kind == "u":
        base = np.array([[0, 1, 2], [3, 100, 255]])
    elif kind == "i":
        base = np.array([[0, -1, 2], [-128, 100, 127]])
    else:
        base = np.array([[0.0, -1.5, 0.25], [float("inf"), float("nan"), 1024.0]])
    for order in ["<", ">"] if code[1] != "1" else ["|"]:
        a = base.astype(order + code)
        tag = {"<": "little", ">": "big", "|": "byte"}[order]
        save(f"{code}-{tag}-c.npy", a)
        save(f"{code}-{tag}-fortran.npy", np.asfortranarray(a))
save("scalar.npy", np.float64(2.5))
save("vector-big.npy", np.arange(5, dtype=">i4"))
save("cube-fortran.npy", np.asfortranarray(np.arange(24, dtype="<i2").reshape(2, 3, 4)))
save("cube-big-fortran.npy", np.asfortranarray(np.arange(24, dtype=">u4").reshape(4, 3, 2)))
save("empty.npy", np.zeros((0, 3), "<f8"))
save("version2.npy", np.arange(3, dtype="<i8"), (2, 0))
save("version3.npy", np.arange(3, dtype="<i8"), (3, 0))
save("deep.npy", np.full((1,) * 32, 7, "u1"))

arrays = {"first": np.arange(6, dtype="<i4").reshape(2, 3), "second": np.array([0.5, -2.0])}
for name, make in [("stored.npz", np.savez), ("deflated.npz", np.savez_compressed)]:
    make(name, **arrays)
    expect(name, arrays["first"])
    expect(name + ":first", arrays["first"])
    expect(name + ":second", arrays["second"])

# What Python writes beyond 2 GiB, with that limit lowered.
limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 8
np.savez_compressed("large.npz", **arrays)
zipfile.ZIP64_LIMIT = limit
expect("large.npz", arrays["first"])
expect("large.npz:second", arrays["second"])


class Pipe(io.RawIOBase):  # where nobody can go back to fill in a size
    def __init__(self):
        self.bytes = b""

    def writable(self):
        return True

    def write(self, b):
        self.bytes += bytes(b)
        return len(b)


pipe = Pipe()
np.savez_compressed(pipe, **arrays)
with open("streamed.npz", "wb") as f:
    f.write(pipe.bytes)
expect("streamed.npz:second", arrays["second"])

# Tables.
table = np.array([[1.0, -2.5], [0.125, float("nan")], [float("inf"), 1e300]])
np.savetxt("savetxt.csv", table, delimiter=",", header="one,two")
expect("savetxt.csv", table)
with open("quoted.csv", "w", newline="", encoding="utf-8-sig") as f:
    out = csv.writer(f, quoting=csv.QUOTE_ALL)
    out.writerow(['said "one"', "two, three"])
    out.writerows([[1, 2.5], [3, -4]])
expect("quoted.csv", np.array([[1.0, 2.5], [3.0, -4.0]]))
with open("tabs.csv", "w", newline="") as f:
    csv.writer(f, delimiter="\t").writerows([[1, 2], [3, 4]])
expect("tabs.csv", np.array([[1.0, 2.0], [3.0, 4.0]]))

grey = (np.arange(20) * 13 % 256).astype("u1").reshape(4, 5)
colour = (np.arange(36) * 7 % 256).astype("u1").reshape(3, 4, 3)
clear = (np.arange(48) * 5 % 256).astype("u1").reshape(4, 3, 4)


def image(name, a, seen=None, **options):
    Image.fromarray(a).save(name, **options)
    expect(name, a if seen is None else seen)


image("grey.png", grey)
image("colour.png", colour)
image("clear.png", clear)
deep = (np.arange(12) * 5003 % 65536).astype("u2").reshape(3, 4)
image("grey16.png", deep, np.round(deep / 257).astype("u1"))
two = Image.fromarray(np.array([[0, 255, 255], [255, 0, 0]], "u1")).convert("1")
two.save("bilevel.png")
expect("bilevel.png", np.array(two.convert("L")))
palette = Image.new("P", (3, 2))
palette.putpalette([255, 0, 0, 0, 255, 0, 1, 2, 3])
palette.putdata([0, 1, 2, 2, 1, 0])
palette.save("palette.png")
expect("palette.png", np.array(palette.convert("RGB")))
palette.save("palette-clear.png", transparency=1)
seen = np.dstack([np.array(palette.convert("RGB")), np.full((2, 3), 255, "u1")])
seen[np.array(palette) == 1, 3] = 0
expect("palette-clear.png", seen)
both = np.dstack([grey, 255 - grey])
Image.fromarray(both, "LA").save("grey-clear.png")
expect("grey-clear.png", np.dstack([grey, grey, grey, 255 - grey]))
grey2 = (np.arange(10) * 3 % 4).astype("u1").reshape(2, 5)
Image.fromarray(grey).save("animated.png", save_all=True,
                           append_images=[Image.fromarray(255 - grey)])
expect("animated.png", grey)


# What Pillow does not write, by hand. `rows`: for each pass the bytes of its rows.
def by_hand(name, size, depth, kind, passes, seen, extra=()):
    raw = b"".join(b"\0" + row for rows in passes for row in rows)
    head = struct.pack(">IIBBBBB", *size, depth, kind, 0, 0, len(passes) > 1)
    chunks = [(b"IHDR", head), *extra, (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b"")]
    with open(name, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n")
        for tag, data in chunks:
            f.write(struct.pack(">I", len(data)) + tag + data)
            f.write(struct.pack(">I", zlib.crc32(tag + data)))
    expect(name, seen)


def whole(a):
    return [[row.tobytes() for row in a]]


mesh = (np.arange(9 * 10 * 3) * 3 % 256).astype("u1").reshape(9, 10, 3)
parts = [mesh[y0::dy, x0::dx]
         for y0, x0, dy, dx in [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4),
                                (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]]  # Adam7
by_hand("interlaced.png", (10, 9), 8, 2, [whole(p)[0] for p in parts if p.size], mesh)
assert (np.array(Image.open("interlaced.png")) == mesh).all()
many = (np.arange(24) * 2729 % 65536).astype(">u2").reshape(2, 4, 3)
by_hand("colour16.png", (4, 2), 16, 2, whole(many), np.round(many / 257).astype("u1"))
few = deep.astype(">u2")
seen = np.repeat(np.round(few / 257)[:, :, None], 4, 2).astype("u1")
seen[:, :, 3] = np.where(few == few[1, 1], 0, 255)
by_hand("grey16-clear.png", (4, 3), 16, 0, whole(few), seen,
        [(b"tRNS", struct.pack(">H", few[1, 1]))])
packed = [[bytes([r[0] << 6 | r[1] << 4 | r[2] << 2 | r[3], r[4] << 6]) for r in grey2]]
by_hand("grey2.png", (5, 2), 2, 0, packed, grey2 * 85)
assert (np.array(Image.open("grey2.png").convert("L")) == grey2 * 85).all()
# Gamma and a colour profile change nothing; what unpacks to 4 MiB each is not unpacked.
bomb = zlib.compress(bytes(1 << 22), 9)
by_hand("bomb.png", (5, 4), 8, 0, whole(grey), grey,
        [(b"gAMA", struct.pack(">I", 100000)), (b"iCCP", b"profile\0\0" + bomb),
         (b"zTXt", b"Comment\0\0" + bomb), (b"iTXt", b"Title\0\1\0\0\0" + bomb)])

with open("expected", "w") as f:
    f.writelines(expected)
