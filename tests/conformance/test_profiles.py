"""Release profiles: each difference is known to the suite, explains what the survey found, and is what the real jars do."""

import base64
import shutil
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
import rocket_golden
from judged_stores import judge_store, sent_of
from rocket_columnar.facts import Store
from rocket_conformance.planning import plan
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.rocketmq import read_survey
from rocket_conformance.running import Options, run
from rocket_conformance.store_verdict import Observations, StoreVerdict
from rocket_conformance.store_verdict.stored_log import read_log
from rocket_conformance.transport import open_handler, open_jar
from rocket_conformance.workload import Manifest, Sent
from rocket_reference import DispatchRequest, IndexService, Rules
from rocket_spec.clauses import clauses
from rocket_spec.errors import UsageError
from rocket_spec.profiles import GROUND, Profile, ReleaseDifference, differences, profile, releases
from store_bytes import put, record

RUN = [found for found in differences() if found.rules and found.evidence.startswith("case ")]
"""What cases show."""


def name(found: ReleaseDifference) -> str:
    return f"{found.clauses[0]}-{found.first}"


def failing(rules: Rules, required: Profile, *select: str) -> set[str]:
    """The cases in which the reference with some rules differs from what a profile requires."""
    with open_handler(ReferenceAdapter(rules=rules)) as opened:
        options = Options(select=select, examples=20, shrink_seconds=0.0, explained=False, profile=required)
        report = run(opened, options)
    return {line.id for line in report.cases if line.verdict == "diverged"}


def test_each_difference_names_clauses_and_cases_that_exist() -> None:
    cases = {item.id for item in plan()}
    for found in differences():
        assert set(found.clauses) <= clauses().keys(), found
        assert {found.first, found.last, found.at} <= set(releases()), found
        assert found.holds(found.first), found
        assert found.holds(found.last), found
        kind, _, case = found.evidence.partition(" ")
        assert kind != "case" or case in cases, found
        assert found.text.endswith("."), found


def test_4_9_3_is_the_ground() -> None:
    assert profile(GROUND) == Profile()
    assert Rules(**profile(GROUND).rules) == Rules()


def test_a_release_that_was_not_compared_has_no_profile() -> None:
    with pytest.raises(UsageError, match=r"'4\.2\.0' has no profile; expected one of 3\.2\.6, "):
        profile("4.2.0")


def test_the_profiles_explain_each_cell_of_the_survey() -> None:
    unexplained = {
        (release.version, clause)
        for release in read_survey().releases
        for clause in release.differs
        if not profile(release.version).of(clause)
    }
    assert unexplained == set()


@pytest.mark.parametrize("found", RUN, ids=name)
def test_a_release_without_one_of_its_differences_is_noticed(found: ReleaseDifference) -> None:
    release = profile(found.last)
    select = [f"{clause}/*" for clause in found.clauses]
    others = {rule: value for rule, value in release.rules.items() if rule not in found.rules}
    assert failing(Rules(**others), release, *select, found.evidence.removeprefix("case "))


def test_the_reference_with_the_rules_of_a_profile_conforms_to_it() -> None:
    select = {f"{clause}/*" for found in RUN for clause in found.clauses}
    assert failing(Rules(**profile("5.5.1").rules), profile("5.5.1"), *select) == set()
    assert failing(Rules(**profile("5.5.1").rules), profile(GROUND), *select)


def test_tags_are_keys_since_5_4_0(tmp_path: Path) -> None:
    request = DispatchRequest(topic="T", keys="k", uniq_key="u", properties={"TAGS": "a b"})
    for version, count in (("5.3.3", 3), ("5.4.0", 4)):
        rules = Rules(**profile(version).rules)
        service = IndexService(
            f"{tmp_path}/{version}", 7, 12, new_name=lambda: "20260101000000000", rules=rules
        )
        service.build(replace(request, commit_log_offset=100, store_timestamp=1_767_268_800_000))
        assert service.files[0].index.header().index_count == count
        assert service.query("T", "T#a b", 32, 0, 1 << 60).offsets == [100] * (count - 3)
        service.close()


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """A store of a broker of 5.5.0: see `tests/columnar/report/test_later_release.py`."""
    shutil.unpack_archive(
        Path(__file__).parents[1] / "columnar" / "report" / "store-5.5.0.zip", tmp_path / "later"
    )
    return tmp_path / "later"


def judged(store: Path, version: str) -> StoreVerdict:
    return judge_store(store, release=version, seen=Observations(profile=profile(version)))


def test_a_store_of_5_5_0_conforms_to_its_profile(later: Path) -> None:
    found = judged(later, "5.5.0")
    assert found.with_outcome("broken") == []
    assert found.outcome("IDX-SVC-2") == "held"
    assert found.outcome("CQ-PUT-9") == "held"
    assert dict(found.observations.notes) == {}


def test_it_does_not_conform_to_4_9_3(later: Path) -> None:
    """Its index files are those that the reference makes with the parameter of later releases."""
    found = judged(later, GROUND)
    assert found.with_outcome("broken") == ["IDX-SVC-2", "CQ-PUT-9"]
    assert {place.rule for place in found.observations.broken["IDX-SVC-2"]} == {
        "as releases 5.4.0 to 5.5.1 do"
    }
    assert found.observations.kinds["IDX-SVC-2"].keys() == {"as-another-release"}
    assert found.observations.broken["CQ-PUT-9"][0].rule == ""


def test_the_end_of_its_properties_is_that_of_other_releases(later: Path) -> None:
    log = read_log(Store(later), Observations())
    first = next(iter(log.records))
    sent = replace(sent_of(log, first), properties={}, store_host=None)
    manifest = Manifest(1, "4.9.3", sent=[sent])
    (place,) = judge_store(later, release=GROUND, manifest=manifest).observations.broken["LOG-PROP-1"]
    assert (place.found, place.expected) == ("02", "no 02")
    assert place.rule == "as releases 4.0.0-incubating to 4.9.0 and 5.2.0 to 5.5.1 do"


@pytest.mark.parametrize(("own", "held"), [(b"", None), (b"CLUSTER\1c", "4.8.0"), (b"\2CLUSTER\1c", "4.9.3")])
def test_the_properties_of_a_batch_follow_as_its_release_writes_them(
    own: bytes, held: str | None, tmp_path: Path
) -> None:
    """LOG-PROP-6: not at all in 4.7.1, without a separator in 4.8.0, with one in 4.9.3; a batch may also have none."""
    put(tmp_path, f"commitlog/{0:020}", record(0, properties=b"KEYS\1k" + own).ljust(4096, b"\0"))
    raw = base64.b64encode(b"KEYS\1k").decode()
    sent = Sent("T", 0, 0, 0, "", "k", 4, "raw_batch", body_crc=zlib.crc32(b"body"), raw=raw)
    broken = {
        version
        for version in ("4.7.1", "4.8.0", "4.9.3")
        if "LOG-PROP-6"
        in judge_store(
            tmp_path, manifest=Manifest(1, "4.9.3", sent=[sent]), seen=Observations(profile=profile(version))
        ).observations.broken
    }
    assert broken == ({"4.7.1", "4.8.0", "4.9.3"} - {held} if held else set())


def test_batch_queues_are_not_judged(tmp_path: Path) -> None:
    """Their records count up by the messages of a batch, and their units are not in `consumequeue/` (BCQ-2, BCQ-3)."""
    shutil.unpack_archive(Path(__file__).parents[1] / "spec" / "later" / "store.zip", tmp_path)
    found = judged(tmp_path, "5.5.1").observations
    assert found.broken == {}
    assert found.notes["not judged: the batch queues of Batched, which audit checks"] == 1


def test_a_wrong_key_is_broken_with_the_profile_too(later: Path) -> None:
    """The first entry of the first index file: 61 slots are before the entries, of which the one numbered 0 is unused."""
    (index, *_) = sorted((later / "index").iterdir())
    data = bytearray(index.read_bytes())
    data[40 + 4 * 61 + 20 : 40 + 4 * 61 + 24] = (4711).to_bytes(4)
    index.write_bytes(data)
    assert "IDX-HASH-1" in judged(later, "5.5.0").with_outcome("broken")


def test_a_store_without_the_entries_of_tags_does_not_conform_to_5_5_0(tmp_path: Path) -> None:
    found = judged(rocket_golden.open_store("mixed", tmp_path), "5.5.0")
    assert found.outcome("IDX-SVC-2") == "broken"
    assert {place.rule for place in found.observations.broken["IDX-SVC-2"]} == {"as release 4.9.3 does"}


@pytest.mark.java
@pytest.mark.usefixtures("maven")
@pytest.mark.parametrize(
    "version",
    [
        pytest.param(found, marks=() if found in {"4.8.0", "5.5.1"} else pytest.mark.soak)
        for found in releases()
    ],
)
def test_a_release_does_what_its_profile_says(version: str) -> None:
    with open_jar(version, case_timeout=30.0) as opened:
        options = Options(examples=5, shrink_seconds=0.0, explained=False, profile=profile(version))
        report = run(opened, options)
    assert {
        line.id: line.detail for line in report.cases if line.verdict not in {"pass", "not_applicable"}
    } == {}
