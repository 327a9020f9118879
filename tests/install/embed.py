# SPDX-License-Identifier: Apache-2.0
"""Tests of examples/embed/python: embed.py FOLDER with|without (NumPy), in
examples/embed. The last line counts."""

import array
import gc
import signal
import subprocess
import sys
import threading
from math import inf, nan

folder, is_with = sys.argv[1], sys.argv[2] == "with"
if not is_with:
    sys.modules["numpy"] = None  # import raises ImportError
sys.path.insert(0, folder)
import weft  # noqa: E402

numpy = weft.numpy
LONG = 10**12  # steps; a call that ends only when it is stopped
passed = failed = 0


def check(what, is_true):
    global passed, failed
    passed, failed = passed + bool(is_true), failed + (not is_true)
    if not is_true:
        print("FAIL", what)


def equal(what, found, expected):
    check(f"{what}: {found!r} is not {expected!r}", found == expected)


def raises(kind, function, *arguments):
    try:
        function(*arguments)
        check(f"{kind} is not raised", False)
    except BaseException as error:
        check(f"{error!r} is raised, not {kind}", isinstance(error, kind))
        return error.with_traceback(None)  # which would keep what the frames hold


def arrays(context):
    p = context.compile("""
        entry same [n] (xs: [n]f64) = xs
        entry turn (xs: [][]i32) = transpose xs
        entry not (xs: []bool) = map (\\x -> !x) xs
        entry halves (xs: []f16) = map (/ 2) xs
        entry bytes (text: []u8) = i64.sum (map i64.u8 text)
        entry minus (x: f32) (y: f64) = (-x, -y)
        entry none (n: i64): [n][0]i32 = replicate n []
        entry flags (x: bool) (y: i8) (z: u64) = (!x, y - 1, z + 1)
        entry record (p: (i32, []f32)) = {a = p.0, b = p.1}
        entry field (r: {a: i32, b: []f32}) = r.a
    """)
    equal("a list", p.same([1, 2.5]).tolist(), [1, 2.5])
    equal("an empty list", p.same([]).tolist(), [])
    equal("lists", p.turn([[1, 2], [3, 4], [5, 6]]).tolist(), [[1, 3, 5], [2, 4, 6]])
    equal("an array", p.same(array.array("d", [1, 2])).tolist(), [1, 2])
    equal("a string", p.bytes("aé"), 97 + 195 + 169)
    equal("no bytes", p.bytes(b""), 0)
    equal("bools", p["not"](memoryview(b"\1\0").cast("?")).tolist(), [False, True])
    equal("a view with steps", p.bytes(memoryview(bytes(range(9)))[::-2]), 20)
    equal("infinity", p.minus(inf, -inf), (-inf, inf))
    check("not a number", all(x != x for x in p.minus(nan, nan)))
    equal("scalars", p.flags(True, -128, 2**64 - 1), (False, 127, 0))
    equal("an array without elements", len(p.none(0)), 0)
    f16 = p.halves([1, 3])
    equal("f16", f16.tolist(), [0.5, 1.5] if numpy else [0x3800, 0x3E00])
    record = p.record((3, [1, 2.5]))
    equal("a record", (str(record), record.type),
          ("{a = 3i32, b = [1.0f32, 2.5f32]}", "{a: i32, b: []f32}"))
    equal("a record as an argument", p.field(record), 3)
    result = p.same([1])
    raises((TypeError, ValueError), result.__setitem__, 0, 2.0)
    lent = array.array("d", [1])
    p.same(lent)
    lent.append(2)  # BufferError if it were still lent
    kept = p.same(lent)
    raises(BufferError, lent.append, 3)
    del kept
    lent.append(3)
    raises(TypeError, p.same)
    raises(TypeError, p.same, object())
    raises(TypeError, p.same, ["x"])
    raises(AttributeError, getattr, p, "nothing")
    raises(weft.Error, p.same, array.array("f", [1]))
    raises(weft.Error, p.same, 2**64)
    raises(weft.Error, p.same, [[1], [2, 3]])
    equal("no buffer is lent any more", context._lent, {})


def engines():
    for options in dict(engine="interp"), dict(engine="native", threads=2), \
            dict(devices="cpu*2"):
        with weft.Context(**options) as context:
            p = context.compile("entry main (xs: []i32) = map (+ 1) xs")
            equal(f"{options}", p.main([1, 2]).tolist(), [2, 3])

    def compiled(**options):
        with weft.Context(**options) as context:
            context.compile("entry main = 1i32")

    error = raises(weft.Error, lambda: compiled(devices="moon"))
    check("devices are named", "moon" in str(error))
    error = raises(weft.Error, lambda: compiled(engine="interp", devices="cpu*2"))
    check("the engine counts", "interpreter" in str(error))
    raises(ValueError, lambda: compiled(engine="steam"))


def numpy_arrays(context):
    p = context.compile("""
        entry same [n] (xs: [n]f64) = xs
        entry turn (xs: [][]i32) = transpose xs
        entry scalar (x: f32) = x
        entry bytes (xs: []u8) = xs
    """)
    x = numpy.arange(12, dtype="i4").reshape(3, 4)
    for name, view in (("all", x), ("turned", x.T), ("steps", x[::-2, 1::2]),
                       ("empty", x[:0])):
        equal(name, p.turn(view).tolist(), view.T.tolist())
    y = numpy.ones(3)
    z = p.same(y)
    check("an array is not copied", numpy.shares_memory(y, z))
    equal("its type", (z.dtype.name, z.flags.writeable), ("float64", False))
    equal("an empty shape", p.turn(numpy.zeros((0, 3), "i4")).shape, (3, 0))
    equal("a scalar", p.scalar(numpy.float32(1.5)), 1.5)
    odd = numpy.array([(1, 2), (3, 4)], dtype=[("a", "u1"), ("b", "<i4")])
    equal("a field", p.bytes(odd["a"]).tolist(), [1, 3])
    equal("a field out of line", p.turn(odd["b"][None]).tolist(), [[2], [4]])
    for wrong in (numpy.zeros(1, ">f8"), numpy.zeros(1, "c16"), numpy.array(["x"])):
        raises(TypeError, p.same, wrong)


def mistakes(context):
    error = raises(weft.Error, context.compile, "def main = x +\n  nothing\n", "small")
    equal("the place", (error.file, error.line), ("small", 1))
    first = error.diagnostics[0]
    equal("the diagnostic", (first.severity, first.code), ("error", "unknown-name"))
    equal("its columns", (first.column, first.end_column), (12, 13))
    check("the text", str(error).startswith("small:1:12: error: "))
    check("the caret", "^" in str(error))
    error = raises(weft.Error, context.load, "no/such.weft")
    equal("a missing file has no line", error.line, 0)
    check("a missing file is named", "no/such.weft" in str(error))
    p = context.compile("entry nth (xs: []i32) (i: i64) = xs[i]", "nth")
    error = raises(weft.Error, p.nth, [1, 2], 2)
    equal("where a run ends", (error.file, error.line), ("nth", 1))
    equal("an entry", (p.nth.parameters, p.nth.results), (["[]i32", "i64"], ["i32"]))
    equal("after an error", p.nth([1, 2], 1), 2)


def callbacks():
    traced, logged, seen, held = [], [], [], []
    with weft.Context(trace=traced.append, log=lambda *x: logged.append(x)) as context:
        p = context.compile("entry next (x: i32) = #[trace] (x + 1)", "next")
        equal("traced", (p.next(1), len(traced)), (2, 1))
        check("logged", logged and logged[0][0] == "note" and "next" in logged[0][1])

    def stop(progress):  # but not while it is loaded, however long that takes
        if held:
            seen.append(progress)
            raise ZeroDivisionError

    with weft.Context(progress=stop) as context:
        p = context.load("rod.weft")
        held.append(p)
        raises(ZeroDivisionError, p.diffuse, LONG, [1.0, 2.0])
        equal("progress comes until it raises", len(seen), 1)
        check("progress", seen[0].activity in ("compiling", "running"))
        held.clear()
        equal("after that", p.diffuse(0, [1.0, 2.0]).tolist(), [1, 2])

    def fail_once(*_):
        logged.append(0)
        if len(logged) == 1:
            raise ZeroDivisionError

    logged.clear()
    with weft.Context(log=fail_once) as context:
        raises(ZeroDivisionError, context.load, "rod.weft")
        p = context.load("rod.weft")
        equal("a stop that came too late", p.diffuse(0, [1.0])[0], 1)

    def reenter(_):
        if held:
            held.clear()  # which frees a value, but not within the callback
            context.load("rod.weft")

    with weft.Context(progress=reenter) as context:
        p = context.load("rod.weft")
        held.append(p.diffuse(0, [1.0]))
        raises(RuntimeError, p.diffuse, LONG, [1.0, 2.0])
        equal("what a callback drops is freed", context._live, 1)


def lives():
    with weft.Context() as context:
        p = context.load("rod.weft")
        rod = p.diffuse(1, [0.0, 4.0, 0.0, 0.0])
    raises(ValueError, p.diffuse, 1, [1.0])
    equal("a result outlives its context", rod.tolist(), [0, 2, 1, 0])
    del p
    check("it is still there", context._handle)
    del rod
    check("then the memory is free", context._handle is None)
    loop = [weft.Context()]
    loop += [loop, loop[0].load("rod.weft").diffuse(0, [1.0])]
    del loop
    gc.collect()
    small = weft.Context(memory=10_000_000)
    p = small.compile("entry big (n: i64) = map (+ 1) (iota n)")
    raises(weft.Error, p.big, 10**8)
    equal("after the ceiling", p.big(2).tolist(), [1, 2])


def threads():
    context = weft.Context()
    p = context.load("rod.weft")
    wrong = []

    def work(number):
        for i in range(100):
            found = p.diffuse(1, [0.0, 4.0 * i, number, 0.0]).tolist()
            if found[1] != 2 * i + number / 4:
                wrong.append(found)

    workers = [threading.Thread(target=work, args=(4.0 * k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    equal("8 threads", (wrong, context._live), ([], 1))
    started = threading.Event()
    context = weft.Context(progress=lambda _: started.set())
    p = context.load("rod.weft")
    started.clear()
    canceller = threading.Thread(target=lambda: (started.wait(), context.cancel()))
    canceller.start()
    raises(weft.Cancelled, p.diffuse, LONG, [1.0, 2.0])
    canceller.join()


def example():
    command = [sys.executable, folder + "/rod.py", "rod.weft"]
    found = subprocess.run(command + ["1000", "100"], capture_output=True, text=True)
    expected = subprocess.run(["c/rod", "rod.weft", "1000", "100"], capture_output=True,
                              text=True)
    equal("rod.py", found.stdout, expected.stdout)
    found = subprocess.run(command[:2] + ["none.weft", "9", "1"], capture_output=True)
    check("rod.py tells errors", found.returncode == 1 and b"none.weft" in found.stderr)
    running = subprocess.Popen(
        command + ["10000", str(LONG)], stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    running.stderr.read(len("\rrunning   0%"))
    running.send_signal(signal.SIGINT)
    told = running.communicate(timeout=60)[1]
    equal("Ctrl-C", (running.returncode, told[-16:]), (1, b"rod.py: stopped\n"))


check("the version", weft.version().count(".") == 2)
equal("NumPy", numpy is not None, is_with)
with weft.Context() as shared:
    arrays(shared)
    mistakes(shared)
    if numpy:
        numpy_arrays(shared)
check("the context is freed", shared._handle is None)
callbacks()
lives()
engines()
threads()
example()
print(f"{passed} passed, {failed} failed")
