"""The tables of `docs/reliability.md`, from the figures that the measurements and the soak tests recorded.

`python -m tools.reliability_page` writes them between their markers.
"""

import json
from pathlib import Path
from typing import Any, Final

from tools.regions import filled

_DOCS: Final = Path(__file__).parents[1] / "docs"
PAGE: Final = _DOCS / "reliability.md"
_FAULTS: Final = _DOCS / "real-faults.json"


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _fuzz() -> str:
    found = _read(_DOCS / "fuzz-figures.json")
    seeds = ", ".join(map(str, found["seeds"]))
    return (
        f"{found['inputs']:,} inputs of {len(found['targets'])} targets, seeds {seeds}: {found['failures']} crashes, hangs,\n"
        "disagreements or other failures."
    )


def _faults() -> str:
    rows = [
        "| fault | acknowledged | of these lost | audit before the start | the start deletes | dispatches again | keys that it loses | keys not found later | messages rebuilt |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in _read(_FAULTS).values():
        findings = ", ".join(f"{count} {name}" for name, count in one["findings"].items()) or "none"
        deleted = (
            f"{one['files_deleted']} files ({', '.join(one['deletions'])})"
            if one["files_deleted"]
            else "nothing"
        )
        rows.append(
            f"| {one['fault']} | {one['acknowledged']:,} | {one['acknowledged_and_lost']:,} | {findings} | {deleted} | {one['dispatched_again_bytes']:,} bytes "
            f"| {one['keys_deleted_by_the_start']:,} | {one['keys_not_found']:,} | {one['rebuilt_messages']:,} |"
        )
    return "\n".join(rows)


def page(text: str) -> str:
    """`text` with the tables between its markers."""
    return filled(text, fuzz=f"\n{_fuzz()}\n\n", faults=f"\n{_faults()}\n\n")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
