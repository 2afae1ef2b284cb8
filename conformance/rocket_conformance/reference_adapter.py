"""The reference behind the protocol: what every expectation comes from, and a model of an adapter."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import rocket_reference
from rocket_reference import JavaError, UnspecifiedError
from rocket_spec.errors import FormatError

from rocket_conformance._reference_store import STORE_HANDLERS, StoreSession
from rocket_conformance.protocol import (
    OPERATIONS,
    PROTOCOL,
    Op,
    Result,
    check_operation,
    from_i64,
    key_of,
    to_i64,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from rocket_reference import IndexFile

__all__ = ["Library", "ReferenceAdapter", "UnspecifiedOperationError", "run_operations"]

_HEADER_I64: Final = ("begin_timestamp", "end_timestamp", "begin_phy_offset", "end_phy_offset")


class Library(Protocol):
    """The part of `rocket_reference` that is needed here; a mutant brings its own."""

    Checkpoint: type[rocket_reference.Checkpoint]
    ConsumeQueue: type[rocket_reference.ConsumeQueue]
    DispatchRequest: type[rocket_reference.DispatchRequest]
    IndexService: type[rocket_reference.IndexService]
    StoreCheckpoint: type[rocket_reference.StoreCheckpoint]

    def queue_file_size(self, configured: int) -> int:
        """As `rocket_reference.queue_file_size`."""
        ...

    def tags_code(self, tags: str | None) -> int:
        """As `rocket_reference.tags_code`."""
        ...

    def dispatch_requests(
        self, data: bytes, *, check_crc: bool, read_body: bool
    ) -> Iterable[rocket_reference.DispatchRequest]:
        """As `rocket_reference.dispatch_requests`."""
        ...

    def read_checkpoint(self, path: Path) -> rocket_reference.Checkpoint:
        """As `rocket_reference.read_checkpoint`."""
        ...

    def write_checkpoint(self, path: Path, times: rocket_reference.Checkpoint) -> None:
        """As `rocket_reference.write_checkpoint`."""
        ...

    def key_hash(self, key: str) -> int:
        """As `rocket_reference.key_hash`."""
        ...

    def open_index_file(
        self,
        path: Path,
        hash_slot_num: int,
        index_num: int,
        *,
        end_phy_offset: int,
        end_timestamp: int,
        load: bool,
    ) -> AbstractContextManager[IndexFile]:
        """As `rocket_reference.open_index_file`."""
        ...


REFERENCE: Final = cast("Library", rocket_reference)


class UnspecifiedOperationError(Exception):
    """An operation on which 4.9.3 never returns, and which is never sent.

    Attributes:
        index: its place in the list.
    """

    def __init__(self, index: int, why: str) -> None:
        super().__init__(f"operation {index}: {why}")
        self.index = index


class _Session:
    """One case: the directory, the index file that is open in it, and all else that is."""

    def __init__(self, directory: Path, library: Library) -> None:
        self.directory = directory
        self.library = library
        self.index: IndexFile | None = None
        self.store = StoreSession(directory, library)
        self._files: dict[tuple[str, str], None] = {}
        self._open = ExitStack()

    def close(self) -> None:
        self.index = None
        self._open.close()

    def end(self) -> None:
        """Releases everything."""
        self.close()
        self.store.close()

    def files(self) -> list[tuple[str, str]]:
        """Role and path of what the harness shall read."""
        return [*self._files, *self.store.files()]

    def run(self, op: Op) -> Result:
        name = op["op"]
        if name in STORE_HANDLERS:
            return STORE_HANDLERS[name](self.store, op)
        return _HANDLERS[name](self, op)

    def opened(self) -> IndexFile:
        """The open index file.

        Raises:
            LookupError: when none is.
        """
        if self.index is None:
            raise LookupError("no index file is open")
        return self.index

    def key_hash(self, op: Op) -> Result:
        return {"hash": self.library.key_hash(key_of(op))}

    def open(self, op: Op) -> Result:
        self.close()
        index = self._open.enter_context(
            self.library.open_index_file(
                self.directory / op["file"],
                op["hash_slot_num"],
                op["index_num"],
                end_phy_offset=to_i64(op["end_phy_offset"]),
                end_timestamp=to_i64(op["end_timestamp"]),
                load=op["load"],
            )
        )
        self.index = index
        self._files["index", op["file"]] = None
        return {}

    def put(self, op: Op) -> Result:
        put = self.opened().put(key_of(op), to_i64(op["phy_offset"]), to_i64(op["store_timestamp"]))
        return {"put": put}

    def select(self, op: Op) -> Result:
        initial = [to_i64(offset) for offset in op.get("initial", ())]
        found = self.opened().select(
            key_of(op), op["max_num"], to_i64(op["begin"]), to_i64(op["end"]), initial=initial
        )
        return {"offsets": [from_i64(offset) for offset in found]}

    def time_matched(self, op: Op) -> Result:
        return {"matched": self.opened().time_matched(to_i64(op["begin"]), to_i64(op["end"]))}

    def header(self, _op: Op) -> Result:
        header = self.opened().header()
        result: Result = {name: from_i64(getattr(header, name)) for name in _HEADER_I64}
        result["hash_slot_count"] = header.hash_slot_count
        result["index_count"] = header.index_count
        return result

    def full(self, _op: Op) -> Result:
        return {"full": self.opened().full()}

    def flush(self, _op: Op) -> Result:
        self.opened().flush()
        return {}

    def drop(self, _op: Op) -> Result:
        self.opened()
        self.close()
        return {}


_HANDLERS: Final[Mapping[str, Callable[[_Session, Op], Result]]] = {
    "key.hash": _Session.key_hash,
    "index.open": _Session.open,
    "index.put": _Session.put,
    "index.select": _Session.select,
    "index.time_matched": _Session.time_matched,
    "index.header": _Session.header,
    "index.full": _Session.full,
    "index.flush": _Session.flush,
    "index.close": _Session.drop,
}


def run_operations(
    ops: Sequence[Op],
    directory: Path,
    *,
    library: Library = REFERENCE,
    watch: Callable[[int, Op, IndexFile | None], None] | None = None,
) -> tuple[list[Result], list[tuple[str, str]]]:
    """Runs a case in `directory`, and returns its results, and role and path of its files.

    Args:
        ops: the operations.
        directory: fresh, or with the case's files in it.
        library: the reference, or a mutant of it.
        watch: called before each operation, with its place and the index file that is open.

    Raises:
        UnspecifiedOperationError: at an operation on which 4.9.3 would never return.
    """
    session = _Session(directory, library)
    results: list[Result] = []
    try:
        for place, op in enumerate(ops):
            if watch is not None:
                watch(place, op, session.index)
            try:
                results.append(session.run(op))
            except UnspecifiedError as error:
                raise UnspecifiedOperationError(place, str(error)) from error
            except (JavaError, FormatError, LookupError, OSError) as error:
                results.append({"rejected": str(error) or type(error).__name__})
    finally:
        session.end()
    return results, session.files()


class ReferenceAdapter:
    """The reference as an implementation under test, in this process."""

    def __init__(self, library: Library = REFERENCE, *, name: str = "rocket_reference") -> None:
        self._library = library
        self._name = name

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to a message of protocol 1; None for bye.

        Raises:
            ValueError: when a case breaks the protocol: its files would lie outside its directory.
        """
        if message["cmd"] == "hello":
            return self._hello()
        if message["cmd"] == "bye":
            return None
        return self._case(message["id"], message["ops"], Path(message["dir"]))

    def _hello(self) -> dict[str, Any]:
        return {
            "protocol": PROTOCOL,
            "name": self._name,
            "version": "4.9.3",
            "language": "python",
            "ops": sorted(OPERATIONS),
            "geometry": "any",
            "features": ["lone_surrogates"],
            "max_in_flight": 1,
        }

    def _case(self, token: str, ops: Iterable[Op], directory: Path) -> dict[str, Any]:
        checked = list(ops)
        for op in checked:
            check_operation(op)
        results, files = run_operations(checked, directory, library=self._library)
        listed = [{"role": role, "path": path} for role, path in files]
        return {"id": token, "results": results, "files": listed}
