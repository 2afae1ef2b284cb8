"""An audit in parts: however a log is cut, the findings are those of the whole."""

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rocket_columnar import audit
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding
from rocket_columnar.rebuild import rebuild
from rocket_columnar.store import Source, StoreFile, find_files, placed_file
from rocket_golden import Damaged, damaged, open_damaged, open_store
from store_bytes import put, record

KINDS = {variant.damage: variant for variant in damaged()}


def in_parts(store: Path, size: int) -> list[Finding]:
    """Everything that goes from part to part is pickled on the way."""

    def sent(value: Any) -> Any:
        return pickle.loads(pickle.dumps(value))

    plan = sent(audit.plan_audit(store, "deep", range_size=size))
    surveys = sent(
        audit.Surveys.of(
            sent(audit.survey_file(plan.store, file))
            for file in [*plan.store.queues, *plan.store.content_indexes]
        )
    )
    results = [sent(audit.check_range(plan, surveys, part)) for part in plan.ranges]
    return list(audit.findings(plan, surveys, results))


@pytest.fixture(params=list(KINDS.values()), ids=list(KINDS))
def variant(request: pytest.FixtureRequest) -> Damaged:
    chosen: Damaged = request.param
    return chosen


def test_damage_in_small_ranges(variant: Damaged, tmp_path: Path) -> None:
    """Ranges of 1,000 bytes hold two or three records."""
    store = open_damaged(variant.name, tmp_path)
    whole = list(audit.audit(store, "deep"))
    assert whole
    assert in_parts(store, 1000) == whole


def test_damage_by_threads(variant: Damaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More ranges than are checked ahead."""
    store = open_damaged(variant.name, tmp_path)
    whole = list(audit.audit(store, "deep", threads=1))

    def ranges(known: Store, _size: int) -> Any:
        return audit.ranges_of(known, 1 << 12)

    monkeypatch.setattr("rocket_columnar.audit.ranges.ranges_of", ranges)
    assert list(audit.audit(store, "deep", threads=2)) == whole


@pytest.mark.parametrize("name", ["mixed", "lmq", "transactions", "ext"])
def test_healthy_stores_in_small_ranges(name: str, tmp_path: Path) -> None:
    assert in_parts(open_store(name, tmp_path), 777) == []


def test_files_that_lie_elsewhere(tmp_path: Path) -> None:
    """A plan of files in memory."""
    store = open_store("small-roll", tmp_path)
    files = [
        placed_file(file.name, source=Source.of_bytes(file.name, file.path.read_bytes()))
        for file in find_files(store)
    ]
    (store / "commitlog").rename(store / "gone")
    plan = audit.plan_audit(Store.of_files([file for file in files if file is not None]))
    surveys = audit.Surveys.of(
        audit.survey_file(plan.store, file) for file in [*plan.store.queues, *plan.store.content_indexes]
    )
    assert sum(audit.check_range(plan, surveys, part).keys for part in plan.ranges) > 0
    assert (
        list(audit.findings(plan, surveys, (audit.check_range(plan, surveys, part) for part in plan.ranges)))
        == []
    )


def test_files_of_many_queues_are_opened_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once to look at each, once for all ranges."""
    data = b""
    for number in range(900):
        queue_id, logical = number % 300, number // 300
        data += record(
            len(data), queue_id=queue_id, queue_offset=logical, properties=b"UNIQ_KEY\1%d" % number
        )
    put(tmp_path / "store", f"commitlog/{0:020}", data)
    rebuild(tmp_path / "store", tmp_path / "made")
    for part in ("index", "consumequeue"):
        (tmp_path / "made" / part).rename(tmp_path / "store" / part)
    unit = tmp_path / "store" / "consumequeue" / "T" / "77" / f"{0:020}"
    unit.write_bytes(unit.read_bytes()[:20] + bytes(20) + unit.read_bytes()[40:])

    plan = audit.plan_audit(tmp_path / "store", range_size=4096)
    opened: Counter[str] = Counter()
    really = StoreFile.open
    monkeypatch.setattr(StoreFile, "open", lambda file: (opened.update([file.name]), really(file))[1])
    surveys = audit.Surveys.of(
        audit.survey_file(plan.store, file) for file in [*plan.store.queues, *plan.store.content_indexes]
    )
    ahead = audit.ReadAhead(len(plan.store.queues))
    results = [audit.check_range(plan, surveys, part, ahead=ahead) for part in plan.ranges]
    del opened[f"consumequeue/T/77/{0:020}"]  # what is damaged is looked at again
    assert len(results) > 20
    assert {opened[file.name] for file in plan.store.queues} == {0, 2}
    assert [finding.code for finding in audit.findings(plan, surveys, results)] == ["queue.missing_unit"]
