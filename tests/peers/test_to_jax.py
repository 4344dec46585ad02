"""`rlx.to_jax`: functions of this package in JAX, as machine code and as StableHLO."""

# JAX's arrays, and trees of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportPrivateUsage=false, reportAttributeAccessIssue=false

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.frontends.hosts import jax_ffi

ROOT = Path(__file__).resolve().parents[2]
BOTH = pytest.mark.parametrize("run", ["rlx", "xla"])


def net(params: Any, x: Any, scale: float = 2.0) -> Any:
    hidden = np.tanh(x @ params["w"] + params["b"])
    return {"y": hidden * scale, "best": hidden.argmax(axis=-1), "energy": (hidden**2).sum()}


def in_jax(params: Any, x: Any) -> Any:
    hidden = jnp.tanh(x @ params["w"] + params["b"])
    return {"y": hidden * 2, "best": hidden.argmax(-1), "energy": (hidden**2).sum()}


def example(dtype: Any = jnp.float64) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(0)
    params = {"w": rng.standard_normal((3, 5)), "b": rng.standard_normal(5)}
    return jax.tree.map(lambda x: jnp.asarray(x, dtype), params), jnp.asarray(rng.standard_normal((4, 3)), dtype)


def loss(f: Callable[..., Any]) -> Callable[..., Any]:
    def total(params: Any, x: Any) -> Any:
        found = f(params, x)
        return 3 * found["y"].sum() + found["energy"]

    return total


def close(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for mine, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@BOTH
def test_results_and_gradients_are_those_of_jax(run: Any) -> None:
    params, x = example()
    f = rlx.to_jax(net, run=run)
    for transform in (lambda g: g, jax.jit):
        close(transform(f)(params, x), in_jax(params, x))
        close(transform(jax.grad(loss(f), (0, 1)))(params, x), jax.grad(loss(in_jax), (0, 1))(params, x))


@BOTH
def test_forward_mode_and_second_derivatives(run: Any) -> None:
    params, x = example()
    f = loss(rlx.to_jax(net, run=run))
    g = loss(in_jax)
    close(jax.jvp(f, (params, x), (params, x)), jax.jvp(g, (params, x), (params, x)))
    close(jax.jacfwd(f, 1)(params, x), jax.jacfwd(g, 1)(params, x))
    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            close(outer(inner(f, 1), 1)(params, x), outer(inner(g, 1), 1)(params, x), 1e-10)
    primals, linear = jax.linearize(lambda x: f(params, x), x)
    close(primals, g(params, x))
    close(linear(x), jax.jvp(lambda x: g(params, x), (x,), (x,))[1])


@BOTH
def test_batches_of_any_operands_in_any_order(run: Any) -> None:
    params, x = example()
    f = rlx.to_jax(net, run=run)
    many = jnp.stack([x, 2 * x, -x], axis=1)
    batched = {"w": params["w"], "b": jnp.stack([params["b"], 2 * params["b"], -params["b"]])}
    axes = ({"w": None, "b": 0}, 1)
    close(jax.vmap(f, axes)(batched, many), jax.vmap(in_jax, axes)(batched, many))
    for transform in (lambda f: jax.vmap(jax.grad(f), axes), lambda f: jax.vmap(jax.vmap(f, (None, 0)), axes)):
        close(transform(loss(f))(batched, many), transform(loss(in_jax))(batched, many))

    def of_all(f: Any, params: Any) -> Any:
        return jax.vmap(loss(f), (None, 1))(params, many).sum()

    close(jax.grad(lambda p: of_all(f, p))(params), jax.grad(lambda p: of_all(in_jax, p))(params))
    hessians = [jax.vmap(jax.hessian(loss(one), 1), (None, 1))(params, many) for one in (f, in_jax)]
    close(hessians[0], hessians[1], 1e-10)


@BOTH
def test_inside_of_loops_and_checkpoints(run: Any) -> None:
    rng = np.random.default_rng(1)
    w, x = jnp.asarray(rng.standard_normal((3, 3))), jnp.asarray(rng.standard_normal(3))
    f = rlx.to_jax(lambda w, x: np.sin(w @ x), run=run)

    def looped(f: Any) -> Any:
        def total(w: Any, x: Any) -> Any:
            def body(x: Any, _: Any) -> Any:
                x = jax.checkpoint(f)(w, x)
                return x, x.sum()

            x, sums = jax.lax.scan(body, x, None, length=5)
            return jax.lax.cond(sums[0] > 0, lambda: x.sum(), lambda: (x**2).sum()) + sums.sum()

        return jax.jit(jax.value_and_grad(total, (0, 1)))

    close(looped(f)(w, x), looped(lambda w, x: jnp.sin(w @ x))(w, x))


@BOTH
def test_without_x64_results_have_32_bits_and_residuals_all_of_theirs(run: Any) -> None:
    params, x = example(jnp.float32)
    with jax.enable_x64(False):
        f = rlx.to_jax(net, run=run)
        found = f(params, x)
        assert {name: str(one.dtype) for name, one in found.items()} == {
            "y": "float32",
            "best": "int32",
            "energy": "float32",
        }
        sort = rlx.to_jax(lambda x: np.sort(np.sin(np.float64(3) * x.astype("float64")), axis=0), run=run)
        weights = jnp.arange(12.0).reshape(4, 3)

        def weighted(f: Any) -> Any:
            return jax.grad(lambda x: (f(x) * weights).sum())

        expected = weighted(lambda x: jnp.sort(jnp.sin(3 * x), axis=0))(x)
        for transform in (lambda g: g, jax.jit):
            np.testing.assert_allclose(transform(weighted(sort))(x), expected, rtol=2e-5, atol=1e-5)


@BOTH
def test_residuals_of_64_bits_are_stacked_and_batched_without_x64(run: Any) -> None:
    def total(f: Any) -> Any:
        def of(x: Any) -> Any:
            x, squares = jax.lax.scan(lambda x, _: ((y := jax.checkpoint(f)(x)), (y**2).sum()), x, None, length=4)
            return (x * jnp.arange(5.0)).sum() + squares.sum()

        return of

    with jax.enable_x64(False):
        xs = jnp.asarray(np.random.default_rng(0).standard_normal((3, 5)), jnp.float32)
        f = total(rlx.to_jax(lambda x: np.sort(np.sin(x.astype("float64") * 1.3)) * 2.0, run=run))
        g = total(lambda x: jnp.sort(jnp.sin(x * 1.3)) * 2)
        close(jax.jit(jax.vmap(jax.grad(f)))(xs), jax.vmap(jax.grad(g))(xs), 1e-4)
        close(jax.vmap(jax.grad(f))(xs), jax.grad(lambda xs: jax.vmap(f)(xs).sum())(xs), 1e-6)


@BOTH
def test_loops_inside_of_the_function(run: Any) -> None:
    def ours(w: Any, xs: Any) -> Any:
        return rlx.scan(lambda c, x: (np.tanh(c @ w + x), c), np.zeros(4), xs)[1].sum()

    def theirs(w: Any, xs: Any) -> Any:
        return jax.lax.scan(lambda c, x: (jnp.tanh(c @ w + x), c), jnp.zeros(4), xs)[1].sum()

    @rlx.to_jax(run=run)
    def grown(x: Any, limit: Any) -> Any:
        return rlx.while_loop(lambda x: x.sum() < limit, lambda x: x * 1.5, x, max_iterations=50)

    rng = np.random.default_rng(2)
    w, xs = jnp.asarray(rng.standard_normal((4, 4))), jnp.asarray(rng.standard_normal((6, 4)))
    f = rlx.to_jax(ours, run=run)
    close(jax.hessian(f)(w, xs), jax.hessian(theirs)(w, xs), 1e-10)
    many = jnp.stack([xs, -xs])
    close(jax.vmap(jax.grad(f), (None, 0))(w, many), jax.vmap(jax.grad(theirs), (None, 0))(w, many), 1e-10)
    close(jax.grad(lambda x: grown(x, 50.0).sum())(jnp.ones(3)), jnp.full(3, 1.5**7))


@BOTH
def test_half_floats_complex_numbers_integers_and_truth(run: Any) -> None:
    z = jnp.asarray([1 + 2j, 0.3 - 1j])
    f, g = rlx.to_jax(lambda z: z * z * np.exp(z), run=run), lambda z: z * z * jnp.exp(z)
    close(jax.vjp(f, z)[1](z), jax.vjp(g, z)[1](z))
    close(jax.jvp(f, (z,), (z,)), jax.jvp(g, (z,), (z,)))
    for dtype in ("bfloat16", "float16", "int8", "uint8", "int16", "uint32", "bool"):
        x = jnp.asarray([1, 0, 3], dtype)
        found = rlx.to_jax(lambda x: (np.where(x > 0, x, x), x == x), run=run)(x)
        assert found[0].dtype == x.dtype
        assert (found[0] == x).all()
        assert found[1].dtype == bool


class Pair(NamedTuple):
    one: Any
    two: Any


@dataclass
class Plain:
    w: Any
    label: str


@BOTH
def test_trees_static_leaves_and_python_numbers(run: Any) -> None:
    def f(pair: Pair, plain: Plain, scale: float = 1.0, mode: str = "sum") -> Any:
        assert plain.label == "a"
        total = pair.one * scale + pair.two["x"] + plain.w
        return Pair(total.sum() if mode == "sum" else total, {"count": 3, "none": None})

    x = jnp.arange(3.0)
    g = rlx.to_jax(f, run=run)
    found = g(Pair(x, {"x": 2.0}), Plain(x, "a"), mode="all")
    assert isinstance(found, Pair)
    close(found.one, 2 * x + 2)
    assert found.two["none"] is None
    assert int(found.two["count"]) == 3
    close(jax.jit(lambda x: g(Pair(x, {"x": x}), Plain(x, "a"), scale=2.0))(x).one, (4 * x).sum())
    narrow = rlx.to_jax(lambda x, scale: x * scale, run=run)(x.astype(jnp.bfloat16), 2.0)
    assert narrow.dtype == jnp.bfloat16


@BOTH
def test_shapes_are_compiled_when_they_are_met_and_empty_ones_too(run: Any) -> None:
    f = rlx.to_jax(lambda x: (x * 2, x.sum()), jnp.ones(3), run=run)
    assert len(f._signatures) == 1
    for size in (3, 0, 5):
        close(f(jnp.ones(size)), (2 * jnp.ones(size), jnp.asarray(float(size))))
    assert len(f._signatures) == 3


@BOTH
def test_large_captured_arrays(run: Any) -> None:
    rng = np.random.default_rng(2)
    one, two = rng.standard_normal((2, 128, 128))
    x = jnp.ones(128)
    f, g = (rlx.to_jax(lambda x, w=w: np.tanh(x @ w), run=run) for w in (one, two))
    for made, w in ((f, one), (g, two)):
        close(made(x), jnp.tanh(x @ w), 1e-10)
        gradients = [jax.grad(lambda x, h=h: h(x).sum())(x) for h in (made, lambda x, w=w: jnp.tanh(x @ w))]
        close(gradients[0], gradients[1], 1e-10)
        close(jax.vmap(made)(jnp.stack([x, -x])), jnp.tanh(jnp.stack([x, -x]) @ w), 1e-10)


@BOTH
def test_rules_of_custom_functions_are_used(run: Any) -> None:
    @rlx.custom_vjp
    def f(x: Any) -> Any:
        return np.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (7.0 * g,))
    g = rlx.to_jax(lambda x: f(x) * 2, run=run)
    close(jax.grad(lambda x: g(x).sum())(jnp.ones(3)), 14 * jnp.ones(3))


def test_donated_arguments_are_written_over_and_others_are_not() -> None:
    step = rlx.to_jax(
        rlx.compile(lambda state, x: (state["s"].sum(), {"s": state["s"] + x}), donate="state"), run="rlx"
    )
    s, x = jnp.arange(1024.0), jnp.ones(1024)
    assert "output_operand_aliases" in jax.jit(step).lower({"s": s}, x).as_text()
    total, after = step({"s": s}, x)
    close(total, s.sum())
    close(after["s"], s + 1)
    close(s, jnp.arange(1024.0))

    def looped(s: Any) -> Any:
        return jax.lax.fori_loop(0, 5, lambda _, s: step({"s": s}, x)[1]["s"], s)

    close(jax.jit(looped, donate_argnums=0)(jnp.arange(1024.0)), s + 5)
    close(jax.grad(lambda s: step({"s": s}, x)[1]["s"].sum())(s), x)


def test_no_buffer_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program reads and writes where JAX has its arguments and results."""
    seen: list[list[int]] = []
    arrays = jax_ffi._arrays

    def noted(buffers: int, specs: Any) -> Any:
        found = arrays(buffers, specs)
        seen.append([one.ctypes.data for one in found])
        return found

    monkeypatch.setattr(jax_ffi, "_arrays", noted)
    x, y = jnp.arange(1 << 12, dtype=jnp.float64), jnp.ones((64, 64))
    with rlx.debug.check_nans():
        found = rlx.to_jax(lambda x, y: (x + 1, y.T * 2), run="rlx")(x, y)
    results, arguments = seen
    assert results == [one.unsafe_buffer_pointer() for one in found]
    assert arguments == [one.unsafe_buffer_pointer() for one in (x, y)]


def test_an_error_of_a_kernel_arrives_as_an_error_of_jax() -> None:
    f = rlx.to_jax(lambda x: np.log(x) - np.log(x), run="rlx")
    close(jnp.isnan(f(jnp.zeros(2))), jnp.asarray([True, True]))
    with (
        rlx.debug.check_nans(),
        pytest.raises(jax.errors.JaxRuntimeError, match=r"NanError.*mir.sub at .*test_to_jax.py"),
    ):
        jax.block_until_ready(f(jnp.zeros(2)))
    close(f(jnp.ones(2)), jnp.zeros(2))


OUTSIDE = """
lir.program @scatter attributes {arena_bytes = 64 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<8xf32>
  %n = lir.input "n" : memref<8xi32>
  %y = lir.output 0 : memref<8xf32>
  lir.launch @move over 8 by 8 reads(%x, %n : memref<8xf32>, memref<8xi32>) writes(%y : memref<8xf32>)
}
lir.kernel @move(%i: memref<8xf32>, %n: memref<8xi32>, %o: memref<8xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %j = %lo to %hi step %c1 {
    %v = memref.load %i[%j] : memref<8xf32>
    %m = memref.load %n[%j] : memref<8xi32>
    %s = arith.index_cast %m : i32 to index
    memref.store %v, %o[%s] : memref<8xf32>
  }
  lir.return
}
"""


def test_a_failed_check_arrives_as_an_error_of_jax() -> None:
    made = jax_ffi.target(rlx.compile(rlx.parse(OUTSIDE)), {}, nans=False)
    call = jax.jit(jax.ffi.ffi_call(made.name, jax.ShapeDtypeStruct((8,), jnp.float32)))
    x, order = jnp.arange(8, dtype=jnp.float32), jnp.arange(8, dtype=jnp.int32)[::-1]
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"OUT_OF_RANGE.*OutOfBoundsError: kernel @move.*got 8"):
        jax.block_until_ready(call(x, order + 1))
    close(call(x, order), x[::-1])


def test_prints_run_in_compiled_functions(capfd: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        rlx.debug.print("x is {}", x.sum())
        return x * 2

    jax.block_until_ready(jax.jit(rlx.to_jax(f, run="rlx"))(jnp.ones(3)))
    assert "x is 3.0" in capfd.readouterr().out


def test_threads_run_at_the_same_time() -> None:
    f = jax.jit(rlx.to_jax(lambda x: np.tanh(x @ x).sum(), run="rlx", threads=2))
    xs = [jnp.full((64, 64), n / 1000) for n in range(8)]
    expected = [float(f(x)) for x in xs]
    found: dict[int, list[float]] = {}

    def work(n: int) -> None:
        found[n] = [float(f(xs[n])) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(set(found[n]) == {expected[n]} for n in range(8))


def _in_another_process(code: str, **environment: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_an_executable_of_xlas_cache_finds_the_program_in_another_process(tmp_path: Path) -> None:
    code = """
        import jax, jax.numpy as jnp, numpy as np, logging
        import xdsl_rlx as rlx
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        hits = []
        jax.monitoring.register_event_listener(lambda name, **_: hits.append(name))
        w = np.arange(128.0 * 128).reshape(128, 128) / 1e4
        f = jax.jit(jax.grad(lambda x: rlx.to_jax(lambda x: np.tanh(x @ w), run="rlx")(x).sum()))
        print(float(f(jnp.ones(128) / 100).sum()))
        print(sum("cache_hit" in name for name in hits))
    """
    environment = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path), "JAX_ENABLE_COMPILATION_CACHE": "1"}
    first, second = (_in_another_process(code, **environment).split() for _ in range(2))
    assert first[0] == second[0]
    assert int(first[1]) == 0
    assert int(second[1]) > 0


def test_a_serialized_function_runs_without_this_package(tmp_path: Path) -> None:
    params, x = example()
    f = rlx.to_jax(loss(net), run="xla")
    path = tmp_path / "function.bin"
    path.write_bytes(f.serialize(params, x, vjp_order=1))
    np.savez(tmp_path / "args.npz", x=x, **params)
    code = f"""
        import sys, jax, numpy as np
        from jax import export
        f = export.deserialize(bytearray(open({str(path)!r}, "rb").read())).call
        given = dict(np.load({str(tmp_path / "args.npz")!r}))
        x = given.pop("x")
        value, grads = jax.value_and_grad(f)(given, x)
        print(float(value), float(grads["w"].sum()))
        print("xdsl_rlx" in sys.modules)
    """
    value, total, loaded = _in_another_process(code).split()
    expected, grads = jax.value_and_grad(loss(in_jax))(params, x)
    np.testing.assert_allclose([float(value), float(total)], [expected, grads["w"].sum()], rtol=1e-12)
    assert loaded == "False"
    with pytest.raises(rlx.FrontendError, match="machine code cannot be serialized"):
        rlx.to_jax(net, run="rlx").serialize(params, x)


SHARDED = """
    import jax, jax.numpy as jnp, numpy as np
    import xdsl_rlx as rlx
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

    def loss(params, x, y):
        hidden = np.tanh(x @ params["w"])
        return ((hidden @ params["v"] - y) ** 2).mean()

    rng = np.random.default_rng(0)
    params = {"w": rng.standard_normal((6, 8)), "v": rng.standard_normal((8, 2))}
    x, y = rng.standard_normal((16, 6)), rng.standard_normal((16, 2))
    mesh = jax.make_mesh((2,), ("d",), axis_types=(AxisType.Auto,))
    own = rlx.compile(rlx.value_and_grad(loss))(params, x, y)
    f = rlx.to_jax(rlx.value_and_grad(loss), run="xla")

    def placed(tree, specs):
        return jax.tree.map(lambda a, spec: jax.device_put(a, NamedSharding(mesh, spec)), tree, specs)

    roads = {
        "data": ({"w": P(), "v": P()}, P("d"), P("d")),
        "tensor": ({"w": P(None, "d"), "v": P("d")}, P(), P()),
    }
    for name, specs in roads.items():
        args = placed((params, x, y), specs)
        compiled = jax.jit(f).lower(*args).compile()
        found = compiled(*args)
        np.testing.assert_allclose(found[0], own[0], rtol=1e-12)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12), found[1], own[1])
        print(name, "all-reduce" in compiled.as_text(), len(args[1].sharding.device_set))

    for run in ("rlx", "xla"):
        g = rlx.to_jax(loss, run=run)

        def local(params, x, y):
            return jax.lax.pmean(g(params, x, y), "d")

        for check in (True, False):
            mapped = jax.shard_map(
                local, mesh=mesh, in_specs=(P(), P("d"), P("d")), out_specs=P(), check_vma=check
            )
            value, grads = jax.jit(jax.value_and_grad(mapped))(params, x, y)
            np.testing.assert_allclose(value, own[0], rtol=1e-12)
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12), grads, own[1])
        print(run, "mapped")
"""


def test_two_devices_by_data_by_tensors_and_by_shard_map() -> None:
    found = _in_another_process(SHARDED, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert found.split("\n")[:4] == ["data True 2", "tensor True 2", "rlx mapped", "xla mapped"]


def test_what_cannot_be_run_is_said() -> None:
    with pytest.raises(rlx.FrontendError, match="run: expected 'rlx' or 'xla', got 'gpu'"):
        rlx.to_jax(net, run="gpu")  # pyright: ignore[reportArgumentType]
    with pytest.raises(rlx.FrontendError, match="f: expected a function"):
        rlx.to_jax(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(rlx.FrontendError, match=r"typed key of JAX; pass jax\.random\.key_data"):
        rlx.to_jax(lambda x: x * 2)(jax.random.key(0))
    with pytest.raises(rlx.FrontendError, match="result leaf 0 is 'text'"):
        rlx.to_jax(lambda x: ("text", x))(jnp.ones(2))
    with pytest.raises(rlx.GraphError, match=r"mir.rng_poisson at .* cannot be written as StableHLO: it draws until"):
        rlx.to_jax(lambda x: rlx.random.poisson(rlx.random.key(0), x), run="xla")(jnp.ones(3))


def calls_in(jaxpr: Any) -> int:
    """How many programs of ours a jaxpr calls, in those that it holds too."""
    own = sum(eqn.primitive.name.startswith("xdsl_rlx") for eqn in jaxpr.eqns)
    return own + sum(calls_in(inner) for eqn in jaxpr.eqns for inner in jax.extend.core.jaxprs_in_params(eqn.params))


@pytest.mark.parametrize("run", ["rlx", "xla"])
def test_forward_mode_is_one_program_for_value_and_tangent(run: Any) -> None:
    x = np.linspace(0.1, 2.0, 5).astype(np.float32)
    f = rlx.to_jax(lambda x: (np.tanh(x) * x).sum(), run=run)

    def pushed(x: Any, along: Any) -> Any:
        return jax.jvp(f, (x,), (along,))

    assert calls_in(jax.make_jaxpr(pushed)(x, x).jaxpr) == 1
    value, tangent = jax.jit(pushed)(x, np.ones_like(x))
    np.testing.assert_allclose(value, (np.tanh(x) * x).sum(), rtol=1e-6)
    np.testing.assert_allclose(tangent, jax.grad(f)(x).sum(), rtol=1e-6)
    np.testing.assert_allclose(tangent, (np.tanh(x) + x / np.cosh(x) ** 2).sum(), rtol=1e-6)


def test_forward_mode_runs_the_function_once(capfd: pytest.CaptureFixture[str]) -> None:
    def noisy(x: Any) -> Any:
        rlx.debug.print("it runs {}", x.sum())
        return np.sin(x)

    f = rlx.to_jax(noisy, run="rlx")
    value, tangent = jax.jvp(f, (np.float32(1.0),), (np.float32(2.0),))
    jax.block_until_ready((value, tangent))
    assert capfd.readouterr().out.count("it runs") == 1
    np.testing.assert_allclose([value, tangent], [np.sin(1.0), 2 * np.cos(1.0)], rtol=1e-6)


def test_gradients_under_checkpoint_recompute() -> None:
    f = rlx.to_jax(lambda x: np.tanh(x) * x, run="rlx")
    x = np.linspace(0.1, 2.0, 5).astype(np.float32)
    every, kept = jax.checkpoint_policies.nothing_saveable, jax.checkpoint_policies.everything_saveable
    expected = jax.grad(lambda x: (jnp.tanh(x) * x).sum() ** 2)(x)
    for policy in (None, every, kept):
        found = jax.grad(lambda x, policy=policy: jax.checkpoint(f, policy=policy)(x).sum() ** 2)(x)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    twice = jax.jvp(jax.grad(lambda x: jax.checkpoint(f)(x).sum() ** 2), (x,), (x,))[1]
    reference = jax.jvp(jax.grad(lambda x: (jnp.tanh(x) * x).sum() ** 2), (x,), (x,))[1]
    np.testing.assert_allclose(twice, reference, rtol=1e-5)
