"""Over HTTP: what is held, who may decide on it, and on which version."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from api.auth.principals import AGENT, local_agent, local_person
from ontology.scope import Tenant
from tests.e2e.conftest import Api, Item, answer, problem

HELD: Item = {
    "subject": "supplier-8", "predicate": "payout_account", "value": "acct-666", "valid_from": "2026-06-01",
    "source": "page-1", "trust": "untrusted",
}  # fmt: skip
KNOWN: Item = {"subject": "supplier-8", "predicate": "payout_account", "value": "acct-100", "valid_from": "2026-02-01"}
SCHEMA = {"pack": "pay", "predicates": {"payout_account": {"cardinality": "functional", "datatype": "text"}}}


Become = Callable[[str], None]


@pytest.fixture
def become(api: Api, monkeypatch: pytest.MonkeyPatch) -> Become:
    """Lets the caller be another principal from now on, who may do everything."""

    def become(name: str) -> None:
        principal = replace(local_person(Tenant(api.services.settings.tenant)), name=name)
        if name == AGENT:
            principal = replace(local_agent(principal.tenant), permits=principal.permits)
        monkeypatch.setattr("api.routes.call.Call.principal", property(lambda _: principal))

    return become


@pytest.fixture
def held(api: Api, become: Become) -> str:
    """A claim that waits, which the agent wrote; a person looks at it."""
    answer(api.client.put("/v1/ontology", json=SCHEMA))
    api.write(KNOWN)
    (item,) = api.write(HELD)["items"]
    assert (item["result"], item["state"], item["rule"]) == ("quarantined", "quarantined", "untrusted")
    become("person")
    claim: str = item["claim"]
    return claim


def test_the_inbox_lists_what_waits_and_why(api: Api, held: str) -> None:
    inbox = api.read("/v1/review")
    (item,) = inbox["items"]
    assert (item["id"], item["state"], item["rule"], item["trust"]) == (held, "quarantined", "untrusted", "untrusted")
    assert inbox["counts"] == {"waits_on_you": 1, "held_by_policy": 0}
    assert api.read("/v1/review", state="staged")["items"] == []
    assert api.read("/v1/review", rule="guarded")["items"] == []
    shown = api.get(f"/v1/review/{held}")
    assert shown.headers["etag"] == f'"v{item["version"]}"'
    assert [fact["value"]["value"] for fact in shown.json()["current"]] == ["acct-100"]


def test_the_inbox_is_read_by_page(api: Api, held: str) -> None:
    for number in range(4):
        api.write(HELD | {"source": f"page-{number + 2}"})
    seen: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = api.read("/v1/review", limit=2, **cursor)
        seen += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert len(seen) == len(set(seen)) == 5
    assert seen[0] == held
    problem(api.get("/v1/review", rule="guarded", **cursor), 400, "cursor-mismatch")


def test_a_decision_needs_the_version_that_was_seen(api: Api, held: str) -> None:
    tag = api.get(f"/v1/review/{held}").headers["etag"]
    problem(api.post(f"/v1/review/{held}/promote", {}), 428, "precondition-required")
    api.write(KNOWN | {"value": "acct-200", "valid_from": "2026-03-01"})
    stale = problem(api.post(f"/v1/review/{held}/promote", {}, If_Match=tag), 412, "version-changed")
    assert [fact["value"]["value"] for fact in stale["current"]] == ["acct-200"]
    assert api.values("/v1/state", subject="supplier-8", predicate="payout_account") == ["acct-200"]


def test_a_promoted_claim_is_believed_and_decided(api: Api, held: str) -> None:
    tag = api.get(f"/v1/review/{held}").headers["etag"]
    dry = answer(api.post(f"/v1/review/{held}/promote", {"dry_run": True}, If_Match=tag))
    assert dry["items"][0]["result"] == "promoted"
    assert api.values("/v1/state", subject="supplier-8", predicate="payout_account") == ["acct-100"]
    done = answer(api.post(f"/v1/review/{held}/promote", {"reason": "called them"}, If_Match=tag))
    (item,) = done["items"]
    assert (item["result"], item["state"]) == ("promoted", "accepted")
    assert item["superseded"]
    assert api.values("/v1/state", subject="supplier-8", predicate="payout_account") == ["acct-666"]
    claim = api.read(f"/v1/claims/{held}")
    assert [(t["state"], t["actor"], t["reason"]) for t in claim["transitions"][1:]] == [
        ("accepted", "person", "called them")
    ]
    assert claim["transitions"][1]["decided_on"] == int(tag.strip('"v'))
    for act in ("promote", "reject"):
        decided = problem(api.post(f"/v1/review/{held}/{act}", {}, If_Match=tag), 409, "already-decided")
        assert decided["state"] == "accepted"
    problem(api.get(f"/v1/review/{held}"), 409, "already-decided")


def test_a_rejected_claim_does_not_come_back(api: Api, held: str) -> None:
    tag = api.get(f"/v1/review/{held}").headers["etag"]
    (item,) = answer(api.post(f"/v1/review/{held}/reject", {"reason": "forged"}, If_Match=tag))["items"]
    assert (item["result"], item["opened"], item["closed"]) == ("rejected", [], [])
    (again,) = api.write(HELD)["items"]
    assert (again["result"], again["rule"]) == ("ignored", "rejected-before")
    assert api.read("/v1/review")["items"] == []


def test_nobody_reviews_what_they_wrote(api: Api, held: str, become: Become) -> None:
    become("agent")
    tag = api.get(f"/v1/review/{held}").headers["etag"]
    for act in ("promote", "reject"):
        refused = problem(api.post(f"/v1/review/{held}/{act}", {}, If_Match=tag), 403, "own-review")
        assert "'agent' wrote" in refused["detail"]
    assert len(api.read("/v1/review")["items"]) == 1


def test_what_was_never_believed_is_in_no_list_of_claims(api: Api, held: str) -> None:
    assert api.values("/v1/claims", subject="supplier-8") == ["acct-100"]
    assert api.read(f"/v1/claims/{held}")["state"] == "quarantined"


def test_more_trust_than_the_caller_has_is_refused(api: Api) -> None:
    refused = problem(api.post("/v1/claims", {"items": [KNOWN | {"trust": "verified"}]}), 422, "ontology-violation")
    assert refused["errors"][0]["code"] == "trust_too_high"
    unknown = problem(api.post("/v1/claims", {"items": [KNOWN | {"trust": "total"}]}), 400, "invalid-request")
    assert unknown["errors"][0]["pointer"] == "/items/0/trust"


def test_live_data_is_declined_with_its_tool(api: Api) -> None:
    live = {"pack": "live", "predicates": {"queue": {"volatility": "live", "tool": "mcp:gates/queue"}}}
    answer(api.client.put("/v1/ontology", json=live))
    item = {"subject": "gate-0", "predicate": "queue", "value": 12}
    refused = problem(api.post("/v1/claims", {"items": [item]}), 422, "live-data")
    assert refused["tool"] == "mcp:gates/queue"
    asked = api.read("/v1/state", subject="gate-0", predicate="queue")
    assert asked["live"] == [{"predicate": "queue", "tool": "mcp:gates/queue"}]
    assert "live" not in api.read("/v1/state", subject="gate-0", predicate="name")
    declared = api.read("/v1/ontology")["predicates"]["queue"]
    assert (declared["volatility"], declared["tool"]) == ("live", "mcp:gates/queue")


def test_who_may_not_review_sees_only_what_they_wrote(api: Api, held: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = local_agent(Tenant(api.services.settings.tenant))
    monkeypatch.setattr("api.routes.call.Call.principal", property(lambda _: agent))
    for path in ("/v1/review", f"/v1/review/{held}"):
        assert problem(api.get(path), 403, "missing-role")["grant"] == "review"
    for act in ("promote", "reject"):
        problem(api.post(f"/v1/review/{held}/{act}", {}, If_Match='"v2"'), 403, "missing-role")
    assert api.read(f"/v1/claims/{held}")["state"] == "quarantined"
    other = replace(agent, name="another")
    monkeypatch.setattr("api.routes.call.Call.principal", property(lambda _: other))
    problem(api.get(f"/v1/claims/{held}"), 404, "not-found")


def test_every_read_of_a_live_slot_names_the_tool_beside_what_is_stored(api: Api) -> None:
    api.write({"subject": "gate-0", "predicate": "queue", "value": "12", "valid_from": "2026-01-01"})
    live = {"pack": "live", "predicates": {"queue": {"volatility": "live", "tool": "mcp:gates/queue"}}}
    answer(api.client.put("/v1/ontology", json=live))
    tool = [{"predicate": "queue", "tool": "mcp:gates/queue"}]
    asked = {"subject": "gate-0", "predicate": "queue"}
    for path, more in (("/v1/state", {}), ("/v1/history", {}), ("/v1/history", {"periods": "true"})):
        found = api.read(path, **asked, **more)
        assert (len(found["items"]), found["live"]) == (1, tool), path
    fact = api.read("/v1/state", **asked)["items"][0]["id"]
    evidence = api.read(f"/v1/facts/{fact}/evidence")
    assert (len(evidence["items"]), evidence["live"]) == (1, tool)
    assert api.read("/v1/history", subject="nobody", predicate="queue")["live"] == tool
    assert "live" not in api.read("/v1/history", subject="gate-0")
