"""The pass `convert-mir-to-stablehlo`, the target `stablehlo`, and `rlx.to_stablehlo`."""

# Trees are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from typing import IO, Any, Literal, TypeAlias, overload

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.target import Target

from xdsl_rlx.binding import parameters_of
from xdsl_rlx.builder import AnyGraph, Graph, GraphModule, as_graph_module
from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.stablehlo import write_table
from xdsl_rlx.frontends.stablehlo.writer import Writer
from xdsl_rlx.passes import above_lir, apply_passes
from xdsl_rlx.tracing import name_of, traced
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.mir_emit_vjp import MirEmitVjpPass
from xdsl_rlx.transforms.mir_inline_custom_fn import MirInlineCustomFnPass
from xdsl_rlx.transforms.signature import graph_of
from xdsl_rlx.tree import Tree

Held: TypeAlias = Mapping[str, np.ndarray[Any, Any]]

FAMILIES = write_table.FAMILIES
"""The files of rows, which the writer needs."""

PREPARE = (ConvertHirToMirPass(), MirEmitVjpPass(), MirInlineCustomFnPass())
"""Blocks, derivatives and functions with rules become the ops that they mean."""


@dataclass(frozen=True)
class ConvertMirToStablehloPass(ModulePass):
    """
    Replace the function of a `mir` or `hir` module by one of StableHLO operations, `@main`.

    ```
    %y = mir.add %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // becomes
    %0 = "stablehlo.broadcast_in_dim"(%b) {"broadcast_dimensions" = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x3xf32>
    %y = "stablehlo.add"(%x, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    ```

    Composite ops become their definitions, scans and branches StableHLO's `while`, `if` and `case`. Functions that
    StableHLO lacks, such as `erf`, are operations of CHLO. Arguments stay as they are, params included.
    """

    name = "convert-mir-to-stablehlo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in PREPARE:
            one.apply(ctx, op)
        graph = graph_of(op, self.name)
        written = written_module(op, {})
        old = graph.func
        op.body.block.insert_op_before(written.body.block.first_op.clone(), old)  # pyright: ignore
        old.detach()
        old.erase()


def written_module(module: ModuleOp, held: Held) -> ModuleOp:
    """A StableHLO module of a prepared function; params with a value are constants of it."""
    graph = graph_of(module, "to_stablehlo")
    func = graph.func
    block = Block()
    writer = Writer(block, {})
    for one in graph.arguments:
        if one.name in held:
            value = constants.from_array(held[one.name], element_of(one.value))
            writer.set(one.value, writer.dense(value))
        else:
            arg = block.insert_arg(one.value.type, len(block.args))
            arg.name_hint = one.value.name_hint
            writer.set(one.value, arg)
    results: list[SSAValue] = []
    for op in func.body.block.ops:
        if isinstance(op, ReturnOp):
            results = [writer[x] for x in op.operands]
        else:
            writer.write(op)
    writer.builder.insert(ReturnOp(*results))
    types = [x.type for x in block.args], [x.type for x in results]
    return ModuleOp([FuncOp("main", types, Region(block))])


@dataclass(frozen=True)
class StablehloTarget(Target):
    """
    Print a `mir` or `hir` module as StableHLO text, in MLIR's generic form, which JAX and XLA read.

    A module that holds StableHLO operations already is printed as it is.
    """

    name = "stablehlo"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        module = module.clone()
        if any(op.dialect_name() in ("hir", "mir") for op in module.walk()):
            ConvertMirToStablehloPass().apply(ctx, module)
        output.write(text_of(module))


def text_of(module: ModuleOp) -> str:
    """A module in MLIR's generic form."""
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return f"{stream.getvalue()}\n"


@overload
def to_stablehlo(
    graph: AnyGraph | Callable[..., Tree], /, *example: Tree, portable: Literal[False] = False, **kwargs: Tree
) -> str: ...
@overload
def to_stablehlo(
    graph: AnyGraph | Callable[..., Tree], /, *example: Tree, portable: Literal[True], **kwargs: Tree
) -> bytes: ...
def to_stablehlo(
    graph: AnyGraph | Callable[..., Tree], /, *example: Tree, portable: bool = False, **kwargs: Tree
) -> str | bytes:
    """
    Return a graph, or a function of trees of arrays, as a StableHLO module, whose function is `@main`.

    The arguments of `@main` are those of the graph, or the leaves of `example` and `kwargs` in order, and its results
    are the leaves of the results. Values of the example do not matter. Arrays that the function captures are constants
    of the module. By default the module is text in MLIR's generic form. With `portable=True` it is a portable artifact
    in bytes, which later versions of StableHLO read; that needs JAX.

    ```python
    text = rlx.to_stablehlo(rlx.grad(loss), params, x)
    ```

    Raises GraphError for an op that StableHLO has no operation for, with the reason, and FrontendError if JAX is not
    installed where it is needed.
    """
    if isinstance(graph, Graph | GraphModule | ModuleOp):
        if example or kwargs:
            raise FrontendError(f"to_stablehlo: a graph takes no example, got {len(example) + len(kwargs)}; omit it")
        text = stablehlo_text(as_graph_module(graph), {})
    elif callable(graph):
        text = _of_function(graph, example, kwargs)
    else:
        raise FrontendError(f"to_stablehlo: expected a graph or a function of trees of arrays, got {shown(graph)}")
    return import_module("xdsl_rlx.frontends.hosts.jax_private").portable(text) if portable else text


def _of_function(function: Callable[..., Tree], args: tuple[Tree, ...], kwargs: Mapping[str, Tree]) -> str:
    inner = function.__wrapped__ if isinstance(function, CompiledFunction) else function
    parameters = parameters_of(inner)
    made = traced(parameters, parameters.bind(args, dict(kwargs)), name_of(function), hold=True, modes=())
    if made.captured:
        raise GraphError(f"'{made.graph.name}' uses a traced value of an enclosing function; pass it as an argument")
    return stablehlo_text(made.graph, made.held)


def stablehlo_text(graph: GraphModule, held: Held) -> str:
    """A graph as StableHLO text; params with a value in `held` are constants of it."""
    source = above_lir(graph, "to_stablehlo")
    try:
        prepared = apply_passes(source.module, PREPARE)
        return text_of(written_module(prepared, held))
    except PassFailedException as error:
        raise GraphError(str(error)) from error


def types_of(graph: GraphModule) -> list[tuple[tuple[int, ...], Any]]:
    """Shapes and element types of the results of a graph."""
    return [(shape_of(one), element_of(one)) for one in graph.interface.outputs]
