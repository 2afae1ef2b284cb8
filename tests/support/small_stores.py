"""Stores of three messages, for fleets of many: log, index and queues as a broker makes them."""

import shutil
from pathlib import Path
from typing import Final

from rocket_columnar.rebuild import rebuild
from rocket_spec.layout import Geometry
from store_bytes import put, record

SHAPE: Final = Geometry(7, 12)
TIME: Final = 1_700_000_000_000


def write_small_store(store: Path, number: int) -> None:
    """Three records with a key each, 10 s apart, in two queues; index and queues as a rebuild makes them."""
    log = b""
    for place in range(3):
        properties = f"KEYS\1k-{number}-{place}\2UNIQ_KEY\1U{number}-{place}\2".encode()
        time = TIME + 1000 * number + 10_000 * place
        log += record(
            len(log), queue_id=place // 2, queue_offset=place % 2, properties=properties, store_timestamp=time
        )
    put(store, f"commitlog/{0:020}", log)
    made = store.with_name(f"{store.name}-made")
    rebuild(store, made, geometry=SHAPE, queue_file_size=100)
    for name in ("index", "consumequeue"):
        (made / name).rename(store / name)
    shutil.rmtree(made)
