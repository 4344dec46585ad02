"""The pass `mir-insert-quantize-dequantize`: values as i8 leaves them."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, LocationAttr, ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.quantize import CALIBRATION, CalibrationAttr, DequantizeOp, QuantizeOp
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.transforms.driver import RewritingPass, is_differentiated, verify_dominance
from xdsl_rlx.transforms.located import located
from xdsl_rlx.transforms.signature import Signature, argument_attributes, graph_of


class MirInsertQuantizeDequantizePass(RewritingPass):
    """
    Quantise values with a `mir.calibration` to i8, and dequantise them for all users, including function results.

    ```
    %y = mir.tanh %x {mir.calibration = #mir.calibration<scales array<f64: 0.5> zero_points array<i64: 0>>}
    %z = mir.exp %y
    // becomes
    %y = mir.tanh %x
    %0 = mir.quantize %y scales array<f64: 0.5> zero_points [0] : tensor<4xf32> to tensor<4xi8>
    %1 = mir.dequantize %0 scales array<f64: 0.5> zero_points [0] : tensor<4xi8> to tensor<4xf32>
    %z = mir.exp %1
    ```

    The attribute is on an argument, or on an op for its first result. With `axis 1`, each index of that axis has its
    own scale.
    """

    name = "mir-insert-quantize-dequantize"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        verify_dominance(module)
        graph = graph_of(module, self.name)
        changed = self._quantize_arguments(graph)
        for op in list(graph.func.walk()):
            if CALIBRATION in op.attributes and not is_differentiated(op):
                entry = op.attributes.pop(CALIBRATION)
                if not op.results:
                    raise PassFailedException(f"{self.name}: {named(op)} has a {CALIBRATION} and no result")
                self._quantize(op.results[0], entry, InsertPoint.after(op), named(op), op.location)
                changed = True
        return changed

    def _quantize_arguments(self, graph: Signature) -> bool:
        before, first = graph.func.arg_attrs, graph.block.first_op
        if before is None or first is None:
            return False
        left: list[DictionaryAttr] = []
        for value, given in zip(graph.block.args, argument_attributes(graph.func), strict=True):
            if (entry := given.get(CALIBRATION)) is not None:
                where = f"argument {value.index} of @{graph.name}"
                self._quantize(value, entry, InsertPoint.before(first), where, value.location)
            left.append(DictionaryAttr({name: one for name, one in given.items() if name != CALIBRATION}))
        graph.func.arg_attrs = ArrayAttr(left)
        return graph.func.arg_attrs != before

    def _quantize(self, x: SSAValue, entry: Attribute, at: InsertPoint, where: str, location: LocationAttr) -> None:
        if not isinstance(entry, CalibrationAttr):
            raise PassFailedException(f"{self.name}: {where} has an invalid {CALIBRATION}: {entry}")
        scales, zero_points, axis = entry.scales.get_values(), entry.zero_points.get_values(), entry.axis_or_none
        builder = Builder(at)
        try:
            with located(builder, location):
                levels = builder.insert(QuantizeOp(x, scales, zero_points, axis))
                after = builder.insert(DequantizeOp(levels.result, scales, zero_points, axis, element_of(x)))
            levels.verify_()
        except VerifyException as error:
            raise PassFailedException(f"{self.name}: {where}: {error}") from None
        x.replace_uses_with_if(after.result, lambda use: use.operation is not levels)
