"""Times as text."""

from datetime import UTC, datetime
from typing import Final

_YEARS: Final = range(-62135596800000, 253402300800000)  # what datetime can hold, in ms


def iso(timestamp: int) -> str:
    """A time in ms as ISO 8601 in UTC, or as a number if it is outside the calendar."""
    if timestamp not in _YEARS:
        return f"{timestamp} ms"
    moment = datetime.fromtimestamp(timestamp // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp % 1000:03}Z"
