"""Runs the pinned pyright from npm over the checkout; used by `make lint` and by the tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "requirements" / "node"
BUILD = ROOT / "build" / "node"


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


def main() -> int:
    """Exit code of pyright over the project's own configuration."""
    command = ["node", str(node_modules() / "pyright" / "index.js"), "--pythonpath", sys.executable]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
