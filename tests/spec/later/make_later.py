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

from one_at_a_time import one_at_a_time  # noqa: E402
from short_lived import COMPILER, SHORT_LIVED  # noqa: E402

_OPENS: Final = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.nio", "sun.nio.ch", "jdk.internal.ref")
]
RUNS: Final = {
    "files": ("LaterFiles", ()),
    "store": ("LaterStore", ("false",)),
    "crc": ("LaterStore", ("true",)),
}
_DATE: Final = (2026, 1, 1, 0, 0, 0)


def _class_path() -> str:
    jars, classes = BUILD / "jars", BUILD / "classes"
    with one_at_a_time():
        if not list(jars.glob("slf4j-nop-*.jar")):
            plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
            command = [
                "mvn",
                "-q",
                "-B",
                "-ntp",
                "-f",
                str(HERE / "pom.xml"),
                plugin,
                f"-DoutputDirectory={jars}",
            ]
            subprocess.run(command, check=True, capture_output=True)
        sources = map(str, sorted(HERE.glob("*.java")))
        compiled = ["javac", *COMPILER, "-nowarn", "-cp", f"{jars}/*", "-d", str(classes), *sources]
        subprocess.run(compiled, check=True, capture_output=True)
    return f"{classes}:{jars}/*"


def make(name: str, target: Path) -> None:
    """Runs one program, and packs the folder that it wrote with what it printed."""
    program, options = RUNS[name]
    path = _class_path()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "store"
        folder.mkdir()
        command = ["java", *SHORT_LIVED.split(), *_OPENS, f"-Duser.home={scratch}", "-cp", path]
        command += [f"org.apache.rocketmq.store.{program}", str(folder), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        (folder / "facts.txt").write_text(done.stdout)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
            for one in sorted(folder.rglob("*")):
                if one.is_file() and one.name != "lock":
                    entry = zipfile.ZipInfo(one.relative_to(folder).as_posix(), _DATE)
                    packed.writestr(entry, one.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    for one in sys.argv[1:] or RUNS:
        make(one, HERE / f"{one}.zip")
