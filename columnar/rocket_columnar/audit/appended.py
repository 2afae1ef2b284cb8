"""Whether a broker has appended records since the audit was planned."""

import struct
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import RECORD_MAGICS

from rocket_columnar.audit.matching import LOST, OUTSIDE
from rocket_columnar.audit.plan import Plan

_HEAD: Final = struct.Struct(">ii20xq")


def without_appended(plan: Plan, flags: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The flags of units or entries that are to be judged: not OUTSIDE, nor LOST if the record was appended meanwhile."""
    flags = np.where(flags == OUTSIDE, 0, flags).astype(np.uint8)
    beyond = np.flatnonzero((flags & LOST != 0) & (offsets >= plan.end))
    if beyond.size and _appended_meanwhile(plan, int(offsets[beyond[0]])):
        flags[beyond] &= ~np.uint8(LOST)
    return flags


def _appended_meanwhile(plan: Plan, phy_offset: int) -> bool:
    """Whether there is now a record at an offset after the end that was read."""
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
                    return bool(magic in RECORD_MAGICS and recorded == phy_offset)
        except FileNotFoundError:
            continue
    return False
