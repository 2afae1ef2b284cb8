"""Tags, keys and other texts of messages, weighted to where implementations break."""

from random import Random
from typing import Final

from rocket_conformance.properties._keys import draw_key

_SEPARATORS: Final = (" ", "  ", "\t", ",", ";", "||", "\n", "\u00a0", "\u3000", "\u2003", "\x1f", "\0")


def draw_text(rng: Random, kind: str) -> str:
    """A text of one of the kinds of keys, or of `separators`: words with something between them."""
    if kind != "separators":
        return draw_key(rng, kind)
    words = ("TagA", "TagB", "a", "", "k1", "\u8ba2\u5355", "\U0001f680")
    parts = [rng.choice(words) + rng.choice(_SEPARATORS) for _ in range(rng.randrange(1, 5))]
    return "".join(parts) + rng.choice(words)
