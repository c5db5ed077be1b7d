"""Every route of the document, with every grant, without each, and from outside: none answers without its own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import httpx2
import pytest
from starlette.testclient import TestClient

from api.app import GROUPS, create_app
from api.edge import PUBLIC
from api.routes.routing import Route
from api.wiring import Services
from consolidation.episodes import NewEpisode
from consolidation.forgetting.forgetter import Named
from consolidation.handoffs import NewHandoff
from consolidation.items import Assert, Said
from consolidation.sessions import NewNote, NewSession
from ontology.grants import Grant
from ontology.ids import SessionId
from ontology.instants import SECOND, Instant
from ontology.scope import Scope, scope_of
from tests.e2e.conftest import answer, issued, problem

ROUTES: Final = [route for group in GROUPS for route in group.listed]
OPEN: Final = ["/healthz", "/readyz", "/problems", "/problems/{slug}"]
GUARDED: Final = [route for route in ROUTES if route.path not in OPEN]
NAMES: Final = [route.name for route in GUARDED]

SCOPE: Final = {"namespace": "notes", "purpose": "health"}
WRITE: Final = {**SCOPE, "dry_run": True}
MARKER: Final = "zqxmarker"
KEY: Final = f"{MARKER}-key"

Read, Written, Reviewed = frozenset({Grant.READ}), frozenset({Grant.WRITE}), frozenset({Grant.REVIEW})
NEEDED: Final[dict[str, frozenset[Grant]]] = {
    "write_claims": Written, "withdraw_source": Written, "record_episodes": Written, "retry_operation": Written,
    "withdraw_claim": Read | Written, "replace_fact": Read | Written, "retract_fact": Read | Written,
    "make_handoff": Read | Written, "open_session": Written, "add_notes": Written, "end_session": Written,
    "list_held": Reviewed, "show_held": Reviewed, "promote_held": Reviewed, "reject_held": Reviewed,
    "put_ontology": frozenset({Grant.ADMIN}), "read_metrics": frozenset({Grant.ADMIN}),
    "forget": frozenset({Grant.FORGET}), "forget_subject": frozenset({Grant.FORGET}),
    "lift_tombstone": frozenset({Grant.ADMIN}),
    "export_graph": Read | {Grant.EXPORT},
    "list_tombstones": frozenset(),  # one of two: see its own test
    "list_namespaces": frozenset(),  # any grant at all: what is listed is filtered
    "transfer_namespace": frozenset(),  # one of two: see its own test
}  # fmt: skip
"""Without which of the grants a route refuses; `read` where a route is not named."""

WHERE: Final = {
    "put_ontology": {"namespace": "*", "purpose": "*"}, "read_metrics": {"namespace": "*", "purpose": "*"},
    "forget_subject": {"namespace": "notes", "purpose": "general"},  # and every other purpose
    "lift_tombstone": {"namespace": "notes", "purpose": "general"},
}  # fmt: skip
"""Which scope a refusal names, where it is not the one that was asked for."""

BODIES: Final[dict[str, dict[str, Any]]] = {
    "recall": {**SCOPE, "question": f"What is the note of {KEY}?"},
    "read_states": {**SCOPE, "pairs": [{"subject": KEY}]},
    "search_memory": {**SCOPE, "text": MARKER},
    "write_claims": {**WRITE, "items": [{"subject": KEY, "predicate": "note", "value": MARKER}]},
    "withdraw_claim": {**WRITE, "expected_version": 1},
    "withdraw_source": WRITE,
    "promote_held": {**WRITE, "expected_version": 2},
    "reject_held": {**WRITE, "expected_version": 2},
    "record_episodes": {**SCOPE, "episodes": [{"text": MARKER}]},
    "retry_operation": SCOPE,
    "open_session": SCOPE,
    "make_handoff": {**SCOPE, "task": "Book."},
    "adopt_handoff": SCOPE,
    "add_notes": {**SCOPE, "notes": [{"text": MARKER}]},
    "end_session": SCOPE,
    "replace_fact": {**WRITE, "expected_version": 1, "value": MARKER},
    "retract_fact": {**WRITE, "expected_version": 1},
    "put_ontology": {"pack": "mine", "predicates": {"calls_at": {}}},
    "transfer_namespace": {"to": "ann"},
    "forget": {**SCOPE, "episode": "call-1"},
    "forget_subject": {"namespace": "notes"},
    "lift_tombstone": {"namespace": "notes"},
}
"""What is sent to a route that takes a body; none of it changes what the next one finds."""


@dataclass
class World:
    """A tenant with something to see in one scope, and the ids of it."""

    services: Services
    client: TestClient
    ids: dict[str, str]

    def ask(self, route: Route, headers: dict[str, str]) -> httpx2.Response:
        kind = route.path.split("/")[2] if route.path.startswith("/v1/") else ""
        path = re.sub(r"\{(\w+)(:path)?\}", lambda part: self.ids.get(kind, "notes"), route.path)
        if route.body is not None:
            query = {"dry_run": "true"} if route.method == "PUT" else {}
            return self.client.request(route.method, path, params=query, json=BODIES[route.name], headers=headers)
        query = {name: str(value) for name, value in SCOPE.items() if name in route.query.model_fields}
        return self.client.get(path, params={**query, **self._required(route)}, headers=headers)

    def _required(self, route: Route) -> dict[str, str]:
        given = {
            "subject": KEY, "known_from": "2026-01-01", "known_to": "2026-06-02", "valid_after": "2026-01-01",
            "valid_until": "2026-06-02", "steps": "note", "source": KEY, "target": KEY,
        }  # fmt: skip
        fields = route.query.model_fields
        return {name: value for name, value in given.items() if name in fields and (
            fields[name].is_required() or name == "subject")}  # fmt: skip


@pytest.fixture
def world(services: Services) -> Iterator[World]:
    scope = scope_of("acme", "notes", "health")
    said = Said(valid_from="2026-01-01", source=MARKER, episode="call-1")
    item = Assert(subject=KEY, predicate="note", value=MARKER, said=said)
    receipt: Any = services.writer.write(scope, "person", [item]).receipt["items"]
    waits = replace(item, said=replace(said, trust="untrusted", episode=None))
    held: Any = services.writer.write(scope, "person", [waits]).receipt["items"]
    ids = {
        "facts": receipt[0]["opened"][0], "claims": receipt[0]["claim"], "entities": receipt[0]["subject"]["id"],
        "sources": MARKER, "review": held[0]["claim"], "namespaces": "notes", **_dead_letter(services, scope),
        "subjects": receipt[0]["subject"]["id"], "profiles": receipt[0]["subject"]["id"],
        "tombstones": _tombstone(services, scope), "sessions": _session(services, scope),
        "handoffs": _handoff(services, scope),
    }  # fmt: skip
    services.writer.write(scope_of("other"), "person", [item])
    with TestClient(create_app(services), base_url="http://memory.example", client=("203.0.113.9", 5)) as client:
        yield World(services, client, ids)


def _dead_letter(services: Services, scope: Scope) -> dict[str, str]:
    """An episode that was given up, and its operation."""
    recorded: Any = services.recorder.record(scope, "person", [NewEpisode(text=MARKER)]).receipt["items"]
    now, queue = services.clock.now(), services.store.queue
    (lease,) = queue.lease("worker", now, until=Instant(now + SECOND), limit=1)
    assert queue.give_up(lease, "no sense in it", now)
    return {"episodes": recorded[0]["episode"], "operations": recorded[0]["operation"]}


def _tombstone(services: Services, scope: Scope) -> str:
    """Of a slot that was forgotten."""
    services.writer.write(scope, "person", [Assert(subject=KEY, predicate="alias", value=MARKER, said=Said())])
    named = Named(subject=KEY, predicate="alias")
    confirm = str(services.forgetter.preview(scope, named)["manifest"])
    return str(services.forgetter.forget(scope, "person", named, confirm=confirm)["tombstone"])


def _session(services: Services, scope: Scope) -> str:
    """A session of Ann's with a note."""
    id = SessionId(str(services.sessions.open(scope, "ann", NewSession()).receipt["id"]))
    services.sessions.note(scope, "ann", id, [NewNote(text=MARKER)])
    return id


def _handoff(services: Services, scope: Scope) -> str:
    """One for whoever may read there."""
    new = NewHandoff(
        receiver=None, task=MARKER, requirements=(), constraints=(), format=None, facts=(), rejected=(), ttl=None
    )
    return str(services.handoffs.make(scope, "person", new).receipt["id"])


def all_but(grant: Grant) -> str:
    return f"*:{','.join(each for each in Grant if each is not grant)}"


def needed(route: Route) -> frozenset[Grant]:
    return NEEDED.get(route.name, Read)


@pytest.mark.parametrize("route", GUARDED, ids=NAMES)
def test_a_route_answers_with_its_grants_and_refuses_without_one_of_them(world: World, route: Route) -> None:
    done = (200, 202)
    assert world.ask(route, issued(world.services, "ann", "*:all")).status_code in done

    refused = {}
    for grant in Grant:
        response = world.ask(route, issued(world.services, "ann", all_but(grant)))
        if response.status_code not in done:
            refused[grant] = problem(response, 403, "missing-role")
    assert refused.keys() == needed(route)
    for grant, document in refused.items():
        where = WHERE.get(route.name, SCOPE)
        assert {name: document[name] for name in ("grant", "namespace", "purpose")} == {"grant": grant.value, **where}


@pytest.mark.parametrize("grants", [[], ["notes/other:all"], ["other:all"], ["note:all"], ["*/other:all"]], ids=str)
@pytest.mark.parametrize("route", GUARDED, ids=NAMES)
def test_grants_elsewhere_open_nothing_here(world: World, route: Route, grants: list[str]) -> None:
    response = world.ask(route, issued(world.services, "ann", *grants))

    if route.name == "list_namespaces":
        reached = bool(grants) and grants[0][0] in ("*", "n") and not grants[0].startswith("note:")
        assert [item["namespace"] for item in answer(response)["items"]] == (["notes"] if reached else [])
        return
    problem(response, 403, "missing-role")
    assert response.request.method != "GET" or MARKER.encode() not in response.content


@pytest.mark.parametrize("route", GUARDED, ids=NAMES)
def test_a_key_of_another_tenant_sees_nothing(world: World, route: Route) -> None:
    response = world.ask(route, issued(world.services, "ann", "*:all", tenant="elsewhere"))

    sent = str(BODIES.get(route.name, "")) + str(response.request.url)
    assert MARKER.encode() not in response.content.replace(sent.encode(), b"") or MARKER in sent
    for id in (
        world.ids[kind] for kind in ("facts", "claims", "entities", "episodes", "operations", "sessions", "handoffs")
    ):
        assert id.encode() not in response.content or id in str(response.request.url)
    if "{id" in route.path and route.name != "withdraw_source":
        problem(response, 404, "not-found")


@pytest.mark.parametrize("route", GUARDED, ids=NAMES)
def test_nobody_is_answered_without_a_credential(world: World, route: Route) -> None:
    issued(world.services, "ann", "*:all")

    problem(world.ask(route, {}), 401, "unauthenticated")


def test_a_stranger_is_not_answered_while_there_are_no_keys(world: World) -> None:
    for route in GUARDED:
        problem(world.ask(route, {}), 403, "foreign-origin")


def test_what_is_public_is_listed_and_nothing_else_is(world: World) -> None:
    assert {"/healthz", "/readyz", "/openapi.json", "/problems"} == PUBLIC
    issued(world.services, "ann", "*:all")
    for path in (*PUBLIC, "/problems/not-found"):
        assert world.client.get(path).status_code == 200
    for path in (
        "/", "/metrics", "/mcp", "/login", "/docs", "/redoc", "/v1", "/v1/", "/v1/nowhere", "/healthz/", "/healthzz",
        "/readyz/v1/state", "/openapi.json/x", "/openapi.jsonx", "/problemss", "//v1/state", "/v1/state/", "/V1/state",
        "/healthz/../v1/state", "/%2e/v1/state",
    ):  # fmt: skip
        problem(world.client.get(path, params={"subject": KEY, **SCOPE}), 401, "unauthenticated")
    for path in ("/problems/../v1/state", "/problems/x/y", "/problems/", "/problems/%2e%2e/v1/state"):
        response = world.client.get(path, params={"subject": KEY, **SCOPE})
        assert response.status_code in (400, 401, 404)
        assert MARKER.encode() not in response.content


def test_a_namespace_is_transferred_by_its_owner_or_by_an_administrator(world: World) -> None:
    def transfer(principal: str, grants: str, to: str) -> httpx2.Response:
        headers = issued(world.services, principal, grants)
        return world.client.post("/v1/namespaces/notes/transfer", json={"to": to}, headers=headers)

    problem(transfer("ann", "notes:write", "ann"), 403, "missing-role")
    first = answer(transfer("root", "notes:admin", "ann"))
    assert (first["owner"], first["before"], first["by"]) == ("ann", None, "root")
    problem(transfer("ben", "notes:write", "ben"), 403, "missing-role")
    problem(transfer("ann", "notes/health:write", "ben"), 403, "missing-role")
    problem(transfer("ann", "notes:read,propose", "ben"), 403, "missing-role")
    assert answer(transfer("ann", "notes:write", "ben"))["before"] == "ann"
    problem(transfer("ann", "notes:write", "ann"), 403, "missing-role")
    problem(transfer("root", "notes:admin", " "), 400, "invalid-request")


def test_tombstones_are_listed_for_whoever_may_forget_or_administers(world: World) -> None:
    def listed(*grants: str) -> httpx2.Response:
        headers = issued(world.services, "ann", *grants)
        return world.client.get("/v1/tombstones", params={"namespace": "notes"}, headers=headers)

    for grants in ("notes:forget", "notes:admin"):
        assert [each["tombstone"] for each in answer(listed(grants))["items"]] == [world.ids["tombstones"]]
    for grants in ("notes/health:forget", "notes:read,write,propose,review,export", "other:all"):
        problem(listed(grants), 403, "missing-role")


def test_a_subject_is_forgotten_by_whoever_may_in_every_purpose(world: World) -> None:
    headers = issued(world.services, "ann", "notes/health:forget")
    body = {**SCOPE, "subject": KEY}

    problem(world.client.post("/v1/forget", json=body, headers=headers), 403, "missing-role")
    slot = world.client.post("/v1/forget", json={**body, "predicate": "note"}, headers=headers)
    assert answer(slot)["counts"]["claims"] == 2


def test_who_may_not_read_is_not_told_the_current_state_of_a_stale_version(world: World) -> None:
    body = {**SCOPE, "items": [{"subject": KEY, "predicate": "note", "value": "x", "expected_version": 7}]}
    both = world.client.post("/v1/claims", json=body, headers=issued(world.services, "ann", "*:read,write"))
    blind = world.client.post("/v1/claims", json=body, headers=issued(world.services, "ann", "*:write"))

    assert problem(both, 412, "version-changed")["current"]
    assert "current" not in problem(blind, 412, "version-changed")
    assert MARKER not in blind.text


def test_the_conflicts_of_a_new_schema_are_shown_where_they_may_be_read(world: World) -> None:
    scope = scope_of("acme", "notes", "health")
    said = Said(valid_from="2026-01-01")
    world.services.writer.write(scope, "person", [Assert(subject=KEY, predicate="note", value="y", said=said)])
    pack = {"pack": "mine", "predicates": {"note": {"cardinality": "functional"}}}

    def slots(*grants: str) -> tuple[int, list[Any]]:
        headers = issued(world.services, "root", *grants)
        done = answer(world.client.put("/v1/ontology", params={"dry_run": "true"}, json=pack, headers=headers))
        return done["conflicts"]["note"]["count"], done["conflicts"]["note"]["slots"]

    assert slots("*:admin") == (1, [])
    assert len(slots("*:admin", "notes/health:read")[1]) == 1


def test_an_event_of_another_scope_is_a_skeleton_the_first_one_too(world: World) -> None:
    """The first commit of a tenant seeds its schema; that must not show who made it, nor what else it did."""
    headers = issued(world.services, "ann", "mine:read")
    event, _, recorded, *_ = answer(world.client.get("/v1/events", params={"namespace": "mine"}, headers=headers))[
        "items"
    ]

    assert (event["principal"], recorded["principal"], recorded["episodes"]) == (None, None, [])
    assert [event[name] for name in ("claims", "ended", "opened", "closed")] == [[], [], [], []]
    assert event["schema_version"] is not None
    whole = issued(world.services, "ann", "notes:read")
    seen, _, recorded, *_ = answer(world.client.get("/v1/events", params=SCOPE, headers=whole))["items"]
    assert (seen["principal"], recorded["principal"]) == ("person", "person")
    assert recorded["episodes"] == [world.ids["episodes"]]


def test_a_receipt_is_replayed_only_to_who_may_still_write_there(world: World) -> None:
    body = {**SCOPE, "items": [{"subject": KEY, "predicate": "note", "value": "again"}]}

    def tell(principal: str, grants: str) -> httpx2.Response:
        headers = {**issued(world.services, principal, grants), "Idempotency-Key": "k"}
        return world.client.post("/v1/claims", json=body, headers=headers)

    first = tell("ann", "notes:write")
    assert answer(tell("ann", "*:write")) == answer(first)
    refused = tell("ann", "other:write")
    problem(refused, 403, "missing-role")
    assert "idempotency-replayed" not in refused.headers
    assert problem(tell("ben", "notes:write"), 403, "missing-role")["owner"] == "ann"


def test_only_the_owner_lets_an_episode_be_read_again(world: World) -> None:
    queue, scope = world.services.store.queue, scope_of("acme", "notes", "health")
    now = world.services.clock.now()
    recorded: Any = world.services.recorder.record(scope, "person", [NewEpisode(text="x")]).receipt["items"]
    for lease in queue.lease("w", now, until=Instant(now + SECOND), limit=9):
        assert queue.give_up(lease, "it breaks", now)
    ann, ben = (issued(world.services, name, "notes:write") for name in ("ann", "ben"))
    body = {**SCOPE, "items": [{"subject": KEY, "predicate": "note", "value": "z"}]}
    answer(world.client.post("/v1/claims", headers=ann, json=body))

    path = f"/v1/operations/{recorded[0]['operation']}/retry"
    assert problem(world.client.post(path, json=SCOPE, headers=ben), 403, "missing-role")["owner"] == "ann"
    problem(world.client.post("/v1/operations/opr_aaaaaaaa_1_0/retry", json=SCOPE, headers=ben), 404, "not-found")
    assert answer(world.client.post(path, json=SCOPE, headers=ann))["state"] == "queued"


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "DELETE", "PATCH"])
def test_other_methods_need_a_credential_too(world: World, method: str) -> None:
    issued(world.services, "ann", "*:all")

    assert world.client.request(method, "/v1/state", params={"subject": KEY, **SCOPE}).status_code == 401
