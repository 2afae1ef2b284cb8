"""Expected results of a case, by the reference in a directory of its own, and their comparison with the actual ones, field by field."""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, UTC, datetime
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final, Literal, cast

from rocket_reference import RULES_4_9_3, Rules, java, key_hash, tags_code
from rocket_spec.layout import CHECKPOINT, INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, QUEUE_UNIT, Geometry, Layout
from rocket_spec.printable import printable

from rocket_conformance.cases import Case, Observation
from rocket_conformance.files import CHUNK, MOST_HELD, FileImage, open_inside, read_image
from rocket_conformance.protocol import Op, Result, check_path, key_of, key_or_none
from rocket_conformance.reference_adapter import REFERENCE, Library, UnspecifiedOperationError, run_operations

# --- expectation --------------------------------------------------------------------------------------

_SERVICE_FOLDER: Final = "index"
_SERVICE_NAME: Final = re.compile(r"[0-9]{17}\Z")
_FARTHEST_ZONE: Final = 15 * 3600
_ZONES_APART: Final = 900
_A_MINUTE: Final = 60

NAMED_BY_THE_CLOCK: Final = "IDX-SVC-4"
"""The clause whose cases look at the names that a service takes from the clock."""

_ANY_NAME: Final = re.compile(r"[^.]")
"""In the folder of a service: a name that the clock did not give is one fault, and hides no other."""
_QUEUE_NAME: Final = re.compile(r"-?[0-9]{20,}\Z")
_CHECKPOINT: Final = "checkpoint"
_MOST_FILES: Final = 1_000
_MOST_UNEXPECTED: Final = 64 << 20


def fill_directory(directory: Path, files: Mapping[str, FileImage]) -> None:
    """Makes the case's directory and the files that it has at the start.

    Raises ValueError: when a path leads outside the directory.
    Raises OSError: when a file cannot be written.
    """
    directory.mkdir(parents=True)
    for path, image in files.items():
        target = directory / check_path(path)
        if target.parent != directory:
            target.parent.mkdir(parents=True, exist_ok=True)
        image.write(target)


def rejected_files(case: Case, results: Sequence[Result]) -> set[str]:
    """Files that only rejected opens name, and that were not there: whether one remains is an accident."""
    opened = [
        (op["file"], "rejected" in result)
        for op, result in zip(case.ops, results, strict=True)
        if op["op"] == "index.open"
    ]
    return (
        {file for file, rejected in opened if rejected}
        - {file for file, rejected in opened if not rejected}
        - case.files.keys()
    )


def collect_files(
    case: Case,
    directory: Path,
    results: Sequence[Result],
    listed: Iterable[str] = (),
    expected: Mapping[str, FileImage] | None = None,
) -> dict[str, FileImage]:
    """Images of the files that are compared, of those that are there.

    They are the placed files, those that accepted opens name, what is in the folders of queues and service
    under a name of theirs, the checkpoint, and what the adapter lists. A file that the clock named is
    `index/new-N`, N its place in the order of names.

    Args:
        case: whose directory it is.
        directory: where its files are.
        results: of the reference: they decide which opens are accepted.
        listed: the files that the adapter lists.
        expected: what the files should be; None for the reference's own.

    Raises ValueError: when one is a symbolic link, or holds too much.
    Raises OSError: when one cannot be read.
    """
    names = dict.fromkeys(case.files)
    names.update(dict.fromkeys(op["file"] for op in case.ops if op["op"] == "index.open"))
    names.update(dict.fromkeys(_in_folders(case, directory)))
    names.update(dict.fromkeys(listed))
    rejected = rejected_files(case, results)
    images: dict[str, FileImage] = {}
    new = held = 0
    for path in sorted(names):
        file = None if path in rejected else open_inside(directory, path)
        if file is None:
            continue
        name = path
        if _is_new(case, path):
            new += 1
            name = f"{_SERVICE_FOLDER}/new-{new}"
        with file:
            length = expected[name].size if expected is not None and name in expected else 0
            most = None if expected is None else max(_MOST_UNEXPECTED, length)  # its length is judged first
            images[name] = read_image(file, most=most)
        held += len(images[name].chunks) * CHUNK
        if held > MOST_HELD:
            raise ValueError(f"more than {MOST_HELD >> 20} MiB are not zero")
    return images


def _in_folders(case: Case, directory: Path) -> Iterator[str]:
    """The files in the folders that the case's operations write to, under the names that 4.9.3 gives."""
    folders: dict[str, re.Pattern[str]] = {}
    for op in case.ops:
        if op["op"] == "queue.open":
            folders[f"consumequeue/{op['topic']}/{op['queue_id']}"] = _QUEUE_NAME
        elif op["op"] == "service.open":
            folders[_SERVICE_FOLDER] = _ANY_NAME
        elif op["op"].startswith("checkpoint."):
            yield _CHECKPOINT
    for folder, pattern in folders.items():
        if (directory / folder).is_dir():
            names = (path.name for path in (directory / folder).iterdir() if pattern.match(path.name))
            for number, name in enumerate(names):
                if number >= _MOST_FILES:
                    raise ValueError(f"{folder} holds more than {_MOST_FILES:,} files")
                yield f"{folder}/{name}"


def _is_new(case: Case, path: str) -> bool:
    """Whether a service made the file, under a name that it took from the clock."""
    folder, _, name = path.rpartition("/")
    return (
        folder == _SERVICE_FOLDER
        and path not in case.files
        and _ANY_NAME.match(name) is not None
        and (NAMED_BY_THE_CLOCK not in case.clauses or _is_by_the_clock(name))
        and any(op["op"] == "service.open" for op in case.ops)
    )


def _is_by_the_clock(name: str) -> bool:
    """Whether a name is 17 digits, the present to a minute in some time zone; the reference's clock is in the year 9999."""
    if not _SERVICE_NAME.match(name):
        return False
    try:
        made = datetime.strptime(f"{name}000", "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)
    except ValueError:
        return False
    if made.year == MAXYEAR:
        return True
    ago = (datetime.now(UTC) - made).total_seconds()
    return abs(ago) < _FARTHEST_ZONE and ago % _ZONES_APART < _A_MINUTE


def expect(
    case: Case,
    directory: Path,
    rules: Rules = RULES_4_9_3,
    library: Library = REFERENCE,
    *,
    wanted: Sequence[Result] | None = None,
) -> Observation:
    """Results and files of the case by the reference, or a mutant of it; `directory` is made, and removed again.

    Of a mutant that is taken for an implementation `wanted` are the right results: files are looked at as in a run.

    Raises UnspecifiedOperationError: when an operation is one that is never sent.
    """
    fill_directory(directory, case.files)
    try:
        results, listed = run_operations(case.ops, directory, library=library, rules=rules)
        paths = [] if wanted is None else [path for _, path in listed]
        files = collect_files(case, directory, results if wanted is None else wanted, paths)
        return Observation(tuple(results), files)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def specified(case: Case, directory: Path, rules: Rules = RULES_4_9_3) -> tuple[Case, Observation]:
    """The case without the operations that are never sent, and what is expected of the rest."""
    while True:
        try:
            return case, expect(case, directory, rules)
        except UnspecifiedOperationError as error:
            case = replace(case, ops=case.ops[: error.index] + case.ops[error.index + 1 :])


# --- differences --------------------------------------------------------------------------------------

_LARGEST: Final = 1 << 20
"""Maximum size of a file whose entries or units are described."""

_MOST_PARTS: Final = 50
"""Maximum number of entries or units that are described."""

FileKind = Literal["index", "service", "queue", "checkpoint", "other"]
"""An index file that the case opens itself, one of an index service, a consume-queue file, the checkpoint, or
a file that nothing should write to."""

Region = tuple[str, int, int]
"""Name, byte offset and length of a field."""


def kind_of(path: str, ops: Sequence[Op]) -> FileKind:
    """The kind of the file at a path, by the operations of the case."""
    names = {op["op"] for op in ops}
    if any(op["op"] == "index.open" and op["file"] == path for op in ops):
        return "index"
    if path.startswith("index/") and "service.open" in names:
        return "service"
    if path.startswith("consumequeue/"):
        return "queue"
    if path == "checkpoint" and any(name.startswith("checkpoint.") for name in names):
        return "checkpoint"
    return "other"


def locate(path: str, ops: Sequence[Op], offset: int) -> Region:
    """The field that a byte of a file belongs to; the byte itself where there is none."""
    kind = kind_of(path, ops)
    if kind in {"index", "service"}:
        return _in_index(offset, _geometry_of(path, ops))
    if kind == "queue":
        unit = offset // QUEUE_UNIT.size
        return _in_layout(QUEUE_UNIT, offset, unit * QUEUE_UNIT.size, f"unit[{unit}].")
    if kind == "checkpoint" and offset < CHECKPOINT.size:
        return _in_layout(CHECKPOINT, offset, 0, "")
    return f"byte[{offset}]", offset, 1


def describe_file(path: str, ops: Sequence[Op], image: FileImage) -> Iterator[str]:
    """The contents of a file, in lines: the header and the entries that are not zero, the units, or the times; else its length."""
    kind = kind_of(path, ops)
    if kind in {"index", "service"}:
        geometry = _geometry_of(path, ops)
        yield f"header: {_fields(INDEX_HEADER, image, 0)}"
        slots = _numbers(INDEX_HEADER.size, INDEX_SLOT.size, geometry.entries_offset, image)
        if slots:
            yield ", ".join(f"slot {number} -> {_int(image, start, 4)}" for number, start in slots)
        for number, start in _numbers(geometry.entries_offset, INDEX_ENTRY.size, image.size, image):
            yield f"entry {number}: {_fields(INDEX_ENTRY, image, start)}"
    elif kind == "queue":
        for number, start in _numbers(0, QUEUE_UNIT.size, image.size, image):
            yield f"unit {number}: {_fields(QUEUE_UNIT, image, start)}"
    elif kind == "checkpoint":
        yield _fields(CHECKPOINT, image, 0)
    else:
        yield f"{image.size} bytes"


def _numbers(begin: int, size: int, end: int, image: FileImage) -> list[tuple[int, int]]:
    """The first pieces of a table that are not zero, by number and byte offset."""
    if not 0 <= begin < end <= image.size or image.size > _LARGEST:
        return []
    places = ((number, start) for number, start in enumerate(range(begin, end - size + 1, size)))
    return list(islice((place for place in places if any(image.at(place[1], size))), _MOST_PARTS))


def _fields(layout: Layout, image: FileImage, start: int) -> str:
    return ", ".join(
        f"{field.name} {_int(image, start + field.offset, field.size)}"
        for field in layout.fields
        if field.offset is not None and field.size in {2, 4, 8}
    )


def _int(image: FileImage, start: int, length: int) -> int:
    return int.from_bytes(image.at(start, length), "big", signed=True)


def _geometry_of(path: str, ops: Sequence[Op]) -> Geometry:
    for op in reversed(ops):
        if op["op"] == "service.open" or (op["op"] == "index.open" and op["file"] == path):
            return Geometry(op["hash_slot_num"], op["index_num"])
    return Geometry(0, 0)


def _in_index(offset: int, geometry: Geometry) -> Region:
    if offset < INDEX_HEADER.size:
        return _in_layout(INDEX_HEADER, offset, 0, "header.")
    if offset < geometry.entries_offset:
        slot = (offset - INDEX_HEADER.size) // INDEX_SLOT.size
        return f"slot[{slot}]", INDEX_HEADER.size + slot * INDEX_SLOT.size, INDEX_SLOT.size
    entry, inside = divmod(offset - geometry.entries_offset, INDEX_ENTRY.size)
    return _in_layout(INDEX_ENTRY, offset, offset - inside, f"entry[{entry}].")


def _in_layout(layout: Layout, offset: int, start: int, prefix: str) -> Region:
    """The field of a layout that begins at `start`, at a byte inside it."""
    for field in layout.fields:
        if field.offset is None or field.size is None:
            continue
        if offset - start < field.offset + field.size:
            return f"{prefix}{field.name}", start + field.offset, field.size
    raise AssertionError(f"no field at byte {offset}")  # the layout tables leave no gaps


# --- compare ------------------------------------------------------------------------------------------

DifferenceKind = Literal["wrong value", "wrong bytes", "wrongly accepted", "wrongly rejected"]

MOST_DIFFERENCES: Final = 20
"""The most differences of a case that are listed; a wrong hash would list every entry."""

_FIELD_RANKS: Final = {
    "size": 1,
    "header.begin_timestamp": 2,
    "header.begin_phy_offset": 2,
    "entry": 3,
    "slot": 4,
    "unit": 3,
}
_RESULT_RANKS: Final = {
    **dict.fromkeys(("index.header", "index.full", "service.settle", "queue.bounds"), 5),
    **dict.fromkeys(("index.select", "index.time_matched", "service.query"), 6),
    **dict.fromkeys(("queue.get", "queue.last_offset"), 6),
}
_LONGEST_VALUE: Final = 1 << 14
_SHORT: Final = 200
_SERVICE: Final = "index/"
_NEW: Final = "index/new-"
_BY_THE_CLOCK: Final = "17 digits, the local time at which it is made"

_LAST_RANK: Final = 7
"""Ranks of fields of files and of results; a result that is not named has 0, other header fields the last."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not as expected."""

    op: int | None  # place of the operation whose result it is; None in a file
    # name of the result field, `unit.NAME` and `requests[N].NAME` inside one; in a file `header.NAME`,
    # `slot[N]`, `entry[N].NAME`, `unit[N].NAME`, the name of a checkpoint's time, `byte[N]` or `size`
    field: str
    file: str | None  # path of the file, or None in a result
    offset: int | None  # byte offset of the field in the file, or None
    kind: DifferenceKind  # in what way it is wrong
    expected: Any  # the value expected, as it travels; None for a file that should not be there
    actual: Any  # the value found

    @property
    def position(self) -> tuple[int | None, str | None, str]:
        """Operation, file and field: where it is, whatever the values."""
        return self.op, self.file, self.field

    def to_json(self, clause: str) -> dict[str, Any]:
        """As replay files and reports hold it, with the clause that it breaks; values of any length are cut."""
        values = {name: _shortened(getattr(self, name)) for name in ("expected", "actual")}
        return {name: getattr(self, name) for name in self.__slots__} | values | {"clause": clause}


def _shortened(value: Any) -> Any:
    """The value, or the beginning of its JSON if that is longer than any case needs."""
    if not isinstance(value, (str, list, dict)):
        return value
    text = json.dumps(value)
    return cast("object", value) if len(text) <= _LONGEST_VALUE else printable(text, limit=_LONGEST_VALUE)


def same_results(expected: Sequence[Result], actual: Sequence[Result]) -> bool:
    """Whether all results agree, the reasons of rejections aside."""
    return all(
        one == two or ("rejected" in one and "rejected" in two)
        for one, two in zip(expected, actual, strict=True)
    )


def differences(case: Case, expected: Observation, actual: Observation) -> list[Difference]:
    """All that differs, at most 20, causes before effects.

    What writes comes first: results of opens and puts, then entries and slots. What only reads, selects and
    headers, follows from those. Within each, the order is that of the operations and of the file.
    """
    if same_results(expected.results, actual.results) and expected.files == actual.files:
        return []
    found = [*_result_differences(expected.results, actual.results)]
    misnamed = list(_misnamed(expected, actual))
    found += [
        Difference(None, "name", path, None, "wrong value", _BY_THE_CLOCK, path.rpartition("/")[2])
        for _, path in misnamed
    ]
    for path in sorted(
        (expected.files.keys() | actual.files.keys()) - {path for pair in misnamed for path in pair}
    ):
        found += _file_differences(path, case.ops, expected.files.get(path), actual.files.get(path))
    found.sort(key=lambda difference: _cause(difference, case.ops))
    return found[:MOST_DIFFERENCES]


def _misnamed(expected: Observation, actual: Observation) -> Iterator[tuple[str, str]]:
    """Files that the clock should have named, with those that are there under other names."""
    missing = [path for path in expected.files if path.startswith(_NEW) and path not in actual.files]
    others = sorted(path for path in actual.files.keys() - expected.files.keys() if path.startswith(_SERVICE))
    return zip(missing, others, strict=False)


def _result_differences(expected: Sequence[Result], actual: Sequence[Result]) -> Iterator[Difference]:
    for place, (want, got) in enumerate(zip(expected, actual, strict=True)):
        if want == got or ("rejected" in want and "rejected" in got):
            continue
        if "rejected" in want:
            yield Difference(place, "rejected", None, None, "wrongly accepted", want, got)
        elif "rejected" in got:
            yield Difference(place, "rejected", None, None, "wrongly rejected", want, got)
        else:
            for name in want:
                for field, one, two in _inside(name, want[name], got.get(name)):
                    yield Difference(place, field, None, None, "wrong value", one, two)


def _inside(name: str, want: Any, got: Any) -> Iterator[tuple[str, Any, Any]]:
    """The fields that differ inside a result field: `unit.size`, `requests[0].keys`.

    It is the field itself for a plain value, for null, and for lists that can be read at once; of others their lengths, and the
    first item that differs.
    """
    if want == got:
        return
    if (ours := _list(want)) and (others := _list(got)) and not (_is_short(ours) and _is_short(others)):
        if len(ours) != len(others):
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, others, strict=False)))
            kind = name.rpartition(".")[2]
            yield (
                name,
                f"{len(ours)} {kind}",
                f"{len(others)} {kind}, the first that differs is {name}[{same}]",
            )
        pairs = enumerate(zip(ours, others, strict=False))
        for place, (one, two) in islice(
            (pair for pair in pairs if pair[1][0] != pair[1][1]), MOST_DIFFERENCES
        ):
            yield from _inside(f"{name}[{place}]", one, two)
    elif isinstance(want, dict) and isinstance(got, dict):
        ours_by_name, theirs = cast("dict[str, Any]", want), cast("dict[str, Any]", got)
        for key in dict.fromkeys((*ours_by_name, *theirs)):
            yield from _inside(f"{name}.{key}", ours_by_name.get(key), theirs.get(key))
    else:
        yield name, want, got


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _is_short(items: list[object]) -> bool:
    """Whether a list is of plain values, and few of them."""
    return len(json.dumps(items)) <= _SHORT and not any(isinstance(item, dict) for item in items)


def _file_differences(
    path: str, ops: Sequence[Op], expected: FileImage | None, actual: FileImage | None
) -> list[Difference]:
    if expected == actual:
        return []
    if expected is None or actual is None:
        want = None if expected is None else expected.size
        got = None if actual is None else actual.size
        return [Difference(None, "size", path, None, "wrong bytes", want, got)]
    found: list[Difference] = []
    if expected.size != actual.size:
        found.append(Difference(None, "size", path, None, "wrong bytes", expected.size, actual.size))
    fields: dict[str, Difference] = {}
    passed = -1
    for offset in expected.differing_bytes(actual):
        if offset < passed:  # a later byte of the field seen last
            continue
        if len(fields) >= 200 * MOST_DIFFERENCES:
            break
        name, start, length = locate(path, ops, offset)
        passed = start + length
        want_value, got_value = (
            str(int.from_bytes(image.at(start, length), "big", signed=True)) for image in (expected, actual)
        )
        fields[name] = Difference(None, name, path, start, "wrong bytes", want_value, got_value)
    return [*found, *fields.values()]


def _cause(difference: Difference, ops: Sequence[Op]) -> tuple[int, str, int]:
    """Sorts causes before effects; the header's begin, which entries are computed from, before the entries."""
    if difference.op is not None:
        rank = _RESULT_RANKS.get(ops[difference.op]["op"], 0)
        return rank, "", difference.op
    kind = difference.field.partition("[")[0]
    rank = _FIELD_RANKS.get(kind, _LAST_RANK)
    return rank, difference.file or "", difference.offset or 0


# --- hashed -------------------------------------------------------------------------------------------

_HASH: Final = re.compile(r"hash|entry\[\d+\]\.key_hash|tags_code")
_LONGEST: Final = 80


def hashed_texts(difference: Difference, ops: Sequence[Op]) -> dict[str, str]:
    """The texts of a differing key hash or tags code, in words; a side whose text is unknown is left out.

    Args:
        difference: any difference of a case.
        ops: the operations of the case, whose texts are tried whole, in parts, and hashed in the usual wrong ways.

    Returns:
        `expected` and `actual`, such as `"T#k"` and `the UTF-8 bytes of "T#k"`; empty for a field that is no hash.
    """
    if not _HASH.fullmatch(difference.field):
        return {}
    asked = [ops[difference.op]] if difference.op is not None else list(ops)
    right, other = _texts(asked)
    is_tag = difference.field == "tags_code"
    hashed = tags_code if is_tag else key_hash
    found: dict[str, str] = {}
    for text in right:
        if str(hashed(text)) == str(difference.expected):
            found["expected"] = _quoted(text)
            break
    for words, code in _readings([*right, *other], signed=is_tag):
        if str(code) == str(difference.actual):
            found["actual"] = words
            break
    return found


def _texts(ops: Sequence[Op]) -> tuple[list[str], list[str]]:
    """Texts that the operations have hashed, and their parts and neighbours, which they have not."""
    right: list[str] = []
    other: list[str] = []
    for op in ops:
        if op["op"] == "service.build":
            topic, whole, unique = op["topic"], key_or_none(op, "keys") or "", key_or_none(op, "uniq_key")
            keys = [*([] if unique is None else [unique]), *filter(None, java.split_one_space(whole))]
            right += [f"{topic}#{key}" for key in keys]
            parts = [*keys, whole, *re.split(r"[,;\s]+", whole)]
            other += [*parts, *(f"{topic}#{part}" for part in parts), *(topic + part for part in parts)]
        elif op["op"] in {"key.hash", "index.put"}:
            right.append(key := key_of(op))
            other += [key.partition("#")[2], key.partition("#")[0], key.replace("#", "", 1)]
        elif op["op"] == "tags.code":
            right.append(tags := key_or_none(op, "tags") or "")
            other += [part.strip() for part in tags.split("||")]
    other += [change(text) for text in right for change in (str.strip, str.lower, str.upper)]
    return list(dict.fromkeys(right)), list(dict.fromkeys(other))


def _readings(texts: Sequence[str], *, signed: bool) -> Iterator[tuple[str, int]]:
    """Every text under each way of hashing it, the right one first, in words and as a number."""
    ways: tuple[tuple[str, Callable[[str], Sequence[int]]], ...] = (
        ("", java.utf16_units),
        ("the UTF-8 bytes of ", lambda text: text.encode("utf-8", "surrogatepass")),
        ("the code points of ", lambda text: [ord(char) for char in text]),
    )
    for words, parts in ways:
        for text in texts:
            code = 0
            for part in parts(text):
                code = java.to_i32(31 * code + part)
            shown = words + _quoted(text)
            if signed:
                yield shown, code
            yield f"the absolute value for {shown}" if signed else shown, max(0, java.abs_i32(code))
            if not signed:
                yield f"{shown} without the absolute value", code
            yield f"{shown} as an unsigned number", code & 0xFFFFFFFF


def _quoted(text: str) -> str:
    return printable(json.dumps(text, ensure_ascii=False), limit=_LONGEST)
