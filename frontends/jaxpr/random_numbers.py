"""Rows of random keys and numbers, which are those of JAX bit by bit: a key is its words, a u32 array."""

# Objects of jax, which is not installed everywhere, and operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xdsl_rlx.custom_derivatives import custom_jvp
from xdsl_rlx.frontends.jaxpr import private
from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.jaxpr.types import stored_shape
from xdsl_rlx.frontends.shared.values import is_constant, traced
from xdsl_rlx.op_functions import function
from xdsl_rlx.transforms.rules.bits import THREEFRY_PARITY, THREEFRY_ROTATIONS


@ROWS.add("threefry2x32")
def threefry2x32(c: Call, *operands: Any) -> Any:
    if is_constant(*operands):
        return [np.broadcast_to(word, c.shape) for word in _of_constants(*operands)]
    return [np.broadcast_to(function("threefry2x32")(*map(traced, operands), word), c.shape) for word in (0, 1)]


def _of_constants(first: Any, second: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """As `mir.threefry2x32`, in NumPy."""
    keys = (first, second, first ^ second ^ np.uint32(THREEFRY_PARITY))
    x, y = x + first, y + second
    for number in range(5):
        for rotation in THREEFRY_ROTATIONS[number % 2]:
            x = x + y
            y = x ^ (y << np.uint32(rotation) | y >> np.uint32(32 - rotation))
        x = x + keys[(number + 1) % 3]
        y = y + (keys[(number + 2) % 3] + np.uint32(number + 1))
    return x, y


@ROWS.add("iota_2x32_shape", composite=True)
def _iota_2x32_shape(c: Call) -> Any:
    """The upper and lower halves of the numbers of all elements."""
    size = int(np.prod(c.shape))
    if size < 1 << 16:
        count = np.arange(size, dtype=np.uint32).reshape(c.shape)
        return [np.zeros(c.shape, np.uint32), count]
    numbers = function("iota")((size,), 0, "i64").reshape(c.shape)
    upper = np.zeros(c.shape, np.uint32) if size <= 1 << 32 else (numbers >> 32).astype(np.uint32)
    return [upper, numbers.astype(np.uint32)]


@ROWS.add("random_wrap", "random_unwrap", "random_clone")
def _same_words(c: Call, key: Any) -> Any:
    return key


def _run(c: Call, build: Callable[..., Any], variables: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
    """What a function of JAX, of words of keys and other arrays, gives."""
    import jax

    types = [jax.ShapeDtypeStruct(stored_shape(one.aval), _dtype(one.aval)) for one in variables]
    jaxpr = c.walk.kept(c.eqn, ("generator",), lambda: c.walk.trace(build, *types))
    return c.walk.run(jaxpr, xs)


def _dtype(aval: Any) -> Any:
    return np.uint32 if str(aval.dtype).startswith("key<") else aval.dtype


def _over(count: int, build: Callable[..., Any]) -> Callable[..., Any]:
    import jax

    for _ in range(count):
        build = jax.vmap(build)
    return build


@ROWS.add("random_seed", composite=True)
def _random_seed(c: Call, seeds: Any) -> Any:
    generator = private.generator(c.eqn.outvars[0].aval)
    return _run(c, _over(np.ndim(seeds), generator.seed), c.eqn.invars, [seeds])


@ROWS.add("random_bits", composite=True)
def _random_bits(c: Call, keys: Any) -> Any:
    aval = c.eqn.invars[0].aval
    generator, width, shape = private.generator(aval), c.params["bit_width"], c.params["shape"]
    build = _over(len(aval.shape), lambda key: generator.random_bits(key, width, shape))
    return _run(c, build, c.eqn.invars, [keys])


@ROWS.add("random_split", composite=True)
def _random_split(c: Call, keys: Any) -> Any:
    aval = c.eqn.invars[0].aval
    generator, shape = private.generator(aval), c.params["shape"]
    return _run(c, _over(len(aval.shape), lambda key: generator.split(key, shape)), c.eqn.invars, [keys])


@ROWS.add("random_fold_in", composite=True)
def _random_fold_in(c: Call, keys: Any, numbers: Any) -> Any:
    import jax.numpy as jnp

    ours, theirs = (one.aval for one in c.eqn.invars)
    generator, words = private.generator(ours), stored_shape(ours)[len(ours.shape) :]
    shape = np.broadcast_shapes(ours.shape, theirs.shape)

    def build(keys: Any, numbers: Any) -> Any:
        every = jnp.broadcast_to(keys, (*shape, *words))
        return _over(len(shape), generator.fold_in)(every, jnp.broadcast_to(numbers, shape))

    return _run(c, build, c.eqn.invars, [keys, numbers])


@ROWS.add("random_gamma", composite=True)
def _random_gamma(c: Call, keys: Any, alpha: Any) -> Any:
    import jax

    key_type = c.eqn.invars[0].aval.dtype
    log_space = bool(c.params["log_space"])

    def build(*operands: Any) -> list[Any]:
        types = [jax.ShapeDtypeStruct(one.aval.shape, one.aval.dtype) for one in c.eqn.invars]
        jaxpr = c.walk.kept(
            c.eqn,
            ("samples", str(key_type)),
            lambda: c.walk.trace(lambda key, alpha: private.gamma_samples(key, alpha, log_space), *types),
        )
        return c.walk.run(jaxpr, operands)

    if is_constant(alpha):
        return build(keys, alpha)

    @custom_jvp
    def sample(alpha: Any) -> Any:
        return build(keys, alpha)[0]

    def pushed(primals: Any, tangents: Any) -> Any:
        found = sample(*primals)
        return found, tangents[0] * function("gamma_slope")(primals[0], found, log_space)

    sample.defjvp(pushed)
    return sample(alpha)


ROWS.refuse(
    "its state is hidden in the run, so its results cannot be had again; use jax.random",
    "rng_uniform",
)
