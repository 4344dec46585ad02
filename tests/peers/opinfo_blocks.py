"""PyTorch's blocks as mir graphs: convolutions, pools, norms, attention, linear algebra, transforms."""

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

from peers.opinfo import ADAPTERS, Adapter, need

from xdsl_rlx import Graph


def _pair(x: Any, n: int = 2) -> tuple[int, ...]:
    return tuple(x) if isinstance(x, Sequence) else (x,) * n


def _conv(spatial: int) -> Adapter:
    def build(
        g: Graph,
        x: Any,
        w: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        need(x.rank == spatial + 2, "an image without a batch")
        need(padding != "same", "padding that depends on the kernel")
        sides = 0 if padding == "valid" else padding
        steps = [_pair(v, spatial) for v in (stride, sides, dilation)]
        y = g.conv(x, w, *steps, groups)
        return y if bias is None else y + g.reshape(bias, (-1, *(1,) * spatial))

    return build


def _conv_transpose(
    g: Graph,
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    need(x.rank == 4, "an image without a batch")
    need(all(o < s for o, s in zip(_pair(output_padding), _pair(stride), strict=True)), "padding beyond the stride")
    y = g.conv_transpose2d(
        x,
        w,
        stride=_pair(stride),
        padding=_pair(padding),
        dilation=_pair(dilation),
        groups=groups,
        output_padding=_pair(output_padding),
    )
    return y if bias is None else y + g.reshape(bias, (-1, 1, 1))


def _max_pool(
    g: Graph,
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    need(x.rank == 4 and not ceil_mode and _pair(dilation) == (1, 1), "a ceiling or a dilated window")
    return g.pool(x, "max", _pair(kernel_size), None if stride in (None, ()) else _pair(stride), _pair(padding))


def _avg_pool(
    g: Graph,
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    need(x.rank == 4 and not ceil_mode and divisor_override is None, "a ceiling or a divisor")
    steps = None if stride in (None, ()) else _pair(stride)
    return g.pool(x, "mean", _pair(kernel_size), steps, _pair(padding), count_include_pad)


def _channels(g: Graph, x: Any, vector: Any, default: float, count: int) -> Any:
    return g.full((count,), default, x.dtype) if vector is None else vector


def _group_norm(g: Graph, x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    need(eps >= 0 and x.rank > 2, "a negative eps or no positions")
    n = x.shape[1]
    return g.group_norm(x, _channels(g, x, weight, 1.0, n), _channels(g, x, bias, 0.0, n), num_groups, eps)


def _rms_norm(g: Graph, x: Any, normalized_shape: Sequence[int], weight: Any = None, eps: Any = None) -> Any:
    need(eps is None or eps >= 0, "a negative eps")
    n = prod(normalized_shape)
    flat = g.reshape(x, (*x.shape[: x.rank - len(normalized_shape)], n))
    gamma = g.full((n,), 1.0, x.dtype) if weight is None else g.reshape(weight, (n,))
    y = g.rms_norm(flat, gamma, g.full((n,), 0.0, x.dtype), -1, 2.0**-52 if eps is None else eps)
    return g.reshape(y, x.shape)


def _batch_norm(
    g: Graph,
    x: Any,
    mean: Any = None,
    var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.5,
    eps: float = 1e-5,
) -> Any:
    need(not training and eps >= 0 and mean is not None and x.rank > 1, "statistics of the batch")
    n = x.shape[1]
    return g.batch_norm_inference(
        x, _channels(g, x, weight, 1.0, n), _channels(g, x, bias, 0.0, n), mean, var, axis=1, eps=eps
    )


def _attention(
    g: Graph,
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    need(q.rank == k.rank == v.rank == 4 and not dropout_p, "dropout or another rank")
    need(q.shape[0] == k.shape[0] == v.shape[0], "batches that broadcast")
    need(not is_causal or q.shape[2] == k.shape[2], "a mask aligned at the left")
    kind = "causal" if is_causal else "none"
    mask = None
    if attn_mask is not None:
        kind = "custom" if attn_mask.dtype == "i1" else "bias"
        shape = (*(1,) * (4 - attn_mask.rank), *attn_mask.shape)
        mask = g.expand(g.reshape(attn_mask, shape), (*shape[:2], q.shape[2], k.shape[2]))
        if kind == "custom":
            mask = g.expand(mask, (q.shape[0], *mask.shape[1:]))
    return g.attention(
        q, k, v, mask, layout="bhsd", mask_kind=kind, score_scale=1 / sqrt(q.shape[-1]) if scale is None else scale
    )


def _solve(g: Graph, a: Any, b: Any, *, left: bool = True) -> Any:
    need(left and a.rank == 2 and b.rank in (1, 2), "a batch, or a system from the right")
    return g.dense_solve(a, b)


def _baddbmm(g: Graph, c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return g.add(g.mul(c, beta), g.mul(g.matmul(a, b), alpha))


def _tensordot(g: Graph, a: Any, b: Any, dims: Any) -> Any:
    if isinstance(dims, int):
        return g.dot_general(a, b, list(range(a.rank - dims, a.rank)), list(range(dims)))
    left, right = dims
    shared = zip(left, right, strict=True)
    need(all(a.shape[i] == b.shape[j] for i, j in shared), "contracted dimensions that broadcast")
    return g.dot_general(a, b, [d % a.rank for d in left], [d % b.rank for d in right])


def _outer(g: Graph, a: Any, b: Any) -> Any:
    return g.dot_general(a, b)


def _logsumexp(g: Graph, x: Any, dim: Any, keepdim: bool = False) -> Any:
    axes = [d % x.rank for d in _pair(dim, 1)] if x.rank else []
    need(bool(axes), "a scalar")
    top = g.stop_gradient(g.reduce_max(x, axes, True))
    total = g.log(g.reduce_sum(g.exp(x - top), axes, True)) + top
    return total if keepdim else g.reshape(total, [n for i, n in enumerate(x.shape) if i not in axes])


ADAPTERS |= {
    "nn.functional.conv1d": _conv(1),
    "nn.functional.conv2d": _conv(2),
    "nn.functional.conv_transpose2d": _conv_transpose,
    "nn.functional.max_pool2d": _max_pool,
    "nn.functional.avg_pool2d": _avg_pool,
    "nn.functional.group_norm": _group_norm,
    "nn.functional.rms_norm": _rms_norm,
    "nn.functional.batch_norm": _batch_norm,
    "nn.functional.scaled_dot_product_attention": _attention,
    "linalg.solve": _solve,
    "baddbmm": _baddbmm,
    "tensordot": _tensordot,
    "outer": _outer,
    "logsumexp": _logsumexp,
}
