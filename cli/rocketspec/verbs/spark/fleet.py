"""The verbs `spark query` and `spark digest`."""

import typer
from rocket_spec.printable import counted

from rocketspec import _options as option
from rocketspec._terminal import note, one_line, say
from rocketspec.verbs.spark import job_options as jobs


def query(
    job: jobs.Job,
    *,
    topic: str | None = None,
    key: str | None = None,
    unique_key: str | None = None,
    time: str | None = None,
    scan: bool = False,
    as_json: bool = False,
) -> None:
    """Find messages by key, ID or time in many stores: which broker has them.

    Keys are looked up in the index files; only a store without any has its log read. Every message is found, as with
    `rocketspec query --all`.

    Example: `rocketspec spark query a/store b/store --topic T --key K`
    """
    from rocket_spark import Asked, query_stores

    at = None if time is None else option.read_time(time, "--time")
    asked = Asked(topic, key, unique_key, at, scan)
    asked.check()
    named, failed, options = job.each()
    with job.session() as (spark, report):
        found = query_stores(spark, named, asked, progress=report, **options)
    from rocket_columnar.formats import iso

    from rocketspec._search import plain

    for store, row in found:
        if as_json:
            option.write_json({"store": store, **plain(row)})
            continue
        shown = plain(row)
        keys = " ".join(word for word in (row["uniq_key"], row["keys"]) if word)
        say(
            f"{store}: {one_line(row['topic'])} queue {row['queue_id']} offset {row['queue_offset']:,}, "
            f"physical offset {row['phy_offset']:,}, stored {iso(row['store_timestamp'])}, keys {one_line(keys)}, "
            f"offset ID {shown['offset_id']}"
        )
    jobs.report_failed(failed)
    if not as_json:
        where = counted(len({store for store, _ in found}), "store")
        read = len(named) - len(failed)
        typer.echo(f"{counted(len(found), 'message')} in {where} of {read:,} searched")
    if not found:
        note(
            "nothing found"
            + ("" if scan or at is not None else " (--scan reads the logs instead of the index)")
        )
    if failed or not found:
        raise typer.Exit(option.FINDINGS)


def digest(job: jobs.Job, *, as_json: bool = False) -> None:
    """Print the digest of each store, and the replicas that differ.

    Stores are replicas of each other if a file of their commit logs begins with the same record. Each one that differs is
    compared with the first of those whose content most have, file by file.

    Example: `rocketspec spark digest ~/master/store ~/slave/store`
    """
    from rocket_spark import differing, digest_stores

    named, failed, options = job.each()
    with job.session() as (spark, report):
        found = digest_stores(spark, named, progress=report, **options)
    pairs = differing(found)
    for store, own in found.items():
        if as_json:
            option.write_json({"store": store, "digest": own.digest})
        else:
            say(f"{own.digest}  {store}")
    for pair in pairs:
        if as_json:
            option.write_json(
                {"differ": [pair.one, pair.other], "files": [list(file) for file in pair.files]}
            )
            continue
        say(f"{pair.one} and {pair.other} differ in {counted(len(pair.files), 'file')}:")
        for kind, name, one, other in pair.files:
            lacks = "" if one and other else f", which {pair.one if other else pair.other} lacks"
            say(f"  {kind} {name}{lacks}")
    jobs.report_failed(failed)
    if not as_json:
        typer.echo(f"{counted(len(found), 'store')}: {_replicas(len(pairs))}")
    if pairs or failed:
        raise typer.Exit(option.FINDINGS)


def _replicas(count: int) -> str:
    return f"{counted(count, 'replica')} that {'differs' if count == 1 else 'differ'}"
