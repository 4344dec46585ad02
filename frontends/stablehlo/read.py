"""Which reader reads a source: jaxlib's bindings where JAX is installed, else xDSL, for generic text."""

from __future__ import annotations

from pathlib import Path

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.stablehlo import read_jaxlib, read_text
from xdsl_rlx.frontends.stablehlo.tree import Module

_BYTECODE = b"ML\xefR"


def read(source: object) -> Module:
    """Return the tree of a text, of bytes, or of a file with one of these."""
    content = _content(source)
    if isinstance(content, bytes) and not content.startswith(_BYTECODE):
        try:
            content = content.decode()
        except UnicodeDecodeError as error:
            raise FrontendError(
                "from_stablehlo: expected MLIR's bytecode or text, got bytes that are neither"
            ) from error
    if isinstance(content, str) and not content.strip():
        raise FrontendError("from_stablehlo: expected a module, got an empty text")
    if read_jaxlib.is_installed():
        return read_jaxlib.read(content)
    if isinstance(content, bytes):
        raise FrontendError("from_stablehlo: bytecode is read by JAX: pip install 'xdsl-rlx[jax]', or pass text")
    return read_text.read(content)


def _content(source: object) -> str | bytes:
    """What stands in a source; a text of one line that ends like the name of a file is one."""
    if isinstance(source, str) and "\n" not in source and source.endswith((".mlir", ".mlirbc", ".stablehlo")):
        source = Path(source)
    if isinstance(source, Path):
        try:
            return source.read_bytes()
        except OSError as error:
            raise FrontendError(f"from_stablehlo: cannot read {source}: {error.strerror}") from error
    if isinstance(source, bytes | bytearray):
        return bytes(source)
    if isinstance(source, str):
        return source
    raise FrontendError(f"from_stablehlo: source: expected a text, bytes or a path, got {shown(source)}")
