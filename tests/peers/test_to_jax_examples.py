"""The examples that need JAX."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import jax
import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def load(name: str) -> ModuleType:
    spec = spec_from_file_location(f"{name}_example", ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_both_solvers_fit_alike() -> None:
    example = load("jax_speedup")
    _, start, observed = example.problem()
    found = [example.fit(example.training_step(f, start, observed), 20) for f in (example.solve, example.solve_in_jax)]
    (params, losses), (expected, others) = found
    np.testing.assert_allclose(losses, others, rtol=1e-6)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), params, expected)
    assert losses[-1] < 0.6 * losses[0]


def test_the_exported_gradient_is_sharded_and_written_to_a_file() -> None:
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "export_to_xla.py")],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    devices, data, tensor, file = done.stdout.strip().split("\n")
    assert devices == "2 devices"
    assert data.split(", ")[-1] == "1 all-reduces"
    assert tensor.split(", ")[-1] == "1 all-reduces"
    assert file.split()[-1] == data.split()[3].rstrip(",") == tensor.split()[3].rstrip(",")
