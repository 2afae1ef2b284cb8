"""The verb `digest`: one number for the content of each file, and for the store."""

from pathlib import Path

from rocketspec import _options as option
from rocketspec._options import read_settings, warn
from rocketspec._terminal import progress, skipped


def digest(
    store: Path | None = None,
    *,
    commitlog: list[str] | None = None,
    geometry: str | None = None,
    broker_conf: Path | None = None,
    gentle: bool = False,
    rate: float | None = None,
    as_json: bool = False,
) -> None:
    """Print the SHA-256 of each file's content and one of the store's; replicas with equal content have equal digests.

    A digest covers what was written: header and entries of an index file, units of a queue, records of the log. The
    digest of the store ignores paths, names of index files, the checkpoint and an abort file.

    Example: `rocketspec digest ~/store`
    """
    from rocket_columnar.describe import digest as engine
    from rocket_columnar.describe import store_digest

    option.be_gentle(gentle=gentle, rate=rate)
    settings = read_settings(store, commitlog, geometry, broker_conf)
    warn(settings)
    with progress("reading", unit="bytes") as step:
        files = list(engine(settings.store, on_skip=skipped, on_progress=step, **settings.known))
    whole = store_digest(files)
    rows = [{"path": file.path, "kind": file.kind, "digest": file.digest} for file in files]
    lines = [*(f"{file.digest}  {file.path}" for file in files), f"{whole}  {settings.store}"]
    option.print_rows([*rows, {"store": whole}], lines, as_json=as_json)
