"""Requests per second of `/v1/state` against an empty route of FastAPI, both in a uvicorn of their own."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import world
from benchmarks.figures import Figure, at_least, plain
from benchmarks.sizes import Sizes
from benchmarks.timing import interleaved, tell

_CLIENTS = 4
_HOST = "127.0.0.1"
_SERVE = "from api.cli import main; main()"


def measure(file: Path, facts: int, sizes: Sizes) -> Iterator[Figure]:
    """The same client asks both servers, in turn."""
    tell("requests")
    numbers = [number * 7919 % world.subjects(facts) for number in range(sizes.requests)]
    state = [_request(f"/v1/state?subject={world.subject(number)}&predicate=status") for number in numbers]
    empty = [_request("/v1/state")] * sizes.requests
    store = f"sqlite:///{file}"
    with (
        _server(["-c", _SERVE, "serve", "--quiet", "--host", _HOST, "--store", store, "--port"]) as ours,
        _server(["-m", "benchmarks.empty_server"]) as theirs,
    ):
        if b'"value"' not in _answer(ours, state[0]):
            raise AssertionError("the state has no fact")
        seconds = interleaved({"ours": lambda: _run(ours, state), "bare": lambda: _run(theirs, empty)}, sizes.runs)
    yield plain("requests of /v1/state", 1 / seconds["ours"], "per s")
    yield plain("requests of an empty route", 1 / seconds["bare"], "per s")
    yield at_least("requests of /v1/state against an empty route", seconds["bare"] / seconds["ours"], 0.6)


@contextlib.contextmanager
def _server(command: Sequence[str]) -> Iterator[int]:
    """A server in a process of its own, from when it answers; gives its port."""
    with socket.socket() as free:
        free.bind((_HOST, 0))
        port = int(free.getsockname()[1])
    environment = {**os.environ, "VIGENCIA_READS_PER_MINUTE": "0"}
    process = subprocess.Popen([sys.executable, *command, str(port)], stdout=subprocess.DEVNULL, env=environment)
    try:
        _wait(process, port)
        yield port
    finally:
        process.terminate()
        process.wait(20)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((_HOST, port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"no server on port {port} after a minute")


def _request(target: str) -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: {_HOST}\r\nAccept: application/json\r\n\r\n".encode()


def _answer(port: int, request: bytes) -> bytes:
    with socket.create_connection((_HOST, port), 30) as connection:
        connection.sendall(request)
        return _read(connection)


def _run(port: int, requests: Sequence[bytes]) -> float:
    """Seconds per request of a few clients at once, each on a connection that it keeps."""
    failures: list[BaseException] = []

    def client(mine: Sequence[bytes]) -> None:
        try:
            with socket.create_connection((_HOST, port), 30) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for request in mine:
                    connection.sendall(request)
                    _read(connection)
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=client, args=(requests[n::_CLIENTS],)) for n in range(_CLIENTS)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return (time.perf_counter() - started) / len(requests)


def _read(connection: socket.socket) -> bytes:
    """One response, which must be a 200 with a length."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    lowered = head.lower()
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise AssertionError(head.decode("latin-1"))
    length = int(lowered.partition(b"content-length:")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += _more(connection)
    return body


def _more(connection: socket.socket) -> bytes:
    part = connection.recv(65_536)
    if not part:
        raise ConnectionError("the server closed the connection")
    return part
