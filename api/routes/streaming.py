"""The log as it grows: one event stream, from its first word to its end.

It ends when its caller goes away or reads too slowly, may not read any more, or the server ends; a client comes again
by itself and goes on where it was. Nothing is read from the store before the caller is known anew.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from anyio import CancelScope, create_task_group, fail_after
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api.auth.permission import Permitted
from api.requests import STREAMED
from api.routes.call import Call
from api.streams import POLL_SECONDS, Seat
from api.threads import in_thread
from api.wire import frames
from graph.ports import Reader
from ontology.errors import Busy, Forbidden, Unavailable
from ontology.grants import Grant

HEARTBEAT_SECONDS: Final = 15.0
RECHECK_SECONDS: Final = 5.0
"""So late at most a stream without news ends whose key was revoked; no news is sent a second after that."""
SEND_SECONDS: Final = 20.0
"""How long a client may take to read what it was sent."""
PAGE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of the log as frames, and the position up to which it goes."""

    frames: list[bytes]
    position: int


ReadPage = Callable[[Reader, int, int], Page]
"""What follows a position, at most so many events."""


class EventStream(Response):
    """An answer that goes on: what is committed after a position, as it is committed."""

    def __init__(
        self, call: Call, namespace: str, purpose: str, first: list[bytes], after: int, read: ReadPage
    ) -> None:
        """`first` are the frames that are sent at once; `read` gives those that follow `after`."""
        super().__init__(media_type=frames.MEDIA_TYPE, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._call = call
        self._where = namespace, purpose
        self._first = first
        self._position = after
        self._read = read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[STREAMED] = True
        with self._call.services.streams.seat(self._call.principal) as seat:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with create_task_group() as group:
                group.start_soon(_until_gone, receive, group.cancel_scope)
                try:
                    await self._run(seat, send)
                    with fail_after(SEND_SECONDS):
                        await send({"type": "http.response.body", "body": b"", "more_body": False})
                except TimeoutError:
                    pass  # it reads too slowly, or is gone without a word: the connection is cut
                group.cancel_scope.cancel()

    async def _run(self, seat: Seat, send: Send) -> None:
        """Raises `TimeoutError` where the client does not take what it is sent."""
        streams = self._call.services.streams
        await _put(send, *self._first)
        told_at = checked_at = time.monotonic()
        try:
            while not streams.closed:
                now = time.monotonic()
                if await streams.head(seat.tenant, self._head) > self._position:
                    page = await in_thread(self._next)
                    checked_at, moved = now, page.position > self._position
                    self._position = page.position
                    if page.frames:
                        await _put(send, *page.frames)
                        told_at = now
                    if moved:
                        continue
                elif now - checked_at >= RECHECK_SECONDS:
                    await in_thread(self._permitted)
                    checked_at = now
                if now - told_at >= HEARTBEAT_SECONDS:
                    await _put(send, frames.heartbeat(self._position))
                    told_at = now
                await seat.wait(POLL_SECONDS)
        except (Forbidden, Busy, Unavailable):
            return  # its caller may not read here any more, or nobody can tell: it asks again, and is told

    def _head(self) -> int:
        with self._call.read(self._permitted()) as reader:
            return reader.head.position

    def _next(self) -> Page:
        with self._call.read(self._permitted()) as reader:
            return self._read(reader, self._position, PAGE)

    def _permitted(self) -> Permitted:
        self._call.again()
        return self._call.scope(*self._where, needs=Grant.READ)


async def _put(send: Send, *parts: bytes) -> None:
    with fail_after(SEND_SECONDS):
        await send({"type": "http.response.body", "body": b"".join(parts), "more_body": True})


async def _until_gone(receive: Receive, stream: CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.cancel()
