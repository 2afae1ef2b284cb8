"""One test for each case and each property."""

from collections.abc import Callable

from rocket_conformance.planning import Planned


def test_case(rocketspec_case: Planned, rocketspec_check: Callable[[Planned], None]) -> None:
    """The adapter does what 4.9.3 does."""
    rocketspec_check(rocketspec_case)
