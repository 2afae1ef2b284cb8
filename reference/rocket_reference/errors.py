"""Errors of the reference, except those about wrong bytes (`rocket_spec.errors`)."""


class ThrownError(Exception):
    """An exception or error that Java throws."""

    def __init__(self, name: str, message: str = "") -> None:
        super().__init__(f"{name}: {message}" if message else name)
        self.name = name  # simple name of the Java class, such as "ArithmeticException"


class JavaError(ThrownError):
    """An exception that leaves the Java method: the operation is *rejected*."""


class JavaFatalError(ThrownError):
    """A `java.lang.Error`, such as OutOfMemoryError: no `catch (Exception e)` stops it, and a thread ends of it."""


class UnspecifiedError(Exception):
    """An input on which 4.9.3 itself never ends, or fills the memory: there is nothing to be equal to."""
