"""Golden data: stores that the real RocketMQ wrote, what Java says of them, and vectors from the real classes."""
# pyright: reportUnusedImport=false

from rocket_golden._archive import open_store, truth, vectors
from rocket_golden._damaged import Damaged, Patch, damaged, open_damaged
from rocket_golden._manifest import FileEntry, GoldenManifest, Packed, Producer, StoreEntry, manifest, stores
from rocket_golden._verify import verify
from rocket_golden._zstd import zstd
from rocket_golden.errors import DamagedError, UnknownStoreError
