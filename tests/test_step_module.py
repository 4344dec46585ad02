"""The module that `-t numba` prints: what it computes in a process that has no xDSL and nothing of this package."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import lit_inprocess
import ml_dtypes
import numpy as np
import oracle
import pytest
from xdsl.utils.exceptions import PassFailedException

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.numba.python_module import emit_python

Arrays = dict[str, np.ndarray[Any, Any]]

MODEL = Path(__file__).parent / "filecheck" / "pipelines" / "mlp.hir.mlir"
BACK = (
    "mir-prepare-for-fusion",
    "mir-fuse",
    "convert-mir-to-lir",
    "lir-elide-copies",
    "lir-prefetch-stores",
    "lir-guard-range",
    "lir-mark-unrolled",
    "lir-plan-memory",
)
PASSES = ("convert-hir-to-mir", "mir-prepare-for-ad", "mir-grad{wrt=w1,b1,w2,b2}", *BACK)

ALONE = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("xdsl", "xdsl_rlx", "jax", "ml_dtypes"):
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import numpy as np
import step
results = getattr(step, sys.argv[1])(**np.load("inputs.npz"))
np.savez("outputs.npz", *results)
print(step.machine_code(getattr(step, sys.argv[1] + "_launches")).cache_hits)
assert not {"xdsl", "xdsl_rlx", "jax"} & set(sys.modules)
"""


def run_alone(function: str, folder: Path, inputs: Arrays) -> tuple[list[np.ndarray[Any, Any]], int]:
    """
    Results of a function of `step.py` in `folder`, from a process that has NumPy, Numba and SciPy only, and how often
    its machine code came from Numba's cache.
    """
    np.savez(folder / "inputs.npz", **inputs)
    command = [sys.executable, "-W", "error", "-c", ALONE, function]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    with np.load(folder / "outputs.npz") as outputs:
        return [outputs[name] for name in outputs.files], int(done.stdout)


def xdsl_opt(*arguments: str) -> str:
    """What `xdsl-opt` prints, run in this process."""
    done = lit_inprocess.in_process(["xdsl-opt", *arguments], "")
    assert done.status in (0, None), done.err
    return done.out


def mlp_inputs() -> Arrays:
    rng = np.random.default_rng(0)
    shapes = {"x": (16, 64), "w1": (64, 32), "b1": (32,), "w2": (32, 10), "b2": (10,)}
    arrays: Arrays = {name: (0.3 * rng.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
    return arrays | {"labels": rng.integers(0, 10, 16).astype(np.int32)}


def mlp_by_jax(arrays: Arrays) -> list[np.ndarray[Any, Any]]:
    """Loss and gradients in f64."""

    def loss(params: dict[str, Any]) -> Any:
        h = jax.nn.gelu(arrays["x"] @ params["w1"] + params["b1"], approximate=False)
        logits = h @ params["w2"] + params["b2"]
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), arrays["labels"][:, None], 1)
        return -jnp.mean(picked)

    wrt = ("w1", "b1", "w2", "b2")
    value, grads = jax.value_and_grad(loss)({name: jnp.asarray(arrays[name], jnp.float64) for name in wrt})
    return [np.asarray(value), *(np.asarray(grads[name]) for name in wrt)]


def test_printed_step_gives_the_numbers_of_jax_without_this_package(tmp_path: Path):
    (tmp_path / "step.py").write_text(xdsl_opt(str(MODEL), "-p", ",".join(PASSES), "-t", "numba"))
    inputs = mlp_inputs()
    results, _ = run_alone("mlp_grad", tmp_path, inputs)
    for result, expected in zip(results, mlp_by_jax(inputs), strict=True):
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())

    gradient = rlx.run_passes(rlx.parse(MODEL.read_text()), ",".join(PASSES[:3]))
    compiled = rlx.compile(gradient, threads=1)(**inputs)
    for result, ours in zip(results, compiled, strict=True):
        oracle.assert_close(result, ours, 4)


def test_printed_step_has_the_bits_of_the_compiled_one_where_no_sum_is_reordered(tmp_path: Path):
    layer = rlx.GraphModule.define(
        "layer",
        lambda m: m.linear(m.input("x", (5, 16)), m.param("w", (16, 7)), m.param("b", (7,)), activation="gelu"),
    )
    gradient = rlx.grad_with_loss(layer, wrt=["x", "w"])
    (tmp_path / "step.py").write_text(rlx.numba_source(gradient))
    rng = np.random.default_rng(1)
    shapes = {"x": (5, 16), "w": (16, 7), "b": (7,), "d_output": (5, 7)}
    inputs: Arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    results, _ = run_alone("layer_grad", tmp_path, inputs)
    for result, ours in zip(results, rlx.compile(gradient, threads=1)(**inputs), strict=True):
        assert result.dtype == ours.dtype and result.shape == ours.shape
        assert result.tobytes() == ours.tobytes()


def test_threads_give_the_compiled_results_and_a_second_process_compiles_nothing(tmp_path: Path):
    g = rlx.Graph("pieces")
    x, w = g.input("x", (512, 256)), g.param("w", (256, 64))
    g.set_outputs([g.gelu(x), x @ w, g.reduce_sum(x * x), g.reduce_sum(g.exp(x), axes=[1])])
    source = rlx.numba_source(g, threads=2)
    assert source.count("parallel(k") >= 3
    (tmp_path / "step.py").write_text(source)
    rng = np.random.default_rng(2)
    inputs: Arrays = {
        name: rng.standard_normal(shape).astype(np.float32) for name, shape in (("x", (512, 256)), ("w", (256, 64)))
    }
    first, hits = run_alone("pieces", tmp_path, inputs)
    again, more_hits = run_alone("pieces", tmp_path, inputs)
    assert (hits, more_hits) == (0, 1)
    for number, (result, other, ours) in enumerate(zip(first, again, rlx.compile(g, threads=2)(**inputs), strict=True)):
        assert result.tobytes() == other.tobytes()
        if number < 2:
            assert result.tobytes() == ours.tobytes()
        else:
            oracle.assert_close(result, ours, 16)


def layer(g: rlx.Graph) -> rlx.Value:
    """A layer of which the product is the library's on every processor."""
    return g.softmax(g.gelu(g.input("x", (900, 32)) @ g.param("w", (32, 32))))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("build", [lambda g: g.input("x", (2048, 64)) + 1.0, layer], ids=["elementwise", "layer"])
def test_every_helper_that_is_printed_is_used(build: Callable[[rlx.Graph], rlx.Value], threads: int):
    g = rlx.Graph("step")
    g.set_outputs([build(g)])
    text = rlx.numba_source(g, threads=threads)
    names = [name for node in ast.parse(text).body for name in defined_by(node)]
    assert len(names) == len(set(names))
    words = Counter(re.findall(r"\w+", text))
    assert not [name for name in names if words[name] < 2 and name != "step"]
    assert ("fortran" in names, "stack" in names) == (build is layer, build is layer)
    assert ("parallel" in names) is (threads > 1)


def defined_by(node: ast.stmt) -> list[str]:
    """The names that a statement of a module brings, but for those of functions that are registered by a decorator."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name] if not any("lower_builtin" in ast.unparse(d) for d in node.decorator_list) else []
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def test_blas_has_its_threads_again_after_a_call(tmp_path: Path):
    g = rlx.Graph("product")
    # no product of few multiplications, which is no call of BLAS
    g.set_outputs([g.input("x", (64, 64)) @ g.param("w", (64, 64))])
    names: dict[str, Any] = {}
    exec(rlx.numba_source(g), names)
    seen: list[int] = []
    get, put = names["BLAS_THREADS"]
    names["run"] = lambda *_: seen.append(get())  # pyright: ignore[reportUnknownLambdaType]
    put(2)
    names["product"](x=np.ones((64, 64), np.float32), w=np.ones((64, 64)).tolist())
    assert (seen, get()) == ([1], 2)


@pytest.mark.parametrize("length", range(1, len(PASSES) + 1))
def test_every_prefix_of_the_pipeline_prints_ir_that_parses_back(length: int, tmp_path: Path):
    printed = tmp_path / "printed.mlir"
    printed.write_text(xdsl_opt(str(MODEL), "-p", ",".join(PASSES[:length])))
    assert xdsl_opt(str(printed)) == printed.read_text()


@pytest.mark.sampled(most=4)
@pytest.mark.parametrize("length", range(1, len(PASSES)))
def test_a_pipeline_can_be_cut_anywhere(length: int, tmp_path: Path):
    half = tmp_path / "half.mlir"
    half.write_text(xdsl_opt(str(MODEL), "-p", ",".join(PASSES[:length])))
    assert xdsl_opt(str(half), "-p", ",".join(PASSES[length:])) == xdsl_opt(str(MODEL), "-p", ",".join(PASSES))


@pytest.fixture
def printed() -> Any:
    """The function of a module that doubles bf16 numbers and adds one to f32 ones."""
    g = rlx.Graph("step")
    g.set_outputs([g.input("x", (2, 2), "bf16") * 2.0, g.input("y", (3,)) + 1.0])
    names: dict[str, Any] = {}
    exec(rlx.numba_source(g), names)
    return names["step"]


def test_the_module_takes_bfloat16_and_its_bits(printed: Any):
    x = np.array([[1.5, -2.0], [0.25, 3.0]], ml_dtypes.bfloat16)
    for given in (x, x.view(np.uint16), np.asfortranarray(x)):
        doubled, _ = printed(x=given, y=np.zeros(3, np.float32))
        np.testing.assert_array_equal(doubled.view(ml_dtypes.bfloat16), 2 * x)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"y": np.zeros(4)}, ValueError, "argument 'y': expected shape (3,), got (4,)"),
        ({"y": np.zeros(3)}, TypeError, "argument 'y': expected float32, got float64, in which values may differ"),
        ({"y": np.zeros(3, complex)}, TypeError, "argument 'y': expected float32, got complex128"),
        ({"x": np.zeros((2, 2))}, TypeError, "argument 'x': expected bfloat16, or its bits as uint16, got float64"),
        ({"x": np.ones((2, 2), np.int64)}, TypeError, "expected bfloat16, or its bits as uint16, got int64"),
        ({"x": [[1, 2], [3, 4]]}, TypeError, "expected bfloat16, or its bits as uint16, got int64"),
        ({"y": [1e300, 0.0, 0.0]}, TypeError, "argument 'y': a number is infinite as float32"),
        ({"z": 1}, TypeError, "unexpected argument 'z'; expected x, y"),
    ],
)
def test_the_module_checks_its_arguments(printed: Any, given: dict[str, Any], error: type[Exception], message: str):
    arguments = {"x": np.zeros((2, 2), np.uint16), "y": [0.0, 0.0, 0.0]}
    with pytest.raises(error, match=re.escape(message)):
        printed(**(arguments | given))
    with pytest.raises(TypeError, match="missing argument 'y'"):
        printed(x=arguments["x"])


@pytest.mark.parametrize("target", ["numba", "rlx-llvm", "asm"])
def test_a_module_that_was_not_lowered_is_not_printed(target: str):
    done = lit_inprocess.in_process(["xdsl-opt", str(MODEL), "-t", target], "")
    assert done.status not in (0, None) and f"lir-plan-memory before -t {target}" in done.err


def test_the_target_llvm_is_that_of_xdsl():
    text = "llvm.func @same(%x: i32) -> i32 {\n  llvm.return %x : i32\n}"
    done = lit_inprocess.in_process(["xdsl-opt", "-t", "llvm"], text)
    assert done.status == 0 and 'define i32 @"same"(i32' in done.out


def test_a_module_whose_memory_was_not_planned_is_not_printed():
    g = rlx.Graph("step")
    g.set_outputs([g.reduce_sum(g.input("x", (64, 64)) @ g.input("y", (64, 64)))])
    unplanned = rlx.run_passes(g, "mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir").module
    with pytest.raises(
        PassFailedException, match="the slots of @step have no offset: run lir-plan-memory before -t numba"
    ):
        emit_python(unplanned)


def test_the_texts_of_every_stage_name_the_kernels():
    g = rlx.Graph("step")
    g.set_outputs([g.tanh(g.input("x", (4, 4)))])
    for text, comment in ((rlx.llvm_source(g), ";"), (rlx.asm_source(g), "#")):
        assert text.startswith(f"{comment} Printed by xdsl-rlx: the kernels of @step.\n")
        assert f"{comment} k0_tanh: memref<16xf32>, memref<16xf32>\n" in text
    with pytest.raises(rlx.RlxError, match="threads must be"):
        rlx.asm_source(g, threads=0)
