"""The principal of a request, from whichever credential it brings.

A bearer is a static key, an issued key (`vg_…`) or a token. Without one only this machine is answered, and only as long
as the server has no credentials at all: no file of keys, no issuer of tokens, and no key was ever issued. So the first
key closes the server, and revoking the last one does not open it again.
"""

import hashlib
import time
from collections.abc import Callable
from typing import Final

from api.auth.issued import MARK, IssuedKeys
from api.auth.key_file import Keys
from api.auth.loopback import foreign_caller
from api.auth.principals import ForeignOrigin, Headers, Principal
from api.auth.tokens import Tokens
from ontology.errors import Unauthenticated
from ontology.instants import SECOND

REMEMBERED_SECONDS: Final = 1.0
"""How long a credential that was looked up is believed: so late at most a revocation holds on every server."""
REMEMBERED_MAX: Final = 10_000

Caller = Principal | ForeignOrigin


class Authentication:
    """Tells who calls. Safe to use from many threads."""

    def __init__(
        self, *, local: Principal, issued: IssuedKeys, static: Keys | None = None, tokens: Tokens | None = None,
        now_us: Callable[[], int], monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`now_us` is the clock by which issued keys expire."""
        self._local = local
        self._issued = issued
        self._static = static
        self._tokens = tokens
        self._now_us = now_us
        self._monotonic = monotonic
        self._known: dict[bytes, tuple[Principal, float]] = {}
        self._closed = static is not None or tokens is not None
        self._open_until = -1.0

    def is_closed(self) -> bool:
        """Whether a credential is needed. Raises `Unavailable` where the store cannot tell."""
        if not self._closed and self._monotonic() >= self._open_until:
            asked_at = self._monotonic()
            self._closed = self._issued.are_there()
            self._open_until = asked_at + REMEMBERED_SECONDS
        return self._closed

    def at_once(self, client: str | None, headers: Headers) -> Caller | None:
        """Who calls, as far as memory tells; `None` where it has to be looked up, which may take a while.

        Raises `Unauthenticated`.
        """
        token = _bearer(headers)
        if token is None:
            if not self._closed and self._monotonic() >= self._open_until:
                return None
            return self._without(client, headers)
        digest = hashlib.sha256(token).digest()
        found = None if self._static is None else self._static.principal(digest)
        return found or self._remembered(digest)

    def look_up(self, client: str | None, headers: Headers) -> Caller:
        """Who calls. Raises `Unauthenticated`, and `Unavailable` where nobody can tell: then nobody is let in."""
        caller = self.at_once(client, headers)
        if caller is not None:
            return caller
        token = _bearer(headers)
        if token is None:
            self.is_closed()
            return self._without(client, headers)
        asked_at = self._monotonic()
        principal, seconds = self._looked_up(token)
        if len(self._known) >= REMEMBERED_MAX:
            self._known.clear()
        self._known[hashlib.sha256(token).digest()] = principal, asked_at + min(seconds, REMEMBERED_SECONDS)
        return principal

    def _without(self, client: str | None, headers: Headers) -> Caller:
        if self._closed:
            raise Unauthenticated("the request has no key; send 'Authorization: Bearer vg_…'")
        return foreign_caller(client, headers) or self._local

    def _remembered(self, digest: bytes) -> Principal | None:
        known = self._known.get(digest)
        if known is None:
            return None
        if self._monotonic() < known[1]:
            return known[0]
        self._known.pop(digest, None)
        return None

    def _looked_up(self, token: bytes) -> tuple[Principal, float]:
        """The principal, and for how many seconds it may be remembered."""
        if self._tokens is None or token.startswith(MARK.encode()):
            principal, until = self._issued.principal(hashlib.sha256(token).digest())
            return principal, (until - self._now_us()) / SECOND
        principal, expires = self._tokens.principal(token)
        return principal, expires - time.time()


def _bearer(headers: Headers) -> bytes | None:
    """What the `Authorization` header carries as a bearer, `None` without."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    token = token.strip()
    return token if scheme.lower() == b"bearer" and token else None
