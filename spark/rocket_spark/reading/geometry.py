"""The geometry of local and remote index files, and the problems of those without one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rocket_columnar.index import GeometryGuess, resolve_each
from rocket_columnar.store import Source, StoreFile
from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.layout import DEFAULT_GEOMETRY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocket_spec.layout import Geometry

    from rocket_spark.reading.options import Request

__all__ = ["geometries"]

_FETCHED: Final = 256 << 20
"""Bytes of far-away index files that are fetched to infer a geometry, at most."""

_WITNESSES: Final = 16


def _told(error: Exception) -> str:
    """The error in terms of options."""
    return str(error).replace("--geometry SLOTS,ENTRIES", "options hashSlotNum and indexNum")


def geometries(
    files: list[StoreFile], request: Request
) -> tuple[dict[StoreFile, GeometryGuess], dict[StoreFile, str]]:
    """Geometries, and the problems of files without one."""
    try:
        return _resolved(files, request.geometry), {}
    except MalformedError as error:
        if request.mode == "FAILFAST":
            raise
        first = error
    except UsageError as error:
        raise UsageError(_told(error)) from None
    guesses: dict[StoreFile, GeometryGuess] = {}
    problems: dict[StoreFile, str] = {}
    groups: dict[int, list[StoreFile]] = {}
    for file in files:
        groups.setdefault(file.size(), []).append(file)
    for group in groups.values():
        try:
            guesses |= _resolved(group, request.geometry)
        except (FormatError, UsageError):
            for file in group:  # one of them may be damaged
                try:
                    guesses |= _resolved([file], request.geometry)
                except (FormatError, UsageError) as own:
                    problems[file] = str(first) if first.file == str(file.path) else _told(own)
    return guesses, problems


def _resolved(files: Sequence[StoreFile], given: Geometry | None) -> dict[StoreFile, GeometryGuess]:
    """As `resolve_each`, but fetches only what is needed of remote files."""
    near = [file for file in files if file.source is None]
    guesses = resolve_each(near, given) if near else {}
    sizes: dict[int, list[StoreFile]] = {}
    for file in files:
        if file.source is not None:
            sizes.setdefault(file.source.size, []).append(file)
    for size, group in sizes.items():
        name = group[0].source.name if group[0].source else group[0].name
        if given is not None:
            if size != given.file_size:
                wanted = f"geometry {given.hash_slot_num},{given.index_num} makes {given.file_size:,}"
                raise UsageError(f"{name}: found {size:,} bytes, but {wanted}")
            guess = GeometryGuess(given, "given", 1, "by its size")
        elif size == DEFAULT_GEOMETRY.file_size:
            guess = GeometryGuess(DEFAULT_GEOMETRY, "assumed", 1, "4.9.3's default makes this size")
        elif size > _FETCHED:
            raise UsageError(f"{name}: {size:,} bytes far away; give options hashSlotNum and indexNum")
        else:
            count = min(_WITNESSES, max(1, _FETCHED // max(size, 1)))
            witnesses = [_fetched(file) for file in group[:count]]
            guess = next(iter(resolve_each(witnesses).values()))
        guesses |= dict.fromkeys(group, guess)
    return guesses


def _fetched(file: StoreFile) -> StoreFile:
    with file.open() as reader:
        data = reader.read(0, reader.size)
        return replace(file, source=Source.of_bytes(reader.name, data.data))
