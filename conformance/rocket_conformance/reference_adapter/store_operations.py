# ruff: noqa: D102 - each method is the operation of its name, which PROTOCOL.md describes
"""The reference's queue, index service, commit log and checkpoint as operations of the protocol."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from rocket_reference import ConsumeQueue, IndexService, Rules, UnspecifiedError

from rocket_conformance.protocol import OBJECTS, OPERATIONS, Op, Result, from_i64, key_of, key_or_none, to_i64
from rocket_conformance.reference_adapter.library import Library

_TIMES: Final = ("physic_msg_timestamp", "logics_msg_timestamp", "index_msg_timestamp")
_REQUEST: Final = OBJECTS["request[]"]


class StoreSession:
    """What a case has open beside an index file: one queue, one service."""

    def __init__(self, directory: Path, library: Library, rules: Rules) -> None:
        self.directory = directory
        self.library = library
        self.rules = rules
        self.queue: ConsumeQueue | None = None
        self.service: IndexService | None = None
        self._opened: list[ConsumeQueue | IndexService] = []
        self._folders: dict[str, str] = {}
        self._wrote_checkpoint = False
        self._names = itertools.count(1)

    def close(self) -> None:
        """Releases every file."""
        for opened in self._opened:
            opened.close()
        self._opened.clear()

    def files(self) -> Iterator[tuple[str, str]]:
        """Role and path of what is in the folders of queues and service, and the checkpoint."""
        for folder, role in self._folders.items():
            place = self.directory / folder
            if place.is_dir():
                yield from (
                    (role, f"{folder}/{path.name}") for path in sorted(place.iterdir()) if path.is_file()
                )
        if self._wrote_checkpoint:
            yield "checkpoint", "checkpoint"

    # --- queue ------------------------------------------------------------------------------------------

    def tags_code(self, op: Op) -> Result:
        return {"tags_code": from_i64(self.library.tags_code(key_or_none(op, "tags")))}

    def queue_open(self, op: Op) -> Result:
        self.queue = None
        self._folders[f"consumequeue/{op['topic']}/{op['queue_id']}"] = "queue"
        queue = self.library.ConsumeQueue(
            self.directory / "consumequeue",
            op["topic"],
            op["queue_id"],
            self.library.queue_file_size(op["file_size"]),
            rules=self.rules,
        )
        self._opened.append(queue)
        if op["load"] and not queue.load():
            return {"rejected": "load returned false"}
        self.queue = queue
        return {}

    def opened_queue(self) -> ConsumeQueue:
        """The open queue.

        Raises:
            LookupError: when none is.
        """
        if self.queue is None:
            raise LookupError("no queue is open")
        return self.queue

    def queue_put(self, op: Op) -> Result:
        offset, tags_code, place = (to_i64(op[name]) for name in ("offset", "tags_code", "cq_offset"))
        return {"put": self.opened_queue().put(offset, op["size"], tags_code, place)}

    def queue_get(self, op: Op) -> Result:
        unit = self.opened_queue().get(to_i64(op["cq_offset"]))
        if unit is None:
            return {"unit": None}
        return {
            "unit": {
                "offset": from_i64(unit.phy_offset),
                "size": unit.size,
                "tags_code": from_i64(unit.tags_code),
            }
        }

    def queue_bounds(self, _op: Op) -> Result:
        bounds = self.opened_queue().bounds()
        return {name: from_i64(getattr(bounds, name)) for name in ("min", "max", "max_physic_offset")}

    def queue_recover(self, op: Op) -> Result:
        self.opened_queue().recover()
        return self.queue_bounds(op)

    def queue_truncate(self, op: Op) -> Result:
        self.opened_queue().truncate(to_i64(op["phy_offset"]))
        return self.queue_bounds(op)

    def queue_correct_min(self, op: Op) -> Result:
        self.opened_queue().correct_min(to_i64(op["phy_min_offset"]))
        return self.queue_bounds(op)

    def queue_delete_expired(self, op: Op) -> Result:
        deleted = self.opened_queue().delete_expired(to_i64(op["phy_offset"]))
        return {"deleted": deleted, **self.queue_bounds(op)}

    def queue_last_offset(self, _op: Op) -> Result:
        return {"last_offset": from_i64(self.opened_queue().last_offset())}

    # --- service ----------------------------------------------------------------------------------------

    def service_open(self, op: Op) -> Result:
        self.service = None
        self._folders["index"] = "index"
        times = self.library.StoreCheckpoint(index_msg_timestamp=to_i64(op["index_msg_timestamp"]))
        service = self.library.IndexService(
            self.directory / "index",
            op["hash_slot_num"],
            op["index_num"],
            new_name=lambda: (
                f"99990101{next(self._names):09}"
            ),  # as 4.9.3's, and after every file that exists
            checkpoint=times,
            rules=self.rules,
        )
        self._opened.append(service)
        service.load(last_exit_ok=op["last_exit_ok"])  # its False is not looked at by the store
        self.service = service
        return {"files": len(service.files)}

    def opened_service(self) -> IndexService:
        """The open service.

        Raises:
            LookupError: when none is.
        """
        if self.service is None:
            raise LookupError("no index service is open")
        return self.service

    def service_build(self, op: Op) -> Result:
        service = self.opened_service()
        request = self.library.DispatchRequest(
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
        found = self.opened_service().query(op["topic"], key_of(op), op["max_num"], *window)
        return {
            "offsets": [from_i64(offset) for offset in found.offsets],
            "last_update_timestamp": from_i64(found.last_update_timestamp),
            "last_update_phy_offset": from_i64(found.last_update_phy_offset),
        }

    def service_delete_expired(self, op: Op) -> Result:
        service = self.opened_service()
        service.delete_expired(to_i64(op["offset"]))
        return {"files": len(service.files)}

    def service_settle(self, _op: Op) -> Result:
        return {"index_msg_timestamp": from_i64(self.opened_service().settle())}

    # --- commit log and checkpoint ------------------------------------------------------------------------

    def log_dispatch(self, op: Op) -> Result:
        data = (self.directory / op["file"]).read_bytes()
        requests = self.library.dispatch_requests(
            data, check_crc=op["check_crc"], read_body=op.get("read_body", True), rules=self.rules
        )
        return {
            "requests": [
                {
                    name: from_i64(getattr(request, name)) if kind == "i64" else getattr(request, name)
                    for name, kind in _REQUEST.items()
                }
                for request in requests
            ]
        }

    def checkpoint_read(self, _op: Op) -> Result:
        self._wrote_checkpoint = True
        times = self.library.read_checkpoint(self.directory / "checkpoint")
        return {name: from_i64(getattr(times, name)) for name in _TIMES}

    def checkpoint_write(self, op: Op) -> Result:
        times = self.library.Checkpoint(*(to_i64(op[name]) for name in _TIMES))
        self._wrote_checkpoint = True
        self.library.write_checkpoint(self.directory / "checkpoint", times)
        return {name: from_i64(getattr(times, name)) for name in _TIMES}


_FAMILIES: Final = ("tags", "queue", "service", "log", "checkpoint")

STORE_HANDLERS: Final[Mapping[str, Callable[[StoreSession, Op], Result]]] = {
    name: getattr(StoreSession, name.replace(".", "_"))
    for name, operation in OPERATIONS.items()
    if name.partition(".")[0] in _FAMILIES and not operation.decodes
}
"""What each operation runs."""
