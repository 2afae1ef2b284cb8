"""The one catalogue of damage: the kinds of which golden variants are made, and that the audit's tests plant."""

from typing import Final

from generator.damage import of_index, of_log, of_queue
from generator.damage.store import Kind

KINDS: Final[tuple[Kind, ...]] = (
    of_index.index_truncated, of_index.index_too_long, of_index.index_count_low, of_index.index_count_high,
    of_index.index_slot_count, of_index.index_begin, of_index.index_end, of_index.index_ahead, of_index.index_slot_beyond,
    of_index.index_slot_emptied, of_index.index_slot_of_another, of_index.index_prev_beyond, of_index.index_prev_cut,
    of_index.index_cycle, of_index.index_hash, of_index.index_hash_of_another_slot, of_index.index_dangling,
    of_index.index_time_diff, of_index.index_file_removed, of_index.index_directory_removed, of_index.index_names_swapped,
    of_index.index_empty, of_index.index_double, of_queue.queue_truncated, of_queue.queue_unit_zeroed, of_queue.queue_dangling,
    of_queue.queue_size_field, of_queue.queue_of_another, of_queue.queue_units_swapped, of_queue.queue_tags,
    of_queue.queue_middle_file_removed, of_queue.queue_removed, of_log.log_magic, of_log.log_length, of_log.log_position,
    of_log.log_body, of_log.log_segment_removed, of_log.log_zeros, of_log.log_torn, of_log.log_truncated,
    of_log.checkpoint_ahead, of_log.checkpoint_behind, of_log.checkpoint_zeros, of_log.abort_left, of_log.topic_unsafe,
    of_index.index_entry_of_another_record, of_index.index_slots_zeroed, of_index.index_entries_zeroed,
    of_index.index_of_another_geometry, of_index.index_bit, of_queue.queue_shifted, of_queue.queue_zeros_run,
    of_queue.queue_past_the_log, of_queue.queue_invalid_size, of_queue.queue_bit, of_log.log_end_removed,
    of_log.log_properties_length, of_log.log_overwritten,
)  # fmt: skip
"""Every kind of damage to a store."""

DLEDGER: Final[tuple[Kind, ...]] = (of_log.entry_magic, of_log.entry_position)
"""Those of a store in DLedger mode."""
