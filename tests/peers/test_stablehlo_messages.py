"""Modules that cannot be read: the error names the operation, its place in the user's source, and a cure."""

# JAX's arrays.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.frontends.shared import needed
from xdsl_rlx.frontends.stablehlo import read_text

X = np.ones(3, np.float32)
WHOLE = r"pass the whole text of one module, as `jax\.jit\(f\)\.lower\(\.\.\)\.as_text\(\)` returns it"


def lowered(f: Any) -> str:
    return jax.jit(f).lower(X).as_text(debug_info=True)


def test_an_unknown_operation() -> None:
    generic = """
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = "stablehlo.frobnicate"(%x) : (tensor<3xf32>) -> tensor<3xf32> loc("model.py":12:3)
      func.return %0 : tensor<3xf32>
    }
    """
    expected = (
        r"\"model\.py\":12:3: .*'stablehlo\.frobnicate'.*; compute it by other operations, or install a newer JAX"
    )
    with pytest.raises(rlx.FrontendError, match=expected):
        rlx.from_stablehlo(generic)


def test_a_dynamic_shape() -> None:
    (size,) = jax.export.symbolic_shape("b")
    exported = jax.export.export(jax.jit(jnp.tanh))(jax.ShapeDtypeStruct((size,), np.float32))
    expected = (
        r"stablehlo\.tanh \(once, first at .*\.py:\d+.*\?xf32> is not static; lower the program for concrete shapes"
    )
    with pytest.raises(rlx.FrontendError, match=expected):
        rlx.from_stablehlo(exported.mlir_module())


def test_custom_calls() -> None:
    struct = jax.ShapeDtypeStruct((3,), np.float32)
    called = lowered(lambda x: jax.pure_callback(np.asarray, struct, x))
    expected = (
        r"stablehlo\.custom_call @xla_ffi_python_cpu_callback \(once, first at .*messages\.py:\d+.*: a callback runs in"
    )
    with pytest.raises(rlx.FrontendError, match=expected):
        rlx.from_stablehlo(called)
    unknown = lowered(lambda x: jax.ffi.ffi_call("my_target", struct)(x))
    with pytest.raises(
        rlx.FrontendError, match=r"@my_target \(once, first at .*messages\.py:\d+.*is not known\nReplace"
    ):
        rlx.from_stablehlo(unknown)


@pytest.mark.parametrize("part", [0.2, 0.5, 0.8])
def test_truncated_text(part: float) -> None:
    text, generic = lowered(jnp.tanh), rlx.to_stablehlo(np.tanh, X)
    with pytest.raises(rlx.FrontendError, match=rf"from_stablehlo: .*:\d+:\d+.*; {WHOLE}"):
        rlx.from_stablehlo(text[: int(part * len(text))])
    with pytest.raises(rlx.FrontendError, match=rf"from_stablehlo: line \d+: .*; {WHOLE}"):
        read_text.read(generic[: int(part * len(generic))])


@pytest.mark.parametrize("part", [0.2, 0.5, 0.9])
def test_truncated_bytes(part: float) -> None:
    artifact = rlx.to_stablehlo(np.tanh, X, portable=True)
    with pytest.raises(rlx.FrontendError, match=r"cannot be read: .*it is truncated, or of a newer version than"):
        rlx.from_stablehlo(artifact[: int(part * len(artifact))])


def test_a_version_of_jax_that_is_newer_than_tested_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tested = ".".join(map(str, needed.TESTED_JAX))
    needed.check_jax.cache_clear()
    monkeypatch.setattr(jax, "__version__", "0.99.1")
    with pytest.warns(UserWarning, match=rf"JAX 0\.99\.1 is newer than {tested}, .*pip install 'jax=={tested}'"):
        assert rlx.from_jax(jnp.tanh)(X).shape == (3,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rlx.from_jax(jnp.sin)(X)
        rlx.to_jax(np.sin, X, run="xla")
