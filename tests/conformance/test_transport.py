"""Adapters that misbehave: every case gets a verdict, and every run ends."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from rocket_conformance.files import scratch, scratch_root
from rocket_conformance.planning import plan
from rocket_conformance.running import Options, run
from rocket_conformance.transport import AdapterError, Answered, Failed, Job, Process, Reply, open_command
from rocket_reference.java import string_hash
from rocket_spec.errors import UsageError

AdapterMaker = Callable[[str], list[str]]
GOOD = "def handle(count, message):\n    send(answer(message))"


def replies(command: Sequence[str], root: Path, count: int = 5, *, timeout: float = 10.0) -> list[Reply]:
    """Sends `count` cases, the key of each its number, and returns the replies in the order of the cases."""
    jobs = [Job(f"job{n}", root / f"job{n}", ({"op": "key.hash", "key": str(n)},)) for n in range(count)]
    with open_command(command, case_timeout=timeout) as transport:
        found = {job.token: reply for job, reply in transport.run(jobs)}
    assert found.keys() == {job.token for job in jobs}
    return [found[job.token] for job in jobs]


def verdicts(found: list[Reply]) -> list[str]:
    return ["answered" if isinstance(reply, Answered) else reply.verdict for reply in found]


def test_a_good_adapter(adapter: AdapterMaker, tmp_path: Path) -> None:
    found = replies(adapter(GOOD), tmp_path)
    assert [reply.answer.results[0]["hash"] for reply in found if isinstance(reply, Answered)] == [
        48, 49, 50, 51, 52,
    ]  # fmt: skip


def test_several_in_flight_answered_out_of_order(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """\
    IN_FLIGHT = 3
    held = []
    def handle(count, message):
        held.append(message)
        if len(held) == 3:
            while held:
                send(answer(held.pop()))
    """
    found = replies(adapter(code), tmp_path, 9)
    assert [reply.answer.results[0]["hash"] for reply in found if isinstance(reply, Answered)] == [
        *range(48, 57)
    ]


def test_carriage_returns_and_further_fields_are_accepted(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        send(json.dumps(answer(message) | {"took": 1}) + "\\r")
    """
    assert verdicts(replies(adapter(code), tmp_path)) == ["answered"] * 5


def test_a_crash_names_exit_code_and_stderr(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        if message["ops"][0]["key"] == "2":
            sys.stderr.write("boom at 2\\n")
            sys.exit(9)
        send(answer(message))
    """
    found = replies(adapter(code), tmp_path)
    assert verdicts(found) == ["answered", "answered", "crash", "answered", "answered"]
    assert isinstance(found[2], Failed)
    assert "code 9" in found[2].detail
    assert "boom at 2" in found[2].detail


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_signal_is_named(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        os.kill(os.getpid(), 11)
    """
    found = replies(adapter(code), tmp_path, 1)
    assert isinstance(found[0], Failed)
    assert "SIGSEGV" in found[0].detail


def test_of_several_in_flight_only_who_dies_alone_is_to_blame(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """\
    IN_FLIGHT = 4
    def handle(count, message):
        if message["ops"][0]["key"] == "2":
            time.sleep(0.2)
            sys.exit(1)
        if count > 2:
            time.sleep(0.5)
        send(answer(message))
    """
    assert verdicts(replies(adapter(code), tmp_path)) == [
        "answered",
        "answered",
        "crash",
        "answered",
        "answered",
    ]


def test_a_crash_that_does_not_repeat_is_unstable(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        if count == 3:
            sys.exit(1)
        send(answer(message))
    """
    found = replies(adapter(code), tmp_path, 5)
    assert verdicts(found) == ["answered", "answered", "unstable", "answered", "unstable"]


def test_a_hang_is_a_timeout(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        if message["ops"][0]["key"] == "1":
            time.sleep(60)
        send(answer(message))
    """
    start = time.monotonic()
    assert verdicts(replies(adapter(code), tmp_path, 3, timeout=0.5)) == ["answered", "timeout", "answered"]
    assert time.monotonic() - start < 30


def test_an_adapter_that_reads_nothing_more_is_a_timeout(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """\
    IN_FLIGHT = 64
    def handle(count, message):
        time.sleep(60)
    """
    command = adapter(code)
    job = Job("0", tmp_path / "0", ({"op": "key.hash", "key": "x" * 5_000_000},))
    with open_command(command, case_timeout=0.5) as transport:
        found = list(transport.run([job]))
    assert verdicts([reply for _, reply in found]) == ["timeout"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("'Hello, world'", "not JSON"),
        ("'[]'", "not an object"),
        ("{'id': 'other', 'results': []}", "no unanswered case has"),
        ("{'results': []}", "no unanswered case has"),
    ],
)
def test_a_line_that_is_no_answer(adapter: AdapterMaker, tmp_path: Path, line: str, why: str) -> None:
    code = f"""
    def handle(count, message):
        if message["ops"][0]["key"] == "1":
            send({line})
            time.sleep(60)
        send(answer(message))
    """
    found = replies(adapter(code), tmp_path, 3)
    assert verdicts(found) == ["answered", "errored", "answered"]
    assert isinstance(found[1], Failed)
    assert why in found[1].detail


def test_an_answer_of_the_wrong_form_does_not_end_the_process(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        send(answer(message) if count != 2 else {"id": message["id"], "results": [{"hash": "49"}]})
    """
    found = replies(adapter(code), tmp_path, 3)
    assert verdicts(found) == ["answered", "errored", "answered"]
    assert isinstance(found[1], Failed)
    assert "hash: '49' is not a 32-bit number" in found[1].detail


def test_endless_output_is_ended(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        while True:
            sys.stdout.write("x" * 65536)
    """
    found = replies(adapter(code), tmp_path, 1)
    assert verdicts(found) == ["errored"]
    assert isinstance(found[0], Failed)
    assert "longer than 16 MiB" in found[0].detail


def test_endless_lines_are_ended(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        while True:
            send("{}")
    """
    assert verdicts(replies(adapter(code), tmp_path, 1)) == ["errored"]


def test_an_early_exit_without_a_word(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        os._exit(0)
    """
    found = replies(adapter(code), tmp_path, 2)
    assert verdicts(found) == ["crash", "crash"]


def test_an_adapter_that_always_dies_ends_the_run(adapter: AdapterMaker, tmp_path: Path) -> None:
    command = adapter("def handle(count, message):\n    os._exit(3)")
    with open_command(command) as transport:
        report = run(transport, Options(select=["IDX-*"], examples=1, restarts=4, shrink_seconds=0))
    assert report.footer is not None
    assert (
        report.footer["cut_short"]
        == "the adapter crashed or hung too often and never answered (--restarts 4)"
    )
    assert 4 <= report.footer["counts"]["crash"] <= 5
    assert report.footer["counts"]["skipped"] > 4
    assert report.exit_code == 1


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import sys; sys.exit(4)", "exited with code 4"),
        ("print('ready')", "not JSON"),
        ("print('{}')", "protocol None"),
        ("import sys; sys.stderr.write('no database\\n'); sys.exit(1)", "no database"),
    ],
)
def test_an_adapter_that_does_not_answer_hello(code: str, why: str) -> None:
    with pytest.raises(AdapterError, match=why), open_command([sys.executable, "-c", code]):
        pass


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(AdapterError, match="no such file"), open_command(["./no-such-adapter"]):
        pass


def test_check_schema_finds_what_the_form_alone_lets_pass(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        send(answer(message) | {"files": [{"role": "index", "path": "x"}, {"role": "nonsense", "path": "y"}]})
    """
    job = Job("0", tmp_path / "0", ({"op": "key.hash", "key": "a"},))
    with open_command(adapter(code), check_schema=True) as transport:
        [(_, reply)] = list(transport.run([job]))
    assert isinstance(reply, Failed)
    assert "breaks the schema" in reply.detail


def test_a_line_of_100_mb_is_ended(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        if message["ops"][0]["key"] == "1":
            send({"id": message["id"], "results": [], "files": [], "note": "x" * 100_000_000})
        send(answer(message))
    """
    found = replies(adapter(code), tmp_path, 3)
    assert verdicts(found) == ["answered", "errored", "answered"]
    assert isinstance(found[1], Failed)
    assert "longer than 16 MiB" in found[1].detail


def test_a_line_of_15_mib_is_read(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        send(answer(message) | {"note": "x" * (15 << 20)})
    """
    assert verdicts(replies(adapter(code), tmp_path, 2)) == ["answered"] * 2


def test_an_answer_that_comes_twice_makes_the_next_cases_unstable(
    adapter: AdapterMaker, tmp_path: Path
) -> None:
    code = """\
    IN_FLIGHT = 2
    def handle(count, message):
        send(answer(message))
        if message["ops"][0]["key"] == "1":
            send(answer(message))
    """
    found = replies(adapter(code), tmp_path, 4)
    assert verdicts(found)[:2] == ["answered"] * 2
    assert set(verdicts(found)[2:]) == {"unstable"}


BAD = {
    "dies": "os._exit(3)",
    "dies at the third": "os._exit(3) if count == 3 else send(answer(message))",
    "garbage": "send('%PDF-1.7')",
    "wrong id": "send(answer(message) | {'id': 'x'})",
    "no results": "send({'id': message['id'], 'results': []})",
    "closes its output": "sys.stdout.close(); os.close(1); time.sleep(60)",
    "talks without end": "[send('{}') for _ in iter(int, 1)]",
    "writes to stderr without end": "[sys.stderr.write('x' * 65536) for _ in range(100)]; send(answer(message))",
}


@pytest.mark.parametrize("code", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_always_ends_with_a_whole_report(
    code: str, jobs: int, adapter: AdapterMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that closes its output does not end by itself; waiting two seconds for that ten times shows no more than once."""
    end = Process.end
    monkeypatch.setattr(Process, "end", lambda process, *, patience=0.0: end(process, patience=patience / 10))
    command = adapter(f"IN_FLIGHT = 3\ndef handle(count, message):\n    {code}")
    options = Options(select=["IDX-HASH-2/*"], examples=3)
    with open_command(command, case_timeout=2.0, jobs=jobs) as transport:
        report = run(transport, options, report=tmp_path / "out")
    assert report.footer is not None
    assert {line.id for line in report.cases} == {item.id for item in plan(select=options.select)}
    if jobs == 1:
        assert (report.exit_code == 0) == ("stderr" in code)


# --- several processes --------------------------------------------------------------------------------


def test_several_processes_share_the_cases(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """\
    IN_FLIGHT = 2
    def handle(count, message):
        time.sleep(0.01)
        with open(os.path.join(os.path.dirname(message["dir"]), f"seen-{os.getpid()}"), "a") as file:
            file.write(message["id"] + "\\n")
        send(answer(message))
    """
    jobs = [Job(str(n), tmp_path / str(n), ({"op": "key.hash", "key": str(n)},)) for n in range(40)]
    with open_command(adapter(code), jobs=3) as transport:
        found = {job.token: reply for job, reply in transport.run(jobs)}
        again = list(transport.run(jobs[:1]))
    assert found.keys() == {str(n) for n in range(40)}
    for token, reply in found.items():
        assert isinstance(reply, Answered)
        assert reply.answer.results[0]["hash"] == string_hash(token)
    assert len(again) == 1
    seen = [path.read_text().split() for path in tmp_path.glob("seen-*")]
    assert len(seen) == 3
    assert sorted(token for tokens in seen for token in tokens) == sorted([*found, "0"])


def test_of_several_processes_one_that_dies_harms_no_other(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = """
    def handle(count, message):
        if message["ops"][0]["key"] == "7":
            os._exit(1)
        send(answer(message))
    """
    jobs = [Job(str(n), tmp_path / str(n), ({"op": "key.hash", "key": str(n)},)) for n in range(20)]
    with open_command(adapter(code), jobs=2) as transport:
        found = {job.token: reply for job, reply in transport.run(jobs)}
    assert {token: verdicts([reply])[0] for token, reply in found.items()} == {
        str(n): "crash" if n == 7 else "answered" for n in range(20)
    }


def test_several_processes_can_be_left_in_the_middle(adapter: AdapterMaker, tmp_path: Path) -> None:
    jobs = (Job(str(n), tmp_path / str(n), ({"op": "key.hash", "key": str(n)},)) for n in range(1_000))
    with open_command(adapter(GOOD), jobs=2) as transport:
        for _ in transport.run(jobs):
            break
        [(_, reply)] = transport.run([Job("x", tmp_path / "x", ({"op": "key.hash", "key": "a"},))])
        assert isinstance(reply, Answered)


# --- where there are no signals and no fork -------------------------------------------------------------


def test_without_posix_a_hang_is_ended_too(
    adapter: AdapterMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocket_conformance.transport import _process

    windows = SimpleNamespace(name="nt", read=os.read)  # whatever else is asked of it is an AttributeError
    monkeypatch.setattr(_process, "os", windows)
    monkeypatch.setattr(_process, "signal", SimpleNamespace())
    code = """
    def handle(count, message):
        if message["ops"][0]["key"] == "1":
            time.sleep(60)
        send(answer(message))
    """
    assert verdicts(replies(adapter(code), tmp_path, 3, timeout=1.0)) == ["answered", "timeout", "answered"]


# --- scratch --------------------------------------------------------------------------------------------


def test_scratch_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, named = tmp_path / "chosen", tmp_path / "named"
    chosen.mkdir()
    named.mkdir()
    monkeypatch.setenv("TMPDIR", str(named))
    monkeypatch.setattr("tempfile.tempdir", None)
    with scratch(chosen) as path:
        assert path.parent == chosen
    assert not path.exists()
    with scratch() as path:
        assert path.parent == named
    with pytest.raises(UsageError, match="is not a folder"):
        scratch_root(tmp_path / "nothing")


def test_scratch_without_room_in_memory_is_the_system_s(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("rocket_conformance.files.scratch_space._IN_MEMORY", "/nothing/there")
    assert scratch_root() == Path(tempfile.gettempdir())
