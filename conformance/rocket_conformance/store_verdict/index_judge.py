"""Index files against what the reference makes of the log: which keys, in which order, in which bytes."""

from typing import Final

from rocket_spec.layout import Geometry

from rocket_conformance.store_verdict.index_bytes import StoredIndex, geometry_of, read_index
from rocket_conformance.store_verdict.index_comparison import compare_files
from rocket_conformance.store_verdict.index_sequence import EntryJudge, Put
from rocket_conformance.store_verdict.misread import reading_that_builds
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.stored_log import StoredLog, numbered_files

_NAME_DIGITS: Final = 17
_OF_SLOTS: Final = {"IDX-HASH-3", "IDX-HDR-4", "IDX-PUT-6", "IDX-PUT-7"}
"""Clauses that entries in other slots seem to break."""

_OF_OFFSETS: Final = ("IDX-HDR-2", "IDX-HDR-3", "IDX-SVC-2")
"""Clauses that entries with other offsets seem to break."""


def judge_indexes(log: StoredLog, seen: Observations, *, geometry: Geometry | None) -> list[StoredIndex]:
    """Judges the files of `index/`, whose geometry is inferred if none is given; the files in the order of their names.

    Raises:
        UsageError: when the geometry cannot be inferred.
        MalformedError: when a file is shorter than its slots.
    """
    paths = [path for _, path in numbered_files(log.store / "index")]
    if not paths:
        _judge_no_index(log, seen)
        return []
    geometry = geometry or geometry_of(paths, log)
    files = [read_index(path, f"index/{path.name}", geometry) for path in paths]
    for file in files:
        seen.compare("IDX-FILE-1", Place(file.name, None, "length", file.size, geometry.file_size))
        digits = len(file.name.removeprefix("index/"))
        seen.compare("IDX-SVC-4", Place(file.name, None, "digits of the name", digits, _NAME_DIGITS))
    own = Observations(profile=seen.profile)
    compare_files(files, log, own)
    puts = (Put(file, number, entry) for file in files for number, entry in enumerate(file.entries, 1))
    EntryJudge(log, own).judge(puts)
    is_wrong = any(clause.startswith("IDX-") for clause in own.broken)
    reading = reading_that_builds(files, log, own.broken) if is_wrong else None
    if reading is not None:
        own.explain(reading.clause, reading.rule)
    elif "IDX-HASH-3" in own.broken and own.broken.keys() <= _OF_SLOTS:
        own.explain("IDX-HASH-3", "another slot for a key hash")
    elif any(place.field.endswith("phy_offset") for place in own.broken.get("IDX-PUT-6", ())):
        own.leave_out(
            _OF_OFFSETS, "header values and missing keys, which may follow from wrong offsets of entries"
        )
    seen.add(own)
    return files


def _judge_no_index(log: StoredLog, seen: Observations) -> None:
    """Any record that is dispatched makes an index file, one without keys too (IDX-SVC-7)."""
    first = next(iter(log.records), None)
    if first is None:
        return
    if not log.stopped or log.dledger:
        seen.note(
            "no index file: the records are not indexed yet, or an unclean restart deleted it (IDX-SVC-6)"
        )
        return
    seen.breaks("IDX-SVC-7", Place("index", None, "index files", "none", "at least one", str(first)))
