"""Misreadings that behave exactly like 4.9.3, with the proof of each: they are not mutants."""

from typing import Final, NamedTuple


class Equivalent(NamedTuple):
    """A reading of a clause that comes to the same.

    Attributes:
        reading: what differs in it.
        module: the module of `rocket_reference` where it would be.
        old: text that occurs once in it.
        new: what it would become.
    """

    reading: str
    clause: str
    module: str
    old: str
    new: str
    why: str


EQUIVALENT: Final = (
    Equivalent(
        "the time diff rounded down instead of toward zero",
        "IDX-PUT-2",
        "index_file",
        "seconds = div(to_i64(store_timestamp - begin), 1000)",
        "seconds = to_i64(store_timestamp - begin) // 1000",
        "they differ for a negative difference only, and IDX-PUT-4 makes 0 of both",
    ),
    Equivalent(
        "the seeds put into the header again after a load",
        "IDX-FILE-2",
        "index_file",
        "            index.load()\n",
        "            index.load()\n"
        "            if end_timestamp > 0:\n"
        "                index._header.set_end_timestamp(end_timestamp)\n",
        "they were written into the bytes before the load, which reads them from there",
    ),
    Equivalent(
        "a full file not flushed at a roll",
        "IDX-SVC-18",
        "index_service",
        "            file.index.flush()\n",
        "",
        "each put writes the fields that it changes (IDX-HDR-5); a loaded count of 0 or less is the only one that"
        " differs from the bytes, and the puts that fill the file have written it",
    ),
    Equivalent(
        "the end the greatest instead of the last",
        "CQ-PUT-7",
        "consume_queue_store",
        "self.max_physic_offset = end",
        "self.max_physic_offset = max(self.max_physic_offset, to_i64(offset + size))",
        "a record that ends at or before the greatest is left out before (CQ-PUT-1)",
    ),
)
"""Tried and dropped."""
