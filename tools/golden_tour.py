"""Decodes every golden store, counts its rows against Java's, and audits it: the last step of `make conform`."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import rocket_golden
from rocket_columnar.audit import audit
from rocket_columnar.decode import decode, write
from rocket_columnar.store import find_files

if TYPE_CHECKING:
    import pyarrow as pa


TRUTH = {
    "index_headers": "index_header",
    "index_entries": "index_entry",
    "consume_queue": "queue_unit",
    "commit_log": "log_record",
    "checkpoint": "checkpoint",
    "consume_queue_ext": "ext_unit",
}
"""The type of the truth's line for each row of a table."""


def _tour(name: str, out: Path) -> bool:
    """Decodes one store to Parquet under `out` and audits it; says the counts, whether they are Java's, and more."""
    with tempfile.TemporaryDirectory() as scratch:
        store = rocket_golden.open_store(name, Path(scratch))
        rows: Counter[str] = Counter()

        def counted() -> Iterator[tuple[str, pa.RecordBatch]]:
            for table, batch in decode(find_files(store)):
                rows[table] += batch.num_rows
                yield table, batch

        write(counted(), out / name, "parquet", source=store)
        findings = Counter(finding.severity for finding in audit(store, "deep"))
    lines = Counter(line["type"] for line in rocket_golden.truth(name))
    agrees = all(rows[table] == lines[kind] for table, kind in TRUTH.items())
    healthy = not (findings["error"] or findings["warning"])
    told = ", ".join(f"{rows[table]:,} {table}" for table in TRUTH if rows[table])
    verdict = "as Java counts" if agrees else "NOT what Java counts"
    audited = "audit clean" if healthy else "audit NOT clean"
    sys.stdout.write(f"golden {name}: {told}: {verdict}; {audited}\n")
    return agrees and healthy


def main(out: str) -> int:
    """Tours every store, Parquet files under `out`; 1 when a count is not Java's, or a healthy store is not found so."""
    agreed = [_tour(name, Path(out)) for name in rocket_golden.stores()]
    return 0 if all(agreed) else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
