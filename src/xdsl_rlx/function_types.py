"""The functions that `rlx.jvp`, `rlx.vjp` and `rlx.hvp` return, as type checkers see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

_R = TypeVar("_R", covariant=True)


class JvpFunction(Protocol[_R]):
    """The function `(primals, tangents) -> (results, tangents of the results)` that `rlx.jvp` returns."""

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[_R, Any]: ...


class VjpFunction(Protocol[_R]):
    """The function `(primals, cotangents) -> (results, gradients)` that `rlx.vjp` returns, with one for each primal."""

    def __call__(self, primals: Sequence[Any], cotangents: Any) -> tuple[_R, tuple[Any, ...]]: ...


class HvpFunction(Protocol):
    """The function `(primals, tangent) -> product` that `rlx.hvp` returns."""

    def __call__(self, primals: Sequence[Any], tangent: Any) -> Any: ...
