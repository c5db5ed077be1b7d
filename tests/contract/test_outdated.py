"""What a store holds though it should not be relied on: live data, and what nobody confirmed for too long."""

from typing import Any

from graph.outdated import Outdated, outdated
from graph.state import resolve_for
from ontology.facts import Fact
from ontology.instants import DAY, Instant
from ontology.schema_document import pack_from_document
from ontology.scope import Scope, scope_of
from tests.contract.world import SCOPE, World, texts, withdraw


def govern(world: World, **predicates: dict[str, Any]) -> None:
    pack = pack_from_document({"pack": "rules", "predicates": predicates})
    world.writer.put_schema(SCOPE, "tester", pack)


def listed(
    world: World, *, days: int = 0, limit: int = 100, after: Fact | None = None, scope: Scope = SCOPE
) -> list[Outdated]:  # fmt: skip
    now = Instant(world.clock.now() + days * DAY)
    with world.store.read(scope) as reader:
        resolve_for(reader, now, None, None)
        return outdated(reader, world.writer.schema(scope), now, limit=limit, after=after)


def values(found: list[Outdated]) -> list[str]:
    return texts([each.fact for each in found])


def test_what_was_stored_before_its_predicate_was_live_is_listed_whenever_it_holds(world: World) -> None:
    world.tell("gate-0", "queue", "12", "2020-01-01", "2021-01-01")
    world.tell("gate-0", "queue", "15", "2026-01-01")
    world.tell("gate-0", "name", "Gate 0", "2020-01-01")
    assert listed(world) == []
    govern(world, queue={"volatility": "live", "tool": "mcp:gates/queue"})
    found = listed(world)
    assert values(found) == ["12", "15"]
    assert [(each.due_since, each.predicate.governance.tool) for each in found] == [(None, "mcp:gates/queue")] * 2


def test_a_fact_is_due_for_review_so_long_after_it_was_confirmed_last(world: World) -> None:
    govern(world, role={"review_days": 30})
    told = world.tell("ann", "role", "nurse", "2020-01-01", source="a")
    world.tell("ben", "role", "cook", "2020-01-01", "2021-01-01", source="a")
    assert listed(world, days=29) == []
    (due,) = listed(world, days=31)
    assert (due.fact.version.value.text, due.due_since) == ("nurse", told + 30 * DAY)
    world.clock.advance(20 * DAY)
    world.tell("ann", "role", "nurse", "2020-01-01", source="b")
    assert listed(world, days=29) == []
    assert values(listed(world, days=31)) == ["nurse"]


def test_pages_follow_each_other_without_a_gap(world: World) -> None:
    for subject in ("ann", "ben"):
        for predicate in ("queue", "role"):
            for number in range(3):
                world.tell(subject, predicate, f"{subject} {predicate} {number}", f"202{number}-01-01")
    rule = {"volatility": "live", "tool": "t"}
    govern(world, queue=rule, role=rule)
    whole = listed(world)
    assert len(whole) == 12
    assert [each.predicate.name for each in whole] == ["queue"] * 6 + ["role"] * 6
    walked: list[Outdated] = []
    while page := listed(world, limit=2, after=walked[-1].fact if walked else None):
        walked += page
    assert walked == whole


def test_what_is_not_believed_any_more_and_other_scopes_are_left_out(world: World) -> None:
    other = scope_of("acme", "elsewhere")
    world.tell("gate-0", "queue", "12", "2020-01-01", episode="e-1")
    world.tell("gate-0", "queue", "13", "2020-01-01", scope=other)
    govern(world, queue={"volatility": "live", "tool": "t"})
    assert values(listed(world, scope=other)) == ["13"]
    world.write(withdraw(episode="e-1"))
    assert listed(world) == []


def test_what_has_expired_is_left_out(world: World) -> None:
    world.tell("gate-0", "queue", "12", "2020-01-01", ttl="P1D")
    world.tell("gate-0", "queue", "15", "2021-01-01")
    govern(world, queue={"volatility": "live", "tool": "t"})
    assert values(listed(world)) == ["12", "15"]
    assert values(listed(world, days=2)) == ["15"]
