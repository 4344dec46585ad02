"""The backend of `torch.compile`: graphs of AOTAutograd, forward and backward, as compiled programs."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl_rlx.frontends.aten import table, walk
from xdsl_rlx.frontends.aten.decompositions import without_rows
from xdsl_rlx.frontends.hosts.torch_donated import take_donated
from xdsl_rlx.frontends.hosts.torch_program import Program
from xdsl_rlx.frontends.hosts.torch_recurrent import with_recurrent_layers
from xdsl_rlx.frontends.hosts.torch_residuals import with_least_residuals
from xdsl_rlx.frontends.hosts.torch_threads import calm_openmp
from xdsl_rlx.frontends.shared.errors import FrontendError, missing_ops
from xdsl_rlx.lowering.backend.driver.process import thread_count

assert table.ROWS

OPTIONS = ("threads", "memory_budget", "strict")


def xdsl_rlx(graph: Any, example: Sequence[Any], *, options: Mapping[str, Any] | None = None, **others: Any) -> Any:
    """
    Compile a graph of Dynamo: the backend "xdsl_rlx" of `torch.compile`.

    `options`: `threads` and `memory_budget` as in `rlx.compile`; `strict` raises for a graph with an operator that has
    no translation, which otherwise runs in PyTorch, with one warning that lists these operators.
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._dynamo.backends.debugging import aot_eager
    from torch._functorch.partitioners import default_partition

    given = {**(options or {}), **others}
    if unknown := [name for name in given if name not in OPTIONS]:
        raise FrontendError(
            f"torch.compile: option {unknown[0]!r} is not known to the backend xdsl_rlx; expected {', '.join(OPTIONS)}"
        )
    strict = bool(given.pop("strict", False))
    if thread_count(given.get("threads")) > 1:
        calm_openmp()

    def partition(joint: Any, *args: Any, **kwargs: Any) -> Any:
        _check(joint.graph)
        return default_partition(with_least_residuals(joint, kwargs["num_fwd_outputs"]), *args, **kwargs)

    def compiler(module: Any, example: Sequence[Any]) -> Any:
        _check(module.graph)
        return _boxed(Program(module, given), module, strict)

    def backward_compiler(module: Any, example: Sequence[Any]) -> Any:
        _check(module.graph)
        return _boxed(Program(module, given, take_donated(module.graph)), module, strict)

    backend = aot_autograd(
        fw_compiler=compiler,
        bw_compiler=backward_compiler,
        inference_compiler=compiler,
        decompositions=without_rows(),
        partition_fn=partition,
    )
    try:
        return backend(with_recurrent_layers(graph), example)
    except FrontendError as error:
        if strict or not error.missing:
            raise
        _warn(error)
        return aot_eager(graph, list(example))


def _check(graph: Any) -> None:
    """FrontendError for a graph with operators that have no row, or with tensors that cannot be read."""
    if found := [*walk.missing(graph), *walk.unreadable(graph)]:
        raise missing_ops(
            "torch.compile(backend='xdsl_rlx')",
            found,
            "The whole graph runs in PyTorch (aot_eager); options={'strict': True} raises this as an error.",
        )


def _warn(error: FrontendError) -> None:
    warnings.warn(str(error), RuntimeWarning, stacklevel=3)


def _boxed(program: Program, module: Any, strict: bool) -> Callable[[list[Any]], list[Any]]:
    """
    A function of a list, which it empties; of a function PyTorch keeps the attribute that says so.

    Unless `strict`, the graph itself runs where an operator cannot be built for the sizes of a call.
    """
    runs: list[Callable[[list[Any]], list[Any]]] = [program]

    def in_pytorch(args: list[Any]) -> list[Any]:
        found = list(module(*args))
        args.clear()
        return found

    def call(args: list[Any]) -> list[Any]:
        try:
            return runs[0](args)
        except FrontendError as error:
            if strict or not error.missing:
                raise
            _warn(error)
            runs[0] = in_pytorch
            return in_pytorch(args)

    vars(call)["_boxed_call"] = True
    return call
