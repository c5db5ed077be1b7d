"""The log as a stream: what was missed and what comes, of one scope, without values, as long as its caller may read."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from api.auth.issued import Issuer
from api.routes.events import _page
from api.server import Server
from api.settings import read_settings
from api.wiring import Services, open_services
from consolidation.items import Assert, Said
from graph.ports import Reader
from ontology.events import Event, Kind, Payload
from ontology.scope import scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.e2e.conftest import fact, issued, problem

VALUE = "zqx a value that no stream may tell"
SECONDS_MAX = 60


@contextmanager
def running(services: Services, *, send_buffer: int | None = None) -> Iterator[str]:
    """The server of `vigencia serve`, in a thread; its streams end with it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        if send_buffer is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)  # what is accepted has it too
        server = Server(services)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(SECONDS_MAX)
            assert not thread.is_alive()


@pytest.fixture
def services(address: str, clock: FrozenClock, randomness: SeededRandomness) -> Iterator[Services]:
    settings = read_settings(store=address, streams_max=4, position_seconds=0.1, drain_seconds=10 * SECONDS_MAX)
    opened = open_services(settings, clock, randomness)
    yield opened
    opened.close()


@pytest.fixture
def client(services: Services) -> Iterator[httpx2.Client]:
    with running(services) as url, httpx2.Client(base_url=url, timeout=SECONDS_MAX) as client:
        yield client


@dataclass
class Stream:
    """An open stream, read frame by frame."""

    response: httpx2.Response
    lines: Iterator[str]

    def frame(self) -> dict[str, str]:
        """The next frame, by field; a comment stands under an empty name. Raises `StopIteration` at the end."""
        fields: dict[str, str] = {}
        while line := next(self.lines):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        return fields

    def event(self) -> dict[str, Any]:
        """The next transaction."""
        frame = self.frame()
        while "data" not in frame:
            frame = self.frame()
        document: dict[str, Any] = json.loads(frame["data"])
        assert frame["id"] == str(document["position"])
        return {**document, "name": frame.get("event", "message")}

    def is_over(self) -> bool:
        """Whether it ends, with nothing more of any event."""
        try:
            while True:
                assert "data" not in self.frame()
        except (StopIteration, httpx2.RemoteProtocolError):
            return True


@contextmanager
def streaming(client: httpx2.Client, headers: dict[str, str] | None = None, **query: str | int) -> Iterator[Stream]:
    accept = {"Accept": "text/event-stream", **(headers or {})}
    with client.stream("GET", "/v1/events", params=query, headers=accept) as response:
        if response.status_code != 200:
            response.read()
        yield Stream(response, response.iter_lines())


def write(client: httpx2.Client, subject: str = "mira", value: str = VALUE, **body: object) -> int:
    item = fact(subject, "note", value, valid_from="2026-01-01")
    done = client.post("/v1/claims", json={"items": [item], **body})
    assert done.status_code == 200, done.text
    return int(done.json()["position"])


def test_a_stream_gives_what_was_missed_and_then_what_comes(client: httpx2.Client) -> None:
    write(client)
    with streaming(client, after=0) as stream:
        assert stream.response.headers["content-type"].startswith("text/event-stream")
        assert stream.response.headers["x-accel-buffering"] == "no"
        assert stream.frame() == {"retry": "3000", "id": "0"}
        assert stream.event()["position"] == 1
        for position in (2, 3):
            assert write(client, value=f"{VALUE} {position}") == position
            event = stream.event()
            assert (event["position"], event["name"], event["kind"]) == (position, "message", "write")
            assert event["claims"]
    page = client.get("/v1/events", params={"after": 1}).json()["items"]
    assert [item["position"] for item in page] == [2, 3]
    assert page[-1] == {name: value for name, value in event.items() if name != "name"}


def test_a_stream_without_a_position_begins_now(client: httpx2.Client) -> None:
    write(client)
    with streaming(client) as stream:
        assert stream.frame() == {"retry": "3000", "id": "1"}
        write(client, value="later")
        assert stream.event()["position"] == 2


def test_the_last_id_counts_before_the_query(client: httpx2.Client) -> None:
    for number in range(3):
        write(client, value=f"{number}")
    with streaming(client, {"Last-Event-ID": "2"}, after=0) as stream:
        assert stream.event()["position"] == 3


def test_only_ids_of_the_own_scope_are_told_and_no_value(client: httpx2.Client) -> None:
    write(client, subject="somebody-zqx", purpose="health")
    write(client, subject="mira-zqx")
    with streaming(client, after=0) as stream:
        first, second = stream.frame(), stream.frame()
        assert second["id"] == "1"  # it brought the schema, which is for all of the tenant
        assert json.loads(second["data"])["principal"] is None
        third = stream.frame()
        assert third["id"] == "2"
        told = json.dumps([first, second, third])
        assert "zqx" not in told
        assert json.loads(second["data"])["claims"] == []
        write(client, subject="nobody", purpose="health")
        write(client, value="more")
        assert stream.event()["position"] == 4


def test_kinds_are_chosen_and_erasures_are_told_to_all(client: httpx2.Client) -> None:
    write(client)
    client.post("/v1/claims", json={"items": [{"op": "erase", "subject": "mira", "predicate": "note"}]})
    write(client, value="again")
    with streaming(client, after=0, kinds="schema,import") as stream:
        erased = stream.event()
        assert (erased["name"], erased["reason"], erased["position"]) == ("reset", "erased", 2)
    with streaming(client, after=0, kinds="write") as stream:
        assert [stream.event()["position"] for _ in range(3)] == [1, 2, 3]
    page = client.get("/v1/events", params={"kinds": "erase", "limit": 2}).json()
    assert ([item["position"] for item in page["items"]], page["next_after"]) == ([2], 2)
    refused = problem(client.get("/v1/events", params={"kinds": "wriite"}), 400, "invalid-request")
    assert [error["pointer"] for error in refused["errors"]] == ["/kinds"]


def test_what_is_forgotten_is_told_in_every_purpose_of_the_namespace_and_in_no_other(
    client: httpx2.Client,
) -> None:
    write(client)
    write(client, purpose="health")
    with streaming(client) as here, streaming(client, purpose="health") as there:
        here.frame(), there.frame()
        preview = client.post("/v1/forget", json={"subject": "mira"}).json()
        done = client.post("/v1/forget", json={"subject": "mira", "confirm": preview["manifest"]}).json()
        for stream in (here, there):
            told = stream.event()
            assert (told["name"], told["reason"], told["kind"]) == ("reset", "forgotten", "forget")
            assert told["tombstones"] == [done["tombstone"]]
    with streaming(client, namespace="other", after=0) as elsewhere:
        write(client, subject="eve", namespace="other")
        assert [elsewhere.event()["position"] for _ in range(2)] == [1, 4]
    assert 'vigencia_results_total{result="forgotten"} 1.0' in client.get("/metrics").text


def test_a_client_that_knows_more_than_there_is_begins_anew(client: httpx2.Client) -> None:
    write(client)
    with streaming(client, {"Last-Event-ID": "99"}) as stream:
        assert stream.frame() == {"retry": "3000", "id": "1"}
        told = stream.event()
        assert (told["name"], told["reason"], told["position"]) == ("reset", "ahead", 1)
        write(client, value="more")
        assert stream.event()["position"] == 2


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "9" * 40, "\xb2"])
def test_what_is_no_position_is_refused(client: httpx2.Client, given: str) -> None:
    headers = {"Accept": "text/event-stream", "Last-Event-ID": given.encode("latin-1")}
    refused = problem(client.get("/v1/events", headers=headers), 400, "invalid-request")  # type: ignore[arg-type]
    assert [error["code"] for error in refused["errors"]] == ["bad_position"]


def test_events_that_are_missing_are_told(client: httpx2.Client, services: Services) -> None:
    for number in range(3):
        write(client, value=f"{number}")

    class Holed:
        """A log that has lost an event."""

        def __init__(self, reader: Reader) -> None:
            self.scope, self._reader = reader.scope, reader

        def events(self, *, after: int, limit: int) -> list[tuple[Event, tuple[Payload, ...]]]:
            return [each for each in self._reader.events(after=after, limit=limit) if each[0].position != 2]

    with services.store.read(scope_of("default")) as reader:
        page = _page(Holed(reader), frozenset(Kind), 0, 50)  # type: ignore[arg-type]
    assert page.position == 3
    assert [frame.startswith(b"event: reset\nid: 2\n") for frame in page.frames] == [False, True, False]
    assert b'"gap"' in page.frames[1]


def test_what_another_process_writes_is_seen(client: httpx2.Client, services: Services) -> None:
    with streaming(client, after=0) as stream:
        stream.frame()
        elsewhere = open_services(services.settings, services.clock, services.randomness)
        item = Assert(subject="mira", predicate="note", value="x", said=Said(valid_from="2026-01-01"))
        elsewhere.writer.write(scope_of("default"), "person", [item])
        elsewhere.close()
        assert stream.event()["principal"] == "person"


def test_a_heartbeat_says_how_far_there_is_nothing(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.routes.streaming.HEARTBEAT_SECONDS", 0.1)
    with streaming(client, after=0) as stream:
        stream.frame()
        write(client, purpose="health")
        stream.frame()
        write(client, purpose="health", value="more")
        while (beat := stream.frame())["id"] != "2":
            assert "data" not in beat
        assert set(beat) == {"", "id"}


def test_who_may_not_read_gets_no_stream(client: httpx2.Client, services: Services) -> None:
    headers = issued(services, "ann", "notes:read", tenant="default")

    with streaming(client, headers) as stream:
        problem(stream.response, 403, "missing-role")
    with streaming(client) as stream:
        problem(stream.response, 401, "unauthenticated")
    with streaming(client, headers, namespace="notes") as stream:
        assert stream.response.status_code == 200


def test_the_stream_of_a_revoked_key_ends_with_nothing_more_told(
    client: httpx2.Client, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.routes.streaming.RECHECK_SECONDS", 0.1)
    monkeypatch.setattr("api.auth.authentication.REMEMBERED_SECONDS", 0.0)
    headers = issued(services, "ann", "*:read", tenant="default")
    prefix = headers["Authorization"].removeprefix("Bearer vg_").partition("_")[0]
    with streaming(client, headers) as stream:
        stream.frame()
        Issuer(services.store, services.clock, services.randomness, "default", "person").revoke(prefix)
        assert stream.is_over()
    with streaming(client, headers) as stream:
        problem(stream.response, 401, "unauthenticated")


def test_there_are_so_many_streams_and_one_that_is_closed_makes_room(client: httpx2.Client, services: Services) -> None:
    with streaming(client) as first, streaming(client) as second:
        first.frame(), second.frame()
        with streaming(client) as third:
            problem(third.response, 429, "rate-limited")
            assert int(third.response.headers["retry-after"]) >= 1
    wait_until_closed(services)
    with streaming(client) as fourth:
        assert fourth.response.status_code == 200


def test_a_client_that_is_gone_leaves_its_place(client: httpx2.Client, services: Services) -> None:
    host, port = client.base_url.host, client.base_url.port
    assert port is not None
    with socket.create_connection((host, port), SECONDS_MAX) as connection:
        connection.sendall(b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
        assert services.streams.open_now == 1
    wait_until_closed(services)


def test_a_client_that_does_not_read_is_cut_off_and_holds_up_nobody(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.routes.streaming.SEND_SECONDS", 0.3)
    with running(services, send_buffer=4096) as url, httpx2.Client(base_url=url, timeout=SECONDS_MAX) as client:
        port = client.base_url.port
        assert port is not None
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(("127.0.0.1", port))
            slow.sendall(b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")
            while services.streams.open_now == 0:
                time.sleep(0.01)
            for number in range(8):
                items = [fact(f"s{number}-{index}", "note", "x") for index in range(500)]
                assert client.post("/v1/claims", json={"items": items}).status_code == 200
            wait_until_closed(services)
            write(client)


def test_the_streams_end_with_the_server(services: Services) -> None:
    with ExitStack() as after:
        with running(services) as url:
            client = after.enter_context(httpx2.Client(base_url=url, timeout=SECONDS_MAX))
            stream = after.enter_context(streaming(client))
            stream.frame()
        assert stream.is_over()


def test_head_is_answered_and_ends(client: httpx2.Client) -> None:
    head = client.head("/v1/events", headers={"Accept": "text/event-stream"})

    assert (head.status_code, head.content) == (200, b"")


def wait_until_closed(services: Services) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while services.streams.open_now:
        assert time.monotonic() < deadline
        time.sleep(0.01)
