"""The rows of `tests/spark/refused.txt`."""

from pathlib import Path


def refused(section: str) -> list[list[str]]:
    """The columns of each row of a section."""
    text = (Path(__file__).parents[1] / "spark" / "refused.txt").read_text("utf-8")
    rows = text.partition(f"[{section}]\n")[2].partition("\n\n")[0].splitlines()
    return [row.split(" | ") for row in rows]
