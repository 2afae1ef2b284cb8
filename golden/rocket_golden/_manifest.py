"""The manifest: every golden store with its hashes, its geometry and how it was made."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from rocket_golden.errors import DamagedError, UnknownStoreError

ROOT: Final = Path(__file__).parent
"""The package's folder: it contains `stores/` and `vectors/`; names in the manifest are relative to it."""

_NAME: Final = "manifest.json"

FORMAT: Final = 1  # the value of `rocketspec_golden` in the manifests that this module reads


@dataclass(frozen=True, slots=True)
class Packed:
    """A packed file of this package: its name relative to the package, with forward slashes, and SHA-256 and size of the packed bytes."""

    file: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a store.

    Attributes:
        file: name relative to the store, with forward slashes.
        kind: "index", "queue", "ext", "log", "entry_index" (DLedger's own), "checkpoint", or "other" (configuration,
            lock).
        size: length in bytes.
        sha256: of the content, in hex.
    """

    file: str
    kind: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Producer:
    """The producer of the stores: RocketMQ's version, and the SHA-256 of each of its jars by file name."""

    version: str
    jars: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """A golden store.

    Attributes:
        name: what `open_store` and `truth` take.
        description: what is in it, in a sentence.
        archive: the packed store tree, a tar file compressed with zstd.
        unpacked_size: total length of the store's files in bytes, holes included.
        truth: the packed truth file, JSON Lines compressed with zstd.
        truth_lines: number of its lines by type.
        files: the store's files, sorted by name.
        geometry: (hash_slot_num, index_num) of its index files.
        commit_log_file_size: length of a commit-log file in bytes.
        consume_queue_file_size: length of a consume-queue file in bytes.
        consume_queue_ext_file_size: length of a consume-queue ext file in bytes; None without ext files.
        producer: key of its producer in the manifest.
        config: the broker's settings without ports; paths are relative to where it ran.
        seed: of the scenario's random choices.
        time_zone: of the broker; index files are named by its wall clock.
        jdk: name and version of the Java virtual machine.
        os: operating system and architecture.
        command: makes the store again.
        clock_dependent: what differs from run to run.
        state: "clean" when the broker stopped cleanly and nothing is missing; "cut" when it stopped cleanly, and had
            deleted its oldest files; "unclean" when it was killed or still wrote.
        log: "plain" when all commit-log files are in commitlog/; "paths" when they are in several directories;
            "dledger" when a broker in DLedger mode wrote them; "upgraded" when it continued a plain log.
    """

    name: str
    description: str
    archive: Packed
    unpacked_size: int
    truth: Packed
    truth_lines: Mapping[str, int]
    files: tuple[FileEntry, ...]
    geometry: tuple[int, int]
    commit_log_file_size: int
    consume_queue_file_size: int
    consume_queue_ext_file_size: int | None
    producer: str
    config: Mapping[str, str]
    seed: int
    time_zone: str
    jdk: str
    os: str
    command: str
    clock_dependent: tuple[str, ...]
    state: str = "clean"
    log: str = "plain"


@dataclass(frozen=True, slots=True)
class GoldenManifest:
    """All golden data.

    Attributes:
        producers: what wrote the stores, by the name that their entries give.
        stores: the stores by name.
        vectors: the packed vector files; None while none were recorded.
    """

    producers: Mapping[str, Producer]
    stores: Mapping[str, StoreEntry]
    vectors: tuple[Packed, ...] | None


def _store(name: str, data: Mapping[str, Any]) -> StoreEntry:
    hash_slot_num, index_num = data["geometry"]
    lists: dict[str, Any] = {
        "archive": Packed(**data["archive"]),
        "truth": Packed(**data["truth"]),
        "files": tuple(FileEntry(**file) for file in data["files"]),
        "geometry": (hash_slot_num, index_num),
        "clock_dependent": tuple(data["clock_dependent"]),
    }
    return StoreEntry(name=name, **{**data, **lists})


def manifest() -> GoldenManifest:
    """Reads `manifest.json`; OSError if it can't be read, DamagedError if it has another format than this version reads."""
    return _parsed((ROOT / _NAME).read_bytes())


@lru_cache(maxsize=1)
def _parsed(text: bytes) -> GoldenManifest:
    try:
        data: dict[str, Any] = json.loads(text)
        if data["rocketspec_golden"] != FORMAT:
            raise DamagedError(_NAME, f"format {data['rocketspec_golden']!r}", f"{FORMAT}")
        return GoldenManifest(
            producers={name: Producer(**producer) for name, producer in data["producers"].items()},
            stores={name: _store(name, store) for name, store in data["stores"].items()},
            vectors=tuple(Packed(**file) for file in data["vectors"]) if "vectors" in data else None,
        )
    except (UnicodeDecodeError, json.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        raise DamagedError(_NAME, f"{error!r}", "a manifest of golden stores") from error


def stores(*, unclean: bool = False, log: str | None = "plain") -> list[str]:
    """Names of the golden stores, sorted, with the given form of commit log, as in `StoreEntry.log`; None for all forms.

    With `unclean` those that are not whole, instead of those that are: the broker was killed or still wrote, or it had deleted its oldest files.
    """
    found = manifest().stores.items()
    return sorted(
        name for name, store in found if (store.state != "clean") == unclean and log in (None, store.log)
    )


def entry(name: str) -> StoreEntry:
    """The manifest's entry of a store; UnknownStoreError when there is none."""
    found = manifest().stores
    if name not in found:
        raise UnknownStoreError(name, sorted(found))
    return found[name]
