"""Packages that are needed only for a front end: imported when it is used, with an error that names the extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from xdsl_rlx.frontends.shared.errors import FrontendError


def torch_module(asked: str) -> Any:
    """Return the module `torch`; FrontendError if it is not installed. `asked` names what needs it."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise FrontendError(f"{asked} needs PyTorch: pip install 'xdsl-rlx[torch]'") from error


def jax_module(asked: str) -> Any:
    """Return the module `jax`; FrontendError if it is not installed. `asked` names what needs it."""
    try:
        return import_module("jax")
    except ImportError as error:
        raise FrontendError(f"{asked} needs JAX: pip install 'xdsl-rlx[jax]'") from error
