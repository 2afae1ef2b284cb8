"""Vectors of IDX-TIME: which windows a file matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from generator.vectors.building import (
    I64_MAX,
    I64_MIN,
    NOW,
    Clause,
    Header,
    image,
    open_file,
    put,
    time_matched,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Op, Vector

__all__ = ["vectors"]

LAST: Final = NOW + 50_000
FORWARD: Final = image(Header(NOW, LAST, 1, 2, 1, 3))
"""Begin `NOW`, end `LAST`."""

BACKWARD: Final = image(Header(LAST, NOW, 1, 2, 1, 3))
"""An end before the begin, as a clock set back leaves it."""

BEFORE: Final = NOW - 100_000
BEHIND: Final = LAST + 100_000


def ask(*windows: tuple[int, int]) -> tuple[Op, ...]:
    """Opens the file with its header and asks for each window."""
    return (open_file(load=True), *(time_matched(begin, end) for begin, end in windows))


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _covers()
    yield from _begin_within()
    yield from _end_within()


def _covers() -> Iterator[Vector]:
    clause = Clause("IDX-TIME-1", "a query over a long time skips the files that are wholly in it")
    yield clause(
        "around",
        "only the window's ends looked for in the file",
        *ask((BEFORE, BEHIND), (NOW - 1, LAST + 1), (I64_MIN, I64_MAX)),
        files=FORWARD,
    )
    yield clause(
        "strict-where-end-is-before-begin",
        "a window that covers counted with its edges: only here the other tests do not hide it",
        *ask((LAST - 1, NOW + 1), (LAST, NOW + 1), (LAST - 1, NOW), (LAST, NOW), (BEFORE, BEHIND)),
        files=BACKWARD,
    )
    yield clause(
        "fresh-file",
        "a file without times matched never, or always",
        open_file(),
        *(time_matched(begin, end) for begin, end in ((-1, 1), (0, 1), (1, 2), (-2, -1), (I64_MIN, I64_MAX))),
    )
    yield clause(
        "apart",
        "windows before or after the file matched",
        *ask((BEFORE, NOW - 1), (LAST + 1, BEHIND), (BEHIND, BEFORE)),
        files=FORWARD,
    )


def _begin_within() -> Iterator[Vector]:
    clause = Clause("IDX-TIME-2", "a query that starts within a file skips it")
    yield clause(
        "edges",
        "an exclusive begin or end of the file",
        *ask(*((begin, BEHIND) for begin in (NOW, NOW + 1, LAST - 1, LAST, LAST + 1))),
        files=FORWARD,
    )
    yield clause(
        "window-reversed",
        "a window whose end is before its begin matched with nothing",
        *ask((NOW, BEFORE), (LAST, BEFORE), (LAST + 1, BEFORE), (NOW + 5, NOW - 5)),
        files=FORWARD,
    )
    yield clause(
        "end-before-begin",
        "the file's times put in order first",
        *ask((NOW, BEFORE), (NOW + 5, BEFORE), (LAST, BEFORE), (NOW + 5, LAST - 5)),
        files=BACKWARD,
    )
    yield clause(
        "zeros",
        "a file whose times are 0 matched with nothing",
        open_file(),
        *(time_matched(begin, end) for begin, end in ((0, 0), (0, I64_MAX), (0, -5), (1, I64_MAX))),
    )


def _end_within() -> Iterator[Vector]:
    clause = Clause("IDX-TIME-3", "a query that ends within a file skips it")
    yield clause(
        "edges",
        "an exclusive begin or end of the file",
        *ask(*((BEFORE, end) for end in (NOW - 1, NOW, NOW + 1, LAST - 1, LAST, LAST + 1))),
        files=FORWARD,
    )
    yield clause(
        "window-reversed",
        "a window whose end is before its begin matched with nothing",
        *ask((BEHIND, NOW), (BEHIND, LAST), (BEHIND, NOW - 1)),
        files=FORWARD,
    )
    yield clause(
        "end-before-begin",
        "the file's times put in order first",
        *ask((BEHIND, NOW), (BEHIND, NOW + 5), (BEHIND, LAST), (BEFORE, NOW + 5)),
        files=BACKWARD,
    )
    yield clause(
        "header-in-memory",
        "minimum and maximum kept instead of the first and the last put",
        open_file(),
        put("a", 1, NOW + 5000),
        put("b", 2, NOW + 9000),
        put("c", 3, NOW + 7000),
        *(time_matched(BEFORE, NOW + after) for after in (4999, 5000, 7000, 7001, 9000)),
        time_matched(NOW + 8000, NOW + 8500),
    )
