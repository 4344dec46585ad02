"""Many calls of NumPy's functions as one compiled program, and how its results differ from NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from fuzz import numpy_table_elements, numpy_table_linalg, numpy_table_reductions, numpy_table_shapes
from fuzz.numpy_compare import difference, leaves
from fuzz.numpy_draws import Call, Draw, Entry

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module

FAMILIES: dict[str, dict[str, Entry]] = {
    "elements": numpy_table_elements.TABLE,
    "reductions": numpy_table_reductions.TABLE,
    "shapes": numpy_table_shapes.TABLE,
    "linalg": numpy_table_linalg.TABLE,
}
TABLE: dict[str, Entry] = {name: entry for table in FAMILIES.values() for name, entry in table.items()}

NOT_COMPLEX = frozenset(
    [
        "arcsin",
        "arccos",
        "arctan",
        "arcsinh",
        "arccosh",
        "arctanh",
        "max",
        "amax",
        "min",
        "amin",
        "ptp",
        "nanmax",
        "nanmin",
        "argmax",
        "argmin",
        "nanargmax",
        "nanargmin",
        "sort",
        "argsort",
        "partition",
        "argpartition",
        "median",
        "nanmedian",
        "searchsorted",
        "linalg.cholesky",
        "linalg.eigh",
        "linalg.eigvalsh",
        "linalg.qr",
        "linalg.svd",
        "linalg.svdvals",
        "linalg.pinv",
        "linalg.lstsq",
        "linalg.matrix_rank",
        "linalg.det",
        "linalg.slogdet",
        "linalg.cond",
        "linalg.norm",
        "linalg.matrix_norm",
    ]
)
"""Functions that refuse complex numbers, or some arrays or options of them."""


@dataclass
class _Made:
    call: Call
    expected: Any
    found: Any
    """A tree of values of the graph, and of what is known while tracing."""


def drawn(name: str, *seed: int) -> Call:
    """A random call of a function; the name is part of the seed."""
    args, kwargs = TABLE[name].draw(Draw(*seed, *name.encode()))
    return Call(name, args, kwargs)


def differences(calls: Sequence[Call], effort: Effort = Effort.QUICK) -> list[str]:
    """How results of calls differ from NumPy's, a line each. All are computed by one program."""
    graph, arrays, made, wrong = rlx.Graph("calls"), [], [], []

    def argument(x: np.ndarray) -> Value:
        arrays.append(np.array(x, order="C"))
        return graph.input(f"x{len(arrays)}", x.shape, x.dtype)

    for call in calls:
        expected, refused = _of_numpy(call)
        if not call.arrays():
            continue
        try:
            found = call.run(argument)
        except rlx.RlxError as error:
            if refused is None and not _may_refuse(call):
                wrong.append(f"{call}: {type(error).__name__}: {error}")
            continue
        except Exception as error:
            error.add_note(str(call))
            raise
        if refused is not None:
            wrong.append(f"{call}: no error where NumPy says {refused}")
        else:
            made.append(_Made(call, expected, found))
    results = _computed(graph, arrays, made, effort)
    for one in made:
        found = _replaced(one.found, results)
        if (how := difference(one.call, TABLE[one.call.name], found, one.expected)) is not None:
            wrong.append(f"{one.call}: {how}")
    return wrong


def _of_numpy(call: Call) -> tuple[Any, Exception | None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call.run(np.copy), None
        except Exception as error:
            return None, error


def _may_refuse(call: Call) -> bool:
    return call.name in NOT_COMPLEX and any(one.dtype.kind == "c" for one in call.arrays())


def _computed(graph: rlx.Graph, arrays: list[np.ndarray], made: list[_Made], effort: Effort) -> Iterator[Any]:
    """The numbers of all values that the calls return, in their order."""
    values = [leaf for one in made for leaf in leaves(one.found) if isinstance(leaf, Value)]
    if not values:
        return iter(())
    graph.set_outputs(values)
    try:
        return iter(compile_module(as_graph_module(graph).module, effort=effort)(*arrays))
    except Exception as error:
        error.add_note("\n".join(str(one.call) for one in made))
        raise


def _replaced(tree: Any, results: Iterator[Any]) -> Any:
    if isinstance(tree, tuple | list):
        return [_replaced(one, results) for one in tree]
    return next(results) if isinstance(tree, Value) else tree
