"""Tables and numbers of reports."""

import pytest

from xdsl_rlx.lowering.reports.text_tables import TextTable, duration, short


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (999.7, "1.00 kB"), (12_345, "12.3 kB"), (123_456_789, "123 MB"), (4e12, "4.00 TB")],
)
def test_a_number_in_three_digits(number: float, text: str):
    assert short(number, "B") == text


def test_a_number_without_a_unit():
    assert [short(x) for x in (7, 7000)] == ["7", "7.00 k"]


def test_a_time_in_its_unit():
    times = (3e-9, 0.000_000_9, 12.34e-6, 0.9999e-3, 0.5, 12.0, 1234.5)
    assert [duration(t) for t in times] == ["3 ns", "900 ns", "12.3 µs", "1 ms", "500 ms", "12 s", "1234 s"]


def test_columns_are_aligned_and_html_is_escaped():
    table = TextTable(("bytes", "name"), (("1", "<a>"), ("1,000", "b")), frozenset([1]))
    assert table.lines() == ["bytes  name", "    1  <a>", "1,000  b"]
    assert '<th style="text-align:left">name</th>' in table.html()
    assert "&lt;a&gt;" in table.html() and "<a>" not in table.html()
