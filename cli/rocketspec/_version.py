"""What `rocketspec --version` prints: all that a bug report needs about the installation."""

import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Final

_LIBRARIES: Final = {
    "": ("typer", "rich", "hypothesis", "jsonschema"),
    "engine": ("numpy", "numba", "pyarrow"),
    "plot": ("matplotlib",),
    "spark": ("pyspark", "pandas"),
}
"""Libraries by the extra that brings them."""


def version_lines() -> Iterator[str]:
    """Versions of rocketspec, Python, the system and the libraries; where `java` is."""
    yield f"rocketspec {version('rocketspec')} (RocketMQ 4.9.3, adapter protocol 1)"
    yield f"{platform.python_implementation()} {platform.python_version()}, {platform.platform()}"
    for extra, libraries in _LIBRARIES.items():
        found = {library: _version(library) for library in libraries}
        if all(found.values()):
            yield ", ".join(f"{library} {number}" for library, number in found.items())
        else:
            yield f"extra {extra}: not installed"
    yield f"java: {shutil.which('java') or 'not found'}; output in {sys.stdout.encoding}"


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
