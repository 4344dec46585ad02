"""`rlx.to_torch`: functions of this package in PyTorch's autograd."""

# Tensors, and trees of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportPrivateUsage=false, reportAttributeAccessIssue=false

import threading
from typing import Any

import numpy as np
import pytest
import torch
from torch import library

import xdsl_rlx as rlx

DOUBLE = torch.float64


def net(params: Any, x: Any, scale: float = 2.0) -> Any:
    hidden = np.tanh(x @ params["w"] + params["b"])
    return {"y": hidden * scale, "best": hidden.argmax(axis=-1), "energy": (hidden**2).sum()}


def example(dtype: Any = DOUBLE, grads: bool = True) -> tuple[dict[str, Any], Any]:
    torch.manual_seed(0)
    params = {"w": torch.randn(3, 5, dtype=dtype), "b": torch.randn(5, dtype=dtype)}
    for x in params.values():
        x.requires_grad_(grads)
    return params, torch.randn(4, 3, dtype=dtype)


def in_torch(params: Any, x: Any) -> Any:
    hidden = torch.tanh(x @ params["w"] + params["b"])
    return {"y": hidden * 2, "best": hidden.argmax(-1), "energy": (hidden**2).sum()}


def gradients(f: Any, params: Any, x: Any) -> tuple[Any, ...]:
    found = f(params, x)
    return torch.autograd.grad(3 * found["y"].sum() + found["energy"], list(params.values()))


def test_results_and_gradients_are_those_of_torch() -> None:
    params, x = example()
    f = rlx.to_torch(net)
    found, expected = f(params, x), in_torch(params, x)
    assert list(found) == list(expected)
    for name, one in expected.items():
        torch.testing.assert_close(found[name], one)
    for mine, other in zip(gradients(f, params, x), gradients(in_torch, params, x), strict=True):
        torch.testing.assert_close(mine, other)


def test_gradcheck() -> None:
    params, x = example()
    f = rlx.to_torch(net)

    def floats(w: Any, b: Any, x: Any) -> Any:
        found = f({"w": w, "b": b}, x)
        return found["y"], found["energy"]

    assert torch.autograd.gradcheck(floats, (params["w"], params["b"], x.requires_grad_()))
    z = torch.randn(4, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(rlx.to_torch(lambda z: (z * z.conj()).real * z), (z,))


def test_a_result_without_cotangent_adds_nothing() -> None:
    params, x = example()
    f = rlx.to_torch(net)
    (mine,) = torch.autograd.grad(f(params, x)["energy"], params["w"])
    (other,) = torch.autograd.grad(in_torch(params, x)["energy"], params["w"])
    torch.testing.assert_close(mine, other)


def test_gradients_are_of_what_asks_for_them() -> None:
    params, x = example()
    params["b"].requires_grad_(False)
    f = rlx.to_torch(net)
    found = f(params, x)
    assert found["y"].requires_grad and not found["best"].requires_grad
    found["y"].sum().backward()
    assert params["w"].grad is not None and params["b"].grad is None and x.grad is None
    with torch.no_grad():
        assert not f(params, x)["y"].requires_grad
    params["w"].requires_grad_(False)
    assert not f(params, x)["y"].requires_grad


def test_integers_numbers_texts_and_arrays_are_arguments() -> None:
    def pick(table: Any, ids: Any, how: str, factor: float) -> Any:
        found = table[ids] * factor
        return found.sum(axis=0) if how == "sum" else found

    table = torch.randn(6, 3, dtype=DOUBLE, requires_grad=True)
    ids = torch.tensor([1, 1, 4])
    f = rlx.to_torch(pick)
    f(table, ids, "sum", 2.0).sum().backward()
    expected = torch.zeros(6, 3, dtype=DOUBLE)
    expected[1], expected[4] = 4, 2
    torch.testing.assert_close(table.grad, expected)
    torch.testing.assert_close(f(table, ids.numpy(), "each", 2.0), 2 * table[ids])


def test_other_shapes_and_types_compile_when_they_are_met() -> None:
    f = rlx.to_torch(net, *example())
    for dtype, rows in ((torch.float32, 2), (DOUBLE, 7), (torch.float32, 0)):
        params, _ = example(dtype)
        x = torch.randn(rows, 3, dtype=dtype)
        found = gradients(f, params, x)
        for mine, other in zip(found, gradients(in_torch, params, x), strict=True):
            torch.testing.assert_close(mine, other)


def test_bfloat16() -> None:
    x = torch.randn(8, dtype=torch.bfloat16, requires_grad=True)
    y = rlx.to_torch(lambda x: x * x)(x)
    y.sum().backward()
    assert y.dtype is torch.bfloat16
    torch.testing.assert_close(x.grad, 2 * x.detach())


def test_a_second_derivative_names_the_cure() -> None:
    x = torch.randn(3, dtype=DOUBLE, requires_grad=True)

    def cube(x: Any) -> Any:
        return (x**3).sum()

    f = rlx.to_torch(cube)
    (first,) = torch.autograd.grad(f(x), x, create_graph=True)
    torch.testing.assert_close(first, 3 * x**2)
    with pytest.raises(rlx.FrontendError, match=r"rlx.to_torch\(rlx.grad\(cube\)\)"):
        torch.autograd.grad(first.sum(), x)
    (second,) = torch.autograd.grad(rlx.to_torch(rlx.grad(cube))(x).sum(), x)
    torch.testing.assert_close(second, 6 * x)


def test_contiguous_tensors_are_read_in_place_and_results_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, ...]] = []
    params, x = example()
    f: Any = rlx.to_torch(net)
    # the first call finds its program by arrays, the next ones by tensors
    for _ in range(2):
        f(params, x)["y"].sum().backward()
    (program,) = f._programs.values()

    for one in (program.on_tensors.forward, program.on_tensors.backward):
        compiled = one._compiled
        one._free.append(one._made())

        def watch(*arrays: Any, compiled: Any = compiled) -> Any:
            found = compiled(*arrays)
            seen.append(tuple(one.ctypes.data for one in arrays))
            seen.append(tuple(one.ctypes.data for one in found))
            return found

        monkeypatch.setattr(one, "_compiled", watch)
    found = f(params, x)
    given = {one.data_ptr() for one in (*params.values(), x)}
    assert set(seen[0]) == given
    assert {one.data_ptr() for one in found.values()} <= set(seen[1])
    weight = torch.ones(4, 5, dtype=DOUBLE)
    grads = torch.autograd.grad(found["y"], list(params.values()), weight)
    assert x.data_ptr() in seen[2]
    assert {one.data_ptr() for one in grads} == set(seen[3])
    seen.clear()
    found = f(params, x)
    torch.autograd.grad([found["y"], found["energy"]], list(params.values()), [weight, one_of(weight)])
    assert {x.data_ptr(), weight.data_ptr()} <= set(seen[2])


def one_of(x: Any) -> Any:
    return x[0, 0].clone()


def test_a_tensor_of_another_kind_after_one_of_the_same_shape() -> None:
    f = rlx.to_torch(lambda x: x * 2)
    plain = torch.randn(4, dtype=torch.complex64)
    for x in (plain, plain, plain.conj(), plain[::1], torch.randn(8, dtype=torch.complex64)[::2], plain):
        torch.testing.assert_close(f(x), x * 2)
    real = torch.arange(4, dtype=torch.float32)
    for x in (real, real, plain.conj().imag, real.expand(4), real[:1].expand(4)):
        torch.testing.assert_close(f(x), x * 2)
    with pytest.raises(rlx.FrontendError, match="device meta"):
        f(torch.zeros(4, device="meta"))


def test_a_residual_is_read_again_and_the_forward_pass_is_not() -> None:
    x = torch.randn(64, 64, dtype=DOUBLE, requires_grad=True)
    f: Any = rlx.to_torch(lambda x: np.tanh(x @ x))
    f(x).sum().backward()
    (program,) = f._programs.values()
    assert "tanh" not in str(program.halves.backward)
    assert str(program.halves.backward).count("mir.matmul") == 2


def test_non_contiguous_tensors() -> None:
    x = torch.randn(3, 4, dtype=DOUBLE).T.requires_grad_()
    y = rlx.to_torch(lambda x: x * x)(x)
    y.backward(torch.ones(1, dtype=DOUBLE).expand(4, 3))
    torch.testing.assert_close(x.grad, 2 * x.detach())


def test_a_changed_input_is_an_error_of_torch() -> None:
    x = torch.randn(3, dtype=DOUBLE, requires_grad=True)
    z = x * 1
    y = rlx.to_torch(lambda z: (z * z).sum())(z)
    with torch.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_threads() -> None:
    params, _ = example()
    f = rlx.to_torch(net)
    failures: list[Exception] = []

    def work(seed: int) -> None:
        try:
            torch.manual_seed(seed)
            for rows in (2, 3, 2):
                x = torch.randn(rows, 3, dtype=DOUBLE)
                for mine, other in zip(gradients(f, params, x), gradients(in_torch, params, x), strict=True):
                    torch.testing.assert_close(mine, other)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failures


def test_large_captured_arrays_are_shared() -> None:
    table = np.random.default_rng(0).standard_normal((200, 100))
    x = torch.randn(3, 200, dtype=DOUBLE, requires_grad=True)
    y = rlx.to_torch(lambda x: x @ table)(x)
    y.sum().backward()
    torch.testing.assert_close(y, x @ torch.from_numpy(table))
    torch.testing.assert_close(x.grad, torch.from_numpy(table.sum(axis=1)).expand(3, 200))


def test_compile_breaks_the_graph_around_a_function() -> None:
    params, x = example()
    f = rlx.to_torch(net)
    compiled = torch.compile(lambda params, x: f(params, x + 1)["y"] * 2, backend="aot_eager")
    torch.testing.assert_close(compiled(params, x), in_torch(params, x + 1)["y"] * 2)


def test_a_compiled_function_and_an_imported_module() -> None:
    layer = torch.nn.Linear(3, 2)
    model = rlx.from_torch(layer, torch.zeros(4, 3))
    f = rlx.to_torch(rlx.compile(lambda params, x: model.function(params, {}, x)[0]))
    x = torch.randn(4, 3)
    params = dict(layer.named_parameters())
    torch.testing.assert_close(f(params, x), layer(x))
    f(params, x).sum().backward()
    torch.testing.assert_close(layer.bias.grad, torch.full((2,), 4.0))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rlx.to_torch(3), "expected a function"),  # pyright: ignore[reportArgumentType]
        (lambda: rlx.to_torch(rlx.compile(lambda x: x, donate="x")), "donates"),
        (lambda: rlx.to_torch(lambda x: x)(object()), "leaf 0 is"),
        (lambda: rlx.to_torch(lambda x: x)(torch.zeros(2, device="meta")), "device meta"),
        (lambda: rlx.to_torch(lambda x: x)(torch.eye(2).to_sparse()), "dense"),
        (lambda: rlx.to_torch(lambda x: x, custom_op="a::b"), "needs an example"),
        (lambda: rlx.to_torch(lambda x: x, torch.ones(2), custom_op="ab"), "mylib::step"),
        (lambda: rlx.to_torch(lambda x: x, 2.0, custom_op="rlx_test::none"), "expected a tensor"),
        (lambda: rlx.to_torch(lambda x: x, torch.ones(2), custom_op="rlx_test::net"), "registered already"),
    ],
)
def test_errors(call: Any, text: str) -> None:
    with pytest.raises(rlx.FrontendError, match=text):
        call()


class TestCustomOp:
    """`custom_op=`: an operator that `torch.compile` keeps."""

    params, x = example()
    f = staticmethod(rlx.to_torch(net, params, x, custom_op="rlx_test::net"))

    def test_gradients(self) -> None:
        for mine, other in zip(
            gradients(self.f, self.params, self.x), gradients(in_torch, self.params, self.x), strict=True
        ):
            torch.testing.assert_close(mine, other)

    def test_compile_keeps_it(self) -> None:
        graphs: list[str] = []

        def look(graph: Any, example: Any) -> Any:
            graphs.append(graph.code)
            return torch._dynamo.lookup_backend("aot_eager")(graph, example)

        def step(params: Any, x: Any) -> Any:
            found = self.f(params, x * 2)
            return {"y": found["y"] * 1, "energy": found["energy"]}

        def expected(params: Any, x: Any) -> Any:
            return in_torch(params, x * 2)

        compiled = torch.compile(step, backend=look, fullgraph=True)
        for mine, other in zip(
            gradients(compiled, self.params, self.x), gradients(expected, self.params, self.x), strict=True
        ):
            torch.testing.assert_close(mine, other)
        assert "rlx_test.net" in graphs[0]

    def test_the_backend_builds_it_into_its_programs(self) -> None:
        def step(params: Any, x: Any) -> Any:
            found = self.f(params, x * 2)
            return {"y": found["y"] * 1, "energy": found["energy"], "best": found["best"] + 1}

        compiled = torch.compile(step, backend="xdsl_rlx", options={"strict": True}, fullgraph=True)
        expected = in_torch(self.params, self.x * 2)
        torch.testing.assert_close(compiled(self.params, self.x)["best"], expected["best"] + 1)
        with torch.no_grad():
            torch.testing.assert_close(compiled(self.params, self.x)["energy"], expected["energy"])
        for mine, other in zip(
            gradients(compiled, self.params, self.x),
            gradients(lambda params, x: in_torch(params, x * 2), self.params, self.x),
            strict=True,
        ):
            torch.testing.assert_close(mine, other)

    def test_opcheck(self) -> None:
        op = torch.ops.rlx_test.net.default
        tensors = (self.params["b"], self.params["w"], self.x)
        library.opcheck(op, (*tensors, [True, True, False]))
        library.opcheck(op, (*(one.detach() for one in tensors), [False, False, False]))

    def test_another_shape(self) -> None:
        x = torch.randn(7, 3, dtype=DOUBLE)
        torch.testing.assert_close(self.f(self.params, x)["y"], in_torch(self.params, x)["y"])

    def test_other_arguments_are_those_of_the_example(self) -> None:
        with pytest.raises(rlx.FrontendError, match="as in the example"):
            self.f(self.params, self.x, scale=3.0)

    def test_a_second_derivative_names_the_cure(self) -> None:
        (first,) = torch.autograd.grad(self.f(self.params, self.x)["energy"], self.params["w"], create_graph=True)
        with pytest.raises(rlx.FrontendError, match=r"rlx.to_torch\(rlx.grad\(net\)\)"):
            first.sum().backward()
