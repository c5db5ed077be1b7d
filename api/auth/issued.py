"""Keys that were issued: how one is made, and whose one is, from the store.

A key is `vg_PREFIX_SECRET`. The prefix names it in lists and lets a scanner find a leaked one; the secret is 256 bits
of chance, of which only the SHA-256 is kept. A slow hash would be for secrets that can be guessed: nobody tries 2^256,
and every request pays for the hash.
"""

import base64
import hashlib
from dataclasses import dataclass
from typing import Final

from api.auth.principals import Principal
from graph.access import AccessStore
from graph.ports import Clock, MemoryStore, Randomness
from ontology.access import ApiKey, KeyState, PrincipalKind, Revocation, check_principal
from ontology.errors import Incorrect, Unauthenticated, Violation, shown
from ontology.grants import Permits
from ontology.instants import Instant, format_instant
from ontology.scope import Tenant, scope_of

MARK: Final = "vg_"
_PREFIX_BYTES: Final = 5
_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A new key, to be shown once."""

    text: str
    prefix: str
    digest: bytes


def new_secret(randomness: Randomness) -> Secret:
    prefix, secret = _text(randomness.bytes(_PREFIX_BYTES)), _text(randomness.bytes(_SECRET_BYTES))
    text = f"{MARK}{prefix}_{secret}"
    return Secret(text=text, prefix=prefix, digest=hashlib.sha256(text.encode()).digest())


class Issuer:
    """Issues and revokes the keys of one tenant."""

    def __init__(self, store: MemoryStore, clock: Clock, randomness: Randomness, tenant: str, by: str) -> None:
        """`by` is the principal that does it."""
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._scope = scope_of(tenant)
        self._by = by

    def issue(
        self, principal: str, kind: PrincipalKind, permits: Permits, *, expires_at: Instant, may_import: bool
    ) -> tuple[str, ApiKey]:
        """A new key, and what is kept of it: nobody can show the key again.

        Raises `Incorrect` for what names no principal, and where the key would have expired already.
        """
        now = self._clock.now()
        if expires_at <= now:
            detail = f"a key that expires at {format_instant(expires_at)} would hold at no time; give a later one"
            raise Incorrect(detail, violations=(Violation(pointer="/expires", code="out_of_range", detail=detail),))
        secret = new_secret(self._randomness)
        key = ApiKey(
            prefix=secret.prefix, digest=secret.digest, tenant=Tenant(self._scope.tenant),
            principal=check_principal(principal, "/principal"), kind=kind, permits=permits, may_import=may_import,
            created_at=now, created_by=self._by, expires_at=expires_at, revocation=None,
        )  # fmt: skip
        with self._store.write(self._scope) as tx:
            tx.put_key(key)
        return secret.text, key

    def revoke(self, prefix: str) -> ApiKey:
        """End a key; one that has ended already stays as it is. Raises `NotFound`."""
        with self._store.write(self._scope) as tx:
            return tx.revoke_key(prefix_of(prefix), Revocation(at=self._clock.now(), by=self._by))


def prefix_of(text: str) -> str:
    """The prefix that a person means by it, by the key as it is listed, or by a whole key that was found somewhere."""
    return text.strip().removeprefix(MARK).partition("_")[0]


class IssuedKeys:
    """The keys in a store."""

    def __init__(self, store: AccessStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def principal(self, digest: bytes) -> tuple[Principal, Instant]:
        """Whose key has this digest, and until when it holds if nobody revokes it.

        Raises `Unauthenticated` for none, and for one that holds no more; `Unavailable` where the store is away.
        """
        key = self._store.key(digest)
        if key is None:
            raise Unauthenticated("the key is not one that this server knows")
        match key.state_at(self._clock.now()):
            case KeyState.REVOKED:
                raise Unauthenticated(f"the key {shown(MARK + key.prefix)} was revoked", remedy="ask for another key")
            case KeyState.EXPIRED:
                raise Unauthenticated(
                    f"the key {shown(MARK + key.prefix)} expired at {format_instant(key.expires_at)}",
                    remedy="ask for another key",
                )
            case KeyState.ACTIVE:
                return _principal(key), key.expires_at

    def are_there(self) -> bool:
        """Whether a key was ever issued."""
        return self._store.has_keys()


def _principal(key: ApiKey) -> Principal:
    return Principal(
        name=key.principal,
        tenant=key.tenant,
        kind=key.kind,
        permits=key.permits,
        may_import=key.may_import,
        local=False,
    )


def _text(chance: bytes) -> str:
    return base64.b32encode(chance).decode("ascii").rstrip("=").lower()
