"""The properties of commit log and checkpoint."""

from collections.abc import Callable
from random import Random
from typing import Final

from rocket_conformance.files import image_of
from rocket_conformance.properties import _log_lists as of
from rocket_conformance.properties._drawn import Drawn
from rocket_conformance.properties._keys import any_i64
from rocket_conformance.properties._property import Geometry, Property
from rocket_conformance.protocol import Op, from_i64

_Piece = Callable[[Random], bytes]
_TIMES: Final = ("physic_msg_timestamp", "logics_msg_timestamp", "index_msg_timestamp")


_LOGS: Final[tuple[tuple[str, str, _Piece, tuple[str, ...]], ...]] = (
    ("LOG-REC-2", "hosts", of.hosts, ()),
    ("LOG-REC-3", "lengths", of.lengths, ("LOG-DSP-6",)),
    ("LOG-REC-4", "checksums", of.checksums, ()),
    ("LOG-REC-5", "transaction-types", of.transaction_types, ()),
    ("LOG-REC-8", "batches", of.batches, ("LOG-DSP-1",)),
    ("LOG-PROP-2", "separators", of.property_texts, ("LOG-PROP-1", "LOG-PROP-3", "LOG-PROP-4")),
    ("LOG-BLANK-2", "blanks", of.blanks, ()),
    ("LOG-DSP-1", "fields", of.fields, ("LOG-REC-1",)),
    ("LOG-DSP-2", "keys-and-tags", of.named_properties, ("LOG-DSP-3", "LOG-DSP-4")),
    ("LOG-DSP-5", "delay-levels", of.delays, ("CQ-TAGS-2",)),
    ("LOG-DSP-6", "torn", of.torn, ()),
    ("LOG-DSP-6", "damaged", of.damage, ("LOG-REC-3", "LOG-REC-4")),
    ("UTF8-1", "malformed", of.malformed_text, ()),
)
"""Clause, name, what makes one record or more, and the other clauses; in the order of their clauses."""


def _log(operation: str, clause: str, slug: str, piece: _Piece, also: tuple[str, ...]) -> Property:
    def draw(rng: Random, _geometry: Geometry | None, _number: int) -> Drawn:
        return of.draw_log(rng, operation, piece)

    ops = frozenset({operation})
    prefix = "prop" if operation == "log.dispatch" else "prop-read"
    return Property(f"{clause}/{prefix}-{slug}", (clause, *also), ops, ops, draw)


LOG_PROPERTIES: Final = tuple(
    _log(operation, *row) for operation in ("log.dispatch", "log.read") for row in _LOGS
)
"""Each for implementations that dispatch, and for tools that only read."""


def _times(rng: Random) -> Op:
    return {"op": "checkpoint.write", **{name: from_i64(any_i64(rng)) for name in _TIMES}}


def _checkpoint(name: str, *also: str, laid: float, sizes: tuple[int, ...], write: float) -> Property:
    def draw(rng: Random, _geometry: Geometry | None, _number: int) -> Drawn:
        ops = [
            _times(rng) if rng.random() < write else {"op": "checkpoint.read"}
            for _ in range(rng.randrange(1, 12))
        ]
        if rng.random() >= laid:
            return Drawn(tuple(ops))
        data = rng.randbytes(min(rng.choice((0, 24, 64)), size := rng.choice(sizes)))
        return Drawn(tuple(ops), {"checkpoint": image_of(data.ljust(size, rng.choice((b"\0", b"\xff"))))})

    ops = frozenset({"checkpoint.read", "checkpoint.write"} if write else {"checkpoint.read"})
    needs = frozenset({"checkpoint.read"})
    return Property(name, (name.partition("/")[0], *also), ops, needs, draw)


CHECKPOINT_PROPERTIES: Final = (
    _checkpoint("CKP-1/prop-times", "CKP-4", laid=0.5, sizes=(4096,), write=0.5),
    _checkpoint(
        "CKP-2/prop-lengths", laid=0.9, sizes=(0, 1, 8, 23, 24, 25, 32, 4095, 4096, 4097, 8192), write=0.3
    ),
)
"""In the order of their clauses."""
