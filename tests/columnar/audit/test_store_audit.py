"""Audits of healthy stores, of stores in use, and of oddities that are none."""

from pathlib import Path
from typing import get_args

import pytest
from finding_codes import FINDING_CODES
from golden_logs import commitlog
from rocket_columnar.audit import LEVELS, Level, audit
from rocket_columnar.findings import CODES, Remedy, Severity
from rocket_golden import open_store, stores
from rocket_spec.errors import UsageError
from store_cases import Case


@pytest.fixture(scope="module", params=sorted([*stores(log=None), *stores(unclean=True, log=None)]))
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store(request.param, tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("level", LEVELS)
def test_healthy_stores_have_no_findings(golden: Path, level: Level) -> None:
    findings = list(audit(golden, level, commitlog=commitlog(golden)))
    if golden.name == "dledger-group-rejoined" and level != "quick":  # a start has deleted an index file
        assert {finding.code for finding in findings} == {"index.missing_key"}
        return
    notes = [finding.code for finding in findings if finding.severity == "note"]
    assert [finding for finding in findings if finding.severity != "note"] == []
    # A broker that was killed left its marks, which are healthy; one that was copied was writing.
    assert not notes or (
        golden.name.startswith(("killed", "live-copy", "dledger-group-killed"))
        and set(notes) <= {"index.double_entry", "store.abort", "store.lag"}
    )


def test_the_codes_are_the_published_ones() -> None:
    assert tuple(CODES) == FINDING_CODES
    assert {code.severity for code in CODES.values()} == set(get_args(Severity))
    assert {code.remedy for code in CODES.values()} <= set(get_args(Remedy))


def test_what_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a store"):
        audit(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="a file"):
        audit(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        audit(tmp_path / "absent")
    with pytest.raises(UsageError, match="unknown level"):
        audit(tmp_path, "thorough")  # type: ignore[arg-type]


STORE = "record keys=k\nqueue T/0 200: 0\nindex 20260101000000000 16,64: T#k@0"


def test_what_is_appended_after_the_end_that_was_read_is_no_finding(tmp_path: Path) -> None:
    """Units and entries of records that came meanwhile: planted by a log file that the listing lacks."""
    case = Case(tmp_path)
    case.run(STORE)
    findings = audit(case.root)  # lists the files
    case.run("log 4096\nrecord keys=z\nqueue T/0 200: 0 1\nindex 20260101000000000 16,64: T#k@0 T#z@4096")
    assert [finding.code for finding in findings if finding.code != "index.ahead_of_log"] == []


@pytest.mark.parametrize("part", ["index", "commitlog", "consumequeue"])
def test_a_folder_of_a_store_names_the_store(part: str, tmp_path: Path) -> None:
    case = Case(tmp_path)
    case.run(STORE)
    with pytest.raises(UsageError, match=f"the {part} folder of a store; expected the store"):
        list(audit(case.root / part))
