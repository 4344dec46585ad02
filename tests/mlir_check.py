"""MLIR's own parser and verifier, as shipped inside jaxlib: it reads our generic form and checks dominance.

Not here: any judgement about our ops, which MLIR sees as unregistered ones.
"""

from functools import cache
from typing import Any

# A private door of JAX: the only context it offers. One place, so that a new JAX breaks one line.
from jax._src.interpreters.mlir import make_ir_context  # pyright: ignore[reportMissingTypeStubs]
from jaxlib.mlir import ir  # pyright: ignore[reportMissingTypeStubs]


@cache
def _context() -> Any:
    context = make_ir_context()
    context.allow_unregistered_dialects = True
    return context


def check(generic_text: str) -> str | None:
    """None when MLIR accepts the generic form of a module, otherwise its complaint."""
    try:
        with _context():
            module = ir.Module.parse(generic_text)
            module.operation.verify()
    except (ir.MLIRError, ValueError) as error:
        return str(error)
    return None
