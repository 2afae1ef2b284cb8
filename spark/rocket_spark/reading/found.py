"""The stores and files of a read."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.store import StoreFile
from rocket_spec.errors import FormatError, UsageError

from rocket_spark.files import commit_logs, is_store
from rocket_spark.reading.options import Request
from rocket_spark.reading.parts import Cut, FilePart, grouped, store_parts
from rocket_spark.stores import Place, find_places


@dataclass(frozen=True, slots=True)
class FoundStore:
    """One store of a read: its name, canonical path and files, or why it cannot be read."""

    name: str
    path: str
    files: tuple[StoreFile, ...] = ()
    problem: str | None = None


def found_stores(request: Request, table: str, *, lacking: bool = False) -> list[FoundStore]:
    """The stores of all paths, in their order, with their files of a table.

    A store that a glob matched need not have any, nor with `lacking` any other. One that a glob matched and that cannot be
    read is an error in mode FAILFAST.

    Raises:
        UsageError: a wrong path, two stores of one name, in mode FAILFAST what a glob matched and is no store.
        OSError: a path is missing, or in mode FAILFAST a store cannot be read.
    """
    options = dict(request.storage)
    places = [
        place
        for path in request.paths
        for place in find_places(path, options, recursive=request.recursive)
        if request.wanted.store(place.name)
    ]
    if commit_logs(options) and len(places) > 1:
        raise UsageError("option commitlog: belongs to one store; expected one path")
    found: list[FoundStore] = []
    for place in places:
        try:
            files = _files(place, request, table, lacking=lacking)
        except (FormatError, UsageError, OSError) as error:
            if request.mode == "FAILFAST" or not place.matched:
                raise
            found.append(FoundStore(place.name, place.path, problem=str(error)))
        else:
            found.append(FoundStore(place.name, place.path, tuple(files)))
    return found


def _files(place: Place, request: Request, table: str, *, lacking: bool) -> list[StoreFile]:
    kind, options = TABLE_KINDS[table], dict(request.storage)
    try:
        files = place.files(kind, options=options)
    except UsageError:
        if request.recursive or ((lacking or place.matched) and is_store(place.path, options)):
            return []
        raise
    return [
        file
        for file in files
        if file.config_table in (None, table)
        and (request.glob is None or fnmatchcase(file.path.name, request.glob))
    ]


def plan_parts(request: Request, table: str) -> list[tuple[FilePart, ...]]:
    """The parts of a read, by the tasks that decode them.

    Raises:
        UsageError: as `found_stores`; a geometry that cannot be inferred.
        MalformedError: in mode FAILFAST, files that are not what they should be.
        OSError: a file cannot be read.
    """
    return grouped(_parts(request, table))


def _parts(request: Request, table: str) -> Iterator[FilePart]:
    cut = Cut(request.max_partition_rows, request.wanted, strict=request.mode == "FAILFAST")
    for store in found_stores(request, table):
        if store.problem is not None:
            yield FilePart(store.name, table, None, problem=store.problem)
        else:
            try:
                yield from store_parts(store.name, store.files, [table], request.geometry, cut)
            except UsageError as error:
                told = str(error).replace("--geometry SLOTS,ENTRIES", "options hashSlotNum and indexNum")
                raise UsageError(told) from None
