"""Does the server start with what to try, keep strangers out, say that its port is taken, and stop in order?"""

import json
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
