"""Why a fact is believed: what was said, by whom and when, which transaction made it a fact, and what replaced it."""

from collections.abc import Iterator
from typing import Final

from api.wire import rendering
from api.wire.rendering import Wire
from graph.ports import Page, Reader
from ontology.claims import Told
from ontology.errors import JSON
from ontology.facts import AsOf, Fact, FactVersion
from ontology.ids import CLAIM, FactId, locate
from ontology.instants import OPEN_END, Instant
from ontology.values import EntityMention

CLAIMS_MAX: Final = 200
FACTS_MAX: Final = 200
PAGE: Final = 500


def facts_of(reader: Reader, subject: EntityMention, predicate: str | None, as_of: AsOf) -> list[Fact]:
    """The facts of a subject that are visible at `as_of`, at most 200; none where there is no such entity."""
    if subject.key is not None:
        entity = reader.entities_by_key([subject.key]).get(subject.key)
    else:
        entity = next(iter(reader.entities_by_id([subject.id] if subject.id else []).values()), None)
    if entity is None:
        return []
    return reader.state([(entity.id, predicate)], as_of, certain=False, page=Page(FACTS_MAX))


def reason(reader: Reader, fact: Fact, known_at: Instant, now: Instant) -> Wire:
    """Everything behind one fact, as plain JSON.

    `claims` are those that show in it, at most 200; `made_in` and `ended_in` the transactions; `replaced_by` what
    took its place in memory, `followed_by` what holds in the world from its end on.
    """
    version = fact.version
    told = reader.evidence(version, known_at, limit=CLAIMS_MAX, after=None)
    audited = list(_audited(reader, version))
    replaced = [other for other in audited if _replaces(other.version, version)]
    followed = [other for other in audited if _follows(other.version, version, known_at)]
    shown = [fact, *replaced, *followed]
    names = {
        **rendering.names_in(reader, [each.version for each in shown]),
        **rendering.names_told(reader, told),
    }
    heads = rendering.versions_of(reader, [version])
    newest = reader.head.recorded_at  # what became of it since is part of the reason
    return {
        "fact": rendering.fact(fact, names, heads, newest, now),
        "claims": [{**rendering.claim(each, names, now), "position": _position(each)} for each in told],
        "made_in": _transaction(reader, version.position),
        "ended_in": _ended_in(reader, version),
        "replaced_by": rendering.facts(replaced, names, heads, newest, now),
        "followed_by": rendering.facts(followed, names, heads, newest, now),
    }


def fact_with_id(reader: Reader, id: str) -> Fact:
    """One version, as it was last believed; raises `NotFound`."""
    return reader.fact(FactId(id))


def _audited(reader: Reader, version: FactVersion) -> Iterator[Fact]:
    """The other versions of the slot."""
    slot, after = version.slot, None
    while True:
        page = reader.audit(slot.subject, slot.predicate, valid_at=None, touched=None, page=Page(PAGE, after))
        yield from (fact for fact in page if fact.version.slot == slot and fact.version.id != version.id)
        if len(page) < PAGE:
            return
        last = page[-1].version
        after = (last.recorded_from, last.ordinal, last.valid_from)


def _replaces(other: FactVersion, version: FactVersion) -> bool:
    return (
        version.recorded_to < OPEN_END
        and other.recorded_from == version.recorded_to
        and other.valid_from < version.valid_to
        and version.valid_from < other.valid_to
    )


def _follows(other: FactVersion, version: FactVersion, known_at: Instant) -> bool:
    believed_at = min(known_at, Instant(version.recorded_to - 1))
    return other.valid_from == version.valid_to and other.recorded_from <= believed_at < other.recorded_to


def _ended_in(reader: Reader, version: FactVersion) -> JSON:
    if version.recorded_to == OPEN_END:
        return None
    low, high = version.position, reader.head.position
    while low < high:  # recorded times grow with positions
        middle = (low + high) // 2
        page = reader.events(after=middle - 1, limit=1)
        if page and page[0][0].recorded_at < version.recorded_to:
            low = middle + 1
        else:
            high = middle
    return _transaction(reader, low)


def _transaction(reader: Reader, position: int) -> JSON:
    for event, _ in reader.events(after=position - 1, limit=1):
        return {
            "position": event.position,
            "recorded_at": rendering.instant(event.recorded_at),
            "kind": event.kind.value,
            "principal": event.principal,
        }
    return None


def _position(told: Told) -> int:
    return locate(told.claim.id, CLAIM).position
