"""Small stores, what is asked of them, and what is found, in `cases/*.md`."""

from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest
from store_cases import Case, cases

CASES = [
    pytest.param(block, id=f"{path.stem}: {title}")
    for path in sorted((Path(__file__).parent / "cases").glob("*.md"))
    for title, block in cases(path.read_text("utf-8"))
]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("block", CASES)
def test_a_case(block: str, tmp_path: Path) -> None:
    with ExitStack() as open_until:
        Case(tmp_path, open_until).run(block)


STORE = """
record keys=k
record keys=k
queue T/0 200: 0
index 20260101000000000 16,64: T#k@0
checkpoint T T 0"""


@pytest.mark.parametrize(
    ("expected", "passes"),
    [
        ('  note commitlog/0 @#1 "1 record"', True),
        ("  ...", True),
        ("", False),
        ("  error", False),
        ("  note @1", False),
        ('  note "2 records"', False),
        ('  note !"1 record"', False),
        ("  note\n  note", False),
        ("  error\n  ...", False),
    ],
)
def test_the_runner_notices_what_is_not_found(expected: str, passes: bool, tmp_path: Path) -> None:
    """Of two records one has its unit and its entry: one note, that dispatch has not come to the other."""
    with nullcontext() if passes else pytest.raises(AssertionError):
        Case(tmp_path).run(f"{STORE}\n$ audit store.lag\n{expected}")
