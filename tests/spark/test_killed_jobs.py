"""Jobs whose driver and workers are killed are resumed: the output is that of an undisturbed run, and less is done."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from killed_jobs import Moment, kill_job
from rocket_columnar.rebuild import rebuild
from rocket_spark import DecodeOptions, JobError, decode_stores, rebuild_stores
from rocket_spark.output import Output, attempt, check_out
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from store_bytes import put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_DECODE: Final = """
from rocket_spark import DecodeOptions, decode_stores
from rocket_spark.decode import part_tasks

part_tasks.TASK_BYTES = 4096
part_tasks.TASK_ENTRIES = 20
decode_stores(spark, {store!r}, {out!r}, options=DecodeOptions(resume=True))
"""

_REBUILD: Final = """
from rocket_spark import rebuild_stores
from rocket_spec.layout import Geometry

rebuild_stores(spark, {store!r}, {out!r}, geometry=Geometry(11, 40), resume=True)
"""

_DECODE_MOMENTS: Final[Sequence[Moment]] = (
    *(("tasks", number) for number in range(1, 14)),
    *(("renames", number) for number in (1, 2, 60, 105, 106, 107, 111)),
)
_REBUILD_MOMENTS: Final[Sequence[Moment]] = (
    *(("tasks", number) for number in (1, 2, 3, 4, 5, 6, 9, 13, 18, 23, 28, 31, 32)),
    *(("renames", number) for number in (1, 2, 30, 60, 61, 62, 63)),
)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("_")
    }


class _Count:
    """The number of tasks that a job has to run, by its progress."""

    def __init__(self) -> None:
        self._of_phase: dict[str, int] = {}

    def __call__(self, what: str, _done: int, total: int) -> None:
        self._of_phase.setdefault(what, total)

    @property
    def tasks(self) -> int:
        return sum(self._of_phase.values())


def decode_kills(
    spark: SparkSession,
    store: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    moments: Sequence[Moment],
) -> None:
    from rocket_spark.decode import part_tasks

    monkeypatch.setattr(part_tasks, "TASK_BYTES", 4096)
    monkeypatch.setattr(part_tasks, "TASK_ENTRIES", 20)
    every = _Count()
    decode_stores(spark, store, folder / "undisturbed", progress=every)
    whole = contents(folder / "undisturbed")
    for moment in moments:
        out = folder / "-".join(map(str, moment))
        kill_job(_DECODE.format(store=str(store), out=str(out)), out, moment)
        assert not (out / "_SUCCESS").exists()
        rest = _Count()
        decode_stores(spark, store, out, options=DecodeOptions(resume=True), progress=rest)
        assert contents(out) == whole
        assert {path.name for path in out.iterdir() if path.name.startswith("_")} == {
            "_SUCCESS",
            "_manifest.json",
        }
        if moment[0] == "tasks":
            assert rest.tasks <= every.tasks - moment[1]


def rebuild_kills(spark: SparkSession, store: Path, folder: Path, moments: Sequence[Moment]) -> None:
    shape = Geometry(11, 40)
    every = _Count()
    done = rebuild_stores(spark, store, folder / "undisturbed", geometry=shape, progress=every)
    assert done == {"": rebuild(store, folder / "engine", geometry=shape)}
    whole = contents(folder / "undisturbed")
    assert whole == contents(folder / "engine")
    for moment in moments:
        out = folder / "-".join(map(str, moment))
        kill_job(_REBUILD.format(store=str(store), out=str(out)), out, moment)
        assert not (out / "_SUCCESS").exists()
        rest = _Count()
        assert rebuild_stores(spark, store, out, geometry=shape, resume=True, progress=rest) == done
        assert contents(out) == whole
        assert {path.name for path in out.iterdir() if path.name.startswith("_")} == {
            "_SUCCESS",
            "_manifest.json",
        }
        if moment[0] == "tasks":
            assert rest.tasks <= every.tasks - moment[1]


def test_a_decode_killed_between_tasks(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode_kills(spark, golden["mixed"], tmp_path, monkeypatch, [("tasks", 5)])


@pytest.mark.parametrize("manifest_moved", [False, True])
def test_a_commit_killed_between_its_renames_is_taken_back(tmp_path: Path, *, manifest_moved: bool) -> None:
    """`old` has what was there before; `ready` what comes, of which the manifest is moved first."""
    out, temporary = tmp_path / "out", tmp_path / "out" / "_temporary"
    for place in ("ready/index/one", "old/consumequeue/two", "attempts/done-1"):
        put(temporary, place, place.encode())
    put(out if manifest_moved else temporary / "ready", "_manifest.json", b"{}")
    put(out, "index/new" if manifest_moved else "checkpoint/three", b"")
    arguments: Any = (out, {}, ("index", "consumequeue", "checkpoint"), None)
    assert check_out(*arguments, overwrite=False, resume=True) == out
    with pytest.raises(UsageError, match="a job is writing there, or was killed"):
        check_out(*arguments, overwrite=False)
    Output(out, resume=True).__enter__()
    kept = set() if manifest_moved else {"checkpoint"}
    assert {path.name for path in out.iterdir()} == {"_temporary", "consumequeue"} | kept
    assert {path.name for path in temporary.iterdir()} == {"attempts"}


class _Killed(BaseException):
    pass


def _everything(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and "_temporary" not in path.parts and path.name != "_manifest.json"
    }


def _commit(out: Path, *, error: type[BaseException] = _Killed) -> None:
    """A job with `overwrite` and `resume` whose stores have names that sort before and after the manifest's."""
    output = Output(out, overwrite=True, resume=True)
    with suppress(error):
        output.__enter__()
        parts = {}
        for place in ("Broker-A/index/new", "broker-b/index/new"):
            with attempt(output.folder, "index") as path:
                path.write_text("new")
            parts[place] = path.name
        output.commit(parts, {"job": "rebuild"})
        output.__exit__(None, None, None)


@pytest.mark.parametrize("kills", [1, 2, 3])
def test_earlier_output_outlives_kills_at_every_rename_of_a_commit_and_of_its_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    """Killed in the commit, then in what takes it back, then in that again; the last run is not disturbed."""
    earlier = {"Broker-A/index/old": "old", "broker-b/index/old": "old", "_SUCCESS": ""}
    later = {"Broker-A/index/new": "new", "broker-b/index/new": "new", "_SUCCESS": ""}
    rename, undo = Path.rename, Output.undo_replace
    left: list[int] = []
    dead: list[bool] = []

    def counted(path: Path, target: Path) -> Path:
        if dead or (left and left[0] == 0):
            dead.append(True)
            raise _Killed
        if left:
            left[0] -= 1
        return rename(path, target)

    def undone(output: Output) -> None:
        if not dead:  # a killed process does nothing more
            undo(output)

    monkeypatch.setattr(Path, "rename", counted)
    monkeypatch.setattr(Output, "undo_replace", undone)
    for number in range(12):
        out = tmp_path / f"{number}"
        for place, text in earlier.items():
            put(out, place, text.encode())
        put(out, "_manifest.json", b"{}")
        left[:] = [number]
        for _ in range(kills):
            _commit(out)
            dead.clear()
            left[:] = [min(number % 4, 3)]
        left.clear()
        Output(out, overwrite=True, resume=True).__enter__()
        assert _everything(out) in (earlier, later)
        _commit(out)
        assert _everything(out) == later
        assert not (out / "_temporary").exists()


@pytest.mark.parametrize("resume", [False, True])
def test_a_job_that_another_has_replaced_meanwhile_commits_and_removes_nothing(
    tmp_path: Path, *, resume: bool
) -> None:
    """A driver that was taken for dead: the second job ends as if the first had not gone on."""
    out = tmp_path / "out"
    first, second = (Output(out, overwrite=True, resume=resume) for _ in range(2))

    def late() -> None:
        with first:
            second.__enter__()
            first.commit({}, {})

    with pytest.raises(JobError, match="another job has begun to write there"):
        late()
    with attempt(second.folder, "part") as path:
        path.write_text("second")
    second.commit({"table/part-0": path.name}, {})
    second.__exit__(None, None, None)
    assert _everything(out) == {"table/part-0": "second", "_SUCCESS": ""}


def test_a_rename_that_fails_leaves_earlier_output_for_the_next_run_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a kill, at every rename: the folder is what it was, at once and after the next start."""
    earlier = {"Broker-A/index/old": "old", "checkpoint": "old", "_SUCCESS": ""}
    rename = Path.rename
    failed = 0
    for number in range(3, 9):
        out = tmp_path / f"{number}"
        for place, text in earlier.items():
            put(out, place, text.encode())
        put(out, "_manifest.json", b"{}")
        left = [number]

        def broken(path: Path, target: Path, left: list[int] = left) -> Path:
            left[0] -= 1
            if left[0] == 0:
                raise OSError(5, "Input/output error")
            return rename(path, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", broken)
            _commit(out, error=OSError)
        failed += left[0] <= 0
        assert _everything(out) == earlier
        Output(out, overwrite=True, resume=True).__enter__()
        assert _everything(out) == earlier
    assert failed == 6


@pytest.mark.soak
def test_decodes_killed_at_twenty_moments(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode_kills(spark, golden["mixed"], tmp_path, monkeypatch, _DECODE_MOMENTS)


@pytest.mark.soak
def test_rebuilds_killed_at_twenty_moments(
    spark: SparkSession, golden: dict[str, Path], tmp_path: Path
) -> None:
    rebuild_kills(spark, golden["mixed"], tmp_path, _REBUILD_MOMENTS)
