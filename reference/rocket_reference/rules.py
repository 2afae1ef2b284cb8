"""Behaviour of a release, as parameters of the reference: each is that of 4.9.3 unless a profile sets it.

`spec/profiles.json` names for each release the clauses that differ and the parameters that follow from them.
"""

from dataclasses import dataclass
from typing import Final, Literal

from rocket_spec.layout import LONG_TOPIC_MAGIC, MESSAGE_MAGIC


@dataclass(frozen=True, slots=True)
class Rules:
    """The differences between releases.

    Attributes:
        counts_every_put: hash_slot_count grows with each put, not only with that into an empty slot (IDX-HDR-4).
        has_tag_keys: a message with tags is also indexed under `topic#T#tag` (IDX-SVC-2).
        odd_file_ends_load: a queue file of another length ends the load, which counts as successful (CQ-LOAD-1).
        deletes_empty_last_file: an empty last file is deleted by a load (CQ-LOAD-1).
        finds_by_number: a byte offset is looked up by the file's number in the list alone (CQ-LOAD-2).
        skips_repeats: a unit of a logical offset that was written before is not written again (CQ-PUT-2).
        remembers_ends: max_physic_offset is the end of the last unit's record, not its beginning, and after a truncation of all
            the byte before the offset (CQ-PUT-7, CQ-TRUNC-4).
        searches_minimum: the minimum is found by halves, and passes over pre-blank units (CQ-MIN-1).
        empty_file_throws: that search throws at an empty last file, which stays in use (CQ-MIN-1).
        resets_empty: a queue without files has a minimum of 0 and a max_physic_offset of -1 afterwards, and a minimum at the
            end of the queue is searched again (CQ-MIN-1).
        failed_append: what a put at a negative write position comes to: the position moves on, the put is refused, or it
            throws (CQ-REC-3).
        has_ipv6: hosts of 16 bytes are known (LOG-REC-2).
        has_long_topics: records of magic daa320ab have a topic length of two bytes (LOG-REC-6).
        checks_room: a record or blank whose size goes past the end of the bytes fails (LOG-DSP-6).
        refuses_negative: one whose size is negative fails, too (LOG-BLANK-2).
        keeps_buffer: a field may be as long as the longest record that was read before (LOG-DSP-6).
        ends_pairs: properties end in the byte that separates pairs (LOG-PROP-1); only for who compares them.
        batch_properties: how a batch's own properties follow those of its message: after a separator, at once, or not at all
            (LOG-PROP-6); only for who compares them.
        time_is_lower_bound: the offset of a time is that of the first unit stored at or after it (CQ-TIME-2); only for who
            compares answers.
        flushes_queue_time: the checkpoint's queue time moves with thorough flushes alone (CQ-PUT-9); only for who compares it.
        one_separator: a property that contains a second separator is dropped (LOG-PROP-3).
    """

    counts_every_put: bool = False
    has_tag_keys: bool = False
    odd_file_ends_load: bool = False
    deletes_empty_last_file: bool = False
    finds_by_number: bool = False
    skips_repeats: bool = True
    remembers_ends: bool = True
    searches_minimum: bool = False
    empty_file_throws: bool = False
    resets_empty: bool = False
    failed_append: Literal["moves", "refuses", "throws"] = "moves"
    has_ipv6: bool = True
    has_long_topics: bool = False
    checks_room: bool = False
    refuses_negative: bool = False
    keeps_buffer: bool = False
    ends_pairs: bool = False
    batch_properties: Literal["separated", "joined", "none"] = "separated"
    time_is_lower_bound: bool = False
    flushes_queue_time: bool = False
    one_separator: bool = False

    @property
    def magics(self) -> tuple[int, ...]:
        """The magics of records."""
        return (MESSAGE_MAGIC, LONG_TOPIC_MAGIC) if self.has_long_topics else (MESSAGE_MAGIC,)


RULES_4_9_3: Final = Rules()  # the ground: what SPEC.md says
