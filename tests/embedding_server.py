"""A small server that speaks the OpenAI embeddings protocol: by itself as it should, else as a test tells it to."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.embedding import HashingEmbedder
from tests.local_server import Handler, LocalServer


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    after_seconds: float = 0.0


class EmbeddingServer(LocalServer):
    """Gives the answers in their order, then those of a hashing embedder; keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.embedder = HashingEmbedder()
        self.answers = list(answers)
        server = self

        class Embedding(Handler):
            protocol_version = "HTTP/1.1"

            def told(self, request: Any) -> tuple[int, bytes, Mapping[str, str]]:
                server.requests.append(request)
                server.keys.append(self.headers["Authorization"])
                server.paths.append(self.path)
                answer = server.answers.pop(0) if server.answers else server.embedded(request["input"])
                time.sleep(answer.after_seconds)
                return answer.status, answer.body, answer.headers

        super().__init__(Embedding)

    def embedded(self, texts: list[str]) -> Answer:
        return answer(self.embedder.embed(texts).tolist())


def answer(rows: list[Any], *, backwards: bool = False) -> Answer:
    """These vectors, as a server gives them."""
    data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
    return Answer(body=json.dumps({"object": "list", "data": data[::-1] if backwards else data}).encode())
