"""Over HTTP: how long what is said is served, what shows it afterwards, and what the sweep leaves."""

from typing import Any, Final

import pytest

from api.wiring import make_sweeper, make_worker
from consolidation.retention import Swept
from ontology.instants import DAY, SECOND
from tests.e2e.conftest import Api, Item, answer, codes, problem

HOUR: Final = 3_600 * SECOND
NOTE: Final[Item] = {"subject": "task-1", "predicate": "scratch", "value": "MARKER", "valid_from": "2026-01-01"}
STAY: Final[Item] = {
    "subject": "mira", "predicate": "lives_in", "value": {"type": "entity", "key": "oslo"}, "valid_from": "2026-01-01",
}  # fmt: skip
SCHEMA: Final = {
    "pack": "notes",
    "predicates": {
        "scratch": {"kind": "working_note", "datatype": "text"},
        "visits": {"datatype": "entity", "ttl_days": 10, "ttl_days_max": 20, "cardinality": "many"},
    },
}


@pytest.fixture
def noted(api: Api) -> Api:
    answer(api.client.put("/v1/ontology", json=SCHEMA))
    return api


def asked(api: Api) -> dict[str, int]:
    """How much each way to ask gives of `mira`, who lives in Oslo for an hour."""
    mira = {"subject": "mira"}
    return {
        "state": len(api.read("/v1/state", **mira)["items"]),
        "states": len(answer(api.client.post("/v1/state", json={"pairs": [mira]}))["items"]),
        "residents": len(api.read("/v1/state", subject="oslo", predicate="residents")["items"]),
        "of predicate": len(api.read("/v1/state", predicate="lives_in")["items"]),
        "history": len(api.read("/v1/history", **mira)["items"]),
        "periods": len(api.read("/v1/history", **mira, periods="true")["items"]),
        "entities": len(api.read("/v1/entities")["items"]),
        "paths": len(api.read("/v1/paths", **mira, steps="lives_in")["items"]),
        "changes": len(api.read("/v1/changes", **mira, valid_after="2025-01-01")["items"]),
        "believed now": sum(row["recorded_to"] is None for row in api.read("/v1/belief", **mira)["items"]),
    }


def test_no_route_serves_what_has_expired_before_anybody_sweeps(noted: Api) -> None:
    (item,) = noted.write({**STAY, "ttl": "PT1H"})["items"]
    before = asked(noted)
    assert before == dict.fromkeys(before, 1) | {"entities": 2}
    noted.clock.advance(HOUR - SECOND)
    assert asked(noted) == before
    noted.clock.advance(2 * SECOND)
    assert asked(noted) == dict.fromkeys(before, 0)
    problem(noted.get("/v1/neighbourhood", subject="mira"), 404, "not-found")
    problem(noted.get(f"/v1/entities/{item['subject']['id']}"), 404, "not-found")
    for at in (item["expires_at"], noted.read("/v1/state", subject="mira")["as_of"]["server_clock"]):
        assert noted.read("/v1/state", subject="mira", known_at=at)["items"] == []
    earlier = noted.read("/v1/events")["items"][-1]["recorded_at"]
    assert len(noted.read("/v1/state", subject="mira", known_at=earlier)["items"]) == 1, "it was served then"


def test_raw_rows_and_claims_show_it_marked_as_expired(noted: Api) -> None:
    (item,) = noted.write({**STAY, "ttl": "PT1H"})["items"]
    (fact,) = noted.read("/v1/state", subject="mira")["items"]
    assert (fact["expires_at"], fact["expired"]) == (item["expires_at"], False)
    noted.clock.advance(2 * HOUR)

    def marks(*rows: dict[str, Any]) -> set[tuple[Any, Any]]:
        return {(row["expires_at"], row["expired"]) for row in rows}

    log = noted.read("/v1/log", subject="mira", known_from="2020-01-01")
    shown = [
        *noted.read("/v1/audit", subject="mira")["items"],
        *(row["fact"] for row in log["items"]),
        noted.read(f"/v1/facts/{fact['id']}"),
        *noted.read(f"/v1/facts/{fact['id']}/evidence")["items"],
        *noted.read(f"/v1/facts/{fact['id']}/versions")["items"],
        *noted.read("/v1/claims", subject="mira")["items"],
        noted.read(f"/v1/claims/{item['claim']}"),
    ]
    assert len(shown) == 7
    assert marks(*shown) == {(item["expires_at"], True)}
    (held,) = noted.read("/v1/belief", subject="mira")["items"]
    assert held["recorded_to"] == item["expires_at"]


def test_an_answer_that_expired_has_another_tag(noted: Api) -> None:
    noted.write({**STAY, "ttl": "PT1H"})
    query = {"subject": "mira", "valid_at": "2026-02-01"}
    tag = noted.get("/v1/state", **query).headers["etag"]
    assert noted.client.get("/v1/state", params=query, headers={"If-None-Match": tag}).status_code == 304
    noted.clock.advance(2 * HOUR)
    again = noted.client.get("/v1/state", params=query, headers={"If-None-Match": tag})
    assert (again.status_code, again.json()["items"]) == (200, [])


def test_a_walk_over_pages_is_judged_at_its_beginning(noted: Api) -> None:
    for number in range(3):
        noted.write({**STAY, "subject": f"person-{number}", "ttl": f"PT{number + 1}H"})
    first = noted.read("/v1/state", predicate="lives_in", limit=1)
    noted.clock.advance(5 * HOUR)
    rest = noted.read("/v1/state", predicate="lives_in", limit=5, cursor=first["next_cursor"])
    assert len(rest["items"]) == 2
    assert noted.read("/v1/state", predicate="lives_in")["items"] == []


@pytest.mark.parametrize(
    ("item", "code", "words"),
    [
        ({**NOTE, "ttl": "P31D"}, "ttl_too_long", "P30D"),
        ({**STAY, "predicate": "visits", "ttl": "P3W"}, "ttl_too_long", "P20D"),
        ({**NOTE, "ttl": "P1M"}, "bad_duration", "years and months"),
        ({**NOTE, "ttl": "PT0S"}, "out_of_range", "between a second"),
        ({**NOTE, "ttl": "tomorrow"}, "bad_duration", "P30D"),
    ],
)  # fmt: skip
def test_a_ttl_that_cannot_be_is_refused_with_what_could(noted: Api, item: Item, code: str, words: str) -> None:
    response = noted.client.post("/v1/claims", json={"items": [item]})
    assert response.status_code in (400, 422)
    (found,) = response.json()["errors"]
    assert (found["pointer"], found["code"]) == ("/items/0/ttl", code)
    assert words in found["detail"]


def test_a_retraction_has_no_ttl(noted: Api) -> None:
    item = {"op": "retract", "subject": "mira", "predicate": "lives_in", "ttl": "P1D"}
    assert noted.client.post("/v1/claims", json={"items": [item]}).status_code == 400


@pytest.mark.parametrize(
    ("predicate", "code"),
    [
        ({"kind": "working_note", "ttl_days": 31}, "ttl_too_long"),
        ({"kind": "working_note", "ttl_days_max": 31}, "ttl_too_long"),
        ({"ttl_days": 9, "ttl_days_max": 8}, "inverted_range"),
    ],
)
def test_a_predicate_may_only_narrow_its_kind(api: Api, predicate: dict[str, Any], code: str) -> None:
    response = api.client.put("/v1/ontology", json={"pack": "wide", "predicates": {"p": predicate}})
    assert response.status_code == 422
    assert code in [found for _, found in codes(response.json())]


def test_a_note_lives_and_dies(noted: Api) -> None:
    """The whole way: a default by kind, served, over, swept, erased everywhere; a fact beside it stays."""
    receipt = noted.write(NOTE, {**STAY, "ttl": "P2D"})
    assert receipt["items"][0]["expires_at"] is not None
    noted.clock.advance(8 * DAY)
    assert noted.read("/v1/state", subject="task-1")["items"] == []
    assert len(noted.read("/v1/claims", subject="task-1")["items"]) == 1

    sweeper = make_sweeper(noted.services)
    assert sweeper.sweep(dry_run=True) == sweeper.sweep() == Swept(expired=1, erased=1)
    assert sweeper.sweep() == Swept()
    assert noted.read("/v1/claims", subject="task-1")["items"] == []
    assert noted.read("/v1/audit", subject="task-1")["items"] == []
    (kept,) = noted.read("/v1/claims", subject="mira")["items"]
    assert (kept["state"], kept["transitions"][0]["rule"]) == ("expired", "retention")
    known = [f"/v1/claims/{item['claim']}" for item in receipt["items"]]
    assert [noted.get(path).status_code for path in known] == [404, 200]
    for event in noted.read("/v1/events", limit=200)["items"]:
        assert "MARKER" not in str(event)
    swept = noted.read("/v1/events", limit=200)["items"][-1]
    assert (swept["kind"], swept["principal"]) == ("erase", "sweep")
    assert swept["expired"] == [receipt["items"][1]["claim"]]


def test_the_words_of_an_episode_go_and_it_says_when_and_why(api: Api) -> None:
    """What was made of the words goes with them; what a claim quotes stays with the claim."""
    words = "Anna joined Fjordwind. MARKER is in the other sentence."
    body = {"episodes": [{"text": words, "source": "chat", "observed_at": "2026-01-01T00:00:00Z"}]}
    (item,) = api.client.post("/v1/episodes", json=body).json()["items"]
    path = f"/v1/episodes/{item['episode']}"
    api.clock.advance(SECOND)
    make_worker(api.services).work_off()
    before = api.read(path)
    assert (before["text"], before["erased"], before["operation"]["state"]) == (words, False, "done")
    assert before["record"] is not None
    api.clock.advance(91 * DAY)
    settings = api.services.settings.model_copy(update={"verbatim_ttl": "P90D"})
    object.__setattr__(api.services, "settings", settings)
    assert make_sweeper(api.services).sweep() == Swept(verbatims=1, keys=1), "the key of the worker"

    gone = api.read(path)
    assert (gone["text"], gone["erased"], gone["erased_because"]) == (None, True, "its words are kept for P90D")
    assert gone["erased_at"] is not None
    assert (gone["source"], gone["record"], gone["operation"]["receipts"]) == ("chat", None, None)
    assert gone["claims"] == before["claims"] != []
    assert gone["claims"][0]["span"]["quote"] == "Anna joined Fjordwind"
    assert "MARKER" not in str(gone)
    again = api.client.post("/v1/episodes", json=body).json()["items"][0]
    assert (again["episode"], again["duplicate"]) == (item["episode"], True)
