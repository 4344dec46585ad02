"""docs/api.md has every public name of the Python API, each with a docstring; a failure is called by the name."""

import inspect
import re
import sys
from functools import cached_property

from pages import ROOT
from rows import for_each

import xdsl_rlx as rlx
from xdsl_rlx.graph_methods.graph_builder import GraphBuilder

MODULES = [module for name in rlx.__all__ if inspect.ismodule(module := getattr(rlx, name))]
NAMES = [
    *(f"rlx.{name}" for name in rlx.__all__ if not inspect.ismodule(getattr(rlx, name))),
    *(f"rlx.{module.__name__.rpartition('.')[2]}.{name}" for module in MODULES for name in module.__all__),
]
SECTION = re.compile(r"^### `([\w.]+)`$(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
SECTIONS = dict(SECTION.findall((ROOT / "docs/api.md").read_text()))
OF_PASSES = {"Updates", "Derivation", "OpKind", "Origin", "Precision", "Signature", "Unexpanded"}
"""Classes that passes and the backend work with, and that are met behind a property of a graph."""


def _entity(name: str) -> object:
    found: object = rlx
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def _class_named(name: str) -> type | None:
    """A class of the package; there are no two of one name."""
    modules = [module for key, module in sys.modules.items() if key.startswith("xdsl_rlx.")]
    found = (vars(module).get(name) for module in modules)
    return next((one for one in found if inspect.isclass(one) and one.__module__.startswith("xdsl_rlx.")), None)


SHOWN = [entity for name in SECTIONS if inspect.isclass(entity := _class_named(name.rpartition(".")[2]))]


def _own(entity: type) -> dict[str, object]:
    """Public methods and properties, but those of NumPy, of xDSL, of a class that is shown too, and that build ops."""
    bases = [base for base in entity.__mro__ if base is GraphBuilder or (base is not entity and base in SHOWN)]
    fields = getattr(entity, "__dataclass_fields__", {})
    return {
        name: member
        for base in reversed(entity.__mro__)
        if base.__module__.startswith("xdsl_rlx")
        for name, member in vars(base).items()
        if not name.startswith("_") and name not in fields and not any(hasattr(one, name) for one in bases)
        if inspect.isroutine(member) or isinstance(member, property | cached_property)
    }


MEMBERS = [f"{entity.__name__}.{name}" for entity in SHOWN for name in _own(entity)]


def _behind(member: object) -> object:
    """The function of a method or property."""
    for name in ("fget", "func", "__func__"):
        member = getattr(member, name, member)
    return member


@for_each(NAMES)
def test_a_public_name_is_on_the_page(name: str) -> None:
    section = SECTIONS.get("rlx.key" if name == "rlx.init.key" else name)
    assert section is not None, f"{name} is in no group of docs/api_reference.py"
    entity = _entity(name)
    if inspect.isclass(entity) or inspect.isfunction(entity):
        own = vars(entity).get("__doc__") if inspect.isclass(entity) else entity.__doc__
        assert own and not own.startswith(f"{entity.__name__}("), f"{name} has no docstring"
    # below the signature
    assert re.sub(r"```python.*?```", "", section, flags=re.DOTALL).strip(), f"{name} has no docstring"


@for_each(MEMBERS)
def test_a_public_method_is_on_the_page(name: str) -> None:
    owner, _, short = name.partition(".")
    entity = next(one for one in SHOWN if one.__name__ == owner)
    assert getattr(_behind(_own(entity)[short]), "__doc__", None), f"{name} has no docstring"
    (section,) = [text for title, text in SECTIONS.items() if title.rpartition(".")[2] == owner]
    assert re.search(rf"^\* `{short}\b", section, re.MULTILINE), f"{name} is not on the page"


def test_what_public_functions_return_is_on_the_page() -> None:
    functions = [_behind(_own(entity)[name]) for entity in SHOWN for name in _own(entity)]
    functions += [entity for entity in map(_entity, NAMES) if inspect.isfunction(entity)]
    returned = {word for one in functions for word in re.findall(r"\w+", str(inspect.signature(one).return_annotation))}
    shown = {name.rpartition(".")[2] for name in SECTIONS}
    missing = {name for name in returned - shown - OF_PASSES if _class_named(name) is not None}
    assert not missing, f"docs/api_reference.py has no group for {sorted(missing)}"


def test_the_stub_has_a_line_for_each_name() -> None:
    lines = [line.split() for line in (ROOT / "src/xdsl_rlx/__init__.pyi").read_text().splitlines()]
    *found, ops = [words for words in lines if words[:1] == ["from"]]
    assert ops[:4] == ["from", "xdsl_rlx.op_signatures", "import", "*"]
    names = [words[3] for words in found]
    assert sorted(set(names)) == sorted(names) == rlx.__all__
    for words in found:
        assert words == ["from", words[1], "import", words[3], "as", words[3]]
