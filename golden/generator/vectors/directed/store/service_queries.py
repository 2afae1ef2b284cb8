"""Vectors of IDX-SVC-11 to IDX-SVC-16: what the index service finds over several files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.vectors.building import I64_MAX, NOW, Clause, Header, image
from generator.vectors.building_store import build, index_file, open_service, query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Op, Vector

__all__ = ["vectors"]


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _maximum()
    yield from _order()
    yield from _stop()
    yield from _last_update()
    yield from _no_slots()


def _three_files() -> list[Op]:
    """Three files of two entries: key a at 100, 300, 500, a second apart; b at 200, 400."""
    return [
        open_service(7, 3),
        build(100, NOW, keys="a"),
        build(200, NOW + 1000, keys="b"),
        build(300, NOW + 2000, keys="a"),
        build(400, NOW + 3000, keys="b"),
        build(500, NOW + 4000, keys="a"),
    ]


def _maximum() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-11", "queries answer with more or fewer messages than 4.9.3's")
    many = [build(number, NOW, keys=" ".join(["k"] * 33)) for number in (1, 2)]
    for asked in (63, 64, 65, 1000):
        yield clause(
            f"asked-{asked}",
            "more than 64 found, or a limit of 32",
            open_service(7, 100),
            *many,
            query("k", max_num=asked),
        )
    yield clause("asked-0", "something found for a maximum of 0", *_three_files(), query("a", max_num=0))
    yield clause(
        "over-files",
        "the maximum counted for each file",
        *_three_files(),
        query("a", max_num=1),
        query("a", max_num=2),
        query("a", max_num=3),
    )
    clause = Clause("IDX-SVC-12", "an implementation answers where 4.9.3 fails")
    yield clause(
        "minus-1", "a negative maximum answered with nothing", *_three_files(), query("a", max_num=-1)
    )
    yield clause(
        "no-file",
        "a negative maximum answered where there is no file",
        open_service(),
        query("a", max_num=-5),
    )


def _order() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-13", "a query that is cut off shows the oldest messages instead of the newest")
    yield clause(
        "newest-first",
        "the oldest file searched first, or offsets sorted",
        *_three_files(),
        query("a"),
        query("b"),
    )
    yield clause(
        "window-in-the-middle",
        "files searched that the window does not match, or none but the newest",
        *_three_files(),
        query("a", NOW + 1500, NOW + 5000),
        query("a", 0, NOW + 2500),
    )
    yield clause(
        "newest-not-matched",
        "the search ended at a newest file that the window does not match",
        *_three_files(),
        query("a", NOW, NOW + 500),
    )
    yield clause(
        "entry-in-a-file-that-does-not-match",
        "a file searched that the window does not match: its last put was earlier than the one looked for",
        open_service(),
        build(100, NOW, keys="a"),
        build(200, NOW + 300_000, keys="b"),
        build(300, NOW, keys="a"),
        query("b", NOW + 200_000, NOW + 400_000),
        query("b", NOW, NOW + 400_000),
    )
    yield clause(
        "older-file-behind-one-that-does-not-match",
        "the search ended at a file that the window does not match",
        *_three_files(),
        query("a", NOW + 2000, NOW + 3000),
    )
    yield clause(
        "other-topic",
        "hits of another topic",
        *_three_files(),
        query("a", topic="U"),
    )
    yield clause("no-file", "an error without files", open_service(), query("a"))


def _stop() -> Iterator[Vector]:
    clause = Clause(
        "IDX-SVC-14",
        "messages in files after the one that ended the search are missed, or old files are read for nothing",
    )
    yield clause(
        "begin-at-the-window",
        "the search ended at a file that begins where the window does",
        open_service(7, 3),
        build(100, NOW, keys="a b"),
        build(200, NOW, keys="a b"),
        build(300, NOW, keys="a"),
        query("a", NOW, NOW),
    )
    yield clause(
        "begin-before-the-window",
        "the search not ended at a file that begins before the window: an older one reaches into it",
        open_service(7, 3),
        build(100, NOW + 9000, keys="a b"),
        build(200, NOW + 1000, keys="a b"),
        query("a", NOW + 5000, NOW + 20_000),
        query("a", NOW + 1000, NOW + 20_000),
    )
    yield clause(
        "begin-1-ms-before-the-window",
        "the search not ended at a file that begins 1 ms before the window",
        open_service(7, 3),
        build(100, NOW, keys="a b"),
        build(200, NOW - 1, keys="a"),
        build(200, NOW + 999, keys="a"),
        build(300, NOW + 2000, keys="a"),
        query("a", NOW, NOW + 9999),
        query("a", NOW - 1, NOW + 9999),
    )
    yield clause(
        "by-a-file-that-does-not-match",
        "the search ended only by files that the window matches",
        open_service(7, 3),
        build(100, NOW + 9000, keys="a b"),
        build(200, NOW - 5000, keys="a"),
        query("a", NOW + 5000, NOW + 9999),
    )
    yield clause(
        "full-before-the-next-file",
        "a file searched though the maximum is reached",
        *_three_files(),
        query("a", max_num=1),
        query("b", max_num=1),
    )


def _last_update() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-15", "clients see a wrong state of the index")
    yield clause(
        "newest-file",
        "the greatest values of all files, or those of the oldest",
        open_service(),
        query("a"),
        files=index_file(1, image(Header(NOW, NOW + 9, 1, 9000, 1, 3)))
        | index_file(2, image(Header(NOW, NOW + 5, 1, 50, 1, 3))),
    )
    yield clause("no-file", "a time without a file", open_service(), query("a"))
    yield clause(
        "nothing-found",
        "zeros where the newest file has no hit",
        *_three_files(),
        query("nothing"),
        query("a", I64_MAX, I64_MAX),
    )
    yield clause(
        "after-each-put",
        "values of the file's last flush",
        open_service(),
        build(100, NOW, keys="a"),
        query("a"),
        build(200, NOW + 10, keys="a"),
        query("a"),
    )


def _no_slots() -> Iterator[Vector]:
    clause = Clause("IDX-SVC-16", "a misconfigured broker fails where 4.9.3 answers")
    yield clause(
        "query",
        "the division by zero leaves the query: it is answered with what was found until then",
        open_service(0, 12),
        query("a"),
        files=index_file(1, image(Header(NOW, NOW, 1, 77, 0, 2), geometry=(0, 12))),
    )
    yield clause(
        "window-that-does-not-match",
        "an error for a file that is not searched",
        open_service(0, 12),
        query("a", 0, 5),
        build(100, keys="a"),
        files=index_file(1, image(Header(NOW, NOW, 1, 77, 0, 2), geometry=(0, 12))),
    )
