"""What it costs to put units into many queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rocket_columnar.rebuild.batch_columns import UNIT, Units
from rocket_columnar.rebuild.queue_writer import QueueFiles

if TYPE_CHECKING:
    from pathlib import Path


def test_as_many_queues_as_units_are_converted_once(tmp_path: Path) -> None:
    """A conversion of the units that are left for each new queue would take time with their square."""
    converted = 0

    class Counted(np.ndarray[Any, Any]):
        def tolist(self) -> Any:
            nonlocal converted
            converted += self.size
            return super().tolist()

    queues = QueueFiles(tmp_path, (), 20, compiled=False)
    rows = np.zeros(50, UNIT)
    rows["size"], rows["topic"] = 100, [queues.topics.number(f"T{number}") for number in range(50)]
    rows["phy_offset"] = np.arange(50) * 100
    units = Units.of(rows)
    queues.put(units._replace(topic=units.topic.view(Counted)))
    queues.close()
    assert len([*tmp_path.glob("consumequeue/*/0/*")]) == 50
    assert 50 <= converted <= 3 * 50
