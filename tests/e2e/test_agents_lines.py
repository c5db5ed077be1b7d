"""Does `vigencia mcp` go on after what is no message, and end in order however it is told to?

The client here is nobody's library: lines go into a pipe as they are, and lines come out of one.
"""

import contextlib
import json
import queue
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.e2e.command_line import VIGENCIA, CommandLine

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
ANSWER_SECONDS: Final = 60
SOON: Final = 20
"""Seconds within which a process ends that waits for nothing; it is far less on a machine that has time."""


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    line = CommandLine(tmp_path)
    line.environment["VIGENCIA_WORKER"] = "false"
    return line


class Pipes:
    """A process that speaks over pipes; what it says is read by a thread, unless nobody `reads`."""

    def __init__(self, line: CommandLine, *flags: str, reads: bool) -> None:
        self._log = line.folder / "mcp.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [VIGENCIA, "mcp", *flags], cwd=line.folder, env=line.environment,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        if reads:
            self._reading.start()

    def _read(self) -> None:
        for each in self.stdout:
            self._lines.put(each)

    def send(self, *messages: object) -> None:
        for each in messages:
            self.stdin.write((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n")
        self.stdin.flush()

    def told(self) -> Any:
        """The next message of the server."""
        return json.loads(self._lines.get(timeout=ANSWER_SECONDS))

    def begin(self, version: str = "2025-11-25", **capabilities: Any) -> Any:
        """Shake hands."""
        who = {"name": "pipes", "version": "1"}
        given = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": who}
        self.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": given})
        begun = self.told()["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return begun

    def asked(self, id: object, tool: str, **arguments: Any) -> Any:
        """The result of a call."""
        self.send(call(id, tool, **arguments))
        answer = self.told()
        assert answer["id"] == id, answer
        return answer["result"]

    def log(self) -> str:
        return self._log.read_text()

    def end(self) -> tuple[int, list[Any], str]:
        """The exit code, the messages that nobody has read yet, and the log."""
        code = self.process.wait(ANSWER_SECONDS)
        if self._reading.ident is not None:
            self._reading.join(ANSWER_SECONDS)
        rest = [json.loads(self._lines.get()) for _ in range(self._lines.qsize())]
        return code, rest, self.log()


@contextmanager
def piped(line: CommandLine, *flags: str, reads: bool = True) -> Iterator[Pipes]:
    pipes = Pipes(line, *flags, reads=reads)
    try:
        yield pipes
    finally:
        pipes.process.kill()
        pipes.process.wait()
        for stream in (pipes.stdin, pipes.stdout):
            with contextlib.suppress(OSError):
                stream.close()


def call(id: object, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def note(text: str) -> dict[str, Any]:
    return {"items": [{"subject": "mira", "predicate": "remark", "value": text}]}


def deep(levels: int, *, id_last: bool = False) -> bytes:
    params = b'{"name":"state","arguments":' + b'{"a":' * levels + b"1" + b"}" * levels + b"}"
    head, tail = (b"", b',"id":9') if id_last else (b'"id":9,', b"")
    return b'{"jsonrpc":"2.0",' + head + b'"method":"tools/call","params":' + params + tail + b"}"


def large(count: int, *, id_last: bool = False) -> bytes:
    said = json.dumps(call(9, "remember", **note("@"))).encode()
    if id_last:
        said = said.replace(b'"id": 9, ', b"")[:-1] + b',"id":9}'
    return said.replace(b"@", b"x" * count)


NO_MESSAGES: Final[dict[str, tuple[bytes, int, object]]] = {
    "words": (b"this is no message", PARSE_ERROR, None),
    "half": (b'{"jsonrpc":"2.0","id":9,"method":"tools/list"', PARSE_ERROR, 9),
    "no UTF-8": (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"\xff"}}', PARSE_ERROR, 9),
    "only a byte": (b"\xff\xfe\x00", PARSE_ERROR, None),
    "a lone surrogate": (b'{"jsonrpc":"2.0","id":9,"method":"x","params":{"a":"\\ud800"}}', PARSE_ERROR, 9),
    "deep": (deep(5_000), INVALID_REQUEST, 9),
    "deep, with its id at the end": (deep(20_000, id_last=True), INVALID_REQUEST, 9),
    "deep brackets": (b"[" * 100_000, INVALID_REQUEST, None),
    "an empty batch": (b"[]", INVALID_REQUEST, None),
    "a batch": (b'[{"jsonrpc":"2.0","id":9,"method":"tools/list"}]', INVALID_REQUEST, None),
    "a number": (b"42", INVALID_REQUEST, None),
    "null": (b"null", INVALID_REQUEST, None),
    "nothing in it": (b"{}", INVALID_REQUEST, None),
    "another version": (b'{"jsonrpc":"1.0","id":"nine","method":"tools/list"}', INVALID_REQUEST, "nine"),
    "no method": (b'{"jsonrpc":"2.0","id":9}', INVALID_REQUEST, 9),
    "an id that is none": (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', INVALID_REQUEST, None),
    "an id with a fraction": (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', INVALID_REQUEST, None),
    "an id inside": (b'{"jsonrpc":"2.0","params":{"id":3},"method":4}', INVALID_REQUEST, None),
    "50 MB": (large(50_000_000), INVALID_REQUEST, 9),
    "50 MB, with its id at the end": (large(50_000_000, id_last=True), INVALID_REQUEST, 9),
}


def test_what_is_no_message_is_answered_as_json_rpc_says_and_the_server_goes_on(line: CommandLine) -> None:
    with piped(line) as pipes:
        pipes.begin()
        for what, (sent, code, id) in NO_MESSAGES.items():
            pipes.send(sent)
            answer = pipes.told()
            assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", id, code), (what, answer)
            assert 10 < len(answer["error"]["message"]) < 300, (what, answer)
            assert "xxxx" not in json.dumps(answer)
        pipes.send(b"", b"  ", b"\r")  # an empty line says nothing
        assert pipes.asked(1, "remember", **note("kept"))["structuredContent"]["receipt"]
        pipes.stdin.close()
        code, rest, log = pipes.end()

    assert (code, rest) == (0, [])
    assert "Traceback" not in log
    assert "xxxx" not in log


def test_a_message_comes_in_pieces_and_several_come_in_one(line: CommandLine) -> None:
    with piped(line) as pipes:
        pipes.begin()
        said = json.dumps(call(1, "remember", **note("é"))).encode()
        for at in range(0, len(said), 7):
            pipes.stdin.write(said[at : at + 7])
            pipes.stdin.flush()
        pipes.stdin.write(b"\r\n" + json.dumps(call(2, "state", subject="nobody")).encode() + b"\n")
        pipes.stdin.write(json.dumps(call(3, "state", subject="nobody")).encode())  # the last line has no end
        pipes.stdin.close()
        assert {pipes.told()["id"] for _ in range(3)} == {1, 2, 3}
        assert pipes.end()[0] == 0


def close_stdin(pipes: Pipes) -> None:
    pipes.stdin.close()


def interrupt(pipes: Pipes) -> None:
    pipes.process.send_signal(signal.SIGINT)


def terminate(pipes: Pipes) -> None:
    pipes.process.send_signal(signal.SIGTERM)


ENDINGS: Final[list[Callable[[Pipes], None]]] = [close_stdin, interrupt, terminate]


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda each: each.__name__)
def test_it_ends_soon_and_in_order_while_it_waits(line: CommandLine, ending: Callable[[Pipes], None]) -> None:
    for _ in range(3):  # an abort at the exit does not come every time
        with piped(line) as pipes:
            pipes.begin()
            began = time.monotonic()
            ending(pipes)
            code, rest, log = pipes.end()
        assert (code, rest, time.monotonic() - began < SOON) == (0, [], True), log
        assert "Traceback" not in log
        assert "Fatal" not in log


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda each: each.__name__)
def test_calls_that_run_at_the_end_get_their_answers(line: CommandLine, ending: Callable[[Pipes], None]) -> None:
    with piped(line) as pipes:
        pipes.begin()
        assert not pipes.asked(0, "remember", **note("first")).get("isError")
        writer = sqlite3.connect(line.folder / "vigencia.db", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        pipes.send(*(call(number, "remember", **note(f"n{number}")) for number in range(1, 6)))
        time.sleep(0.5)  # they wait for the lock now
        ending(pipes)
        time.sleep(0.5)
        writer.execute("ROLLBACK")
        writer.close()
        code, answers, log = pipes.end()

    assert code == 0, log
    assert "Traceback" not in log
    assert sorted(each["id"] for each in answers) == [1, 2, 3, 4, 5]
    stored = {f"n{each['id']}" for each in answers if "result" in each and not each["result"].get("isError")}
    assert stored == {"n1", "n2", "n3", "n4", "n5"}
    found = line("state", "mira", "remark", "--json").document["items"]
    assert {item["value"]["value"] for item in found} == {"first", *stored}


def test_what_does_not_end_in_time_is_answered_with_an_error(line: CommandLine) -> None:
    line.environment |= {"VIGENCIA_DRAIN_SECONDS": "1", "VIGENCIA_LOCK_SECONDS": "3"}
    with piped(line) as pipes:
        pipes.begin()
        pipes.asked(0, "remember", **note("first"))
        writer = sqlite3.connect(line.folder / "vigencia.db", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        pipes.send(call(1, "remember", **note("late")))
        time.sleep(0.5)
        pipes.stdin.close()
        code, [answer], log = pipes.end()
        writer.close()

    assert (code, answer["id"]) == (0, 1), log
    assert "error" in answer or answer["result"]["isError"]
    assert "Traceback" not in log


def test_a_client_that_reads_nothing_any_more_does_not_keep_it(line: CommandLine) -> None:
    line.environment["VIGENCIA_DRAIN_SECONDS"] = "1"
    with piped(line, reads=False) as pipes:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        pipes.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello})
        pipes.stdout.readline()
        pipes.send(*({"jsonrpc": "2.0", "id": number, "method": "tools/list"} for number in range(50)))
        time.sleep(0.5)  # the pipe is full by now
        terminate(pipes)
        assert pipes.end()[0] == 0
        assert "Traceback" not in pipes.log()


def test_a_client_that_has_gone_ends_it(line: CommandLine) -> None:
    with piped(line, reads=False) as pipes:
        pipes.stdout.close()
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        pipes.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello})
        assert pipes.end()[0] == 0
        assert "Traceback" not in pipes.log()


@pytest.mark.parametrize("ending", [interrupt, terminate], ids=lambda each: each.__name__)
def test_a_signal_before_it_serves_ends_it_without_a_traceback(
    line: CommandLine, ending: Callable[[Pipes], None]
) -> None:
    line.environment |= {"VIGENCIA_STORE": "neo4j", "NEO4J_URI": "bolt://127.0.0.1:9"}  # which is away
    with piped(line) as pipes:
        deadline = time.monotonic() + ANSWER_SECONDS
        while "waiting" not in pipes.log():
            assert time.monotonic() < deadline, pipes.log()
            time.sleep(0.05)
        ending(pipes)
        code, rest, log = pipes.end()
    assert (code, rest) == (130, []), log
    assert "Traceback" not in log


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the descriptors of a process stand in /proc alone")
def test_what_others_print_does_not_get_into_the_protocol(line: CommandLine) -> None:
    with piped(line) as pipes:
        pipes.begin()
        out, err = (Path(f"/proc/{pipes.process.pid}/fd/{number}").readlink() for number in (1, 2))
        assert out == err


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_forgetting_takes_two_steps_with_every_version_of_the_protocol(line: CommandLine, version: str) -> None:
    with piped(line) as pipes:
        assert pipes.begin(version)["protocolVersion"] == version
        pipes.send({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})
        assert len(pipes.told()["result"]["tools"]) == 10
        said = {"text": "Anna lives in Graz.", "source": "anna"}
        recorded = shown(pipes.asked(1, "remember", **said, items=[{**note("x")["items"][0], "subject": "anna"}]))
        why = pipes.asked(2, "why", subject="anna")
        assert recorded["recorded"]["items"][0]["episode"] in json.dumps(why)

        preview = shown(pipes.asked(3, "forget", subject="anna"))
        assert preview["state"] == "preview"
        assert shown(pipes.asked(4, "state", subject="anna"))["items"]
        wrong = pipes.asked(5, "forget", subject="anna", confirm="0" * 64)
        assert wrong["isError"]
        assert shown(pipes.asked(6, "forget", subject="anna", confirm=preview["manifest"]))["state"] == "forgotten"
        assert "/problems/forgotten" in json.dumps(pipes.asked(7, "state", subject="anna"))


def shown(result: Any) -> Any:
    """The document of an answer, as text: the oldest versions have nothing else."""
    assert not result.get("isError"), result
    return json.loads(result["content"][0]["text"])
