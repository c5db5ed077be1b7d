"""When was what a question calls `the move`? Only where memory can tell exactly which change is meant, and when.

A change is the instant at which another value takes over in a slot that takes one, of somebody whom the question names,
under a predicate that is told in such words.
"""

from collections.abc import Sequence
from typing import Final

from graph.ports import Order, Page, Reader
from graph.topics import changed_by
from ontology.entries import End, Start
from ontology.errors import shown
from ontology.facts import Fact, Slot
from ontology.ids import EntityId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.schema import Schema

CHANGES_MAX: Final = 200
_EVER: Final = Interval(OPEN_START, OPEN_END)
_LATEST: Final = ("last ", "latest ")


def happened(
    reader: Reader, schema: Schema, subjects: Sequence[EntityId], event: str, known_at: Instant, now: Instant
) -> Instant | str:
    """The instant of the one change that `event` can mean by `now`, as known then; else why nobody can tell.

    `the last move` is the latest of several.
    """
    last = event.startswith(_LATEST)
    noun = event.split(" ", 1)[1] if last else event
    predicates = changed_by(noun, schema)
    if not predicates:
        return f"no predicate tells of a change with the word {shown(noun)}; give valid_at"
    if not subjects:
        return f"the question names nobody whose {shown(noun)} it may be; give valid_at"
    found: list[Instant] = []
    for subject in subjects:
        for predicate in predicates:
            changes = _changes(reader, subject, predicate, known_at)
            if changes is None:
                return f"{shown(noun)} has a history too long to look through; give valid_at"
            found += [change for change in changes if change <= now]
    if not found:
        return f"no change that is a {shown(noun)} is known with its date; give valid_at"
    if len(found) > 1 and not last:
        return f"{len(found)} changes can be the {shown(noun)}; say 'the last', or give valid_at"
    return max(found)


def _changes(reader: Reader, subject: EntityId, predicate: str, known_at: Instant) -> list[Instant] | None:
    """When another value took over, where that is certain; `None` where there is too much to read."""
    page = Page(CHANGES_MAX + 1)
    facts = reader.history(subject, predicate, known_at, _EVER, certain=True, order=Order.VALID, page=page)
    if len(facts) > CHANGES_MAX:
        return None
    by_end = {(fact.version.slot, fact.version.valid_to): fact for fact in facts}
    return [fact.version.valid_from for fact in facts if _takes_over(fact, by_end.get(_start(fact)))]


def _start(fact: Fact) -> tuple[Slot, Instant]:
    return fact.version.slot, fact.version.valid_from


def _takes_over(fact: Fact, before: Fact | None) -> bool:
    if before is None or before.version.value_key == fact.version.value_key:
        return False
    return fact.start is Start.KNOWN and before.end is not End.UNKNOWN
