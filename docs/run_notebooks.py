"""Runs the notebooks in fresh kernels and writes what they print: `make notebooks`. A test runs them and compares."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOKS = sorted((Path(__file__).resolve().parent / "notebooks").glob("*.ipynb"))


def executed(path: Path) -> NotebookNode:
    """A notebook with the outputs of a run; CellExecutionError says which cell failed."""
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    with TemporaryDirectory() as folder:
        # sockets in a folder, not ports of the machine
        kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{folder}/socket")
        client = NotebookClient(notebook, kernel, timeout=120, record_timing=False, coalesce_streams=True)
        # a kernel that it is given it would leave running
        client.execute(cleanup_kc=True)
    notebook.metadata.pop("language_info", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if len(data) > 1:
                # what shows a picture or a table shows no text beside it
                data.pop("text/plain", None)
    return notebook


def main() -> None:
    """Write all of them."""
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)


if __name__ == "__main__":
    main()
