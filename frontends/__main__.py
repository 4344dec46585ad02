"""`python -m xdsl_rlx.frontends model.mlir`: a program in StableHLO as text in mir, for `xdsl-opt` and `rlx.parse`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.stablehlo.imported_program import from_stablehlo


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the program of a file, or of the standard input, in mir; 1 if it cannot be read."""
    parser = ArgumentParser(prog="python -m xdsl_rlx.frontends", description="Translate StableHLO to mir.")
    parser.add_argument("file", help="text, bytecode or a portable artifact; - is the standard input")
    parser.add_argument("-o", "--output", help="the file to write (default: the standard output)")
    parser.add_argument("--report", action="store_true", help="list how operations are translated")
    options = parser.parse_args(arguments)

    try:
        source = sys.stdin.buffer.read() if options.file == "-" else Path(options.file)
        program = from_stablehlo(source)
        counts = {**program.report, **program.recognised} if options.report else {}
        text = "\n".join(f"{n:6} {name}" for name, n in counts.items()) if options.report else str(program.graph)
    except FrontendError as error:
        print(error, file=sys.stderr)
        return 1
    if options.output:
        Path(options.output).write_text(text + "\n")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
