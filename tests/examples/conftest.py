"""The examples as modules."""

import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# as where a script stands, from which they import each other
sys.path.insert(0, str(EXAMPLES))


@pytest.fixture(scope="session")
def load_example() -> Callable[[str], ModuleType]:
    """A module of its own of the example of a name, whose settings may be changed."""

    def load(name: str) -> ModuleType:
        spec = spec_from_file_location(f"{name}_example", EXAMPLES / f"{name}.py")
        assert spec is not None and spec.loader is not None
        # dataclasses look their module up
        module = sys.modules[spec.name] = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
