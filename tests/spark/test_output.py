"""The output folder of a job, on disks and S3: whole with `_SUCCESS`, and nothing of ours where a job failed."""

import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from far_storage import Far
from rocket_spark import JobError
from rocket_spark.files import storage_for
from rocket_spark.output import Output, attempt, check_out
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
    """The files below a directory."""
    storage, uri = storage_for(place.root, place.options)
    try:
        found = [info for info in storage.walk(uri) if not info.is_directory]
    except FileNotFoundError:
        return {}
    return {info.uri[len(uri) + 1 :]: storage.read(info.uri) for info in found}


def write(output: Output, text: str) -> str:
    """Writes a tree of one file, as a task does in another process; its name."""
    folder = pickle.loads(pickle.dumps(output.folder))
    with attempt(folder, "part") as path:
        path.mkdir()
        (path / "table").write_text(text)
    return f"{path.name}/table"


def run(place: Far, work: Callable[[Output], object]) -> None:
    """A job."""
    with Output(place.root, place.options) as output:
        work(output)


def test_of_a_task_that_ran_twice_one_copy_is_left(place: Far) -> None:
    def work(output: Output) -> None:
        write(output, "the run that was lost")
        name = write(output, "the run that counts")
        assert output.commit({"table/store=a%2Fb/part-0": name}) == {"table/store=a%2Fb/part-0": 19}

    run(place, work)
    assert files(place) == {"table/store=a%2Fb/part-0": b"the run that counts", "_SUCCESS": b""}


def test_a_job_that_fails_before_its_end_leaves_nothing(place: Far) -> None:
    def fail(output: Output) -> None:
        write(output, "one")
        raise JobError("a task failed")

    def gone(output: Output) -> None:
        output.commit({"table/part-0": write(output, "one"), "table/part-1": "part.0/table"})

    for work, said in ((fail, "a task failed"), (gone, "by a task and missing since")):
        with pytest.raises(JobError, match=said):
            run(place, work)
        assert files(place) == {}
        assert place.options or not Path(place.root).exists()


def test_earlier_output_is_there_until_all_is_written_and_then_replaced(place: Far) -> None:
    """The remains of a killed job go too; what came meanwhile from elsewhere stays."""
    run(place, lambda output: output.commit({"table/part-0": write(output, "old")}))

    def fail(output: Output) -> None:
        write(output, "new")
        raise JobError("a task failed")

    with pytest.raises(JobError):
        run(place, fail)
    assert files(place) == {"table/part-0": b"old", "_SUCCESS": b""}
    Far(place.root, place.options).write(f"{place.root}/_temporary/x/part", b"of a job that was killed")

    def work(output: Output) -> None:
        Far(place.root, place.options).write(f"{place.root}/notes.txt", b"mine")
        output.commit({"other/part-1": write(output, "new")})

    run(place, work)
    assert files(place) == {"other/part-1": b"new", "_SUCCESS": b"", "notes.txt": b"mine"}


def test_folders_that_are_refused(s3: Far, tmp_path: Path) -> None:
    """Inside a store, also if `s3a:` is another name of `s3:`; with what is not ours; with what a killed job left."""

    def refused(out: str | Path, said: str, *, store: str = "/store", overwrite: bool = False) -> None:
        with pytest.raises(UsageError, match=said):
            check_out(out, [store], ["table"], s3.options, overwrite=overwrite)

    put(tmp_path, "store/checkpoint", b"")
    for root in (s3.root, s3.root.replace("s3://", "s3a://"), str(tmp_path)):
        store = str(tmp_path) if root == str(tmp_path) else s3.root
        refused(f"{root}/store/new", "is inside a store that is read", store=f"{store}/store")
        check_out(f"{root}/store2", [f"{store}/store"], [], s3.options, overwrite=False)
    s3.write(f"{s3.root}/own/notes.txt", b"mine")
    put(tmp_path, "own/notes.txt", b"mine")
    for root in (s3.root, str(tmp_path)):
        refused(f"{root}/own", r"'notes\.txt', which was not written by rocketspec", overwrite=True)
    refused(tmp_path / "own" / "notes.txt", "exists and is not an empty directory")
    (tmp_path / "killed" / "_temporary").mkdir(parents=True)
    refused(tmp_path / "killed", "a job is writing there, or was killed")
    check_out(tmp_path / "killed", [], [], None, overwrite=True)
    with pytest.raises(OSError, match="Empty path component") as caught:
        check_out(f"{s3.root}//out", [], [], s3.options, overwrite=False)
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
        output.commit({"table/part": name})
    writer.join()
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"table", "_SUCCESS"}
