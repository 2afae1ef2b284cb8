"""The wheel and the editable install, each in a fresh environment; the reference without any dependency."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.network

DATA = (
    "spec/SPEC.md",
    "spec/indexfile.ksy",
    "spec/consumequeue.ksy",
    "spec/consumequeue_ext.ksy",
    "spec/commitlog.ksy",
    "spec/checkpoint.ksy",
    "conformance/PROTOCOL.md",
    "conformance/adapters/python/adapter.py",
    "conformance/adapters/rocketmq/pom.xml",
)

CHECK = f"""
import rocket_golden
from rocket_spec.clauses import clauses
from rocket_spec.data import find_data
for name in {DATA!r}:
    assert find_data(name).exists(), name
assert "IDX-PUT-5" in clauses()
assert not rocket_golden.verify()
print(find_data("spec/SPEC.md"))
"""

BARE = """
from rocket_reference import IndexFile, key_hash
from rocket_spec.layout import Geometry
assert key_hash("AaTopic#Aa") == 10606476
file = IndexFile(bytearray(Geometry(7, 12).file_size), 7, 12)
assert file.put("T#k", 0, 1) and file.select("T#k", 32, 0, 2**63 - 1) == [0]
"""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, cwd=cwd
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    (built,) = out.glob("*.whl")
    return built


def make_venv(path: Path) -> tuple[Path, Path]:
    """A fresh environment; its python and its folder of commands."""
    venv.create(path, with_pip=True)
    commands = path / ("Scripts" if sys.platform == "win32" else "bin")
    return commands / "python", commands


def test_the_wheel_then_an_editable_install_work_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    python, commands = make_venv(tmp_path / "venv")
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--require-hashes", "-r", ROOT / "requirements/base.txt", cwd=tmp_path)

    run(*pip, "--no-deps", wheel, cwd=tmp_path)
    assert "conform" in run(commands / "rocketspec", "--help", cwd=tmp_path)
    assert "_data" in run(python, "-c", CHECK, cwd=tmp_path)

    run(*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT, cwd=tmp_path)
    assert "conform" in run(commands / "rocketspec", "--help", cwd=tmp_path)
    found = Path(run(python, "-c", CHECK, cwd=tmp_path).strip())
    assert found == ROOT / "spec/SPEC.md"


def test_the_reference_works_with_the_standard_library_alone(wheel: Path, tmp_path: Path) -> None:
    python, _ = make_venv(tmp_path / "venv")
    run(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--disable-pip-version-check",
        wheel,
        cwd=tmp_path,
    )
    run(python, "-c", BARE, cwd=tmp_path)
