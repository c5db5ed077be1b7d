"""Reading page by page: versions up to a ceiling that the caller gives; slots, and what was told of one, to the end."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from graph.periods import ALWAYS, valid_order
from graph.ports import Order, OrderKey, Page, Reader
from ontology.claims import Told
from ontology.events import SlotHead
from ontology.facts import Fact, FactVersion, Slot
from ontology.ids import EntityId
from ontology.instants import Instant
from ontology.intervals import Interval
from ontology.values import ValueKey

ROWS_PER_PAGE: Final = 1_000


class OfSubject(NamedTuple):
    """What is said of a subject, under one predicate or all."""

    subject: EntityId
    predicate: str | None


class OfValue(NamedTuple):
    """Who has a value: the inverse question."""

    value: ValueKey
    predicate: str | None


Asked = OfSubject | OfValue


def each_version(
    reader: Reader, asked: Asked, known_at: Instant, order: Order, after: OrderKey | None, *,
    certain: bool, ceiling: int,
) -> Iterator[FactVersion]:  # fmt: skip
    """Versions one by one, in small pages at first, since few are wanted as a rule."""
    size = 4
    while ceiling > 0:
        page = Page(min(size, ceiling), after)
        facts = history_page(reader, asked, known_at, ALWAYS, certain=certain, order=order, page=page)
        yield from (fact.version for fact in facts)
        if len(facts) < page.limit:
            return
        ceiling, size = ceiling - len(facts), min(2 * size, ROWS_PER_PAGE)
        after = valid_order(facts[-1].version)


def each_slot(reader: Reader, predicate: str | None) -> Iterator[SlotHead]:
    """Every slot of the scope, or of one predicate, in the order of `Reader.slots`."""
    return each_slot_after(reader, predicate, None)


def each_slot_after(reader: Reader, predicate: str | None, after: Slot | None) -> Iterator[SlotHead]:
    """The same from the one after `after` on."""
    while page := reader.slots(predicate, limit=ROWS_PER_PAGE, after=after):
        yield from page
        if len(page) < ROWS_PER_PAGE:
            return
        after = page[-1].slot


def each_told(reader: Reader, slot: Slot) -> Iterator[Told]:
    """Everything that was ever told of a slot, ended claims and retractions included, as it was recorded."""
    after = None
    while page := reader.claims(slot.subject, slot.predicate, limit=ROWS_PER_PAGE, after=after):
        yield from (told for told in page if told.claim.slot == slot)
        if len(page) < ROWS_PER_PAGE:
            return
        after = (page[-1].claim.entry.position, page[-1].claim.entry.ordinal, 0)


def history_page(
    reader: Reader, asked: Asked, known_at: Instant, within: Interval, *, certain: bool, order: Order, page: Page
) -> list[Fact]:
    match asked:
        case OfSubject(subject, predicate):
            return reader.history(subject, predicate, known_at, within, certain=certain, order=order, page=page)
        case OfValue(value, predicate):
            return reader.holders_history(value, predicate, known_at, within, certain=certain, order=order, page=page)


def read_history(
    reader: Reader, asked: Asked, known_at: Instant, within: Interval, *, certain: bool, ceiling: int
) -> tuple[list[FactVersion], Instant | None]:
    """Versions by valid time, and the start of the first one that the ceiling left out."""

    def page(page: Page) -> list[Fact]:
        return history_page(reader, asked, known_at, within, certain=certain, order=Order.VALID, page=page)

    versions, cut = read(page, valid_order, ceiling)
    return versions, None if cut is None else cut.valid_from


def read(
    give: Callable[[Page], list[Fact]], order: Callable[[FactVersion], OrderKey], ceiling: int
) -> tuple[list[FactVersion], FactVersion | None]:
    """Up to `ceiling` versions, page by page, and the first one beyond."""
    versions: list[FactVersion] = []
    while True:
        page = Page(min(ROWS_PER_PAGE, ceiling + 1 - len(versions)), order(versions[-1]) if versions else None)
        facts = give(page)
        versions += [fact.version for fact in facts]
        if len(versions) > ceiling:
            return versions[:-1], versions[-1]
        if len(facts) < page.limit:
            return versions, None
