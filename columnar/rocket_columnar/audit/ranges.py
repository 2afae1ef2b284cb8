"""The plan of an audit: the store, the level, and the ranges into which its log is cut."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from rocket_spec.errors import UsageError

from rocket_columnar.facts import Store, as_store
from rocket_columnar.formats import LONG_MAX
from rocket_columnar.log import Tail

Level = Literal["quick", "default", "deep"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)

_RANGE: Final = 32 << 20
_LONGEST: Final = (1 << 31) - 1
_MOST_RANGES: Final = 256


@dataclass(frozen=True, slots=True)
class Range:
    """A range of physical offsets that is checked at once.

    Attributes:
        number: its place among the ranges.
        begin: physical offset of its first byte.
        end: physical offset after its last byte.
        log: place of its file among the plan's logs; None if no file holds these offsets.
        exact: whether a record is known to begin at `begin`.
    """

    number: int
    begin: int
    end: int
    log: int | None
    exact: bool

    @property
    def last(self) -> int:
        """Physical offset of its last byte; for the last range the greatest possible one."""
        return self.end if self.end == LONG_MAX else self.end - 1

    @property
    def size(self) -> int:
        """Bytes of the log in it."""
        return 0 if self.log is None else self.end - self.begin


@dataclass(frozen=True, slots=True)
class Plan:
    """An audit of one store.

    Attributes:
        store: what is known of it.
        level: how much is checked; see `plan_audit`.
        ranges: all physical offsets from the log's first on.
    """

    store: Store
    level: Level
    ranges: tuple[Range, ...]

    @property
    def deep(self) -> bool:
        """Whether bodies are compared with their checksums, and walks of queries are followed."""
        return self.level == "deep"

    def relisted(self) -> "Plan":
        """The plan with the present index files: a broker may have rolled since."""
        return replace(self, store=self.store.with_present_indexes()) if self.store.live else self


def plan_audit(
    store: Store | Path | str, level: Level = "default", *, range_size: int = _RANGE, **known: Any
) -> Plan:
    """The plan of a store.

    Args:
        store: the store, or its directory.
        level: "quick" checks names, sizes, headers, checkpoint and continuity; "default" compares every unit
            and entry with the log's records, and vice versa; "deep" also verifies the bodies' checksums and
            reports entries that a query of their own key does not reach.
        range_size: maximum bytes of log in a range.
        known: of a directory, as for `Store`.

    Raises:
        UsageError: an unknown level or release, no store, or a geometry that does not fit.
        OSError: the store cannot be read.
    """
    if level not in LEVELS:
        raise UsageError(f"unknown level {level!r}; there are {', '.join(LEVELS)}")
    made = as_store(store, **known)
    return Plan(made, level, ranges_of(made, range_size))


def ranges_of(store: Store, size: int = _RANGE) -> tuple[Range, ...]:
    """All physical offsets from the log's first on, cut at files and into ranges of `size` bytes at most."""
    return tuple(_ranges(store.tail, size))


def _ranges(tail: Tail, size: int) -> list[Range]:
    cut: list[tuple[int, int, int | None, bool]] = []
    position = tail.files[0].base_offset if tail.files else 0
    for number, (file, length, filled) in enumerate(zip(tail.files, tail.sizes, tail.filled, strict=True)):
        base = file.base_offset
        if base > position:
            cut.append((position, base, None, True))
        following = tail.files[number + 1].base_offset if number + 1 < len(tail.files) else LONG_MAX
        end = min(base + length, following)
        # No real file is longer than Java's int; a longer one is mostly a hole, and has few ranges all the same.
        step = max(size, filled // _MOST_RANGES) if filled > _LONGEST else size
        steps = range(base, base + max(min(filled, end - base), 1), step)
        cut += [(begin, min(begin + step, end), number, begin == base) for begin in steps[:-1]]
        if end > base:
            cut.append((steps[-1], end, number, steps[-1] == base))
        position = end
    cut.append((position, LONG_MAX, None, True))
    return [Range(number, *bounds) for number, bounds in enumerate(cut)]
