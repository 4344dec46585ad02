"""Train a character GPT written in PyTorch, in the manner of nanoGPT; one line compiles it with xdsl_rlx.

The model and its training are those of a PyTorch program. The line `model = torch.compile(gpt, backend=..)` is the only
one that knows of this package. The program trains three copies from the same weights on the same batches: by eager
PyTorch, by inductor and by xdsl_rlx. The copies take turns, and the times are medians of the steps. The text is
Python's reference, which ships with Python.
"""

# PyTorch is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false, reportUntypedBaseClass=false

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import cos, pi
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

WAYS = ("eager", "inductor", "xdsl_rlx")
HELD_OUT = 0.1
EVALUATED = 10
"""Batches in an estimate of a loss."""


@dataclass
class Config:
    """The settings that nanoGPT suggests for a CPU."""

    block_size: int = 64
    vocab_size: int = 128
    n_layer: int = 4
    n_head: int = 4
    n_embd: int = 128
    dropout: float = 0.0
    batch_size: int = 12
    max_iters: int = 200
    warmup_iters: int = 20
    eval_interval: int = 100
    learning_rate: float = 1e-3
    min_lr: float = 1e-4
    weight_decay: float = 0.1
    grad_clip: float = 1.0


class CausalSelfAttention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.n_head, self.dropout = config.n_head, config.dropout
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=False)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x: Any) -> Any:
        B, T, C = x.size()
        q, k, v = (
            part.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for part in self.c_attn(x).split(C, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(config.n_embd, bias=False), CausalSelfAttention(config)
        self.ln_2, self.mlp = (
            nn.LayerNorm(config.n_embd, bias=False),
            nn.Sequential(
                nn.Linear(config.n_embd, 4 * config.n_embd, bias=False),
                nn.GELU(),
                nn.Linear(4 * config.n_embd, config.n_embd, bias=False),
                nn.Dropout(config.dropout),
            ),
        )

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.drop = nn.Dropout(config.dropout)
        self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd, bias=False)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02 / (2 * config.n_layer) ** 0.5 if name.endswith("c_proj.weight") else 0.02)

    def forward(self, idx: Any, targets: Any) -> Any:
        pos = torch.arange(idx.size(1), device=idx.device)
        x = self.drop(self.wte(idx) + self.wpe(pos))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def load_ids() -> Any:
    """Return the topics of `help()` as ASCII codes."""
    from pydoc_data.topics import topics

    text = "\n".join(topics[name] for name in sorted(topics)).encode("ascii", "ignore")
    return torch.tensor(list(text))


def get_batch(data: Any, config: Config, generator: Any) -> tuple[Any, Any]:
    starts = torch.randint(len(data) - config.block_size, (config.batch_size,), generator=generator)
    x = torch.stack([data[i : i + config.block_size] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + config.block_size] for i in starts])
    return x, y


def learning_rate(it: int, config: Config) -> float:
    if it < config.warmup_iters:
        return config.learning_rate * (it + 1) / config.warmup_iters
    part = (it - config.warmup_iters) / max(1, config.max_iters - config.warmup_iters)
    return config.min_lr + 0.5 * (1 + cos(pi * part)) * (config.learning_rate - config.min_lr)


def compiled(gpt: Any, way: str) -> Any:
    if way == "eager":
        return gpt
    model = torch.compile(gpt, backend=way)
    return model


def training(way: str, config: Config, data: Any) -> Iterator[tuple[float, float]]:
    """Train a model; yield the loss and the seconds of each step."""
    torch.manual_seed(1337)
    gpt = GPT(config)
    model = compiled(gpt, way)
    held_out = int(len(data) * (1 - HELD_OUT))
    decayed = [p for p in gpt.parameters() if p.dim() >= 2]
    others = [p for p in gpt.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}],
        lr=config.learning_rate,
        betas=(0.9, 0.99),
        fused=True,
    )
    generator = torch.Generator().manual_seed(0)
    for it in range(config.max_iters):
        x, y = get_batch(data[:held_out], config, generator)
        begin = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(it, config)
        _, loss = model(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(gpt.parameters(), config.grad_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        value = loss.item()
        yield value, time.perf_counter() - begin
        if (it + 1) % config.eval_interval == 0:
            found = estimated_loss(model, data[held_out:], config)
            print(f"{way:>8}, step {it + 1}: loss {value:.4f}, unseen {found:.4f}", flush=True)


@torch.no_grad()
def estimated_loss(model: Any, data: Any, config: Config) -> float:
    model.eval()
    generator = torch.Generator().manual_seed(0)
    losses = [model(*get_batch(data, config, generator))[1].item() for _ in range(EVALUATED)]
    model.train()
    return sum(losses) / len(losses)


def compared(config: Config, ways: tuple[str, ...] = WAYS) -> dict[str, list[tuple[float, float]]]:
    """Train in several ways, a step of each in turn; return the losses and seconds of their steps."""
    data = load_ids()
    runs: dict[str, Iterator[tuple[float, float]]] = {way: training(way, config, data) for way in ways}
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(config.max_iters):
        for way, run in runs.items():
            found[way].append(next(run))
    for run in runs.values():
        # the last evaluation follows the last step
        next(run, None)
    return found


def main(show: Callable[[str], None] = print) -> int:
    """Train, and print the times; return status 1 if the losses of two ways differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=Config.max_iters)
    parser.add_argument("--layers", type=int, default=Config.n_layer)
    parser.add_argument("--dropout", type=float, default=Config.dropout)
    parser.add_argument("--ways", default=",".join(WAYS), help="some of eager, inductor, xdsl_rlx")
    given = parser.parse_args()
    config = Config(max_iters=given.steps, n_layer=given.layers, dropout=given.dropout)
    found = compared(config, tuple(given.ways.split(",")))
    for way, steps in found.items():
        first, rest = steps[0][1], [seconds for _, seconds in steps[1:]] or [steps[0][1]]
        show(f"{way:>8}: {1e3 * median(rest):6.1f} ms a step, first step {first:5.1f} s, last loss {steps[-1][0]:.4f}")
    losses = [steps[-1][0] for steps in found.values()]
    return 0 if config.dropout or max(losses) - min(losses) < 0.05 else 1


if __name__ == "__main__":
    sys.exit(main())
