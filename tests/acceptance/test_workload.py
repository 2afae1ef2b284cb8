"""Real brokers get the workload: 4.9.3 holds every clause that its store exercises, faulty ones break theirs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from free_ports import free_port
from planted_faults import FAULTS, Fault, overlay
from real_broker import RealBroker, broker_jars
from rocket_conformance.report import read_report
from rocket_conformance.store_verdict import StoreVerdict, judge_store
from rocket_conformance.workload import BY_CHANCE, OUT_OF_REACH, Client, reached, read_manifest, run_workload
from verb_run import runner

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

FIGURES = Path(__file__).parents[2] / "docs" / "planted-broker-faults.json"
NOT_EXERCISED: set[str] = set()
"""Faults that the workload does not bring out."""

IN_EVERY_RUN = ("unit-left-out",)
EXERCISED_ALWAYS = {
    "CQ-GET-1",
    "IDX-HASH-2",
    "IDX-SEL-9",
    "IDX-SVC-3",
    "LOG-DSP-7",
    "QRY-1",
}


def judged(
    folder: Path,
    java: str,
    *,
    seed: int,
    count: int,
    faulty: Callable[[str], Path] | None = None,
    jars: Path | None = None,
    config: dict[str, str] | None = None,
) -> StoreVerdict:
    """The verdict on a broker that got a workload and was stopped."""
    with RealBroker(folder / "broker", java, config or SMALL, overlay=faulty, jars=jars) as broker:
        broker.start()
        with Client(broker.namesrv, version="4.9.3") as client:
            manifest = run_workload(client, seed=seed, count=count, version="4.9.3", store=broker.store)
        broker.stop()
        assert manifest.refused == []
        manifest.write(folder / "manifest.json")
        return judge_store(broker.store, manifest=read_manifest(folder / "manifest.json"))


def broken(verdict: StoreVerdict) -> dict[str, str]:
    """The broken clauses with their first places, in the order they were found."""
    return {clause: str(places[0]) for clause, places in verdict.observations.broken.items()}


def holds_all(java: str, folder: Path, seed: int, config: dict[str, str]) -> None:
    verdict = judged(folder, java, seed=seed, count=600, config=config)
    assert broken(verdict) == {}
    assert set(verdict.observations.held) >= EXERCISED_ALWAYS
    assert len(verdict.with_outcome("held")) >= 80


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
SEEDS = range(1, 1 + int(os.environ.get("ROCKETSPEC_WORKLOAD_SEEDS", "4")))
"""Each with every configuration; 25 of them are a hundred runs."""


@pytest.mark.java
@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_seeds(java: str, tmp_path: Path, configuration: str, seed: int) -> None:
    holds_all(java, tmp_path, seed, CONFIGURATIONS[configuration]())


@pytest.mark.java
@pytest.mark.soak
def test_everything_that_is_not_out_of_reach_is_exercised(
    java: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By several kills of a broker with every option, and by one in DLedger mode."""
    run = runner("workload", capfd, monkeypatch)
    held: set[str] = set()
    for name, config, kills in (("plain", EVERYTHING, 4), ("dledger", dledger(), 0)):
        out = tmp_path / name
        with RealBroker(tmp_path / f"broker-{name}", java, config) as broker:
            start = ("--namesrv", broker.namesrv, "--start", broker.shell_command(), "--store", broker.store)
            done = run(*start, "--kills", kills, "-o", tmp_path / f"{name}.json", "--report", out)
        assert done.code == 0, done.out + done.err
        lines = read_report(out / "report.jsonl").cases
        held |= {line.clauses[0] for line in lines if line.verdict == "pass"}
    assert set(reached()) - held == set()


@pytest.mark.java
def test_a_broker_of_4_9_3_holds_a_hundred_clauses(
    java: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runner("workload", capfd, monkeypatch)
    manifest = tmp_path / "manifest.json"
    out = tmp_path / "out"
    with RealBroker(tmp_path / "broker", java, EVERYTHING) as broker:
        start = ("--namesrv", broker.namesrv, "--start", broker.shell_command(), "--store", broker.store)
        options = ("--kills", 1, "--messages", 300, "--seed", 5, "-o", manifest, "--report", out)
        done = run(*start, *options)
    assert done.code == 0, done.out + done.err
    assert done.out.splitlines()[-1].startswith("conformant in every clause that the store exercises")
    assert len(read_manifest(manifest).sent) > 350
    held = {line.clauses[0] for line in read_report(out / "report.jsonl").cases if line.verdict == "pass"}
    assert held >= EXERCISED_ALWAYS
    assert len(held) >= 100
    assert {
        clause for clause in held & OUT_OF_REACH.keys() if not OUT_OF_REACH[clause].startswith(BY_CHANCE)
    } == set()
    assert run("--namesrv", "127.0.0.1:1", "--kills", 1).code == 2
    assert run("--namesrv", "127.0.0.1:1", "--start", "true").code == 2
    assert "already exists" in run("--namesrv", "127.0.0.1:1", "-o", manifest).err


@pytest.mark.java
@pytest.mark.soak
@pytest.mark.parametrize(("version", "clauses"), [("4.7.0", {"IDX-HDR-4"}), ("5.3.1", set())])
def test_other_releases_break_what_versions_md_says(
    java: str, tmp_path: Path, version: str, clauses: set[str]
) -> None:
    jars = broker_jars(version, tmp_path / "jars")
    assert set(broken(judged(tmp_path, java, seed=1, count=600, jars=jars))) == clauses


def found(java: str, folder: Path, fault: Fault) -> list[str]:
    """The clauses that a faulty broker breaks, the first one first."""
    over = partial(overlay, fault, folder / fault.name)
    return list(broken(judged(folder / "run" / fault.name, java, seed=1, count=600, faulty=over)))


@pytest.mark.java
@pytest.mark.parametrize("name", IN_EVERY_RUN)
def test_a_planted_fault_breaks_its_clause(java: str, tmp_path: Path, name: str) -> None:
    (fault,) = (fault for fault in FAULTS if fault.name == name)
    assert set(fault.clauses) & set(found(java, tmp_path, fault))


@pytest.mark.java
@pytest.mark.soak
@pytest.mark.parametrize("name", [fault.name for fault in FAULTS])
def test_every_planted_fault(java: str, tmp_path: Path, name: str) -> None:
    """Writes the row of the fault into the committed figures, which the next test looks at."""
    (fault,) = (fault for fault in FAULTS if fault.name == name)
    row = {"input": digest(fault), "broken": found(java, tmp_path, fault)}
    rows = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    rows = {fault.name: rows[fault.name] for fault in FAULTS if fault.name in rows} | {name: row}
    FIGURES.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    assert bool(set(fault.clauses) & set(row["broken"])) != (name in NOT_EXERCISED)


def digest(fault: Fault) -> str:
    """A short name for what was run."""
    return hashlib.sha256(repr(fault).encode()).hexdigest()[:12]


def test_the_committed_figures_are_of_these_faults() -> None:
    rows = json.loads(FIGURES.read_text("utf-8"))
    assert {name: row["input"] for name, row in rows.items()} == {
        fault.name: digest(fault) for fault in FAULTS
    }
    missed = {fault.name for fault in FAULTS if not set(fault.clauses) & set(rows[fault.name]["broken"])}
    assert missed == NOT_EXERCISED
    assert len(FAULTS) - len(missed) >= 25
