"""How the server runs, and how it ends: in order, and in time.

Told to end, it takes no new connections and ends its event streams; what was asked before is answered, then the worker
ends the episode at hand. Both together have `VIGENCIA_DRAIN_SECONDS`; what is not done by then is cut off, which loses
nothing that was acknowledged.
"""

import gc
import math
import socket
from typing import TYPE_CHECKING

import uvicorn

from api.app import create_app

if TYPE_CHECKING:
    from api.wiring import Services


class Server(uvicorn.Server):
    """A server that ends its event streams before it waits for requests: they would never end by themselves."""

    def __init__(self, services: "Services") -> None:
        seconds = services.settings.drain_seconds
        config = uvicorn.Config(
            create_app(services), log_config=None, access_log=False, lifespan="auto", server_header=False,
            timeout_graceful_shutdown=math.ceil(seconds),
        )  # fmt: skip
        super().__init__(config)
        self._services = services
        gc.collect()
        gc.freeze()  # all that is loaded by now stays: to look through it again takes 35 ms, amid some request

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._services.drain.begin()
        self._services.streams.close()
        await super().shutdown(sockets)
