"""The record of a workload: what was sent, what the broker acknowledged, what it answered to which question."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rocket_spec.errors import MalformedError

from rocket_conformance.input_files import read_input

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Manifest", "Sent", "read_manifest"]

_FORMAT: Final = "rocketspec_workload"
_LARGEST: Final = 256 << 20
_NONE: Final = type(None)
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "topic": (str,),
    "queue": (int,),
    "queue_offset": (int,),
    "phy_offset": (int, _NONE),
    "unique_key": (str,),
    "keys": (str,),
    "body_size": (int,),
    "kind": (str,),
    "body_crc": (int, _NONE),
    "properties": (dict,),
    "batch": (int, _NONE),
    "store_host": (str, _NONE),
    "raw": (str, _NONE),
    "shows": (list, _NONE),
}
"""Of the fields of `Sent`, in JSON."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the broker acknowledged.

    Attributes:
        topic: it is stored under; a half message is under another one at first.
        queue: queue number.
        queue_offset: logical offset.
        phy_offset: physical offset, bytes; None where the broker gave no offset id.
        unique_key: the client's id of it.
        keys: as sent.
        body_size: of the body as sent, bytes.
        kind: send, batch, raw_batch or transaction.
        body_crc: CRC-32 of the body as sent; None where it is not compared.
        properties: those that the record must have, whatever others it has.
        batch: number of the batch that it was sent in.
        store_host: the broker's address as the offset id has it, `HOST:PORT`.
        raw: the properties as sent, in Base64, of a message of a raw batch.
        shows: the clause that decides under which key a message of a raw batch is found, and that key.
    """

    topic: str
    queue: int
    queue_offset: int
    phy_offset: int | None
    unique_key: str
    keys: str
    body_size: int
    kind: str
    body_crc: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    batch: int | None = None
    store_host: str | None = None
    raw: str | None = None
    shows: tuple[str, str] | None = None


@dataclass
class Manifest:
    """What a workload did.

    Attributes:
        seed: of the actions.
        client: version of the real client.
        kills: number of times that the broker was killed meanwhile.
        sent: acknowledged messages, in the order of their acknowledgements.
        refused: actions that the broker refused, each with its reason.
        answers: questions with their answers, each a mapping with `do`.
    """

    seed: int
    client: str
    kills: int = 0
    sent: list[Sent] = field(default_factory=list[Sent])
    refused: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    answers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def write(self, path: Path) -> None:
        """Writes it as JSON."""
        value = {
            _FORMAT: 1,
            "seed": self.seed,
            "client": self.client,
            "kills": self.kills,
            "sent": [{name: getattr(sent, name) for name in Sent.__slots__} for sent in self.sent],
            "refused": self.refused,
            "answers": self.answers,
        }
        path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def read_manifest(path: Path) -> Manifest:
    """Reads a manifest.

    Raises:
        MalformedError: when the file is none, or too large.
        OSError: when it cannot be read.
    """
    data = read_input(path, limit=_LARGEST, expected="the manifest of a workload")
    try:
        value = json.loads(data)
        sent = [_sent(item) for item in value["sent"]]
        found = Manifest(
            value["seed"],
            value["client"],
            value["kills"],
            sent,
            list(value["refused"]),
            [_answer(item) for item in value["answers"]],
        )
        version = value[_FORMAT]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MalformedError(
            file=str(path), found=f"{type(error).__name__}: {error}", expected="the manifest of a workload"
        ) from None
    if version != 1:
        raise MalformedError(file=str(path), found=f"{_FORMAT} {version!r}", expected=f"{_FORMAT} 1")
    return found


def _sent(item: dict[str, Any]) -> Sent:
    fields = {name: item[name] for name in Sent.__slots__ if name in item}
    for name, value in fields.items():
        if not isinstance(value, _TYPES[name]):
            raise TypeError(f"{name} is {value!r}")
    return Sent(**fields)


def _answer(item: dict[str, Any]) -> dict[str, Any]:
    texts = ("do", "topic", "key") if item["do"] in ("query", "refused") else ("do",)
    for name in texts:
        if not isinstance(item[name], str):
            raise TypeError(f"{name} is {item[name]!r}")
    return dict(item)
