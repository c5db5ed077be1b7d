"""What is kept of access: the keys that were issued, and which principal a namespace belongs to.

Neither is memory: no claim rests on it, so it is in no journal and in no hash of the ledger.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ontology.errors import Incorrect, Violation, shown
from ontology.grants import Permits
from ontology.instants import Instant
from ontology.scope import Namespace, Tenant

PRINCIPAL_CHARS_MAX: Final = 200


class PrincipalKind(StrEnum):
    """What kind of author a principal is."""

    AGENT = "agent"
    PERSON = "person"
    SERVICE = "service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """When a key ceased to hold, and who ended it."""

    at: Instant
    by: str


class KeyState(StrEnum):
    """Whether a key holds."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key that was issued: everything but the key itself. When it was last used is nobody's business."""

    prefix: str
    """What stands in the key for all to see, and names it: in lists, in logs, for whoever finds a leaked one."""
    digest: bytes
    """SHA-256 of the whole key."""
    tenant: Tenant
    principal: str
    kind: PrincipalKind
    permits: Permits
    may_import: bool
    """Whether it may give recorded times."""
    created_at: Instant
    created_by: str
    expires_at: Instant
    """`OPEN_END` where it does not expire."""
    revocation: Revocation | None

    def state_at(self, now: Instant) -> KeyState:
        if self.revocation is not None:
            return KeyState.REVOKED
        return KeyState.EXPIRED if now >= self.expires_at else KeyState.ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """To which principal a namespace belongs, since when, and who decided that."""

    namespace: Namespace
    owner: str
    since: Instant
    by: str


def check_principal(name: str, at: str = "") -> str:
    """`name`, if it can name a principal: 1 to 200 printable characters without spaces around them.

    Raises `Incorrect` with one violation (`bad_name`).
    """
    if 1 <= len(name) <= PRINCIPAL_CHARS_MAX and name.isprintable() and name == name.strip():
        return name
    detail = f"{shown(name)} names no principal; use 1 to {PRINCIPAL_CHARS_MAX} printable characters"
    raise Incorrect(detail, violations=(Violation(pointer=at, code="bad_name", detail=detail),))
