"""What the sweep of kernels.py compiles: an op or a chain that is one kernel, by the sizes of its extents.

Not here: which sizes are taken, and what is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import xdsl_rlx as rlx

Extents: TypeAlias = dict[str, int]
Build: TypeAlias = Callable[["Arguments", Extents], Any]


class Arguments:
    """A graph under construction and its arguments, which are named as they come."""

    def __init__(self, graph: rlx.Graph, dtype: str):
        self.graph, self.dtype = graph, dtype
        self.wrt: list[str] = []
        self._count = 0

    def real(self, *shape: int) -> Any:
        """An argument of the dtype of the run, to be differentiated."""
        name = f"x{self._count}"
        self.wrt.append(name)
        self._count += 1
        return self.graph.param(name, shape, dtype=self.dtype)

    def whole(self, *shape: int, dtype: str = "i32") -> Any:
        """An argument that is not differentiated."""
        self._count += 1
        return self.graph.input(f"n{self._count}", shape, dtype=dtype)


FLOATS = ("f32", "f64")
HALVES = ("f16", "bf16")


@dataclass(frozen=True)
class Case:
    """`build` gives the output from the arguments it makes; `usual` is what an extent is while others vary."""

    usual: Extents
    build: Build
    dtypes: tuple[str, ...] = FLOATS
    differentiable: bool = True
    most: Extents = field(default_factory=dict[str, int])
    """Extents that cannot be as large as the others."""


def _attention(kind: str) -> Build:
    def build(a: Arguments, e: Extents) -> Any:
        q, k, v = (a.real(e["batch"], e["heads"], n, e["width"]) for n in (e["queries"], e["keys"], e["keys"]))
        return a.graph.attention(q, k, v, layout="bhsd", mask_kind=kind)

    return build


def _masked_attention(a: Arguments, e: Extents) -> Any:
    q, k, v = (a.real(e["batch"], e["heads"], n, e["width"]) for n in (e["queries"], e["keys"], e["keys"]))
    bias = a.real(1, e["heads"], e["queries"], e["keys"])
    return a.graph.attention(q, k, v, bias, mask_kind="bias", layout="bhsd")


def _packed_attention(a: Arguments, e: Extents) -> Any:
    q, k, v = (a.real(e["batch"], e["length"], e["heads"] * e["width"]) for _ in range(3))
    return a.graph.attention(q, k, v, num_heads=e["heads"], mask_kind="causal")


def _attention_by_primitives(a: Arguments, e: Extents) -> Any:
    g = a.graph
    q, k, v = (a.real(e["heads"], e["length"], e["width"]) for _ in range(3))
    return g.matmul(g.softmax(g.matmul(q, g.transpose(k, (0, 2, 1))) * 0.25), v)


def _rope(pairing: str) -> Build:
    def build(a: Arguments, e: Extents) -> Any:
        width = 2 * e["pairs"]
        tables = [a.whole(e["length"], e["pairs"], dtype=a.dtype) for _ in range(2)]
        x = a.real(e["batch"], e["length"], e["heads"] * width)
        return a.graph.rope(x, *tables, num_heads=e["heads"], pairing=pairing)

    return build


def _conv(groups: bool, **chosen: Any) -> Build:
    def build(a: Arguments, e: Extents) -> Any:
        x = a.real(e["batch"], e["channels"], e["rows"], e["columns"])
        inner = 1 if groups else e["channels"]
        w = a.real(e["channels"] if groups else e["filters"], inner, e["kernel"], e["kernel"])
        padding = e["kernel"] // 2
        return a.graph.conv(x, w, padding=padding, groups=e["channels"] if groups else 1, **chosen)

    return build


def _pool(kind: str) -> Build:
    def build(a: Arguments, e: Extents) -> Any:
        rows, columns = (max(e[axis], e["kernel"]) for axis in ("rows", "columns"))
        return a.graph.pool(a.real(e["batch"], e["channels"], rows, columns), kind, e["kernel"], e["stride"])

    return build


def _solve(a: Arguments, e: Extents) -> Any:
    x = a.real(e["batch"], e["rows"], e["rows"])
    return a.graph.batched_dense_solve(x, a.real(e["batch"], e["rows"], e["columns"]))


def _solve_vector(a: Arguments, e: Extents) -> Any:
    return a.graph.batched_dense_solve(a.real(e["batch"], e["rows"], e["rows"]), a.real(e["batch"], e["rows"]))


def _jacfwd(a: Arguments, e: Extents) -> Any:
    g = a.graph
    x = a.real(e["inputs"])
    w = a.whole(e["inputs"], e["outputs"], dtype=a.dtype)
    b = a.whole(e["outputs"], dtype=a.dtype)
    return g.reshape(g.tanh(g.matmul(g.reshape(x, (1, e["inputs"])), w) + b), (e["outputs"],))


def _layer(a: Arguments, e: Extents) -> Any:
    x, w, b = a.real(e["rows"], e["inner"]), a.real(e["inner"], e["columns"]), a.real(e["columns"])
    return a.graph.gelu(a.graph.matmul(x, w) + b)


def _layer_softmax(a: Arguments, e: Extents) -> Any:
    x, w, b = a.real(e["rows"], e["inner"]), a.real(e["inner"], e["columns"]), a.real(e["columns"])
    return a.graph.softmax(a.graph.matmul(x, w) + b)


def _batched_product(a: Arguments, e: Extents) -> Any:
    x, y = a.real(e["batch"], e["rows"], e["inner"]), a.real(e["batch"], e["inner"], e["columns"])
    return a.graph.tanh(a.graph.matmul(x, y))


def _of_rows(function: Callable[[Any, Any], Any]) -> Build:
    return lambda a, e: function(a.graph, a.real(e["rows"], e["columns"]))


def _norm(name: str) -> Build:
    def build(a: Arguments, e: Extents) -> Any:
        n = e["columns"]
        x = a.real(e["rows"], n)
        return getattr(a.graph, name)(x, a.real(n), a.real(n))

    return build


def _residual_norm(a: Arguments, e: Extents) -> Any:
    x, y = a.real(e["rows"], e["columns"]), a.real(e["rows"], e["columns"])
    return a.graph.gelu(a.graph.layer_norm(x + y, a.real(e["columns"]), a.real(e["columns"])))


def _group_norm(a: Arguments, e: Extents) -> Any:
    channels = e["groups"] * e["channels"]
    x = a.real(e["batch"], channels, e["rows"], e["columns"])
    return a.graph.group_norm(x, a.real(channels), a.real(channels), e["groups"])


def _loss(a: Arguments, e: Extents) -> Any:
    return a.graph.softmax_cross_entropy_with_logits(a.real(e["rows"], e["columns"]), a.whole(e["rows"]))


def _reduced(name: str, axes: Sequence[int]) -> Build:
    return lambda a, e: getattr(a.graph, name)(a.real(e["outer"], e["middle"], e["inner"]), axes)


def _chain(a: Arguments, e: Extents) -> Any:
    g, x = a.graph, a.real(e["rows"], e["columns"])
    return g.sin(g.tanh(x) * g.exp(x) + a.real(e["columns"]))


def _grouped(a: Arguments, e: Extents) -> Any:
    x, w = a.real(e["rows"], e["inner"]), a.real(e["experts"], e["inner"], e["columns"])
    return a.graph.grouped_matmul(x, w, a.whole(e["rows"]))


def _gather(a: Arguments, e: Extents) -> Any:
    return a.graph.gather(a.real(e["table"], e["columns"]), a.whole(e["rows"]))


def _scatter(a: Arguments, e: Extents) -> Any:
    return a.graph.scatter_add(a.real(e["rows"], e["columns"]), a.whole(e["rows"]), e["table"])


def _gather_inner(a: Arguments, e: Extents) -> Any:
    return a.graph.gather(a.real(e["rows"], e["table"]), a.whole(e["rows"], e["columns"]), axis=1, batch_dims=1)


def _quantised(scheme: str) -> Build:
    from xdsl_rlx.dialects.mir.quant_schemes import Scheme

    kind = Scheme(scheme)

    def build(a: Arguments, e: Extents) -> Any:
        k = kind.block * e["blocks"]
        w = a.whole(e["columns"] * e["blocks"] * kind.block_bytes, dtype="u8")
        return a.graph.dequant_matmul(a.real(e["rows"], k), w, scheme)

    return build


def _q_matmul(a: Arguments, e: Extents) -> Any:
    x, w = a.whole(e["rows"], e["inner"], dtype="i8"), a.whole(e["inner"], e["columns"], dtype="i8")
    return a.graph.q_matmul(x, w, a.whole(e["columns"]), 0.01)


def _q_conv(a: Arguments, e: Extents) -> Any:
    x = a.whole(1, e["channels"], e["rows"], e["columns"], dtype="i8")
    w = a.whole(e["filters"], e["channels"], e["kernel"], e["kernel"], dtype="i8")
    pad = [e["kernel"] // 2] * 4
    return a.graph.q_conv2d(x, w, a.whole(e["filters"]), 0.01, padding=pad)


def _topk(a: Arguments, e: Extents) -> Any:
    return a.graph.topk_values(a.real(e["rows"], e["columns"]), min(e["k"], e["columns"]))


def _spectrum(a: Arguments, e: Extents) -> Any:
    return a.graph.psd(a.real(e["frames"], e["length"]))


def _fft(a: Arguments, e: Extents) -> Any:
    g = a.graph
    return g.complex_norm_sq(g.fft(g.complex(a.real(e["frames"], e["length"]), a.real(e["frames"], e["length"]))))


def _irfft(a: Arguments, e: Extents) -> Any:
    g, bins = a.graph, e["length"] // 2 + 1
    return g.irfft(g.complex(a.real(e["frames"], bins), a.real(e["frames"], bins)), e["length"])


def _log_mel(a: Arguments, e: Extents) -> Any:
    spectrum = a.real(e["frames"], 2 * e["length"])
    return a.graph.log_mel(spectrum, a.real(e["bands"], e["length"] // 2 + 1))


def _im2col(a: Arguments, e: Extents) -> Any:
    x = a.real(e["batch"], e["channels"], e["rows"], e["columns"])
    return a.graph.im2col(x, e["kernel"], padding=e["kernel"] // 2)


def _splats(a: Arguments, e: Extents) -> Any:
    n = e["count"]
    places, scales, turns, alphas, colors, waves = (a.real(each * n) for each in (3, 3, 4, 1, 3, 12))
    meta = a.whole(15, dtype=a.dtype)
    return a.graph.gaussian_splat_render(
        places, scales, turns, alphas, colors, waves, meta, width=e["width"], height=e["height"]
    )


def _draw(a: Arguments, e: Extents) -> Any:
    u = a.whole(e["rows"], dtype="f64")
    return a.graph.draw(a.whole(e["rows"], e["columns"], dtype=a.dtype), u, top_k=min(3, e["columns"]), top_p=0.9)


def _random(a: Arguments, e: Extents) -> Any:
    return a.graph.rng_normal(a.whole(2, dtype="i64"), (e["rows"], e["columns"]), dtype=a.dtype)


def _fake_quantize(a: Arguments, e: Extents) -> Any:
    return a.graph.fake_quantize(a.real(e["rows"], e["columns"]), axis=0)


HEADS = {"batch": 2, "heads": 2, "queries": 32, "keys": 32, "width": 16}
PLANES = {"batch": 2, "channels": 4, "rows": 16, "columns": 16}
MATRIX = {"rows": 32, "columns": 32}
SPACE = {"outer": 8, "middle": 16, "inner": 32}
SCHEMES = tuple(f"gguf_{kind}" for kind in ("q4_0", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k"))
CASES: dict[str, Case] = {
    "attention": Case(HEADS, _attention("none"), (*FLOATS,)),
    "attention-causal": Case(HEADS, _attention("causal")),
    "attention-bias": Case(HEADS, _masked_attention),
    "attention-packed": Case({"batch": 2, "heads": 2, "length": 32, "width": 16}, _packed_attention),
    "attention-primitives": Case({"heads": 4, "length": 32, "width": 16}, _attention_by_primitives),
    "rope": Case({"batch": 2, "length": 16, "heads": 2, "pairs": 8}, _rope("halves"), (*FLOATS, *HALVES)),
    "rope-pairs": Case({"batch": 2, "length": 16, "heads": 2, "pairs": 8}, _rope("neighbours")),
    "conv": Case({"filters": 4, "kernel": 3, **PLANES}, _conv(False), most={"kernel": 15}),
    "conv-stride": Case({"filters": 4, "kernel": 3, **PLANES}, _conv(False, stride=2), most={"kernel": 15}),
    "depthwise": Case({"kernel": 3, **PLANES}, _conv(True), most={"kernel": 15}),
    "depthwise-stride": Case({"kernel": 3, **PLANES}, _conv(True, stride=2), most={"kernel": 15}),
    "max-pool": Case({"kernel": 2, "stride": 2, **PLANES}, _pool("max"), most={"kernel": 16}),
    "mean-pool": Case({"kernel": 2, "stride": 2, **PLANES}, _pool("mean"), most={"kernel": 16}),
    "im2col": Case({"kernel": 3, **PLANES}, _im2col, most={"kernel": 15}),
    "solve": Case({"batch": 8, "rows": 16, "columns": 16}, _solve),
    "solve-wide": Case({"batch": 8, "rows": 32, "columns": 64}, _solve),
    "solve-vector": Case({"batch": 8, "rows": 16}, _solve_vector),
    "layer": Case({"rows": 16, "inner": 16, "columns": 16}, _layer, (*FLOATS, *HALVES)),
    # large enough to become tiles, whose edges are loops of their own
    "tiles": Case({"rows": 96, "inner": 1024, "columns": 128}, _layer),
    "layer-softmax": Case({"rows": 16, "inner": 16, "columns": 16}, _layer_softmax),
    "batched-product": Case({"batch": 4, "rows": 8, "inner": 8, "columns": 8}, _batched_product),
    "softmax": Case(MATRIX, _of_rows(lambda g, x: g.softmax(x)), (*FLOATS, *HALVES)),
    "softmax-columns": Case(MATRIX, _of_rows(lambda g, x: g.softmax(x, 0))),
    "layer-norm": Case(MATRIX, _norm("layer_norm"), (*FLOATS, *HALVES)),
    "rms-norm": Case(MATRIX, _norm("rms_norm")),
    "residual-norm": Case(MATRIX, _residual_norm),
    "group-norm": Case({"batch": 2, "groups": 2, "channels": 4, "rows": 8, "columns": 8}, _group_norm),
    "cross-entropy": Case(MATRIX, _loss),
    "sum-inner": Case(SPACE, _reduced("reduce_sum", (2,))),
    "sum-middle": Case(SPACE, _reduced("reduce_sum", (1,))),
    "sum-outer": Case(SPACE, _reduced("reduce_sum", (0,))),
    "max-inner": Case(SPACE, _reduced("reduce_max", (2,))),
    "product-middle": Case(SPACE, _reduced("reduce_prod", (1,))),
    "chain": Case(MATRIX, _chain, (*FLOATS, *HALVES)),
    "cumsum": Case(MATRIX, _of_rows(lambda g, x: g.cumsum(x))),
    "cumsum-columns": Case(MATRIX, _of_rows(lambda g, x: g.cumsum(x, 0))),
    "topk": Case({"k": 3, **MATRIX}, _topk),
    "transpose": Case(MATRIX, _of_rows(lambda g, x: g.tanh(g.transpose(x, (1, 0)) * 2.0))),
    "experts": Case({"experts": 4, "rows": 16, "inner": 16, "columns": 16}, _grouped),
    "gather": Case({"table": 32, "rows": 16, "columns": 16}, _gather),
    "gather-inner": Case({"table": 32, "rows": 16, "columns": 16}, _gather_inner),
    "scatter": Case({"table": 32, "rows": 16, "columns": 16}, _scatter),
    **{
        f"dequant-{scheme}": Case(
            {"rows": 4, "columns": 16, "blocks": 1}, _quantised(scheme), ("f32",), most={"blocks": 8}
        )
        for scheme in SCHEMES
    },
    "q-matmul": Case({"rows": 16, "inner": 16, "columns": 16}, _q_matmul, ("f32",), differentiable=False),
    "q-conv": Case(
        {"channels": 4, "filters": 4, "kernel": 3, "rows": 16, "columns": 16},
        _q_conv,
        ("f32",),
        differentiable=False,
        most={"kernel": 15},
    ),
    "fft": Case({"frames": 16, "length": 16}, _fft),
    "power-spectrum": Case({"frames": 16, "length": 16}, _spectrum),
    "irfft": Case({"frames": 16, "length": 16}, _irfft),
    "log-mel": Case({"frames": 16, "length": 64, "bands": 16}, _log_mel),
    "splats": Case({"count": 16, "width": 16, "height": 16}, _splats),
    "draw": Case(MATRIX, _draw, FLOATS, differentiable=False),
    "random": Case(MATRIX, _random, FLOATS, differentiable=False),
    "fake-quantize": Case(MATRIX, _fake_quantize),
    "jacfwd": Case({"inputs": 16, "outputs": 16}, _jacfwd),
}
