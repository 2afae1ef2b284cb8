"""The real client in a process of its own: one action a line, one answer a line."""

import json
import re
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final, Self

from rocket_spec.errors import UsageError

from rocket_conformance.rocketmq import WORKLOAD, command
from rocket_conformance.workload.actions import Action

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

    Raises:
        JarUnavailableError: when Java or the jars cannot be had.
        ClientError: when the client does not start.
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

        Raises:
            ClientError: when the client ended.
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

    Raises:
        UsageError: one that is not `HOST:PORT`.
        ClientError: none of them can be reached.
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
