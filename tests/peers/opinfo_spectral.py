"""PyTorch's Fourier transforms as mir graphs."""

from collections.abc import Callable
from math import prod
from typing import Any

from peers.opinfo import Adapter, need, swapped

from xdsl_rlx import Graph


def _resized(g: Graph, x: Any, axis: int, n: int) -> Any:
    """The first `n` elements along an axis, zeros added where there are fewer."""
    have = x.shape[axis]
    if have >= n:
        return g.narrow(x, axis, 0, n)
    zeros = g.full([n - have if d == axis else m for d, m in enumerate(x.shape)], 0, x.dtype)
    return g.concat([x, zeros], axis)


def _at(g: Graph, x: Any, axis: int, of_last: Callable[[Any], Any]) -> Any:
    return swapped(g, of_last(swapped(g, x, axis, -1)), axis, -1)


def _fourier(kind: str, rank: int | None) -> Adapter:
    """Transforms named as in NumPy (`fft`, `irfft`, ..), along the last `rank` axes or all unless they are given."""
    inverse = kind.startswith("i")

    def build(g: Graph, x: Any, *, n: Any = None, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
        given = [n] if n is not None else s
        some = (dim,) if isinstance(dim, int) else dim
        axes = [a % x.rank for a in (range(-(rank or len(given or x.shape)), 0) if some is None else some)]
        sizes = list(given) if given is not None else [x.shape[a] for a in axes]
        if kind == "irfft" and given is None:
            sizes[-1] = 2 * (sizes[-1] - 1)
        for axis, size in zip(axes, sizes, strict=True):
            bins = size // 2 + 1 if kind == "irfft" and axis == axes[-1] else size
            x = _resized(g, x, axis, bins)
        if kind != "rfft" and x.dtype in ("f64", "f32"):
            x = g.cast(x, "c128" if x.dtype == "f64" else "c64")
        if kind == "rfft":
            x = _at(g, x, axes[-1], g.rfft)
        scaling = "ortho" if norm == "ortho" else "forward" if inverse and norm != "forward" else "backward"
        for axis in axes[:-1] if "r" in kind else axes:
            x = g.fft_axis(x, axis, inverse, scaling)
        if kind == "irfft":
            x = _at(g, x, axes[-1], lambda z: g.irfft(z, sizes[-1]))
        return x * _missing(kind, norm, sizes)

    return build


def _missing(kind: str, norm: Any, sizes: list[int]) -> float:
    """The factor that the ops above leave out: theirs of `rfft` is 1, of `irfft` 1/n, whatever the norm."""
    last = sizes[-1] if "r" in kind else 1
    if kind.startswith("i"):
        return {"ortho": last**0.5, "forward": float(last)}.get(norm, 1.0)
    return {"ortho": last**-0.5, "forward": 1 / prod(sizes)}.get(norm, 1.0)


def _hermitian(name: str) -> Adapter:
    """`hfft` is `irfft` of the conjugate, `ihfft` the conjugate of `rfft`, with the factors of the other direction."""
    other = {"forward": "backward", "ortho": "ortho"}
    transform = _fourier("irfft" if name == "hfft" else "rfft", 1)

    def build(g: Graph, x: Any, *, norm: Any = None, **options: Any) -> Any:
        y = transform(g, g.conjugate(x), norm=other.get(norm, "forward"), **options)
        return g.conjugate(y)

    return build


def _stft(
    g: Graph,
    x: Any,
    n_fft: int,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: Any = None,
    return_complex: Any = None,
) -> Any:
    """Reflected at the ends by a gather of constant positions."""
    need(return_complex and onesided in (None, True) and not normalized, "both sides, or parts as real numbers")
    need(x.dtype == "f64" and win_length in (None, n_fft) and pad_mode == "reflect", "a complex or shorter window")
    if center:
        n, half = x.shape[-1], n_fft // 2
        x = g.gather(x, g.constant([n - 1 - abs(n - 1 - abs(i)) for i in range(-half, n + half)], "i64"), x.rank - 1)
    return swapped(g, g.stft(x, n_fft, n_fft // 4 if hop_length is None else hop_length, window))


ADAPTERS: dict[str, Adapter] = {
    f"fft.{kind}{suffix}": _fourier(kind, rank)
    for kind in ("fft", "ifft", "rfft", "irfft")
    for suffix, rank in (("", 1), ("2", 2), ("n", None))
} | {"fft.hfft": _hermitian("hfft"), "fft.ihfft": _hermitian("ihfft"), "stft": _stft}
"""How the samples of an OpInfo are built, by its name."""
