"""Threads for what waits: as many as the pool has, and an error in time where all of them wait already."""

from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from anyio import move_on_after
from anyio.to_thread import current_default_thread_limiter
from starlette.concurrency import run_in_threadpool

from ontology.errors import Busy

TURN_SECONDS: Final = 5.0
"""How long a request waits for a thread."""

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `action` gives in a thread of the pool. Raises `Busy` where none is free in time: all wait for the store."""
    if current_default_thread_limiter().available_tokens > 0:
        return await run_in_threadpool(action, *args, **kwargs)
    with move_on_after(TURN_SECONDS):  # cuts the wait alone: what runs in a thread is not cancelled
        return await run_in_threadpool(action, *args, **kwargs)
    raise Busy(f"every thread of the server was taken for {TURN_SECONDS:g} s; nothing was done")
