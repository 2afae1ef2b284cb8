"""Real storages on loopback, started once a run: an S3 server (moto) and HDFS (Hadoop's MiniDFSCluster)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mini_cluster import mini_cluster

HDFS = Path(__file__).parents[1] / "spark" / "hdfs"


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
        if uri.startswith("s3"):
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
            return
        from fsspec.implementations.webhdfs import WebHDFS

        host, _, port = self.options["hdfs.webhdfs"].partition(":")
        hdfs: Any = WebHDFS(host, int(port), user="tester")
        path = "/" + uri.partition("://")[2].partition("/")[2]
        hdfs.makedirs(path.rpartition("/")[0], exist_ok=True)
        with hdfs.open(path, "wb") as file:
            file.write(data)


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


@pytest.fixture(scope="session")
def hdfs(maven: str, java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    """HDFS with one data node."""
    folder = tmp_path_factory.mktemp("hdfs")
    with mini_cluster(maven, java, HDFS / "MiniHdfs.java", folder, folder / "dfs", megabytes=256) as line:
        name_node, web = line.split()
        yield Far(f"hdfs://127.0.0.1:{name_node}", {"hdfs.webhdfs": f"127.0.0.1:{web}"})
