"""PyTorch's blocks as mir graphs: convolutions, pools, norms by channel, attention."""

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

from peers.opinfo import Adapter, need, pair

from xdsl_rlx import Graph


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
        steps = [pair(v, spatial) for v in (stride, sides, dilation)]
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
    need(all(o < s for o, s in zip(pair(output_padding), pair(stride), strict=True)), "padding beyond the stride")
    y = g.conv_transpose2d(
        x,
        w,
        stride=pair(stride),
        padding=pair(padding),
        dilation=pair(dilation),
        groups=groups,
        output_padding=pair(output_padding),
    )
    return y if bias is None else y + g.reshape(bias, (-1, 1, 1))


def _conv_transpose1d(
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
    """An image of one row."""
    need(x.rank == 3, "an image without a batch")
    rows = [g.reshape(t, (*t.shape[:2], 1, t.shape[2])) for t in (x, w)]
    sides = [(start, *pair(v, 1)) for start, v in ((1, stride), (0, padding), (0, output_padding), (1, dilation))]
    y = _conv_transpose(g, *rows, bias, *sides[:3], groups, sides[3])
    return g.reshape(y, (*y.shape[:2], y.shape[3]))


def _unfold(g: Graph, x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Ours has the windows as rows."""
    need(x.rank == 4, "an image without a batch")
    rows = g.im2col(x, pair(kernel_size), pair(stride), pair(padding), pair(dilation))
    n = x.shape[0]
    need(n > 0, "no images")
    return g.transpose(g.reshape(rows, (n, rows.shape[0] // n, rows.shape[1])), (0, 2, 1))


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
    need(x.rank == 4 and not ceil_mode and pair(dilation) == (1, 1), "a ceiling or a dilated window")
    return g.pool(x, "max", pair(kernel_size), None if stride in (None, ()) else pair(stride), pair(padding))


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
    steps = None if stride in (None, ()) else pair(stride)
    return g.pool(x, "mean", pair(kernel_size), steps, pair(padding), count_include_pad)


def _pool1d(pool: Adapter) -> Adapter:
    """An image of one row."""

    def build(g: Graph, x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, **options: Any) -> Any:
        need(x.rank == 3 and pair(options.pop("dilation", 1), 1) == (1,), "no batch, or a dilated window")
        wide = g.reshape(x, (*x.shape[:2], 1, x.shape[2]))
        steps = None if stride in (None, (), []) else (1, *pair(stride, 1))
        y = pool(g, wide, (1, *pair(kernel_size, 1)), steps, (0, *pair(padding, 1)), **options)
        return g.reshape(y, (*y.shape[:2], y.shape[3]))

    return build


def _max_pool_backward(g: Graph, x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, **options: Any) -> Any:
    """The cotangent is ones."""
    y = _max_pool(g, x, kernel_size, stride, padding, **options)
    steps = None if stride in (None, ()) else pair(stride)
    return g.maxpool2d_backward(x, g.ones_like(y), pair(kernel_size), steps, pair(padding))


def _channels(g: Graph, x: Any, vector: Any, default: float, count: int) -> Any:
    return g.full((count,), default, x.dtype) if vector is None else vector


def _group_norm(g: Graph, x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    need(eps >= 0 and x.rank > 2, "a negative eps or no positions")
    n = x.shape[1]
    return g.group_norm(x, _channels(g, x, weight, 1.0, n), _channels(g, x, bias, 0.0, n), num_groups, eps)


def _native_group_norm(
    g: Graph, x: Any, weight: Any, bias: Any, n: int, c: int, size: int, groups: int, eps: float
) -> Any:
    return _group_norm(g, x, groups, weight, bias, eps)


def _instance_norm(
    g: Graph,
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    need(use_input_stats, "statistics that are given")
    return _group_norm(g, x, x.shape[1], weight, bias, eps)


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


ADAPTERS: dict[str, Adapter] = {
    "nn.functional.conv1d": _conv(1),
    "nn.functional.conv2d": _conv(2),
    "nn.functional.conv_transpose1d": _conv_transpose1d,
    "nn.functional.conv_transpose2d": _conv_transpose,
    "nn.functional.unfold": _unfold,
    "nn.functional.max_pool1d": _pool1d(_max_pool),
    "nn.functional.max_pool2d": _max_pool,
    "max_pool2d_with_indices_backward": _max_pool_backward,
    "nn.functional.avg_pool1d": _pool1d(_avg_pool),
    "nn.functional.avg_pool2d": _avg_pool,
    "nn.functional.group_norm": _group_norm,
    "native_group_norm": _native_group_norm,
    "nn.functional.instance_norm": _instance_norm,
    "nn.functional.rms_norm": _rms_norm,
    "nn.functional.batch_norm": _batch_norm,
    "nn.functional.scaled_dot_product_attention": _attention,
}
"""How the samples of an OpInfo are built, by its name."""
