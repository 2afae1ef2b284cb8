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

_TIMES: Final = ("physic_msg_timestamp", "logics_msg_timestamp", "index_msg_timestamp")


def _log(name: str, pieces: tuple[Callable[[Random], bytes], ...], *also: str) -> Property:
    def draw(rng: Random, _geometry: Geometry | None) -> Drawn:
        return of.draw_log(rng, pieces)

    ops = frozenset({"log.dispatch"})
    return Property(name, (name.partition("/")[0], *also), ops, ops, draw)


LOG_PROPERTIES: Final = (
    _log("LOG-REC-2/prop-hosts", (of.hosts,)),
    _log("LOG-REC-3/prop-lengths", (of.lengths,), "LOG-DSP-6"),
    _log("LOG-REC-4/prop-checksums", (of.checksums,)),
    _log("LOG-REC-5/prop-transaction-types", (of.transaction_types,)),
    _log("LOG-REC-8/prop-batches", (of.batches,), "LOG-DSP-1"),
    _log("LOG-PROP-2/prop-separators", (of.property_texts,), "LOG-PROP-1", "LOG-PROP-3", "LOG-PROP-4"),
    _log("LOG-BLANK-2/prop-blanks", (of.blanks,)),
    _log("LOG-DSP-1/prop-fields", (of.fields,)),
    _log("LOG-DSP-2/prop-keys-and-tags", (of.named_properties,), "LOG-DSP-3", "LOG-DSP-4"),
    _log("LOG-DSP-5/prop-delay-levels", (of.delays,), "CQ-TAGS-2"),
    _log("LOG-DSP-6/prop-torn", (of.torn,)),
    _log("LOG-DSP-6/prop-damaged", (of.damage,), "LOG-REC-3", "LOG-REC-4"),
    _log("UTF8-1/prop-malformed", (of.malformed_text,)),
)
"""In the order of their clauses."""


def _times(rng: Random) -> Op:
    return {"op": "checkpoint.write", **{name: from_i64(any_i64(rng)) for name in _TIMES}}


def _checkpoint(name: str, *also: str, laid: float, sizes: tuple[int, ...], write: float) -> Property:
    def draw(rng: Random, _geometry: Geometry | None) -> Drawn:
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
