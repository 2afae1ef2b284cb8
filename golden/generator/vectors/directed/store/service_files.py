"""Vectors of IDX-SVC: load, build, roll, expiry and flush of the index service's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.vectors.building import I64_MIN, NOW, SLOTS, Clause, Entry, Header, hash_of, image, key_of
from generator.vectors.building_store import (
    build,
    delete_old_indexes,
    index_file,
    open_service,
    query,
    settle,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Vector

__all__ = ["vectors"]


def _old(number: int, end_time: int = NOW, end_offset: int = 1000, count: int = 3) -> dict[str, bytes]:
    """An index file of the past: no slot in use, but a header with a count."""
    head = Header(NOW - 10_000, end_time, 0, end_offset, 0, count)
    return index_file(number, image(head))


def _full(number: int, end_time: int = NOW, end_offset: int = 1000) -> dict[str, bytes]:
    return _old(number, end_time, end_offset, count=12)


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _keys()
    yield from _roll()
    yield from _load()
    yield from _load_order()
    yield from _unclean_load()
    yield from _creation_first()
    yield from _repeated()
    yield from _types()
    yield from _unique_key()
    yield from _expiry()
    yield from _flush()
    yield from _failure()


def _keys() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-1", "no query finds the message")
    yield clause(
        "topic-and-key",
        "a key indexed without its topic, or with another separator",
        open_service(),
        build(0, topic="AaTopic", keys="Aa"),
        query("Aa", topic="AaTopic"),
        query("BB", topic="AaTopic"),
        query("a", topic="AaTopic"),
    )
    yield clause(
        "beyond-ascii",
        "a hash over bytes",
        open_service(),
        build(0, topic="主题", keys="订单 \U0001f680"),
        query("\U0001f680", topic="主题"),
    )
    clause = Clause("IDX-SVC-2", "a message is found under some of its keys only")
    for slug, keys, bug in (
        ("two-keys", "k1 k2", "keys not taken apart, or in another order"),
        ("commas", "k1,k2", "keys taken apart at commas"),
        ("spaces", " k1  k2 ", "an empty key indexed"),
        ("tab", "k1\tk2", "keys taken apart at every white space"),
        ("only-spaces", "  ", "an empty key indexed"),
        ("repeated", "k k k", "a repeated key indexed once"),
        ("empty", "", "an empty key indexed"),
    ):
        yield clause(
            slug,
            bug,
            open_service(),
            build(100, keys=keys),
            query("k1"),
            query("k"),
            query(""),
        )
    yield clause(
        "unique-key-first",
        "the unique key indexed last, or not at all",
        open_service(1),
        build(100, uniq_key="id", keys="k1 id"),
        query("id"),
    )


def _roll() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-3", "keys are lost at the change of files")
    yield clause(
        "inside-a-message",
        "a message's keys kept in one file",
        open_service(7, 4),
        build(50, NOW, keys="x"),  # so that each operation makes one file
        build(100, NOW, uniq_key="u1", keys="a b c d"),
        build(200, NOW + 5000, keys="a"),
        query("a"),
        query("d"),
    )
    yield clause(
        "at-its-first-key",
        "the next file made by the put that fills the last",
        open_service(7, 4),
        build(100, NOW, keys="a b c"),
        build(200, NOW + 5000, keys="d"),
        query("d", NOW + 5000, NOW + 5000),
        query("d", NOW + 10_000, NOW + 10_000),
    )
    yield clause(
        "full-not-rolled",
        "the next file made as soon as the last is full",
        open_service(7, 4),
        build(100, NOW, keys="a b c"),
    )
    yield clause(
        "loaded-full",
        "a loaded full file written to, or its end values not taken over",
        open_service(),
        build(2000, NOW + 7000, keys="a"),
        query("a"),
        files=_full(1),
    )
    yield clause(
        "only-the-last-is-written",
        "an older file with room written to",
        open_service(),
        build(2000, NOW + 7000, keys="a"),
        files=_old(1) | _full(2),
    )


def _load() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-5", "old messages are not found, or new ones put into old files")
    yield clause("nothing-there", "a directory made by a load", open_service(), query("a"))
    yield clause(
        "last-by-name",
        "the file to write to chosen by its times",
        open_service(),
        build(5000, NOW + 1000, keys="a"),
        files=_old(1, NOW + 9000, 2000) | _old(2, NOW, 1000),
    )
    yield clause(
        "name-that-is-no-number",
        "a file refused, or deleted, whose name is no number",
        open_service(),
        query("a"),
        build(5000, NOW + 1000, keys="a"),
        files=_old(1) | {"index/20200101000000001.bak": b"old"} | {"index/x": b""},
    )
    yield clause(
        "name-that-is-no-number-first",
        "the load ended at a file whose name is not a number, though those after it are loaded",
        open_service(),
        query("a"),
        files={"index/0.bak": b"old"} | _old(1) | _old(2),
    )
    yield clause(
        "short-file",
        "a truncated file left out: it is extended with zeros",
        open_service(),
        query("a"),
        files={name: data[:50] for name, data in _old(1).items()},
    )
    yield clause(
        "stops-at-a-directory",
        "files loaded after one that cannot be opened",
        open_service(),
        query("a"),
        files=_old(1) | {"index/20200101000000002/x": b""} | _old(3),
    )
    yield clause(
        "count-of-0",
        "a file without entries left out",
        open_service(),
        build(5000, NOW + 1000, keys="a"),
        files=_old(1, 0, 0, 0),
    )


def _load_order() -> Iterator[Vector]:
    """Names whose order as text is not their order as numbers: the query goes from the last file to the first."""
    clause = Clause("IDX-SVC-5", "queries begin at an old file, and new messages go into it")
    for slug, names, bug in (
        ("other-lengths", ("100", "20", "3"), "files sorted as numbers: by length first"),
        ("longer-than-17-digits", ("1999010100000000000", "20200101000000001"), "files sorted as numbers"),
        ("leading-zeros", ("0020200101000000003", "00300", "20200101000000001"), "files sorted as numbers"),
        ("signs", ("+3", "-3", "20200101000000001"), "a negative name before a positive one"),
        ("two-negative-names", ("-1", "-2", "1"), "negative names sorted as numbers"),
        (
            "calendar-of-another-locale",
            ("00051114221320123", "20231114221320122"),
            "the Japanese year 5 last",
        ),
        (
            "digits-of-another-script",
            ("20231114221320122", "٢٠٢٠"),
            "digits of another script before plain ones",
        ),
    ):
        yield clause(
            f"name-order-{slug}",
            bug,
            open_service(),
            query("a"),
            files={f"index/{name}": _holding_a(place) for place, name in enumerate(names, 1)},
        )


def _holding_a(place: int) -> bytes:
    """A file with one entry of `T#a`, at physical offset 1000 times its place in the order that is expected."""
    code = hash_of("T#a")
    (data,) = image(
        Header(NOW, NOW, 1000 * place, 1000 * place, 1, 2), {code % SLOTS: 1}, {1: Entry(code, 1000 * place)}
    ).values()
    return data


def _unclean_load() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-6", "entries of lost messages stay, or old messages are not found any more")
    for slug, index_time, bug in (
        ("ends-after", NOW - 1, "a file kept that ends after the checkpoint's time"),
        ("ends-at", NOW, "a file deleted that ends at the checkpoint's time"),
        ("ends-before", NOW + 1, "a file deleted that ends before the checkpoint's time"),
    ):
        yield clause(
            slug,
            bug,
            open_service(last_exit_ok=False, index_time=index_time),
            build(2000, NOW + 1000, keys="a"),
            files=_old(1),
        )
    yield clause(
        "clean",
        "files deleted after a clean exit",
        open_service(last_exit_ok=True, index_time=0),
        query("a"),
        files=_old(1),
    )
    yield clause(
        "in-the-middle",
        "all files deleted from the first one on",
        open_service(last_exit_ok=False, index_time=NOW),
        files=_old(1, NOW - 1) | _old(2, NOW + 1) | _old(3, NOW),
    )
    yield clause(
        "end-of-0",
        "an empty file deleted",
        open_service(last_exit_ok=False, index_time=0),
        files=_old(1, 0, 0, 1),
    )
    yield clause(
        "name-that-is-no-number",
        "a file deleted that is no index file",
        open_service(last_exit_ok=False, index_time=0),
        files=_old(1) | {"index/readme": b"x"},
    )


def _creation_first() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-7", "the index holds other files than 4.9.3's")
    yield clause("without-keys", "no file for a message without keys", open_service(), build(100), build(200))
    yield clause(
        "rolled-back",
        "no file for a message that is not indexed",
        open_service(),
        build(100, keys="a", sys_flag=12),
    )
    yield clause(
        "repeated-at-a-full-file",
        "a full file kept for a message that is skipped",
        open_service(),
        build(500, NOW + 1000, keys="a"),
        files=_full(1),
    )
    yield clause(
        "without-keys-at-a-full-file",
        "a full file kept for a message without keys",
        open_service(),
        build(5000, NOW + 1000),
        files=_full(1),
    )


def _repeated() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-8", "after a restart messages are indexed twice, or some not at all")
    for slug, offset, bug in (
        ("before", 999, "a message before the last indexed one indexed again"),
        ("equal", 1000, "the last indexed message skipped: it is indexed again"),
        ("behind", 1001, "the next message skipped"),
    ):
        yield clause(
            slug,
            bug,
            open_service(),
            build(offset, NOW + 1000, uniq_key="u", keys="a"),
            query("a"),
            files=_old(1),
        )
    yield clause(
        "against-the-last-file",
        "messages compared with the greatest offset of all files",
        open_service(),
        build(1500, NOW + 1000, keys="a"),
        files=_old(1, NOW, 2000) | _old(2, NOW, 1000),
    )
    yield clause(
        "against-the-seed",
        "messages not compared in a new file: it begins with the full one's end",
        open_service(),
        build(999, NOW + 1000, keys="a"),
        build(1000, NOW + 1000, keys="b"),
        files=_full(1),
    )
    yield clause(
        "descending",
        "offsets compared with the first put",
        open_service(),
        build(300, NOW, keys="a"),
        build(200, NOW, keys="a"),
        build(300, NOW, keys="b"),
        query("a"),
        query("b"),
    )


def _types() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-9", "half messages cannot be found, or rolled-back ones can")
    for slug, flag, bug in (
        ("not", 0, "a plain message left out"),
        ("prepared", 4, "a half message left out"),
        ("commit", 8, "a committed message left out"),
        ("rollback", 12, "a rolled-back message indexed"),
        ("rollback-and-more", 12 | 1 | 2 | 16 | 32, "the type compared with all of sys_flag"),
        ("prepared-and-more", -1 & ~8, "the type compared with all of sys_flag"),
    ):
        yield clause(
            slug,
            bug,
            open_service(),
            build(100, uniq_key="u", keys="a", sys_flag=flag),
            query("u"),
            query("a"),
        )


def _unique_key() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-10", "entries of later keys have other numbers than 4.9.3's")
    yield clause(
        "empty", "an empty unique key left out", open_service(), build(100, uniq_key="", keys="a"), query("")
    )
    yield clause(
        "none", "an entry for no unique key", open_service(), build(100, uniq_key=None, keys="a"), query("")
    )
    yield clause(
        "with-spaces",
        "the unique key taken apart",
        open_service(),
        build(100, uniq_key="a b"),
        query("a"),
        query("a b"),
    )


def _expiry() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-17", "index files stay for ever, or go while their messages are there")
    three = _old(1, NOW, 1000) | _old(2, NOW, 2000) | _old(3, NOW, 3000)
    for slug, offset, bug in (
        ("ends-at", 1000, "a file deleted that ends at the offset"),
        ("ends-before", 1001, "a file kept that ends before the offset"),
        ("two-files", 2500, "only one file deleted"),
        ("never-the-last", 9000, "the last file deleted"),
    ):
        yield clause(slug, bug, open_service(), delete_old_indexes(offset), query("a"), files=three)
    yield clause(
        "stops-at-the-first-kept",
        "a later file deleted after one that stays",
        open_service(),
        delete_old_indexes(2500),
        files=_old(1, NOW, 1000) | _old(2, NOW, 5000) | _old(3, NOW, 1500) | _old(4, NOW, 1600),
    )
    yield clause(
        "oldest-stays",
        "a later file deleted though the oldest stays",
        open_service(),
        delete_old_indexes(2500),
        files=_old(1, NOW, 5000) | _old(2, NOW, 1000) | _old(3, NOW, 6000),
    )
    yield clause("none", "an error without files", open_service(), delete_old_indexes(100))
    yield clause(
        "just-rolled",
        "the file that was just filled kept for good",
        open_service(7, 3),
        build(100, NOW, keys="a b"),
        build(200, NOW + 1000, keys="c"),
        settle(),
        delete_old_indexes(150),
        query("a"),
        query("c"),
    )


def _flush() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-18", "after a crash more or fewer index files are deleted than 4.9.3 deletes")
    yield clause(
        "at-a-roll",
        "the checkpoint's index time not moved when a full file is left",
        open_service(7, 3),
        build(100, NOW, keys="a"),
        build(200, NOW + 1000, keys="b"),
        build(300, NOW + 5000, keys="c"),
        settle(),
    )
    yield clause(
        "without-a-roll",
        "the checkpoint's index time moved by a put, or by a file that is full but not left",
        open_service(7, 3),
        build(100, NOW, keys="a"),
        settle(),
        build(200, NOW + 1000, keys="b"),
        settle(),
    )
    yield clause(
        "last-end-not-the-greatest",
        "the greatest time of the file taken",
        open_service(7, 3),
        build(100, NOW + 9000, keys="a"),
        build(200, NOW + 1000, keys="b"),
        build(300, NOW + 5000, keys="c"),
        settle(),
    )
    yield clause(
        "end-of-0",
        "the checkpoint's index time set to 0 or below",
        open_service(7, 3, index_time=77),
        build(100, I64_MIN, keys="a"),
        build(200, 0, keys="b"),
        build(300, NOW, keys="c"),
        settle(),
    )
    yield clause(
        "end-of-1",
        "an end of 1 ms taken for none",
        open_service(7, 3, index_time=77),
        build(100, 0, keys="a"),
        build(200, 1, keys="b"),
        build(300, NOW, keys="c"),
        settle(),
    )
    yield clause(
        "goes-back",
        "the checkpoint's index time only raised",
        open_service(7, 3, index_time=NOW + 99_999),
        build(100, NOW, keys="a b"),
        build(300, NOW, keys="c"),
        settle(),
    )
    yield clause(
        "loaded-full",
        "a file that was full at the load not flushed when it is left",
        open_service(),
        settle(),
        build(5000, NOW + 1000, keys="a"),
        settle(),
        files=index_file(1, image(Header(NOW, NOW + 5, 1, 2, 1, 12), {1: 1}, {1: Entry(1, 1)})),
    )
    yield clause(
        "count-of-0-at-a-flush",
        "a header written to the file before a put or a flush",
        open_service(),
        build(100),
        settle(),
    )


def _failure() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-19", "dispatch goes on where 4.9.3's stands still, and the index has holes")
    yield clause(
        "no-directory",
        "a file that cannot be made passed over: the exception leaves the build",
        open_service(),
        build(100, keys="a"),
        build(200),
        query("a"),
        files={"index": b"a file where the directory belongs"},
    )
    yield clause(
        "no-directory-after-load",
        "three tries and the error flag instead of the exception",
        open_service(last_exit_ok=False),
        build(100, uniq_key=key_of(7)),
        delete_old_indexes(50),
        files={"index": b""},
    )
