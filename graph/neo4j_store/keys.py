"""The keys that nodes and relationships are found by; each holds its scope, so no look-up can leave it.

What may be long is hashed: Neo4j keeps 32 hexadecimal digits inside the record, and the parts are joined by a
character that no name has.
"""

from hashlib import blake2b

from ontology.facts import Slot
from ontology.ids import EntityId, EpisodeId, HandoffId, SessionId
from ontology.scope import Scope, Tenant
from ontology.values import ValueKey


def _hash(*parts: str) -> str:
    return blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def scope_key(scope: Scope) -> str:
    return _hash("scope", scope.tenant, scope.namespace, scope.purpose)


def subject_key(scope: Scope, subject: EntityId) -> str:
    """Of all slots of a subject in a scope."""
    return _hash("subject", scope.tenant, scope.namespace, scope.purpose, subject)


def pair_key(scope: Scope, subject: EntityId, predicate: str) -> str:
    """Of the slots of a subject and a predicate, one for each language."""
    return _hash("pair", scope.tenant, scope.namespace, scope.purpose, subject, predicate)


def slot_key(slot: Slot) -> str:
    scope = slot.scope
    return _hash("slot", scope.tenant, scope.namespace, scope.purpose, slot.subject, slot.predicate, slot.language)


def said_key(slot: str, value: ValueKey) -> str:
    """Of one value in a slot, given the slot's key."""
    return _hash("said", slot, value.hex())


def held_key(scope: Scope, value: ValueKey) -> str:
    """Of one value in a scope, whoever has it."""
    return _hash("held", scope.tenant, scope.namespace, scope.purpose, value.hex())


def voice_key(said: str, root: str) -> str:
    """Of what one root says of a value in a slot."""
    return _hash("voice", said, root)


def cited_key(said: str, episode: EpisodeId) -> str:
    """Of the claims of a value in a slot that cite an episode."""
    return _hash("cited", said, episode)


def content_key(scope: Scope, content: bytes) -> str:
    """Of the recorded episodes of a scope that have this content."""
    return _hash("content", scope.tenant, scope.namespace, scope.purpose, content.hex())


def lane_key(tenant: Tenant, lane: str) -> str:
    """Of operations that wait for each other."""
    return _hash("lane", tenant, lane)


def about_key(scope: Scope, predicate: str) -> str:
    """Of the sentences of a scope with a predicate."""
    return _hash("about", scope.tenant, scope.namespace, scope.purpose, predicate)


def text_of_key(tenant: Tenant, text: bytes) -> str:
    """Of a text of a tenant; behind the `|` is the key of the text."""
    return f"{tenant}|{text.hex()}"


def session_key(scope: Scope, session: SessionId) -> str:
    return _hash("session", scope.tenant, scope.namespace, scope.purpose, session)


def note_key(session: str, number: int) -> str:
    """Of a note, given the key of its session."""
    return f"{session}|{number}"


def handoff_key(scope: Scope, handoff: HandoffId) -> str:
    return _hash("handoff", scope.tenant, scope.namespace, scope.purpose, handoff)


def adoption_key(handoff: str, principal: str) -> str:
    """Of an adoption, given the key of its handoff."""
    return f"{handoff}|{principal}"


def answer_key(tenant: Tenant, principal: str, key: str) -> str:
    return _hash("answer", tenant, principal, key)


def place_key(tenant: Tenant, place: tuple[int, int]) -> str:
    """Of what a commit made; unique among the things of one kind."""
    return f"{tenant}|{place[0]}|{place[1]}"
