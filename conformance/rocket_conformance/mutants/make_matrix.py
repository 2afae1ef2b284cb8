"""Makes conformance/MUTANTS.md and the figures in README.md of the checkout that it runs in.

    python -m rocket_conformance.mutants.make_matrix [--figures]

Takes several minutes; with --figures it only writes the README's figures, with the score that MUTANTS.md has.
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

from rocket_spec.data import find_data

from rocket_conformance.mutants._catalogue import CATALOGUE
from rocket_conformance.mutants._coverage import figures
from rocket_conformance.mutants._matrix import Row, inputs_digest, read_score, render, row_of

__all__ = ["main", "with_figures"]

_BLOCK: Final = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- /figures -->)", re.DOTALL)


def with_figures(readme: str, matrix: str) -> str:
    """The README's text with the figures between its markers.

    Raises:
        ValueError: when it has no markers, or the matrix no score.
    """
    text = figures(*read_score(matrix)) + "\n"
    changed, count = _BLOCK.subn(lambda _: text, readme)
    if count != 1:
        raise ValueError("README.md has no lines <!-- figures --> and <!-- /figures -->")
    return changed


def _row(number: int) -> Row:
    return row_of(CATALOGUE[number])


def main() -> None:
    """Writes both files."""
    root = find_data("conformance/PROTOCOL.md").parents[1]
    target, readme = root / "conformance" / "MUTANTS.md", root / "README.md"
    if not readme.is_file():
        sys.exit("not in a checkout: there is no README.md beside conformance/")
    if "--figures" not in sys.argv[1:]:
        digest = inputs_digest()
        rows: list[Row] = []
        with ProcessPoolExecutor() as workers:
            for number, row in enumerate(workers.map(_row, range(len(CATALOGUE))), 1):
                rows.append(row)
                sys.stderr.write(f"{number} of {len(CATALOGUE)} {row.suite.name}\n")
        target.write_text(render(rows, digest), encoding="utf-8")
    Path(readme).write_text(
        with_figures(readme.read_text(encoding="utf-8"), target.read_text(encoding="utf-8")), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
