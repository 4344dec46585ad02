"""The input and output layers of a language model: embedding lookup, and logits."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import result_def

from xdsl_rlx.dialects.hir.block import HirOp, OneOp, check_rank, features_of, float_element
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    OptionalTensor,
    Tensor,
    check_operands,
    optional_tensor,
    tensor,
)
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import shape_of


class EmbeddingOp(OneOp, name="hir.embedding"):
    """
    `result[.., :] = table[ids[..], :]`: ids of any shape, table `[V, D]`. Indices behave as in `mir.gather`.

    An id outside of `[0, V)` is clamped to it.
    """

    ids: Tensor = tensor(alone=True)
    table: Tensor = tensor(alone=True)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> list[Attribute]:
        check_rank("table", self.table, "[V, D]")
        return super().infer_types()

    def as_mir(self, b: MirBuilder) -> list[Value]:
        return [b.gather(self.table, self.ids)]


class TiedHeadOp(HirOp, name="hir.tied_head"):
    """`result = x @ transpose(table) + b`: the logits of x `[..., m, D]` by an embedding's table `[V, D]`, b `[V]`."""

    x: Tensor = tensor()
    table: Tensor = tensor(shape="V, K")
    b: OptionalTensor = optional_tensor(default=None, shape="V")
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        element, features = float_element(*self.operands), features_of("x", self.x)
        words = check_rank("table", self.table, "[V, D]")[0]
        check_operands(self, V=words, K=features)
        return (TensorType(element, (*shape_of(self.x)[:-1], words)),)
