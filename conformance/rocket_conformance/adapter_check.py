"""The exchanges of a check: hello, small cases, bye.

In a run a process that breaks the protocol is ended, and its case is blamed. Here every line is looked at for all that
is wrong with it, each fault with the place in PROTOCOL.md that it breaks, so that whoever writes an adapter sees what to change.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from rocket_spec.layout import Geometry
from rocket_spec.temporary_folders import remove_tree

from rocket_conformance.cases import Case, directed_cases, geometries_of
from rocket_conformance.comparison import specified
from rocket_conformance.files import scratch
from rocket_conformance.judging import Trial, Verdict
from rocket_conformance.planning import Planned, fit_expected
from rocket_conformance.protocol import (
    BYE,
    FEATURES,
    OPERATIONS,
    Hello,
    Op,
    ProtocolError,
    decode_line,
    encode_line,
    hello_message,
    parse_answer,
    suite_version,
)
from rocket_conformance.report import describe_divergence
from rocket_conformance.transport import AdapterError, ChildTransport, Event, no_orphans


@dataclass(frozen=True, slots=True)
class Broken:
    """A violation in a line: the place in PROTOCOL.md that it breaks (`rule 2`, `Operations`), and how."""

    place: str
    text: str


def about_hello(hello: Hello) -> Iterator[Broken]:
    """Declarations of a readable hello that have no effect."""
    unknown = sorted(hello.ops - OPERATIONS.keys())
    if unknown:
        yield Broken("Operations", f"ops holds names that are not operations: {', '.join(unknown)}")
    unknown = sorted(hello.features - FEATURES.keys())
    if unknown:
        yield Broken("Features", f"features holds names that are not features: {', '.join(unknown)}")
    if not hello.ops & OPERATIONS.keys():
        yield Broken("rule 3", "ops names no operation: nothing can be tested")
    for family in ("index", "service", "queue"):
        names = sorted(name for name in hello.ops & OPERATIONS.keys() if name.startswith(f"{family}."))
        if names and f"{family}.open" not in hello.ops:
            yield Broken("Operations", f"{', '.join(names)} without {family}.open can never be sent")


def about_answer(line: bytes, trial: Trial) -> tuple[Broken, ...]:
    """All that is wrong with the form of an answer, operation by operation."""
    try:
        answer = decode_line(line)
    except ProtocolError as error:
        return (Broken(error.place, str(error)),)
    found: list[Broken] = []
    ops = trial.case.ops
    if answer.get("id") != trial.token or not isinstance(answer["id"], str):
        found.append(Broken("rule 4", f"id is {answer.get('id')!r}, not {trial.token!r} as it was sent"))
    given: object = answer.get("results")
    results = cast("list[object]", given) if isinstance(given, list) else []
    if len(results) == len(ops):
        for place, (op, result) in enumerate(zip(ops, results, strict=True)):
            found += _about({"results": [result]}, [op], place)
        found += _about({"results": [], "files": answer.get("files", [])}, [], 0)
    else:
        found += _about(answer, ops, 0)
    return tuple(found)


def _about(answer: dict[str, Any], ops: Sequence[Op], place: int) -> Iterator[Broken]:
    try:
        parse_answer(answer, ops, start=place)
    except ProtocolError as error:
        yield Broken(error.place, str(error))


def about_end(fate: str) -> tuple[Broken, ...]:
    """The rule that a process broke by the way it ended."""
    return () if fate.startswith("exited with code 0") else (Broken("rule 13", f"it {fate}"),)


def text_of(line: bytes) -> str:
    """A line as it is shown."""
    return line.decode("utf-8", "replace").rstrip("\r\n")


# --- exchanges ----------------------------------------------------------------------------------------

_UNASKED_SECONDS: Final = 0.02
_MOST_DEATHS: Final = 5
_FLUSHED: Final = ": is stdout flushed after each line?"
_HELLO: Final = text_of(encode_line(hello_message(suite_version())))
_BYE: Final = text_of(encode_line(BYE))

_DEFAULT_SIZE: Final = 1 << 26
"""Larger files, in bytes, are left to the suite itself."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message and what came of it."""

    about: str  # what is tried, in words, or the id of the case
    sent: str  # the line that was sent
    received: str  # the line that came, or what came instead of one
    broken: tuple[Broken, ...] = ()  # what is wrong with it by the protocol
    verdict: Verdict | None = None  # of the suite on the answer to a case that keeps the protocol; else None
    differences: tuple[str, ...] = ()  # what is wrong with the implementation, in words


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a check; `passed` of `cases` smoke cases are right."""

    exchanges: int
    broken: int
    cases: int
    passed: int

    @property
    def good(self) -> bool:
        """Whether the suite can be run, and will find something to run."""
        return self.broken == 0 and self.passed == self.cases > 0


def summary(exchanges: Sequence[Exchange]) -> Summary:
    """Counts the exchanges of a check."""
    cases = [exchange for exchange in exchanges if exchange.verdict is not None]
    return Summary(
        exchanges=len(exchanges),
        broken=sum(bool(exchange.broken) for exchange in exchanges),
        cases=len(cases),
        passed=sum(exchange.verdict == "pass" for exchange in cases),
    )


def check_adapter(command: Sequence[str], *, case_timeout: float = 10.0) -> Generator[Exchange]:
    """Sends hello, a small case for each declared operation, and bye; then closes stdin without a bye.

    A process that dies is started again, five times.

    Raises AdapterError: when the command cannot be started, or not again.
    """
    with no_orphans(), scratch() as root, ExitStack() as stack:
        try:
            transport = ChildTransport(command, case_timeout=case_timeout, lenient=True)
        except AdapterError as error:
            if error.line is None:
                raise
            yield _refused(error)
            return
        stack.callback(transport.close)
        yield from _Check(transport, root).run()


def _refused(error: AdapterError) -> Exchange:
    if not isinstance(error.line, Event):
        received = text_of(error.line) if isinstance(error.line, bytes) else ""
        return Exchange("hello", _HELLO, received, (Broken(error.place, error.reason),))
    rule = {Event.SILENCE: "rule 1", Event.TOO_LONG: "rule 11"}.get(error.line, "rule 12")
    hint = _FLUSHED if error.line is Event.SILENCE else ""
    return Exchange("hello", _HELLO, "nothing", (Broken(rule, f"{error.reason}{hint}"),))


class _Check:
    """The exchanges with a started adapter, and how often its process died."""

    def __init__(self, transport: ChildTransport, root: Path) -> None:
        self._transport = transport
        self._root = root
        self._deaths = 0
        self._tokens = 0

    def run(self) -> Iterator[Exchange]:
        hello, received = self._transport.hello, self._transport.line
        assert isinstance(received, bytes)
        yield Exchange("hello", _HELLO, text_of(received), (*about_hello(hello), *self._unasked()))
        probe = _nothing_open(hello)
        smoke = _smoke_cases(hello)
        for case in [*([probe] if probe else []), *smoke]:
            if self._deaths < _MOST_DEATHS:
                yield from self._exchanges([case], case.id)
        if hello.max_in_flight > 1 and self._deaths < _MOST_DEATHS and smoke:
            case = min(smoke, key=lambda item: len(item.ops))
            yield from self._exchanges([case, case], f"two cases at once: {case.id}")
        if self._deaths < _MOST_DEATHS:
            line, fate = self._transport.farewell(bye=True)
            if isinstance(line, bytes):
                yield Exchange("bye", _BYE, text_of(line), (Broken("rule 12", "bye has no answer"),))
            elif line is not Event.END:
                yield Exchange("bye", _BYE, "", (Broken("rule 13", f"after 5 s it had not ended: {fate}"),))
            else:
                yield Exchange("bye", _BYE, f"it {fate}", about_end(fate))
        if self._deaths == 0:  # a suite that is interrupted sends no bye
            _, fate = self._transport.farewell(bye=False)
            yield Exchange("end of stdin", "", f"it {fate}", about_end(fate))

    def _exchanges(self, cases: Sequence[Case], about: str) -> Iterator[Exchange]:
        """The cases, all sent before the first is answered; of one that keeps the protocol the content is judged, too."""
        trials: list[Trial] = []
        for case in cases:
            self._tokens += 1
            directory = self._root / str(self._tokens)
            case, expected = specified(case, directory)  # noqa: PLW2901 - without what is never sent
            trials.append(Trial(case, fit_expected(expected, self._transport.hello.features), directory))
        for trial in self._transport.run(trials):
            self._deaths += trial.ended
            exchange = self._exchange(trial, about)
            extra = () if trial.ended or len(cases) > 1 else self._unasked()
            yield replace(exchange, broken=(*exchange.broken, *extra))
            remove_tree(trial.directory)

    def _exchange(self, trial: Trial, about: str) -> Exchange:
        sent, line = text_of(encode_line(trial.message)), self._transport.line
        if trial.verdict == "crash":
            what = trial.detail.replace("it ", "instead of an answer it ", 1)
            return Exchange(about, sent, "nothing", verdict="crash", differences=(what,))
        if trial.verdict == "timeout":
            return Exchange(about, sent, "nothing", (Broken("rule 1", f"{trial.detail}{_FLUSHED}"),))
        if isinstance(line, Event):
            return Exchange(about, sent, line.value, (Broken("rule 11", line.value),))
        received = text_of(line)
        if broken := about_answer(line, trial):
            return Exchange(about, sent, received, broken)
        trial.judge()
        lines = [trial.detail] if trial.detail else []
        lines += describe_divergence([item.to_json(trial.case.clauses[0]) for item in trial.found[:3]])
        return Exchange(about, sent, received, (), trial.verdict, tuple(lines))

    def _unasked(self) -> tuple[Broken, ...]:
        """A line that nobody asked for, most often a log on stdout."""
        line = self._transport.unasked(_UNASKED_SECONDS)
        if line is None:
            return ()
        return (Broken("rule 12", f"one more line that nothing asked for: {text_of(line)[:200]}"),)


# --- what is sent ----------------------------------------------------------------------------------------


def _smoke_cases(hello: Hello) -> list[Case]:
    """For each declared operation the smallest directed case that applies and has it."""
    applicable = [case for case in directed_cases() if Planned(case).obstacle(hello) is None]
    small = [
        case
        for case in applicable
        if not any(Geometry(*pair).file_size > _DEFAULT_SIZE for pair in geometries_of(case.ops))
    ] or applicable
    chosen: list[Case] = []
    for name in OPERATIONS:
        with_it = [case for case in small if name in case.op_names]
        if name in hello.ops and with_it and not any(name in case.op_names for case in chosen):
            chosen.append(min(with_it, key=lambda case: (not _tells(case, name), len(case.ops), case.id)))
    return chosen


def _tells(case: Case, name: str) -> bool:
    """Whether the operation's results show their form: an empty list and null do not."""
    if case.expected is None:
        return False
    results = [result for op, result in zip(case.ops, case.expected.results, strict=True) if op["op"] == name]
    return all(
        "rejected" not in result and all(value not in ([], None) for value in result.values())
        for result in results
    )


def _nothing_open(hello: Hello) -> Case | None:
    """An operation on something that is not open is rejected, and the next one still runs."""
    ops: list[Op] = [
        {"op": name} for name in ("index.full", "index.header", "queue.bounds") if name in hello.ops
    ]
    if not ops:
        return None
    return Case(id="nothing is open", clauses=(), ops=(*ops, *ops), producer="smoke")
