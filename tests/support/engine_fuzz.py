"""Golden stores with a few structure-aware damages, through every function of the engine that reads a store.

`python tests/support/engine_fuzz.py --seconds 60 [--seed N]` (`make fuzz`) makes inputs until the time is over. An input
is the name of a golden store and a list of damages; one that ends in anything but an answer or a documented error, or
that takes too long, is written to `tests/fuzz/corpus/`, which the tests replay.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import fuzz_figures
from rocket_columnar.audit import audit
from rocket_columnar.decode import decode
from rocket_columnar.describe import diff, digest, look_at, summarise
from rocket_columnar.log import NARROW, Walk
from rocket_columnar.query import query
from rocket_columnar.rebuild import rebuild
from rocket_columnar.restart import restarts
from rocket_columnar.store import StoreFile, find_files
from rocket_golden import open_store
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import CHECKPOINT, EXT_UNIT, INDEX_ENTRY, INDEX_HEADER, QUEUE_UNIT, RECORD
from time_limit import limited

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CORPUS", "TARGETS", "Damage", "Input", "apply", "failures", "load", "make_input"]

CORPUS: Final = Path(__file__).parents[1] / "fuzz" / "corpus"
STORES: Final = ("small-roll", "mixed")
SECONDS: Final = 20
"""Processor time for one function on one input."""

_EXTREMES: Final = (0, 1, -1, 0x7F, 0x7FFF, 0x7FFFFFFF, -(1 << 31), (1 << 63) - 1, -(1 << 63))
_MAGICS: Final = (bytes.fromhex("daa320a7"), bytes.fromhex("cbd43194"), b"\xff" * 4, bytes(4))
_LAYOUTS: Final = {
    "index": (INDEX_HEADER, INDEX_ENTRY),
    "queue": (QUEUE_UNIT,),
    "ext": (EXT_UNIT,),
    "log": (RECORD,),
    "checkpoint": (CHECKPOINT,),
}


class Damage(NamedTuple):
    """One change to one file.

    Attributes:
        action: "write" bytes at a place, also far after the end, so that a hole is before them; "truncate" to a length (longer ones end in a hole), "delete", or "copy" over it the file
            that `data` names.
        file: relative to the store.
        at: byte, or the new length.
        data: hexadecimal, or a name.
    """

    action: str
    file: str
    at: int = 0
    data: str = ""


class Input(NamedTuple):
    """A golden store and what is done to it."""

    store: str
    damages: tuple[Damage, ...]


def apply(given: Input, directory: Path) -> Path:
    """The damaged store."""
    root = open_store(given.store, directory)
    for action, name, at, data in given.damages:
        path = root / name
        if action == "delete":
            path.unlink(missing_ok=True)
        elif not path.exists():
            continue
        elif action == "truncate":
            os.truncate(path, at)
        elif action == "copy":
            shutil.copyfile(root / data, path)
        else:
            with path.open("r+b") as file:
                file.seek(at)
                file.write(bytes.fromhex(data))
    return root


def _decode(root: Path, _: Path) -> None:
    for file in find_files(root):
        try:
            for _table, _batch in decode([file], on_gap=lambda _gap: None):
                pass
        except (FormatError, UsageError):
            continue


def _query(root: Path, _: Path) -> None:
    for topic, key in (("AaTopic", "Aa"), ("T", "")):
        query(root, topic, key, begin=0, end=1 << 62)


def _diff(root: Path, scratch: Path) -> None:
    whole = open_store("small-roll", scratch / "whole")
    for name in ("index", "consumequeue", "commitlog"):
        one, other = (
            sorted(path for path in (at / name).rglob("*") if path.is_file()) for at in (root, whole)
        )
        for left, right in zip(one[:2], other[:2], strict=False):
            list(diff(left, right))


def _walk(root: Path, _: Path) -> None:
    for file in find_files(root):
        if file.kind == "log":
            with file.open() as reader:
                Walk(reader, file.base_offset, window=NARROW).next_frame(1)


TARGETS: Final[dict[str, Callable[[Path, Path], Any]]] = {
    "walk": _walk,
    "decode": _decode,
    "query": _query,
    "audit": lambda root, _: list(audit(root)),
    "audit deep": lambda root, _: list(audit(root, "deep")),
    "restart": lambda root, _: [list(predicted.lost) for predicted in restarts(root)],
    "rebuild": lambda root, scratch: rebuild(root, scratch / "rebuilt"),
    "digest": lambda root, _: list(digest(root)),
    "diff": _diff,
    "overview": lambda root, _: look_at(root),
    "summary": lambda root, _: [summarise(file) for file in find_files(root)],
}


def failures(given: Input, *, seconds: int = SECONDS) -> dict[str, str]:
    """By function what it ended in, if that is no answer and no documented error."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as directory:
        root = apply(given, Path(directory) / "store")
        for name, run in TARGETS.items():
            scratch = Path(directory) / name
            scratch.mkdir()
            try:
                with limited(seconds):
                    run(root, scratch)
            except (FormatError, UsageError, OSError):
                continue
            except Exception:  # noqa: BLE001 - each is a find
                found[name] = traceback.format_exc(limit=-4)
    return found


def _field_damage(file: StoreFile, name: str, size: int, rng: random.Random) -> Damage:
    """A field of a structure gets an extreme value, or one that is off by one."""
    layout = rng.choice(_LAYOUTS[file.kind])
    fields = [field for field in layout.fields if field.offset is not None and field.size in (1, 2, 4, 8)]
    field = rng.choice(fields)
    starts = [0, *(rng.randrange(0, max(size, 1)) for _ in range(3))]
    start = rng.choice(starts)
    if file.kind == "log":
        start = _frame_near(file, start)
    elif file.kind in ("queue", "index") and layout.size:
        start -= start % layout.size
    width = field.size or 4
    value = rng.choice((*_EXTREMES, size, size - start, size - start + 1)) & (1 << 8 * width) - 1
    return Damage("write", name, start + (field.offset or 0), value.to_bytes(width).hex())


def _frame_near(file: StoreFile, start: int) -> int:
    with file.open() as reader:
        found = Walk(reader, file.base_offset, window=NARROW).next_frame(start)
        return found if found < reader.size else 0


def make_input(rng: random.Random, directory: Path) -> Input:
    """A store with one to four damages."""
    store = rng.choice(STORES)
    root = directory / store
    if not root.exists():
        open_store(store, directory)
    files = find_files(root)
    damages: list[Damage] = []
    for _ in range(rng.randint(1, 4)):
        file = rng.choice(files)
        name = file.path.relative_to(root).as_posix()
        size = file.size()
        at = rng.randrange(0, max(size, 1))
        kind = rng.randrange(10)
        if kind < 5:
            damages.append(_field_damage(file, name, size, rng))
        elif kind == 5:
            damages.append(Damage("write", name, at, rng.choice(_MAGICS).hex() * rng.choice((1, 2, 500))))
        elif kind == 6:
            damages.append(Damage("write", name, at, rng.randbytes(rng.choice((1, 8, 300))).hex()))
        elif kind == 7 and rng.random() < 0.3:
            far = rng.choice((1 << 23, 1 << 30, 1 << 40)) // 20 * 20 + rng.choice((0, 0, 1))
            damages.append(Damage("write", name, far, rng.choice(_MAGICS).hex() + rng.randbytes(40).hex()))
        elif kind == 7:
            damages.append(
                Damage("truncate", name, rng.choice((0, 1, at, size - 1, size + 1, 1 << 30, 1 << 40)))
            )
        elif kind == 8:
            damages.append(Damage("delete", name))
        else:
            other = rng.choice(files).path.relative_to(root).as_posix()
            damages.append(Damage("copy", name, 0, other) if other != name else Damage("delete", name))
    return Input(store, tuple(damages))


def load(path: Path) -> Input:
    """An input of the corpus."""
    data = json.loads(path.read_bytes())
    return Input(data["store"], tuple(Damage(*damage) for damage in data["damages"]))


def main() -> None:
    """Makes inputs until the time is over; exit code 1 if one was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="add the numbers to docs/fuzz-figures.json")
    given = parser.parse_args()
    rng, until = random.Random(given.seed), time.monotonic() + given.seconds  # noqa: S311 - reproducible inputs
    count, found = 0, 0
    with tempfile.TemporaryDirectory() as directory:
        while time.monotonic() < until:
            made_input = make_input(rng, Path(directory))
            wrong = failures(made_input)
            count += 1
            if wrong:
                found += 1
                text = json.dumps(
                    {"store": made_input.store, "damages": made_input.damages, "functions": sorted(wrong)},
                    indent=1,
                )
                CORPUS.mkdir(parents=True, exist_ok=True)
                path = CORPUS / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
                path.write_text(text + "\n", "utf-8")
                sys.stdout.write("\n".join([str(path), *wrong.values(), ""]))
    sys.stdout.write(f"{count:,} inputs of {len(TARGETS)} functions, seed {given.seed}: {found} failures\n")
    if given.record:
        fuzz_figures.add({f"golden store: {name}": count for name in TARGETS}, found, given.seed)
    sys.exit(min(found, 1))


if __name__ == "__main__":
    main()
