"""Recurrent layers over a batch of sequences: their bodies are scans."""

import abc
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.hir.block import HirOp, OneOp, check_rank, check_shapes, float_element
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    OptionalTensor,
    Tensor,
    check_operands,
    optional_tensor,
    tensor,
)
from xdsl_rlx.dialects.mir.recurrence import state_element


class RecurrentOp(HirOp, abc.ABC):
    """
    A layer that hands its output of one time on to the next.

    x is `[B, T, F]`, `outputs` `[B, T, H]`; `w_ih` is `[F, G H]` and `w_hh` `[H, G H]`, the transposes of PyTorch's
    `weight_ih_l0` and `weight_hh_l0`, with the G gates one after the other; `b_ih` and `b_hh` are `[G H]`, zeros if
    left out, and so is `h0`, `[B, H]`, the output before the first time.
    """

    x: Tensor = tensor()
    w_ih: Tensor = tensor(shape="F, G")
    w_hh: Tensor = tensor(shape="H, G")
    b_ih: OptionalTensor = optional_tensor(default=None, shape="G")
    b_hh: OptionalTensor = optional_tensor(default=None, shape="G")
    h0: OptionalTensor = optional_tensor(default=None)
    outputs = result_def(AnyTensorConstr)
    h_n = result_def(AnyTensorConstr)

    GATES: ClassVar[int]

    @property
    def starts(self) -> tuple[SSAValue | None, ...]:
        """What the layer begins with: as many as it ends with."""
        return (self.h0,)

    def infer_types(self) -> list[Attribute]:
        element = float_element(*self.operands)
        batch, times, features = check_rank("x", self.x, "[B, T, F]")
        hidden = check_rank("w_hh", self.w_hh, "[H, G]")[0]
        gates = self.GATES * hidden
        check_operands(self, F=features, H=hidden, G=gates)
        for name, start in zip(("h0", "c0"), self.starts, strict=False):
            check_shapes(**{name: (start, (batch, hidden))})
        last = TensorType(element, (batch, hidden))
        return [TensorType(element, (batch, times, hidden)), *(last for _ in self.starts)]


class RnnOp(RecurrentOp, name="hir.rnn"):
    """
    `h = tanh(x[t] @ w_ih + b_ih + h @ w_hh + b_hh)`, `outputs[t] = h`: PyTorch's `nn.RNN`, one layer, batch first.

    x is `[B, T, F]`, `outputs` `[B, T, H]`; `w_ih` is `[F, H]` and `w_hh` `[H, H]`, the transposes of PyTorch's. `b_ih`
    and `b_hh` are `[H]`, and `h0` is `[B, H]`; all three default to zeros. `h_n` is the last h.
    """

    GATES: ClassVar[int] = 1


class LstmOp(RecurrentOp, name="hir.lstm"):
    """
    With `i, f, g, o` the quarters of `x[t] @ w_ih + b_ih + h @ w_hh + b_hh`: `c = sigmoid(f) c + sigmoid(i) tanh(g)`,
    `h = sigmoid(o) tanh(c)`, `outputs[t] = h`: PyTorch's `nn.LSTM`, one layer, batch first.

    x is `[B, T, F]`, `outputs` `[B, T, H]`; `w_ih` is `[F, 4 H]` and `w_hh` `[H, 4 H]`, the transposes of PyTorch's.
    `b_ih` and `b_hh` are `[4 H]`, and `h0` and `c0` `[B, H]`; all four default to zeros. `h_n` and `c_n` are the last h
    and c.
    """

    c0: OptionalTensor = optional_tensor(default=None)
    # all results: those of a subclass come before those of its base
    outputs = result_def(AnyTensorConstr)
    h_n = result_def(AnyTensorConstr)
    c_n = result_def(AnyTensorConstr)

    GATES: ClassVar[int] = 4

    @property
    def starts(self) -> tuple[SSAValue | None, ...]:
        return self.h0, self.c0


class GruOp(RecurrentOp, name="hir.gru"):
    """
    With `p = x[t] @ w_ih + b_ih` and `u = h @ w_hh + b_hh`, each in thirds `r, z, n`: `r = sigmoid(p_r + u_r)`, `z =
    sigmoid(p_z + u_z)`, `n = tanh(p_n + r u_n)`, `h = (1 - z) n + z h`, `outputs[t] = h`: PyTorch's `nn.GRU`, one
    layer, batch first. The reset gate is applied after the matmul.

    x is `[B, T, F]`, `outputs` `[B, T, H]`; `w_ih` is `[F, 3 H]` and `w_hh` `[H, 3 H]`, the transposes of PyTorch's.
    `b_ih` and `b_hh` are `[3 H]`, and `h0` is `[B, H]`; all three default to zeros. `h_n` is the last h.
    """

    GATES: ClassVar[int] = 3


class Mamba2Op(HirOp, name="hir.mamba2"):
    """
    The SSD layer of Mamba-2 (Dao and Gu 2024, "Transformers are SSMs", section 2.4 and listing 1): a state-space
    recurrence whose decay is one number per head and time. For each sequence of the batch and each head: `h[p, i] =
    exp(dt[t] a) h[p, i] + dt[t] x[t, p] b[t, i]`, `outputs[t, p] = sum over i of c[t, i] h[p, i] + d x[t, p]`.

    x and `outputs` are `[B, T, H, P]`, `dt` is `[B, T, H]`, `a` and `d` are `[H]`; `b` and `c` are shared by the heads,
    `[B, T, N]`. `d` is optional, and defaults to zeros. `h0`, zeros by default, and `h_n`, the last h, are `[B, H, P,
    N]`, f32 for half floats. Projections, the convolution before the layer, the softplus of dt and the gate are other
    blocks.
    """

    x: Tensor = tensor()
    dt: Tensor = tensor()
    a: Tensor = tensor()
    b: Tensor = tensor()
    c: Tensor = tensor()
    d: OptionalTensor = optional_tensor(default=None)
    h0: OptionalTensor = optional_tensor(default=None)
    outputs = result_def(AnyTensorConstr)
    h_n = result_def(AnyTensorConstr)

    def infer_types(self) -> list[Attribute]:
        element = float_element(self.x, self.dt, self.a, self.b, self.c, self.d)
        batch, times, heads, width = check_rank("x", self.x, "[B, T, H, P]")
        check_shapes(dt=(self.dt, (batch, times, heads)), a=(self.a, (heads,)))
        places = check_rank("b", self.b, "[B, T, N]")[2]
        given = (batch, times, places)
        check_shapes(b=(self.b, given), c=(self.c, given), d=(self.d, (heads,)))
        state = TensorType(state_element(element), (batch, heads, width, places))
        if self.h0 is not None and self.h0.type != state:
            raise VerifyException(f"expected h0 of type {state}, got {self.h0.type}")
        return [self.x.type, state]


class GatedDeltaNetOp(OneOp, name="hir.gated_delta_net"):
    """
    The gated delta rule: `mir.gated_delta_net`, with the final state as a second result.

    q and k are `[B, S, H, n]`, v and `outputs` `[B, S, H, m]`, g and beta `[B, S, H]`. `state`, zeros by default, and
    `last` are `[B, H, n, m]`, f32 for half floats.
    """

    q: Tensor = tensor()
    k: Tensor = tensor()
    v: Tensor = tensor()
    g: Tensor = tensor()
    beta: Tensor = tensor()
    state: OptionalTensor = optional_tensor(default=None)
    outputs = result_def(AnyTensorConstr)
    last = result_def(AnyTensorConstr)
