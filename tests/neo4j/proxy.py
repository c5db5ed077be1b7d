"""A wire between driver and server that is cut at chosen moments."""

import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import urlsplit

_RUN: Final = b"\xb3\x10"
_COMMIT: Final = b"\x00\x02\xb0\x12"
"""How the messages begin in Bolt: a structure of so many fields, and its tag."""


class Moment(StrEnum):
    BEFORE_RUN = "before RUN"
    AFTER_RUN = "after RUN"
    """Before its reply, like the last one."""
    BEFORE_COMMIT = "before COMMIT"
    """It was sent, and does not arrive: the driver cannot tell it from the next."""
    AFTER_COMMIT = "after COMMIT"


class Cut(NamedTuple):
    """A connection breaks at the next such moment, or after `skip` of them."""

    moment: Moment
    skip: int = 0
    linger: float = 0.05
    """For how many seconds the server keeps its end of it after what it was sent."""


class Proxy:
    """Forwards connections to a server. `arm` lets it cut the next ones that come to certain moments."""

    def __init__(self, uri: str) -> None:
        address = urlsplit(uri)
        self._target = address.hostname or "127.0.0.1", address.port or 7687
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"bolt://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._armed: list[Cut] = []
        self.cuts: Counter[str] = Counter()
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, *cuts: Cut) -> None:
        """Cut at these moments, one after the other."""
        with self._lock:
            self._armed = list(cuts)

    def disarm(self) -> None:
        self.arm()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
            except OSError:
                return
            threading.Thread(target=self._to_server, args=(client, server), daemon=True).start()
            threading.Thread(target=self._to_client, args=(server, client), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while data := client.recv(65536):
                cut = self._reached(data)
                if cut is None:
                    server.sendall(data)
                    continue
                if cut.moment in (Moment.AFTER_RUN, Moment.AFTER_COMMIT):
                    client.shutdown(socket.SHUT_WR)  # the reply finds nobody
                    server.sendall(data)
                    time.sleep(cut.linger)
                break
        except OSError:
            pass
        _close(client, server)

    def _to_client(self, server: socket.socket, client: socket.socket) -> None:
        try:
            while data := server.recv(65536):
                client.sendall(data)
        except OSError:
            pass
        _close(client, server)

    def _reached(self, data: bytes) -> Cut | None:
        with self._lock:
            if not self._armed:
                return None
            cut = self._armed[0]
            if (_RUN if cut.moment in (Moment.BEFORE_RUN, Moment.AFTER_RUN) else _COMMIT) not in data:
                return None
            if cut.skip:
                self._armed[0] = cut._replace(skip=cut.skip - 1)
                return None
            del self._armed[0]
            self.cuts[cut.moment.value] += 1
            return cut


def _close(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
