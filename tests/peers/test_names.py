"""docs/howto/names.md against the installed PyTorch."""

import inspect
import sys
from pathlib import Path
from types import ModuleType

import torch

sys.path.append(str(Path(__file__).parents[2] / "docs"))
from names_table import NAMES, TORCH, TORCH_INTERNAL, TORCH_VERSION


def test_each_function_of_torch_is_in_the_table() -> None:
    assert torch.__version__.partition("+")[0] == TORCH_VERSION
    found = {
        name
        for name, one in vars(torch.nn.functional).items()
        if not name.startswith("_")
        and callable(one)
        and not inspect.isclass(one)
        and not isinstance(one, ModuleType)
        and name not in TORCH_INTERNAL
    }
    table = set(NAMES["torch.nn.functional"])
    assert sorted(found - table) == [] == sorted(table - found)


def test_other_names_of_torch_exist() -> None:
    missing = [name for name in TORCH.values() if not _exists(name)]
    assert missing == []


def _exists(name: str) -> bool:
    at: object = torch
    for part in name.split(".")[1:]:
        at = getattr(at, part, None)
    return at is not None
