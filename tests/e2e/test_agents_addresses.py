"""Can a client attach memory by address, pick a prompt, and be helped with an argument?"""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, PromptReference
from prometheus_client import CollectorRegistry

from api.agents.offer import endpoints_over, offered
from api.agents.server import Agents
from api.app import GROUPS
from api.auth.principals import Principal, local_agent
from api.metrics import Metrics
from api.rates import Rates
from api.requests import Requests
from api.routes.schemas import Schemas
from api.wiring import Services
from ontology.access import PrincipalKind
from ontology.errors import Unavailable
from ontology.grants import read_permits
from ontology.packs import builtin_pack
from ontology.scope import Tenant, scope_of
from tests.conftest import FrozenClock
from tests.e2e.agents import Agent, connected

DEADLINE: Final = "passport_deadline"
SCOPE: Final = "vigencia://default/general"


def agents(services: Services, principal: Principal) -> Agents:
    metrics = Metrics(CollectorRegistry())
    endpoints = endpoints_over(
        services, GROUPS, schemas=Schemas(services.writer), rates=Rates(services.settings), metrics=metrics,
        requests=Requests(metrics),
    )  # fmt: skip
    return Agents(endpoints, offered(services.settings), lambda context: (principal, "req_test"))


@pytest.fixture
def agent(services: Services, clock: FrozenClock) -> Iterator[Agent]:
    services.writer.put_schema(scope_of("default"), "agent", builtin_pack("demo"))
    server = agents(services, local_agent(Tenant("default"))).server()
    with connected(server, raise_exceptions=False) as agent:
        for value, since in (("2026-07-15", "2026-01-01"), ("2026-06-30", "2026-02-01")):
            item = {"subject": "mira", "predicate": DEADLINE, "value": value, "valid_from": since}
            agent.told("remember", items=[item])
        yield agent


def refusal(agent: Agent, uri: str) -> Any:
    with pytest.raises(MCPError) as refused:
        agent.read(uri)
    assert refused.value.code == INVALID_PARAMS
    return refused.value.data["type"]


def test_every_template_leads_to_what_it_says(agent: Agent) -> None:
    [fact] = agent.told("state", subject="mira", predicate=DEADLINE)["items"]
    said = agent.told("remember", text="Mira lives in Graz.")["recorded"]["items"][0]["episode"]
    ids = {
        "entities": fact["subject"]["id"],
        "facts": fact["id"],
        "episodes": said,
        "profiles": "mira",
        "about": "mira",
        "handoffs": agent.told("handoff", task="Renew the passport.")["id"],
    }
    templates = agent.ask("list_resource_templates").resource_templates
    assert [each.name for each in templates] == list(ids)
    for kind, id in ids.items():
        assert agent.read(f"{SCOPE}/{kind}/{id}")
    assert agent.read(f"{SCOPE}/facts/{fact['id']}")["value"]["value"] == "2026-06-30"
    earlier = agent.read(f"{SCOPE}/entities/{fact['subject']['id']}?valid_at=2026-01-15")
    assert [each["value"]["value"] for each in earlier["items"]] == ["2026-07-15"]
    assert "2026-06-30" in agent.read(f"{SCOPE}/profiles/mira")["text"]


def test_the_addresses_without_a_scope_tell_of_the_words_and_of_the_server(agent: Agent) -> None:
    assert [each.uri for each in agent.ask("list_resources").resources] == ["vigencia://ontology", "vigencia://status"]
    assert DEADLINE in agent.read("vigencia://ontology")["predicates"]
    assert agent.read("vigencia://status")["status"] == "ready"


@pytest.mark.parametrize(
    ("uri", "slug"),
    [
        ("vigencia://default/general/facts/fct_aaaaaaaa_1_0", "not-found"),
        ("vigencia://default/general/secrets/x", "not-found"),
        ("vigencia://default/general/facts", "not-found"),
        ("vigencia://status/", "not-found"),
        ("file:///etc/passwd", "not-found"),
        ("vigencia://default/general/facts/%2e%2e%2fclaims", "not-found"),
        ("vigencia://default/general/facts/%ff", "invalid-request"),
        ("vigencia://default/general/entities/mira?valid_at=2026-01-01T00:00:00", "naive-instant"),
        ("vigencia://default/general/entities/mira?tenant=other", "invalid-request"),
        ("vigencia://default/health/entities/mira?purpose=general", "invalid-request"),
        ("vigencia://elsewhere/general/about/mira?namespace=default", "invalid-request"),
        ("vigencia://No%20Name/general/facts/fct_aaaaaaaa_1_0", "invalid-request"),
        ("vigencia://[/general/facts/x", "invalid-request"),
        ("x" * 10_000, "not-found"),
    ],
)
def test_an_address_that_leads_nowhere_is_a_problem(agent: Agent, uri: str, slug: str) -> None:
    assert refusal(agent, uri) == f"/problems/{slug}"


def test_what_another_purpose_holds_has_no_address_here(agent: Agent) -> None:
    [fact] = agent.told("state", subject="mira", predicate=DEADLINE)["items"]
    assert refusal(agent, f"vigencia://default/health/facts/{fact['id']}") == "/problems/not-found"


def test_arguments_are_completed(agent: Agent) -> None:
    prompt = PromptReference(type="ref/prompt", name="what_changed_since")

    def completed(name: str, begun: str) -> list[str]:
        values: list[str] = agent.ask("complete", prompt, {"name": name, "value": begun}).completion.values
        return values

    assert completed("predicate", "passport_d") == [DEADLINE]
    assert completed("subject", "mi") == ["mira"]
    assert completed("namespace", "") == ["default"]
    assert completed("since", "2026") == []


def test_a_prompt_is_filled_and_one_that_is_not_there_is_told(agent: Agent) -> None:
    filled = agent.ask("get_prompt", "what_do_you_remember", {"subject": "mira"})
    assert "`mira`" in filled.messages[0].content.text
    for name, arguments in (("no_such", {}), ("what_do_you_remember", {}), ("review_held", {"x": "y"})):
        with pytest.raises(MCPError) as refused:
            agent.ask("get_prompt", name, arguments)
        assert refused.value.code == INVALID_PARAMS


def test_nobody_reads_by_address_what_he_may_not(services: Services) -> None:
    nobody = Principal(
        name="nobody", tenant=Tenant("default"), kind=PrincipalKind.AGENT, permits=read_permits(["notes:read"]),
        may_import=False, local=False,
    )  # fmt: skip
    with connected(agents(services, nobody).server()) as agent:
        assert refusal(agent, f"{SCOPE}/profiles/mira") == "/problems/missing-role"
        agent.refused("recall", "missing-role", question="Who is Mira?")


def test_a_store_that_is_away_is_told_and_so_is_a_defect_without_its_words(
    agent: Agent, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*given: Any) -> Any:
        raise Unavailable("the store is away")

    def broken(*given: Any) -> Any:
        raise RuntimeError("a secret of Mira")

    monkeypatch.setattr(type(services.store), "read", away)
    assert agent.refused("state", "store-unavailable", subject="mira")["retry_after"] >= 1
    monkeypatch.setattr(type(services.store), "read", broken)
    problem = agent.refused("state", "internal", subject="mira")
    assert "secret" not in str(problem)
    with pytest.raises(MCPError) as refused:
        agent.read(f"{SCOPE}/profiles/mira")
    assert refused.value.code == INTERNAL_ERROR
    assert "secret" not in f"{refused.value.message}{refused.value.data}"
