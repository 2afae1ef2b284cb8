"""Real brokers get the workload: 4.9.3 holds every clause that its store exercises, faulty ones break theirs."""

import hashlib
import itertools
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from figures import kept_rows, write_figures
from free_ports import free_port
from judged_stores import judge_store
from planted_faults import FAULTS, Fault, replayed
from real_broker import RealBroker, broker_jars
from rocket_columnar.audit import Finding, audit
from rocket_columnar.facts import Store
from rocket_conformance.report import read_report
from rocket_conformance.store_verdict import StoreVerdict
from rocket_conformance.workload import make_actions, read_manifest
from scenario import COUNT, Scenario
from verb_run import Outcome, Run, runner

from tools.reach import BY_CHANCE, OUT_OF_REACH, reached

SMALL = {
    "mappedFileSizeCommitLog": "262144",
    "mappedFileSizeConsumeQueue": "2000",
    "maxHashSlotNum": "97",
    "maxIndexNum": "400",
}
EVERYTHING = {
    **SMALL,
    "mappedFileSizeCommitLog": "65536",
    "enableConsumeQueueExt": "true",
    "mappedFileSizeConsumeQueueExt": "1000",
    "enableLmq": "true",
    "enableMultiDispatch": "true",
}
"""Small files, and the two options that bring out further clauses."""

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "judge-a-store.md"
KILLED = {**EVERYTHING, "flushPhysicQueueThoroughInterval": "1000"}
"""Recovery then begins at another file than the first (CKP-3)."""

FIGURES = DOCS / "planted-broker-faults.json"
SEED_FIGURES = DOCS / "workload-seeds.json"
FIFTH = {
    "CQ-TIME-2": r"^queue \d of rocketspec-\w+, time \d+, logical offset: ",
    "LOG-PROP-1": r"^record at 0, topic rocketspec-Plain, end of the properties: found 02, ",
}
OTHER_RELEASES = {
    "4.7.0": {
        "IDX-HDR-4": r"^index/\d{17} at byte 32, header hash_slot_count: ",
        "LOG-PROP-1": r"^record at [\d,]+, topic SCHEDULE_TOPIC_XXXX, end of the properties: found 02, ",
        "LOG-PROP-3": r"^index/\d{17} at byte [\d,]+, entry \d+ phy_offset: ",
    },
    "5.3.1": FIFTH,
    "5.5.0": {
        **FIFTH,
        "CQ-PUT-9": r"^checkpoint at byte 8, logics_msg_timestamp: found 0, ",
        "IDX-SVC-2": r"^index/\d{17} at byte [\d,]+, entry \d+ key_hash: .*as releases 5.4.0 to 5.5.1 do",
    },
}
"""What the stores and answers of other releases break, each with its first place.

IDX-HDR-4 and LOG-PROP-3 are those of VERSIONS.md. LOG-PROP-1 is about what a broker encodes, CQ-TIME-2 and IDX-SVC-15 are about
what it answers; the matrix of releases does not show them. The broker of 5.5.1 does not resolve.
"""

EXERCISED_ALWAYS = {"CQ-GET-1", "IDX-HASH-2", "IDX-SEL-9", "IDX-SVC-3", "LOG-DSP-7", "QRY-1"}


def dledger() -> dict[str, str]:
    """Settings of a group of one."""
    peer = {"dLegerGroup": "broker-a", "dLegerSelfId": "n0", "dLegerPeers": f"n0-127.0.0.1:{free_port()}"}
    return {**SMALL, "enableDLegerCommitLog": "true", **peer}


CONFIGURATIONS: dict[str, Callable[[], dict[str, str]]] = {
    "small files": lambda: SMALL,
    "every option": lambda: EVERYTHING,
    "synchronous flush": lambda: {**SMALL, "flushDiskType": "SYNC_FLUSH"},
    "DLedger": dledger,
}
NEEDS: dict[str, Callable[[], dict[str, str]]] = {
    "": lambda: SMALL,
    "options": lambda: EVERYTHING,
    "own": lambda: SMALL,
    "own-options": lambda: EVERYTHING,
    "kills": lambda: KILLED,
    "dledger": dledger,
}
SEEDS = range(1, 1 + int(os.environ.get("ROCKETSPEC_WORKLOAD_SEEDS", "4")))
"""Each with every configuration; 25 of them are a hundred runs."""
RECORDED = "ROCKETSPEC_WORKLOAD_SEEDS" in os.environ


@pytest.mark.java
@pytest.mark.soak
def test_seeds(java: str, tmp_path: Path) -> None:
    """With ROCKETSPEC_WORKLOAD_SEEDS the runs write their figures, which the next test looks at; those that are there stay."""
    configurations = {name: make() for name, make in CONFIGURATIONS.items()}
    rows = kept_rows(SEED_FIGURES, digest_of_workload()) if RECORDED else {}
    faults: list[str] = []
    with Scenario(tmp_path / "runs", java, {}) as runs:
        for seed, (name, config) in itertools.product(SEEDS, configurations.items()):
            if f"{name}, {seed}" in rows:
                continue
            verdict = runs.judged_workload(f"{name}-{seed}".replace(" ", "-"), config, seed=seed)
            held = verdict.with_outcome("held")
            found = {"records": verdict.records, "held": len(held), "broken": broken(verdict)}
            rows[f"{name}, {seed}"] = found
            if broken(verdict) or not set(held) >= EXERCISED_ALWAYS:
                faults.append(
                    f"{name}, seed {seed}: {broken(verdict) or sorted(EXERCISED_ALWAYS - set(held))}"
                )
            if RECORDED:
                write_figures(SEED_FIGURES, {"inputs": digest_of_workload(), "rows": rows})
                write_on_page(RUNS_ON_PAGE, summary(rows))
    assert faults == []


HEALTHY = {
    "delays of its own": {**SMALL, "messageDelayLevel": "2s 3s 5s 9s"},
    "multi-dispatch without light queues": {**SMALL, "enableMultiDispatch": "true"},
    "no index": {**SMALL, "messageIndexEnable": "false"},
}


@pytest.mark.java
@pytest.mark.soak
@pytest.mark.parametrize("name", [*HEALTHY, "no index since a stop"])
def test_a_configuration_that_breaks_nothing_in_two_kills(java: str, tmp_path: Path, name: str) -> None:
    with Scenario(tmp_path / "runs", java, {}) as runs:
        if name in HEALTHY:
            verdict = runs.judged_workload("store", HEALTHY[name], seed=1, kills=2, known=True)
        else:
            assert broken(runs.judged_workload("store", SMALL, seed=1)) == {}
            runs.config["messageIndexEnable"] = "false"
            runs.do("start", "crash 1 200 3", "start", "crash 2 200 3", "start", "stop")
            verdict = judge_store(runs.store, conf=runs.look_at(runs.store).conf)
        assert broken(verdict) == {}
        assert [one for one in audit(runs.look_at(runs.store), "exact") if is_wrong(one)] == []


def broken(verdict: StoreVerdict) -> dict[str, str]:
    """The broken clauses with their first places, in the order they were found."""
    return {clause: str(places[0]) for clause, places in verdict.observations.broken.items()}


def digest_of_workload() -> str:
    """A short name for what a run sends; figures of an older workload have another one."""
    return hashlib.sha256(json.dumps(make_actions(1, COUNT)).encode()).hexdigest()[:12]


def write_on_page(place: re.Pattern[str], shown: str) -> None:
    PAGE.write_text(place.sub(lambda _: shown, PAGE.read_text("utf-8")), "utf-8")


def summary(rows: dict[str, Any]) -> str:
    held = [run["held"] for run in rows.values()]
    records = sum(run["records"] for run in rows.values())
    return f"{len(rows)} runs, {records:,} records, {min(held)} to {max(held)} clauses held in each"


RUNS_ON_PAGE = re.compile(r"\d+ runs, [\d,]+ records, \d+ to \d+ clauses held in each")


def test_the_page_quotes_the_runs_of_seeds() -> None:
    rows = kept_rows(SEED_FIGURES, digest_of_workload())
    assert {name.partition(",")[0] for name in rows} == CONFIGURATIONS.keys()
    assert [name for name, run in rows.items() if run["broken"]] == []
    assert RUNS_ON_PAGE.findall(PAGE.read_text("utf-8")) == [summary(rows)]


@pytest.mark.java
@pytest.mark.soak
def test_everything_that_is_not_out_of_reach_is_exercised(
    java: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By kills of a broker with every option, and of one in DLedger mode."""
    run = runner("workload", capfd, monkeypatch)
    held: set[str] = set()
    for name, config, kills in (("plain", KILLED, 2), ("dledger", dledger(), 1)):
        with RealBroker(tmp_path / f"broker-{name}", java, config) as broker:
            _, found = judged(run, broker, tmp_path / name, "--kills", kills)
        held |= found
    assert set(reached()) - held == set()


def judged(run: Run, broker: RealBroker, out: Path, *options: object) -> tuple[Outcome, set[str]]:
    """The verb's output on a broker that it started, and the clauses that hold; OUT.json is the manifest."""
    start = ("--namesrv", broker.namesrv, "--start", broker.shell_command(), "--store", broker.store)
    done = run(*start, *options, "-o", out.with_suffix(".json"), "--report", out)
    assert done.code == 0, done.out + done.err
    cases = read_report(out / "report.jsonl").cases
    return done, {line.clauses[0] for line in cases if line.verdict == "pass"}


@pytest.mark.java
def test_a_broker_of_4_9_3_holds_a_hundred_clauses(
    java: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runner("workload", capfd, monkeypatch)
    manifest = tmp_path / "out.json"
    with RealBroker(tmp_path / "broker", java, KILLED) as broker:
        done, held = judged(run, broker, tmp_path / "out", "--kills", 1, "--messages", 300, "--seed", 5)
    assert done.out.splitlines()[-1].startswith("conformant in every clause that the store exercises")
    assert len(read_manifest(manifest).sent) > 350
    assert held >= EXERCISED_ALWAYS
    assert len(held) >= 100
    beyond = held & OUT_OF_REACH.keys()
    assert {clause for clause in beyond if not OUT_OF_REACH[clause].startswith(BY_CHANCE)} == set()


@pytest.mark.java
@pytest.mark.soak
@pytest.mark.parametrize(("version", "clauses"), OTHER_RELEASES.items())
def test_other_releases_break_what_versions_md_says(
    java: str, tmp_path: Path, version: str, clauses: dict[str, str]
) -> None:
    with Scenario(tmp_path / "runs", java, {}, jars=broker_jars(version, tmp_path / "jars")) as runs:
        found = broken(runs.judged_workload("store", SMALL, seed=1))
    assert found.keys() == clauses.keys()
    assert {clause: place for clause, place in found.items() if not re.search(clauses[clause], place)} == {}


@pytest.mark.java
@pytest.mark.soak
def test_a_planted_fault_breaks_its_clause(java: str, tmp_path: Path) -> None:
    (fault,) = (fault for fault in FAULTS if fault.name == "unit-left-out")
    with Scenario(tmp_path / "runs", java, {}) as runs:
        assert list(broken(runs.judged_workload(fault.name, SMALL, seed=1, fault=fault))) == [fault.clause]


@pytest.mark.java
@pytest.mark.soak
def test_every_planted_fault(java: str, tmp_path: Path) -> None:
    """The runs write all figures, which the next test looks at; those of the same fault and workload stay."""
    kept = kept_rows(FIGURES, digest_of_workload())
    rows = {one.name: kept[one.name] for one in FAULTS if digest(one) == kept.get(one.name, {}).get("input")}

    def take(fault: Fault, verdict: StoreVerdict, store: Store) -> None:
        rows[fault.name] = {"input": digest(fault), "broken": broken(verdict), "audit": named_by_audit(store)}
        write_figures(FIGURES, {"inputs": digest_of_workload(), "rows": rows})

    with Scenario(tmp_path / "runs", java, {}) as runs:
        for needs in ("", "options"):
            left = [fault for fault in FAULTS if fault.needs == needs and fault.name not in rows]
            if not left:
                continue
            assert broken(runs.judged_workload(f"healthy-{needs}", NEEDS[needs](), seed=1)) == {}
            assert runs.manifest is not None
            sent = replace(runs.manifest, answers=[])
            healthy = runs.look_at(runs.store)
            for fault, path in replayed(
                left, runs.store, Path(runs.command()[-1]), tmp_path / f"made-{needs}"
            ):
                take(
                    fault, judge_store(path, manifest=sent, conf=healthy.conf), Store(path, conf=healthy.conf)
                )
        for fault in FAULTS:
            if fault.name not in rows:
                kills = 2 * (fault.needs == "kills")
                verdict = runs.judged_workload(
                    fault.name, NEEDS[fault.needs](), seed=1, fault=fault, kills=kills, known=True
                )
                take(fault, verdict, runs.look_at(runs.store))
    write_on_page(TABLE_ON_PAGE, fault_table(rows))
    assert [fault.name for fault in FAULTS if not is_found(fault, rows)] == []


def named_by_audit(store: Store) -> list[str]:
    """The clauses of what the audit finds, but for what a healthy 4.9.3 may leave."""
    return sorted({found.clause for found in audit(store, "exact") if is_wrong(found) and found.clause})


def is_wrong(found: Finding) -> bool:
    """Whether a finding is on something that 4.9.3 never leaves; keys that its start after a kill loses are a warning, too."""
    deviation = found.deviation
    return found.severity != "note" if deviation is None else not deviation.allowed


def is_found(fault: Fault, rows: dict[str, Any]) -> bool:
    """Whether it breaks its one clause, or none if no store shows it."""
    return list(rows[fault.name]["broken"]) == [clause for clause in [fault.clause] if clause]


def digest(fault: Fault) -> str:
    """A short name for what was run."""
    return hashlib.sha256(repr(fault).encode()).hexdigest()[:12]


def fault_table(rows: dict[str, Any]) -> str:
    """The table of the page: each fault, its clause and the first place, or why it is not found."""
    lines = ["| fault | run | clause | by the audit | first place |", "|---|---|---|---|---|"]
    for fault in FAULTS:
        place = next(iter(rows[fault.name]["broken"].values()), f"not found: {fault.why}").replace("|", "\\|")
        audited = ", ".join(rows[fault.name]["audit"]) or "-"
        lines.append(
            f"| {fault.name} | {RUNS[fault.needs]} | {fault.clause or '-'} | {audited} | {place[:PLACE]} |"
        )
    return "\n".join(lines)


RUNS = {
    "": "replayed",
    "options": "replayed, options",
    "own": "one workload",
    "own-options": "options",
    "kills": "kills",
    "dledger": "dledger",
}
"""What a page says of a run."""

TABLE_ON_PAGE = re.compile(r"\| fault \| run \|.*?(?=\n\n)", re.DOTALL)
PLACE = 160  # characters of a place that the page shows


def test_the_committed_figures_are_of_these_faults() -> None:
    rows = kept_rows(FIGURES, digest_of_workload())
    assert {name: row["input"] for name, row in rows.items()} == {one.name: digest(one) for one in FAULTS}
    assert [fault.name for fault in FAULTS if not is_found(fault, rows)] == []
    assert [fault.name for fault in FAULTS if bool(fault.why) == bool(fault.clause)] == []
    page = PAGE.read_text("utf-8")
    assert TABLE_ON_PAGE.findall(page) == [fault_table(rows)]
    found = sum(bool(fault.clause) for fault in FAULTS)
    assert f"{found} of {len(FAULTS)} faults are found" in " ".join(page.split())
