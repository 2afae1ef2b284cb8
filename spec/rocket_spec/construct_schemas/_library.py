"""The library `construct`, which has no types, as the one untyped name of this package."""

from importlib import import_module
from typing import Any, Final

c: Final[Any] = import_module("construct")

this: Final[Any] = c.this
"""The field `x` of the structure at hand, as `this.x` inside a schema."""

len_: Final[Any] = c.len_
"""The length of such a field."""
