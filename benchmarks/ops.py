"""One vocabulary, three frameworks: each class says a workload's operations in its framework's best words.

Not here: what is computed (workloads.py) and how it is timed (worker.py, run.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


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

    def log(self, x: Any) -> Any: ...
    def power_spectrum(self, x: Any, window: Any, hop: int) -> Any: ...


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

    def log(self, x: Any) -> Any:
        return self.np.log(x)

    def power_spectrum(self, x: Any, window: Any, hop: int) -> Any:
        count = 1 + (x.shape[0] - window.shape[0]) // hop
        frames = x[self.np.arange(count)[:, None] * hop + self.np.arange(window.shape[0])]
        z = self.np.fft.rfft(frames * window)
        return self.np.square(z.real) + self.np.square(z.imag)

    def solve(self, matrices: Any, vectors: Any) -> Any:
        return self.np.linalg.solve(matrices, vectors[..., None])[..., 0]


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

    def log(self, x: Any) -> Any:
        return self.torch.log(x)

    def power_spectrum(self, x: Any, window: Any, hop: int) -> Any:
        z = self.torch.fft.rfft(x.unfold(0, window.shape[0], hop) * window)
        return self.torch.square(z.real) + self.torch.square(z.imag)

    def solve(self, matrices: Any, vectors: Any) -> Any:
        return self.torch.linalg.solve(matrices, vectors)


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

    def log(self, x: Any) -> Any:
        return self.graph.log(x)

    def power_spectrum(self, x: Any, window: Any, hop: int) -> Any:
        return self.graph.complex_norm_sq(self.graph.stft(x, window.shape[0], hop, window))

    def solve(self, matrices: Any, vectors: Any) -> Any:
        return self.graph.batched_dense_solve(matrices, vectors)
