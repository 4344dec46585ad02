"""`rlx.to_torch(f, custom_op=..)`: a function as an operator of PyTorch, with rules for shapes and gradients."""

# Objects of torch, which is not installed everywhere, and trees of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np
import torch
from torch import library
from torch.utils import _pytree

from xdsl_rlx.builder import GraphModule
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.constants import NAMED
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.hosts.split_function import INPUT, SplitFunction
from xdsl_rlx.frontends.hosts.torch_function import TorchFunction, second_derivative
from xdsl_rlx.frontends.hosts.torch_memory import array_of, tensor_of
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.linearization import ShapeDtypeStruct
from xdsl_rlx.tracing import builder_of, type_of
from xdsl_rlx.tree import Tree, flatten, unflatten


class Operator:
    """
    A function as two operators of PyTorch.

    `ns::name(tensors.., needs_grad)` returns the results, then residuals. `needs_grad` has a boolean for each tensor.
    `ns::name_backward(residuals, cotangents, signature)` returns the gradients. The signature is a text, so that a
    graph with these operators can be stored.
    """

    def __init__(self, function: TorchFunction, name: str, args: tuple[Tree, ...], kwargs: Mapping[str, Tree]):
        self._function = function
        given, self._given = _pytree.tree_flatten((args, dict(kwargs)))
        order, self._spec = flatten(_pytree.tree_unflatten(list(range(len(given))), self._given))
        self._leaves = [given[n] for n in order]
        self._tensors = [n for n, leaf in enumerate(self._leaves) if isinstance(leaf, torch.Tensor | np.ndarray)]
        if not self._tensors:
            raise FrontendError("to_torch: custom_op: expected a tensor or an array in the example, got none")
        self._places = [order[n] for n in self._tensors]
        self._fixed = {n: x for n, x in enumerate(given) if n not in self._places}
        self._programs: dict[str, SplitFunction] = {}
        self._define(name)
        example = [self._leaves[n] for n in self._tensors]
        program = self.program(_signature(example, [False] * len(example)))
        made = program.made
        # PyTorch's opcheck adds up the outputs, and cannot begin with integers
        self._order = sorted(range(made.count), key=lambda n: n not in program.floats)
        """The number of the result that each output of the operator is; the residuals follow."""
        self._place = {n: place for place, n in enumerate(self._order)}
        numbers = [_Number(self._place[n]) for n in range(made.count)]
        self._results, self._tree = _pytree.tree_flatten(unflatten(made.results, made.with_fixed(numbers)))

    def _define(self, name: str) -> None:
        arguments = ", ".join(f"Tensor x{n}" for n in range(len(self._tensors)))
        self._op = library.custom_op(
            name, self._forward, mutates_args=(), schema=f"({arguments}, bool[] needs_grad) -> Tensor[]"
        )
        self._op.register_fake(self._forward_shapes)
        self._backward_op = library.custom_op(
            f"{name}_backward",
            self._backward,
            mutates_args=(),
            schema="(Tensor[] residuals, Tensor[] cotangents, str signature) -> Tensor[]",
        )
        self._backward_op.register_fake(self._backward_shapes)
        self._op.register_autograd(self._gradients, setup_context=self._save)
        self._backward_op.register_autograd(self._refuse)
        # graphs of the backend xdsl_rlx have the function itself
        namespace, stem = name.split("::")
        ROWS.add(f"{stem}.default", composite=True, namespace=namespace)(self._built)
        ROWS.add(f"{stem}_backward.default", composite=True, namespace=namespace)(self._built_backward)

    def _built(self, call: Call, *args: Any) -> list[Any]:
        """The row of the operator."""
        *tensors, wanted = args
        program = self.program(_signature(tensors, wanted))
        by_leaf = dict(zip(self._tensors, tensors, strict=True))
        operands = [by_leaf.get(n, self._leaves[n]) for n in program.operands]
        if program.wanted:
            return self._ordered(_inlined(program.halves.forward, operands, program.halves.held))
        return self._ordered(_inlined(program.made.graph, operands, program.made.held))

    def _built_backward(
        self, call: Call, residuals: Sequence[Any], cotangents: Sequence[Any], signature: str
    ) -> list[Any]:
        """The row of the gradient."""
        program = self.program(signature)
        operands = program.backward_operands(self._kept(program, residuals), cotangents)
        return list(_inlined(program.halves.backward, operands, program.halves.held))

    def program(self, signature: str) -> SplitFunction:
        """The programs for a signature, made if they are not there."""
        if (found := self._programs.get(signature)) is None:
            types, wanted = json.loads(signature)
            leaves = list(self._leaves)
            for n, (dtype, *shape) in zip(self._tensors, types, strict=True):
                leaves[n] = ShapeDtypeStruct(shape, dtype)
            chosen = [n for n, is_wanted in zip(self._tensors, wanted, strict=True) if is_wanted]
            found = self._function.split(leaves, self._spec, chosen)
            self._programs[signature] = found
        return found

    def _forward(self, *args: Any) -> list[Any]:
        *tensors, wanted = args
        program = self.program(_signature(tensors, wanted))
        arrays = dict(zip(self._tensors, map(array_of, tensors), strict=True))
        operands = program.forward_operands([arrays.get(n, leaf) for n, leaf in enumerate(self._leaves)])
        return self._ordered(list(map(tensor_of, program.forward(*operands))))

    def _ordered(self, outputs: Sequence[Any]) -> list[Any]:
        return [*(outputs[n] for n in self._order), *outputs[len(self._order) :]]

    def _forward_shapes(self, *args: Any) -> list[Any]:
        *tensors, wanted = args
        program = self.program(_signature(tensors, wanted))
        return self._ordered([_empty(*one) for one in (*program.types, *program.saved_types)])

    def _backward(self, residuals: Sequence[Any], cotangents: Sequence[Any], signature: str) -> list[Any]:
        program = self.program(signature)
        residuals, cotangents = list(map(array_of, residuals)), list(map(array_of, cotangents))
        operands = program.backward_operands(self._kept(program, residuals), cotangents)
        return list(map(tensor_of, program.backward(*operands)))

    def _kept(self, program: SplitFunction, residuals: Sequence[Any]) -> list[Any]:
        """All residuals: those that are numbers of the example are not among the tensors."""
        read = iter(residuals)
        return [
            self._leaves[program.operands[n]]
            if source == INPUT and program.operands[n] not in self._tensors
            else next(read)
            for source, n in program.halves.residuals
        ]

    def _backward_shapes(self, residuals: Sequence[Any], cotangents: Sequence[Any], signature: str) -> list[Any]:
        types, wanted = json.loads(signature)
        chosen = [one for one, is_wanted in zip(types, wanted, strict=True) if is_wanted]
        return [torch.empty(shape, dtype=getattr(torch, dtype)) for dtype, *shape in chosen]

    def _save(self, ctx: Any, inputs: tuple[Any, ...], output: Sequence[Any]) -> None:
        *tensors, wanted = inputs
        ctx.signature = _signature(tensors, wanted)
        ctx.set_materialize_grads(False)
        program = self.program(ctx.signature)
        by_leaf = dict(zip(self._tensors, tensors, strict=True))
        saved: list[Any] = []
        for source, n in program.halves.residuals if program.wanted else ():
            if source != INPUT:
                saved.append(output[self._place.get(n, n)])
            elif (leaf := program.operands[n]) in by_leaf:
                saved.append(by_leaf[leaf])
        ctx.save_for_backward(*saved)

    def _gradients(self, ctx: Any, cotangents: Sequence[Any]) -> tuple[Any, ...]:
        program = self.program(ctx.signature)
        _, wanted = json.loads(ctx.signature)
        needed = [n for n, is_needed in enumerate(ctx.needs_input_grad[: len(wanted)]) if is_needed]
        if missing := [n for n in needed if not wanted[n]]:
            raise FrontendError(
                f"to_torch: tensor {missing[0]} of '{self._function.name}' needs a gradient, but its entry of "
                "needs_grad is False; call the function that rlx.to_torch returned, which fills it in"
            )
        given = [cotangents[self._place[n]] for n in program.floats]
        whole = [
            torch.zeros_like(_empty(*program.types[n])) if x is None else x
            for n, x in zip(program.floats, given, strict=True)
        ]
        found = iter(self._backward_op(list(ctx.saved_tensors), whole, ctx.signature) if program.wanted else ())
        return (*(next(found, None) if is_wanted else None for is_wanted in wanted), None)

    def _refuse(self, ctx: Any, *cotangents: Any) -> Any:
        raise FrontendError(second_derivative(self._function.name))

    def call(self) -> Callable[..., Tree]:
        """Return the function of trees; `torch.compile` looks into it, and finds the operator."""
        op, places, expected, fixed, results, tree = (
            *(self._op, self._places, self._given, self._fixed),
            *(self._results, self._tree),
        )
        name = self._function.name

        def call(*args: Tree, **kwargs: Tree) -> Tree:
            leaves, spec = _pytree.tree_flatten((args, kwargs))
            if spec != expected or any(leaves[n] != x for n, x in fixed.items()):
                raise FrontendError(
                    f"{name}: expected arguments as in the example of to_torch, with tensors of any shape, got {spec}"
                )
            tensors = [leaves[n] for n in places]
            is_enabled = torch.is_grad_enabled()
            found = op(*tensors, [is_enabled and x.requires_grad for x in tensors])
            return _pytree.tree_unflatten([found[n] if isinstance(n, _Number) else n for n in results], tree)

        update_wrapper(call, self._function, ("__module__", "__name__", "__qualname__", "__doc__"), ())
        return call


class _Number(int):
    """The number of a tensor among the results."""


def _signature(tensors: Sequence[Any], wanted: Sequence[bool]) -> str:
    """The element type and the shape of each tensor, and whether it needs a gradient."""
    types = [(_dtype_name(x), *map(int, x.shape)) for x in tensors]
    return json.dumps([types, list(map(bool, wanted))])


def _dtype_name(x: Any) -> str:
    """The name of an element type, which PyTorch and NumPy share."""
    if isinstance(x, torch.Tensor):
        return str(x.dtype).removeprefix("torch.")
    return np.dtype(NAMED[type_of(x, "a tensor")[0]]).name


def _inlined(graph: GraphModule, operands: Sequence[Any], held: Mapping[str, Any]) -> Sequence[Any]:
    """The results of a graph, built into the graph that is being traced."""
    builder: Any = builder_of(operands)
    rest = iter(operands)
    found: list[Any] = []
    for one in graph.interface.arguments:
        x = held[one.name] if one.name in held else next(rest)
        found.append(x if isinstance(x, Value) else builder.constant(x, element_of(one.value)))
    return builder.inline(graph, *found)


def _empty(shape: Sequence[int], dtype: Any) -> Any:
    return torch.empty(tuple(shape), dtype=getattr(torch, np.dtype(dtype).name))


def registered(function: Any, name: str, args: tuple[Tree, ...], kwargs: Mapping[str, Tree]) -> Callable[..., Tree]:
    """Register `ns::name`, for a `TorchFunction`, and its gradient; return the function of trees that calls it."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", name):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise FrontendError(f"to_torch: custom_op: expected a name such as 'mylib::step', got {shown(name)}")
    if ROWS.get(f"{name.replace('::', '.')}.default") is not None:
        raise FrontendError(f"to_torch: custom_op: the operator {name!r} is registered already; choose another name")
    if not args and not kwargs:
        raise FrontendError(
            f"to_torch: custom_op={name!r} needs an example, from which the operator has its number of tensors: "
            f"rlx.to_torch(f, *example, custom_op={name!r})"
        )
    return Operator(function, name, args, kwargs).call()
