"""The reference as an implementation under test, and a model of an adapter."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rocket_reference import RULES_4_9_3, Rules

from rocket_conformance.protocol import OPERATIONS, PROTOCOL, Op, check_operation
from rocket_conformance.reference_adapter.library import Library
from rocket_conformance.reference_adapter.session import REFERENCE, run_operations


class ReferenceAdapter:
    """The reference as an implementation under test, in this process; with other rules it does as another release."""

    def __init__(
        self,
        library: Library = REFERENCE,
        *,
        name: str = "rocket_reference",
        rules: Rules = RULES_4_9_3,
    ) -> None:
        self._library = library
        self._name = name
        self._rules = rules

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to a message of protocol 1; None for bye.

        Raises:
            ValueError: if a case breaks the protocol: a file of it would be outside its directory.
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
