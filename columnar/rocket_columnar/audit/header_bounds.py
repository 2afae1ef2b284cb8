"""Compares begin and end of an index file's header with its first and last entry and their records."""

from bisect import bisect_right, insort
from collections.abc import Callable
from typing import Final

from rocket_spec.layout import INDEX_HEADER

from rocket_columnar.audit.file_survey import IndexSurvey
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, finding
from rocket_columnar.index import entry_position
from rocket_columnar.store import read_at

_INT_MAX: Final = 0x7FFFFFFF
_MEANS: Final = {
    "begin_phy_offset": "nothing reads it",
    "end_phy_offset": "messages before it are no longer indexed",
    "begin_timestamp": "queries compute every entry's time from it",
    "end_timestamp": "queries with a time window skip the file according to it",
}


def check_bounds(
    store: Store, survey: IndexSurvey, times: dict[int, int], report: Callable[[Finding], None]
) -> bool:
    """Checks the header's four values.

    Args:
        store: the store.
        survey: at the file.
        times: store timestamps of records, by their physical offsets.
        report: takes findings.

    Returns:
        Whether entries can be compared with the header's begin.
    """
    header = survey.header
    if not survey.ends or survey.moving or not times:
        return True
    ahead = header.end_phy_offset >= store.end  # already reported
    sound = True
    put = store.live and survey.file == store.indexes[-1][0].name and _is_put_halfway(survey, times)
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


class FirstEntries:
    """Checks the time diff of each file's first entry, which counts from the end of a file that was full (IDX-PUT-8).

    It is 0 in a file that was the only one when it was made. Nothing is reported after a file whose header has another
    end than the record of its last entry.

    Args:
        store: the store.
        times: store timestamps of records, by their physical offsets.
        report: takes findings.
    """

    def __init__(self, store: Store, times: dict[int, int], report: Callable[[Finding], None]) -> None:
        self._geometry = store.geometry
        self._times = times
        self._report = report
        self._files = {file.name: file for file, _ in store.indexes}
        self._ends: list[int] = []  # in order, of the files that came
        self._last = 0
        self._known = True

    def add(self, survey: IndexSurvey) -> None:
        """Takes the next file into account for those after it."""
        if survey.ends:
            self._last = survey.header.end_timestamp
            insort(self._ends, self._last)
            self._known = self._known and self._last == self._times.get(survey.ends[1])

    def check(self, survey: IndexSurvey) -> None:
        """Checks a file against those that came before."""
        if not self._ends or not self._known:
            return
        if (
            not survey.ends
            or survey.moving
            or survey.header.index_count <= 1
            or survey.ends[0] not in self._times
        ):
            return
        assert self._geometry is not None  # noqa: S101 - entries were read
        at = entry_position(self._geometry, 1, "time_diff")
        try:
            raw = read_at(self._files[survey.file], at, 4)
        except FileNotFoundError:  # expired meanwhile
            return
        found = int.from_bytes(raw, signed=True)
        time = self._times[survey.ends[0]]
        if found >= 0 and not self._is_diff(found, time):
            expected = min(max(time - self._last, 0) // 1000, _INT_MAX)
            text = (
                f"entry 1: found a time diff of {found:,} s, expected {expected:,}, from the end of the previous file to its "
                "record: queries see the wrong time for it"
            )
            self._report(finding("index.header_bounds", survey.file, at, text, clause="IDX-PUT-8"))

    def _is_diff(self, found: int, time: int) -> bool:
        """Whether a diff in seconds counts from the end of any file before; 0 also from a later one."""
        if not found and self._ends[-1] > time:
            return True
        latest = time - 1000 * found
        place = bisect_right(self._ends, latest)
        return place > 0 and (found == _INT_MAX or self._ends[place - 1] > latest - 1000)


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
