"""What keeps a broker from starting beside the files' lengths and content: permissions, timer wheel and timer log of 5.x."""

import os
import shutil
from pathlib import Path

import pytest
from rocket_columnar.facts import Store
from rocket_columnar.report import audit
from rocket_columnar.restart import restart
from rocket_golden import open_store
from rocket_spec.errors import UsageError

LATER = Path(__file__).parents[1] / "report" / "store-5.5.0.zip"
WHEEL = 38_707_200  # TimerMessageStore 115-121 of 5.5.0: seven days of slots, twice, of 32 bytes
NOBODY = 65534


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store whose owner is not root."""
    path = open_store("mixed", tmp_path)
    if os.geteuid() == 0:
        for one in (path, *path.rglob("*")):
            os.chown(one, NOBODY, NOBODY)
    return path


def test_the_owner_of_a_store_starts_its_broker(store: Path) -> None:
    assert restart(store).safe
    assert restart(store, user="root").safe


@pytest.mark.parametrize(
    ("name", "mode", "reason"),
    [
        ("commitlog/00000000000000032768", 0o400, "may not read and write it: the broker does not start"),
        ("consumequeue/Orders/0/00000000000000000000", 0o444, "may not read and write it"),
        ("checkpoint", 0o600 >> 3, "mode 0060: user"),
        ("consumequeue/Orders", 0o300, "may not list it: for the broker it is empty"),
        (".", 0o500, "may not list and write it"),
    ],
)
def test_permissions(store: Path, name: str, mode: int, reason: str) -> None:
    (store / name).chmod(mode)
    try:
        refusal = Store(store).refusal
        if os.geteuid() == 0:  # who may read it all the same
            found = restart(store)
            assert f"{name}: owner " in str(found.refused)
            assert not found.safe
            assert [one.code for one in audit(store)] == ["store.refused"]
    finally:
        (store / name).chmod(0o700)
    assert refusal is not None
    assert refusal.file == name
    assert reason in refusal.reason


def test_a_configuration_that_cannot_be_read_has_a_bak(store: Path) -> None:
    main, backup = (store / "config" / f"topics.json{end}" for end in ("", ".bak"))
    backup.write_bytes(main.read_bytes())
    if os.geteuid() == 0:
        os.chown(backup, NOBODY, NOBODY)
    main.chmod(0)
    assert Store(store).refusal is None
    backup.chmod(0)
    refusal = Store(store).refusal
    main.chmod(0o600)
    backup.chmod(0o600)
    assert refusal is not None
    assert refusal.file == "config/topics.json"


def test_a_user_that_does_not_exist(store: Path) -> None:
    with pytest.raises(UsageError, match="--user no-such-user: this machine has no such user"):
        restart(store, user="no-such-user")


@pytest.mark.parametrize(
    ("files", "refused"),
    [
        ({"timerwheel": WHEEL}, ""),
        ({"timerwheel": 0}, ""),
        ({"timerwheel": 1000}, "timerwheel: found a timer wheel of 1,000 bytes, expected 38,707,200"),
        ({"timerwheel": 1000, "timerwheel.52": WHEEL}, ""),
        ({"timerwheel.9": WHEEL, "timerwheel.52": 64}, "timerwheel.52: found a timer wheel of 64 bytes"),
        ({"timerlog/copy": 1}, "timerlog/copy: found a file whose name is no number in the timer log"),
        ({"timerlog/copy": 0}, ""),
        ({"timerlog/copy": 0, "timerlog/other": 0}, "timerlog/copy: found a file whose name is no number"),
    ],
)
def test_timer_wheel_and_timer_log(tmp_path: Path, files: dict[str, int], refused: str) -> None:
    """`TimerWheel` 63-81 of 5.5.0 throws for another length than its own; `MappedFileQueue.doLoad` refuses a file, or its name."""
    shutil.unpack_archive(LATER, tmp_path / "later")
    for name, size in files.items():
        path = tmp_path / "later" / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.truncate(path, size)
    found = restart(tmp_path / "later", release="5.5.0").refused
    assert (found or "").startswith(refused)
    assert bool(found) == bool(refused)
    codes = [one.code for one in audit(tmp_path / "later") if one.severity != "note"]
    assert codes == (["store.refused"] if refused else [])
