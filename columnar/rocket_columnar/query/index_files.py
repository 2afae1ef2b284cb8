"""The index files of a store as a broker's start would load them, opened to read."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.layout import Geometry

from rocket_columnar.facts import Store
from rocket_columnar.index import GeometryGuess, IndexFile, resolve
from rocket_columnar.store import DIRECTORY, StoreFile, is_gone, usual_size

_OTHERS: Final = (
    256  # open files beside the index files: those of the log, of the interpreter and of its libraries
)


@dataclass(frozen=True, slots=True)
class IndexSet:
    """The open index files of a store.

    Attributes:
        files: name and file, oldest name first; the last is the one that a broker appends to.
        skipped: names that are skipped, each with the reason.
        geometry: of all files, and how it was determined; None without files.
        damaged: names of files that answer all the same as far as they go, each with what is wrong.
    """

    files: tuple[tuple[str, IndexFile], ...]
    skipped: tuple[tuple[str, str], ...]
    geometry: GeometryGuess | None
    damaged: tuple[tuple[str, str], ...] = ()


def open_indexes(store: Store, given: Geometry | None, stack: ExitStack) -> IndexSet:
    """Opens the index files of a store; `stack` closes them.

    A name that is not a Java long is skipped, and loading ends at one that cannot be opened as a file. A file
    without bytes counts as one of zeros: a broker would extend it. What is cut short or damaged answers as far
    as it goes, with the geometry of the others; what cannot be read is skipped.

    Raises:
        UsageError, MalformedError: the geometry cannot be inferred, or does not fit, and no file has a sound one.
        OSError: the folder cannot be read.

    Source: IDX-FILE-4; `IndexService.load` 58-92.
    """
    found, skipped = _loaded(store)
    _allow_open_files(len(found) + _OTHERS)
    readable: list[StoreFile] = []
    for file in found:
        try:
            with file.open():
                readable.append(file)
        except OSError as error:
            if is_gone(file):  # expired since it was listed
                continue
            reason = error.strerror or str(error)
            skipped.append((file.name, f"it cannot be read: {reason.lower()}"))
    filled = [file for file in readable if file.path.stat().st_size]
    guess, damaged = _geometry(filled, given) if filled else (None, [])
    if guess is None:
        skipped += [(file.name, "it is empty") for file in readable]
        return IndexSet((), tuple(skipped), None)
    files = [
        (file.name, stack.enter_context(IndexFile.open_for_reading(file.path, guess.geometry)))
        for file in readable
    ]
    return IndexSet(tuple(files), tuple(skipped), guess, tuple(damaged))


def _allow_open_files(count: int) -> None:
    """Raises this process's own limit on open files, up to the hard limit: its default is about a thousand."""
    if sys.platform == "win32":  # which has no such limit
        return
    import resource

    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit < count and limit != resource.RLIM_INFINITY:
        wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
        if wanted > limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _geometry(
    files: Sequence[StoreFile], given: Geometry | None
) -> tuple[GeometryGuess, list[tuple[str, str]]]:
    """The geometry of all, or of those that are sound; and what is wrong with the others."""
    try:
        return resolve(files, given), []
    except (FormatError, UsageError) as error:
        whole = error
    sizes = [file.size() for file in files]
    usual = usual_size(sizes) if given is None else given.file_size
    sound: list[StoreFile] = []
    damaged: list[tuple[str, str]] = []
    for file, size in zip(files, sizes, strict=True):
        if size != usual:
            how = "cut short" if size < usual else "too long"
            damaged.append((file.name, f"{how}: found {size:,} bytes, expected {usual:,}"))
            continue
        try:
            resolve([file], given)
        except MalformedError as error:
            damaged.append((file.name, f"found {error.found}, expected {error.expected}"))
            continue
        except UsageError:  # the geometry may not follow from one file alone
            pass
        sound.append(file)
    if not sound or not damaged:
        raise whole
    return resolve(sound, given), damaged


def _loaded(store: Store) -> tuple[list[StoreFile], list[tuple[str, str]]]:
    """The files to load, in the order of their names as Java compares them, and what is skipped."""
    listed = {file.name: file for file in store.of("index")}
    reasons = {name: reason for name, reason in store.skipped if name.startswith("index/")}
    files: list[StoreFile] = []
    skipped: list[tuple[str, str]] = []
    ended = False
    for name in sorted((*listed, *reasons), key=lambda name: name.encode("utf-16-be")):
        if ended:
            skipped.append((name, "not loaded: it comes after a directory"))
        elif name in listed:
            files.append(listed[name])
        elif reasons[name] == DIRECTORY:
            ended = True
            skipped.append((name, "a directory, at which a broker stops loading"))
        else:
            skipped.append((name, reasons[name]))
    return files, skipped
