"""Packs what real brokers of 5.x wrote for their own clients: POP, timer messages, batch queues, properties with a checksum.

`python tests/support/later_stores.py [VERSION...]` writes `tests/acceptance/later/VERSION.zip`: the store, and in `answers.txt` what
the broker answered to queries.
"""

import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from release_run import FEATURES, Release

FOLDER: Final = Path(__file__).parents[1] / "acceptance" / "later"
_LEFT_OUT: Final = ("lock", "abort")
_SMALL: Final = {
    "enabledAppendPropCRC": "true",
    "mapperFileSizeBatchConsumeQueue": "2300",
    "mappedFileSizeTimerLog": "104000",
}


def pack(version: str, folder: Path) -> None:
    """Runs a broker with both kinds of clients, and packs its store."""
    with Release(folder, version, **_SMALL) as broker:
        broker.do("start", "client pop")
        answers = broker.asked
        broker.do("client batch", "stop")
        answers += broker.asked
        FOLDER.mkdir(exist_ok=True)
        with zipfile.ZipFile(FOLDER / f"{version}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            packed.writestr("answers.txt", "\n".join(answers))
            for path in sorted(broker.store.rglob("*")):
                if path.is_file() and path.name not in _LEFT_OUT:
                    packed.write(path, path.relative_to(broker.store.parent))


def main() -> None:
    """Packs the stores of the releases that are named, or all."""
    for version in sys.argv[1:] or FEATURES:
        with tempfile.TemporaryDirectory() as name:
            pack(version, Path(name))


if __name__ == "__main__":
    main()
