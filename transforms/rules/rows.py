"""Constructors of rows that fill several tables at once: `diagonal`, `linear`, `zero`, `decompose`.
Those of vmap rows, `pointwise` and `leading`, and what such rows are made of: `lift`, `fold`, `unfold`.
The tables are in `rule_table.py`; the rows in the files of the op families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar, overload

from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, TensorType, bf16, f16, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.core import Elementwise
from xdsl_rlx.dialects.mir.elementwise import BinaryOp, ConstantOp, UnaryOp
from xdsl_rlx.dialects.mir.fields import i64_list
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.rules.rule_table import DECOMPOSE, JVP, SCALAR, VJP, VMAP, Cotangent, DecomposeRule

OpT = TypeVar("OpT", bound=Operation)

UnaryMap: TypeAlias = Callable[[MirBuilder, Value, Value, Value], Value]
"""`(b, g, x, y) -> g dy/dx`."""
BinaryMap: TypeAlias = Callable[[MirBuilder, Value, Value, Value, Value], Value]
"""`(b, g, lhs, rhs, y) -> g dy/dlhs`, or rhs."""


@overload
def diagonal(
    op: type[UnaryOp], operand: UnaryMap, /, *, scalar: Callable[[ScalarBuilder, Scalar], Scalar] | None = None
) -> None: ...


@overload
def diagonal(
    op: type[BinaryOp],
    lhs: BinaryMap,
    rhs: BinaryMap,
    /,
    *,
    scalar: Callable[[ScalarBuilder, Scalar, Scalar], Scalar] | None = None,
) -> None: ...


def diagonal(op: type[Operation], /, *maps: Callable[..., Value], scalar: Callable[..., Scalar] | None = None) -> None:
    """
    An elementwise op by its partial derivatives: one map per operand takes a cotangent or a tangent to the other end.

    A map may use that `g` is the cotangent of the result or the tangent of its operand, of either shape; summing over
    and repeating along broadcast dimensions is done here. `scalar` is the op itself on scalars. Operands broadcast, so
    the vmap row is `pointwise`.
    """

    def values(this: Operation, b: MirBuilder) -> list[Value]:
        return [b.value(x) for x in (*this.operands, *this.results)]

    def pull(this: Operation, b: MirBuilder, g: Value, index: int) -> Value:
        xs = values(this, b)
        # The adjoint of a product with the derivative f' of a complex function is the product with conj(f').
        return b.unbroadcast(b.conjugate(maps[index](b, b.conjugate(g), *xs)), xs[index].shape)

    def vjp(this: Operation, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
        return [partial(pull, this, b, g, index) for index in range(len(maps))]

    def jvp(this: Operation, b: MirBuilder, *tangents: Value | None) -> Sequence[Value | None]:
        xs = values(this, b)
        parts = [f(b, t, *xs) for f, t in zip(maps, tangents, strict=True) if t is not None]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return [b.expand(total, xs[-1].shape)]

    _DERIVATIVES[op] = maps
    VJP.add(op, vjp)
    JVP.add(op, jvp)
    pointwise(op)
    if scalar is not None:

        def of_operands(_: Operation, b: ScalarBuilder, *operands: Scalar) -> Scalar:
            return scalar(b, *operands)

        SCALAR.add(op, of_operands)


_DERIVATIVES: dict[type[Operation], tuple[Callable[..., Value], ...]] = {}


def derivative(op: type[UnaryOp]) -> UnaryMap:
    """The map that `diagonal` was given for `op`."""
    (operand,) = _DERIVATIVES[op]
    return operand


def linear(op: type[OpT], transpose: Callable[[OpT, MirBuilder, Value], Sequence[Cotangent]]) -> None:
    """An op that is linear in all its operands together: its tangent is the op itself, its cotangent the transpose."""

    def jvp(this: Any, b: MirBuilder, *tangents: Value | None) -> Sequence[Value | None]:
        copy: Operation = this.clone()
        for index, (x, t) in enumerate(zip(this.operands, tangents, strict=True)):
            copy.operands[index] = b.zeros_like(x).ssa if t is None else t.ssa
        for result in copy.results:
            result.name_hint = None
        b.builder.insert(copy)
        return [b.value(result) for result in copy.results]

    VJP.add(op, transpose)
    JVP.add(op, jvp)


def zero(op: type[Operation], reason: str) -> None:
    """An op whose derivative is zero or that has none: nothing flows through it in either mode."""
    VJP.exempt(op, reason)
    JVP.exempt(op, reason)


def decompose(op: type[OpT]) -> Callable[[DecomposeRule[OpT]], DecomposeRule[OpT]]:
    """
    Decorator: the function defines `op` by simpler ops.

    It stands for `op` in every table that has no direct row. That of an elementwise op is made of elementwise ops and
    numbers, and gives its scalar row.
    """

    def register(function: DecomposeRule[OpT]) -> DecomposeRule[OpT]:
        DECOMPOSE.add(op, function)
        if op.has_trait(Elementwise):
            SCALAR.add(op, partial(_scalar_by_decomposition, function))
        return function

    return register


def _scalar_by_decomposition(rule: DecomposeRule[Any], op: Operation, b: ScalarBuilder, *operands: Scalar) -> Scalar:
    block = Block(arg_types=[_computed(x) for x in op.operands])
    apart = type(op).create(
        operands=block.args, result_types=[_computed(result) for result in op.results], properties=dict(op.properties)
    )
    (result,) = rule(apart, MirBuilder(Builder(InsertPoint.at_end(block))))
    element = element_of(result.ssa)
    known: dict[SSAValue, Scalar] = dict(zip(block.args, operands, strict=True))

    def scalar(x: SSAValue) -> Scalar:
        if x not in known:
            owner = x.owner
            assert isinstance(owner, Operation)
            if isinstance(owner, ConstantOp):
                number = owner.value.get_values()[0]
                assert isinstance(number, int | float)
                known[x] = b.const(number, element)
            else:
                known[x] = SCALAR.lookup(owner)(owner, b, *[scalar(operand) for operand in owner.operands])
        return known[x]

    return scalar(result.ssa)


def _computed(x: SSAValue) -> Attribute:
    """The type of a tensor, of f32 for half floats: their scalars are, and so are the numbers of a definition."""
    return TensorType(f32, shape_of(x)) if element_of(x) in (f16, bf16) else x.type


def pointwise(op: type[Operation]) -> None:
    """
    An op whose operands broadcast, as in NumPy or as the leading axes of a matrix product do.

    What is not batched broadcasts as it is; an operand of lower rank than the result gets axes of 1 behind the new
    axis, so that the others stay aligned at the right.
    """

    def rule(
        this: Operation, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value
    ) -> Sequence[Value] | None:
        return rebuilt(this, b, size, aligned(this, b, batched, operands))

    VMAP.add(op, rule)


def leading(op: type[IRDLOperation], *axes: str, shared: Sequence[str] = ()) -> None:
    """
    An op that treats leading axes as batch: the same op, of operands that all have the new axis.

    `axes` names the properties that number axes from the front; they move up by one, and negative ones stay. The
    operands named in `shared` cannot have the new axis: where one is batched, the definition of the op is, instead.
    """

    def rule(
        this: IRDLOperation, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value
    ) -> Sequence[Value] | None:
        keep = [name in shared for name in operand_names(this)]
        if any(has and whole for has, whole in zip(batched, keep, strict=True)):
            return None
        lifted = [
            x if has or whole else lift(b, x, size) for x, has, whole in zip(operands, batched, keep, strict=True)
        ]
        properties = this.properties
        moved = {name: moved_up(attribute) for name in axes if (attribute := properties.get(name)) is not None}
        return rebuilt(this, b, size, lifted, moved)

    VMAP.add(op, rule)


def operand_names(op: IRDLOperation) -> list[str]:
    """The name of each operand, in order; those of one variadic operand share its name."""
    return _repeated(op, [name for name, _ in op.get_irdl_definition().operands])


def result_names(op: IRDLOperation) -> list[str]:
    """The same of results."""
    return _repeated(op, [name for name, _ in op.get_irdl_definition().results])


def _repeated(op: IRDLOperation, names: Sequence[str]) -> list[str]:
    repeated: list[str] = []
    for name in names:
        found: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
        repeated += [name] * (0 if found is None else 1 if isinstance(found, SSAValue) else len(found))
    return repeated


def moved_up(axes: Attribute) -> Attribute:
    """A property that holds an axis, or a list of them, counted behind one more leading axis."""
    if isa(axes, IntegerAttr):
        axis = axes.value.data
        return IntegerAttr(axis + (axis >= 0), axes.type)
    assert isa(axes, DenseArrayBase[IntegerType])
    return i64_list([int(axis) + (axis >= 0) for axis in axes.get_values()])


def rebuilt(
    op: Operation, b: MirBuilder, size: int, operands: Sequence[Value], properties: dict[str, Attribute] | None = None
) -> list[Value]:
    """`op` of other operands, some properties replaced, its results with a leading axis of extent `size`."""
    copy = type(op).create(
        operands=[x.ssa for x in operands],
        result_types=[TensorType(element_of(x), (size, *shape_of(x))) for x in op.results],
        properties={**op.properties, **(properties or {})},
        attributes=dict(op.attributes),
    )
    b.builder.insert(copy)
    return [b.value(result) for result in copy.results]


def align(b: MirBuilder, x: Value, rank: int) -> Value:
    """A batched value as one that broadcasts with batched values of `rank` axes behind the leading one."""
    return b.reshape(x, (x.shape[0], *([1] * (rank + 1 - x.rank)), *x.shape[1:]))


def aligned(op: Operation, b: MirBuilder, batched: Sequence[bool], operands: Sequence[Value]) -> list[Value]:
    """The operands, so that they broadcast with each other as those of `op` do; its first result has the most axes."""
    rank = len(shape_of(op.results[0]))
    return [align(b, x, rank) if has else x for x, has in zip(operands, batched, strict=True)]


def lift(b: MirBuilder, x: Value, size: int) -> Value:
    """A value that is the same for all, repeated along a leading axis."""
    return b.expand(x, (size, *x.shape))


def lifted(b: MirBuilder, batched: Sequence[bool], size: int, operands: Sequence[Value]) -> list[Value]:
    """The operands, all with the leading axis."""
    return [x if has else lift(b, x, size) for x, has in zip(operands, batched, strict=True)]


def move_axis(b: MirBuilder, x: Value, source: int, to: int) -> Value:
    """Axis `source` as axis `to`, the others in their order."""
    perm = [axis for axis in range(x.rank) if axis != source]
    perm.insert(to, source)
    return b.transpose(x, perm)


def fold(b: MirBuilder, x: Value, axis: int = 0) -> Value:
    """The leading axis merged, as the slower part, into axis `axis` behind it: `[B, .., n, ..]` to `[.., B n, ..]`."""
    moved = move_axis(b, x, 0, axis)
    shape = moved.shape
    return b.reshape(moved, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def unfold(b: MirBuilder, x: Value, size: int, extent: int, axis: int = 0) -> Value:
    """The inverse of `fold`: `[.., B n, ..]` to `[B, .., n, ..]`, where `size` is `B` and `extent` is `n`."""
    shape = x.shape
    split = b.reshape(x, (*shape[:axis], size, extent, *shape[axis + 1 :]))
    return move_axis(b, split, axis, 0)
