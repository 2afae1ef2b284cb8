"""Begin and end of an index file's header against its first and last entry and their records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocket_spec.layout import INDEX_HEADER

from rocket_columnar.findings import Finding, finding
from rocket_columnar.index import entry_position
from rocket_columnar.store import read_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocket_columnar.audit.file_survey import IndexSurvey
    from rocket_columnar.audit.plan import Plan

__all__ = ["check_bounds", "check_first_entry"]

_MEANS: Final = {
    "begin_phy_offset": "nothing reads it",
    "end_phy_offset": "messages before it are no longer indexed",
    "begin_timestamp": "queries compute every entry's time from it",
    "end_timestamp": "queries with a time window skip the file according to it",
}


def check_bounds(
    plan: Plan, survey: IndexSurvey, times: dict[int, int], report: Callable[[Finding], None]
) -> bool:
    """Checks the header's four values.

    Args:
        plan: of the store.
        survey: at the file.
        times: store timestamps of records, by their physical offsets.
        report: takes findings.

    Returns:
        Whether entries can be compared with the header's begin.
    """
    header = survey.header
    if not survey.ends or survey.moving or not times:
        return True
    ahead = header.end_phy_offset >= plan.end  # said already
    sound = True
    put = plan.live and survey.file == plan.indexes[-1][0].name and _is_put_halfway(survey, times)
    for which, offset in zip(("begin", "end"), survey.ends, strict=True):
        if put and (which == "end" or header.index_count <= 1):
            continue
        known = offset
        named = header.begin_phy_offset if which == "begin" else header.end_phy_offset
        if named != offset and offset >= 0:
            if offset not in times:  # the entry is damaged, not the header
                known = named
            elif not (ahead and which == "end"):
                report(_finding(survey, f"{which}_phy_offset", named, offset))
        if known not in times:
            continue
        timestamp = header.begin_timestamp if which == "begin" else header.end_timestamp
        if timestamp != times[known]:
            sound = sound and which != "begin"
            report(_finding(survey, f"{which}_timestamp", timestamp, times[known]))
    return sound


def check_first_entry(
    plan: Plan,
    before: Sequence[IndexSurvey],
    survey: IndexSurvey,
    times: dict[int, int],
    report: Callable[[Finding], None],
) -> None:
    """Checks the time diff of a file's first entry, which counts from the end of a file that was full (IDX-PUT-8).

    It is 0 in a file that was the only one when it was made. Nothing is said where a file has another end than the record
    of its last entry.

    Args:
        plan: of the store.
        before: looks at the index files before it.
        survey: at the file.
        times: store timestamps of records, by their physical offsets.
        report: takes findings.
    """
    filled = [one for one in before if one.ends]
    ends = [one.header.end_timestamp for one in filled]
    if not ends or ends != [times.get(one.ends[1]) for one in filled if one.ends]:
        return
    if not survey.ends or survey.moving or survey.header.index_count <= 1 or survey.ends[0] not in times:
        return
    assert plan.geometry is not None  # noqa: S101 - entries were read
    at = entry_position(plan.geometry, 1, "time_diff")
    try:
        raw = next(read_at(file, at, 4) for file, _ in plan.indexes if file.name == survey.file)
    except FileNotFoundError:  # expired meanwhile
        return
    found = int.from_bytes(raw, signed=True)
    expected = [min(max(times[survey.ends[0]] - end, 0) // 1000, 0x7FFFFFFF) for end in ends]
    if found > 0 and found not in expected:
        text = (
            f"entry 1: found a time diff of {found:,} s, expected {expected[-1]:,}, from the end of the previous file to its "
            "record: queries see the wrong time for it"
        )
        report(finding("index.header_bounds", survey.file, at, text, clause="IDX-PUT-8"))


def _is_put_halfway(survey: IndexSurvey, times: dict[int, int]) -> bool:
    """Whether the header is as one of the writes of the last entry's put leaves it (IDX-PUT-11)."""
    header = survey.header
    if survey.before is None or survey.count == max(header.index_count, 1) + 1:
        return True
    names = {survey.before, *survey.ends[1:]}
    return header.end_phy_offset in names and header.end_timestamp == times.get(survey.before)


def _finding(survey: IndexSurvey, name: str, found: int, expected: int) -> Finding:
    which = "first" if name.startswith("begin") else "last"
    return finding(
        "index.header_bounds",
        survey.file,
        INDEX_HEADER.offset_of(name),
        f"found a {name} of {found:,}, expected {expected:,}, the {which} entry's; {_MEANS[name]}",
        clause="IDX-HDR-2" if which == "first" else "IDX-HDR-3",
    )
