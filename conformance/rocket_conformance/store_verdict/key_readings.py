"""Entries whose keys are not those of their record: the rule that gives the hashes that were found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from rocket_reference import java, key_hash

from rocket_conformance.store_verdict.index_bytes import Entry, StoredIndex
from rocket_conformance.store_verdict.observations import Place
from rocket_conformance.store_verdict.stored_record import StoredRecord

_SEPARATORS: Final = (",", ";", "|", "\t", ", ")
_BETWEEN: Final = ("@", "", ":", "-", "_", "%", "/", " ", ".", "##")


@dataclass(frozen=True, slots=True)
class Put:
    """One entry and where it is."""

    file: StoredIndex
    number: int
    entry: Entry

    def place(self, field: str, found: object, expected: object, record: object = "") -> Place:
        """Where a field of it is, with what was found and expected."""
        at = {"key_hash": 0, "phy_offset": 4, "time_diff": 12, "prev_entry": 16}.get(field, 0)
        offset = self.file.geometry.entries_offset + 20 * self.number + at
        return Place(self.file.name, offset, f"entry {self.number} {field}", found, expected, str(record))


def wrong_keys(run: Sequence[Put], stored: StoredRecord) -> tuple[str, Place]:
    """The clause that entries of a record break, and the first entry that is wrong.

    Readings of the record's keys are tried: one that gives all hashes that were found names the clause, and the place says
    what was indexed.

    Args:
        run: the entries, of which at least one is wrong, missing or too many.
        stored: the record.
    """
    found = [put.entry.key_hash for put in run]
    expected = list(zip(stored.keys, stored.hashes, strict=True))
    at = next(
        number
        for number, (one, other) in enumerate(zip_longest(found, stored.hashes))
        if one != other or number + 1 == max(len(found), len(stored.hashes))
    )
    put = run[min(at, len(run) - 1)]
    key, hashed = expected[at] if at < len(expected) else ("", None)
    wanted: object = "no further key" if hashed is None else hashed
    hit: object = found[at] if at < len(found) else "no further entry"
    about = f"{stored}, key {key.partition('#')[2]!r}" if key else str(stored)
    for clause, reading, texts in _readings(stored):
        if [key_hash(text) for text in texts] == found:
            return clause, put.place("key_hash", hit, wanted, f"{about}; found are {reading}")
    place = put.place("key_hash", hit, wanted, about)
    if at < len(found) and found[:at] + list(stored.hashes[at : at + 1]) + found[at:] == list(stored.hashes):
        return ("IDX-SVC-3" if put.number == 1 else "IDX-SVC-2"), place
    if len(found) != len(expected) or hit in stored.hashes:
        return "IDX-SVC-2", place
    return ("IDX-HASH-2" if java.string_hash(key) == java.I32_MIN else "IDX-HASH-1"), place


def _readings(stored: StoredRecord) -> Iterator[tuple[str, str, list[str]]]:
    """Wrong readings of a record: the clause that each breaks, in words what is indexed, and the texts that are hashed."""
    request = stored.request
    topic, unique, keys = request.topic, request.uniq_key, request.keys or ""
    first = [] if unique is None else [unique]
    parts = [part for part in java.split_one_space(keys) if part]
    several: list[tuple[str, list[str]]] = [
        ("the keys unsplit", [*first, keys]),
        ("the keys without the unique key", parts),
        ("the unique key alone", first),
        ("the unique key after the keys", [*parts, *first]),
        ("repeated keys once", list(dict.fromkeys([*first, *parts]))),
        ("the first key alone", [*first, *parts[:1]]),
        ("all keys but the last", [*first, *parts[:-1]]),
        ("the keys in reverse", [*first, *reversed(parts)]),
        ("the keys in alphabetical order", [*first, *sorted(parts)]),
        ("empty parts too", [*first, *java.split_one_space(keys)]),
        ("empty parts too, the last ones included", [*first, *keys.split(" ")]),
        ("parts of the keys split at any white space", [*first, *keys.split()]),
        *((f"parts of the keys split at {text!r}", [*first, *keys.split(text)]) for text in _SEPARATORS),
        *(
            (f"parts of the keys split at {text!r}, none empty", [*first, *filter(None, keys.split(text))])
            for text in _SEPARATORS
        ),
        ("the tag after the keys, as since 5.4.0", [*first, *parts, f"T#{_tags(stored)}"]),
    ]
    for reading, texts in several:
        yield "IDX-SVC-2", reading, [f"{topic}#{text}" for text in texts]
    whole = [*first, *parts]
    yield "IDX-SVC-1", "keys without their topic", whole
    for between in _BETWEEN:
        yield (
            "IDX-SVC-1",
            f"keys with {between!r} after the topic",
            [f"{topic}{between}{text}" for text in whole],
        )
    yield "IDX-SVC-1", "keys in lower case", [f"{topic}#{text.lower()}" for text in whole]
    yield "IDX-SVC-1", "keys in upper case", [f"{topic}#{text.upper()}" for text in whole]
    yield (
        "IDX-SVC-1",
        "keys of which those of the client are in lower case",
        [f"{topic}#{text}" for text in [*first, *(part.lower() for part in parts)]],
    )
    yield "IDX-SVC-1", "keys before their topic", [f"{text}#{topic}" for text in whole]
    yield "IDX-SVC-1", "lower case, topics too", [f"{topic}#{text}".lower() for text in whole]


def _tags(stored: StoredRecord) -> str:
    return (stored.request.properties or {}).get("TAGS", "")
