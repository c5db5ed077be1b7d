"""A wire between driver and server that is cut at a chosen moment."""

import socket
import threading
import time
from contextlib import suppress
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

_RUN: Final = b"\xb3\x10"
_COMMIT: Final = b"\x00\x02\xb0\x12"
"""How the messages begin in Bolt: a structure of so many fields, and its tag."""


class Cut(StrEnum):
    BEFORE_RUN = "before RUN"
    AFTER_RUN = "after RUN, before its reply"
    AFTER_COMMIT = "after COMMIT, before its reply"


class Proxy:
    """Forwards connections to a server. `arm` lets it cut the next connection that comes to that moment."""

    def __init__(self, uri: str) -> None:
        address = urlsplit(uri)
        self._target = address.hostname or "127.0.0.1", address.port or 7687
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"bolt://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._armed: tuple[Cut, int] | None = None
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, cut: Cut, skip: int = 0) -> None:
        """Cut at the next such moment, or after `skip` of them."""
        with self._lock:
            self._armed = cut, skip

    def disarm(self) -> None:
        with self._lock:
            self._armed = None

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            threading.Thread(target=self._to_server, args=(client, server), daemon=True).start()
            threading.Thread(target=self._to_client, args=(server, client), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while data := client.recv(65536):
                cut = self._reached(data)
                if cut is Cut.BEFORE_RUN:
                    break
                if cut is not None:
                    client.shutdown(socket.SHUT_WR)  # the reply finds nobody
                server.sendall(data)
                if cut is not None:
                    time.sleep(0.05)
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
            if self._armed is None:
                return None
            cut, skip = self._armed
            if (_COMMIT if cut is Cut.AFTER_COMMIT else _RUN) not in data:
                return None
            self._armed = (cut, skip - 1) if skip else None
            if skip:
                return None
            self.cuts += 1
            return cut


def _close(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
