"""Wrong implementations of queue, service, log and checkpoint: clause and field are named."""

from pathlib import Path
from typing import Any

import pytest
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.report import Report
from rocket_conformance.running import Options, run
from rocket_conformance.transport import open_handler


class Wrong(ReferenceAdapter):
    """The reference with one result field of one operation changed, or a file removed or written to."""

    def __init__(self, op: str = "", field: str = "", value: Any = None, file: str = "") -> None:
        super().__init__()
        self.op, self.field, self.value, self.file = op, field, value, file

    def handle(self, message: Any) -> dict[str, Any] | None:
        answer = super().handle(message)
        if answer is None or message["cmd"] != "case":
            return answer
        for op, result in zip(message["ops"], answer["results"], strict=True):
            if op["op"] == self.op and self.field in result:
                result[self.field] = self.value
        if self.file:
            for path in Path(message["dir"]).glob(self.file):
                path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
        return answer


WRONG = (
    (Wrong("tags.code", "tags_code", "7"), "CQ-TAGS-1", "tags_code"),
    (Wrong("queue.get", "unit", None), "CQ-GET-1", "unit"),
    (Wrong("queue.last_offset", "last_offset", "-7"), "CQ-LAST-1", "last_offset"),
    (Wrong("queue.correct_min", "min", "77"), "CQ-MIN-1", "min"),
    (Wrong("queue.recover", "max_physic_offset", "-7"), "CQ-REC-2", "max_physic_offset"),
    (Wrong("queue.truncate", "max", "77"), "CQ-TRUNC-2", "max"),
    (Wrong("queue.delete_expired", "deleted", 77), "CQ-DEL-1", "deleted"),
    (Wrong(file="consumequeue/*/*/*"), "CQ-UNIT-1", "unit[0].phy_offset"),
    (Wrong("service.query", "offsets", []), "IDX-SVC-13", "offsets"),
    (Wrong("service.query", "last_update_timestamp", "7"), "IDX-SVC-15", "last_update_timestamp"),
    (Wrong("service.settle", "index_msg_timestamp", "7"), "IDX-SVC-18", "index_msg_timestamp"),
    (Wrong("service.open", "files", 77), "IDX-SVC-5", "files"),
    (Wrong(file="index/*"), "IDX-SVC-2", "header.begin_timestamp"),
    (Wrong("log.dispatch", "requests", []), "LOG-DSP-6", "requests"),
    (Wrong("checkpoint.read", "logics_msg_timestamp", "7"), "CKP-1", "logics_msg_timestamp"),
    (Wrong(file="checkpoint"), "CKP-4", "physic_msg_timestamp"),
)


def report_of(adapter: ReferenceAdapter, clause: str, folder: Path) -> Report:
    with open_handler(adapter) as transport:
        return run(transport, Options(select=[f"{clause}/[!p]*"], shrink_seconds=0), report=folder)


@pytest.mark.parametrize(("wrong", "clause", "field"), WRONG, ids=[clause for _, clause, _ in WRONG])
def test_a_divergence_is_named(wrong: Wrong, clause: str, field: str, tmp_path: Path) -> None:
    report = report_of(wrong, clause, tmp_path / "out")
    diverged = [line for line in report.cases if line.verdict == "diverged"]
    assert diverged
    for line in diverged:
        assert (line.divergence[0]["clause"], line.divergence[0]["field"]) == (clause, field)
