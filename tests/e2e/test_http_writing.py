"""A retried write has one effect, a stale writer learns the current state, and a receipt says what was done."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.conftest import Api, Item, answer, codes, fact, problem

RENT = fact("mira", "monthly_rent", 900, valid_from="2026-01-01", source="lease")
MOVED = fact("mira", "lives_in", "berlin", valid_from="2026-02-01", source="mira")


@pytest.fixture
def rented(api: Api) -> Api:
    api.write(RENT)
    return api


def rent(api: Api) -> dict[str, Any]:
    [shown] = api.read("/v1/state", subject="mira", predicate="monthly_rent")["items"]
    return dict(shown)


def etag_of(api: Api, path: str) -> str:
    return str(api.get(path).headers["etag"])


def test_a_receipt_says_what_each_item_did(rented: Api) -> None:
    reinforced = rented.write({**RENT, "source": "bank"})
    receipt = rented.write({**RENT, "value": 950, "valid_from": "2026-05-01"}, {**MOVED, "valid_to": "2026-04-01"})

    assert [item["result"] for item in reinforced["items"]] == ["reinforced"]
    assert [item["result"] for item in receipt["items"]] == ["superseded", "created"]
    assert receipt["items"][0]["superseded"] == receipt["items"][0]["closed"]
    assert [entity["key"] for entity in receipt["entities"]] == ["berlin"]
    assert receipt["dry_run"] is False


def test_all_items_are_done_or_none(rented: Api) -> None:
    problem(rented.post("/v1/claims", {"items": [MOVED, {**RENT, "value": "much"}]}), 400, "invalid-request")

    assert rented.values("/v1/state", subject="mira") == ["900"]


def test_a_dry_run_gives_the_receipt_and_writes_nothing(rented: Api) -> None:
    head = rented.read("/v1/events")["head"]

    receipt = rented.write({**RENT, "value": 950, "valid_from": "2026-05-01"}, dry_run=True)

    assert (receipt["dry_run"], receipt["items"][0]["result"]) == (True, "superseded")
    assert rented.read("/v1/events")["head"] == head
    assert rent(rented)["value"]["value"] == "900"


def test_a_minimal_receipt_counts(api: Api) -> None:
    response = api.post("/v1/claims", {"items": [RENT, MOVED]}, Prefer="return=minimal")

    assert response.headers["preference-applied"] == "return=minimal"
    assert answer(response)["results"] == {"created": 2}
    assert "items" not in response.json()


@pytest.mark.parametrize("in_header", [True, False])
def test_a_retry_gets_the_first_receipt_and_has_no_second_effect(api: Api, in_header: bool) -> None:
    headers = {"Idempotency_Key": '"k-1"'} if in_header else {}
    body: dict[str, Any] = {"items": [RENT]} | ({} if in_header else {"operation_id": "k-1"})

    first, second = (api.post("/v1/claims", body, **headers) for _ in range(2))

    assert answer(first) == answer(second)
    assert ("idempotency-replayed" in first.headers, second.headers["idempotency-replayed"]) == (False, "true")
    assert rent(api)["occurrences"] == 1


def test_a_key_stands_for_one_request(api: Api) -> None:
    api.post("/v1/claims", {"items": [RENT]}, Idempotency_Key="k-1")

    other = api.post("/v1/claims", {"items": [MOVED]}, Idempotency_Key="k-1")

    problem(other, 422, "idempotency-key-reused")


def test_two_different_keys_in_one_request_are_refused(api: Api) -> None:
    response = api.post("/v1/claims", {"items": [RENT], "operation_id": "a"}, Idempotency_Key="b")

    assert codes(problem(response, 400, "invalid-request")) == [("/operation_id", "too_many")]


def test_one_key_from_many_threads_has_one_effect(api: Api) -> None:
    def write(_: int) -> str:
        return str(answer(api.post("/v1/claims", {"items": [RENT]}, Idempotency_Key="k-1"))["position"])

    with ThreadPoolExecutor(8) as pool:
        positions = set(pool.map(write, range(24)))

    assert len(positions) == 1
    assert rent(api)["occurrences"] == 1


def test_many_threads_write_one_slot_in_a_serial_order(api: Api) -> None:
    def write(number: int) -> int:
        item = fact("mira", "visited", f"place-{number}", valid_from="2026-01-01", valid_to="2026-01-02")
        return int(answer(api.post("/v1/claims", {"items": [item]}))["position"])

    with ThreadPoolExecutor(8) as pool:
        positions = sorted(pool.map(write, range(40)))

    assert positions == list(range(positions[0], positions[0] + 40))
    assert len(api.read("/v1/history", subject="mira", predicate="visited", limit=200)["items"]) == 40


def test_a_stale_writer_gets_the_current_state(rented: Api) -> None:
    seen = rent(rented)["version"]
    rented.write({**RENT, "value": 950, "valid_from": "2026-05-01"}, dry_run=False)

    stale = rented.post("/v1/claims", {"items": [{**RENT, "value": 990, "expected_version": seen}]})

    document = problem(stale, 412, "version-changed")
    assert [item["value"]["value"] for item in document["current"]] == ["950"]
    assert stale.headers["etag"] == f'"v{document["current_version"]}"'
    fresh = {**RENT, "value": 990, "valid_from": "2026-05-15", "expected_version": document["current_version"]}
    assert rented.write(fresh)["items"][0]["result"] == "superseded"


def test_a_writer_may_expect_that_there_is_nothing(rented: Api) -> None:
    problem(rented.post("/v1/claims", {"items": [{**RENT, "expected_version": "none"}]}), 412, "version-changed")

    assert rented.write({**MOVED, "expected_version": "none"})["items"][0]["result"] == "created"


@pytest.mark.parametrize("act", ["replace", "retract"])
def test_a_correction_of_a_fact_needs_the_version_that_was_seen(rented: Api, act: str) -> None:
    path = f"/v1/facts/{rent(rented)['id']}"
    etag = etag_of(rented, path)
    body = {"value": 850} if act == "replace" else {}

    problem(rented.post(f"{path}/{act}", body), 428, "precondition-required")
    problem(rented.post(f"{path}/{act}", body, If_Match="*"), 428, "precondition-required")
    for tag in ('"v0"', "nonsense", f"W/{etag}", '""'):
        stale = rented.post(f"{path}/{act}", body, If_Match=tag)
        assert problem(stale, 412, "version-changed")["current"][0]["id"] == path.rsplit("/", 1)[1]
        assert stale.headers["etag"] == etag
    done = answer(rented.post(f"{path}/{act}", body, If_Match=f'"other", {etag}'))

    assert done["items"][0]["result"] == f"{act}d".replace("retractd", "retracted")
    assert rented.values("/v1/state", subject="mira") == (["850"] if act == "replace" else [])


def test_expected_version_in_the_body_stands_for_if_match(rented: Api) -> None:
    shown = rent(rented)

    answer(rented.post(f"/v1/facts/{shown['id']}/retract", {"expected_version": shown["version"]}))

    assert rented.values("/v1/state", subject="mira") == []


def test_expected_version_in_the_body_counts_beside_if_match_too(rented: Api) -> None:
    shown = rent(rented)
    path = f"/v1/facts/{shown['id']}"
    other = {"expected_version": shown["version"] + 1}

    problem(rented.post(f"{path}/retract", other, If_Match=etag_of(rented, path)), 412, "version-changed")

    assert rented.values("/v1/state", subject="mira") != []


def test_a_fact_that_is_no_longer_believed_cannot_be_corrected(rented: Api) -> None:
    path = f"/v1/facts/{rent(rented)['id']}"
    rented.write({**RENT, "value": 950, "valid_from": "2026-05-01"})

    stale = rented.post(f"{path}/replace", {"value": 1}, If_Match=etag_of(rented, path))

    assert [item["value"]["value"] for item in problem(stale, 412, "version-changed")["current"]] == ["950"]


def test_withdrawing_a_claim_brings_back_what_it_had_closed(rented: Api) -> None:
    claim = rented.write({**RENT, "value": 950, "valid_from": "2026-05-01"})["items"][0]["claim"]
    path = f"/v1/claims/{claim}"
    etag = etag_of(rented, path)

    problem(rented.client.post(f"{path}/withdraw"), 428, "precondition-required")
    assert answer(rented.client.post(f"{path}/withdraw", headers={"If-Match": etag}))["items"][0]["withdrawn"] == [
        claim
    ]

    assert rent(rented)["value"]["value"] == "900"
    assert rented.read(path)["state"] == "withdrawn"
    again = rented.post(f"{path}/withdraw", {}, If_Match=etag_of(rented, path))
    assert problem(again, 404, "not-found")


def test_withdrawing_a_source_takes_all_that_it_said(rented: Api) -> None:
    rented.write(
        {**MOVED, "source": "feed/1"}, fact("tom", "lives_in", "paris", valid_from="2026-01-01", source="feed/1")
    )

    answer(rented.post("/v1/sources/feed%2F1/withdraw", {"reason": "broken"}))

    assert rented.values("/v1/state", predicate="lives_in") == []
    problem(rented.post("/v1/sources/feed%2F1/withdraw", {}), 404, "not-found")


@pytest.mark.parametrize(
    ("item", "left"),
    [
        ({"op": "retract", "subject": "mira", "predicate": "monthly_rent"}, []),
        ({"op": "retract", "subject": "mira", "predicate": "monthly_rent", "valid_from": "2026-06-10"}, ["900"]),
        ({"op": "erase", "subject": "mira"}, []),
        ({"op": "erase", "subject": "mira", "predicate": "monthly_rent", "value": 900}, []),
        ({"op": "withdraw", "source": "lease"}, []),
    ],
)
def test_the_other_operations_of_a_transaction(rented: Api, item: Item, left: list[str]) -> None:
    rented.write(item)

    assert rented.values("/v1/state", subject="mira", valid_at="2026-06-01") == left


def test_what_was_erased_is_nowhere(rented: Api) -> None:
    before = rent(rented)

    rented.write({"op": "erase", "subject": "mira"})

    assert rented.values("/v1/state", subject="mira", known_at=before["recorded_from"]) == []
    problem(rented.get(f"/v1/facts/{before['id']}"), 404, "not-found")
    assert rented.read("/v1/claims", subject="mira")["items"] == []


def test_an_ontology_grows_by_packs(api: Api) -> None:
    before = api.get("/v1/ontology")
    pack = "pack: travel\ntypes: {Port: {parents: [Place]}}\npredicates: {calls_at: {range: [Port], datatype: entity}}"

    def put(**headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return api.client.put("/v1/ontology", content=pack, headers={"content-type": "application/yaml", **named})

    dry = answer(api.client.put("/v1/ontology?dry_run=true", content=pack, headers={"content-type": "text/yaml"}))
    assert dry["dry_run"]
    assert api.get("/v1/ontology").headers["etag"] == before.headers["etag"]
    assert answer(put(If_Match=before.headers["etag"]))["version"] == before.json()["version"] + 1
    assert (
        problem(put(If_Match=before.headers["etag"]), 412, "version-changed")["version"] == before.json()["version"] + 1
    )
    assert "calls_at" in api.read("/v1/ontology")["predicates"]
    assert api.client.get("/v1/ontology", headers={"If-None-Match": before.headers["etag"]}).status_code == 200
    problem(
        api.client.put("/v1/ontology", content=pack, headers={"content-type": "text/plain"}), 415, "unsupported-format"
    )
