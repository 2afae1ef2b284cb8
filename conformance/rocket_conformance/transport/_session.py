"""Opens what a run talks to: a command, the real jar, or an object in this process."""

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from rocket_conformance.rocketmq import command
from rocket_conformance.schema import check_message
from rocket_conformance.transport._child import ChildTransport
from rocket_conformance.transport._descendants import no_orphans
from rocket_conformance.transport._in_process import Handler, InProcessTransport
from rocket_conformance.transport._job import Transport
from rocket_conformance.transport._pool import PoolTransport
from rocket_conformance.transport._process import LIVE


@contextmanager
def open_command(
    command: Sequence[str], *, case_timeout: float = 10.0, check_schema: bool = False, jobs: int = 1
) -> Generator[Transport]:
    """A command as adapter, ended with all that it started when the block ends.

    Args:
        command: the command and its arguments, run without a shell.
        case_timeout: seconds that a case may take.
        check_schema: whether each message is validated by its JSON Schema.
        jobs: number of processes to run in parallel.

    Raises:
        AdapterError: when it does not start or does not answer hello.
    """
    with no_orphans(LIVE), ExitStack() as stack:
        transports: list[ChildTransport] = []
        for _ in range(jobs):
            check = check_message if check_schema else None
            transport = ChildTransport(command, case_timeout=case_timeout, check=check)
            stack.callback(transport.close)
            transports.append(transport)
        yield transports[0] if jobs == 1 else PoolTransport(transports)


@contextmanager
def open_handler(handler: Handler, *, check_schema: bool = False) -> Generator[Transport]:
    """An object of this process as adapter.

    Raises:
        AdapterError: when it does not answer hello.
    """
    transport = InProcessTransport(handler, check=check_message if check_schema else None)
    try:
        yield transport
    finally:
        transport.close()


def open_jar(
    version: str,
    *,
    jars: Path | None = None,
    case_timeout: float = 10.0,
    check_schema: bool = False,
    jobs: int = 1,
) -> AbstractContextManager[Transport]:
    """The real RocketMQ of a version as adapter; `jobs` is the number of processes to run in parallel.

    Raises:
        JarUnavailableError: when there is no Java, no Maven or no such version.
        AdapterError: when it does not start.
    """
    line = command(version, jars)
    return open_command(line, case_timeout=case_timeout, check_schema=check_schema, jobs=jobs)
