"""Runs the operations of a case on the reference: what every expectation comes from."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, cast

import rocket_reference
from rocket_reference import RULES_4_9_3, IndexFile, JavaError, Rules, UnspecifiedError
from rocket_spec.errors import FormatError

from rocket_conformance.protocol import Op, Result, from_i64, key_of, to_i64
from rocket_conformance.reference_adapter.library import Library
from rocket_conformance.reference_adapter.read_operations import READ_HANDLERS
from rocket_conformance.reference_adapter.store_operations import STORE_HANDLERS, StoreSession

_HEADER_I64: Final = ("begin_timestamp", "end_timestamp", "begin_phy_offset", "end_phy_offset")


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
    """One case: the directory, the index file that is open in it, and everything else that is open."""

    def __init__(self, directory: Path, library: Library, rules: Rules) -> None:
        self.directory = directory
        self.library = library
        self.index: IndexFile | None = None
        self.rules = rules
        self.store = StoreSession(directory, library, rules)
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
        """Role and path of the files that the harness should read."""
        return [*self._files, *self.store.files()]

    def run(self, op: Op) -> Result:
        name = op["op"]
        if name in READ_HANDLERS:
            return READ_HANDLERS[name](self.directory, op)
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
                rules=self.rules,
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
    rules: Rules = RULES_4_9_3,
) -> tuple[list[Result], list[tuple[str, str]]]:
    """Runs a case in `directory`, and returns its results, and role and path of its files.

    Args:
        ops: the operations.
        directory: fresh, or with the case's files in it.
        library: the reference, or a mutant of it.
        rules: of the release that the reference does as.

    Raises:
        UnspecifiedOperationError: at an operation on which 4.9.3 would never return.
    """
    session = _Session(directory, library, rules)
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
        session.end()
    return results, session.files()
