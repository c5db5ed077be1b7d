"""Claims that wait: kept, not believed; promoted to their place, rejected, withdrawn, erased. On all stores."""

from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest

from consolidation.admission import ON_THIS_MACHINE, Standing, transfer
from consolidation.items import Item, Promote, Reject
from consolidation.policy import OWNER, Authority
from consolidation.verify import refold
from graph.ledger import belief_hash, ledger_hash
from graph.ports import MemoryStore
from graph.transfer import rebuild
from ontology.claims import HELD, Lifecycle, Told, Trust
from ontology.errors import AlreadyDecided, Forbidden, LiveData, OwnReview, Refused, VersionChanged
from ontology.facts import Version
from ontology.fold import apart, fold
from ontology.ids import ClaimId
from ontology.instants import OPEN_END, SECOND
from ontology.line import Run
from ontology.schema_document import pack_from_document
from tests.contract.world import ALL, SCOPE, World, claim, correct, erase, retract, text_key, withdraw
from tests.naive_store import NaiveStore
from tests.sizes import scaled

PERSON: Final = Authority(owns=True, trust=Trust.CONFIRMED, trust_max=Trust.VERIFIED)
GUEST: Final = Standing(may_write=False, may_propose=True, becomes_owner=False)


ACCEPTED: Final = Lifecycle.ACCEPTED
HISTORIES: Final = scaled(200, 12)


def write(
    world: World, *items: Item, by: str = "agent", authority: Authority = OWNER, standing: Standing = ON_THIS_MACHINE,
    dry_run: bool = False,
) -> list[dict[str, Any]]:  # fmt: skip
    """One transaction of a principal; gives the receipts of its items."""
    written = world.writer.write(SCOPE, by, items, authority=authority, standing=standing, dry_run=dry_run)
    receipt = written.receipt
    world.clock.advance(SECOND)
    found: Any = receipt["items"]
    return list(found)


def declare(world: World, **predicates: dict[str, Any]) -> None:
    world.writer.put_schema(SCOPE, "tester", pack_from_document({"pack": "more", "predicates": predicates}))
    world.clock.advance(SECOND)


def told(world: World, id: str) -> Told:
    with world.store.read(SCOPE) as reader:
        return reader.claim(ClaimId(id))


def held(world: World, *states: Lifecycle, rule: str | None = None) -> list[str]:
    with world.store.read(SCOPE) as reader:
        return [t.claim.id for t in reader.held(states or HELD, rule, limit=100, after=None)]


def check(world: World) -> None:
    """The stored belief is what the operations make, and a copy from the journal is the same ledger."""
    assert refold(world.store, SCOPE.tenant) == []
    copy = NaiveStore()
    rebuild(world.store, copy, SCOPE.tenant)
    assert ledger_hash(copy, SCOPE.tenant) == ledger_hash(world.store, SCOPE.tenant)


def test_what_is_held_is_kept_and_changes_no_belief(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    before, version = belief_hash(world.store, SCOPE), _version(world)
    (receipt,) = write(world, claim("mira", "lives_in", "Oslo", "2021-01-01", trust="untrusted", source="page"))

    assert (receipt["result"], receipt["state"], receipt["rule"]) == ("quarantined", "quarantined", "untrusted")
    assert receipt["opened"] == receipt["closed"] == []
    assert "page" in receipt["reason"]
    assert belief_hash(world.store, SCOPE) == before
    assert _version(world) == version, "nobody's expected version is stale for what is not believed"
    assert held(world) == [receipt["claim"]]
    assert told(world, receipt["claim"]).state is Lifecycle.QUARANTINED
    with world.store.read(SCOPE) as reader:
        assert reader.held_counts() == {(Lifecycle.QUARANTINED, "untrusted"): 1}
        (fact,) = reader.state([(world.id("mira"), "lives_in")], _now(world), certain=False, page=ALL)
    assert fact.support.sources == 1
    check(world)


def test_a_slot_in_which_all_is_held_believes_nothing_and_may_be_expected_empty(world: World) -> None:
    write(world, claim("mira", "lives_in", "Oslo", trust="untrusted"))
    assert world.state("mira", "lives_in", "2026-01-01") == []
    assert _version(world) == 0
    item = claim("mira", "lives_in", "Lisbon", "2020-01-01")
    (receipt,) = write(world, _expecting(item, 0))
    assert receipt["result"] == "created"
    assert world.state("mira", "lives_in", "2026-01-01") == ["Lisbon"]
    check(world)


def test_what_is_promoted_is_folded_at_its_old_place_from_that_commit_on(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    (receipt,) = write(world, claim("mira", "lives_in", "Oslo", "2021-01-01", trust="untrusted"))
    world.tell("mira", "lives_in", "Riga", "2021-01-01")
    before = world.now()
    (promoted,) = write(world, Promote(claim=receipt["claim"], reason="checked"), by="rita", authority=PERSON)

    assert promoted["result"] == "promoted"
    assert world.state("mira", "lives_in", "2022-01-01") == ["Riga"], "what was said later for the same start stays"
    assert world.state("mira", "lives_in", "2022-01-01", before) == ["Riga"]
    known = told(world, receipt["claim"])
    assert (known.state, known.folded_from, known.trust) == (Lifecycle.ACCEPTED, world.now(), Trust.CONFIRMED)
    assert [(t.state, t.rule, t.actor) for t in known.transitions] == [
        (Lifecycle.QUARANTINED, "untrusted", "agent"),
        (Lifecycle.ACCEPTED, "review", "rita"),
    ]
    assert held(world) == []
    check(world)


@pytest.mark.parametrize("stated", [None, "2026-01-01T00:00:00Z"], ids=["unsaid", "said"])
def test_belief_after_a_promotion_is_that_of_one_who_believed_at_once(world: World, stated: str | None) -> None:
    at_once, later = World(NaiveStore()), world
    at_once.declare("lives_in", "works_for")
    for each in (at_once, later):
        each.tell("mira", "lives_in", "Lisbon", "2020-01-01", observed_at=stated)
    write(at_once, claim("mira", "lives_in", "Oslo", "2021-01-01", observed_at=stated))
    (receipt,) = write(later, claim("mira", "lives_in", "Oslo", "2021-01-01", observed_at=stated, trust="untrusted"))
    for each in (at_once, later):
        each.tell("mira", "lives_in", "Rome", "2021-01-01", observed_at=stated)
        each.tell("mira", "lives_in", "Riga", observed_at=stated)
    assert belief_hash(at_once.store, SCOPE) != ""
    write(later, Promote(claim=receipt["claim"]), by="rita")
    assert belief_hash(later.store, SCOPE) == belief_hash(at_once.store, SCOPE)
    check(later)


def test_a_rejected_value_does_not_come_back_from_the_same_source(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    again = claim("mira", "lives_in", "Oslo", "2021-01-01", trust="untrusted", source="page")
    (receipt,) = write(world, again)
    (rejected,) = write(world, Reject(claim=receipt["claim"], reason="forged"), by="rita")
    assert (rejected["result"], rejected["version"]) == ("rejected", _version(world))
    position = world.now()

    (turned,) = write(world, again)
    assert (turned["result"], turned["rule"], turned["claim"]) == ("ignored", "rejected-before", None)
    assert receipt["claim"] in turned["reason"]
    assert world.now() == position, "nothing was recorded"
    (other,) = write(world, claim("mira", "lives_in", "Oslo", "2021-01-01", source="passport"))
    assert other["result"] == "superseded"
    assert told(world, receipt["claim"]).state is Lifecycle.REJECTED
    check(world)


def test_nobody_decides_twice_on_their_own_or_on_what_has_changed(world: World) -> None:
    (one,) = write(world, claim("mira", "lives_in", "Oslo", trust="untrusted"))
    with pytest.raises(OwnReview, match="'agent' wrote"):
        write(world, Promote(claim=one["claim"]))
    seen = Version(2)
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    with pytest.raises(VersionChanged) as changed:
        write(world, Promote(claim=one["claim"], expected_version=seen), by="rita")
    write(world, Promote(claim=one["claim"], expected_version=_as_version(changed.value)), by="rita")
    for item in (Promote(claim=one["claim"]), Reject(claim=one["claim"])):
        with pytest.raises(AlreadyDecided, match="accepted"):
            write(world, item, by="rita")
    assert told(world, one["claim"]).transitions[-1].decided_on == _as_version(changed.value)
    check(world)


def test_a_held_claim_is_withdrawn_with_its_source_and_erased_with_its_slot(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    belief = belief_hash(world.store, SCOPE)
    ids = [
        write(world, claim("mira", "lives_in", city, "2021-01-01", trust="untrusted", source=source))[0]["claim"]
        for city, source in (("Oslo", "page"), ("Riga", "other"))
    ]
    counted = [kind for kind, _ in world.store.ledger(SCOPE.tenant)].count("support")
    (gone,) = write(world, withdraw(source="page"))
    assert [kind for kind, _ in world.store.ledger(SCOPE.tenant)].count("support") == counted, "it never counted"
    assert gone["withdrawn"] == [ids[0]]
    assert told(world, ids[0]).state is Lifecycle.WITHDRAWN
    assert belief_hash(world.store, SCOPE) == belief
    with pytest.raises(AlreadyDecided):
        write(world, Promote(claim=ids[0]), by="rita")
    write(world, erase("mira", "lives_in", "Riga"))
    assert held(world) == []
    assert [kind for kind, _ in world.store.ledger(SCOPE.tenant)].count("transition") == 2
    assert belief_hash(world.store, SCOPE) == belief
    assert refold(world.store, SCOPE.tenant) == []


def test_a_promotion_may_be_withdrawn_again(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    belief = belief_hash(world.store, SCOPE)
    (one,) = write(world, claim("mira", "lives_in", "Oslo", "2021-01-01", trust="untrusted"))
    write(world, Promote(claim=one["claim"]), by="rita")
    assert world.state("mira", "lives_in", "2022-01-01") == ["Oslo"]
    write(world, withdraw(claim=one["claim"]))
    assert belief_hash(world.store, SCOPE) == belief
    assert [t.state for t in told(world, one["claim"]).transitions] == [
        Lifecycle.QUARANTINED, Lifecycle.ACCEPTED, Lifecycle.WITHDRAWN,
    ]  # fmt: skip
    check(world)


def test_a_promotion_that_is_withdrawn_in_the_same_transaction_was_none(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    belief = belief_hash(world.store, SCOPE)
    (one,) = write(world, claim("mira", "lives_in", "Oslo", "2021-01-01", trust="untrusted"))
    promoted, gone = write(world, Promote(claim=one["claim"]), withdraw(claim=one["claim"]), by="rita")
    assert (promoted["result"], gone["withdrawn"]) == ("withdrawn", [one["claim"]])
    assert belief_hash(world.store, SCOPE) == belief
    check(world)


def test_a_held_claim_that_is_said_again_in_its_episode_is_a_duplicate(world: World) -> None:
    item = claim("mira", "lives_in", "Oslo", trust="untrusted", episode="chat-1")
    (first,) = write(world, item)
    (second,) = write(world, item)
    assert (second["result"], second["claim"], second["state"]) == ("duplicate", first["claim"], "quarantined")
    assert held(world) == [first["claim"]]


def test_held_claims_come_in_order_by_page_by_state_and_by_rule(world: World) -> None:
    declare(world, diagnosis={"sensitive": True})
    ids = [
        write(world, item)[0]["claim"]
        for item in (
            claim("mira", "lives_in", "Oslo", trust="untrusted"),
            claim("mira", "diagnosis", "flu"),
            retract("mira", "lives_in", trust="untrusted"),
        )
    ]
    assert held(world) == ids
    assert held(world, Lifecycle.STAGED) == [ids[1]]
    assert held(world, Lifecycle.QUARANTINED) == held(world, rule="untrusted") == [ids[0], ids[2]]
    with world.store.read(SCOPE) as reader:
        (first,) = reader.held(HELD, None, limit=1, after=None)
        entry = first.claim.entry
        rest = reader.held(HELD, None, limit=9, after=(entry.position, entry.ordinal, 0))
        assert [t.claim.id for t in rest] == ids[1:]
        assert reader.held_counts() == {(Lifecycle.QUARANTINED, "untrusted"): 2, (Lifecycle.STAGED, "sensitive"): 1}
    check(world)


def test_who_does_not_own_the_namespace_proposes(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    transfer(world.store, SCOPE, to="tester", by="root", now=world.clock.now(), administers=True)
    (receipt,) = write(world, claim("mira", "lives_in", "Oslo", "2021-01-01"), by="guest", standing=GUEST)
    assert (receipt["state"], receipt["rule"]) == ("quarantined", "proposed")
    for item in (correct("mira", "lives_in", "Lisbon", "2021-01-01", "Oslo"), withdraw(source="tester"), erase("mira")):
        with pytest.raises(Forbidden, match="'guest' does not own"):
            write(world, item, by="guest", standing=GUEST)
    write(world, withdraw(claim=receipt["claim"]), by="guest", standing=GUEST)
    assert told(world, receipt["claim"]).state is Lifecycle.WITHDRAWN


def test_a_guarded_value_is_not_unseated_by_what_is_trusted_less(world: World) -> None:
    declare(world, account={"guarded": True, "cardinality": "functional"})
    write(world, claim("acme", "account", "100", "2020-01-01", trust="verified"), by="bank", authority=PERSON)
    later, earlier, same = write(
        world,
        claim("acme", "account", "666", "2021-01-01"),
        claim("acme", "account", "99", "2019-01-01"),
        claim("acme", "account", "100"),
    )
    assert (later["state"], later["rule"]) == ("quarantined", "guarded")
    assert "observed" in later["reason"]
    assert "verified" in later["reason"]
    assert (earlier["result"], same["result"]) == ("bounded", "reinforced"), "these unseat nothing"
    assert world.state("acme", "account", "2022-01-01") == ["100"]
    with pytest.raises(Refused, match="cannot undo"):
        write(world, withdraw(source="bank"))
    write(world, Promote(claim=later["claim"]), by="rita", authority=PERSON)
    assert world.state("acme", "account", "2022-01-01") == ["666"]
    check(world)


def test_a_guarded_value_gives_way_to_what_is_trusted_as_much(world: World) -> None:
    declare(world, account={"guarded": True, "cardinality": "functional"})
    write(world, claim("acme", "account", "1", "2018-01-01", "2019-01-01", trust="verified"), authority=PERSON)
    write(world, claim("acme", "account", "100", "2020-01-01"))
    (later,) = write(world, claim("acme", "account", "200", "2021-01-01"))
    assert later["result"] == "superseded"
    (over,) = write(world, claim("acme", "account", "300", "2018-06-01", "2018-07-01"))
    assert over["rule"] == "guarded"


def test_a_drop_of_trust_elsewhere_is_flagged(world: World) -> None:
    write(world, claim("mira", "lives_in", "Lisbon", "2020-01-01"), by="rita", authority=PERSON)
    (receipt,) = write(world, claim("mira", "lives_in", "Oslo", "2021-01-01"))
    assert receipt["result"] == "superseded"
    assert [w["code"] for w in receipt["warnings"]] == ["trust_dropped"]
    (same,) = write(world, claim("mira", "lives_in", "Riga", "2022-01-01"))
    assert same["warnings"] == [], "as much trusted as what it superseded"


def test_what_is_sensitive_waits_for_a_confirmation(world: World) -> None:
    declare(world, diagnosis={"sensitive": True})
    (waits,) = write(world, claim("mira", "diagnosis", "flu", "2026-01-01"))
    assert (waits["state"], waits["rule"]) == ("staged", "sensitive")
    (said,) = write(world, claim("mira", "diagnosis", "flu", "2026-01-01"), by="rita", authority=PERSON)
    assert said["promoted"] == [waits["claim"]]
    assert told(world, waits["claim"]).state is Lifecycle.ACCEPTED
    check(world)


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "at once"])
def test_weak_signals_are_believed_when_there_are_enough_of_them(world: World, together: bool) -> None:
    declare(world, likes={"promote_after": 3})
    items = [claim("mira", "likes", "tea", "2026-01-01", source=s) for s in ("a", "a", "b", "c")]
    receipts = write(world, *items) if together else [write(world, item)[0] for item in items]
    assert receipts[-1]["state"] == "accepted"
    assert sorted(receipts[-1]["promoted"]) == sorted(receipt["claim"] for receipt in receipts[:3])
    with world.store.read(SCOPE) as reader:
        (fact,) = reader.state([(world.id("mira"), "likes")], _now(world), certain=False, page=ALL)
    assert fact.support.sources == 3
    check(world)


def test_less_than_enough_waits_with_its_count(world: World) -> None:
    declare(world, likes={"promote_after": 2, "promote_by": "occurrences"})
    first, second = (write(world, claim("mira", "likes", "tea", episode="e1", source=s))[0] for s in ("a", "b"))
    assert (first["rule"], second["rule"]) == ("promote-after", "promote-after")
    assert "1 of 2 occurrences" in second["reason"]
    (third,) = write(world, claim("mira", "likes", "tea", episode="e2"))
    assert third["state"] == "accepted"
    check(world)


def test_live_data_is_refused_with_its_tool(world: World) -> None:
    declare(world, queue={"volatility": "live", "tool": "mcp:gates/queue"})
    with pytest.raises(LiveData) as refused:
        write(world, claim("gate-0", "queue", 12))
    assert refused.value.members["tool"] == "mcp:gates/queue"


def test_nobody_asks_for_more_trust_than_they_may_give(world: World) -> None:
    with pytest.raises(Refused, match="observed at most"):
        write(world, claim("mira", "lives_in", "Oslo", trust="verified"))
    (receipt,) = write(world, claim("mira", "lives_in", "Oslo", trust="inferred"))
    known = told(world, receipt["claim"]).claim
    assert (known.trust, known.confidence) == (Trust.INFERRED, 0.5)


def test_a_dry_run_holds_nothing(world: World) -> None:
    world.tell("mira", "lives_in", "Lisbon")
    (receipt,) = write(world, claim("mira", "lives_in", "Oslo", trust="untrusted"), dry_run=True)
    assert receipt["state"] == "quarantined"
    assert held(world) == []


def test_what_was_heard_of_a_value_is_all_but_what_was_withdrawn(world: World) -> None:
    receipts = [
        write(world, claim("mira", "lives_in", "Oslo", "2020-01-01", source=s, trust=t))[0]["claim"]
        for s, t in (("a", None), ("b", "untrusted"), ("c", "untrusted"), ("d", None))
    ]
    write(world, Reject(claim=receipts[2]), by="rita")
    write(world, withdraw(source="d"))
    slot = world.slot("mira", "lives_in")
    with world.store.write(SCOPE) as tx:
        assert [t.claim.id for t in tx.heard(slot, text_key("Oslo"))] == receipts[:3]
        assert [id for _, id in tx.entries(slot)] == receipts[:1]
        assert tx.voice(slot, text_key("Oslo"), "b", None) == (None, False)


def _version(world: World) -> int:
    slot = world.slot("mira", "lives_in")
    with world.store.read(SCOPE) as reader:
        return reader.slot_heads([slot])[slot].version


def _now(world: World) -> Any:
    from ontology.facts import AsOf

    return AsOf(valid_at=world.clock.now(), known_at=world.now())


def _expecting(item: Any, version: int) -> Any:
    return replace(item, expected_version=Version(version))


def _as_version(exc: VersionChanged) -> Version:
    version = exc.members["current_version"]
    assert isinstance(version, int)
    return Version(version)


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_whatever_is_decided_belief_is_that_of_one_who_knew_it_at_once(store: MemoryStore, seed: int) -> None:
    """Holds, promotions, rejections and withdrawals, against a world that is told only what is accepted in the end."""
    rng, careful = Random(seed), World(store)
    drawn: list[tuple[Any, Lifecycle]] = []
    ids: list[str] = []
    careful.declare("lives_in")
    for number in range(12):
        held_first = rng.random() < 0.6
        end = rng.choice([Lifecycle.ACCEPTED, Lifecycle.REJECTED, Lifecycle.WITHDRAWN, Lifecycle.QUARANTINED])
        said = {
            "valid_from": rng.choice([None, "unknown", "2020", "2020-05-01", "2021-01-01", "2022-01-01"]),
            "valid_to": rng.choice([None, None, "2023-01-01", "unknown"]),
            "observed_at": rng.choice([None, None, "2025-01-01T00:00:00Z", "2025-06-01T00:00:00Z"]),
        }
        item = claim("mira", "lives_in", rng.choice("ABC"), source=f"s{number}", **said)
        untrusted = replace(item, said=replace(item.said, trust="untrusted")) if held_first else item
        try:
            ids.append(write(careful, untrusted)[0]["claim"])
        except Refused:
            careful.clock.advance(SECOND)
            continue
        drawn.append((item, end if held_first else rng.choice([Lifecycle.ACCEPTED, Lifecycle.WITHDRAWN])))
    order = list(range(len(ids)))
    rng.shuffle(order)
    for index in order:
        end = drawn[index][1]
        waits = ids[index] in held(careful)
        if waits and (end is Lifecycle.ACCEPTED or (end is Lifecycle.WITHDRAWN and rng.random() < 0.5)):
            write(careful, Promote(claim=ids[index]), by="rita")
        if end is Lifecycle.REJECTED:
            write(careful, Reject(claim=ids[index]), by="rita")
        if end is Lifecycle.WITHDRAWN:
            write(careful, withdraw(claim=ids[index]))
    check(careful)

    at_once, accepted = World(NaiveStore()), {id for id, (_, end) in zip(ids, drawn, strict=True) if end is ACCEPTED}
    at_once.declare("lives_in")
    for id, (item, _) in zip(ids, drawn, strict=True):
        if id in accepted:
            at_once.clock.reading = told(careful, id).claim.recorded_at
            write(at_once, item)
    assert belief_hash(careful.store, SCOPE) == belief_hash(at_once.store, SCOPE)
    stored = set(_runs(careful))
    entries = [told(careful, id).claim.entry for id in sorted(accepted, key=ids.index)]
    assert stored == {run for part in apart(entries) for run in fold(part).runs()}


def _runs(world: World) -> list[Run]:
    """What is stored of the present belief of the one slot."""
    with world.store.read(SCOPE) as reader:
        rows = reader.audit(world.id("mira"), "lives_in", valid_at=None, touched=None, page=ALL)
    now = [fact.version for fact in rows if fact.version.recorded_to == OPEN_END]
    return [Run(v.valid_from, v.valid_to, v.value_key, v.certain) for v in now]
