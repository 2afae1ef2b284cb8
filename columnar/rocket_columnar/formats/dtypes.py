"""The fixed layouts of index files and consume queues as NumPy dtypes, big-endian, from the layout tables."""

from typing import Final

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, QUEUE_UNIT, Layout

LAST_ADDRESS: Final = -(1 << 31) - 1
"""The greatest tags code of a unit that is the address of an ext unit."""


def _dtype(layout: Layout) -> np.dtype[np.void]:
    return np.dtype(
        [(field.name, f">{field.type.replace('32', '4').replace('64', '8')}") for field in layout.fields]
    )


ENTRY_DTYPE: Final = _dtype(INDEX_ENTRY)
"""An index entry (IDX-ENT-1)."""

UNIT_DTYPE: Final = _dtype(QUEUE_UNIT)
"""A consume-queue unit (CQ-UNIT-1)."""
