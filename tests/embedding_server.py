"""A small server that speaks the OpenAI embeddings protocol: by itself as it should, else as a test tells it to."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.embedding import HashingEmbedder


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    after_seconds: float = 0.0


class EmbeddingServer:
    """Gives the answers in their order, then those of a hashing embedder; keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.embedder = HashingEmbedder()
        self.answers = list(answers)
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(request)
                server.keys.append(self.headers["Authorization"])
                server.paths.append(self.path)
                answer = server.answers.pop(0) if server.answers else server.embedded(request["input"])
                time.sleep(answer.after_seconds)
                with suppress(ConnectionError):  # who timed out is gone
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(answer.body)))
                    self.end_headers()
                    self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def embedded(self, texts: list[str]) -> Answer:
        return answer(self.embedder.embed(texts).tolist())

    @contextmanager
    def running(self) -> Iterator["EmbeddingServer"]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()


def answer(rows: list[Any], *, backwards: bool = False) -> Answer:
    """These vectors, as a server gives them."""
    data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
    return Answer(body=json.dumps({"object": "list", "data": data[::-1] if backwards else data}).encode())
