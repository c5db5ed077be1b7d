"""Forgetting as a caller sees it: two steps, a receipt, and then nothing at any instant on any route."""

import logging
import re
from pathlib import Path
from typing import Any, Final

import pytest

from api.app import GROUPS
from api.routes.routing import Route
from consolidation.items import Reject
from graph import transfer
from graph.ledger import ledger_hash
from ontology.claims import Lifecycle
from ontology.facts import Version
from ontology.ids import EntityId
from ontology.instants import SECOND
from ontology.scope import scope_of
from tests.e2e.conftest import Api, answer, codes, fact, issued, problem
from tests.sizes import SOAK

MARKER: Final = "zqxmarker"
KEY: Final = f"{MARKER}-key"
SCOPE: Final = scope_of("default")
TENANT: Final = SCOPE.tenant


def forget(api: Api, **named: object) -> dict[str, Any]:
    """Both steps."""
    preview = answer(api.post("/v1/forget", named))
    assert preview["state"] == "preview"
    return answer(api.post("/v1/forget", {**named, "confirm": preview["manifest"]}))


def tell_everything(api: Api) -> dict[str, str]:
    """The marker in each place where memory can have it; gives ids that will be gone, by the kind of route."""
    said = f"{MARKER} Lind moved to {MARKER} street."
    recorded = answer_of(api, {"text": said, "session": f"{MARKER}-session", "source": "chat"})
    episode = recorded["items"][0]["episode"]
    first = api.post(
        "/v1/claims", {"items": [fact(KEY, "name", f"{MARKER} Lind", valid_from="2020-01-01")]},
        Idempotency_Key=f"{MARKER}-retry",
    )  # fmt: skip
    item = answer(first)["items"][0]
    api.write(fact(KEY, "note", f"{MARKER} street", valid_from="2020-01-01", episode=episode))
    api.write(fact(KEY, "note", f"{MARKER} lane", valid_from="2021-01-01", source=f"{MARKER}-source"))
    api.write(fact(KEY, "profile_note", f"{MARKER} calls on Mondays", valid_from="2020-01-01"))
    api.write(fact("bo", "note", "stays", valid_from="2020-01-01", episode=episode))
    api.write(fact("bo", "knows", {"type": "entity", "key": KEY}, valid_from="2020-01-01"))
    api.write(fact("bo", "knows", {"type": "entity", "key": "cy"}, valid_from="2020-01-01"))
    held = [
        api.write(fact(KEY, "note", f"{MARKER} {word}", trust="untrusted"))["items"][0]["claim"]
        for word in ("quarantined", "rejected")
    ]
    _reject(api, held[1])
    handed = answer(
        api.post(
            "/v1/handoffs",
            {"task": f"Ask {MARKER} Lind.", "requirements": [f"{KEY} is asked"], "facts": [item["opened"][0]],
             "rejected": [{"what": f"a letter to {MARKER} Lind"}]},
            Idempotency_Key=f"{MARKER}-handed",
        )
    )  # fmt: skip
    api.clock.advance(SECOND)
    return {
        "entities": item["subject"]["id"], "claims": item["claim"], "facts": item["opened"][0], "review": held[0],
        "episodes": episode, "operations": recorded["items"][0]["operation"], "handoffs": handed["id"],
        "profiles": item["subject"]["id"], "subjects": item["subject"]["id"],
    }  # fmt: skip


def answer_of(api: Api, episode: dict[str, Any]) -> dict[str, Any]:
    response = api.post("/v1/episodes", {"episodes": [episode]})
    document: dict[str, Any] = response.json()
    assert response.status_code == 202, document
    return document


def _reject(api: Api, claim: str) -> None:
    with api.services.store.read(SCOPE) as reader:
        (told,) = [t for t in reader.held({Lifecycle.QUARANTINED}, None, limit=9, after=None) if t.claim.id == claim]
        version = Version(
            max(told.transitions[-1].position, reader.slot_heads([told.claim.slot])[told.claim.slot].version)
        )
    item = Reject(claim=told.claim.id, reason=f"{MARKER} is no street", expected_version=version)
    api.services.writer.write(SCOPE, "person", [item])


def gets() -> list[Route]:
    return [route for group in GROUPS for route in group.listed if route.method == "GET"]


def walked(api: Api, ids: dict[str, str], known_at: str | None) -> dict[str, tuple[int, bytes]]:
    """What each GET route answers: asked by the key, by the id, and about all."""
    found = {}
    headers = issued(api.services, "boss", "*:all", tenant=TENANT)
    for route in gets():
        kind = route.path.split("/")[2] if route.path.startswith("/v1/") else ""
        path = re.sub(r"\{(\w+)(:path)?\}", lambda part: ids.get(kind, "none"), route.path)  # noqa: B023
        fields = route.query.model_fields
        given = {
            "known_from": "2026-01-01", "known_to": known_at, "valid_after": "2019-01-01", "valid_until": "2030-01-01",
            "steps": "knows", "predicate": "note", "known_at": known_at,
        }  # fmt: skip
        for subject in (KEY, ids["entities"], "bo", "cy"):
            query = {n: v for n, v in {**given, "subject": subject}.items() if n in fields and v is not None}
            response = api.client.get(path, params=query, headers=headers)
            content = response.content.replace(KEY.encode(), b"")  # a refusal names what was asked for
            found[f"{route.name} {subject}"] = response.status_code, content
    for text in (f"{MARKER} lind street lane quarantined said", "knows note bo cy"):
        sought = {"text": text, "include": ["history", "held"], "limit": 200}
        response = api.client.post(
            "/v1/search", json=sought | ({"known_at": known_at} if known_at else {}), headers=headers
        )
        found[f"search {text}"] = response.status_code, response.content.replace(KEY.encode(), b"")
        for question in (f"What of {KEY}? {text}", f"{MARKER.title()} Lind", text, "bo and cy"):
            body = {"question": question, "tokens": 16_000, "episodes": True, "milliseconds": 5_000}
            response = api.client.post(
                "/v1/recall", json=body | ({"known_at": known_at} if known_at else {}), headers=headers
            )
            found[f"recall {question}"] = response.status_code, response.content.replace(KEY.encode(), b"")
    return found


def test_the_marker_is_found_on_many_routes_before(api: Api) -> None:
    ids = tell_everything(api)

    found = walked(api, ids, None)

    marked = {name for name, (_, content) in found.items() if MARKER.encode() in content}
    assert len(marked) > 15
    assert {"read_profile bo", "read_about bo", "read_handoff bo"} <= marked
    assert len([name for name in marked if name.startswith("recall ")]) > 5


def test_nothing_is_left_on_any_route_at_any_instant_nor_in_any_file(
    api: Api, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.WARNING, "neo4j")  # what we let libraries say; below that the driver tells what we ask
    ids = tell_everything(api)
    instants = [event["recorded_at"] for event in api.read("/v1/events", limit=200)["items"]]
    others = [entity["id"] for entity in api.read("/v1/entities")["items"] if entity["key"] == "cy"]
    before = [ledger_hash(api.services.store, TENANT, subject=EntityId(id)) for id in others]
    caplog.clear()

    receipt = forget(api, subject=KEY)

    assert receipt["verification"]["found"] == 0
    assert len(receipt["verification"]["searched"]) >= 10
    assert MARKER not in str(receipt)
    assert [ledger_hash(api.services.store, TENANT, subject=EntityId(id)) for id in others] == before
    assert before
    asked = instants if SOAK or address.startswith("sqlite") else instants[::4]
    for known_at in (*asked, None):
        for name, (status, content) in walked(api, ids, known_at).items():
            assert MARKER.encode() not in content, (name, known_at)
            assert status in (200, 400, 404, 410), (name, status, content)
    lines: list[bytes] = []
    transfer.export_events(api.services.store, TENANT, lines.append)
    assert MARKER.encode() not in b"".join(lines)
    assert MARKER not in caplog.text.replace(KEY, "")
    assert transfer.verify_events(api.services.store, TENANT) == []
    if address.startswith("sqlite"):
        assert receipt["files"] == {"scrubbed": True, "left": ""}
        _no_byte_in_files(Path(address.removeprefix("sqlite:///")))
    else:
        assert receipt["files"]["scrubbed"] is False
        assert "journal" in receipt["files"]["left"]


def _no_byte_in_files(path: Path) -> None:
    files = list(path.parent.glob(path.name + "*"))
    assert path in files
    for file in files:
        assert MARKER.encode() not in file.read_bytes(), file


def test_the_file_has_the_marker_before(api: Api, address: str) -> None:
    if not address.startswith("sqlite"):
        pytest.skip("the files of a server are its own")
    tell_everything(api)
    path = Path(address.removeprefix("sqlite:///"))

    assert any(MARKER.encode() in file.read_bytes() for file in path.parent.glob(path.name + "*"))


def test_what_was_forgotten_is_gone_by_every_id_and_by_its_key(api: Api) -> None:
    ids = tell_everything(api)
    stone = forget(api, subject=ids["entities"])["tombstone"]

    for path in (
        f"/v1/entities/{ids['entities']}", f"/v1/facts/{ids['facts']}", f"/v1/claims/{ids['claims']}",
        f"/v1/facts/{ids['facts']}/evidence", f"/v1/state?subject={ids['entities']}", f"/v1/state?subject={KEY}",
        f"/v1/history?subject={KEY}",
    ):  # fmt: skip
        assert problem(api.client.get(path), 410, "forgotten")["tombstone"] == stone
    episode = api.read(f"/v1/episodes/{ids['episodes']}")
    assert episode["erased"]
    assert answer(api.client.get(f"/v1/operations/{ids['operations']}"))["reason"] == "forgotten"


def test_a_write_about_it_is_refused_until_the_tombstone_is_lifted(api: Api) -> None:
    ids = tell_everything(api)
    stone = forget(api, subject=KEY)["tombstone"]

    refused = problem(api.post("/v1/claims", {"items": [fact(KEY, "note", "x")]}), 410, "forgotten")
    assert (refused["tombstone"], codes(refused)) == (stone, [("/items/0/subject", "forgotten")])
    by_id = problem(api.post("/v1/claims", {"items": [fact(ids["entities"], "note", "x")]}), 410, "forgotten")
    assert by_id["tombstone"] == stone
    again = api.post(
        "/v1/claims", {"items": [fact(KEY, "name", f"{MARKER} Lind", valid_from="2020-01-01")]},
        Idempotency_Key=f"{MARKER}-retry",
    )  # fmt: skip
    problem(again, 410, "forgotten")
    named = api.write(fact("new", "name", f"{MARKER} lind"))["items"][0]
    assert (named["state"], named["rule"]) == ("quarantined", "forgotten")

    (listed,) = api.read("/v1/tombstones")["items"]
    assert (listed["tombstone"], listed["block"], listed["lifted_at"]) == (stone, True, None)
    lifted = answer(api.post(f"/v1/tombstones/{stone}/lift", {}))
    assert lifted["lifted_by"] == "agent"
    api.clock.advance(SECOND)
    api.write(fact(KEY, "note", "somebody new"))
    assert api.values("/v1/state", subject=KEY) == ["somebody new"]
    problem(api.client.get(f"/v1/facts/{ids['facts']}"), 410, "forgotten")
    problem(api.post("/v1/tombstones/frg_aaaaaaaa_1_0/lift", {}), 404, "not-found")


def test_a_stale_preview_is_refused_with_the_present_one(api: Api) -> None:
    api.write(fact("vera", "note", "one"))
    id = api.read("/v1/state", subject="vera")["items"][0]["subject"]["id"]
    preview = answer(api.post(f"/v1/subjects/{id}/forget", {}))
    api.write(fact("vera", "note", "two"))

    stale = problem(
        api.post(f"/v1/subjects/{id}/forget", {"confirm": preview["manifest"]}), 412, "version-changed"
    )  # fmt: skip

    assert stale["preview"]["counts"]["claims"] == 2
    done = answer(api.post(f"/v1/subjects/{id}/forget", {"confirm": stale["preview"]["manifest"]}))
    assert done["state"] == "forgotten"
    assert answer(api.post(f"/v1/subjects/{id}/forget", {"confirm": preview["manifest"]})) == done
    assert answer(api.post("/v1/forget", {"subject": "vera"})) == done


def test_one_source_of_two_is_forgotten(api: Api) -> None:
    """Scenario D1."""
    api.write(fact("vera", "has_code", "ZX-CANARY-91", source="s1"))
    api.write(fact("vera", "works_on", "Pilot", source="s2"))

    forget(api, source="s1")

    assert api.values("/v1/state", subject="vera") == ["Pilot"]
    lines: list[bytes] = []
    transfer.export_events(api.services.store, TENANT, lines.append)
    assert b"CANARY" not in b"".join(lines)
    assert "CANARY" not in "".join(map(str, api.services.store.ledger(TENANT)))


def test_the_source_of_a_change_is_forgotten(api: Api) -> None:
    """Scenario D3."""
    api.write(fact("bo", "lives_in", {"type": "entity", "key": "cork"}, valid_from="2020-01-01", source="s1"))
    api.write(fact("bo", "lives_in", {"type": "entity", "key": "bonn"}, valid_from="2024-01-01", source="s2"))

    forget(api, source="s2")

    (home,) = api.read("/v1/history", subject="bo", predicate="lives_in")["items"]
    assert (home["value"]["key"], home["valid_from"], home["valid_to"]) == ("cork", "2020-01-01T00:00:00Z", None)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({}, ""), ({"subject": "a", "source": "b"}, ""), ({"episode": "e", "predicate": "note"}, "/predicate"),
     ({"subject": "a", "why": "b"}, "/why")],
)  # fmt: skip
def test_what_names_no_target_is_refused(api: Api, body: dict[str, object], pointer: str) -> None:
    refused = problem(api.post("/v1/forget", body), 400, "invalid-request")

    assert refused["errors"][0]["pointer"] == pointer


def test_nobody_else_is_told_of_what_was_forgotten_in_a_namespace(api: Api) -> None:
    api.write(fact("vera", "note", "x"))
    id = api.read("/v1/state", subject="vera")["items"][0]["subject"]["id"]
    forget(api, subject="vera")

    problem(api.get(f"/v1/entities/{id}", namespace="team"), 404, "not-found")
    assert api.read("/v1/state", subject="vera", namespace="team")["items"] == []
    assert api.read("/v1/tombstones", namespace="team")["items"] == []


def test_a_read_of_one_purpose_is_not_told_whom_only_another_one_knew(api: Api) -> None:
    api.write(fact("vera", "note", "ill"), purpose="health")
    api.write(fact("vera", "knows", {"type": "entity", "key": "bo"}), purpose="health")
    id = api.read("/v1/state", subject="vera", purpose="health")["items"][0]["subject"]["id"]
    answer_of(api, {"text": "Vera is here.", "session": "s"})
    api.post("/v1/episodes", {"episodes": [{"text": "vera was seen"}], "purpose": "hotel"})
    before = api.read("/v1/state", subject="vera", purpose="billing")["items"]
    stone = forget(api, subject="vera")["tombstone"]

    assert api.read("/v1/state", subject="vera", purpose="billing")["items"] == before == []
    problem(api.get(f"/v1/entities/{id}", purpose="billing"), 404, "not-found")
    assert stone not in str(api.read("/v1/events", purpose="billing"))
    for purpose in ("general", "health", "hotel"):  # told there, or mentioned in words that went
        problem(api.get("/v1/state", subject="vera", purpose=purpose), 410, "forgotten")
        problem(api.get(f"/v1/entities/{id}", purpose=purpose), 410, "forgotten")
        assert stone in str(api.read("/v1/events", purpose=purpose))
    refused = api.post("/v1/claims", {"purpose": "billing", "items": [fact("vera", "note", "x")]})
    problem(refused, 410, "forgotten")
