"""
Operators that draw random numbers, with a state that is kept to draw the same ones again, as checkpoints do.

PyTorch wraps such an operator: `run_and_save_rng_state(op, ..) -> (state, results)` in the forward pass, and
`run_with_rng_state(state, op, ..)` in the backward pass. Here the state is a key.
"""

# Graphs of torch, which is not installed everywhere, and arguments of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl_rlx.frontends.aten.rows import Call
from xdsl_rlx.frontends.aten.values import dtype_of, is_tensor
from xdsl_rlx.frontends.shared.rows import Row

_PLACES = {"run_and_save_rng_state": 0, "run_with_rng_state": 1}
"""Which argument of each wrapper is the operator."""


def target_of(node: Any) -> Any:
    """The operator that a node calls, also if it is wrapped."""
    place = _PLACES.get(str(node.target))
    return node.target if place is None else node.args[place]


def is_wrapped(node: Any) -> bool:
    """Whether a node calls an operator with a state."""
    return str(node.target) in _PLACES


def build(
    node: Any,
    row: Row,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    next_key: Callable[[], Any],
    floating: str,
) -> Any:
    """The results of a wrapped operator; nodes have no types of results, which are those asked for or the operand's."""
    assert row.build is not None
    place = _PLACES[str(node.target)]
    state, rest = (args[0], args[2:]) if place else (next_key(), args[1:])
    dtypes = [kwargs.get("dtype"), *(dtype_of(x) for x in rest if is_tensor(x)), floating]
    dtype = next(x for x in dtypes if x is not None)
    found = row.build(Call((dtype,), lambda: state, floating), *rest, **kwargs)
    return found if place else [state, found]
