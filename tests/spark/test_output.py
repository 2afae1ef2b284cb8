"""The output folder of a job, on disks, S3: whole, what it was before, or nothing that could be taken for it."""

import errno
import json
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from far_storage import Far
from rocket_spark import JobError
from rocket_spark.files import LocalStorage, storage_for
from rocket_spark.output import Output, attempt, check_out, earlier_manifest
from rocket_spec.errors import UsageError
from store_bytes import put


@pytest.fixture(params=["near", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Far:
    """A folder that does not exist, and the options of its storage."""
    if request.param == "near":
        return Far(str(tmp_path / "out"))
    far: Far = request.getfixturevalue(request.param)
    return Far(f"{far.root}/{tmp_path.name}", far.options)


def files(place: Far) -> dict[str, bytes]:
    """What is below, directories aside."""
    storage, uri = storage_for(place.root, place.options)
    try:
        found = [info for info in storage.walk(uri) if not info.is_directory]
    except FileNotFoundError:
        return {}
    return {info.uri[len(uri) + 1 :]: storage.read(info.uri) for info in found}


def write(output: Output, text: str) -> str:
    """What a task does, in another process: a tree of one file; its name."""
    folder = pickle.loads(pickle.dumps(output.folder))  # noqa: S301
    with attempt(folder, "part") as path:
        path.mkdir()
        (path / "table").write_text(text)
    return f"{path.name}/table"


def run(place: Far, work: Callable[[Output], object] = lambda _: None, **options: bool) -> None:
    """A job."""
    with Output(place.root, place.options, **options) as output:
        work(output)


def commit(place: Far, text: str, *names: str, **options: bool) -> None:
    """A job that writes files of one text."""
    run(place, lambda output: output.commit({name: write(output, text) for name in names}, {}), **options)


def test_of_a_task_that_ran_twice_one_copy_is_left(place: Far) -> None:
    def work(output: Output) -> None:
        write(output, "the run that was lost")
        name = write(output, "the run that counts")
        assert output.size(name) == 19
        output.commit({"table/store=a%2Fb/part-0": name}, {"job": "test"})

    run(place, work)
    found = files(place)
    manifest = json.loads(found.pop("_manifest.json"))
    assert manifest["files"] == [{"path": "table/store=a%2Fb/part-0", "bytes": 19}]
    assert found == {"table/store=a%2Fb/part-0": b"the run that counts", "_SUCCESS": b""}


def test_a_job_that_fails_leaves_nothing(place: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the commit; in the midst of it; since an attempt is gone; since something came there meanwhile."""

    def fail(output: Output) -> None:
        write(output, "one")
        raise JobError("a task failed")

    def half(output: Output) -> None:
        parts = {f"table/part-{number}": write(output, str(number)) for number in range(3)}
        move = type(output.storage).move

        def fail(storage: Any, source: str, target: str) -> None:
            if target.endswith("part-1"):
                raise OSError(errno.EIO, "a fault that a test put here")
            move(storage, source, target)

        with monkeypatch.context() as patch:
            patch.setattr(type(output.storage), "move", fail)
            output.commit(parts, {})

    def gone(output: Output) -> None:
        output.commit({"table/part-0": write(output, "one"), "table/part-1": "part.0/table"}, {})

    def meanwhile(output: Output) -> None:
        name = write(output, "one")
        if place.options:
            place.write(f"{place.root}/notes.txt", b"mine")
        else:
            put(Path(place.root), "notes.txt", b"mine")
        output.commit({"table/part-0": name}, {})

    for work, said in ((fail, "a task failed"), (half, "a fault"), (gone, "by a task and missing since")):
        with pytest.raises((JobError, OSError), match=said):
            run(place, work)
        assert files(place) == {}
        assert place.options or not Path(place.root).exists()
    with pytest.raises(JobError, match="appeared while the job ran"):
        run(place, meanwhile)
    assert files(place) == {"notes.txt": b"mine"}


def test_a_job_that_another_has_replaced_meanwhile_commits_and_removes_nothing(place: Far) -> None:
    """A driver that was taken for dead: the second job ends as if the first had not gone on."""
    first, second = (Output(place.root, place.options, resume=True) for _ in range(2))

    def late() -> None:
        with first:
            name = write(first, "first")
            second.__enter__()
            first.commit({"table/part-0": name}, {})

    with pytest.raises(JobError, match="another job has begun to write there"):
        late()
    second.commit({"table/part-0": write(second, "second")}, {})
    second.__exit__(None, None, None)
    found = files(place)
    assert found.keys() == {"table/part-0", "_manifest.json", "_SUCCESS"}
    assert found["table/part-0"] == b"second"


@pytest.mark.parametrize("step", ["upload", "remove", "move"])
def test_an_append_that_fails_while_it_replaces_the_manifest_can_be_continued(
    place: Far, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The manifest is whole, that of before or the new one, at once and for the run after the next."""

    def add(text: str) -> None:
        kept = (earlier_manifest(place.root, place.options) or {"files": []})["files"]
        work = {f"table/part-{text}": text}
        run(
            place,
            lambda output: output.add({part: write(output, own) for part, own in work.items()}, {}, kept),
            append=True,
        )

    def listed() -> list[str]:
        return [file["path"] for file in (earlier_manifest(place.root, place.options) or {})["files"]]

    add("one")
    with monkeypatch.context() as patch:
        kind = type(storage_for(place.root, place.options)[0])
        real = getattr(kind, step)

        def fail(storage: object, *places: object) -> None:
            if str(places[-1]).endswith(("_manifest.json", "_manifest.next.json")):
                raise OSError(errno.EIO, "a fault that a test put here")
            real(storage, *places)

        patch.setattr(kind, step, fail)
        with pytest.raises(OSError, match="a fault"):
            add("two")
    came = step == "move" and bool(place.options)  # on disks the first manifest is a rename, too
    first = ["table/part-one"]
    assert listed() == ([*first, "table/part-two"] if came else first)
    add("three")
    assert listed() == sorted([*first, "table/part-three", *(["table/part-two"] if came else [])])
    assert files(place).keys() == {*listed(), "_manifest.json", "_SUCCESS"}


def test_far_away_a_rest_is_replaced_when_asked_for_and_nothing_finished_is(s3: Far) -> None:
    place = Far(f"{s3.root}/rest", s3.options)
    s3.write(f"{place.root}/table/part-0", b"of a job that was killed")

    def check(*, overwrite: bool) -> None:
        found = check_out(f"{place.root}/", {"": "/store"}, ["table"], s3.options, overwrite=overwrite)
        assert found == place.root

    with pytest.raises(UsageError, match="exists and is not an empty directory"):
        check(overwrite=False)
    check(overwrite=True)
    with pytest.raises(JobError, match="appeared meanwhile"):
        run(place)
    commit(place, "new", "table/part-1", overwrite=True)
    assert files(place).keys() == {"table/part-1", "_manifest.json", "_SUCCESS"}
    with pytest.raises(UsageError, match="contains a finished job's output"):
        check(overwrite=True)
    with pytest.raises(JobError, match="appeared meanwhile"):
        run(place, overwrite=True)


def test_folders_that_are_refused(s3: Far, tmp_path: Path) -> None:
    """Inside a store, also if `s3a:` is another name of `s3:`; with what is not ours; with what a killed job left."""

    def refused(out: str | Path, said: str, *, stores: str = "/store", overwrite: bool = False) -> None:
        with pytest.raises(UsageError, match=said):
            check_out(out, {"": stores}, ["table"], s3.options, overwrite=overwrite)

    put(tmp_path, "store/checkpoint", b"")
    for root in (s3.root, s3.root.replace("s3://", "s3a://"), str(tmp_path)):
        store = str(tmp_path) if root == str(tmp_path) else s3.root
        refused(f"{root}/store/new", "is inside a store that is read", stores=f"{store}/store")
    s3.write(f"{s3.root}/own/notes.txt", b"mine")
    put(tmp_path, "own/notes.txt", b"mine")
    for root in (s3.root, str(tmp_path)):
        refused(f"{root}/own", r"'notes\.txt', which was not written by rocketspec", overwrite=True)
    refused(tmp_path / "own" / "notes.txt", "exists and is not an empty directory")
    (tmp_path / "killed" / "_temporary").mkdir(parents=True)
    refused(tmp_path / "killed", "a job is writing there, or was killed")
    check_out(tmp_path / "killed", {}, [], None, overwrite=True)
    with pytest.raises(OSError, match="Empty path component") as caught:
        check_out(f"{s3.root}//out", {}, [], s3.options, overwrite=False)
    assert caught.value.filename == f"{s3.root}//out"


def test_a_task_that_still_writes_leaves_nothing_in_the_finished_folder(tmp_path: Path) -> None:
    """The slower copy of a speculative task ends while the driver removes what it does not need."""

    def slower_copy(output: Output) -> None:
        with suppress(FileNotFoundError):
            for _ in range(3000):
                write(output, "done")

    with Output(tmp_path / "out") as output:
        name = write(output, "new")
        writer = Thread(target=slower_copy, args=[output])
        writer.start()
        output.commit({"table/part": name}, {})
    writer.join()
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"table", "_manifest.json", "_SUCCESS"}


class _Killed(BaseException):
    pass


EARLIER = {"Broker-A/index/old": b"old", "broker-b/index/old": b"old", "_SUCCESS": b""}
LATER = {"Broker-A/index/new": b"new", "broker-b/index/new": b"new", "_SUCCESS": b""}
"""Of stores whose names sort before and after the manifest's."""


def earlier(out: Path) -> Far:
    """A finished job's output."""
    for place, text in EARLIER.items():
        put(out, place, text)
    put(out, "_manifest.json", b"{}")
    return Far(str(out))


def everything(place: Far) -> dict[str, bytes]:
    return {
        name: content
        for name, content in files(place).items()
        if not name.startswith("_temporary/") and name != "_manifest.json"
    }


def replaced(place: Far) -> None:
    commit(place, "new", *LATER.keys() - {"_SUCCESS"}, overwrite=True, resume=True)


@pytest.mark.parametrize("kills", [0, 1, 2, 3])
def test_earlier_output_outlives_a_fault_or_kills_at_every_step_of_a_commit_and_of_its_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    """Killed in the commit, then in what takes it back, then in that again; the last run is not disturbed."""
    left: list[int] = []
    dead: list[bool] = []
    fault = _Killed() if kills else OSError(errno.EIO, "Input/output error")

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any) -> Any:
            if dead or (left and left[0] == 0):
                dead.extend([True] * bool(kills))  # a killed process does nothing more
                left[:] = left if kills else []
                raise fault
            left[:] = [left[0] - 1] if left else []
            return real(*arguments)

        return step

    for kind, name in ((Path, "rename"), (LocalStorage, "move"), (LocalStorage, "remove")):
        monkeypatch.setattr(kind, name, counted(getattr(kind, name)))
    seen = set()
    for number in range(18):
        place = earlier(tmp_path / f"{number}")
        left[:] = [number]
        for _ in range(max(kills, 1)):
            with suppress(_Killed, OSError):
                replaced(place)
            dead.clear()
            if not kills:
                assert everything(place) in (EARLIER, LATER)
            left[:] = [number % 4] if kills else []
        left.clear()
        Output(place.root, overwrite=True, resume=True).__enter__()
        assert everything(place) in (EARLIER, LATER)
        seen.add(everything(place) == EARLIER)
        replaced(place)
        assert everything(place) == LATER
        assert not (Path(place.root) / "_temporary").exists()
    assert seen == {True, False}
