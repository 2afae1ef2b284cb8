"""What happens to a broken store: what `audit` prints, what its advice does, and what the real broker then delivers.

`python tests/support/incident_run.py [NAME...]` measures these incidents, and those whose inputs changed, and writes
`docs/broken-stores.json` and `docs/broken-stores.md`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest import mock

from broken_stores import INCIDENTS, Incident
from incident_site import Site, config_of, log_paths, sound
from rocketspec import __main__ as command

DOCS: Final = Path(__file__).parents[2] / "docs"
RESULTS: Final = DOCS / "broken-stores.json"
PAGE: Final = DOCS / "broken-stores.md"
_GAINS: Final = 2
"""The first numbers of a row are better the greater they are."""
_FOLLOWED: Final = 40
"""Commands of one incident; more of them do not end."""


@dataclass(frozen=True)
class Staged:
    """A broken store in a folder of its own, as `store` beside `broker.conf` and perhaps `REPLICA`."""

    incident: Incident  # what happened
    folder: Path  # of the store

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def settings(self) -> dict[str, str]:
        """Of the broker, as the file states them now; the last of a name counts."""
        lines = (self.folder / "broker.conf").read_text("ascii").splitlines()
        return dict(line.split("=", 1) for line in lines)

    def follow(self) -> str:
        """Does what an operator does who pastes all that is printed; returns the commands and what they printed."""
        with chdir(self.folder):
            lines, left = [], advice(audited(self.incident), replica=bool(self.incident.replica))
            while left:
                line = left.pop(0)
                lines.append(f"$ {line}")
                assert len(lines) < _FOLLOWED, lines
                printed = _done(line)
                lines += [printed] if printed else []
                left = restart_cure(printed) + left if line.endswith("--restart") else left
        return _timeless("\n".join(lines), self.folder)


def stage(incident: Incident, folder: Path) -> Staged:
    """Makes the broken store of an incident in a new folder."""
    folder.mkdir(parents=True)
    store = sound(incident.base, folder / "store")
    if incident.replica:
        sound(incident.replica, folder / "REPLICA")
    settings = {**config_of(incident.base), "storePathRootDir": "store", **incident.settings}
    settings |= {} if "dLegerGroup" in settings else {**log_paths(incident.base), **incident.settings}
    (folder / "broker.conf").write_text(
        "".join(f"{name}={value}\n" for name, value in settings.items()), "ascii"
    )
    with chdir(folder):
        incident.damage(store)
    return Staged(incident, folder)


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


def audited(incident: Incident, *options: str) -> str:
    """The output of `audit` on the store in this folder."""
    deep = ["--deep"] if incident.deep else []
    return run("audit", "store", "--broker-conf", "broker.conf", *deep, *options)[1]


def _timeless(text: str, folder: Path) -> str:
    text = text.replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")
    text = re.sub("last written [-0-9T:+]+", "last written TIME", text)
    return re.sub(r"-[0-9]{8}-[0-9]{6}(-[0-9]{6})?", "-TIME", text)


def _done(line: str) -> str:
    """Runs one command as it is printed; it may not fail."""
    one = line.removesuffix(" &&").removeprefix("{ ").removesuffix("; test $? -le 1; }")
    if one.startswith("rocketspec "):
        code, printed = run(*shlex.split(one)[1:])
        assert code <= 1, (one, printed)
        return printed.rstrip("\n")
    done = subprocess.run(["sh", "-c", one], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), (one, done.stderr)
    return ""


def restart_cure(printed: str) -> list[str]:
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
        usable = replica or not any("REPLICA" in one for one in cured)
        found += cured if usable and cured else cause.get("otherwise", [])
    return found


def content_hash(store: Path) -> str:
    """A hash of all files and empty folders of a store, but for what repairs keep in it."""
    digest = hashlib.sha256()
    for path in sorted(store.rglob("*")):
        name = path.relative_to(store).as_posix()
        if name.startswith("rocketspec-repair-"):
            continue
        if path.is_file():
            digest.update(f"{name}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                while piece := file.read(1 << 18):
                    digest.update(piece)
        elif path.is_symlink():
            digest.update(f"{name} -> {path.readlink()}".encode())
        elif not any(path.iterdir()):
            digest.update(f"{name}/".encode())
    return digest.hexdigest()[:12]


def look(staged: Staged) -> dict[str, Any]:
    """The output of `audit` on a broken store, and a hash of everything that its row depends on: the store, the settings and the advice."""
    with chdir(staged.folder):
        printed = _timeless(audited(staged.incident), staged.folder)
    commands = advice(printed, replica=bool(staged.incident.replica))
    inputs = json.dumps([content_hash(staged.store), staged.settings(), commands])
    return {
        "inputs": hashlib.sha256(inputs.encode()).hexdigest()[:12],
        "causes": causes_in(printed),
        "advice": commands,
    }


def row_of(site: Site, incident: Incident, scratch: Path) -> dict[str, Any]:
    """Measures one incident."""
    before = site.before(incident.base, scratch / "sound")
    staged = stage(incident, scratch / "broken")
    seen = look(staged)
    untouched = content_hash(staged.store), staged.settings()
    nothing = site.measure(staged.store, incident.base, staged.settings(), before.every)
    staged.follow()
    same = (content_hash(staged.store), staged.settings()) == untouched
    after = nothing if same else site.measure(staged.store, incident.base, staged.settings(), before.every)
    found = {"before": before, "nothing": nothing, "after": after}
    return {**seen, **{name: measured.row(before) for name, measured in found.items()}}


def worse(row: Mapping[str, Any]) -> bool:
    """Whether clients get less after the advice than after doing nothing, or, where they got any, messages twice, or miss some."""
    nothing, after = (row.get(name) or [0, 0, 0, 0] for name in ("nothing", "after"))
    if not nothing[0]:
        return any(one < other for one, other in zip(after[:_GAINS], nothing, strict=False))
    more = zip(after, nothing, strict=True)
    return any(one < other if number < _GAINS else one > other for number, (one, other) in enumerate(more))


def causes_in(printed: str) -> list[str]:
    """The first line of each cause that an audit printed."""
    lines = printed.splitlines()
    found = [line.partition(": store: ")[2] for line in lines if "store: written by 5.x" in line]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith(("error ", "warning", "note ")):
            _, _, text = line.partition(" ")
            code = re.match(r" *[a-z]+\.[a-z_]+ ", f"{text} ")
            found.append(f"{text.split()[0]}: {following.strip()}" if code else text.strip())
    return found


def recorded() -> dict[str, dict[str, Any]]:
    """The rows by the names of their incidents."""
    return dict(json.loads(RESULTS.read_text("utf-8"))) if RESULTS.exists() else {}


def _cell(row: Mapping[str, Any], column: str) -> str:
    if column not in row:
        return "not measured"
    found = row[column]
    if found is None:
        return "no start"
    delivered, by_key, again, missed = found
    faults = [f"{count} {word}" for count, word in ((again, "twice"), (missed, "missed")) if count]
    return f"{delivered}, {by_key} by key" + "".join(f", {fault}" for fault in faults)


def page() -> str:
    """The text of the page: that of `incident_page.txt`, and the rows of its table."""
    lines = []
    for name, row in recorded().items():
        cause = row["causes"][0] if row["causes"] else "nothing"
        words = [one.removeprefix("{ ").removeprefix("rocketspec ").split() for one in row["advice"]]
        verbs = [f"{one[0]} --restart" if "--restart" in one else one[0] for one in words]
        cells = [name, cause, ", ".join(f"`{verb}`" for verb in dict.fromkeys(verbs)) or "none"]
        cells += [_cell(row, column) for column in ("before", "nothing", "after")]
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    text = Path(__file__).with_name("incident_page.txt").read_text("utf-8")
    return text + "\n".join(lines) + "\n"


def main(names: Sequence[str]) -> None:
    """Measures these incidents, and those whose inputs changed; of the others only what is printed is new."""
    rows = recorded()
    with ExitStack() as running, tempfile.TemporaryDirectory() as scratch:
        site: Site | None = None
        for number, incident in enumerate(INCIDENTS):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            seen, old = look(stage(incident, folder / "look")), rows.get(incident.name, {})
            stale = "after" not in old or old["inputs"] != seen["inputs"]
            if stale or incident.name in names:
                site = site or running.enter_context(Site(Path(scratch) / "site", "java"))
                try:
                    rows[incident.name] = row_of(site, incident, folder)
                except (AssertionError, OSError):
                    traceback.print_exc()
            else:
                rows[incident.name] = {**old, **seen}
            shutil.rmtree(folder)
            kept = {one.name: rows[one.name] for one in INCIDENTS if one.name in rows}
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
