"""Building loop nests: a kernel under construction, its loops, loads and stores.
Which loops are built is not known here."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.lir import KernelOp, ReturnOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.kernel import LANES, NO_UNROLL, OUTLINE
from xdsl_rlx.dialects.lir.memory import AnyMemRef, byte_size, memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.shapes import compute_type

INDEX = IndexType()

KeyT = TypeVar("KeyT")
"""What names a value that a loop carries."""


def stem_of(words: Iterable[str]) -> str:
    """Words on what a kernel does, as its name has them: each once, and not many."""
    found = list(dict.fromkeys(words))
    return "_".join(found if len(found) <= 4 else [*found[:2], "etc", found[-1]])


def end_block(block: Block, values: Sequence[SSAValue] = ()) -> None:
    """End the body of a loop or branch. Ops of which there are thousands are not made by constructors, which convert
    each argument by its definition and take three times as long."""
    block.add_op(scf.YieldOp.create(operands=values))


def _renew(carried: dict[KeyT, SSAValue], before: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
    """Replace what a loop carries; each value has the name of that in front of the loop."""
    for key, old, new in zip(carried, before, values, strict=True):
        new.name_hint = old.name_hint
        carried[key] = new


class Nest:
    """A place inside a kernel where ops are inserted: the kernel's body, or the body of one of its loops."""

    def __init__(self, block: Block, kernel: Kernel):
        self.block = block
        self.kernel = kernel
        self.builder = Builder(InsertPoint.at_end(block))
        self.scalars = ScalarBuilder(self.builder)

    def over(
        self,
        bounds: tuple[SSAValue, SSAValue],
        name: str,
        carried: dict[KeyT, SSAValue] | None = None,
        *,
        step: int = 1,
        rolled: bool = False,
        lanes: bool = False,
        outlined: bool = False,
    ) -> Iterator[tuple[Nest, SSAValue]]:
        """
        A loop, written as the statement `for inside, i in nest.over(bounds, name): ...`, whose body Python runs once.

        The body inserts the ops of an iteration at `inside`, and replaces what the loop carries in the dict `carried`.
        Behind it, this has the results of the loop. A loop that runs once is its body, here.

        `rolled`: a short loop over neighbours in memory that is to be vectorised, not unrolled; `lanes`: one that is
        unrolled as vectors; `outlined`: one that carries nothing and becomes a function, which equal loops share.
        """
        first, end = map(constant_index, bounds)
        if first is not None and end is not None and 0 < end - first <= step:
            yield self, bounds[0]
            return
        carried = {} if carried is None else carried
        before = list(carried.values())
        types = [value.type for value in before]
        block = Block(arg_types=[INDEX, *types])
        block.args[0].name_hint = name
        _renew(carried, before, block.args[1:])
        yield Nest(block, self.kernel), block.args[0]
        end_block(block, list(carried.values()))
        marks = ((NO_UNROLL, rolled), (LANES, lanes), (OUTLINE, outlined))
        loop = scf.ForOp.create(
            operands=[*bounds, self.kernel.index(step), *before],
            result_types=types,
            attributes={mark: UnitAttr() for mark, is_set in marks if is_set},
            regions=[Region(block)],
        )
        self.builder.insert(loop)
        _renew(carried, before, loop.results)

    def times(
        self,
        count: int,
        name: str,
        carried: dict[KeyT, SSAValue] | None = None,
        *,
        rolled: bool = False,
        lanes: bool = False,
        outlined: bool = False,
    ) -> Iterator[tuple[Nest, SSAValue]]:
        """A loop as that of `over`, over the numbers below `count`."""
        first = self.kernel.index(0)
        if count == 1:
            return iter([(self, first)])
        bounds = first, self.kernel.index(count)
        return self.over(bounds, name, carried, rolled=rolled, lanes=lanes, outlined=outlined)

    def blocks(
        self,
        bounds: tuple[SSAValue, SSAValue],
        size: int,
        carried: dict[KeyT, SSAValue] | None = None,
        *,
        exact: bool = False,
    ) -> Iterator[tuple[Nest, tuple[SSAValue, SSAValue]]]:
        """
        A loop as that of `over`, over blocks of at most `size` iterations of [bounds): the body has the bounds of one.

        With `exact` all blocks are of this size.
        """
        for nest, first in self.over(bounds, "block", carried, step=size):
            s = nest.scalars
            end = s.of(first) + s.of(self.kernel.index(size))
            if not exact:
                end = s.minimum(end, s.of(bounds[1]))
            yield nest, (first, end.value)

    def repeat(
        self,
        carried: Sequence[SSAValue],
        test: Callable[[Nest, tuple[SSAValue, ...]], tuple[SSAValue, Sequence[SSAValue]]],
        body: Callable[[Nest, tuple[SSAValue, ...]], Sequence[SSAValue]],
    ) -> tuple[SSAValue, ...]:
        """`while test:`, which gives the condition and what `body` gets; the result is what the last test passed on."""
        before = Block(arg_types=[value.type for value in carried])
        inside = Nest(before, self.kernel)
        condition, passed = test(inside, tuple(before.args))
        before.add_op(scf.ConditionOp(condition, *passed))
        after = Block(arg_types=[value.type for value in passed])
        end_block(after, body(Nest(after, self.kernel), tuple(after.args)))
        loop = scf.WhileOp(carried, [value.type for value in passed], Region(before), Region(after))
        self.builder.insert(loop)
        return tuple(loop.results)

    @contextmanager
    def guard(self, condition: SSAValue) -> Generator[Nest]:
        """`if condition:` without results, written as the statement `with nest.guard(condition) as inside: ...`."""
        block = Block()
        yield Nest(block, self.kernel)
        end_block(block)
        self.choose(condition, block)

    def choose(
        self, condition: SSAValue, then: Block, other: Block | None = None, types: Sequence[Attribute] = ()
    ) -> Sequence[SSAValue]:
        """`if condition:` with finished blocks, and what is chosen between them."""
        regions = [Region(then), Region() if other is None else Region(other)]
        return self.builder.insert(scf.IfOp.create(operands=[condition], result_types=types, regions=regions)).results

    def element(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> Scalar:
        """The element, in the type it is stored in."""
        element = memref_of(buffer).element_type
        op = memref.LoadOp.create(operands=[buffer, *indices], result_types=[element])
        self.builder.insert(op)
        op.res.name_hint = buffer.name_hint
        return self.scalars.of(op.res)

    def load(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> Scalar:
        """The element, extended to the type it is computed in."""
        found = self.element(buffer, indices)
        return self.scalars.cast(found, compute_type(found.type))

    def store(self, value: Scalar, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        """Store, narrowed to the buffer's element type."""
        narrowed = self.scalars.cast(value, memref_of(buffer).element_type)
        self.builder.insert(memref.StoreOp.create(operands=[narrowed.value, buffer, *indices]))

    def quotient(self, a: SSAValue, b: int) -> SSAValue:
        """`a / b` of an index and a positive number."""
        if (known := constant_index(a)) is not None:
            return self.kernel.index(known // b)
        return self.scalars.div(self.scalars.of(a), b).value

    def remainder(self, a: SSAValue, b: int) -> SSAValue:
        """`a % b` of an index and a positive number."""
        return self.scalars.rem(self.scalars.of(a), b).value


class Kernel:
    """
    A kernel under construction: `entry` is its body after the constants and scratch buffers at the top.

    `extent` is how many iterations every launch of it has, where that is known.
    """

    def __init__(
        self, buffers: Sequence[AnyMemRef], names: Sequence[str | None], extent: int | None = None, reads: int = 0
    ):
        """The first `reads` buffers are not written."""
        self.extent = extent
        self._open(KernelOp("kernel", buffers))
        self.read_only = frozenset(self.block.args[:reads])
        for arg, name in zip(self.block.args, [*names, "lo", "hi"], strict=True):
            arg.name_hint = name

    @classmethod
    def reopened(cls, op: KernelOp) -> Kernel:
        """A finished kernel under construction again, until it is closed again."""
        kernel = cls.__new__(cls)
        kernel.extent = None
        kernel.read_only = frozenset[SSAValue]()
        kernel._open(op)
        last = op.body.block.last_op
        assert isinstance(last, ReturnOp)
        last.detach()
        last.erase()
        return kernel

    def _open(self, op: KernelOp) -> None:
        self.op = op
        self.block = op.body.block
        self._top = Block()
        self._indices: dict[int, SSAValue] = {}
        self.entry = Nest(self.block, self)

    @property
    def bounds(self) -> tuple[SSAValue, SSAValue]:
        """The range of iterations that a launch asks for: constants if there is only one."""
        if self.extent == 1:
            return self.index(0), self.index(1)
        return self.block.args[-2], self.block.args[-1]

    def index(self, value: int) -> SSAValue:
        """An index constant, made once."""
        if value not in self._indices:
            made = ScalarBuilder(Builder(InsertPoint.at_end(self._top))).const(value, INDEX).value
            made.name_hint = f"c{value}"
            self._indices[value] = made
        return self._indices[value]

    def scratch(self, type_: AnyMemRef, name: str | None, outlined: bool = False) -> SSAValue:
        """A small buffer on the stack. `outlined`: a loop of that mark that alone uses it finds nothing in it."""
        op = memref.AllocaOp.get(type_.element_type, shape=type_.get_shape())
        if outlined:
            op.attributes[OUTLINE] = UnitAttr()
        self._top.add_op(op)
        op.memref.name_hint = name
        return op.memref

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the scratch buffers so far."""
        return sum(byte_size(memref_of(op.memref)) for op in self._top.ops if isinstance(op, memref.AllocaOp))

    def mark(self) -> Operation | None:
        """How far the constants and scratch buffers at the top have come, for `restore`."""
        return self._top.last_op

    def restore(self, mark: Operation | None) -> None:
        """Take back the constants and scratch buffers since then, whose users are gone."""
        while (last := self._top.last_op) is not mark:
            assert last is not None
            last.detach()
            self._indices = {n: x for n, x in self._indices.items() if x.owner is not last}
            last.erase(safe_erase=False)

    def finish(self) -> KernelOp:
        """The finished kernel."""
        self.close()
        return self.op

    def close(self) -> None:
        """Put the constants and scratch buffers at the top, and the return at the end."""
        first = self.block.first_op
        top = list(self._top.ops)
        for op in top:
            op.detach()
        if first is None:
            self.block.add_ops(top)
        else:
            self.block.insert_ops_before(top, first)
        self.block.add_op(ReturnOp())
