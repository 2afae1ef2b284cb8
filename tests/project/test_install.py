"""The wheel and the editable install, each in a fresh environment; the reference without any dependency."""

import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BASE_LIMIT = 60_000_000  # bytes of the base install with its dependencies
pytestmark = pytest.mark.network

DATA = (
    *(f"spec/{path.name}" for path in sorted((ROOT / "spec").glob("*.ksy"))),
    "spec/SPEC.md",
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
    """A fresh environment without pip; its python and its folder of commands."""
    venv.create(path)
    commands = path / ("Scripts" if sys.platform == "win32" else "bin")
    return commands / "python", commands


def install(python: Path, *arguments: str | Path) -> None:
    """Installs into the environment of `python` with uv, in a tenth of pip's time; where it fails, with the pip that runs these tests."""
    uv = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python)
    done = subprocess.run([*uv, *arguments], capture_output=True, check=False, cwd=python.parent)
    if done.returncode:
        pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
        run(*pip, "--disable-pip-version-check", "--no-compile", *arguments, cwd=python.parent)


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel with its locked dependencies and no extra; its python and its command."""
    python, commands = make_venv(tmp_path_factory.mktemp("base") / "venv")
    install(python, "--require-hashes", "-r", ROOT / "requirements/base.txt")
    install(python, "--no-deps", wheel)
    return python, commands / "rocketspec"


def test_the_wheel_brings_the_data(base: tuple[Path, Path], tmp_path: Path) -> None:
    python, rocketspec = base
    assert "conform" in run(rocketspec, "--help", cwd=tmp_path)
    assert "_data" in run(python, "-c", CHECK, cwd=tmp_path)


def test_the_base_install_is_small(base: tuple[Path, Path]) -> None:
    python, _ = base
    packages = Path(
        run(python, "-c", "import rocket_spec; print(rocket_spec.__path__[0])", cwd=python.parent)
    )
    counted = [
        path
        for folder in packages.parent.iterdir()
        if folder.name.partition("-")[0] not in {"pip", "setuptools", "pkg_resources"}
        for path in (folder.rglob("*") if folder.is_dir() else [folder])
        if path.is_file()
    ]
    assert len(counted) > 1_000
    assert sum(path.stat().st_size for path in counted) < BASE_LIMIT


def test_the_base_install_tests_an_adapter(base: tuple[Path, Path], tmp_path: Path) -> None:
    python, rocketspec = base
    run(rocketspec, "adapter", "new", "python", "-o", tmp_path / "adapter", cwd=tmp_path)
    adapter = tmp_path / "adapter" / "adapter.py"
    report = tmp_path / "report"
    options = ("--select", "IDX-HASH-*", "--report", report)
    tested = run(rocketspec, "conform", *options, "--", python, adapter, cwd=tmp_path)
    assert re.match(r"partial run: .*, all as 4\.9\.3 \(--select\)", tested.splitlines()[-1])
    assert (report / "report.html").exists()
    assert "all as recorded" in run(rocketspec, "golden", "verify", cwd=tmp_path)
    assert "IDX-PUT-5" in run(rocketspec, "spec", "show", "IDX-PUT-5", cwd=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "subject", "extra"),
    [
        (("conform",), "the bundled engine, tested without a COMMAND,", "engine"),
        (("decode", "store"), "decode", "engine"),
        (("inspect", "pyproject.toml"), "inspect", "engine"),
        (("query", "store", "--topic", "T", "--key", "k"), "query", "engine"),
        (("audit", "store"), "audit", "engine"),
        (("rebuild", "store", "-o", "out"), "rebuild", "engine"),
        (("diff", "a", "b"), "diff", "engine"),
        (("digest", "store"), "digest", "engine"),
        (("spark", "audit", "."), "spark", "spark"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_verb_without_its_extra_names_the_command_that_installs_it(
    base: tuple[Path, Path], arguments: tuple[str, ...], subject: str, extra: str
) -> None:
    _, rocketspec = base
    done = subprocess.run([rocketspec, *arguments], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2, done.stderr
    assert re.fullmatch(
        rf"rocketspec: {subject} needs \w+, which is not installed: pip install 'rocketspec\[{extra}\]'\n",
        done.stderr,
    ), done.stderr
    run(rocketspec, *arguments[:1], "--help", cwd=ROOT)


def test_the_reference_works_with_the_standard_library_alone(wheel: Path, tmp_path: Path) -> None:
    python, _ = make_venv(tmp_path / "venv")
    install(python, "--no-deps", wheel)
    run(python, "-c", BARE, cwd=tmp_path)


@pytest.mark.soak
def test_an_editable_install_in_place_of_the_wheel(base: tuple[Path, Path], tmp_path: Path) -> None:
    """The last test here: it changes the environment of the others."""
    python, rocketspec = base
    install(python, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    assert "conform" in run(rocketspec, "--help", cwd=tmp_path)
    assert Path(run(python, "-c", CHECK, cwd=tmp_path).strip()) == ROOT / "spec/SPEC.md"
