"""
Applies each fault of `faults.py` to a copy of the tree, and says which test of `make test` notices it.

`python tests/mutations/run.py [words of names..]`; without words, all. Ends with a status of 1 if one is not noticed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", "build", "dist", "*.egg-info", ".*_cache")
LONGEST = 1200
"""Seconds after which a test run counts as hanging, which is noticed too."""


def pytest(tree: Path, arguments: tuple[str, ...]) -> tuple[int, str]:
    """The status and the output of pytest on a tree, ended at the first failure."""
    found = os.environ | {"PYTHONPATH": str(tree / "src"), "XDSL_RLX_CACHE_DIR": str(tree / "cache")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.Popen(command, cwd=tree, env=found, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        text, _ = done.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        done.kill()
        return 1, "FAILED (it hangs)"
    return done.returncode, text


def notice(tree: Path, fault: Fault) -> str | None:
    """What notices a fault: the first test that fails, or that the process ended; None if nothing does."""
    path = tree / fault.path
    right = path.read_text()
    assert right.count(fault.old) == 1, f"{fault.name}: {fault.path} has the text {right.count(fault.old)} times"
    path.write_text(right.replace(fault.old, fault.new))
    try:
        status, text = pytest(tree, fault.tests)
    finally:
        path.write_text(right)
    if status == 0:
        return None
    if status > 1:
        raise SystemExit(f"{fault.name}: pytest could not run:\n{text[-2000:]}")
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", text, re.MULTILINE)
    return failed[1] if failed else f"the process ended with status {status}"


def main(words: list[str]) -> int:
    chosen = [fault for fault in FAULTS if all(word in fault.name for word in words)]
    lost = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, symlinks=True, ignore=LEFT_OUT)
        where = "import xdsl_rlx; print(xdsl_rlx.__file__)"
        environment = os.environ | {"PYTHONPATH": str(tree / "src")}
        found = subprocess.run([sys.executable, "-c", where], cwd=tree, env=environment, capture_output=True, text=True)
        assert found.stdout.startswith(str(tree)), f"the copy is not what is imported: {found.stdout}{found.stderr}"
        for fault in chosen:
            noticed = notice(tree, fault)
            lost += noticed is None
            print(f"{'not caught' if noticed is None else 'caught'}: {fault.name}: {noticed or fault.path}", flush=True)
    print(f"{len(chosen) - lost} of {len(chosen)} faults are caught")
    return int(lost > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
