"""A real storage on loopback, started once a run: an S3 server (moto)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Far:
    """A storage: the URI of its root, and the options that reach it."""

    root: str
    options: dict[str, str] = field(default_factory=dict)

    def upload(self, store: Path, name: str) -> str:
        """Copies a directory or a file; its URI."""
        uri = f"{self.root}/{name}"
        for path in [store, *store.rglob("*")]:
            if path.is_file():
                below = path.relative_to(store).as_posix()
                self.write(uri if below == "." else f"{uri}/{below}", path.read_bytes())
        return uri

    def write(self, uri: str, data: bytes) -> None:
        """Makes or replaces one file."""
        from pyarrow.fs import S3FileSystem

        endpoint = self.options["s3.endpoint"].removeprefix("http://")
        files = S3FileSystem(
            access_key="testing",
            secret_key="testing",  # noqa: S106 - moto takes any
            endpoint_override=endpoint,
            scheme="http",
            region="us-east-1",
        )
        with files.open_output_stream(uri.removeprefix("s3://")) as stream:
            stream.write(data)


@pytest.fixture(scope="session")
def s3() -> Iterator[Far]:
    """An S3 server with the bucket `broker`."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = {
        "s3.endpoint": f"http://{host}:{port}",
        "s3.accessKey": "testing",
        "s3.secretKey": "testing",
    }
    try:
        from pyarrow.fs import S3FileSystem

        S3FileSystem(
            access_key="testing",
            secret_key="testing",  # noqa: S106 - moto takes any
            endpoint_override=f"{host}:{port}",
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        ).create_dir("broker")
        yield Far("s3://broker", options)
    finally:
        server.stop()
