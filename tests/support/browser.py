"""A headless Chromium driven through its DevTools pipe: sizes, media, scripts; no port is opened."""

import base64
import json
import os
import re
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe", "about:blank",
)  # fmt: skip


class Browser:
    """One page of a browser of its own; use it in a `with` block.

    Args:
        chromium: path of the program.
        profile: a directory for its profile.
    """

    def __init__(self, chromium: str, profile: Path) -> None:
        self._ours = os.pipe(), os.pipe()  # commands to it, answers of it
        (reads, self._commands), (self._answers, writes) = self._ours
        redirect = f'exec "$0" "$@" 3<&{reads} 4>&{writes}'
        self._process = subprocess.Popen(
            ["bash", "-c", redirect, chromium, f"--user-data-dir={profile}", *_FLAGS],
            pass_fds=(reads, writes),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        self._rest = b""
        self._number = 0
        self._events: set[str] = set()
        self._session: str | None = None
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.command("Page.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def command(self, method: str, **parameters: object) -> Any:
        """The result of a DevTools command."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != self._number:
            self._events.add(str(answer.get("method")))
        assert "error" not in answer, answer
        return answer["result"]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = os.read(self._answers, 1 << 20)
            assert data, "Chromium ended"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def open(self, address: str, *, width: int = 1280, media: str = "screen", dark: bool = False) -> None:
        """Opens a page in a window of a width, in pixels, and waits until it is loaded."""
        phone = width < 600
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=phone
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self._events.clear()
        self.command("Page.navigate", url=address)
        while "Page.loadEventFired" not in self._events:
            self._events.add(str(self._message().get("method")))

    def value(self, script: str) -> Any:
        """The value of an expression in the page; a promise is awaited."""
        result = self.command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def printed_pages(self) -> int:
        """Number of sheets that the page has on paper; open it with the medium "print"."""
        pdf = base64.b64decode(self.command("Page.printToPDF", preferCSSPageSize=True)["data"])
        return len(re.findall(rb"/Type\s*/Page\b", pdf))
