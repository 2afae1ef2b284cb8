"""The wheel as installed, without the checkout, on each Python: its commands, their seconds, and the size of each extra."""

import datetime as dt
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
FIGURES = ROOT / "docs" / "install-figures.json"
QUOTED = re.compile(r"(?<=<!-- installed -->\n).*?(?=<!-- /installed -->)", re.DOTALL)
PYTHONS = ("3.11", "3.12", "3.13")
EXTRAS = ("", "[engine]", "[spark]", "[all]")
VERBS = ("conform", "decode", "query", "audit", "rebuild")
STEP = re.compile(r"^([\d.]+) s  rocketspec (\w+)", re.MULTILINE)


TEXT = """\
The wheel has {wheel} MB. Installed with all dependencies, the base takes {base} MB, the extra `engine` {engine} MB, `spark` {spark:,} MB
and `all` {all:,} MB ([what each costs](docs/dependencies.md)). With `engine`, on {date}, on two cores with other work (pip without a
cache; `conform` is the whole suite, the others read the golden store `mixed`):

| Python | `pip install` | installed | {titles} |
|---{columns}|
{rows}

"""


def render(figures: dict[str, Any]) -> str:
    """The README's part on sizes and times."""
    names = ("base", "engine", "spark", "all")
    rows = [
        [
            version,
            f"{run['install']:.0f} s",
            f"{run['mb']} MB",
            *(f"{run['seconds'][verb]:.1f} s" for verb in VERBS),
        ]
        for version, run in sorted(figures["pythons"].items())
    ]
    return TEXT.format(
        wheel=figures["wheel_mb"],
        date=figures["date"],
        titles=" | ".join(f"`{verb}`" for verb in VERBS),
        columns="|---:" * (2 + len(VERBS)),
        rows="\n".join(f"| {' | '.join(row)} |" for row in rows),
        **{name: figures["extras_mb"][extra] for name, extra in zip(names, EXTRAS, strict=True)},
    )


def record(**figures: Any) -> None:
    """Adds figures of today to the file, and writes the README's part again."""
    known = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    known |= figures | {"date": dt.datetime.now(tz=dt.UTC).date().isoformat()}
    FIGURES.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    if {"pythons", "extras_mb"} <= set(known):
        README.write_text(QUOTED.sub(lambda _: render(known), README.read_text("utf-8")), "utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, str(ROOT / "release" / "build.py"), str(out)], check=True)
    (built,) = out.glob("*.whl")
    (source,) = out.glob("*.tar.gz")
    record(wheel_mb=round(built.stat().st_size / 1e6, 1), sdist_mb=round(source.stat().st_size / 1e6, 1))
    return built


def install(python: str, wanted: str, folder: Path, *options: str) -> Path:
    """The Python of a new environment with a wheel."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    own = folder / "bin" / "python"
    command = [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, wanted]
    subprocess.run(command, check=True)
    return own


def megabytes(environment: Path) -> int:
    """Size of an environment's packages, those aside that it began with."""
    (packages,) = environment.glob("lib/python*/site-packages")
    return round(
        sum(
            path.stat().st_size
            for package in packages.iterdir()
            if not re.match("pip|setuptools|_distutils_hack|distutils-precedence", package.name)
            for path in (package, *package.rglob("*"))
            if path.is_file()
        )
        / 1e6
    )


@pytest.mark.soak
@pytest.mark.network
def test_the_installed_wheel_works_on_every_python(wheel: Path, tmp_path: Path) -> None:
    """Writes the seconds of each verb into the figures."""
    runs: dict[str, Any] = {}
    for version in PYTHONS:
        python = shutil.which(f"python{version}")
        if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
            pytest.skip(f"Python {version} is missing")
        started = time.monotonic()
        own = install(python, f"{wheel}[engine]", tmp_path / version, "--no-cache-dir")
        installed = time.monotonic() - started
        done = subprocess.run(
            [str(own), str(ROOT / "release" / "try_wheel.py")],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        exact = done.stdout.split()[-1]
        assert exact.startswith(f"{version}.")
        seconds = {verb: float(text) for text, verb in STEP.findall(done.stdout) if verb in VERBS}
        runs[exact] = {
            "install": round(installed, 1),
            "mb": megabytes(tmp_path / version),
            "seconds": seconds,
        }
        shutil.rmtree(tmp_path / version)
    record(pythons=runs)


@pytest.mark.soak
@pytest.mark.network
def test_the_size_of_each_extra(wheel: Path, tmp_path: Path) -> None:
    """Writes the sizes into the figures."""
    sizes: dict[str, int] = {}
    for extra in EXTRAS:
        install(sys.executable, f"{wheel}{extra}", tmp_path / "venv")
        sizes[extra] = megabytes(tmp_path / "venv")
        shutil.rmtree(tmp_path / "venv")
    assert sizes[""] < 60
    record(extras_mb=sizes)


def test_the_readme_quotes_the_sizes_and_times() -> None:
    figures = json.loads(FIGURES.read_text("utf-8"))
    assert QUOTED.findall(README.read_text("utf-8")) == [render(figures)]
    assert {version.rpartition(".")[0] for version in figures["pythons"]} == set(PYTHONS)
    assert all(set(run["seconds"]) == set(VERBS) for run in figures["pythons"].values())


def test_the_page_on_dependencies_quotes_the_sizes() -> None:
    figures = json.loads(FIGURES.read_text("utf-8"))
    page = " ".join((ROOT / "docs" / "dependencies.md").read_text("utf-8").split())
    assert f"The wheel has {figures['wheel_mb']} MB, the sdist {figures['sdist_mb']} MB." in page
