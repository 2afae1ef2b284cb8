"""Runs the pinned pyright from npm over the checkout; used by `make lint` and by the tests."""

import hashlib
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "support"))  # pytest has it already

from one_at_a_time import one_at_a_time  # noqa: E402

PACKAGE = ROOT / "requirements" / "node"
BUILD = ROOT / "build" / "node"
CLEAN = ROOT / "build" / "pyright-clean"  # the inputs of the last run without a finding


def node_modules() -> Path:
    """Installs the packages of `requirements/node` into build/ once for each lock file; returns their folder."""
    lock = (PACKAGE / "package-lock.json").read_bytes()
    stamp = BUILD / "installed"
    with one_at_a_time("node"):
        if not stamp.exists() or stamp.read_bytes() != lock:
            BUILD.mkdir(parents=True, exist_ok=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(PACKAGE / name, BUILD / name)
            npm = shutil.which("npm") or "npm"
            subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--silent"], cwd=BUILD, check=True)
            stamp.write_bytes(lock)
    return BUILD / "node_modules"


def inputs_hash() -> str:
    """SHA-256 of all that pyright's answer depends on: its version, Python's, the locked libraries, and every checked file."""
    digest = hashlib.sha256(sys.version.encode())
    fixed = [ROOT / "pyproject.toml", ROOT / "requirements" / "dev.txt", PACKAGE / "package-lock.json"]
    folders: list[str] = tomllib.loads(fixed[0].read_text("utf-8"))["tool"]["pyright"]["include"]
    for path in [*fixed, *(path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))]:
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def main() -> int:
    """Exit code of pyright over the project's own configuration; inputs that were clean before are not checked again.

    A second run waits for the first: `make test` starts one beside the tests, whose test of it then has the answer.
    """
    inputs = inputs_hash()
    with one_at_a_time("pyright"):
        if CLEAN.exists() and CLEAN.read_text("ascii") == inputs:
            return 0
        command = ["node", str(node_modules() / "pyright" / "index.js"), "--pythonpath", sys.executable]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code == 0:
            CLEAN.write_text(inputs, "ascii")
    return code


if __name__ == "__main__":
    sys.exit(main())
