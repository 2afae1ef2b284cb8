"""The options that all verbs on Spark have, as one table, and the session of one job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_type_hints

import typer
from rocket_spec.errors import UsageError, error_line

from rocketspec._options import UNREADABLE, read_geometry, write_json
from rocketspec._terminal import note, progress

if TYPE_CHECKING:
    from rocket_columnar.store import BrokerConf
    from rocket_spark import FoundStore
    from rocket_spark.tasks import Failures, Progress


@contextmanager
def one_line() -> Iterator[None]:
    """Ends with the one line of a session or a job that cannot begin, or that fails."""
    from rocket_spark import JobError, SparkUnavailableError

    try:
        yield
    except (JobError, SparkUnavailableError) as error:
        note(str(error))
        raise typer.Exit(UNREADABLE) from None


@dataclass(frozen=True, slots=True)
class Job:
    """The options that every verb on Spark has."""

    stores: list[str] | None
    master: str | None
    remote: str | None
    conf: list[str] | None
    storage: list[str] | None
    commitlog: list[str] | None
    broker_conf: list[str] | None
    geometry: str | None

    @contextmanager
    def session(self, *, sql: bool = False) -> Iterator[tuple[Any, Progress]]:
        """A context or session for one job, and where its progress goes; stopped at the end. Streams need `sql`."""
        from rocket_spark import open_context, open_session

        settings = _settings("--conf", self.conf)
        with (
            progress("starting Spark", unit="tasks") as step,
            TemporaryDirectory(prefix="rocketspec-spark-") as scratch,
            one_line(),
        ):
            log = Path(scratch) / "stderr"
            spark: Any
            if sql or self.remote is not None:
                spark = open_session(self.master, remote=self.remote, conf=settings, log=log)
            else:
                spark = open_context(self.master, conf=settings, log=log)
            try:
                yield spark, lambda what, done, total: step(done, total, what)
            finally:
                spark.stop()

    def described(self) -> tuple[list[FoundStore], dict[str, str]]:
        """The stores, as of `named_stores`, and the options of their storage; UsageError for an unknown one."""
        from rocket_spark.files import check_settings

        storage = _settings("--storage", self.storage)
        check_settings(storage)
        return named_stores(self.stores, self.commitlog, self.broker_conf, storage), storage

    def each(self) -> tuple[list[FoundStore], Failures, dict[str, Any]]:
        """For a job on each store: the stores, the dictionary that receives their errors, and the keyword arguments. Errors as of `described`."""
        failed: Failures = {}
        options: dict[str, Any] = {"geometry": read_geometry(self.geometry), "failed": failed}
        named, options["storage"] = self.described()
        if len(named) == 1 and "://" not in named[0].path:
            Path(named[0].path).stat()  # the system's own reason, before Spark starts
        return named, failed, options


def on_spark(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb whose first parameter is a `Job` as a command with its options."""
    common = get_type_hints(Job)
    names = [field.name for field in fields(Job)]

    @wraps(verb)
    def run(**given: Any) -> None:
        verb(Job(**{name: given.pop(name) for name in names}), **given)

    own = list(signature(verb, eval_str=True).parameters.values())[1:]
    shared = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=common[name]) for name in names
    ]
    run.__signature__ = Signature([shared[0], *own, *shared[1:]])  # type: ignore[attr-defined]
    return run


def report_failed(failed: Mapping[str, str] | Mapping[str, Exception], *, as_json: bool = False) -> None:
    """Notes the stores that failed, each with its reason, and prints them as JSON too."""
    for name, reason in failed.items():
        line = error_line(reason)
        note(f"{name}: failed: {line}")
        if as_json:
            write_json({"store": name, "error": line})


def _settings(option: str, given: list[str] | None) -> dict[str, str]:
    settings = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text}: expected NAME=VALUE")
        settings[name] = value
    return settings


def named_stores(
    stores: list[str] | None,
    commitlog: list[str] | None,
    broker_confs: list[str] | None,
    storage: Mapping[str, str],
) -> list[FoundStore]:
    """The stores of a job as the options describe them, each with its configuration; without one, the store of a configuration.

    Of several stores, values are STORE=PATH and STORE=FILE. UsageError if no store is named, or an option does not belong to one store.
    """
    from rocket_columnar.store import read_broker_conf
    from rocket_spark import find_places

    if not stores:
        conf = read_broker_conf(Path(broker_confs[0])) if broker_confs else None
        if conf is None or conf.store is None:
            raise UsageError(
                "name the directory of a store, or give a --broker-conf FILE that sets storePathRootDir"
            )
        stores = [conf.store]
    places: dict[str, FoundStore] = {}
    known: dict[str, str] = {}
    for text in stores:
        for place in find_places(text, storage):
            places[place.path] = place
            bare = text.removeprefix(f"{place.store}=")
            known |= {_bare(key): place.path for key in (place.path, place.store, bare)}
    folders: dict[str, list[str]] = {}
    for owner, value in _by_store(commitlog, known):
        if owner is None and len(places) > 1:
            raise UsageError(f"--commitlog {value}: with several stores, expected STORE=PATH")
        folders.setdefault(owner or next(iter(places)), []).append(value)
    confs = _confs(broker_confs, known, several=len(places) > 1)
    return [
        _configured(place, folders.get(path), confs.get(path, confs.get(None)))
        for path, place in places.items()
    ]


def _confs(
    given: list[str] | None, known: Mapping[str, str], *, several: bool
) -> dict[str | None, BrokerConf]:
    """The configuration of each store by its path, None for all; errors as of `named_stores`."""
    from rocket_columnar.store import read_broker_conf

    confs: dict[str | None, BrokerConf] = {}
    for owner, value in _by_store(given, known):
        conf = read_broker_conf(Path(value))
        if owner is None and several:
            _require_inside(conf)
        if owner in confs:
            raise UsageError(
                f"--broker-conf {value}: a store has one configuration, and {confs[owner].path} was given"
            )
        confs[owner] = conf
    return confs


def _by_store(given: list[str] | None, known: Mapping[str, str]) -> Iterator[tuple[str | None, str]]:
    """Values of an option with the path of the store that each is for; None for all of them.

    Paths may contain `=`: of several stores that `text` can begin with, the longest is meant.
    """
    for text in given or ():
        cuts = [place for place, character in enumerate(text) if character == "="]
        cut = next((place for place in reversed(cuts) if _bare(text[:place]) in known), None)
        owner, value = (None, text) if cut is None else (known[_bare(text[:cut])], text[cut + 1 :])
        if not value:
            raise UsageError(f"{text!r}: expected a path, or STORE=PATH")
        yield owner, value


def _bare(store: str) -> str:
    """A store's path without slashes at its end, of which the options need not have as many."""
    return store.rstrip("/") or store


def _require_inside(conf: BrokerConf) -> None:
    """Refuses directories that several stores cannot share."""
    for folder in conf.commit_logs:
        if conf.store is None or not PurePosixPath(folder).is_relative_to(conf.store):
            raise UsageError(
                f"{conf.path}: names {folder}, which is not in storePathRootDir; with several stores, use "
                "--broker-conf STORE=FILE"
            )


def _configured(store: FoundStore, folders: list[str] | None, conf: BrokerConf | None) -> FoundStore:
    """A store with the directories of its log, and what its configuration says."""
    from rocket_spark.files import is_remote

    if conf is None:
        return replace(store, commitlog=tuple(folders or ()))
    if is_remote(store.path):
        return replace(store, commitlog=tuple(folders or _far_folders(store.path, conf)), conf=conf)
    from rocketspec._options import read_settings, warn

    settings = read_settings(Path(store.path), folders, None, conf.path)
    warn(settings)
    logs = tuple(map(str, settings.commitlog))
    shape = None if _shows_geometry(store.path, logs) else settings.shape
    return replace(store, commitlog=logs, geometry=shape, conf=conf)


def _shows_geometry(store: str, logs: tuple[str, ...]) -> bool:
    """Whether the index files of a store show their geometry themselves."""
    from rocket_columnar import facts

    try:
        return facts.Store(store, commitlog=logs).geometry is not None
    except (UsageError, OSError):
        return False


def _far_folders(store: str, conf: BrokerConf) -> Iterator[str]:
    """The configured directories of the log, as those of a copy of the store on S3 or HDFS."""
    for text in conf.commit_logs:
        folder = PurePosixPath(text)
        if conf.store is None or not folder.is_relative_to(conf.store):
            raise UsageError(
                f"{conf.path}: names {text}, which is not in storePathRootDir; name its copy with --commitlog"
            )
        below = folder.relative_to(conf.store).as_posix()
        if below != "commitlog":
            yield f"{store.rstrip('/')}/{below}"
