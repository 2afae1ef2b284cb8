"""What may not be committed: addresses of registries, paths of a machine, unwanted locks, large golden data."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOLDEN_LIMIT = 25 << 20

WORDS = tuple(
    "".join(parts)  # in parts, so that this file does not hold them
    for parts in (
        ("maven", ".org/"),
        ("py", "pi.org"),
        ("python", "hosted"),
        ("registry.", "npmjs"),
        ("crates", ".io/"),
        ("proxy.", "golang"),
        ("deb.", "debian"),
        ("/wo", "rk/"),
        ("/ro", "ot/"),
        ("/ho", "me/"),
    )
)


def tracked() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    paths = [ROOT / name.decode() for name in listing.stdout.split(b"\0") if name]
    assert paths
    return [path for path in paths if path.is_file()]


def test_no_registry_address_and_no_machine_path() -> None:
    found: list[str] = []
    for path in tracked():
        data = path.read_bytes()
        if b"\0" in data:
            continue
        text = data.decode("utf-8", "replace")
        found += [f"{path.relative_to(ROOT)}: {word}" for word in WORDS if word in text]
    assert not found


@pytest.mark.parametrize("name", ["base", "engine", "dev"])
def test_python_locks_pin_every_package_with_hashes(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    pins = re.findall(
        r"^[A-Za-z0-9][\w.-]*(?:\[[\w,-]+\])?==[^\n]*\\\n    --hash=sha256:", text, re.MULTILINE
    )
    starts = re.findall(r"^[A-Za-z0-9]", text, re.MULTILINE)
    assert len(pins) == len(starts) > 20


def requirements(name: str) -> set[str]:
    lines = (ROOT / f"requirements/{name}.in").read_text().splitlines()
    return {line for line in lines if line and not line.startswith(("#", "-r"))}


def test_the_locks_cover_the_declared_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert set(project["dependencies"]) == requirements("base") - {"hatchling>=1.27", "editables"}
    assert set(extras["engine"]) == requirements("engine")
    own = {line for extra in extras.values() for line in extra if not line.startswith("rocketspec[")}
    assert own - set(extras["engine"]) <= requirements("dev")


def test_golden_data_stays_small() -> None:
    size = sum(path.stat().st_size for path in tracked() if path.is_relative_to(ROOT / "golden"))
    assert 0 < size < GOLDEN_LIMIT
