"""Memory of training steps of PyTorch models: eager, inductor, and the backend "xdsl_rlx".

The number is what a step needs at its peak, in MiB, beyond the process between steps: its parameters, the optimiser and
the compilers. The arena and the memory of large results, which this package keeps between steps, are added to its own.
Each way runs in a process of its own. Linux only, as the peak is read from `/proc/self`.

`--only WORD` takes the models that have it in their names.
"""

# Models of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportMissingImports=false

from __future__ import annotations

import argparse
import ctypes
import gc
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from xdsl_rlx.lowering.backend.driver.process import pool
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.backend.runtime.results import large

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "peers"))

import torch_models as models
from torch_models import Case

MIB = 2.0**20
WAYS = ("eager", "inductor", "backend")


def _mlp() -> Any:
    layers = (nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU(), nn.Linear(2048, 512))
    return _SquareMean(nn.Sequential(*layers))


def _encoder() -> Any:
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    return _SquareMean(nn.TransformerEncoder(layer, 4, enable_nested_tensor=False))


class _SquareMean(nn.Module):
    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def forward(self, x: Any) -> Any:
        return self.model(x).square().mean()


CASES: dict[str, Case] = {
    "mlp": Case(_mlp, lambda: (torch.randn(4096, 512),)),
    "encoder": Case(_encoder, lambda: (torch.randn(16, 256, 256),)),
    "gpt": Case(
        lambda: models.GPT(256, 128, 256, 4),
        lambda: (torch.randint(0, 256, (16, 256)), torch.randint(0, 256, (16, 256))),
    ),
    "resnet": Case(lambda: models.ResNet(32), lambda: (torch.randn(32, 3, 64, 64), torch.randint(0, 10, (32,)))),
    "unet": Case(
        lambda: models.UNet(32), lambda: (torch.randn(16, 3, 64, 64), torch.rand(16), torch.randn(16, 3, 64, 64))
    ),
}


def _resident(word: str) -> float:
    """`VmRSS`, what the process has in memory, or `VmHWM`, the most it had, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(word))


def _needed(step: Callable[[], None]) -> float:
    """MiB that a step adds at its peak."""
    step()
    gc.collect()
    # memory that was freed is still the process's, but for this call
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    step()
    programs = [one for one in gc.get_objects() if isinstance(one, CompiledGraph)]
    kept = pool().arena.size + sum(spec.nbytes for one in programs for spec in one.outputs if large(spec))
    return _resident("VmHWM") - before + kept / MIB


def _measure(name: str, way: str) -> float:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, batch = CASES[name].model(), CASES[name].batch()
    options: Any = {"threads": 1, "strict": True} if way == "backend" else None
    backend = "xdsl_rlx" if way == "backend" else "inductor"
    call = model if way == "eager" else torch.compile(model, backend=backend, options=options, dynamic=False)
    optimiser = torch.optim.SGD(model.parameters(), 1e-3)

    def step() -> None:
        optimiser.zero_grad()
        call(*batch).backward()
        optimiser.step()

    return _needed(step)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(_measure(*options.one.split(",")))
        return
    print(f"{'MiB':10}", *(f"{way:>10}" for way in WAYS))
    for name in CASES:
        if options.only in name:
            commands = [[sys.executable, __file__, "--one", f"{name},{way}"] for way in WAYS]
            found = [subprocess.run(one, capture_output=True, text=True, check=True).stdout for one in commands]
            print(f"{name:10}", *(f"{float(one.split()[-1]):10.0f}" for one in found), flush=True)


if __name__ == "__main__":
    main()
