"""Runs cases: sections of Markdown with a small store, what is asked of it, and what is found (`tests/columnar/cases/`).

The block of a section has steps that make the store, and commands that begin with `$ `, each with the rows that it finds below it,
indented. A step is a method of `Case`, or a change to the files of the store (`broken_stores.txt`). A row is found if it has all
words of the line; words in double quotes are a part of its text, or after `!` are not. With a line `...` each other line has a row of its own,
in any order, and other rows may be too. A table below the block makes a case of each of its rows: `<column>` is its cell, in which
`;` separates lines.

Numbers: `#2` is the physical offset of the third record, `T` the time of records that have none of their own (`store_bytes.BEGIN`).
"""

import json
import re
import shlex
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import fields
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, Final, NamedTuple

import store_bytes
from broken_stores import change, paths
from one_at_a_time import broker_lock
from rocket_columnar import report
from rocket_columnar.audit import audit
from rocket_columnar.consumers import config_findings, moved_offsets, progress, unit_at
from rocket_columnar.decode import decode
from rocket_columnar.describe import byte_at, diff, occupancy, summarise
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding
from rocket_columnar.formats import hash_key
from rocket_columnar.index import IndexFile, resolve, resolve_each
from rocket_columnar.log import Gap
from rocket_columnar.query import OpenStore, explain, find_all, scan
from rocket_columnar.rebuild import rebuild
from rocket_columnar.repair import RepairPlan, Target, plan_repair, repair
from rocket_columnar.restart import max_after_start, restarts, rows_of
from rocket_columnar.store import find_files, read_broker_conf
from rocket_golden import open_store
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, Entry, put

TESTS: Final = Path(__file__).parents[1]
_BLOCK: Final = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WORD: Final = re.compile(r'([\w.]+=|!)?"([^"]*)"|(\S+)')
_EXPRESSION: Final = re.compile(r"(?<=[=@])(?:#|T\b|0x|-?\d+[+*^-])[\w#*+^-]*$")
_OPTION: Final = re.compile("[a-z_]+=")
_FIELDS: Final = {
    "queue": "queue_id",
    "offset": "queue_offset",
    "time": "store_timestamp",
    "flag": "sys_flag",
}
_TEXTS: Final = {"topic", "body", "properties", "born", "store"}
_LEVELS: Final = ("quick", "default", "deep", "exact")
_FOREVER: Final = (1 << 63) - 1
_STEP: Final = (
    "entry",
    "key_hash",
    "phy_offset",
    "time_diff",
    "store_timestamp",
    "prev_entry",
    "verdict",
    "read",
)
_QUERIED: Final = Geometry(16, 200)
"""Of the index files that are queried."""


class Row(NamedTuple):
    """One thing that a command finds."""

    words: tuple[str, ...]
    text: str = ""


def escaped(text: str) -> bytes:
    r"""The bytes of a text with escapes such as `\1`; at its end, `*20` repeats it."""
    one, times = re.fullmatch(r"(.*?)(?:\*(\d+))?", text, re.DOTALL).groups()  # type: ignore[union-attr]
    return one.encode().decode("unicode_escape").encode("latin-1") * int(times or 1)


def _named(word: str) -> str:
    """A path in which the last number has 20 digits, as the names of log and queue files have."""
    return re.sub(
        r"^((?:commitlog|(?:batch)?consumequeue(?:_ext)?/[^/]+/\d+)/)(\d+)$",
        lambda at: f"{at[1]}{int(at[2]):020}",
        word,
    )


def cases(page: str) -> Iterator[tuple[str, str]]:
    """The titles and blocks of a page; those of a table with the cells of one of its rows."""
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        (block,) = _BLOCK.findall(text)
        assert "\n$ " in f"\n{block}", f"{title}: nothing is asked"
        table = [
            re.split(r"(?<!\\)\|", line.strip()[1:-1]) for line in text.splitlines() if line.startswith("|")
        ]
        if not table:
            yield title, block
            continue
        names, _, *rows = ([cell.strip().replace("\\|", "|") for cell in line] for line in table)
        for row in rows:
            yield f"{title}: {' | '.join(row)}", _filled(block, dict(zip(names, row, strict=True)))


def _filled(block: str, cells: dict[str, str]) -> str:
    """The block with the cells of a row; a line that is one column becomes the lines of its cell."""
    lines = []
    for line in block.splitlines():
        indent, text = re.fullmatch(r"( *)(.*)", line).groups()  # type: ignore[union-attr]
        parts = cells[text[1:-1]].split(";") if re.fullmatch(r"<\w+>", text) else [line.strip()]
        lines += [
            indent + re.sub(r"<(\w+)>", lambda one: cells.get(one[1], one[0]), part.strip())
            for part in parts
            if part
        ]
    return "\n".join(lines)


class Case:
    """A store that is made by steps.

    Args:
        folder: an empty directory.
        open_until: closes what steps opened; None for steps that open nothing.
    """

    def __init__(self, folder: Path, open_until: ExitStack | None = None) -> None:
        self.folder = folder
        self.root = folder / "store"
        self.root.mkdir()
        self._open = open_until or ExitStack()
        self.records: list[tuple[int, int]] = []
        self._next: dict[tuple[bytes, int], int] = {}
        self._log = (0, 4096, b"")
        self._conf: dict[str, Any] = {}

    def number(self, text: str) -> int:
        """A number: terms with `+` and `-`, of factors with `*`."""
        terms = re.findall(r"([+-]?)([^+-]+)", text)
        return sum(
            (-1 if sign == "-" else 1) * prod(map(self._atom, term.split("*"))) for sign, term in terms
        )

    def _atom(self, text: str) -> int:
        if text == "T":
            return BEGIN
        if text.startswith("#"):
            return self.records[int(text[1:])][0]
        base, _, power = text.partition("^")
        return int(pow(int(base, 0), int(power or "1")))

    def run(self, block: str) -> None:
        """Takes the steps of a block; AssertionError at the first command that finds something else."""
        lines = [line for line in block.splitlines() if line]
        while lines:
            line = lines.pop(0)
            if not line.startswith("$ "):
                self._step(line)
                continue
            expected = []
            while lines and lines[0].startswith("  "):
                expected.append(lines.pop(0).strip())
            found = self._asked(*map(_named, shlex.split(line[2:])))
            told = "\n".join([line, *map(str, found), "expected", *expected])
            assert self._match(expected, found), told

    def _step(self, line: str) -> None:
        name, *words = map(_named, shlex.split(line))
        method = getattr(self, name, None)
        if method is None:
            change(self.root, name, *words)
        else:
            options = dict(word.split("=", 1) for word in words if "=" in word and not word.startswith("="))
            method(*(word for word in words if "=" not in word), **options)

    def _asked(self, name: str, *words: str) -> list[Row]:
        options = dict(word.split("=", 1) for word in words if _OPTION.match(word))
        try:
            return list(COMMANDS[name](self, *(word for word in words if not _OPTION.match(word)), **options))
        except (FormatError, UsageError, OSError) as error:
            known = error if isinstance(error, FormatError) else None
            place = (f"@{known.offset}", str(known.clause), f"found={known.found}") if known else ()
            return [Row((type(error).__name__, *place), str(error))]

    def known(self, options: dict[str, str]) -> dict[str, Any]:
        """Arguments of the engine's functions: a geometry, a name, `true`, or a number; and the configuration of `broker`."""
        names = {"release", "kind"}
        return self._conf | {
            name: _shape(text)
            if name == "geometry"
            else text
            if name in names
            else text == "true" or int(text)
            for name, text in options.items()
        }

    def _match(self, expected: list[str], found: list[Row]) -> bool:
        if "..." in expected:
            lines = [line for line in expected if line != "..."]
            return self._each_has_one(lines, found)
        return len(expected) == len(found) and all(map(self._is, expected, found))

    def _each_has_one(self, lines: list[str], found: list[Row]) -> bool:
        """Whether each line has a row of its own, in any order."""
        return not lines or any(
            self._is(lines[0], row) and self._each_has_one(lines[1:], found[:at] + found[at + 1 :])
            for at, row in enumerate(found)
        )

    def _is(self, line: str, row: Row) -> bool:
        for name, quoted, word in _WORD.findall(line):
            if name == "!":
                held = quoted not in row.text
            elif name:
                held = f"{name}{quoted}" in row.words
            elif word:
                held = _EXPRESSION.sub(lambda at: str(self.number(at[0])), _named(word)) in row.words
            else:
                held = quoted in row.text
            if not held:
                return False
        return True

    def scratch(self) -> Path:
        """A directory beside the store, not made yet."""
        return self.folder / f"scratch-{len(list(self.folder.iterdir()))}"

    def unit_names(self, data: bytes) -> list[str]:
        """The units of a queue file as in the step `queue`, without zeros at the end."""
        known = {pointer: str(number) for number, pointer in enumerate(self.records)}
        found = []
        written = -(-len(data.rstrip(b"\0")) // 20) * 20
        for at, size, tags in struct.iter_unpack(">qiq", data[:written]):
            filler = {(0, 0): "-", (0, 0x7FFFFFFF): "B"}
            name = filler.get((at, size)) or known.get((at, size)) or f"{at}/{size}"
            found.append(f"{name}:{tags}" if tags else name)
        return found

    # Steps

    def golden(self, name: str) -> None:
        """Takes a golden store instead."""
        self.root = open_store(name, self.folder)

    def unpack(self, archive: str) -> None:
        """Takes a packed store of the tests instead."""
        self.root = self.folder / "unpacked"
        shutil.unpack_archive(TESTS / archive, self.root)

    def split(self, length: str) -> None:
        """Puts the records of the only log file into files of this length, each but the last ended by a blank."""
        (whole,) = (self.root / "commitlog").iterdir()
        raw, at = whole.read_bytes(), 0
        whole.unlink()
        self.log("0", length)
        while raw[at + 4 : at + 8] == bytes.fromhex("daa320a7"):
            base, size, before = self._log
            end = at + int.from_bytes(raw[at : at + 4])
            if len(before) + end - at + 8 > size:
                self.blank()
                self.log(str(base + size), length)
                base, _, before = self._log
            self._write(raw[at : at + 28] + (base + len(before)).to_bytes(8) + raw[at + 36 : end])
            at = end

    def cure(self) -> None:
        """Runs the commands of the first cause."""
        cause = report.audit(self.root).causes[0]
        subprocess.run(["sh", "-c", "\n".join(cause.commands)], cwd=self.folder, check=True)

    def log(self, base: str, length: str = "4096") -> None:
        """Begins a log file, of this length with zeros."""
        self._log = (self.number(base), self.number(length), b"")
        self._write(b"")

    def _write(self, data: bytes) -> None:
        base, length, before = self._log
        self._log = (base, length, before + data)
        put(self.root, f"commitlog/{base:020}", (before + data).ljust(length, b"\0"))

    def record(self, **known: str) -> None:
        r"""A record after the last one; its logical offset is the next one of its queue. `time=T,T+5` is two of them.

        Its fields are those of `store_bytes.record`, and `keys=K` for `properties='KEYS\1K\2'`, `copy=N` for a copy at this logical
        offset of the light queue `%LMQ%a`, `at=N` for another physical offset that it states, and `written=N` if only its first bytes are.
        """
        several = {name: text.split(",") for name, text in known.items() if name not in {*_TEXTS, "keys"}}
        for number in range(max(map(len, several.values()), default=1)):
            values = {name: texts[number % len(texts)] for name, texts in several.items()}
            self._record({**known, **values})

    def _record(self, known: dict[str, str]) -> None:
        base, _, before = self._log
        place = base + len(before)
        given: dict[str, Any] = {}
        for name, text in known.items():
            field = _FIELDS.get(name, name)
            given[field] = (
                escaped(text) if name in {*_TEXTS, "keys"} else None if text == "." else self.number(text)
            )
        more = b""
        if "keys" in given:
            more += b"KEYS\1%s\2" % given.pop("keys")
        if (copy := given.pop("copy", None)) is not None:
            more += b"INNER_MULTI_DISPATCH\1%%LMQ%%a\2INNER_MULTI_QUEUE_OFFSET\1%d\2" % copy
        given["properties"] = given.get("properties", b"") + more
        written, at = given.pop("written", None), given.pop("at", place)
        queue = given.get("topic", b"T"), given.get("queue_id", 0)
        given.setdefault("queue_offset", self._next.get(queue, 0))
        self._next[queue] = given["queue_offset"] + 1
        data = store_bytes.record(at, **given)
        self.records.append((place, len(data)))
        self._write(data[:written])

    def data(self, text: str) -> None:
        """Bytes after the last record."""
        self._write(escaped(text))

    def blank(self, size: str = "") -> None:
        """A blank of this size, or to the file's end."""
        self._write(store_bytes.blank(self.number(size) if size else self._log[1] - len(self._log[2])))

    def queue(self, place: str, length: str, *units: str) -> None:
        """A queue file: `T/0@100 200: 0 1:5 B*2 - 96/100` has units of the records 0 and 1, pre-blank ones, zeros, and another one."""
        name, _, base = place.partition("@")
        data = b"".join(self._unit(*one.partition("*")[::2]) for one in units)
        size = self.number(length.removesuffix(":"))
        put(self.root, f"consumequeue/{name}/{int(base or 0):020}", data.ljust(size, b"\0"))

    def _unit(self, text: str, times: str) -> bytes:
        place, _, tags = text.partition(":")
        if place in "-B":
            data = {"-": bytes(20), "B": store_bytes.unit(0, 0x7FFFFFFF)}[place]
        else:
            at, _, size = place.partition("/")
            pointer = (self.number(at), self.number(size)) if size else self.records[int(at)]
            data = store_bytes.unit(*pointer, self.number(tags or "0"))
        return data * int(times or 1)

    def ext(self, place: str, length: str, *units: str) -> None:
        r"""A file of ext units, each `TAGS/TIME/BITS`; anything else is bytes."""
        name, _, base = place.partition("@")
        data = b""
        for one in units:
            tags, *rest = one.split("/")
            data += (
                store_bytes.ext_unit(self.number(tags), self.number(rest[0]), escaped(rest[1]))
                if rest
                else escaped(one)
            )
        size = self.number(length.removesuffix(":"))
        put(self.root, f"consumequeue_ext/{name}/{int(base or 0):020}", data.ljust(size, b"\0"))

    def index(self, name: str, shape: str, *entries: str) -> None:
        """An index file: `NAME 16,10: T#k@0 7@96+5` has entries of a key and of a key hash, their records' places and seconds."""
        found = [self._entry(one) for one in entries]
        put(self.root, f"index/{name}", store_bytes.index_file(*_shape(shape), found))

    def _entry(self, text: str) -> Entry:
        key, _, place = text.rpartition("@")
        at, _, seconds = place.partition("+")
        return Entry(int(key) if key.isdigit() else hash_key(key), self.number(at), int(seconds or 0))

    def puts(self, name: str, shape: str, *entries: str, end: str = "0") -> None:
        """An index file by puts: `NAME 16,200: T#k@0+2500`, with the milliseconds after `T`; `end` is the last time of the file before."""
        path = self.root / "index" / name
        with IndexFile(path, *_shape(shape), end_phy_offset=0, end_timestamp=self.number(end)) as index:
            for one in entries:
                key, _, place = one.rpartition("@")
                at, _, time = place.partition("+")
                assert index.put(key, self.number(at), BEGIN + self.number(time or "0"))
            index.flush()

    def checkpoint(self, *times: str) -> None:
        physic, logics, index = map(self.number, times)
        put(self.root, "checkpoint", store_bytes.checkpoint(physic, logics, index))

    def set(self, path: str, at: str, form: str, value: str) -> None:
        """Puts a number over bytes of files, packed in a form of `struct`; the form `s` is a text with escapes."""
        data = escaped(value) if form == "s" else struct.pack(f">{form}", self.number(value))
        for file in paths(self.root, path):
            store_bytes.overwrite(file, self.number(at), data)

    def broker(self, **settings: str) -> None:
        """The configuration of the store's broker."""
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        path = put(self.folder, "broker.conf", lines.encode())
        self._conf = {"conf": read_broker_conf(path)}

    def keep(self) -> None:
        """Keeps a copy of the store, for `diff`."""
        shutil.copytree(self.root, self.folder / "kept")

    def topics(self, *names: str) -> None:
        """The list of topics."""
        listed = {name: {"topicName": name} for name in names}
        put(self.root, "config/topics.json", json.dumps({"topicConfigTable": listed}).encode())

    def running(self) -> None:
        """A broker works on the store: it holds the lock, and there is an abort file."""
        put(self.root, "abort", b"")
        self._open.enter_context(broker_lock(self.root))

    def rebuilt(self, *parts: str, **options: str) -> None:
        """Puts parts of a rebuild in the place of those of the store."""
        target = self.scratch()
        rebuild(self.root, target, **self.known(options))
        for part in parts:
            shutil.rmtree(self.root / part, ignore_errors=True)
            (target / part).rename(self.root / part)


def _shape(text: str) -> Geometry:
    return Geometry(*map(int, text.removesuffix(":").split(",")))


def _seen(value: Any) -> str:
    """A value as a word; bytes by their text."""
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    text = str(value)
    return text if text.isprintable() else repr(text)[1:-1]


def _facts(**known: Any) -> tuple[str, ...]:
    return tuple(f"{name}={_seen(value)}" for name, value in known.items())


def _finding(one: Finding) -> Row:
    at = "-" if one.offset is None else one.offset
    known = one.deviation
    more = _facts(found=known.found, allowed=bool(known.allowed)) if known else ()
    more += _facts(cure=one.cure)
    words = (
        one.code,
        one.severity,
        one.file,
        f"@{at}",
        str(one.clause),
        f"remedy={one.remedy}",
        f"length={one.length}",
    )
    return Row((*words, *more), one.message)


def _audit(
    case: Case, *words: str, of: Callable[..., Iterable[Finding]] = audit, **options: str
) -> Iterator[Row]:
    """The findings of a level, of codes that begin with one of the other words; `faults` leaves out notes."""
    level: Any = next((word for word in words if word in _LEVELS), "default")
    codes = tuple(word for word in words if word not in {*_LEVELS, "faults"})
    for one in of(case.root, level, **case.known(options)):
        if one.code.startswith(codes or "") and not ("faults" in words and one.severity == "note"):
            yield _finding(one)


def _causes(case: Case) -> Iterator[Row]:
    """The causes of the findings: their roots, number of consequences, and whether there are commands."""
    for cause in report.audit(case.root).causes:
        roots = (text for root in cause.roots for text in (root.code, root.file))
        known = _facts(
            roots=len(cause.roots), consequences=len(cause.consequences), cured=bool(cause.commands)
        )
        yield Row((*roots, *known), f"{cause.title}; {cause.cure}")


def _signs(case: Case) -> Iterator[Row]:
    """What shows that a later release wrote the store."""
    for sign in report.audit(case.root).signs:
        yield Row((sign.kind,), sign.text)


def _changed(case: Case) -> Iterator[Row]:
    """The files that differ from those of the store that was kept."""
    before, after = (store_bytes.own_contents(root) for root in (case.folder / "kept", case.root))
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield Row((name, "gone" if name not in after else "new" if name not in before else "other"))


def _restart(case: Case, **options: str) -> Iterator[Row]:
    """What a start would do, then what it deletes, and the units and keys that are lost."""
    known = case.known(options)
    index_safe = known.pop("index_safe", False)
    usual, safe = restarts(case.root, **known)
    found = safe if index_safe else usual
    *_, summary = rows_of(usual, safe)
    known = {field.name: getattr(found, field.name) for field in fields(found)}
    units = sum(one.count for one in found.lost_units)
    known |= {
        "index_safe": summary["index_safe"],
        "safe": found.safe,
        "units": units,
        "keys": len(found.lost),
        "forgets": len(found.forgotten),
    }
    yield Row(_facts(**known), found.refused or "")
    for gone in found.deletions:
        yield Row((gone.action, gone.file, f"@{'-' if gone.offset is None else gone.offset}"), gone.reason)
    for lost in found.lost_units:
        queue = f"{lost.topic}/{lost.queue_id}"
        yield Row(
            ("units", queue, *_facts(first=lost.first, count=lost.count), f"@{lost.phy_offset}"), lost.reason
        )
    for text in found.blocked:
        yield Row(("blocked", text.split()[0]), text)
    for key in found.lost:
        yield Row(("key", f"{key.topic}#{key.key}", f"@{key.phy_offset}"))


def _rebuild(case: Case, **options: str) -> Iterator[Row]:
    """The queue files, as in the step `queue`, whether each is the `same` as the store's; the entries of each index file; findings."""
    target = case.scratch()
    done = rebuild(case.root, target, **case.known(options))
    for name in done.files:
        data = (target / name).read_bytes()
        if name.startswith("index/"):
            yield Row(("index", f"entries={max(int.from_bytes(data[36:40]) - 1, 0)}"))
            continue
        own = case.root / name
        alike = "new" if not own.exists() else "same" if own.read_bytes() == data else "other"
        units = " ".join(case.unit_names(data)) if name.startswith("consumequeue/") else None
        yield Row((name, alike, f"units={units}", f"length={len(data)}"))
    yield from map(_finding, done.findings)


def _plan(case: Case) -> Iterator[Row]:
    """What a repair would do."""
    yield from _planned(plan_repair(Target(case.root, **case.known({}))))


def _planned(plan: RepairPlan) -> Iterator[Row]:
    yield Row(_facts(messages=plan.outlook.messages, topics=plan.topics))
    for word, names in (("away", plan.away), ("into", plan.into)):
        yield from (Row((word, name)) for name in sorted(names))
    yield from (Row(("left", *_finding(one).words), one.message) for one in plan.left)


def _repair(case: Case) -> Iterator[Row]:
    """What a repair does, after it did what its plan names and no more, and kept what it moved away."""
    before, plan = store_bytes.own_contents(case.root), plan_repair(Target(case.root))
    assert store_bytes.own_contents(case.root) == before
    done = repair(Target(case.root))
    assert done.plan == plan
    after = store_bytes.own_contents(case.root)
    assert {name for name in before if name not in after} == {*plan.away} - {*plan.into}
    assert {name for name, data in after.items() if before.get(name) != data} == {*plan.into}
    kept = store_bytes.contents(case.root / done.folder / "old") if done.folder else {}
    assert kept == {name: before[name] for name in plan.away}
    yield Row(_facts(worse=done.worse, found=done.after.found, refused=done.after.refused))
    yield from _planned(plan)


def _config(case: Case) -> Iterator[Row]:
    """The findings on the files of `config/`."""
    yield from map(_finding, config_findings(Store(case.root)))


def _moved(case: Case, **options: str) -> Iterator[Row]:
    """The offsets of consumers that a repair sets."""
    for one in moved_offsets(Store(case.root), **case.known(options)):
        yield Row((), str(one))


def _progress(case: Case, *names: str) -> Iterator[Row]:
    """Facts of the consumers' progress, in one row."""
    found = progress(Store(case.root))
    yield Row(_facts(**{name: getattr(found, name) for name in names}))


def _unit(case: Case, topic: str, queue: str, offset: str) -> Iterator[Row]:
    """The unit of a logical offset, its queue's bounds, and the maximum after a start; what is wrong with it."""
    store = Store(case.root)
    found = unit_at(store, topic, int(queue), int(offset))
    known = {name: getattr(found.bounds, name) for name in ("min_offset", "max_offset", "broker_min")}
    known["max_after_start"] = max_after_start(store, topic, int(queue))
    yield Row(_facts(**known), "; ".join(found.problems))


def _geometry(case: Case, *given: str) -> Iterator[Row]:
    """The geometry of the index files together; with `each`, of each file."""
    files = find_files(case.root / "index")
    each = given == ("each",)
    guesses = resolve_each(files).values() if each else [resolve(files, *map(_shape, given))]
    for guess in guesses:
        shape = f"{guess.geometry.hash_slot_num},{guess.geometry.index_num}"
        yield Row(
            (
                shape,
                guess.how,
                *_facts(agreed=guess.agreed, checked=guess.checked, candidates=guess.candidates),
            )
        )


def _conf(case: Case, text: str, *names: str) -> Iterator[Row]:
    """Facts of a broker's configuration of this text, in one row."""
    path = case.scratch()
    path.write_bytes(escaped(text))
    found = read_broker_conf(path)
    yield Row(_facts(**{name: getattr(found, name) for name in names}))


def _files(case: Case, path: str, *kind: str) -> Iterator[Row]:
    """The files of a path in the order of their listing, and names that it skips."""
    skipped: list[Row] = []
    for file in find_files(
        case.root / path, *kind, on_skip=lambda name, why: skipped.append(Row(("skipped", name), why))
    ):
        known = {"topic": file.topic, "queue": file.queue_id, "base": file.base_offset}
        yield Row((file.kind, file.name, *_facts(**known)))
    yield from skipped


def _store(case: Case, *names: str, **options: str) -> Iterator[Row]:
    """Facts of a store, in one row."""
    store = Store(case.root, **case.known(options))
    yield Row(_facts(**{name: getattr(store, name) for name in names}))


def _decode(case: Case, path: str, **options: str) -> Iterator[Row]:
    """The rows of a file, a folder, or the store (`.`), and the gaps of its log."""
    gaps: list[Gap] = []
    named = options.pop("tables", "")
    more: dict[str, Any] = {"tables": named.split(",")} if named else {}
    for table, batch in decode(
        find_files(case.root / path), on_gap=gaps.append, **more, **case.known(options)
    ):
        for row in batch.to_pylist():
            if "properties" in row:
                row["properties"] = "; ".join(f"{name}={value}" for name, value in row["properties"])
            yield Row((table, *_facts(**row)))
    for gap in gaps:
        yield Row(("gap", Path(gap.file).name, f"@{gap.begin}", f"end={gap.end}"), gap.found)


def _window(case: Case, options: dict[str, str]) -> dict[str, Any]:
    return {"max_num": 32, "begin": 0, "end": _FOREVER} | {
        name: case.number(at) for name, at in options.items()
    }


def _query(case: Case, topic: str, key: str, *exact: str, **options: str) -> Iterator[Row]:
    """What a broker answers: offsets of the index's hits, and of the messages."""
    with OpenStore(case.root, _QUERIED) as store:
        answer = (store.query_exact if exact else store.query)(topic, key, **_window(case, options))
    offsets = ",".join(map(str, answer.offsets))
    messages = ",".join(str(row["phy_offset"]) for row in answer.messages)
    yield Row(_facts(offsets=offsets, messages=messages, truncated=answer.truncated))


def _every(case: Case, topic: str, key: str, *, name: str, **options: str) -> Iterator[Row]:
    """All messages of a key, by the index (`all`) or by the log alone (`scan`; the topic `*` is any)."""
    find = {"all": find_all, "scan": scan}[name]
    window = {"window": tuple(map(case.number, options["window"].split(",")))} if options else {}
    with OpenStore(case.root, _QUERIED) as store:
        rows = find(store, None if topic == "*" else topic, key, **window)  # type: ignore[arg-type]
    yield Row(_facts(messages=",".join(str(row["phy_offset"]) for row in rows)))


def _explain(case: Case, topic: str, key: str, *exact: str, **options: str) -> Iterator[Row]:
    """What was found, and why not more; then each file that was looked at, and each entry of its chain."""
    with OpenStore(case.root, _QUERIED) as store:
        found = explain(store, topic, key, exact=bool(exact), **_window(case, options))
    yield Row(_facts(found=found.found, limit=found.limit, hash=found.key_hash, reasons=len(found.reasons)))
    for reason in found.reasons:
        yield Row(("because",), reason)
    for walked in found.files:
        known = {
            "verdict": walked.verdict,
            "matched": walked.time_matched,
            "slot": walked.slot,
            "holds": walked.slot_value,
        }
        yield Row((*_facts(**known), f"@{walked.slot_offset}"), f"{walked.chain}; {walked.why}")
        for step in walked.steps:
            check = walked.checks.get(step.entry)
            known = {name: getattr(step, name) for name in _STEP} | {"record": check and check.verdict}
            yield Row((*_facts(**known), f"@{step.offset}"), str(step.stop))


def _byte(case: Case, path: str, at: str, **options: str) -> Iterator[Row]:
    """The structure in which a byte is, then the structure's fields; the byte's own field has a `*`."""
    (file,) = find_files(case.root / path)
    geometry = options.get("geometry")
    found = byte_at(file, case.number(at), _shape(geometry) if geometry else None)
    known = _facts(byte=found.byte, structure=found.structure, number=found.number, end=found.end)
    yield Row((*known, f"@{found.begin}"), found.remark)
    for number, field in enumerate(found.fields):
        words = (field.name, f"{field.name}={_seen(field.value)}", f"@{field.offset}", field.clause)
        yield Row((*words, *("*" if number == found.field else ())), field.meaning)


def _diff(case: Case, path: str, other: str = "") -> Iterator[Row]:
    """The fields that differ between the store that was kept and the store, in one file of both or in two files."""
    for found in diff(case.folder / "kept" / path, case.root / (other or path)):
        values = _facts(number=found.number, first=found.first, second=found.second)
        yield Row((found.part, found.field, *values, f"@{found.offset}"))


def _occupancy(case: Case, path: str, shape: str) -> Iterator[Row]:
    """What an index file has, and its oddities."""
    found = occupancy(case.root / path, _shape(shape))
    yield Row(
        _facts(
            **{field.name: getattr(found, field.name) for field in fields(found) if field.name != "oddities"}
        )
    )
    for oddity in found.oddities:
        yield Row((oddity.clause,), oddity.text)


def _summary(case: Case, path: str) -> Iterator[Row]:
    """The facts of a file, in one row."""
    (file,) = find_files(case.root / path)
    facts = summarise(file)
    flat = {name: value for name, value in facts.items() if not isinstance(value, dict)}
    for outer, values in facts.items():
        if isinstance(values, dict):
            flat |= {f"{outer}.{name}": value for name, value in values.items()}
    yield Row(_facts(**flat))


COMMANDS: Final[dict[str, Callable[..., Iterator[Row]]]] = {
    "audit": _audit,
    "report": partial(_audit, of=report.audit),
    "causes": _causes,
    "signs": _signs,
    "changed": _changed,
    "restart": _restart,
    "rebuild": _rebuild,
    "store": _store,
    "plan": _plan,
    "repair": _repair,
    "config": _config,
    "moved": _moved,
    "progress": _progress,
    "unit": _unit,
    "geometry": _geometry,
    "conf": _conf,
    "files": _files,
    "decode": _decode,
    "query": _query,
    "all": partial(_every, name="all"),
    "scan": partial(_every, name="scan"),
    "explain": _explain,
    "byte": _byte,
    "diff": _diff,
    "summary": _summary,
    "occupancy": _occupancy,
}
