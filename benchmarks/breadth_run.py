"""Run a case of `breadth.py` in all libraries, compare the values, and time the calls."""

# Functions of three libraries, of arrays of any of them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from breadth_case import BF16, Case, Function, torch
from turns import Turns

import xdsl_rlx as rlx

TURNS = Turns(each=0.002, together=0.5, least=8, most=100)
TURNS_OF_THREADS = Turns(each=0.03, together=2.0, least=8, most=100, before=0.02)


def times_of(case: Case, threads: int, clock: Callable[[], float], first_only: bool = False) -> dict[str, Any]:
    """
    Return the times of a case: the least of interleaved turns, and the first call of this package and of JAX.

    With `first_only` there are no turns, and no time of PyTorch and NumPy.
    """
    calls = _calls(case, threads)
    if first_only:
        calls = {name: call for name, call in calls.items() if name in ("ours", "jax")}
    values, cold = dict[str, list[Any]](), dict[str, float]()
    for name, call in calls.items():
        start = time.process_time()
        values[name] = _arrays(call())
        cold[name] = time.process_time() - start
    times = {} if first_only else (TURNS if threads == 1 else TURNS_OF_THREADS).times_of(calls, clock)
    peers = [value for name, value in times.items() if name != "ours"]
    return {
        "family": case.family,
        "name": case.name,
        "times": times,
        "ratio": times.get("ours", math.nan) / min(peers, default=math.nan),
        "cold": cold,
        "cold_ratio": cold["ours"] / cold.get("jax", math.nan),
        "differs": [name for name in values if not _close(values["ours"], values[name], case.tolerance)],
    }


def _calls(case: Case, threads: int) -> dict[str, Callable[[], Any]]:
    ours = rlx.grad(loss_of(case.ours), argnums=case.wrt) if case.wrt else case.ours
    compiled = rlx.compile(ours, threads=threads)
    calls: dict[str, Callable[[], Any]] = {"ours": lambda: compiled(*case.arrays)}
    if case.jax is not None:
        jitted = jax.jit(jax.grad(loss_of(case.jax), argnums=case.wrt) if case.wrt else case.jax)
        given = [jnp.asarray(x) for x in case.arrays]
        calls["jax"] = lambda: jax.block_until_ready(jitted(*given))
    if torch and case.torch is not None:
        calls["torch"] = _by_torch(case, case.torch)
    if case.numpy is not None and not case.wrt:
        by_numpy = case.numpy
        # as the other libraries, in row-major order
        calls["numpy"] = lambda: np.asarray(by_numpy(*case.arrays), order="C")
    return calls


def _by_torch(case: Case, function: Function) -> Callable[[], Any]:
    tensors = [_tensor(x) for x in case.arrays]

    def call() -> Any:
        if not case.wrt:
            with torch.no_grad():
                return function(*tensors)
        xs = list(tensors)
        for n in case.wrt:
            xs[n] = tensors[n].detach().requires_grad_()
        found = torch.autograd.grad(loss_of(function)(*xs), [xs[n] for n in case.wrt], allow_unused=True)
        return [torch.zeros_like(xs[n]) if y is None else y for n, y in zip(case.wrt, found, strict=True)]

    return call


def _tensor(x: np.ndarray[Any, Any]) -> Any:
    if x.dtype == BF16:
        return torch.from_numpy(x.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(x.copy())


def loss_of(function: Function) -> Function:
    """The sum of squares of all results, which has a dense gradient."""

    def loss(*xs: Any) -> Any:
        found = function(*xs)
        return sum((y * y).sum() for y in (found if isinstance(found, tuple) else (found,)))

    return loss


def _arrays(found: Any) -> list[Any]:
    def array(x: Any) -> Any:
        if torch and isinstance(x, torch.Tensor):
            x = x.detach().to(torch.float64) if x.dtype.is_floating_point else x.detach()
        x = np.asarray(x)
        return x.astype(np.float64) if x.dtype == BF16 else x

    return [array(x) for x in (found if isinstance(found, (tuple, list)) else [found])]


def _close(ours: list[Any], theirs: list[Any], tolerance: float) -> bool:
    for x, y in zip(ours, theirs, strict=True):
        if x.shape != y.shape:
            return False
        # at least the rounding of f32: NumPy's functions may return f64
        scale = max(float(np.max(np.abs(y), initial=0)), 1e-30)
        if not np.all(np.abs(x.astype(np.float64) - y.astype(np.float64)) <= tolerance * scale):
            return False
    return True
