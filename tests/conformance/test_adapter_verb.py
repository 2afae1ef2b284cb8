"""`adapter new` and `adapter check`: what is copied, and what is said of adapters that break the protocol."""

import json
import sys
from pathlib import Path

import pytest
from adapter_code import GOOD, WRONG, AdapterMaker
from rocket_conformance.adapter_check import Exchange, check_adapter
from rocket_spec.data import find_data
from verb_run import Verb


def places(exchanges: list[Exchange]) -> list[tuple[str, str]]:
    return [(exchange.about, broken.place) for exchange in exchanges for broken in exchange.broken]


@pytest.mark.parametrize(
    ("code", "place", "text"),
    [
        ("send(answer(message)); send('log: done')", "rule 12", "log: done"),
        ("sys.stdout.write('done '); send(answer(message))", "rule 1", "line is not JSON"),
        ("send([1])", "rule 1", "not an object"),
        ("send(answer(message) | {'id': int(message['id'])})", "rule 4", "id is 1, not '1' as it was sent"),
        ("send({'id': message['id'], 'results': [], 'files': []})", "rule 4", "0 results for 1 operations"),
        ("send({'id': message['id']})", "rule 4", "results of the answer: missing"),
        ("send({'id': message['id'], 'results': [{'hash': '97'}]})", "rule 2", "'97' is not a 32-bit number"),
        ("send({'id': message['id'], 'results': [{'hash': 'geometry'}]})", "rule 2", "'geometry' is not a 32-bit number"),
        ("send({'id': message['id'], 'results': [{}]})", "Operations", "result 0 (key.hash) has no hash"),
        ("send({'id': message['id'], 'results': [1]})", "Operations", "result 0 (key.hash) is not an object"),
        ("send(answer(message) | {'files': ['x']})", "rule 7", "'x' is not a role and a path"),
        ("time.sleep(60)", "rule 1", "is stdout flushed"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_explained(adapter: AdapterMaker, code: str, place: str, text: str) -> None:
    command = adapter(f"def handle(count, message):\n    {code}")
    found = [broken for exchange in check_adapter(command, case_timeout=1.0) for broken in exchange.broken]
    assert found[0].place == place
    assert text in found[0].text


def test_a_process_that_ends_in_a_case_crashes_and_breaks_no_rule(adapter: AdapterMaker, verb: Verb) -> None:
    command = adapter("def handle(count, message):\n    print('panic: index', file=sys.stderr); sys.exit(3)")
    found = list(check_adapter(command))
    assert places(found) == []
    assert {item.verdict for item in found} == {None, "crash"}
    assert "exited with code 3; the end of its stderr:\npanic: index" in found[1].differences[0]
    assert "the protocol is followed, but " in verb("adapter", "check", "--", *command).out


@pytest.mark.parametrize(
    ("hello", "place", "text"),
    [
        ({"protocol": 2}, "rule 3", "protocol 2"),
        ({"ops": "key.hash"}, "rule 3", "ops is not a list"),
        ({"ops": ["key.hash", "index.get"]}, "Operations", "not operations: index.get"),
        ({"ops": ["index.put"]}, "Operations", "index.put without index.open can never be sent"),
        ({"ops": []}, "rule 3", "nothing can be tested"),
        ({"geometry": [7]}, "rule 9", "geometry is [7]"),
        ({"max_in_flight": 0}, "rule 10", "max_in_flight is 0"),
        ({"name": ""}, "rule 3", "name is missing"),
    ],
)
def test_a_wrong_hello_is_explained(
    adapter: AdapterMaker, hello: dict[str, object], place: str, text: str
) -> None:
    command = adapter(f"HELLO.update({hello!r})\n{GOOD}")
    broken = next(check_adapter(command)).broken
    assert broken[0].place == place
    assert text in broken[0].text


def test_an_adapter_that_does_not_end_is_told(adapter: AdapterMaker) -> None:
    """It ends with exit code 1 after bye, and at the end of stdin."""
    code = f"import atexit\natexit.register(lambda: (sys.stdout.flush(), os._exit(1)))\n{GOOD}"
    assert places(list(check_adapter(adapter(code)))) == [("bye", "rule 13"), ("end of stdin", "rule 13")]


def test_two_cases_at_once(adapter: AdapterMaker) -> None:
    """One that says it takes two cases, and mixes up their ids."""
    good = adapter(f"IN_FLIGHT = 2\n{GOOD}")
    exchanges = list(check_adapter(good))
    assert places(exchanges) == []
    assert sum(exchange.about.startswith("two cases at once") for exchange in exchanges) == 2
    wrong = adapter(
        "IN_FLIGHT = 2\nlast = []\ndef handle(count, message):\n    last.append(message['id'])\n"
        "    send(answer(message | {'id': last[-1 if count < 3 else 1]}))"
    )
    assert {place for about, place in places(list(check_adapter(wrong))) if about.startswith("two")} == {
        "rule 4"
    }


def test_a_wrong_value_is_the_implementations(verb: Verb, adapter: AdapterMaker) -> None:
    run = verb("adapter", "check", "--", *adapter(WRONG))
    assert run.code == 1
    assert "IDX-HASH-1: operation 0, hash: wrong value, expected " in run.out
    assert "the protocol is followed, but 1 of 1 smoke cases fail" in run.last


def test_what_was_sent_and_what_came_is_shown(verb: Verb, adapter: AdapterMaker) -> None:
    run = verb("adapter", "check", "--", *adapter("def handle(count, message):\n    send([1])"))
    assert run.code == 1
    lines = run.out.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("BAD  IDX-HASH-1"))
    assert json.loads(lines[place + 1].removeprefix("  > "))["cmd"] == "case"
    assert lines[place + 2] == "  < [1]"
    assert lines[place + 3].startswith("  rule 1: ")
    assert lines[-1].startswith("not ready: the protocol is broken in 1 of ")
    found = verb("adapter", "check", "--json", "--", *adapter("def handle(count, message):\n    send([1])"))
    objects = [json.loads(line) for line in found.out.splitlines()]
    assert [item["about"] for item in objects] == ["hello", "IDX-HASH-1/empty", "bye", "end of stdin"]
    assert objects[1]["broken"][0]["place"] == "rule 1"


@pytest.mark.parametrize("language", ["go", "java", "javascript", "python", "python --decoder", "rust"])
def test_a_starter_is_copied_whole(verb: Verb, tmp_path: Path, language: str) -> None:
    target = tmp_path / "mine"
    run = verb("adapter", "new", *language.split(), "-o", target)
    assert run.code == 0
    source = find_data(f"conformance/adapters/{language.replace(' -', '')}")
    names = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    copied = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert copied == {name for name in names if "__pycache__" not in name}
    assert "marked YOURS" in run.out.splitlines()[0]
    assert run.last.startswith("  rocketspec conform -- ")
    if language.startswith("python"):
        [program] = target.glob("*er.py")
        ready = verb("adapter", "check", "--", sys.executable, program)
        assert ready.code == 0, ready.out
        assert ready.last.startswith("ready: ")
    again = verb("adapter", "new", *language.split(), "-o", target)
    assert again.code == 2
    assert "not empty" in again.err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["new", "cobol"], 2, "unknown language 'cobol'; expected go, java, javascript, python, rust"),
        (["new", "go", "--decoder"], 2, "--decoder: the decoder is in Python; expected python"),
        (["check", "--", "./no-such-adapter"], 3, "./no-such-adapter: no such file or directory"),
    ],
)
def test_bad_input_is_one_line(verb: Verb, arguments: list[str], code: int, text: str) -> None:
    run = verb("adapter", *arguments)
    assert (run.code, run.err) == (code, f"rocketspec: {text}\n")
