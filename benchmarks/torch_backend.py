"""Training steps of PyTorch models: eager, inductor, the backend "xdsl_rlx", and one program made by `rlx.from_torch`.

The models are those of `tests/peers/torch_models.py`, at sizes at which a step takes a millisecond or more. A step is
the
loss, its gradients and plain gradient descent, in f32. The ways take turns; the number is the least of the turns.

`--threads N` sets the threads of PyTorch and of the programs. `--only WORD` takes the models that have it in their
names.
`--cpu-time` counts the time of all threads of this process instead of wall time: on a busy machine, wall time says
little. `--cold` measures the first step instead, in a new process with empty caches. `--json FILE` writes the numbers.
"""

# Models and trees of any type.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import torch
from turns import Turns

import xdsl_rlx as rlx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "peers"))

import torch_models as models
from torch_models import Case

RATE = 0.01
TURNS = Turns(each=0, together=6.0, least=8, most=100)
WAYS = ("eager", "backend", "inductor", "from_torch")


def _tokens(most: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, most, shape)


def _bags() -> Any:
    return torch.randn(256, 5), _tokens(11, 1024), _tokens(7, 256, 16), torch.arange(0, 1024, 4), torch.rand(256)


CASES: dict[str, Case] = {
    "gpt": Case(lambda: models.GPT(256, 128, 64, 2), lambda: (_tokens(256, 8, 64), _tokens(256, 8, 64))),
    "llama": Case(lambda: models.Llama(128), lambda: (_tokens(19, 8, 64), _tokens(19, 8, 64))),
    "vit": Case(lambda: models.ViT(96), lambda: (torch.randn(32, 3, 16, 16), _tokens(5, 32))),
    "resnet": Case(lambda: models.ResNet(32), lambda: (torch.randn(8, 3, 64, 64), _tokens(10, 8))),
    "mobilenet": Case(lambda: models.MobileNet(32), lambda: (torch.randn(16, 3, 32, 32), _tokens(6, 16))),
    "unet": Case(
        lambda: models.UNet(32), lambda: (torch.randn(4, 3, 32, 32), torch.rand(4), torch.randn(4, 3, 32, 32))
    ),
    "lstm": Case(lambda: models.LSTM(64), lambda: (_tokens(13, 16, 32), torch.randint(1, 33, (16,)), _tokens(4, 16))),
    "gru": Case(lambda: models.GRU(64), lambda: (torch.randn(32, 16, 5), torch.randn(2, 16, 64), torch.randn(32, 16))),
    "encoder": Case(
        lambda: models.Encoder(64),
        lambda: (torch.randn(16, 48, 64), torch.arange(48)[None] >= torch.randint(2, 49, (16, 1)), _tokens(3, 16)),
    ),
    "decoder": Case(
        lambda: models.Decoder(64), lambda: (torch.randn(8, 40, 64), torch.randn(8, 32, 64), _tokens(6, 8, 40))
    ),
    "translator": Case(
        lambda: models.Translator(64),
        lambda: (torch.randn(40, 8, 64), torch.randn(32, 8, 64), torch.full((32, 32), -torch.inf).triu(1)),
    ),
    "autoencoder": Case(lambda: models.Autoencoder(16), lambda: (torch.rand(16, 1, 32, 32),)),
    "dlrm": Case(lambda: models.DLRM(32), _bags),
    "flow": Case(lambda: models.Flow(64, 6), lambda: (torch.randn(512, 64),)),
    "gnn": Case(lambda: models.GNN(32), lambda: (torch.randn(500, 32), _tokens(500, 2, 4000), _tokens(3, 500))),
    "lora": Case(lambda: models.LoRA(256, 8), lambda: (torch.randn(256, 256), torch.softmax(torch.randn(256, 4), -1))),
    "upsampler": Case(lambda: models.Upsampler(32), lambda: (torch.randn(4, 3, 32, 32), torch.randn(4, 3, 64, 64))),
}


def _step_of(way: str, case: Case, threads: int) -> Callable[[], float]:
    """A training step that returns the loss."""
    torch.manual_seed(0)
    model, batch = case.model(), list(case.batch())
    if way == "from_torch":
        return _whole_step(model, batch, threads)
    _with_own_code(model)
    backend = {"inductor": "inductor", "backend": "xdsl_rlx"}.get(way)
    options: Any = {"threads": threads, "strict": True} if way == "backend" else None
    call = model if backend is None else torch.compile(model, backend=backend, options=options)
    optimiser = torch.optim.SGD(model.parameters(), RATE)

    def step() -> float:
        # inductor unrolls recurrent layers if it is given them, and takes minutes for it
        torch._dynamo.config.allow_rnn = way == "backend"
        optimiser.zero_grad(set_to_none=True)
        loss = call(*batch)
        loss.backward()
        optimiser.step()
        return float(loss)

    step()
    return step


def _with_own_code(model: Any) -> None:
    """Give the model a class of its own: Dynamo keeps what all backends compiled with the code of a function."""
    forward = type(model).forward
    own = FunctionType(forward.__code__.replace(), forward.__globals__, closure=forward.__closure__)
    model.__class__ = type(type(model).__name__, (type(model),), {"forward": own})


def _whole_step(model: Any, batch: list[Any], threads: int) -> Callable[[], float]:
    imported = rlx.from_torch(model, *batch)
    trained = {name for name, x in model.named_parameters() if x.requires_grad}

    def step(params: Any, buffers: Any, *batch: Any) -> Any:
        def loss(own: Any) -> Any:
            return imported.function({**params, **own}, buffers, *batch)

        (value, buffers), grads = rlx.value_and_grad(loss, has_aux=True)({n: params[n] for n in trained})
        return value, {n: p - RATE * grads[n] if n in grads else p for n, p in params.items()}, buffers

    compiled = rlx.compile(step, donate=("params", "buffers") if imported.buffers else ("params",), threads=threads)
    arrays = [x.numpy() for x in batch]

    def call() -> float:
        return float(compiled(imported.params, imported.buffers, *arrays)[0])

    call()
    return call


def _first(name: str, way: str, threads: int) -> float:
    """Seconds from the import of torch to the end of the first step, but for the import, in a new process."""
    with tempfile.TemporaryDirectory() as caches:
        environment = {
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": f"{caches}/inductor",
            "XDSL_RLX_CACHE_DIR": f"{caches}/own",
        }
        command = [sys.executable, __file__, "--first", f"{name},{way}", "--threads", str(threads)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def _setup(threads: int) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--first", help=argparse.SUPPRESS)
    options = parser.parse_args()
    _setup(options.threads)
    if options.first:
        name, way = options.first.split(",")
        start = time.perf_counter()
        _step_of(way, CASES[name], options.threads)
        print(time.perf_counter() - start)
        return
    lines: list[dict[str, Any]] = []
    for name, case in CASES.items():
        if not any(word in name for word in options.only.split(",")):
            continue
        if options.cold:
            found = {way: _first(name, way, options.threads) for way in WAYS[1:]}
        else:
            torch._dynamo.reset()
            clock = time.process_time if options.cpu_time else time.perf_counter
            found = TURNS.times_of({way: _step_of(way, case, options.threads) for way in WAYS}, clock)
        peer = min(found[way] for way in ("eager", "inductor") if way in found)
        ratios = {way: found[way] / peer for way in ("backend", "from_torch")}
        lines.append({"name": name, "ratios": ratios, **found})
        shown = "  ".join(f"{way} {seconds * 1e3:9.2f}" for way, seconds in found.items())
        print(f"{name:12} {ratios['backend']:5.2f} {ratios['from_torch']:5.2f}   {shown}", flush=True)
    for way in ("backend", "from_torch"):
        mean = math.exp(sum(math.log(line["ratios"][way]) for line in lines) / len(lines))
        print(f"{way}: geometric mean {mean:.2f}, most {max(line['ratios'][way] for line in lines):.2f}")
    if options.json:
        options.json.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
