"""Integer products, in exact integers, rounded by NumPy."""

import numpy as np
from numerics.sample import Operand, Sample, integers, values
from oracle import Array

from xdsl_rlx.dialects.mir import quant_int

ANY = integers(-128, 128)


def _requantised(op: quant_int.QMatmulOp | quant_int.QConv2dOp, total: Array) -> Array:
    assert abs(total).max(initial=0) < 2**31
    return np.clip(np.rint(total * op.multiplier.value.data) + op.zero_points[2], -128, 127)


def _q_matmul(op: quant_int.QMatmulOp, x: Array, w: Array, bias: Array) -> Array:
    a, b, _ = op.zero_points
    return _requantised(op, (x.astype(np.int64) - a) @ (w.astype(np.int64) - b) + bias)


def _q_conv2d(op: quant_int.QConv2dOp, x: Array, w: Array, bias: Array) -> Array:
    """Input less its zero point, padded with zeros, then every tap of the kernel by a strided slice."""
    a, b, _ = op.zero_points
    top, left, bottom, right = (int(n) for n in op.padding.get_values())
    rows, columns = op.windows
    padded = np.pad(x.astype(np.int64) - a, ((0, 0), (0, 0), (top, bottom), (left, right)))
    groups, depth = op.groups.value.data, w.shape[1]
    weights = (w.astype(np.int64) - b).reshape(groups, w.shape[0] // groups, *w.shape[1:])
    total = np.zeros((x.shape[0], groups, weights.shape[1], rows.result, columns.result), np.int64)
    for p in range(rows.kernel):
        for q in range(columns.kernel):
            i, j = p * rows.dilation, q * columns.dilation
            seen = padded[:, :, i :: rows.stride, j :: columns.stride][:, :, : rows.result, : columns.result]
            seen = seen.reshape(x.shape[0], groups, depth, rows.result, columns.result)
            total += np.einsum("ngchw,goc->ngohw", seen, weights[:, :, :, p, q])
    total = total.reshape(x.shape[0], w.shape[0], rows.result, columns.result) + bias[:, None, None]
    return _requantised(op, total)


def _matmul_samples() -> list[Sample]:
    rows: list[Sample] = []
    for name, m, k, n, multiplier, points in (
        ("", 3, 10, 5, 0.001, (0, 0, 0)),
        ("-zero-points", 4, 7, 9, 0.0007, (3, -5, 11)),
        ("-wide", 2, 13, 1100, 0.002, (-128, 127, -3)),
        ("-saturated", 3, 6, 4, 0.5, (1, 2, 3)),
        ("-no-depth", 2, 0, 3, 0.5, (1, 2, 3)),
        ("-no-rows", 0, 2, 3, 0.5, (1, 2, 3)),
    ):
        build = lambda g, x, w, b, s=multiplier, z=points: g.q_matmul(x, w, b, s, *z)  # noqa: E731
        operands = (Operand((m, k), ANY, "i8"), Operand((k, n), ANY, "i8"), Operand((n,), integers(-300, 300), "i32"))
        rows.append(Sample(f"q_matmul{name}", quant_int.QMatmulOp, build, operands, ("i8",), exact=True))
    ties = (Operand((1, 1), values(0), "i8"), Operand((1, 7), values(0), "i8"))
    halves = Operand((7,), values(1, 3, 5, -1, -3, 255, -257), "i32")
    build = lambda g, x, w, b: g.q_matmul(x, w, b, 0.5)  # noqa: E731
    rows.append(Sample("q_matmul-ties", quant_int.QMatmulOp, build, (*ties, halves), ("i8",), exact=True))
    return rows


def _conv_samples() -> list[Sample]:
    rows: list[Sample] = []
    for name, x, w, geometry in (
        ("", (2, 3, 5, 6), (4, 3, 3, 3), {}),
        ("-padded", (1, 2, 4, 4), (3, 2, 3, 3), {"padding": (1, 1, 1, 1)}),
        ("-strided", (2, 2, 7, 9), (2, 2, 3, 2), {"strides": (2, 3), "padding": (0, 2, 1, 0)}),
        ("-dilated", (1, 1, 9, 8), (2, 1, 3, 3), {"dilations": (2, 3), "padding": (3, 4, 2, 5)}),
        ("-groups", (1, 4, 4, 5), (6, 2, 2, 2), {"groups": 2}),
        ("-depthwise", (1, 3, 5, 5), (3, 1, 3, 3), {"groups": 3, "padding": (1, 1, 1, 1), "strides": (2, 2)}),
        ("-padding-only", (1, 1, 1, 1), (1, 1, 1, 2), {"padding": (0, 4, 0, 4)}),
    ):
        build = lambda g, x, w, b, k=geometry: g.q_conv2d(x, w, b, 0.004, 3, -2, 5, **k)  # noqa: E731
        operands = (Operand(x, ANY, "i8"), Operand(w, ANY, "i8"), Operand((w[0],), integers(-300, 300), "i32"))
        rows.append(Sample(f"q_conv2d{name}", quant_int.QConv2dOp, build, operands, ("i8",), exact=True))
    return rows


SAMPLES = (*_matmul_samples(), *_conv_samples())
ORACLE = {quant_int.QMatmulOp: _q_matmul, quant_int.QConv2dOp: _q_conv2d}
JAX = {}
