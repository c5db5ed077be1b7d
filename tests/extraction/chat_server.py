"""A small server that speaks the OpenAI chat protocol and answers what a test tells it to."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Answer: TypeAlias = tuple[int, dict[str, Any]] | Callable[[], tuple[int, dict[str, Any]]]
"""A status and a body, or what gives them when the request is there."""


class ChatServer:
    """Gives the answers in their order, the last one again and again, and keeps the requests."""

    def __init__(self, answers: list[Answer]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answers = answers
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                server.requests.append(json.loads(self.rfile.read(length)))
                given = server._answers[min(len(server.requests), len(server._answers)) - 1]
                status, body = given() if callable(given) else given
                sent = json.dumps(body).encode()
                with suppress(ConnectionError):  # who timed out is gone
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(sent)))
                    self.end_headers()
                    self.wfile.write(sent)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"

    @contextmanager
    def running(self) -> Iterator["ChatServer"]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()


def completion(message: dict[str, Any], finish: str = "stop") -> tuple[int, dict[str, Any]]:
    """A chat completion with one choice."""
    return 200, {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "small",
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def called(arguments: object) -> tuple[int, dict[str, Any]]:
    """A completion that calls the tool for the final result."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": "call_1", "type": "function", "function": {"name": "final_result", "arguments": text}}
    return completion({"content": None, "tool_calls": [call]}, "tool_calls")
