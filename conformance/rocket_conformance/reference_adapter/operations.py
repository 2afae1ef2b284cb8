# ruff: noqa: D102 - each method is the operation of its name, which PROTOCOL.md describes
"""The operations of the protocol on the reference: what a case has open, and a method for each operation."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeVar

from rocket_reference import ConsumeQueue, IndexFile, IndexService, Rules, UnspecifiedError

from rocket_conformance.protocol import OBJECTS, OPERATIONS, Op, Result, from_i64, key_of, key_or_none, to_i64
from rocket_conformance.reference_adapter.library import Library
from rocket_conformance.reference_adapter.read_operations import READ_HANDLERS, travelling

_Opened = TypeVar("_Opened")
_TIMES: Final = OPERATIONS["checkpoint.read"].result


def _open(opened: _Opened | None, what: str) -> _Opened:
    """What is open; LookupError when nothing is."""
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
