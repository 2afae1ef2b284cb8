"""The properties of consume queues and of tags codes."""

from random import Random
from typing import Final

from rocket_conformance.properties._drawn import Drawn
from rocket_conformance.properties._keys import draw_text
from rocket_conformance.properties._property import LONE, Geometry, Property, operations
from rocket_conformance.properties._queue_lists import QueueProfile, draw_queue
from rocket_conformance.properties._triples import queue_triples
from rocket_conformance.protocol import Op, key_fields

_PUTS: Final = {"put": 60, "get": 15, "bounds": 15}
_MIXED: Final = {
    **_PUTS,
    "recover": 5,
    "truncate": 5,
    "correct_min": 5,
    "delete_expired": 5,
    "last_offset": 5,
    "reopen": 5,
}


def _queue(name: str, profile: QueueProfile, *also: str) -> Property:
    needs = ("put",) if profile.laid < 1 else ()
    ops, needed = operations("queue", profile.weights, always=("recover",), needs=needs)

    def draw(rng: Random, geometry: Geometry | None, _number: int) -> Drawn:
        return draw_queue(rng, profile, geometry)

    return Property(name, (name.partition("/")[0], *also), ops, needed, draw)


def _tags(name: str, kinds: tuple[str, ...], features: frozenset[str] = frozenset()) -> Property:
    def draw(rng: Random, _geometry: Geometry | None, _number: int) -> Drawn:
        ops: list[Op] = []
        for _ in range(rng.randrange(1, 40)):
            text = None if rng.random() < 0.05 else draw_text(rng, rng.choice(kinds))
            ops.append({"op": "tags.code"} | ({"tags": None} if text is None else key_fields(text, "tags")))
        return Drawn(tuple(ops))

    ops = frozenset({"tags.code"})
    return Property(name, ("CQ-TAGS-1",), ops, ops, draw, features)


_TRIPLES: Final = frozenset(f"queue.{name}" for name in ("open", "put", "get", "bounds", *_MIXED)) - {
    "queue.reopen"
}

QUEUE_PROPERTIES: Final = (
    _queue(
        "CQ-UNIT-3/prop-units-in-use",
        QueueProfile(
            {"recover": 20, "get": 20, "truncate": 10, "last_offset": 15, "bounds": 10, "put": 15},
            laid=1.0,
            damaged=0.2,
            mean=14,
        ),
        "CQ-REC-2",
    ),
    _queue(
        "CQ-FILE-1/prop-file-sizes",
        QueueProfile(_PUTS, sizes=(1, 19, 20, 21, 39, 40, 41, 59, 60, 61, 0, -1, -20), laid=0.2),
        "CQ-FILE-2",
    ),
    _queue("CQ-FILE-4/prop-many-files", QueueProfile(_PUTS, sizes=(40, 60), laid=0.1, astray=0.03, mean=40)),
    _tags("CQ-TAGS-1/prop-tags-codes", ("plain", "colliding", "extreme", "cjk", "emoji", "separators")),
    _tags("CQ-TAGS-1/prop-lone-surrogates", ("lone", "emoji"), LONE),
    _queue(
        "CQ-LOAD-1/prop-odd-files",
        QueueProfile(
            {"get": 20, "bounds": 20, "put": 20, "reopen": 15, "recover": 10},
            laid=1.0,
            odd_files=0.3,
            recovered=0.4,
            mean=12,
        ),
        "CQ-LOAD-2",
    ),
    _queue(
        "CQ-GET-1/prop-gets",
        QueueProfile(
            {"get": 60, "put": 15, "correct_min": 6, "delete_expired": 5, "reopen": 4, "truncate": 4}
        ),
        "CQ-BND-1",
    ),
    _queue(
        "CQ-PUT-1/prop-repeats", QueueProfile(_PUTS | {"reopen": 4}, repeats=0.6, astray=0.05), "CQ-PUT-7"
    ),
    _queue(
        "CQ-PUT-2/prop-logical-offsets",
        QueueProfile(_PUTS | {"reopen": 4}, astray=0.6, far=0.02, repeats=0.05),
        "CQ-PUT-3",
        "CQ-PUT-4",
    ),
    Property(
        "CQ-PUT-3/prop-triples",
        ("CQ-PUT-3", "CQ-PUT-4", "CQ-REC-1", "CQ-TRUNC-2"),
        _TRIPLES,
        frozenset({"queue.open", "queue.put"}),
        queue_triples,
    ),
    _queue("CQ-PUT-5/prop-rolls", QueueProfile(_PUTS, sizes=(20, 40, 60), astray=0.1, laid=0.4, mean=30)),
    _queue(
        "CQ-PUT-6/prop-first-offsets",
        QueueProfile(
            _PUTS | {"correct_min": 5, "truncate": 5, "recover": 3},
            laid=0.05,
            first=(1, 2, 3, 4, 5, 6, 9, 10, 11, 50),
            mean=8,
        ),
        "CQ-UNIT-2",
        "CQ-TRUNC-5",
    ),
    _queue(
        "CQ-PUT-8/prop-negative-and-far-offsets",
        QueueProfile(
            _PUTS | {"recover": 4},
            laid=0.1,
            first=(-1, -2, -3, -5, -6, 1 << 59, 922337203685477580, 922337203685477581, 1 << 62),
            astray=0.2,
            far=0.4,
            mean=8,
        ),
    ),
    _queue(
        "CQ-REC-1/prop-many-files",
        QueueProfile(
            {"recover": 20, "bounds": 10, "get": 10, "put": 20, "reopen": 10},
            laid=1.0,
            most_files=6,
            damaged=0.08,
            mean=12,
        ),
        "CQ-REC-3",
        "CQ-REC-4",
    ),
    _queue(
        "CQ-TRUNC-2/prop-truncations",
        QueueProfile(
            {"truncate": 30, "bounds": 5, "put": 25, "recover": 15, "reopen": 5, "correct_min": 3},
            laid=0.85,
            damaged=0.04,
            mean=12,
        ),
        "CQ-TRUNC-1",
        "CQ-TRUNC-3",
        "CQ-TRUNC-4",
        "CQ-TRUNC-7",
    ),
    _queue(
        "CQ-MIN-1/prop-minimum",
        QueueProfile(
            {"correct_min": 40, "bounds": 5, "get": 15, "put": 20, "delete_expired": 5, "reopen": 4}, laid=0.8
        ),
        "CQ-MIN-2",
    ),
    _queue(
        "CQ-DEL-1/prop-expiry",
        QueueProfile(
            {"delete_expired": 30, "put": 25, "get": 10, "reopen": 5}, laid=0.9, most_files=6, damaged=0.03
        ),
    ),
    _queue(
        "CQ-LAST-1/prop-last-offsets",
        QueueProfile(
            {"last_offset": 30, "put": 30, "truncate": 12, "recover": 8, "reopen": 5, "bounds": 5},
            sizes=(40, 60, 100),
            laid=0.7,
            damaged=0.05,
        ),
        "CQ-LAST-2",
    ),
    _queue("CQ-BND-1/prop-histories", QueueProfile(_MIXED, damaged=0.03, mean=40), "CQ-REC-2", "CQ-TRUNC-2"),
)
"""In the order of their clauses."""
