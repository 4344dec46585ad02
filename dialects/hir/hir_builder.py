"""`HirBuilder`: how blocks are written in Python, one method per block, named by its mnemonic."""

from __future__ import annotations

from xdsl_rlx.dialects.hir.convolution import ConvBlockOp, DepthwiseConv1dCausalOp, ResidualConvBlockOp
from xdsl_rlx.dialects.hir.decoder import LlamaDecoderBlockOp, Qwen35MtpHeadOp
from xdsl_rlx.dialects.hir.embedding import EmbeddingOp, TiedHeadOp
from xdsl_rlx.dialects.hir.feed_forward import MlpOp, SwigluOp
from xdsl_rlx.dialects.hir.linear import DequantMatmulOp, LinearOp, SharedLinearPairOp
from xdsl_rlx.dialects.hir.normalization import (
    GroupNormOp,
    LayerNormOp,
    ResidualLayerNormOp,
    ResidualRmsNormOp,
    RmsNormOp,
)
from xdsl_rlx.dialects.hir.recurrent import GatedDeltaNetOp, GruOp, LstmOp, Mamba2Op, RnnOp
from xdsl_rlx.dialects.hir.self_attention import AttentionOp, RopeOp, SelfAttentionOp
from xdsl_rlx.dialects.hir.transformer_layers import TransformerBlockOp, TransformerLayerOp
from xdsl_rlx.dialects.mir.quant import packing
from xdsl_rlx.dialects.mir.quant_schemes import Scheme, SchemeAttr
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method, pair, results_of


class HirBuilder(BuilderCore):
    """Builder methods of blocks."""

    linear = method(LinearOp)
    shared_linear_pair = pair(SharedLinearPairOp)

    def dequant_matmul(
        self,
        x: Operand,
        w: Operand,
        scheme: Scheme | str | SchemeAttr,
        scale: Operand | None = None,
        zero_point: Operand | None = None,
        global_scale: Operand | None = None,
        block_size: int | None = None,
    ) -> Value:
        """`hir.dequant_matmul`: `x @ W` with quantised weights."""
        how, scales = packing(self, scheme, block_size, scale, zero_point, global_scale)
        return self.op(DequantMatmulOp, self.operand(x), self.operand(w), how, scales)

    swiglu = method(SwigluOp)
    mlp = method(MlpOp)
    embedding = method(EmbeddingOp)
    tied_head = method(TiedHeadOp)
    layer_norm = method(LayerNormOp)
    rms_norm = method(RmsNormOp)
    group_norm = method(GroupNormOp)
    residual_rms_norm = method(ResidualRmsNormOp)
    residual_layer_norm = method(ResidualLayerNormOp)
    rope = method(RopeOp)
    attention = method(AttentionOp)
    self_attention = method(SelfAttentionOp)
    llama_decoder_block = method(LlamaDecoderBlockOp)
    qwen35_mtp_head = method(Qwen35MtpHeadOp)
    transformer_layer = method(TransformerLayerOp)
    transformer_block = method(TransformerBlockOp)
    conv_block = method(ConvBlockOp)
    residual_conv_block = method(ResidualConvBlockOp)
    depthwise_conv1d_causal = method(DepthwiseConv1dCausalOp)
    gated_delta_net = pair(GatedDeltaNetOp)
    rnn = pair(RnnOp)
    lstm = results_of(LstmOp)
    gru = pair(GruOp)
    mamba2 = pair(Mamba2Op)
