"""Summaries of consume-queue, ext, commit-log and checkpoint files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from rocket_spec.errors import UsageError
from rocket_spec.layout import BLANK, CHECKPOINT, QUEUE_UNIT

from rocket_columnar.decode import decode
from rocket_columnar.formats import is_blank
from rocket_columnar.log import Gap
from rocket_columnar.store import StoreFile, read_at

_Progress = Callable[[int, int], None] | None

Summary = dict[str, Any]
"""Names to numbers, texts, lists and such dictionaries; times in ms, offsets in bytes unless named otherwise."""


def summarise(file: StoreFile, *, on_progress: Callable[[int, int], None] | None = None) -> Summary:
    """Facts about one file: `size` in bytes, and those of its kind.

    Args:
        file: of any kind but an index file.
        on_progress: called with the bytes that were read, and those of the file.

    Raises:
        UsageError: for an index file; use `occupancy`.
        FormatError: bytes that cannot be decoded.
        OSError: the file cannot be read.
    """
    if file.kind not in _KINDS:
        raise UsageError(f"{file.path}: an index file")
    return {"size": file.path.stat().st_size} | _KINDS[file.kind](file, on_progress)


def _ends(rows: Sequence[dict[str, Any]]) -> Summary:
    return {"first": rows[0] if rows else None, "last": rows[-1] if rows else None}


def _queue(file: StoreFile, on_progress: _Progress) -> Summary:
    columns = ("logical_offset", "phy_offset", "size", "tags_code", "pre_blank")
    pre_blank = invalid = written = 0
    ends: list[Summary] = []
    for _, batch in decode([file], tables=["consume_queue"], columns=columns, on_progress=on_progress):
        rows = batch.to_pylist()
        pre_blank += sum(row["pre_blank"] for row in rows)
        invalid += sum(row["phy_offset"] < 0 or row["size"] <= 0 for row in rows)
        written += len(rows)
        real = [row for row in rows if not row["pre_blank"]]
        ends = [*ends[:1], *real[-1:]] if ends else [*real[:1], *real[-1:]]
    for row in ends:
        row.pop("pre_blank", None)
    first = file.base_offset // QUEUE_UNIT.size
    return {
        "topic": file.topic,
        "queue_id": file.queue_id,
        "base_offset": file.base_offset,
        "units": file.path.stat().st_size // QUEUE_UNIT.size,
        "written_units": written,
        "pre_blank_units": pre_blank,
        "invalid_units": invalid,
        "begin_logical_offset": ends[0]["logical_offset"] if ends else first + written,
        "end_logical_offset": first + written,
    } | _ends(ends)


def _ext(file: StoreFile, on_progress: _Progress) -> Summary:
    columns = ("address", "size", "tags_code", "store_timestamp")
    rows: list[Summary] = []
    units = used = 0
    for _, batch in decode([file], tables=["consume_queue_ext"], columns=columns, on_progress=on_progress):
        some = batch.to_pylist()
        units += len(some)
        used += sum(row["size"] for row in some)
        rows = [*rows[:1], *some[-1:]] if rows else [*some[:1], *some[-1:]]
    return {
        "topic": file.topic,
        "queue_id": file.queue_id,
        "base_offset": file.base_offset,
        "units": units,
        "used_bytes": used,
    } | _ends(rows)


def _log(file: StoreFile, on_progress: _Progress) -> Summary:
    topics: Counter[str] = Counter()
    columns = ("phy_offset", "size", "topic", "store_timestamp", "crc_ok")
    gaps: list[Gap] = []
    records = bad_crc = 0
    times: list[int] = []
    ends: list[Summary] = []
    batches = decode(
        [file], tables=["commit_log"], columns=columns, on_gap=gaps.append, on_progress=on_progress
    )
    for _, batch in batches:
        rows = batch.to_pylist()
        if not rows:
            continue
        records += len(rows)
        topics.update(row["topic"] for row in rows)
        bad_crc += sum(not row["crc_ok"] for row in rows)
        stored = [row["store_timestamp"] for row in rows]
        times = [min([*times[:1], *stored]), max([*times[1:], *stored])]
        ends = [*ends[:1], rows[-1]] if ends else [rows[0], rows[-1]]
    size = file.path.stat().st_size
    end = ends[-1]["phy_offset"] + ends[-1]["size"] - file.base_offset if ends else 0
    return {
        "base_offset": file.base_offset,
        "records": records,
        "bad_crc": bad_crc,
        "gaps": [{"begin": gap.begin, "end": gap.end, "found": gap.found} for gap in gaps],
        "used_bytes": end,
        "blank_bytes": _blank(file, end),
        "left_bytes": size - end,
        "begin_timestamp": times[0] if times else None,
        "end_timestamp": times[-1] if times else None,
        "topics": dict(topics.most_common()),
    } | _ends(ends)


def _blank(file: StoreFile, end: int) -> int:
    """Length of the blank that ends the file, 0 without one (LOG-BLANK-1, DLG-5)."""
    room = file.size() - end
    head = read_at(file, end, BLANK.size)
    return room if len(head) == BLANK.size and is_blank(head, 0, room) else 0


def checkpoint_times(file: StoreFile, _on_progress: _Progress = None) -> Summary:
    """The three times of a checkpoint, ms; errors as of `summarise`."""
    names = [field.name for field in CHECKPOINT.fields]
    ((_, batch),) = decode([file], tables=["checkpoint"], columns=names)
    (row,) = batch.to_pylist()
    return dict(row)


_KINDS: Final[dict[str, Callable[[StoreFile, _Progress], Summary]]] = {
    "queue": _queue,
    "ext": _ext,
    "log": _log,
    "checkpoint": checkpoint_times,
}
