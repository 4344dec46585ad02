"""The faults of `make mutations` can still be made: each names one place in the package, and tests that exist."""

from pathlib import Path

from mutations.faults import FAULTS, Fault
from rows import for_each

ROOT = Path(__file__).resolve().parents[2]


@for_each(FAULTS, lambda fault: fault.name)
def test_a_fault_changes_one_place(fault: Fault) -> None:
    assert (ROOT / fault.path).read_text().count(fault.old) == 1, f"{fault.path} has not one {fault.old!r}"
    assert fault.new != fault.old
    files = [argument for argument in fault.tests if argument.startswith("tests/")]
    assert files and all((ROOT / name).exists() for name in files)


def test_there_are_thirty_faults_with_distinct_names() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 30
