"""Libraries that the base install leaves out, and the extra that brings each."""

from typing import Final

_EXTRAS: Final = {
    "numpy": "engine",
    "numba": "engine",
    "pyarrow": "engine",
    "matplotlib": "plot",
    "pandas": "spark",
    "pyspark": "spark",
    "grpc": "connect",
    "fsspec": "hdfs",
    "requests": "hdfs",
}


def missing_extra(error: ModuleNotFoundError, what: str) -> str | None:
    """One line that names the library which `what` needs and the command that installs it; None for a library of no extra."""
    library = (error.name or "").partition(".")[0]
    if library not in _EXTRAS:
        return None
    extra = (
        "spark" if what == "spark" and _EXTRAS[library] == "engine" else _EXTRAS[library]
    )  # it includes the engine
    return f"{what} needs {library}, which is not installed: pip install 'rocketspec[{extra}]'"
