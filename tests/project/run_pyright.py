"""Runs the pinned pyright from npm: over the packages (`make test`, `make lint`), or over the folders given (`make lint`: tests)."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "requirements" / "node"
BUILD = ROOT / "build" / "node"


INCLUDED: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pyright"][
    "include"
]


def node_modules() -> Path:
    """Installs the packages of `requirements/node` into build/ once for each lock file; returns their folder."""
    lock = (PACKAGE / "package-lock.json").read_bytes()
    stamp = BUILD / "installed"
    if not stamp.exists() or stamp.read_bytes() != lock:
        BUILD.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PACKAGE / name, BUILD / name)
        npm = shutil.which("npm") or "npm"
        subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--silent"], cwd=BUILD, check=True)
        stamp.write_bytes(lock)
    return BUILD / "node_modules"


def inputs_hash() -> str:
    """SHA-256 of all that pyright's answer depends on: its version, Python's, the locked libraries, and every file of ours."""
    digest = hashlib.sha256(sys.version.encode())
    fixed = [ROOT / "pyproject.toml", ROOT / "requirements" / "dev.txt", PACKAGE / "package-lock.json"]
    for path in [*fixed, *(path for folder in INCLUDED for path in sorted((ROOT / folder).rglob("*.py")))]:
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def main(folders: list[str]) -> int:
    """Exit code of pyright over `folders`, the packages if there are none; inputs that were clean before are not checked again."""
    folders = folders or [folder for folder in INCLUDED if folder != "tests"]
    inputs = inputs_hash()
    clean = BUILD.parent / f"pyright-clean-{'-'.join(folders)}"
    if clean.exists() and clean.read_text("ascii") == inputs:
        return 0
    command = ["node", str(node_modules() / "pyright" / "index.js"), "--pythonpath", sys.executable, *folders]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code == 0:
        clean.write_text(inputs, "ascii")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
