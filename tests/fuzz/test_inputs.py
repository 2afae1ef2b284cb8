"""Bytes that once failed, and a few new ones for each parser: an answer, or a documented error."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import fuzz_agreement
import fuzz_run
import fuzz_stores
import input_fuzz
import pytest
from fuzz_run import TARGETS, Job, failure, make, quick
from fuzz_stores import StoreTarget
from input_fuzz import INPUTS, load
from rocket_columnar import formats

SUPPORT = Path(__file__).parents[1] / "support"
SPARK = [name for name in TARGETS if name.startswith("Spark")]
COMPILED = [part for name in TARGETS if name.startswith("compiled") for part in ("--target", name)]
QUICK = [name for name in TARGETS if not name.startswith(("Spark", "compiled"))]


@pytest.mark.parametrize("path", sorted(INPUTS.glob("*.json")), ids=lambda path: path.stem)
def test_inputs_that_failed(path: Path, tmp_path: Path) -> None:
    assert failure(*load(path), tmp_path, seconds=120) is None


@pytest.mark.parametrize("name", QUICK)
def test_a_few_new_ones(name: str, tmp_path: Path) -> None:
    for seed in range(8):
        data = make(name, seed, tmp_path)
        assert failure(name, data, tmp_path, seconds=120) is None, data


@pytest.mark.spark
@pytest.mark.parametrize("name", SPARK)
def test_a_few_new_ones_for_spark(name: str, tmp_path: Path) -> None:
    for seed in range(4):
        data = make(name, seed, tmp_path)
        assert failure(name, data, tmp_path, seconds=120) is None, data


@pytest.mark.parametrize("name", fuzz_agreement.TARGETS)
def test_sound_samples_agree(name: str) -> None:
    target = fuzz_agreement.TARGETS[name]
    for sample in target.samples.whole:
        target.run(sample)


def test_a_failure_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The harness itself: an error that is not documented, and one that is."""

    def jobs(_folder: Path) -> dict[str, Job]:
        run = {b"x": 1}.__getitem__
        return {
            "bad": Job(1, lambda _: b"", run, (ValueError,)),
            "good": Job(1, lambda _: b"", run, (KeyError,)),
        }

    monkeypatch.setattr(fuzz_run, "_jobs", jobs)
    assert "KeyError" in (failure("bad", b"y", tmp_path) or "")
    assert failure("bad", b"x", tmp_path) is None
    assert failure("good", b"y", tmp_path) is None


@pytest.mark.parametrize(
    ("target", "function", "wrong"),
    [
        ("record", "rocket_columnar.formats.parse_record", lambda _window, _at: formats.Bad("x", "y")),
        ("properties", "rocket_columnar.formats.parse_properties", lambda _data: {b"KEYS": b"other"}),
        ("text and key hash", "rocket_columnar.formats.hash_key", lambda _key: 1),
        ("Java number", "rocket_columnar.formats.parse_long", lambda _text: 7),
        ("message ID", "rocket_columnar.formats.make_offset_id", lambda _host, _offset: ""),
        ("queue units", "rocket_columnar.kernels.survey_units", lambda *_: False),
        ("dispatch requests", "rocket_reference.key_hash", lambda _key: 1),
        ("index select", "rocket_columnar.index.chain_select._by_walks", lambda *_: fuzz_agreement.NO_HITS),
        ("index put", "rocket_columnar.index.bulk_put.after", lambda header, *_: header),
        ("index entries", "rocket_columnar.kernels.split_entries", lambda *_: None),
        ("index survey", "rocket_columnar.audit.file_survey._survey_loop", lambda: lambda *_: (0, 0)),
    ],
)  # fmt: skip
def test_a_way_that_answers_differently_is_found(
    target: str, function: str, wrong: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The harness itself: one of the ways is replaced by one that is wrong."""
    monkeypatch.setattr(function, wrong)
    found = [failure(target, sample, tmp_path) for sample in fuzz_agreement.TARGETS[target].samples.whole]
    assert any("AssertionError" in text for text in found if text is not None)


def test_a_store_that_is_written_to_is_found(tmp_path: Path) -> None:
    def writing(root: Path, _scratch: Path) -> int:
        return (root / "checkpoint").write_bytes(b"x")

    data = make("store: decode", 1, tmp_path)
    with quick(), pytest.raises(AssertionError, match="the store was changed"):
        fuzz_stores.check(StoreTarget(writing), data, tmp_path)


def test_an_input_of_the_corpus_is_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_fuzz, "INPUTS", tmp_path)
    assert load(input_fuzz.keep("report", b"\0\xff")) == ("report", b"\0\xff")


@pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect and POSIX signals")
@pytest.mark.parametrize("past", [0, 1])
def test_a_byte_past_guarded_memory_ends_the_process(past: int) -> None:
    program = (
        "import ctypes\n"
        "from guarded_memory import guarded\n"
        "found = guarded(5000, 'i2')\n"
        f"ctypes.string_at(found.ctypes.data + found.nbytes - 1 + {past}, 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=SUPPORT, check=False, timeout=120)
    assert done.returncode == (-signal.SIGSEGV if past else 0)


@pytest.mark.soak
def test_compiled_loops_on_guarded_memory() -> None:
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "fuzz_run.py"), "--seconds", "60", "--seed", "5", *COMPILED],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.soak
def test_a_loop_that_looks_past_its_buffer_is_found() -> None:
    """The harness itself: windows without the bytes that the loops may look past their end."""
    program = (
        "import sys\n"
        f"sys.path.insert(0, {str(SUPPORT)!r})\n"
        "import compiled_fuzz\n"
        "from rocket_columnar.decode import large_log_window\n"
        "large_log_window.SLACK = 0\n"
        "for _ in range(50):\n"
        "    compiled_fuzz.check('decode log', compiled_fuzz.KINDS['decode log'][0][0])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=600)
    assert done.returncode == -signal.SIGSEGV
