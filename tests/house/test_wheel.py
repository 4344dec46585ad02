"""Wheel and sdist hold every tracked file of the package, and an installed wheel gives a working xdsl-opt plugin.

The fresh environment sees this environment's libraries but not our own editable install, so no network is needed.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import xdsl_rlx

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("dialects", "transforms", "lowering", "plugins", "frontends")


def _run(*command: str | Path, cwd: Path, **env: str) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, env=os.environ | env
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _tracked() -> set[str]:
    """The package's files as they should appear in a wheel, from git."""
    names = _run("git", "ls-files", "--cached", "--others", "--exclude-standard", *LAYERS, "src", cwd=ROOT).splitlines()
    links = {f"src/xdsl_rlx/{layer}" for layer in LAYERS}
    files = {name for name in names if name not in links and (ROOT / name).exists()}
    return {name.removeprefix("src/") if name.startswith("src/") else f"xdsl_rlx/{name}" for name in files}


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The built wheel and sdist, made from a copy so that no build residue lands in the repository."""
    source = tmp_path_factory.mktemp("source")
    names = _run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines()
    kept = "\n".join(name for name in names if os.path.lexists(ROOT / name))
    archive = subprocess.run(
        ["tar", "-cf", "-", "-T", "-"], cwd=ROOT, input=kept.encode(), capture_output=True, check=True
    )
    subprocess.run(["tar", "-xf", "-"], cwd=source, input=archive.stdout, check=True)
    output = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", output, cwd=source)
    (wheel,) = output.glob("*.whl")
    (sdist,) = output.glob("*.tar.gz")
    return wheel, sdist


def test_the_wheel_holds_exactly_the_tracked_package_files(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[0]) as wheel:
        inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == _tracked()
    assert distributions[0].name.startswith(f"xdsl_rlx-{xdsl_rlx.__version__}-")


def test_the_sdist_holds_the_package_files_and_the_licence(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[1]) as sdist:
        inside = {name.split("/", 1)[1] for name in sdist.getnames() if "/" in name}
    missing = {name for name in _tracked() if f"src/{name}" not in inside}
    assert not missing
    assert {"LICENSE", "README.md", "pyproject.toml"} <= inside


def test_the_installed_wheel_is_an_xdsl_opt_plugin(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    site = sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)})
    _run(sys.executable, "-m", "pip", "install", "--no-deps", "--target", site, distributions[0], cwd=tmp_path)
    # A plain path line: the libraries become importable, while path files in there (an editable install) are not read.
    Path(site, "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for name in LAYERS:
        where = _run(python, "-c", f"import xdsl_rlx.{name} as m; print(m.__file__)", cwd=tmp_path, PYTHONPATH="")
        assert where.startswith(str(home))
    xdsl_opt = (python, "-m", "xdsl.tools.xdsl_opt")
    listed = _run(*xdsl_opt, "--help", cwd=tmp_path, PYTHONPATH="", COLUMNS="100000")
    for word in ("convert-hir-to-mir", "mir-grad", "convert-mir-to-lir", "lir-plan-memory", "numba"):
        assert word in listed, f"xdsl-opt does not list {word}"
    model = tmp_path / "model.mlir"
    model.write_text(MODEL)
    lowered = _run(*xdsl_opt, model, "-p", "canonicalize", cwd=tmp_path, PYTHONPATH="")
    assert "mir.tanh" in lowered
    python_text = _run(
        *xdsl_opt, model, "-p", "convert-mir-to-lir,lir-plan-memory", "-t", "numba", cwd=tmp_path, PYTHONPATH=""
    )
    compile(python_text, "model.py", "exec")


MODEL = """
func.func @f(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x3xf32> {
  %y = mir.tanh %x : tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
"""
