"""Inputs that once failed, and a few new ones for each target: an answer, or a documented error."""

import signal
import subprocess
import sys
from pathlib import Path

import fuzz_inputs
import fuzz_targets
import pytest
from fuzz_inputs import INPUTS, Target, load
from fuzz_stores import CORPUS, Damage, check, packed
from fuzz_targets import TARGETS, bounded_memory, failure, fuzz
from fuzz_verbs import VERBS
from hypothesis import strategies as st
from rocket_columnar import formats

SUPPORT = Path(__file__).parents[1] / "support"
SPARK = [name for name in TARGETS if "Spark" in name]


@pytest.mark.parametrize("path", sorted(INPUTS.glob("*.json")), ids=lambda path: path.stem)
def test_inputs_that_failed(path: Path, tmp_path: Path) -> None:
    assert failure(*load(path), tmp_path, seconds=120) is None


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.json")), ids=lambda path: path.stem)
def test_stores_that_failed(path: Path, tmp_path: Path) -> None:
    for name in VERBS.keys() - set(SPARK):
        assert failure(name, path.read_bytes(), tmp_path, seconds=120) is None, name


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.spark if name in SPARK else ()) for name in sorted(TARGETS)]
)
def test_a_few_new_ones(name: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    with bounded_memory():
        assert fuzz(name, tmp_path, int(pytestconfig.getoption("--fuzz") or 0)) is None


def test_a_failure_is_made_small_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The harness itself: of the inputs with an x in them the shortest is kept."""

    def refuses(data: bytes, _folder: Path) -> None:
        assert b"x" not in data

    monkeypatch.setattr(
        fuzz_targets,
        "TARGETS",
        {"bad": Target(st.lists(st.sampled_from([b"a", b"x"])).map(b"".join), refuses)},
    )
    monkeypatch.setattr(fuzz_inputs, "INPUTS", tmp_path / "inputs")
    wrong = fuzz("bad", tmp_path, 100)
    (kept,) = (tmp_path / "inputs").iterdir()
    assert str(kept) in (wrong or "")
    assert load(kept) == ("bad", b"x")


def test_a_failure_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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
    assert "KeyError" in (failure("bad", b"y", tmp_path) or "")
    assert failure("bad", b"x", tmp_path) is None
    assert failure("good", b"y", tmp_path) is None
    assert "more than 1 s" in (failure("endless", b"", tmp_path, seconds=1) or "")
    sizes = iter((0, 2 << 30))
    monkeypatch.setattr(fuzz_targets, "_largest", lambda: next(sizes))
    assert failure("bad", b"x", tmp_path) == "took 2,147,483,648 bytes"


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
    target: str, function: str, wrong: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The harness itself: one of the ways is replaced by one that is wrong."""
    monkeypatch.setattr(function, wrong)
    monkeypatch.setattr(fuzz_inputs, "INPUTS", tmp_path / "inputs")
    assert "AssertionError" in (fuzz(target, tmp_path, 300) or "")


def test_a_store_that_is_written_to_and_forms_that_differ_are_found(tmp_path: Path) -> None:
    def writing(root: Path, *_: object) -> int:
        return (root / "checkpoint").write_bytes(b"x")

    answers = iter((1, 2))
    data = packed("small", [Damage("truncate", "checkpoint", 0)])
    with pytest.raises(AssertionError, match="the store was changed"):
        check(data, tmp_path, run=writing)
    with pytest.raises(AssertionError, match="1, 2"):
        check(data, tmp_path, run=lambda *_: next(answers))


@pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect and POSIX signals")
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
