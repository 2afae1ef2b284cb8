"""Messages as the verbs print them in JSON."""

from __future__ import annotations

import time
from base64 import b64encode
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rocket_columnar.formats import make_offset_id, parse_unique_key
from rocket_spec.errors import UsageError

if TYPE_CHECKING:
    from rocket_columnar.query import Row


def plain(row: Row) -> Row:
    """A message as JSON: its row with its IDs; binary is base64."""
    shown = {
        name: b64encode(value).decode() if isinstance(value, bytes) else value for name, value in row.items()
    }
    whole = row["topic"] is not None
    shown["offset_id"] = make_offset_id(row["store_host"], row["phy_offset"]) if whole else None
    shown["client"] = client_of(row["uniq_key"], row["born_timestamp"]) if whole else None
    return shown


def client_of(unique_key: str | None, born_timestamp: int | None) -> dict[str, Any] | None:
    """The origin and time that a unique key records; None for a key not made by a client of 4.9.3."""
    try:
        parts = parse_unique_key(unique_key or "")
    except UsageError:
        return None
    now = time.time_ns() // 1_000_000
    made = parts.time_before(now) if born_timestamp is None else parts.time_near(born_timestamp)
    return asdict(parts) | {"time": made}
