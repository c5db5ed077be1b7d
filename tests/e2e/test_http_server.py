"""Through a real server and real sockets: large and chunked bodies, waiting reads, many callers at once."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from api.app import create_app
from api.settings import read_settings
from api.wiring import Services, open_services
from graph.ports import Finding
from ontology.instants import Instant
from ontology.scope import scope_of
from tests.e2e.conftest import fact, problem

BODY_BYTES_MAX = 50_000
ITEM = fact("mira", "note", "x", valid_from="2026-01-01")


@contextmanager
def serving(services: Services) -> Iterator[str]:
    config = uvicorn.Config(create_app(services), host="127.0.0.1", port=0, log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Services]:
    store = f"sqlite:///{tmp_path / 'live.db'}"
    settings = read_settings(store=store, body_bytes_max=BODY_BYTES_MAX, position_seconds=0.3, lock_seconds=0.3)
    opened = open_services(settings)
    yield opened
    opened.close()


@pytest.fixture
def url(live: Services) -> Iterator[str]:
    with serving(live) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url, timeout=20) as client:
        yield client


def test_a_fact_is_written_and_read(client: httpx2.Client) -> None:
    receipt = client.post("/v1/claims", json={"items": [ITEM]}).json()
    shown = client.get("/v1/state", params={"subject": "mira", "min_position": receipt["position"]}).json()

    assert [item["value"] for item in shown["items"]] == [{"type": "text", "value": "x"}]


@pytest.mark.parametrize("size", [BODY_BYTES_MAX + 1, 3 * BODY_BYTES_MAX])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_has_a_size_however_it_is_sent(client: httpx2.Client, size: int, chunked: bool) -> None:
    body = json.dumps({"items": [{**ITEM, "value": "x" * size}]}).encode()
    content: Any = (body[at : at + 1000] for at in range(0, len(body), 1000)) if chunked else body

    problem(client.post("/v1/claims", content=content, headers={"content-type": "application/json"}), 413, "too-large")
    assert client.get("/v1/state?subject=mira").json()["items"] == []


def test_a_body_of_the_greatest_size_is_read(client: httpx2.Client) -> None:
    frame = len(json.dumps({"items": [{**ITEM, "value": ""}]}))
    body = json.dumps({"items": [{**ITEM, "value": "x" * (BODY_BYTES_MAX - frame)}]}).encode()

    assert len(body) == BODY_BYTES_MAX
    assert client.post("/v1/claims", content=body, headers={"content-type": "application/json"}).status_code == 200


def test_a_huge_declared_length_is_refused_before_it_is_sent(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(
            b"POST /v1/claims HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 999999999999\r\n\r\n"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_caller_that_goes_away_leaves_no_trace(url: str, client: httpx2.Client) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(
            b"POST /v1/claims HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b'Content-Length: 500\r\n\r\n{"items": ['
        )
    time.sleep(0.1)

    assert client.get("/v1/events").json()["head"] == 0


def test_a_read_waits_for_the_position_that_it_needs(client: httpx2.Client) -> None:
    client.post("/v1/claims", json={"items": [ITEM]})

    def write_later() -> None:
        time.sleep(0.1)
        client.post("/v1/claims", json={"items": [{**ITEM, "value": "y"}]})

    writer = threading.Thread(target=write_later)
    writer.start()
    shown = client.get("/v1/state", params={"subject": "mira", "min_position": 2})
    writer.join()

    assert len(shown.json()["items"]) == 2


def test_a_position_that_does_not_come_is_busy(client: httpx2.Client) -> None:
    waited = client.get("/v1/state", params={"subject": "mira", "min_position": 99})

    assert problem(waited, 503, "store-unavailable")["position"] == 0
    assert int(waited.headers["retry-after"]) >= 1


def test_a_lock_that_cannot_be_had_is_busy_and_nothing_is_written(live: Services, client: httpx2.Client) -> None:
    with live.store.write(scope_of("default")):
        waited = client.post("/v1/claims", json={"items": [ITEM]})

    problem(waited, 503, "store-unavailable")
    assert int(waited.headers["retry-after"]) >= 1
    assert client.get("/v1/state?subject=mira").json()["items"] == []
    assert client.post("/v1/claims", json={"items": [ITEM]}).status_code == 200


def test_where_every_thread_waits_for_the_store_a_request_is_told_so_in_time(
    live: Services, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.threads.TURN_SECONDS", 0.2)
    hangs, threads = threading.Event(), 40

    def hang(now: Instant) -> list[Finding]:
        hangs.wait(60)
        return []

    live.store.check = hang  # type: ignore[method-assign]
    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(client.get, "/readyz") for _ in range(threads)]
        deadline = time.monotonic() + 20
        while (refused := client.get("/v1/state?subject=mira")).status_code == 200:
            assert time.monotonic() < deadline
        problem(refused, 503, "store-unavailable")
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/problems").status_code == 200
        hangs.set()
        assert {each.result().status_code for each in waiting} == {200}
    assert client.get("/v1/state?subject=mira").status_code == 200


def test_many_callers_with_one_key_have_one_effect(client: httpx2.Client) -> None:
    def write(_: int) -> tuple[int, bool]:
        done = client.post("/v1/claims", json={"items": [ITEM]}, headers={"Idempotency-Key": "once"})
        assert done.status_code == 200, done.text
        return done.json()["position"], "idempotency-replayed" in done.headers

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(write, range(32)))

    assert {position for position, _ in done} == {1}
    assert sum(not replayed for _, replayed in done) == 1


def test_a_writer_that_expects_a_version_wins_once(client: httpx2.Client) -> None:
    def write(number: int) -> int:
        item = {**ITEM, "predicate": "counter", "value": number, "expected_version": "none"}
        return client.post("/v1/claims", json={"items": [item]}).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(write, range(16)))

    assert statuses == [200] + [412] * 15


def test_head_gives_the_headers_of_get(client: httpx2.Client) -> None:
    got, head = client.get("/v1/state?subject=mira"), client.head("/v1/state?subject=mira")

    assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", got.headers["etag"])


def test_a_header_or_path_that_is_not_text_is_no_defect(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    odd = ((b"/v1/facts/%ff%fe", b""), (b"/v1/state?subject=%ed%a0%80", b""), (b"/healthz", b"Request-Id: \xff"))
    for line, header in odd:
        with socket.create_connection((host, int(port)), 10) as connection:
            connection.sendall(b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\n%b\r\n\r\n" % (line, header))
            assert connection.recv(50).split()[1] in (b"200", b"400", b"404")
