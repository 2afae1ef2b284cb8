"""Adapters that answer with malice: a verdict and a whole report in bounded time, nothing of it acts, no link is followed."""

import base64
import json
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from adapter_code import AdapterMaker
from changed_adapter import FILE, ChangedAdapter
from rocket_conformance.pages import write_renderings
from rocket_conformance.protocol import ProtocolError, parse_answer
from rocket_conformance.report import CaseLine, Report, read_report
from rocket_conformance.running import Options, run
from rocket_conformance.schema import problems
from rocket_conformance.transport import open_command, open_handler
from rocket_golden import zstd

Change = Callable[[dict[str, Any], Path], None]
HOSTILE = "\x1b[2J\x1b]0;owned\x07\0\x9b31m\u202e<script>alert(1)</script>\ud800"
CASE = "IDX-PUT-6/chain"
SIZE = 4 << 20


def changed(change: Change, hello: Mapping[str, Any] | None = None) -> ChangedAdapter:
    return ChangedAdapter(hello, lambda answer, message: change(answer, Path(message["dir"])))


def run_on(
    change: Change, folder: Path, *, hello: Mapping[str, Any] | None = None, case: str = CASE
) -> tuple[Report, CaseLine]:
    with open_handler(changed(change, hello)) as transport:
        report = run(transport, Options(select=[case]), report=folder)
    write_renderings(report, folder)
    assert report.footer is not None
    assert read_report(folder / "report.jsonl").footer is not None
    for text in (folder / "report.jsonl").read_text("utf-8").splitlines():
        assert problems("report_line", json.loads(text)) == []
    return report, report.cases[0]


def results_become(result: dict[str, Any], *, of: str = "") -> Change:
    """A change of the second result, or of every one that has the field `of`."""

    def change(answer: dict[str, Any], _directory: Path) -> None:
        answer["results"] = [
            result if (of in old if of else place == 1) else old
            for place, old in enumerate(answer["results"])
        ]

    return change


def assert_inert(folder: Path) -> None:
    for name in ("report.html", "report.md", "junit.xml"):
        assert not {"\x1b", "\0", "\x9b", "\u202e"} & set((folder / name).read_text("utf-8"))


# --- texts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["errored", "skipped", "rejected", "unsupported"])
def test_a_reason_that_acts_is_shown_and_does_nothing(outcome: str, tmp_path: Path) -> None:
    _, line = run_on(results_become({outcome: HOSTILE}), tmp_path)
    assert line.verdict != "pass"
    assert line.detail.isprintable()
    assert all(ord(char) < 0xD800 for char in line.detail)
    assert_inert(tmp_path)


@pytest.mark.parametrize(
    ("change", "case", "text"),
    [
        (results_become({"errored": "x" * (15 << 20)}), CASE, "15,728,640 characters"),
        (
            results_become({"offsets": ["1"] * 300_000}, of="offsets"),
            "IDX-SEL-1/count-2",
            "300000 offsets, the first that",
        ),
    ],
    ids=["an error of 15 MB", "300,000 offsets"],
)
def test_what_is_long_is_cut_in_what_is_written(change: Change, case: str, text: str, tmp_path: Path) -> None:
    _, line = run_on(change, tmp_path, case=case)
    assert text in (line.divergence[0]["actual"] if line.divergence else line.detail)
    if line.replay:
        assert problems("case", json.loads((tmp_path / line.replay).read_bytes())) == []
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 1 << 20


def test_a_text_of_2_mb_in_a_result_is_refused() -> None:
    request = {"topic": "x" * 2_000_000}
    with pytest.raises(ProtocolError, match="2,000,000 characters"):
        parse_answer({"results": [{"requests": [request]}]}, [{"op": "log.dispatch"}])


def test_a_name_of_10_mb_that_acts(tmp_path: Path) -> None:
    hello = {"name": HOSTILE + "x" * 10_000_000, "version": HOSTILE, "features": [HOSTILE]}
    report, line = run_on(lambda _answer, _directory: None, tmp_path / "out", hello=hello)
    assert line.verdict == "pass"
    implementation = report.header["implementation"]
    assert implementation["name"].startswith("\\x1b[2J\\x1b]0;owned\\x07\\x00\\x9b31m\\u202e<script>")
    for text in (implementation["name"], implementation["version"], *implementation["features"]):
        assert text.isprintable()
        assert len(text) < 1_000


def test_stderr_that_acts_and_never_ends(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        for _ in range(2_000):
            sys.stderr.write("\\x1b]0;owned\\x07\\u202e" * 5_000)
        sys.stderr.flush()
        os._exit(1)
    """
    with open_command(adapter(code)) as transport:
        options = Options(select=["IDX-HASH-2/*"], examples=1, restarts=2, shrink_seconds=0)
        report = run(transport, options, report=tmp_path / "out")
    crashed = [line for line in report.cases if line.verdict == "crash"]
    assert crashed
    for line in crashed:
        assert len(line.detail) < 20_000
        assert line.detail.replace("\n", "").isprintable()
        assert "\\x1b]0;owned\\x07\\u202e" in line.detail


# --- files --------------------------------------------------------------------------------------------------


def test_a_file_grown_to_1_tb_is_judged_by_its_length(tmp_path: Path) -> None:
    def change(_answer: dict[str, Any], directory: Path) -> None:
        with (directory / FILE).open("r+b") as file:
            file.truncate(1 << 40)

    _, line = run_on(change, tmp_path / "out")
    assert line.verdict == "diverged"
    assert (line.divergence[0]["field"], line.divergence[0]["actual"]) == ("size", 1 << 40)
    assert len(line.divergence) == 1
    document = json.loads((tmp_path / "out" / str(line.replay)).read_bytes())
    assert document["actual"]["files"] == {FILE: {"size": 1 << 40}}
    assert problems("case", document) == []


def test_300_mib_that_are_not_zero_are_not_held(tmp_path: Path) -> None:
    def change(answer: dict[str, Any], directory: Path) -> None:
        for number in range(8):
            (directory / f"x{number}").write_bytes(b"\xff" * (60 << 20))
            answer["files"].append({"role": "index", "path": f"x{number}"})

    _, line = run_on(change, tmp_path / "out")
    assert line.verdict == "errored"
    assert "256 MiB are not zero" in line.detail


@pytest.mark.parametrize("linked", ["file", "folder", "directory"])
def test_a_link_to_a_secret_is_not_followed(linked: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / FILE).write_bytes(b"root:x:0:0")

    def change(answer: dict[str, Any], directory: Path) -> None:
        if linked == "file":
            (directory / FILE).unlink()
            (directory / FILE).symlink_to(secret / FILE)
        elif linked == "folder":
            (directory / "link").symlink_to(secret)
            answer["files"].append({"role": "index", "path": f"link/{FILE}"})
        else:
            directory.rename(directory.with_name("moved"))
            directory.symlink_to(secret)

    _, line = run_on(change, tmp_path / "out")
    assert line.verdict == "errored"
    assert "links are not followed" in line.detail
    needles = (b"root:x:0:0", base64.b64encode(zstd.compress(b"root:x:0:0")))
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or not any(needle in path.read_bytes() for needle in needles)
    assert (secret / FILE).read_bytes() == b"root:x:0:0"


def test_a_fifo_in_place_of_the_file_does_not_hang(tmp_path: Path) -> None:
    import os

    def change(_answer: dict[str, Any], directory: Path) -> None:
        (directory / FILE).unlink()
        os.mkfifo(directory / FILE)

    _, line = run_on(change, tmp_path / "out")
    assert line.verdict == "diverged"
    assert line.divergence[0]["field"] == "size"


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ([{"role": "index", "path": str(n)} for n in range(300_000)], "300,000 items"),
        ([{"role": "index", "path": "../../etc/passwd"}], "inside the case's directory"),
        ([{"role": "index", "path": "/etc/passwd"}], "inside the case's directory"),
        ([{"role": "index", "path": "x" * 1_000_000}], "longer than 255 bytes"),
        ([{"role": "index", "path": "\ud800"}], "must not hold"),
        ([{"role": "index", "path": HOSTILE}], "must not hold"),
        ([{"role": 7, "path": "x" * 10_000_000}], "not a role and a path"),
    ],
)
def test_files_that_no_answer_may_list(files: list[Any], text: str, tmp_path: Path) -> None:
    def change(answer: dict[str, Any], _directory: Path) -> None:
        answer["files"] = files

    _, line = run_on(change, tmp_path / "out")
    assert line.verdict == "errored"
    assert text in line.detail
    assert line.detail.isprintable()
    assert len(line.detail) < 1_000


def test_a_queue_folder_of_2_000_files_is_refused(tmp_path: Path) -> None:
    def change(_answer: dict[str, Any], directory: Path) -> None:
        folder = next((directory / "consumequeue").glob("*/*"), None)
        for number in range(2_000 if folder else 0):
            (folder or directory).joinpath(f"{number:020}").touch()

    with open_handler(changed(change)) as transport:
        report = run(transport, Options(select=["CQ-PUT-1/*"], examples=1), report=tmp_path / "out")
    errored = [line for line in report.cases if line.verdict == "errored"]
    assert errored
    assert all("more than 1,000 files" in line.detail for line in errored)


def test_files_of_4_mib_in_every_case_are_not_kept(tmp_path: Path) -> None:
    def grow(_answer: dict[str, Any], directory: Path) -> None:
        (directory / FILE).write_bytes(b"x" * SIZE)

    tracemalloc.start()
    try:
        with open_handler(changed(grow)) as transport:
            options = Options(select=["IDX-PUT-6/seeded-*2*"], examples=1, shrink_seconds=0)
            report = run(transport, options, report=tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    failed = [case for case in report.cases if case.verdict == "diverged"]
    assert len(failed) >= 20
    assert peak < 8 * SIZE
