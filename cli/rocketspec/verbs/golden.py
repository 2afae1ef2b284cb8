"""The verb `golden`: lists, verifies and unpacks the stores that the real RocketMQ wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from rocket_spec.printable import counted

from rocketspec._options import print_rows, write_json
from rocketspec._terminal import say_all

if TYPE_CHECKING:
    from rocket_golden import StoreEntry


GROUP: Final = typer.Typer(
    help="List, verify and unpack stores written by the real RocketMQ.", no_args_is_help=True
)


@GROUP.command("list")
def list_stores(json: bool = False) -> None:
    """List the golden stores: geometry, files, sizes and content.

    Example: `rocketspec golden list --json`
    """
    from rocket_golden import manifest

    with _errors_in_one_line():
        found = manifest().stores.values()
    for store in found:
        if json:
            write_json(_as_json(store))
        else:
            _print(store)


@GROUP.command("verify")
def verify_stores(json: bool = False) -> None:
    """Compare the golden files with the manifest. Exits with 1 if a file differs.

    Example: `rocketspec golden verify`
    """
    from rocket_golden import stores, verify

    with _errors_in_one_line():
        names, problems = stores(log=None), verify()
    verdict = counted(len(problems), "problem") if problems else "all as recorded"
    lines = [*problems, f"{len(names)} golden stores, {verdict}"]
    print_rows([{"stores": names, "problems": problems}], lines, as_json=json)
    if problems:
        raise typer.Exit(1)


@GROUP.command("unpack")
def unpack_store(
    name: str,
    directory: Path,
    json: bool = False,
) -> None:
    """Unpack a golden store, to inspect it or to try a tool on it, and print its path.

    The store appears under its name only when it is complete. DIR must not be in a store.

    Example: `rocketspec golden unpack mixed /tmp/golden`
    """
    from rocket_conformance.transport import stop_on_signals
    from rocket_golden import UnknownStoreError, manifest, open_store
    from rocket_spec.errors import UsageError
    from rocket_spec.store_folders import refuse_store
    from rocket_spec.temporary_folders import owned_folder

    refuse_store(directory)
    path = directory / name
    if path.exists():
        raise UsageError(f"{path}: already exists")
    with _errors_in_one_line():
        if name not in (known := manifest().stores):
            raise UnknownStoreError(name, known)
    directory.mkdir(parents=True, exist_ok=True)
    with (
        stop_on_signals(),
        _errors_in_one_line(),
        owned_folder(directory, prefix=".rocketspec-unpack-") as folder,
    ):
        open_store(name, folder).rename(path)
    print_rows([{"name": name, "path": str(path)}], [str(path)], as_json=json)


def _as_json(store: StoreEntry) -> dict[str, Any]:
    return {
        "name": store.name,
        "description": store.description,
        "producer": store.producer,
        "geometry": list(store.geometry),
        "files": _kinds(store),
        "unpacked_size": store.unpacked_size,
        "packed_size": store.archive.size + store.truth.size,
        "truth_lines": dict(store.truth_lines),
    }


def _kinds(store: StoreEntry) -> dict[str, int]:
    """Number of the store's files by kind."""
    from collections import Counter

    return dict(sorted(Counter(file.kind for file in store.files).items()))


def _print(store: StoreEntry) -> None:
    files = ", ".join(f"{count} {kind}" for kind, count in _kinds(store).items() if kind != "other")
    slots, entries = store.geometry
    about = f"{store.producer}, {slots:,} slots / {entries:,} entries, {store.unpacked_size:,} bytes: {files}"
    typer.secho(store.name, bold=True)
    say_all([f"  {about}", f"  {store.description}"])


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Turns errors of golden data into those that the command maps to exit codes."""
    from rocket_golden import DamagedError, UnknownStoreError
    from rocket_spec.errors import InvalidError, UsageError

    try:
        yield
    except UnknownStoreError as error:
        raise UsageError(str(error)) from None
    except DamagedError as error:
        raise InvalidError(file=error.file, found=error.found, expected=error.expected) from None
