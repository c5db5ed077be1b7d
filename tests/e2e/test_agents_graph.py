"""Does an agent that knows the reference memory server find its nine tools, with the same answers?"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from api.wiring import SystemClock, SystemRandomness
from consolidation.items import Assert, Said
from consolidation.write import Writer
from graph.sqlite_store.store import SqliteStore
from ontology.packs import load_core
from ontology.scope import scope_of
from tests.e2e.agents import Agent, over_stdio
from tests.e2e.command_line import CommandLine

ALICE: Final = {"name": "Alice Smith", "entityType": "person", "observations": ["likes coffee", "speaks Swahili"]}
ACME: Final = {"name": "Acme", "entityType": "company", "observations": []}
WORKS: Final = {"from": "Alice Smith", "to": "Acme", "relationType": "works at"}


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def agent(line: CommandLine, tmp_path: Path) -> Iterator[Agent]:
    with over_stdio(line, "--tools", "memory", errors=tmp_path / "log") as connected:
        yield connected


def test_a_graph_is_made_read_searched_and_opened(agent: Agent) -> None:
    assert agent.told("read_graph") == {"entities": [], "relations": []}
    assert agent.told("create_entities", entities=[ALICE, ACME, ALICE]) == {"entities": [ALICE, ACME]}
    assert agent.told("create_entities", entities=[{**ALICE, "entityType": "robot"}]) == {"entities": []}
    assert agent.told("create_relations", relations=[WORKS, WORKS]) == {"relations": [WORKS]}
    assert agent.told("create_relations", relations=[WORKS]) == {"relations": []}
    added = agent.told(
        "add_observations", observations=[{"entityName": "Acme", "contents": ["is in Graz", "is in Graz"]}]
    )
    assert added == {"results": [{"entityName": "Acme", "addedObservations": ["is in Graz"]}]}

    acme = {**ACME, "observations": ["is in Graz"]}
    graph = agent.told("read_graph")
    assert by_name(graph) == {"Alice Smith": sorted_(ALICE), "Acme": acme}
    assert graph["relations"] == [WORKS]
    for query, names in {"COFFEE": ["Alice Smith"], "company": ["Acme"], "graz": ["Acme"], "nothing": []}.items():
        found = agent.told("search_nodes", query=query)
        assert [each["name"] for each in found["entities"]] == names
        assert found["relations"] == ([WORKS] if names else [])
    assert agent.told("open_nodes", names=["Acme", "Nobody"]) == {"entities": [acme], "relations": [WORKS]}


def test_what_is_deleted_is_gone_from_the_graph_and_stays_in_the_past(agent: Agent, line: CommandLine) -> None:
    agent.told("create_entities", entities=[ALICE, ACME])
    agent.told("create_relations", relations=[WORKS])
    before = line("state", "Alice Smith", "--json").document["as_of"]["known_at"]

    gone = agent.told(
        "delete_observations", deletions=[{"entityName": "Alice Smith", "observations": ["likes coffee"]}]
    )
    assert gone == {"success": True, "message": "Observations deleted successfully"}
    part = agent.told("delete_observations", deletions=[{"entityName": "Nobody", "observations": ["x"]}])
    assert part["message"] == "Deleted 0 of 1 observations. Entities not found: Nobody"
    assert agent.told("delete_relations", relations=[WORKS])["message"] == "Relations deleted successfully"
    again = agent.told("delete_relations", relations=[WORKS])
    assert again["message"] == "Deleted 0 of 1 relations. The rest matched nothing."
    alice = {**ALICE, "observations": ["speaks Swahili"]}
    assert agent.told("open_nodes", names=["Alice Smith"]) == {"entities": [alice], "relations": []}

    agent.told("create_relations", relations=[WORKS])
    done = agent.told("delete_entities", entityNames=["Acme", "Nobody"])
    assert done["message"] == "Deleted 1 of 2 entities. Not found: Nobody"
    assert agent.told("read_graph") == {"entities": [alice], "relations": []}
    past = line("state", "Alice Smith", "--known-at", before, "--json").document["items"]
    assert "works at" in [item["predicate"] for item in past]


def test_what_is_not_there_or_not_right_is_refused(agent: Agent) -> None:
    assert "'Alice Smith'" in agent.refused("create_relations", "not-found", relations=[WORKS])["detail"]
    agent.refused("add_observations", "not-found", observations=[{"entityName": "Acme", "contents": ["x"]}])
    agent.refused("create_entities", "invalid-request", entities=[{"name": "x"}])
    agent.refused("create_entities", "invalid-request", entities=[{**ALICE, "name": "a\x00b"}])
    agent.refused("create_entities", "invalid-request", entities=[ALICE] * 201)
    agent.refused("search_nodes", "invalid-request", query="x" * 2_049)
    assert agent.told("read_graph") == {"entities": [], "relations": []}


def test_facts_of_others_are_told_as_observations(agent: Agent, line: CommandLine) -> None:
    assert line("remember", "Acme", "founded", "1999-01-01", "--valid-from", "1999-01-01").code == 0

    [acme] = agent.told("read_graph")["entities"]
    assert (acme["name"], len(acme["observations"])) == ("Acme", 1)
    agent.told("delete_observations", deletions=[{"entityName": "Acme", "observations": acme["observations"]}])
    assert agent.told("read_graph") == {"entities": [], "relations": []}


def test_an_observation_is_as_long_and_there_are_as_many_as_one_likes(agent: Agent) -> None:
    long = [f"{number} " + "x" * 5_000 for number in range(30)]
    agent.told("create_entities", entities=[{**ALICE, "observations": long}])
    agent.told("add_observations", observations=[{"entityName": "Alice Smith", "contents": ["one more"]}])

    [alice] = agent.told("open_nodes", names=["Alice Smith"])["entities"]
    assert sorted(alice["observations"]) == sorted([*long, "one more"])
    found = agent.told("search_nodes", query="ONE MORE")["entities"]
    assert [each["name"] for each in found] == ["Alice Smith"]
    gone = agent.told("delete_observations", deletions=[{"entityName": "Alice Smith", "observations": long}])
    assert gone["message"] == "Observations deleted successfully"
    assert agent.told("read_graph")["entities"][0]["observations"] == ["one more"]


def test_what_is_given_again_in_other_code_points_is_the_same(agent: Agent) -> None:
    composed, apart = "Jos\u00e9", "Jose\u0301"
    agent.told("create_entities", entities=[{"name": apart, "entityType": "person", "observations": [apart]}])

    assert agent.told("create_entities", entities=[{**ALICE, "name": composed}]) == {"entities": []}
    assert agent.told("open_nodes", names=[apart])["entities"][0]["observations"] == [composed]
    deletions = [{"entityName": apart, "observations": [apart]}]
    assert agent.told("delete_observations", deletions=deletions)["message"] == "Observations deleted successfully"


def test_a_name_that_begins_as_ids_do_is_refused_and_an_id_is_one(agent: Agent, line: CommandLine) -> None:
    for name in ("ent_alice", "ent_", "ent_alice smith!"):
        refused = agent.refused("create_entities", "invalid-request", entities=[{**ALICE, "name": name}])
        assert f"'{name}' begins with 'ent_'" in refused["detail"]
        assert refused["errors"][0]["pointer"] == "/entities/0/name"
        assert agent.told("open_nodes", names=[name]) == {"entities": [], "relations": []}
        agent.refused("add_observations", "not-found", observations=[{"entityName": name, "contents": ["x"]}])
        assert agent.told("delete_entities", entityNames=[name])["message"].endswith(f"Not found: {name}")
    agent.told("create_entities", entities=[ALICE])
    id = line("state", "Alice Smith", "--json").document["items"][0]["subject"]["id"]
    assert by_name(agent.told("open_nodes", names=[id])) == {"Alice Smith": sorted_(ALICE)}
    agent.told("create_entities", entities=[ACME])
    assert agent.told("create_relations", relations=[{**WORKS, "from": id}]) == {"relations": [WORKS]}
    agent.told("add_observations", observations=[{"entityName": id, "contents": ["sings"]}])
    deletions = [{"entityName": id, "observations": ["sings", "likes coffee"]}]
    assert agent.told("delete_observations", deletions=deletions)["message"] == "Observations deleted successfully"
    done = agent.told("delete_relations", relations=[{**WORKS, "from": id}])
    assert done["message"] == "Relations deleted successfully"
    assert agent.told("delete_entities", entityNames=[id])["message"] == "Entities deleted successfully"
    assert by_name(agent.told("read_graph")) == {"Acme": ACME}


@pytest.mark.parametrize("strict", [False, True])
def test_a_store_of_before_is_given_the_predicate_and_shows_what_it_had(
    line: CommandLine, tmp_path: Path, strict: bool
) -> None:
    predicates = {name: each for name, each in load_core().predicates.items() if name != "observation"}
    before = replace(load_core(), predicates=predicates, strict=strict)
    with closing(SqliteStore(str(tmp_path / "vigencia.db"))) as store:
        clock, randomness = SystemClock(), SystemRandomness()
        writer = Writer(store=store, clock=clock, randomness=randomness, core=before, items_max=10, key_days=7)
        told = {"type": "person", "name": "Bo", "profile_note": "calls"}
        items = [Assert(subject="Bo", predicate=name, value=value, said=Said()) for name, value in told.items()]
        writer.write(scope_of("default"), "agent", items)

    with over_stdio(line, "--tools", "memory", errors=tmp_path / "log") as agent:
        agent.told("add_observations", observations=[{"entityName": "Bo", "contents": ["sings"]}])
        [bo] = agent.told("read_graph")["entities"]
        assert bo == {"name": "Bo", "entityType": "person", "observations": ["calls", "sings"]}
        deletions = [{"entityName": "Bo", "observations": ["calls", "sings"]}]
        assert agent.told("delete_observations", deletions=deletions)["success"]
        assert agent.told("read_graph")["entities"][0]["observations"] == []
    assert "was given it" in (tmp_path / "log").read_text()


def by_name(graph: Any) -> dict[str, Any]:
    return {each["name"]: sorted_(each) for each in graph["entities"]}


def sorted_(entity: Any) -> Any:
    return {**entity, "observations": sorted(entity["observations"])}
