"""The reference as an adapter that is changed, and the operation that opens an index file."""

from collections.abc import Callable, Mapping
from typing import Any

from rocket_conformance.reference_adapter import ReferenceAdapter

Message = Mapping[str, Any]
FILE = "20260101000000000"


class ChangedAdapter(ReferenceAdapter):
    """The reference with other fields in its hello, whose answers to cases something is done to."""

    def __init__(
        self,
        hello: Message | None = None,
        change: Callable[[dict[str, Any], Message], object] = lambda _answer, _message: None,
    ) -> None:
        super().__init__()
        self.hello = hello or {}
        self.change = change

    def handle(self, message: Message) -> dict[str, Any] | None:
        answer = super().handle(message)
        if answer is not None and message["cmd"] == "hello":
            return {**answer, **self.hello}
        if answer is not None:
            self.change(answer, message)
        return answer


def open_index(slots: int = 7, entries: int = 12, **fields: Any) -> dict[str, Any]:
    """`index.open` without seeds."""
    seeds = {"end_phy_offset": "0", "end_timestamp": "0", "load": False}
    return {"op": "index.open", "file": FILE, "hash_slot_num": slots, "index_num": entries, **seeds, **fields}
