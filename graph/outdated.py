"""Which stored facts should be looked at: their predicate was declared live, or nobody confirmed them for too long."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from graph.paging import ROWS_PER_PAGE, each_slot_after
from graph.periods import ALWAYS, valid_order
from graph.ports import Order, Page, Reader
from ontology.facts import Fact
from ontology.ids import EntityId
from ontology.instants import DAY, Instant
from ontology.schema import Predicate, Schema, Volatility


@dataclass(frozen=True, slots=True, kw_only=True)
class Outdated:
    """A fact that is believed, and why it should be looked at."""

    fact: Fact
    predicate: Predicate
    """It is live; else what is said with it is to be reviewed after some days."""
    due_since: Instant | None
    """When its review was due; `None` where the predicate is live."""


def outdated(reader: Reader, schema: Schema, now: Instant, *, limit: int, after: Fact | None) -> list[Outdated]:
    """Facts of a scope that are believed, by predicate, subject, and the order `VALID`, from the one after `after` on.

    Of a live predicate all that is stored, whenever it holds. Else what holds now, or will, and was last confirmed
    by a new source or episode so long before `now` as the predicate says.
    """
    return list(islice(_each(reader, schema, now, after), limit))


def _each(reader: Reader, schema: Schema, now: Instant, after: Fact | None) -> Iterator[Outdated]:
    begin = "" if after is None else after.version.slot.predicate
    for name, predicate in sorted(schema.predicates.items()):
        rules = predicate.governance
        if name < begin or (rules.volatility is not Volatility.LIVE and rules.review_days is None):
            continue
        for fact in _of_predicate(reader, name, after if name == begin else None):
            if rules.volatility is Volatility.LIVE:
                yield Outdated(fact=fact, predicate=predicate, due_since=None)
            elif rules.review_days is not None and fact.version.valid_to > now:
                due = Instant(fact.support.recorded_from + rules.review_days * DAY)
                if due <= now:
                    yield Outdated(fact=fact, predicate=predicate, due_since=due)


def _of_predicate(reader: Reader, predicate: str, after: Fact | None) -> Iterator[Fact]:
    if after is not None:
        yield from _of_subject(reader, after.version.slot.subject, predicate, after)
    last = None if after is None else after.version.slot.subject
    for head in each_slot_after(reader, predicate, None if after is None else after.version.slot):
        if head.slot.subject != last:  # a slot for each language
            last = head.slot.subject
            yield from _of_subject(reader, last, predicate, None)


def _of_subject(reader: Reader, subject: EntityId, predicate: str, after: Fact | None) -> Iterator[Fact]:
    page = Page(ROWS_PER_PAGE, None if after is None else valid_order(after.version))
    while True:
        known_at = reader.head.recorded_at
        found = reader.history(subject, predicate, known_at, ALWAYS, certain=False, order=Order.VALID, page=page)
        yield from found
        if len(found) < page.limit:
            return
        page = Page(ROWS_PER_PAGE, valid_order(found[-1].version))
