"""Handoffs and their adoptions in Neo4j: nodes apart from memory, read as they are committed, not as of a head."""

from collections.abc import Sequence

from graph.handoffs import HandoffStore, adoption_of, content_of, handoff_of, no_handoff
from graph.neo4j_store import keys
from graph.neo4j_store.snapshot import Run
from ontology.handoffs import Adoption, Handoff
from ontology.ids import HandoffId
from ontology.instants import Instant
from ontology.scope import Scope


class Neo4jHandoffs:
    """Reads; each in a transaction of its own."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def handoff(self, scope: Scope, id: HandoffId) -> Handoff:
        return _handoff(self._run, scope, id)

    def adoptions(self, scope: Scope, id: HandoffId, *, limit: int) -> Sequence[Adoption]:
        asked: dict[str, object] = {"key": keys.handoff_key(scope, id), "limit": limit}
        return [adoption_of(row) for row in self._run("adoptions", asked)]


class Neo4jHandoffTransaction:
    """The changes, as a part of a transaction."""

    __slots__ = ()

    _run: Run
    _scope: Scope

    def handoff(self, id: HandoffId) -> Handoff:
        return _handoff(self._run, self._scope, id)

    def handoffs_kept(self) -> int:
        return int(self._run("handoffs_kept", {"scope": keys.scope_key(self._scope)})[0][0])

    def put_handoff(self, handoff: Handoff) -> None:
        scope = handoff.scope
        asked: dict[str, object] = {
            "key": keys.handoff_key(scope, handoff.id), "tenant": scope.tenant, "namespace": scope.namespace,
            "purpose": scope.purpose, "scope": keys.scope_key(scope), "handoff": handoff.id, "sender": handoff.sender,
            "receiver": handoff.receiver, "content": content_of(handoff), "made_at": handoff.made_at,
            "expires_at": handoff.expires_at,
        }  # fmt: skip
        self._run("put_handoff", asked)

    def adopted(self, id: HandoffId, principal: str) -> Adoption | None:
        rows = self._run("adoption", {"adoption": self._adoption_key(id, principal)})
        return adoption_of(rows[0]) if rows else None

    def put_adoption(self, id: HandoffId, adoption: Adoption) -> None:
        asked: dict[str, object] = {
            "key": keys.handoff_key(self._scope, id), "adoption": self._adoption_key(id, adoption.principal),
            "principal": adoption.principal, "adopted_at": adoption.adopted_at,
        }  # fmt: skip
        self._run("put_adoption", asked)

    def drop_handoffs(self, now: Instant) -> int:
        over: dict[str, object] = {"tenant": self._scope.tenant, "now": now}
        count = int(self._run("expired_handoffs", over)[0][0])
        if count:
            self._run("drop_adoptions", over)
            self._run("drop_handoffs", over)
        return count

    def handoffs_of_namespace(self, *, limit: int, after: Handoff | None) -> list[Handoff]:
        purpose, id = ("", "") if after is None else (after.scope.purpose, after.id)
        asked: dict[str, object] = {
            "tenant": self._scope.tenant, "namespace": self._scope.namespace, "purpose": purpose, "after": id,
            "limit": limit,
        }  # fmt: skip
        return [handoff_of(row) for row in self._run("handoffs_of_namespace", asked)]

    def _adoption_key(self, id: HandoffId, principal: str) -> str:
        return keys.adoption_key(keys.handoff_key(self._scope, id), principal)


def _handoff(run: Run, scope: Scope, id: HandoffId) -> Handoff:
    rows = run("handoff", {"key": keys.handoff_key(scope, id)})
    if not rows:
        raise no_handoff(id)
    return handoff_of(rows[0])


_conforms: type[HandoffStore] = Neo4jHandoffs
