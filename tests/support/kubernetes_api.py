"""The part of a Kubernetes API server that spark-submit and a driver talk to: it keeps what it is sent, and runs nothing."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import yaml  # type: ignore[import-untyped]

Manifest = dict[str, Any]


@dataclass
class KubernetesApi:
    """The address of a server, and the objects that it was sent, as they were sent."""

    url: str
    sent: list[Manifest] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def pods(self, role: str) -> list[Manifest]:
        """The pods with a role: driver or executor."""
        return [
            manifest
            for manifest in self.sent
            if manifest["kind"] == "Pod" and manifest["metadata"]["labels"].get("spark-role") == role
        ]

    def wait_for_pod(self, role: str, seconds: float) -> bool:
        """Whether a pod with this role arrived in time."""
        with self.changed:
            return self.changed.wait_for(lambda: bool(self.pods(role)), seconds)


class _Handler(BaseHTTPRequestHandler):
    api: KubernetesApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.partition("?")[0].endswith(("pods", "configmaps", "services", "persistentvolumeclaims")):
            empty = {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
            self._answer(200, empty)
        else:
            self._answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})

    def do_DELETE(self) -> None:
        self._body()
        self._answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def do_POST(self) -> None:
        self._keep(201)

    def do_PATCH(self) -> None:
        self._keep(200)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _keep(self, status: int) -> None:
        manifest = yaml.safe_load(self._body())  # of which JSON is a part
        with self.api.changed:
            self.api.sent.append(manifest)
            self.api.changed.notify_all()
        given = {"uid": str(uuid4()), "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
        self._answer(status, {**manifest, "metadata": {**manifest["metadata"], **given}})

    def _answer(self, status: int, content: Manifest) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Writes nothing."""


@contextmanager
def kubernetes_api() -> Iterator[KubernetesApi]:
    """Starts a server on loopback."""
    handler = type("Handler", (_Handler,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        api = KubernetesApi(f"http://127.0.0.1:{server.server_port}")
        handler.api = api  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
