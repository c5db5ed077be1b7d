"""The proof that something is gone: every place that could still have it is searched, and says what it found."""

import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, TypeVar

from graph.ports import MemoryStore, Reader, Transaction
from ontology.errors import JSON, NotFound
from ontology.handoffs import Handoff
from ontology.ids import EntityId, EpisodeId, is_recorded
from ontology.operations import operation_of
from ontology.scope import Scope
from ontology.tombstones import Target, Tombstone
from ontology.values import entity_value, value_key

Id = TypeVar("Id")

IDS_MAX: Final = 1_000
"""So many claims, and so many facts, are looked for one by one."""
NAMED: Final = re.compile(rb"(?:ent|clm|fct|epi|opr)_[a-z2-7]{8}_\d+_\d+")
"""The ids in a document."""


def verified(store: MemoryStore, stone: Tombstone) -> dict[str, JSON]:
    """What was searched for what a tombstone stands for, and how much was found, which should be nothing.

    A slot or a source may have been told of again since: then that is found by no id of what was forgotten.
    """
    found: dict[str, int] = {}
    scopes = [s for s in store.scopes(stone.scope.tenant) if s.namespace == stone.scope.namespace] or [stone.scope]
    for scope in scopes if stone.target is Target.SUBJECT else [stone.scope]:
        for place, number in _search(store, scope, stone):
            found[place] = found.get(place, 0) + number
    searched: list[JSON] = [{"place": place, "found": number} for place, number in sorted(found.items())]
    return {
        "searched": searched,
        "ids": min(len(stone.claims), IDS_MAX) + min(len(stone.facts), IDS_MAX) + len(stone.destroyed),
        "found": sum(found.values()),
    }


def _search(store: MemoryStore, scope: Scope, stone: Tombstone) -> Iterator[tuple[str, int]]:
    queue = store.queue
    with store.write(scope) as tx:  # nothing is written: a transaction may ask for more than a reader
        yield from _of_owners(tx, stone)
        yield "claims", sum(_is_there(tx.claim, id) for id in stone.claims[:IDS_MAX])
        yield "facts", sum(_is_there(tx.fact, id) for id in stone.facts[:IDS_MAX])
        yield "quotes", len(tx.quotes(stone.claims[:IDS_MAX]))
        yield "journal", sum(_in_journal(tx, stone))
        yield "idempotency", _in_answers(tx, stone)
        yield "handoffs", _in_handoffs(tx, stone)
    read = [EpisodeId(id) for id in (*stone.destroyed, *stone.restated) if is_recorded(id)]
    receipts = 0
    for id in read:
        with suppress(NotFound):
            receipts += queue.operation(scope, operation_of(id)).receipts is not None
    yield "queue", receipts


def _of_owners(tx: Transaction, stone: Tombstone) -> Iterator[tuple[str, int]]:
    entities = [EntityId(id) for id in stone.destroyed if not is_recorded(id)]
    yield "entities", len(tx.entities_by_id(entities))
    yield "slots", sum(len(tx.slots_of(id, None)) for id in entities)
    yield "references", sum(len(tx.all_of_entity(value_key(entity_value(id)))) for id in entities)
    recorded = [EpisodeId(id) for id in stone.destroyed if is_recorded(id)]
    yield "verbatims", sum(_is_there(tx.recorded_episode, id) for id in recorded)
    yield "verbatims", sum(_has_words(tx, id) for id in stone.restated if is_recorded(id))
    read = [EpisodeId(id) for id in (*stone.destroyed, *stone.restated) if is_recorded(id)]
    yield "summaries", sum(tx.episode_record(id) is not None for id in read)


def _in_journal(tx: Transaction, stone: Tombstone) -> Iterator[int]:
    """Payloads of what is gone, and ids of what is gone in the payloads that were restated."""
    yield sum(len(tx.payloads_about(owner)) for owner in stone.destroyed)
    ids = {id.encode() for id in (*stone.claims[:IDS_MAX], *stone.facts[:IDS_MAX])}
    for owner in stone.restated:
        for position, payload in tx.payloads_about(owner):
            yield position < stone.position and not ids.isdisjoint(NAMED.findall(payload.body))


def _in_answers(tx: Transaction, stone: Tombstone) -> int:
    ids = {id.encode() for id in (*stone.destroyed, *stone.claims[:IDS_MAX], *stone.facts[:IDS_MAX])}
    bodies = (zlib.decompress(each.receipt) for each in tx.kept_answers() if each.receipt)
    return sum(not ids.isdisjoint(NAMED.findall(body)) for body in bodies)


def _in_handoffs(tx: Transaction, stone: Tombstone) -> int:
    """How many facts that are gone are pinned in handoffs of the scope."""
    facts, found = frozenset(stone.facts), 0
    after: Handoff | None = None
    while page := tx.handoffs_of_namespace(limit=IDS_MAX, after=after):
        found += sum(len(facts.intersection(each.facts)) for each in page if each.scope == tx.scope)
        after = page[-1]
    return found


def _has_words(reader: Reader, id: object) -> int:
    with suppress(NotFound):
        return int(reader.recorded_episode(EpisodeId(str(id))).verbatim is not None)
    return 0


def _is_there(look: Callable[[Id], object], id: Id) -> int:
    with suppress(NotFound):
        look(id)
        return 1
    return 0
