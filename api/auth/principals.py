"""Who calls: a principal with its grants; and the two that are known by being on this machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ontology.access import PrincipalKind
from ontology.grants import ANY, EVERYTHING, Grant, Permit, Permits
from ontology.scope import Tenant

Headers = Mapping[bytes, bytes]
"""Lower-cased names; of a repeated header the last value."""

AGENT: Final = "agent"
"""Whoever calls over HTTP from this machine, while the server knows no credentials."""
PERSON: Final = "person"
"""Whoever has the store's file: the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who calls, for which tenant, and what it may do there."""

    name: str
    """Its id in the tenant: the same with every credential, so several keys may be one principal."""
    tenant: Tenant
    kind: PrincipalKind
    permits: Permits
    may_import: bool
    """Whether it may give recorded times."""
    local: bool
    """Whether it is known by being on this machine, and not by a credential: then it becomes no owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignOrigin:
    """Why a caller on loopback is turned away."""

    detail: str


_ALL_BUT_REVIEW: Final[Permits] = (Permit(namespace=ANY, purpose=ANY, grants=frozenset(Grant) - {Grant.REVIEW}),)


def local_agent(tenant: Tenant) -> Principal:
    """It may do everything but review: what an agent wrote is for a person to decide about."""
    return Principal(
        name=AGENT, tenant=tenant, kind=PrincipalKind.AGENT, permits=_ALL_BUT_REVIEW, may_import=False, local=True
    )


def local_person(tenant: Tenant) -> Principal:
    return Principal(
        name=PERSON, tenant=tenant, kind=PrincipalKind.PERSON, permits=EVERYTHING, may_import=True, local=True
    )
