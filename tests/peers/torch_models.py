"""Models in plain PyTorch: each is a module whose call on a batch returns the loss."""

# Modules of torch, whose attributes are of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportArgumentType=false, reportCallIssue=false

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Tensor = torch.Tensor


@dataclass(frozen=True)
class Case:
    """A model and its batches."""

    model: Callable[[], nn.Module]
    batch: Callable[[], Sequence[Tensor]]
    """A new batch, drawn from the default generator."""


class CausalAttention(nn.Module):
    """Attention of queries to earlier positions; fewer heads of keys than of queries are shared by groups."""

    def __init__(self, width: int, heads: int, kv_heads: int, rotary: bool):
        super().__init__()
        self.heads, self.kv_heads, self.size, self.rotary = heads, kv_heads, width // heads, rotary
        self.q = nn.Linear(width, width, bias=not rotary)
        self.kv = nn.Linear(width, 2 * kv_heads * self.size, bias=not rotary)
        self.out = nn.Linear(width, width, bias=not rotary)

    def rotated(self, x: Tensor) -> Tensor:
        half = self.size // 2
        frequency = 10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
        angle = torch.outer(torch.arange(x.shape[-2], dtype=x.dtype), frequency)
        cos, sin = angle.cos(), angle.sin()
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        n, t, d = x.shape
        q = self.q(x).view(n, t, self.heads, self.size).transpose(1, 2)
        k, v = self.kv(x).view(n, t, 2 * self.kv_heads, self.size).transpose(1, 2).chunk(2, dim=1)
        if self.rotary:
            q, k = self.rotated(q), self.rotated(k)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv_heads != self.heads)
        return self.out(y.transpose(1, 2).reshape(n, t, d))


class GPT(nn.Module):
    """Two pre-norm blocks with learned positions; the output layer is the table of tokens."""

    def __init__(self, tokens: int = 17, width: int = 32, length: int = 12, layers: int = 2):
        super().__init__()
        self.token = nn.Embedding(tokens, width)
        self.position = nn.Embedding(length, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.attention = nn.ModuleList(CausalAttention(width, 4, 4, False) for _ in range(layers))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(layers)
        )
        self.head = nn.Linear(width, tokens, bias=False)
        self.head.weight = self.token.weight

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        h = self.token(x) + self.position(torch.arange(x.shape[1]))
        for n, (attention, mlp) in enumerate(zip(self.attention, self.mlp, strict=True)):
            h = h + attention(self.norms[2 * n](h))
            h = h + mlp(self.norms[2 * n + 1](h))
        logits = self.head(self.norms[-1](h))
        return F.cross_entropy(logits.flatten(0, 1), y.flatten(), label_smoothing=0.1, ignore_index=0)


class Llama(nn.Module):
    """A block with grouped queries, rotary positions, root-mean-square norms and a gated MLP."""

    def __init__(self, width: int = 32):
        super().__init__()
        self.token = nn.Embedding(19, width)
        self.first, self.second, self.last = (nn.RMSNorm(width, eps=1e-5) for _ in range(3))
        self.attention = CausalAttention(width, 4, 2, True)
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)
        self.head = nn.Linear(width, 19, bias=False)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        h = self.token(x)
        h = h + self.attention(self.first(h))
        z = self.second(h)
        h = h + self.down(F.silu(self.gate(z)) * self.up(z))
        return F.cross_entropy(self.head(self.last(h)).transpose(1, 2), y)


class ViT(nn.Module):
    """Patches by a convolution, a class token, nn.MultiheadAttention."""

    def __init__(self, width: int = 24):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, stride=4)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.1)
        self.positions = nn.Parameter(torch.randn(1, 17, width) * 0.1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.attention = nn.MultiheadAttention(width, 3, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(approximate="tanh"), nn.Linear(2 * width, width))
        self.head = nn.Linear(width, 5)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        h = self.patches(x).flatten(2).transpose(1, 2)
        h = torch.cat((self.token.expand(len(h), -1, -1), h), dim=1) + self.positions
        z = self.norms[0](h)
        h = h + self.attention(z, z, z, need_weights=False)[0]
        h = h + self.mlp(self.norms[1](h))
        return F.cross_entropy(self.head(self.norms[2](h)[:, 0]), y)


class Residual(nn.Module):
    """The basic block of a ResNet."""

    def __init__(self, before: int, after: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.short = nn.Sequential()
        if stride > 1 or before != after:
            self.short = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(h)) + self.short(x))


class ResNet(nn.Module):
    """ResNet-18, narrow."""

    def __init__(self, width: int = 4):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)
        )
        sizes = [width, width, 2 * width, 4 * width, 8 * width]
        blocks: list[nn.Module] = []
        for n, (before, after) in enumerate(pairwise(sizes)):
            blocks += [Residual(before, after, 1 if n == 0 else 2), Residual(after, after, 1)]
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(sizes[-1], 10)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(self.head(torch.flatten(self.pool(self.blocks(self.stem(x))), 1)), y)


class MobileNet(nn.Module):
    """Depthwise and pointwise convolutions, ReLU6, hard swish, and squeeze and excitation."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width, momentum=0.3), nn.Hardswish())
        self.expand = nn.Sequential(nn.Conv2d(width, 2 * width, 1), nn.BatchNorm2d(2 * width), nn.ReLU6())
        self.depth = nn.Sequential(
            nn.Conv2d(2 * width, 2 * width, 3, padding=1, groups=2 * width), nn.BatchNorm2d(2 * width), nn.ReLU6()
        )
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(2 * width, 4, 1), nn.ReLU(), nn.Conv2d(4, 2 * width, 1), nn.Hardsigmoid()
        )
        self.project = nn.Sequential(nn.Conv2d(2 * width, width, 1), nn.BatchNorm2d(width))
        self.head = nn.Linear(width, 6)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        h = self.stem(x)
        z = self.depth(self.expand(h))
        h = h + self.project(z * self.squeeze(z))
        return F.cross_entropy(self.head(h.mean((2, 3))), y)


class UNet(nn.Module):
    """One level down and up with group norm, attention over pixels, a skip connection and an embedding of time."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.into = nn.Conv2d(3, width, 3, padding=1)
        self.norm1, self.norm2, self.norm3 = nn.GroupNorm(4, width), nn.GroupNorm(4, 2 * width), nn.GroupNorm(2, width)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.time = nn.Linear(8, 2 * width)
        self.qkv = nn.Conv2d(2 * width, 6 * width, 1)
        self.proj = nn.Conv2d(2 * width, 2 * width, 1)
        self.up = nn.Conv2d(2 * width, width, 3, padding=1)
        self.merge = nn.Conv2d(2 * width, width, 3, padding=1)
        self.out = nn.Conv2d(width, 3, 3, padding=1)

    def embedded(self, t: Tensor) -> Tensor:
        angle = t[:, None] * torch.exp(-torch.arange(4, dtype=t.dtype))
        return F.silu(self.time(torch.cat((angle.sin(), angle.cos()), dim=1)))[:, :, None, None]

    def forward(self, x: Tensor, t: Tensor, noise: Tensor) -> Tensor:
        first = self.into(x)
        h = self.down(F.silu(self.norm1(first))) + self.embedded(t)
        n, c, height, width = h.shape
        q, k, v = self.qkv(self.norm2(h)).view(n, 3, 2, c // 2, height * width).transpose(-1, -2).unbind(1)
        attended = F.scaled_dot_product_attention(q, k, v).transpose(-1, -2).reshape(h.shape)
        h = h + self.proj(attended)
        h = self.up(F.interpolate(h, scale_factor=2.0, mode="nearest"))
        h = self.merge(torch.cat((F.silu(self.norm3(h)), first), dim=1))
        return F.mse_loss(self.out(h), noise)


class LSTM(nn.Module):
    """Two layers in both directions over padded sequences: positions behind the end do not count."""

    def __init__(self, width: int = 10):
        super().__init__()
        self.token = nn.Embedding(13, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, width, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(2 * width, 4)

    def forward(self, x: Tensor, lengths: Tensor, y: Tensor) -> Tensor:
        mask = torch.arange(x.shape[1])[None] < lengths[:, None]
        out, (h, _) = self.lstm(self.token(x * mask))
        pooled = (out * mask[..., None]).sum(1) / lengths[:, None]
        return F.cross_entropy(self.head(pooled + torch.cat((h[-2], h[-1]), dim=-1)), y)


class GRU(nn.Module):
    """Two layers from a given state, time first, and a plain RNN behind."""

    def __init__(self, width: int = 9):
        super().__init__()
        self.gru = nn.GRU(5, width, num_layers=2)
        self.rnn = nn.RNN(width, 7, nonlinearity="relu")
        self.head = nn.Linear(7, 1)

    def forward(self, x: Tensor, h: Tensor, y: Tensor) -> Tensor:
        out, last = self.gru(x, h)
        out, _ = self.rnn(out)
        return F.smooth_l1_loss(self.head(out)[..., 0], y) + 0.1 * last.square().mean()


class Encoder(nn.Module):
    """nn.TransformerEncoder with a mask of padding."""

    def __init__(self, width: int = 16):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, 3)

    def forward(self, x: Tensor, padding: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(self.head(self.encoder(x, src_key_padding_mask=padding).mean(1)), y)


class Decoder(nn.Module):
    """nn.TransformerDecoder with a causal mask."""

    def __init__(self, width: int = 16):
        super().__init__()
        layer = nn.TransformerDecoderLayer(width, 4, 32, dropout=0.0, activation="gelu", batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 2)
        self.head = nn.Linear(width, 6)

    def forward(self, x: Tensor, memory: Tensor, y: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
        h = self.decoder(x, memory, tgt_mask=mask, tgt_is_causal=True)
        return F.cross_entropy(self.head(h).transpose(1, 2), y)


class Translator(nn.Module):
    """nn.Transformer, time first."""

    def __init__(self, width: int = 16):
        super().__init__()
        self.transformer = nn.Transformer(width, 2, 1, 1, 24, dropout=0.0)

    def forward(self, x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        return F.l1_loss(self.transformer(x, y, tgt_mask=mask, tgt_is_causal=True), y.roll(-1, 0))


class Autoencoder(nn.Module):
    """Convolutions down, transposed convolutions up, average pooling and leaky ReLU."""

    def __init__(self, width: int = 6):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, padding_mode="reflect"),
            nn.LeakyReLU(0.1),
            nn.AvgPool2d(2),
            nn.Conv2d(width, 2 * width, 4, 2, 1),
            nn.InstanceNorm2d(2 * width, affine=True),
            nn.ELU(),
        )
        self.up = nn.Sequential(
            nn.ConvTranspose2d(2 * width, width, 3, 2, 1, output_padding=1),
            nn.PReLU(),
            nn.ConvTranspose2d(width, 1, 4, 2, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.up(self.down(x)), x)


class DLRM(nn.Module):
    """Bags of embeddings of categories, an MLP of numbers, and products of all pairs."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(n, width, mode=mode) for n, mode in ((11, "sum"), (7, "mean")))
        self.bottom = nn.Sequential(nn.Linear(5, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(width + 3, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, numbers: Tensor, first: Tensor, second: Tensor, offsets: Tensor, y: Tensor) -> Tensor:
        dense = self.bottom(numbers)
        all_ = torch.stack((dense, self.bags[0](first, offsets), self.bags[1](second)), dim=1)
        pairs = torch.bmm(all_, all_.transpose(1, 2))
        rows, columns = torch.tril_indices(3, 3, offset=-1)
        z = torch.cat((dense, pairs[:, rows, columns]), dim=1)
        return F.binary_cross_entropy(torch.sigmoid(self.top(z))[:, 0], y)


class Flow(nn.Module):
    """Affine couplings with permutations; the loss is the negative logarithm of the likelihood."""

    def __init__(self, width: int = 6, layers: int = 3):
        super().__init__()
        self.nets = nn.ModuleList(
            nn.Sequential(nn.Linear(width // 2, 16), nn.Tanh(), nn.Linear(16, width)) for _ in range(layers)
        )
        self.register_buffer("order", torch.arange(width - 1, -1, -1))

    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros(len(x), dtype=x.dtype)
        for net in self.nets:
            a, b = x.chunk(2, dim=1)
            scale, shift = net(a).chunk(2, dim=1)
            scale = torch.tanh(scale)
            x = torch.cat((a, b * scale.exp() + shift), dim=1)[:, self.order]
            total = total + scale.sum(1)
        return -(torch.distributions.Normal(0.0, 1.0, validate_args=False).log_prob(x).sum(1) + total).mean()


class GNN(nn.Module):
    """Messages along edges, summed by index_add and by scatter; the largest by scatter_reduce."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.message = nn.Linear(2 * width, width)
        self.update = nn.GRUCell(width, width)
        self.head = nn.Linear(2 * width, 3)

    def forward(self, x: Tensor, edges: Tensor, y: Tensor) -> Tensor:
        source, target = edges[0], edges[1]
        for _ in range(2):
            message = F.relu(self.message(torch.cat((x[source], x.index_select(0, target)), dim=1)))
            degree = torch.zeros(len(x), dtype=x.dtype).scatter_add(0, target, torch.ones(len(target), dtype=x.dtype))
            total = torch.zeros_like(x).index_add(0, target, message) / degree.clamp(min=1)[:, None]
            x = self.update(total, x)
        index = target[:, None].expand(-1, x.shape[1])
        most = torch.zeros_like(x).scatter_reduce(0, index, x[source], "amax", include_self=False)
        return F.nll_loss(F.log_softmax(self.head(torch.cat((x, most), dim=1)), dim=1), y)


class Pinn(nn.Module):
    """A network of a point, for derivatives of the network; the call returns the value at each point."""

    def __init__(self, width: int = 12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)[..., 0]


class LoRA(nn.Module):
    """A linear layer that is frozen, with a trained one of low rank beside it."""

    def __init__(self, width: int = 12, rank: int = 2):
        super().__init__()
        self.base = nn.Linear(width, width)
        self.base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, width) * 0.3)
        self.up = nn.Parameter(torch.zeros(width, rank))
        self.head = nn.Linear(width, 4)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        h = self.base(x) + F.linear(F.linear(x, self.down), self.up) * 2.0
        return F.kl_div(F.log_softmax(self.head(F.softplus(h)), dim=-1), y, reduction="batchmean")


class Upsampler(nn.Module):
    """Pixel shuffle, bilinear resampling, and a sum of losses with weights."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1, padding_mode="replicate")
        self.bn = nn.BatchNorm2d(width, track_running_stats=False)
        self.conv2 = nn.Conv2d(width, 12, 3, padding=1, padding_mode="circular", dilation=1)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        h = F.pixel_shuffle(self.conv2(F.silu(self.bn(self.conv1(x)))), 2)
        rough = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return F.huber_loss(h + rough, y) + F.mse_loss(F.max_pool2d(h, 2), x)


def _tokens(most: int, *shape: int) -> Tensor:
    return torch.randint(0, most, shape)


def _bags() -> Sequence[Tensor]:
    offsets = torch.tensor([0, 2, 5, 6])
    return torch.randn(4, 5), _tokens(11, 9), _tokens(7, 4, 3), offsets, torch.rand(4)


def _distribution(*shape: int) -> Tensor:
    return torch.softmax(torch.randn(*shape), -1)


CASES: dict[str, Case] = {
    "gpt": Case(GPT, lambda: (_tokens(17, 3, 12), _tokens(17, 3, 12))),
    "llama": Case(Llama, lambda: (_tokens(19, 2, 10), _tokens(19, 2, 10))),
    "vit": Case(ViT, lambda: (torch.randn(3, 3, 16, 16), _tokens(5, 3))),
    "resnet": Case(ResNet, lambda: (torch.randn(4, 3, 48, 48), _tokens(10, 4))),
    "mobilenet": Case(MobileNet, lambda: (torch.randn(3, 3, 16, 16), _tokens(6, 3))),
    "unet": Case(UNet, lambda: (torch.randn(2, 3, 12, 12), torch.rand(2), torch.randn(2, 3, 12, 12))),
    "lstm": Case(LSTM, lambda: (_tokens(13, 4, 7), torch.randint(1, 8, (4,)), _tokens(4, 4))),
    "gru": Case(GRU, lambda: (torch.randn(6, 3, 5), torch.randn(2, 3, 9), torch.randn(6, 3))),
    "encoder": Case(
        Encoder,
        lambda: (torch.randn(3, 6, 16), torch.arange(6)[None] >= torch.randint(2, 7, (3, 1)), _tokens(3, 3)),
    ),
    "decoder": Case(Decoder, lambda: (torch.randn(2, 5, 16), torch.randn(2, 4, 16), _tokens(6, 2, 5))),
    "translator": Case(
        Translator,
        lambda: (torch.randn(5, 2, 16), torch.randn(4, 2, 16), torch.full((4, 4), -torch.inf).triu(1)),
    ),
    "autoencoder": Case(Autoencoder, lambda: (torch.rand(3, 1, 16, 16),)),
    "dlrm": Case(DLRM, _bags),
    "flow": Case(Flow, lambda: (torch.randn(8, 6),)),
    "gnn": Case(GNN, lambda: (torch.randn(7, 8), _tokens(7, 2, 15), _tokens(3, 7))),
    "lora": Case(LoRA, lambda: (torch.randn(6, 12), _distribution(6, 4))),
    "upsampler": Case(Upsampler, lambda: (torch.randn(2, 3, 8, 8), torch.randn(2, 3, 16, 16))),
}


def batches(case: Case, steps: int, seed: int = 1) -> list[Any]:
    """The batches of a run, floating-point tensors in the default type."""
    torch.manual_seed(seed)
    return [case.batch() for _ in range(steps)]
