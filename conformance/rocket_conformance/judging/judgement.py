"""The verdict on one answer."""

from dataclasses import dataclass
from typing import Final

from rocket_spec.printable import printable

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import Difference, collect_files, differences, rejected_files
from rocket_conformance.judging.verdicts import Verdict
from rocket_conformance.transport import Failed, Job, Reply

_ROLES: Final = frozenset({"index", "queue", "checkpoint"})

_MOST_BEYOND: Final = 256 << 10
"""Maximum number of unexpected bytes of files that are kept of a failed case."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of one case.

    Attributes:
        verdict: of this one run.
        detail: what happened, where it is not a difference.
        actual: what was observed; None without an answer. Files that hold far more than expected are kept as digests.
        found: the differences, empty unless diverged.
    """

    verdict: Verdict
    detail: str = ""
    actual: Observation | None = None
    found: tuple[Difference, ...] = ()


def judge(case: Case, expected: Observation, job: Job, reply: Reply) -> Judgement:
    """Compares a reply, and the files that it left in the job's directory, with what is expected."""
    if isinstance(reply, Failed):
        return Judgement(reply.verdict, reply.detail)
    results = reply.answer.results
    for place, result in enumerate(results):
        if "errored" in result:
            return Judgement("errored", f"operation {place} ({case.ops[place]['op']}): {result['errored']}")
    try:
        listed = [path for role, path in reply.answer.files if role in _ROLES]
        files = collect_files(case, job.directory, expected.results, listed, expected.files)
        actual = Observation(results, files)
    except (ValueError, OSError) as error:
        return Judgement("errored", printable(f"files of the answer: {error}"))
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
    if actual.held > expected.held + _MOST_BEYOND:
        actual = actual.without_bytes()
    return Judgement("diverged" if found else "pass", "", actual, tuple(found))


def disagreement(case: Case, reference: Observation) -> list[Difference]:
    """How the reference differs from what the real jar gave, where the case holds that."""
    if case.expected is None:
        return []
    if len(case.expected.results) != len(reference.results):
        lengths = len(case.expected.results), len(reference.results)
        return [Difference(None, "results", None, None, "wrong value", *lengths)]
    rejected = rejected_files(case, reference.results)
    files = {path: image for path, image in case.expected.files.items() if path not in rejected}
    return differences(case, Observation(case.expected.results, files), reference)
