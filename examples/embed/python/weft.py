# SPDX-License-Identifier: Apache-2.0
"""Weft from Python, by ctypes alone; copy this file into your project.

    with weft.Context() as context:
        program = context.load("rod.weft")
        heat = program.diffuse(1000, rod)

The entries of a program are its methods, or program["name"]. They take numbers, bools,
strings, lists, tuples, and whatever has a buffer (NumPy arrays, array.array, bytes,
memoryview), which Weft reads where it lies: do not change it while a result is in use
that may be a part of it.

Scalars come back as Python's. Arrays come back as read-only NumPy arrays, or without
NumPy as memoryviews, over Weft's own memory, which lives as long as they do. (A
memoryview of an empty array is flat, and one of f16 holds their 16 bits.) Tuples,
records and sums come back as Value, as text. Several results are a tuple.

Mistakes raise weft.Error. Ctrl-C works. A context may be used from several threads,
whose calls then wait for each other. The library is libweft.so.0, or the file that the
variable WEFT_LIBRARY names.
"""

import contextlib
import ctypes
import math
import os
import signal
import struct
import threading
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import NamedTuple, Optional

try:
    import numpy
except ImportError:
    numpy = None


class Diagnostic(NamedTuple):
    """A mistake. Lines and columns count from 1; the end is exclusive."""

    severity: str
    code: str
    message: str
    file: Optional[str]
    line: int
    column: int
    end_line: int
    end_column: int
    hints: tuple


class Progress(NamedTuple):
    """How far a call is; None is what is not known."""

    activity: str
    file: Optional[str]
    line: int
    fraction: Optional[float]
    seconds: float


class Error(Exception):
    """A call failed: str() is what people read, with source lines and carets; status a
    few words on the kind of failure; file and line those of the first diagnostic."""

    def __init__(self, status, text, diagnostics=()):
        super().__init__(text)
        self.status, self.diagnostics = status, diagnostics
        self.file = diagnostics[0].file if diagnostics else None
        self.line = diagnostics[0].line if diagnostics else 0


class Cancelled(Error):
    """The call was ended by Context.cancel."""


# ---- the library --------------------------------------------------------------------

# The scalar types in the order of WeftScalar, and their letters in the struct module.
_SCALARS = dict(bool="?", i8="b", i16="h", i32="i", i64="q", u8="B", u16="H", u32="I",
                u64="Q", f16="e", f32="f", f64="d")
_NAMES = list(_SCALARS)
_SEVERITIES = ("error", "warning", "note")
_ENGINES = ("auto", "interp", "native")
_OK, _CANCELLED = 0, 7


class _Diagnostic(ctypes.Structure):
    _fields_ = [("severity", c_int), ("code", c_char_p), ("message", c_char_p),
                ("file", c_char_p), ("line", ctypes.c_uint32),
                ("column", ctypes.c_uint32), ("end_line", ctypes.c_uint32),
                ("end_column", ctypes.c_uint32), ("hint_count", c_size_t),
                ("hints", POINTER(c_char_p))]


class _Progress(ctypes.Structure):
    _fields_ = [("activity", c_char_p), ("file", c_char_p), ("line", ctypes.c_uint32),
                ("fraction", ctypes.c_double), ("seconds", ctypes.c_double)]


_Trace = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)
_Log = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
_OnProgress = ctypes.CFUNCTYPE(None, c_void_p, POINTER(_Progress))
_Release = ctypes.CFUNCTYPE(None, c_void_p)


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("memory_ceiling", c_size_t),
                ("advice", c_int), ("trace", _Trace), ("data", c_void_p), ("log", _Log),
                ("progress", _OnProgress), ("import", c_void_p),
                ("import_release", c_void_p), ("engine", c_int),
                ("threads", ctypes.c_uint), ("devices", c_char_p)]


class _Buffer(ctypes.Structure):  # Py_buffer
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", c_int), ("ndim", c_int),
                ("format", c_char_p), ("shape", POINTER(ctypes.c_ssize_t)),
                ("strides", POINTER(ctypes.c_ssize_t)), ("suboffsets", c_void_p),
                ("internal", c_void_p)]


def _load():
    library = ctypes.CDLL(os.environ.get("WEFT_LIBRARY", "libweft.so.0"))
    out, shape = POINTER(c_void_p), POINTER(c_int64)
    for name, result, *arguments in [
        ("version", c_char_p),
        ("status_text", c_char_p, c_int),
        ("context_new", c_int, POINTER(_Options), out),
        ("context_free", None, c_void_p),
        ("cancel", None, c_void_p),
        ("memory_used", c_size_t, c_void_p),
        ("message", c_char_p, c_void_p),
        ("diagnostic_count", c_size_t, c_void_p),
        ("diagnostic", c_int, c_void_p, c_size_t, POINTER(_Diagnostic)),
        ("render", c_char_p, c_void_p, c_int),
        ("program_from_source", c_int, c_void_p, c_char_p, c_char_p, c_size_t, out),
        ("program_from_file", c_int, c_void_p, c_char_p, out),
        ("program_free", None, c_void_p),
        ("entry_count", c_size_t, c_void_p),
        ("entry_name", c_char_p, c_void_p, c_size_t),
        ("entry_doc", c_char_p, c_void_p, c_size_t),
        ("entry_parameter_count", c_size_t, c_void_p, c_size_t),
        ("entry_parameter_type", c_char_p, c_void_p, c_size_t, c_size_t),
        ("entry_result_count", c_size_t, c_void_p, c_size_t),
        ("entry_result_type", c_char_p, c_void_p, c_size_t, c_size_t),
        ("call", c_int, c_void_p, c_size_t, out, c_size_t, out, c_size_t),
        ("value_read", c_int, c_void_p, c_size_t, c_size_t, c_char_p, c_char_p,
         c_size_t, out),
        ("value_new", c_int, c_void_p, c_int, c_size_t, shape, c_void_p, out),
        ("value_borrow", c_int, c_void_p, c_int, c_size_t, shape, shape, c_void_p,
         _Release, c_void_p, out),
        ("value_free", None, c_void_p),
        ("value_type", c_char_p, c_void_p),
        ("value_is_array", c_int, c_void_p),
        ("value_element", c_int, c_void_p),
        ("value_rank", c_size_t, c_void_p),
        ("value_shape", shape, c_void_p),
        ("value_data", c_int, c_void_p, out),
        ("value_text", c_int, c_void_p, POINTER(c_char_p)),
    ]:
        function = getattr(library, "weft_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_weft = _load()
_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, POINTER(_Buffer), c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes, _release_buffer.restype = [POINTER(_Buffer)], None
_STRIDED = 0x1C  # PyBUF_RECORDS_RO: shape, strides and format; reading is enough


def version():
    """The version of the library."""
    return _weft.weft_version().decode()


def _string(text):
    return None if text is None else text.decode("utf-8", "replace")


def _progress(at):
    return Progress(_string(at.activity), _string(at.file), at.line,
                    at.fraction if at.fraction >= 0 else None, at.seconds)


# ---- contexts -----------------------------------------------------------------------


class Context:
    """Where programs and values live, until it is closed and the last of them is gone.

    engine is "auto", "interp" or "native"; threads and devices are as for the command
    (0 and None: what this machine has). memory is the number of bytes the context may
    hold. trace(text) is given what programs trace;
    log(severity, text) what the library did; progress(Progress) ten times a second how
    far a call is. They may raise, which ends the call, but not use the context.
    """

    def __init__(self, *, engine="auto", threads=0, devices=None, memory=0, trace=None,
                 log=None, progress=None):
        self._handle = None
        self._lock = threading.Lock()
        self._owner = None   # the thread whose call runs
        self._raised = None  # by a callback
        self._closed = False
        self._live = 0       # handles of programs and values that live
        self._dead = []      # those to be freed as soon as no call runs
        self._lent = {}      # the buffers that Weft reads, by number
        self._lent_ever = 0
        self._trace = _Trace(
            lambda _, text: self._tell(trace, _string(text))) if trace else _Trace()
        self._log = _Log(lambda _, level, text: self._tell(
            log, _SEVERITIES[level], _string(text))) if log else _Log()
        # Always asked for: while Weft calls back, Python sees to signals.
        self._progress = _OnProgress(lambda _, at: self._tell(
            progress, _progress(at[0])))
        self._release = _Release(
            lambda number: _release_buffer(self._lent.pop(number)))
        self._handle = handle = c_void_p()
        options = _Options(ctypes.sizeof(_Options), memory, 0, self._trace, None,
                           self._log, self._progress, None, None,
                           _ENGINES.index(engine), threads,
                           None if devices is None else devices.encode())
        status = _weft.weft_context_new(byref(options), byref(handle))
        if status != _OK:
            raise Error(_string(_weft.weft_status_text(status)), "no context was made")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the use of the context. Arrays that came from it stay valid."""
        self._closed = True
        self._sweep()

    def __del__(self):
        self._free()

    def load(self, path):
        """Compiles a file."""
        return self._compile(_weft.weft_program_from_file, os.fsencode(path))

    def compile(self, text, name="program"):
        """Compiles a text, which messages call `name`."""
        text = text.encode()
        return self._compile(_weft.weft_program_from_source, name.encode(), text,
                             len(text))

    def cancel(self):
        """Ends the call that now runs in another thread, or else the next one."""
        if self._handle:
            _weft.weft_cancel(self._handle)

    @property
    def memory_used(self):
        """The bytes that the context now holds."""
        return _weft.weft_memory_used(self._handle)

    def _compile(self, function, *arguments):
        handle = c_void_p()
        with self._calling():
            self._check(function(self._handle, *arguments, byref(handle)))
            return Program(self, handle)

    @contextlib.contextmanager
    def _calling(self):
        """Around every call: one at a time, and what interrupts it is raised."""
        if self._owner == threading.get_ident():
            raise RuntimeError("a callback must not use its context")
        try:
            with self._lock:
                if self._closed or not self._handle:
                    raise ValueError("the context is closed")
                self._owner, self._raised = threading.get_ident(), None
                try:
                    with self._interruptible():
                        yield
                finally:
                    self._owner = None
                    self._settle()
        finally:
            self._sweep()

    @contextlib.contextmanager
    def _interruptible(self):
        """Ctrl-C cancels; raised in a callback from C, a KeyboardInterrupt is lost."""
        default = signal.default_int_handler
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or signal.getsignal(signal.SIGINT) is not default:
            yield
            return
        signal.signal(signal.SIGINT, lambda *_: self._stop(KeyboardInterrupt()))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, default)

    def _settle(self):
        """Raises what has stopped the call."""
        if self._raised is None:
            return
        handle = c_void_p()  # a cancel that came too late shall not end the next call
        text = b"def main = 0"
        if _weft.weft_program_from_source(self._handle, b"", text, len(text),
                                          byref(handle)) == _OK:
            _weft.weft_program_free(handle)
        raised, self._raised = self._raised, None
        try:
            raise raised from None
        finally:
            del raised  # else its traceback would hold this frame, and that it

    def _stop(self, error):
        self._raised = self._raised or error
        self.cancel()

    def _tell(self, callback, *arguments):
        try:
            if callback is not None and self._raised is None:
                callback(*arguments)
        except BaseException as error:
            self._stop(error)

    def _check(self, status):
        if status == _OK:
            return
        found = []
        for i in range(_weft.weft_diagnostic_count(self._handle)):
            d = _Diagnostic()
            _weft.weft_diagnostic(self._handle, i, byref(d))
            hints = tuple(_string(d.hints[k]) for k in range(d.hint_count))
            found.append(Diagnostic(
                _SEVERITIES[d.severity], _string(d.code), _string(d.message),
                _string(d.file), d.line, d.column, d.end_line, d.end_column, hints))
        text = _weft.weft_render(self._handle, 0) or _weft.weft_message(self._handle)
        kind = Cancelled if status == _CANCELLED else Error
        raise kind(_string(_weft.weft_status_text(status)), _string(text).rstrip("\n"),
                   tuple(found))

    # Python may drop an object at any moment, in the middle of a call too, when Weft
    # must not be called; what it held is then freed by the next sweep.
    def _drop(self, free, handle):
        self._dead.append((free, handle))
        self._sweep()

    def _sweep(self):
        if not self._lock.acquire(blocking=False):
            return
        try:
            while self._dead:
                free, handle = self._dead.pop()
                if self._handle:
                    free(handle)
                self._live -= 1
            if self._closed and self._live == 0:
                self._free()
        finally:
            self._lock.release()

    def _free(self):
        handle, self._handle = self._handle, None
        _weft.weft_context_free(handle)


class _Owned:
    """What a context made and Python frees."""

    _handle = None

    def __init__(self, context, handle):
        self._context, self._handle = context, handle
        context._live += 1

    def __del__(self):
        if self._handle:
            self._context._drop(self._destroy, self._handle)


# ---- programs -----------------------------------------------------------------------


class Program(_Owned):
    """A compiled program. `entries` are its entries by name, which are its methods."""

    _destroy = _weft.weft_program_free

    def __init__(self, context, handle):
        super().__init__(context, handle)
        count = _weft.weft_entry_count(handle)
        names = (_string(_weft.weft_entry_name(handle, i)) for i in range(count))
        self._numbers = {name: number for number, name in enumerate(names)}

    @property
    def entries(self):
        return {name: self[name] for name in self._numbers}

    def __getitem__(self, name):
        return Entry(self, self._numbers[name], name)

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._numbers:
            raise AttributeError(f"the program has no entry `{name}`")
        return self[name]


class Entry:
    """An entry of a program, to be called; parameters and results are their types."""

    def __init__(self, program, number, name):
        handle = program._handle
        self._program, self._number, self.__name__ = program, number, name
        self.__doc__ = _string(_weft.weft_entry_doc(handle, number))
        self.parameters = [
            _string(_weft.weft_entry_parameter_type(handle, number, i))
            for i in range(_weft.weft_entry_parameter_count(handle, number))]
        self.results = [_string(_weft.weft_entry_result_type(handle, number, i))
                        for i in range(_weft.weft_entry_result_count(handle, number))]

    def __call__(self, *arguments):
        if len(arguments) != len(self.parameters):
            raise TypeError(f"{self.__name__} takes {len(self.parameters)} arguments, "
                            f"not {len(arguments)}")
        context = self._program._context
        with context._calling():
            values = [self._argument(i, x) for i, x in enumerate(arguments)]
            inputs = (c_void_p * len(values))(*(v._handle.value for v in values))
            outputs = (c_void_p * len(self.results))()
            context._check(_weft.weft_call(
                self._program._handle, self._number, inputs, len(inputs), outputs,
                len(outputs)))
            found = tuple([Value(context, c_void_p(x)) for x in outputs])
            found = tuple([value._python() for value in found])
        return found[0] if len(found) == 1 else found

    def _argument(self, i, x):
        if isinstance(x, Value):
            if x._context is not self._program._context:
                raise ValueError("a value of another context")
            return x
        if isinstance(x, str):
            x = x.encode()
        if isinstance(x, (bool, int, float, list, tuple)):
            return self._read(i, x)
        return self._lend(x)

    def _read(self, i, x):
        wanted, handle = self.parameters[i], c_void_p()
        text = _spell(x, wanted).encode()
        place = f"argument {i + 1} of {self.__name__}".encode()
        self._program._context._check(_weft.weft_value_read(
            self._program._handle, self._number, i, place, text, len(text),
            byref(handle)))
        return Value(self._program._context, handle)

    def _lend(self, x):
        context, handle, buffer = self._program._context, c_void_p(), _Buffer()
        try:
            _get_buffer(x, byref(buffer), _STRIDED)
        except (TypeError, BufferError):
            if numpy is None:
                raise
            x = numpy.ascontiguousarray(x)  # what NumPy can make an array of
            _get_buffer(x, byref(buffer), _STRIDED)
        rank, size = buffer.ndim, buffer.itemsize
        lent = False
        try:
            element = _element(buffer)
            shape = (c_int64 * rank)(*buffer.shape[:rank])
            strides = buffer.strides[:rank]
            if rank == 0 or any(at % size for at in (buffer.buf or 0, *strides)):
                data = memoryview(x).tobytes()
                context._check(_weft.weft_value_new(
                    context._handle, element, rank, shape, data, byref(handle)))
            else:
                context._lent_ever += 1
                number = context._lent_ever
                context._lent[number] = buffer
                lent = True
                status = _weft.weft_value_borrow(
                    context._handle, element, rank, shape,
                    (c_int64 * rank)(*(at // size for at in strides)), buffer.buf,
                    context._release, number, byref(handle))
                if status != _OK:
                    lent = context._lent.pop(number) is None
                context._check(status)
        finally:
            if not lent:
                _release_buffer(byref(buffer))
        return Value(context, handle)


def _element(buffer):
    letter = (buffer.format or b"B").decode()
    native = "@=<" if struct.pack("=h", 1) == b"\1\0" else "@=>"
    letter = letter[1:] if letter[0] in native else letter
    for kind, letters in (("i", "bhilqn"), ("u", "BHILQN"), ("f", "efd")):
        if letter in tuple(letters):
            return _NAMES.index(kind + str(8 * buffer.itemsize))
    if letter == "?":
        return _NAMES.index("bool")
    raise TypeError(f"Weft has no scalar like the buffer's elements, `{letter}`")


def _spell(x, wanted):
    """A Python value as Weft writes it, for a parameter of the wanted type."""
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, float) and not math.isfinite(x):
        kind = wanted[-3:] if wanted[-3:] in _SCALARS else "f64"
        return f"{kind}.nan" if x != x else f"{'-' if x < 0 else ''}{kind}.inf"
    if isinstance(x, (int, float)):
        return repr(x if type(x) in (int, float) else float(x))
    if isinstance(x, tuple):
        return "(" + ", ".join(_spell(item, "") for item in x) + ")"
    if isinstance(x, list):
        inner = wanted.partition("]")[2]
        if not x:
            return f"empty([0]{'[0]' * inner.count('[')}{inner.rpartition(']')[2]})"
        return "[" + ", ".join(_spell(item, inner) for item in x) + "]"
    raise TypeError(f"a {type(x).__name__} in a list or tuple")


# ---- values -------------------------------------------------------------------------


class Value(_Owned):
    """A value in Weft's memory; str() is how Weft writes it."""

    _destroy = _weft.weft_value_free

    def __str__(self):
        text = c_char_p()
        with self._context._calling():
            self._context._check(_weft.weft_value_text(self._handle, byref(text)))
            return _string(text.value)

    @property
    def type(self):
        return _string(_weft.weft_value_type(self._handle))

    def _python(self):
        if not _weft.weft_value_is_array(self._handle):
            return self
        letter = _SCALARS[_NAMES[_weft.weft_value_element(self._handle)]]
        data, size = c_void_p(), struct.calcsize("=" + letter)
        self._context._check(_weft.weft_value_data(self._handle, byref(data)))
        rank = _weft.weft_value_rank(self._handle)
        shape = tuple(_weft.weft_value_shape(self._handle)[:rank]) if rank else ()
        size *= math.prod(shape)
        memory = (ctypes.c_char * size).from_address(data.value) if size else b""
        if rank == 0:
            return struct.unpack("=" + letter, memory.raw)[0]
        if size:
            memory.value_ = self  # which lives as long as its memory is in use
        if numpy is not None:
            array = numpy.frombuffer(memory, dtype="=" + letter).reshape(shape)
            array.flags.writeable = False
            return array
        view = memoryview(memory).toreadonly().cast("B")
        letter = "H" if letter == "e" else letter
        return view.cast(letter, shape) if size else view.cast(letter)
