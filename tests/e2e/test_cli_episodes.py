"""Are episodes read by a server, by a worker beside it, and by one that only works off what there is?"""

import json
import signal
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command_line import CommandLine
from tests.e2e.test_cli_serving import Server, serving


@pytest.fixture
def vigencia(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def say(server: Server, *texts: str, wait: int = 0) -> list[dict[str, Any]]:
    body = json.dumps({"episodes": [{"text": text} for text in texts]}).encode()
    headers = {"Content-Type": "application/json", "Prefer": f"wait={wait}"}
    request = urllib.request.Request(server.url + "/v1/episodes", data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        items: list[dict[str, Any]] = json.load(answer)["items"]
        return items


def until_over(server: Server, item: dict[str, Any]) -> dict[str, Any]:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        operation: dict[str, Any] = server.get(f"/v1/operations/{item['operation']}")
        if operation["state"] in ("done", "failed"):
            return operation
        time.sleep(0.1)
    raise AssertionError("nobody reads it")


def test_a_server_reads_what_it_is_told_and_ends_in_order(vigencia: CommandLine) -> None:
    with serving(vigencia) as server:
        (item,) = say(server, "Anna joined Fjordwind.", wait=30)
        operation = until_over(server, item)
        assert operation["state"] == "done", operation
        [fact] = server.get("/v1/state?subject=anna&predicate=member_of")["items"]
        assert fact["value"]["key"] == "fjordwind"
        assert server.get("/readyz")["checks"]["worker"] == "nothing is overdue"
        server.running.process.send_signal(signal.SIGTERM)
        done = server.running.end()
    assert (done.code, done.err.rstrip().endswith("stopped")) == (0, True)


def test_a_worker_reads_beside_a_server_that_does_not_and_ends_on_sigterm(vigencia: CommandLine) -> None:
    vigencia.environment["VIGENCIA_WORKER"] = "false"
    with serving(vigencia) as server:
        first, second = say(server, "Anna joined Fjordwind.", "Bo joined Fjordwind.")
        assert server.get(f"/v1/operations/{first['operation']}")["state"] == "queued"
        assert vigencia("worker", "--drain").out == "2\n"
        assert [server.get(f"/v1/operations/{item['operation']}")["state"] for item in (first, second)] == ["done"] * 2
        assert vigencia("worker", "--drain").out == "0\n"
        running = vigencia.start("worker")
        try:
            running.told(lambda line: line.startswith("vigencia reads the episodes of sqlite:"))
            (third,) = say(server, "Cleo joined Fjordwind.")
            assert until_over(server, third)["state"] == "done"
            running.process.send_signal(signal.SIGTERM)
            done = running.end()
        finally:
            running.stop()
    assert (done.code, done.out, done.err.rstrip().endswith("stopped")) == (0, "", True)
