"""The walk of a new user: the lines of README and of the tutorial."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from page_run import Command, Edit, File, steps

ROOT: Final = Path(__file__).parents[2]
HASH: Final = """def key_hash(key: str) -> int:
    total = 0
    for unit in {units}:
        total = (31 * total + unit) & 0xFFFFFFFF
    signed = total - (total >> 31 << 32)
    return 0 if signed == -(1 << 31) else abs(signed)
"""
RIGHT: Final = HASH.format(units='memoryview(key.encode("utf-16-le")).cast("H")')
WRONG: Final = HASH.format(units="[ord(character) for character in key]")
"""A port of the key hash by UTF-16 units, and one by code points."""


@dataclass(frozen=True, slots=True)
class Line:
    """A command of a page.

    Attributes:
        shown: as the page has it.
        command: what a shell runs for it: with a name in place of one that the page leaves open.
        code: the exit code.
        output: what it prints, in the page's form; None if the page does not show it.
        in_clone: whether it runs in the clone, not in the page's own directory.
    """

    shown: str
    command: str
    code: int = 0
    output: str | None = None
    in_clone: bool = False


@dataclass(frozen=True, slots=True)
class Prepare:
    """A command for what the page takes as given, such as a store."""

    command: str


Steps: TypeAlias = "list[Line | Prepare | File | Edit]"


def read(page: str) -> str:
    """The text of a page."""
    return (ROOT / page).read_text("utf-8")


def block(page: str, beginning: str) -> str:
    """The page's block that begins with a text."""
    (found,) = [
        body
        for body in re.findall(r"^```\w*\n(.*?)^```$", read(page), re.MULTILINE | re.DOTALL)
        if body.startswith(beginning)
    ]
    return str(found)


def shown_steps(page: str) -> Steps:
    """The files, edits and commands with output of a page."""
    return [
        Line(step.line, step.line, step.code, step.output) if isinstance(step, Command) else step
        for step in steps(read(page))
    ]


def install(extra: str) -> Line:
    """The README's line that installs an extra, in a new environment."""
    name = f"'.[{extra}]'" if extra else "."
    (line,) = re.findall(rf"`(pip install {re.escape(name)})`", read("README.md"))
    return Line(line, line, in_clone=True)


def port() -> Steps:
    """The README's adapter, the report of a right port, and a wrong port."""
    return [
        File("adapter.py", block("README.md", "import json, sys\n")),
        File("my_port.py", RIGHT),
        Prepare("rocketspec conform --report before -- python3 adapter.py"),
        File("my_port.py", WRONG),
    ]


def implementation() -> Steps:
    """The commands of the README's section, on the wrong port."""
    codes = {"conform": 1, "replay": 1, "conform-diff": 1, "--pyargs": 1}
    lines = block("README.md", "rocketspec conform --report out").splitlines()
    found: Steps = port()
    for line in lines:
        if line.startswith("rocketspec compare"):
            found.append(Prepare("cp -R out rust-out && cp -R out go-out"))
        command = line.replace("out/replay/CASE.json", '"$(ls out/replay/*.json | head -n 1)"')
        found.append(Line(line, command, codes.get(line.split()[1], 0)))
    return found


def readme() -> Steps:
    """The whole page, but for `make test` and what judges a broker."""
    conform = "...\n" + block("README.md", "clauses ").replace("out/conform", ".../out/conform")
    repair = block("README.md", "rocketspec audit STORE").splitlines()
    spark = block("README.md", "rocketspec spark decode").splitlines()
    filtered = block("README.md", "rocketspec decode mixed --table commit_log").strip()
    return [
        Line("make conform", "make conform", output=conform, in_clone=True),
        Line("make docs", "make docs", output="...\nsite: ...\n", in_clone=True),
        install("all"),
        *implementation(),
        *shown_steps("README.md"),
        Line(filtered, filtered),
        Prepare(
            "cp -R mixed STORE && cp mixed/index/20261121132607044 A && cp mixed/index/20261121132607044 B"
        ),
        *(Line(line, line) for line in repair),
        *(
            Line(line, line.replace("STORE...", "STORE").replace("OUT", f"OUT-{line.split()[2]}"))
            for line in spark
        ),
        File("spark.py", block("README.md", "from rocket_spark").replace("/data/broker-a/store", "STORE")),
        Line("python3 spark.py", "python3 spark.py"),
        Prepare("cp -R mixed store"),
        File("block.py", block("README.md", "import rocketspec\n")),
        Line("python3 block.py", "python3 block.py"),
    ]


def walk() -> dict[str, Steps]:
    """The steps of each page; each begins in a clone of its own, with nothing installed."""
    return {
        "README.md": readme(),
        "docs/tutorial.md": [install(""), *shown_steps("docs/tutorial.md")],
    }
