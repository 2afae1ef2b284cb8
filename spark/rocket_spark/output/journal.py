"""What finished tasks of a job returned, kept beside their attempts: a killed job starts from these.

The entry of a task is named by a digest of the task, the job's options and the version of rocketspec, so a run with the
same plan finds it, and a task whose files or options changed is run again.
"""

from __future__ import annotations

import json
from functools import wraps
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ENTRY", "entry_text", "journalled", "merge_finished", "read_entries", "task_id"]

ENTRY: Final = "done-"
"""What the names of entries begin with."""


def task_id(task: Any, job: str = "") -> str:
    """A digest of a task: equal for the same task of a later run of the same `job`."""
    return sha256(repr((job, task)).encode()).hexdigest()[:32]


def _job(options: Any) -> str:
    """What decides the outcome of a task beside the task: the options, and this version, which workers may not know."""
    try:
        return f"{version('rocketspec')} {options!r}"
    except PackageNotFoundError:
        return repr(options)


def entry_text(outcome: Any) -> str:
    """An entry, to be written as a whole."""
    return json.dumps({"outcome": outcome})


def read_entries(texts: Mapping[str, str]) -> dict[str, Any]:
    """The outcomes in entries, by the ids of their tasks. What was cut off by a kill is skipped."""
    found: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            found[name.removeprefix(ENTRY)] = json.loads(text)["outcome"]
        except (ValueError, KeyError, TypeError):
            continue
    return found


def journalled(
    work: Callable[..., Any], write: Callable[[str, str], None], options: Any = None
) -> Callable[..., Any]:
    """`work` that also writes the entry of each task: `write` takes its name and text."""
    job = _job(options)

    @wraps(work)
    def run(task: Any, *rest: Any) -> Any:
        outcome = work(task, *rest)
        write(f"{ENTRY}{task_id(task, job)}", entry_text(outcome))
        return outcome

    return run


def merge_finished(
    tasks: Sequence[Any],
    finished: Mapping[str, Any],
    run: Callable[[list[Any], list[int]], list[Any]],
    *,
    holds: Callable[[Any], bool],
    options: Any = None,
) -> list[Any]:
    """The outcomes of all tasks: those of `finished`, and those that `run` gives for the others and their places.

    `holds` takes an outcome, and returns whether all that the task wrote is still there; `options` are those of `journalled`.
    """
    job = _job(options)
    known = [finished.get(task_id(task, job)) for task in tasks] if finished else [None] * len(tasks)
    outcomes = [None if outcome is None or not holds(outcome) else outcome for outcome in known]
    places = [place for place, outcome in enumerate(outcomes) if outcome is None]
    for place, outcome in zip(places, run([tasks[place] for place in places], places), strict=True):
        outcomes[place] = outcome
    return outcomes
