"""The verdict on one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocket_conformance.cases import Case, Observation
from rocket_conformance.compare import Difference, differences
from rocket_conformance.expect import collect_files, compared_files
from rocket_conformance.transport import Failed, Job, Reply

if TYPE_CHECKING:
    from rocket_conformance.verdicts import Verdict

__all__ = ["Judgement", "disagreement", "judge"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of one case.

    Attributes:
        verdict: of this one run.
        detail: what happened, where it is not a difference.
        actual: what was observed; None without an answer.
        found: the differences, empty unless diverged.
    """

    verdict: Verdict
    detail: str = ""
    actual: Observation | None = None
    found: tuple[Difference, ...] = ()


def judge(case: Case, expected: Observation, job: Job, reply: Reply) -> Judgement:
    """Holds a reply, and the files that it left in the job's directory, against what is expected."""
    if isinstance(reply, Failed):
        return Judgement(reply.verdict, reply.detail)
    results = reply.answer.results
    for place, result in enumerate(results):
        if "errored" in result:
            return Judgement("errored", f"operation {place} ({case.ops[place]['op']}): {result['errored']}")
    try:
        actual = Observation(results, collect_files(job.directory, _files(case, expected, job, reply)))
    except (ValueError, OSError) as error:
        return Judgement("errored", f"files of the answer: {error}")
    for place, result in enumerate(results):
        left_out: Verdict | None = (
            "unsupported" if "unsupported" in result else "skipped" if "skipped" in result else None
        )
        if left_out is not None:
            why = result[left_out]
            return Judgement(
                left_out,
                f"operation {place} ({case.ops[place]['op']}): {why if isinstance(why, str) else left_out}",
            )
    found = differences(case, expected, actual)
    return Judgement("diverged" if found else "pass", "", actual, tuple(found))


def _files(case: Case, expected: Observation, job: Job, reply: Reply) -> list[str]:
    """What is compared: what is expected to be there, and index files that the adapter says it wrote."""
    names = dict.fromkeys(expected.files)
    rejected = {op["file"] for op in case.ops if op["op"] == "index.open"} - names.keys()
    if not isinstance(reply, Failed):
        root = job.directory.resolve()
        for role, path in reply.answer.files:
            if not (job.directory / path).resolve().is_relative_to(root):
                raise ValueError(f"{path} lies outside the case's directory")
            if role == "index" and path not in rejected:
                names[path] = None
    return list(names)


def disagreement(case: Case, reference: Observation) -> list[Difference]:
    """How the reference differs from what the real jar gave, where the case holds that."""
    if case.expected is None:
        return []
    shared = set(compared_files(case, reference.results)) & case.expected.files.keys()
    jar = Observation(case.expected.results, {path: case.expected.files[path] for path in shared})
    ours = Observation(reference.results, {path: reference.files[path] for path in shared})
    if len(jar.results) != len(ours.results):
        return [Difference(None, "results", None, None, "wrong value", len(jar.results), len(ours.results))]
    return differences(case, jar, ours)
