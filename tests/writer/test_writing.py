"""The path around the fold: checks, idempotency, versions, recorded time, dry runs, schemas."""

import threading
from collections.abc import Iterable

import pytest

from consolidation import slotwork
from consolidation.items import Assert, Erase, Item, Replace, Retract, Said, Withdraw
from consolidation.verify import refold
from consolidation.write import Writer
from graph.ledger import ledger_hash
from graph.ports import Page
from ontology.entries import Entry
from ontology.errors import Incorrect, KeyReused, NotFound, Refused, TooLarge, UnknownPredicate, VersionChanged
from ontology.facts import Version
from ontology.fold import fold
from ontology.instants import DAY, Instant, parse_instant
from ontology.line import Line
from ontology.packs import load_core, read_pack
from tests.conftest import SeededRandomness
from tests.writer.conftest import Desk, lives

BAD: dict[str, tuple[Item, str, str]] = {
    "naive": (lives("Oslo", "2020-01-01T00:00:00"), "naive_timestamp", "/items/0/valid_from"),
    "inverted": (lives("Oslo", "2021-01-01", "2020-01-01"), "inverted_interval", "/items/0/valid_to"),
    "empty": (lives("Oslo", "2021-01-01", "2021-01-01"), "empty_interval", "/items/0/valid_to"),
    "ended before it began": (lives("Oslo", "2030-01-01", "unknown"), "inverted_interval", "/items/0/valid_to"),
    "begins at infinity": (lives("Oslo", "infinity"), "inverted_interval", "/items/0/valid_from"),
    "said in the future": (lives("Oslo", observed_at="2090-01-01"), "observed_at_in_future", "/items/0/observed_at"),
    "coarse observation": (lives("Oslo", "2020-01-01", observed_at="2020"), "inexact_instant", "/items/0/observed_at"),
    "no such day": (lives("Oslo", "2021-02-29"), "unreadable_date", "/items/0/valid_from"),
    "no such zone": (lives("Oslo", "2021-02-28", zone="Mars/Olympus"), "unknown_zone", "/items/0/tz"),
    "semantics": (lives("Oslo", "2021", date_semantics="maybe"), "unknown_member", "/items/0/date_semantics"),
    "confidence": (lives("Oslo", "2021", confidence=1.5), "out_of_range", "/items/0/confidence"),
    "confidence is no number": (lives("Oslo", "2021", confidence=float("nan")), "out_of_range", "/items/0/confidence"),
    "value out of range": (Assert(subject="mira", predicate="age", value=151), "out_of_range", "/items/0/value"),
    "wrong type": (Assert(subject="mira", predicate="age", value="old"), "unreadable_value", "/items/0/value"),
    "beyond int64": (Assert(subject="mira", predicate="n", value=2**63), "out_of_range", "/items/0/value"),
    "NUL": (lives("Os\0lo", "2020-01-01"), "control_character", "/items/0/value"),
    "lone surrogate": (lives("\ud800", "2020-01-01"), "lone_surrogate", "/items/0/value"),
    "NUL in a subject": (Assert(subject="a\0", predicate="n", value=1), "control_character", "/items/0/subject"),
    "subject is a list": (Assert(subject=[1], predicate="n", value=1), "wrong_type", "/items/0/subject"),
    "predicate": (Assert(subject="a", predicate="^n", value=1), "bad_name", "/items/0/predicate"),
    "withdraw nothing": (Withdraw(), "exactly_one", "/items/0"),
    "withdraw two": (Withdraw(claim="c", source="s"), "exactly_one", "/items/0"),
    "withdraw an unknown source": (Withdraw(source="nobody"), "not_found", "/items/0/source"),
    "withdraw an unknown episode": (Withdraw(episode="none"), "not_found", "/items/0/episode"),
    "replace nothing": (Replace(value="x"), "missing", "/items/0"),
    "replace an unknown subject": (
        Replace(subject="nobody", predicate="lives_in", old="Oslo", at="2020-01-01"), "not_found", "/items/0/subject",
    ),
    "retract up to nobody knows when": (
        Retract(subject="mira", predicate="lives_in", said=Said(valid_to="unknown")), "unknown_bound", "/items/0",
    ),
    "retract backwards": (
        Retract(subject="mira", predicate="lives_in", said=Said(valid_from="2021", valid_to="2020-01-01")),
        "inverted_interval", "/items/0/valid_to",
    ),
    "erase a value of no predicate": (Erase(subject="mira", value="Oslo"), "missing_predicate", "/items/0/value"),
    "erase of an unknown subject": (Erase(subject="nobody"), "not_found", "/items/0/subject"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_named_and_leaves_no_trace(desk: Desk, what: str) -> None:
    item, code, pointer = BAD[what]
    desk.write(lives("Bonn", "2010-01-01"))
    before = ledger_hash(desk.store, desk.scope.tenant)
    with pytest.raises(Incorrect) as caught:
        desk.write(item, lives("Riga", "2011-01-01"))
    assert [(v.code, v.pointer) for v in caught.value.violations] == [(code, pointer)]
    assert ledger_hash(desk.store, desk.scope.tenant) == before


def test_all_that_is_wrong_is_told_at_once(desk: Desk) -> None:
    wrong = lives("Oslo", "2020-01-01T00:00:00"), lives("x", "2021", confidence=2), lives("x", "2021", "2020-01-01")
    with pytest.raises(Incorrect) as caught:
        desk.write(wrong[0], lives("Riga", "2020"), *wrong[1:])
    pointers = [v.pointer for v in caught.value.violations]
    assert pointers == ["/items/0/valid_from", "/items/2/confidence", "/items/3/valid_to"]


def test_a_huge_value_is_not_echoed(desk: Desk) -> None:
    with pytest.raises(TooLarge) as caught:
        desk.write(lives("x" * 1_000_001, "2020"))
    assert len(str(caught.value)) < 300


def test_one_item_too_many_and_none_are_refused(desk: Desk) -> None:
    with pytest.raises(TooLarge):
        desk.write(*[lives("Oslo", "2020-01-01")] * 51)
    with pytest.raises(Incorrect):
        desk.write()


def test_a_key_makes_a_retry_answer_the_first_receipt(desk: Desk) -> None:
    first = desk.write(lives("Oslo", "2020-01-01"), key="k")
    written = desk.writer.write(desk.scope, "agent", [lives("Oslo", "2020-01-01")], key="k")
    assert (written.receipt, written.replayed) == (first, True)


def test_a_key_with_another_body_is_a_conflict_and_writes_nothing(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01"), key="k")
    before = ledger_hash(desk.store, desk.scope.tenant)
    with pytest.raises(KeyReused):
        desk.write(lives("Riga", "2020-01-01"), key="k")
    assert ledger_hash(desk.store, desk.scope.tenant) == before


def test_keys_of_two_principals_do_not_meet(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01"), key="k")
    assert desk.one(lives("Riga", "2021-01-01"), key="k", principal="person")["result"] == "superseded"


def test_a_key_may_be_used_again_when_it_has_expired(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01"), key="k")
    desk.clock.advance(8 * DAY)
    assert desk.one(lives("Riga", "2021-01-01"), key="k")["result"] == "superseded"


def test_the_same_retry_from_many_threads_has_one_effect(desk: Desk) -> None:
    receipts = []

    def send() -> None:
        receipts.append(desk.writer.write(desk.scope, "agent", [lives("Oslo", "2020-01-01")], key="k").receipt)

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(receipts) == 8
    assert all(receipt == receipts[0] for receipt in receipts)
    assert len(desk.audited("mira", "lives_in")) == 1


def test_a_dry_run_says_what_would_happen_and_leaves_no_trace(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020-01-01"))
    before = ledger_hash(desk.store, desk.scope.tenant)
    dry = desk.write(lives("Riga", "2021-01-01"), dry_run=True, key="k")
    assert (dry["dry_run"], dry["items"][0]["result"]) == (True, "superseded")
    assert ledger_hash(desk.store, desk.scope.tenant) == before
    wet = desk.write(lives("Riga", "2021-01-01"), key="k")
    assert wet["items"][0]["opened"] == dry["items"][0]["opened"]


def test_an_expected_version_that_is_current_lets_the_write_through(desk: Desk) -> None:
    version = desk.one(lives("Oslo", "2020-01-01"))["version"]
    item = Assert(
        subject="mira", predicate="lives_in", value="Riga", said=Said(valid_from="2021"), expected_version=version
    )
    assert desk.one(item)["result"] == "superseded"


@pytest.mark.parametrize("expected", [0, 1, 99])
def test_a_stale_writer_is_told_the_current_version(desk: Desk, expected: int) -> None:
    version = desk.one(lives("Oslo", "2020-01-01"))["version"]
    item = Assert(
        subject="mira", predicate="lives_in", value="Riga", said=Said(valid_from="2021"),
        expected_version=Version(expected),
    )  # fmt: skip
    with pytest.raises(VersionChanged) as caught:
        desk.write(item)
    assert caught.value.members["current_version"] == version
    assert desk.values("mira", "lives_in") == ["Oslo"]


def test_none_is_expected_of_a_slot_that_is_not_there(desk: Desk) -> None:
    item = Assert(subject="jo", predicate="lives_in", value="Riga", expected_version=Version(0))
    assert desk.one(item)["result"] == "created"
    with pytest.raises(VersionChanged):
        desk.write(item)


def test_recorded_time_increases_under_a_clock_that_runs_backwards(desk: Desk) -> None:
    first = desk.write(lives("Oslo", "2020-01-01"))
    desk.clock.reading = parse_instant("2000-01-01")
    second = desk.write(lives("Riga", "2020-02-01", observed_at="1999-01-01"))
    assert parse_instant(second["recorded_at"]) == parse_instant(first["recorded_at"]) + 1


def test_an_importer_states_recorded_times_in_order(desk: Desk) -> None:
    desk.clock.advance(100 * DAY)
    at = parse_instant("2026-01-05")
    assert desk.write(lives("Oslo", "2020"), recorded_at=at)["recorded_at"] == "2026-01-05T00:00:00Z"
    for wrong, code in ((at, "recorded_at_in_past"), (parse_instant("2090-01-01"), "recorded_at_in_future")):
        with pytest.raises(Incorrect) as caught:
            desk.write(lives("Riga", "2021"), recorded_at=wrong)
        assert caught.value.violations[0].code == code


def test_types_are_checked_against_domain_and_range(desk: Desk) -> None:
    desk.write(Assert(subject="acme", predicate="type", value="Organization"))
    desk.write(Assert(subject="oslo", predicate="type", value="Place"))
    assert desk.one(Assert(subject="acme", predicate="employs", value={"type": "entity", "key": "mira"}))["claim"]
    with pytest.raises(Refused) as caught:
        desk.write(Assert(subject="acme", predicate="employs", value={"type": "entity", "key": "oslo"}))
    assert [(v.code, v.pointer) for v in caught.value.violations] == [("wrong_range", "/items/0/value")]
    with pytest.raises(Refused):
        desk.write(Assert(subject="oslo", predicate="employs", value={"type": "entity", "key": "mira"}))


def test_a_type_told_in_the_same_transaction_counts(desk: Desk) -> None:
    with pytest.raises(Refused):
        desk.write(
            Assert(subject="oslo", predicate="type", value="Place"),
            Assert(subject="oslo", predicate="employs", value={"type": "entity", "key": "mira"}),
        )


def test_a_strict_schema_refuses_unknown_predicates_and_entities(desk: Desk) -> None:
    desk.writer.put_schema(desk.scope, "person", read_pack("pack: s\nstrict: true"))
    with pytest.raises(UnknownPredicate):
        desk.write(Assert(subject="mira", predicate="livesin", value="Oslo"))
    with pytest.raises(Refused) as caught:
        desk.write(lives("Oslo", "2020"))
    assert caught.value.violations[0].code == "unknown_entity"
    desk.write(Assert(subject="mira", predicate="type", value="Person"))
    assert desk.one(lives("Oslo", "2020"))["result"] == "created"


def test_making_a_predicate_functional_tells_the_conflicts_and_rewrites_nothing(desk: Desk) -> None:
    for value in ("Basque", "Welsh"):
        desk.write(Assert(subject="mira", predicate="speaks", value=value, said=Said(valid_from="2020-01-01")))
    desk.write(Assert(subject="jo", predicate="speaks", value="Welsh", said=Said(valid_from="2020-01-01")))
    before = desk.audited("mira", "speaks")
    pack = read_pack("pack: s\npredicates: {speaks: {cardinality: functional}}")
    answer = desk.writer.put_schema(desk.scope, "person", pack)
    conflicts = answer["conflicts"]
    assert isinstance(conflicts, dict)
    assert conflicts["speaks"]["count"] == 1
    assert desk.audited("mira", "speaks") == before
    desk.write(Assert(subject="jo", predicate="speaks", value="Basque", said=Said(valid_from="2021-01-01")))
    assert desk.values("jo", "speaks") == ["Basque"]


def test_every_claim_says_under_which_schema_it_was_made(desk: Desk) -> None:
    first = desk.one(lives("Oslo", "2020"))["claim"]
    desk.writer.put_schema(desk.scope, "person", read_pack("pack: s\npredicates: {likes: {}}"))
    second = desk.one(lives("Riga", "2021"))["claim"]
    with desk.store.read(desk.scope) as reader:
        versions = [reader.claim(claim).claim.schema_version for claim in (first, second)]
    assert versions[1] == versions[0] + 1


def test_a_schema_of_another_process_is_seen_by_the_next_write(desk: Desk) -> None:
    desk.write(lives("Oslo", "2020"))
    other = Writer(store=desk.store, clock=desk.clock, randomness=SeededRandomness(9), core=load_core())
    other.put_schema(desk.scope, "person", read_pack("pack: s\npredicates: {speaks: {cardinality: functional}}"))
    for value, year in (("Welsh", "2020-01-01"), ("Basque", "2021-01-01")):
        desk.write(Assert(subject="mira", predicate="speaks", value=value, said=Said(valid_from=year)))
    assert desk.values("mira", "speaks") == ["Basque"]


def test_what_the_schema_of_another_process_allows_is_not_refused(desk: Desk) -> None:
    other = Writer(store=desk.store, clock=desk.clock, randomness=SeededRandomness(9), core=load_core())
    desk.writer.put_schema(desk.scope, "person", read_pack("pack: s\nstrict: true"))
    desk.write(Assert(subject="mira", predicate="type", value="Person"))
    drums = Assert(subject="mira", predicate="plays", value="drums")
    with pytest.raises(Incorrect):
        desk.write(drums)
    other.put_schema(desk.scope, "person", read_pack("pack: t\npredicates: {plays: {}}"))
    desk.write(drums)
    assert desk.values("mira", "plays") == ["drums"]


def test_support_counts_distinct_roots_and_occasions(desk: Desk) -> None:
    for source, episode in (("a", "e1"), ("a", "e2"), ("b", "e3"), ("b", "e3")):
        desk.write(lives("Oslo", "2020-01-01", source=source, episode=episode, confidence=0.5))
    with desk.store.read(desk.scope) as reader:
        entity = reader.entities_by_key(["mira"])["mira"]
        fact = reader.audit(entity.id, "lives_in", valid_at=None, touched=None, page=Page(10))[0]
    assert (fact.support.sources, fact.support.occurrences, fact.support.confidence) == (2, 3, 0.75)


def test_support_falls_when_a_source_is_withdrawn(desk: Desk) -> None:
    for source in ("a", "b"):
        desk.write(lives("Oslo", "2020-01-01", source=source, confidence=0.5))
    desk.write(Withdraw(source="b"))
    with desk.store.read(desk.scope) as reader:
        entity = reader.entities_by_key(["mira"])["mira"]
        support = reader.audit(entity.id, "lives_in", valid_at=None, touched=None, page=Page(10))[-1].support
    assert (support.sources, support.confidence) == (1, 0.5)


def test_ids_of_another_tenant_are_not_found(desk: Desk) -> None:
    from ontology.scope import scope_of

    item = desk.one(lives("Oslo", "2020"))
    blue = Desk(desk.store, desk.writer, desk.clock, scope_of("blue"))
    blue.write(lives("Riga", "2020"))
    with pytest.raises((NotFound, Incorrect)):
        blue.write(Withdraw(claim=item["claim"]))
    with pytest.raises((NotFound, Incorrect)):
        blue.write(Replace(fact=item["opened"][0], value="Bonn"))
    assert desk.values("mira", "lives_in") == ["Oslo"]


def test_values_that_do_not_compete_are_folded_apart(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand values of one slot in one transaction took half a minute, since each cell held all of them."""
    folded: list[int] = []

    def watched(entries: Iterable[Entry]) -> Line:
        own = list(entries)
        folded.append(len({entry.value for entry in own}))
        return fold(own)

    monkeypatch.setattr(slotwork, "fold", watched)
    tongues = [f"language {n}" for n in range(9)]
    desk.write(*(Assert(subject="mira", predicate="speaks", value=v, said=Said(valid_from="2020")) for v in tongues))
    assert folded == [1] * len(tongues)
    assert desk.values("mira", "speaks") == tongues


@pytest.mark.parametrize("by", ["key", "id"])
def test_what_is_right_may_be_an_entity_that_is_there_already(desk: Desk, by: str) -> None:
    hired = [
        Assert(subject=who, predicate="works_at", value={"type": "entity", "key": firm}, said=Said(valid_from="2020"))
        for who, firm in (("jonas", "fjordwind"), ("ada", "solar"))
    ]
    firms = {e["key"]: e["id"] for e in desk.write(*hired)["entities"]}
    right = {"type": "entity", by: "solar" if by == "key" else firms["solar"]}
    wrong = {"type": "entity", "key": "fjordwind"}
    receipt = desk.write(Replace(subject="jonas", predicate="works_at", old=wrong, at="2021-01-01", value=right))
    assert receipt["entities"] == []
    assert desk.values("jonas", "works_at") == [firms["solar"]]


def test_a_clock_far_in_the_past_still_records(desk: Desk) -> None:
    desk.clock.reading = Instant(parse_instant("-0500-01-01"))
    assert desk.write(lives("Oslo", "-0600", observed_at="-0550-01-01T00:00:00Z"))["position"] > 0


def test_an_inverse_is_for_reading_and_says_so(desk: Desk) -> None:
    pack = "pack: s\npredicates: {city: {datatype: entity, inverse: dwellers}}"
    desk.writer.put_schema(desk.scope, "person", read_pack(pack))
    with pytest.raises(Refused) as caught:
        desk.write(Assert(subject="rome", predicate="dwellers", value={"type": "entity", "key": "ida"}))
    assert [(v.code, v.pointer) for v in caught.value.violations] == [("inverse_predicate", "/items/0/predicate")]
    assert "'city'" in str(caught.value)


def test_many_values_of_one_slot_fold_again_one_by_one(desk: Desk) -> None:
    values = [f"language {n}" for n in range(40)]
    desk.write(*(Assert(subject="mira", predicate="speaks", value=value, said=Said(source="a")) for value in values))
    desk.write(Assert(subject="mira", predicate="speaks", value="Welsh", said=Said(observed_at="2020-01-01")))
    hole = Said(valid_from="2021-01-01", valid_to="2022-01-01", observed_at="2020-06-01")
    desk.write(Retract(subject="mira", predicate="speaks", said=hole))
    assert desk.values("mira", "speaks", "2021-06-01") == sorted(values)
    assert desk.values("mira", "speaks", "2023-06-01") == sorted([*values, "Welsh"])
    desk.write(Withdraw(source="a"))
    assert desk.values("mira", "speaks", "2023-06-01") == ["Welsh"]
    assert refold(desk.store, desk.scope.tenant) == []
