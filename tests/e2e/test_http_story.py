"""The passport story over HTTP: what was true when, what was believed when, who said so, what replaced it."""

import pytest

from tests.e2e.conftest import Api, answer, fact

FIRST = {"episode": "chat-1", "source": "mira", "observed_at": "2026-06-01T09:00:00Z"}
SECOND = {"episode": "chat-2", "source": "mira", "observed_at": "2026-06-03T10:00:00Z"}
DEADLINE = {"subject": "mira", "predicate": "passport_deadline"}


@pytest.fixture
def told(api: Api) -> Api:
    """1 June: Mira prefers concise answers, and the passport deadline is 15 July."""
    api.at("2026-06-01T09:00:00Z")
    api.write(
        fact("mira", "prefers_answers", "concise", valid_from="2026-06-01", **FIRST),
        fact("mira", "passport_deadline", "2026-07-15", valid_from="2026-06-01", **FIRST),
    )
    return api


@pytest.fixture
def changed(told: Api) -> Api:
    """3 June, 10:00Z: it is now 30 June."""
    told.at("2026-06-03T10:00:00Z")
    told.write(fact("mira", "passport_deadline", "2026-06-30", valid_from="2026-06-03T10:00:00Z", **SECOND))
    told.at("2026-06-20T12:00:00Z")
    return told


@pytest.fixture
def corrected(told: Api) -> Api:
    """3 June, 10:00Z: 15 July was wrong from the start."""
    told.at("2026-06-03T10:00:00Z")
    told.write({"op": "replace", **DEADLINE, "old": "2026-07-15", "at": "2026-06-02", "value": "2026-06-30", **SECOND})
    told.at("2026-06-20T12:00:00Z")
    return told


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({}, "2026-06-30"),
        ({"valid_at": "2026-06-02"}, "2026-07-15"),
        ({"valid_at": "2026-06-10", "known_at": "2026-06-02"}, "2026-07-15"),
        ({"valid_at": "2026-06-10"}, "2026-06-30"),
    ],
)
def test_a_change_leaves_the_past_and_what_was_believed(changed: Api, question: dict[str, str], expected: str) -> None:
    assert changed.values("/v1/state", **DEADLINE, **question) == [expected]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({}, "2026-06-30"),
        ({"valid_at": "2026-06-02"}, "2026-06-30"),
        ({"valid_at": "2026-06-02", "known_at": "2026-06-02"}, "2026-07-15"),
        ({"valid_at": "2026-06-10", "known_at": "2026-06-02"}, "2026-07-15"),
    ],
)
def test_a_correction_changes_the_past_but_not_what_was_believed(
    corrected: Api, question: dict[str, str], expected: str
) -> None:
    assert corrected.values("/v1/state", **DEADLINE, **question) == [expected]


def test_the_answer_echoes_its_instants(changed: Api) -> None:
    echoed = changed.read("/v1/state", **DEADLINE, valid_at="2026-06-10", known_at="2026-06-02")["as_of"]

    assert echoed == {
        "valid_at": "2026-06-10T00:00:00Z",
        "known_at": "2026-06-02T00:00:00Z",
        "server_clock": "2026-06-20T12:00:00Z",
    }


def test_a_fact_says_how_it_is_known(changed: Api) -> None:
    [shown] = changed.read("/v1/state", **DEADLINE)["items"]

    assert shown | {"id": "", "subject": ""} == {
        "id": "",
        "subject": "",
        "predicate": "passport_deadline",
        "value": {"type": "date", "value": "2026-06-30"},
        "valid_from": "2026-06-03T10:00:00Z",
        "valid_to": None,
        "start": "known",
        "end": "open",
        "certain": True,
        "recorded_from": "2026-06-03T10:00:00Z",
        "recorded_to": None,
        "confidence": 0.7,
        "sources": 1,
        "occurrences": 1,
        "expires_at": None,
        "expired": False,
        "version": 3,
    }
    assert shown["subject"]["key"] == "mira"


def test_who_said_so_and_what_replaced_it(changed: Api) -> None:
    [old] = changed.read("/v1/state", **DEADLINE, valid_at="2026-06-02")["items"]
    [claim] = changed.read(f"/v1/facts/{old['id']}/evidence")["items"]
    periods = changed.read("/v1/history", **DEADLINE)["items"]

    assert (claim["source"], claim["episode"], claim["observed_at"]) == ("mira", "chat-1", "2026-06-01T09:00:00Z")
    assert [(p["value"]["value"], p["valid_from"], p["valid_to"]) for p in periods] == [
        ("2026-07-15", "2026-06-01T00:00:00Z", "2026-06-03T10:00:00Z"),
        ("2026-06-30", "2026-06-03T10:00:00Z", None),
    ]


def test_what_was_withdrawn_says_what_took_its_place(corrected: Api) -> None:
    wrong, right = corrected.read("/v1/claims", **DEADLINE)["items"]

    assert (wrong["state"], wrong["successor"], right["state"]) == ("withdrawn", right["id"], "accepted")
    assert corrected.read(f"/v1/claims/{wrong['id']}")["successor"] == right["id"]


def test_a_correction_by_the_fact_needs_its_etag_and_changes_the_same(told: Api) -> None:
    told.at("2026-06-03T10:00:00Z")
    [wrong] = told.read("/v1/state", **DEADLINE)["items"]
    etag = told.get(f"/v1/facts/{wrong['id']}").headers["etag"]

    receipt = answer(told.post(f"/v1/facts/{wrong['id']}/replace", {"value": "2026-06-30", **SECOND}, If_Match=etag))

    assert [item["result"] for item in receipt["items"]] == ["replaced"]
    assert told.values("/v1/state", **DEADLINE, valid_at="2026-06-02") == ["2026-06-30"]
    assert told.values("/v1/state", **DEADLINE, valid_at="2026-06-02", known_at="2026-06-02") == ["2026-07-15"]


def test_the_difference_of_two_beliefs_and_the_log_between_them(changed: Api) -> None:
    window = {**DEADLINE, "known_from": "2026-06-02", "known_to": "2026-06-04"}
    diff = changed.read("/v1/diff", **window)
    log = changed.read("/v1/log", **window)["items"]

    assert [(p["value"]["value"], p["valid_from"]) for p in diff["added"]] == [("2026-06-30", "2026-06-03T10:00:00Z")]
    assert [(p["value"]["value"], p["valid_from"]) for p in diff["removed"]] == [("2026-07-15", "2026-06-03T10:00:00Z")]
    assert [(e["fact"]["value"]["value"], e["opened"], e["closed"]) for e in log] == [
        ("2026-07-15", False, True),
        ("2026-07-15", True, False),
        ("2026-06-30", True, False),
    ]


def test_what_was_held_about_one_instant_over_recorded_time(changed: Api) -> None:
    rows = changed.read("/v1/belief", **DEADLINE, valid_at="2026-06-10")["items"]

    assert [(r["value"]["value"], r["recorded_from"], r["recorded_to"]) for r in rows] == [
        ("2026-07-15", "2026-06-01T09:00:00Z", "2026-06-03T10:00:00Z"),
        ("2026-06-30", "2026-06-03T10:00:00Z", None),
    ]


def test_what_changed_in_the_world(changed: Api) -> None:
    [change] = changed.read("/v1/changes", **DEADLINE, valid_after="2026-06-01", valid_until="2026-06-30")["items"]

    assert change["at"] == "2026-06-03T10:00:00Z"
    assert [s["value"]["value"] for s in change["ended"]] == ["2026-07-15"]
    assert [s["value"]["value"] for s in change["started"]] == ["2026-06-30"]


def test_all_that_holds_of_a_subject_and_many_pairs_at_once(changed: Api) -> None:
    assert sorted(changed.values("/v1/state", subject="mira")) == ["2026-06-30", "concise"]
    pairs = [{"subject": "mira", "predicate": "passport_deadline"}, {"subject": {"key": "nobody"}}]

    asked = answer(changed.post("/v1/state", {"pairs": pairs, "valid_at": "2026-06-02"}))

    assert [item["value"]["value"] for item in asked["items"]] == ["2026-07-15"]
