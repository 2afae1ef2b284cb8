"""What this suite makes of the stores of real brokers of other releases: the verdict, the audit, the rebuild and the prediction of a start.

`python tests/support/release_run.py [VERSION...]` runs a broker of each release, writes `docs/releases.json` as it goes, and
`docs/releases.md` from it. A row stays if its inputs did.
"""

import json
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from figures import ROOT, inputs_hash, kept_rows, write_figures
from judged_stores import judge_store
from real_broker import NAME, broker_jars
from rocket_columnar.query import OpenStore, find_by_unique_key
from rocket_columnar.rebuild import rebuild
from rocket_columnar.report import audit
from rocket_columnar.restart import restart
from rocket_conformance.running import Options, run
from rocket_conformance.store_verdict import Observations
from rocket_conformance.transport import open_jar
from rocket_spec.errors import UsageError
from rocket_spec.profiles import profile
from scenario import QUEUES, TOPIC, Scenario
from store_bytes import contents

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
    "tests/support/release_run.py",
    "tests/support/scenario.py",
)
CONFIG: Final = {
    "mappedFileSizeCommitLog": "262144",
    "mappedFileSizeConsumeQueue": "2000",
    "maxHashSlotNum": "97",
    "maxIndexNum": "400",
}
LIFE: Final = {
    "plain": "start; workload 1; stop; judge",
    # In the store of the workload delayed messages come due at their own time.
    "restarted": "use loaded; start; load 6 300 3; stop; foretold; load 7 300 3; stop; judge",
    "killed": "start; crash 8 300 3; foretold; settle; stop; judge",
    "without queues": "dispatched",
}
LATER: Final = {
    "POP and timers": "use features; start; client pop; stop; answers; judge; foretold; stop",
    "batch queues": "start; client batch; stop; answers; judge; refused",
}
STEPS, LATER_STEPS = tuple(LIFE), tuple(LATER)
FEATURES: Final = ("5.3.1", "5.5.0")
"""Whose brokers also get POP, timer messages and batches for batch queues."""
EXAMPLES: Final = 20
OPEN: Final = "transaction.unresolved"
"""The workload leaves one half message open: with it this finding is true. It is not looked for in stores of 5.x."""


def content(folder: Path) -> tuple[dict[str, bytes], list[bytes]]:
    """The queue files by name, and the index files in the order of their names, which are clock times."""
    return contents(folder / "consumequeue"), [data for _, data in sorted(contents(folder / "index").items())]


class Release(Scenario):
    """A broker of a release; what its steps find is in `found`.

    Args:
        folder: where everything goes; it must not exist.
        version: the release.
        config: further settings of every start.
    """

    def __init__(self, folder: Path, version: str, **config: str) -> None:
        java = shutil.which("java")
        assert java, "a JDK is needed"
        jars = broker_jars(version, folder / "jars")
        super().__init__(folder / "broker", java, CONFIG | config, jars=jars, release=version)
        self._own_client = [java, "-cp", str(jars / "*"), str(CLIENT), self.namesrv, self.address, NAME]
        self.found: dict[str, Any] = {}
        self.asked: list[str] = []

    def judge(self) -> None:
        """The verdict, the findings and the comparison of the rebuilt files of a store whose broker stopped."""
        named = None if str(self.release).startswith("5.") else self.release  # the bytes of 5.x show it
        seen = Observations(profile=profile(str(self.release)))
        verdict = judge_store(self.store, manifest=self.manifest, seen=seen, release=str(self.release))
        report = audit(self.store, "deep", release=named)
        again = self.folder / "again"
        rebuild(self.store, again, release=named)
        pairs = zip(content(again), content(self.store), strict=True)
        self.found["queues"], self.found["index"] = (ours == theirs for ours, theirs in pairs)
        shutil.rmtree(again)
        left = [found for found in report if found.code == OPEN and found.message.startswith("1 half")]
        true = {OPEN} if self.manifest is not None and left else set[str]()
        self.manifest = None
        self.found |= {
            "records": verdict.records,
            "held": len(verdict.with_outcome("held")),
            "broken": verdict.with_outcome("broken"),
            "findings": sorted({found.code for found in report if found.severity != "note"} - true),
            "true": sorted(true),
            "notes": sorted({found.code for found in report if found.severity == "note"}),
        }

    def foretold(self, **config: str) -> None:
        super().foretold(**config)
        done = self.starts[-1]
        self.found["foretold"] = not done.faults() and done.lost == done.predicted_lost

    def refused(self) -> None:
        """No start is predicted."""
        try:
            restart(self.store, release=self.release)
            self.found["foretold"] = False
        except UsageError as error:
            self.found["refused"] = str(error).partition(": ")[2]

    def client(self, what: str) -> None:
        """Sends what only clients of 5.x send, "pop" or "batch"; `asked` are lines of what was asked, and the answers' offsets."""
        command = [*self._own_client, what]
        printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
        self.asked = [line for line in printed.splitlines() if line.startswith(("key ", "unique ", "tag "))]

    def answers(self) -> None:
        """The broker's answers by key, unique key and tag beside ours."""
        with OpenStore(self.store) as opened:
            wrong = [
                (kind, topic, key)
                for kind, topic, key, *offsets in map(str.split, self.asked)
                if sorted(map(int, offsets)) != answer(opened, kind, topic, key)
            ]
        self.found |= {"answers": len(self.asked), "wrong": wrong}

    def dispatched(self) -> None:
        """The units that a start after a clean stop makes of the log alone, and those that were foretold."""
        whole = self.folder / "whole"
        rebuild(self.store, whole)
        every = _offsets(whole)
        self.do("remove consumequeue", "mkdir consumequeue")
        foretold = restart(self.store, release=self.release).dispatch_from
        self.do("start", "settle")
        self.ask("bounds", topic=TOPIC, queues=QUEUES)
        self.stop()
        wanted = sum(offset >= foretold for offset in every)
        made = len(_offsets(self.store))
        self.found |= {"units": made, "of": len(every), "foretold": made == wanted}


def answer(opened: OpenStore, kind: str, topic: str, key: str) -> list[int]:
    """The physical offsets that a query gives."""
    if kind == "unique":  # the client keeps the one that was stored first
        found = find_by_unique_key(opened, key, [topic])
        return [row["phy_offset"] for row in sorted(found, key=lambda row: row["store_timestamp"])[:1]]
    every: dict[str, Any] = {"max_num": 64, "begin": 0, "end": LAST}
    if kind == "tag":
        return [row["phy_offset"] for row in opened.query(topic, f"T#{key}", **every).messages]
    return [row["phy_offset"] for row in opened.query_exact(topic, key, **every).messages]


def _offsets(store: Path) -> list[int]:
    """Physical offsets of all units of the load's topic."""
    raw = b"".join(contents(store / "consumequeue" / TOPIC).values())
    return [offset for offset, size, _ in struct.iter_unpack(">qiq", raw) if size not in (0, 0x7FFFFFFF)]


def measure(version: str) -> dict[str, Any]:
    """The row of one release."""
    with open_jar(version, case_timeout=30.0) as opened:
        options = Options(examples=EXAMPLES, shrink_seconds=0.0, explained=False, profile=profile(version))
        cases = run(opened, options).cases
    ran = [line for line in cases if line.verdict != "not_applicable"]
    differ = sorted(line.id for line in ran if line.verdict != "pass")
    steps = {}
    with tempfile.TemporaryDirectory() as name, Release(Path(name), version) as broker:
        for step, table in (LIFE | (LATER if version in FEATURES else {})).items():
            broker.found = {}
            broker.do(*table.split("; "))
            steps[step] = broker.found
    return {"cases": len(ran), "differ": differ, "steps": steps}


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
    rows = kept_rows(RESULTS, inputs_hash(INPUTS))
    for version in sys.argv[1:] or [version for version in VERSIONS if version not in rows]:
        rows[version] = measure(version)
        print(version, json.dumps(rows[version]), flush=True)  # noqa: T201 - a command
        rows = {name: rows[name] for name in VERSIONS if name in rows}
        results = {"inputs": inputs_hash(INPUTS), "rows": rows}
        write_figures(RESULTS, results)
        PAGE.write_text(render(results), "utf-8")


if __name__ == "__main__":
    main()
