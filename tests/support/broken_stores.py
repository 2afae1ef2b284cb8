"""Stores that are broken in the ways that operators meet, and an operator who follows the advice word for word.

`python tests/support/broken_stores.py` makes `docs/broken-stores.md` from copies of a golden store.
"""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from unittest import mock

from rocket_golden import open_store
from rocketspec import __main__ as command

PAGE: Final = Path(__file__).parents[2] / "docs" / "broken-stores.md"
CONFIGURATION: Final[dict[str, object]] = {
    "storePathRootDir": "store",
    "storePathCommitLog": "store/commitlog",
    "maxHashSlotNum": 61,
    "maxIndexNum": 200,
    "mappedFileSizeConsumeQueue": 400,
    "mappedFileSizeCommitLog": 32768,
}
"""Of the broker that wrote the golden store `mixed`."""


def files(store: Path, folder: str) -> list[Path]:
    """The files of a folder of the store, in the order of their names."""
    return sorted(path for path in (store / folder).rglob("*") if path.is_file())


def cut(path: Path) -> None:
    """Leaves the first half of a file."""
    os.truncate(path, path.stat().st_size // 2)


def torn(store: Path) -> None:
    """The last record lacks its last bytes, and the broker did not stop cleanly."""
    last = files(store, "commitlog")[-1]
    data = bytearray(last.read_bytes())
    end = len(data.rstrip(b"\0"))
    data[end - 100 : end] = bytes(100)
    last.write_bytes(data)
    (store / "abort").touch()


@dataclass(frozen=True)
class Fault:
    """One way to break a store.

    Attributes:
        name: what happened.
        damage: does it to a store.
        replica: whether there is a copy of the store as it was.
        left: codes of the findings above notes that no advice can clear.
        settings: of the broker's configuration that differ from those with which the files were written.
    """

    name: str
    damage: Callable[[Path], object]
    replica: bool = False
    left: frozenset[str] = frozenset()
    settings: dict[str, int] = field(default_factory=dict)


LOST: Final = frozenset({"log.gap", "queue.dangling", "index.entry_dangling"})

FAULTS: Final = (
    Fault("the broker was killed", lambda store: (store / "abort").touch()),
    Fault("the index folder was deleted", lambda store: shutil.rmtree(store / "index")),
    Fault("the queue folder was deleted", lambda store: shutil.rmtree(store / "consumequeue")),
    Fault("the commit log was deleted; there is a replica", lambda store: shutil.rmtree(store / "commitlog"), True),
    Fault(
        "the commit log was deleted; there is no replica",
        lambda store: shutil.rmtree(store / "commitlog"),
        left=frozenset({"log.gap"}),
    ),
    Fault("a log file in the middle was deleted; there is a replica", lambda store: files(store, "commitlog")[1].unlink(), True),
    Fault(
        "a log file in the middle was deleted; there is no replica",
        lambda store: files(store, "commitlog")[1].unlink(),
        left=LOST,
    ),
    Fault("the first log file was deleted", lambda store: files(store, "commitlog")[0].unlink()),
    Fault("the last log file was cut; there is a replica", lambda store: os.truncate(files(store, "commitlog")[-1], 1000), True),
    Fault(
        "the last log file was cut; there is no replica",
        lambda store: os.truncate(files(store, "commitlog")[-1], 1000),
        left=frozenset({"log.torn"}),
    ),
    Fault("an index file was cut", lambda store: cut(files(store, "index")[0])),
    Fault("a queue file was cut", lambda store: cut(files(store, "consumequeue")[0])),
    Fault("the checkpoint was deleted", lambda store: (store / "checkpoint").unlink()),
    Fault("the checkpoint was filled with zeros", lambda store: (store / "checkpoint").write_bytes(bytes(4096))),
    Fault("a directory was put among the index files", lambda store: (store / "index" / "1").mkdir()),
    Fault("the broker's configuration was changed", lambda _: None, settings={"maxHashSlotNum": 500, "mappedFileSizeConsumeQueue": 6000}),
    Fault("the disk was full, and the last record is torn", torn),
)  # fmt: skip


@dataclass
class Followed:
    """What an operator saw and did.

    Attributes:
        text: the commands and what they printed.
        left: codes of the findings above notes at the end.
    """

    text: str
    left: set[str]


def run(*arguments: str) -> tuple[int, str]:
    """Exit code and output of the command, in this process."""
    output = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["rocketspec", *arguments]),
        mock.patch.dict(os.environ, {"COLUMNS": "100"}),
        redirect_stdout(output),
        redirect_stderr(output),
    ):
        try:
            command.main()
        except SystemExit as ended:
            return int(ended.code or 0), output.getvalue()
    return 0, output.getvalue()


def restart_command(printed: str) -> list[str]:
    """The commands that `audit --restart` prints below its cure."""
    _, _, cure = printed.partition("\ncure: ")
    return [line.strip() for line in cure.splitlines() if line.startswith("  ")]


def advice(printed: str, *, replica: bool) -> list[str]:
    """The commands below each cure; below "otherwise" where a cure needs a replica that does not exist."""
    found: list[str] = []
    causes: list[dict[str, list[str]]] = []
    word = ""
    for line in printed.splitlines():
        if line.startswith("        cure: "):
            causes.append({})
        if line.startswith(("        cure: ", "        otherwise: ")):
            word = line.split(":")[0].strip()
            causes[-1][word] = []
        elif line.startswith(" " * 10) and word:
            causes[-1][word].append(line.strip())
        else:
            word = ""
    for cause in causes:
        cured = cause["cure"]
        if replica or not any("REPLICA" in one for one in cured):
            found += cured
        else:
            found += cause.get("otherwise", [])
    return found


def follow(fault: Fault) -> Followed:
    """Follows the advice on the store `store` in this directory, with `broker.conf` and, if there is one, `REPLICA`."""
    audit = "rocketspec audit store --broker-conf broker.conf"
    _, printed = run(*audit.split()[1:])
    lines = [f"$ {audit}", printed]
    todo = advice(printed, replica=fault.replica)
    while todo:
        line = todo.pop(0)
        lines.append(f"$ {line}")
        one = line.removesuffix(" &&")
        finds = one.startswith("{ ")
        one = one.removeprefix("{ ").removesuffix("; test $? -le 1; }")
        if one.startswith("rocketspec "):
            code, printed = run(*shlex.split(one)[1:])
            assert code == 0 or finds or "audit" in one, (one, printed)
            lines.append(printed)
            todo = restart_command(printed) + todo if "--restart" in one else todo
        else:
            done = subprocess.run(["sh", "-c", one], capture_output=True, text=True, check=True)
            assert not done.stderr, (one, done.stderr)
    if len(lines) > 2:
        _, printed = run(*audit.split()[1:])
        lines += [f"$ {audit}", printed]
    _, listed = run(*audit.split()[1:], "--json")
    found = [json.loads(line) for line in listed.splitlines() if line.startswith("{")]
    left = {one["code"] for one in found if one["severity"] != "note"}
    text = "\n".join(part.rstrip("\n") for part in lines).replace(f"{Path.cwd()}/", "")
    return Followed(re.sub(r"-store-[0-9]{8}-[0-9]{6}", "-TIME", text), left)


_TEXT: Final = """\
# Broken stores, and what the verbs advise

Each section breaks a copy of one store, then runs `audit` and the commands that it prints, exactly as printed. `REPLICA` is a
copy of the store as it was, in the sections that have one. The page is generated, and a test compares it with what the verbs
print today. The long tests do the same to stores of a real broker, which is then started: its tools find every message by key, but
for those that the section reports as lost.
"""


def page() -> str:
    """The text of the page."""
    parts = [_TEXT]
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
        golden = open_store("mixed", Path(scratch) / "golden")
        for number, fault in enumerate(FAULTS, 1):
            folder = Path(scratch) / str(number)
            shutil.copytree(golden, folder / "store")
            if fault.replica:
                shutil.copytree(golden, folder / "REPLICA")
            settings = {**CONFIGURATION, **fault.settings}
            (folder / "broker.conf").write_text(
                "".join(f"{name}={value}\n" for name, value in settings.items())
            )
            with chdir(folder):
                fault.damage(Path("store"))
                followed = follow(fault)
            assert followed.left == fault.left, (fault.name, followed.left, followed.text)
            end = (
                "Nothing above a note is left."
                if not fault.left
                else f"Left: {', '.join(sorted(fault.left))}."
            )
            parts.append(f"## {number}. {fault.name.capitalize()}\n\n```\n{followed.text}\n```\n\n{end}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
