"""The pass `convert-mir-to-stablehlo`, and the target `-t stablehlo`; the rows are in `write_table.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from typing import IO, Any, TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.printer import Printer
from xdsl.utils.target import Target

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.frontends.stablehlo import write_table
from xdsl_rlx.frontends.stablehlo.tidy import tidy
from xdsl_rlx.frontends.stablehlo.write_idioms import ForgetSlopesPass
from xdsl_rlx.frontends.stablehlo.writer import Writer, definition_of
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.engines.define import define
from xdsl_rlx.transforms.mir_canonicalize import MirCanonicalizePass
from xdsl_rlx.transforms.mir_cse import MirCsePass
from xdsl_rlx.transforms.mir_emit_vjp import MirEmitVjpPass
from xdsl_rlx.transforms.mir_fold_int_ranges import MirFoldIntRangesPass
from xdsl_rlx.transforms.mir_inline_custom_fn import MirInlineCustomFnPass
from xdsl_rlx.transforms.signature import graph_of

Held: TypeAlias = Mapping[str, np.ndarray[Any, Any]]

FAMILIES = write_table.FAMILIES
"""The files of rows, which the writer needs."""


class _Define(RewritePattern):
    """Ops without a row of the writer become their definitions."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if (rule := definition_of(op)) is not None:
            rewriter.replace(op, [], [value.ssa for value in define(op, MirBuilder(rewriter), rule)])


class _DefinePass(RewritingPass):
    """Replace ops that StableHLO has no operation for by their definitions."""

    name = "mir-define-for-stablehlo"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, _Define())


PREPARE = (
    ConvertHirToMirPass(),
    MirEmitVjpPass(),
    MirInlineCustomFnPass(),
    _DefinePass(),
    ForgetSlopesPass(),
    MirFoldIntRangesPass(),
    MirCanonicalizePass(),
    MirCsePass(),
)
"""Blocks, derivatives, functions with rules and composites become the ops that they mean, simplified."""


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
    made = ModuleOp([FuncOp("main", types, Region(block))])
    tidy(made)
    return made


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
