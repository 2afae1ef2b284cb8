"""Wrong brokers: the real 4.9.3 with one class laid over it in which one place of the source was replaced."""

import zipfile
from pathlib import Path
from typing import Final, NamedTuple

from java_programs import EXPORTED, compile_java, jars_of
from replacements import Replacement, replacements

_STORE: Final = "org/apache/rocketmq/store"


class Fault(NamedTuple):
    """One fault.

    Attributes:
        name: unique.
        java_class: whose source is changed.
        old: occurs in it once.
        new: what it becomes.
        clause: the one that its store breaks; empty if no store shows it.
        needs: "" for one workload with small files, "options" for ext and light queues too, "kills" for crashes, "dledger".
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


def overlay(fault: Fault, folder: Path, class_path: str) -> Path:
    """A folder of classes with the fault, which goes before the jars.

    Args:
        fault: what to replace.
        folder: where the source and the classes go; it must not exist.
        class_path: of the broker.
    """
    (jar,) = jars_of("store-sources").glob("*.jar")
    with zipfile.ZipFile(jar) as archive:
        text = archive.read(f"{fault.java_class}.java").decode("utf-8")
    assert text.count(fault.old) == 1, f"{fault.name}: {text.count(fault.old)} places"
    source = folder / f"{fault.java_class}.java"
    source.parent.mkdir(parents=True)
    source.write_text(text.replace(fault.old, fault.new), "utf-8")
    classes = folder / "classes"
    compile_java([source], class_path, classes, "-encoding", "UTF-8", "-proc:none", *EXPORTED)
    return classes
