"""The properties of index files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Final

from rocket_conformance.properties._damage import damaged_chains, damaged_header, nearly_full, other_length
from rocket_conformance.properties._drawn import Drawn
from rocket_conformance.properties._keys import draw_key
from rocket_conformance.properties._lists import Profile, draw_list
from rocket_conformance.properties._property import LONE, Geometry, Property, operations
from rocket_conformance.properties._triples import index_triples
from rocket_conformance.protocol import key_fields

if TYPE_CHECKING:
    DrawByProfile = Callable[[Random, Profile, Geometry | None], Drawn]


_MIXED: Final = Profile(
    {"put": 50, "select": 20, "header": 4, "full": 3, "time_matched": 5, "flush": 3, "reopen": 4, "hash": 1}
)
_PUTS: Final = Profile({"put": 80, "select": 8, "header": 6, "full": 3})
_READS: Final = Profile(
    {"select": 60, "put": 12, "header": 6, "full": 4, "time_matched": 10, "reopen": 2}, most=300
)
_WINDOWS: Final = Profile({"put": 35, "select": 60}, edges=0.95, odd_limits=0.05, seeded=0.1)
_WRAPPED_SLOTS: Final = (1, 7, (1 << 30), (1 << 30) + 2)
_WRAPPED_ENTRIES: Final = (214_748_364, 214_748_365, 214_748_366, 214_748_367, 429_496_730, 429_496_732)


def _plain(rng: Random, profile: Profile, geometry: Geometry | None) -> Drawn:
    return draw_list(rng, profile, geometry=geometry)


def _key_hashes(rng: Random, profile: Profile, _geometry: Geometry | None) -> Drawn:
    count = rng.randrange(1, 60)
    keys = [draw_key(rng, rng.choice(profile.keys)) for _ in range(count)]
    return Drawn(tuple({"op": "key.hash", **key_fields(key)} for key in keys))


def _property(
    name: str,
    profile: Profile,
    draw: DrawByProfile = _plain,
    *also: str,
    any_geometry: bool = False,
    beyond: str | None = None,
) -> Property:
    always = ("flush", "close") if "reopen" in profile.weights else ()
    ops, needs = operations("index", profile.weights, always=always, needs=("put",) if draw is _plain else ())
    if "index.hash" in ops:
        ops = ops - {"index.hash"} | {"key.hash"}
    if draw is _key_hashes:
        ops = needs = frozenset({"key.hash"})

    def draw_one(rng: Random, geometry: Geometry | None, _number: int) -> Drawn:
        return draw(rng, profile, geometry)

    features = LONE if "lone" in profile.keys else frozenset[str]()
    clauses = (name.partition("/")[0], *also)
    return Property(name, clauses, ops, needs, draw_one, features, any_geometry, beyond)


_TRIPLES: Final = frozenset({"index.open", "index.put", "index.flush"})

INDEX_PROPERTIES: Final = (
    _property("IDX-HASH-1/prop-key-hash", _MIXED, _key_hashes, "IDX-HASH-2"),
    _property(
        "IDX-HASH-1/prop-lone-surrogates", replace(_MIXED, keys=("lone", "emoji", "plain")), _key_hashes
    ),
    _property(
        "IDX-HASH-1/prop-lone-surrogate-puts", replace(_MIXED, keys=("lone", "lone", "colliding", "emoji"))
    ),
    _property(
        "IDX-HASH-3/prop-few-slots", replace(_MIXED, slots=(1, 2, 3, 5), keys=("extreme", "emoji", "plain"))
    ),
    _property("IDX-FILE-1/prop-other-length", _READS, other_length),
    _property("IDX-FILE-2/prop-seeds", replace(_MIXED, seeded=0.9), _plain, "IDX-PUT-8", beyond="no_seeds"),
    _property(
        "IDX-FILE-3/prop-wrapped-size",
        replace(_PUTS, slots=_WRAPPED_SLOTS, entries=_WRAPPED_ENTRIES),
        _plain,
        "IDX-PUT-9",
        "IDX-SEL-8",
        any_geometry=True,
    ),
    _property(
        "IDX-FILE-5/prop-reopen-without-load",
        replace(_MIXED, weights={"put": 45, "select": 25, "reopen": 12, "header": 5}, unloaded=0.9),
        _plain,
        "IDX-PUT-5",
        beyond="no_reload_choice",
    ),
    _property("IDX-HDR-4/prop-slot-count", replace(_PUTS, slots=(1, 2, 3), keys=("colliding", "plain"))),
    _property(
        "IDX-PUT-1/prop-fill",
        replace(
            _PUTS, entries=(0, 1, 2, 3, 5, 8, 20), weights={"put": 70, "full": 15, "select": 10, "header": 5}
        ),
        _plain,
        "IDX-FULL-1",
    ),
    _property("IDX-PUT-1/prop-nearly-full", _PUTS, nearly_full, "IDX-FULL-1"),
    _property(
        "IDX-PUT-2/prop-times",
        replace(_PUTS, entries=(40, 220), times=("close", "shuffled", "decades", "extreme")),
        _plain,
        "IDX-PUT-4",
    ),
    _property(
        "IDX-PUT-3/prop-times-around-zero",
        replace(_PUTS, times=("around_zero", "negative"), entries=(40, 220)),
    ),
    _property("IDX-PUT-6/prop-lists", _MIXED),
    Property(
        "IDX-PUT-6/prop-triples",
        ("IDX-PUT-6", "IDX-PUT-2", "IDX-HDR-4"),
        _TRIPLES | {"index.select", "index.header"},
        _TRIPLES,
        index_triples,
        any_geometry=True,
    ),
    _property(
        "IDX-PUT-10/prop-odd-geometry",
        replace(_MIXED, slots=(0, 0, 1, 2), entries=(0, 1, 2, 3, 8)),
        _plain,
        "IDX-SEL-10",
        any_geometry=True,
        beyond="positive_geometry",
    ),
    _property(
        "IDX-SEL-2/prop-long-chains", replace(_MIXED, slots=(1, 2), entries=(220,), keys=("colliding",))
    ),
    _property("IDX-SEL-3/prop-limits", replace(_READS, odd_limits=0.95, entries=(12, 40))),
    _property(
        "IDX-SEL-4/prop-windows",
        replace(_WINDOWS, slots=(1, 3), entries=(40, 220), times=("steady", "close", "shuffled")),
        _plain,
        "IDX-SEL-7",
    ),
    _property("IDX-SEL-6/prop-damaged-chains", _READS, damaged_chains, "IDX-SEL-5", "IDX-SEL-1"),
    _property(
        "IDX-TIME-1/prop-time-matched",
        replace(_MIXED, weights={"put": 30, "time_matched": 60, "reopen": 3}, edges=0.9),
        _plain,
        "IDX-TIME-2",
        "IDX-TIME-3",
    ),
    _property(
        "IDX-LOAD-1/prop-reopen",
        replace(_MIXED, weights={"put": 45, "select": 25, "reopen": 12, "header": 5}, unloaded=0.05),
        _plain,
        "IDX-FLUSH-1",
    ),
    _property("IDX-LOAD-2/prop-damaged-header", _READS, damaged_header),
)
"""In the order of their clauses."""
