"""The reference as an adapter: operations of the protocol on rocket_reference, or on a mutant of it."""

import itertools
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

import rocket_reference
from rocket_reference import (
    RULES_4_9_3,
    ConsumeQueue,
    IndexFile,
    IndexService,
    JavaError,
    Rules,
    UnspecifiedError,
)
from rocket_spec.errors import FormatError
from rocket_spec.layout import Geometry

from rocket_conformance.protocol import (
    OBJECTS,
    OPERATIONS,
    PROTOCOL,
    Op,
    Result,
    check_operation,
    from_i64,
    key_of,
    key_or_none,
    to_i64,
)


class Library(Protocol):
    """The names of `rocket_reference` that are needed here, each as it is there; a mutant brings its own."""

    Checkpoint: type[rocket_reference.Checkpoint]
    ConsumeQueue: type[rocket_reference.ConsumeQueue]
    DispatchRequest: type[rocket_reference.DispatchRequest]
    IndexService: type[rocket_reference.IndexService]
    MessageStore: type[rocket_reference.MessageStore]
    StoreCheckpoint: type[rocket_reference.StoreCheckpoint]
    StoreConfig: type[rocket_reference.StoreConfig]
    base_offset: Callable[[str], int]
    dispatch_requests: Callable[..., Iterable[rocket_reference.DispatchRequest]]
    index_keys: Callable[[rocket_reference.DispatchRequest, Rules], Iterable[str]]
    index_entries: Callable[..., Iterable[rocket_reference.IndexEntry]]
    index_header: Callable[..., rocket_reference.IndexHeader]
    key_hash: Callable[[str], int]
    open_index_file: Callable[..., AbstractContextManager[IndexFile]]
    queue_file_size: Callable[[int], int]
    queue_units: Callable[..., Iterable[tuple[int, rocket_reference.QueueUnit]]]
    read_checkpoint: Callable[[Path], rocket_reference.Checkpoint]
    records: Callable[..., Iterable[tuple[int, rocket_reference.Record]]]
    tags_code: Callable[[str | None], int]
    write_checkpoint: Callable[[Path, rocket_reference.Checkpoint], None]


# --- read operations ----------------------------------------------------------------------------------


def travelling(kinds: Mapping[str, str], value: object, **also: Any) -> dict[str, Any]:
    """An object's fields of these names and kinds, as they travel; `also` gives those that are no attribute of it."""
    fields: dict[str, Any] = {}
    for name, kind in kinds.items():
        content: Any = also[name] if name in also else getattr(value, name)
        if kind in {"i64", "i64?"}:
            content = None if content is None else from_i64(content)
        elif kind == "i64[]":
            content = [from_i64(item) for item in content]
        elif kind == "base64":
            content = b64encode(content).decode("ascii")
        elif kind == "texts":
            content = dict(content)
        fields[name] = content
    return fields


def _index(directory: Path, op: Op, library: Library) -> Result:
    data = (directory / op["file"]).read_bytes()
    entries = library.index_entries(data, Geometry(op["hash_slot_num"], op["index_num"]))
    return {
        "entries": [travelling(OBJECTS["index_entry[]"], entry) for entry in entries],
        "header": travelling(OBJECTS["index_header"], library.index_header(data)),
    }


def _queue(directory: Path, op: Op, library: Library) -> Result:
    path = directory / op["file"]
    found: list[dict[str, Any]] = []
    for offset, unit in library.queue_units(path.read_bytes(), library.base_offset(path.name)):
        place = {"logical_offset": offset}
        found.append(travelling(OBJECTS["queue_unit[]"], unit, **place))
    return {"units": found}


def _log(directory: Path, op: Op, library: Library) -> Result:
    found: list[dict[str, Any]] = []
    records = library.records((directory / op["file"]).read_bytes())
    with suppress(FormatError):  # the walk ends at the first record that is wrong
        for _, record in records:
            found.append(travelling(OBJECTS["record[]"], record))
    return {"records": found}


READ_HANDLERS: Final[Mapping[str, Callable[[Path, Op, Library], Result]]] = {
    "index.read": _index,
    "queue.read": _queue,
    "log.read": _log,
}
"""The function of each operation."""


# --- operations ---------------------------------------------------------------------------------------

# ruff: noqa: D102 - each method is the operation of its name, which PROTOCOL.md describes


_Opened = TypeVar("_Opened")
_TIMES: Final = OPERATIONS["checkpoint.read"].result


def _open(opened: _Opened | None, what: str) -> _Opened:
    if opened is None:
        raise LookupError(f"no {what} is open")
    return opened


class Session:
    """One case: its directory, and the index file, the service and the queue that are open in it."""

    def __init__(self, directory: Path, library: Library, rules: Rules) -> None:
        self._directory = directory
        self._library = library
        self._rules = rules
        self._index: IndexFile | None = None
        self._queue: ConsumeQueue | None = None
        self._service: IndexService | None = None
        self._index_open = ExitStack()
        self._opened: list[ConsumeQueue | IndexService] = []
        self._index_files: dict[str, None] = {}
        self._folders: dict[str, str] = {}
        self._wrote_checkpoint = False
        self._names = itertools.count(1)

    def run(self, op: Op) -> Result:
        """The result of an operation."""
        name: str = op["op"]
        if name in READ_HANDLERS:
            return READ_HANDLERS[name](self._directory, op, self._library)
        result: Result = getattr(self, name.replace(".", "_"))(op)
        return result

    def close(self) -> None:
        """Releases every file."""
        self._index_open.close()
        for opened in self._opened:
            opened.close()

    def files(self) -> Iterator[tuple[str, str]]:
        """Role and path of the files that the harness should read."""
        yield from (("index", name) for name in self._index_files)
        for folder, role in self._folders.items():
            place = self._directory / folder
            if place.is_dir():
                yield from (
                    (role, f"{folder}/{path.name}") for path in sorted(place.iterdir()) if path.is_file()
                )
        if self._wrote_checkpoint:
            yield "checkpoint", "checkpoint"

    # --- index file -------------------------------------------------------------------------------------

    def key_hash(self, op: Op) -> Result:
        return {"hash": self._library.key_hash(key_of(op))}

    def index_open(self, op: Op) -> Result:
        self._index = None
        self._index_open.close()
        self._index = self._index_open.enter_context(
            self._library.open_index_file(
                self._directory / op["file"],
                op["hash_slot_num"],
                op["index_num"],
                end_phy_offset=to_i64(op["end_phy_offset"]),
                end_timestamp=to_i64(op["end_timestamp"]),
                load=op["load"],
                rules=self._rules,
            )
        )
        self._index_files[op["file"]] = None
        return {}

    def _opened_index(self) -> IndexFile:
        return _open(self._index, "index file")

    def index_put(self, op: Op) -> Result:
        place = to_i64(op["phy_offset"]), to_i64(op["store_timestamp"])
        return {"put": self._opened_index().put(key_of(op), *place)}

    def index_select(self, op: Op) -> Result:
        initial = [to_i64(offset) for offset in op.get("initial", ())]
        window = to_i64(op["begin"]), to_i64(op["end"])
        found = self._opened_index().select(key_of(op), op["max_num"], *window, initial=initial)
        return {"offsets": [from_i64(offset) for offset in found]}

    def index_time_matched(self, op: Op) -> Result:
        return {"matched": self._opened_index().time_matched(to_i64(op["begin"]), to_i64(op["end"]))}

    def index_header(self, _op: Op) -> Result:
        return travelling(OBJECTS["index_header"], self._opened_index().header())

    def index_full(self, _op: Op) -> Result:
        return {"full": self._opened_index().full()}

    def index_flush(self, _op: Op) -> Result:
        self._opened_index().flush()
        return {}

    def index_close(self, _op: Op) -> Result:
        self._opened_index()
        self._index = None
        self._index_open.close()
        return {}

    # --- queue ------------------------------------------------------------------------------------------

    def tags_code(self, op: Op) -> Result:
        return {"tags_code": from_i64(self._library.tags_code(key_or_none(op, "tags")))}

    def queue_open(self, op: Op) -> Result:
        self._queue = None
        self._folders[f"consumequeue/{op['topic']}/{op['queue_id']}"] = "queue"
        queue = self._library.ConsumeQueue(
            self._directory / "consumequeue",
            op["topic"],
            op["queue_id"],
            self._library.queue_file_size(op["file_size"]),
            rules=self._rules,
        )
        self._opened.append(queue)
        if op["load"] and not queue.load():
            return {"rejected": "load returned false"}
        self._queue = queue
        return {}

    def _opened_queue(self) -> ConsumeQueue:
        return _open(self._queue, "queue")

    def queue_put(self, op: Op) -> Result:
        offset, tags_code, place = (to_i64(op[name]) for name in ("offset", "tags_code", "cq_offset"))
        return {"put": self._opened_queue().put(offset, op["size"], tags_code, place)}

    def queue_get(self, op: Op) -> Result:
        unit = self._opened_queue().get(to_i64(op["cq_offset"]))
        return {"unit": None if unit is None else travelling(OBJECTS["unit?"], unit, offset=unit.phy_offset)}

    def queue_bounds(self, _op: Op) -> Result:
        return travelling(OPERATIONS["queue.bounds"].result, self._opened_queue().bounds())

    def queue_recover(self, op: Op) -> Result:
        self._opened_queue().recover()
        return self.queue_bounds(op)

    def queue_truncate(self, op: Op) -> Result:
        self._opened_queue().truncate(to_i64(op["phy_offset"]))
        return self.queue_bounds(op)

    def queue_correct_min(self, op: Op) -> Result:
        self._opened_queue().correct_min(to_i64(op["phy_min_offset"]))
        return self.queue_bounds(op)

    def queue_delete_expired(self, op: Op) -> Result:
        deleted = self._opened_queue().delete_expired(to_i64(op["phy_offset"]))
        return {"deleted": deleted, **self.queue_bounds(op)}

    def queue_last_offset(self, _op: Op) -> Result:
        return {"last_offset": from_i64(self._opened_queue().last_offset())}

    # --- service ----------------------------------------------------------------------------------------

    def service_open(self, op: Op) -> Result:
        self._service = None
        self._folders["index"] = "index"
        times = self._library.StoreCheckpoint(index_msg_timestamp=to_i64(op["index_msg_timestamp"]))
        service = self._library.IndexService(
            self._directory / "index",
            op["hash_slot_num"],
            op["index_num"],
            # as 4.9.3's, and after every file that exists
            new_name=lambda: f"99990101{next(self._names):09}",
            checkpoint=times,
            rules=self._rules,
        )
        self._opened.append(service)
        service.load(last_exit_ok=op["last_exit_ok"])  # its False is not looked at by the store
        self._service = service
        return {"files": len(service.files)}

    def _opened_service(self) -> IndexService:
        return _open(self._service, "index service")

    def service_build(self, op: Op) -> Result:
        service = self._opened_service()
        request = self._library.DispatchRequest(
            topic=op["topic"],
            keys=key_or_none(op, "keys"),
            uniq_key=key_or_none(op, "uniq_key"),
            commit_log_offset=to_i64(op["commit_log_offset"]),
            store_timestamp=to_i64(op["store_timestamp"]),
            sys_flag=op["sys_flag"],
        )
        before = len(service.files)
        try:
            service.build(request)
        finally:
            service.settle()
        if len(service.files) > before + 1:
            raise UnspecifiedError("two new files may get one name from the clock")
        return {}

    def service_query(self, op: Op) -> Result:
        window = to_i64(op["begin"]), to_i64(op["end"])
        found = self._opened_service().query(op["topic"], key_of(op), op["max_num"], *window)
        return travelling(OPERATIONS["service.query"].result, found)

    def service_delete_expired(self, op: Op) -> Result:
        service = self._opened_service()
        service.delete_expired(to_i64(op["offset"]))
        return {"files": len(service.files)}

    def service_settle(self, _op: Op) -> Result:
        return {"index_msg_timestamp": from_i64(self._opened_service().settle())}

    # --- commit log and checkpoint ------------------------------------------------------------------------

    def log_dispatch(self, op: Op) -> Result:
        data = (self._directory / op["file"]).read_bytes()
        requests = self._library.dispatch_requests(
            data, check_crc=op["check_crc"], read_body=op.get("read_body", True), rules=self._rules
        )
        return {"requests": [travelling(OBJECTS["request[]"], request) for request in requests]}

    def checkpoint_read(self, _op: Op) -> Result:
        self._wrote_checkpoint = True
        return travelling(_TIMES, self._library.read_checkpoint(self._directory / "checkpoint"))

    def checkpoint_write(self, op: Op) -> Result:
        times = self._library.Checkpoint(*(to_i64(op[name]) for name in _TIMES))
        self._wrote_checkpoint = True
        self._library.write_checkpoint(self._directory / "checkpoint", times)
        return travelling(_TIMES, times)


# --- session ------------------------------------------------------------------------------------------

REFERENCE: Final = cast("Library", rocket_reference)


class UnspecifiedOperationError(Exception):
    """An operation on which 4.9.3 never returns, and which is never sent."""

    def __init__(self, index: int, why: str) -> None:
        super().__init__(f"operation {index}: {why}")
        self.index = index  # its place in the list


def run_operations(
    ops: Sequence[Op], directory: Path, *, library: Library = REFERENCE, rules: Rules = RULES_4_9_3
) -> tuple[list[Result], list[tuple[str, str]]]:
    """Runs a case in `directory`, and returns its results, and role and path of its files.

    Raises UnspecifiedOperationError: at an operation on which 4.9.3 would never return.
    """
    session = Session(directory, library, rules)
    results: list[Result] = []
    try:
        for place, op in enumerate(ops):
            try:
                results.append(session.run(op))
            except UnspecifiedError as error:
                raise UnspecifiedOperationError(place, str(error)) from error
            except (JavaError, FormatError, LookupError, OSError) as error:
                results.append({"rejected": str(error) or type(error).__name__})
    finally:
        session.close()
    return results, list(session.files())


# --- adapter ------------------------------------------------------------------------------------------


class ReferenceAdapter:
    """The reference as an implementation under test, in this process; with other rules it does as another release."""

    def __init__(
        self, library: Library = REFERENCE, *, name: str = "rocket_reference", rules: Rules = RULES_4_9_3
    ) -> None:
        self._library = library
        self._name = name
        self._rules = rules

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to a message of protocol 1; None for bye.

        Raises ValueError: if a case breaks the protocol: a file of it would be outside its directory.
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
        results, files = run_operations(checked, directory, library=self._library, rules=self._rules)
        listed = [{"role": role, "path": path} for role, path in files]
        return {"id": token, "results": results, "files": listed}
