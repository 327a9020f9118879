#!/usr/bin/env python3
"""Translate the scalar subset of Weft used by lib/math to C.

    weft2c.py [--no-contract] lib/math/f64.weft lib/math/f32.weft > math.c
    cc -O2 -mfma -ffp-contract=off -fno-math-errno -fPIC -shared math.c -o math.so -lm

Every public definition f of <module>.weft becomes a C function <module>_f.
Definitions are inlined completely, `if` becomes a select, and products are
contracted into fused multiply-adds as stage 0 does it (docs: core, Stage 0), so
the C computes the bits that Weft computes.  --no-contract leaves that out: both
outputs must agree, for the library relies on no contraction it does not spell.
No loops, arrays or polymorphism: the library needs none.
"""
import re
import sys

sys.setrecursionlimit(100000)
TOKEN = re.compile(r"""
    (?P<ws>\s+|--[^\n]*|\#\[noinline\])
  | (?P<num>0x[0-9a-fA-F_]+\.?[0-9a-fA-F_]*p[+-]?\d+(?:f32|f64)
      | 0x[0-9a-fA-F_]+?(?:[iu](?:8|16|32|64))
      | \d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?(?:[fiu](?:8|16|32|64)))
  | (?P<name>[A-Za-z_][\w']*(?:\.[A-Za-z_][\w']*)?)
  | (?P<str>"[^"]*")
  | (?P<op>&&|\|\||==|!=|<=|>=|<<|>>|[-+*/&|^<>=!(),:])
""", re.X)
LEVELS = [["||"], ["&&"], ["==", "!=", "<", ">", "<=", ">="], ["&", "^", "|"],
          ["<<", ">>"], ["+", "-"], ["*", "/"]]
KEYWORDS = {"let", "in", "if", "then", "else", "def", "local", "module"}
CTYPE = {"f64": "double", "f32": "float", "bool": "int",
         **{f"i{w}": f"int{w}_t" for w in (8, 16, 32, 64)},
         **{f"u{w}": f"uint{w}_t" for w in (8, 16, 32, 64)}}
# name -> (C expression, result type): T the module's own type, U its bits.
PRIMS = {"fma": ("fma{s}({0}, {1}, {2})", "T"), "sqrt": ("sqrt{s}({0})", "T"),
         "abs": ("fabs{s}({0})", "T"), "floor": ("floor{s}({0})", "T"),
         "ceil": ("ceil{s}({0})", "T"), "trunc": ("trunc{s}({0})", "T"),
         "round": ("rint{s}({0})", "T"), "min": ("min_{T}({0}, {1})", "T"),
         "max": ("max_{T}({0}, {1})", "T"), "isnan": ("isnan({0})", "bool"),
         "isinf": ("isinf({0})", "bool"), "to_bits": ("to_bits_{T}({0})", "U"),
         "from_bits": ("from_bits_{T}({0})", "T"),
         "mul_hi": ("mul_hi_{T}({0}, {1})", "T"), "clz": ("clz_{T}({0})", "i32")}
PRELUDE = """#include <math.h>
#include <stdint.h>
#include <string.h>
static inline double min_f64(double a, double b) { return fmin(a, b); }
static inline double max_f64(double a, double b) { return fmax(a, b); }
static inline float min_f32(float a, float b) { return fminf(a, b); }
static inline float max_f32(float a, float b) { return fmaxf(a, b); }
static inline uint64_t to_bits_f64(double x) { uint64_t r; memcpy(&r, &x, 8); return r; }
static inline uint32_t to_bits_f32(float x) { uint32_t r; memcpy(&r, &x, 4); return r; }
static inline double from_bits_f64(uint64_t x) { double r; memcpy(&r, &x, 8); return r; }
static inline float from_bits_f32(uint32_t x) { float r; memcpy(&r, &x, 4); return r; }
static inline uint64_t mul_hi_u64(uint64_t a, uint64_t b)
{ return (uint64_t)(((unsigned __int128)a * b) >> 64); }
static inline int clz_u64(uint64_t a) { return a ? __builtin_clzll(a) : 64; }
static inline int clz_u32(uint32_t a) { return a ? __builtin_clz(a) : 32; }
static inline int64_t i64_of_f64(double x)
{ return fabs(x) < 0x1p63 ? (int64_t)x : 0; }
static inline uint64_t u64_of_f64(double x)
{ return x > -1.0 && x < 0x1p64 ? (uint64_t)x : (uint64_t)i64_of_f64(x); }
"""


class Parser:
    def __init__(self, text, path):
        self.toks, self.pos, self.path = [], 0, path
        at = 0
        while at < len(text):
            m = TOKEN.match(text, at)
            line = text.count("\n", 0, at) + 1
            if not m:
                sys.exit(f"{path}:{line}: bad token near {text[at:at+20]!r}")
            if m.lastgroup != "ws":
                self.toks.append((m.lastgroup, m.group(), line))
            at = m.end()
        self.toks.append(("end", "", 0))

    def peek(self):
        return self.toks[self.pos][1]

    def next(self):
        self.pos += 1
        return self.toks[self.pos - 1][1]

    def fail(self, msg):
        sys.exit(f"{self.path}:{self.toks[self.pos][2]}: {msg}, at {self.peek()!r}")

    def expect(self, s):
        if self.next() != s:
            self.pos -= 1
            self.fail(f"expected {s!r}")

    def type(self):
        if self.peek() == "(":
            self.next()
            ts = [self.type()]
            while self.peek() == ",":
                self.next()
                ts.append(self.type())
            self.expect(")")
            return tuple(ts) if len(ts) > 1 else ts[0]
        t = self.next()
        return t if t in CTYPE else self.fail("unknown type " + t)

    def program(self):
        defs, imports = {}, {}
        while self.toks[self.pos][0] != "end":
            hidden = self.peek() == "local"
            if hidden:
                self.next()
            if self.peek() == "module":
                self.next()
                name = self.next()
                self.expect("=")
                self.expect("import")
                imports[name] = self.next().strip('"')
                continue
            self.expect("def")
            line = self.toks[self.pos][2]
            name, params = self.next(), []
            while self.peek() == "(":
                self.next()
                p = self.next()
                self.expect(":")
                params.append((p, self.type()))
                self.expect(")")
            self.expect(":")
            result = self.type()
            self.expect("=")
            defs[name] = (params, result, self.expr(), hidden, line)
        return defs, imports

    def expr(self):
        if self.peek() == "let":
            self.next()
            if self.peek() == "(":
                self.next()
                names = [self.next()]
                while self.peek() == ",":
                    self.next()
                    names.append(self.next())
                self.expect(")")
            else:
                names = self.next()
            self.expect("=")
            e = self.expr()
            if self.peek() == "in":
                self.next()
            elif self.peek() != "let":
                self.fail("expected in")
            return ("let", names, e, self.expr())
        if self.peek() == "if":
            self.next()
            c = self.expr()
            self.expect("then")
            a = self.expr()
            self.expect("else")
            return ("if", c, a, self.expr())
        return self.binary(0)

    def binary(self, level):
        if level == len(LEVELS):
            return self.unary()
        e = self.binary(level + 1)
        while self.peek() in LEVELS[level]:
            line = self.toks[self.pos][2]
            op = self.next()
            e = ("bin", op, e, self.binary(level + 1), line)
        return e

    def unary(self):
        if self.peek() in ("-", "!"):
            op = self.next()
            return ("un", op, self.unary())
        kind, text, line = self.toks[self.pos]
        if kind == "name" and text not in KEYWORDS:
            self.next()
            args = []
            while (self.toks[self.pos][0] in ("num", "name")
                   and self.peek() not in KEYWORDS or self.peek() == "("):
                args.append(self.atom())
            return ("app", text, args, line)
        return self.atom()

    def atom(self):
        kind, text, line = self.toks[self.pos]
        self.next()
        if text == "(":
            es = [self.expr()]
            while self.peek() == ",":
                self.next()
                es.append(self.expr())
            self.expect(")")
            return ("tuple", es) if len(es) > 1 else es[0]
        if kind == "num":
            return ("num", text)
        if kind == "name" and text not in KEYWORDS:
            return ("app", text, [], line)
        self.pos -= 1
        self.fail("expected an expression")


class Value:
    """One SSA value: an operator over values; uses are counted by emit."""
    __slots__ = ("op", "args", "type", "uses", "name")

    def __init__(self, op, args, typ):
        self.op, self.args, self.type, self.uses, self.name = op, args, typ, 0, None


class Inliner:
    def __init__(self, modules):
        self.modules = modules

    def call(self, mod, name, args, line):
        params, result, body, _, _ = self.modules[mod][0][name]
        if len(params) != len(args):
            sys.exit(f"{mod}.weft:{line}: {name} wants {len(params)} arguments")
        env = {}
        for (p, t), a in zip(params, args):
            self.want(mod, line, t, a)
            env[p] = a
        r = self.eval(mod, body, env)
        self.want(mod, line, result, r)
        return r

    def want(self, mod, line, t, v):
        got = tuple(x.type for x in v) if isinstance(v, tuple) else v.type
        if got != t:
            sys.exit(f"{mod}.weft:{line}: expected {t}, got {got}")

    def eval(self, mod, e, env):
        kind = e[0]
        if kind == "num":
            m = re.match(r"(.*?)((?:f|i|u)(?:8|16|32|64))$", e[1])
            return Value("lit", [m.group(1).replace("_", "")], m.group(2))
        if kind == "tuple":
            return tuple(self.eval(mod, x, env) for x in e[1])
        if kind == "let":
            v = self.eval(mod, e[2], env)
            env = dict(env)
            if isinstance(e[1], list):
                assert len(e[1]) == len(v), e[1]
                env.update(zip(e[1], v))
            else:
                env[e[1]] = v
            return self.eval(mod, e[3], env)
        if kind == "if":
            c, a, b = (self.eval(mod, x, env) for x in e[1:])
            if isinstance(a, tuple):
                return tuple(Value("sel", [c, x, y], x.type) for x, y in zip(a, b))
            if a.type != b.type:
                sys.exit(f"{mod}.weft: if arms {a.type} and {b.type}")
            return Value("sel", [c, a, b], a.type)
        if kind == "un":
            v = self.eval(mod, e[2], env)
            return Value("neg" if e[1] == "-" else "not", [v], v.type)
        if kind == "bin":
            a, b = self.eval(mod, e[2], env), self.eval(mod, e[3], env)
            if a.type != b.type:
                sys.exit(f"{mod}.weft:{e[4]}: {a.type} {e[1]} {b.type}")
            return Value(e[1], [a, b], "bool" if e[1] in LEVELS[2] else a.type)
        name, line = e[1], e[3]
        args = [self.eval(mod, x, env) for x in e[2]]
        if "." not in name:
            if name in env:
                assert not args, (mod, line, name)
                return env[name]
            if name in ("true", "false"):
                return Value("lit", ["1" if name == "true" else "0"], "bool")
            if name not in self.modules[mod][0]:
                sys.exit(f"{mod}.weft:{line}: unknown name {name}")
            return self.call(mod, name, args, line)
        q, f = name.split(".")
        if q in self.modules[mod][1]:
            return self.call(self.modules[mod][1][q], f, args, line)
        if f in CTYPE:
            return Value("conv", [args[0]], q)
        if f in ("inf", "nan"):
            return Value("lit", ["INFINITY" if f == "inf" else "NAN"], q)
        if f not in PRIMS:
            sys.exit(f"{mod}.weft:{line}: unknown primitive {name}")
        fmt, res = PRIMS[f]
        arg_t = "u" + q[1:] if f == "from_bits" else q
        for a in args:
            self.want(mod, line, arg_t, a)
        return Value("prim:" + f, args,
                     {"T": q, "U": "u" + q[1:], "bool": "bool", "i32": "i32"}[res])


def reachable(root):
    order, seen = [], set()

    def visit(v):
        if not isinstance(v, Value) or id(v) in seen:
            return
        seen.add(id(v))
        for a in v.args:
            visit(a)
        order.append(v)
    visit(root)
    return order


def contract(order):
    """x ± y*z with a product used once becomes fma; negation folds in."""
    for v in order:
        v.uses = 0
    for v in order:
        for a in v.args:
            if isinstance(a, Value):
                a.uses += 1

    def product(v):
        """(sign, y, z) if v is a product, maybe negated, all used once."""
        sign = 1
        while v.op == "neg" and v.uses == 1:
            sign, v = -sign, v.args[0]
        return (sign, *v.args) if v.op == "*" and v.uses == 1 else None
    count = 0
    for v in order:
        if v.op not in "+-" or v.type not in ("f32", "f64"):
            continue
        x, y = v.args
        q = product(y)
        if q:
            sign = q[0] * (1 if v.op == "+" else -1)
            a, b, c = q[1], q[2], x
        else:
            q = product(x)
            if not q:
                continue
            sign, a, b = q
            c = y if v.op == "+" else Value("neg", [y], v.type)
        if sign < 0:
            a = Value("neg", [a], v.type)
        v.op, v.args = "prim:fma", [a, b, c]
        count += 1
    return count


def literal(v):
    s, t = v.args[0], v.type
    if s in ("INFINITY", "NAN"):
        return s
    if t == "f32":
        return (s if "." in s or "p" in s or "e" in s else s + ".0") + "f"
    if t == "f64":
        return s if "." in s or "p" in s or "e" in s else s + ".0"
    return s + {"u64": "ull", "i64": "ll", "u32": "u"}.get(t, "")


def emit(name, params, root):
    out = []
    for i, v in enumerate(reachable(root)):
        if v.op == "param":
            continue
        a = [x.name if isinstance(x, Value) else x for x in v.args]
        if v.op == "lit":
            v.name = literal(v)
            continue
        v.name = f"v{i}"
        ct = CTYPE[v.type]
        if v.op == "sel":
            text = f"{a[0]} ? {a[1]} : {a[2]}"
        elif v.op == "neg":
            text = f"-{a[0]}" if v.type[0] == "f" else f"({ct})(0 - (uint64_t){a[0]})"
        elif v.op == "not":
            text = f"!{a[0]}" if v.type == "bool" else f"({ct})~{a[0]}"
        elif v.op == "conv":
            src = v.args[0].type
            if src in ("f32", "f64") and v.type[0] in "iu":
                wide = "u64" if v.type == "u64" else "i64"
                text = f"({ct}){wide}_of_f64({a[0]})"
            else:
                text = f"({ct}){a[0]}"
        elif v.op.startswith("prim:"):
            f = v.op[5:]
            t = v.type if f == "from_bits" else v.args[0].type
            text = PRIMS[f][0].format(*a, s="f" if t == "f32" else "", T=t)
        elif v.op in ("<<", ">>"):
            w = int(v.type[1:])
            big = f"({a[0]} >> {w-1})" if v.type[0] == "i" and v.op == ">>" else "0"
            sh = (f"({ct})((uint64_t){a[0]} << {a[1]})" if v.op == "<<"
                  else f"{a[0]} >> {a[1]}")
            text = (sh if v.args[1].op == "lit"
                    else f"(uint64_t){a[1]} < {w} ? {sh} : {big}")
        elif v.type[0] in "i" and v.op in ("+", "-", "*"):
            text = f"({ct})((uint64_t){a[0]} {v.op} (uint64_t){a[1]})"
        else:
            text = f"{a[0]} {v.op} {a[1]}"
        out.append(f"    const {ct} {v.name} = {text};")
    args = ", ".join(f"{CTYPE[t]} {p}" for p, t in params)
    return (f"{CTYPE[root.type]} {name}({args})\n{{\n" + "\n".join(out)
            + f"\n    return {root.name};\n}}\n")


def main():
    fuse = "--no-contract" not in sys.argv
    paths = [a for a in sys.argv[1:] if not a.startswith("--")]
    modules, only = {}, [a[7:] for a in sys.argv if a.startswith("--only=")]
    for path in paths:
        mod = re.sub(r".*/|\.weft$", "", path)
        modules[mod] = Parser(open(path).read(), path).program()
    print(PRELUDE)
    inl = Inliner(modules)
    for mod, (defs, _) in modules.items():
        for name, (params, _, _, hidden, line) in defs.items():
            if hidden or only and f"{mod}_{name}" not in only:
                continue
            args = []
            for p, t in params:
                v = Value("param", [], t)
                v.name = "p_" + p.replace("'", "_")
                args.append(v)
            root = inl.call(mod, name, args, line)
            fused = contract(reachable(root)) if fuse else 0
            if fused:
                print(f"{mod}.{name}: {fused} contractions", file=sys.stderr)
            ps = [("p_" + p.replace("'", "_"), t) for p, t in params]
            print(emit(f"{mod}_{name}", ps, root))


if __name__ == "__main__":
    main()
