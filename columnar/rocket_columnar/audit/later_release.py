"""Files and entries of 5.x that an audit does not judge, because 4.9.3 never writes them."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.audit.matching import DOUBLE, WRONG
from rocket_columnar.audit.range_result import Frames, RangeResult
from rocket_columnar.audit.rows import Rows
from rocket_columnar.facts import Store
from rocket_columnar.formats import SCHEDULE_TOPIC, hash_key, string_hash, tag_key
from rocket_columnar.log import StoredRecords
from rocket_columnar.store import Sign

UNJUDGED: Final = {
    "checkpoint.ahead": (),
    "checkpoint.behind": (),
    "index.ahead_of_log": (),
    "queue.missing_unit": ("rocksdb",),
    "index.missing_key": ("index", "rocksdb"),
}
"""Findings that follow from the rules of 4.9.3 alone, and the kinds of signs with which they are dropped; () for any."""

_SCHEDULE: Final = SCHEDULE_TOPIC.decode()
_LONGEST: Final = 255  # UTF-16 units of a tag whose length is tried out


def long_topic_sign(store: Store, phy_offset: int) -> Sign:
    """The sign that a record is whose topic has a length of two bytes."""
    name, at = store.at(phy_offset)
    return Sign("magic", f"magic daa320ab in {name} at byte {at + 4:,}")


def without_tag_entries(
    store: Store,
    frames: Frames,
    flags: NDArray[np.uint8],
    entries: Rows,
    result: RangeResult,
) -> NDArray[np.uint8]:
    """The flags of entries, without WRONG for those of `topic#T#tag`, which 5.4.0 and later add for each message with tags.

    The hash of the text follows from that of the tag, which the record's tags code is, and from the tag's length; the record
    of a delayed message is read.
    """
    rows = np.flatnonzero((flags & (WRONG | DOUBLE)) == WRONG)
    if not rows.size:
        return flags
    every, names = frames.all, frames.names.names
    of, hashes = entries.record[rows], entries.columns["key_hash"]
    heads = np.array([string_hash(f"{name}#T#") & 0xFFFFFFFF for name in names] or [0], np.uint64)
    own, tags = heads[every.topic[of]], every.tags_code[of].astype(np.uint64)
    low = np.uint64(0xFFFFFFFF)
    power = np.uint64(1)
    found = np.zeros(rows.size, np.bool_)
    for _ in range(_LONGEST):
        power = power * np.uint64(31) & low
        signed = ((own * power + tags) & low).astype(np.uint32).view(np.int32).astype(np.int64)
        wanted = np.where(signed == -(1 << 31), 0, np.abs(signed))
        found |= (wanted == hashes[rows]) & (every.tags_code[of] != 0)
    timed = ~found & (every.topic[of] == frames.names.numbers.get(_SCHEDULE, -1))
    with StoredRecords(store.logs) as records:  # whose unit has the delivery time as tags code
        found[timed] = [
            (record := records.at(int(every.phy_offset[place]))) is not None
            and hash_key(tag_key(_SCHEDULE, record.pairs.get(b"TAGS", b"").decode())) == key
            for place, key in zip(of[timed], hashes[rows[timed]], strict=True)
        ]
    if found.any():
        text = f"entries of topic#T#tag, such as that of the record at physical offset {int(every.phy_offset[of[found]][0]):,}"
        result.signs.append(Sign("tags", text))
        flags[rows[found]] &= ~np.uint8(WRONG)
    return flags
