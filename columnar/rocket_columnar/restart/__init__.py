"""Predicts what a start of a 4.9.3 broker would delete, and what would be lost."""

from rocket_columnar.restart.prediction import (
    LostKey,
    LostKeys,
    Restart,
    predict,
    predicted,
    refused_by_log,
    restart,
    restarts,
    rows_of,
)
from rocket_columnar.restart.queues import max_after_start
from rocket_columnar.restart.recovery import Deletion, entry_index_fault, entry_log
