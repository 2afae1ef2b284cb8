"""Expected results of a case: the reference runs it in a directory of its own."""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import MAXYEAR, UTC, datetime
from pathlib import Path
from typing import Final

from rocket_reference import RULES_4_9_3, Rules

from rocket_conformance.cases import Case, Observation
from rocket_conformance.files import CHUNK, MOST_HELD, FileImage, open_inside, read_image
from rocket_conformance.protocol import Result, check_path
from rocket_conformance.reference_adapter import (
    REFERENCE,
    Library,
    UnspecifiedOperationError,
    run_operations,
)

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

    Raises:
        ValueError: when a path leads outside the directory.
        OSError: when a file cannot be written.
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

    Raises:
        ValueError: when one is a symbolic link, or holds too much.
        OSError: when one cannot be read.
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
            images[name] = read_image(file, most=None if expected is None else _most(expected.get(name)))
        held += len(images[name].chunks) * CHUNK
        if held > MOST_HELD:
            raise ValueError(f"more than {MOST_HELD >> 20} MiB are not zero")
    return images


def _most(expected: FileImage | None) -> int:
    """Maximum length of a file whose bytes are read: its length is judged first."""
    return max(_MOST_UNEXPECTED, 0 if expected is None else expected.size)


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
    case: Case, directory: Path, rules: Rules = RULES_4_9_3, library: Library = REFERENCE
) -> Observation:
    """Results and files of the case by the reference, or a mutant of it; `directory` is made, and removed again.

    Raises:
        UnspecifiedOperationError: when an operation is one that is never sent.
    """
    fill_directory(directory, case.files)
    try:
        results, _ = run_operations(case.ops, directory, library=library, rules=rules)
        return Observation(tuple(results), collect_files(case, directory, results))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def specified(case: Case, directory: Path, rules: Rules = RULES_4_9_3) -> tuple[Case, Observation]:
    """The case without the operations that are never sent, and what is expected of the rest."""
    while True:
        try:
            return case, expect(case, directory, rules)
        except UnspecifiedOperationError as error:
            case = replace(case, ops=case.ops[: error.index] + case.ops[error.index + 1 :])
