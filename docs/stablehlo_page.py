"""docs/howto/stablehlo.md: how each operation of StableHLO and CHLO is translated. `generate.py` writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl_rlx.frontends.shared.rows import Status
from xdsl_rlx.frontends.stablehlo.custom_calls import TARGETS
from xdsl_rlx.frontends.stablehlo.rows import Row
from xdsl_rlx.frontends.stablehlo.table import ROWS

_ABOUT = """\
`rlx.from_stablehlo` reads a program in StableHLO, as JAX lowers it, and returns a function that `rlx.grad`, `rlx.vmap`
and `rlx.compile` take:

```python
import jax
import jax.numpy as jnp
import numpy as np
import xdsl_rlx as rlx


def energy(w, x):
    return jnp.sum(jnp.tanh(x @ w) ** 2)


w, x = np.full((3, 2), 0.25, np.float32), np.ones((4, 3), np.float32)
program = rlx.from_stablehlo(jax.jit(energy).lower(w, x).as_text(), names=["w", "x"])
print(program)
print(np.allclose(rlx.grad(program)(w, x), jax.grad(energy)(w, x)))
```

```text
<@main(w: tensor<3x2xf32>, x: tensor<4x3xf32>) of StableHLO>
True
```

The source is text, bytecode, a portable artifact of `jax.export`, or a path to one of these. With JAX installed, all
forms are read. Without it, text in MLIR's generic form is: `lowered.compiler_ir().operation.get_asm(
print_generic_op_form=True)` prints it. `program.report` counts the operations by the ways of the tables below, and
`program.recognised` the loops and composites that were found."""

_BEHAVIOUR = """\
## What differs from XLA

- Text has no derivative rules: `jax.custom_jvp`, `jax.custom_vjp` and `stop_gradient` leave no trace in it.
  `rlx.from_jax` keeps them.
- A `while` that counts to a constant is a scan, with a gradient in reverse mode. Other loops have forward mode only.
- A reduction by any other function than one operation is computed by halves. A sort is refused whose comparator is no
  order of the first operands.
- Factorisations raise no error: a matrix without factors gives NaN, and `info` says so. Complex matrices are not
  factored.
- Denormal numbers are kept, where XLA may flush them to zero.
- Shapes are static. Collectives are the identity on one device, and refused for several."""


def stablehlo_text(note: str) -> str:
    """Return all of docs/howto/stablehlo.md."""
    rows = ROWS.all()
    return (
        "\n\n".join(
            [
                "# Operations of StableHLO",
                note,
                _ABOUT,
                _BEHAVIOUR,
                "## Operations",
                "Exact operations become one or two operations of mir, composite ones several.",
                _table(["how", "operations"], _translated(rows)),
                "## Custom calls",
                "Functions of LAPACK are known with the letters `s` and `d`, such as `lapack_spotrf_ffi`.",
                _names(TARGETS.names()),
                "## Not translated",
                _table(["reason", "operations"], _refused(rows)),
            ]
        )
        + "\n"
    )


def _translated(rows: Sequence[Row]) -> Iterable[tuple[str, str]]:
    for status in (Status.EXACT, Status.COMPOSITE):
        for dialect in ("stablehlo", "chlo"):
            found = [row.name for row in rows if row.status is status and row.name.startswith(f"{dialect}.")]
            yield f"{status.value}, `{dialect}`", _names(name.partition(".")[2] for name in found)


def _refused(rows: Sequence[Row]) -> Iterable[tuple[str, str]]:
    reasons = dict.fromkeys(row.reason for row in rows if row.build is None)
    for reason in sorted(reasons):
        yield reason, _names(row.name.removeprefix("stablehlo.") for row in rows if row.reason == reason)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
