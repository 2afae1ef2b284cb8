"""Compiled code that an earlier start kept: loaded without Numba, and only where all is as it was."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata, util
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from rocket_columnar.kernels import kept_code
from rocket_golden import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or metadata.version("numba") not in kept_code.TESTED,
    reason="code is kept only where this was tested",
)

LOOPS = """\
from typing import NamedTuple
import numpy as np
from rocket_columnar.kernels.compilation import inlined, jit

class Pair(NamedTuple):
    one: object
    other: object

@inlined
def part(value):
    return value + 1

@jit
def inner(value):
    return 2 * part(value)

@jit
def total(values, first, pair, share, flag):
    result = inner(first)
    for value in values:
        result += value
    if flag:
        result += len(pair.one) + pair.other
    return result, share / 2

@jit
def counted(length):
    made = np.zeros(length, np.int64)
    for at in range(length):
        made[at] = at
    return made.sum()

@jit
def refuse(number):
    if number == 3:
        raise ValueError("a three")
    return 6 // number

@jit
def paired(number):
    return Pair(number, number + 1)

@jit
def filled(number):
    return np.full(2, number)
"""
TOTAL = "total(np.arange(5), 7, Pair(np.zeros(3, np.int32), 2), 0.5, True)"
WHOLE = [31, 0.25]  # 0 + 1 + 2 + 3 + 4, 2 x (7 + 1), 3 + 2; half of 0.5
START = """\
import json, sys
import numpy as np
from loops import Pair, counted, filled, paired, refuse, total
{act}
print(json.dumps([result, "numba" in sys.modules]))
"""


class Kept(NamedTuple):
    """A module of loops and the cache of its code."""

    folder: Path

    def run(self, act: str, **settings: str) -> Any:
        """What `result` is after some lines of Python, and whether Numba was loaded."""
        places = {
            "NUMBA_CACHE_DIR": str(self.folder / "cache"),
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        others = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        done = subprocess.run(
            [sys.executable, "-c", START.format(act=act)],
            env=others | places | settings,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=self.folder,
        )
        return json.loads(done.stdout)

    @property
    def files(self) -> list[Path]:
        """The files that hold code."""
        return sorted(self.folder.glob("cache/*/*.kept"))


@pytest.fixture(scope="module")
def kept_once(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """After a start that compiled all."""
    kept = Kept(tmp_path_factory.mktemp("kept"))
    (kept.folder / "loops.py").write_text(LOOPS)
    made = kept.run(f"result = [{TOTAL}, counted(4), refuse(2), paired(1)]")
    assert made == [[WHOLE, 6, 3, [1, 2]], True]
    return kept


@pytest.fixture
def kept(kept_once: Kept, tmp_path: Path) -> Kept:
    """A copy of it: the code is kept by the path of its source, hence the names change."""
    shutil.copytree(kept_once.folder, tmp_path, dirs_exist_ok=True)
    (old,) = tmp_path.glob("cache/kept_*")
    old.rename(tmp_path / "cache" / f"kept_{util.source_hash(str(tmp_path).encode()).hex()}")
    return Kept(tmp_path)


def _rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the head of a file as if it had been written so."""
    line, _, binary = path.read_bytes()[8:].partition(b"\n")
    head = json.loads(line)
    change(head)
    data = json.dumps(head).encode() + b"\n" + binary
    path.write_bytes(util.source_hash(data) + data)


def test_a_later_start_needs_no_numba(kept: Kept) -> None:
    assert [path.name.split(".")[1] for path in kept.files] == ["counted", "paired", "refuse", "total"]
    made = kept.run(f"result = [{TOTAL}, counted(4), refuse(2)]")
    assert made == [[WHOLE, 6, 3], False]


def test_a_loop_that_holds_an_object_of_python_is_not_kept(kept: Kept) -> None:
    for _ in range(2):  # the type of the array's numbers
        assert kept.run("result = filled(5).tolist()") == [[5, 5], True]


def test_named_tuples_come_out_of_code_that_was_kept(kept: Kept) -> None:
    assert kept.run("result = [paired(1), type(paired(1)) is Pair]") == [[[1, 2], True], True]


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("total(np.arange(5.0), 7, Pair(np.zeros(3, np.int32), 2), 0.5, True)", [31.0, 0.25]),
        ("total(np.arange(10)[::2], 7, Pair(np.zeros(3, np.int32), 2), 0.5, True)", [41, 0.25]),
        ("total(np.arange(5), 7.5, Pair(np.zeros(3, np.int32), 2), 0.5, True)", [32.0, 0.25]),
        ("total(np.arange(5), 7, Pair(np.zeros(3, np.int64), 2), 0.5, True)", [31, 0.25]),
    ],
)
def test_other_types_of_arguments_are_compiled(kept: Kept, call: str, result: list[float]) -> None:
    assert kept.run(f"result = {call}") == [result, True]
    assert kept.run(f"result = {call}") == [result, False]
    assert kept.run(f"result = {TOTAL}") == [WHOLE, False]


def _tear(kept: Kept) -> None:
    for path in kept.files:
        path.write_bytes(path.read_bytes()[:-1000])


def _empty(kept: Kept) -> None:
    for path in kept.files:
        path.write_bytes(b"")


def _damage(kept: Kept) -> None:
    for path in kept.files:
        content = bytearray(path.read_bytes())
        content[-2000] ^= 1
        path.write_bytes(content)


def _other_version(kept: Kept) -> None:
    for path in kept.files:
        _rewrite(path, lambda head: head.update(stamp=head["stamp"].replace(np.__version__, "2.0.0")))


def _other_types(kept: Kept) -> None:
    for path in kept.files:
        _rewrite(path, lambda head: head.update(types="i"))


def _missing_function(kept: Kept) -> None:
    """Code that calls what this process does not have: LLVM would end the process."""
    for path in kept.files:
        _rewrite(path, lambda head: head["needs"].append("numba_of_another_time"))


def _other_source(kept: Kept) -> None:
    """`part` adds 2: the sum is 2 more."""
    source = kept.folder / "loops.py"
    source.write_text(LOOPS.replace("value + 1", "value + 2"))


@pytest.mark.parametrize(
    ("change", "result"),
    [
        (_tear, WHOLE),
        (_empty, WHOLE),
        (_damage, WHOLE),
        (_other_version, WHOLE),
        (_other_types, WHOLE),
        (_missing_function, WHOLE),
        (_other_source, [33, 0.25]),
    ],
)
def test_what_is_not_as_it_was_is_compiled_and_kept_anew(
    kept: Kept, change: Callable[[Kept], None], result: list[float]
) -> None:
    change(kept)
    assert kept.run(f"result = {TOTAL}") == [result, True]
    assert kept.run(f"result = {TOTAL}") == [result, False]


def test_a_change_in_another_module_reaches_code_that_numba_keeps(tmp_path: Path) -> None:
    """Numba looks at the module of a loop alone, not at those that the loop takes parts from."""
    kept = Kept(tmp_path)
    source = Path(kept_code.__file__).parents[1]
    package = tmp_path / source.name
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    slots = "from rocket_columnar.kernels.compilation import jit, slot_of\n@jit\ndef slotted(key_hash): return slot_of(key_hash, 10, 0.1)\n"
    (tmp_path / "loops.py").write_text(LOOPS + slots)
    act = "from loops import slotted; result = int(slotted(57))"
    assert kept.run(act, NUMBA_OPT="3") == [7, True]  # 57 modulo 10
    part = package / "kernels" / "compilation.py"
    part.write_text(part.read_text().replace("return np.uint64(slot)", "return np.uint64(slot + 1)"))
    assert kept.run(act, NUMBA_OPT="3") == [8, True]


def test_a_caller_with_values_of_the_same_types_asks_for_the_code_once(kept: Kept) -> None:
    act = f"""
from rocket_columnar.kernels import kept_code
from rocket_columnar.kernels.compilation import prepared
values = {TOTAL.removeprefix("total")}
code = prepared(total)
result = [code(*values)]
kept_code._kind = None  # whoever asks again fails
result.append(code(*values))
"""
    assert kept.run(act) == [[WHOLE, WHOLE], False]


def test_a_setting_of_numba_leaves_all_to_numba(kept: Kept) -> None:
    assert kept.run(f"result = {TOTAL}", NUMBA_OPT="1") == [WHOLE, True]
    (kept.folder / ".numba_config.yaml").write_text("opt: 1\n")
    assert kept.run(f"result = {TOTAL}") == [WHOLE, True]


def test_a_cache_that_cannot_be_written_keeps_nothing(kept: Kept) -> None:
    (folder,) = kept.folder.glob("cache/kept_*")
    shutil.rmtree(folder)
    folder.write_text("a file in its place")
    for _ in range(2):
        assert kept.run(f"result = {TOTAL}") == [WHOLE, True]


def test_numba_works_beside_code_that_was_kept(kept: Kept) -> None:
    act = f"""
one = [{TOTAL}, counted(4)]
assert "numba" not in sys.modules
import numba
from rocket_columnar.kernels import count_keys
count_keys(np.array([8, 1, 9], np.int32), 7, 0, places := np.zeros(7, np.int64))
twice = numba.njit(lambda values: values + values)
other = [{TOTAL}, counted(4), total(np.arange(2.0), 1, Pair(np.zeros(3), 2), 0.5, False)]
result = [one, other, twice(filled(5)).tolist(), places.tolist()]
"""
    # The slots of 8, 1 and 9 among seven; 0.0 + 1.0 + 2 x (1 + 1).
    assert kept.run(act) == [[[WHOLE, 6], [WHOLE, 6, [5.0, 0.25]], [10, 10], [0, 2, 1, 0, 0, 0, 0]], True]


def test_an_exception_comes_out_of_code_that_was_kept(kept: Kept) -> None:
    act = """
result = []
for number in (3, 0):
    try:
        refuse(number)
    except (ValueError, ZeroDivisionError) as error:
        result.append([type(error).__name__, str(error)])
result.append(refuse(2))
"""
    assert kept.run(act)[0] == [
        ["ValueError", "a three"],
        ["ZeroDivisionError", "integer division by zero"],
        3,
    ]


def test_threads_and_a_fork(kept: Kept) -> None:
    act = f"""
import os, threading
barrier, found = threading.Barrier(4), []
def work():
    barrier.wait()
    found.append({TOTAL})
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
child = os.fork()
if not child:
    os._exit(0 if list({TOTAL}) == {WHOLE} and refuse(2) == 3 else 1)
result = [found, os.waitpid(child, 0)[1]]
"""
    assert kept.run(act) == [[[WHOLE] * 4, 0], False]


class _Named(NamedTuple):
    one: Any
    other: Any


class _Alike(NamedTuple):
    one: Any
    other: Any


def test_types_that_numba_tells_apart_have_other_fingerprints() -> None:
    from numba import typeof

    numbers = np.arange(12)
    frozen = numbers.copy()
    frozen.flags.writeable = False
    record = np.dtype([("a", "i4"), ("b", "i8")])
    shifted = np.dtype({"names": ["a", "b"], "formats": ["i4", "i8"], "offsets": [0, 8], "itemsize": 16})
    values: list[Any] = [
        *(numbers.astype(name) for name in ("i1", "i2", "i4", "u1", "u4", "u8", "f4", "f8", "?", ">i4")),
        *(
            numbers,
            frozen,
            numbers[::2],
            numbers.reshape(3, 4),
            numbers.reshape(3, 4).T,
            numbers.reshape(2, 2, 3),
        ),
        *(numbers.reshape(3, 4)[:, 1:], np.zeros(3, record), np.zeros(3, shifted), np.array(5), numbers[:0]),
        *(np.frombuffer(bytes(9), "u1")[1:].view("i4"), np.frombuffer(bytearray(8), "i4")),
        *(1, -1, True, 1.5, np.int32(1), np.int64(1), np.uint64(1), np.float32(1), np.bool_(1), 1 << 63),
        *((), (1,), (1, 2), (1, 2.0), ((1, 2),), (1, (2,)), (numbers, 1), (numbers[::2], 1), (True, 1)),
        *(_Named(1, 2), _Alike(1, 2), _Named(1, 2.0), _Named(numbers, 2), _Named(frozen, 2), "text", None),
    ]
    known = 0
    for one, other in combinations(values, 2):
        prints = [kept_code.fingerprint([value]) for value in (one, other)]
        known += None not in prints
        if prints[0] is not None and prints[0] == prints[1]:
            assert typeof(one) == typeof(other)  # type: ignore[no-untyped-call]
    assert known > 900


AUDIT = """\
import json, sys
import rocket_columnar.audit.plan
from rocket_columnar.audit import audit
rocket_columnar.audit.plan.is_large = lambda files: True
found = [str(finding) for finding in audit(sys.argv[1])]
print(json.dumps([sorted(found), "numba" in sys.modules]))
"""


def test_the_audit_of_a_large_store_loads_no_numba_and_finds_the_same(tmp_path: Path) -> None:
    store = open_store("mixed", tmp_path)
    for path in store.glob("consumequeue/*/0/*"):  # the low byte of the first unit's size
        content = bytearray(path.read_bytes())
        content[11] ^= 1
        path.write_bytes(content)
    others = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    made = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", AUDIT, str(store)],
                env=others | setting,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout
        )
        for setting in ({}, {}, {"NUMBA_NUM_THREADS": "1"})  # the last one leaves all to Numba
    ]
    assert made[1][0]
    assert made[0][0] == made[1][0] == made[2][0]
    assert [made[1][1], made[2][1]] == [False, True]
