"""Behaviour of a release, as parameters of the reference: each is that of 4.9.3 unless a profile sets it.

`spec/profiles.json` names for each release the clauses that differ and the parameters that follow from them.
"""

from dataclasses import dataclass
from typing import Final, Literal

from rocket_spec.layout import LONG_TOPIC_MAGIC, MESSAGE_MAGIC


@dataclass(frozen=True, slots=True)
class Rules:
    """The differences between releases."""

    # hash_slot_count grows with each put, not only with that into an empty slot (IDX-HDR-4)
    counts_every_put: bool = False
    has_tag_keys: bool = False  # a message with tags is also indexed under `topic#T#tag` (IDX-SVC-2)
    # a queue file of another length ends the load, which counts as successful (CQ-LOAD-1)
    odd_file_ends_load: bool = False
    deletes_empty_last_file: bool = False  # an empty last file is deleted by a load (CQ-LOAD-1)
    # a byte offset is looked up by the file's number in the list alone (CQ-LOAD-2)
    finds_by_number: bool = False
    # a unit of a logical offset that was written before is not written again (CQ-PUT-2)
    skips_repeats: bool = True
    # max_physic_offset is the end of the last unit's record, not its beginning, and after a truncation of all the byte before the
    # offset (CQ-PUT-7, CQ-TRUNC-4)
    remembers_ends: bool = True
    # the minimum is found by halves, and passes over pre-blank units (CQ-MIN-1)
    searches_minimum: bool = False
    empty_file_throws: bool = False  # that search throws at an empty last file, which stays in use (CQ-MIN-1)
    # a queue without files has a minimum of 0 and a max_physic_offset of -1 afterwards, and a minimum at the end of the queue is
    # searched again (CQ-MIN-1)
    resets_empty: bool = False
    # what a put at a negative write position comes to: the position moves on, the put is refused, or it throws (CQ-REC-3)
    failed_append: Literal["moves", "refuses", "throws"] = "moves"
    has_ipv6: bool = True  # hosts of 16 bytes are known (LOG-REC-2)
    has_long_topics: bool = False  # records of magic daa320ab have a topic length of two bytes (LOG-REC-6)
    checks_room: bool = False  # a record or blank whose size goes past the end of the bytes fails (LOG-DSP-6)
    refuses_negative: bool = False  # one whose size is negative fails, too (LOG-BLANK-2)
    # a field may be as long as the longest record that was read before (LOG-DSP-6)
    keeps_buffer: bool = False
    # properties end in the byte that separates pairs (LOG-PROP-1); only for who compares them
    ends_pairs: bool = False
    # how a batch's own properties follow those of its message: after a separator, at once, or not at all (LOG-PROP-6); only for
    # who compares them
    batch_properties: Literal["separated", "joined", "none"] = "separated"
    # the offset of a time is that of the first unit stored at or after it (CQ-TIME-2); only for who compares answers
    time_is_lower_bound: bool = False
    # the checkpoint's queue time moves with thorough flushes alone (CQ-PUT-9); only for who compares it
    flushes_queue_time: bool = False
    one_separator: bool = False  # a property that contains a second separator is dropped (LOG-PROP-3)

    @property
    def magics(self) -> tuple[int, ...]:
        """The magics of records."""
        return (MESSAGE_MAGIC, LONG_TOPIC_MAGIC) if self.has_long_topics else (MESSAGE_MAGIC,)


RULES_4_9_3: Final = Rules()
"""The ground: what SPEC.md says."""
