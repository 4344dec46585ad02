"""Functions of `rlx.nn`, `rlx.special` and `rlx.random` beside those of JAX and, where it is installed, PyTorch.

Each row is timed as a value and as the gradient of a weighted sum, in f32 on one thread, on three sizes. The frameworks
take turns; the number is the least of the turns. `--json FILE` writes the times, `--only WORD` takes the rows that have
it in their names. `--cpu-time` counts the time of all threads of this process instead of wall time: on a busy machine,
calls that are longer than a time slice are interrupted, and wall time says little.
"""

# Functions of three libraries, of arrays of any of them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportMissingImports=false

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from turns import Turns

import xdsl_rlx as rlx

torch: Any = import_module("torch") if find_spec("torch") else None

SIZES = (1 << 10, 1 << 16, 1 << 21)
TURNS = Turns(each=0.001, together=0.8, least=12, most=200)
"""A turn is less than a time slice, so that some are not interrupted."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Row:
    """A function of arrays that `arrays(size)` makes; the first `wrt` of them are differentiated."""

    name: str
    ours: Callable[..., Any]
    jax: Callable[..., Any] | None
    torch: Callable[..., Any] | None
    arrays: Callable[[np.random.Generator, int], list[Array]]
    wrt: int = 1


def _flat(rng: np.random.Generator, size: int) -> list[Array]:
    return [rng.standard_normal((size // 256 or 1, 256), np.float32)]


def _positive(rng: np.random.Generator, size: int) -> list[Array]:
    return [rng.uniform(0.1, 9, size).astype(np.float32)]


def _unit(rng: np.random.Generator, size: int) -> list[Array]:
    return [rng.uniform(0.01, 0.99, size).astype(np.float32)]


def _pair(rng: np.random.Generator, size: int) -> list[Array]:
    return [*_flat(rng, size), *_flat(rng, size)]


def _binary(rng: np.random.Generator, size: int) -> list[Array]:
    (x,) = _flat(rng, size)
    return [x, (x > 0.3).astype(np.float32)]


def _classes(rng: np.random.Generator, size: int) -> list[Array]:
    (x,) = _flat(rng, size)
    return [x, rng.integers(0, 256, len(x)).astype(np.int32)]


def _images(rng: np.random.Generator, size: int) -> list[Array]:
    side = 2 ** round(math.log2(size / 16) / 2)
    return [rng.standard_normal((1, 16, max(side, 8), max(side, 8)), np.float32)]


def _normalized(rng: np.random.Generator, size: int) -> list[Array]:
    (x,) = _images(rng, size)
    return [x, np.ones(16, np.float32), np.zeros(16, np.float32)]


def _filtered(rng: np.random.Generator, size: int) -> list[Array]:
    (x,) = _images(rng, size)
    return [x, rng.standard_normal((16, 16, 3, 3), np.float32) / 12]


def _layers(rng: np.random.Generator, size: int) -> list[Array]:
    (x,) = _flat(rng, size)
    return [x, np.ones(256, np.float32), np.zeros(256, np.float32)]


def _nothing(_: np.random.Generator, __: int) -> list[Array]:
    return []


def _rows() -> Iterator[Row]:
    t: Any = torch
    f: Any = torch.nn.functional if torch else None

    def of(name: str, module: Any = None) -> Any:
        return getattr(module if module is not None else f, name) if torch else None

    for name, other in [
        *[(n, n) for n in ("relu", "relu6", "elu", "selu", "celu", "gelu", "silu", "mish", "leaky_relu", "softplus")],
        *[("sigmoid", "sigmoid"), ("hard_tanh", "hardtanh"), ("hard_silu", "hardswish"), ("soft_sign", "softsign")],
        *[("log_sigmoid", "logsigmoid"), ("glu", "glu")],
    ]:
        yield Row(name, getattr(rlx.nn, name), getattr(jax.nn, name), of(other), _flat)
    yield Row("softmax", rlx.nn.softmax, jax.nn.softmax, of("softmax") and (lambda x: f.softmax(x, -1)), _flat)
    yield Row(
        "log_softmax", rlx.nn.log_softmax, jax.nn.log_softmax, of("softmax") and (lambda x: f.log_softmax(x, -1)), _flat
    )
    yield Row(
        "logsumexp",
        lambda x: rlx.special.logsumexp(x, axis=-1),
        lambda x: jax.nn.logsumexp(x, axis=-1),
        t and (lambda x: t.logsumexp(x, -1)),
        _flat,
    )
    yield Row(
        "layer_norm",
        rlx.nn.layer_norm,
        lambda x, g, b: (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b,
        t and (lambda x, g, b: f.layer_norm(x, (256,), g, b)),
        _layers,
        3,
    )
    yield Row(
        "group_norm",
        lambda x, g, b: rlx.nn.group_norm(x, 4, g, b),
        _jax_group_norm,
        t and (lambda x, g, b: f.group_norm(x, 4, g, b)),
        _normalized,
        3,
    )
    yield Row(
        "batch_norm",
        _batch_norm,
        _jax_batch_norm,
        t and (lambda x, g, b: f.batch_norm(x, None, None, g, b, True)),
        _normalized,
        3,
    )
    yield Row(
        "conv2d 3x3",
        lambda x, w: rlx.nn.conv2d(x, w, padding=1),
        lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1))),
        t and (lambda x, w: f.conv2d(x, w, padding=1)),
        _filtered,
        2,
    )
    yield Row(
        "max_pool 2x2",
        lambda x: rlx.nn.max_pool(x, (2, 2)),
        lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
        t and (lambda x: f.max_pool2d(x, 2)),
        _images,
    )
    yield Row(
        "avg_pool 2x2",
        lambda x: rlx.nn.avg_pool(x, (2, 2)),
        lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") / 4,
        t and (lambda x: f.avg_pool2d(x, 2)),
        _images,
    )
    for method in ("nearest", "bilinear", "bicubic"):
        yield Row(
            f"resize {method}",
            lambda x, m=method: rlx.nn.interpolate(x, scale_factor=2, mode=m),
            lambda x, m=method: jax.image.resize(
                x, (*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3]), m.removeprefix("bi")
            ),
            t and (lambda x, m=method: f.interpolate(x, scale_factor=2, mode=m)),
            _images,
        )
    yield Row(
        "pixel_shuffle",
        lambda x: rlx.nn.pixel_shuffle(x, 2),
        lambda x: (
            x.reshape(x.shape[0], -1, 2, 2, *x.shape[2:])
            .transpose(0, 1, 4, 2, 5, 3)
            .reshape(x.shape[0], -1, 2 * x.shape[2], 2 * x.shape[3])
        ),
        t and (lambda x: f.pixel_shuffle(x, 2)),
        _images,
    )
    yield Row(
        "cross_entropy",
        rlx.nn.cross_entropy,
        lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean(),
        t and (lambda x, y: f.cross_entropy(x, y.long())),
        _classes,
    )
    yield Row(
        "binary_cross_entropy_with_logits",
        rlx.nn.binary_cross_entropy_with_logits,
        lambda x, y: (jnp.maximum(x, 0) - x * y + jnp.log1p(jnp.exp(-abs(x)))).mean(),
        of("binary_cross_entropy_with_logits"),
        _binary,
    )
    yield Row(
        "huber_loss",
        rlx.nn.huber_loss,
        lambda x, y: jnp.where(abs(x - y) < 1, 0.5 * (x - y) ** 2, abs(x - y) - 0.5).mean(),
        of("huber_loss"),
        _pair,
    )
    yield Row(
        "cosine_similarity",
        rlx.nn.cosine_similarity,
        lambda x, y: (x * y).sum(-1) / (jnp.linalg.norm(x, axis=-1) * jnp.linalg.norm(y, axis=-1)),
        t and (lambda x, y: f.cosine_similarity(x, y, -1)),
        _pair,
        2,
    )
    special = jax.scipy.special
    for name, other, arrays in [
        *[("gammaln", "gammaln", _positive), ("digamma", "digamma", _positive), ("erfinv", "erfinv", _unit)],
        *[("ndtri", "ndtri", _unit), ("logit", "logit", _unit), ("i0e", "i0e", _flat), ("i1e", "i1e", _flat)],
        *[("erfcx", "erfcx", _flat), ("j0", "bessel_j0", _flat), ("log_ndtr", "log_ndtr", _flat)],
    ]:
        module = torch.special if torch else None
        yield Row(name, getattr(rlx.special, name), getattr(special, name, None), getattr(module, other, None), arrays)
    for name in ("uniform", "normal", "gumbel", "exponential", "laplace", "gamma", "truncated_normal"):
        yield Row(f"random.{name}", *_draws(name), _nothing, 0)


def _draws(name: str) -> tuple[Any, Any, Any]:
    first = (2.5,) if name == "gamma" else (-2.0, 2.0) if name == "truncated_normal" else ()
    draws: dict[str, Any] = {}
    if torch:
        draws = {
            "uniform": lambda n: torch.rand(n),
            "normal": lambda n: torch.randn(n),
            "exponential": lambda n: torch.empty(n).exponential_(),
            "gamma": lambda n: torch._standard_gamma(torch.full((n,), 2.5)),
        }
    return (
        lambda size: getattr(rlx.random, name)(rlx.random.key(1), *first, (size,)),
        lambda size: getattr(jax.random, name)(jax.random.PRNGKey(1), *first, (size,)),
        draws.get(name),
    )


def _batch_norm(x: Any, scale: Any, bias: Any) -> Any:
    zeros, ones = np.zeros(16, np.float32), np.ones(16, np.float32)
    return rlx.nn.batch_norm(x, zeros, ones, scale, bias, training=True)[0]


def _jax_batch_norm(x: Any, scale: Any, bias: Any) -> Any:
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * scale[:, None, None] + bias[:, None, None]


def _jax_group_norm(x: Any, scale: Any, bias: Any) -> Any:
    parts = x.reshape(x.shape[0], 4, -1)
    parts = (parts - parts.mean(-1, keepdims=True)) * jax.lax.rsqrt(parts.var(-1, keepdims=True) + 1e-5)
    return parts.reshape(x.shape) * scale[:, None, None] + bias[:, None, None]


def _calls(row: Row, size: int, gradient: bool) -> dict[str, Callable[[], Any]]:
    """What each framework is to do, compiled."""
    arrays = row.arrays(np.random.default_rng(0), size)
    found: dict[str, Callable[[], Any]] = {}
    wrt = tuple(range(row.wrt))
    by_size = not arrays

    def loss(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *xs: (function(*xs) ** 2).sum()

    def ours(*xs: Any) -> Any:
        if by_size:
            return row.ours(size)
        return rlx.grad(loss(row.ours), argnums=wrt)(*xs) if gradient else row.ours(*xs)

    compiled = rlx.compile(ours, threads=1)
    found["ours"] = lambda: compiled(*arrays)
    if row.jax is not None:
        theirs = row.jax

        def by_jax(*xs: Any) -> Any:
            if by_size:
                return theirs(size)
            return jax.grad(loss(theirs), argnums=wrt)(*xs) if gradient else theirs(*xs)

        jitted, given = jax.jit(by_jax), [jnp.asarray(x) for x in arrays]
        found["jax"] = lambda: jax.block_until_ready(jitted(*given))
    if torch and row.torch is not None:
        function = row.torch
        tensors = [torch.from_numpy(x.copy()) for x in arrays]

        def by_torch() -> Any:
            if by_size:
                return function(size)
            if not gradient:
                with torch.no_grad():
                    return function(*tensors)
            leaves = [x.detach().requires_grad_() for x in tensors[: row.wrt]]
            return torch.autograd.grad((function(*leaves, *tensors[row.wrt :]) ** 2).sum(), leaves)

        try:
            by_torch()
        except RuntimeError:
            # no derivative there
            return found
        found["torch"] = by_torch
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--cpu-time", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.cpu_time else time.perf_counter
    jax.config.update("jax_platforms", "cpu")
    # XLA's pool has the size of the affinity when it is made, at the first array
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if torch:
        torch.set_num_threads(1)
    lines: list[dict[str, Any]] = []
    for row in _rows():
        if options.only not in row.name:
            continue
        for gradient in (False, True) if row.wrt else (False,):
            for size in SIZES:
                found = TURNS.times_of(_calls(row, size, gradient), clock)
                peers = [value for name, value in found.items() if name != "ours"]
                ratio = found["ours"] / min(peers) if peers else math.nan
                line = {"name": row.name, "gradient": gradient, "size": size, "ratio": ratio, **found}
                lines.append(line)
                shown = "  ".join(f"{name} {value * 1e6:9.1f}" for name, value in found.items())
                print(f"{row.name:34} {'grad' if gradient else '':4} {size:8}  {ratio:5.2f}  {shown}", flush=True)
    if options.json:
        options.json.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
