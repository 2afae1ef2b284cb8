"""Compiles the .ksy files to Python readers: `python -m tools.make_readers`.

Needs a checkout, Node.js and npm; the compiler is installed into `build/kaitai`, pinned by `spec/kaitai`.
"""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from rocket_spec.data import find_data
from rocket_spec.errors import UsageError

READERS: Final = find_data("spec/SPEC.md").parent / "rocket_spec" / "kaitai" / "_generated"
_TOOL_FILES: Final = ("package.json", "package-lock.json", ".npmrc", "compile.mjs", "targets.mjs")
_INIT: Final = '"""Readers and stubs that `python -m tools.make_readers` made; do not edit."""\n'


def _run(command: list[str], folder: Path) -> None:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        last = (result.stderr or result.stdout).strip().splitlines()[-1:]
        raise UsageError(f"{' '.join(command[:2])}: exit {result.returncode}: {''.join(last)}")


def compiler() -> tuple[Path, Path]:
    """The folder of the .ksy files, and that of the compiler with its scripts, which is installed if need be; UsageError without its tools."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise UsageError(f"{tool} is missing; the Kaitai compiler needs Node.js with npm")
    ksy = find_data("spec/indexfile.ksy").parent
    if not (ksy / "kaitai").is_dir():
        raise UsageError(f"{ksy} is no checkout: the compiler's lock file is missing")
    source, folder = ksy / "kaitai", ksy.parent / "build" / "kaitai"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = b"".join((source / name).read_bytes() for name in _TOOL_FILES)
    installed = folder / ".installed"
    with (folder / ".lock").open("w") as lock:  # a script must not change while another process runs it
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed.exists() or installed.read_bytes() != wanted:
            for name in _TOOL_FILES:
                shutil.copyfile(source / name, folder / name)
            _run(["npm", "ci", "--ignore-scripts"], folder)
            installed.write_bytes(wanted)
    return ksy, folder


def make_readers(target: Path) -> None:
    """Writes the readers and their type stubs into the folder `target`, which is emptied first.

    UsageError without Node.js, npm or a checkout, or when the compiler refuses a file.
    """
    ksy, folder = compiler()
    if target.exists():
        shutil.rmtree(target)
    _run(["node", "compile.mjs", str(ksy), str(target)], folder)
    (target / "__init__.py").write_text(_INIT, encoding="utf-8", newline="\n")


def main() -> None:
    """Makes the committed readers again."""
    make_readers(READERS)
    sys.stderr.write(f"{READERS}: {len(list(READERS.glob('*.py'))) - 1} readers\n")


if __name__ == "__main__":
    main()
