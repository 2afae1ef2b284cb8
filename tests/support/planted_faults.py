"""Wrong brokers: the real 4.9.3 with one class laid over it in which one place of the source was replaced."""

import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Final, NamedTuple

from one_at_a_time import one_at_a_time
from short_lived import COMPILER

_STORE: Final = "org/apache/rocketmq/store"
_ARTIFACT: Final = "org.apache.rocketmq:rocketmq-store:4.9.3:jar:sources"
_SOURCES: Final = Path(__file__).parents[2] / "build" / "store-sources"
_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


class Fault(NamedTuple):
    """One fault: `old` occurs in the class's source once, and `clauses` are those that its store may be said to break."""

    name: str
    java_class: str
    old: str
    new: str
    clauses: tuple[str, ...]


_FILE: Final = f"{_STORE}/index/IndexFile"
_HEADER: Final = f"{_STORE}/index/IndexHeader"
_SERVICE: Final = f"{_STORE}/index/IndexService"
_QUEUE: Final = f"{_STORE}/ConsumeQueue"
_LOG: Final = f"{_STORE}/CommitLog"
_MAIN: Final = f"{_STORE}/DefaultMessageStore"
_CHECKPOINT: Final = f"{_STORE}/StoreCheckpoint"

FAULTS: Final = (
    Fault("hash-without-abs-zero", _FILE, "int keyHash = key.hashCode();", "int keyHash = key.hashCode() ^ 1;",
          ("IDX-HASH-1",)),
    Fault("least-hash-to-one", _FILE, "keyHashPositive = 0;", "keyHashPositive = 1;", ("IDX-HASH-2",)),
    Fault("slot-from-shifted-hash", _FILE, "int slotPos = keyHash % this.hashSlotNum;\n            int absSlotPos = IndexHeader.INDEX_HEADER_SIZE + slotPos * hashSlotSize;\n\n            FileLock fileLock = null;\n\n            try {\n\n                // fileLock = this.fileChannel.lock(absSlotPos, hashSlotSize,\n                // false);\n                int slotValue = this.mappedByteBuffer.getInt(absSlotPos);\n                if (slotValue <= invalidIndex || slotValue > this.indexHeader.getIndexCount()) {\n                    slotValue = invalidIndex;",
          "int slotPos = (keyHash >>> 1) % this.hashSlotNum;\n            int absSlotPos = IndexHeader.INDEX_HEADER_SIZE + slotPos * hashSlotSize;\n            FileLock fileLock = null;\n            try {\n                int slotValue = this.mappedByteBuffer.getInt(absSlotPos);\n                if (slotValue <= invalidIndex || slotValue > this.indexHeader.getIndexCount()) {\n                    slotValue = invalidIndex;",
          ("IDX-HASH-3",)),
    Fault("time-diff-in-ms", _FILE, "timeDiff = timeDiff / 1000;", "timeDiff = timeDiff / 1;", ("IDX-PUT-2",)),
    Fault("time-diff-rounded", _FILE, "timeDiff = timeDiff / 1000;", "timeDiff = (timeDiff + 500) / 1000;",
          ("IDX-PUT-2",)),
    Fault("prev-not-linked", _FILE, "putInt(absIndexPos + 4 + 8 + 4, slotValue)",
          "putInt(absIndexPos + 4 + 8 + 4, 0)", ("IDX-PUT-6",)),
    Fault("entry-offset-shifted", _FILE, "putLong(absIndexPos + 4, phyOffset)", "putLong(absIndexPos + 4, phyOffset + 8)",
          ("IDX-PUT-6",)),
    Fault("slot-keeps-first", _FILE, "this.mappedByteBuffer.putInt(absSlotPos, this.indexHeader.getIndexCount());",
          "if (slotValue == invalidIndex) this.mappedByteBuffer.putInt(absSlotPos, this.indexHeader.getIndexCount());",
          ("IDX-PUT-7",)),
    Fault("slot-count-every-put", _FILE, "if (invalidIndex == slotValue) {", "if (true) {", ("IDX-HDR-4",)),
    Fault("begin-every-put", _FILE, "if (this.indexHeader.getIndexCount() <= 1) {", "if (true) {", ("IDX-HDR-2",)),
    Fault("end-offset-never", _FILE, "this.indexHeader.setEndPhyOffset(phyOffset);", "", ("IDX-HDR-3",)),
    Fault("end-time-never", _FILE, "this.indexHeader.setEndTimestamp(storeTimestamp);", "", ("IDX-HDR-3",)),
    Fault("full-one-early", _FILE, "return this.indexHeader.getIndexCount() >= this.indexNum;",
          "return this.indexHeader.getIndexCount() >= this.indexNum - 1;", ("IDX-FULL-1",)),
    Fault("begin-after-time-diff-of-seed", _FILE, "long timeDiff = storeTimestamp - this.indexHeader.getBeginTimestamp();",
          "if (this.indexHeader.getIndexCount() <= 1) this.indexHeader.setBeginTimestamp(storeTimestamp);\n"
          "long timeDiff = storeTimestamp - this.indexHeader.getBeginTimestamp();", ("IDX-PUT-8",)),
    Fault("window-end-exclusive", _FILE, "(timeRead >= begin) && (timeRead <= end)", "(timeRead >= begin) && (timeRead < end)",
          ("IDX-SEL-4",)),
    Fault("key-without-topic", _SERVICE, 'return topic + "#" + key;', "return key;", ("IDX-SVC-1",)),
    Fault("key-with-other-separator", _SERVICE, 'return topic + "#" + key;', 'return topic + "@" + key;', ("IDX-SVC-1",)),
    Fault("unique-key-left-out", _SERVICE, "if (req.getUniqKey() != null) {", "if (false) {", ("IDX-SVC-2",)),
    Fault("keys-split-at-commas", _SERVICE, "keys.split(MessageConst.KEY_SEPARATOR)", 'keys.split(",")',
          ("IDX-SVC-2",)),
    Fault("last-key-left-out", _SERVICE, "i < keyset.length; i++", "i < keyset.length - 1; i++", ("IDX-SVC-2",)),
    Fault("index-time-never", _SERVICE, "if (indexMsgTimestamp > 0) {", "if (false) {", ("IDX-SVC-18",)),
    Fault("no-seed-for-offset", _SERVICE, "lastUpdateIndexTimestamp = tmp.getEndTimestamp();",
          "lastUpdateIndexTimestamp = 0;", ("IDX-PUT-8",)),
    Fault("unit-size-and-four", _QUEUE, "this.byteBufferIndex.putInt(size);", "this.byteBufferIndex.putInt(size + 4);",
          ("CQ-UNIT-1",)),
    Fault("unit-tags-as-int", _QUEUE, "this.byteBufferIndex.putLong(tagsCode);",
          "this.byteBufferIndex.putLong(tagsCode & 0xFFFFFFFFL);", ("CQ-TAGS-1",)),
    Fault("unit-left-out", _QUEUE, "final long expectLogicOffset = cqOffset * CQ_STORE_UNIT_SIZE;",
          "if (cqOffset % 50 == 7) return true;\n        final long expectLogicOffset = cqOffset * CQ_STORE_UNIT_SIZE;",
          ("CQ-PUT-5",)),
    Fault("delay-not-looked-at", _LOG, "if (delayLevel > 0) {\n                            tagsCode =",
          "if (delayLevel > 99) {\n                            tagsCode =", ("CQ-TAGS-2",)),
    Fault("delivery-time-from-born", _LOG, "computeDeliverTimestamp(delayLevel,\n                                storeTimestamp);",
          "computeDeliverTimestamp(delayLevel,\n                                storeTimestamp) + 1;", ("CQ-TAGS-2",)),
    Fault("committed-not-queued", _MAIN, "case MessageSysFlag.TRANSACTION_COMMIT_TYPE:\n                    DefaultMessageStore.this.putMessagePositionInfo(request);",
          "    DefaultMessageStore.this.putMessagePositionInfo(request);\n                    break;\n                case MessageSysFlag.TRANSACTION_COMMIT_TYPE:",
          ("LOG-DSP-7",)),
    Fault("index-before-half", _SERVICE, "case MessageSysFlag.TRANSACTION_COMMIT_TYPE:\n                    break;",
          "    break;\n                case MessageSysFlag.TRANSACTION_COMMIT_TYPE:\n                    return;",
          ("IDX-SVC-9",)),
    Fault("checkpoint-times-swapped", _CHECKPOINT, "putLong(8, this.logicsMsgTimestamp)", "putLong(8, this.indexMsgTimestamp)",
          ("CQ-PUT-9",)),
)  # fmt: skip
"""At least 25 faults in IndexFile, IndexService, ConsumeQueue, dispatch and checkpoint."""


def overlay(fault: Fault, folder: Path, class_path: str) -> Path:
    """A folder of classes with the fault, which goes before the jars.

    Args:
        fault: what to replace.
        folder: where the source and the classes go; it must not exist.
        class_path: of the broker.
    """
    with one_at_a_time():
        if not list(_SOURCES.glob("*.jar")):
            maven = ["mvn", "-q", "-B", _PLUGIN, f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={_SOURCES}"]
            subprocess.run(maven, check=True, capture_output=True)
    (jar,) = _SOURCES.glob("*.jar")
    with zipfile.ZipFile(jar) as archive:
        text = archive.read(f"{fault.java_class}.java").decode("utf-8")
    assert text.count(fault.old) == 1, f"{fault.name}: {text.count(fault.old)} places"
    source = folder / f"{fault.java_class}.java"
    source.parent.mkdir(parents=True)
    source.write_text(text.replace(fault.old, fault.new), "utf-8")
    classes = folder / "classes"
    javac = shutil.which("javac")
    assert javac is not None, "no javac"
    flags = [
        "-nowarn",
        "-encoding",
        "UTF-8",
        "-proc:none",
        "--add-exports",
        "java.base/sun.nio.ch=ALL-UNNAMED",
    ]
    done = subprocess.run(
        [javac, *COMPILER, *flags, "-cp", class_path, "-d", str(classes), str(source)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return classes
