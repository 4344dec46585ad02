"""One vocabulary, three frameworks: each class says a workload's operations in its framework's best words.

Not here: what is computed (workloads.py) and how it is timed (worker.py, run.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Body = Callable[[Any, Any], tuple[Any, Any]]
"""`(carry, x) -> (carry, y)`, as of `jax.lax.scan`."""

Loss = Callable[[Any, dict[str, Any]], Any]
"""A scalar from these operations and values by name."""


class Ops(Protocol):
    """What a workload may say. Values are the framework's own; reductions keep the axis they reduce."""

    def linear(self, x: Any, w: Any, b: Any) -> Any: ...
    def relu(self, x: Any) -> Any: ...
    def gelu(self, x: Any) -> Any: ...
    def tanh(self, x: Any) -> Any: ...
    def exp(self, x: Any) -> Any: ...
    def sigmoid(self, x: Any) -> Any: ...
    def sin(self, x: Any) -> Any: ...
    def cos(self, x: Any) -> Any: ...
    def abs(self, x: Any) -> Any: ...
    def maximum(self, x: Any, y: Any) -> Any: ...
    def minimum(self, x: Any, y: Any) -> Any: ...
    def where_positive(self, condition: Any, x: Any, y: Any) -> Any: ...
    def sum(self, x: Any, axis: int) -> Any: ...
    def max(self, x: Any, axis: int) -> Any: ...
    def mean(self, x: Any) -> Any: ...
    def softmax(self, x: Any) -> Any: ...
    def layer_norm(self, x: Any, gamma: Any, beta: Any) -> Any: ...
    def transpose(self, x: Any) -> Any: ...
    def reshape(self, x: Any, shape: Sequence[int]) -> Any: ...
    def cross_entropy(self, logits: Any, labels: Any) -> Any: ...
    def matmul(self, x: Any, y: Any) -> Any: ...
    def embed(self, table: Any, ids: Any) -> Any: ...
    def solve(self, matrices: Any, vectors: Any) -> Any: ...
    def grouped_matmul(self, x: Any, w: Any, ids: Any) -> Any: ...

    def conv(self, x: Any, w: Any, padding: int = 0, groups: int = 1) -> Any: ...
    def max_pool(self, x: Any) -> Any: ...

    def causal_attention(self, q: Any, k: Any, v: Any) -> Any: ...
    def heads_attention(self, q: Any, k: Any, v: Any, batch: int, heads: int, kv_heads: int, causal: bool) -> Any:
        """Of tokens one below the other, their heads side by side."""
        ...

    def rope(self, x: Any, cos: Any, sin: Any, batch: int, heads: int) -> Any: ...
    def rms_norm(self, x: Any, gamma: Any) -> Any: ...
    def silu(self, x: Any) -> Any: ...

    def log(self, x: Any) -> Any: ...
    def power_spectrum(self, x: Any, window: Any, hop: int) -> Any: ...

    def scan(
        self, body: Body, init: Any, xs: Any = None, length: int | None = None, checkpoints: int | None = None
    ) -> Any: ...
    def lstm(self, x: Any, wx: Any, wh: Any, b: Any, zeros: Any) -> Any: ...
    def rnn(self, x: Any, wx: Any, wh: Any, b: Any, zeros: Any) -> Any: ...
    def value_and_grad(self, loss: Loss, wrt: dict[str, Any], others: dict[str, Any]) -> tuple[Any, list[Any]]: ...


class JaxOps:
    """`jax.numpy` and `jax.nn`."""

    def __init__(self) -> None:
        import jax
        import jax.numpy as jnp

        self.jax, self.np = jax, jnp
        self.relu, self.tanh, self.exp, self.sigmoid = jax.nn.relu, jnp.tanh, jnp.exp, jax.nn.sigmoid
        self.sin, self.cos, self.abs, self.maximum, self.minimum = jnp.sin, jnp.cos, jnp.abs, jnp.maximum, jnp.minimum
        self.transpose, self.reshape, self.mean, self.softmax = jnp.transpose, jnp.reshape, jnp.mean, jax.nn.softmax

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return x @ w + b

    def gelu(self, x: Any) -> Any:
        return self.jax.nn.gelu(x, approximate=False)

    def where_positive(self, condition: Any, x: Any, y: Any) -> Any:
        return self.np.where(condition > 0, x, y)

    def sum(self, x: Any, axis: int) -> Any:
        return self.np.sum(x, axis=axis, keepdims=True)

    def max(self, x: Any, axis: int) -> Any:
        return self.np.max(x, axis=axis, keepdims=True)

    def layer_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        return self.jax.nn.standardize(x, epsilon=1e-5) * gamma + beta

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        scores = self.np.take_along_axis(self.jax.nn.log_softmax(logits), labels[:, None], axis=1)
        return -self.np.mean(scores)

    def matmul(self, x: Any, y: Any) -> Any:
        return x @ y

    def embed(self, table: Any, ids: Any) -> Any:
        return table[ids]

    def grouped_matmul(self, x: Any, w: Any, ids: Any) -> Any:
        order = self.np.argsort(ids)
        sizes = self.np.bincount(ids, length=w.shape[0])
        return (
            self.np.zeros((x.shape[0], w.shape[2]), x.dtype).at[order].set(self.jax.lax.ragged_dot(x[order], w, sizes))
        )

    def conv(self, x: Any, w: Any, padding: int = 0, groups: int = 1) -> Any:
        sides = [(padding, padding)] * 2
        return self.jax.lax.conv_general_dilated(x, w, (1, 1), sides, feature_group_count=groups)

    def max_pool(self, x: Any) -> Any:
        return self.jax.lax.reduce_window(x, -self.np.inf, self.jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def causal_attention(self, q: Any, k: Any, v: Any) -> Any:
        q, k, v = (self.np.swapaxes(x, 1, 2) for x in (q, k, v))
        return self.np.swapaxes(self.jax.nn.dot_product_attention(q, k, v, is_causal=True), 1, 2)

    def heads_attention(self, q: Any, k: Any, v: Any, batch: int, heads: int, kv_heads: int, causal: bool) -> Any:
        split = [x.reshape(batch, -1, n, x.shape[1] // n) for x, n in ((q, heads), (k, kv_heads), (v, kv_heads))]
        return self.jax.nn.dot_product_attention(*split, is_causal=causal).reshape(q.shape)

    def rope(self, x: Any, cos: Any, sin: Any, batch: int, heads: int) -> Any:
        a, b = self.np.split(x.reshape(batch, -1, heads, x.shape[1] // heads), 2, axis=-1)
        cos, sin = cos[:, None], sin[:, None]
        return self.np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1).reshape(x.shape)

    def rms_norm(self, x: Any, gamma: Any) -> Any:
        return x * self.jax.lax.rsqrt(self.np.mean(x * x, axis=-1, keepdims=True) + 1e-5) * gamma

    def silu(self, x: Any) -> Any:
        return self.jax.nn.silu(x)

    def log(self, x: Any) -> Any:
        return self.np.log(x)

    def power_spectrum(self, x: Any, window: Any, hop: int) -> Any:
        count = 1 + (x.shape[0] - window.shape[0]) // hop
        frames = x[self.np.arange(count)[:, None] * hop + self.np.arange(window.shape[0])]
        z = self.np.fft.rfft(frames * window)
        return self.np.square(z.real) + self.np.square(z.imag)

    def solve(self, matrices: Any, vectors: Any) -> Any:
        return self.np.linalg.solve(matrices, vectors[..., None])[..., 0]

    def scan(
        self, body: Body, init: Any, xs: Any = None, length: int | None = None, checkpoints: int | None = None
    ) -> Any:
        scan, tree = self.jax.lax.scan, self.jax.tree
        if checkpoints is None:
            return scan(body, init, xs, length)
        parts = tree.map(lambda x: x.reshape(checkpoints, -1, *x.shape[1:]), xs)
        segment = self.jax.checkpoint(lambda carry, part: scan(body, carry, part))
        last, ys = scan(segment, init, parts)
        return last, tree.map(lambda y: y.reshape(-1, *y.shape[2:]), ys)

    def lstm(self, x: Any, wx: Any, wh: Any, b: Any, zeros: Any) -> Any:
        def body(carry: Any, projected: Any) -> Any:
            h, c = carry
            i, f, g, o = self.np.split(projected + h @ wh, 4, axis=-1)
            c = self.sigmoid(f) * c + self.sigmoid(i) * self.tanh(g)
            h = self.sigmoid(o) * self.tanh(c)
            return (h, c), h

        return self.jax.lax.scan(body, (zeros, zeros), x @ wx + b)[1]

    def rnn(self, x: Any, wx: Any, wh: Any, b: Any, zeros: Any) -> Any:
        def body(h: Any, projected: Any) -> Any:
            h = self.tanh(projected + h @ wh)
            return h, h

        return self.jax.lax.scan(body, zeros, x @ wx + b)[1]

    def value_and_grad(self, loss: Loss, wrt: dict[str, Any], others: dict[str, Any]) -> tuple[Any, list[Any]]:
        value, gradients = self.jax.value_and_grad(lambda by: loss(self, {**by, **others}))(wrt)
        return value, [gradients[name] for name in wrt]


class TorchOps:
    """`torch` and `torch.nn.functional`, for eager and compiled runs alike."""

    def __init__(self) -> None:
        import torch
        import torch.nn.functional as functional

        self.torch, self.nn = torch, functional
        self.relu, self.gelu, self.tanh, self.exp = torch.relu, functional.gelu, torch.tanh, torch.exp
        self.sigmoid, self.sin, self.cos, self.abs = torch.sigmoid, torch.sin, torch.cos, torch.abs
        self.reshape, self.mean, self.cross_entropy = torch.reshape, torch.mean, functional.cross_entropy

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return self.torch.addmm(b, x, w)

    def maximum(self, x: Any, y: Any) -> Any:
        return self.torch.maximum(x, y) if isinstance(y, self.torch.Tensor) else self.torch.clamp_min(x, y)

    def minimum(self, x: Any, y: Any) -> Any:
        return self.torch.minimum(x, y) if isinstance(y, self.torch.Tensor) else self.torch.clamp_max(x, y)

    def where_positive(self, condition: Any, x: Any, y: Any) -> Any:
        return self.torch.where(condition > 0, x, y)

    def sum(self, x: Any, axis: int) -> Any:
        return self.torch.sum(x, dim=axis, keepdim=True)

    def max(self, x: Any, axis: int) -> Any:
        return self.torch.amax(x, dim=axis, keepdim=True)

    def softmax(self, x: Any) -> Any:
        return self.torch.softmax(x, dim=-1)

    def layer_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        return self.nn.layer_norm(x, (x.shape[-1],), gamma, beta, eps=1e-5)

    def transpose(self, x: Any) -> Any:
        return self.torch.transpose(x, 0, 1)

    def matmul(self, x: Any, y: Any) -> Any:
        return x @ y

    def embed(self, table: Any, ids: Any) -> Any:
        return self.nn.embedding(ids, table)

    def grouped_matmul(self, x: Any, w: Any, ids: Any) -> Any:
        if self.torch.compiler.is_compiling():
            # how many rows an expert has is not known then: all rows through all experts, and a choice
            chosen = self.nn.one_hot(ids.long(), w.shape[0]).to(x.dtype)
            return self.torch.einsum("tk,ekn,te->tn", x, w, chosen)
        rows = [self.torch.nonzero(ids == expert).squeeze(1) for expert in range(w.shape[0])]
        products = self.torch.cat([x[own] @ w[expert] for expert, own in enumerate(rows)])
        return self.torch.zeros_like(products).index_copy(0, self.torch.cat(rows), products)

    def conv(self, x: Any, w: Any, padding: int = 0, groups: int = 1) -> Any:
        return self.nn.conv2d(x, w, padding=padding, groups=groups)

    def max_pool(self, x: Any) -> Any:
        return self.nn.max_pool2d(x, 2)

    def causal_attention(self, q: Any, k: Any, v: Any) -> Any:
        return self.nn.scaled_dot_product_attention(q, k, v, is_causal=True)

    def heads_attention(self, q: Any, k: Any, v: Any, batch: int, heads: int, kv_heads: int, causal: bool) -> Any:
        pairs = ((q, heads), (k, kv_heads), (v, kv_heads))
        split = [x.view(batch, -1, n, x.shape[1] // n).transpose(1, 2) for x, n in pairs]
        grouped = heads != kv_heads
        a = self.nn.scaled_dot_product_attention(*split, is_causal=causal, enable_gqa=grouped)
        return a.transpose(1, 2).reshape(q.shape)

    def rope(self, x: Any, cos: Any, sin: Any, batch: int, heads: int) -> Any:
        a, b = x.view(batch, -1, heads, x.shape[1] // heads).chunk(2, dim=-1)
        cos, sin = cos[:, None], sin[:, None]
        return self.torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).view(x.shape)

    def rms_norm(self, x: Any, gamma: Any) -> Any:
        return self.nn.rms_norm(x, (x.shape[-1],), gamma, eps=1e-5)

    def silu(self, x: Any) -> Any:
        return self.nn.silu(x)

    def log(self, x: Any) -> Any:
        return self.torch.log(x)

    def power_spectrum(self, x: Any, window: Any, hop: int) -> Any:
        z = self.torch.fft.rfft(x.unfold(0, window.shape[0], hop) * window)
        return self.torch.square(z.real) + self.torch.square(z.imag)

    def solve(self, matrices: Any, vectors: Any) -> Any:
        return self.torch.linalg.solve(matrices, vectors)

    def scan(
        self, body: Body, init: Any, xs: Any = None, length: int | None = None, checkpoints: int | None = None
    ) -> Any:
        """A loop in Python; `unbind`, because the gradient of an index is as large as what is indexed."""
        several = isinstance(xs, tuple)
        sources = xs if several else () if xs is None else (xs,)
        times = len(sources[0]) if sources else length
        assert times is not None

        def run(carry: Any, first: int, last: int) -> tuple[Any, list[Any]]:
            columns = [x[first:last].unbind(0) for x in sources]
            ys = list[Any]()
            for t in range(last - first):
                row = tuple(column[t] for column in columns)
                carry, y = body(carry, row if several else row[0] if row else None)
                ys.append(y)
            return carry, ys

        carry, ys = init, list[Any]()
        each = times // (checkpoints or 1)
        for first in range(0, times, each):
            if checkpoints is None:
                carry, part = run(carry, first, first + each)
            else:
                keep = self.torch.utils.checkpoint.checkpoint
                carry, part = keep(run, carry, first, first + each, use_reentrant=False)
            ys += part
        return carry, None if ys[0] is None else self.torch.stack(ys)

    def lstm(self, x: Any, wx: Any, wh: Any, b: Any, zeros: Any) -> Any:
        weights = [wx.T, wh.T, b, self.torch.zeros_like(b)]
        state = (zeros[None], zeros[None])
        return self.torch.lstm(x, state, weights, True, 1, 0.0, True, False, False)[0]

    def rnn(self, x: Any, wx: Any, wh: Any, b: Any, zeros: Any) -> Any:
        weights = [wx.T, wh.T, b, self.torch.zeros_like(b)]
        return self.torch.rnn_tanh(x, zeros[None], weights, True, 1, 0.0, True, False, False)[0]

    def value_and_grad(self, loss: Loss, wrt: dict[str, Any], others: dict[str, Any]) -> tuple[Any, list[Any]]:
        by = {name: value.detach().requires_grad_() for name, value in wrt.items()}
        value = loss(self, {**by, **others})
        return value.detach(), list(self.torch.autograd.grad(value, list(by.values())))


class RlxOps:
    """The `mir` builder of this project."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.relu, self.gelu, self.tanh, self.exp = graph.relu, graph.gelu, graph.tanh, graph.exp
        self.sigmoid, self.sin, self.cos, self.abs = graph.sigmoid, graph.sin, graph.cos, graph.abs
        self.maximum, self.minimum = graph.max, graph.min

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return x @ w + b

    def where_positive(self, condition: Any, x: Any, y: Any) -> Any:
        return self.graph.where(condition > 0.0, x, y)

    def sum(self, x: Any, axis: int) -> Any:
        return self.graph.reduce_sum(x, axes=[axis], keep_dim=True)

    def max(self, x: Any, axis: int) -> Any:
        return self.graph.reduce_max(x, axes=[axis], keep_dim=True)

    def mean(self, x: Any) -> Any:
        return self.graph.reduce_mean(x, axes=list(range(len(x.shape))))

    def softmax(self, x: Any) -> Any:
        return self.graph.softmax(x, axis=-1)

    def layer_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        return self.graph.layer_norm(x, gamma, beta, axis=-1, eps=1e-5)

    def transpose(self, x: Any) -> Any:
        return self.graph.transpose(x, perm=(1, 0))

    def reshape(self, x: Any, shape: Sequence[int]) -> Any:
        return self.graph.reshape(x, new_shape=tuple(shape))

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        return self.mean(self.graph.softmax_cross_entropy_with_logits(logits, labels))

    def matmul(self, x: Any, y: Any) -> Any:
        return x @ y

    def embed(self, table: Any, ids: Any) -> Any:
        return self.graph.gather(table, ids)

    def grouped_matmul(self, x: Any, w: Any, ids: Any) -> Any:
        return self.graph.grouped_matmul(x, w, ids)

    def conv(self, x: Any, w: Any, padding: int = 0, groups: int = 1) -> Any:
        return self.graph.conv(x, w, padding=padding, groups=groups)

    def max_pool(self, x: Any) -> Any:
        return self.graph.pool(x, "max", 2)

    def causal_attention(self, q: Any, k: Any, v: Any) -> Any:
        return self.graph.attention(q, k, v, layout="bhsd", mask_kind="causal")

    def heads_attention(self, q: Any, k: Any, v: Any, batch: int, heads: int, kv_heads: int, causal: bool) -> Any:
        packed = [self.graph.reshape(x, (batch, -1, x.shape[1])) for x in (q, k, v)]
        mask = "causal" if causal else "none"
        a = self.graph.attention(*packed, num_heads=heads, num_kv_heads=kv_heads, mask_kind=mask)
        return self.graph.reshape(a, q.shape)

    def rope(self, x: Any, cos: Any, sin: Any, batch: int, heads: int) -> Any:
        packed = self.graph.reshape(x, (batch, -1, x.shape[1]))
        return self.graph.reshape(self.graph.rope(packed, cos, sin, num_heads=heads), x.shape)

    def rms_norm(self, x: Any, gamma: Any) -> Any:
        return self.graph.rms_norm(x, gamma, self.graph.zeros_like(gamma))

    def silu(self, x: Any) -> Any:
        return self.graph.silu(x)

    def log(self, x: Any) -> Any:
        return self.graph.log(x)

    def power_spectrum(self, x: Any, window: Any, hop: int) -> Any:
        return self.graph.complex_norm_sq(self.graph.stft(x, window.shape[0], hop, window))

    def solve(self, matrices: Any, vectors: Any) -> Any:
        return self.graph.batched_dense_solve(matrices, vectors)

    def scan(
        self, body: Body, init: Any, xs: Any = None, length: int | None = None, checkpoints: int | None = None
    ) -> Any:
        return self.graph.scan(body, init, xs, length, checkpoints=checkpoints)

    def lstm(self, x: Any, wx: Any, wh: Any, b: Any, zeros: Any) -> Any:
        n = wh.shape[0]

        def body(carry: Any, e: Any) -> Any:
            h, c = carry
            gates = e @ wx + h @ wh + b
            i, f, g, o = (gates[:, k * n : (k + 1) * n] for k in range(4))
            c = self.sigmoid(f) * c + self.sigmoid(i) * self.tanh(g)
            h = self.sigmoid(o) * self.tanh(c)
            return (h, c), h

        return self.graph.scan(body, (zeros, zeros), x)[1]

    def rnn(self, x: Any, wx: Any, wh: Any, b: Any, zeros: Any) -> Any:
        def body(h: Any, e: Any) -> Any:
            h = self.tanh(e @ wx + h @ wh + b)
            return h, h

        return self.graph.scan(body, zeros, x)[1]

    def value_and_grad(self, loss: Loss, wrt: dict[str, Any], others: dict[str, Any]) -> tuple[Any, list[Any]]:
        import xdsl_rlx as rlx

        graph = rlx.Graph("inner")
        given = {**wrt, **others}
        values = {name: graph.input(name, value.shape, value.dtype) for name, value in given.items()}
        graph.set_outputs([loss(RlxOps(graph), values)])
        one = self.graph.full((), 1.0)
        value, *gradients = self.graph.inline(rlx.grad_with_loss(graph, list(wrt)), **given, d_output=one)
        return value, gradients
