"""How the cost of each verb grows with bytes and with files; each measurement is a process of its own."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.bench import Bench
from benchmarks.children import run_python
from benchmarks.race import Bar, Section, report
from benchmarks.stores import make_many_files, make_store

_LIMITS: Final = {"bytes": 1.3, "queues": 1.5}
_UNITS: Final = {"bytes": ("ns a byte", 1e9), "queues": ("us a queue", 1e6)}
_FEWEST: Final = 100  # queues of the smaller store

_OF_BYTES: Final = {
    "audit": "list(rocketspec.audit(store))",
    "audit --restart": "restarts(store)",
    "decode": "deque(rocketspec.decode(store, on_gap=lambda _gap: None), 0)",
    "digest": "list(rocketspec.digest(store))",
    "rebuild": "rocketspec.rebuild(store, out)",
}
_OF_QUEUES: Final = {
    "list": "rocketspec.open_store(store)",
    **_OF_BYTES,
    "query --key": "query(store, topic(17, 100), key(17))",
    "query --unique-key": "find_by_unique_key(opened := OpenStore(store), unique_key(17), opened.store.has_queue)",
}
_CODE: Final = """\
import json, shutil, sys, time
from collections import deque
from pathlib import Path
import rocketspec
from benchmarks.stores import key, topic, unique_key
from benchmarks.verbs import peak
from rocket_columnar.query import OpenStore, find_by_unique_key, query
from rocket_columnar.restart import restarts
*stores, out = map(Path, sys.argv[1:])
for store in stores:  # the first loads the code
    shutil.rmtree(out, ignore_errors=True)
    begin, used = time.perf_counter(), time.process_time()
    {work}
    took = time.perf_counter() - begin, time.process_time() - used
print(json.dumps([*took, peak()]))
"""


class Cost(NamedTuple):
    """Seconds, processor seconds and the largest resident set of one verb on one store."""

    seconds: float
    cpu: float
    peak: int


def _series(
    bench: Bench, unit: str, sizes: tuple[int, int], make: Callable[[Path, int], object]
) -> tuple[str, list[Bar]]:
    """Verbs on a store of each size: the least of the rounds."""
    stores = [bench.scratch / f"{size}-{unit}" for size in sizes]
    for store, size in zip(stores, sizes, strict=True):
        report(f"making a store of {size:,} {unit}")
        make(store, size)
    name, scale = _UNITS[unit]
    heads = "".join(f" {size:,}: s, {name}, MB |" for size in sizes)
    lines, bars = [f"| verb |{heads} growth |", "|---|---:|---:|---:|"], []
    for verb, work in (_OF_QUEUES if unit == "queues" else _OF_BYTES).items():
        code, out = _CODE.format(work=work), bench.scratch / "out"
        found = [
            min(
                (Cost(*json.loads(run_python(code, stores[0], store, out))) for _ in range(bench.rounds)),
                key=lambda cost: cost.cpu,
            )
            for store in stores
        ]
        each = [cost.cpu / size for cost, size in zip(found, sizes, strict=True)]
        cells = (
            f"{cost.seconds:.2f}, {part * scale:.3g}, {cost.peak / 1e6:,.0f}"
            for cost, part in zip(found, each, strict=True)
        )
        growth = each[1] / each[0]
        lines.append(f"| `{verb}` | {' | '.join(cells)} | {growth:.2f} |")
        what = f"`{verb}`, processor time for each of {sizes[1]:,} {unit}"
        bars.append(Bar(what, f"for each of {sizes[0]:,}", _LIMITS[unit], [growth], at_most=True))
    for store in stores:
        shutil.rmtree(store)
    return "\n".join(lines), bars


def run_growth(bench: Bench) -> Section:
    """Bytes from a tenth of the store on, and queues from a hundred on."""
    size, queues = bench.sizes.store, bench.sizes.queues
    by_bytes, bars = _series(
        bench, "bytes", (size // 10, size), lambda store, size: make_store(store, size, body=1000)
    )
    by_queues, more = _series(bench, "queues", (min(_FEWEST, queues // 2), queues), make_many_files)
    head = (
        "Processor time, system included, whatever the number of threads; start-up and compiling are not counted. Growth is the"
        " cost at the larger size over that at the smaller: below 1 the larger store is cheaper for its size."
    )
    return Section(f"{head}\n\n{by_bytes}\n\n{by_queues}", [*bars, *more])
