"""Seeded random vectors: long lists of operations on healthy, reopened and damaged files.

Damage never closes a chain to a circle, on which the real jar would never end: a previous entry made here
leads to a lower number, to itself, or nowhere.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final, TypeVar

from generator.vectors.building import (
    I32_MAX,
    I32_MIN,
    I64_MAX,
    I64_MIN,
    NOW,
    Entry,
    Header,
    Vector,
    close,
    flush,
    full,
    header,
    image,
    key_of,
    open_file,
    put,
    select,
    time_matched,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from generator.vectors.building import Op

__all__ = ["vectors"]

T = TypeVar("T")

COUNT: Final = 120
"""Vectors of each of the three kinds."""

WORDS: Final = (
    *("", "k", "T#k", "AaTopic#Aa", "AaTopic#BB", "BBTopic#Aa", "BBTopic#BB", "polygenelubricants", "GydZG_"),
    *(
        "订单#1",
        "订单#2",
        "T#😀",
        "T#\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "T#\0",
        "TopicTest#7F0000010BB018B4AAC2",
    ),
)
GEOMETRIES: Final = ((1, 2), (1, 12), (2, 3), (3, 40), (5, 9), (7, 12), (8, 64), (13, 30), (101, 50))
STEPS: Final = (
    0,
    0,
    0,
    1,
    7,
    500,
    999,
    1000,
    1001,
    61_000,
    -1,
    -1000,
    -86_400_000,
    3_600_000,
    40 * 365 * 86_400_000,
)
ODD_TIMES: Final = (0, -1, 1, I64_MIN, I64_MAX, 1000 * I32_MAX, 1000 * (1 << 32))


class Dice:
    """Chooses, by a seed, and the same in every version of Python: only `random()` is promised to be."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose

    def below(self, limit: int) -> int:
        """A number from 0 to `limit` - 1."""
        return int(self._random.random() * limit)

    def of(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[self.below(len(choices))]

    def chance(self, percent: int) -> bool:
        """True in `percent` of a hundred cases."""
        return self.below(100) < percent


class Story:
    """The operations of one vector as they are made up."""

    def __init__(self, dice: Dice, geometry: tuple[int, int]) -> None:
        self.dice = dice
        self.geometry = geometry
        slots = geometry[0]
        shared = [key_of(dice.below(slots) + slots * dice.below(4)) for _ in range(4)]
        self.keys = [*(dice.of(WORDS) for _ in range(5)), *shared]
        self.time = NOW if dice.chance(85) else dice.of(ODD_TIMES)
        self.times = [self.time]
        self.offset = dice.below(10_000)
        self.ops: list[Op] = []

    def open(self, *, load: bool, seeded: bool = False) -> None:
        """Opens the file, seeded as after a roll or not."""
        phy_offset, timestamp = (self.offset, self.time) if seeded else (0, 0)
        self.ops.append(open_file(*self.geometry, phy_offset=phy_offset, timestamp=timestamp, load=load))

    def step(self) -> None:
        """One more operation on the open file."""
        turn = self.dice.below(100)
        if turn < 55:
            self._put()
        elif turn < 85:
            self._select()
        elif turn < 90:
            self.ops.append(time_matched(*self._window()))
        else:
            self.ops.append(self.dice.of((header, full, flush))())

    def end(self) -> None:
        """Asks for every key and the header."""
        self.ops += [select(key, I64_MIN, I64_MAX, max_num=64) for key in dict.fromkeys(self.keys)]
        self.ops.append(header())

    def _put(self) -> None:
        dice = self.dice
        if dice.chance(4):
            time = dice.of(ODD_TIMES)
        else:
            self.time = time = max(I64_MIN, min(I64_MAX, self.time + dice.of(STEPS)))
        self.times.append(time)
        self.offset += dice.below(2000)
        offset = self.offset if dice.chance(95) else dice.of((0, -1, I64_MAX, I64_MIN))
        self.ops.append(put(dice.of(self.keys), offset, time))

    def _window(self) -> tuple[int, int]:
        dice = self.dice
        if dice.chance(30):
            return 0, I64_MAX
        edges = [dice.of(self.times) + dice.of((0, 0, 0, 1, -1, 999, -999, 1000, -1000)) for _ in range(2)]
        first, last = (max(I64_MIN, min(I64_MAX, edge)) for edge in edges)
        return (first, last) if dice.chance(10) else (min(first, last), max(first, last))

    def _select(self) -> None:
        dice = self.dice
        max_num = dice.of((32, 32, 32, 64, 3, 2, 1, 0, -1))
        initial = [dice.below(1000) for _ in range(dice.below(4))] if dice.chance(15) else None
        self.ops.append(select(dice.of(self.keys), *self._window(), max_num=max_num, initial=initial))


def _damaged(dice: Dice, story: Story) -> dict[str, bytes]:
    """A file whose header, slots and entries are partly nonsense."""
    slot_num, entry_num = story.geometry
    count = dice.of(
        (0, -1, 1, 2, entry_num - 1, entry_num, entry_num + 1, entry_num + 50, dice.below(entry_num) + 1)
    )
    beyond = max(count, entry_num) + 1
    slots = {
        slot: dice.of(
            (0, -1, I32_MIN, I32_MAX, beyond, count, *(dice.below(entry_num + 1) for _ in range(12)))
        )
        for slot in range(slot_num)
    }
    entries = {
        number: Entry(
            dice.of((dice.below(4 * slot_num), 0, -5)),
            dice.of((100 * number, 100 * number, -1, I64_MIN)),
            dice.of((0, number, number, 10 * number, -1, I32_MIN, I32_MAX)),
            dice.of((0, -1, I32_MIN, I32_MAX, number, beyond, *(dice.below(number) for _ in range(12)))),
        )
        for number in range(1, entry_num)
    }
    begin = dice.of((NOW, NOW, NOW, 0, -5, I64_MAX))
    story.times += [NOW + 1000 * number for number in range(3)]
    head = Header(begin, NOW + dice.below(90_000), 7, 9000, dice.of((0, 3, -1, I32_MAX)), count)
    return image(head, slots, entries, geometry=story.geometry)


def vectors() -> Iterator[Vector]:
    """The vectors: on fresh files, on files closed and opened again, on damaged files."""
    for number in range(COUNT):
        yield _fresh(number)
    for number in range(COUNT):
        yield _reopened(10_000 + number)
    for number in range(COUNT):
        yield _on_damage(20_000 + number)


def _story(seed: int) -> tuple[Dice, Story]:
    dice = Dice(seed)
    return dice, Story(dice, dice.of(GEOMETRIES))


def _fresh(seed: int) -> Vector:
    dice, story = _story(seed)
    story.open(load=dice.chance(20), seeded=dice.chance(40))
    for _ in range(20 + dice.below(40)):
        story.step()
    story.end()
    return Vector(
        id=f"IDX-PUT-6/seeded-{seed}",
        clauses=("IDX-PUT-6", "IDX-PUT-7", "IDX-HDR-3", "IDX-SEL-2", "IDX-SEL-4"),
        description="Catches what no directed vector thought of, in puts and selects on a fresh file. "
        "Cost: messages that are not found, or not where the broker finds them.",
        ops=story.ops,
        seed=seed,
    )


def _reopened(seed: int) -> Vector:
    dice, story = _story(seed)
    story.open(load=True)
    for _ in range(2 + dice.below(3)):
        for _ in range(5 + dice.below(12)):
            story.step()
        if dice.chance(30):
            story.ops.append(flush())
        story.ops.append(close())
        story.open(load=dice.chance(75), seeded=dice.chance(20))
    story.end()
    return Vector(
        id=f"IDX-LOAD-1/seeded-{seed}",
        clauses=("IDX-LOAD-1", "IDX-FILE-5", "IDX-FILE-2", "IDX-PUT-6", "IDX-SEL-2"),
        description="Catches state that a close without a flush, an open without a load or a new seed carries over. "
        "Cost: a restarted broker that goes on from another state than it stopped in.",
        ops=story.ops,
        seed=seed,
    )


def _on_damage(seed: int) -> Vector:
    dice, story = _story(seed)
    files = _damaged(dice, story)
    story.keys += [key_of(dice.below(4 * story.geometry[0])) for _ in range(4)]
    story.open(load=dice.chance(85))
    for _ in range(10 + dice.below(25)):
        story.step()
    story.end()
    return Vector(
        id=f"IDX-SEL-6/seeded-{seed}",
        clauses=("IDX-SEL-6", "IDX-SEL-1", "IDX-SEL-5", "IDX-SEL-8", "IDX-PUT-5", "IDX-LOAD-2"),
        description="Catches other reactions to damage than 4.9.3's: headers, slots and entries of this file are partly nonsense. "
        "Cost: a search that fails, loops or finds other messages than the broker's.",
        ops=story.ops,
        files=files,
        seed=seed,
    )
