"""What can go wrong in the reference, beside bytes that are wrong (those are `rocket_spec.errors`)."""


class JavaError(Exception):
    """An exception that leaves the Java method: the operation is *rejected*.

    Attributes:
        name: simple name of the Java class, such as "ArithmeticException".
    """

    def __init__(self, name: str, message: str = "") -> None:
        super().__init__(f"{name}: {message}" if message else name)
        self.name = name


class JavaFatalError(Exception):
    """A `java.lang.Error`, such as OutOfMemoryError: no `catch (Exception e)` stops it, and a thread ends of it.

    Attributes:
        name: simple name of the Java class.
    """

    def __init__(self, name: str, message: str = "") -> None:
        super().__init__(f"{name}: {message}" if message else name)
        self.name = name


class UnspecifiedError(Exception):
    """An input on which 4.9.3 itself never ends, or fills the memory: there is nothing to be equal to."""
