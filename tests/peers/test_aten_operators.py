"""The table of ATen operators names what PyTorch has, and the page about it is up to date with PyTorch's core."""

from peers import aten_operators

from xdsl_rlx.frontends.aten.table import ROWS


def test_names_of_the_page_are_those_of_pytorch():
    expected = aten_operators.text()
    assert aten_operators.FILE.read_text() == expected, (
        "docs/aten_names.py is out of date: run PYTHONPATH=tests python -m peers.aten_operators"
    )


def test_every_row_is_of_an_operator():
    every = aten_operators.operators()
    own = [row.name for row in ROWS.all() if row.name.startswith("aten.")]
    assert [name for name in own if name not in every] == []
