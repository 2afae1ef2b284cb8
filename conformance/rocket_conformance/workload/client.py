"""The real client in a process of its own, one action and one answer a line, and the record of a workload."""

import json
import re
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.outputs import write_whole

from rocket_conformance.files import read_input
from rocket_conformance.rocketmq import WORKLOAD, command
from rocket_conformance.schema import problems

Action = dict[str, Any]
"""One line to the client: `do`, and what that takes."""

_PATIENCE: Final = 5.0
"""Seconds for a connection."""


class ClientError(OSError):
    """The client does not start, ended, or cannot reach the name server."""


class Client:
    """A running client; use it in a `with` block.

    Args:
        namesrv: address of the name server, `HOST:PORT`.
        version: of the client's jars.
        jars: a folder that holds them; None fetches them by Maven.

    Raises JarUnavailableError: when Java or the jars cannot be had.
    Raises ClientError: when the client does not start.
    """

    def __init__(self, namesrv: str, *, version: str, jars: Path | None = None) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        whole = command(version, jars, program=WORKLOAD)
        quiet = "-Drocketmq.client.logUseSlf4j=true"
        self._process = subprocess.Popen(
            [whole[0], quiet, *whole[1:], namesrv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
        )
        self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def ask(self, action: Action) -> dict[str, Any]:
        """The answer to one action; `error` in it where the broker refused.

        Raises ClientError: when the client ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(action) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("= "):
                answer: dict[str, Any] = json.loads(line[2:])
                return answer
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        raise ClientError(f"the client ended: {lines[-1] if lines else 'without a message'}")


def require_name_server(addresses: str) -> None:
    """Connects to a name server at once: the client itself tries for a minute.

    Args:
        addresses: `HOST:PORT`, several with `;`.

    Raises UsageError: one that is not `HOST:PORT`.
    Raises ClientError: none of them can be reached.
    """
    reason = ""
    for address in addresses.split(";"):
        host, _, port = address.strip().rpartition(":")
        if not host or "/" in host or not re.fullmatch("[0-9]{1,5}", port) or int(port) >= 1 << 16:
            raise UsageError(f"--namesrv {address}: expected HOST:PORT, such as 127.0.0.1:9876")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
        except (OSError, UnicodeError) as error:  # a host name that cannot be encoded
            reason = (getattr(error, "strerror", None) or str(error)).lower()
        else:
            return
    raise ClientError(f"{addresses}: no name server can be reached ({reason})")


_FORMAT: Final = "rocketspec_workload"
_LARGEST: Final = 256 << 20
_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the broker acknowledged."""

    topic: str  # it is stored under; a half message is under another one at first
    queue: int  # queue number
    queue_offset: int  # logical offset
    phy_offset: int | None  # physical offset, bytes; None where the broker gave no offset id
    unique_key: str  # the client's id of it
    keys: str  # as sent
    body_size: int  # of the body as sent, bytes
    kind: str  # send, batch, raw_batch or transaction
    body_crc: int | None = None  # CRC-32 of the body as sent; None where it is not compared
    # those that the record must have, whatever others it has
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    batch: int | None = None  # number of the batch that it was sent in
    store_host: str | None = None  # the broker's address as the offset id has it, `HOST:PORT`
    raw: str | None = None  # the properties as sent, in Base64, of a message of a raw batch
    # the clause that decides under which key a message of a raw batch is found, and that key
    shows: tuple[str, str] | None = None


@dataclass
class Manifest:
    """The record of a workload."""

    seed: int  # of the actions
    client: str  # version of the real client
    kills: int = 0  # number of times that the broker was killed meanwhile
    # acknowledged messages, in the order of their acknowledgements
    sent: list[Sent] = field(default_factory=list[Sent])
    # actions that the broker refused, each with its reason
    refused: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    # questions with their answers, each a mapping with `do`
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

    Raises MalformedError: when the file is none, or too large.
    Raises OSError: when it cannot be read.
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
