"""The event streams that a server keeps open: how many there may be, and when there is news for one.

A write of this process wakes the streams of its tenant at once. What other processes write is found by asking the store
for the newest position, once a second for all streams of a tenant together. Nothing is kept for a stream but the fact
that it is there: each reads the log at its own pace, and one that is slow or gone holds up nobody.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final

from api.threads import in_thread
from consolidation.observing import Observer
from ontology.errors import JSON, RateLimited, shown
from ontology.scope import Tenant

if TYPE_CHECKING:
    from api.auth.principals import Principal

POLL_SECONDS: Final = 1.0
"""So late at most a stream sees what another process has written."""
RETRY_SECONDS: Final = 5
"""When a stream that found no place may come again."""


class Seat:
    """The place of one stream, in the event loop that serves it."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Until there may be news, or so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    def wake(self) -> None:
        """From any thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._news.set)


@dataclass(slots=True)
class _Head:
    """What is known of the newest position of a tenant."""

    position: int = 0
    asked_at: float = float("-inf")
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Streams:
    """All streams of a server. `wrote` may come from any thread; the rest belongs to the event loop."""

    def __init__(self, most: int) -> None:
        """At most `most` streams are open, and half of them for one principal, but one at least."""
        self._most = most
        self._each = max(1, most // 2)
        self._seats: dict[Seat, tuple[Tenant, str]] = {}
        self._heads: dict[Tenant, _Head] = {}
        self._lock = Lock()
        self._closed = False

    @property
    def open_now(self) -> int:
        return len(self._seats)

    @property
    def closed(self) -> bool:
        """Whether the server is about to end, and every stream with it."""
        return self._closed

    @contextmanager
    def seat(self, principal: "Principal") -> Iterator[Seat]:
        """A place for the length of a block. Raises `RateLimited` where there is none."""
        who = principal.tenant, principal.name
        seat = Seat(principal.tenant)
        with self._lock:
            full = len(self._seats) >= self._most
            if full or Counter(self._seats.values())[who] >= self._each:
                told = f"{self._most} event streams" if full else f"{self._each} event streams of {shown(who[1])}"
                raise RateLimited(
                    f"{told} are open already, as many as there may be",
                    remedy="close one, or raise VIGENCIA_STREAMS_MAX", retry_after=RETRY_SECONDS,
                )  # fmt: skip
            self._seats[seat] = who
        try:
            yield seat
        finally:
            with self._lock:
                del self._seats[seat]
                if all(each.tenant != seat.tenant for each in self._seats):
                    self._heads.pop(seat.tenant, None)

    async def head(self, tenant: Tenant, read: Callable[[], int]) -> int:
        """The newest position of a tenant, a second old at most; `read` is asked by one stream for all of them."""
        with self._lock:
            known = self._heads.setdefault(tenant, _Head())
        async with known.turn:
            asked_at = time.monotonic()
            if asked_at - known.asked_at >= POLL_SECONDS:
                position = await in_thread(read)
                known.position = max(known.position, position)  # a write may have been told meanwhile
                known.asked_at = asked_at
        return known.position

    def close(self) -> None:
        """Let every stream end soon, and none begin."""
        self._closed = True
        self._wake(None)

    # ---- as an observer of the writers

    def wrote(self, tenant: Tenant, receipt: Mapping[str, JSON]) -> None:
        position = receipt.get("position")
        with self._lock:
            known = self._heads.get(tenant)
            if known is not None and isinstance(position, int):
                known.position = max(known.position, position)
        self._wake(tenant)

    def refused(self, slug: str) -> None:
        pass

    def _wake(self, tenant: Tenant | None) -> None:
        if self._seats:
            with self._lock:
                seats = [seat for seat in self._seats if tenant in (None, seat.tenant)]
            for seat in seats:
                seat.wake()


_conforms: type[Observer] = Streams
