"""A broker that is killed under a workload: its store and every start over it, judged while it happens."""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from rocket_spec.layout import Geometry

from rocket_conformance.store_verdict.judgement import StoreVerdict, judge_store
from rocket_conformance.store_verdict.observations import Observations
from rocket_conformance.store_verdict.restart_judge import judge_continuation, judge_restart, log_end
from rocket_conformance.store_verdict.sparse import copy_sparse
from rocket_conformance.workload import Broker, Client, Manifest, run_crashes, send_for_the_bound

_OF_STARTS: Final = {"CKP-3", "IDX-SVC-6", "STORE-11"}


def judge_crashes(
    broker: Broker,
    open_client: Callable[[], Client],
    send: Callable[[Client], Manifest],
    store: Path,
    *,
    kills: int,
    geometry: Geometry | None,
    on_step: Callable[[str, Manifest], object],
) -> StoreVerdict:
    """Starts a broker, sends to it, kills and restarts it; the verdict on its store and on each start.

    Args:
        broker: not running; left stopped.
        open_client: a client of its name server, once the broker is started.
        send: carries the workload out.
        store: its store's directory.
        kills: number of crashes.
        geometry: of the index files; None infers it.
        on_step: called after the workload, and after each restart, with what was done and all that was acknowledged.

    Raises:
        ClientError: when the client ends, or the broker does not stop.
    """
    seen = Observations()
    starts: list[int] = []
    with ExitStack() as ended:
        copies = Path(ended.enter_context(tempfile.TemporaryDirectory(prefix="rocketspec-")))
        broker.start()
        ended.callback(broker.kill)
        client = ended.enter_context(open_client())
        manifest = send(client)
        if kills:
            send_for_the_bound(client, manifest)
        broker.stop()
        judge_store(store, geometry=geometry, manifest=manifest, seen=seen)
        on_step("workload", manifest)

        def stopped(number: int) -> None:
            copy_sparse(store, copies / str(number))
            starts.append(log_end(store))

        def restarted(number: int) -> None:
            judge_restart(copies / str(number), store, seen, geometry=geometry)
            on_step(f"kill {number}" if number <= kills else "clean restart", manifest)

        manifest.answers.clear()
        manifest.kills = kills
        run_crashes(broker, client, manifest, kills=kills, on_crash=stopped, on_restart=restarted)
        judge_continuation(store, starts, seen)
    verdict = judge_store(store, geometry=geometry, manifest=manifest)
    if seen.broken.keys() & _OF_STARTS:
        verdict.observations.leave_out(("IDX-",), "wrong entries, which may follow from wrong starts")
    seen.add(verdict.observations)
    return replace(verdict, observations=seen)
