"""Train a residual network written in PyTorch on handwritten digits; one line compiles it with xdsl_rlx.

Batch norm keeps running statistics, a DataLoader shifts and turns the images, and the model switches between training
and evaluation. The last batch of an epoch is smaller. Nothing of the training loop knows of the compiler; `--backend`
takes `eager`, `inductor` or `xdsl_rlx`.
"""

# PyTorch is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false, reportUntypedBaseClass=false

from __future__ import annotations

import argparse
import sys
import time
from math import pi
from typing import Any

import torch
import torch.nn.functional as F
from digits import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

WIDTH, EPOCHS, BATCH = 16, 12, 64
RATE, DECAY, SMOOTHING = 0.05, 5e-4, 0.1
MOST_TURN, MOST_SHIFT = pi / 12, 0.15
"""Of the augmentation: radians, and half widths of an image."""


class Residual(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.shortcut = nn.Sequential()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Any) -> Any:
        inner = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(inner + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.blocks = nn.Sequential(
            Residual(width, width, 1), Residual(width, 2 * width, 2), Residual(2 * width, 4 * width, 2)
        )
        self.head = nn.Linear(4 * width, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.blocks(self.stem(x)).mean(dim=(2, 3)))


class Digits(Dataset[tuple[Any, Any]]):
    """Images [1, 8, 8] and labels; `augment` turns and shifts each image when it is read."""

    def __init__(self, part: dict[str, Any], augment: bool = False) -> None:
        self.images = torch.from_numpy(part["x"].reshape(-1, 1, 8, 8).copy())
        self.labels = torch.from_numpy(part["labels"]).long()
        self.augment = augment

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, n: int) -> tuple[Any, Any]:
        image = self.images[n]
        if self.augment:
            angle = (torch.rand(()) * 2 - 1) * MOST_TURN
            shift = (torch.rand(2, 1) * 2 - 1) * MOST_SHIFT
            turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).view(2, 2)
            grid = F.affine_grid(torch.cat([turn, shift], dim=1)[None], [1, 1, 8, 8], align_corners=False)
            image = F.grid_sample(image[None], grid, align_corners=False)[0]
        return image, self.labels[n]


@torch.no_grad()
def accuracy(model: Any, loader: Any) -> float:
    model.eval()
    right = sum((model(x).argmax(dim=1) == labels).sum().item() for x, labels in loader)
    return right / len(loader.dataset)


def trained(backend: str, epochs: int = EPOCHS, width: int = WIDTH, workers: int = 0) -> tuple[Any, list[float], float]:
    """Train a network; return it, the mean loss of each epoch, and the accuracy on images that it has not seen."""
    torch.manual_seed(0)
    seen, unseen = load_digits()
    loader = DataLoader(Digits(seen, augment=True), BATCH, shuffle=True, num_workers=workers)
    tests = DataLoader(Digits(unseen), BATCH)
    net = ResNet(width)
    model: Any = net if backend == "eager" else torch.compile(net, backend=backend)
    optimizer = torch.optim.SGD(net.parameters(), RATE, momentum=0.9, weight_decay=DECAY, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, epochs * len(loader))
    losses: list[float] = []
    for epoch in range(epochs):
        begin, total = time.perf_counter(), 0.0
        model.train()
        for x, labels in loader:
            loss = F.cross_entropy(model(x), labels, label_smoothing=SMOOTHING)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        losses.append(total / len(loader))
        print(
            f"epoch {epoch}: loss {losses[-1]:.4f}, accuracy {accuracy(model, tests):.1%}, "
            f"{time.perf_counter() - begin:.1f} s",
            flush=True,
        )
    return net, losses, accuracy(model, tests)


def main() -> int:
    """Train and report; return status 1 if the test accuracy is below 98 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--backend", default="xdsl_rlx", help="eager, inductor or xdsl_rlx")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--workers", type=int, default=0, help="processes of the DataLoader")
    given = parser.parse_args()
    _, _, found = trained(given.backend, given.epochs, workers=given.workers)
    print(f"test accuracy: {found:.1%}")
    return 0 if found >= 0.98 else 1


if __name__ == "__main__":
    sys.exit(main())
