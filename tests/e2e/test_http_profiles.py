"""Profiles and "what do you remember about me?" through HTTP, of every store."""

import logging
from typing import Any

import pytest

from api.logs import AUDIT
from ontology.echoes import recalled
from ontology.instants import SECOND
from tests.e2e.conftest import Api, answer, codes, fact, issued, problem

DAY = "2026-05-01"
MIRA = [
    fact("mira", "name", "Mira Lind", valid_from="2020-01-01"),
    fact("mira", "prefers", "short answers", valid_from=DAY, source="mira"),
    fact("mira", "profile_note", "calls on Mondays", valid_from=DAY),
    fact("mira", "lives_in", {"type": "entity", "key": "lisbon"}, valid_from=DAY),
    fact("mira", "note", "buy milk", valid_from=DAY),
    fact("lisbon", "name", "Lisbon", valid_from="2020-01-01"),
]


@pytest.fixture
def told(api: Api) -> Api:
    api.at("2026-06-20")
    api.write(*MIRA)
    return api


def sections(found: dict[str, Any]) -> list[str]:
    return [item["section"] for item in found["items"]]


def test_a_profile_has_lines_with_what_they_rest_on(told: Api) -> None:
    told.write(fact("mira", "prefers", "short answers", valid_from=DAY, source="bo"))

    found = told.read("/v1/profiles/mira")
    assert [(item["kind"], item["predicate"]) for item in found["items"]] == [
        ("note", "profile_note"), ("preference", "prefers"), ("fact", "lives_in"),
    ]  # fmt: skip
    line = found["items"][1]
    assert (line["sources"], line["valid_from"], line["expires_at"]) == (2, "2026-05-01T00:00:00Z", None)
    assert line["text"].startswith("- Mira Lind prefers short answers (since 2026-05-01, 2 sources, confidence ")
    assert recalled(found["text"]) == [item["id"] for item in found["items"]]
    assert told.read(f"/v1/facts/{line['id']}/evidence")["items"]
    assert found["left_out"] == {"working_note": 1, "undeclared": 0, "sensitive": 0, "budget": 0}
    assert (found["names"], found["truncated"], found["tokens"] <= found["tokens_max"] == 600) == (
        ["Mira Lind"], None, True,
    )  # fmt: skip
    assert found["items"] == told.read(f"/v1/profiles/{found['subject']['id']}")["items"]


def test_a_profile_is_that_of_an_instant_of_a_scope(told: Api) -> None:
    assert told.read("/v1/profiles/mira", valid_at="2026-04-01")["items"] == []
    assert told.read("/v1/profiles/mira", valid_at=DAY)["as_of"]["valid_at"] == "2026-05-01T00:00:00Z"
    problem(told.get("/v1/profiles/mira", purpose="health"), 404, "not-found")
    problem(told.get("/v1/profiles/nobody"), 404, "not-found")
    problem(told.get("/v1/profiles/mira", valid_at="2019-01-01"), 404, "not-found")
    assert codes(problem(told.get("/v1/profiles/%20"), 400, "invalid-request"))


def test_a_profile_is_the_same_answer_until_something_changes(told: Api) -> None:
    tag = told.get("/v1/profiles/mira").headers["etag"]
    assert told.client.get("/v1/profiles/mira", headers={"If-None-Match": tag}).status_code == 304
    told.write(fact("mira", "prefers", "tea", valid_from=DAY))
    assert told.client.get("/v1/profiles/mira", headers={"If-None-Match": tag}).status_code == 200


def test_a_session_is_opened_with_the_profile_of_its_subject(told: Api) -> None:
    opened = answer(told.post("/v1/sessions", {"subject": "mira"}, Idempotency_Key="k"))
    at_hand = opened["profile"]
    assert at_hand["text"] == told.read("/v1/profiles/mira")["text"]
    assert at_hand["as_of"]["valid_at"] == "2026-06-20T00:00:00Z"
    assert answer(told.post("/v1/sessions", {}))["profile"] is None
    assert answer(told.post("/v1/sessions", {"subject": "nobody"}))["profile"] is None

    told.write(fact("mira", "prefers", "tea", valid_from=DAY))
    again = told.post("/v1/sessions", {"subject": "mira"}, Idempotency_Key="k")
    assert (answer(again)["id"], again.headers["idempotency-replayed"]) == (opened["id"], "true")
    assert "tea" in answer(again)["profile"]["text"]
    other = told.post("/v1/sessions", {"subject": "lisbon"}, Idempotency_Key="k")
    problem(other, 422, "idempotency-key-reused")
    assert "profile" not in told.read(f"/v1/sessions/{opened['id']}")


def test_a_session_is_not_opened_for_who_may_not_read_or_for_what_names_nobody(told: Api) -> None:
    before = told.read("/v1/sessions")["items"]
    assert codes(problem(told.post("/v1/sessions", {"subject": " "}), 400, "invalid-request"))
    headers = issued(told.services, "ann", "*:write", tenant="default")
    refused = told.client.post("/v1/sessions", json={"subject": "mira"}, headers=headers)
    assert problem(refused, 403, "missing-role")["grant"] == "read"
    issued(told.services, "ann", "*:all", tenant="default")
    all_of = issued(told.services, "ben", "*:all", tenant="default")
    assert answer(told.client.get("/v1/sessions", headers=all_of))["items"] == before


def test_what_a_profile_served_is_an_echo_when_it_is_said_again(told: Api) -> None:
    session = answer(told.post("/v1/sessions", {"subject": "mira"}))["id"]
    line = told.read("/v1/profiles/mira")["items"][1]
    said = fact("mira", "prefers", "short answers", valid_from=DAY, source="agent", recalled=line["text"])
    receipt = told.write(said)["items"][0]
    assert receipt["echo"] is True
    assert told.read("/v1/profiles/mira", session=session)["items"][1]["sources"] == 1


def test_everything_that_is_held_is_told_page_by_page(told: Api) -> None:
    episode = answer_of(told, "Mira Lind likes the sea.")
    told.write(
        fact("mira", "prefers", "the sea", valid_from=DAY, episode=episode),
        fact("bo", "knows", {"type": "entity", "key": "mira"}, valid_from="2020-01-01", valid_to="2021-01-01"),
        fact("mira", "prefers", "rum", valid_from=DAY, trust="untrusted"),
    )
    answer_of(told, "Nobody likes rain.")

    whole = told.read("/v1/subjects/mira/about", limit=200)
    assert sections(whole) == ["fact"] * 6 + ["mention"] + ["claim"] * 7 + ["episode"]
    assert (whole["names"], whole["namespace"], whole["purpose"]) == (["Mira Lind"], "default", "general")
    claims = [item for item in whole["items"] if item["section"] == "claim"]
    assert [each["state"] for each in claims].count("quarantined") == 1  # its own
    note = next(item for item in claims if item["predicate"] == "note")
    assert (note["at_the_end"], note["expires_at"] is not None, note["source"]) == ("erase", True, "agent")
    found = whole["items"][-1]
    assert (found["id"], found["mentions"], found["cited"], "text" in found) == (episode, True, True, False)
    assert whole["summary"]["profile"]["items"] == told.read("/v1/profiles/mira")["items"]
    assert whole["summary"]["held"] == {"count": 0, "complete": True}

    for limit in (1, 2, 3, 7, 15):
        items, page = [], told.read("/v1/subjects/mira/about", limit=limit)
        while True:
            assert len(page["items"]) <= limit
            items += page["items"]
            if page["next_cursor"] is None:
                break
            page = told.read("/v1/subjects/mira/about", limit=limit, cursor=page["next_cursor"])
            assert page["summary"] is None
        assert items == whole["items"], limit


def test_a_walk_over_it_is_one_snapshot_of_belief(told: Api) -> None:
    first = told.read("/v1/subjects/mira/about", limit=2)
    told.clock.advance(SECOND)
    told.write(fact("mira", "prefers", "tea", valid_from=DAY))
    rest = told.read("/v1/subjects/mira/about", limit=200, cursor=first["next_cursor"])
    assert "tea" not in str(first["items"] + rest["items"])
    other = told.get("/v1/subjects/lisbon/about", cursor=first["next_cursor"])
    problem(other, 400, "cursor-mismatch")


def test_what_waits_is_shown_to_reviewers_and_to_who_wrote_it_and_counted_for_others(told: Api) -> None:
    told.write(
        fact("mira", "prefers", "rum", valid_from=DAY, trust="untrusted"),
        fact("bo", "knows", {"type": "entity", "key": "mira"}, valid_from=DAY, trust="untrusted"),
    )

    def seen(principal: str, *grants: str) -> tuple[int, list[str]]:
        headers = issued(told.services, principal, *grants, tenant="default")
        found = answer(told.client.get("/v1/subjects/mira/about", params={"limit": 200}, headers=headers))
        held = [item for item in found["items"] if item.get("state") == "quarantined"]
        assert all(item["acts"] == {"review": f"/v1/review/{item['id']}"} for item in held)
        return found["summary"]["held"]["count"], [item["section"] for item in held]

    assert seen("ann", "*:read") == (1, [])
    assert seen("rea", "*:read,review") == (0, ["claim", "held_mention"])
    assert seen("agent", "*:read") == (0, ["claim", "held_mention"])


def test_it_leads_to_what_corrects_and_forgets(told: Api) -> None:
    found = told.read("/v1/subjects/mira/about", limit=200)
    line = next(item for item in found["items"] if item.get("predicate") == "prefers")
    tag = told.get(f"/v1/facts/{line['id']}").headers["etag"]
    answer(told.post(line["acts"]["replace"], {"value": "long answers"}, If_Match=tag))
    assert "long answers" in told.read("/v1/profiles/mira")["text"]
    ended = [item for item in told.read("/v1/subjects/mira/about", limit=200)["items"] if item.get("ended_at")]
    assert [each["state"] for each in ended] == ["withdrawn"]

    forget = found["summary"]["acts"]["forget"]
    manifest = answer(told.post(forget, {}))["manifest"]
    answer(told.post(forget, {"confirm": manifest}))
    for path in ("/v1/profiles/", "/v1/subjects/"):
        for name in ("mira", found["subject"]["id"]):
            about = f"{path}{name}/about" if path == "/v1/subjects/" else f"{path}{name}"
            problem(told.get(about), 410, "forgotten")
    problem(told.post("/v1/sessions", {"subject": "mira"}), 410, "forgotten")


def test_that_a_slot_was_forgotten_is_told_without_a_word_of_it(told: Api) -> None:
    named = {"subject": "mira", "predicate": "prefers"}
    manifest = answer(told.post("/v1/forget", named))["manifest"]
    stone = answer(told.post("/v1/forget", {**named, "confirm": manifest}))["tombstone"]

    last = told.read("/v1/subjects/mira/about", limit=200)["items"][-1]
    assert (last["section"], last["id"], last["target"]) == ("tombstone", stone, "slot")
    assert "short answers" not in str(last)


def test_it_is_found_where_only_others_point_at_it_or_nothing_of_it_holds_any_more(told: Api) -> None:
    assert sections(told.read("/v1/subjects/lisbon/about"))[:2] == ["fact", "mention"]
    told.write(fact("old", "prefers", "tea", valid_from="2020-01-01", valid_to="2021-01-01"))
    problem(told.get("/v1/profiles/old"), 404, "not-found")
    assert sections(told.read("/v1/subjects/old/about")) == ["fact", "claim"]
    problem(told.get("/v1/subjects/mira/about", purpose="health"), 404, "not-found")
    problem(told.get("/v1/subjects/nobody/about"), 404, "not-found")


def test_who_reads_what_is_sensitive_stands_in_the_audit(told: Api, caplog: pytest.LogCaptureFixture) -> None:
    pack = {"pack": "mine", "predicates": {"diagnosis": {"sensitive": True}}}
    answer(told.client.put("/v1/ontology", json=pack))
    told.write(fact("mira", "diagnosis", "flu", valid_from=DAY))
    with caplog.at_level(logging.INFO, logger=AUDIT):
        told.read("/v1/profiles/mira")
        assert not [each for each in caplog.records if each.name == AUDIT]
        told.read("/v1/subjects/mira/about", limit=200)
    [line] = [each for each in caplog.records if each.name == AUDIT]
    assert "flu" not in str(vars(line))


def answer_of(api: Api, text: str) -> str:
    """Record an episode; gives its id."""
    response = api.post("/v1/episodes", {"episodes": [{"text": text}]})
    assert response.status_code == 202, response.text
    found: str = response.json()["items"][0]["episode"]
    api.clock.advance(SECOND)
    return found


def test_profiles_of_one_tenant_are_none_of_another(told: Api) -> None:
    headers = issued(told.services, "olga", "*:all", tenant="other")
    for path in ("/v1/profiles/mira", "/v1/subjects/mira/about"):
        problem(told.client.get(path, headers=headers), 404, "not-found")
