"""How an event stream looks on the wire: Server-Sent Events (WHATWG HTML, 9.2)."""

from typing import Final

import orjson

from api.wire.rendering import Wire

MEDIA_TYPE: Final = "text/event-stream"
RETRY_MILLISECONDS: Final = 3_000

RESET: Final = "reset"
"""The name of the event after which nothing that was held before may be relied upon."""


def opening(position: int) -> bytes:
    """The first words: when to come again, and where to go on then, though nothing has happened yet."""
    return f"retry: {RETRY_MILLISECONDS}\nid: {position}\n\n".encode()


def message(position: int, data: Wire) -> bytes:
    """A transaction."""
    return b"id: %d\ndata: %b\n\n" % (position, orjson.dumps(data))


def reset(position: int, reason: str, data: Wire | None = None) -> bytes:
    """What the client holds may be wrong: it reads anew, and goes on from `position`."""
    told = {**(data or {}), "position": position, "reason": reason}
    return b"event: %b\nid: %d\ndata: %b\n\n" % (RESET.encode(), position, orjson.dumps(told))


def heartbeat(position: int) -> bytes:
    """That the server is there; and, without waking anybody, up to where there is nothing to tell."""
    return f": {position}\nid: {position}\n\n".encode()
