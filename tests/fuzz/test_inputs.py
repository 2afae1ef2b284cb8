"""Inputs that once failed, and a few new ones for each target: an answer, or a documented error."""

import json
import os
import signal
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import fuzz_targets
import pytest
from fuzz_inputs import Damage, Damaged, Target, load, recorded
from fuzz_stores import check
from fuzz_targets import TARGETS, attempt, bounded_memory
from hypothesis import HealthCheck, Phase, find, given, note, settings
from hypothesis import strategies as st
from rocket_columnar import formats
from time_limit import TooLongError

SUPPORT = Path(__file__).parents[1] / "support"
INPUTS = {path.stem: load(path) for path in Path(__file__).with_name("inputs").glob("*.json")}
NAMES = [pytest.param(name, marks=pytest.mark.spark if "Spark" in name else ()) for name in sorted(TARGETS)]
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
"""An input may be a whole store."""


@pytest.mark.parametrize(
    ("name", "failed"),
    [
        pytest.param(name, failed, marks=pytest.mark.spark if "Spark" in name else ())
        for failed in sorted(INPUTS)
        for name in sorted(TARGETS)
        if fnmatchcase(name, INPUTS[failed][0])
    ],
)
def test_inputs_that_failed(name: str, failed: str) -> None:
    attempt(name, INPUTS[failed][1])


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=int(os.environ.get("FUZZ", "3")), deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_new_inputs(name: str, data: st.DataObject) -> None:
    value = data.draw(TARGETS[name].inputs)
    note(json.dumps({"target": name, **recorded(value)}))
    with bounded_memory():
        attempt(name, value)


def test_a_failure_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness itself: an error that is not documented, one that is, a function that does not end, and one that takes memory."""

    def endless(_data: bytes, _folder: Path) -> None:
        while True:
            pass

    targets = {
        "bad": Target(st.just(b""), lambda data, _: {b"x": 1}[data], (ValueError,)),
        "good": Target(st.just(b""), lambda data, _: {b"x": 1}[data], (KeyError,)),
        "endless": Target(st.just(b""), endless),
    }
    monkeypatch.setattr(fuzz_targets, "TARGETS", targets)
    monkeypatch.setattr(fuzz_targets, "SECONDS", 1)
    with pytest.raises(KeyError):
        attempt("bad", b"y")
    attempt("bad", b"x")
    attempt("good", b"y")
    with pytest.raises(TooLongError):
        attempt("endless", b"")
    sizes = iter((0, 2 << 30))
    monkeypatch.setattr(fuzz_targets, "_largest", lambda: next(sizes))
    with pytest.raises(AssertionError, match="took 2,147,483,648 bytes"):
        attempt("bad", b"x")


@pytest.mark.parametrize(
    ("target", "function", "wrong"),
    [
        ("record", "rocket_columnar.formats.parse_record", lambda _window, _at: formats.Bad("x", "y")),
        ("properties", "rocket_columnar.formats.parse_properties", lambda _data: {b"KEYS": b"other"}),
        ("text and key hash", "rocket_columnar.formats.hash_key", lambda _key: 1),
        ("Java number", "rocket_columnar.formats.parse_long", lambda _text: 7),
        ("message ID", "rocket_columnar.formats.make_offset_id", lambda _host, _offset: ""),
        ("queue units", "rocket_reference.queue_units", lambda _data: []),
        ("index select", "rocket_columnar.index.IndexFile.select", lambda *_: [7]),
        ("index put", "rocket_reference.IndexFile.put", lambda *_: True),
        ("index entries", "rocket_reference.index_entries", lambda *_, **__: []),
    ],
)
def test_a_way_that_answers_differently_is_found(
    target: str, function: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness itself: one of the ways is replaced by one that is wrong."""
    monkeypatch.setattr(function, wrong)

    def differs(value: bytes) -> bool:
        try:
            attempt(target, value)
        except AssertionError:
            return True
        return False

    find(
        TARGETS[target].inputs,
        differs,
        settings=settings(max_examples=300, deadline=None, phases=[Phase.generate]),
    )


def test_a_store_that_is_written_to_and_forms_that_differ_are_found(tmp_path: Path) -> None:
    answers, value = iter((1, 2)), Damaged("small", [Damage("truncate", "checkpoint")])
    with pytest.raises(AssertionError, match="the store was changed"):
        check(value, tmp_path, run=lambda subject: (subject.root / "checkpoint").write_bytes(b"x"))
    with pytest.raises(AssertionError, match="1, 2"):
        check(value, tmp_path, run=lambda _: next(answers))


@pytest.mark.parametrize("past", [0, 1])
def test_a_byte_past_guarded_memory_ends_the_process(past: int) -> None:
    program = (
        "import ctypes, numpy\n"
        "from guarded_memory import guarded_arrays\n"
        "with guarded_arrays():\n"
        "    found = numpy.empty(5000, 'i2')\n"
        f"ctypes.string_at(found.ctypes.data + found.nbytes - 1 + {past}, 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=SUPPORT, check=False, timeout=120)
    assert done.returncode == (-signal.SIGSEGV if past else 0)


@pytest.mark.soak
def test_a_minute_of_every_target() -> None:
    command = [sys.executable, str(SUPPORT / "fuzz_targets.py"), "--seconds", "60", "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
