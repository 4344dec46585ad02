"""The notebooks run, and print what they show, but for cells that are tagged as what varies from run to run."""

import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from pages import ROOT

sys.path.append(str(ROOT / "docs"))
from run_notebooks import NOTEBOOKS, executed


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path) -> None:
    shown = nbformat.read(path, nbformat.NO_CONVERT)
    for cell, again in zip(shown.cells, executed(path).cells, strict=True):
        if cell.cell_type == "code":
            assert _kinds(again) == _kinds(cell), f"{cell.id} of {path.name}: run make notebooks"
            # lines are of cells, In[3], not of the temporary files that these are compiled from
            assert "ipykernel" not in str(again.outputs)
            if "varies" not in cell.metadata.get("tags", ()):
                assert _texts(again) == _texts(cell), f"{cell.id} of {path.name}: run make notebooks"


def _kinds(cell: NotebookNode) -> list[list[str]]:
    """What each output of a cell is: a text, a picture, a table."""
    return [sorted(output.get("data", {"text": ""})) for output in cell.outputs]


def _texts(cell: NotebookNode) -> list[str]:
    return [output.text for output in cell.outputs if output.output_type == "stream"]
