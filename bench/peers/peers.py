# SPDX-License-Identifier: Apache-2.0
"""Weft beside NumPy's heirs: the same workloads in Numba, JAX and PyTorch, and, where
`futhark` is on the PATH, the same programs in it.

Usage: peers.py BUILD [--only dot,nbody_f64] [--threads N] [--quick] [--rounds N]
                [--output FILE]

In each of the rounds everyone runs once, in turns; shown are medians. The first call,
which compiles, is not timed, and its answer is compared with Weft's. Whoever lacks a
workload, or is not installed, is left out by name.
"""

import argparse
import importlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "bench" / "suite" / "work"
PEERS = ("numba", "jax", "torch")


# ---- inputs -------------------------------------------------------------------------

draw = np.random.default_rng(1)


def uniform(real, *shape):
    return draw.random(shape, dtype=real)


def options(real, n):
    return tuple(low + (high - low) * uniform(real, n)
                 for low, high in ((real(5), real(30)), (real(1), real(100)),
                                   (real(0.25), real(10))))


def sparse(rows):
    """About 15 entries in a row, some rows with a hundred times as many."""
    lengths = draw.integers(5, 25, rows)
    lengths[:: max(rows // 8, 1)] *= 100
    starts = np.concatenate(([0], np.cumsum(lengths)))
    at = draw.integers(0, rows, starts[-1], dtype=np.int32)
    return starts, at, uniform(np.float32, starts[-1]), uniform(np.float32, rows)


def clusters(n, k, d):
    points = uniform(np.float32, n, d)
    return points, points[:k].copy()


f32, f64 = np.float32, np.float64
# Name of the entry: arguments at full size, and at the quick one.
WORKLOADS = {
    "dot_f32": lambda q: (uniform(f32, n := q or 10**8), uniform(f32, n)),
    "saxpy_f32": lambda q: (f32(1.5), uniform(f32, n := q or 10**8), uniform(f32, n)),
    "scan_f32": lambda q: (uniform(f32, q or 10**8),),
    "scan_i64": lambda q: (draw.integers(0, 100, q or 10**8),),
    "filter_f64": lambda q: (uniform(f64, q or 10**8),),
    "matmul_f32": lambda q: tuple(uniform(f32, 2, n := 256 if q else 1024, n)),
    "matmul_f64": lambda q: tuple(uniform(f64, 2, n := 256 if q else 1024, n)),
    "mandelbrot_f32": lambda q: (400 if q else 2000, 256),
    "mandelbrot_f64": lambda q: (400 if q else 2000, 256),
    "nbody_f32": lambda q: tuple(uniform(f32, 4, 2000 if q else 10000)),
    "nbody_f64": lambda q: tuple(uniform(f64, 4, 2000 if q else 10000)),
    "histogram_i32": lambda q: (256, draw.integers(0, 256, q or 10**8, dtype=np.int32)),
    "blackscholes_f32": lambda q: options(f32, q or 10**7),
    "blackscholes_f64": lambda q: options(f64, q or 10**7),
    "mean27_f32": lambda q: (uniform(f32, *(64, 64, 64) if q else (256, 256, 256)),),
    "heat7_f32": lambda q: (uniform(f32, *(16, 128, 128) if q else (64, 512, 512)),),
    "jacobi_f32": lambda q: (20, uniform(f32, n := 512 if q else 4096, n)),
    "jacobi_f64": lambda q: (20, uniform(f64, n := 512 if q else 4096, n)),
    "sumlog_f64": lambda q: (q or 10**8,),
    "spmv_f32": lambda q: sparse(50_000 if q else 10**6),
    "kmeans_f32": lambda q: clusters(50_000 if q else 10**6, 16, 32),
    "life_u8": lambda q: (20, draw.integers(0, 2, (n := 512 if q else 4096, n),
                                            dtype=np.uint8)),
}
QUICK = 10**6


# ---- who takes part -----------------------------------------------------------------


def source(entry):
    """The program whose entry it is."""
    name = entry.rsplit("_", 1)[0]
    return WORK / ("linear.weft" if name in ("dot", "saxpy") else name + ".weft")


def as_arrays(result):
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [np.asarray(part) for part in parts]


class Weft:
    """The library, through the module that users copy."""

    name = "weft"

    def __init__(self, build, threads):
        os.environ.setdefault("WEFT_LIBRARY", str(build / "libweft.so.0"))
        sys.path.insert(0, str(ROOT / "examples" / "embed" / "python"))
        self.context = importlib.import_module("weft").Context(engine="native",
                                                               threads=threads)
        self.programs = {}

    def prepare(self, entry, arguments):
        path = source(entry)
        if path not in self.programs:
            self.programs[path] = self.context.load(path)
        function = self.programs[path][entry]
        return lambda: function(*arguments)


class Library:
    """A peer in this process, whose workloads are functions of in_NAME.py."""

    def __init__(self, name):
        self.name = name
        self.work = importlib.import_module("in_" + name)

    def prepare(self, entry, arguments):
        function = getattr(self.work, entry, None)
        if function is None:
            return None
        given = getattr(self.work, "given", lambda array: array)
        wait = getattr(self.work, "wait", lambda result: result)
        arguments = [given(a) if isinstance(a, np.ndarray) else a for a in arguments]
        return lambda: wait(function(*arguments))


def futhark_seconds(entry, arguments, rounds):
    """What `futhark bench` measures for the very program that Weft runs, or None."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = []
        for i, argument in enumerate(arguments):
            files.append(str(folder / f"{i}.npy"))
            np.save(files[-1], argument)
        data = folder / "in.data"
        text = subprocess.run(["futhark", "data", *(f"--file={f}" for f in files)],
                              capture_output=True)
        if text.returncode != 0:
            return None
        data.write_bytes(text.stdout)
        program = folder / "program.fut"
        program.write_text(f"-- ==\n-- entry: {entry}\n-- input @ in.data\n"
                           + source(entry).read_text())
        report = folder / "report.json"
        ran = subprocess.run(["futhark", "bench", "--backend=multicore",
                              f"--runs={rounds}", f"--json={report}", str(program)],
                             capture_output=True)
        if ran.returncode != 0:
            return None
        for datasets in json.loads(report.read_text()).values():
            for result in datasets["datasets"].values():
                return statistics.median(result["runtimes"]) / 1e6
    return None


# ---- measuring ----------------------------------------------------------------------


def distance(ours, theirs):
    """How far the answers are apart: the greatest difference in terms of the greatest
    element; of integers, where one rounding can change many, all differences in terms
    of all elements."""
    worst = 0.0
    for a, b in zip(as_arrays(ours), as_arrays(theirs), strict=True):
        if a.shape != b.shape:
            raise ValueError(f"shapes {a.shape} and {b.shape}")
        measure = np.sum if np.issubdtype(a.dtype, np.integer) else np.max
        a, b = a.astype(f64), b.astype(f64)
        worst = max(worst, float(measure(np.abs(a - b)) / (measure(np.abs(a)) or 1)))
    return worst


def tolerance(entry):
    if entry == "scan_f32":
        return 1e-2  # those who add one by one lose what the blocks of others keep
    if entry.startswith("mandelbrot"):
        return 1e-2  # at the edge of the set a rounding decides how long a point stays
    # The libraries' normal distribution is another than that of the loops.
    return 1e-3 if entry.endswith("f32") else 1e-6


def measure(entry, arguments, contenders, rounds, notes):
    calls, expected = {}, None
    for contender in contenders:
        try:
            call = contender.prepare(entry, arguments)
            if call is None:
                notes.append(f"{contender.name} has no {entry}")
                continue
            answer = call()
            if expected is None:
                expected = answer
            elif (apart := distance(expected, answer)) > tolerance(entry):
                notes.append(f"{contender.name}: {entry} differs by {apart:.1e}")
                continue
            del answer
            call()
            calls[contender.name] = call
        except Exception as error:  # a peer's mistake ends its row, not the others'
            if contender.name == "weft":
                raise
            notes.append(f"{contender.name}: {entry}: {str(error).splitlines()[0]}")
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.perf_counter()
            result = call()
            times[name].append(time.perf_counter() - begin)
            del result
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def show(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def main():
    parser = argparse.ArgumentParser(
        description="Times Weft beside Numba, JAX and PyTorch.")
    parser.add_argument("build", type=pathlib.Path, help="where libweft.so.0 lies")
    parser.add_argument("--only", default="", help="workloads, with commas between")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=pathlib.Path, help="where the table goes, too")
    args = parser.parse_args()
    wanted = [w for w in args.only.split(",") if w]
    for w in wanted:
        if not any(entry.startswith(w) for entry in WORKLOADS):
            parser.error(f"there is no workload {w}")

    # Everyone sees as many cores as asked for, before any of them counts them.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    contenders, notes = [Weft(args.build.resolve(), args.threads)], []
    for name in PEERS:
        try:
            contenders.append(Library(name))
        except ImportError as error:
            notes.append(f"{name} is not here: {error}")
    has_futhark = shutil.which("futhark") is not None
    if not has_futhark:
        notes.append("futhark is not on the PATH")

    names = [c.name for c in contenders[1:]] + ["futhark"] * has_futhark
    lines = [f"{args.threads} threads. Beside each time: how often Weft's goes into it",
             "", " | ".join(["| workload", "Weft", *names]) + " |",
             "|---" * (len(names) + 2) + "|"]
    for entry, make in WORKLOADS.items():
        if wanted and not any(entry.startswith(w) for w in wanted):
            continue
        print(entry, file=sys.stderr)
        arguments = make(QUICK if args.quick else 0)
        medians = measure(entry, arguments, contenders, args.rounds, notes)
        if has_futhark and (seconds := futhark_seconds(entry, arguments,
                                                      args.rounds)) is not None:
            medians["futhark"] = seconds
        cells = [f"{show(medians[n])} ({medians[n] / medians['weft']:.2f})"
                 if n in medians else "" for n in names]
        lines.append(" | ".join([f"| {entry}", show(medians["weft"]), *cells]) + " |")
    lines += [""] + [f"- {note}" for note in notes]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if args.output:
        args.output.write_text(text)


if __name__ == "__main__":
    main()
