"""`workload` without a name server ends at once, before Java starts."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocket_conformance.workload import ClientError, require_name_server
from rocket_spec.errors import UsageError
from verb_run import Verb


@pytest.mark.parametrize(
    "address",
    ["localhost", ":9876", "localhost:", "localhost:x", "localhost:70000", "http://localhost:80", ""],
)
def test_what_is_not_host_and_port(address: str) -> None:
    with pytest.raises(UsageError, match="expected HOST:PORT"):
        require_name_server(address)


@pytest.fixture
def closed() -> Iterator[int]:
    """A port that is taken, and on which nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_a_port_that_nothing_listens_on(closed: int, tmp_path: Path, verb: Verb) -> None:
    done = verb("workload", "--namesrv", f"127.0.0.1:{closed}", "-o", tmp_path / "manifest.json")
    assert done.code == 3
    assert done.err == f"rocketspec: 127.0.0.1:{closed}: no name server can be reached (connection refused)\n"


def test_a_host_name_that_cannot_be_encoded() -> None:
    with pytest.raises(ClientError, match="no name server can be reached"):
        require_name_server(f"{'a' * 64}.example:9876")


def test_the_second_of_two_name_servers(closed: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        require_name_server(f"127.0.0.1:{closed};127.0.0.1:{server.getsockname()[1]}")
