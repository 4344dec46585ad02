"""Ops with regions: `mir.vjp` (the gradient of one op, not yet emitted) and `mir.fusion` (ops that share a kernel)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntAttr, IntegerType, NoneAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    traits_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.effects import remove_effects
from xdsl_rlx.dialects.mir.core import DeclaredOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Body,
    Field,
    IntegerList,
    Tensors,
    attribute,
    i64_list,
    integer_list,
    region,
    tensors,
)
from xdsl_rlx.dialects.shapes import shape_of


class YieldOp(DeclaredOp, name="mir.yield"):
    """The results of a region."""

    values: Tensors = tensors()

    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue):
        Operation.__init__(self, operands=values)

    def verify_(self) -> None:
        parent = self.parent_op()
        if parent is not None and not isinstance(parent, DeclaredOp):
            raise VerifyException(f"expected inside of an op of mir that has regions, got {parent.name}")


class VjpOp(DeclaredOp, name="mir.vjp"):
    """
    The vector-Jacobian product of the one op in `body`, before its rule is applied.

    `body` takes the op's operands, contains the op, and yields its results. `primals` are the op's operands, and
    `results` its results in the forward pass. `cotangents` are the cotangents of the results numbered by `seeded`. The
    results of `mir.vjp` are the cotangents of the operands numbered by `wrt`.
    """

    primals: Tensors = tensors()
    outputs: Tensors = tensors()
    cotangents: Tensors = tensors()
    seeded: IntegerList = integer_list()
    wrt: IntegerList = integer_list()
    body: Body = region()
    grads = var_result_def(AnyTensorConstr)

    traits = traits_def(Pure(), IsolatedFromAbove())
    assembly_format = (
        "`primals` `(` $primals `:` type($primals) `)` `outputs` `(` $outputs `:` type($outputs) `)` "
        "`cotangents` `(` $cotangents `:` type($cotangents) `)` `of` custom<IntList>($seeded) "
        "`wrt` custom<IntList>($wrt) attr-dict `->` type($grads) $body"
    )

    def __init__(
        self,
        op: Operation,
        primals: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        cotangents: Sequence[SSAValue | None],
        wrt: Sequence[int],
    ):
        """`op` is copied into the body. `cotangents` has an entry per result, None where nothing arrived."""
        block = Block(arg_types=[p.type for p in primals])
        copy = op.clone(dict(zip(op.operands, block.args, strict=True)))
        for operand_index, arg in enumerate(block.args):
            copy.operands[operand_index] = arg
        block.add_ops([copy, YieldOp(*copy.results)])
        # a derivative computes values again, and has no effects again
        remove_effects(block)
        self.assemble(
            operands=[primals, outputs, [c for c in cotangents if c is not None]],
            properties={
                "seeded": i64_list([i for i, c in enumerate(cotangents) if c is not None]),
                "wrt": i64_list(wrt),
            },
            result_types=[[primals[i].type for i in wrt]],
            regions=[Region(block)],
        )

    @property
    def op(self) -> Operation:
        """The op that is differentiated."""
        first = self.body.block.first_op
        assert first is not None
        return first

    @property
    def wrt_indices(self) -> tuple[int, ...]:
        """Operand numbers whose cotangents are the results."""
        return tuple(int(i) for i in self.wrt.get_values())

    @property
    def result_cotangents(self) -> tuple[SSAValue | None, ...]:
        """A cotangent per result of the op, None where nothing arrives."""
        by_index = dict(zip((int(i) for i in self.seeded.get_values()), self.cotangents, strict=True))
        return tuple(by_index.get(i) for i in range(len(self.outputs)))

    def verify_(self) -> None:
        ops = list(self.body.block.ops)
        if len(ops) != 2 or not isinstance(ops[1], YieldOp):
            raise VerifyException("expected a body of one op and a mir.yield")
        op = ops[0]
        if tuple(op.operands) != tuple(self.body.block.args) or [p.type for p in self.primals] != [
            o.type for o in op.operands
        ]:
            raise VerifyException(f"the primals do not match the operands of {op.name}")
        if [o.type for o in self.outputs] != [r.type for r in op.results]:
            raise VerifyException(f"the outputs do not match the results of {op.name}")
        seeded, wrt = [int(i) for i in self.seeded.get_values()], list(self.wrt_indices)
        if len(seeded) != len(self.cotangents) or any(not 0 <= i < len(self.outputs) for i in seeded):
            raise VerifyException(
                f"{len(self.cotangents)} cotangents of the results {seeded}, of which there are {len(self.outputs)}"
            )
        if len(wrt) != len(self.grads):
            raise VerifyException(f"{len(self.grads)} results for wrt {wrt}")
        for index, cotangent in enumerate(self.result_cotangents):
            if cotangent is not None and cotangent.type != self.outputs[index].type:
                raise VerifyException(
                    f"cotangent of type {cotangent.type} for a result of type {self.outputs[index].type}"
                )
        if any(not 0 <= i < len(self.primals) for i in wrt):
            raise VerifyException(f"wrt {wrt} leaves the {len(self.primals)} operands")
        for index, grad in zip(self.wrt_indices, self.grads, strict=True):
            if grad.type != self.primals[index].type:
                raise VerifyException(f"gradient of type {grad.type} for an operand of type {self.primals[index].type}")


@irdl_attr_definition
class FusionLoopsAttr(ParametrizedAttribute):
    """
    The loops that the ops of a fusion share: `<[64, 32] parallel 1 : (operand, [0, 1], [1]) -> ([0, 1])>`.

    The extents come first; none is 1. `parallel n` makes the first n loops parallel; the others run within a row.
    `reduce 1 to 2` instead makes loop 1 a sequential reduction around the column loops. Then come the loops of the axes
    of each input and result, without axes of extent 1. `operand` marks the operand of a matmul, which is read whole.
    """

    name = "mir.fusion_loops"

    extents: DenseArrayBase[IntegerType]
    split: IntAttr
    stop: IntAttr | NoneAttr
    inputs: ArrayAttr[DenseArrayBase[IntegerType] | UnitAttr]
    results: ArrayAttr[DenseArrayBase[IntegerType]]

    @staticmethod
    def of(
        extents: Sequence[int],
        split: int,
        stop: int | None,
        inputs: Sequence[Sequence[int] | None],
        results: Sequence[Sequence[int]],
    ) -> FusionLoopsAttr:
        """Loops of these extents; an input is None where it is needed whole."""
        return FusionLoopsAttr(
            i64_list(extents),
            IntAttr(split),
            NoneAttr() if stop is None else IntAttr(stop),
            ArrayAttr([UnitAttr() if loops is None else i64_list(loops) for loops in inputs]),
            ArrayAttr([i64_list(loops) for loops in results]),
        )

    def with_inputs(self, more: Sequence[Sequence[int] | None]) -> FusionLoopsAttr:
        """The loops with more inputs behind those that there are."""
        return FusionLoopsAttr.of(
            self.sizes,
            self.split.data,
            None if self.middle is None else self.middle[1],
            [*self.input_loops, *more],
            self.result_loops,
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The extents of the loops."""
        return _numbers(self.extents)

    @property
    def middle(self) -> tuple[int, int] | None:
        """The loops that are summed over around the columns, from the first to behind the last."""
        return None if isinstance(self.stop, NoneAttr) else (self.split.data, self.stop.data)

    @property
    def input_loops(self) -> list[tuple[int, ...] | None]:
        """The loops of each input; None for one that is needed whole."""
        return [None if isinstance(loops, UnitAttr) else _numbers(loops) for loops in self.inputs]

    @property
    def result_loops(self) -> list[tuple[int, ...]]:
        """The loops of each result."""
        return [_numbers(loops) for loops in self.results]

    def verify(self) -> None:
        rank = len(self.sizes)
        if any(n < 0 or n == 1 for n in self.sizes):
            raise VerifyException(f"expected extents of loops that are not 1, got {list(self.sizes)}")
        if not 0 <= self.split.data <= rank:
            raise VerifyException(f"parallel {self.split.data}: expected at most {rank} loops")
        if self.middle is not None and not self.middle[0] < self.middle[1] < rank:
            raise VerifyException(f"reduce {self.middle[0]} to {self.middle[1]}: expected an end below {rank}")
        for loops in (*self.input_loops, *self.result_loops):
            if loops is not None and (sorted({*loops}) != [*loops] or any(not 0 <= loop < rank for loop in loops)):
                raise VerifyException(f"expected ascending numbers of {rank} loops, got {list(loops)}")

    def check(self, what: str, loops: Sequence[int], type_: Attribute) -> None:
        """Require a value of this type to have an axis for each of these loops."""
        axes = [n for n in shape_of(type_) if n != 1]
        if axes != [self.sizes[loop] for loop in loops]:
            raise VerifyException(f"{what} of type {type_} does not run over the loops {list(loops)}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def numbers() -> DenseArrayBase[IntegerType]:
            return i64_list(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))

        def operand_or_numbers() -> DenseArrayBase[IntegerType] | UnitAttr:
            return UnitAttr() if parser.parse_optional_keyword("operand") else numbers()

        with parser.in_angle_brackets():
            extents, stop = numbers(), NoneAttr()
            if parser.parse_optional_keyword("parallel"):
                split = IntAttr(parser.parse_integer())
            else:
                parser.parse_keyword("reduce")
                split = IntAttr(parser.parse_integer())
                parser.parse_keyword("to")
                stop = IntAttr(parser.parse_integer())
            parser.parse_punctuation(":")
            inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, operand_or_numbers)
            parser.parse_punctuation("->")
            results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, numbers)
        return extents, split, stop, ArrayAttr(inputs), ArrayAttr(results)

    def print_parameters(self, printer: Printer) -> None:
        nested = f"parallel {self.split.data}" if self.middle is None else "reduce {} to {}".format(*self.middle)
        inputs = ", ".join("operand" if loops is None else str([*loops]) for loops in self.input_loops)
        results = ", ".join(str([*loops]) for loops in self.result_loops)
        printer.print_string(f"<{[*self.sizes]} {nested} : ({inputs}) -> ({results})>")


def _numbers(values: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    return tuple(int(value) for value in values.get_values())


class FusionOp(DeclaredOp, name="mir.fusion"):
    """
    Ops that run as one kernel: `body` takes `inputs`, contains the ops and yields the results.

    A group is either one iteration space (elementwise ops and row reductions) or a matmul with its elementwise
    epilogue. `convert-mir-to-lir` lowers it to a loop nest over the `loops` that `mir-fuse` has chosen; by default
    these are the loops that the ops can share.
    """

    inputs: Tensors = tensors()
    body: Body = region()
    loops: Field[FusionLoopsAttr | None, FusionLoopsAttr | None] = attribute(FusionLoopsAttr, default=None)
    results_ = var_result_def(AnyTensorConstr)

    traits = traits_def(Pure(), IsolatedFromAbove())
    assembly_format = "`(` $inputs `)` (`loops` $loops^)? attr-dict `:` functional-type(operands, results) $body"

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Region,
        loops: FusionLoopsAttr | None = None,
    ):
        properties = {} if loops is None else {"loops": loops}
        Operation.__init__(self, operands=inputs, result_types=result_types, properties=properties, regions=[body])

    def verify_(self) -> None:
        if tuple(self.body.block.arg_types) != tuple(v.type for v in self.inputs):
            raise VerifyException("the block arguments do not match the inputs")
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("expected a mir.yield at the end")
        if [v.type for v in last.values] != [r.type for r in self.results_]:
            raise VerifyException("the yielded values do not match the results")
        if self.loops is not None:
            self._verify_loops(self.loops)

    def _verify_loops(self, loops: FusionLoopsAttr) -> None:
        inputs, results = loops.input_loops, loops.result_loops
        if len(inputs) != len(self.inputs) or len(results) != len(self.results_):
            raise VerifyException(
                f"loops of {len(inputs)} inputs and {len(results)} results, of which there are "
                f"{len(self.inputs)} and {len(self.results_)}"
            )
        for number, (value, axes) in enumerate(zip(self.inputs, inputs, strict=True)):
            if axes is not None:
                loops.check(f"input {number}", axes, value.type)
        for number, (value, axes) in enumerate(zip(self.results_, results, strict=True)):
            loops.check(f"result {number}", axes, value.type)
