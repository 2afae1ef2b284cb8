"""Times as text."""

from datetime import UTC, datetime, tzinfo

_zone: tzinfo | None = UTC


def show_times_in(zone: tzinfo | None) -> None:
    """Has `iso` give times of this zone from now on; None is that of the system."""
    global _zone  # noqa: PLW0603 - one process, one reader
    _zone = zone


def iso(timestamp: int) -> str:
    """A time in ms as ISO 8601, by default in UTC, or as a number if it is outside the calendar."""
    try:
        moment = datetime.fromtimestamp(timestamp // 1000, UTC).astimezone(_zone)
    except (OverflowError, ValueError, OSError):
        return f"{timestamp} ms"
    moment = moment.replace(microsecond=timestamp % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
