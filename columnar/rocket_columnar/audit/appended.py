"""Whether a broker has appended records since the audit was planned."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rocket_spec.layout import MESSAGE_MAGIC

if TYPE_CHECKING:
    from rocket_columnar.audit.plan import Plan


__all__ = ["appended_meanwhile"]

_HEAD: Final = struct.Struct(">ii20xq")


def appended_meanwhile(plan: Plan, phy_offset: int) -> bool:
    """Whether a record has come to lie at an offset behind the end that was read."""
    if phy_offset < plan.end or not plan.logs:
        return False
    size = max(plan.log_sizes)
    files = {file.base_offset: file for file in plan.logs}
    rolled = phy_offset // size * size if size else 0
    if rolled not in files and plan.logs[0].source is None:
        path = plan.logs[0].path.with_name(f"{rolled:020}")
        files[rolled] = replace(plan.logs[0], path=path, base_offset=rolled)
    for base, file in files.items():
        if not base <= phy_offset < base + size:
            continue
        try:
            with file.open() as reader:
                if phy_offset - base + _HEAD.size <= reader.size:
                    _, magic, recorded = _HEAD.unpack(reader.read(phy_offset - base, _HEAD.size).tobytes())
                    return bool(magic == MESSAGE_MAGIC and recorded == phy_offset)
        except FileNotFoundError:
            continue
    return False
