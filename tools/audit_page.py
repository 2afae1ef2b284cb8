"""Makes the regions of `docs/audit.md`: `python -m tools.audit_page`. Codes and figures come from the code and its tests."""

import io
import re
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

from rocket_columnar.findings import CODES
from rocket_columnar.report import Shell, audit
from rocket_columnar.restart import restart
from rocket_golden import open_damaged, open_store
from rocketspec.verbs.audit import print_causes, show_restart

from tools.audit_figures import SEEDS, STORES, Figures
from tools.regions import filled

PAGE: Final = Path(__file__).parents[1] / "docs" / "audit.md"
_DAMAGED: Final = "mixed-index-chain-cycle"

_FIGURES: Final = """\
Damage of {kinds} kinds was planted at {seeds} places of each kind in each of the golden stores {stores}
(where it applies), {planted:,} times in all. Findings with the right code at the right byte: **{recall:.2%}** (recall).
Of the {findings:,} findings **{precision:.2%}** are the damage or a documented consequence of it (precision). On all undamaged
golden stores, including copies of a running broker's store, there are no findings above a note.
"""


def shown_paths(printed: str, store: Path) -> str:
    """Output with STORE for the store, and without the time in the names of folders."""
    return re.sub(
        rf"-{re.escape(store.name)}-[0-9]{{8}}-[0-9]{{6}}", "-TIME", printed.replace(str(store), "STORE")
    )


def page() -> str:
    """The page as it should be."""
    codes = "\n".join(
        f"| `{code}` | {known.severity} | {known.clause or ''} | {known.meaning} | {known.cure} |"
        for code, known in CODES.items()
    )
    with tempfile.TemporaryDirectory() as directory:
        damaged = io.StringIO()
        with redirect_stdout(damaged):
            store = open_damaged(_DAMAGED, Path(directory) / "damaged")
            print_causes(audit(store), as_json=False)
        killed = open_store("killed", Path(directory))
        shown = io.StringIO()
        with redirect_stdout(shown):
            show_restart(restart(killed), restart(killed, index_safe=True), Shell("STORE"), as_json=False)
    figures = Figures.read()
    return filled(
        PAGE.read_text("utf-8"),
        damaged=f"```\n$ rocketspec audit STORE\n{shown_paths(damaged.getvalue(), store)}STORE: 1 error\n```\n",
        codes=f"\n| code | severity | clause | what it means | cure |\n|---|---|---|---|---|\n{codes}\n\n",
        restart=f"```\n$ rocketspec audit STORE --restart\n{shown.getvalue()}```\n",
        figures=_FIGURES.format(
            kinds=len(figures.kinds),
            seeds=SEEDS,
            stores=", ".join(f"`{name}`" for name in STORES),
            planted=figures.total(0),
            recall=figures.recall,
            findings=figures.total(2),
            precision=figures.precision,
        ),
    )


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
