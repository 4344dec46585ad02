"""`custom_op`: what is registered, what is said of what is not, and that nothing stale is run.

That registered ops compute and differentiate like others is in tests/numerics/families/custom.py.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context

import xdsl_rlx as rlx
from xdsl_rlx.lowering.fingerprint import fingerprint
from xdsl_rlx.lowering.prepare.mir_prepare_for_ad import MirPrepareForAdPass


def graph(kernel: Callable[..., Any], **options: Any) -> rlx.Graph:
    g = rlx.Graph("f")
    x = g.input("x", (3,))
    g.set_outputs([g.reduce_sum(kernel(x, **options) * 1.0)])
    return g


@rlx.custom_op("face.triple", replace=True)
def triple(b: Any, x: Any) -> Any:
    """`3 x`."""
    return x * 3.0


def test_a_definition_of_other_types_than_the_shape_rule_says_is_refused() -> None:
    wider = rlx.custom_op("face.wider", shape=lambda x: rlx.Shaped((1000,), x.dtype), replace=True)(
        lambda b, x: x * 2.0
    )
    g = rlx.Graph("f")
    g.set_outputs([wider(g.input("x", (3,)))])
    message = r'the definition of .*"face.wider" .*gives tensor<3xf32> as result 0, its shape rule tensor<1000xf32>'
    with pytest.raises(rlx.RlxError, match=message):
        rlx.compile(g)


@rlx.custom_op("face.steps", vjp=lambda b, inputs, outputs, gs: gs, replace=True)
def steps(b: Any, x: Any) -> Any:
    return b.round(x)


@rlx.custom_op("face.pushed", jvp=lambda b, inputs, outputs, ts: ts, replace=True)
def pushed(b: Any, x: Any) -> Any:
    return b.round(x)


@rlx.custom_op(
    "face.copied", kernel="nest", shape=lambda x: x, iterations=lambda x: x.shape[0], version="1", replace=True
)
def copied(it: Any, x: Any, y: Any) -> None:
    y[it.index] = x[it.index]


X = np.array([0.2, 1.6, -2.7], np.float32)


def test_a_registered_op_is_called_with_values_and_prints_its_name():
    g = graph(triple)
    assert 'mir.custom "face.triple"(%x) : (tensor<3xf32>) -> tensor<3xf32>' in str(g)
    assert str(rlx.parse(str(g))) == str(g)
    (y,) = rlx.compile(g)(x=X)
    assert y == pytest.approx(-2.7, rel=1e-6)
    assert triple.__doc__ == "`3 x`."


def test_a_derivative_that_is_given_is_used():
    (dx,) = rlx.compile(rlx.grad(graph(steps), wrt=["x"]))(x=X)
    np.testing.assert_array_equal(dx, [1.0, 1.0, 1.0])
    *_, t = rlx.compile(rlx.jvp(graph(pushed), ["x"]))(x=X, tangent_x=X)
    assert t == pytest.approx(X.sum())


def test_a_definition_with_a_derivative_of_its_own_stays_for_ad():
    """The definition of a rounding has no gradient; unfusing it would lose the one that was given."""
    module = graph(steps).module.clone()
    MirPrepareForAdPass().apply(Context(), module)
    assert "face.steps" in str(module)


@pytest.mark.parametrize(
    ("derive", "kernel", "what"),
    [
        (lambda g: rlx.grad(g, wrt=["x"]), copied, "vjp"),
        (lambda g: rlx.jvp(g, ["x"]), copied, "jvp"),
        (lambda g: rlx.vmap(g, ["x"], 2), copied, "vmap"),
        (lambda g: rlx.jvp(g, ["x"]), steps, "jvp"),
        (lambda g: rlx.grad(g, wrt=["x"]), pushed, "vjp"),
    ],
)
def test_a_missing_rule_is_an_error_that_names_the_op(derive: Callable[..., Any], kernel: Any, what: str):
    with pytest.raises(rlx.GraphError, match=rf'mir.custom "{kernel.name}" at .* has no {what} rule: give'):
        derive(graph(kernel))


def test_a_derivative_that_drops_an_input_is_an_error():
    lost = rlx.custom_op("face.lost", vjp=lambda b, inputs, outputs, gs: [None], replace=True)(lambda b, x: x * 2.0)
    with pytest.raises(rlx.GraphError, match="gave nothing as the cotangent of operand 0"):
        rlx.grad(graph(lost), wrt=["x"])


def test_a_rule_with_a_wrong_number_of_values_is_an_error():
    short = rlx.custom_op("face.short", vjp=lambda b, inputs, outputs, gs: [], replace=True)(lambda b, x: x * 2.0)
    with pytest.raises(rlx.GraphError, match=r'vjp rule of mir.custom "face.short".* gave 0 values, expected 1'):
        rlx.grad(graph(short), wrt=["x"])


def test_a_name_that_is_not_registered_is_an_error():
    g = rlx.Graph("f")
    with pytest.raises(rlx.GraphError, match=r'no op is registered as "face.nobody"'):
        g.custom("face.nobody", g.input("x", (3,)))
    with pytest.raises(rlx.GraphError, match=r'no op is registered as "face.nobody"'):
        rlx.parse(str(graph(triple)).replace("face.triple", "face.nobody"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "expected a name for the op, got ''"),
        ({"name": "face.x", "kernel": "python"}, "one of graph, nest, got 'python'"),
        ({"name": "face.x", "kernel": "nest"}, "expected a shape rule"),
        ({"name": "face.triple"}, '"face.triple" is already registered'),
    ],
)
def test_what_cannot_be_registered(arguments: dict[str, Any], message: str):
    with pytest.raises(rlx.GraphError, match=message):
        rlx.custom_op(**arguments)(lambda b, x: x)


def test_operands_and_options_that_do_not_fit_are_errors():
    g = rlx.Graph("f")
    x, y = g.input("x", (3,)), g.input("y", (4,))
    added = rlx.custom_op("face.added", replace=True)(lambda b, x, y: x + y)
    with pytest.raises(rlx.GraphError, match=r'"face.added": shapes \[3\] and \[4\] do not broadcast'):
        added(x, y)
    with pytest.raises(rlx.GraphError, match="does not take these operands and options"):
        triple(x, scale=2.0)
    with pytest.raises(
        rlx.GraphError, match=r"option scale: expected a bool, a number, a string or a list of integers"
    ):
        triple(x, scale=[0.5])


def test_a_call_with_arrays_computes():
    np.testing.assert_array_equal(triple(X), 3 * X)
    np.testing.assert_array_equal(rlx.compile(lambda x: triple(x) + triple(X))(X), 6 * X)
    with pytest.raises(rlx.GraphError, match="does not take these operands and options"):
        triple(X, scale=2.0)


def test_options_come_back_as_they_were_given():
    seen: list[dict[str, Any]] = []

    def keep(b: Any, x: Any, **options: Any) -> Any:
        seen.append(options)
        return x * 2.0

    kept = rlx.custom_op("face.kept", replace=True)(keep)
    options = {"flag": True, "count": 3, "rate": 0.25, "mode": "fast", "axes": [0, 2]}
    g = graph(kept, **options)
    rlx.parse(str(g))
    assert all(given == options for given in seen)


def test_a_new_definition_is_compiled_anew():
    for factor in (2.0, 5.0):
        op = rlx.custom_op("face.changing", replace=True)(lambda b, x, factor=factor: x * factor)
        (y,) = rlx.compile(graph(op))(x=X)
        (dx,) = rlx.compile(rlx.grad(graph(op), wrt=["x"]))(x=X)
        assert y == pytest.approx(factor * X.sum(), rel=1e-6)
        np.testing.assert_array_equal(dx, [factor] * 3)


def test_programs_are_cached_across_processes_by_version_only():
    def of(version: str | None) -> str:
        op = rlx.custom_op("face.versioned", version=version, replace=True)(lambda b, x: x * 2.0)
        return fingerprint(graph(op).module)

    assert of("1") == of("1")
    assert of("1") != of("2")
    assert of(None) != of(None)


PLUGIN = """
import xdsl_rlx as rlx

@rlx.custom_op("acme.square", version="1")
def square(b, x):
    return x * x
"""

TEXT = """
func.func @f(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  %y = mir.custom "acme.square"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
"""


def test_a_plugin_is_found_by_its_entry_point(tmp_path: Path):
    """xdsl-opt parses and differentiates an op of an installed distribution that nobody has imported."""
    (tmp_path / "acme.py").write_text(PLUGIN)
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[xdsl_rlx.custom_ops]\nops = acme\n")
    source = tmp_path / "f.mlir"
    source.write_text(TEXT)
    script = f"""
import sys
sys.path[:0] = {[str(tmp_path), *sys.path]!r}
from xdsl.xdsl_opt_main import xDSLOptMain
xDSLOptMain(args=[{str(source)!r}, "-p", "mir-prepare-for-ad"]).run()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "%y = mir.mul %x, %x" in done.stdout


def test_rules_call_functions_of_ops_while_a_function_is_traced():
    """They build where their operands are, not in the graph of the function, also in derivatives of derivatives."""

    def vjp(b: Any, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        slope = rlx.sigmoid(inputs[0])
        return [triple(cotangents[0] * slope * (1.0 - slope)) / 3.0]

    def jvp(b: Any, inputs: Any, outputs: Any, tangents: Any) -> Any:
        return tangents[0] * rlx.sigmoid(inputs[0]) * (1.0 - rlx.sigmoid(inputs[0]))

    own = rlx.custom_op("face.sigmoid", vjp=vjp, jvp=jvp, replace=True)(lambda b, x: rlx.sigmoid(x))
    x = np.linspace(-1.0, 1.0, 5)
    for change in (rlx.grad, rlx.hessian, lambda f: rlx.vmap(rlx.grad(f)), lambda f: rlx.compile(rlx.grad(f))):
        found, right = (change(lambda x, f=f: (f(x) ** 2).sum())(x) for f in (own, rlx.sigmoid))
        np.testing.assert_allclose(found, right, rtol=1e-12)


TWICE = {
    "a function of NumPy": lambda x: np.multiply(2.0, x),
    "an op without operands": lambda x: rlx.full(x.shape, 2.0, "f64") * x,
    "a random number": lambda x: 2.0 * x + 0.0 * rlx.random.normal(rlx.key(0), x.shape, "f64"),
    "a branch": lambda x: rlx.cond(x.sum() > 0.0, lambda: 2.0 * x, lambda: 3.0 * x),
    "a loop": lambda x: rlx.fori_loop(0, 2, lambda i, c: c + x, 0.0 * x),
    "a compiled function": rlx.compile(lambda x: 2.0 * x),
    "a layer": lambda x: rlx.nn.leaky_relu(2.0 * x),
}


@pytest.mark.parametrize("name", TWICE)
def test_definitions_and_rules_take_all_functions(name: str):
    """Beside and inside of a traced function, where the shapes are found, where it is compiled, and in a rule."""
    twice = TWICE[name]

    def vjp(b: Any, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return [cotangents[0] * twice(inputs[0])]

    x = np.linspace(0.1, 1.0, 4)
    square = rlx.custom_op("face.square", vjp=vjp, replace=True)(lambda b, x: x * x)
    double = rlx.custom_op("face.double", replace=True)(lambda b, x: twice(x))
    g = rlx.Graph("by_hand")
    g.set_outputs(g.reduce_sum(square(g.input("x", (4,), "f64"))))
    for found in (
        double(x),
        rlx.compile(lambda x: double(x))(x),
        rlx.grad(lambda x: square(x).sum())(x),
        rlx.compile(rlx.grad(g, wrt=["x"]))(x)[0],
    ):
        np.testing.assert_allclose(found, 2.0 * x, rtol=1e-12)


def test_a_rule_gets_the_default_of_an_option_that_it_requires():
    def vjp(b: Any, inputs: Any, outputs: Any, cotangents: Any, scale: float) -> Any:
        return [cotangents[0] * scale]

    @rlx.custom_op("face.scaled", vjp=vjp, replace=True)
    def scaled(b: Any, x: Any, scale: float = 3.0, unused: bool = False) -> Any:
        return x * scale

    for options, slope in (({}, 3.0), ({"scale": 2.0}, 2.0)):
        found = rlx.grad(lambda x, options=options: scaled(x, **options).sum())(X)
        np.testing.assert_array_equal(found, np.full_like(X, slope))
