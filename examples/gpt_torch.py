"""The model of gpt.py in PyTorch, as a reference for its length and its losses.

The model and its training are between the two "--8<--" lines.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi
from typing import Any

import torch
import torch.nn.functional as F
from gpt import CLIP, DECAY, DEPTH, HEADS, LENGTH, RATE, STEPS, WARMUP, WIDTH, Batch
from torch import nn


# --8<-- the model and its training
class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)
        self.norm = nn.LayerNorm(WIDTH, elementwise_affine=False)

    def forward(self, x: Any) -> Any:
        qkv = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in qkv)
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attention.transpose(1, 2).flatten(-2))
        return x + self.down(F.gelu(self.up(self.norm(x))))


class GPT(nn.Module):
    def __init__(self, alphabet: int) -> None:
        super().__init__()
        self.characters, self.places = nn.Embedding(alphabet, WIDTH), nn.Parameter(torch.empty(LENGTH, WIDTH))
        self.layers = nn.Sequential(*(Layer() for _ in range(DEPTH)), nn.LayerNorm(WIDTH, elementwise_affine=False))
        for weight in self.parameters():
            nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)

    def forward(self, ids: Any) -> Any:
        return self.layers(self.characters(ids) + self.places) @ self.characters.weight.T


def part_of_rate(n: int) -> float:
    return n / WARMUP if n < WARMUP else 0.5 * (1 + cos(pi * (n - WARMUP) / (STEPS - WARMUP)))


def training(model: Any) -> Callable[[Any, Any], Any]:
    optimiser = torch.optim.AdamW(model.parameters(), RATE, weight_decay=DECAY, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, part_of_rate)

    def step(ids: Any, following: Any) -> Any:
        loss = F.cross_entropy(model(ids).flatten(0, 1), following.flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        schedule.step()
        return loss.detach()

    return step


# --8<--


def trainer(params: Any, compiled: bool = False) -> Callable[[Batch], float]:
    """Return a training step that starts from these weights, a tree as in gpt.py; `compiled` uses torch.compile."""
    model = GPT(len(params["characters"]))
    model.load_state_dict(
        {
            "characters.weight": torch.tensor(params["characters"]),
            "places": torch.tensor(params["places"]),
            **{
                f"layers.{n}.{name}.weight": torch.tensor(weight.T)
                for n, layer in enumerate(params["layers"])
                for name, weight in layer.items()
            },
        }
    )
    step = training(torch.compile(model) if compiled else model)
    return lambda batch: float(step(*(torch.tensor(ids).long() for ids in batch)))
