"""What each method of the store contract promises, seen from outside, on every store."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from graph.journal import commit
from graph.ports import Answered, Grade, MemoryStore, Order, Page, Transaction
from ontology.claims import Entity, Source
from ontology.entries import End, Start
from ontology.errors import Busy, NotFound
from ontology.events import ChangeSet, Kind
from ontology.facts import AsOf
from ontology.ids import ClaimId, EntityId, EpisodeId, FactId, Ledger
from ontology.instants import OPEN_END, OPEN_START, SECOND, Instant, parse_instant
from ontology.intervals import Interval
from ontology.scope import scope_of
from tests.contract.world import (
    ALL,
    SCOPE,
    World,
    claim,
    correct,
    entity_key,
    erase,
    plain,
    retract,
    text_key,
    texts,
    withdraw,
)

ALWAYS = Interval(OPEN_START, OPEN_END)
FAR = parse_instant("2100-01-01")
HOSTILE = [
    "'; DROP TABLE versions; --", '"; SELECT 1', "%", "_", "*", "[a-z]", "\\", "?1", ":tenant", "NULL", "null", " ",
    "ﬀ", "İ", "ß", "a\u0301", "👩‍👩‍👧", "\u202etxet", "x" * 400, "\ufeff", "{}", "[]", "1e999", "0", "-0", "true",
]  # fmt: skip


# --- an empty store


def test_an_empty_tenant_has_no_ledger(store: MemoryStore) -> None:
    with store.read(SCOPE) as reader:
        head = reader.head
    assert (head.ledger, head.position, head.recorded_at) == (None, 0, OPEN_START)
    assert (head.digest, head.erasures, head.schema_version) == (bytes(32), 0, 0)
    assert store.tenants() == []
    assert store.scopes(SCOPE.tenant) == []
    assert list(store.ledger(SCOPE.tenant)) == []


def test_an_empty_scope_answers_everything_with_nothing(store: MemoryStore) -> None:
    nobody, as_of = EntityId("ent_abcdefgh_1_0"), AsOf(valid_at=FAR, known_at=FAR)
    with store.read(SCOPE) as reader:
        assert reader.schema() is None
        assert reader.entities_by_key(["anna"]) == {}
        assert reader.entities_by_id([nobody, EntityId("no id")]) == {}
        assert reader.list_entities(as_of, type=None, name=None, limit=10, after=None) == []
        assert reader.state([(nobody, None)], as_of, certain=False, page=ALL) == []
        assert reader.state([], as_of, certain=False, page=ALL) == []
        assert reader.of_predicate("p", as_of, certain=False, page=ALL) == []
        assert reader.holders(text_key("x"), None, as_of, certain=False, page=ALL) == []
        assert reader.history(nobody, None, FAR, ALWAYS, certain=False, order=Order.VALID, page=ALL) == []
        assert reader.audit(nobody, None, valid_at=None, touched=None, page=ALL) == []
        assert reader.claims(nobody, None, limit=10, after=None) == []
        assert reader.claims_of_episode(EpisodeId("e")) == []
        assert reader.claims_of_source(Source("s")) == []
        assert reader.slots_of(nobody, None) == []
        assert reader.slots(None, limit=10, after=None) == []
        assert reader.events(after=0, limit=10) == []
        assert reader.answered("me", "key") is None


def test_check_names_the_engine_and_finds_nothing_wrong(store: MemoryStore) -> None:
    findings = store.check(Instant(time.time_ns() // 1000))
    assert [each.finding for each in findings if each.check == "engine"] == [store.capabilities.engine]
    assert [each for each in findings if each.grade is not Grade.OK] == []
    assert store.capabilities.engine


# --- two times


def test_a_later_start_ends_the_earlier_value_and_keeps_the_past_answer(world: World) -> None:
    first = world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    world.tell("anna", "lives_in", "Riga", "2022-01-01")
    assert world.state("anna", "lives_in", "2023-01-01") == ["Riga"]
    assert world.state("anna", "lives_in", "2021-01-01") == ["Oslo"]
    assert world.state("anna", "lives_in", "2023-01-01", first) == ["Oslo"]
    assert world.state("anna", "lives_in", "2019-12-31") == []


def test_intervals_are_half_open_on_both_sides(world: World) -> None:
    known = world.tell("anna", "lives_in", "Oslo", "2020-01-01", "2021-01-01")
    assert world.state("anna", "lives_in", "2020-01-01") == ["Oslo"]
    assert world.state("anna", "lives_in", "2020-12-31T23:59:59.999999Z") == ["Oslo"]
    assert world.state("anna", "lives_in", "2021-01-01") == []
    assert world.state("anna", "lives_in", "2020-06-01", known) == ["Oslo"]
    assert world.state("anna", "lives_in", "2020-06-01", Instant(known - 1)) == []


def test_what_was_known_does_not_change_with_corrections(world: World) -> None:
    wrong = world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    world.write(correct("anna", "lives_in", "Oslo", "2020-06-01", "Riga"))
    assert world.state("anna", "lives_in", "2020-06-01") == ["Riga"]
    assert world.state("anna", "lives_in", "2020-06-01", wrong) == ["Oslo"]


def test_known_at_later_than_the_newest_commit_is_answered_at_it(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    assert world.state("anna", "lives_in", "2021-01-01", FAR) == ["Oslo"]


def test_a_long_slot_answers_at_every_pair_of_instants(world: World) -> None:
    count = 60
    known = [
        world.tell("anna", "lives_in", f"v{n}", f"2020-01-01T{n // 60:02d}:{n % 60:02d}:00Z") for n in range(count)
    ]
    starts = [parse_instant(f"2020-01-01T{n // 60:02d}:{n % 60:02d}:00Z") for n in range(count)]
    id = world.id("anna")
    with world.store.read(SCOPE) as reader:
        for k in range(0, count, 7):
            for v in range(0, count, 5):
                as_of = AsOf(valid_at=Instant(starts[v] + SECOND), known_at=known[k])
                found = reader.state([(id, "lives_in")], as_of, certain=True, page=ALL)
                assert texts(found) == [f"v{min(v, k)}"]
        before = AsOf(valid_at=Instant(starts[0] - 1), known_at=known[-2])
        assert reader.state([(id, "lives_in")], before, certain=False, page=ALL) == []


def test_bounded_values_in_a_long_slot_leave_holes_at_every_pair_of_instants(world: World) -> None:
    known = [world.tell("anna", "lives_in", "x", f"{1900 + n}-01-01", f"{1900 + n}-07-01") for n in range(40)]
    for n in (0, 1, 20, 39):
        assert world.state("anna", "lives_in", f"{1900 + n}-03-01", known[n]) == ["x"]
        assert world.state("anna", "lives_in", f"{1900 + n}-09-01", known[n]) == []
        assert world.state("anna", "lives_in", "2020-01-01", known[n]) == []


# --- state, order, pages


def test_many_values_come_in_the_order_of_valid_time(world: World) -> None:
    world.write(*(claim("anna", "knows", name, f"20{year}-01-01") for name, year in (("c", 20), ("a", 22), ("b", 21))))
    assert world.state("anna", "knows", "2023-01-01") == ["c", "b", "a"]


def test_equal_starts_come_in_the_order_of_recorded_time_and_place(world: World) -> None:
    world.write(claim("anna", "knows", "b", "2020-01-01"), claim("anna", "knows", "c", "2020-01-01"))
    world.write(claim("anna", "knows", "a", "2020-01-01"))
    found = world.state("anna", "knows", "2023-01-01")
    assert (sorted(found[:2]), found[2]) == (["b", "c"], "a")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9])
def test_a_limit_and_one_past_it_split_the_same_list(world: World, size: int) -> None:
    world.write(*(claim("anna", "knows", f"n{n}", f"20{10 + n}-01-01") for n in range(8)))
    as_of = AsOf(valid_at=FAR, known_at=world.now())
    old = AsOf(valid_at=FAR, known_at=as_of.known_at)
    world.tell("anna", "knows", "one more", "2019-06-01")
    pair = [(world.id("anna"), "knows")]
    with world.store.read(SCOPE) as reader:
        whole = texts(reader.state(pair, old, certain=False, page=ALL))
        found: list[str] = []
        after = None
        while rows := reader.state(pair, old, certain=False, page=Page(size, after)):
            assert len(rows) <= size
            found += texts(rows)
            after = (rows[-1].version.valid_from, rows[-1].version.recorded_from, rows[-1].version.ordinal)
    assert whole == found == [f"n{n}" for n in range(8)]


def test_two_hundred_pairs_in_one_question(world: World) -> None:
    world.write(*(claim(f"p{n}", "lives_in", f"v{n}", "2020-01-01") for n in range(200)))
    with world.store.read(SCOPE) as reader:
        ids = reader.entities_by_key([f"p{n}" for n in range(200)])
        pairs: list[tuple[EntityId, str | None]] = [(ids[f"p{n}"].id, "lives_in") for n in range(200)]
        as_of = AsOf(valid_at=FAR, known_at=world.now())
        found = reader.state(pairs, as_of, certain=False, page=ALL)
        assert sorted(texts(found)) == sorted(f"v{n}" for n in range(200))
        assert reader.state(pairs, as_of, certain=False, page=Page(10)) == found[:10]


def test_a_pair_that_is_asked_twice_is_answered_once(world: World) -> None:
    known = world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    pair = (world.id("anna"), "lives_in")
    with world.store.read(SCOPE) as reader:
        asked: list[tuple[EntityId, str | None]] = [pair, pair, (pair[0], None)]
        assert texts(reader.state(asked, AsOf(valid_at=FAR, known_at=known), certain=False, page=ALL)) == ["Oslo"]


def test_languages_are_slots_of_their_own(world: World) -> None:
    vienna = {"type": "langtext", "lang": "de", "value": "Wien"}
    world.declare("name")
    world.tell("v", "name", vienna, "2020-01-01")
    world.tell("v", "name", {**vienna, "lang": "en", "value": "Vienna"}, "2021-01-01")
    assert world.state("v", "name", "2022-01-01") == ["Wien", "Vienna"]
    with world.store.read(SCOPE) as reader:
        assert [head.slot.language for head in reader.slots_of(world.id("v"), "name")] == ["de", "en"]


def test_certain_leaves_out_what_is_only_possible(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020")
    assert world.state("anna", "lives_in", "2020-06-01") == ["Oslo"]
    assert world.state("anna", "lives_in", "2020-06-01", certain=True) == []
    assert world.state("anna", "lives_in", "2021-06-01", certain=True) == ["Oslo"]


def test_possible_rivals_are_all_told_now_and_then(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2019-01-01")
    known = world.tell("anna", "lives_in", "Riga", "2020")
    world.tell("anna", "works_for", "NRK", "2019-01-01")
    for known_at in (known, None):
        assert world.state("anna", "lives_in", "2020-06-01", known_at) == ["Oslo", "Riga"]
        assert world.state("anna", "lives_in", "2020-06-01", known_at, certain=True) == []
        assert world.state("anna", "lives_in", "2019-06-01", known_at) == ["Oslo"]
        assert world.state("anna", "lives_in", "2021-06-01", known_at) == ["Riga"]


# --- history, audit, inverse look-ups


@pytest.mark.parametrize("order", Order)
def test_history_meets_the_window_and_nothing_outside(world: World, order: Order) -> None:
    for year in range(2010, 2020):
        world.tell("anna", "lives_in", f"v{year}", f"{year}-01-01")
    window = Interval(parse_instant("2013-06-01"), parse_instant("2015-01-01"))
    with world.store.read(SCOPE) as reader:
        found = reader.history(
            world.id("anna"), "lives_in", world.now(), window, certain=False, order=order, page=ALL
        )  # fmt: skip
    wanted = ["v2013", "v2014"]
    assert texts(found) == (wanted[::-1] if order is Order.VALID_DESCENDING else wanted)


def test_audit_keeps_every_rectangle(world: World) -> None:
    first = world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    second = world.tell("anna", "lives_in", "Riga", "2022-01-01")
    with world.store.read(SCOPE) as reader:
        id = world.id("anna")
        rows = [f.version for f in reader.audit(id, "lives_in", valid_at=None, touched=None, page=ALL)]
        at = reader.audit(id, None, valid_at=parse_instant("2021-01-01"), touched=None, page=ALL)
        touched = reader.audit(id, None, valid_at=None, touched=Interval(first, second), page=ALL)
    assert [(v.value.text, v.recorded_from, v.recorded_to) for v in rows] == [
        ("Oslo", first, second), ("Oslo", second, OPEN_END), ("Riga", second, OPEN_END),
    ]  # fmt: skip
    assert [f.version.recorded_from for f in at] == [first, second]
    assert [f.version.recorded_from for f in touched] == [first]


def test_holders_are_found_by_value_whatever_its_predicate(world: World) -> None:
    office = {"type": "entity", "key": "office"}
    world.write(claim("anna", "works_for", office, "2020-01-01"), claim("ben", "owns", office, "2021-01-01"))
    world.tell("anna", "works_for", "nobody", "2022-01-01")
    value = entity_key(world.id("office"))
    with world.store.read(SCOPE) as reader:
        early = AsOf(valid_at=parse_instant("2021-06-01"), known_at=reader.head.recorded_at)
        late = replace(early, valid_at=parse_instant("2022-06-01"))
        found = reader.holders(value, None, early, certain=False, page=ALL)
        assert [f.version.slot.predicate for f in found] == ["works_for", "owns"]
        assert [f.version.slot.predicate for f in reader.holders(value, None, late, certain=False, page=ALL)] == [
            "owns"
        ]
        assert reader.holders(value, "works_for", late, certain=False, page=ALL) == []
        past = reader.holders_history(
            value, "works_for", early.known_at, ALWAYS, certain=False, order=Order.VALID_DESCENDING, page=ALL
        )
        assert [f.version.valid_to for f in past] == [parse_instant("2022-01-01")]


def test_a_predicate_lists_all_its_subjects(world: World) -> None:
    world.write(*(claim(f"p{n}", "lives_in", f"v{n}", f"20{10 + n}-01-01") for n in range(5)))
    as_of = AsOf(valid_at=parse_instant("2012-06-01"), known_at=world.now())
    with world.store.read(SCOPE) as reader:
        assert texts(reader.of_predicate("lives_in", as_of, certain=False, page=ALL)) == ["v0", "v1", "v2"]
        assert texts(reader.of_predicate("lives_in", as_of, certain=False, page=Page(2))) == ["v0", "v1"]
        assert reader.of_predicate("lives", as_of, certain=False, page=ALL) == []


def test_a_fact_is_shown_as_when_it_was_last_believed(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01", source="a")
    world.tell("anna", "lives_in", "Oslo", "2020-01-01", source="b")
    world.tell("anna", "lives_in", "Riga", "2022-01-01")
    world.tell("anna", "lives_in", "Oslo", "2020-01-01", source="c")
    with world.store.read(SCOPE) as reader:
        rows = reader.audit(world.id("anna"), "lives_in", valid_at=None, touched=None, page=ALL)
        facts = [reader.fact(row.version.id) for row in rows]
    assert facts == rows
    assert [(f.version.value.text, f.support.sources) for f in facts] == [("Oslo", 2), ("Oslo", 3), ("Riga", 1)]


@pytest.mark.parametrize(
    ("valid_from", "valid_to", "start", "end"),
    [
        ("2020-01-01", None, Start.KNOWN, End.OPEN),
        ("2020-01-01", "infinity", Start.KNOWN, End.INFINITY),
        ("2020-01-01", "2021-01-01", Start.KNOWN, End.KNOWN),
        ("-infinity", "2021-01-01", Start.OPEN, End.KNOWN),
        ("unknown", "2021-01-01", Start.UNKNOWN, End.KNOWN),
        (None, None, Start.UNKNOWN, End.OPEN),
    ],
)
def test_how_the_ends_are_known_is_told(
    world: World, valid_from: str | None, valid_to: str | None, start: Start, end: End
) -> None:
    world.tell("anna", "owns", "car", valid_from, valid_to)
    with world.store.read(SCOPE) as reader:
        facts = reader.audit(world.id("anna"), "owns", valid_at=None, touched=None, page=ALL)
    assert (facts[0].start, facts[-1].end) == (start, end)


# --- evidence and claims


def test_evidence_is_what_shows_in_a_version_at_the_time(world: World) -> None:
    first = world.tell("anna", "lives_in", "Oslo", "2020-01-01", source="a")
    world.tell("anna", "lives_in", "Oslo", "2020-06-01", source="b")
    with world.store.read(SCOPE) as reader:
        version = reader.audit(world.id("anna"), None, valid_at=None, touched=None, page=ALL)[-1].version
        then = reader.evidence(version, first, limit=10, after=None)
        now = reader.evidence(version, FAR, limit=10, after=None)
        rest = reader.evidence(version, FAR, limit=10, after=now[0].claim.entry.order)
    assert [told.claim.source for told in then] == ["a"]
    assert [told.claim.source for told in now] == ["a", "b"]
    assert [told.claim.source for told in rest] == ["b"]


def test_the_first_evidence_of_many_versions_is_read_at_once(world: World) -> None:
    """Of each what `evidence` gives, at one time; what is of another scope is left out."""
    other = scope_of("acme", purpose="billing")
    world.tell("anna", "lives_in", "Rome", "2020-01-01", scope=other)
    first = world.tell("anna", "lives_in", "Oslo", "2020-01-01", source="a")
    for source in "dcb":
        world.tell("anna", "lives_in", "Oslo", "2020-06-01", source=source)
    world.tell("bert", "lives_in", "Lund", "2020-01-01", source="e")
    world.tell("bert", "lives_in", "Rome", "2021-01-01", source="f")
    with world.store.read(other) as reader:
        (foreign,) = reader.audit(world.id("anna"), None, valid_at=None, touched=None, page=ALL)
    with world.store.read(SCOPE) as reader:
        versions = [
            fact.version
            for key in ("anna", "bert")
            for fact in reader.audit(world.id(key), None, valid_at=None, touched=None, page=ALL)
        ]
        for known_at in (Instant(first - 1), first, FAR):
            found = reader.first_evidence([*versions, foreign.version], known_at, limit=2)
            each = {v.id: reader.evidence(v, known_at, limit=2, after=None) for v in versions}
            assert plain(found) == plain({id: told for id, told in each.items() if told})
        assert {len(told) for told in found.values()} == {1, 2}
        assert reader.first_evidence([], FAR, limit=2) == {}


def test_a_withdrawn_claim_stays_with_its_ending(world: World) -> None:
    receipt = world.write(claim("anna", "lives_in", "Oslo", "2020-01-01", source="a"))
    told = ClaimId(receipt["items"][0]["claim"])
    world.write(withdraw(claim=told))
    with world.store.read(SCOPE) as reader:
        found = reader.claim(told)
        listed = reader.claims(world.id("anna"), None, limit=10, after=None)
        assert [t.ending for t in listed] == [found.ending]
        assert reader.claims_of_source(Source("a")) == []
    assert found.ending is not None
    assert (found.ending.reason, found.ending.recorded_at, found.ending.successor) == ("wrong", world.now(), None)


def test_a_replaced_claim_names_its_successor(world: World) -> None:
    receipt = world.write(claim("anna", "lives_in", "Oslo", "2020-01-01"))
    new = world.write(correct("anna", "lives_in", "Oslo", "2020-06-01", "Riga"))["items"][0]["claim"]
    with world.store.read(SCOPE) as reader:
        ending = reader.claim(ClaimId(receipt["items"][0]["claim"])).ending
    assert ending is not None
    assert ending.successor == new


def test_claims_come_in_the_order_in_which_they_were_recorded(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01", observed_at="2025-01-02")
    world.write(claim("anna", "knows", "ben", "2020-01-01", observed_at="2025-01-01"))
    world.write(retract("anna", "lives_in", valid_from="2021-01-01"))
    with world.store.read(SCOPE) as reader:
        id = world.id("anna")
        told = reader.claims(id, None, limit=10, after=None)
        last = told[1].claim.entry
        assert [t.claim.slot.predicate for t in told] == ["lives_in", "knows", "lives_in"]
        assert [t.claim.entry.asserts for t in told] == [True, True, False]
        after = (last.position, last.ordinal, 0)
        assert [t.claim.id for t in reader.claims(id, None, limit=10, after=after)] == [told[2].claim.id]
        assert [t.claim.id for t in reader.claims(id, "knows", limit=10, after=None)] == [told[1].claim.id]


def test_claims_keep_what_was_said_word_for_word(world: World) -> None:
    said: dict[str, Any] = {
        "zone": "Asia/Tokyo", "date_semantics": "whole", "observed_at": "2025-03-01T10:00:00+02:00", "source": "hr",
        "episode": "e/1", "root": "payroll", "confidence": 0.125,
    }  # fmt: skip
    world.tell("anna", "lives_in", {"type": "quantity", "value": "12.50", "unit": "EUR"}, "2018-05", "2019", **said)
    with world.store.read(SCOPE) as reader:
        told = reader.claims(world.id("anna"), None, limit=1, after=None)[0].claim
    assert (told.stated.valid_from, told.stated.valid_to) == ("2018-05", "2019")
    assert (told.stated.zone, told.stated.semantics) == ("Asia/Tokyo", "whole")
    assert told.value is not None
    assert (told.value.type, told.value.text, told.value.qualifier) == ("quantity", "12.5", "EUR")
    assert (told.source, told.episode, told.root, told.confidence) == ("hr", "e/1", "payroll", 0.125)
    assert (told.observed_stated, told.entry.observed_at) == (True, parse_instant("2025-03-01T08:00:00Z"))
    assert (told.principal, told.recorded_at) == ("tester", world.now())


def test_episodes_and_sources_list_their_standing_assertions(world: World) -> None:
    world.write(
        claim("anna", "knows", "a", episode="e", source="s"), claim("ben", "knows", "b", episode="e", source="s")
    )
    world.write(claim("anna", "knows", "c", source="s"))
    with world.store.read(SCOPE) as reader:
        by_episode = [told.claim.value.text for told in reader.claims_of_episode(EpisodeId("e")) if told.claim.value]
        by_source = [told.claim.value.text for told in reader.claims_of_source(Source("s")) if told.claim.value]
    assert (by_episode, by_source) == (["a", "b"], ["a", "b", "c"])


@pytest.mark.parametrize("id", ["", "fct_abcdefgh_1_0", "nonsense", "fct_1_0", "clm_abcdefgh_1_0", "fct_\n", "ent_x"])
def test_an_id_that_names_nothing_is_not_found(world: World, id: str) -> None:
    with world.store.read(SCOPE) as reader:
        with pytest.raises(NotFound):
            reader.fact(FactId(id))
        with pytest.raises(NotFound):
            reader.claim(ClaimId(id))
        assert reader.entities_by_id([EntityId(id)]) == {}


def test_an_id_of_another_ledger_is_not_found(world: World) -> None:
    receipt = world.write(claim("anna", "lives_in", "Oslo", "2020-01-01"))
    item = receipt["items"][0]
    foreign = "aaaaaaaa"
    with world.store.read(SCOPE) as reader:
        tag = reader.head.ledger or ""
        assert reader.claim(ClaimId(item["claim"])).claim.id == item["claim"]
        with pytest.raises(NotFound):
            reader.claim(ClaimId(item["claim"].replace(tag, foreign)))
        subject = EntityId(world.id("anna").replace(tag, foreign))
        assert reader.entities_by_id([subject]) == {}
        assert reader.slots_of(subject, None) == []


# --- entities


def test_entities_are_listed_where_a_visible_fact_names_them(world: World) -> None:
    known = world.tell("anna", "works_for", {"type": "entity", "key": "nrk"}, "2020-01-01", "2021-01-01")
    world.tell("ben", "lives_in", "Oslo", "2020-06-01")
    with world.store.read(SCOPE) as reader:

        def keys(valid_at: str, known_at: Instant, limit: int = 10, after: EntityId | None = None) -> list[str | None]:
            as_of = AsOf(valid_at=parse_instant(valid_at), known_at=known_at)
            return [e.key for e in reader.list_entities(as_of, type=None, name=None, limit=limit, after=after)]

        now = reader.head.recorded_at
        assert keys("2020-07-01", now) == ["anna", "nrk", "ben"]
        assert keys("2020-07-01", known) == ["anna", "nrk"]
        assert keys("2021-07-01", now) == ["ben"]
        assert keys("2020-07-01", now, limit=2) == ["anna", "nrk"]
        assert keys("2020-07-01", now, limit=2, after=world.id("nrk")) == ["ben"]


def test_entities_are_listed_by_type_and_by_name_or_alias(world: World) -> None:
    world.write(
        claim("a", "type", "Person"), claim("a", "name", "Anna"), claim("b", "type", "Person"),
        claim("b", "alias", "Anna"), claim("c", "type", "Place"), claim("c", "name", "Anna"),
        claim("d", "likes", "Anna"),
    )  # fmt: skip
    as_of = AsOf(valid_at=FAR, known_at=world.now())
    with world.store.read(SCOPE) as reader:

        def keys(type: str | None, name: str | None, limit: int = 10) -> list[str | None]:
            return [e.key for e in reader.list_entities(as_of, type=type, name=name, limit=limit, after=None)]

        assert keys("Person", None) == ["a", "b"]
        assert keys(None, "Anna") == ["a", "b", "c"]
        assert keys("Place", "Anna") == ["c"]
        assert keys("Person", "Anna", limit=1) == ["a"]
        assert keys("person", None) == keys(None, "anna") == keys("Nothing", "Anna") == []


def test_twenty_thousand_keys_at_once(world: World) -> None:
    """As many as a transaction of ten thousand items may name: the subject and the value of each."""
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    with world.store.read(SCOPE) as reader:
        assert list(reader.entities_by_key([*(f"k{n}" for n in range(19_999)), "anna"])) == ["anna"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text(world: World, text: str) -> None:
    predicate = f"p{text[:100]}".strip()
    world.tell("anna", predicate, text, "2020-01-01", source=f"s{text}", episode=f"e{text}")
    world.tell("anna", "other", "x", "2020-01-01")
    with world.store.read(SCOPE) as reader:
        told = reader.claims(world.id("anna"), None, limit=10, after=None)[0].claim
        assert told.value is not None
        as_of = AsOf(valid_at=FAR, known_at=reader.head.recorded_at)
        found = reader.of_predicate(told.slot.predicate, as_of, certain=False, page=ALL)
        assert texts(found) == [told.value.text]
        assert told.entry.value is not None
        assert len(reader.holders(told.entry.value, None, as_of, certain=False, page=ALL)) == 1
        assert [t.claim.id for t in reader.claims_of_source(told.source)] == [told.id]
        assert told.episode is not None
        assert [t.claim.id for t in reader.claims_of_episode(told.episode)] == [told.id]
    assert world.state("anna", "other", "2021-01-01") == ["x"]


@pytest.mark.parametrize("text", ["%", "_", "ANNA", "anna ", " anna", "Anna", "an%", "ann\u0430"])
def test_names_are_compared_as_they_are_written(world: World, text: str) -> None:
    world.write(claim("anna", "name", "anna"), claim("anna", "p_x", "y"))
    as_of = AsOf(valid_at=FAR, known_at=world.now())
    with world.store.read(SCOPE) as reader:
        assert reader.entities_by_key([text]) == {}
        assert reader.list_entities(as_of, type=None, name=text, limit=10, after=None) == []
        assert reader.of_predicate(text, as_of, certain=False, page=ALL) == []
        assert reader.of_predicate("p%x", as_of, certain=False, page=ALL) == []


# --- scopes


@pytest.mark.parametrize(
    "other", [scope_of("zebra"), scope_of("acme", "team"), scope_of("acme", purpose="billing")], ids=str
)
def test_no_read_crosses_a_scope(world: World, other: Any) -> None:
    world.write(
        claim("anna", "lives_in", "Oslo", "2020-01-01", episode="e", source="s"),
        claim("anna", "type", "Person"), claim("anna", "name", "Anna"),
    )  # fmt: skip
    id, as_of = world.id("anna"), AsOf(valid_at=FAR, known_at=FAR)
    with world.store.read(SCOPE) as mine:
        version = mine.state([(id, "lives_in")], as_of, certain=False, page=ALL)[0].version
        told = mine.claims(id, "lives_in", limit=1, after=None)[0].claim
    with world.store.read(other) as reader:
        assert reader.state([(id, None)], as_of, certain=False, page=ALL) == []
        assert reader.of_predicate("lives_in", as_of, certain=False, page=ALL) == []
        assert reader.holders(version.value_key, None, as_of, certain=False, page=ALL) == []
        for order in Order:
            assert reader.history(id, None, FAR, ALWAYS, certain=False, order=order, page=ALL) == []
            assert (
                reader.holders_history(version.value_key, None, FAR, ALWAYS, certain=False, order=order, page=ALL) == []
            )
        assert reader.audit(id, None, valid_at=None, touched=None, page=ALL) == []
        assert reader.claims(id, None, limit=10, after=None) == []
        assert reader.claims_of_episode(EpisodeId("e")) == []
        assert reader.claims_of_source(Source("s")) == []
        assert reader.slot_heads([version.slot]) == {}
        assert reader.slots_of(id, None) == []
        assert reader.slots(None, limit=10, after=None) == []
        assert reader.list_entities(as_of, type=None, name=None, limit=10, after=None) == []
        assert reader.list_entities(as_of, type="Person", name=None, limit=10, after=None) == []
        assert reader.list_entities(as_of, type=None, name="Anna", limit=10, after=None) == []
        with pytest.raises(NotFound):
            reader.fact(version.id)
        with pytest.raises(NotFound):
            reader.claim(told.id)
        if other.namespace != SCOPE.namespace or other.tenant != SCOPE.tenant:
            assert reader.entities_by_key(["anna"]) == {}
            assert reader.entities_by_id([id]) == {}


def test_tenants_share_neither_positions_nor_times(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    other = scope_of("zebra")
    world.tell("anna", "lives_in", "Riga", "2020-01-01", scope=other)
    with world.store.read(other) as reader:
        assert reader.head.position == 1
        assert len(reader.events(after=0, limit=10)) == 1
    assert world.store.tenants() == [SCOPE.tenant, other.tenant]
    assert world.store.scopes(other.tenant) == [other]


def test_namespaces_have_keys_of_their_own(world: World) -> None:
    team = scope_of("acme", "team")
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    world.tell("anna", "lives_in", "Riga", "2020-01-01", scope=team)
    assert world.id("anna") != world.id("anna", team)
    assert world.store.scopes(SCOPE.tenant) == [SCOPE, team]


def test_slots_come_in_the_order_of_their_subjects(world: World) -> None:
    world.write(claim("b", "x", 1), claim("a", "z", 1), claim("a", "y", 1), claim("b", "y", 1))
    with world.store.read(SCOPE) as reader:
        heads = reader.slots(None, limit=10, after=None)
        assert [head.slot.predicate for head in heads] == ["x", "y", "y", "z"]
        assert reader.slots(None, limit=2, after=heads[0].slot) == heads[1:3]
        assert reader.slots("y", limit=10, after=None) == heads[1:3]
        assert reader.slots("y", limit=10, after=heads[1].slot) == heads[2:3]
        assert reader.slot_heads([heads[1].slot]) == {heads[1].slot: heads[1]}


# --- writing


def test_a_block_that_fails_leaves_no_trace(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    before = list(world.store.ledger(SCOPE.tenant))

    def failing(error: type[BaseException]) -> None:
        with world.store.write(SCOPE) as tx:
            tx.remember("me", "k", Answered(request=b"r", receipt=b"x"), FAR)
            tx.apply(_one_entity(tx), ledger=Ledger("abcdefgh"))
            raise error

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            failing(error)
    assert list(world.store.ledger(SCOPE.tenant)) == before
    with world.store.read(SCOPE) as reader:
        assert reader.answered("me", "k") is None
        assert reader.entities_by_key(["new"]) == {}
    world.tell("anna", "lives_in", "Riga", "2021-01-01")
    assert world.state("anna", "lives_in", "2022-01-01") == ["Riga"]


def test_a_failing_first_transaction_leaves_no_tenant(store: MemoryStore) -> None:
    def failing() -> None:
        with store.write(SCOPE) as tx:
            tx.apply(_one_entity(tx), ledger=Ledger("abcdefgh"))
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert store.tenants() == []


def test_several_commits_in_one_transaction_are_all_or_nothing(store: MemoryStore) -> None:
    def both(tx: Transaction) -> None:
        first = _one_entity(tx, "one")
        tx.apply(first, ledger=Ledger("abcdefgh"))
        changes = replace(
            _entity_change(2, "two", Ledger("abcdefgh")), recorded_at=Instant(first.changes.recorded_at + 1)
        )
        head = replace(tx.head, position=1, digest=first.event.digest)
        tx.apply(commit(changes, head, salts=lambda: bytes(32)), ledger=Ledger("abcdefgh"))

    def failing() -> None:
        with store.write(SCOPE) as tx:
            both(tx)
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert store.tenants() == []
    with store.write(SCOPE) as tx:
        both(tx)
    with store.read(SCOPE) as reader:
        assert reader.head.position == 2
        assert sorted(reader.entities_by_key(["one", "two"])) == ["one", "two"]


def test_a_second_writer_gets_busy_and_may_come_again(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with world.store.write(SCOPE):
            entered.set()
            leave.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(10)
    try:
        with pytest.raises(Busy) as busy, world.store.write(SCOPE):
            pytest.fail("two writers at once")
        assert busy.value.retry_after == 1
    finally:
        leave.set()
        holder.join()
    world.tell("anna", "lives_in", "Riga", "2021-01-01")
    assert world.state("anna", "lives_in", "2022-01-01") == ["Riga"]


def test_many_threads_write_one_after_the_other(world: World) -> None:
    def write(thread: int) -> None:
        for number in range(5):
            done = False
            while not done:
                try:
                    world.writer.write(SCOPE, "tester", [claim("anna", "knows", f"{thread}-{number}", "2020-01-01")])
                    done = True
                except Busy:
                    continue

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(world.state("anna", "knows", "2021-01-01")) == 20
    with world.store.read(SCOPE) as reader:
        events = [event for event, _ in reader.events(after=0, limit=100)]
    assert [event.position for event in events] == list(range(1, 22))
    assert all(one.recorded_at < two.recorded_at for one, two in pairwise(events))


def test_a_slot_head_follows_the_newest_commit(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    world.tell("anna", "owns", "car")
    slot = world.slot("anna", "lives_in")
    with world.store.read(SCOPE) as reader:
        heads = {head.slot.predicate: head for head in reader.slots_of(world.id("anna"), None)}
        assert reader.slot_heads([slot, replace(slot, language="de")]) == {slot: heads["lives_in"]}
    assert (heads["lives_in"].version, heads["lives_in"].functional, heads["lives_in"].plain) == (2, True, True)
    assert (heads["owns"].version, heads["owns"].functional, heads["owns"].plain) == (3, False, False)
    last = heads["lives_in"].last
    assert last is not None
    assert last[1:] == (2, 0)


# --- what a writer reads


def test_a_window_reaches_as_many_versions_as_asked(world: World) -> None:
    for year in range(2000, 2020):
        world.tell("anna", "lives_in", f"v{year}", f"{year}-01-01")
    slot, middle = world.slot("anna", "lives_in"), parse_instant("2010-06-01")
    with world.store.write(SCOPE) as tx:
        narrow = tx.window(slot, None, Interval(middle, middle), 2)
        whole = tx.window(slot, None, Interval(middle, middle), None)
        single = tx.window(slot, text_key("v2003"), Interval(middle, middle), 1)
    found = {version.value.text for version in narrow.versions}
    assert {"v2009", "v2010", "v2011"} <= found
    assert len(found) < 12
    assert narrow.span.start <= middle <= narrow.span.end
    assert (whole.span, len(whole.versions), len(whole.extents)) == (ALWAYS, 20, 20)
    assert {version.value.text for version in single.versions} <= {"v2003"}
    assert {extent.entry.value for extent in narrow.extents} == {version.value_key for version in narrow.versions}


def test_a_window_has_one_entry_for_each_claim(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2018-01-01", "2024-01-01")
    world.tell("anna", "lives_in", "Riga", "2020-01-01", "2021-01-01")
    with world.store.write(SCOPE) as tx:
        window = tx.window(world.slot("anna", "lives_in"), None, ALWAYS, None)
    oslo = [extent.entry for extent in window.extents if extent.entry.value == text_key("Oslo")]
    assert len(oslo) == 2
    assert oslo[0] is oslo[1]


def test_entries_are_those_that_are_folded_in_their_order(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01", observed_at="2025-02-01")
    world.tell("anna", "lives_in", "Riga", "2021-01-01", observed_at="2025-01-01")
    gone = world.write(claim("anna", "lives_in", "Porto", "2022-01-01"))["items"][0]["claim"]
    world.write(retract("anna", "lives_in", valid_from="2023-01-01"))
    world.write(withdraw(claim=gone))
    with world.store.write(SCOPE) as tx:
        entries = tx.entries(world.slot("anna", "lives_in"))
    assert [(entry.value, entry.asserts) for entry, _ in entries] == [
        (text_key("Riga"), True), (text_key("Oslo"), True), (None, False),
    ]  # fmt: skip
    assert all(id.startswith("clm_") for _, id in entries)


def test_voices_are_told_apart_by_root_and_episode(world: World) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01", root="a", episode="e1", confidence=0.5)
    world.tell("anna", "lives_in", "Oslo", "2020-02-01", root="a", episode="e2", confidence=0.75)
    gone = world.write(claim("anna", "lives_in", "Oslo", "2020-03-01", root="a", episode="e3", confidence=1.0))
    world.write(withdraw(claim=gone["items"][0]["claim"]))
    slot, oslo = world.slot("anna", "lives_in"), text_key("Oslo")
    with world.store.write(SCOPE) as tx:
        assert tx.voice(slot, oslo, "a", EpisodeId("e1")) == (0.75, True)
        assert tx.voice(slot, oslo, "a", EpisodeId("e3")) == (0.75, False)
        assert tx.voice(slot, oslo, "b", None) == (None, False)
        assert tx.voice(slot, text_key("Riga"), "a", EpisodeId("e1")) == (None, False)
        assert [told.claim.episode for told in tx.repeated(slot, oslo, EpisodeId("e2"))] == ["e2"]
        assert tx.repeated(slot, oslo, EpisodeId("e3")) == []
        assert [(e.id, e.root) for e in tx.episodes([EpisodeId("e1"), EpisodeId("none")]).values()] == [("e1", "a")]
        held = tx.support_now(slot, [oslo, text_key("Riga")])
    assert list(held) == [oslo]
    assert (held[oslo].sources, held[oslo].occurrences) == (1, 2)


def test_support_is_that_of_its_time(world: World) -> None:
    first = world.tell("anna", "lives_in", "Oslo", "2020-01-01", source="a", confidence=0.5)
    second = world.tell("anna", "lives_in", "Oslo", "2020-01-01", source="b", confidence=0.5)
    world.tell("anna", "lives_in", "Oslo", "2020-01-01", source="c", confidence=0.5)
    pair = [(world.id("anna"), "lives_in")]
    with world.store.read(SCOPE) as reader:
        found = [
            reader.state(pair, AsOf(valid_at=FAR, known_at=known), certain=False, page=ALL)[0].support
            for known in (first, second, FAR)
        ]
    assert [(support.sources, support.confidence) for support in found] == [(1, 0.5), (2, 0.75), (3, 0.875)]


# --- idempotency keys


def test_an_answer_is_kept_for_a_principal_and_a_key(store: MemoryStore) -> None:
    kept = Answered(request=b"\x00\xff", receipt=b"{}")
    with store.write(SCOPE) as tx:
        tx.remember("me", "k'1", kept, Instant(100))
        tx.remember("me", "k2", kept, Instant(200))
    with store.read(SCOPE) as reader:
        assert reader.answered("me", "k'1") == kept
        assert reader.answered("you", "k'1") is None
    with store.read(scope_of("zebra")) as reader:
        assert reader.answered("me", "k'1") is None
    with store.write(SCOPE) as tx:
        tx.forget_keys(Instant(101))
    with store.read(SCOPE) as reader:
        assert reader.answered("me", "k'1") is None
        assert reader.answered("me", "k2") == kept


def test_a_retried_write_has_one_effect(world: World) -> None:
    first = world.write(claim("anna", "knows", "ben"), key="once")
    assert world.write(claim("anna", "knows", "ben"), key="once") == first
    with world.store.read(SCOPE) as reader:
        assert len(reader.claims(world.id("anna"), None, limit=10, after=None)) == 1


# --- the journal


def test_events_come_by_position_with_their_payloads(world: World) -> None:
    world.write(claim("anna", "lives_in", "Oslo", "2020-01-01"), claim("ben", "lives_in", "Riga", "2020-01-01"))
    world.tell("anna", "lives_in", "Porto", "2021-01-01")
    with world.store.read(SCOPE) as reader:
        events = reader.events(after=0, limit=10)
        head = reader.head
        assert [event.position for event, _ in events] == [1, 2, 3]
        assert reader.events(after=1, limit=1) == events[1:2]
        assert reader.events(after=3, limit=1) == []
    event, payloads = events[1]
    assert event.digests == tuple((payload.subject, payload.digest) for payload in payloads)
    assert (event.kind, event.principal, event.previous) == (Kind.WRITE, "tester", events[0][0].digest)
    assert (head.digest, head.position, head.recorded_at) == (events[2][0].digest, 3, events[2][0].recorded_at)


# --- erasing


@pytest.fixture
def erased(world: World) -> Callable[..., World]:
    """Makes a world in which something of Anna was erased."""
    world.write(
        claim("anna", "lives_in", "Oslo", "2020-01-01", source="s", episode="e"),
        claim("anna", "lives_in", "Riga", "2022-01-01"),
        claim("anna", "works_for", "NRK", "2020-01-01"),
        claim("ben", "lives_in", "Oslo", "2020-01-01"),
    )
    world.tell("anna", "lives_in", "Bergen", "2021-01-01", scope=scope_of("acme", purpose="billing"))

    def erasing(*target: Any) -> World:
        world.write(erase("anna", *target))
        return world

    return erasing


def test_an_erased_value_is_nowhere_at_any_time(erased: Callable[..., World]) -> None:
    world = erased("lives_in", "Oslo")
    oslo, id = text_key("Oslo"), world.id("anna")
    with world.store.read(SCOPE) as reader:
        assert "Oslo" not in texts(reader.audit(id, None, valid_at=None, touched=None, page=ALL))
        told = reader.claims(id, None, limit=10, after=None)
        assert sorted(t.claim.value.text for t in told if t.claim.value) == ["NRK", "Riga"]
        holding = reader.holders_history(oslo, None, FAR, ALWAYS, certain=False, order=Order.VALID, page=ALL)
        assert [f.version.slot.subject for f in holding] == [world.id("ben")]
        assert reader.claims_of_episode(EpisodeId("e")) == []
        assert reader.head.erasures == 1
        bodies = [payload.body for _, payloads in reader.events(after=0, limit=10) for payload in payloads if
                  payload.subject == id]  # fmt: skip
        assert not any(b"Oslo" in body for body in bodies)
    assert world.state("anna", "lives_in", "2023-01-01") == ["Riga"]


def test_an_erased_slot_leaves_the_others(erased: Callable[..., World]) -> None:
    world = erased("lives_in")
    assert world.state("anna", None, "2023-01-01") == ["NRK"]
    assert world.state("ben", None, "2023-01-01") == ["Oslo"]
    slot = world.slot("anna", "lives_in")
    with world.store.write(SCOPE) as tx:
        assert tx.entries(slot) == []
        assert list(tx.window(slot, None, ALWAYS, None).versions) == []
        assert tx.support_now(slot, [text_key("Oslo"), text_key("Riga")]) == {}


def test_an_erased_subject_is_known_and_nothing_is_known_of_it(erased: Callable[..., World]) -> None:
    world = erased()
    assert world.state("anna", None, "2023-01-01") == []
    rows = [str(row) for kind, row in world.store.ledger(SCOPE.tenant) if kind in ("claim", "version", "support")]
    assert not any(world.id("anna") in row for row in rows if "'billing'" not in row)


def test_an_erasure_in_one_purpose_leaves_the_others(erased: Callable[..., World]) -> None:
    world = erased()
    assert world.state("anna", None, "2023-01-01", scope=scope_of("acme", purpose="billing")) == ["Bergen"]


def test_what_is_told_again_after_an_erasure_stands(erased: Callable[..., World]) -> None:
    world = erased("lives_in")
    world.tell("anna", "lives_in", "Oslo", "2024-01-01")
    assert world.state("anna", "lives_in", "2024-06-01") == ["Oslo"]
    assert world.state("anna", "lives_in", "2023-06-01") == []


def test_a_restated_payload_takes_the_place_of_the_destroyed_one(erased: Callable[..., World]) -> None:
    world = erased("lives_in", "Oslo")
    id = world.id("anna")
    with world.store.write(SCOPE) as tx:
        about = dict(tx.payloads_about(id))
        events = {event.position: (event, payloads) for event, payloads in tx.events(after=0, limit=10)}
    newest = max(events)
    restated = {position: digest for position, subject, digest in events[newest][0].restated if subject == id}
    assert restated
    for position, digest in restated.items():
        event, payloads = events[position]
        assert about[position].digest == digest
        assert digest in [payload.digest for payload in payloads]
        assert digest not in [each for _, each in event.digests]


# --- small parts


def _entity_change(position: int, key: str, ledger: Ledger) -> ChangeSet:
    entity = Entity(id=EntityId(f"ent_{ledger}_{position}_0"), namespace=SCOPE.namespace, key=key)
    return ChangeSet(
        position=position, recorded_at=Instant(FAR + position), kind=Kind.WRITE, principal="me", operations=(),
        schema=None, erasures=(), entities=(entity,), episodes=(), verbatims=(), claims=(), quotes=(), transitions=(),
        closed=(), opened=(), hidden=(), shown=(), support=(), slots=(),
    )  # fmt: skip


def _one_entity(tx: Transaction, key: str = "new") -> Any:
    """A commit that makes one entity."""
    changes = _entity_change(tx.head.position + 1, key, tx.head.ledger or Ledger("abcdefgh"))
    return commit(changes, tx.head, salts=lambda: bytes(32))
