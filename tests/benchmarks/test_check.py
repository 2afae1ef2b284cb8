"""Which bars count as worse than the committed ones."""

from __future__ import annotations

from benchmarks.check import worse
from benchmarks.report import Bar


def test_only_what_is_worse_by_more_than_a_fifth_is_reported() -> None:
    speed, memory = (
        Bar("audit", "read", 0, [0.7, 0.8, 0.9]),
        Bar("peak", "imports", 300, [121.0], " MB", at_most=True),
    )
    names = "audit, against read", "peak, against imports"
    assert worse(dict(zip(names, (0.95, 101.0), strict=True)), [speed, memory]) == []
    assert worse(dict(zip(names, (1.0, 100.0), strict=True)), [speed, memory]) == [
        "audit, against read: 0.8 x, was 1 x: 1.25 times worse",
        "peak, against imports: 121 MB, was 100 MB: 1.21 times worse",
    ]
    assert worse({}, [speed, memory]) == []
