"""Golden data: stores that the real RocketMQ wrote, what Java says of them, and vectors from the real classes."""

from rocket_golden._archive import open_store
from rocket_golden._damaged import Damaged, Patch, damaged, open_damaged
from rocket_golden._manifest import FileEntry, Manifest, Packed, Producer, StoreEntry, manifest, stores
from rocket_golden._read import truth, vectors
from rocket_golden._verify import verify
from rocket_golden._zstd import zstd
from rocket_golden.errors import DamagedError, UnknownStoreError

__all__ = [
    "Damaged",
    "DamagedError",
    "FileEntry",
    "Manifest",
    "Packed",
    "Patch",
    "Producer",
    "StoreEntry",
    "UnknownStoreError",
    "damaged",
    "manifest",
    "open_damaged",
    "open_store",
    "stores",
    "truth",
    "vectors",
    "verify",
    "zstd",
]
