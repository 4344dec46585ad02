"""A gradient of this package in XLA: under `jax.jit`, sharded over two devices, and as a file.

XLA_FLAGS=--xla_force_host_platform_device_count=2 python examples/export_to_xla.py
"""

# JAX's arrays, and trees of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import xdsl_rlx as rlx

EXAMPLES, WIDTH = 256, 64


def loss(params: Any, x: Any, y: Any) -> Any:
    """The error of a network of two layers, written with NumPy."""
    hidden = rlx.gelu(rlx.nn.layer_norm(x) @ params["up"])
    return ((hidden @ params["down"] - y) ** 2).mean()


def problem() -> tuple[Any, Any, Any]:
    """Parameters, inputs and targets."""
    rng = np.random.default_rng(0)
    params = {"up": rng.standard_normal((WIDTH, 4 * WIDTH)) / 8, "down": rng.standard_normal((4 * WIDTH, WIDTH)) / 16}
    x, y = rng.standard_normal((2, EXAMPLES, WIDTH))
    return jax.tree.map(np.float32, (params, x, y))


ROADS: dict[str, tuple[Any, Any, Any]] = {
    "data parallel": ({"up": P(), "down": P()}, P("devices"), P("devices")),
    "tensor parallel": ({"up": P(None, "devices"), "down": P("devices")}, P(), P()),
}
"""How parameters, inputs and targets lie on the devices."""


def place(mesh: Any, tree: Any, specs: Any) -> Any:
    """Arrays, placed on the devices."""
    return jax.tree.map(lambda x, spec: jax.device_put(x, NamedSharding(mesh, spec)), tree, specs)


def run() -> dict[str, tuple[float, float, int]]:
    """For each road the loss, the greatest difference of its gradient to ours, and how many all-reduces XLA added."""
    args = problem()
    gradient = rlx.value_and_grad(loss)
    _, own = rlx.compile(gradient)(*args)
    step = rlx.to_jax(gradient, run="xla")
    mesh = jax.make_mesh((len(jax.devices()),), ("devices",), axis_types=(AxisType.Auto,))
    found: dict[str, tuple[float, float, int]] = {}
    for name, specs in ROADS.items():
        placed = place(mesh, args, specs)
        compiled = jax.jit(step).lower(*placed).compile()
        value, grads = compiled(*placed)
        difference = max(float(jnp.abs(grads[key] - own[key]).max()) for key in own)
        found[name] = float(value), difference, (compiled.as_text() or "").count(" all-reduce(")
    return found


def write(path: Path) -> tuple[int, float]:
    """Write the gradient to a file, read it back as a process without this package would; its size, and the loss."""
    args = problem()
    path.write_bytes(rlx.to_jax(rlx.value_and_grad(loss), run="xla").serialize(*args))
    value, _ = export.deserialize(bytearray(path.read_bytes())).call(*args)
    return path.stat().st_size, float(value)


def main() -> None:
    """Print what was found."""
    print(f"{len(jax.devices())} devices")
    for name, (value, difference, reductions) in run().items():
        print(f"{name:15} loss {value:.5f}, gradient within {difference:.0e} of ours, {reductions} all-reduces")
    with tempfile.TemporaryDirectory() as folder:
        size, value = write(Path(folder) / "gradient.stablehlo")
    print(f"from a file of {size} bytes: loss {value:.5f}")


if __name__ == "__main__":
    main()
