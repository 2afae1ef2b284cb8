"""Name servers of `workload`; without one it ends at once (`tests/cli/transcripts/workload.md`)."""

import socket

import pytest
from rocket_conformance.workload import ClientError, require_name_server
from rocket_spec.errors import UsageError


@pytest.mark.parametrize(
    "address",
    ["localhost", ":9876", "localhost:", "localhost:x", "localhost:70000", "http://localhost:80", ""],
)
def test_what_is_not_host_and_port(address: str) -> None:
    with pytest.raises(UsageError, match="expected HOST:PORT"):
        require_name_server(address)


def test_a_host_name_that_cannot_be_encoded() -> None:
    with pytest.raises(ClientError, match="no name server can be reached"):
        require_name_server(f"{'a' * 64}.example:9876")


def test_the_second_of_two_name_servers() -> None:
    with socket.socket() as taken, socket.create_server(("127.0.0.1", 0)) as server:
        taken.bind(("127.0.0.1", 0))  # nothing listens there
        require_name_server(";".join(f"127.0.0.1:{one.getsockname()[1]}" for one in (taken, server)))
