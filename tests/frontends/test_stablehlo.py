"""`rlx.from_stablehlo` on text in MLIR's generic form, which is read without JAX."""

# Arrays of any type.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.frontends.__main__ import main
from xdsl_rlx.frontends.stablehlo import read_jaxlib, read_text
from xdsl_rlx.frontends.stablehlo.table import ROWS

HERE = Path(__file__).parent
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _without_jax(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(read_jaxlib, "is_installed", lambda: False)


def numbers(*shape: int) -> np.ndarray:
    """Random numbers in f32."""
    return RNG.standard_normal(shape).astype(np.float32)


def test_a_model_has_values_and_gradients() -> None:
    names = ["w", "b", "v", "x", "y"]
    loss = rlx.from_stablehlo(HERE / "mlp.mlir", names=names)
    w, b, v, x, y = numbers(3, 4), numbers(4), numbers(4, 2), numbers(8, 3), numbers(8, 2)

    def expected(w, b, v, x, y):
        return np.mean((np.maximum(x @ w + b, 0) @ v - y) ** 2)

    np.testing.assert_allclose(loss(w, b, v, x, y=y), expected(w, b, v, x, y), rtol=1e-5)
    found = rlx.compile(rlx.grad(loss, argnums=("w", "b", "v")))(w, b, v, x, y)
    wanted = rlx.compile(rlx.grad(expected, argnums=(0, 1, 2)))(w, b, v, x, y)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    assert loss.names == names
    assert loss.report["stablehlo.dot_general (exact)"] == 2
    batch = rlx.vmap(loss, (None, None, None, 0, 0))(w, b, v, np.stack([x, 2 * x]), np.stack([y, y]))
    np.testing.assert_allclose(batch[1], expected(w, b, v, 2 * x, y), rtol=1e-5)


def test_a_loop_that_counts_is_a_scan() -> None:
    program = rlx.from_stablehlo(HERE / "recurrence.mlir")
    w, h, x = numbers(3), numbers(3), numbers(5, 3)

    def expected(w, h, x):
        def body(c, a):
            c = np.tanh(c * w + a)
            return c, c * 2

        return rlx.scan(body, h, x)

    ir = str(program.graph)
    assert "mir.scan 5" in ir and "mir.while" not in ir and "mir.gather" not in ir
    for one, other in zip(program(w, h, x), rlx.compile(expected)(w, h, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    found = rlx.compile(rlx.grad(lambda w: program(w, h, x)[1].sum()))(w)
    wanted = rlx.compile(rlx.grad(lambda w: expected(w, h, x)[1].sum()))(w)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_infinities_are_read_as_bits() -> None:
    text = (HERE / "masked.mlir").read_text()
    assert "0xFF800000" in text
    program = rlx.from_stablehlo(text)
    x = np.array([[1, -2, 3, 0], [-1, -2, -3, -4]], np.float32)
    np.testing.assert_array_equal(program(x), [3, -np.inf])


def test_positions_sorts_and_rows() -> None:
    x = np.array([[1, np.nan, 3, 0], [-1, 7, 7, -4]], np.float32)
    position, ordered, top = rlx.from_stablehlo(HERE / "orders.mlir")(x)
    np.testing.assert_array_equal(position, [1, 1])
    np.testing.assert_array_equal(ordered, np.sort(x, 1))
    np.testing.assert_array_equal(top, [[1, 2], [1, 2]])
    table, at = numbers(4, 3), np.array([-1, 2], np.int32)
    taken, added = rlx.from_stablehlo(HERE / "rows.mlir")(table, at)
    np.testing.assert_array_equal(taken, table[at])
    expected = table.copy()
    expected[at] += 1
    np.testing.assert_array_equal(added, expected)


def program_of(*ops: str, taken: str = "tensor<4xf32>", given: str = "tensor<4xf32>") -> str:
    """A program of operations on `%x`, the last of which is `%0`."""
    lines = "".join(f"  {op}\n" for op in ops)
    return (
        f'"func.func"() <{{function_type = ({taken}) -> {given}, sym_name = "main"}}> ({{\n^bb0(%x: {taken}):\n'
        f'{lines}  "func.return"(%0) : ({given}) -> ()\n}}) : () -> ()\n'
    )


def unary(name: str, taken: str = "tensor<4xf32>", given: str = "tensor<4xf32>") -> str:
    """A program of one operation."""
    return program_of(f'%0 = "{name}"(%x) : ({taken}) -> {given}', taken=taken, given=given)


def test_all_missing_operations_are_named_at_once() -> None:
    kind = "(tensor<4xf32>) -> tensor<4xf32>"
    text = program_of(
        f'%1 = "stablehlo.frobnicate"(%x) : {kind}',
        f'%2 = "stablehlo.frobnicate"(%1) : {kind}',
        f'%3 = "stablehlo.custom_call"(%2) <{{call_target_name = "my_kernel"}}> : {kind}',
        f'%0 = "stablehlo.custom_call"(%3) <{{call_target_name = "xla_ffi_python_cpu_callback"}}> : {kind}',
    )
    with pytest.raises(rlx.FrontendError) as caught:
        rlx.from_stablehlo(text)
    message = str(caught.value)
    assert "@main: 3 operators cannot be read" in message
    assert "stablehlo.frobnicate (2 times, first at line 3): has no translation" in message
    assert "stablehlo.custom_call @my_kernel (once, first at line 5): the custom call is not known" in message
    assert "jax.debug.print" in message
    assert [one.count for one in caught.value.missing] == [2, 1, 1]


WRONG = [
    (unary("stablehlo.tanh", "tensor<?xf32>"), "not static"),
    (unary("stablehlo.rng_bit_generator"), "jax.random"),
    (unary("stablehlo.infeed"), "exchange data with its host"),
    (unary("stablehlo.tanh", given="tensor<4xf8E4M3FN>"), "element type f8E4M3FN"),
    (unary("stablehlo.tanh")[:130], "line 3"),
    (unary("stablehlo.tanh").replace('"main"', '"main', 1), "unterminated"),
    ("", "empty text"),
    ("hello", "line 1"),
    (b"ML\xefR\rStableHLO_v1.0.0", "JAX"),
    (b"\xff\xfe\x00", "neither"),
    (3, "a text, bytes or a path"),
    (Path("nowhere.mlir"), "cannot read"),
    ("nowhere.mlir", "cannot read"),
    ("func.func @main() {\n %0 = stablehlo.tanh %x : tensor<f32>\n}", "print_generic_op_form"),
    (unary("stablehlo.reshape", given="tensor<5xf32>"), "stablehlo.reshape, at line 3"),
    ("module {\n}\n", "a function @main"),
]


@pytest.mark.parametrize("source, words", WRONG, ids=range(len(WRONG)))
def test_wrong_sources_are_named(source: Any, words: str) -> None:
    with pytest.raises(rlx.FrontendError, match=re.escape(words)):
        str(rlx.from_stablehlo(source).graph)


def test_wrong_arguments_are_named() -> None:
    program = rlx.from_stablehlo(unary("stablehlo.tanh"))
    with pytest.raises(rlx.FrontendError, match=r"x: expected shape \[4\], which the program has, got \[3\]"):
        program(np.ones(3, np.float32))
    with pytest.raises(rlx.FrontendError, match="expected an array of float32, got float64; convert it with astype"):
        program(np.ones(4))
    with pytest.raises(rlx.FrontendError, match="its arguments are x"):
        program(np.ones(4, np.float32), 2)
    with pytest.raises(rlx.FrontendError, match="expected 1 different identifiers"):
        rlx.from_stablehlo(unary("stablehlo.tanh"), names=["a", "b"])


def test_rows_are_named_once_and_refusals_have_reasons() -> None:
    assert len(ROWS.all()) > 150
    assert all(row.reason if row.build is None else row.build for row in ROWS.all())


def test_constants_of_all_kinds_are_read() -> None:
    kinds = {
        "dense<[1.0, 0x7F800000, -2.5e-1]> : tensor<3xf32>": np.array([1, np.inf, -0.25], np.float32),
        "dense<0xFFC00000> : tensor<2xf32>": np.array([-np.nan, -np.nan], np.float32),
        "dense<0x7FF0000000000000> : tensor<f64>": np.array(np.inf),
        "dense<[true, false]> : tensor<2xi1>": np.array([True, False]),
        "dense<-7> : tensor<2x2xi8>": np.full((2, 2), -7, np.int8),
        "dense<[1, 18446744073709551615]> : tensor<2xui64>": np.array([1, 2**64 - 1], np.uint64),
        "dense<(1.0, -2.0)> : tensor<complex<f64>>": np.array(1 - 2j),
        'dense<"0x0000803F00000040"> : tensor<2xf32>': np.array([1, 2], np.float32),
    }
    for text, expected in kinds.items():
        type_ = text.rpartition(" : ")[2]
        module = read_text.read(
            f'"func.func"() <{{function_type = () -> {type_}, sym_name = "main"}}> ({{\n'
            f'  %0 = "stablehlo.constant"() <{{value = {text}}}> : () -> {type_}\n'
            f'  "func.return"(%0) : ({type_}) -> ()\n}}) : () -> ()\n'
        )
        found = module.functions["main"].block.ops[0].attributes["value"]
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


def test_the_command_prints_mir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(HERE / "masked.mlir")]) == 0
    program = rlx.compile(rlx.parse(capsys.readouterr().out))
    np.testing.assert_array_equal(program(np.full((2, 4), -1, np.float32))[0], [-np.inf, -np.inf])
    assert main([str(HERE / "mlp.mlir"), "--report", "-o", str(tmp_path / "report.txt")]) == 0
    assert "2 stablehlo.dot_general (exact)" in (tmp_path / "report.txt").read_text()
    assert main([str(tmp_path / "none.mlir")]) == 1
    assert "cannot read" in capsys.readouterr().err
