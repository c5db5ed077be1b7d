"""What stays of what was forgotten: ids, counts and keyed hashes, and no word of it.

A tombstone answers for the ids of what is gone, and tells a key or a name again that comes back, without holding it:
a mark is an HMAC under a secret of the tenant's.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ontology.ids import ClaimId, EntityId, FactId, Owner, TombstoneId
from ontology.instants import Instant
from ontology.scope import Scope

SECRET_BYTES: Final = 32


class Target(StrEnum):
    """What was to be forgotten."""

    SUBJECT = "subject"
    """An entity: all that is said of it and that points at it, in every purpose of its namespace."""
    SLOT = "slot"
    """What one scope was told of a subject under one predicate."""
    EPISODE = "episode"
    SOURCE = "source"


class Marked(StrEnum):
    """What a mark stands for: the same word marks differently as a key and as a name."""

    KEY = "key"
    NAME = "name"
    """Also an alias; without regard to case and blanks."""
    SOURCE = "source"
    EPISODE = "episode"
    """The id of an episode that a caller made up."""
    PURPOSE = "purpose"
    """One in which something showed of a subject: reads in another one are not told that it was forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A word that is not kept, as it can be recognised."""

    kind: Marked
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """That a tombstone refuses nothing any more; what it stands for stays forgotten."""

    tombstone: TombstoneId
    actor: str
    position: int
    recorded_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """That something was forgotten, by whom and when."""

    id: TombstoneId
    scope: Scope
    """Of a subject only the namespace counts."""
    target: Target
    manifest: str
    """The hash of the preview that was confirmed."""
    subject: EntityId | None
    """Of a subject or a slot."""
    predicate: str | None
    """Of a slot."""
    destroyed: tuple[Owner, ...]
    """Entities and recorded episodes of which nothing is left: their payloads are destroyed, and so must be the keys
    of their copies."""
    restated: tuple[Owner, ...]
    """Those of whose payloads something was destroyed: what is left has new digests, older copies still hold it."""
    claims: tuple[ClaimId, ...]
    facts: tuple[FactId, ...]
    marks: tuple[Mark, ...]
    counts: Mapping[str, int]
    """How much went, by kind."""
    blocks: bool
    """Whether a key of it is refused, and a name of it held, when it comes back."""
    actor: str
    position: int
    recorded_at: Instant
    lifted: Lift | None

    @property
    def refuses(self) -> bool:
        return self.blocks and self.lifted is None


def mark(secret: bytes, kind: Marked, scope: Scope, word: str) -> Mark:
    """The mark of a word in a namespace; HMAC-SHA-256 (RFC 2104)."""
    said = normalised(word) if kind is Marked.NAME else word
    framed = "\x1f".join((kind.value, scope.namespace, said)).encode("utf-8", "surrogatepass")
    return Mark(kind=kind, digest=hmac.new(secret, framed, hashlib.sha256).digest())


def normalised(name: str) -> str:
    """What names have in common that are told apart by case and blanks alone."""
    return " ".join(name.split()).casefold()
