"""The verb `spark digest`."""

import typer

from rocketspec import _options as option
from rocketspec._terminal import say
from rocketspec.verbs.spark import job_options as jobs


def digest(
    stores: jobs.Stores = None,
    *,
    master: jobs.Master = None,
    remote: jobs.Remote = None,
    conf: jobs.Conf = None,
    storage: jobs.Storage = None,
    commitlog: jobs.CommitLogs = None,
    broker_conf: jobs.BrokerConfs = None,
    geometry: option.GeometryText = None,
    as_json: option.JsonLines = False,
) -> None:
    """Print the digest of each store, and the replicas that differ.

    jobs.Stores are replicas of each other if a file of their commit logs begins with the same record. Each one that differs is
    compared with the first of those whose content most have, file by file.

    Example: `rocketspec spark digest ~/master/store ~/slave/store`
    """
    from rocket_spark import differing, digest_stores

    named, failed, options = jobs.store_job(stores, commitlog, broker_conf, storage, geometry)
    with jobs.spark_session(master, remote, conf) as (spark, report):
        found = digest_stores(spark, named, progress=report, **options)
    pairs = differing(found)
    for store, own in found.items():
        name = store or str(named[0].path)
        if as_json:
            option.write_json({"store": name, "digest": own.digest})
        else:
            say(f"{own.digest}  {name}")
    for pair in pairs:
        if as_json:
            option.write_json(
                {"differ": [pair.one, pair.other], "files": [list(file) for file in pair.files]}
            )
            continue
        say(f"{pair.one} and {pair.other} differ in {option.counted(len(pair.files), 'file')}:")
        for kind, name, one, other in pair.files:
            lacks = "" if one and other else f", which {pair.one if other else pair.other} lacks"
            say(f"  {kind} {name}{lacks}")
    jobs.note_failed(failed)
    if not as_json:
        typer.echo(f"{option.counted(len(found), 'store')}: {_replicas(len(pairs))}")
    if pairs or failed:
        raise typer.Exit(option.FINDINGS)


def _replicas(count: int) -> str:
    return f"{option.counted(count, 'replica')} that {'differs' if count == 1 else 'differ'}"
