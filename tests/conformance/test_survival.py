"""A run survives its implementation: one restart per hang, whole reports, no process and no scratch left."""

import codecs
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import psutil
import pytest
from adapter_code import GOOD, WRONG, AdapterMaker, hash_trials
from rocket_conformance.files import scratch
from rocket_conformance.judging import Trial
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.report import Report, conclusion
from rocket_conformance.running import Options, run
from rocket_conformance.transport import (
    InterruptedBySignal,
    Transport,
    open_command,
    open_handler,
    stop_on_signals,
)
from rocket_spec.data import find_data
from rocket_spec.temporary_folders import remove_tree

# --- restarts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_flight", [1, 4])
def test_a_hang_costs_one_restart(in_flight: int, adapter: AdapterMaker, tmp_path: Path) -> None:
    code = f"""IN_FLIGHT = {in_flight}
open({str(tmp_path / "starts")!r}, "a").write("started ")
def handle(count, message):
    if message["ops"][0]["key"] == "2":
        time.sleep(60)
    send(answer(message))
"""
    with open_command(adapter(code), case_timeout=1.0) as transport:
        found = {trial.token: trial.judge().verdict for trial in transport.run(hash_trials(tmp_path, 8))}
    assert [token for token, verdict in found.items() if verdict != "pass"] == ["2"]
    assert len((tmp_path / "starts").read_text().split()) == 2


def test_an_adapter_that_always_dies_ends_the_run(adapter: AdapterMaker) -> None:
    with open_command(adapter("def handle(count, message):\n    os._exit(3)")) as transport:
        report = run(transport, Options(select=["IDX-*"], examples=1, restarts=4, shrink_seconds=0))
    assert report.footer is not None
    assert report.footer["cut_short"].endswith(" crashed or hung too often and never answered (--restarts 4)")
    assert 4 <= report.footer["counts"]["crash"] <= 5
    assert report.footer["counts"]["skipped"] > 4
    assert report.exit_code == 1


HANGS_IN_HASH = """\
OPS.extend(["tags.code"])
def handle(count, message):
    if message["ops"][0]["op"] == "key.hash":
        os._exit(1)
    send({"id": message["id"], "results": [{"tags_code": str(0)} for op in message["ops"]]})
"""


def test_the_limit_of_restarts_is_one_family_s(adapter: AdapterMaker) -> None:
    options = Options(select=["IDX-HASH-*", "CQ-*"], examples=2, restarts=3, shrink_seconds=0)
    with open_command(adapter(HANGS_IN_HASH)) as transport:
        report = run(transport, options)
    assert report.footer is not None
    by_family = {
        family: {line.verdict for line in report.cases if line.id.startswith(family)} - {"not_applicable"}
        for family in ("IDX-HASH", "CQ")
    }
    assert by_family["IDX-HASH"] == {"crash", "skipped"}
    assert by_family["CQ"] <= {"diverged", "pass"}
    assert "diverged" in by_family["CQ"]
    assert 3 <= sum(line.verdict == "crash" for line in report.cases) <= 4  # one case is made ahead
    reason = "the adapter crashed or hung too often in IDX-HASH (--restarts 3)"
    assert report.footer["cut_short"] == reason
    assert {line.detail for line in report.cases if line.verdict == "skipped"} == {reason}
    assert report.exit_code == 1
    assert reason in conclusion(report)


def test_a_property_of_which_some_lists_ran_is_skipped(adapter: AdapterMaker) -> None:
    """The first case dies while the first lists are on their way, and no more are sent."""
    code = """IN_FLIGHT = 32
def handle(count, message):
    if message["id"] == "1":
        os._exit(1)
    send(answer(message))
"""
    with open_command(adapter(code)) as transport:
        report = run(transport, Options(select=["IDX-HASH-1/*"], restarts=1, shrink_seconds=0))
    line = next(line for line in report.cases if "/prop-" in line.id and line.examples)
    assert (line.verdict, line.detail.partition(": ")[0]) == ("skipped", "not all ran")
    assert line.examples < 100


@pytest.mark.parametrize(
    ("fails", "jobs", "cut_short"),
    [
        ("started > 1", 1, "the adapter did not start again: .*no database.*"),
        ("started > 2", 2, "the adapter did not start again: .*no database.*"),
        ("started % 2 == 0", 1, "None"),
    ],
    ids=["three times in a row", "in each of two processes", "every second time"],
)
def test_an_adapter_that_does_not_start_again_ends_the_run(
    fails: str, jobs: int, cut_short: str, adapter: AdapterMaker, tmp_path: Path
) -> None:
    code = f"""
    with open({str(tmp_path / "started")!r}, "a") as file:
        started = file.write("x") + file.tell() - 1
    if {fails}:
        sys.exit("no database")
    def handle(count, message):
        os._exit(1)
    """
    options = Options(select=["IDX-HASH-*"], examples=2, restarts=50, shrink_seconds=0, fail_fast=False)
    with open_command(adapter(code), jobs=jobs) as transport:
        report = run(transport, options)
    assert report.footer is not None
    assert re.fullmatch(cut_short, str(report.footer["cut_short"]), re.DOTALL)


# --- the operation ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "verdict", "timeout"), [("os._exit(1)", "crash", 10.0), ("time.sleep(60)", "timeout", 1.0)]
)
def test_a_crash_or_hang_names_its_operation_and_is_shrunk(
    how: str, verdict: str, timeout: float, adapter: AdapterMaker, tmp_path: Path
) -> None:
    code = f"""
    def handle(count, message):
        if sum(len(op["key"]) > 3 for op in message["ops"]) > 1:
            {how}
        send(answer(message))
    """
    options = Options(select=["IDX-HASH-1/prop-key-hash"], examples=20, shrink_seconds=60)
    with open_command(adapter(code), case_timeout=timeout) as transport:
        report = run(transport, options, report=tmp_path / "out")
    [line] = report.cases
    assert line.verdict == verdict
    assert "operation 1 (key.hash): " in line.detail
    document = json.loads((tmp_path / "out" / str(line.replay)).read_bytes())
    assert len(document["ops"]) == 2
    assert document["actual"]["verdict"] == verdict


def test_a_port_whose_selects_hang_runs_to_the_end(tmp_path: Path) -> None:
    """The walk of a chain never ends: more cases hang than a family may have restarts, and each names its select."""
    starter = find_data("conformance/adapters/python/adapter.py").read_text("utf-8")
    line = "        offsets = self.index.select("
    assert line in starter
    path = tmp_path / "adapter.py"
    path.write_text(
        starter.replace(
            line, f"        while self.index.header().index_count > 2:\n            pass\n{line}"
        ),
        "utf-8",
    )
    options = Options(select=["IDX-PUT-1/one-*", "IDX-SEL-3/*"], examples=1, restarts=1, shrink_seconds=2)
    with open_command([sys.executable, str(path)], case_timeout=1.0) as transport:
        report = run(transport, options, report=tmp_path / "out")
    hung = [item for item in report.cases if item.verdict == "timeout"]
    assert len(hung) > options.restarts
    assert report.footer is not None
    assert report.footer["cut_short"] is None
    for item in hung:
        ops = json.loads((tmp_path / "out" / str(item.replay)).read_bytes())["ops"]
        [place] = re.findall(r"operation (\d+) \(index\.select\): no answer", item.detail)
        assert "/prop-" not in item.id or int(place) == len(ops) - 1


class HangingSelects:
    """A transport whose selects hang as soon as they find something."""

    gave_up: str | None = None

    def __init__(self, real: Transport) -> None:
        self.hello = real.hello
        self.hangs = 0
        self._real = real

    def run(self, trials: Iterable[Trial]) -> Generator[Trial]:
        for trial in trials:
            answers = trial.expected.results[: len(trial.case.ops)]
            if any(answer.get("offsets") for answer in answers):
                self.hangs += 1
                yield trial.fail("timeout", "no answer", ended=True)
            else:
                yield from self._real.run([trial])

    def side_by_side(self, _count: int, /) -> AbstractContextManager[Transport]:
        return nullcontext(self)

    def close(self) -> None:
        pass


def test_a_case_that_uses_what_hung_hangs_once() -> None:
    with open_handler(ReferenceAdapter()) as real:
        transport = HangingSelects(real)
        report = run(transport, Options(select=["IDX-[HPS]*"], examples=1))
    hung = [item for item in report.cases if item.verdict == "timeout"]
    directed = [item for item in hung if "/prop-" not in item.id]
    assert len(directed) > 100
    assert all(
        re.search(r"operation \d+ \((index\.select|service\.query)\): no answer", item.detail)
        for item in hung
    )
    assert transport.hangs <= len(directed) + 3 * (len(hung) - len(directed)) + 20


def test_fail_fast_ends_at_the_first_failure(adapter: AdapterMaker) -> None:
    with open_command(adapter(WRONG)) as transport:
        report = run(transport, Options(select=["IDX-HASH-*"], examples=2, fail_fast=True, shrink_seconds=1))
    assert report.footer is not None
    assert report.footer["counts"]["diverged"] == 1
    assert report.footer["counts"]["skipped"] > 1
    assert report.footer["counts"]["not_applicable"] > 1  # the other operations, as they were
    assert report.footer["cut_short"].startswith("stopped at the first failure, IDX-HASH-1/")
    assert report.exit_code == 1


# --- signals ------------------------------------------------------------------------------------------------

SPAWNING = """
    import subprocess
    sleeper = "import time; time.sleep(600)"
    def spawn(**how):
        return subprocess.Popen([sys.executable, "-c", sleeper], **how).pid
    pids = [spawn(), spawn(start_new_session=True)]
    if os.fork() == 0:  # a daemon: its parent is gone, its session is its own
        os.setsid()
        os.environ.clear()
        pid = os.fork()
        if pid:
            os._exit(0)
        open(PIDS, "a").write(f"{os.getpid()} ")
        os.close(0); os.close(1); os.close(2)
        time.sleep(600)
        os._exit(0)
    open(PIDS, "a").write("".join(f"{pid} " for pid in [os.getpid(), *pids]))
    def handle(count, message):
        if count == 5:
            HANG
        send(answer(message))
"""


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def spawning(adapter: AdapterMaker, tmp_path: Path, *, hang: str) -> list[str]:
    return adapter(SPAWNING.replace("PIDS", repr(str(tmp_path / "pids"))).replace("HANG", hang))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_leaves_a_report_and_neither_process_nor_scratch(
    name: str, adapter: AdapterMaker, tmp_path: Path
) -> None:
    command = spawning(adapter, tmp_path, hang="time.sleep(600)")
    room = tmp_path / "scratch"
    room.mkdir()
    options = ["--report", str(tmp_path / "out"), "--scratch", str(room), "--case-timeout", "300"]
    with subprocess.Popen(
        [sys.executable, "-m", "rocketspec", "conform", *options, "--", *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as suite:  # fmt: skip
        report = tmp_path / "out" / "report.jsonl"
        pids: list[int] = []
        for _ in range(600):
            if (tmp_path / "pids").exists() and report.exists():
                pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
                passed = report.read_text().count('"pass"')
                if len(pids) == 4 and passed >= 3:
                    break
            time.sleep(0.1)
        assert len(pids) == 4
        suite.send_signal(getattr(signal, name))
        output, errors = suite.communicate(timeout=60)
    assert (suite.returncode, errors) == (130, b"")
    assert output.decode().splitlines()[-1].startswith(f"interrupted by {name}: no verdict")
    lines = [json.loads(line) for line in report.read_text("utf-8").splitlines()]
    assert lines[-1]["type"] == "footer"
    assert lines[-1]["cut_short"] == f"interrupted by {name}"
    assert {line["verdict"] for line in lines[1:-1]} >= {"pass", "skipped"}
    assert [pid for pid in pids if alive(pid)] == []
    assert list(room.iterdir()) == []


def test_what_an_adapter_started_ends_with_it(adapter: AdapterMaker, tmp_path: Path) -> None:
    command = spawning(adapter, tmp_path, hang="os._exit(1)")
    # What it started holds its pipe, so its end is not seen: a case waits for its timeout.
    with open_command(command, case_timeout=2.0) as transport:
        list(transport.run(hash_trials(tmp_path, 8)))
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) >= 6  # it crashed and was started again; a daemon may have ended before it wrote
    assert [pid for pid in pids if alive(pid)] == []


def test_processes_that_were_there_before_are_left_alone(adapter: AdapterMaker) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    ) as ours:
        with open_command(adapter(GOOD)):
            pass
        assert ours.poll() is None


def test_a_second_signal_while_an_adapter_is_ended_leaves_no_process(
    adapter: AdapterMaker, tmp_path: Path
) -> None:
    """It takes its time after bye; the signal arrives then."""
    code = "import atexit\natexit.register(time.sleep, 60)\nopen(PID, 'w').write(str(os.getpid()))\n" + GOOD
    command = adapter(code.replace("PID", repr(str(tmp_path / "pid"))))
    second = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGTERM))
    with pytest.raises(InterruptedBySignal), stop_on_signals(), open_command(command):
        second.start()
    assert not alive(int((tmp_path / "pid").read_text()))


def test_a_signal_that_arrives_within_a_codec_keeps_its_name() -> None:
    """Python gives an exception of one string another text there: "decoding with 'utf-16-be' codec failed (...)"."""

    def interrupted(_data: object, _errors: str = "strict", /) -> tuple[str, int]:
        signal.raise_signal(signal.SIGTERM)
        raise AssertionError("the signal did not arrive")

    def search(name: str) -> codecs.CodecInfo | None:
        return (
            codecs.CodecInfo(codecs.ascii_encode, interrupted, name=name) if name == "interrupted" else None
        )

    codecs.register(search)
    try:
        with stop_on_signals(), pytest.raises(InterruptedBySignal) as caught:
            b"x".decode("interrupted")
    finally:
        codecs.unregister(search)
    assert caught.value.name == "SIGTERM"


# --- scratch ------------------------------------------------------------------------------------------------


def test_scratch_of_a_killed_run_is_swept_by_the_next(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from rocket_conformance.files import scratch\n"
        "with scratch(Path(sys.argv[1])) as path:\n"
        "    (path / 'file').write_bytes(b'x'); print(path, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        left = Path(owner.stdout.readline().strip())
        with scratch(tmp_path):
            assert (left / "file").exists()  # its owner lives
        owner.kill()
    assert (left / "file").exists()
    with scratch(tmp_path) as path:
        assert not left.exists()
        assert path.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_removed_and_not_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "link")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "file").exists()


# --- directories that an adapter spoils ---------------------------------------------------------------------

SPOILERS = {
    "1,500 nested directories": """
        os.chdir(message["dir"])
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
        os.chdir("/")
        send(answer(message))
    """,
    "the parent directory deleted": """
        import shutil
        shutil.rmtree(os.path.dirname(message["dir"]))
        send(answer(message))
    """,
    "the next directories replaced": """
        root, name = os.path.split(message["dir"])
        for number in range(int(name) + 1, int(name) + 9):
            try:
                os.symlink("/etc", os.path.join(root, str(number)))
            except FileExistsError:
                pass
        send(answer(message))
    """,
    "a directory that cannot be entered": """
        os.mkdir(os.path.join(message["dir"], "d"))
        os.chmod(os.path.join(message["dir"], "d"), 0)
        os.chmod(message["dir"], 0)
        send(answer(message))
    """,
}


@pytest.mark.parametrize("code", SPOILERS.values(), ids=SPOILERS.keys())
def test_a_spoilt_directory_leaves_a_report(code: str, adapter: AdapterMaker, tmp_path: Path) -> None:
    command = adapter("def handle(count, message):\n" + textwrap.indent(textwrap.dedent(code), "    "))
    room = tmp_path / "scratch"
    room.mkdir()
    options = Options(select=["IDX-HASH-2/*"], examples=3, scratch=room, shrink_seconds=1)
    with open_command(command) as transport:
        report: Report = run(transport, options, report=tmp_path / "out")
    assert report.footer is not None
    assert (tmp_path / "out" / "report.jsonl").read_text().count("\n") == len(report.cases) + 2
    assert list(room.iterdir()) == []
