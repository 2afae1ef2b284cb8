"""What stands for functions of Numba's until something is compiled, so that loops can name them without loading it."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any, Final

__all__ = ["SWAP", "StandIn"]

SWAP: Final = sys.byteorder == "little"
"""Whether the words of a file, read as numbers of this machine, have their bytes the other way round."""


class StandIn(ABC):
    """A name in a loop that Numba takes for something else."""

    @property
    @abstractmethod
    def real(self) -> Any:
        """What Numba takes it for; this loads Numba."""
