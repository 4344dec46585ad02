"""`rlx.to_torch`: a function of trees of arrays as a differentiable function of tensors."""

# Trees of any type, and modules of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, SupportsIndex

from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.needed import torch_module
from xdsl_rlx.tracing import name_of
from xdsl_rlx.tree import Tree


def to_torch(
    f: Callable[..., Tree],
    /,
    *example: Tree,
    custom_op: str | None = None,
    threads: SupportsIndex | None = None,
    memory_budget: SupportsIndex | None = None,
    **kwargs: Tree,
) -> Callable[..., Tree]:
    """
    Return a function of trees of arrays as a differentiable function of tensors.

    Arguments and results are trees of tensors in place of arrays. A call runs one compiled program. If a tensor among
    the arguments requires a gradient, that program also returns the residuals that a second program reads in
    `backward`. Contiguous tensors are read in place, and the results are memory of the program: nothing is copied. Each
    new signature, of shapes, element types and tensors that require gradients, compiles once.

    `example` and `kwargs` are arguments of `f`, tensors or arrays, whose values do not matter: the programs for them
    are compiled at once. `threads` and `memory_budget` are those of `rlx.compile`.

    `custom_op="ns::name"` also registers `torch.ops.ns.name`, with rules for shapes and gradients, and returns a
    function that calls it. `torch.compile` keeps it as one operator, but the backend "xdsl_rlx" fuses it. It needs an
    example, for the number of tensors.

    ```python
    f = rlx.to_torch(lambda params, x: np.tanh(x @ params["w"]))
    f({"w": torch.ones(3, 2, requires_grad=True)}, torch.ones(4, 3)).sum().backward()
    ```

    Gradients of gradients are computed by `rlx`: `rlx.to_torch(rlx.grad(f))`. Raises FrontendError if torch is not
    installed, and for arguments that cannot be read.
    """
    if not callable(f):
        raise FrontendError(f"to_torch: f: expected a function of trees of arrays, got {shown(f)}")
    torch_module("to_torch")
    if isinstance(f, CompiledFunction) and f.donates:
        raise FrontendError(
            f"to_torch: '{name_of(f)}' donates arguments, which PyTorch would still read; compile it without donate"
        )
    given = {"threads": threads, "memory_budget": memory_budget}
    options = {name: x for name, x in given.items() if x is not None}
    function: Any = import_module("xdsl_rlx.frontends.hosts.torch_function").TorchFunction(f, options)
    if custom_op is not None:
        operator = import_module("xdsl_rlx.frontends.hosts.torch_operator")
        return operator.registered(function, custom_op, example, kwargs)
    if example or kwargs:
        function.compile(*example, **kwargs)
    return function
