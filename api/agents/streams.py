"""The standard streams as bytes: lines of any length come in, whole messages go out, and neither waits for the other.

Both are spoken to by their descriptors. What Python buffers for stdin is locked while a thread reads, and the
interpreter aborts if that lock is taken when it ends; and what anything prints must not get among the messages.
"""

import os
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Final

import anyio
from anyio.from_thread import BlockingPortal
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from api.agents.messages import SEEN_BYTES

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
LINES_WAITING: Final = 16
_READ_BYTES: Final = 65_536


class TooLongLine:
    """A line of which only the beginning and the end were kept."""

    def __init__(self, head: bytes, tail: bytes) -> None:
        self.head = head
        self.tail = tail


Line = bytes | TooLongLine


class Cutter:
    """Makes lines of pieces, and keeps of each line `bytes_max` at most."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._pieces: list[bytes] = []
        self._count = 0
        self._long: TooLongLine | None = None

    def lines(self, piece: bytes) -> Iterator[Line]:
        """The lines that end in the next piece; empty ones say nothing, and are none."""
        *whole, rest = piece.split(b"\n")
        for part in whole:
            self._add(part)
            yield from self.last()
        self._add(rest)

    def last(self) -> Iterator[Line]:
        """What has come of a line that ends here."""
        line: Line = self._long or b"".join(self._pieces)
        self._pieces, self._count, self._long = [], 0, None
        if isinstance(line, TooLongLine) or line.strip():
            yield line

    def _add(self, part: bytes) -> None:
        self._count += len(part)
        if self._long is not None:
            self._long.tail = (self._long.tail + part)[-SEEN_BYTES:]
            return
        self._pieces.append(part)
        if self._count > self._bytes_max:
            known = b"".join(self._pieces)
            self._long, self._pieces = TooLongLine(known[:SEEN_BYTES], known[-SEEN_BYTES:]), []


class Lines:
    """The lines of stdin, read in a thread of its own.

    The pool's threads are waited for at the end, and one that waits for a line ends only with the next line.
    """

    def __init__(self, portal: BlockingPortal, bytes_max: int) -> None:
        streams = anyio.create_memory_object_stream[Line](LINES_WAITING)
        self._send: MemoryObjectSendStream[Line] = streams[0]
        self._receive: MemoryObjectReceiveStream[Line] = streams[1]
        self._portal = portal
        self._cutter = Cutter(bytes_max)
        threading.Thread(target=self._read, name="vigencia-stdin", daemon=True).start()

    def __aiter__(self) -> AsyncIterator[Line]:
        return self._receive

    def close(self) -> None:
        """Take no more."""
        self._receive.close()

    def _read(self) -> None:
        # what the portal and the stream raise once the server has ended before its client
        with suppress(RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while piece := _piece():
                for line in self._cutter.lines(piece):
                    self._portal.call(self._send.send, line)
            for line in self._cutter.last():
                self._portal.call(self._send.send, line)
            self._portal.call(self._send.aclose)


def _piece() -> bytes:
    try:
        return os.read(STDIN, _READ_BYTES)
    except OSError:  # closed, or a terminal that has gone
        return b""


@contextmanager
def messages_out() -> Iterator[int]:
    """The descriptor for messages, which is stdout; meanwhile whatever is printed goes to the log, on stderr.

    It stays open: a thread may still wait for somebody to read, and must not get another file under that number.
    """
    private = os.dup(STDOUT)
    try:
        _divert()
        yield private
    finally:
        os.dup2(private, STDOUT)


def _divert() -> None:
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:  # there is no stderr
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STDOUT)
        os.close(nowhere)


class Messages:
    """What is written to a pipe, by a thread of its own: nobody may ever read it, and the pool's are waited for."""

    def __init__(self, portal: BlockingPortal, descriptor: int) -> None:
        self._portal = portal
        self._descriptor = descriptor
        self._waiting: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="vigencia-stdout", daemon=True).start()

    async def write(self, content: bytes) -> None:
        """Write all of it, behind what was given before. Raises `OSError` where nobody reads any more."""
        message = _Message(content)
        self._waiting.put(message)
        await message.written.wait()
        if message.failed is not None:
            raise message.failed

    def _write(self) -> None:
        with suppress(RuntimeError, CancelledError):  # what the portal raises once the server has ended
            while True:
                message = self._waiting.get()
                try:
                    left = memoryview(message.content)
                    while left:
                        left = left[os.write(self._descriptor, left) :]
                except OSError as exc:
                    message.failed = exc
                self._portal.call(message.written.set)


class _Message:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.written = anyio.Event()
        self.failed: OSError | None = None
