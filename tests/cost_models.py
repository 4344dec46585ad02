"""Programs compiled with other costs than those of this processor."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from xdsl_rlx.lowering.backend.machine import model
from xdsl_rlx.lowering.target import CostModel


@contextmanager
def costs(**changed: Any) -> Generator[None]:
    """Compile with these fields of the cost model for a while."""
    known = model.model_of

    def other(target: tuple[str, str]) -> CostModel:
        return replace(known(target), **changed)

    with mock.patch.object(model, "model_of", other):
        yield
