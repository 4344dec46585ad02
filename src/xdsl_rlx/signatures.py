"""Signatures as `help` shows them: annotations as they are written."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from enum import Enum
from typing import Any


class _Bare(str):
    """An annotation as it is written."""

    def __repr__(self) -> str:
        return str(self)


def bare_signature(function: Callable[..., Any], hidden: int = 0) -> inspect.Signature:
    """The signature of a function without its first `hidden` parameters, with annotations as they are written."""
    found = inspect.signature(function)
    parameters = [
        one.replace(
            annotation=_bare(one.annotation),
            default=one.default.value if isinstance(one.default, Enum) else one.default,
        )
        for one in list(found.parameters.values())[hidden:]
    ]
    return inspect.Signature(parameters, return_annotation=_bare(found.return_annotation))


def _bare(annotation: Any) -> Any:
    if annotation is inspect.Signature.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _Bare(re.sub(r"\b(collections\.abc|typing|xdsl_rlx[\w.]*)\.", "", text))
