"""Arguments and graphs of any name: through passes, text, both backends and all derivatives, with the same numbers."""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.names import fresh_name, hint_of

HOSTILE = (
    *("graph", "self", "out", "class", "for", "None", "lambda", "print", "np", "numba", "args", "kwargs", "threads"),
    *("d_output", "d_output_2", "d_output_3", "captured_0", "residual_0", "loss_scale", "inputs", "memory", "arena"),
    *("tangent_x", "tangent_x_2", "tangent_tangent_x", "tangent_d_output", "x", "x_2", "_", "__x__", "_2", "f", "g"),
    *("é", "ñandú", "数", "数_2", "ª", "ℌ", "H", "ﬁ", "µ", "tangent_数", "d_数"),
)
"""Names that Python takes and that mean something to it, to printed modules, to the IR, or to a pass."""

FROM_TEXT = ("a b", 'a"b', "a\nb", "a.b", "1x", "%x", "x²", "😀", "\\", "{", "a\tb", "'", '"""')
"""More names, which no builder takes, but text of the IR has."""

PLAIN = ("alpha", "beta", "gamma")
VALUES = [np.linspace(-1, 1, 3) + shift for shift in (0.25, 1.5, -0.75)]


def made(name: str, names: Sequence[str]) -> rlx.Graph:
    g = rlx.Graph(name)
    x, w = g.input(names[0], (3,), "f64"), g.param(names[1], (3,), "f64")
    y = g.input(names[2], (3,), "f64")
    g.set_outputs([g.reduce_sum(g.tanh(x * y) * g.exp(w) * x)])
    return g


def renamed(graph: rlx.Graph, names: Sequence[str]) -> rlx.GraphModule:
    """A graph of plain names with other ones, by its text."""
    text = str(graph)
    for old, new in zip(PLAIN, names, strict=True):
        escaped = new.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        text = text.replace(f'mir.name = "{old}"', f'mir.name = "{escaped}"')
    return rlx.GraphModule(rlx.parse(text), "mir")


def run(graph: rlx.GraphModule, names: Sequence[str], more: Sequence[str] = ()) -> list[np.ndarray[Any, Any]]:
    """The results of a graph for the values of its arguments of these names, and other values for those in `more`."""
    given = dict(zip(names, VALUES, strict=True)) | dict.fromkeys(more, np.linspace(0.5, 2, 3))
    compiled = rlx.compile(graph)
    # by position, because the keyword `out` names the outputs
    return list(compiled(*(given[spec.name] for spec in compiled.program.arguments if spec.name in given)))


Derived = Callable[[rlx.Graph | rlx.GraphModule, Sequence[str]], tuple[rlx.GraphModule, Sequence[str]]]


def _with_tangents(graph: rlx.GraphModule) -> tuple[rlx.GraphModule, Sequence[str]]:
    return graph, [*graph.tangent_names.values()]


DERIVED: dict[str, Derived] = {
    "compile": lambda g, n: (rlx.lower_hir(g), ()),
    "grad_with_loss": lambda g, n: (rlx.grad_with_loss(g, wrt=[n[1], n[0]]), ()),
    "jvp": lambda g, n: _with_tangents(rlx.jvp(g, [n[2], n[0]])),
    "hvp": lambda g, n: _with_tangents(rlx.hvp(g, [n[0], n[1]])),
    "jvp of jvp": lambda g, n: _twice(g, n[0]),
    "jacfwd": lambda g, n: (rlx.jacfwd(g, [n[0], n[1]]), ()),
    "jacrev": lambda g, n: (rlx.jacrev(g, [n[1], n[2]]), ()),
    "hessian": lambda g, n: (rlx.hessian(g, [n[0], n[2]]), ()),
    "nth_order_grad": lambda g, n: (rlx.nth_order_grad(g, n[0], 2), ()),
    "grad of vmap": lambda g, n: (rlx.grad_with_loss(rlx.select_outputs(rlx.vmap(g, [], 2), 0), wrt=[n[0]]), ()),
}


def _twice(g: rlx.Graph | rlx.GraphModule, name: str) -> tuple[rlx.GraphModule, Sequence[str]]:
    first = rlx.jvp(g, [name])
    second = rlx.jvp(first, [name])
    return second, [first.tangent_names[name], second.tangent_names[name]]


def check(graph: rlx.Graph | rlx.GraphModule, names: Sequence[str], kind: str) -> None:
    """A derivative of a graph is that of the same graph with plain names, and its text reads back."""
    plain, more = DERIVED[kind](made("plain", PLAIN), PLAIN)
    expected = run(plain, PLAIN, more)
    derived, more = DERIVED[kind](graph, names)
    assert len({a.name for a in derived.signature.arguments}) == len(derived.signature.arguments)
    for one in (derived, rlx.GraphModule(rlx.parse(str(derived)), "mir")):
        for found, wanted in zip(run(one, names, more), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_derivatives_do_not_depend_on_names(pytestconfig: pytest.Config):
    random = Random(1)
    for _ in range(int(pytestconfig.option.fuzz_cases) // 6):
        names = random.sample(HOSTILE, 3)
        check(made(random.choice(HOSTILE), names), names, random.choice([*DERIVED]))


def test_derivatives_do_not_depend_on_names_that_come_as_text():
    random = Random(2)
    for name in FROM_TEXT:
        names = random.sample([name, *random.sample((*HOSTILE, *FROM_TEXT), 4)], 3)
        if len(set(names)) == 3:
            check(renamed(made("f", PLAIN), names), names, random.choice([*DERIVED]))


@pytest.mark.parametrize("name", [*HOSTILE, "x²", "a b", "1x", "😀", "a.b"])
def test_a_printed_module_is_python_whatever_the_graph_is_called(name: str):
    graph = made(name, ("é", "class", "数"))
    source = rlx.numba_source(graph)
    compile(source, "module", "exec")
    assert re.search(r"define \S+ @", rlx.llvm_source(graph))


def test_a_printed_module_runs_whatever_names_it_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    for name in ("数", "class", "x²"):
        names = ("é", "class", "数")
        (expected,) = rlx.compile(made("plain", PLAIN), backend="numba")(*[VALUES[0], VALUES[2], VALUES[1]])
        (found,) = rlx.compile(made(name, names), backend="numba")(VALUES[0], VALUES[2], VALUES[1])
        np.testing.assert_array_equal(found, expected)


def test_a_graph_says_how_its_tangents_and_seeds_are_called():
    g = made("f", ("x", "tangent_x", "d_output"))
    assert rlx.jvp(g, ["x", "tangent_x"]).tangent_names == {"x": "tangent_x_2", "tangent_x": "tangent_tangent_x"}
    assert rlx.grad_with_loss(g, wrt=["x"]).seed_names == ("d_output_2",)
    assert rlx.nth_order_grad(g, "x", 3).seed_names == ("d_output_2", "d_output_3", "d_output_4")
    hvp = rlx.hvp(g, ["x"])
    assert (hvp.seed_names, hvp.tangent_names) == (("d_output_2",), {"x": "tangent_x_2"})
    assert rlx.vmap(hvp, ["tangent_x_2"], 4).tangent_names == {"x": "tangent_x_2"}
    # those of the last derivative
    assert rlx.jvp(hvp, ["tangent_x"]).tangent_names == {"tangent_x": "tangent_tangent_x"}
    # also of a result that is known from the cache
    assert rlx.hvp(made("f", ("x", "tangent_x", "d_output")), ["x"]).tangent_names == {"x": "tangent_x_2"}


def test_a_compiled_jvp_is_differentiated_by_the_right_argument():
    g = made("f", ("x", "tangent_x_2", "x_2"))
    (expected,) = rlx.jacfwd(made("f", PLAIN), "alpha")(*[VALUES[0], VALUES[2], VALUES[1]])
    compiled = rlx.compile(rlx.jvp(g, ["x"]))
    (found,) = rlx.jacfwd(compiled, wrt="x")(x=VALUES[0], tangent_x_2=VALUES[1], x_2=VALUES[2])
    np.testing.assert_allclose(found, expected)
    with pytest.raises(rlx.GraphError, match="expected a compiled jvp for it"):
        rlx.jacfwd(compiled, wrt="x_2")
    other = made("f", ("x", "tangent_x", "x_2"))
    given = dict(zip(("x", "tangent_x", "x_2"), VALUES, strict=True))
    (found,) = rlx.jacfwd(rlx.compile(rlx.jvp(other, ["x_2"])), wrt="x_2")(**given)
    np.testing.assert_allclose(found, rlx.jacfwd(other, "x_2")(**given)[0])


def test_hints_are_names_of_values_and_fresh_names_are_not_taken():
    for name in (*HOSTILE, *FROM_TEXT):
        g = made("f", PLAIN)
        argument = g.module.body.block.first_op.regions[0].block.args[0]  # pyright: ignore
        argument.name_hint = hint_of(name)
    assert hint_of("été") == "ete"
    assert fresh_name("x", {"x", "x_2"}) == "x_3"
