"""The record of a workload: what was sent, what the broker acknowledged, what it answered to which question."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import MalformedError
from rocket_spec.outputs import write_whole

from rocket_conformance.files import read_input
from rocket_conformance.schema import problems

_FORMAT: Final = "rocketspec_workload"
_LARGEST: Final = 256 << 20
_SHOWN: Final = 200


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
    """The record of a workload.

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
        write_whole(path, json.dumps(value, indent=1) + "\n")


def read_manifest(path: Path) -> Manifest:
    """Reads a manifest.

    Raises:
        MalformedError: when the file is none, or too large.
        OSError: when it cannot be read.
    """
    expected = "the manifest of a workload"
    data = read_input(path, limit=_LARGEST, expected=expected)
    value: dict[str, Any] = {}
    try:
        value = json.loads(data, parse_float=str)  # no number of a manifest has a fraction
        found = next(iter(problems("manifest", value)), None)
    except (ValueError, RecursionError) as error:
        found = f"{type(error).__name__}: {error}"
    if found is not None:
        raise MalformedError(file=str(path), found=found[:_SHOWN], expected=expected)
    if value[_FORMAT] != 1:
        raise MalformedError(file=str(path), found=f"{_FORMAT} {value[_FORMAT]}", expected=f"{_FORMAT} 1")
    sent = [Sent(**{name: item[name] for name in Sent.__slots__ if name in item}) for item in value["sent"]]
    return Manifest(value["seed"], value["client"], value["kills"], sent, value["refused"], value["answers"])
