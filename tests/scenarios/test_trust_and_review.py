"""What is not believed at once, what an echo is worth, and who decides: P14, P15, live data."""

from typing import Any

import pytest

from ontology.echoes import marker
from ontology.ids import FactId
from ontology.instants import parse_instant
from tests.oracles.memory import Memory, Refusal
from tests.scenarios.world import World


def support(world: World, subject: str, predicate: str, value: str) -> Any:
    asked = {"kind": "support", "subject": subject, "predicate": predicate, "value": value}
    return world.memory.ask(asked | {"valid_at": "2026-05-01"})


def test_p14_an_echo_is_not_evidence(memory: Memory) -> None:
    world = World(memory, coating="functional")
    first = world.tell("Tank-6", "coating", "type-b", "2026-04-01", at="2026-04-01", source="inspector-1")
    text = f"Tank-6 coating is type-b {marker(FactId(first['opened'][0]))}"
    for day in range(2, 7):
        echo = world.tell(
            "Tank-6", "coating", "type-b", "2026-04-01", at=f"2026-04-0{day}", source="agent", episode=f"chat-{day}",
            recalled=text,
        )  # fmt: skip
        assert (echo["result"], echo["echo"]) == ("reinforced", True)
        assert support(world, "Tank-6", "coating", "type-b") == [1, 1], "an echo raises nothing"
    world.tell("Tank-6", "coating", "type-b", "2026-04-01", at="2026-04-07", source="inspector-1")
    world.tell("Tank-6", "coating", "type-b", "2026-04-01", at="2026-04-10", source="lab-2")

    assert world.history("Tank-6", "coating") == ["type-b [2026-04-01, open)"]
    assert support(world, "Tank-6", "coating", "type-b") == [2, 3], "two sources, three mentions"


def test_p14_a_value_that_memory_did_not_serve_is_no_echo(memory: Memory) -> None:
    world = World(memory, coating="functional")
    first = world.tell("Tank-6", "coating", "type-b", "2026-04-01", at="2026-04-01", source="inspector-1")
    text = marker(FactId(first["opened"][0]))
    other = world.tell("Tank-6", "coating", "type-c", "2026-04-08", at="2026-04-10", source="lab-2", recalled=text)
    assert (other["echo"], other["result"]) == (False, "superseded")
    stale = world.tell("Tank-6", "coating", "type-b", "2026-04-12", at="2026-04-12", source="agent", recalled=text)
    assert (stale["echo"], stale["state"], stale["rule"]) == (True, "staged", "echo")
    assert world.state("Tank-6", "coating", "2026-05-01") == ["type-c"], "what memory said once brings nothing back"


def supplier(memory: Memory, **more: Any) -> tuple[World, dict[str, Any]]:
    """Supplier-8 with its account as the ledger says it, and what the page says."""
    world = World(memory, payout_account={"cardinality": "functional"} | more)
    world.tell(
        "Supplier-8", "payout_account", "acct-100", "2026-02-01", at="2026-02-01", source="ledger", trust="verified"
    )
    page = world.tell(
        "Supplier-8", "payout_account", "acct-666", "2026-06-01", at="2026-06-01", source="page-1", trust="untrusted"
    )
    return world, page


@pytest.mark.parametrize("guarded", [False, True])
def test_p15_an_untrusted_page_changes_nothing_before_somebody_approves_it(memory: Memory, guarded: bool) -> None:
    world, page = supplier(memory, guarded=guarded)
    assert (page["result"], page["rule"], page["opened"]) == ("quarantined", "untrusted", [])
    assert world.state("Supplier-8", "payout_account", "2026-06-02") == ["acct-100"]
    (waiting,) = memory.waiting()
    assert waiting["value"] == "acct-666"
    assert (waiting["state"], waiting["rule"]) == ("quarantined", "untrusted")
    assert "page-1" in waiting["reason"]
    second = world.tell("Supplier-8", "payout_account", "acct-100", at="2026-06-02", source="page-2", trust="untrusted")
    assert second["state"] == "quarantined", "a mention, and no reinforcement"
    assert support(world, "Supplier-8", "payout_account", "acct-100") == [1, 1]
    listed = memory.ask({"kind": "claims", "subject": "Supplier-8", "predicate": "payout_account"})
    assert [each["value"] for each in listed] == ["acct-100"], "no default read shows what was never believed"

    approved = memory.decide(page["claim"], promotes=True, reason="called them", clock=parse_instant("2026-06-03"))
    assert (approved["result"], approved["state"]) == ("promoted", "accepted")
    assert world.history("Supplier-8", "payout_account") == [
        "acct-100 [2026-02-01, 2026-06-01)",
        "acct-666 [2026-06-01, open)",
    ]
    assert world.state("Supplier-8", "payout_account", "2026-06-02", "2026-06-02") == ["acct-100"]
    with pytest.raises(Refusal, match="already_decided"):
        memory.decide(page["claim"], promotes=False, reason="again", clock=parse_instant("2026-06-04"))


def test_p15_a_rejected_page_does_not_queue_again(memory: Memory) -> None:
    world, page = supplier(memory)
    memory.decide(page["claim"], promotes=False, reason="forged", clock=parse_instant("2026-06-03"))
    assert memory.waiting() == []
    again = world.tell(
        "Supplier-8", "payout_account", "acct-666", "2026-06-01", at="2026-06-10", source="page-1", trust="untrusted"
    )
    assert (again["result"], again["rule"], again["claim"]) == ("ignored", "rejected-before", None)
    assert memory.waiting() == []
    assert world.history("Supplier-8", "payout_account") == ["acct-100 [2026-02-01, open)"]


def test_p15_less_trust_does_not_unseat_what_is_guarded(memory: Memory) -> None:
    world, _ = supplier(memory, guarded=True)
    observed = world.tell("Supplier-8", "payout_account", "acct-7", "2026-06-05", at="2026-06-05", source="mail")
    assert (observed["state"], observed["rule"]) == ("quarantined", "guarded")
    assert world.state("Supplier-8", "payout_account", "2026-06-06") == ["acct-100"]


def test_d3_a_promoted_claim_that_is_withdrawn_reopens_what_it_closed(memory: Memory) -> None:
    world, page = supplier(memory)
    memory.decide(page["claim"], promotes=True, reason="called them", clock=parse_instant("2026-06-03"))
    world.do([{"op": "withdraw", "source": "page-1", "reason": "forged after all"}], at="2026-06-04")
    assert world.history("Supplier-8", "payout_account") == ["acct-100 [2026-02-01, open)"]
    assert world.state("Supplier-8", "payout_account", "2026-06-03", "2026-06-03") == ["acct-666"]


def test_live_data_is_declined_with_a_pointer_to_its_owner(memory: Memory) -> None:
    world = World(memory, queue={"volatility": "live", "tool": "mcp:gates/queue_length"})
    with pytest.raises(Refusal, match="live_data"):
        world.tell("Gate-0", "queue", "12", at="2026-06-01")
