"""A program's tables and params, and the calls that go through them: converted, checked and explained in Python, or
from machine code alone. Conversion of single arguments is in `arguments.py`, the machine code in `process.py`."""

import ctypes
import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from time import perf_counter_ns
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.lowering.backend.driver.arena import aligned_bytes, touch
from xdsl_rlx.lowering.backend.driver.collectives import connected
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.driver.interrupts import run_interruptibly
from xdsl_rlx.lowering.backend.driver.layout import (
    CACHE_LINE,
    FLAGS_READABLE,
    FLAGS_WRITABLE,
    INTERRUPTED,
    TOO_LONG,
    WORD,
    CallBlock,
    NumpyArray,
    PlanTable,
    PythonObject,
    PythonTuple,
    SpecRow,
)
from xdsl_rlx.lowering.backend.driver.manifest import FIRST_BUFFER, Program, TensorSpec
from xdsl_rlx.lowering.backend.driver.process import (
    LONG_NS,
    RunPlan,
    Words,
    address,
    driver,
    make_plan,
    once,
    pool,
    words,
)
from xdsl_rlx.lowering.backend.machine.llvm import LoadedObject
from xdsl_rlx.lowering.backend.runtime.arguments import check_out, check_updated, to_array
from xdsl_rlx.lowering.backend.runtime.overlaps import CallBuffer, Use, outputs_in_arguments
from xdsl_rlx.lowering.backend.runtime.results import Results
from xdsl_rlx.lowering.backend.runtime.weights import Weights
from xdsl_rlx.lowering.run_errors import ArgumentError, ArgumentTypeError, DistributedError, OutOfBoundsError

Array = NDArray[Any]

MOST_AXES = 64
"""Of an array of NumPy."""


class Binding:
    """A program's tables with its params, and the call in Python that can convert, allocate and explain."""

    def __init__(self, program: Program, code: LoadedObject, threads: int, weights: Weights) -> None:
        self.program = program
        self.weights = weights
        self._code = code
        for spec in (*program.arguments, *program.outputs):
            if len(spec.shape) > MOST_AXES:
                what = f"{spec.name!r} of graph {program.name!r} has {len(spec.shape)} axes"
                raise ArgumentError(f"{what}: expected at most {MOST_AXES}, as arrays of NumPy have; reshape it")
        self.plan = make_plan(program, self._code.addresses, threads)
        self._specs = program.arguments
        self._param_names = {spec.name for spec in program.params}
        self._index = {spec.name: index for index, spec in enumerate(self._specs)}
        self._updated = frozenset(program.updated)
        self._results = Results(program.outputs)
        flags = [FLAGS_WRITABLE if spec.name in self._updated else FLAGS_READABLE for spec in self._specs]
        self._set_specs(PlanTable.ARGUMENTS, self._specs, flags, [None] * len(self._specs))
        writable = [FLAGS_WRITABLE] * len(program.outputs)
        self._set_specs(PlanTable.OUTPUTS, program.outputs, writable, self._results.tables)
        touch(self._results.first_buffers())
        for name in program.optional:
            index = self._index[name]
            ones = np.ones(self._specs[index].shape, dtype_of(self._specs[index].dtype))
            self.plan.keep.append(ones)
            self.plan.set_base(FIRST_BUFFER + index, address(ones))
        weights.declare(program.params, self)

    def found(self, name: str, place: int) -> None:
        """Have calls read a param, and update it, at this address."""
        self.plan.set_base(FIRST_BUFFER + self._index[name], place)

    def call(self, *args: object, out: object = None, **kwargs: object) -> tuple[Array, ...]:
        """As `CompiledGraph.__call__`, for any arguments."""
        values = self._bind(args, kwargs)
        results = self._bind_outputs(out)
        overlapping = self._outputs_in_arguments(values, results)
        targets = list[Array]()
        copies = list[tuple[Array, Array]]()
        for index, result in enumerate(results):
            if result is not None and index not in overlapping:
                targets.append(result)
                continue
            target = self._results.new(index)
            targets.append(target)
            if result is None:
                results[index] = target
            else:
                copies.append((result, target))
        if copies:
            self._allocate_aside()
        self._run(values, targets)
        for result, target in copies:
            np.copyto(result, target)
        return tuple(result for result in results if result is not None)

    def _outputs_in_arguments(self, values: Mapping[int, Array], results: Sequence[Array | None]) -> set[int]:
        """The results given for which the call needs other memory; ArgumentError for memory used twice."""
        given = [(index, result) for index, result in enumerate(results) if result is not None]
        if not given and not self.program.updated:
            return set()
        first, buffers = CallBlock.BUFFERS // WORD, list[CallBuffer]()
        for index, spec in enumerate(self._specs):
            # an argument that is not given is a param, or ones
            begin = address(values[index]) if index in values else int(self.plan.template[first + index])
            use = Use.UPDATED if spec.name in self._updated else Use.READ
            buffers.append(CallBuffer(begin, begin + spec.nbytes, use, index, spec.name))
        for index, result in given:
            begin = address(result)
            buffers.append(CallBuffer(begin, begin + result.nbytes, Use.OUTPUT, index, f"out[{index}]"))
        return outputs_in_arguments(self.program.name, buffers)

    def set_param(self, name: str, value: object) -> None:
        """Copy a param's value."""
        if not isinstance(name, str) or name not in self._param_names:  # pyright: ignore[reportUnnecessaryIsInstance]
            params = ", ".join(spec.name for spec in self.program.params) or "none"
            raise ArgumentTypeError(f"graph {self.program.name!r} has no param {name!r} (params: {params})")
        self.weights[name] = to_array(self._specs[self._index[name]], value, self._what("param", name))

    def _what(self, kind: str, name: object) -> str:
        return f"{kind} {name!r} of graph {self.program.name!r}"

    def _set_specs(
        self, offset: int, specs: Sequence[TensorSpec], flags: Sequence[int], kept: Sequence[Words | None]
    ) -> None:
        table = list[int]()
        aside = 0
        for spec, needed, buffers in zip(specs, flags, kept, strict=True):
            name, dtype, shape = sys.intern(spec.name), dtype_of(spec.dtype), words(spec.shape)
            self.plan.keep += [name, dtype, shape, buffers]
            again = 0 if buffers is None else address(buffers)
            table += SpecRow.filled(
                {
                    SpecRow.NAME: id(name),
                    SpecRow.DTYPE: id(dtype),
                    SpecRow.RANK: len(spec.shape),
                    SpecRow.SHAPE: address(shape),
                    SpecRow.BYTES: spec.nbytes,
                    SpecRow.FLAGS: needed,
                    SpecRow.ASIDE: aside,
                    SpecRow.KEPT: again,
                }
            )
            aside += -(-spec.nbytes // CACHE_LINE) * CACHE_LINE
        self.plan.point(offset, words(table))

    def _allocate_aside(self) -> None:
        if not self.plan.get(PlanTable.ASIDE):
            size = sum(-(-spec.nbytes // CACHE_LINE) * CACHE_LINE for spec in self.program.outputs)
            self.plan.point(PlanTable.ASIDE, aligned_bytes(size, CACHE_LINE))

    def copies(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Array]:
        """Copies of all arguments of a call by name: given, params, and ones for optional inputs; a call's errors."""
        given = self._bind(args, {name: value for name, value in kwargs.items() if name != "out"})
        found: dict[str, Array] = {}
        for index, spec in enumerate(self._specs):
            if index in given:
                found[spec.name] = given[index].copy()
            elif spec.name in self._param_names:
                found[spec.name] = np.array(self.weights[spec.name])
            else:
                found[spec.name] = np.ones(spec.shape, dtype_of(spec.dtype))
        return found

    def _bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[int, Array]:
        graph, specs = self.program.name, self._specs
        if len(args) > len(specs):
            raise ArgumentTypeError(f"graph {graph!r} takes {len(specs)} arguments, got {len(args)} by position")
        given = dict(enumerate(args))
        for name, value in kwargs.items():
            index = self._index.get(name)
            if index is None:
                raise ArgumentTypeError(self._unknown(name))
            if index in given:
                raise ArgumentTypeError(f"{self._what('argument', name)} is given by position and by name")
            given[index] = value
        values = {index: self._array(specs[index], value) for index, value in given.items()}
        for index, spec in enumerate(specs):
            if index in values or spec.name in self.program.optional:
                continue
            if spec.name not in self._param_names:
                hint = "; pass it by position: the keyword out= names the outputs" if spec.name == "out" else ""
                raise ArgumentTypeError(f"{self._what('input', spec.name)} is missing: expected {spec}{hint}")
            if spec.name not in self.weights:
                hint = f"set .weights[{spec.name!r}], or pass it as an argument"
                raise ArgumentTypeError(f"{self._what('param', spec.name)} has no value: expected {spec}; {hint}")
        return values

    def _array(self, spec: TensorSpec, value: object) -> Array:
        """An argument as an array: itself if a result is to be written there."""
        what = f"argument {spec.name!r} of graph {self.program.name!r}"
        return (check_updated if spec.name in self._updated else to_array)(spec, value, what)

    def _unknown(self, name: str) -> str:
        names = list(self._index)
        close = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"its arguments are {', '.join(names) or 'none'}"
        return f"graph {self.program.name!r} has no argument {name!r}: {hint}"

    def _bind_outputs(self, out: object) -> list[Array | None]:
        specs = self.program.outputs
        if out is None:
            return [None] * len(specs)
        if not isinstance(out, tuple | list | np.ndarray):
            raise ArgumentTypeError(f"out must be a tuple of arrays or None, got {type(out).__name__}")
        buffers = cast(Sequence[object], (out,) if isinstance(out, np.ndarray) else out)
        if len(buffers) != len(specs):
            expected = f"expected {len(specs)} buffers, one per result, got {len(buffers)}"
            raise ArgumentError(f"out of graph {self.program.name!r}: {expected}")
        return [
            None if buffer is None else check_out(spec, buffer, f"out[{index}] of graph {self.program.name!r}")
            for index, (spec, buffer) in enumerate(zip(specs, buffers, strict=True))
        ]

    def run_traced(self, args: Sequence[object], kwargs: Mapping[str, object], trace: Words) -> tuple[int, int]:
        """
        One run that fills a `TraceTable`; gives when it began and ended, in nanoseconds of the monotonic clock.

        What is updated is copied first. The run is none that may be found to take too long and begin anew. One of a
        program that ends soon comes right behind another run, as in a loop of calls: workers would sleep.
        """
        values = self._bind(args, kwargs)
        self._outputs_in_arguments(values, ())
        brief = self.plan.get(PlanTable.NS) < LONG_NS
        calls = [self._call_on_copies(values) for _ in range(2 if brief else 1)]
        block, _ = calls[-1]
        block[CallBlock.TRACE // WORD] = address(trace)
        times = list[int]()

        def run() -> None:
            for before, _ in calls[:-1]:
                driver().run(self.plan.address, address(before))
            times.append(perf_counter_ns())
            driver().run(self.plan.address, address(block))
            times.append(perf_counter_ns())

        self._run_interruptibly(block, run)
        _check(block)
        began, ended = times
        return began, ended

    def _call_on_copies(self, values: Mapping[int, Array]) -> tuple[Words, list[Array]]:
        """The block of a call with results of its own, and with copies of what is updated; what is to be kept alive."""
        copies = dict(values)
        for name in self.program.updated:
            number = self._index[name]
            copies[number] = np.array(values[number] if number in values else self.weights[name])
        targets = [self._results.new(number) for number in range(len(self.program.outputs))]
        return self._block(copies, targets), [*copies.values(), *targets]

    def _run(self, values: Mapping[int, Array], targets: Sequence[Array]) -> None:
        block = self._block(values, targets)
        self._run_block(block)
        _check(block)

    def _block(self, values: Mapping[int, Array], targets: Sequence[Array]) -> Words:
        """The block of a call with these arguments and results, which the caller keeps alive, and workers to run it."""
        if self.plan.parallel:
            pool().ensure_workers(self.plan.workers)
        block = self.plan.template.copy()
        first = CallBlock.BUFFERS // WORD
        for index, value in values.items():
            block[first + index] = address(value)
        for index, target in enumerate(targets, len(self._specs)):
            block[first + index] = address(target)
        return block

    def _run_block(self, block: Words) -> None:
        def run() -> None:
            driver().run(self.plan.address, address(block))

        if self.plan.get(PlanTable.NS) < self.plan.get(PlanTable.LONG_NS):
            block[CallBlock.BRIEF // WORD] = True
            run()
            if block[CallBlock.STATUS // WORD] != TOO_LONG:
                return
            block[CallBlock.BRIEF // WORD] = block[CallBlock.STATUS // WORD] = 0
        self._run_interruptibly(block, run)

    def _run_interruptibly(self, block: Words, run: Callable[[], None]) -> None:
        def stop() -> None:
            block[CallBlock.STATUS // WORD] = INTERRUPTED

        has_ended = False
        try:
            run_interruptibly(run, stop)
            has_ended = True
        finally:
            if not has_ended and self.program.processes > 1 and (engine := connected()) is not None:
                engine.settle()


def _check(block: Words) -> None:
    """Raise what a check of the run of a block has found."""
    message, value = (int(block[word // WORD]) for word in (CallBlock.STATUS, CallBlock.STATUS_VALUE))
    if message:
        report_check(message, value)


def report_check(message: int, value: int) -> None:
    """Raise the `OutOfBoundsError` of a failed check, whose text lies at the address `message`."""
    text = ctypes.string_at(message).decode()
    engine = connected()
    if engine is not None:
        why = engine.failure()
        engine.settle()
        if why is not None:
            raise DistributedError(why)
    raise OutOfBoundsError(f"{text}, got {value}")


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


FASTCALL = 0x80
WITH_KEYWORDS = 0x02
"""Flags of a method, `METH_FASTCALL` and `METH_KEYWORDS`."""


@once
def _methods() -> tuple[_MethodDef, _MethodDef]:
    return (
        _MethodDef(b"call", driver().call, FASTCALL | WITH_KEYWORDS, None),
        _MethodDef(b"call_exact", driver().call_exact, FASTCALL, None),
    )


def fast_calls(
    plan: RunPlan, slow_call: Callable[..., tuple[Array, ...]]
) -> tuple[Callable[..., tuple[Array, ...]], Callable[..., tuple[Array, ...] | None] | None]:
    """
    Built-in functions whose machine code checks arguments, allocates results and runs the plan.

    A Python function would spend about 1 µs per array on `ndarray.ctypes.data` and 0.3 µs on `np.empty`; these read
    the fields of tuples and arrays where CPython's and NumPy's binary interface has them. Where that is not so (which
    is tested, not assumed), the slow call serves every call. The second one returns None unless all arguments are
    arrays of the declared types, and is None where there is no machine code for it.
    """
    if not layout_is_known():
        return slow_call, None
    plan.set(PlanTable.SLOW_CALL, id(slow_call))
    plan.set(PlanTable.REPORT, id(report_check))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    call, exact = (new(ctypes.addressof(method), plan.table, None) for method in _methods())
    return call, exact


@cache
def layout_is_known() -> bool:
    """Whether tuples and arrays of this interpreter are laid out as the machine code reads them."""
    array = np.empty((3, 5), np.float32)
    items = (array, None)
    fixed = np.empty((3, 5), np.float32)
    fixed.flags.writeable = False

    def word(target: object, offset: int) -> int:
        return ctypes.c_int64.from_address(id(target) + offset).value

    def flags(target: object) -> int:
        return ctypes.c_int32.from_address(id(target) + NumpyArray.FLAGS).value & FLAGS_WRITABLE

    references = ctypes.c_int64.from_address(id(array) + PythonObject.REFERENCES)
    if references.value != sys.getrefcount(array) - 1:
        return False
    if word(array, PythonObject.TYPE) != id(np.ndarray) or word(items, PythonObject.TYPE) != id(tuple):
        return False
    if word(array, NumpyArray.DATA) != address(array) or word(array, NumpyArray.DTYPE) != id(array.dtype):
        return False
    shape = word(array, NumpyArray.SHAPE)
    return (
        word(items, PythonTuple.LENGTH) == 2
        and word(items, PythonTuple.ITEMS) == id(array)
        and word(items, PythonTuple.ITEMS + WORD) == id(None)
        and ctypes.c_int32.from_address(id(array) + NumpyArray.RANK).value == 2
        and [ctypes.c_int64.from_address(shape + WORD * axis).value for axis in range(2)] == [3, 5]
        and flags(array) == FLAGS_WRITABLE
        and flags(fixed) == FLAGS_READABLE
    )
