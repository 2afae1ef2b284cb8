"""The reference's UTF-8 and digits beside those of the JDK, which `Compare.java` runs over the same inputs.

Dispatch of logs is compared with the real jar by `tests/conformance/test_reference_vs_jar.py`, and what its requests hold beside the
protocol's fields by `tests/spec/test_real_facts.py`.
"""

import itertools
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from rocket_reference import JavaError, java

pytestmark = pytest.mark.java


def test_utf8_1_and_digits(run_program: Callable[..., None], tmp_path: Path) -> None:
    representatives = bytes.fromhex("41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ed ef f0 f3 f4 f5 ff")
    inputs = [
        bytes(part) for length in range(5) for part in itertools.product(representatives, repeat=length)
    ]
    assert len(inputs) == 1 + 21 + 21**2 + 21**3 + 21**4
    given, answer = tmp_path / "input", tmp_path / "output"
    given.write_bytes(b"".join(struct.pack(">i", len(data)) + data for data in inputs))
    run_program("Compare", given, answer)
    *texts, digits = answer.read_text("ascii").splitlines()
    shown = zip(inputs, texts, strict=True)
    differing = (
        data for data, text in shown if "x" + java.decode_utf8(data).encode("utf-16-be").hex() != text
    )
    assert list(itertools.islice(differing, 3)) == []
    assert digits == "".join(_digit(chr(code)) for code in range(65536))


def _digit(char: str) -> str:
    try:
        return chr(ord("a") + 1 + java.parse_long(char))
    except JavaError:
        return "a"
