"""What has expired is not served, whether or not anybody wrote so; what it bounded stays bounded. On all stores."""

from dataclasses import replace
from typing import Any, Final

import pytest

from consolidation.items import Expire
from consolidation.verify import refold
from graph.history import belief, believed_during, diff
from graph.ledger import ledger_hash
from graph.paging import OfSubject
from graph.transfer import rebuild
from ontology.claims import Lifecycle
from ontology.errors import Incorrect, Refused
from ontology.facts import AsOf, Fact
from ontology.ids import ClaimId
from ontology.instants import DAY, OPEN_END, SECOND, Instant, parse_instant
from ontology.schema_document import pack_from_document
from tests.contract.world import ALL, SCOPE, World, claim, correct, retract, text_key, texts
from tests.naive_store import NaiveStore

HOUR: Final = 3_600 * SECOND
AT: Final = parse_instant("2026-01-01")


def told(world: World, id: str) -> Any:
    with world.store.read(SCOPE) as reader:
        return reader.claim(ClaimId(id))


def after(world: World, micros: int) -> Instant:
    """The instant so long after the newest commit."""
    return Instant(world.now() + micros)


def facts(world: World, subject: str, known_at: Instant, valid_at: str = "2026-01-01") -> list[Fact]:
    with world.store.read(SCOPE) as reader:
        as_of = AsOf(valid_at=parse_instant(valid_at), known_at=known_at)
        return reader.state([(world.id(subject), None)], as_of, certain=False, page=ALL)


def copied(world: World) -> None:
    """The journal makes the same ledger again, and the rule the same belief."""
    assert refold(world.store, SCOPE.tenant) == []
    copy = NaiveStore()
    rebuild(world.store, copy, SCOPE.tenant)
    assert ledger_hash(copy, SCOPE.tenant) == ledger_hash(world.store, SCOPE.tenant)


def test_a_claim_is_served_up_to_its_end_and_never_from_then_on(world: World) -> None:
    receipt = world.write(claim("mira", "lives_in", "Lisbon", "2020-01-01", ttl="P1D"))["items"][0]

    (shown,) = facts(world, "mira", after(world, DAY - 1))
    assert shown.expires_at == world.now() + DAY
    assert told(world, receipt["claim"]).claim.expires_at == shown.expires_at
    assert parse_instant(receipt["expires_at"]) == shown.expires_at
    assert facts(world, "mira", after(world, DAY)) == []
    copied(world)


def test_every_way_to_ask_serves_it_up_to_its_end_and_not_from_then_on(world: World) -> None:
    world.tell("oslo", "alias", "Tigerstaden")
    world.tell("mira", "knows", {"type": "entity", "key": "oslo"}, "2020-01-01", ttl="PT1H")
    world.tell("mira", "type", "Person", "2020-01-01", ttl="PT1H")
    world.tell("mira", "name", "Mira", "2020-01-01", ttl="PT1H")
    mira, now = world.id("mira"), world.now()

    def asked(at: Instant) -> list[int]:
        as_of = AsOf(valid_at=AT, known_at=at)
        with world.store.read(SCOPE) as reader:
            everything: Any = {"certain": False, "page": ALL}
            return [
                len(reader.state([(mira, None), (mira, "name")], as_of, **everything)),
                len(reader.of_predicate("name", as_of, **everything)),
                len(reader.holders(text_key("Mira"), None, as_of, **everything)),
                len(reader.list_entities(as_of, type="Person", name=None, limit=9, after=None)),
                len(reader.list_entities(as_of, type=None, name="Mira", limit=9, after=None)),
                len(reader.list_entities(as_of, type="Person", name="Mira", limit=9, after=None)),
                len(reader.list_entities(as_of, type=None, name=None, limit=9, after=None)) - 1,
            ]  # fmt: skip

    assert asked(Instant(now + HOUR - 2 * SECOND - 1)) == [3, 1, 1, 1, 1, 1, 1]
    assert asked(Instant(now + HOUR)) == [0] * 7


def test_the_newest_is_judged_by_the_clock_and_the_past_by_what_was_asked(world: World) -> None:
    """A `known_at` that was echoed stays what it was, while the same question asked anew does not."""
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01", ttl="PT1H")
    newest = world.now()
    as_of, asked = AsOf(valid_at=AT, known_at=newest), [(world.id("mira"), None)]
    with world.store.read(SCOPE) as reader:
        reader.serve(newest, Instant(newest + HOUR))
        assert reader.state(asked, as_of, certain=False, page=ALL) == []
        reader.serve(newest, newest)
        assert texts(reader.state(asked, as_of, certain=False, page=ALL)) == ["Lisbon"]
    world.tell("tom", "lives_in", "Riga")
    with world.store.read(SCOPE) as reader:
        reader.serve(world.now(), Instant(newest + HOUR))
        assert texts(reader.state(asked, as_of, certain=False, page=ALL)) == ["Lisbon"], "it was served then"


def test_nothing_older_rises_where_a_value_expires(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    world.tell("mira", "lives_in", "Oslo", "2022-01-01", ttl="PT1H")

    assert world.state("mira", "lives_in", "2023-01-01", after(world, HOUR)) == []
    assert world.state("mira", "lives_in", "2021-01-01", after(world, HOUR)) == ["Lisbon"]


def test_a_fact_is_served_as_long_as_any_claim_that_shows_in_it(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01", ttl="PT1H")
    until = after(world, 2 * HOUR)
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01", ttl="PT2H", source="registry")
    assert world.state("mira", "lives_in", "2023-01-01", until) == ["Lisbon"]
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01", source="mail")

    (forever,) = facts(world, "mira", after(world, 9 * DAY))
    assert forever.expires_at == OPEN_END
    assert world.state("mira", "lives_in", "2023-01-01", Instant(until - 3 * SECOND)) == ["Lisbon"]


def test_what_reinforces_an_expired_fact_serves_it_again_from_then_on(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01", ttl="PT1H")
    began, over = world.now(), after(world, HOUR)
    world.clock.advance(2 * HOUR)
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01", source="registry")
    again = world.now()

    assert world.state("mira", "lives_in", "2023-01-01", Instant(again - 1)) == []
    assert world.state("mira", "lives_in", "2023-01-01", again) == ["Lisbon"]
    with world.store.read(SCOPE) as reader:
        held = belief(reader, world.id("mira"), "lives_in", AT, ceiling=99).rows
        assert [(each.recorded_from, each.recorded_to) for each in held] == [(began, over), (again, OPEN_END)]


def test_who_asks_what_was_believed_gets_nothing_that_had_expired(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01", ttl="PT1H")
    began = world.now()
    world.clock.advance(2 * HOUR)
    world.tell("mira", "lives_in", "Oslo", "2022-01-01")
    mira, now = world.id("mira"), world.now()
    with world.store.read(SCOPE) as reader:
        first, cut = believed_during(reader, mira, None, began, Instant(began + HOUR), closed=False, ceiling=99)
        between, _ = believed_during(
            reader, mira, None, Instant(began + HOUR), Instant(began + HOUR + 1), closed=False, ceiling=99
        )
        changed = diff(reader, OfSubject(mira, None), began, now, ceiling=99)
    assert [each.value.text for each in first] == ["Lisbon"]
    assert not cut
    assert between == []
    assert [each.statement.value.text for each in changed.removed] == ["Lisbon"]
    assert [each.statement.value.text for each in changed.added] == ["Oslo"]


def test_raw_rows_and_claims_still_show_it(world: World) -> None:
    receipt = world.write(claim("mira", "lives_in", "Lisbon", "2020-01-01", ttl="PT1H"))["items"][0]
    with world.store.read(SCOPE) as reader:
        reader.serve(world.now(), after(world, DAY))
        (row,) = reader.audit(world.id("mira"), None, valid_at=None, touched=None, page=ALL)
        assert reader.fact(row.version.id) == row
        assert row.expires_at == world.now() + HOUR
        (said,) = reader.evidence(row.version, world.now(), limit=9, after=None)
        assert said.claim.id == receipt["claim"]
        assert [each.claim.id for each in reader.claims(world.id("mira"), None, limit=9, after=None)] == [said.claim.id]


def test_an_expired_claim_gets_its_transition_once(world: World) -> None:
    receipt = world.write(claim("mira", "lives_in", "Lisbon", "2020-01-01", ttl="PT1H"))["items"][0]
    version, early = receipt["version"], world.write(Expire(claim=receipt["claim"]))["items"][0]
    assert early["result"] == "ignored"
    world.clock.advance(2 * HOUR)
    with world.store.read(SCOPE) as reader:
        assert [each.claim.id for each in reader.overdue(world.clock.now(), limit=9, after=None)] == [receipt["claim"]]
    before = world.now()
    done, twice = world.write(Expire(claim=receipt["claim"])), world.write(Expire(claim=receipt["claim"]))

    assert done["items"][0]["result"] == "expired"
    assert twice["items"][0]["result"] == "ignored"
    assert twice["position"] == done["position"], "nothing was written"
    found = told(world, receipt["claim"])
    assert (found.state, found.transitions[-1].rule) == (Lifecycle.EXPIRED, "retention")
    assert found.is_folded, "it bounds what is older"
    with world.store.read(SCOPE) as reader:
        assert reader.overdue(world.clock.now(), limit=9, after=None) == []
        assert reader.slot_heads([world.slot("mira", "lives_in")])[world.slot("mira", "lives_in")].version == version
    assert world.state("mira", "lives_in", "2023-01-01", before) == ["Lisbon"]
    assert world.state("mira", "lives_in", "2023-01-01") == []
    world.tell("mira", "lives_in", "Porto", "2019-01-01")
    assert world.state("mira", "lives_in", "2023-01-01") == []
    assert world.state("mira", "lives_in", "2019-06-01") == ["Porto"]
    copied(world)


def test_a_ttl_over_the_ceiling_of_its_kind_is_refused_and_the_ceiling_is_named(world: World) -> None:
    pack = {"pack": "notes", "predicates": {
        "scratch": {"kind": "working_note"}, "visit": {"ttl_days": 10, "ttl_days_max": 20},
    }}  # fmt: skip
    world.writer.put_schema(SCOPE, "tester", pack_from_document(pack))
    world.clock.advance(SECOND)
    with pytest.raises(Refused, match=r"P31D is over the ceiling of 'scratch', a working_note: P30D") as refused:
        world.write(claim("mira", "scratch", "x", ttl="P31D"))
    assert refused.value.violations[0].pointer == "/items/0/ttl"
    world.write(claim("mira", "scratch", "x", ttl="P30D"))
    with pytest.raises(Refused, match="P20D"):
        world.write(claim("mira", "visit", "x", ttl="P21D"))
    with pytest.raises(Incorrect, match="years and months"):
        world.write(claim("mira", "visit", "x", ttl="P1M"))
    with pytest.raises(Incorrect, match="does not expire"):
        world.write(retract("mira", "visit", ttl="P1D"))

    default = world.write(claim("mira", "scratch", "y"), claim("mira", "visit", "y"), claim("mira", "lives_in", "Oslo"))
    expected = [world.now() + days * DAY for days in (7, 10)]
    given = [each["expires_at"] for each in default["items"]]
    assert [parse_instant(text) for text in given[:2]] == expected
    assert given[2] is None, "facts are kept for ever"


def test_a_correction_may_have_a_time_to_live_of_its_own(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    world.write(correct("mira", "lives_in", "Lisbon", "2021-01-01", "Oslo", ttl="PT1H"))

    assert world.state("mira", "lives_in", "2023-01-01") == ["Oslo"]
    assert world.state("mira", "lives_in", "2023-01-01", after(world, HOUR)) == []


def test_the_same_words_of_one_episode_are_no_duplicate_of_what_expired(world: World) -> None:
    item = claim("mira", "lives_in", "Lisbon", "2020-01-01", ttl="PT1H", episode="e1")
    first = world.write(item)["items"][0]
    assert world.write(item)["items"][0]["result"] == "duplicate"
    world.clock.advance(2 * HOUR)
    again = world.write(replace(item))["items"][0]
    assert again["result"] == "reinforced"
    assert again["claim"] != first["claim"]
    assert world.state("mira", "lives_in", "2023-01-01") == ["Lisbon"]
