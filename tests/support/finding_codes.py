"""The codes of findings, as they are published: `finding_codes.txt`."""

from pathlib import Path
from typing import Final

_LINES: Final = [
    line.split() for line in Path(__file__).with_suffix(".txt").read_text("ascii").splitlines()[1:]
]
FINDING_CODES: Final = tuple(line[0] for line in _LINES)
"""In the order in which the engine lists them."""
UNDAMAGED: Final = {line[0] for line in _LINES if line[1:]}
"""Those that no damage to a sound file causes."""
