"""The functions that `rlx.jvp`, `rlx.vjp` and `rlx.hvp` return, as type checkers see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

_R = TypeVar("_R", covariant=True)


class JvpFunction(Protocol[_R]):
    """What `rlx.jvp` makes of a function: results and their tangents, which have the tree of the results."""

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[_R, Any]: ...


class VjpFunction(Protocol[_R]):
    """What `rlx.vjp` makes of a function: results, and a gradient for each of the primals."""

    def __call__(self, primals: Sequence[Any], cotangents: Any) -> tuple[_R, tuple[Any, ...]]: ...


class HvpFunction(Protocol):
    """What `rlx.hvp` makes of a function: the product, with the tree of the argument."""

    def __call__(self, primals: Sequence[Any], tangent: Any) -> Any: ...
