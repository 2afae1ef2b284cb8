"""The exchanges of a check: hello, small cases, bye.

The suite's own transport ends a process that breaks the protocol, and blames the case. Here every line is
looked at for all that is wrong with it, so that whoever writes an adapter sees what to change.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from rocket_spec.temporary_folders import remove_tree

from rocket_conformance.adapter_check.line_faults import (
    Broken,
    about_answer,
    about_end,
    about_hello,
    text_of,
    token_of,
)
from rocket_conformance.cases import Case, Observation, directed_cases, geometries_of
from rocket_conformance.comparison import specified
from rocket_conformance.files import scratch
from rocket_conformance.judging import Verdict, judge
from rocket_conformance.planning import Planned, fit_expected
from rocket_conformance.protocol import (
    BYE,
    OPERATIONS,
    Hello,
    Op,
    ProtocolError,
    decode_line,
    encode_line,
    hello_message,
    parse_answer,
    parse_hello,
    suite_version,
)
from rocket_conformance.report import describe_divergence
from rocket_conformance.transport import LIVE, AdapterError, Answered, Event, Job, Process, no_orphans

HELLO_SECONDS: Final = 60.0
_END_SECONDS: Final = 5.0
_UNASKED_SECONDS: Final = 0.02
_MOST_DEATHS: Final = 5

_DEFAULT_SIZE: Final = 1 << 26
"""Larger files, in bytes, are left to the suite itself."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message and what came of it.

    Attributes:
        about: what is tried, in words, or the id of the case.
        sent: the line that was sent.
        received: the line that came, or what came instead of one.
        broken: what is wrong with it by the protocol.
        verdict: of the suite on the answer to a case that keeps the protocol; else None.
        differences: what is wrong with the implementation, in words.
    """

    about: str
    sent: str
    received: str
    broken: tuple[Broken, ...] = ()
    verdict: Verdict | None = None
    differences: tuple[str, ...] = ()


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

    Raises:
        AdapterError: when the command cannot be started, or not again.
    """
    with no_orphans(LIVE), scratch() as root:
        check = _Check(command, case_timeout, root)
        try:
            yield from check.run()
        finally:
            check.drop()


class _Tried(NamedTuple):
    """A case on its way, and what is expected of it."""

    job: Job
    case: Case
    expected: Observation


class _Check:
    """The process, and how often it died."""

    def __init__(self, command: Sequence[str], case_timeout: float, root: Path) -> None:
        self._command = command
        self._case_timeout = case_timeout
        self._root = root
        self._process: Process | None = None
        self._deaths = 0
        self._tokens = 0
        self._features = frozenset[str]()

    def run(self) -> Iterator[Exchange]:
        exchange, hello = self._hello()
        yield exchange
        if hello is None:
            return
        probe = _nothing_open(hello)
        for case in [*([probe] if probe else []), *_smoke_cases(hello)]:
            if self._deaths >= _MOST_DEATHS:
                return
            yield self._case(case)
        if hello.max_in_flight > 1 and self._deaths < _MOST_DEATHS:
            yield from self._two_at_once(hello)
        if self._process is not None:
            yield self._bye()
        if self._deaths == 0:
            yield self._end_of_stdin()

    # --- the messages ------------------------------------------------------------------------------------

    def _hello(self) -> tuple[Exchange, Hello | None]:
        sent = encode_line(hello_message(suite_version()))
        self._process = Process(self._command)
        self._process.send(sent)
        line = self._process.receive(HELLO_SECONDS)
        if isinstance(line, Event):
            return self._instead("hello", sent, line, HELLO_SECONDS), None
        broken: list[Broken] = []
        hello: Hello | None = None
        try:
            answer = decode_line(line)
            hello = parse_hello(answer)
        except ProtocolError as error:
            broken.append(Broken(error.place, str(error)))
        else:
            self._features = hello.features
            broken += about_hello(hello)
        return Exchange("hello", text_of(sent), text_of(line), (*broken, *self._unasked())), hello

    def _case(self, case: Case) -> Exchange:
        tried = self._try(case)
        try:
            sent = self._send(tried.job)
            assert self._process is not None  # noqa: S101 - it was started to send
            line = self._process.receive(self._case_timeout)
            if isinstance(line, Event):
                return self._instead(case.id, sent, line, self._case_timeout)
            exchange = self._judged(tried, sent, line)
            return replace(exchange, broken=(*exchange.broken, *self._unasked()))
        finally:
            remove_tree(tried.job.directory)

    def _two_at_once(self, hello: Hello) -> Iterator[Exchange]:
        """Two cases before the first is answered; either answer may come first."""
        case = min(_smoke_cases(hello), key=lambda item: len(item.ops), default=None)
        if case is None:
            return
        waiting = {tried.job.token: tried for tried in (self._try(case), self._try(case))}
        lines = {token: self._send(tried.job) for token, tried in waiting.items()}
        about = f"two cases at once: {case.id}"
        for _ in range(2):
            assert self._process is not None  # noqa: S101 - both were sent
            line = self._process.receive(self._case_timeout)
            if isinstance(line, Event):
                yield self._instead(about, b"".join(lines.values()), line, self._case_timeout)
                return
            token = token_of(line)
            tried = waiting.pop(token if token in waiting else next(iter(waiting)))
            yield replace(self._judged(tried, lines[tried.job.token], line), about=about)
            remove_tree(tried.job.directory)

    def _bye(self) -> Exchange:
        assert self._process is not None  # noqa: S101 - the caller looked
        sent = encode_line(BYE)
        self._process.send(sent)
        line = self._process.receive(_END_SECONDS)
        fate = self._process.end(patience=_END_SECONDS if line is Event.END else 0.5)
        self._process = None
        if isinstance(line, bytes):
            return Exchange("bye", text_of(sent), text_of(line), (Broken("rule 12", "bye has no answer"),))
        if line is not Event.END:
            return Exchange(
                "bye", text_of(sent), "", (Broken("rule 13", f"after 5 s it had not ended: {fate}"),)
            )
        return Exchange("bye", text_of(sent), f"it {fate}", about_end(fate))

    def _end_of_stdin(self) -> Exchange:
        """A suite that is interrupted sends no bye."""
        exchange, _ = self._hello()
        if self._process is None:
            return replace(exchange, about="end of stdin")
        fate = self._process.end(patience=_END_SECONDS)
        self._process = None
        return Exchange("end of stdin", "", f"it {fate}", about_end(fate))

    # --- around them -------------------------------------------------------------------------------------

    def _try(self, case: Case) -> _Tried:
        self._tokens += 1
        directory = self._root / str(self._tokens)
        case, expected = specified(case, directory)
        expected = fit_expected(expected, self._features)
        return _Tried(Job(directory.name, directory, case.ops, case.files), case, expected)

    def _send(self, job: Job) -> bytes:
        if self._process is None:
            self._hello()
        if self._process is None:
            raise AdapterError(f"{self._command[0]}: did not answer hello when it was started again")
        sent = encode_line(job.prepare())
        self._process.send(sent)
        return sent

    def _judged(self, tried: _Tried, sent: bytes, line: bytes) -> Exchange:
        """An answer to a case: its form first, and its content only if that is right."""
        job, case, expected = tried
        broken = about_answer(line, job)
        if broken:
            return Exchange(case.id, text_of(sent), text_of(line), broken)
        judgement = judge(case, expected, job, Answered(parse_answer(decode_line(line), job.ops)))
        lines = [judgement.detail] if judgement.detail else []
        if judgement.found:
            found = [item.to_json(case.clauses[0]) for item in judgement.found[:3]]
            lines += describe_divergence(found)
        return Exchange(case.id, text_of(sent), text_of(line), (), judgement.verdict, tuple(lines))

    def _instead(self, about: str, sent: bytes, event: Event, seconds: float) -> Exchange:
        """What came instead of a line; the process is ended. One that ends in a case may be the implementation's crash."""
        self._deaths += 1
        assert self._process is not None  # noqa: S101 - it gave the event
        fate = self._process.end(patience=2.0 if event is Event.END else 0.0)
        self._process = None
        if event is Event.TOO_LONG:
            return Exchange(about, text_of(sent), event.value, (Broken("rule 11", event.value),))
        if event is Event.SILENCE:
            what = f"no line within {seconds:g} s: is stdout flushed after each line? It {fate}"
            return Exchange(about, text_of(sent), "nothing", (Broken("rule 1", what),))
        what = f"instead of an answer it {fate}"
        if about == "hello":
            return Exchange(about, text_of(sent), "nothing", (Broken("rule 12", what),))
        return Exchange(about, text_of(sent), "nothing", verdict="crash", differences=(what,))

    def _unasked(self) -> tuple[Broken, ...]:
        """A line that nobody asked for, most often a log on stdout."""
        assert self._process is not None  # noqa: S101 - it just answered
        line = self._process.receive(_UNASKED_SECONDS)
        if isinstance(line, Event):
            return ()
        return (Broken("rule 12", f"one more line that nothing asked for: {text_of(line)[:200]}"),)

    def drop(self) -> None:
        """Ends what is still there."""
        if self._process is not None:
            self._process.end()
            self._process = None


# --- what is sent ----------------------------------------------------------------------------------------


def _smoke_cases(hello: Hello) -> list[Case]:
    """For each declared operation the smallest directed case that applies and has it."""
    applicable = [case for case in directed_cases() if Planned(case).obstacle(hello) is None]
    small = [case for case in applicable if not _is_large(case)] or applicable
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


def _is_large(case: Case) -> bool:
    return any(40 + 4 * slots + 20 * entries > _DEFAULT_SIZE for slots, entries in geometries_of(case.ops))


def _nothing_open(hello: Hello) -> Case | None:
    """An operation on something that is not open is rejected, and the next one still runs."""
    ops: list[Op] = [
        {"op": name} for name in ("index.full", "index.header", "queue.bounds") if name in hello.ops
    ]
    if not ops:
        return None
    return Case(id="nothing is open", clauses=(), ops=(*ops, *ops), producer="smoke")
