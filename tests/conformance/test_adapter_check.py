"""What `adapter check` reports of adapters that break the protocol."""

import pytest
from adapter_code import GOOD, AdapterMaker
from rocket_conformance.adapter_check import Exchange, check_adapter
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
