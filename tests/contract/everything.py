"""Everything that a snapshot answers, over the instants and names that occur in it: what two stores must share."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise, product
from random import Random
from typing import Any

from graph.ports import Order, OrderKey, Page, Reader, Transaction
from ontology.claims import HELD, Lifecycle, Source, Told
from ontology.entries import Entry
from ontology.facts import AsOf, Fact, FactVersion, Slot
from ontology.ids import EntityId, EpisodeId
from ontology.instants import OPEN_END, OPEN_START, SECOND, Instant
from ontology.intervals import Interval
from ontology.values import ValueKey
from tests.contract.world import ALL, plain

ALWAYS = Interval(OPEN_START, OPEN_END)


def answers(reader: Reader, texts: Sequence[str], *, page: int, instants: int = 7) -> Iterator[tuple[Any, ...]]:
    """(question, answer) for each question; lists are read by pages of `page`. `texts` may be types and names.

    Asked about some `instants` of each time, of all that mean something to the world.
    """
    entities = reader.list_entities(_last(reader), type=None, name=None, limit=1000, after=None)
    heads = reader.slots(None, limit=1000, after=None)
    subjects = list(dict.fromkeys(head.slot.subject for head in heads))
    predicates: list[str | None] = [None, *sorted({head.slot.predicate for head in heads})]
    rectangles = [f.version for s in subjects for f in reader.audit(s, None, valid_at=None, touched=None, page=ALL)]
    yield "entities", plain(entities), plain(reader.entities_by_id([e.id for e in entities]))
    yield "heads", plain(heads), plain(_slot_pages(reader, None, page))
    yield "versions", plain(rectangles)
    for predicate in predicates:
        yield "slots", predicate, plain(_slot_pages(reader, predicate, page))
    known = _instants((v.recorded_from for v in rectangles), instants)
    if rectangles:  # what is known now is judged by the clock, which is later
        known.append(Instant(reader.head.recorded_at + 3 * SECOND))
    for now in known:
        yield "overdue", now, _ids(_overdue_pages(reader, now, page))
    served = reader.served(rectangles)
    for version in rectangles:
        whole = [Interval(version.recorded_from, version.recorded_to)]
        yield "served", version.id, served.get(version.id, whole)
    for known_at in known:
        valid = _instants((t for v in rectangles for t in (v.valid_from, v.valid_to)), instants)
        for valid_at in valid:
            as_of = AsOf(valid_at=valid_at, known_at=known_at)
            for certain in (False, True):
                yield from _at(reader, as_of, certain, subjects, predicates, page)
            yield from _listed(reader, as_of, texts, page)
    yield from _histories(reader, known, subjects, predicates, rectangles, page, instants)
    yield from _told(reader, subjects, predicates, rectangles, page)


def locked(tx: Transaction, values: Sequence[ValueKey]) -> Iterator[tuple[Any, ...]]:
    """(question, answer) for what only a writer asks."""
    for head in tx.slots(None, limit=1000, after=None):
        slot = head.slot
        entries = tx.entries(slot)
        yield slot, "entries", [(plain(entry), id) for entry, id in entries]
        yield slot, "support", plain(tx.support_now(slot, values))
        for value in [None, *values]:
            window = tx.window(slot, value, ALWAYS, None)
            yield slot, value, "window", plain(window.span), plain(window.versions), _shows(window.extents)
        told = tx.claims(slot.subject, slot.predicate, limit=1000, after=None)
        roots = sorted({t.claim.root for t in told})
        episodes: list[EpisodeId | None] = [None, *sorted({t.claim.episode for t in told if t.claim.episode})]
        yield slot, "episodes", plain(tx.episodes([e for e in episodes if e is not None]))
        for value in values:
            yield slot, value, "heard", plain(tx.heard(slot, value))
            yield slot, value, "voices", [tx.voice(slot, value, root, e) for root in roots for e in episodes]
            yield slot, value, "repeated", [_ids(tx.repeated(slot, value, e)) for e in episodes if e is not None]
    for subject in {head.slot.subject for head in tx.slots(None, limit=1000, after=None)}:
        yield subject, "payloads", plain(tx.payloads_about(subject))


def _at(
    reader: Reader,
    as_of: AsOf,
    certain: bool,
    subjects: Sequence[EntityId],
    predicates: Sequence[str | None],
    page: int,
) -> Iterator[tuple[Any, ...]]:
    pairs = [(subject, predicate) for subject in subjects for predicate in predicates]
    for pair in pairs:
        yield as_of, certain, pair, plain(reader.state([pair], as_of, certain=certain, page=ALL))
    yield as_of, certain, plain(pages(partial(reader.state, pairs, as_of, certain=certain), page))
    for predicate in predicates:
        if predicate is not None:
            found = pages(partial(reader.of_predicate, predicate, as_of, certain=certain), page)
            yield as_of, certain, predicate, plain(found)
    if not certain:
        yield from _walked(reader, as_of, subjects)
    values = {f.version.value_key for s in subjects for f in reader.state([(s, None)], as_of, certain=False, page=ALL)}
    for value in sorted(values):
        for predicate in predicates:
            found = pages(partial(reader.holders, value, predicate, as_of, certain=certain), page)
            yield as_of, certain, value, predicate, plain(found)


def _walked(reader: Reader, as_of: AsOf, subjects: Sequence[EntityId]) -> Iterator[tuple[Any, ...]]:
    slots = [head.slot for head in reader.slots(None, limit=1000, after=None)]
    for limit in (1, 2, 1000):
        around = reader.around(subjects, as_of, limit=limit)
        yield "around", as_of, limit, sorted((entity, list(edges)) for entity, edges in around.items())
        yield "entity edges", as_of, limit, plain(reader.entity_edges(slots, as_of, limit=limit))
    ids = {edge.fact for edges in around.values() for edge in edges}
    yield "facts", as_of, plain(sorted(reader.facts(sorted(ids), as_of.known_at).items()))


def _listed(reader: Reader, as_of: AsOf, texts: Sequence[str], page: int) -> Iterator[tuple[Any, ...]]:
    for type_ in [None, *texts]:
        for name in [None, *texts]:
            found: list[object] = []
            after: EntityId | None = None
            while rows := reader.list_entities(as_of, type=type_, name=name, limit=page, after=after):
                found += rows
                after = rows[-1].id
            yield as_of, type_, name, plain(found)


def _histories(
    reader: Reader,
    known: Sequence[Instant],
    subjects: Sequence[EntityId],
    predicates: Sequence[str | None],
    rectangles: Sequence[FactVersion],
    page: int,
    instants: int,
) -> Iterator[tuple[Any, ...]]:
    valid = _instants((t for v in rectangles for t in (v.valid_from, v.valid_to)), instants)
    spans = [ALWAYS, *(Interval(first, last) for first, last in zip(valid, valid[2:], strict=False))]
    values = sorted({version.value_key for version in rectangles})
    for known_at, within, order in product(known, spans, Order):
        certain = within.start % 2 == 0
        for subject in subjects:
            found = pages(
                partial(reader.history, subject, None, known_at, within, certain=certain, order=order), page, order
            )
            yield "history", known_at, within, order, plain(found)
        for value in values:
            found = pages(
                partial(reader.holders_history, value, None, known_at, within, certain=certain, order=order),
                page,
                order,
            )
            yield "holders", known_at, within, order, value, plain(found)
    periods = [None, *(Interval(first, last) for first, last in pairwise(known))]
    for subject, predicate, valid_at, touched in product(subjects, predicates, [None, *valid], periods):
        asked = partial(reader.audit, subject, predicate, valid_at=valid_at, touched=touched)
        yield "audit", subject, predicate, valid_at, touched, plain(pages(asked, page, Order.RECORDED))


def _told(
    reader: Reader, subjects: Sequence[EntityId], predicates: Sequence[str | None], rectangles: Sequence[FactVersion],
    page: int,
) -> Iterator[tuple[Any, ...]]:  # fmt: skip
    told: list[Told] = []
    for subject in subjects:
        for predicate in predicates:
            found: list[Told] = []
            after: OrderKey | None = None
            while rows := reader.claims(subject, predicate, limit=page, after=after):
                found += rows
                after = (rows[-1].claim.entry.position, rows[-1].claim.entry.ordinal, 0)
            yield "claims", subject, predicate, plain(found)
            told += found
    for each in told:
        yield "claim", plain(reader.claim(each.claim.id))
    for version in rectangles:
        yield "fact", plain(reader.fact(version.id))
        for known_at in (version.recorded_from, Instant(OPEN_END - 1)):
            shown: list[Told] = []
            order: OrderKey | None = None
            while rows := reader.evidence(version, known_at, limit=page, after=order):
                shown += rows
                order = rows[-1].claim.entry.order
            yield "evidence", version.id, known_at, _ids(shown)
    for episode in sorted({t.claim.episode for t in told if t.claim.episode}):
        yield "episode", episode, _ids(reader.claims_of_episode(episode))
    for source in sorted({t.claim.source for t in told}):
        yield "source", source, _ids(reader.claims_of_source(Source(source)))
    yield from _waiting(reader, page)
    yield "schema", plain(reader.schema())
    yield "events", plain(reader.events(after=0, limit=1000)), plain(reader.events(after=2, limit=2))
    yield "head", plain(reader.head)


def _waiting(reader: Reader, page: int) -> Iterator[tuple[Any, ...]]:
    yield "held counts", sorted(reader.held_counts().items())
    for states in (HELD, {Lifecycle.QUARANTINED}, {Lifecycle.STAGED}):
        for rule in (None, "untrusted", "sensitive"):
            found: list[Told] = []
            after: OrderKey | None = None
            while rows := reader.held(states, rule, limit=page, after=after):
                found += rows
                after = (rows[-1].claim.entry.position, rows[-1].claim.entry.ordinal, 0)
            yield "held", sorted(states), rule, plain(found)


def _overdue_pages(reader: Reader, now: Instant, size: int) -> Iterator[Told]:
    after: OrderKey | None = None
    while rows := reader.overdue(now, limit=size, after=after):
        yield from rows
        last = rows[-1].claim
        after = (last.expires_at, last.entry.position, last.entry.ordinal)


def pages(read: Callable[..., list[Fact]], size: int, order: Order = Order.VALID) -> list[Fact]:
    """A list of facts, read page by page."""
    found: list[Fact] = []
    after: OrderKey | None = None
    while rows := read(page=Page(size, after)):
        found += rows
        last = rows[-1].version
        after = (last.valid_from, last.recorded_from, last.ordinal)
        if order is Order.RECORDED:
            after = (last.recorded_from, last.ordinal, last.valid_from)
    return found


def _slot_pages(reader: Reader, predicate: str | None, size: int) -> list[object]:
    found: list[object] = []
    after: Slot | None = None
    while heads := reader.slots(predicate, limit=size, after=after):
        found += heads
        after = heads[-1].slot
    return found


def _instants(named: Iterable[int], most: int) -> list[Instant]:
    """At most so many of the instants that occur, and of those just before, inside the axis; the same each time."""
    inner = sorted({t for each in named for t in (each, each - 1) if OPEN_START < t < OPEN_END})
    chosen = Random(len(inner)).sample(inner, min(most, len(inner)))
    return [Instant(t) for t in sorted(chosen)]


def _last(reader: Reader) -> AsOf:
    return AsOf(valid_at=Instant(OPEN_END - 1), known_at=reader.head.recorded_at)


def _ids(told: Iterable[Told]) -> list[str]:
    return [each.claim.id for each in told]


def _shows(extents: Iterable[Any]) -> list[tuple[Any, ...]]:
    def key(entry: Entry) -> tuple[int, int]:
        return entry.position, entry.ordinal

    return sorted((key(extent.entry), extent.valid_from, extent.valid_to) for extent in extents)
