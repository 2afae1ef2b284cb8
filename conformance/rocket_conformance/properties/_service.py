"""Properties of the index service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from struct import pack
from typing import Final

from rocket_reference import file_size, key_hash

from rocket_conformance.files import FileImage, SparseFile, image_of
from rocket_conformance.properties._property import (
    I32_MAX,
    I64_MAX,
    I64_MIN,
    LONE,
    NOON,
    Drawn,
    Geometry,
    ListBuilder,
    Property,
    Settings,
    any_i64,
    clamped,
    draw_text,
    list_length,
    operations,
    profile_of,
    scope_of,
)
from rocket_conformance.protocol import from_i64, key_fields


def lay_file(
    rng: Random,
    geometry: Geometry,
    keys: Sequence[str],
    *,
    begin: int,
    offset: int,
    count: int,
    header: Mapping[str, int] | None,
) -> tuple[FileImage, dict[str, int]]:
    """A healthy file of `count` - 1 entries, at most 64 of them in place, a second and 100 bytes apart; and its header.

    Args:
        rng: the source of all choices.
        geometry: slots and entries.
        keys: what its entries are of, topic and all.
        begin: time of the first entry, ms.
        offset: physical offset of the first entry.
        count: index_count.
        header: fields of the header that have other values.
    """
    slots, entries = geometry
    file = SparseFile(file_size(slots, entries))
    heads: dict[int, int] = {}
    first = max(1, count - 64)
    for entry in range(first, min(count, entries)):
        hash_ = key_hash(rng.choice(keys))
        slot = hash_ % slots if slots else 0
        seconds = entry - first
        place = 40 + 4 * slots + 20 * entry
        file.write(place, pack(">iqii", hash_, offset + 100 * seconds, seconds, heads.get(slot, 0)))
        heads[slot] = entry
    for slot, entry in heads.items():
        if slots:
            file.write(40 + 4 * slot, pack(">i", entry))
    last = max(0, min(count, entries) - 1 - first)
    values = {
        "begin": begin,
        "end": begin + 1000 * last,
        "begin_offset": offset,
        "end_offset": offset + 100 * last,
        "slots": len(heads),
        "count": count,
        **(header or {}),
    }
    file.write(0, pack(">qqqqii", *values.values()))
    return file.image(), values


# --- service lists ------------------------------------------------------------------------------------

_I32_MIN: Final = -(1 << 31)
_TOPICS: Final = ("T", "AaTopic", "BBTopic", "%RETRY%g", "\u4e3b\u9898", "t\U0001f680")
_WORDS: Final = ("Aa", "BB", "k", "a", "b", "\u8ba2\u5355", "\U0001f680", "TagA,TagB", "x\ty")
_FLAGS: Final = (0, 0, 4, 8, 12, 12, 13, 28, 60, 1, 2, 3, 16, 48, -1, -13, -5, I32_MAX, _I32_MIN)
_LIMITS: Final = (-1, 0, 1, 2, 3, 63, 64, 65, 1_000, 1_000_000, _I32_MIN)
# As text, names that are numbers sort before those of the present: a new file has to be the last one again.
_ODD_NAMES: Final = (
    "x", "-5", "07", "+20200101000000000", "20200101000000001.bak", "99999999999999999999", "+3", "-3", "100", "3e0",
    "1999010100000000000", "00051114221320123", "-20200101000000000", "19991231235959999",
)  # fmt: skip
"""Names whose order as text differs from their order as numbers; as text, each number is before the present."""

_NUMBERS: Final = tuple(name for name in _ODD_NAMES if name.lstrip("+-").isdecimal() and len(name) < 20)


@dataclass(frozen=True, slots=True)
class ServiceProfile:
    """Weights of the lists of a property."""

    weights: Mapping[str, int]  # how often each move comes; `reopen` opens the service again
    slots: Sequence[int] = (1, 2, 3, 7, 16)  # numbers of slots
    entries: Sequence[int] = (4, 4, 5, 8, 12)  # numbers of entries; a message has at most one key less
    laid: float = 0.4  # share of lists over files that exist at the start
    most_files: int = 4  # the most files that exist at the start
    odd_files: float = 0.1  # share of laid files of another name, length or header
    # share of laid files that are whole, and named by a number of another length or sign
    odd_numbers: float = 0.0
    unclean: float = 0.3  # share of opens after an unclean exit
    words: Sequence[str] = _WORDS  # what keys are made of
    odd_texts: float = 0.1  # share of keys with other separators than one space
    kinds: Sequence[str] = ("separators",)  # of odd texts
    repeats: float = 0.1  # share of builds at or before an offset that was built
    flags: float = 0.1  # share of builds with a sys_flag beside 0
    limits: float = 0.1  # share of queries with a maximum at an edge
    edges: float = 0.5  # share of windows laid at the edges of files
    backward: float = 0.1  # share of builds whose time goes back
    mean: int = 18  # of operations


class _ServiceOperations(ListBuilder):
    """Grows one list, and remembers the edges of what it has built."""

    def __init__(self, rng: Random, profile: ServiceProfile, geometry: Geometry | None) -> None:
        super().__init__(rng, "service")
        self.profile = profile
        self.geometry = geometry or (rng.choice(profile.slots), rng.choice(profile.entries))
        self.topics = rng.sample(_TOPICS, rng.choice((1, 1, 2)))
        self.words = rng.sample(list(profile.words), min(len(profile.words), rng.choice((1, 2, 3, 5))))
        is_odd = rng.random() < 0.5  # half of the lists stay within what MUST clauses govern
        self.unique = (*self.words, "", "id 1 2") if is_odd else tuple(self.words)
        self.limits = _LIMITS if is_odd else tuple(limit for limit in _LIMITS if limit >= 0)
        self.offset = rng.choice((0, 0, 100))
        self.now = NOON if rng.random() < 0.9 else rng.choice((1, 1_000, 0, -5_000))
        self.times = [self.now]
        self.ends: list[int] = [self.now]
        """Times at which files begin or end."""
        self.end_offsets: list[int] = [self.offset]
        self.room = 0
        """Entries that still fit into the last file."""

    # --- files that exist at the start --------------------------------------------------------------------

    def lay(self) -> None:
        rng = self.rng
        keys = [f"{topic}#{word}" for topic in self.topics for word in self.words]
        entries = self.geometry[1]
        for number in range(rng.randrange(1, self.profile.most_files + 1)):
            name = f"20200101000000{number:03}"
            count = rng.choice((entries, entries, entries - 1, 2, 1))
            odd = rng.random() < self.profile.odd_files
            header = self._odd_header() if odd and rng.random() < 0.5 else None
            count = max(1, count)
            image, laid = lay_file(
                rng, self.geometry, keys, begin=self.now, offset=self.offset, count=count, header=header
            )
            if odd and header is None:
                name, image = self._odd_file(name, image)
            if self.profile.odd_numbers and rng.random() < self.profile.odd_numbers:
                name = rng.choice(_NUMBERS)
            self.files[f"index/{name}"] = image
            self.ends += [laid["begin"], laid["end"]]
            self.end_offsets.append(laid["end_offset"])
            self.room = max(0, entries - count)
            self.now += 1000 * min(count, 64) + rng.choice((0, 0, 500, 1000, -1500))
            self.offset += 100 * min(count, 64)

    def _odd_header(self) -> dict[str, int]:
        rng = self.rng
        entries = self.geometry[1]
        return rng.choice(
            (
                {"count": rng.choice((0, -1, entries + 1, 2 * entries, I32_MAX, _I32_MIN))},
                {"begin": 0, "end": 0},
                {"end": self.now - 5_000},
                {"end_offset": rng.choice((0, -1, I64_MAX))},
                {"slots": rng.choice((0, -1))},
            )
        )

    def _odd_file(self, name: str, image: FileImage) -> tuple[str, FileImage]:
        rng = self.rng
        kind = rng.randrange(4)
        if kind == 0:
            return rng.choice(_ODD_NAMES), image
        if kind == 1:
            return f"{name}/x", image_of(b"")  # a directory in the place of a file
        length = rng.choice((0, 20, 39, 40, 41, image.size - 20, image.size - 1, image.size + 1))
        return name, image.resized(max(0, length))

    # --- moves --------------------------------------------------------------------------------------------

    def reopen(self) -> None:
        rng = self.rng
        last_exit_ok = rng.random() >= self.profile.unclean
        index_time = rng.choice(self.ends) + rng.choice((-1, 0, 0, 1, 1000))
        if rng.random() < 0.15:
            index_time = rng.choice((0, -1, I64_MAX, I64_MIN))
        self.add(
            "open",
            hash_slot_num=self.geometry[0],
            index_num=self.geometry[1],
            last_exit_ok=last_exit_ok,
            index_msg_timestamp=from_i64(clamped(index_time)),
        )

    def _time(self) -> int:
        rng = self.rng
        self.now += rng.choice((0, 1, 499, 500, 999, 1000, 1001, 5_000))
        if rng.random() < self.profile.backward:
            back = rng.choice((-1, -1000, -20_000))
            return clamped(rng.choice((self.now + back, self.now + back, 0, any_i64(rng))))
        return self.now

    def _keys(self, most: int) -> tuple[str | None, str | None]:
        """The unique key and the keys of a message: few enough that it makes at most one file."""
        rng = self.rng
        uniq_key: str | None = None
        if most > 1 and rng.random() < 0.4:
            uniq_key = rng.choice(self.unique)
            most -= 1
        if rng.random() < 0.12:
            return uniq_key, rng.choice((None, "", " ", "  "))
        if rng.random() < self.profile.odd_texts:
            text = draw_text(rng, rng.choice(self.profile.kinds))
            return uniq_key, " ".join(part for part in text.split(" ")[:most])
        parts = [rng.choice(self.words) for _ in range(rng.randrange(1, most + 1))]
        return uniq_key, " ".join(parts)

    def build(self) -> None:
        rng = self.rng
        most = min(4, self.geometry[1] - 1)
        uniq_key, keys = self._keys(max(1, most))
        offset = self.offset
        if rng.random() < self.profile.repeats:
            offset = clamped(rng.choice((*self.end_offsets, self.offset - 100)) + rng.choice((-1, 0, 0, 1)))
        else:
            self.offset += rng.choice((100, 100, 1, 0))
        flag = rng.choice(_FLAGS) if rng.random() < self.profile.flags else 0
        when = self._time()
        unique: dict[str, object] = (
            {"uniq_key": None} if uniq_key is None else {**key_fields(uniq_key, "uniq_key")}
        )
        shown: dict[str, object] = {"keys": None} if keys is None else {**key_fields(keys, "keys")}
        self.add(
            "build",
            topic=rng.choice(self.topics),
            **unique,
            **shown,
            commit_log_offset=from_i64(offset),
            store_timestamp=from_i64(when),
            sys_flag=flag,
        )
        self.times.append(when)
        puts = (uniq_key is not None) + len([part for part in (keys or "").split(" ") if part])
        if self.room - puts <= 0:
            self.ends.append(when)
            self.end_offsets.append(offset)
            self.room += self.geometry[1] - 1
        self.room -= puts

    def window(self) -> tuple[int, int]:
        rng = self.rng
        if rng.random() >= self.profile.edges:
            return rng.choice(((0, I64_MAX), (I64_MIN, I64_MAX), (any_i64(rng), any_i64(rng))))
        begin = rng.choice(self.ends) if rng.random() < 0.7 else rng.choice(self.times)
        end = rng.choice(self.ends) if rng.random() < 0.5 else rng.choice(self.times)
        near = (-1000, -999, -1, 0, 0, 0, 1, 999, 1000)
        if rng.random() < 0.3:
            end = I64_MAX - 1000
        elif rng.random() < 0.2:
            begin = 0
        return clamped(begin + rng.choice(near)), clamped(end + rng.choice(near))

    def query(self) -> None:
        rng = self.rng
        limit = rng.choice(self.limits) if rng.random() < self.profile.limits else 32
        begin, end = self.window()
        key = rng.choice(self.words) if rng.random() < 0.9 else rng.choice(("", "none", "id 1 2"))
        self.add(
            "query",
            topic=rng.choice(self.topics),
            **key_fields(key),
            max_num=limit,
            begin=from_i64(begin),
            end=from_i64(end),
        )

    def delete_expired(self) -> None:
        rng = self.rng
        offset = rng.choice((*self.end_offsets, self.offset)) + rng.choice((-1, 0, 0, 1, 1))
        if rng.random() < 0.05:
            offset = rng.choice((I64_MAX, I64_MIN, 0))
        self.add("delete_expired", offset=from_i64(clamped(offset)))


# --- properties ---------------------------------------------------------------------------------------


def service_property(name: str, clauses: tuple[str, ...], settings: Settings) -> Property:
    """A property of the index service."""
    profile = profile_of(ServiceProfile, settings)
    needs = ("build",) if profile.laid < 1 else ()
    ops, needed = operations("service", profile.weights, always=(), needs=needs)

    def draw(rng: Random, geometry: Geometry | None, _number: int) -> Drawn:
        builder = _ServiceOperations(rng, profile, geometry)
        if rng.random() < profile.laid:  # over files that an earlier run may have left
            builder.lay()
        builder.reopen()
        length = list_length(rng, profile.mean)
        return builder.drawn(profile.weights, length, most=length)

    features = LONE if "lone" in profile.kinds else frozenset[str]()
    return Property(name, clauses, ops, needed, draw, features, **scope_of(settings))
