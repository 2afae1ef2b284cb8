"""Runs classes of a later release again: `python tests/spec/later/make_later.py`. Needs Maven and a JDK 17.

Writes `files.zip`, what single classes wrote from fixed values, and `store.zip` and `crc.zip`, what whole stores wrote: the
second with `enabledAppendPropCRC`. Each has a `facts.txt`, what the same classes read in it.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
BUILD: Final = HERE.parents[2] / "build" / "later"
sys.path += [str(HERE.parents[1] / "support")]

from java_programs import OPENED, SHORT_LIVED, compile_java, jars_of  # noqa: E402

RUNS: Final = {
    "files": ("LaterFiles", ()),
    "store": ("LaterStore", ("false",)),
    "crc": ("LaterStore", ("true",)),
}
_DATE: Final = (2026, 1, 1, 0, 0, 0)


def _class_path() -> str:
    jars, classes = jars_of("later/jars"), BUILD / "classes"
    compile_java(sorted(HERE.glob("*.java")), f"{jars}/*", classes)
    return f"{classes}:{jars}/*"


def printed(program: str, folder: Path, *options: str) -> str:
    """What a program prints that gets a folder, which it may fill."""
    path = _class_path()
    with tempfile.TemporaryDirectory() as home:
        command = ["java", *SHORT_LIVED.split(), *OPENED, f"-Duser.home={home}", "-cp", path]
        command += [f"org.apache.rocketmq.store.{program}", str(folder), *options]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def make(name: str, target: Path) -> None:
    """Runs one program, and packs the folder that it wrote with what it printed."""
    program, options = RUNS[name]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "facts.txt").write_text(printed(program, Path(folder), *options))
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
            for one in sorted(Path(folder).rglob("*")):
                if one.is_file() and one.name != "lock":
                    entry = zipfile.ZipInfo(one.relative_to(folder).as_posix(), _DATE)
                    packed.writestr(entry, one.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    for one in sys.argv[1:] or RUNS:
        make(one, HERE / f"{one}.zip")
