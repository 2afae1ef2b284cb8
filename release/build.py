"""Builds wheel and sdist into `dist/`, or another folder that is named, twice, and compares them byte for byte: `make dist`.

The time in the archives is that of the last commit (SOURCE_DATE_EPOCH if it is set), so the same commit gives the same bytes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def build_twice(out: Path) -> dict[str, str]:
    """Writes wheel and sdist into `out`; their names with their SHA-256. SystemExit if a build fails, or the second gives other bytes."""
    with tempfile.TemporaryDirectory() as scratch:
        first, second = (_build(Path(scratch) / name) for name in ("first", "second"))
        if _digests(first) != _digests(second):
            raise SystemExit(f"two builds differ: {_digests(first)}, {_digests(second)}")
        out.mkdir(parents=True, exist_ok=True)
        for path in first.iterdir():
            shutil.copyfile(path, out / path.name)
        return _digests(first)


def _build(out: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        *["build", "--no-isolation", "--sdist", "--wheel", "--outdir"],
        str(out),
        str(ROOT),
    ]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _epoch()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return out


def _epoch() -> str:
    if "SOURCE_DATE_EPOCH" in os.environ:
        return os.environ["SOURCE_DATE_EPOCH"]
    command = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "315532800"  # without git: 1980, the first year that a wheel can hold


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "dist"
    for name, digest in build_twice(folder).items():
        sys.stdout.write(f"{digest}  {name}\n")
