"""Adapters that misbehave: every case gets a verdict, and every run ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rocket_conformance.session import open_command
from rocket_conformance.transport import AdapterError, Answered, Failed, Job, Reply

AdapterMaker = Callable[[str], list[str]]
GOOD = "def handle(count, message):\n    send(answer(message))"


def replies(command: Sequence[str], root: Path, count: int = 5, *, timeout: float = 10.0) -> list[Reply]:
    """Sends so many cases, the key of each its number, and gives the replies in the order of the cases."""
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
        ("'[]'", "no object"),
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
    assert "hash: '49' is no 32-bit number" in found[1].detail


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
    jobs = [Job(str(n), tmp_path / str(n), ({"op": "key.hash", "key": "a"},)) for n in range(200)]
    with open_command(command) as transport:
        found = list(transport.run(jobs))
        assert transport.gave_up == "the adapter died 40 times"
    assert 0 < len(found) < 200


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
