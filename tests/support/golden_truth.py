"""What Java says of a golden store, by the type of its lines."""

from collections import defaultdict
from functools import cache
from typing import Any

import rocket_golden

Line = dict[str, Any]


@cache
def lines(store: str) -> dict[str, list[Line]]:
    """The truth of a store, by type."""
    found: dict[str, list[Line]] = defaultdict(list)
    for line in rocket_golden.truth(store):
        found[line["type"]].append(line)
    return found
