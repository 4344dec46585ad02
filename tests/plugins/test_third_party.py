"""A package of a user that registers by an entry point, as those in `plugins/` do: that of docs/plugins.md. Each test
installs it and starts a process, since plugins are looked for once."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import fenced

Run = Callable[[str], str]

PACKAGE = {block.partition("\n")[0].removeprefix("# "): block for block in fenced("docs/plugins.md", "python")}
"""The modules of the page, each under the comment with its name."""

TEXT = """
func.func @f(%x: tensor<2x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<2x3xf32> {
  %y = mir.acme_shift %x by 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %z = mir.acme_shift %y by 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %z : tensor<2x3xf32>
}
"""


def install(folder: Path, entry: str = "acme:PLUGIN") -> None:
    """The package as an installer leaves it, but for the list of its files."""
    for name, text in PACKAGE.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    info = folder / "acme-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[xdsl_rlx.custom_ops]\nacme = {entry}\n")


def python(folder: Path, script: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env)
    assert not check or not done.returncode, done.stderr
    return done


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Install the package; run a program and return its output."""
    install(tmp_path)
    return lambda script: python(tmp_path, script).stdout.strip()


@pytest.mark.parametrize("first", ["import acme.ops", "import acme.rules", "import acme.kernels", ""])
def test_an_op_of_a_plugin_is_built_differentiated_batched_and_compiled(run: Run, first: str) -> None:
    """It does not matter which module is imported first: those of the plugin import the compiler."""
    found = run(f"""
{first}
import numpy as np
import xdsl_rlx as rlx

x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
print(rlx.acme_shift(x, 1).tolist())
print(rlx.grad(lambda x: (rlx.acme_shift(x, 2) * x).sum())(x).tolist())
print(rlx.jvp(lambda x: rlx.acme_shift(x, -1))((x,), (x,))[1].tolist())
print(rlx.vmap(lambda row: rlx.acme_shift(row[None], 1)[0])(x).tolist())
g = rlx.Graph("f")
g.set_outputs([g.acme_shift(g.input("x", (2, 3)))])
print(rlx.compile(g)(x)[0].tolist())
""")
    shifted = "[[0.0, 1.0, 2.0], [0.0, 4.0, 5.0]]"
    gradient, tangent = "[[3.0, 0.0, 1.0], [6.0, 0.0, 4.0]]", "[[2.0, 3.0, 0.0], [5.0, 6.0, 0.0]]"
    assert found.splitlines() == [shifted, gradient, tangent, shifted, shifted]


def test_xdsl_opt_has_the_ops_and_the_passes_of_a_plugin(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "f.mlir"
    source.write_text(TEXT)
    opt = "from xdsl.xdsl_opt_main import xDSLOptMain; xDSLOptMain(args=[{!r}, '-p', {!r}]).run()"
    for passes in ("mir-merge-shifts", "mir-prepare-for-ad"):
        found = run(opt.format(str(source), passes))
        assert "mir.acme_shift %x by 2 : tensor<2x3xf32>" in found or "mir.acme_shift %x by 2 : (tensor" in found, (
            passes
        )


def test_a_plugin_has_schemes_of_weights_custom_ops_and_kinds(run: Run) -> None:
    found = run("""
import numpy as np
import xdsl_rlx as rlx
from acme.ops import AcmeShiftOp
from xdsl_rlx.transforms.op_kinds import kind_of

print(rlx.dequantize_weights(np.array([2, 3, 4, 10, 1, 2], np.uint8), (2, 2), "acme_q8").tolist())
g = rlx.Graph("f")
g.set_outputs([g.custom("acme.square", g.input("x", (2,)))])
print(rlx.compile(g)(np.array([2, 3], np.float32))[0].tolist())
rlx.trace(lambda x: rlx.acme_shift(x), np.ones((2, 3), np.float32))
print(kind_of(AcmeShiftOp))
""")
    assert found.splitlines() == ["[[6.0, 8.0], [10.0, 20.0]]", "[4.0, 9.0]", "data_movement"]


PROGRAM = """
import numpy as np
import xdsl_rlx as rlx
from xdsl_rlx.lowering.cache import package_key

print(rlx.compile(lambda x: rlx.acme_shift(x, 1))(np.ones((1, 2), np.float32)).tolist(), package_key())
"""


def test_a_scheme_without_a_decoder_is_named(run: Run) -> None:
    found = run("""
import numpy as np
import xdsl_rlx as rlx
from xdsl_rlx.lowering.kernels.quant_decode import BLOCKS

BLOCKS.clear()
try:
    rlx.compile(lambda w: rlx.dequantize_weights(w, scheme="acme_q8", shape=(2, 2)))(np.zeros(6, np.uint8))
except rlx.RlxError as error:
    print(error)
""")
    assert "scheme acme_q8: expected a row of BLOCKS" in found


def test_the_cache_knows_the_sources_of_a_plugin(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program is loaded again while the plugin is the same, and compiled again when any of its modules differs."""
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path / "cache"))
    result, key = run(PROGRAM).rsplit(" ", 1)
    entries = set((tmp_path / "cache").iterdir())
    assert (result, key) == tuple(run(PROGRAM).rsplit(" ", 1))
    assert set((tmp_path / "cache").iterdir()) == entries
    kernels = tmp_path / "acme" / "kernels.py"
    kernels.write_text(kernels.read_text().replace("else 0.0", "else 3.0"))
    other, changed = run(PROGRAM).rsplit(" ", 1)
    assert (result, other) == ("[[0.0, 1.0]]", "[[3.0, 1.0]]") and changed != key


@pytest.mark.parametrize(
    ("entry", "name", "text", "message"),
    [
        ("acme:PLUGIN", "__init__.py", "PLUGIN = 3", "expected a module or a Plugin, got 3"),
        ("acme:OTHER", "ops.py", "", "while loading the entry point acme = acme:OTHER of xdsl_rlx.custom_ops"),
        ("acme:PLUGIN", "ops.py", "", "plugin: acme.ops defines no op"),
        (
            "acme:PLUGIN",
            "ops.py",
            PACKAGE["acme/ops.py"].replace("mir.acme_shift", "mir.tanh"),
            "plugin: acme.ops defines mir.tanh: expected a new name that is mir.*",
        ),
        (
            "acme:PLUGIN",
            "ops.py",
            PACKAGE["acme/ops.py"].replace("mir.acme_shift", "acme.shift"),
            "plugin: acme.ops defines acme.shift: expected a new name that is mir.*",
        ),
    ],
)
def test_a_plugin_that_is_wrong_is_named(tmp_path: Path, entry: str, name: str, text: str, message: str) -> None:
    install(tmp_path, entry)
    (tmp_path / "acme" / name).write_text(text)
    done = python(tmp_path, "import xdsl_rlx as rlx; rlx.compile", check=False)
    assert done.returncode and message in done.stderr


def test_an_op_without_a_rule_says_where_it_belongs(run: Run) -> None:
    found = run("""
import numpy as np
import xdsl_rlx as rlx
from acme.ops import AcmeShiftOp
from xdsl_rlx.transforms.rules import VJP

del VJP._rules[AcmeShiftOp]
try:
    rlx.grad(lambda x: rlx.acme_shift(x).sum())(np.ones((2, 3)))
except rlx.GraphError as error:
    print(error)
""")
    assert "add one to the rules of the plugin with acme.ops" in found
