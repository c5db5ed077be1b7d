"""The places of event streams, and how they learn that there is news."""

import asyncio
import time
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any

import pytest

from api.streams import POLL_SECONDS, Streams
from ontology.errors import RateLimited, Unavailable
from ontology.scope import Tenant
from tests.unit.test_rates import ANN, principal

BEN = principal("ben")
ACME = Tenant("acme")


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


def test_there_are_so_many_places_and_half_of_them_for_one() -> None:
    async def test() -> None:
        streams = Streams(4)
        with ExitStack() as taken:
            taken.enter_context(streams.seat(ANN))
            taken.enter_context(streams.seat(ANN))
            with pytest.raises(RateLimited, match="2 event streams of 'ann'"), streams.seat(ANN):
                pass
            taken.enter_context(streams.seat(BEN))
            taken.enter_context(streams.seat(BEN))
            with pytest.raises(RateLimited, match="4 event streams are open"), streams.seat(principal("eve")):
                pass
            assert streams.open_now == 4
        assert streams.open_now == 0
        with streams.seat(ANN):
            pass

    run(test())


def test_a_server_may_have_none() -> None:
    async def test() -> None:
        with pytest.raises(RateLimited, match="0 event streams"), Streams(0).seat(ANN):
            pass

    run(test())


def test_a_write_wakes_the_streams_of_its_tenant_and_tells_how_far_the_log_goes() -> None:
    async def test() -> None:
        streams = Streams(4)
        with streams.seat(ANN) as mine, streams.seat(principal("eve", "other")) as other:
            assert await streams.head(ACME, lambda: 3) == 3
            began = time.monotonic()
            threading_write = asyncio.to_thread(streams.wrote, ACME, {"position": 7})
            await asyncio.gather(mine.wait(20), threading_write)
            assert time.monotonic() - began < 10
            assert await streams.head(ACME, lambda: 3) == 7
            began = time.monotonic()
            await other.wait(0.05)
            assert time.monotonic() - began >= 0.04

    run(test())


def test_the_store_is_asked_once_for_all_streams_of_a_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def read() -> int:
        nonlocal asked
        asked += 1
        return asked

    async def test() -> None:
        streams = Streams(20)
        with ExitStack() as taken:
            for _ in range(10):
                taken.enter_context(streams.seat(ANN))
            assert await asyncio.gather(*(streams.head(ACME, read) for _ in range(10))) == [1] * 10
            monkeypatch.setattr("api.streams.POLL_SECONDS", 0.0)
            assert await streams.head(ACME, read) == 2

    assert POLL_SECONDS > 0
    run(test())


def test_what_the_store_cannot_tell_is_asked_again() -> None:
    def away() -> int:
        raise Unavailable("the store is away")

    async def test() -> None:
        streams = Streams(4)
        with streams.seat(ANN):
            with pytest.raises(Unavailable):
                await streams.head(ACME, away)
            assert await streams.head(ACME, lambda: 5) == 5

    run(test())


def test_the_end_wakes_everybody() -> None:
    async def test() -> None:
        streams = Streams(4)
        with streams.seat(ANN) as seat:
            streams.close()
            await seat.wait(20)
            assert streams.closed

    run(test())
