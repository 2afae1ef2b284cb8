"""The records of one range of the log, found by their physical offsets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.log import Requests, TopicNames


@dataclass(frozen=True, slots=True)
class Frames:
    """The records of a range.

    Attributes:
        all: the records, in the order of the log.
        names: the topics' names, by their numbers.
    """

    all: Requests
    names: TopicNames

    def find(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of the record at each offset, -1 where none begins there."""
        known = self.all.phy_offset
        if not known.size:
            return np.full(offsets.size, -1, np.int64)
        places = np.searchsorted(known, offsets)
        places[places == known.size] = 0
        places[known[places] != offsets] = -1
        return places
