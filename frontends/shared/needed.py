"""Packages that are needed only for a front end: imported when it is used, with an error that names the extra."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any
from warnings import warn

from xdsl_rlx.frontends.shared.errors import FrontendError


def torch_module(asked: str) -> Any:
    """Return the module `torch`; FrontendError if it is not installed. `asked` names what needs it."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise FrontendError(f"{asked} needs PyTorch: pip install 'xdsl-rlx[torch]'") from error


TESTED_JAX = (0, 10, 2)
"""The newest version of JAX that the tests have run with."""


def jax_module(asked: str) -> Any:
    """Return the module `jax`; FrontendError if it is not installed. `asked` names what needs it."""
    try:
        jax = import_module("jax")
    except ImportError as error:
        raise FrontendError(f"{asked} needs JAX: pip install 'xdsl-rlx[jax]'") from error
    check_jax(jax.__version__)
    return jax


@cache
def check_jax(version: str) -> None:
    """Warn, once, of a version of JAX that is newer than the last one that was tested."""
    numbers = tuple(int(one) for one in re.findall(r"\d+", version)[:3])
    if numbers > TESTED_JAX:
        tested = ".".join(map(str, TESTED_JAX))
        warn(
            f"JAX {version} is newer than {tested}, the last version that xdsl-rlx was tested with; if something "
            f"fails, pip install 'jax=={tested}'",
            stacklevel=4,
        )
