"""Recomputes the expected values of the tests whose origin is a script here.

    python3 origin.py          check every such test's output blocks
    python3 origin.py --fill   write them where a test says `output ?`
    python3 origin.py --show   print them

A test `<topic>/<name>.weft` whose first line is `-- origin: script
../origin/<topic>.py` is computed by the function `<name>` of that script
(`<name>__<entry>` where a file has several entries), from the values in its
input blocks.  Nothing here reads, or is read by, the compiler.
"""
import glob
import importlib
import os
import re
import sys

import numpy as np

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
         "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
         "f16": np.float16, "f32": np.float32, "f64": np.float64, "bool": np.bool_}
NAMES = {np.dtype(t): n for n, t in TYPES.items()}
TOKEN = re.compile(r'\s+|(empty\([^)]*\))|("(?:[^"\\]|\\.)*")|(-?f(?:16|32|64)\.(?:nan|inf))'
                   r'|(true|false)|(-?[0-9][0-9a-zA-Z_.+-]*)|([\[\],])')


class Parser:
    """Values in the textual form of test blocks."""

    def __init__(self, text):
        self.toks, pos = [], 0
        while pos < len(text):
            m = TOKEN.match(text, pos)
            if not m:
                raise SyntaxError("bad value: " + text[pos:])
            pos = m.end()
            if m.lastindex:
                self.toks.append(m.group(0))
        self.i = 0

    def scalar(self, tok):
        if tok in ("true", "false"):
            return tok == "true", "bool"
        m = re.fullmatch(r"(-?)(f16|f32|f64)\.(nan|inf)", tok)
        if m:
            return float(m.group(1) + m.group(3)), m.group(2)
        m = re.fullmatch(r"(-?[0-9][0-9_.]*(?:[eE][+-]?[0-9]+)?)([iuf](?:8|16|32|64))?", tok)
        body, typ = m.group(1).replace("_", ""), m.group(2)
        isint = re.fullmatch(r"-?[0-9]+", body)
        if typ is None:
            typ = "i32" if isint else "f64"
        if typ[0] == "f":
            return float(body) if typ != "f32" else np.float32(body), typ
        return int(body), typ

    def nested(self):
        tok = self.toks[self.i]
        self.i += 1
        if tok != "[":
            return self.scalar(tok)
        items, typ = [], None
        while self.toks[self.i] != "]":
            v, t = self.nested()
            typ = typ or t
            items.append(v)
            if self.toks[self.i] == ",":
                self.i += 1
        self.i += 1
        return items, typ

    def value(self):
        tok = self.toks[self.i]
        if tok.startswith("empty"):
            self.i += 1
            dims = [int(d) for d in re.findall(r"\[(\d+)\]", tok)]
            typ = re.search(r"\](\w+)\)", tok).group(1)
            return np.zeros(dims, TYPES[typ])
        if tok.startswith('"'):
            self.i += 1
            return np.frombuffer(tok[1:-1].encode().decode("unicode_escape").encode("latin1"),
                                 np.uint8).copy()
        v, t = self.nested()
        return np.array(v, TYPES[t]) if isinstance(v, list) else TYPES[t](v)

    def values(self):
        out = []
        while self.i < len(self.toks):
            out.append(self.value())
        return out


def show_scalar(x):
    t = NAMES[x.dtype]
    if t == "bool":
        return "true" if x else "false"
    if t[0] != "f":
        return "%d%s" % (int(x), t)
    if np.isnan(x):
        return t + ".nan"
    if np.isinf(x):
        return ("-" if x < 0 else "") + t + ".inf"
    s = np.format_float_scientific(x, unique=True, trim="0") \
        if x != 0 and not 1e-4 <= abs(float(x)) < 1e16 \
        else np.format_float_positional(x, unique=True, trim="0")
    return s + t


def show(v):
    v = np.asarray(v)
    if v.ndim == 0:
        return show_scalar(v[()])
    if v.size == 0:
        return "empty(%s%s)" % ("".join("[%d]" % d for d in v.shape), NAMES[v.dtype])
    return "[" + ", ".join(show(x) for x in v) + "]"


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        return bool(np.all((a == b) | (np.isnan(a) & np.isnan(b))
                           | np.isclose(a.astype(float), b.astype(float), rtol=1e-6, atol=0)))
    return bool(np.all(a == b))


BLOCK = re.compile(r"input\s*\{([^}]*)\}\s*(output\s*(\?|\{[^}]*\})|error:)")


def main(mode):
    bad = count = 0
    np.seterr(all="ignore")
    sys.path.insert(0, HERE)
    for path in sorted(glob.glob(os.path.join(HERE, "..", "*", "*.weft"))):
        text = open(path, newline="").read()
        m = re.match(r"-- origin: script \.\./origin/(\w+)\.py", text)
        if not m:
            continue
        name = os.path.basename(path)[:-5]
        mod = importlib.import_module(m.group(1))
        lines, out, entry, i = text.split("\n"), [], "main", 0
        while i < len(lines):
            ln = lines[i]
            e = re.match(r"-- entry: (\w+)", ln)
            if e:
                entry = e.group(1)
            # What is compared between engines alone has no value here.
            if not re.match(r"-- (?:\w+ )*input", ln) or ln.endswith("auto output"):
                out.append(ln)
                i += 1
                continue
            chunk = [ln]
            while not BLOCK.search(" ".join(c[3:] for c in chunk)):
                i += 1
                chunk.append(lines[i])
            i += 1
            b = BLOCK.search(" ".join(c[3:] for c in chunk))
            if b.group(2).startswith("error"):
                out += chunk
                continue
            count += 1
            fn = getattr(mod, name + "__" + entry, None) or getattr(mod, name)
            got = fn(*Parser(b.group(1)).values())
            got = list(got) if isinstance(got, tuple) else [got]
            for v in got:
                assert np.asarray(v).dtype in NAMES, (path, v)
            want = " ".join(show(v) for v in got)
            if mode == "--show":
                print("%s %s: %s" % (name, entry, want))
            if b.group(3) == "?":
                if mode == "--fill":
                    args = b.group(1).strip()
                    shown = "{ %s }" % args if args else "{ }"
                    one = "-- input %s output { %s }" % (shown, want)
                    out += [one] if len(one) <= 88 else \
                        ["-- input " + shown, "-- output { %s }" % want]
                    continue
                print("not filled:", path)
                bad += 1
            else:
                have = Parser(b.group(3)[1:-1]).values()
                if len(have) != len(got) or not all(same(x, y) for x, y in zip(have, got)):
                    print("differs: %s %s: script says %s" % (path, entry, want))
                    bad += 1
            out += chunk
        if mode == "--fill" and "\n".join(out) != text:
            open(path, "w", newline="").write("\n".join(out))
    print("%d values from scripts, %d wrong" % (count, bad))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "--check"))
