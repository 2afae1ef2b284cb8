"""What keeps a broker from starting beside the files' lengths and content: permissions, timer wheel and timer log of 5.x."""

import os
from pathlib import Path

import pytest
from rocket_columnar.facts import Store
from rocket_columnar.report import audit
from rocket_columnar.restart import restart
from rocket_golden import open_store
from rocket_spec.errors import UsageError

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
    shown = str(store) if name == "." else name
    try:
        refusal = Store(store).refusal
        if os.geteuid() == 0:  # who may read it all the same
            found = restart(store)
            assert f"{shown}: owner " in str(found.refused)
            assert not found.safe
            assert [one.code for one in audit(store)] == ["store.refused"]
    finally:
        (store / name).chmod(0o700)
    assert refusal is not None
    assert refusal.file == shown
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
