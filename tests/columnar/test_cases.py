"""Small stores, what is asked of them, and what is found, in `cases/*.md`."""

from contextlib import ExitStack
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
