"""Graphs copied into graphs, of which the ops are copied when somebody looks: until then one op stands for them.
So passes that are known to succeed (`pass_cache.py`) do not run for a program that the cache on disk has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import LocationAttr, ModuleOp, NameLoc, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, var_operand_def, var_result_def

if TYPE_CHECKING:
    from xdsl_rlx.builder import GraphModule


@irdl_op_definition
class InlinedOp(IRDLOperation):
    """The ops of a graph, on these operands. It is never seen outside of a graph under construction."""

    name = "mir.inlined"

    arguments = var_operand_def()
    outputs = var_result_def()
    graph = prop_def(StringAttr)
    """The fingerprint."""

    def __init__(
        self, source: GraphModule, arguments: Sequence[SSAValue], outputs: Sequence[Attribute], parts: Sequence[str]
    ):
        """`parts` are the names of the parts that it is in."""
        # that of xDSL's ops, which sorts operands, asks a list whether it is an op: milliseconds at first
        Operation.__init__(
            self, operands=arguments, result_types=outputs, properties={"graph": StringAttr(source.fingerprint)}
        )
        self.source, self.parts = source, tuple(parts)

    def copy_into(self, block: Block, env: dict[SSAValue, SSAValue]) -> None:
        """Copy the ops to the end of a block, where `env` has what there is for values of the graph around this op."""
        signature = self.source.signature
        own: dict[SSAValue, SSAValue] = {
            argument.value: env[operand] for argument, operand in zip(signature.arguments, self.arguments, strict=True)
        }
        copy_ops(signature.block, own, block.add_op, self.parts)
        env |= {result: own[output] for result, output in zip(self.results, signature.outputs, strict=True)}


def copy_ops(
    source: Block, env: dict[SSAValue, SSAValue], insert: Callable[[Operation], object], parts: Sequence[str]
) -> None:
    """Copy the ops of a function but its end, located in the parts of these names."""
    for op in source.ops:
        if not isinstance(op, ReturnOp):
            copy = op.clone(env)
            insert(copy)
            for inner in copy.walk() if parts else ():
                inner.location = placed(inner.location, parts)


def placed(location: LocationAttr, parts: Sequence[str]) -> LocationAttr:
    """A location in parts that are named, the outermost first."""
    for name in reversed(parts):
        location = NameLoc(StringAttr(name), location)
    return location


def expanded(function: FuncOp, env: dict[SSAValue, SSAValue] | None = None) -> ModuleOp:
    """
    A module with a copy of a function in which all ops are what they stand for.

    `env` gets what there is in the copy for each value of the function.
    """
    block = Block(arg_types=function.body.block.arg_types)
    env = {} if env is None else env
    env.update(zip(function.args, block.args, strict=True))
    for old, new in zip(function.args, block.args, strict=True):
        new.name_hint = old.name_hint
    for op in function.body.block.ops:
        if isinstance(op, InlinedOp):
            op.copy_into(block, env)
        else:
            block.add_op(op.clone(env))
    copy = FuncOp(
        function.sym_name.data,
        function.function_type,
        Region(block),
        arg_attrs=function.arg_attrs,
        res_attrs=function.res_attrs,
    )
    copy.location = function.location
    return ModuleOp([copy])


@dataclass(frozen=True)
class Unexpanded:
    """A module in which ops stand for graphs, and how the one without them is made."""

    run: Callable[[], ModuleOp]
    stands_for: ModuleOp
