"""The backend of `torch.compile` where programs are not at their best: errors, threads, forks, copies, odd tensors."""

# Models of torch, and trees of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

import copy
import dataclasses
import io
import multiprocessing
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import library, nn
from torch._dynamo.exc import BackendCompilerFailed
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.frontends.aten.rows import ROWS
from xdsl_rlx.frontends.hosts.torch_backend import xdsl_rlx
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch.compiler.reset()
    torch.manual_seed(0)
    yield


def compiled(f: Any, strict: bool = True, **options: Any) -> Any:
    return torch.compile(f, backend=xdsl_rlx, options={"strict": strict, **options})


def mlp(dtype: torch.dtype = torch.float32) -> Any:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).to(dtype)


def assert_same(f: Callable[..., Any], *args: Any, atol: float = 1e-5) -> None:
    """Results and gradients are eager's, for copies of the arguments."""
    found: list[list[Any]] = []
    for g in (f, compiled(f)):
        given = [x.detach().clone(memory_format=torch.preserve_format) for x in args]
        for x, original in zip(given, args, strict=True):
            x.requires_grad_(original.requires_grad)
        result = g(*given)
        results = [result] if isinstance(result, torch.Tensor) else list(result)
        if any(x.requires_grad for x in results):
            torch.stack([(x.float() ** 2).sum() for x in results if x.requires_grad]).sum().backward()
        found.append([*(x.detach() for x in results), *(x.grad for x in given)])
    for ours, theirs in zip(*reversed(found), strict=True):
        assert (ours is None) == (theirs is None)
        if theirs is not None:
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            torch.testing.assert_close(ours, theirs, atol=atol, rtol=atol, check_stride=True)


class TestErrors:
    def test_an_exception_in_a_step_leaves_torch_usable(self) -> None:
        model = mlp()
        step = compiled(lambda x: model(x).sum())
        with pytest.raises(RuntimeError, match="4, 5"):
            step(torch.randn(4, 5))
        x = torch.randn(4, 6)
        torch.testing.assert_close(step(x), model(x).sum())

    def test_an_exception_between_forward_and_backward(self) -> None:
        model = mlp()
        fast = compiled(model)
        for _ in range(3):
            with pytest.raises(ValueError, match="stop"):
                _ = fast(torch.randn(4, 6)).sum()
                raise ValueError("stop")
        x = torch.randn(4, 6)
        fast(x).sum().backward()
        ours = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        model.zero_grad()
        model(x).sum().backward()
        for mine, p in zip(ours, model.parameters(), strict=True):
            torch.testing.assert_close(mine, p.grad)

    def test_an_index_out_of_range_reads_the_nearest_row(self) -> None:
        table = nn.Embedding(5, 3)
        fast = compiled(table)
        torch.testing.assert_close(fast(torch.tensor([1, 4])), table(torch.tensor([1, 4])))
        torch.testing.assert_close(fast(torch.tensor([1, 5000])), table(torch.tensor([1, 4])))

    def test_an_unknown_option(self) -> None:
        with pytest.raises(Exception, match="option 'threds' is not known to the backend xdsl_rlx; expected threads"):
            compiled(torch.sin, threds=2)(torch.ones(3))

    def test_an_operator_without_row_runs_in_pytorch_with_one_warning(self) -> None:
        x = torch.randn(4, 4, requires_grad=True)
        with pytest.warns(
            RuntimeWarning, match=r"2 operators cannot be read:(?s:.)*rlx_tests\.twice.*once, first at .*:"
        ):
            fast = compiled(with_unknown_ops, strict=False)
            y = fast(x)
        torch.testing.assert_close(y, with_unknown_ops(x))
        y.sum().backward()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fast(x)
            torch.testing.assert_close(compiled(torch.sin)(x), torch.sin(x))

    def test_strict_raises_for_an_operator_without_row(self) -> None:
        x = torch.randn(4, 4)
        with pytest.raises(BackendCompilerFailed, match=r"rlx_tests\.twice") as caught:
            compiled(with_unknown_ops)(x)
        error = caught.value.inner_exception
        assert isinstance(error, FrontendError)
        assert sorted(one.op for one in error.missing) == ["rlx_tests.thrice.default", "rlx_tests.twice.default"]
        torch.testing.assert_close(compiled(torch.sin)(x), torch.sin(x))


@library.custom_op("rlx_tests::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@library.custom_op("rlx_tests::thrice", mutates_args=())
def thrice(x: torch.Tensor) -> torch.Tensor:
    return x * 3


for _op, _factor in ((twice, 2), (thrice, 3)):
    _op.register_fake(torch.empty_like)
    _op.register_autograd(lambda _, d, factor=_factor: d * factor)


def with_unknown_ops(x: Any) -> Any:
    return twice(x) + thrice(x.sin())


class TestThreads:
    def test_several_python_threads(self) -> None:
        model = mlp()
        fast = compiled(model)
        given = [torch.randn(n % 3 + 2, 6) for n in range(24)]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda x: fast(x), given))
        for x, y in zip(given, found, strict=True):
            torch.testing.assert_close(y, model(x))

    def test_training_in_several_threads(self) -> None:
        def work(seed: int) -> None:
            generator = torch.Generator().manual_seed(seed)
            model = copy.deepcopy(original)
            fast = compiled(model)
            for _ in range(5):
                x = torch.randn(4, 6, generator=generator)
                model.zero_grad()
                fast(x).square().sum().backward()
                ours = [p.grad.clone() for p in model.parameters() if p.grad is not None]
                model.zero_grad()
                model(x).square().sum().backward()
                for mine, p in zip(ours, model.parameters(), strict=True):
                    torch.testing.assert_close(mine, p.grad)

        original = mlp()
        compiled(original)(torch.randn(4, 6))
        errors: list[BaseException] = []

        def run(seed: int) -> None:
            try:
                work(seed)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert not errors

    def test_a_fork_after_compiling(self) -> None:
        model = mlp()
        fast = compiled(model)
        x = torch.randn(4, 6)
        expected = fast(x).detach()
        context = multiprocessing.get_context("fork")
        receiver, sender = context.Pipe()

        def child() -> None:
            again = fast(x)
            again.sum().backward()
            sender.send((again.detach().numpy(), model[0].weight.grad.numpy()))

        process = context.Process(target=child)
        process.start()
        assert receiver.poll(60)
        result, gradient = receiver.recv()
        process.join(60)
        assert process.exitcode == 0
        np.testing.assert_array_equal(result, expected.numpy())
        fast(x).sum().backward()
        np.testing.assert_array_equal(gradient, model[0].weight.grad.numpy())

    def test_workers_of_a_loader(self) -> None:
        model = mlp()
        fast = compiled(model)
        data = TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
        fast(data[0][0][None])
        losses = 0
        for x, labels in DataLoader(data, 8, num_workers=2):
            loss = nn.functional.cross_entropy(fast(x), labels)
            torch.testing.assert_close(loss, nn.functional.cross_entropy(model(x), labels))
            loss.backward()
            losses += 1
        assert losses == 5


class TestModels:
    def test_a_copy_of_a_compiled_model(self) -> None:
        model = compiled(mlp())
        x = torch.randn(4, 6)
        before = model(x)
        other = copy.deepcopy(model)
        with torch.no_grad():
            for p in other.parameters():
                p.add_(1.0)
        torch.testing.assert_close(model(x), before)
        assert not torch.allclose(other(x), before)
        other(x).sum().backward()
        assert all(p.grad is None for p in model.parameters())
        assert all(p.grad is not None for p in other.parameters())

    def test_a_saved_state(self) -> None:
        model = compiled(mlp())
        x = torch.randn(4, 6)
        y = model(x)
        file = io.BytesIO()
        torch.save(model.state_dict(), file)
        file.seek(0)
        other = compiled(mlp())
        other(x)
        other.load_state_dict(torch.load(file, weights_only=True))
        torch.testing.assert_close(other(x), y)

    def test_switching_train_and_eval(self) -> None:
        model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
        twin = copy.deepcopy(model)
        fast = compiled(model)
        for training in (True, False, True, False):
            x = torch.randn(16, 6)
            for one in (model, twin):
                one.train(training)
                one[2].eval()
            torch.testing.assert_close(fast(x), twin(x))
            for mine, theirs in zip(model.buffers(), twin.buffers(), strict=True):
                torch.testing.assert_close(mine, theirs)

    def test_no_grad_and_inference_mode(self) -> None:
        model = mlp()
        fast = compiled(model)
        x = torch.randn(4, 6)
        expected = model(x)
        for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad, torch.no_grad):
            with mode():
                found = fast(x)
            torch.testing.assert_close(found, expected)
            assert found.requires_grad == (mode is torch.enable_grad)

    def test_changing_what_requires_gradients(self) -> None:
        model = mlp()
        fast = compiled(model)
        x = torch.randn(4, 6)
        for frozen in ((), (0,), (0, 2), (2,), ()):
            for n in (0, 2):
                model[n].requires_grad_(n not in frozen)
            model.zero_grad(set_to_none=True)
            y = fast(x)
            assert y.requires_grad == (len(frozen) < 2)
            if y.requires_grad:
                y.sum().backward()
            for n in (0, 2):
                assert (model[n].weight.grad is None) == (n in frozen)

    def test_gradients_add_up(self) -> None:
        model, x = mlp(), torch.randn(4, 6)
        twin, fast = copy.deepcopy(model), compiled(model)
        for _ in range(3):
            fast(x).sum().backward()
            twin(x).sum().backward()
        for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(mine.grad, theirs.grad)

    def test_two_backward_passes_of_one_graph(self) -> None:
        model, x = mlp(), torch.randn(4, 6)
        loss = compiled(model)(x).square().sum()
        loss.backward(retain_graph=True)
        once = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        loss.backward()
        for one, p in zip(once, model.parameters(), strict=True):
            torch.testing.assert_close(2 * one, p.grad)

    def test_results_outlive_later_calls(self) -> None:
        fast = compiled(lambda x: (x * 2, x.sum()))
        given = [torch.randn(3, 4) for _ in range(4)]
        found = [fast(x) for x in given]
        for x, (double, total) in zip(given, found, strict=True):
            torch.testing.assert_close(double, x * 2)
            torch.testing.assert_close(total, x.sum())


class TestTensors:
    def test_channels_last(self) -> None:
        conv: Any = nn.Conv2d(3, 4, 3, padding=1)
        conv.to(memory_format=torch.channels_last)
        x = torch.randn(2, 3, 6, 6).to(memory_format=torch.channels_last).requires_grad_()
        assert_same(lambda x: torch.relu(x * 2 + 1), x)
        fast = compiled(conv)
        torch.testing.assert_close(fast(x), conv(x))
        fast(x).square().sum().backward()
        ours, conv.weight.grad, mine = conv.weight.grad, None, x.grad
        x.grad = None
        conv(x).square().sum().backward()
        torch.testing.assert_close(ours, conv.weight.grad, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(mine, x.grad, atol=1e-4, rtol=1e-4)

    @pytest.mark.parametrize(
        "view",
        (
            lambda x: x.t(),
            lambda x: x[::2],
            lambda x: x[:, 1::2],
            lambda x: x[:1].expand(5, 6),
            lambda x: x.flip(0),
            lambda x: torch.as_strided(x, (3, 3), (6, 2), 1),
        ),
    )
    def test_inputs_that_are_not_contiguous(self, view: Callable[[Any], Any]) -> None:
        x = view(torch.randn(5, 6))
        assert_same(lambda x: torch.tanh(x) @ torch.ones(x.shape[1], 2), x)
        fast = compiled(lambda x: (x * x).sum(0))
        torch.testing.assert_close(fast(x), (x * x).sum(0))

    def test_batches_of_size_zero(self) -> None:
        model = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))
        fast = compiled(model)
        for size in (4, 0, 3, 0):
            x = torch.randn(size, 6, requires_grad=True)
            model.zero_grad()
            fast(x).sum().backward()
            ours = [x.grad, *(p.grad.clone() for p in model.parameters() if p.grad is not None)]
            x.grad = None
            model.zero_grad()
            model(x).sum().backward()
            for mine, theirs in zip(ours, [x.grad, *(p.grad for p in model.parameters())], strict=True):
                torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)

    @pytest.mark.parametrize(
        ("dtype", "atol"),
        ((torch.float16, 4e-3), (torch.bfloat16, 3e-2), (torch.float64, 1e-12), (torch.float32, 1e-5)),
    )
    def test_floating_point_types(self, dtype: torch.dtype, atol: float) -> None:
        model = mlp(dtype)
        x = torch.randn(4, 6, dtype=dtype, requires_grad=True)
        assert_same(
            lambda x, *rest: torch.func.functional_call(model, dict(zip(names, rest, strict=True)), (x,)),
            x,
            *[p for _, p in model.named_parameters()],
            atol=atol,
        ) if (names := [name for name, _ in model.named_parameters()]) else None

    @pytest.mark.parametrize(
        "dtype", (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool), ids=str
    )
    def test_integers(self, dtype: torch.dtype) -> None:
        x = torch.randint(0, 2 if dtype is torch.bool else 50, (4, 5)).to(dtype)
        assert_same(lambda x: (x + x, x.sum(), x.float().mean(), torch.where(x > 1, x, 0)), x)

    def test_autocast_to_bf16(self) -> None:
        model = mlp()
        fast = compiled(model)
        x, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))
        grads: list[list[Any]] = []
        for f in (fast, model):
            model.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                y = f(x)
                loss = nn.functional.cross_entropy(y, labels)
            assert y.dtype is torch.bfloat16 and loss.dtype is torch.float32
            loss.backward()
            grads.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        for mine, theirs in zip(*grads, strict=True):
            torch.testing.assert_close(mine, theirs, atol=2e-2, rtol=2e-2)
        y = fast(x)
        assert y.dtype is torch.float32
        torch.testing.assert_close(y, model(x))

    def test_two_batch_sizes_and_varying_lengths(self) -> None:
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        fast = compiled(layer)
        for batch, length in ((2, 5), (3, 5), (2, 7), (3, 9), (1, 1), (2, 5)):
            x = torch.randn(batch, length, 8)
            torch.testing.assert_close(fast(x), layer(x), atol=1e-5, rtol=1e-5)


class Counter(nn.Module):
    """A module that changes its buffers."""

    total: Any
    calls: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("calls", torch.tensor(0))
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Any) -> Any:
        self.total += x.detach().sum(0)
        self.calls.add_(1)
        return (x * self.weight + self.total) * self.calls


class TestMutation:
    def test_of_buffers(self) -> None:
        model: Any = Counter()
        twin = Counter()
        fast, address = compiled(model), model.total.data_ptr()
        for _ in range(3):
            x = torch.randn(2, 3)
            y, expected = fast(x), twin(x)
            torch.testing.assert_close(y, expected)
            y.sum().backward()
            expected.sum().backward()
            torch.testing.assert_close(model.total, twin.total)
            assert model.calls == twin.calls
        torch.testing.assert_close(model.weight.grad, twin.weight.grad)
        assert model.total.data_ptr() == address

    def test_of_inputs(self) -> None:
        def f(x: Any, y: Any) -> Any:
            x.mul_(2)
            y[1:] = x[1:] + 1
            return x + y

        x, y = torch.randn(3, 4), torch.randn(3, 4)
        given, copies = (x.clone(), y.clone()), (x.clone(), y.clone())
        torch.testing.assert_close(compiled(f)(*given), f(*copies))
        for mine, theirs in zip(given, copies, strict=True):
            torch.testing.assert_close(mine, theirs)

    def test_of_a_view_of_an_input(self) -> None:
        def f(x: Any) -> Any:
            x[:, 0].zero_()
            return x.sum()

        x = torch.randn(3, 4)
        given, other = x.clone(), x.clone()
        torch.testing.assert_close(compiled(f)(given), f(other))
        torch.testing.assert_close(given, other)


class TestRandom:
    def test_dropout_is_reproducible(self) -> None:
        fast = compiled(nn.Dropout(0.25))
        x = torch.ones(200, 100)
        torch.manual_seed(3)
        first, second = fast(x), fast(x)
        torch.manual_seed(3)
        torch.testing.assert_close(fast(x), first)
        assert not torch.equal(first, second)
        kept = (first != 0).float().mean()
        assert abs(kept - 0.75) < 4 * (0.25 * 0.75 / x.numel()) ** 0.5
        torch.testing.assert_close(first[first != 0], torch.full_like(first[first != 0], 1 / 0.75))

    def test_the_gradient_of_dropout_has_its_mask(self) -> None:
        x = torch.ones(50, 40, requires_grad=True)
        y = compiled(nn.Dropout(0.5))(x)
        y.sum().backward()
        torch.testing.assert_close(x.grad, y.detach())

    def test_layers_draw_different_masks(self) -> None:
        drop = nn.Dropout(0.5)
        one, two = compiled(lambda x: (drop(x), drop(x)))(torch.ones(40, 40))
        assert not torch.equal(one, two)

    def test_other_programs_see_the_generator_move(self) -> None:
        fast = compiled(nn.Dropout(0.5))
        x = torch.ones(10, 10)
        fast(x)
        torch.manual_seed(1)
        before = torch.rand(3)
        torch.manual_seed(1)
        fast(x)
        assert not torch.equal(torch.rand(3), before)


class TestMemory:
    def test_parameters_and_inputs_are_read_in_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        read, made = set[int](), set[int]()
        run = CompiledGraph.__call__

        def watched(self: CompiledGraph, *arrays: Any) -> Any:
            found = run(self, *arrays)
            read.update(one.ctypes.data for one in arrays)
            made.update(one.ctypes.data for one in found)
            return found

        monkeypatch.setattr(CompiledGraph, "__call__", watched)
        model, x = mlp(), torch.randn(4, 6)
        fast = compiled(model)
        y = fast(x)
        assert {x.data_ptr(), *(p.data_ptr() for p in model.parameters())} <= read
        assert y.data_ptr() in made
        y.sum().backward()
        assert {p.grad.data_ptr() for p in model.parameters() if p.grad is not None} <= made
        # the first call takes another road than later ones
        read.clear()
        made.clear()
        y = fast(x)
        assert {x.data_ptr(), *(p.data_ptr() for p in model.parameters())} <= read
        assert y.data_ptr() in made

    @pytest.mark.parametrize("call", [2, 3])
    def test_tensors_that_are_conjugated_or_negated_when_read(self, call: int) -> None:
        z = torch.randn(5, dtype=torch.complex64)
        fast = compiled(lambda z, x: (z * 2, x + 1))
        for _ in range(call):
            found = fast(z.conj(), z.conj().imag)
            assert z.conj().is_conj()
            assert z.conj().imag.is_neg()
            torch.testing.assert_close(found[0], z.conj() * 2)
            torch.testing.assert_close(found[1], 1 - z.imag)

    def test_an_optimiser_in_place(self) -> None:
        model = mlp()
        twin = copy.deepcopy(model)
        addresses = [p.data_ptr() for p in model.parameters()]
        fast = compiled(model)
        optimisers = [torch.optim.AdamW(one.parameters(), 0.01, foreach=True) for one in (model, twin)]
        for _ in range(5):
            x = torch.randn(4, 6)
            for f, optimiser in zip((fast, twin), optimisers, strict=True):
                optimiser.zero_grad()
                f(x).square().mean().backward()
                optimiser.step()
        assert [p.data_ptr() for p in model.parameters()] == addresses
        for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)


class TestGraphs:
    def test_an_operator_that_cannot_be_built_for_the_sizes_of_a_call(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def build(c: Any, self: Any) -> Any:
            raise GraphError("rows of an odd number are not supported")

        name = "aten.sin.default"
        row, get = ROWS.get(name), ROWS.get
        assert row is not None
        refusing = dataclasses.replace(row, build=build)
        monkeypatch.setattr(ROWS, "get", lambda one: refusing if one == name else get(one))
        x = torch.randn(3, 4, requires_grad=True)
        with pytest.warns(RuntimeWarning, match="aten.sin.default, at .*: rows of an odd number"):
            y = compiled(lambda x: x.sin() * 2, strict=False)(x)
        torch.testing.assert_close(y, x.sin() * 2)
        y.sum().backward()
        torch.testing.assert_close(x.grad, 2 * x.detach().cos())
        torch.compiler.reset()
        with pytest.raises(FrontendError, match="rows of an odd number"):
            compiled(lambda x: x.sin() * 2)(x)

    def test_an_element_type_or_device_that_cannot_be_read(self) -> None:
        x = torch.randn(4).to(torch.float8_e4m3fn)
        with pytest.warns(RuntimeWarning, match=r"torch.float8_e4m3fn.*convert it with .to\(torch.float32\)"):
            y = compiled(lambda x: x.float() * 2, strict=False)(x)
        torch.testing.assert_close(y, x.float() * 2)
        with pytest.warns(RuntimeWarning, match=r"on device meta.*call .cpu\(\)"):
            y = compiled(lambda x: x + 2, strict=False)(torch.ones(3, device="meta"))
        assert y.device.type == "meta"

    def test_checkpoints_draw_the_same_numbers_again(self) -> None:
        def block(x: Any) -> Any:
            return nn.functional.dropout(x * x, 0.5) * torch.rand_like(x)

        x = torch.randn(30, 40, requires_grad=True)
        fast = compiled(lambda x: checkpoint(block, x, use_reentrant=False).sum())
        gradients: list[Any] = []
        for _ in range(2):
            x.grad = None
            y = fast(x)
            y.backward()
            gradients.append(x.grad)
            # the result is x² m and the gradient 2 x m for the same random m
            assert x.grad is not None
            torch.testing.assert_close((x.grad * x / 2).sum(), y)
        assert not torch.equal(*gradients)
        assert abs((gradients[0] != 0).float().mean() - 0.5) < 0.06

    @pytest.mark.parametrize("foreach", (True, False))
    @pytest.mark.parametrize("kind", ("AdamW", "SGD", "NAdam"))
    def test_a_compiled_optimiser(self, kind: str, foreach: bool) -> None:
        model = mlp()
        twin = copy.deepcopy(model)
        options: dict[str, Any] = {"momentum": 0.9} if kind == "SGD" else {}
        ours, theirs = (
            getattr(torch.optim, kind)(m.parameters(), 0.05, foreach=foreach, **options) for m in (model, twin)
        )
        step = compiled(lambda: ours.step())
        for _ in range(3):
            x = torch.randn(4, 6)
            for one in (model, twin):
                one.zero_grad()
                one(x).square().sum().backward()
            step()
            theirs.step()
        for mine, other in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-5)

    def test_clipping_of_gradients(self) -> None:
        gradients: list[list[Any]] = []
        model, x = mlp(), torch.randn(4, 6)
        clip = nn.utils.clip_grad_norm_
        for f in (clip, compiled(lambda ps, norm: clip(ps, norm))):
            model.zero_grad()
            model(x).square().sum().backward()
            f(list(model.parameters()), 0.1)
            gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        for mine, theirs in zip(*gradients, strict=True):
            torch.testing.assert_close(mine, theirs)

    def test_results_that_are_arguments_views_and_no_tensors(self) -> None:
        def f(x: Any) -> Any:
            y = x * 2
            return x, y, y, x.view(-1), y[0], x.t(), None, {"n": 3}

        x = torch.randn(3, 4, requires_grad=True)
        ours, theirs = compiled(f)(x), f(x)
        for mine, other in zip(ours, theirs, strict=True):
            if isinstance(other, torch.Tensor):
                torch.testing.assert_close(mine, other)
            else:
                assert mine == other
        assert ours[0] is x and ours[3].data_ptr() == x.data_ptr() == ours[5].data_ptr()
        (ours[1].sum() + ours[4].sum()).backward()
        assert x.grad is not None

    def test_numbers_that_change(self) -> None:
        def f(x: Any, a: Any, b: Any) -> Any:
            return x * a + b

        fast, x = compiled(f), torch.ones(3)
        for a, b in ((1, 2.0), (2, 3.0), (5, 0.5), (7, -1.0), (2.5, 3)):
            torch.testing.assert_close(fast(x, a, b), f(x, a, b))

    def test_double_backward_is_refused_by_pytorch(self) -> None:
        x = torch.randn(3, requires_grad=True)
        gradient = torch.autograd.grad(compiled(lambda x: (x**3).sum())(x), x, create_graph=True)[0]
        with pytest.raises(RuntimeError, match="double backward"):
            gradient.sum().backward()

    def test_branches_on_values_break_the_graph(self) -> None:
        def f(x: Any) -> Any:
            return x * 2 if x.sum() > 0 else x - 1

        fast = compiled(f)
        for x in (torch.ones(3), -torch.ones(3)):
            torch.testing.assert_close(fast(x), f(x))
