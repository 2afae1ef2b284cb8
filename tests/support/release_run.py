"""What this suite makes of the stores of real brokers of other releases: the verdict, the audit, the rebuild and the prediction of a start.

`python tests/support/release_run.py [VERSION...]` runs a broker of each release, writes `docs/releases.json` as it goes, and
`docs/releases.md` from it. A row stays if its inputs did.
"""

import hashlib
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from judged_stores import judge_store
from kill_cycle import QUEUES, TOPIC, Kill, Load, kill, make_topics, start_load
from real_broker import NAME, RealBroker, broker_jars
from rocket_columnar.query import OpenStore, find_by_unique_key
from rocket_columnar.rebuild import rebuild
from rocket_columnar.report import audit
from rocket_columnar.restart import restart
from rocket_conformance.running import Options, run
from rocket_conformance.store_verdict import Observations
from rocket_conformance.transport import open_jar
from rocket_conformance.workload import Client, Manifest, run_workload
from rocket_spec.errors import UsageError
from rocket_spec.profiles import profile
from store_bytes import contents

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / "docs" / "releases.json"
CLIENT: Final = ROOT / "tests" / "acceptance" / "LaterClient.java"
LAST: Final = (1 << 63) - 1
PAGE: Final = ROOT / "docs" / "releases.md"
VERSIONS: Final = ("4.7.1", "4.8.0", "4.9.3", "4.9.7", "5.1.4", "5.3.1", "5.5.0")
"""4.9.7 and 5.5.0 are the newest of their kind whose broker Maven resolves."""

INPUTS: Final = (
    "spec/profiles.json",
    "columnar/rocket_columnar/restart/recovery.py",
    "columnar/rocket_columnar/restart/prediction.py",
    "tests/acceptance/Driver.java",
    "tests/acceptance/LaterClient.java",
    "tests/support/kill_cycle.py",
    "tests/support/release_run.py",
)
CONFIG: Final = {
    "mappedFileSizeCommitLog": "262144",
    "mappedFileSizeConsumeQueue": "2000",
    "maxHashSlotNum": "97",
    "maxIndexNum": "400",
}
STEPS: Final = ("plain", "restarted", "killed", "without queues")
LATER_STEPS: Final = ("POP and timers", "batch queues")
FEATURES: Final = ("5.3.1", "5.5.0")
"""Whose brokers also get POP, timer messages and batches for batch queues."""
EXAMPLES: Final = 20
COUNT: Final = 600
LOADED: Final = 3.0  # seconds
OPEN: Final = "transaction.unresolved"
"""The workload leaves one half message open: with it this finding is true. It is not looked for in stores of 5.x."""


def inputs_hash() -> str:
    digest = hashlib.sha256()
    for name in INPUTS:
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes() + b"\0")
    return digest.hexdigest()


def content(folder: Path) -> tuple[dict[str, bytes], list[bytes]]:
    """The queue files by name, and the index files in the order of their names, which are clock times."""
    return contents(folder / "consumequeue"), [data for _, data in sorted(contents(folder / "index").items())]


def judged(version: str, store: Path, folder: Path, manifest: Manifest | None) -> dict[str, Any]:
    """The verdict, the findings and the comparison of the rebuilt files of a store whose broker stopped."""
    named = None if version.startswith("5.") else version  # the bytes of 5.x show it
    verdict = judge_store(
        store, manifest=manifest, seen=Observations(profile=profile(version)), release=named
    )
    report = audit(store, "deep", release=named)
    rebuild(store, folder, release=named)
    left = [found for found in report if found.code == OPEN and found.message.startswith("1 half")]
    true = {OPEN} if manifest is not None and left else set[str]()
    queues, index = (ours == theirs for ours, theirs in zip(content(folder), content(store), strict=True))
    return {
        "records": verdict.records,
        "held": len(verdict.with_outcome("held")),
        "broken": verdict.with_outcome("broken"),
        "findings": sorted({found.code for found in report if found.severity != "note"} - true),
        "true": sorted(true),
        "notes": sorted({found.code for found in report if found.severity == "note"}),
        "queues": queues,
        "index": index,
    }


def steps(version: str, folder: Path, java: str, jars: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each step of one broker's life with what was found."""
    with RealBroker(folder / "broker", java, CONFIG, jars=jars) as broker:
        broker.start()
        with Client(broker.namesrv, version="4.9.3") as client:
            manifest = run_workload(client, seed=1, count=COUNT, version="4.9.3", store=broker.store)
        broker.stop()
        yield "plain", judged(version, broker.store, folder / "plain", manifest)
        # In the store of the workload delayed messages come due at their own time.
        broker.store = broker.folder / "loaded"
        broker.start()
        make_topics(broker)
        send(broker, seed=6)
        broker.stop()
        told = is_foretold(version, broker)
        make_topics(broker)
        send(broker, seed=7)
        broker.stop()
        yield "restarted", judged(version, broker.store, folder / "restarted", None) | {"foretold": told}
        broker.start()
        make_topics(broker)
        done = kill(broker, Load(8, 300, LOADED), [], index_safe=False, release=version)
        broker.ask("log")
        broker.stop()
        found = judged(version, broker.store, folder / "killed", None)
        yield "killed", found | {"foretold": as_foretold(done)}
        yield "without queues", without_queues(version, broker)
        if version in FEATURES:
            broker.store = broker.folder / "features"
            for step, what in zip(LATER_STEPS, ("pop", "batch"), strict=True):
                yield step, features(version, broker, what, java, jars)


def is_foretold(version: str, broker: RealBroker) -> bool:
    """Starts a stopped broker; whether it deletes what was foretold, and its log ends there."""
    foretold = restart(broker.store, release=version)
    links = broker.snapshot("before")
    broker.start()
    end = int(broker.ask("log")["commitLogMaxOffset"])
    gone = sorted(name for name, link in links.items() if link.stat().st_nlink == 1)
    shutil.rmtree(broker.folder / "before")
    same = sorted(one.file for one in foretold.deletions) == [
        name for name in gone if name.startswith(("index", "consumequeue/", "commitlog"))
    ]
    return same and end == foretold.log_end


def answers_of_client(broker: RealBroker, what: str, java: str, jars: Path) -> list[str]:
    """Sends what only clients of 5.x send, "pop" or "batch"; lines of what was asked afterwards, and of the answers' offsets."""
    client = [java, "-cp", str(jars / "*"), str(CLIENT), broker.namesrv, broker.address, NAME, what]
    printed = subprocess.run(client, check=True, capture_output=True, text=True, timeout=300).stdout
    return [line for line in printed.splitlines() if line.startswith(("key ", "unique ", "tag "))]


def features(version: str, broker: RealBroker, what: str, java: str, jars: Path) -> dict[str, Any]:
    """What only clients of 5.x do: the store of it, a start, and the broker's answers by key, unique key and tag beside ours."""
    broker.start()
    asked = [line.split() for line in answers_of_client(broker, what, java, jars)]
    broker.stop()
    with OpenStore(broker.store) as opened:
        wrong = [
            (kind, topic, key)
            for kind, topic, key, *offsets in asked
            if sorted(map(int, offsets)) != answer(opened, kind, topic, key)
        ]
    again = broker.folder / f"{what}-again"
    found = judged(version, broker.store, again, None) | {"answers": len(asked), "wrong": wrong}
    try:
        found["foretold"] = is_foretold(version, broker)
        broker.stop()
    except UsageError as error:
        found["refused"] = str(error).partition(": ")[2]
    return found


def answer(opened: OpenStore, kind: str, topic: str, key: str) -> list[int]:
    """The physical offsets that a query gives."""
    if kind == "unique":  # the client keeps the one that was stored first
        found = find_by_unique_key(opened, key, [topic])
        return [row["phy_offset"] for row in sorted(found, key=lambda row: row["store_timestamp"])[:1]]
    every: dict[str, Any] = {"max_num": 64, "begin": 0, "end": LAST}
    if kind == "tag":
        return [row["phy_offset"] for row in opened.query(topic, f"T#{key}", **every).messages]
    return [row["phy_offset"] for row in opened.query_exact(topic, key, **every).messages]


def send(broker: RealBroker, seed: int) -> None:
    """A load, all of it dispatched."""
    start_load(broker, Load(seed, 300, LOADED))
    time.sleep(LOADED)
    broker.stop_load()
    broker.ask("log")


def without_queues(version: str, broker: RealBroker) -> dict[str, Any]:
    """The units that a start after a clean stop makes of the log alone, and those that were foretold."""
    shutil.copytree(broker.store, broker.folder / "whole")
    broker.drop("consumequeue")
    (broker.store / "consumequeue").mkdir()
    foretold = restart(broker.store, release=version).dispatch_from
    rebuild(broker.folder / "whole", broker.folder / "whole-again")
    wanted = sum(offset >= foretold for offset in _offsets(broker.folder / "whole-again"))
    broker.start()
    make_topics(broker)
    broker.ask("log")
    broker.ask("bounds", topic=TOPIC, queues=QUEUES)
    broker.stop()
    made = len(_offsets(broker.store))
    return {"units": made, "of": len(_offsets(broker.folder / "whole-again")), "foretold": made == wanted}


def _offsets(store: Path) -> list[int]:
    """Physical offsets of all units of the load's topic."""
    raw = b"".join(contents(store / "consumequeue" / TOPIC).values())
    return [offset for offset, size, _ in struct.iter_unpack(">qiq", raw) if size not in (0, 0x7FFFFFFF)]


def as_foretold(done: Kill) -> bool:
    """Whether a start after a kill did what was foretold, and lost those keys."""
    try:
        done.check()
    except AssertionError:
        return False
    return done.lost == done.predicted_lost


def measure(version: str, java: str) -> dict[str, Any]:
    """The row of one release."""
    with open_jar(version, case_timeout=30.0) as opened:
        options = Options(examples=EXAMPLES, shrink_seconds=0.0, replays=False, profile=profile(version))
        cases = run(opened, options).cases
    ran = [line for line in cases if line.verdict != "not_applicable"]
    differ = sorted(line.id for line in ran if line.verdict != "pass")
    with tempfile.TemporaryDirectory() as name:
        jars = broker_jars(version, Path(name) / "jars")
        found = dict(steps(version, Path(name), java, jars))
    return {"cases": len(ran), "differ": differ, "steps": found}


def render(results: dict[str, Any]) -> str:
    """The page: the text of `release_page.txt` with its three tables."""
    stores, units, later = [], [], []
    for version, row in results["rows"].items():
        found = [row["steps"][step] for step in STEPS[:-1]]
        stores.append(
            f"| {version} | {len(row['differ'])} of {row['cases']} "
            f"| {', '.join(str(one['held']) for one in found)}; {sum(len(one['broken']) for one in found)} broken "
            f"| {sum(len(one['findings']) for one in found)} findings "
            f"| {_share(found, 'queues')}, {_share(found, 'index')} "
            f"| {_share([row['steps'][step] for step in STEPS[1:]], 'foretold')} |"
        )
        last = row["steps"]["without queues"]
        units.append(f"| {version} | {last['units']:,} | {last['of']:,} |")
        later += [
            _later_row(version, step, row["steps"][step]) for step in LATER_STEPS if step in row["steps"]
        ]
    tables = {"stores": stores, "units": units, "features": later}
    text = Path(__file__).with_name("release_page.txt").read_text("utf-8")
    return text.format(**{name: "\n".join(rows) for name, rows in tables.items()})


def _later_row(version: str, step: str, one: dict[str, Any]) -> str:
    """The row of what only clients of 5.x do."""
    start = "foretold" if one.get("foretold") else "not predicted" if "refused" in one else "not as foretold"
    return (
        f"| {version} | {step} | {len(one['broken'])} | {len(one['findings'])} | {_share([one], 'queues')}, {_share([one], 'index')} "
        f"| {one['answers'] - len(one['wrong']):,} of {one['answers']:,} | {start} |"
    )


def _share(found: list[dict[str, Any]], name: str) -> str:
    return f"{sum(bool(one[name]) for one in found)} of {len(found)}"


def main() -> None:
    """Measures what is missing or named."""
    java = shutil.which("java")
    assert java, "a JDK is needed"
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    rows = kept.get("rows", {}) if kept.get("inputs_sha256") == inputs_hash() else {}
    for version in sys.argv[1:] or [version for version in VERSIONS if version not in rows]:
        rows[version] = measure(version, java)
        print(version, json.dumps(rows[version]), flush=True)  # noqa: T201 - a command
        rows = {name: rows[name] for name in VERSIONS if name in rows}
        results = {"inputs_sha256": inputs_hash(), "rows": rows}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        PAGE.write_text(render(results), "utf-8")


if __name__ == "__main__":
    main()
