"""Output on S3 and HDFS: whole, or nothing that could be taken for it."""

from __future__ import annotations

import errno
import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rocket_spark import JobError
from rocket_spark.files import storage_for
from rocket_spark.output import attempt, check_out, earlier_manifest, open_out
from rocket_spec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from far_storage import Far
    from rocket_spark.output.far_folder import FarOutput


@pytest.fixture(scope="module", params=["s3", "hdfs"])
def far(request: pytest.FixtureRequest) -> Far:
    found: Far = request.getfixturevalue(request.param)
    return found


def files(far: Far, uri: str) -> dict[str, bytes]:
    """What lies below, directories aside."""
    storage, _ = storage_for(uri, far.options)
    try:
        found = [info for info in storage.walk(uri) if not info.is_directory]
    except FileNotFoundError:
        return {}
    return {info.uri[len(uri) + 1 :]: storage.opened(info.uri, info.size)(0, info.size) for info in found}


def write(output: FarOutput, text: str) -> str:
    """What a task does, in another process: a tree of one file; its name."""
    folder = pickle.loads(pickle.dumps(output.folder))  # noqa: S301
    with attempt(folder, "part") as path:
        path.mkdir()
        (path / "table").write_text(text)
    return f"{path.name}/table"


def opened(far: Far, uri: str, *, overwrite: bool = False) -> FarOutput:
    return open_out(uri, far.options, overwrite=overwrite)  # type: ignore[return-value]


def run(far: Far, uri: str, work: Callable[[FarOutput], None]) -> None:
    """A job."""
    with opened(far, uri) as output:
        work(output)


def test_of_a_task_that_ran_twice_one_copy_is_left(far: Far) -> None:
    uri = f"{far.root}/twice"
    with opened(far, uri) as output:
        write(output, "the run that was lost")
        name = write(output, "the run that counts")
        assert output.size(name) == 19
        output.commit({"table/store=a%2Fb/part-0": name}, {"job": "test"})
    found = files(far, uri)
    manifest = json.loads(found.pop("_manifest.json"))
    assert manifest["files"] == [{"path": "table/store=a%2Fb/part-0", "bytes": 19}]
    assert found == {"table/store=a%2Fb/part-0": b"the run that counts", "_SUCCESS": b""}


def test_a_job_that_fails_leaves_nothing(far: Far) -> None:
    uri = f"{far.root}/failed"

    def work(output: FarOutput) -> None:
        write(output, "one")
        raise JobError("a task failed")

    with pytest.raises(JobError, match="a task failed"):
        run(far, uri, work)
    assert files(far, uri) == {}


def test_a_commit_that_fails_leaves_nothing(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"{far.root}/half"

    def work(output: FarOutput) -> None:
        parts = {f"table/part-{number}": write(output, str(number)) for number in range(3)}
        move = type(output.storage).move

        def fail(storage: object, source: str, target: str) -> None:
            if target.endswith("part-1"):
                raise OSError(errno.EIO, "a fault that a test put here")
            move(storage, source, target)  # type: ignore[arg-type]

        monkeypatch.setattr(type(output.storage), "move", fail)
        output.commit(parts, {})

    with pytest.raises(OSError, match="a fault"):
        run(far, uri, work)
    assert files(far, uri) == {}


def test_an_attempt_that_is_gone_fails_the_commit(far: Far) -> None:
    uri = f"{far.root}/gone"
    with pytest.raises(JobError, match="written by a task and missing since"), opened(far, uri) as output:
        output.commit({"table/part-0": write(output, "one"), "table/part-1": "part.0/table"}, {})
    assert files(far, uri) == {}


def test_what_came_there_meanwhile_is_kept(far: Far) -> None:
    uri = f"{far.root}/meanwhile"

    def work(output: FarOutput) -> None:
        name = write(output, "one")
        far.write(f"{uri}/notes.txt", b"mine")
        output.commit({"table/part-0": name}, {})

    with pytest.raises(JobError, match="appeared while the job ran"):
        run(far, uri, work)
    assert files(far, uri) == {"notes.txt": b"mine"}


def test_a_rest_is_replaced_when_asked_for_and_nothing_finished_is(far: Far) -> None:
    uri = f"{far.root}/rest"
    far.write(f"{uri}/table/part-0", b"of a job that was killed")

    def check(*, overwrite: bool) -> None:
        assert check_out(f"{uri}/", {"": "/store"}, ["table"], far.options, overwrite=overwrite) == uri

    with pytest.raises(UsageError, match="exists and is not an empty directory"):
        check(overwrite=False)
    check(overwrite=True)
    with pytest.raises(JobError, match="appeared meanwhile"):
        run(far, uri, lambda _: None)
    with opened(far, uri, overwrite=True) as output:
        output.commit({"table/part-1": write(output, "new")}, {})
    assert files(far, uri).keys() == {"table/part-1", "_manifest.json", "_SUCCESS"}
    with pytest.raises(UsageError, match="contains a finished job's output"):
        check(overwrite=True)
    with pytest.raises(JobError, match="appeared meanwhile"), opened(far, uri, overwrite=True):
        pass
    far.write(f"{far.root}/own/notes.txt", b"mine")
    with pytest.raises(UsageError, match=r"contains 'notes\.txt', which was not written by rocketspec"):
        check_out(f"{far.root}/own", {}, ["table"], far.options, overwrite=True)


def test_a_job_that_another_has_resumed_meanwhile_commits_and_removes_nothing(far: Far) -> None:
    """A driver that was taken for dead: the second job ends as if the first had not gone on."""
    uri = f"{far.root}/taken"
    first: FarOutput = open_out(uri, far.options, resume=True)  # type: ignore[assignment]
    second: FarOutput = open_out(uri, far.options, resume=True)  # type: ignore[assignment]

    def late() -> None:
        with first:
            name = write(first, "first")
            second.__enter__()
            first.commit({"table/part-0": name}, {})

    with pytest.raises(JobError, match="another job has begun to write there"):
        late()
    second.commit({"table/part-0": write(second, "second")}, {})
    second.__exit__(None, None, None)
    found = files(far, uri)
    assert found.keys() == {"table/part-0", "_manifest.json", "_SUCCESS"}
    assert found["table/part-0"] == b"second"


@pytest.mark.parametrize("step", ["upload", "remove", "move"])
def test_an_append_that_fails_while_it_replaces_the_manifest_can_be_continued(
    far: Far, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The manifest is whole, that of before or the new one, at once and for the run after the next."""
    uri = f"{far.root}/append-{step}"

    def add(text: str) -> None:
        kept = (earlier_manifest(uri, far.options) or {"files": []})["files"]
        with open_out(uri, far.options, append=True) as output:
            output.add({f"table/part-{text}": write(output, text)}, {}, kept)  # type: ignore[arg-type]

    def listed() -> list[str]:
        return [file["path"] for file in (earlier_manifest(uri, far.options) or {})["files"]]

    add("one")
    with monkeypatch.context() as patch:
        kind = type(storage_for(uri, far.options)[0])
        real = getattr(kind, step)

        def fail(storage: object, *places: object) -> None:
            if str(places[-1]).endswith(("_manifest.json", "_manifest.next.json")):
                raise OSError(errno.EIO, "a fault that a test put here")
            real(storage, *places)

        patch.setattr(kind, step, fail)
        with pytest.raises(OSError, match="a fault"):
            add("two")
    first = ["table/part-one"]
    assert listed() == ([*first, "table/part-two"] if step == "move" else first)
    add("three")
    assert listed() == sorted([*first, "table/part-three", *(["table/part-two"] if step == "move" else [])])
    assert files(far, uri).keys() == {*listed(), "_manifest.json", "_SUCCESS"}


def test_output_in_a_store_is_refused(far: Far) -> None:
    """Also if `s3a:` is another name of `s3:`."""
    for root in (far.root, far.root.replace("s3://", "s3a://")):
        with pytest.raises(UsageError, match="is inside a store that is read"):
            check_out(f"{root}/store/new", {"": f"{far.root}/store"}, [], far.options, overwrite=False)


def test_a_doubled_slash_in_a_key_is_an_error_with_the_uri(s3: Far) -> None:
    with pytest.raises(OSError, match="Empty path component") as caught:
        check_out(f"{s3.root}//out", {}, [], s3.options, overwrite=False)
    assert caught.value.filename == f"{s3.root}//out"


def test_a_path_is_a_directory_of_this_machine(tmp_path: Path) -> None:
    assert check_out(tmp_path / "out", {}, [], None, overwrite=False) == tmp_path / "out"
    with open_out(tmp_path / "out", None, overwrite=False) as output:
        with attempt(output.folder, "part") as path:
            path.write_text("one")
        assert output.size(path.name) == 3
        with pytest.raises(JobError, match="missing since"):
            output.size("part.0")
    assert isinstance(path, Path)
