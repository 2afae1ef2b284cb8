"""The properties of the index service."""

from random import Random
from typing import Final

from rocket_conformance.properties._drawn import Drawn
from rocket_conformance.properties._property import LONE, Geometry, Property, operations
from rocket_conformance.properties._service_lists import ServiceProfile, draw_service

_BUILDS: Final = {"build": 60, "query": 25, "settle": 5}
_MIXED: Final = {"build": 50, "query": 25, "settle": 5, "delete_expired": 8, "reopen": 7}


def _service(
    name: str,
    profile: ServiceProfile,
    *also: str,
    any_geometry: bool = False,
    lone: bool = False,
    beyond: str | None = None,
) -> Property:
    needs = ("build",) if profile.laid < 1 else ()
    ops, needed = operations("service", profile.weights, always=(), needs=needs)
    clauses = (name.partition("/")[0], *also)

    def draw(rng: Random, geometry: Geometry | None, _number: int) -> Drawn:
        return draw_service(rng, profile, geometry)

    return Property(name, clauses, ops, needed, draw, LONE if lone else frozenset(), any_geometry, beyond)


SERVICE_PROPERTIES: Final = (
    _service("IDX-SVC-1/prop-topics-and-keys", ServiceProfile(_BUILDS, slots=(1, 2), edges=0.1, laid=0.2)),
    _service(
        "IDX-SVC-2/prop-keys-texts",
        ServiceProfile(_BUILDS, odd_texts=0.8, kinds=("separators", "emoji", "extreme"), edges=0.1, laid=0.1),
        "IDX-SVC-10",
    ),
    _service(
        "IDX-SVC-2/prop-lone-surrogates",
        ServiceProfile(
            _BUILDS,
            words=("\ud800", "\udc00a", "\ud83d\ude00\ud83d", "k", "\U0001f600"),
            odd_texts=0.4,
            kinds=("lone",),
            edges=0.1,
            laid=0.1,
        ),
        "IDX-SVC-1",
        lone=True,
    ),
    _service(
        "IDX-SVC-3/prop-rolls",
        ServiceProfile(_BUILDS, slots=(1, 3, 7), entries=(4, 5), laid=0.3, mean=25),
        "IDX-SVC-4",
        "IDX-FILE-2",
        "IDX-PUT-8",
    ),
    _service(
        "IDX-SVC-5/prop-laid-files",
        ServiceProfile(
            {"query": 40, "build": 30, "reopen": 10, "settle": 5},
            laid=1.0,
            odd_files=0.4,
            unclean=0.1,
            mean=12,
        ),
    ),
    _service(
        "IDX-SVC-5/prop-name-order",
        ServiceProfile(
            {"query": 60, "build": 20, "reopen": 15, "delete_expired": 5},
            laid=1.0,
            most_files=6,
            odd_files=0.0,
            odd_numbers=0.8,
            unclean=0.1,
            mean=12,
        ),
        "IDX-SVC-13",
        "IDX-SVC-15",
    ),
    _service(
        "IDX-SVC-6/prop-unclean-exits",
        ServiceProfile(
            {"reopen": 20, "build": 35, "query": 20, "settle": 10}, laid=0.8, unclean=0.8, mean=14
        ),
    ),
    _service(
        "IDX-SVC-8/prop-repeats",
        ServiceProfile({"build": 65, "query": 15, "reopen": 6}, repeats=0.6, laid=0.5),
        "IDX-SVC-7",
    ),
    _service("IDX-SVC-9/prop-transaction-types", ServiceProfile(_BUILDS, flags=0.9, laid=0.2, edges=0.1)),
    _service(
        "IDX-SVC-11/prop-limits",
        ServiceProfile(
            {"build": 70, "query": 30},
            slots=(1, 2),
            entries=(12, 40, 40),
            words=("Aa", "BB"),
            limits=0.8,
            laid=0.7,
            edges=0.2,
            odd_texts=0.0,
            mean=40,
        ),
        "IDX-SVC-12",
    ),
    _service(
        "IDX-SVC-13/prop-windows",
        ServiceProfile(
            {"build": 40, "query": 60},
            slots=(1, 2),
            entries=(4, 5, 8),
            words=("Aa", "k"),
            edges=0.95,
            laid=0.6,
        ),
        "IDX-SVC-14",
        "IDX-SVC-15",
    ),
    _service(
        "IDX-SVC-16/prop-no-slots",
        ServiceProfile(
            {"build": 40, "query": 40, "settle": 5}, slots=(0, 0, 0, 1), laid=0.6, edges=0.7, mean=10
        ),
        any_geometry=True,
        beyond="positive_geometry",
    ),
    _service(
        "IDX-SVC-17/prop-expiry",
        ServiceProfile({"delete_expired": 30, "build": 40, "query": 15, "reopen": 3}, laid=0.8, most_files=6),
    ),
    _service(
        "IDX-SVC-18/prop-index-time",
        ServiceProfile(
            {"build": 50, "settle": 35, "reopen": 5, "delete_expired": 3},
            entries=(4, 4, 5),
            laid=0.4,
            backward=0.4,
        ),
    ),
    _service("IDX-SVC-7/prop-histories", ServiceProfile(_MIXED, mean=35), "IDX-SVC-8", "IDX-SVC-13"),
)
"""In the order of their clauses, the histories of everything last."""
