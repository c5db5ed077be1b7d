"""What a store must keep of handoffs, beside memory: the packets, and who adopted each.

As with sessions, reading stands beside the snapshots and gives what is committed at the moment of each call; writing is
a part of the tenant's transaction, so that forgetting takes lines away in its own. They are in no journal, no backup.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import orjson

from ontology.errors import NotFound, shown
from ontology.handoffs import Adoption, Handoff, Rejected
from ontology.ids import FactId, HandoffId
from ontology.instants import Instant
from ontology.scope import Namespace, Purpose, Scope, Tenant


class HandoffStore(Protocol):
    """The handoffs of all tenants. Safe to use from many threads."""

    def handoff(self, scope: Scope, id: HandoffId) -> Handoff:
        """Raises `NotFound`, also for one of another scope."""
        ...

    def adoptions(self, scope: Scope, id: HandoffId, *, limit: int) -> Sequence[Adoption]:
        """Who adopted it, by (adopted_at, principal)."""
        ...


class HandoffTransaction(Protocol):
    """The changes, under the tenant's write lock, to handoffs of the scope."""

    def handoff(self, id: HandoffId) -> Handoff:
        """Raises `NotFound`."""
        ...

    def handoffs_kept(self) -> int:
        """How many handoffs the scope has."""
        ...

    def put_handoff(self, handoff: Handoff) -> None:
        """Keep a handoff, new or as it is now; of one that is there only what it says changes."""
        ...

    def adopted(self, id: HandoffId, principal: str) -> Adoption | None:
        """The adoption by a principal."""
        ...

    def put_adoption(self, id: HandoffId, adoption: Adoption) -> None:
        """Keep the first adoption by a principal."""
        ...

    def drop_handoffs(self, now: Instant) -> int:
        """Let go of the handoffs of the tenant, in any scope, that have expired by `now`, with their adoptions; gives
        how many those were."""
        ...

    # for forgetting

    def handoffs_of_namespace(self, *, limit: int, after: Handoff | None) -> list[Handoff]:
        """Those of the scope's namespace with any purpose, in the order of purpose and id."""
        ...


def content_of(handoff: Handoff) -> str:
    """What a handoff says, as a store keeps it."""
    rejected = [[each.what, each.why] for each in handoff.rejected]
    said = [
        handoff.task, handoff.requirements, handoff.constraints, handoff.format, handoff.facts, rejected, handoff.lost,
    ]  # fmt: skip
    return orjson.dumps(said).decode()


def handoff_of(row: Sequence[Any]) -> Handoff:
    """Of (tenant, namespace, purpose, id, sender, receiver, content, made_at, expires_at)."""
    tenant, namespace, purpose, id, sender, receiver, content, made_at, expires_at = row
    task, requirements, constraints, format, facts, rejected, lost = orjson.loads(content)
    return Handoff(
        id=HandoffId(id),
        scope=Scope(tenant=Tenant(tenant), namespace=Namespace(namespace), purpose=Purpose(purpose)),
        sender=sender,
        receiver=receiver,
        task=task,
        requirements=tuple(requirements),
        constraints=tuple(constraints),
        format=format,
        facts=tuple(map(FactId, facts)),
        rejected=tuple(Rejected(what=what, why=why) for what, why in rejected),
        lost=lost,
        made_at=made_at,
        expires_at=expires_at,
    )


def adoption_of(row: Sequence[Any]) -> Adoption:
    """Of (principal, adopted_at)."""
    principal, adopted_at = row
    return Adoption(principal=principal, adopted_at=adopted_at)


def no_handoff(id: HandoffId) -> NotFound:
    return NotFound(f"no handoff {shown(id)} here")
