"""Ops with regions: `mir.vjp` (the gradient of one op, not yet emitted) and `mir.fusion` (ops that share a kernel)."""

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, I64List, IntList, i64_list


def _holders() -> tuple[type[Operation], ...]:
    from xdsl_rlx.dialects.mir.branch import IfOp, RematOp, SwitchOp, WhileOp
    from xdsl_rlx.dialects.mir.custom_fn import CustomFnOp
    from xdsl_rlx.dialects.mir.region import BatchElementwiseRegionOp, ElementwiseRegionOp, TransformRegionOp
    from xdsl_rlx.dialects.mir.scan import ScanOp

    regions = (ElementwiseRegionOp, TransformRegionOp, BatchElementwiseRegionOp)
    return VjpOp, FusionOp, ScanOp, IfOp, SwitchOp, WhileOp, RematOp, CustomFnOp, *regions


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The results of a region."""

    name = "mir.yield"

    values = var_operand_def(AnyTensorConstr)

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(*_holders()), Pure()))
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue):
        Operation.__init__(self, operands=values)


@irdl_op_definition
class VjpOp(IRDLOperation):
    """
    The vector-Jacobian product of the one op in `body`: the structure of a gradient before its rule is applied.

    `body` takes the op's operands, holds the op, and yields its results. `primals` are the op's operands, `results` its
    results as the forward pass computed them, `cotangents` those of the results numbered by `seeded`. The results of
    `mir.vjp` are the cotangents of the operands numbered by `wrt`.
    """

    name = "mir.vjp"

    primals = var_operand_def(AnyTensorConstr)
    outputs = var_operand_def(AnyTensorConstr)
    cotangents = var_operand_def(AnyTensorConstr)
    seeded = prop_def(I64List)
    wrt = prop_def(I64List)
    grads = var_result_def(AnyTensorConstr)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure(), IsolatedFromAbove())
    custom_directives = (IntList,)
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
        super().__init__(
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
            raise VerifyException("the body holds one op and a mir.yield")
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


@irdl_op_definition
class FusionOp(IRDLOperation):
    """
    Ops that run as one kernel: `body` takes `inputs`, holds the ops and yields the results.

    A group is either one iteration space (elementwise ops and the reductions along its rows) or a matrix product with
    its elementwise epilogue; `convert-mir-to-lir` makes a loop nest of it.
    """

    name = "mir.fusion"

    inputs = var_operand_def(AnyTensorConstr)
    results_ = var_result_def(AnyTensorConstr)
    body = region_def("single_block")

    traits = traits_def(Pure(), IsolatedFromAbove())
    assembly_format = "`(` $inputs `)` attr-dict `:` functional-type(operands, results) $body"

    def __init__(self, inputs: Sequence[SSAValue], result_types: Sequence[Attribute], body: Region):
        Operation.__init__(self, operands=inputs, result_types=result_types, regions=[body])

    def verify_(self) -> None:
        if tuple(self.body.block.arg_types) != tuple(v.type for v in self.inputs):
            raise VerifyException("the block arguments do not match the inputs")
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("expected a mir.yield at the end")
        if [v.type for v in last.values] != [r.type for r in self.results_]:
            raise VerifyException("the yielded values do not match the results")
