"""Handoffs and their adoptions over plain dictionaries: obvious, and slow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from graph.handoffs import HandoffStore, no_handoff
from ontology.handoffs import Adoption, Handoff
from ontology.ids import HandoffId
from ontology.instants import Instant
from ontology.scope import Scope, Tenant

Key = tuple[Scope, HandoffId]


@dataclass(kw_only=True)
class Handoffs:
    """Those of a tenant, with the adoptions of each by principal."""

    kept: dict[Key, Handoff] = field(default_factory=dict)
    adoptions: dict[Key, dict[str, Adoption]] = field(default_factory=dict)

    def copy(self) -> "Handoffs":
        return Handoffs(kept=self.kept.copy(), adoptions={key: of.copy() for key, of in self.adoptions.items()})

    def find(self, scope: Scope, id: HandoffId) -> Handoff:
        found = self.kept.get((scope, id))
        if found is None:
            raise no_handoff(id)
        return found


class NaiveHandoffTransaction:
    """The changes, as a part of a transaction."""

    _scope: Scope
    of_handoffs: Handoffs

    def handoff(self, id: HandoffId) -> Handoff:
        return self.of_handoffs.find(self._scope, id)

    def handoffs_kept(self) -> int:
        return sum(scope == self._scope for scope, _ in self.of_handoffs.kept)

    def put_handoff(self, handoff: Handoff) -> None:
        key = handoff.scope, handoff.id
        was = self.of_handoffs.kept.get(key, handoff)
        self.of_handoffs.kept[key] = replace(
            handoff, sender=was.sender, receiver=was.receiver, made_at=was.made_at, expires_at=was.expires_at
        )

    def adopted(self, id: HandoffId, principal: str) -> Adoption | None:
        return self.of_handoffs.adoptions.get((self._scope, id), {}).get(principal)

    def put_adoption(self, id: HandoffId, adoption: Adoption) -> None:
        if (self._scope, id) in self.of_handoffs.kept:
            self.of_handoffs.adoptions.setdefault((self._scope, id), {}).setdefault(adoption.principal, adoption)

    def drop_handoffs(self, now: Instant) -> int:
        over = [key for key, handoff in self.of_handoffs.kept.items() if handoff.expires_at <= now]
        for key in over:
            del self.of_handoffs.kept[key]
            self.of_handoffs.adoptions.pop(key, None)
        return len(over)

    def handoffs_of_namespace(self, *, limit: int, after: Handoff | None) -> list[Handoff]:
        def key(handoff: Handoff) -> tuple[str, str]:
            return handoff.scope.purpose, handoff.id

        mine = [each for each in self.of_handoffs.kept.values() if each.scope.namespace == self._scope.namespace]
        return sorted((each for each in mine if after is None or key(each) > key(after)), key=key)[:limit]


class NaiveHandoffs:
    """The handoffs of all tenants of a naive store."""

    def __init__(self, reading: Callable[[Tenant], Handoffs]) -> None:
        self._reading = reading

    def handoff(self, scope: Scope, id: HandoffId) -> Handoff:
        return self._reading(scope.tenant).find(scope, id)

    def adoptions(self, scope: Scope, id: HandoffId, *, limit: int) -> Sequence[Adoption]:
        found = self._reading(scope.tenant).adoptions.get((scope, id), {}).values()
        return sorted(found, key=lambda each: (each.adopted_at, each.principal))[:limit]


_conforms: type[HandoffStore] = NaiveHandoffs
