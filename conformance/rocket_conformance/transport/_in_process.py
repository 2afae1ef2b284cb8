"""An implementation in this process: any object with `handle(message) -> message`."""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, cast

from rocket_spec.printable import printable

from rocket_conformance.protocol import (
    BYE,
    Hello,
    ProtocolError,
    hello_message,
    parse_answer,
    parse_hello,
    suite_version,
)
from rocket_conformance.transport._job import AdapterError, Answered, Failed, Job, Reply, Transport


class Handler(Protocol):
    """The interface that the in-process transport needs."""

    def handle(self, message: dict[str, Any]) -> Mapping[str, Any] | None:
        """The answer to a message of the protocol."""
        ...


class InProcessTransport:
    """Hands each case to the object; an exception that leaves it is `errored`.

    Args:
        handler: the implementation.
        check: called with each message and its direction (`suite` or `adapter`); raises ProtocolError.

    Raises:
        AdapterError: when its answer to hello is not one.
    """

    def __init__(self, handler: Handler, *, check: Callable[[str, Any], None] | None = None) -> None:
        self._handler = handler
        self._check = check
        self.gave_up: str | None = None
        try:
            self.hello: Hello = parse_hello(self._exchange(hello_message(suite_version())))
        except Exception as error:
            raise AdapterError(f"the adapter in this process did not answer hello: {error}") from error

    def _exchange(self, message: dict[str, Any]) -> Mapping[str, Any]:
        if self._check is not None:
            self._check("suite", message)
        answer = cast("object", self._handler.handle(message))
        if not isinstance(answer, dict):
            raise ProtocolError(f"answered with {type(answer).__name__}, not an object")
        if self._check is not None:
            self._check("adapter", answer)
        return cast("dict[str, Any]", answer)

    def run(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Reply]]:
        """Runs the jobs one after the other."""
        for job in jobs:
            yield job, self._run(job)

    def _run(self, job: Job) -> Reply:
        try:
            message = job.prepare()
            answer = self._exchange(message)
            if answer.get("id") != job.token:
                raise ProtocolError(f"answered case {job.token} with id {answer.get('id')!r}")  # noqa: TRY301
            return Answered(parse_answer(answer, job.ops))
        except ProtocolError as error:
            return Failed("errored", str(error))
        except Exception as error:  # noqa: BLE001 - whatever leaves an implementation is its verdict
            return Failed("errored", printable(f"{type(error).__name__}: {error}"))

    def side_by_side(self, _count: int, /) -> AbstractContextManager[Transport]:
        """Itself."""
        return nullcontext(self)

    def close(self) -> None:
        """Says bye."""
        self._handler.handle(dict(BYE))
