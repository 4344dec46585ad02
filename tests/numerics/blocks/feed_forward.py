"""Dense layers one after the other."""

from typing import Any

from numerics.blocks import activations, sample

from xdsl_rlx.dialects.hir.feed_forward import MlpOp, SwigluOp


def swiglu(np_: Any, x: Any, up_w: Any, gate_w: Any, down_w: Any) -> Any:
    return (activations(np_)["silu"](x @ gate_w) * (x @ up_w)) @ down_w


def _mlp(between: str, last: str | None) -> Any:
    def mlp(np_: Any, x: Any, **given: Any) -> Any:
        count = sum(name[0] == "w" for name in given)
        for number in range(count):
            f = activations(np_)[between if number < count - 1 else last]
            x = f(x @ given[f"w{number}"] + given.get(f"b{number}", 0.0))
        return x

    return mlp


def _built(**options: Any) -> Any:
    def build(m: Any, x: Any, **given: Any) -> Any:
        weights, biases = ([given[key] for key in given if key[0] == kind] for kind in "wb")
        return m.mlp(x, weights, biases, **options)

    return build


SAMPLES = (
    sample("swiglu", SwigluOp, swiglu, {"x": (2, 3, 5), "up_w": (5, 7), "gate_w": (5, 7), "down_w": (7, 4)}),
    sample("swiglu-one", SwigluOp, swiglu, {"x": (1, 1), "up_w": (1, 1), "gate_w": (1, 1), "down_w": (1, 1)}),
    sample("mlp-one", MlpOp, _mlp("relu", None), {"x": (3, 2), "w0": (2, 4), "b0": (4,)}, build=_built()),
    sample(
        "mlp-two",
        MlpOp,
        _mlp("gelu", None),
        {"x": (2, 3, 5), "w0": (5, 7), "w1": (7, 2), "b0": (7,), "b1": (2,)},
        build=_built(activation="gelu"),
    ),
    sample(
        "mlp-three",
        MlpOp,
        _mlp("tanh", "sigmoid"),
        {"x": (3, 5), "w0": (5, 3), "w1": (3, 4), "w2": (4, 1)},
        build=_built(activation="tanh", last_activation="sigmoid"),
    ),
)
