"""`rlx.to_jax`: a function of trees of arrays as a differentiable function of JAX arrays."""

# Trees of any type, and modules of jax, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.needed import jax_module
from xdsl_rlx.tree import Tree

if TYPE_CHECKING:
    from xdsl_rlx.frontends.hosts.jax_function import JaxFunction


@overload
def to_jax(
    f: Callable[..., Tree],
    /,
    *example: Tree,
    run: Literal["rlx", "xla"] = "xla",
    threads: SupportsIndex | None = None,
    memory_budget: SupportsIndex | None = None,
    **kwargs: Tree,
) -> JaxFunction: ...
@overload
def to_jax(
    *,
    run: Literal["rlx", "xla"] = "xla",
    threads: SupportsIndex | None = None,
    memory_budget: SupportsIndex | None = None,
) -> Callable[[Callable[..., Tree]], JaxFunction]: ...
def to_jax(
    f: Any = None,
    /,
    *example: Tree,
    run: Literal["rlx", "xla"] = "xla",
    threads: SupportsIndex | None = None,
    memory_budget: SupportsIndex | None = None,
    **kwargs: Tree,
) -> Any:
    """
    Return a function of trees of arrays as a differentiable function of JAX arrays.

    Arguments and results are trees of JAX arrays in place of arrays, of any containers that JAX knows. JAX's
    transformations apply: `jax.jit`, `grad` and forward mode to any order, `vmap`, `lax.scan`, `shard_map`. Each new
    signature of shapes and element types is traced when it is met. Without `jax_enable_x64`, results of 64 bits are
    converted to 32; values inside of `f` keep their types.

    `run="xla"` runs `f` and its gradients as StableHLO on XLA: on any of its devices, fused with the program around,
    and sharded. The method `serialize(*example, vjp_order=0)` returns bytes that `jax.export.deserialize` reads in a
    process without this package. Raises GraphError for an op that StableHLO lacks.

    `run="rlx"` runs `f` as this package's machine code inside of the program that XLA compiles, on CPUs. XLA's buffers
    are read and written in place. Arguments that `rlx.compile(f, donate=..)` donates are overwritten if XLA does not
    need them any more. A failed check is an error of JAX. So is a result with NaN, if JAX traces in
    `rlx.debug.check_nans`. `threads` and `memory_budget` are those of `rlx.compile`. Programs run one after the other
    and stay in memory.

    `example` and `kwargs` are arguments of `f`, whose values do not matter: `f` is traced for them at once. With
    keywords alone, as in `@rlx.to_jax(run="rlx")`, this is a decorator.

    ```python
    f = rlx.to_jax(lambda params, x: np.tanh(x @ params["w"]), run="rlx")
    jax.jit(jax.grad(lambda params, x: f(params, x).sum()))({"w": jnp.ones((3, 2))}, jnp.ones((4, 3)))
    ```

    Raises FrontendError if JAX is not installed, and for an argument or a result that JAX has no array for.
    """
    jax_module("to_jax")
    if f is None:
        return partial(to_jax, run=run, threads=threads, memory_budget=memory_budget)
    if not callable(f):
        raise FrontendError(f"to_jax: f: expected a function of trees of arrays, got {shown(f)}")
    given = {"threads": threads, "memory_budget": memory_budget}
    options = {name: x for name, x in given.items() if x is not None}
    if run not in ("rlx", "xla"):
        raise FrontendError(f"to_jax: run: expected 'rlx' or 'xla', got {shown(run)}")
    kind: Any = import_module("xdsl_rlx.frontends.hosts.jax_function")
    function = kind.JaxFunction(f, kind.Run(run), options)
    if example or kwargs:
        function.compile(*example, **kwargs)
    return function
