"""What memory served to whom, for a while: an agent that says it again in the same session only repeats it.

Kept is a keyed fingerprint of each line (HMAC-SHA-256 over principal, session, slot and value), with the fact that the
line was of: where the answers to retries are kept, which is no part of memory, goes by itself when its time is over,
and is emptied when what it was about is forgotten. A different value has another fingerprint, and is never an echo.
"""

import hashlib
import hmac
from collections.abc import Sequence
from functools import cached_property
from typing import Final

import orjson

from consolidation.check import NAME_CHARS_MAX
from consolidation.idempotency import kept, restored
from graph.ports import Answered, Clock, MemoryStore, Randomness, Reader
from ontology.canonical import canonical_label
from ontology.facts import FactVersion, Slot
from ontology.ids import FactId
from ontology.instants import DAY, OPEN_END, Instant
from ontology.scope import Scope
from ontology.values import ValueKey

DAYS: Final = 30
LINES_MAX: Final = 1_000
"""Of one answer, the first so many are remembered."""
_NOBODY: Final = ""
"""Under this the tenant's own key is kept: no principal is named so."""
_KEY_NAME: Final = "serving-key"
_KEY_BYTES: Final = 32


class Serving:
    """Remembers what was served from one store. Safe to use from many threads."""

    def __init__(self, *, store: MemoryStore, clock: Clock, randomness: Randomness) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness

    def register(self, scope: Scope, principal: str, session: str, versions: Sequence[FactVersion]) -> None:
        """Remember for 30 days that these facts were served to a principal in a session.

        Whoever serves lines of memory to an agent calls this. Raises `Incorrect` for what names no session, `Busy`,
        `Unavailable`.
        """
        session = canonical_label(session, "/session", "session", NAME_CHARS_MAX)
        if not versions:
            return
        now = self._clock.now()
        until = Instant(now + DAYS * DAY)
        with self._store.write(scope) as tx:
            tx.forget_keys(now)
            key = _key_of(tx)
            if key is None:
                key = self._randomness.bytes(_KEY_BYTES)
                tx.remember(_NOBODY, _KEY_NAME, kept(b"", {"key": key.hex()}), OPEN_END)
            for version in versions[:LINES_MAX]:
                print_ = _print(key, principal, session, version.slot, version.value_key)
                tx.remember(principal, print_, kept(b"", {"fact": version.id, "until": until}), until)


class Served:
    """What is remembered of a tenant, as of one snapshot."""

    def __init__(self, reader: Reader, now: Instant) -> None:
        self._reader = reader
        self._now = now

    def fact(self, principal: str, session: str, slot: Slot, value: ValueKey) -> FactId | None:
        """The fact that was served to a principal in a session with this slot and value."""
        if self._key is None:
            return None
        told = _told(self._reader.answered(principal, _print(self._key, principal, session, slot, value)))
        fact, until = told.get("fact"), told.get("until")
        return FactId(fact) if isinstance(fact, str) and isinstance(until, int) and self._now < until else None

    @cached_property
    def _key(self) -> bytes | None:
        return _key_of(self._reader)


def _key_of(reader: Reader) -> bytes | None:
    key = _told(reader.answered(_NOBODY, _KEY_NAME)).get("key")
    return bytes.fromhex(key) if isinstance(key, str) else None


def _told(answered: Answered | None) -> dict[str, object]:
    """What is kept; nothing where it was emptied."""
    return dict(restored(answered.receipt)) if answered is not None and answered.receipt else {}


def _print(key: bytes, principal: str, session: str, slot: Slot, value: ValueKey) -> str:
    scope = slot.scope
    framed = orjson.dumps(
        [principal, session, scope.namespace, scope.purpose, slot.subject, slot.predicate, slot.language, value.hex()]
    )
    return f"served:{hmac.new(key, framed, hashlib.sha256).hexdigest()}"
