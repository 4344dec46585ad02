"""Functions of trees of arrays in the autograd of PyTorch: what `rlx.to_torch` returns."""

# Objects of torch, which is not installed everywhere, and trees of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false, reportUntypedBaseClass=false

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from typing import Any
from weakref import ref

import numpy as np
import torch

from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.constants import NAMED
from xdsl_rlx.forks import at_fork
from xdsl_rlx.frontends.hosts.split_function import INPUT, SplitFunction
from xdsl_rlx.frontends.hosts.torch_memory import array_of
from xdsl_rlx.frontends.hosts.torch_windows import TENSORS, Windows, is_dense
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.linearization import ShapeDtypeStruct
from xdsl_rlx.static_keys import is_static_leaf, static_key
from xdsl_rlx.tracing import PLAIN, name_of
from xdsl_rlx.tree import Flatten, Structure, Tree, unflatten

_making = threading.RLock()
"""Held while a function is traced for a new signature."""
at_fork.hold(_making)


@dataclass(frozen=True)
class _Last:
    structure: Structure
    key: list[Any]
    is_enabled: bool
    wanted: list[int]
    program: SplitFunction


class TorchFunction:
    """A function of tensors, made by `to_torch`; it has one program for each signature, or two to differentiate."""

    def __init__(self, function: Callable[..., Tree], options: Mapping[str, Any]):
        update_wrapper(self, function, ("__module__", "__name__", "__qualname__", "__doc__"), ())
        self.__wrapped__ = function
        self.name = name_of(function)
        self._options = dict(options)
        self._flatten = Flatten()
        self._programs: dict[Hashable, SplitFunction] = {}
        self._last: _Last | None = None
        """What the last call ran, if its leaves were all tensors: the next one has mostly the same signature."""

    def __repr__(self) -> str:
        return f"<function {self.name} of tensors, for {len(self._programs)} signatures so far>"

    def __call__(self, /, *args: Tree, **kwargs: Tree) -> Tree:
        if torch.compiler.is_compiling():
            return _outside(self)(*args, **kwargs)
        leaves, structure = self._flatten((args, kwargs))
        is_enabled = torch.is_grad_enabled()
        # `is_dense`, without a call for each tensor
        strided = torch.strided
        key = [
            (x.dtype, x.shape, x.requires_grad)
            for x in leaves
            if type(x) in TENSORS and x.is_cpu and x.layout is strided
        ]
        last = self._last
        if (
            last is not None
            and last.structure is structure
            and last.key == key
            and last.is_enabled is is_enabled
            and len(key) == len(leaves)
        ):
            program, wanted, operands, are_dense = last.program, last.wanted, leaves, True
        else:
            arrays, signature, wanted = self._read(leaves)
            program = self._program(leaves, structure, arrays, signature, wanted)
            operands, are_dense = program.forward_operands(arrays), False
            # with other leaves than tensors, `key` does not say all
            self._last = _Last(structure, key, is_enabled, wanted, program) if len(key) == len(leaves) else None
        if not program.wanted:
            return _tree(program, _windows(program).forward(operands, are_dense))
        return _tree(program, _Call.apply(program, operands, are_dense, leaves, *[leaves[n] for n in wanted]))

    def compile(self, /, *args: Tree, **kwargs: Tree) -> None:
        """Compile the programs for arguments like these."""
        leaves, structure = self._flatten((args, kwargs))
        program = self._program(leaves, structure, *self._read(leaves))
        _ = program.forward, program.backward if program.wanted else None

    def split(self, leaves: Sequence[Any], spec: Any, wanted: Sequence[int]) -> SplitFunction:
        """The programs for leaves, with a `ShapeDtypeStruct` for each array, of `(args, kwargs)`."""
        return SplitFunction(self.__wrapped__, leaves, spec, wanted, self._options)

    def _read(self, leaves: Sequence[Any]) -> tuple[list[Any], list[Any], list[int]]:
        """The arrays of leaves, other leaves as they are; a key of them, and the leaves that need gradients."""
        arrays: list[Any] = []
        key: list[Any] = []
        wanted: list[int] = []
        is_enabled = torch.is_grad_enabled()
        for n, x in enumerate(leaves):
            if isinstance(x, torch.Tensor):
                if is_enabled and x.requires_grad:
                    wanted.append(n)
                array = self._array(x, n)
            elif type(x) in PLAIN:
                arrays.append(np.asarray(x, NAMED[PLAIN[type(x)]]))
                key.append(type(x))
                continue
            elif is_static_leaf(x):
                arrays.append(x)
                key.append(static_key(x, f"{self.name}: argument leaf {n}"))
                continue
            elif (array := read_array(x)) is None:
                raise FrontendError(f"{self.name}: argument leaf {n} is {shown(x)}; expected a tensor, array or number")
            arrays.append(array)
            key.append((array.dtype, array.shape))
        return arrays, key, wanted

    def _array(self, x: Any, n: int) -> np.ndarray[Any, Any]:
        try:
            return array_of(x)
        except (TypeError, RuntimeError) as error:
            cure = "call .cpu() first" if x.device.type != "cpu" else "pass a dense tensor of a type that NumPy has"
            raise FrontendError(
                f"{self.name}: argument leaf {n} is a tensor on device {x.device}, of {x.dtype}, {x.layout}, which "
                f"cannot be read ({error}); {cure}"
            ) from error

    def _program(
        self, leaves: Sequence[Any], structure: Structure, arrays: Sequence[Any], key: Sequence[Any], wanted: list[int]
    ) -> SplitFunction:
        """The program for a signature, made if it is not there."""
        whole = structure, tuple(key), tuple(wanted)
        if (found := self._programs.get(whole)) is None:
            with _making:
                if (found := self._programs.get(whole)) is None:
                    structs = [
                        leaf if type(leaf) in PLAIN or is_static_leaf(leaf) else ShapeDtypeStruct(x.shape, x.dtype)
                        for leaf, x in zip(leaves, arrays, strict=True)
                    ]
                    found = self.split(structs, structure.spec, wanted)
                    self._programs[whole] = found
        return found


def _outside(function: TorchFunction) -> Callable[..., Tree]:
    """The function as a graph break of `torch.compile`."""
    return torch.compiler.disable(function.__call__)


class _Windows:
    """Both programs of a function on tensors."""

    def __init__(self, program: SplitFunction):
        self._program = program
        self.forward = Windows(program.forward)

    @cached_property
    def backward(self) -> Windows:
        """The program of the gradients, compiled when it is first needed."""
        return Windows(self._program.backward)


def _windows(program: SplitFunction) -> _Windows:
    found = program.on_tensors
    if found is None:
        found = program.on_tensors = _Windows(program)
    return found


def _tree(program: SplitFunction, tensors: Sequence[Any]) -> Tree:
    made = program.made
    if made.results.is_leaf() and not made.fixed:
        return tensors[0]
    return unflatten(made.results, made.with_fixed(tensors))


class _Call(torch.autograd.Function):
    """The forward program, then the backward program."""

    @staticmethod
    def forward(
        ctx: Any, program: SplitFunction, operands: Any, are_dense: bool, leaves: Any, *wanted: Any
    ) -> tuple[Any, ...]:
        found = _windows(program).forward(operands, are_dense)
        saved: list[Any] = []
        read: dict[int, Any] = {}
        others = dict(zip(program.wanted, wanted, strict=True))
        for source, n in program.halves.residuals:
            if source != INPUT:
                saved.append(found[n])
            elif isinstance(x := leaves[leaf := program.operands[n]], torch.Tensor):
                saved.append(x)
                others.pop(leaf, None)
            else:
                # an array or a number, which PyTorch does not save
                read[len(saved)] = operands[n]
                saved.append(None)
        ctx.save_for_backward(*saved)
        ctx.more = program, read, [ref(x) for x in others.values()]
        ctx.set_materialize_grads(False)
        return tuple(found) if len(found) == program.count else tuple(found[: program.count])

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        program, read, others = ctx.more
        saved = ctx.saved_tensors
        residuals = [read.get(n, x) for n, x in enumerate(saved)] if read else saved
        given = [cotangents[n] for n in program.floats]
        weights = [zeros if x is None else x for x, zeros in zip(given, program.zeros, strict=True)]
        are_dense = not read and all(map(is_dense, weights))
        gradients = _windows(program).backward(program.backward_operands(residuals, weights), are_dense)
        if torch.is_grad_enabled():
            tensors = [*saved, *(one() for one in others), *given]
            tensors = [x for x in tensors if x is not None and x.requires_grad]
            gradients = _Once.apply(program.made.graph.name, len(gradients), *gradients, *tensors)
        return (None, None, None, None, *gradients)


class _Once(torch.autograd.Function):
    """Gradients that cannot be differentiated: an error that says so if they are."""

    @staticmethod
    def forward(ctx: Any, name: str, count: int, *tensors: Any) -> tuple[Any, ...]:
        ctx.name = name
        return tuple(x.view_as(x) for x in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        raise FrontendError(second_derivative(ctx.name))


def second_derivative(name: str) -> str:
    """Return the message of the error of a gradient that is differentiated."""
    return (
        f"to_torch: the gradient of '{name}' cannot be differentiated by PyTorch; differentiate the function before it "
        f"is converted, as in rlx.to_torch(rlx.grad({name})), whose result has a gradient"
    )
