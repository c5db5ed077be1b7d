"""Every bad input is a clear problem, and leaves no trace."""

import json
from typing import Any

import pytest

from graph.ports import Finding
from ontology.instants import Instant
from tests.e2e.conftest import Api, codes, fact, problem

JSON = {"content-type": "application/json"}
GOOD = fact("mira", "passport_deadline", "2026-07-15", valid_from="2026-06-01")


@pytest.mark.parametrize(
    ("item", "status", "slug", "code"),
    [
        ({"valid_from": "2026-06-01T10:00:00"}, 400, "naive-instant", ("/valid_from", "naive_timestamp")),
        ({"valid_to": "2026-05-01"}, 422, "ontology-violation", ("/valid_to", "inverted_interval")),
        ({"valid_to": "2026-06-01"}, 422, "ontology-violation", ("/valid_to", "empty_interval")),
        ({"valid_form": "2026-06-01"}, 400, "invalid-request", ("/valid_form", "unknown_field")),
        ({"recorded_at": "2026-06-01"}, 422, "recorded-at-not-settable", ("/recorded_at", "recorded_at_not_settable")),
        (
            {"recorded_from": "2026-06-01"}, 422, "recorded-at-not-settable",
            ("/recorded_from", "recorded_at_not_settable"),
        ),
        ({"observed_at": "2030-01-01"}, 400, "invalid-request", ("/observed_at", "observed_at_in_future")),
        ({"value": 5}, 422, "ontology-violation", ("/value", "wrong_type")),
        ({"value": None}, 422, "ontology-violation", ("/value", "wrong_type")),
        ({"predicate": 5}, 400, "invalid-request", ("/predicate", "wrong_type")),
        ({"predicate": "monthly_rent", "value": "-5 EUR"}, 422, "ontology-violation", ("/value", "out_of_range")),
        ({"predicate": "n", "value": 2**63}, 400, "invalid-request", ("/value", "out_of_range")),
        ({"predicate": "n", "value": -(2**70)}, 400, "invalid-request", ("/value", "out_of_range")),
        ({"predicate": "n", "value": "a\x00b"}, 400, "invalid-request", ("/value", "control_character")),
        ({"predicate": "n", "value": "x" * 1_000_001}, 413, "too-large", ("/value", "too_large")),
        ({"predicate": "n" * 600}, 400, "invalid-request", ("/predicate", "too_large")),
        ({"confidence": 1.5}, 400, "invalid-request", ("/confidence", "out_of_range")),
        ({"confidence": True}, 400, "invalid-request", ("/confidence", "wrong_type")),
        ({"tz": "Mars/Olympus"}, 400, "invalid-request", ("/tz", "unknown_zone")),
        ({"subject": {"name": "mira"}}, 400, "invalid-request", ("/subject", "wrong_type")),
        ({"expected_version": -1}, 400, "invalid-request", ("/expected_version", "wrong_type")),
        ({"expected_version": "latest"}, 400, "invalid-request", ("/expected_version", "wrong_type")),
        ({"op": "upsert"}, 400, "invalid-request", ("/op", "unknown_member")),
        ({"op": ["assert"]}, 400, "invalid-request", ("/op", "unknown_member")),
    ],
)  # fmt: skip
def test_a_bad_item_is_refused_where_it_is_wrong_and_leaves_no_trace(
    api: Api, item: dict[str, Any], status: int, slug: str, code: tuple[str, str]
) -> None:
    before = api.read("/v1/events")["head"]

    refused = problem(api.post("/v1/claims", {"items": [GOOD, {**GOOD, **item}]}), status, slug)

    assert (f"/items/1{code[0]}", code[1]) in codes(refused)
    assert api.read("/v1/events")["head"] == before
    assert api.read("/v1/state", subject="mira")["items"] == []


def test_a_near_match_is_named(api: Api) -> None:
    [error] = problem(
        api.post("/v1/claims", {"items": [{**GOOD, "valid_form": "2026"}]}), 400, "invalid-request"
    )["errors"]  # fmt: skip

    assert "did you mean 'valid_from'?" in error["detail"]


def test_all_that_is_wrong_is_told_at_once(api: Api) -> None:
    items = [{**GOOD, "confidence": 0.5, "valid_to": "2026-13-01"}, GOOD, {**GOOD, "value": 5}]

    refused = problem(api.post("/v1/claims", {"items": items}), 400, "invalid-request")

    assert [pointer for pointer, _ in codes(refused)] == ["/items/0/valid_to", "/items/2/value"]


@pytest.mark.parametrize(
    ("item", "pointer"),
    [
        ({"op": "retract", "predicate": "p"}, "/items/0/subject"),
        ({"op": "retract", "subject": "mira"}, "/items/0/predicate"),
        ({"op": "retract", "fact": "fct_aaaaaaaa_1_0", "subject": "mira"}, "/items/0/subject"),
        ({"op": "assert", "subject": "mira", "predicate": "p"}, "/items/0/value"),
        ({"op": "withdraw", "claim": "c", "source": "s"}, "/items/0"),
        ({"op": "replace", "subject": "mira"}, "/items/0"),
    ],
)
def test_an_item_that_does_not_say_enough_is_refused(api: Api, item: dict[str, Any], pointer: str) -> None:
    refused = problem(api.post("/v1/claims", {"items": [item]}), 400, "invalid-request")

    assert [at for at, _ in codes(refused)] == [pointer]


@pytest.mark.parametrize("items", [10_001, 0])
def test_a_batch_has_a_size(api: Api, items: int) -> None:
    response = api.post("/v1/claims", {"items": [GOOD] * items})

    assert problem(response, 413 if items else 400, "too-large" if items else "invalid-request")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "unreadable_json"),
        (b"{", 400, "unreadable_json"),
        (b"\xff\xfe{}", 400, "unreadable_json"),
        (b"[]", 400, "wrong_type"),
        (b"null", 400, "wrong_type"),
        (b'{"items": [], "items": []}', 400, "duplicate_member"),
        (b'{"items": [{"op": "assert", "value": NaN}]}', 400, "unreadable_json"),
        (b'{"items": [{"op": "assert", "value": -Infinity}]}', 400, "unreadable_json"),
        (b'{"items": [{"op": "assert", "value": 1e999}]}', 400, "out_of_range"),
        (b'{"items": [{"op": "assert", "value": 12345678901234567890.5}]}', 400, "too_precise"),
        (b'{"items": [{"op": "assert", "value": 1e-400}]}', 400, "too_precise"),
        (b'{"items": [{"op": "assert", "value": %s}]}' % (b"9" * 5_000), 400, "out_of_range"),
        (b'{"items": [{"op": "assert", "value": "\\ud800"}]}', 400, "lone_surrogate"),
        (b'{"items": [{"\\ud800": 1}]}', 400, "lone_surrogate"),
        (b'{"items": ' + b"[" * 100 + b"]" * 100 + b"}", 413, "too_large"),
        (b'{"items": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", 413, "too_large"),
        (b'{"items": [], "nmespace": "x"}', 400, "unknown_field"),
        (b'{"items": [], "namespace": "Not A Name"}', 400, "bad_name"),
    ],
)
def test_a_body_that_is_not_strict_json_is_refused(api: Api, body: bytes, status: int, code: str) -> None:
    slug = "too-large" if status == 413 else "invalid-request"

    refused = problem(api.client.post("/v1/claims", content=body, headers=JSON), status, slug)

    assert code in [found for _, found in codes(refused)]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/xml"])
def test_only_json_is_read(api: Api, content_type: str) -> None:
    response = api.client.post("/v1/claims", content=b"{}", headers={"content-type": content_type})

    problem(response, 415, "unsupported-format")


def test_json_in_another_charset_is_refused(api: Api) -> None:
    headers = {"content-type": "application/json; charset=utf-16"}

    problem(api.client.post("/v1/claims", content="{}".encode("utf-16"), headers=headers), 415, "unsupported-format")


@pytest.mark.parametrize(
    ("query", "status", "slug", "code"),
    [
        ("subject=mira&known_at=2030-01-01", 400, "future-known-at", None),
        ("subject=mira&valid_at=2026-06-02T10:00:00", 400, "naive-instant", ("/valid_at", "naive_timestamp")),
        ("subject=mira&valid_at=2026-06", 400, "invalid-request", ("/valid_at", "inexact_instant")),
        ("subject=mira&valid_at=yesterday", 400, "invalid-request", ("/valid_at", "unreadable_date")),
        ("subject=mira&valid_at=2026-06-02&tz=Mars", 400, "invalid-request", ("/tz", "unknown_zone")),
        ("subject=mira&limit=0", 400, "invalid-request", ("/limit", "out_of_range")),
        ("subject=mira&limit=201", 400, "invalid-request", ("/limit", "out_of_range")),
        ("subject=mira&limit=5.0", 400, "invalid-request", ("/limit", "wrong_type")),
        ("subject=mira&limit=%205", 400, "invalid-request", ("/limit", "wrong_type")),
        ("subject=mira&min_position=9999999999999999999", 400, "invalid-request", ("/min_position", "out_of_range")),
        ("subject=mira&subjct=mira", 400, "invalid-request", ("/subjct", "unknown_field")),
        ("subject=mira&subject=tom", 400, "invalid-request", ("/subject", "duplicate_member")),
        ("subject=%ff", 400, "invalid-request", ("", "unreadable_query")),
        ("subject=%00", 400, "invalid-request", ("/subject", "control_character")),
        ("subject=ent_%20", 400, "invalid-request", ("/subject", "unreadable_value")),
        ("subject=", 400, "invalid-request", ("/subject", "bad_name")),
        ("", 400, "invalid-request", ("", "missing_field")),
        ("subject=mira&value=x", 400, "invalid-request", ("/value", "too_many")),
        ("predicate=passport_deadline&value=soon", 400, "invalid-request", ("/value", "unreadable_date")),
        ("subject=mira&certainty=sure", 400, "invalid-request", ("/certainty", "unknown_member")),
        ("subject=mira&namespace=Not%20A%20Name", 400, "invalid-request", ("/namespace", "bad_name")),
        ("subject=mira&cursor=nonsense", 400, "cursor-mismatch", ("/cursor", "cursor_mismatch")),
    ],
)
def test_a_bad_question_is_refused(api: Api, query: str, status: int, slug: str, code: tuple[str, str] | None) -> None:
    refused = problem(api.client.get(f"/v1/state?{query}"), status, slug)

    assert code is None or code in codes(refused)


def test_an_unknown_predicate_of_a_strict_schema_names_near_ones(api: Api) -> None:
    strict = {"pack": "tight", "strict": True}
    assert api.client.put("/v1/ontology", json=strict).status_code == 200

    refused = problem(api.get("/v1/state", subject="mira", predicate="passport_dedline"), 400, "unknown-predicate")
    written = problem(
        api.post("/v1/claims", {"items": [{**GOOD, "predicate": "passport_dedline"}]}), 400, "unknown-predicate"
    )

    assert refused["near_matches"] == written["near_matches"] == ["passport_deadline"]


def test_an_unknown_subject_is_refused_where_the_schema_is_strict(api: Api) -> None:
    assert api.client.put("/v1/ontology", json={"pack": "tight", "strict": True}).status_code == 200

    refused = problem(api.post("/v1/claims", {"items": [GOOD]}), 422, "ontology-violation")

    assert codes(refused) == [("/items/0/subject", "unknown_entity")]


@pytest.mark.parametrize(
    "pack",
    [{}, {"pack": "x", "types": {"A": {"parents": ["Nowhere"]}}}, [], {"pack": "x", "predicate": {}}, {"pack": "X Y"}],
)
def test_a_bad_pack_changes_nothing(api: Api, pack: object) -> None:
    before = api.read("/v1/ontology")

    response = api.client.put("/v1/ontology", json=pack)

    assert response.status_code in (400, 422)
    assert problem(response, response.status_code, response.json()["type"].rsplit("/", 1)[1])
    assert api.read("/v1/ontology") == before


def test_yaml_that_is_not_plain_is_refused_with_its_line(api: Api) -> None:
    headers = {"content-type": "application/yaml"}

    refused = problem(
        api.client.put("/v1/ontology", content=b"pack: x\ntypes: *anchor\n", headers=headers), 400, "invalid-request"
    )

    assert "line 2" in refused["detail"]


def test_paths_and_methods_that_are_not_there_are_problems_too(api: Api) -> None:
    problem(api.get("/v1/nowhere"), 404, "not-found")
    problem(api.get("/v1/state/"), 404, "not-found")
    refused = api.client.delete("/v1/state")
    assert problem(refused, 405, "method-not-allowed")
    assert refused.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/facts/fct_abcdefgh_1_0", "/v1/facts/nonsense", "/v1/facts/fct_abcdefgh_999999999999999999_999999999",
        "/v1/claims/clm_abcdefgh_1_0", "/v1/claims/x%00y", "/v1/entities/ent_abcdefgh_1_0", "/v1/entities/nobody",
        "/v1/facts/nonsense/evidence", "/v1/facts/nonsense/versions", "/v1/entities/nobody/neighbourhood",
        "/v1/neighbourhood?subject=nobody", "/problems/nothing",
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_found(api: Api, path: str) -> None:
    problem(api.client.get(path), 404, "not-found")


def test_a_defect_is_told_without_its_content(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    def fail(now: Instant) -> list[Finding]:
        raise RuntimeError("the secret of mira")

    api.services.store.check = fail  # type: ignore[method-assign]

    refused = problem(api.client.get("/readyz", headers={"Request-Id": "trace-me"}), 500, "internal")

    assert refused["request_id"] == "trace-me"
    assert "secret" not in json.dumps(refused)
    assert "trace-me" in caplog.text
    assert "RuntimeError" in caplog.text


@pytest.mark.parametrize("path", ["audit", "belief", "believed", "claims", "log"])
def test_an_inverse_is_not_answered_with_silence(api: Api, path: str) -> None:
    stretch = "&known_from=2000-01-01&known_to=2000-01-02" if path in ("believed", "log") else ""
    moment = "&valid_at=2026-01-01" if path == "belief" else ""
    api.client.put(
        "/v1/ontology", json={"pack": "p", "predicates": {"city": {"datatype": "entity", "inverse": "dwellers"}}}
    )

    response = api.client.get(f"/v1/{path}?subject=rome&predicate=dwellers{stretch}{moment}")

    assert codes(problem(response, 400, "invalid-request")) == [("/predicate", "inverse_predicate")]
