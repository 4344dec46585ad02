"""Kernels written once more inside of another: their loops over parts of its buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.dialects.lir.bounds import constant_index, reaches
from xdsl_rlx.dialects.lir.kernel import OUTLINE, UNROLL
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import INDEX, Nest


def can_be_inlined(kernel: KernelOp) -> bool:
    """Whether a kernel touches its buffers by loads and stores only."""
    buffers = {*kernel.body.block.args[:-2]}
    others = (op for op in kernel.walk() if not isinstance(op, memref.LoadOp | memref.StoreOp))
    return not any(reaches(op) or any(x in buffers for x in op.operands) for op in others)


@dataclass(frozen=True)
class BufferWindow:
    """A buffer of an inlined kernel: elements of a line from `offset` on, with strides of their own."""

    line: SSAValue
    offset: SSAValue | None
    strides: tuple[int, ...]


def inline(kernel: KernelOp, nest: Nest, windows: Sequence[BufferWindow], extent: int) -> None:
    """Write a kernel once more at the end of a nest, over these windows, for all iterations up to `extent`."""
    *buffers, low, high = kernel.body.block.args
    env: dict[SSAValue, SSAValue] = {low: nest.kernel.index(0), high: nest.kernel.index(extent)}
    copy = _Copy(dict(zip(buffers, windows, strict=True)))
    copy.ops(list(kernel.body.block.ops)[:-1], nest, env)


@dataclass(frozen=True)
class _Copy:
    """Copies ops of a kernel; `env` has what there is for its values here."""

    buffers: Mapping[SSAValue, BufferWindow]

    def ops(self, ops: Sequence[Operation], nest: Nest, env: dict[SSAValue, SSAValue]) -> None:
        for op in ops:
            number = constant_index(op.result) if isinstance(op, arith.ConstantOp) else None
            if number is not None and op.results[0].type == INDEX:
                env[op.results[0]] = nest.kernel.index(number)
            elif isinstance(op, memref.AllocaOp):
                env[op.memref] = nest.kernel.scratch(
                    memref_of(op.memref), op.memref.name_hint, OUTLINE in op.attributes
                )
            elif isinstance(op, memref.LoadOp) and op.memref in self.buffers:
                line, index = self._element(nest, op.memref, [env[x] for x in op.indices])
                load = nest.builder.insert(memref.LoadOp.get(line, [index]))
                load.res.name_hint = op.res.name_hint
                env[op.res] = load.res
            elif isinstance(op, memref.StoreOp) and op.memref in self.buffers:
                line, index = self._element(nest, op.memref, [env[x] for x in op.indices])
                nest.builder.insert(memref.StoreOp.get(env.get(op.value, op.value), line, [index]))
            elif (
                isinstance(op, scf.ForOp)
                and not op.iter_args
                and _runs_once(*(env.get(x, x) for x in (op.lb, op.ub, op.step)))
            ):
                env[op.body.block.args[0]] = env[op.lb]
                self.ops(list(op.body.block.ops)[:-1], nest, env)
            else:
                self._other(op, nest, env)

    def _other(self, op: Operation, nest: Nest, env: dict[SSAValue, SSAValue]) -> None:
        """Any op but those that are about buffers; what it holds is copied in the same way."""
        copy = op.clone_without_regions(env)
        copy.attributes.pop(UNROLL, None)
        for region, found in zip(op.regions, copy.regions, strict=True):
            for block in region.blocks:
                inner = Block(arg_types=block.arg_types)
                for old, new in zip(block.args, inner.args, strict=True):
                    new.name_hint = old.name_hint
                    env[old] = new
                found.add_block(inner)
                self.ops(list(block.ops), Nest(inner, nest.kernel), env)
        nest.builder.insert(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            new.name_hint = old.name_hint
            env[old] = new

    def _element(self, nest: Nest, buffer: SSAValue, indices: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
        """Where an element of a kernel's buffer lies: a line, and the number in it."""
        window, s = self.buffers[buffer], nest.scalars
        total: Scalar | None = None
        for index, stride in zip(indices, window.strides, strict=True):
            if stride and constant_index(index) != 0:
                term = s.of(index) if stride == 1 else s.of(index) * s.of(nest.kernel.index(stride))
                total = term if total is None else total + term
        if window.offset is not None:
            offset = s.of(window.offset)
            total = offset if total is None else offset + total
        return window.line, nest.kernel.index(0) if total is None else total.value


def _runs_once(lower: SSAValue, upper: SSAValue, by: SSAValue) -> bool:
    low, high, step = (constant_index(value) for value in (lower, upper, by))
    return low is not None and high is not None and bool(step) and low < high <= low + step
