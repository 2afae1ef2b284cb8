"""Finds the data outside the packages: .ksy files, SPEC.md, adapters."""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def find_data(name: str) -> Path:
    """Path of a data file or folder, by its path in the checkout (`spec/SPEC.md`); FileNotFoundError names the places without it.

    A wheel carries it in this package's `_data`; a checkout, and so an editable install, has it in place.
    """
    candidates = (_PACKAGE / "_data" / name, _PACKAGE.parent.parent / name)
    for path in candidates:
        if path.exists():
            return path
    raise FileNotFoundError(f"{name}: neither {candidates[0]} nor {candidates[1]} exists")
