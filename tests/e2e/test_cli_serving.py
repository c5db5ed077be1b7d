"""Does the server start with what to try, keep strangers out, say that its port is taken, and stop in order?"""

import http.client
import json
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.command_line import CommandLine, Running


@pytest.fixture
def vigencia(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


class Server:
    """A server that runs."""

    def __init__(self, running: Running) -> None:
        self.running = running
        told = running.told(lambda line: line.startswith("vigencia serves"))
        self.url = next(word.rstrip(";") for line in told for word in line.split() if word.startswith("http://"))

    def get(self, path: str, **headers: str) -> Any:
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def text(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return str(answer.read(), "utf-8")


@contextmanager
def serving(vigencia: CommandLine, *flags: str, host: str = "127.0.0.1") -> Iterator[Server]:
    running = vigencia.start("serve", "--host", host, "--port", "0", *flags)
    try:
        server = Server(running)
        _wait(server)
        yield server
    finally:
        running.stop()


def _wait(server: Server) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        try:
            server.get("/healthz")
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server does not answer")


def test_the_demonstration_is_served_and_what_to_try_is_printed(vigencia: CommandLine) -> None:
    with serving(vigencia, "--demo") as server:
        [fact] = server.get("/v1/state?subject=mira&predicate=passport_deadline")["items"]
        assert fact["value"]["value"] == "2026-06-30"
        server.running.interrupt()
        done = server.running.end()
    assert done.code == 0
    assert done.out == ""
    curls = [line.strip() for line in done.err.splitlines() if line.strip().startswith("curl ")]
    assert len(curls) == 3
    assert all(server.url in line for line in curls)
    assert done.err.rstrip().endswith("stopped")
    assert (vigencia.folder / "vigencia.db").is_file()


def test_without_the_demonstration_the_store_is_empty(vigencia: CommandLine) -> None:
    with serving(vigencia) as server:
        assert server.get("/v1/state?subject=mira")["items"] == []


def test_the_demonstration_is_recorded_once_and_only_in_an_empty_store(vigencia: CommandLine) -> None:
    vigencia("remember", "ada", "note", "mine")
    with serving(vigencia, "--demo") as server:
        assert server.get("/v1/state?subject=mira")["items"] == []


def test_sigterm_stops_in_order_too(vigencia: CommandLine) -> None:
    with serving(vigencia) as server:
        server.running.process.terminate()
        done = server.running.end()
    assert done.code == 0
    assert vigencia("doctor").code == 0


def test_the_server_and_the_command_line_share_the_store(vigencia: CommandLine) -> None:
    with serving(vigencia) as server:
        assert vigencia("remember", "ada", "note", "from the command line").code == 0
        [fact] = server.get("/v1/state?subject=ada")["items"]
        assert fact["value"]["value"] == "from the command line"
        assert vigencia("state", "ada", "--json").document["items"] == [fact]


def test_a_taken_port_is_told_with_what_to_do(vigencia: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = vigencia("serve", "--port", str(port))
    assert done.code == 7
    assert f"127.0.0.1:{port}" in done.err
    assert "--port" in done.err


def test_off_loopback_keys_are_required(vigencia: CommandLine) -> None:
    done = vigencia("serve", "--host", "0.0.0.0", "--port", "0")
    assert done.code == 2
    assert "vigencia keys create" in done.err
    assert not (vigencia.folder / "vigencia.db").exists()


def test_a_file_of_keys_that_cannot_be_used_stops_the_start(vigencia: CommandLine) -> None:
    done = vigencia.run("serve", "--port", "0", "--keys-file", "nowhere.yaml")
    assert done.code == 2
    assert "nowhere.yaml" in done.err


def test_with_keys_each_key_sees_its_tenant(vigencia: CommandLine) -> None:
    keys = [
        {"key": "vg_0123456789abcdef", "tenant": "acme", "principal": "ada"},
        {"key": "vg_fedcba9876543210", "tenant": "other", "principal": "bob"},
    ]
    (vigencia.folder / "keys.yaml").write_text(json.dumps(keys))
    vigencia("remember", "ada", "note", "ours", "--tenant", "acme")
    with serving(vigencia, "--keys-file", "keys.yaml", host="0.0.0.0") as server:
        server.url = server.url.replace("0.0.0.0", "127.0.0.1")
        with pytest.raises(urllib.error.HTTPError) as refused:
            server.get("/v1/state?subject=ada")
        assert refused.value.code == 401
        refused.value.close()
        mine = server.get("/v1/state?subject=ada", Authorization="Bearer vg_0123456789abcdef")
        assert len(mine["items"]) == 1
        theirs = server.get("/v1/state?subject=ada", Authorization="Bearer vg_fedcba9876543210")
        assert theirs["items"] == []


def test_a_folder_that_is_not_there_is_told(vigencia: CommandLine) -> None:
    done = vigencia.run("serve", "--port", "0", "--store", "sqlite:////nowhere/at/all.db")
    assert done.code == 7
    assert "/nowhere/at" in done.err
    assert "waiting" not in done.err


def test_a_server_that_is_away_is_waited_for_and_then_given_up(vigencia: CommandLine) -> None:
    vigencia.environment["VIGENCIA_STORE_WAIT_SECONDS"] = "1.5"
    vigencia.environment["NEO4J_PASSWORD"] = "hush-hush"
    done = vigencia.run("serve", "--port", "0", "--store", "bolt://127.0.0.1:1")
    assert done.code == 7
    waiting, *_, problem, remedy = done.err.splitlines()
    assert re.match(
        r"\S+ \S+ WARNING vigencia.api.wiring: waiting up to \d s for the store bolt://127.0.0.1:1 ", waiting
    )
    assert problem.startswith(
        "store-unavailable: the store bolt://127.0.0.1:1 (database neo4j) did not answer within 1.5 s"
    )
    assert "try again" in remedy
    assert "hush" not in done.err


def test_while_it_waits_for_the_store_nobody_is_let_in_and_sigterm_ends_it(vigencia: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    running = vigencia.start("serve", "--port", str(port), "--store", "bolt://127.0.0.1:1")
    try:
        running.told(lambda line: "waiting" in line)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 5)
        running.process.terminate()
        assert running.end().code == 130
    finally:
        running.stop()


@contextmanager
def asked(server: Server, path: str, **headers: str) -> Iterator["Future[tuple[int, bytes]]"]:
    """A request that is under way in a block."""

    def ask() -> tuple[int, bytes]:
        request = urllib.request.Request(server.url + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as exc:
            with exc:
                return exc.code, exc.read()

    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(ask)


SLOW: Final = "/v1/state?subject=mira&min_position=99"
"""It waits for VIGENCIA_POSITION_SECONDS."""


def wait_until_asked(server: Server, requests: int) -> None:
    """Until so many streams are open."""
    while f"vigencia_event_streams {requests}.0" not in server.text("/metrics"):
        time.sleep(0.05)


def test_what_was_asked_before_the_end_is_answered_and_a_stream_ends_at_once(vigencia: CommandLine) -> None:
    vigencia.environment |= {"VIGENCIA_POSITION_SECONDS": "3"}
    with serving(vigencia) as server:
        with asked(server, SLOW) as slow, asked(server, "/v1/events", Accept="text/event-stream") as stream:
            wait_until_asked(server, 1)
            time.sleep(0.5)
            server.running.process.terminate()
            status, words = stream.result()
            assert not slow.done()
            assert (status, words.startswith(b"retry: ")) == (200, True)
            status, body = slow.result()
            assert (status, json.loads(body)["type"]) == (503, "/problems/store-unavailable")
        assert server.running.end().code == 0


def test_what_takes_longer_than_it_may_is_cut_off_at_the_end(vigencia: CommandLine) -> None:
    vigencia.environment |= {"VIGENCIA_POSITION_SECONDS": "50", "VIGENCIA_DRAIN_SECONDS": "1"}
    with serving(vigencia) as server, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(server.get, SLOW)
        time.sleep(1)
        server.running.process.terminate()
        done = server.running.end()
        assert not slow.done() or slow.exception() is not None
        assert done.code == 0
        with pytest.raises((OSError, http.client.HTTPException)):
            slow.result()
    assert vigencia("doctor").code == 0


def test_the_log_of_a_server_is_lines_of_json_without_a_word_of_memory(vigencia: CommandLine) -> None:
    vigencia.environment |= {"VIGENCIA_LOG_FORMAT": "json", "VIGENCIA_AUDIT_FILE": str(vigencia.folder / "audit.jsonl")}
    pack = vigencia.folder / "pack.yaml"
    pack.write_text("{pack: p, predicates: {diagnosis: {sensitive: true}}}")
    vigencia("remember", "zqx-ada", "diagnosis", "zqx")
    assert vigencia("init", "--pack", pack).code == 0
    running = vigencia.start("serve", "--port", "0")
    try:
        [line] = running.told(lambda line: line.startswith("{"))
        begun = json.loads(line)
        with urllib.request.urlopen(f"{begun['url']}/v1/state?subject=zqx-ada", timeout=60) as answer:
            assert b"zqx" in answer.read()
        running.interrupt()
        done = running.end()
    finally:
        running.stop()
    lines = [json.loads(line) for line in done.err.splitlines()]
    assert [line["message"] for line in lines] == ["the server has begun", "answered", "the server has ended"]
    audit = (vigencia.folder / "audit.jsonl").read_text()
    assert json.loads(audit)["predicate"] == "diagnosis"
    assert "zqx" not in done.err + audit


def test_an_audit_that_cannot_be_kept_stops_the_start(vigencia: CommandLine) -> None:
    vigencia.environment |= {"VIGENCIA_AUDIT_FILE": "nowhere/audit.jsonl"}
    done = vigencia.run("serve", "--port", "0")
    assert done.code == 2
    assert "nowhere/audit.jsonl" in done.err
