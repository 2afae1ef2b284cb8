"""Replay files: one case with what was expected, what came, and where they part."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import MalformedError
from rocket_spec.outputs import write_whole

from rocket_conformance.cases import Case, Observation, case_from_json, case_to_json, observation_to_json
from rocket_conformance.files import read_input
from rocket_conformance.judging import Trial

_LARGEST: Final = 64 << 20
_EXPECTED: Final = "a case file"

_LONGEST_RESULT: Final = 1 << 14
"""Maximum size of a result in a replay file."""

_LARGEST_WRITTEN: Final = 1 << 16
"""Maximum size of a replay file."""


def replay_name(case: str) -> str:
    """The file name of a case's replay file: every character that a file system may mind is a dash."""
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in case) + ".json"


def replay_of(trial: Trial, divergence: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The replay file of a case that failed."""
    document = case_to_json(trial.case, trial.expected)
    document["actual"] = (
        {"verdict": trial.verdict, "detail": trial.detail}
        if trial.actual is None
        else observation_to_json(_shortened(trial.actual))
    )
    document["divergence"] = list(divergence)
    return _bounded(document, trial.actual)


def _bounded(document: dict[str, Any], actual: Observation | None) -> dict[str, Any]:
    """The document, without the bytes of the files that were found where it would be longer than 64 KB with them.

    What is expected is made from the operations when the case runs again; the bytes that were found are seen then.
    """
    files: dict[str, Any] = document["actual"].get("files", {})
    for path in sorted(files, key=lambda path: len(files[path].get("zstd_base64", "")), reverse=True):
        if actual is None or len(json.dumps(document, indent=1)) < _LARGEST_WRITTEN:
            break
        files[path] = {"size": actual.files[path].size}
    return document


def _shortened(actual: Observation) -> Observation:
    """The observation, without results that no case has: they are megabytes of an adapter's choice."""
    results = tuple(
        result
        if len(text := json.dumps(result)) <= _LONGEST_RESULT
        else {"left_out": f"{len(text):,} characters"}
        for result in actual.results
    )
    return replace(actual, results=results)


def write_replay(path: Path, document: Mapping[str, Any]) -> None:
    """Writes a replay file, and its folder."""
    write_whole(path, json.dumps(document, indent=1) + "\n")


def read_replay(path: Path) -> Case:
    """The case of a replay file, a vector or a case file.

    Raises:
        MalformedError: when it is not one.
        OSError: when it cannot be read.
    """
    data = read_input(path, limit=_LARGEST, expected=_EXPECTED)
    offset = None
    try:
        document = json.loads(data)
    except RecursionError:
        found = "JSON that nests too deeply"
    except UnicodeDecodeError as error:
        found, offset = "no UTF-8", error.start
    except ValueError as error:  # a number of more digits than Python converts, too
        found = f"no JSON: {error}"
    else:
        return case_from_json(document, file=str(path))
    raise MalformedError(file=str(path), offset=offset, found=found, expected=_EXPECTED)
