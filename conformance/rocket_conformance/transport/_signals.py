"""Signals that end a run: the report is finished, and what was started is ended."""

import contextlib
import signal
import threading
from collections.abc import Generator
from types import FrameType
from typing import Final, NoReturn

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP")


class InterruptedBySignal(KeyboardInterrupt):
    """A signal arrived.

    Python replaces an exception that carries no state of its own with one of another text where it passes through a
    codec ("decoding with 'utf-16-be' codec failed"), so the name is an attribute and not only the text.

    Attributes:
        name: of the signal, such as SIGTERM.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    raise InterruptedBySignal(signal.Signals(number).name)


@contextlib.contextmanager
def stop_on_signals() -> Generator[None]:
    """Within the block SIGINT, SIGTERM and SIGHUP raise InterruptedBySignal, a KeyboardInterrupt.

    A signal that is ignored, as under nohup, stays so. In another thread than the main one nothing changes.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
        before = {
            number: signal.signal(number, _stop)
            for number in numbers
            if signal.getsignal(number) not in {signal.SIG_IGN, None}
        }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
