"""Bytes that once failed, and a few new ones for each parser: an answer, or a documented error."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import input_fuzz
import pytest
from input_fuzz import INPUTS, TARGETS, Target, failure, load, mutated

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.mark.parametrize("path", sorted(INPUTS.glob("*.json")), ids=lambda path: path.stem)
def test_inputs_that_failed(path: Path) -> None:
    assert failure(*load(path), seconds=120) is None


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_new_ones(name: str) -> None:
    rng = random.Random(7)  # noqa: S311 - reproducible inputs
    samples = TARGETS[name].samples
    for sample in samples:
        assert failure(name, sample, seconds=120) is None
    for _ in range(20):
        data = mutated(rng.choice(samples), rng, samples)
        assert failure(name, data, seconds=120) is None, data


def test_a_failure_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "bad", Target((b"",), lambda data, _folder: {b"": 1}[data]))
    found = failure("bad", b"x")
    assert found is not None
    assert "KeyError" in found


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
        [sys.executable, str(SUPPORT / "compiled_fuzz.py"), "--seconds", "60", "--seed", "5"],
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
