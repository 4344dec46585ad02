"""docs/benchmarks.md and the chart show benchmarks/results.json (`python benchmarks/chart.py`)."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import chart
import tables
from pages import ROOT

RESULTS = json.loads((ROOT / "benchmarks/results.json").read_text())["results"]


def test_the_page_has_the_tables_of_the_results() -> None:
    page = (ROOT / "docs/benchmarks.md").read_text()
    for table in (tables.step_times, tables.compile_times, tables.memory):
        assert f"\n\n{table(RESULTS)}\n\n" in page, f"docs/benchmarks.md lacks the table {table.__name__}"


def test_the_chart_is_that_of_the_results() -> None:
    assert chart.CHART.read_text() == chart.drawn(chart.rows(RESULTS))
