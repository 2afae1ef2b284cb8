"""Real storages on loopback, started once a run: an S3 server (moto) and HDFS (Hadoop's MiniDFSCluster)."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from java_programs import SHORT_LIVED, compile_java, jars_of

ROOT = Path(__file__).parents[2]
HDFS = ROOT / "tests" / "spark" / "hdfs" / "MiniHdfs.java"
_PATIENCE = 60


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
        if "://" not in uri:
            Path(uri).parent.mkdir(parents=True, exist_ok=True)
            Path(uri).write_bytes(data)
            return
        if uri.startswith("s3"):
            with _bucket(self.options).open_output_stream(uri.removeprefix("s3://")) as stream:
                stream.write(data)
            return
        from fsspec.implementations.webhdfs import WebHDFS

        host, _, port = self.options["hdfs.webhdfs"].partition(":")
        hdfs: Any = WebHDFS(host, int(port), user="tester")
        path = "/" + uri.partition("://")[2].partition("/")[2]
        hdfs.makedirs(path.rpartition("/")[0], exist_ok=True)
        with hdfs.open(path, "wb") as file:
            file.write(data)


def _bucket(options: dict[str, str]) -> Any:
    from pyarrow.fs import S3FileSystem

    return S3FileSystem(
        access_key=options["s3.accessKey"],
        secret_key=options["s3.secretKey"],
        endpoint_override=options["s3.endpoint"].removeprefix("http://"),
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )


@pytest.fixture(scope="session")
def s3() -> Iterator[Far]:
    """An S3 server with the bucket `broker`."""
    from moto import backends
    from moto.server import ThreadedMotoServer

    names = [*backends.list_of_moto_modules()]
    backends.list_of_moto_modules = lambda: names  # at each request it looks for all of its folders
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = {
        "s3.endpoint": f"http://{host}:{port}",
        "s3.accessKey": "testing",
        "s3.secretKey": "testing",
    }
    try:
        _bucket(options).create_dir("broker")
        yield Far("s3://broker", options)
    finally:
        server.stop()


@pytest.fixture(scope="session")
def hdfs(maven: str, java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    """HDFS with one data node: a Java program that prints its ports when it is ready, and ends when its stdin closes."""
    assert maven
    folder = tmp_path_factory.mktemp("hdfs")
    jars = jars_of("hdfs")
    classpath = os.pathsep.join([str(folder), f"{jars}/*"])
    compile_java([HDFS], classpath, folder)
    flags = (
        "-Xmx256m",
        *SHORT_LIVED.split(),
        "-XX:-UsePerfData",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
    )
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [java, *flags, "-cp", classpath, HDFS.stem, str(folder / "dfs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ready = process.stdout.readline().split()
            assert len(ready) == 2, (folder / "log").read_text("utf-8", "replace")[-2000:]
            yield Far(f"hdfs://127.0.0.1:{ready[0]}", {"hdfs.webhdfs": f"127.0.0.1:{ready[1]}"})
        finally:
            process.stdin.close()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
