"""The fixed layouts of index files and consume queues as NumPy dtypes, big-endian, from the layout tables."""

from typing import Final

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, QUEUE_UNIT, Layout

LAST_ADDRESS: Final = -(1 << 31) - 1
"""The greatest tags code of a unit that is the address of an ext unit."""


def dtype_of(layout: Layout) -> np.dtype[np.void]:
    """The type of a structure whose fields all have a fixed length."""
    return np.dtype([(field.name, f">i{field.size}") for field in layout.fields])


ENTRY_DTYPE: Final = dtype_of(INDEX_ENTRY)
"""An index entry (IDX-ENT-1)."""

UNIT_DTYPE: Final = dtype_of(QUEUE_UNIT)
"""A consume-queue unit (CQ-UNIT-1)."""
