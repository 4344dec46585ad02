"""The pass `mir-vmap`: from a function to the function of a whole batch of some of its arguments.
The rules are rows of the table VMAP in `rules/`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp, TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import dce
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.dialects.mir.builder import MirBuilder
from xdsl_rlx.dialects.shapes import element_of, normalize_axis, shape_of
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.rules import DECOMPOSE, VMAP
from xdsl_rlx.transforms.rules.rows import lift, move_axis
from xdsl_rlx.transforms.rules.wide import define
from xdsl_rlx.transforms.signature import Argument, graph_of, named


@dataclass(frozen=True)
class MirVmapPass(ModulePass):
    """
    Turn the function into `@name_vmap`, which computes it for `size` values of the inputs named at once.

    ```
    func.func @f(%x : tensor<3xf32>, %w : tensor<3x2xf32>) -> tensor<2xf32>
    // becomes, with inputs=x size=8
    func.func @f_vmap(%x : tensor<8x3xf32>, %w : tensor<3x2xf32>) -> tensor<8x2xf32>
    ```

    Every result has a leading axis of extent `size`; one that does not depend on the inputs named is repeated. Params
    may be named too. `in-axes` has the position of the new axis in each input named, 0 if left out.
    """

    name = "mir-vmap"

    inputs: tuple[str, ...]
    """Names of arguments that get the new axis."""

    size: int
    """The extent of the new axis."""

    in_axes: tuple[int, ...] = ()
    """Where the new axis is in each of `inputs`; empty: in front."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        graph = graph_of(op, self.name)
        axes = self._axes(named(graph, self.inputs, self.name))
        before, after = graph.block, Block()
        rebuild = _Batch(self.size, MirBuilder(Builder(InsertPoint.at_end(after))))
        for old in before.args:
            shape = list(shape_of(old))
            if (axis := axes.get(old)) is not None:
                shape.insert(axis, self.size)
            new = after.insert_arg(TensorType(element_of(old), shape), len(after.args), old.location)
            new.name_hint = old.name_hint
            rebuild.values[old] = new
        for old, axis in axes.items():
            rebuild.values[old] = move_axis(rebuild.b, rebuild.b.value(rebuild.values[old]), axis, 0).ssa
        rebuild.batched.update(axes)
        last = before.last_op
        assert last is not None
        rebuild.copy(list(before.ops)[:-1])
        end = ReturnOp(*[rebuild.with_axis(output) for output in graph.outputs])
        end.location = last.location
        after.add_op(end)
        graph.func.body.insert_block(after, 0)
        graph.func.body.erase_block(before, safe_erase=False)
        graph.update_type()
        graph.rename(f"{graph.name}_vmap")
        dce(op)

    def _axes(self, arguments: Sequence[Argument]) -> dict[SSAValue, int]:
        """The position of the new axis in each argument named."""
        if self.size < 0:
            raise PassFailedException(f"{self.name}: expected a size of at least 0, got {self.size}")
        if self.in_axes and len(self.in_axes) != len(self.inputs):
            raise PassFailedException(f"{self.name}: {len(self.in_axes)} in-axes for {len(self.inputs)} inputs")
        axes: dict[SSAValue, int] = {}
        for argument, axis in zip(arguments, self.in_axes or [0] * len(arguments), strict=True):
            if argument.value in axes:
                raise PassFailedException(f'{self.name}: "{argument.name}" is named twice')
            try:
                axes[argument.value] = normalize_axis(axis, len(shape_of(argument.value)) + 1)
            except VerifyException as error:
                raise PassFailedException(f'{self.name}: "{argument.name}" with the new axis: {error}') from None
        return axes


@dataclass
class _Batch:
    """
    Copies ops one by one to where `b` inserts.

    `values` has the new value of each old one; those in `batched` have the leading axis, the others are as they were.
    """

    size: int
    b: MirBuilder
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    batched: set[SSAValue] = field(default_factory=set[SSAValue])

    def copy(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            if self.batched.isdisjoint(op.operands):
                self.b.builder.insert(op.clone(self.values))
            else:
                self._batch(op)

    def with_axis(self, old: SSAValue) -> SSAValue:
        """The new value of an old one, repeated along the leading axis if it does not have it."""
        new = self.values[old]
        return new if old in self.batched else lift(self.b, self.b.value(new), self.size).ssa

    def _batch(self, op: Operation) -> None:
        rule = VMAP.get(type(op))
        if rule is None and DECOMPOSE.get(type(op)) is None:
            rule = VMAP.lookup(op)
        if rule is not None:
            block = self.b.builder.insertion_point.block
            before = block.last_op
            has_axis = [x in self.batched for x in op.operands]
            operands = [self.b.value(self.values[x]) for x in op.operands]
            results = rule(op, self.b, has_axis, self.size, *operands)
            if results is not None:
                _locate(block.first_op if before is None else before.next_op, op)
                for old, new in zip(op.results, results, strict=True):
                    self._take(op, old, new.ssa)
                return
        self._through_definition(op)

    def _take(self, op: Operation, old: SSAValue, new: SSAValue) -> None:
        expected = TensorType(element_of(old), (self.size, *shape_of(old)))
        if new.type != expected:
            raise PassFailedException(f"the vmap rule of {op.name} gave a value of type {new.type}, not {expected}")
        new.name_hint = new.name_hint or old.name_hint
        self.values[old] = new
        self.batched.add(old)

    def _through_definition(self, op: Operation) -> None:
        """Batch the ops of the definition of `op`, which are made aside, of the old values."""
        aside = Block()
        found = define(op, MirBuilder(Builder(InsertPoint.at_end(aside))))
        for old, value in zip(op.results, found, strict=True):
            value.ssa.name_hint = value.ssa.name_hint or old.name_hint
        _locate(aside.first_op, op)
        self.copy(list(aside.ops))
        for old, value in zip(op.results, found, strict=True):
            self.values[old] = self.values[value.ssa]
            if value.ssa in self.batched:
                self.batched.add(old)
        aside.erase(safe_erase=False)


def _locate(first: Operation | None, source: Operation) -> None:
    """Give `first` and what follows it the location of `source`."""
    while first is not None:
        for op in first.walk():
            if op.location == UNKNOWN_LOC:
                op.location = source.location
        first = first.next_op
