"""A small server that speaks the OpenAI chat protocol and answers what a test tells it to."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tests.local_server import Handler, LocalServer

Answer: TypeAlias = tuple[int, dict[str, Any]] | Callable[[], tuple[int, dict[str, Any]]]
"""A status and a body, or what gives them when the request is there."""


class ChatServer(LocalServer):
    """Gives the answers in their order, the last one again and again, and keeps the requests."""

    def __init__(self, answers: list[Answer]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answers = answers
        server = self

        class Chat(Handler):
            def told(self, request: Any) -> tuple[int, bytes, Mapping[str, str]]:
                server.requests.append(request)
                given = server._answers[min(len(server.requests), len(server._answers)) - 1]
                status, body = given() if callable(given) else given
                return status, json.dumps(body).encode(), {"Content-Type": "application/json"}

        super().__init__(Chat)


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
