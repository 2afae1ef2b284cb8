"""The one object that stands for a store: what its broker would know of it."""

from rocket_columnar.facts.files import State
from rocket_columnar.facts.store import (
    BLOCKED,
    FORGOTTEN,
    NOT_LISTED,
    Store,
    any_store,
    as_store,
    first_record,
    is_deleted,
    read_checkpoint,
    recovery_start,
)
