"""Wrong brokers: the real 4.9.3 with one class laid over it in which one place of the source was replaced."""

import shutil
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from java_programs import EXPORTED, compile_java, jars_of
from real_broker import run_program
from rocket_spec.layout import CHECKPOINT
from store_bytes import overwrite

sys.path.append(str(Path(__file__).parents[2]))  # a script of this folder finds `tools`, as pytest does

from tools.replacements import Replacement, replacements

_STORE: Final = "org/apache/rocketmq/store"
_REPLAY: Final = Path(__file__).parents[1] / "acceptance" / "Replay.java"
_AT_ONCE: Final = 20  # stores that one JVM makes
_MADE_ANEW: Final = ("index", "consumequeue", "consumequeue_ext")


class Fault(NamedTuple):
    """One fault.

    Attributes:
        name: unique.
        java_class: whose source is changed.
        old: occurs in it once.
        new: what it becomes.
        clause: the one that its store breaks; empty if no store shows it.
        needs: "" for small files, "options" for ext and light queues too: it shows in what the store makes of the log of a healthy
            broker; else a broker of its own: "own" for a workload, "own-options" with those, "kills" for crashes, "dledger".
        why: if it is not found, the reason.
    """

    name: str
    java_class: str
    old: str
    new: str
    clause: str
    needs: str = ""
    why: str = ""


def _fault(one: Replacement) -> Fault:
    name, clause, java_class, *needs = one.heading.split()
    return Fault(name, f"{_STORE}/{java_class}", one.old, one.new, clause.strip("-"), "".join(needs), one.why)


FAULTS: Final = tuple(map(_fault, replacements(Path(__file__).with_suffix(".txt"))))
"""Faults in IndexFile, IndexService, ConsumeQueue, dispatch, recovery and checkpoint."""


def source_of(fault: Fault, folder: Path) -> Path:
    """The source of a class with the fault, in a folder."""
    (jar,) = jars_of("store-sources").glob("*.jar")
    with zipfile.ZipFile(jar) as archive:
        text = archive.read(f"{fault.java_class}.java").decode("utf-8")
    assert text.count(fault.old) == 1, f"{fault.name}: {text.count(fault.old)} places"
    source = folder / f"{fault.java_class}.java"
    source.parent.mkdir(parents=True)
    source.write_text(text.replace(fault.old, fault.new), "utf-8")
    return source


def overlay(fault: Fault, folder: Path, class_path: str) -> Path:
    """A folder of classes with the fault, which goes before the jars.

    Args:
        fault: what to replace.
        folder: where the source and the classes go; it must not exist.
        class_path: of the broker.
    """
    classes = folder / "classes"
    options = ("-encoding", "UTF-8", "-proc:none", *EXPORTED)
    compile_java([source_of(fault, folder)], class_path, classes, *options)
    return classes


def replayed(
    faults: Sequence[Fault], healthy: Path, config: Path, folder: Path
) -> Iterator[tuple[Fault, Path]]:
    """Of each fault the store that the real 4.9.3 with it makes of the log of a healthy broker, which stopped cleanly.

    Args:
        faults: what to replace.
        healthy: the store of the healthy broker; its log and the time of the last flush are kept.
        config: the configuration of its broker.
        folder: where sources, classes and stores go; it must not exist.
    """
    for begin in range(0, len(faults), _AT_ONCE):
        arguments: list[Path] = []
        for fault in faults[begin : begin + _AT_ONCE]:
            source, store = source_of(fault, folder / fault.name), folder / fault.name / "store"
            shutil.copytree(healthy, store)
            for part in _MADE_ANEW:
                shutil.rmtree(store / part, ignore_errors=True)
            overwrite(store / "checkpoint", 8, bytes(CHECKPOINT.size - 8))
            arguments += [source, folder / fault.name / "classes", store]
        run_program(_REPLAY, folder, config, *arguments)
        for fault in faults[begin : begin + _AT_ONCE]:
            yield fault, folder / fault.name / "store"
            shutil.rmtree(folder / fault.name)
