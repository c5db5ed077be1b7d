"""A small HTTP server on this machine that a test tells what to answer."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

S = TypeVar("S", bound="LocalServer")


class Handler(BaseHTTPRequestHandler):
    """Takes JSON, and logs nothing."""

    def told(self, request: Any) -> tuple[int, bytes, Mapping[str, str]]:
        """Status, body and headers of the answer to a request."""
        raise NotImplementedError

    def do_POST(self) -> None:
        status, body, headers = self.told(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        with suppress(ConnectionError):  # who timed out is gone
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class LocalServer:
    """Answers on a free port while it runs."""

    def __init__(self, handler: type[Handler]) -> None:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    @contextmanager
    def running(self: S) -> Iterator[S]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()
