"""Links at the places of a store are listed by name, other links beside them are not; files in use stay open beside many."""

from pathlib import Path

from rocket_columnar.store import files_kept_open, links_in, open_reader


def test_links_at_the_places_of_a_store(tmp_path: Path) -> None:
    for name in ("index", "consumequeue/T/0", "commitlog", "logs", "rocketspec-repair-x/new"):
        (tmp_path / name).mkdir(parents=True)
    for name in (
        "index/1",
        "consumequeue/U",
        "consumequeue/T/0/2",
        "lock",
        "dledger-n0",
        "logs/3",
        "other",
        "rocketspec-repair-x/new/4",
    ):
        (tmp_path / name).symlink_to(tmp_path / "missing")
    found = {
        "index/1",
        "consumequeue/U",
        "consumequeue/T/0/2",
        "lock",
        "dledger-n0",
        "rocketspec-repair-x/new/4",
    }
    assert set(links_in(tmp_path)) == found


def test_a_link_to_a_folder_above_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "again").symlink_to(tmp_path)
    assert list(links_in(tmp_path)) == ["index/again"]


def test_no_store_has_folders_below_those_of_a_repair(tmp_path: Path) -> None:
    deep = tmp_path / Path("index", *("d" for _ in range(20)))
    deep.mkdir(parents=True)
    (deep / "link").symlink_to(tmp_path)
    assert list(links_in(tmp_path)) == []


def test_a_file_in_use_stays_open_whatever_is_opened_beside_it(tmp_path: Path) -> None:
    for number in range(120):
        (tmp_path / str(number)).write_bytes(b"x")
    with files_kept_open(), open_reader(tmp_path / "0") as used:
        for number in range(1, 120):
            with open_reader(tmp_path / str(number)) as other:
                assert other.read(0, 1).tobytes() == b"x"
        assert used.read(0, 1).tobytes() == b"x"
