"""Whether bytes are UTF-8, against Python's own decoder."""

from __future__ import annotations

import numpy as np
import pytest
from rocket_columnar.fast import SLACK
from rocket_columnar.fast.compiled.utf8_text import well_formed


@pytest.mark.parametrize("middle", ["é", "标", "𠮷", "標签x🚀"])
def test_text_is_well_formed_as_python_says_wherever_its_characters_are(middle: str) -> None:
    """Across the 64 bytes that are looked at together, and where the text ends within a character."""
    raw = middle.encode()
    for before in range(140):
        for kept in range(len(raw) + 1):
            text = b"a" * before + raw[:kept]
            for whole in (text, text + b"b" * 70):
                data = np.frombuffer(whole + b"\x82" * SLACK, np.uint8)
                try:
                    whole.decode()
                    expected = True
                except UnicodeDecodeError:
                    expected = False
                begin = data.ctypes.data
                assert well_formed(begin, begin + len(whole)) == expected, (before, kept)
