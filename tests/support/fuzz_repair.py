"""What `repair` finds in a store as targets of the fuzzer: the journal of an earlier repair, and links, with somebody's documents beside."""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from fuzz_inputs import Target, mutated
from fuzz_stores import ERRORS, GEOMETRY, small, write
from hypothesis import strategies as st
from rocket_columnar import repair
from store_bytes import contents, put

_FOLDER: Final = "rocketspec-repair-20260101-000000-000000"
_QUEUE: Final = f"consumequeue/T/0/{0:020}"
_TIME: Final = 1_700_000_000_000_000_000
_FILES: Final = {
    "docs/.bashrc": b"mine", f"docs/{0:020}": b"mine", "docs/topics.json": b"mine",
    f"store/{_FOLDER}/old/{_QUEUE}": b"old", f"store/{_FOLDER}/old/index/1": b"old", f"store/{_FOLDER}/old/config/topics.json": b"old",
    f"store/{_FOLDER}/new/index/3": b"new", f"store/{_FOLDER}/new/config/x": b"", f"store/{_FOLDER}/new/{_QUEUE}x": b"", f"store/{_FOLDER}/done": b"", "store/lock": b"lock",
    "store/index/2": b"file", f"store/{_QUEUE}": b"file", "store/config/topics.json": b"file", f"store/commitlog/{0:020}": b"file",
}  # fmt: skip
"""A repair that was done, of four places, and documents beside the store."""


def _journal(**fields: object) -> bytes:
    whole = {"rocketspec_repair": 2, "away": [], "into": {}, "made": [], "newest": _TIME}
    return json.dumps(whole | fields).encode()


_JOURNALS: Final = (
    _journal(
        away=[_QUEUE, "index/1", "config/topics.json"], made=["consumequeue/T/0"],
        into={_QUEUE: [4, _TIME], "index/2": [4, _TIME], "index/3": [3, _TIME], "config/topics.json": [4, _TIME]},
    ),
    _journal(away=["../docs/.bashrc", "index/../../docs/.bashrc"], into={"../docs/topics.json": [4, _TIME]}),
    _journal(away=["/etc/passwd", "checkpoint", "lock"], into={f"commitlog/{0:020}": [4, _TIME]}, made=["config/..", "index"]),
    b"[" * 50_000, b"[]", b"{", b"", b'{"rocketspec_repair": 1, "moves": [["../docs/.bashrc", "index/1"]]}', b"\xff\xfe" + b"9" * 5_001,
)  # fmt: skip


def _undo(data: bytes, folder: Path) -> str:
    """An undo by a journal; what is not in the store, and the log, stays as it is, and of a refusal all does."""
    root = folder / "outer"
    shutil.rmtree(root, ignore_errors=True)
    for name, content in _FILES.items():
        os.utime(put(root, name, content), ns=(_TIME, _TIME))
    put(root, f"store/{_FOLDER}/repair.json", data)
    before = contents(root)
    try:
        repair.undo(root / "store")
    except ERRORS:
        assert contents(root) == before
        raise
    after = contents(root)
    others = {name for name in before | after if not name.startswith("store/") or "/commitlog/" in name}
    assert all(after.get(name) == before.get(name) for name in others)
    return "undone"


_PLACES: Final = (
    "index", "index/20260101000000001", "index/20300101000000000", "consumequeue", "consumequeue/T", "consumequeue/Zz", "consumequeue/T/0",
    "consumequeue/T/9", _QUEUE, "consumequeue_ext", "commitlog", f"commitlog/{0:020}", "commitlog/stray", "config", "config/topics.json",
    "lock", "abort", "checkpoint", _FOLDER, f"{_FOLDER}/repair.json", f"{_FOLDER}/new", f"{_FOLDER}/old", f"{_FOLDER}/old/index",
)  # fmt: skip
_LEADS: Final = (
    "docs",
    "docs/.bashrc",
    f"docs/{0:020}",
    "docs/missing",
    "store",
    "store/index",
    "/dev/zero",
    "/dev/null",
    ".",
)


_LINKS: Final = st.tuples(
    st.sampled_from(("plan", "repair", "undo")),
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(_PLACES), st.sampled_from(_LEADS)), min_size=1, max_size=3),
).map(lambda given: json.dumps(given).encode())


def _linked(data: bytes, folder: Path) -> str:
    """A verb on a small store with links; they are refused, and what they lead to stays as it is."""
    try:
        verb, damaged, links = json.loads(data)
    except (ValueError, TypeError):
        return "no links"
    root = folder / "outer"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("docs/.bashrc", f"docs/{0:020}"):
        put(root, name, b"mine")
    store = root / "store"
    write(store, small()["small"])
    if damaged:
        os.truncate(next((store / "consumequeue").rglob("0*")), 20)
    for name, lead in links:
        path = store / name
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.rename(store / "moved") if path.exists() else None
            path.symlink_to(lead if lead.startswith(("/", ".")) else root / lead)
    before = contents(root / "docs")
    target = repair.Target(store, geometry=GEOMETRY)
    try:
        verbs = {"plan": repair.plan_repair, "repair": repair.repair, "undo": lambda _: repair.undo(store)}
        return str(verbs[verb](target))
    finally:
        assert contents(root / "docs") == before


TARGETS: Final = {
    "journal of a repair": Target(mutated(_JOURNALS), _undo, ERRORS),
    "links in a store": Target(_LINKS, _linked, ERRORS),
}
