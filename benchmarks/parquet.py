"""An index file to Parquet, against pyarrow writing columns that are ready in memory, with the same settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from rocket_columnar.decode import decode, parquet_options, write
from rocket_columnar.store import find_files

from benchmarks.bench import timed
from benchmarks.report import Section, speed_bar, table
from benchmarks.timing import Contender, race

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from benchmarks.bench import Bench

__all__ = ["run"]


def run(bench: Bench) -> Section:
    """The race, on the large file; what it writes is removed."""
    files, folder = find_files(bench.index, "index"), bench.scratch / "parquet"
    target = folder / "index_entries.parquet"

    def decoded() -> Iterator[tuple[str, pa.RecordBatch]]:
        return decode(files, tables=["index_entries"], geometry=bench.geometry)

    ready = [batch for _, batch in decoded()]
    sizes: set[int] = set()

    def engine() -> float:
        seconds = timed(lambda: write(decoded(), folder, "parquet"))
        sizes.add(target.stat().st_size)
        target.unlink()
        return seconds

    def arrow() -> float:
        def whole() -> None:
            schema = ready[0].schema
            with pq.ParquetWriter(target, schema, **parquet_options(schema)) as writer:
                for batch in ready:
                    writer.write_batch(batch)

        folder.mkdir(exist_ok=True)
        seconds = timed(whole)
        sizes.add(target.stat().st_size)
        target.unlink()
        return seconds

    sides = [
        Contender("engine, from the file", bench.sizes.entries, engine, "decode and write"),
        Contender(
            "pyarrow, ready columns", bench.sizes.entries, arrow, "the same settings, the same batches"
        ),
    ]
    results = race(sides, rounds=bench.rounds, warm_ups=min(bench.warm_ups, 1))
    shown = ", ".join(f"{size:,}" for size in sorted(sizes))
    text = f"{bench.index.stat().st_size:,} bytes become {shown}.\n\n{table(results, 'entries')}"
    return Section(text, [speed_bar("index file to Parquet", "pyarrow writing ready columns", 0.8, *results)])
