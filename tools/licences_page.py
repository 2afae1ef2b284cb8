"""`docs/licences.md`: the licence of each package that the lock files install, from the packages' own metadata.

`python -m tools.licences_page` writes the page again, in an environment that has everything installed.
"""

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
PAGE: Final = _ROOT / "docs" / "licences.md"
_LOCKS: Final = {
    "base": "rocketspec",
    "engine": "rocketspec[engine]",
    "dev": "the checkout's tests and linters",
}
_LONGEST: Final = 60
_OTHERS: Final = {
    "colorama": "BSD-3-Clause (Windows only)",
    "pywin32": "PSF-2.0 (Windows only)",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
}
"""Packages of other platforms, and one whose metadata names no licence but in its text."""
_HEAD: Final = """\
# Licences of dependencies

rocketspec itself is under the Apache License 2.0 ([LICENSE](../LICENSE), [NOTICE](../NOTICE)). It contains no code of the
packages below; pip installs them from their own distributions. Versions and hashes are in `requirements/`.
Licences are as each package states them in its metadata.

This page is written by `python -m tools.licences_page`.
"""


def locked(name: str) -> set[str]:
    """The names of the packages in a lock file."""
    text = (_ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    return {
        found.lower() for found in re.findall(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==", text, re.MULTILINE)
    }


def _licence(package: str) -> str:
    """The licence that a package's metadata states, in a few words."""
    if package in _OTHERS:
        return _OTHERS[package]
    try:
        found = metadata(package)
    except PackageNotFoundError:
        return "not installed on this platform"
    classifiers = found.get_all("Classifier") or []
    named = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License :: ")]
    stated = next((found[name] for name in ("License-Expression", "License") if name in found), "")
    if stated and "\n" not in stated and len(stated) <= _LONGEST:
        return str(stated)
    return ", ".join(named) or str(stated).partition("\n")[0][:_LONGEST] or "not stated"


def page() -> str:
    """The page's text."""
    parts = [_HEAD]
    seen: set[str] = set()
    for lock, what in _LOCKS.items():
        names = sorted(locked(lock) - seen)
        seen |= set(names)
        rows = [f"| {name} | {_licence(name)} |" for name in names]
        title = f"## Installed with {what}" if lock != "dev" else f"## Installed for {what}"
        parts.append("\n".join([title, "", "| package | licence |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
