"""The engine as an implementation under test: adapter protocol 1 over plain dicts.

`Adapter.handle` answers in the same process; `python -m rocket_columnar.adapter` speaks JSON Lines on
stdin and stdout. Both answer `key.hash` and the `index.*` operations.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from rocket_columnar.formats import hash_key
from rocket_columnar.index import IndexFile, RejectedError

PROTOCOL: Final = 1

Message = dict[str, Any]  # one line of the protocol: 64-bit integers are decimal strings, 32-bit ones numbers


class Adapter:
    """Answers one message after the other; keeps nothing from case to case."""

    def handle(self, message: Message) -> Message | None:
        """The answer to a message, None for `bye`; ValueError for a command that protocol 1 does not have."""
        match message.get("cmd"):
            case "hello":
                return _hello()
            case "case":
                return _Case(Path(message["dir"])).run(message)
            case "bye":
                return None
        raise ValueError(f"not a command of protocol {PROTOCOL}: {message.get('cmd')!r}")


class _Case:
    """One case: a little program on one open index file at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._index: IndexFile | None = None
        self._paths: list[str] = []

    def run(self, message: Message) -> Message:
        operations = {name: getattr(self, f"_{name.replace('.', '_')}") for name in _OPERATIONS}
        try:
            results = [_answer(operations.get(operation["op"]), operation) for operation in message["ops"]]
        finally:
            self._release()
        files = [{"role": "index", "path": path} for path in self._paths]
        return {"id": message["id"], "results": results, "files": files}

    def _release(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    @property
    def _open_index(self) -> IndexFile:
        if self._index is None:
            raise RejectedError("no index file is open")
        return self._index

    def _key_hash(self, operation: Message) -> Message:
        return {"hash": hash_key(_key(operation))}

    def _index_open(self, operation: Message) -> Message:
        """Opens a file in place of the one that is open; where that is rejected, none is."""
        self._release()
        name = operation["file"]
        index = IndexFile(
            self._directory / name,
            operation["hash_slot_num"],
            operation["index_num"],
            end_phy_offset=int(operation["end_phy_offset"]),
            end_timestamp=int(operation["end_timestamp"]),
        )
        if operation["load"]:
            try:
                index.load()
            except RejectedError:
                index.close()
                raise
        self._index = index
        if name not in self._paths:
            self._paths.append(name)
        return {}

    def _index_put(self, operation: Message) -> Message:
        phy_offset, store_timestamp = int(operation["phy_offset"]), int(operation["store_timestamp"])
        return {"put": self._open_index.put(_key(operation), phy_offset, store_timestamp)}

    def _index_select(self, operation: Message) -> Message:
        offsets = self._open_index.select(
            _key(operation),
            operation["max_num"],
            int(operation["begin"]),
            int(operation["end"]),
            map(int, operation.get("initial", ())),
        )
        return {"offsets": list(map(str, offsets))}

    def _index_time_matched(self, operation: Message) -> Message:
        return {"matched": self._open_index.time_matched(int(operation["begin"]), int(operation["end"]))}

    def _index_header(self, _: Message) -> Message:
        header = asdict(self._open_index.header())
        return {name: value if name.endswith("_count") else str(value) for name, value in header.items()}

    def _index_full(self, _: Message) -> Message:
        return {"full": self._open_index.full()}

    def _index_flush(self, _: Message) -> Message:
        self._open_index.flush()
        return {}

    def _index_close(self, _: Message) -> Message:
        self._open_index.close()
        self._index = None
        return {}


_OPERATIONS: Final = (
    "key.hash",
    "index.open",
    "index.put",
    "index.select",
    "index.time_matched",
    "index.header",
    "index.full",
    "index.flush",
    "index.close",
)


def _answer(perform: Callable[[Message], Message] | None, operation: Message) -> Message:
    if perform is None:
        return {"unsupported": True}
    try:
        return perform(operation)
    except RejectedError as error:
        return {"rejected": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever fails here is the adapter's own failure, and is reported as such
        return {"errored": f"{type(error).__name__}: {error}"}


def _key(operation: Message) -> str:
    """The key of an operation; `key_utf16` carries one that holds a lone surrogate."""
    key = operation.get("key")
    if isinstance(key, str):
        return key
    return bytes.fromhex(operation["key_utf16"]).decode("utf-16-be", "surrogatepass")


def _hello() -> Message:
    try:
        release = version("rocketspec")
    except PackageNotFoundError:
        release = "unknown"
    return {
        "protocol": PROTOCOL,
        "name": "rocketspec engine",
        "version": release,
        "language": "python",
        "ops": list(_OPERATIONS),
        "geometry": "any",
        "features": ["lone_surrogates"],
        "max_in_flight": 1,
    }


def main() -> None:
    """Answers JSON Lines from stdin on stdout, until `bye` or the end of input."""
    adapter = Adapter()
    for line in sys.stdin.buffer:
        answer = adapter.handle(json.loads(line))
        if answer is None:
            return
        sys.stdout.buffer.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
