"""Adapters that misbehave: every case gets a verdict, and every run ends."""

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from adapter_code import GOOD, AdapterMaker, hash_trial, hash_trials
from rocket_conformance.files import scratch, scratch_root
from rocket_conformance.judging import Trial
from rocket_conformance.transport import AdapterError, open_command
from rocket_spec.errors import UsageError


def replies(command: Sequence[str], root: Path, count: int = 3, *, timeout: float = 10.0) -> list[Trial]:
    """Sends `count` cases, and returns them judged, in their order."""
    trials = hash_trials(root, count)
    with open_command(command, case_timeout=timeout) as transport:
        found = {trial.token: trial.judge() for trial in transport.run(trials)}
    return [found[str(n)] for n in range(count)]


def verdicts(found: Iterable[Trial]) -> list[str]:
    return [trial.verdict for trial in found]


OUT_OF_ORDER = """\
IN_FLIGHT = 3
held = []
def handle(count, message):
    held.append(message)
    if len(held) == 3:
        while held:
            send(answer(held.pop()))
"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(GOOD, id="good"),
        pytest.param(OUT_OF_ORDER, id="three in flight, the last first"),
        pytest.param(
            "def handle(count, message):\n    send(json.dumps(answer(message) | {'took': 1}) + '\\r')",
            id="carriage returns and further fields",
        ),
        pytest.param(
            "def handle(count, message):\n    send(answer(message) | {'note': 'x' * (15 << 20)})", id="15 MiB"
        ),
    ],
)
def test_an_answer_that_is_taken(code: str, adapter: AdapterMaker, tmp_path: Path) -> None:
    assert verdicts(replies(adapter(code), tmp_path)) == ["pass"] * 3


ODD: dict[str, tuple[str, str, str]] = {
    "exit": (
        "sys.stderr.write('x' * 5_000 + 'boom'); sys.exit(9)",
        "crash",
        f"code 9; the end of its stderr:\n{'x' * 4_092}boom",
    ),
    "exit without a word": ("os._exit(0)", "crash", "exited with code 0"),
    "signal": ("os.kill(os.getpid(), 11)", "crash", "SIGSEGV"),
    "hang": ("time.sleep(60)", "timeout", "no answer within 0.5 s"),
    "no JSON": ("send('Hello, world'); time.sleep(60)", "errored", "not JSON"),
    "no object": ("send([]); time.sleep(60)", "errored", "not an object"),
    "another id": ("send({'id': 'x', 'results': []}); time.sleep(60)", "errored", "no unanswered case has"),
    "no id": ("send({'results': []}); time.sleep(60)", "errored", "no unanswered case has"),
    "wrong form": (
        "return send({'id': message['id'], 'results': [{'hash': '49'}]})",
        "errored",
        "hash: '49' is not a 32-bit number",
    ),
    "no end of a line": (
        "[sys.stdout.write('x' * 65536) for _ in iter(int, 1)]",
        "errored",
        "longer than 16 MiB",
    ),
    "half a line": (
        "sys.stdout.write(json.dumps(answer(message))[:20]); sys.stdout.flush(); os._exit(0)",
        "crash",
        "code 0",
    ),
    "too few results": (
        "return send(answer(message) | {'results': []})",
        "errored",
        "0 results for 1 operations",
    ),
    "no end of lines": ("[send('{}') for _ in iter(int, 1)]", "errored", "no unanswered case has"),
    "17 MiB": ("send(answer(message) | {'note': 'x' * (17 << 20)})", "errored", "longer than 16 MiB"),
}
"""What the second of three cases gets, its verdict, and part of the detail."""


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_has_a_verdict_and_harms_no_other_case(
    name: str, adapter: AdapterMaker, tmp_path: Path
) -> None:
    code, verdict, text = ODD[name]
    command = adapter(
        f"def handle(count, message):\n    if message['ops'][0]['key'] == '1':\n        {code}\n    send(answer(message))"
    )
    found = replies(command, tmp_path, timeout=0.5 if name == "hang" else 10.0)
    assert verdicts(found) == ["pass", verdict, "pass"]
    assert text in found[1].detail


def test_an_answer_that_comes_twice_fails_the_next_case(adapter: AdapterMaker, tmp_path: Path) -> None:
    command = adapter("def handle(count, message):\n    send(answer(message))\n    send(answer(message))")
    found = list(replies(command, tmp_path))
    assert verdicts(found) == ["pass", "unstable", "unstable"]  # alone each passes
    assert all("second answer with id" in trial.detail for trial in found[1:])


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
    found = verdicts(replies(adapter(code), tmp_path, 5))
    assert found == ["pass", "pass", "crash", "pass", "pass"]


def test_a_crash_that_nobody_is_to_blame_for_is_one_crash(adapter: AdapterMaker, tmp_path: Path) -> None:
    code = f"""IN_FLIGHT = 3
first = not os.path.exists({str(tmp_path / "first")!r})
open({str(tmp_path / "first")!r}, "w").close()
def handle(count, message):
    if not first:
        send(answer(message))
    elif count == 3:
        os._exit(1)
"""
    found = replies(adapter(code), tmp_path)
    assert [(trial.verdict, trial.ended) for trial in found] == [
        ("unstable", True), ("unstable", False), ("unstable", False),
    ]  # fmt: skip


def test_an_adapter_that_reads_nothing_more_is_a_timeout(adapter: AdapterMaker, tmp_path: Path) -> None:
    command = adapter("IN_FLIGHT = 64\ndef handle(count, message):\n    time.sleep(60)")
    with open_command(command, case_timeout=0.5) as transport:
        assert verdicts(transport.run([hash_trial(tmp_path, 0, "x" * 5_000_000)])) == ["timeout"]


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


@pytest.mark.parametrize(
    ("code", "verdict", "text"),
    [
        ("[None for _ in iter(int, 1)]", "timeout", " s of processor time; it was ended by the suite"),
        ("time.sleep(60)", "timeout", " s; it was ended by the suite"),
        ("subprocess.Popen(WAKE); os.kill(os.getpid(), 19)", "pass", ""),
        ("subprocess.run(['sh', '-c', '(sleep 1.5; kill -CONT $$) & kill -STOP $$'])", "pass", ""),
    ],
    ids=["computes", "sleeps", "is kept waiting by the machine", "waits for one that is kept waiting"],
)
def test_a_short_limit_is_of_what_the_process_does(
    code: str, verdict: str, text: str, adapter: AdapterMaker, tmp_path: Path
) -> None:
    wake = "WAKE = [sys.executable, '-c', f'import os, time; time.sleep(1.5); os.kill({os.getpid()}, 18)']"
    command = adapter(
        f"import subprocess\n{wake}\ndef handle(count, message):\n    if count == 3:\n        {code}\n    send(answer(message))"
    )
    trials = hash_trials(tmp_path, 3)
    trials[2].seconds = 0.3
    with open_command(command) as transport:
        found = [trial.judge() for trial in transport.run(trials)]
    assert verdicts(found) == ["pass", "pass", verdict]
    assert found[2].detail.endswith(text)


def test_a_long_silence_is_said(
    adapter: AdapterMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocket_conformance.transport._child.SILENT_SECONDS", 0.3)
    command = adapter("time.sleep(0.6)\ndef handle(count, message):\n    time.sleep(60)")
    said: list[str] = []
    with open_command(command, case_timeout=1.0, notice=said.append) as transport:
        assert verdicts(transport.run(hash_trials(tmp_path, 1))) == ["timeout"]
    silent = [text.partition(": no answer to ")[2] for text in said]
    assert silent == [
        "hello for 0.3 s; waiting up to 60 s",
        "case IDX-HASH-1/any for 0.3 s; waiting up to 1 s",
    ]


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
    trials = hash_trials(tmp_path, 40)
    with open_command(adapter(code), jobs=3) as transport:
        found = {trial.token: trial.judge() for trial in transport.run(trials)}
        [again] = transport.run(hash_trials(tmp_path, 1))
    assert found.keys() == {trial.token for trial in trials}
    assert verdicts([*found.values(), again.judge()]) == ["pass"] * 41
    seen = [path.read_text().split() for path in tmp_path.glob("seen-*")]
    assert len(seen) == 3
    assert sorted(token for tokens in seen for token in tokens) == sorted([*found, "0"])


def test_several_processes_can_be_left_in_the_middle(adapter: AdapterMaker, tmp_path: Path) -> None:
    with open_command(adapter(GOOD), jobs=2) as transport:
        for _ in transport.run(hash_trials(tmp_path, 1_000)):
            break
        [trial] = transport.run([hash_trial(tmp_path, 0)])
        assert trial.judge().verdict == "pass"


def test_without_posix_a_hang_is_ended_too(
    adapter: AdapterMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocket_conformance.transport import _transport

    # whatever else is asked of them is an AttributeError
    windows = SimpleNamespace(name="nt", read=os.read, getpid=os.getpid)
    there = ("SIG_IGN", "SIGINT", "SIGTERM", "signal", "getsignal")
    monkeypatch.setattr(_transport, "os", windows)
    monkeypatch.setattr(
        _transport, "signal", SimpleNamespace(**{name: getattr(signal, name) for name in there})
    )
    code = "def handle(count, message):\n    time.sleep(60 * (message['ops'][0]['key'] == '1'))\n    send(answer(message))"
    assert verdicts(replies(adapter(code), tmp_path, timeout=1.0)) == ["pass", "timeout", "pass"]


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
