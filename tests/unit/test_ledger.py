"""Ledger rows tell apart what differs; hashes compare what they say they compare."""

import dataclasses
import random
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.ledger import KINDS, LedgerItem, belief_hash, ledger_hash, ledger_order, ledger_row
from graph.ports import MemoryStore
from ontology.claims import Entity, Episode, Lifecycle, Source, Transition
from ontology.events import ChangeSet
from ontology.facts import FactVersion, Slot, Support
from ontology.ids import ClaimId, EntityId, EpisodeId, FactId
from ontology.instants import OPEN_END, Instant
from ontology.packs import load_core
from ontology.scope import Namespace, Scope, Tenant, scope_of
from ontology.values import Value, ValueType, entity_value, value_key
from tests.unit.test_journal import changesets

ACME = Tenant("acme")
SCOPE = scope_of("acme")
NOW = Instant(1_780_000_000_000_000)
ANNA, BEN = EntityId("ent_abcdefgh_1_0"), EntityId("ent_abcdefgh_1_1")


class Rows:
    """As much of a store as the hashes need."""

    def __init__(self, items: Sequence[tuple[str, LedgerItem]]) -> None:
        ranked = sorted(items, key=lambda item: (KINDS.index(item[0]), ledger_order(item[1])))
        self._rows = [(kind, ledger_row(kind, item)) for kind, item in ranked]

    def ledger(self, tenant: Tenant) -> Iterator[tuple[str, tuple[object, ...]]]:
        return iter(self._rows)


def store(*items: tuple[str, LedgerItem]) -> MemoryStore:
    return cast(MemoryStore, Rows(items))


def entity(id: EntityId, key: str | None) -> tuple[str, LedgerItem]:
    return "entity", Entity(id=id, namespace=SCOPE.namespace, key=key)


def version(
    subject: EntityId, value: Value, *, position: int = 1, ordinal: int = 0, scope: Scope = SCOPE,
    recorded_to: Instant = OPEN_END, valid_from: Instant = NOW, ledger: str = "abcdefgh",
) -> tuple[str, LedgerItem]:  # fmt: skip
    slot = Slot(scope=scope, subject=subject, predicate="knows", language="")
    return "version", FactVersion(
        id=FactId(f"fct_{ledger}_{position}_{ordinal}"), position=position, ordinal=ordinal, slot=slot, value=value,
        value_key=value_key(value), certain=True, valid_from=valid_from, valid_to=OPEN_END,
        recorded_from=Instant(NOW + position), recorded_to=recorded_to,
    )  # fmt: skip


def text(words: str) -> Value:
    return Value(type=ValueType.TEXT, text=words, qualifier="")


def items_of(changes: ChangeSet) -> list[tuple[str, LedgerItem]]:
    lists: list[tuple[str, Sequence[LedgerItem]]] = [
        ("entity", [dataclasses.replace(each, id=EntityId(each.id)) for each in changes.entities]),
        ("episode", changes.episodes),
        ("claim", changes.claims),
        ("transition", changes.transitions),
        ("version", changes.opened),
        ("support", changes.support),
    ]
    return [(kind, item) for kind, listed in lists for item in listed]


@given(changes=changesets)
@settings(max_examples=50)
def test_every_field_of_every_item_counts(changes: ChangeSet) -> None:
    for kind, item in items_of(changes):
        row = ledger_row(kind, item)
        assert all(value is None or type(value) in (str, int, float, bytes) for value in row)
        for field in dataclasses.fields(item):
            other = _altered(item, field.name)
            if other is not None:
                assert ledger_row(kind, other) != row, field.name
                assert ledger_hash(store((kind, other)), ACME) != ledger_hash(store((kind, item)), ACME)


def _altered(item: Any, field: str) -> Any:
    """The item with another value in one field, for the kinds of fields that are easy to alter."""
    value = getattr(item, field)
    match value:
        case bool():
            return dataclasses.replace(item, **{field: not value})
        case int() | float():
            return dataclasses.replace(item, **{field: value + 1})
        case bytes():
            return dataclasses.replace(item, **{field: value + b"\0"})
        case str() if type(value) is str and field not in ("id", "claim"):
            return dataclasses.replace(item, **{field: value + "0"})
        case _:
            return None


def test_a_schema_has_a_row() -> None:
    core = load_core()

    assert ledger_row("schema", core)[0] == core.version
    assert ledger_row("schema", core) != ledger_row("schema", dataclasses.replace(core, strict=not core.strict))


def test_the_kind_must_be_that_of_the_item() -> None:
    with pytest.raises(TypeError, match=r"'claim'.*Entity"):
        ledger_row("claim", entity(ANNA, None)[1])


def test_texts_that_run_together_are_framed_apart() -> None:
    one = store(("episode", Episode(id=EpisodeId("a"), source=Source("bc"), observed_at=None, root="d")))
    two = store(("episode", Episode(id=EpisodeId("ab"), source=Source("c"), observed_at=None, root="d")))

    assert ledger_hash(one, ACME) != ledger_hash(two, ACME)


def test_a_subject_has_a_hash_of_its_own_rows_alone() -> None:
    anna, anna_more = version(ANNA, text("x")), version(ANNA, text("y"), ordinal=2)
    ben = version(BEN, text("z"), ordinal=1)
    ended = Transition(
        claim=ClaimId("clm_abcdefgh_1_0"), state=Lifecycle.WITHDRAWN, reason="", position=2, recorded_at=NOW,
        rule="withdraw", actor="me", decided_on=None, successor=None,
    )  # fmt: skip
    before = store(entity(ANNA, "anna"), entity(BEN, "ben"), anna, ben)
    about_ben = store(entity(ANNA, "anna"), entity(BEN, "benno"), anna, ben, ("transition", ended))
    about_anna = store(entity(ANNA, "anna"), entity(BEN, "ben"), anna, ben, anna_more)

    assert ledger_hash(before, ACME, subject=ANNA) == ledger_hash(about_ben, ACME, subject=ANNA)
    assert ledger_hash(before, ACME, subject=ANNA) != ledger_hash(about_anna, ACME, subject=ANNA)
    assert ledger_hash(before, ACME, subject=BEN) == ledger_hash(about_anna, ACME, subject=BEN)
    assert ledger_hash(before, ACME) != ledger_hash(about_ben, ACME)


def test_belief_is_the_same_under_other_ids_recorded_times_and_orders() -> None:
    said = [(ANNA, entity_value(BEN)), (BEN, text("x")), (ANNA, text("y"))]
    one = [entity(ANNA, "anna"), entity(BEN, "ben")]
    one += [version(subject, value, ordinal=n) for n, (subject, value) in enumerate(said)]
    swapped = {ANNA: EntityId("ent_zzzzzzzz_9_7"), BEN: EntityId("ent_zzzzzzzz_3_1")}
    random.Random(5).shuffle(said)
    two = [entity(swapped[BEN], "ben"), entity(swapped[ANNA], "anna")]
    for n, (subject, value) in enumerate(said):
        moved = entity_value(swapped[BEN]) if value.type is ValueType.ENTITY else value
        two.append(version(swapped[subject], moved, position=7 + n, ledger="zzzzzzzz"))

    assert belief_hash(store(*one), SCOPE) == belief_hash(store(*two), SCOPE)
    assert ledger_hash(store(*one), ACME) != ledger_hash(store(*two), ACME)


def test_belief_tells_apart_what_is_believed() -> None:
    base = [entity(ANNA, "anna"), entity(BEN, "ben")]
    worlds = [
        [*base],
        [*base, version(ANNA, text("x"))],
        [*base, version(BEN, text("x"))],
        [*base, version(ANNA, text("x")), version(ANNA, text("x"), ordinal=1)],
        [*base, version(ANNA, text("x"), valid_from=Instant(NOW + 1))],
        [*base, version(ANNA, entity_value(BEN))],
        [*base, version(ANNA, text(BEN))],
        [*base, version(ANNA, text("ben"))],
        [entity(ANNA, "anna"), entity(BEN, None), version(ANNA, entity_value(BEN))],
    ]

    assert len({belief_hash(store(*world), SCOPE) for world in worlds}) == len(worlds)


def test_belief_is_of_one_scope_and_of_now() -> None:
    now = [entity(ANNA, "anna"), version(ANNA, text("x"))]
    elsewhere = dataclasses.replace(SCOPE, namespace=Namespace("team"))
    more = [version(ANNA, text("y"), ordinal=1, recorded_to=NOW), version(ANNA, text("z"), ordinal=2, scope=elsewhere)]

    assert belief_hash(store(*now, *more), SCOPE) == belief_hash(store(*now), SCOPE)
    assert belief_hash(store(*now, *more), elsewhere) != belief_hash(store(*now), elsewhere)


@given(st.lists(st.tuples(st.sampled_from([ANNA, BEN]), st.binary(min_size=16, max_size=16)), unique=True, max_size=5))
def test_support_has_a_total_order(rows: list[tuple[EntityId, bytes]]) -> None:
    items: list[tuple[str, LedgerItem]] = []
    for subject, key in rows:
        slot = Slot(scope=SCOPE, subject=subject, predicate="knows", language="")
        value = value_key(text(key.hex()))
        row = Support(slot=slot, value_key=value, recorded_from=NOW, sources=1, occurrences=1, doubt=0.5)
        items.append(("support", row))

    assert ledger_hash(store(*items), ACME) == ledger_hash(store(*reversed(items)), ACME)
