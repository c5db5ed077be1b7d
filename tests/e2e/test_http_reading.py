"""Each kind of question, in the shape that the document promises."""

from typing import Any

import pytest
from pydantic import BaseModel

from api.wire import answers
from tests.e2e.conftest import Api, answer, fact, problem

JOBS = (
    ("anna", "acme", "2020-01-01", "2022-01-01"),
    ("ben", "acme", "2021-06-01", None),
    ("anna", "zeta", "2023-01-01", None),
)


@pytest.fixture
def work(api: Api) -> Api:
    """Anna worked at acme until 2022 and at zeta from 2023 on; Ben has been at acme since 2021."""
    api.at("2027-01-01")
    api.write(
        fact("acme", "type", "Organization", valid_from="2000-01-01"),
        fact("acme", "name", "Acme", valid_from="2000-01-01"),
        *[
            fact(who, "works_at", where, valid_from=start, **({"valid_to": end} if end else {}))
            for who, where, start, end in JOBS
        ],
    )  # fmt: skip
    return api


def subjects(document: dict[str, Any]) -> list[str]:
    return [item["subject"]["key"] for item in document["items"]]


def test_the_state_of_a_predicate_is_that_of_every_subject(work: Api) -> None:
    assert sorted(subjects(work.read("/v1/state", predicate="works_at"))) == ["anna", "ben"]
    assert subjects(work.read("/v1/state", predicate="works_at", valid_at="2020-06-01")) == ["anna"]


@pytest.mark.parametrize(
    "query",
    [
        {"predicate": "works_at", "value": "acme"},
        {"subject": "acme", "predicate": "employs"},
        {"value": '{"type": "entity", "key": "acme"}'},
    ],
)
def test_who_has_a_value_is_asked_by_the_value_or_by_the_inverse(work: Api, query: dict[str, str]) -> None:
    assert subjects(work.read("/v1/state", **query, valid_at="2021-07-01")) == ["anna", "ben"]
    assert subjects(work.read("/v1/state", **query)) == ["ben"]
    assert subjects(work.read("/v1/history", **query)) == ["anna", "ben"]


def test_the_inverse_of_a_value_is_what_that_subject_has(work: Api) -> None:
    assert work.values("/v1/state", predicate="employs", value="anna") == ["zeta"]


def test_an_entity_that_is_not_there_has_nothing(work: Api) -> None:
    for query in ({"subject": "nobody"}, {"predicate": "works_at", "value": "nobody"}, {"subject": "ent_aaaaaaaa_1_1"}):
        assert work.read("/v1/state", **query)["items"] == []


def test_history_answers_first_last_next_and_overlaps(work: Api) -> None:
    asked = {"subject": "anna", "predicate": "works_at"}

    for periods in ("true", "false"):
        assert work.values("/v1/history", **asked, limit=1, periods=periods) == ["acme"]
        assert work.values("/v1/history", **asked, order="desc", limit=1, periods=periods) == ["zeta"]
        assert work.values("/v1/history", **asked, after="2020-01-01", limit=1, periods=periods) == ["zeta"]
        assert work.values("/v1/history", **asked, after="2023-01-01", periods=periods) == []
        assert work.values("/v1/history", **asked, from_="2021-01-01", to="2022-06-01", periods=periods) == ["acme"]
        assert work.values("/v1/history", **asked, from_="2022-01-01", to="2023-01-01", periods=periods) == []
        assert work.values("/v1/history", **asked, valid_at="2021-01-01", periods=periods) == ["acme"]


def test_periods_that_are_left_out_are_told(work: Api) -> None:
    shown = work.read("/v1/history", subject="anna", limit=1, periods="true")

    assert shown["truncated"] == {"reason": "limit", "limit": 1}


def test_an_inverted_stretch_is_refused(work: Api) -> None:
    refused = problem(
        work.get("/v1/history", subject="anna", from_="2023-01-01", to="2022-01-01"), 400, "invalid-request"
    )

    assert refused["errors"][0]["pointer"] == "/to"


def test_certainty_leaves_out_what_is_only_possible(api: Api) -> None:
    api.at("2024-01-01")
    api.write(fact("mira", "lives_in", "berlin", valid_from="2018", source="mira"))
    asked = {"subject": "mira", "predicate": "lives_in", "valid_at": "2018-06-01"}

    [possible] = api.read("/v1/state", **asked)["items"]

    assert possible["certain"] is False
    assert api.read("/v1/state", **asked, certainty="certain")["items"] == []
    assert api.values("/v1/state", **asked | {"valid_at": "2019-06-01"}, certainty="certain") == ["berlin"]


def test_a_bare_day_begins_in_its_zone(api: Api) -> None:
    asked = {"subject": "mira", "valid_at": "2026-06-01", "known_at": "2026-05-01"}

    assert api.read("/v1/state", **asked, tz="Europe/Madrid")["as_of"]["valid_at"] == "2026-05-31T22:00:00Z"


def test_a_known_at_after_the_newest_commit_is_answered_at_that_commit(work: Api) -> None:
    newest = work.read("/v1/state", subject="anna")["as_of"]["known_at"]
    work.at("2027-06-01")

    assert work.read("/v1/state", subject="anna", known_at="2027-05-01")["as_of"]["known_at"] == newest


def test_audit_shows_raw_rectangles_as_they_were_known(work: Api) -> None:
    work.at("2027-02-01")
    work.write(fact("ben", "works_at", "zeta", valid_from="2027-02-01"))
    asked = {"subject": "ben", "predicate": "works_at"}

    rows = work.read("/v1/audit", **asked)["items"]
    then = work.read("/v1/audit", **asked, known_at="2027-01-15")["items"]
    early = work.read("/v1/audit", **asked, valid_at="2022-01-01")["items"]

    assert [(row["value"]["key"], row["recorded_to"] is None) for row in rows] == [
        ("acme", False), ("acme", True), ("zeta", True),
    ]  # fmt: skip
    assert [(row["value"]["key"], row["recorded_to"]) for row in then] == [("acme", None)]
    assert [row["value"]["key"] for row in early] == ["acme", "acme"]


def test_what_was_believed_in_a_stretch_of_recorded_time(work: Api) -> None:
    work.at("2027-02-01")
    work.write(fact("ben", "works_at", "zeta", valid_from="2027-02-01"))
    asked = {"subject": "ben", "predicate": "works_at", "known_from": "2027-01-02"}

    assert work.values("/v1/believed", **asked, known_to="2027-02-01") == ["acme"]
    assert work.values("/v1/believed", **asked, known_to="2027-02-01", closed="true") == ["acme", "zeta"]


def test_paths_hold_where_all_their_edges_do(work: Api) -> None:
    rows = work.read("/v1/paths", subject="anna", steps="works_at,^works_at")["items"]

    assert [([node["key"] for node in row["nodes"]], row["valid_from"], row["valid_to"]) for row in rows] == [
        (["anna", "acme", "ben"], "2021-06-01T00:00:00Z", "2022-01-01T00:00:00Z")
    ]
    assert work.read("/v1/paths", subject="anna", steps="works_at,^works_at", valid_at="2023-06-01")["items"] == []
    problem(work.get("/v1/paths", subject="anna", steps=","), 400, "invalid-request")
    problem(work.get("/v1/paths", subject="anna", steps="a,a,a,a,a,a,a"), 400, "invalid-request")


def test_entities_show_only_through_visible_facts(work: Api) -> None:
    everyone = work.read("/v1/entities")["items"]
    acme = next(entity for entity in everyone if entity["key"] == "acme")

    assert sorted(entity["key"] for entity in everyone) == ["acme", "anna", "ben", "zeta"]
    assert [e["key"] for e in work.read("/v1/entities", type="Organization")["items"]] == ["acme"]
    assert [e["key"] for e in work.read("/v1/entities", name="Acme")["items"]] == ["acme"]
    assert sorted(e["key"] for e in work.read("/v1/entities", valid_at="2020-06-01")["items"]) == ["acme", "anna"]
    assert len(work.read(f"/v1/entities/{acme['id']}")["items"]) == 2
    problem(work.get(f"/v1/entities/{acme['id']}", purpose="health"), 404, "not-found")
    problem(work.get(f"/v1/entities/{acme['id']}", valid_at="1990-01-01"), 404, "not-found")


def test_a_neighbourhood_is_bounded_and_says_so(work: Api) -> None:
    around = work.read("/v1/neighbourhood", subject="acme", hops=2, valid_at="2021-07-01")
    cut = work.read("/v1/neighbourhood", subject="acme", nodes_max=2, valid_at="2021-07-01")

    assert [(e["key"], e["depth"]) for e in around["entities"]] == [("acme", 0), ("anna", 1), ("ben", 1)]
    assert len(around["facts"]) == 4
    assert around["truncated"] is None
    assert cut["truncated"]["cut_by"] == ["nodes"]


def test_events_tell_what_each_transaction_did_in_this_scope(work: Api) -> None:
    receipt = work.write(fact("secret", "note", "hidden"), namespace="private")
    work.write(fact("ben", "works_at", "zeta", valid_from="2024-01-01"))

    here, elsewhere = work.read("/v1/events"), work.read("/v1/events", namespace="private")

    assert [event["position"] for event in here["items"]] == [1, 2, 3, 4] == list(range(1, here["head"] + 1))
    assert [bool(event["opened"]) for event in here["items"]] == [False, True, False, True]
    assert here["items"][2] | {"recorded_at": "", "digest": ""} == {
        "position": 3, "recorded_at": "", "kind": "write", "principal": None, "digest": "", "claims": [], "ended": [],
        "expired": [], "tombstones": [],
        "opened": [], "closed": [], "episodes": [], "schema_version": None,
    }  # fmt: skip
    assert elsewhere["items"][2]["claims"] == [receipt["items"][0]["claim"]]
    assert work.read("/v1/events", after=2, limit=1)["next_after"] == 3
    assert work.read("/v1/events", after=3)["next_after"] is None


def test_versions_tell_how_a_fact_came_about(work: Api) -> None:
    [shown] = work.read("/v1/state", subject="ben", predicate="works_at")["items"]
    work.write(fact("ben", "works_at", "zeta", valid_from="2027-02-01"))

    versions = work.read(f"/v1/facts/{shown['id']}/versions")["items"]

    assert [v["value"]["key"] for v in versions] == ["acme", "acme", "zeta"]
    assert work.read(f"/v1/facts/{shown['id']}")["recorded_to"] is not None


ANSWERS: list[tuple[str, type[BaseModel]]] = [
    ("/v1/state?subject=anna", answers.Facts),
    ("/v1/history?subject=anna", answers.History),
    ("/v1/history?subject=anna&periods=true", answers.History),
    ("/v1/audit?subject=anna", answers.Rectangles),
    ("/v1/belief?subject=anna", answers.Belief),
    ("/v1/believed?subject=anna&known_from=2027-01-01&known_to=2027-01-01&closed=true", answers.Believed),
    ("/v1/diff?subject=anna&known_from=2023-01-01", answers.Diff),
    ("/v1/log?subject=anna&known_from=2023-01-01", answers.Log),
    ("/v1/changes?subject=anna&valid_after=2019-01-01", answers.Changes),
    ("/v1/claims?subject=anna", answers.Claims),
    ("/v1/paths?subject=anna&steps=works_at", answers.Paths),
    ("/v1/entities", answers.Entities),
    ("/v1/neighbourhood?subject=anna", answers.Neighbourhood),
    ("/v1/events", answers.Events),
    ("/v1/ontology", answers.Ontology),
    ("/healthz", answers.Health),
    ("/readyz", answers.Ready),
    ("/problems", answers.ProblemTypes),
    ("/problems/too-large", answers.ProblemType),
]


@pytest.mark.parametrize(("url", "model"), ANSWERS, ids=[url for url, _ in ANSWERS])
def test_an_answer_has_the_members_that_are_declared_and_no_other(work: Api, url: str, model: type[BaseModel]) -> None:
    document = answer(work.client.get(url))

    read = model.model_validate(document)

    assert undeclared(read) == []
    assert any(document.get(name) for name in ("items", "added", "entities", "version", "status", "title"))


def undeclared(found: Any, at: str = "") -> list[str]:
    """Members of an answer that its model does not declare."""
    if isinstance(found, BaseModel):
        inside = {name: getattr(found, name) for name in type(found).model_fields}
        return [f"{at}/{name}" for name in found.model_extra or ()] + [
            extra for name, inner in inside.items() for extra in undeclared(inner, f"{at}/{name}")
        ]
    if isinstance(found, list):
        return [extra for index, inner in enumerate(found) for extra in undeclared(inner, f"{at}/{index}")]
    return []


def test_problem_types_have_pages_for_people(work: Api) -> None:
    html = work.client.get("/problems/naive-instant", headers={"Accept": "text/html"})
    listed = work.client.get("/problems", headers={"Accept": "text/html"})

    assert html.headers["content-type"].startswith("text/html")
    assert "has no offset" in html.text
    assert "/problems/naive-instant" in listed.text
