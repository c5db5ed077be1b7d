"""What one line of a client is: a message, or why it is none, as JSON-RPC answers it.

Whoever sent a request waits for an answer under its id; so the id is looked for in what cannot be read, too.
"""

import json
import re
from dataclasses import dataclass
from typing import Final

import mcp_types as types
from pydantic import ValidationError

SEEN_BYTES: Final = 65_536
"""So much of the beginning and of the end of a line is searched for an id."""

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_LAST_MEMBERS: Final = re.compile(
    rb'[,{]\s*"id"\s*:\s*(?P<id>-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$',
    re.DOTALL,
)
"""Where some clients write it: behind the parameters."""
_ID: Final = re.compile(rb'-?\d{1,18}|"(?:[^"\\]|\\.){0,200}"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a line is no message."""

    answer: types.JSONRPCError


def read_message(line: bytes) -> types.JSONRPCMessage | Refusal:
    """The message that stands in a line, or what is answered to it."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(line.decode("utf-8"), by_name=False)
    except UnicodeDecodeError as exc:
        return _error(line, types.PARSE_ERROR, f"the line is not UTF-8 at byte {exc.start}; send UTF-8")
    except ValidationError as exc:
        return _refused(line, exc)
    if isinstance(message, types.JSONRPCNotification) and b'"id"' in line and "id" in json.loads(line):
        return _error(line, types.INVALID_REQUEST, "the id of a request is a text or an integer; give it such a one")
    return message


def too_long(head: bytes, tail: bytes, bytes_max: int) -> Refusal:
    """The answer to a line of more than `bytes_max`, of which the beginning and the end are known."""
    detail = f"the message has more than {bytes_max} bytes; split what it says, or raise VIGENCIA_BODY_BYTES_MAX"
    return _answer(_id_in(head) or _id_at_end(tail), types.INVALID_REQUEST, detail)


def _refused(line: bytes, exc: ValidationError) -> Refusal:
    first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
    if first["type"] == "json_invalid":
        if "recursion limit" in first["msg"]:
            return _error(line, types.INVALID_REQUEST, "the message is nested too deep to be read; flatten it")
        return _error(line, types.PARSE_ERROR, f"the line is no message, {first['msg']}; send JSON, one message a line")
    if line.lstrip().startswith(b"["):
        return _answer(None, types.INVALID_REQUEST, "a batch is not taken; send its messages one by one, a line each")
    detail = "the line is JSON, but no message of JSON-RPC 2.0; give it 'jsonrpc', 'method' and, to be answered, 'id'"
    return _error(line, types.INVALID_REQUEST, detail)


def _error(line: bytes, code: int, detail: str) -> Refusal:
    found = _id_in(line[:SEEN_BYTES])
    if found is None and len(line) > SEEN_BYTES:
        found = _id_at_end(line[-SEEN_BYTES:])
    return _answer(found, code, detail)


def _answer(id: bytes | None, code: int, detail: str) -> Refusal:
    error = types.ErrorData(code=code, message=detail)
    return Refusal(types.JSONRPCError(jsonrpc="2.0", id=_read_id(id), error=error))


def _read_id(found: bytes | None) -> types.RequestId | None:
    try:
        id: types.RequestId | None = None if found is None else json.loads(found)
        json.dumps(id, ensure_ascii=False).encode()
    except ValueError:  # bytes that are no text, or half a character
        return None
    return id


def _id_in(head: bytes) -> bytes | None:
    """The id of the outermost object, as far as the beginning of a line tells."""
    depth, before, name = 0, b"", b""
    for token in (match[0] for match in _TOKEN.finditer(head)):
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
        elif depth == 1 and before == b":" and name == b'"id"':
            return token if _ID.fullmatch(token) else None
        elif depth == 1 and token == b":":
            name = before
        before = token
    return None


def _id_at_end(tail: bytes) -> bytes | None:
    found = _LAST_MEMBERS.search(tail)
    return None if found is None else found["id"]
