"""The nest of an op run as plain Python on NumPy's arrays, launch by launch, as its own oracle's neighbour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation, SSAValue

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import CallFunctionOp, FftOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument, Buffer, contiguous
from xdsl_rlx.lowering.kernel_dsl import Iteration
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.kernel_dsl.language import numpy_type
from xdsl_rlx.lowering.kernel_library.called import IteratedFunction
from xdsl_rlx.lowering.kernel_library.calls import called_function
from xdsl_rlx.lowering.kernel_library.fourier_calls import LibraryCall, fourier_calls
from xdsl_rlx.lowering.kernel_library.functions import functions
from xdsl_rlx.lowering.kernels import NEST
from xdsl_rlx.lowering.kernels.work import Work
from xdsl_rlx.lowering.target import COMMON


class _Arrays:
    """Where the values of an op are: arrays, narrow floats as f32."""

    threads = 2
    costs = COMMON

    def __init__(self, pieces: int):
        self.arrays: dict[SSAValue, np.ndarray[Any, Any]] = {}
        self._pieces = pieces

    def read(self, value: SSAValue, contiguous: bool = True) -> Buffer:
        return self._at(value)

    def write(self, value: SSAValue) -> Buffer:
        if value not in self.arrays:
            self.arrays[value] = _empty(shape_of(value), element_of(value))
        return self._at(value)

    def room(self, shape: Sequence[int], element: Attribute, like: SSAValue | None = None) -> Buffer:
        root = UnrealizedConversionCastOp.get([], [element]).results[0]
        self.arrays[root] = _empty(shape, element)
        return contiguous(root, shape, element)

    def constant(self, value: Any) -> Buffer:
        found = self.room(value.get_shape(), value.get_element_type())
        self.arrays[found.root][...] = np.reshape(list(value.get_values()), value.get_shape())
        return found

    def pieces(self, extent: int, work: int) -> int:
        return min(self._pieces, max(extent, 1))

    def _at(self, value: SSAValue) -> Buffer:
        return contiguous(value, shape_of(value), element_of(value))


def _empty(shape: Sequence[int], element: Attribute) -> np.ndarray[Any, Any]:
    dtype = numpy_type(element)
    narrow = dtype.kind not in "biufc" or dtype == np.float16
    return np.full(tuple(shape), 99, np.float32 if narrow else dtype)


@dataclass
class _PythonWork(Work):
    """Launches that are run where they are made."""

    functions: list[Callable[..., None]] = field(default_factory=list[Callable[..., None]])

    def over(
        self,
        extent: int,
        work: int,
        reads: Sequence[Argument],
        writes: Sequence[Argument],
        chunk: int | None = None,
        *,
        blas_threads: int = 1,
    ) -> Callable[[Callable[..., None]], None]:
        size = self._chunk(extent, work) if chunk is None else chunk
        windows = [self._window(x) for x in (*reads, *writes)]

        def run(function: Callable[..., None]) -> None:
            self.functions.append(function)
            for index in range(extent):
                function(Iteration(np.int64(index), np.int64(index // size)), *windows)

        return run

    def again(self, extent: int, reads: Sequence[Argument], writes: Sequence[Argument], back: int = 1) -> None:
        self.over(extent, 1, reads, writes, 1)(self.functions[-back])

    def launch(
        self,
        extent: int,
        work: int,
        reads: Sequence[Argument],
        writes: Sequence[Argument],
        emit: Callable[[Nest, SSAValue, SSAValue, Sequence[SSAValue]], None],
    ) -> None:
        """Run the functions of the library that a kernel calls."""
        super().launch(extent, work, reads, writes, emit)
        kernel = self.launches[-1].kernel
        arrays = dict(zip(kernel.body.block.args, map(self._window, (*reads, *writes)), strict=False))
        chunk = self._chunk(extent, work)
        for block in range(extent):
            for op in kernel.walk():
                if isinstance(op, FftOp):
                    for call in fourier_calls(op):
                        _call(op, call, arrays, block, block // chunk)
                elif isinstance(op, CallFunctionOp):
                    _call_function(op, arrays, block)

    def _window(self, x: Argument) -> np.ndarray[Any, Any]:
        arrays = self.buffers
        assert isinstance(arrays, _Arrays)
        flat = arrays.arrays[x.buffer.root].reshape(-1)
        if flat.dtype.kind == "c" and x.buffer.element not in COMPLEXES:
            flat = flat.view(flat.real.dtype)
        flat = flat[x.buffer.layout.offset :]
        if not prod(x.shape):
            return np.zeros(x.shape, flat.dtype)
        return np.lib.stride_tricks.as_strided(flat, x.shape, [n * flat.itemsize for n in x.strides])


def _call(op: FftOp, call: LibraryCall, arrays: dict[Any, np.ndarray[Any, Any]], block: int, piece: int) -> None:
    """Run a function of the library on the arrays that it is given the addresses of."""
    function = functions()[call.function]()
    given = [np.array(op.plan[call.word :])]
    for buffer, type_ in zip(call.buffers, list(function.buffers.values())[1:], strict=False):
        flat = (arrays[buffer][piece] if buffer in op.workspace else arrays[buffer]).reshape(-1)
        row = prod(type_.get_shape()[1:])
        given.append(flat[: flat.size // row * row].reshape(-1, *type_.get_shape()[1:]))
    if call.frames is not None:
        frames = arrays[call.frames.buffer].reshape(-1, call.frames.numbers)
        last, numbers = len(frames) - 1, range(block * op.width, (block + 1) * op.width)
        beyond = np.empty_like(frames[0])
        given += [frames[min(n, last)] if n <= last or call.frames.spare is None else beyond for n in numbers]
    for index in range(call.iterations):
        function.body(Iteration(np.int64(index)), *given, **function.options)


def _call_function(op: CallFunctionOp, arrays: dict[Any, np.ndarray[Any, Any]], block: int) -> None:
    """Run a function that is called with addresses of elements, in the iteration `block` of a kernel."""
    function = called_function(op)
    assert isinstance(function, IteratedFunction)
    given = [np.array(op.plan)]
    for (buffer, indices), type_ in zip(op.places, [*function.types.values()][1:], strict=True):
        at, flat = tuple(_index(x, block) for x in indices), arrays[buffer].reshape(-1)
        flat = flat[np.ravel_multi_index(at, arrays[buffer].shape) :]
        row = prod(type_.get_shape()[1:])
        given.append(flat[: flat.size // row * row].reshape(-1, *type_.get_shape()[1:]))
    for index in range(_index(op.low, block), _index(op.high, block)):
        function.body(Iteration(np.int64(index)), *given)


def _index(value: SSAValue, block: int) -> int:
    """The number that an index of a kernel has in an iteration."""
    if (known := constant_index(value)) is not None:
        return known
    owner = value.owner
    if isinstance(owner, arith.AddiOp):
        return _index(owner.lhs, block) + _index(owner.rhs, block)
    if isinstance(owner, arith.DivSIOp):
        return _index(owner.lhs, block) // _index(owner.rhs, block)
    return block


def nests_of(graph: rlx.Graph) -> list[Operation]:
    """The ops of a graph that have nests."""
    function = next(op for op in graph.module.walk() if isinstance(op, func.FuncOp))
    return [op for op in function.walk() if NEST.get(type(op)) is not None]


def run_as_python(graph: rlx.Graph, *inputs: np.ndarray[Any, Any], pieces: int = 2) -> list[np.ndarray[Any, Any]]:
    """
    The results of the last op with a nest, computed by the nest's functions as plain Python.

    `inputs` are those of the graph, in order; operands have to be some of them, or of other nests' results. Narrow
    floats are f32.
    """
    arrays = _Arrays(pieces)
    function = next(x for x in graph.module.walk() if isinstance(x, func.FuncOp))
    for argument, given in zip(function.body.block.args, inputs, strict=True):
        arrays.arrays[argument] = np.ascontiguousarray(given)
    results: list[np.ndarray[Any, Any]] = []
    for op in nests_of(graph):
        row = NEST.get(type(op))
        assert row is not None
        with np.errstate(all="ignore"):
            row(op, _PythonWork(arrays))
        results = [arrays.arrays[result] for result in op.results if result in arrays.arrays]
    return results
