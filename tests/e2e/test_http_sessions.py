"""Sessions through HTTP: working notes that live with one, are read when it ends, and are gone then."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from api.wiring import Services, make_worker
from consolidation import sessions as limits
from consolidation.sessions import Sessions, Tempo
from ontology.instants import SECOND
from ontology.schema_document import pack_from_document
from ontology.scope import scope_of
from tests.conftest import FrozenClock
from tests.e2e.conftest import answer, codes, local_client, problem
from tests.e2e.test_http_episodes import Room, Words

KINDS = {"pack": "kinds", "predicates": {"likes": {"kind": "preference"}, "chose": {"kind": "decision"}}}


class Desk(Room):
    """The application with sessions whose notes are read when five of them wait."""

    def open(self, **body: Any) -> str:
        opened: str = answer(self.post("/v1/sessions", body))["id"]
        return opened

    def note(self, id: str, *texts: str, speaker: str = "Mira", **headers: str) -> dict[str, Any]:
        self.clock.advance(SECOND)
        notes = [{"speaker": speaker, "text": text} for text in texts]
        return answer(self.post(f"/v1/sessions/{id}/notes", {"notes": notes}, **headers))

    def end(self, id: str, status: int = 202, **headers: str) -> dict[str, Any]:
        response = self.post(f"/v1/sessions/{id}/end", {}, **headers)
        assert response.status_code == status, response.text
        ended: dict[str, Any] = response.json()
        return ended

    def unread(self, id: str) -> list[str]:
        return [note["text"] for note in self.read(f"/v1/sessions/{id}")["unread"]["items"]]


@pytest.fixture
def desk(services: Services, clock: FrozenClock) -> Iterator[Desk]:
    services.writer.put_schema(scope_of("default"), "agent", pack_from_document(KINDS))
    words = Words()
    with_words = replace(
        services, reads=words,
        sessions=Sessions(
            store=services.store, recorder=services.recorder, clock=clock, randomness=services.randomness,
            tempo=Tempo(turns=5, idle_seconds=600), bytes_max=2_000,
        ),
    )  # fmt: skip
    with local_client(with_words) as client:
        made = Desk(with_words, clock, client)
        made.words, made.worker = words, make_worker(with_words)
        yield made


def test_ending_a_session_extracts_and_then_its_notes_are_gone(desk: Desk) -> None:
    id = desk.open(me={"key": "mira"}, source="chat", tz="Europe/Vienna")
    noted = desk.note(id, "Mira likes tea", "Mira chose Oslo", "Mira owns boat")
    assert (noted["notes"], noted["stage"], noted["operations"]) == (3, "open", [])
    ending = desk.end(id)
    assert (ending["stage"], ending["extracted"]) == ("ending", {"fact": [], "preference": [], "decision": []})
    assert [operation["state"] for operation in ending["reading"]] == ["queued"]
    assert desk.unread(id) == ["Mira likes tea", "Mira chose Oslo", "Mira owns boat"], "they are read first"
    desk.work()
    ended = desk.end(id, 200)
    found = {kind: [claim["span"]["quote"] for claim in claims] for kind, claims in ended["extracted"].items()}
    assert found == {
        "fact": ["Mira owns boat"], "preference": ["Mira likes tea"], "decision": ["Mira chose Oslo"],
    }  # fmt: skip
    assert (ended["stage"], desk.unread(id)) == ("ended", [])
    assert desk.values("/v1/state", subject="mira", predicate="likes") == ["tea"]
    episode = desk.read(f"/v1/episodes/{ended['reading'][0]['episode']}")
    assert (episode["session"], episode["source"], episode["me"]) == (id, "chat", {"key": "mira"})
    assert [turn["text"] for turn in episode["turns"]] == ["Mira likes tea", "Mira chose Oslo", "Mira owns boat"]
    assert [turn["speaker"] for turn in episode["turns"]] == ["Mira"] * 3


def test_notes_are_no_facts_and_no_read_of_memory_shows_them(desk: Desk) -> None:
    id = desk.open()
    desk.note(id, "marker likes tea")
    assert desk.read("/v1/entities")["items"] == []
    assert desk.read("/v1/state", subject="marker")["items"] == []
    for path in ("/v1/events", "/v1/operations", "/v1/review"):
        if path != "/v1/review":
            assert "marker" not in desk.get(path).text
    assert "marker" not in desk.get("/v1/sessions").text


def test_every_so_many_turns_are_read_while_the_session_goes_on(desk: Desk) -> None:
    id = desk.open()
    assert desk.note(id, *(f"Mira likes {n}" for n in range(4)))["operations"] == []
    (first,) = desk.note(id, "Mira likes 4")["operations"]
    desk.note(id, "Mira likes 5")
    assert len(desk.unread(id)) == 6
    desk.work()
    assert desk.unread(id) == ["Mira likes 5"]
    assert desk.operation(first)["state"] == "done"
    assert desk.read(f"/v1/sessions/{id}")["stage"] == "open"
    assert len(desk.end(id)["operations"]) == 2
    desk.work()
    assert len(desk.end(id, 200)["extracted"]["preference"]) == 6


def test_the_same_words_twice_in_one_session_are_read_twice(desk: Desk) -> None:
    id = desk.open()
    for _ in range(2):
        desk.note(id, *["Mira likes tea"] * 5)
        desk.work()
    session = desk.read(f"/v1/sessions/{id}")
    assert len(set(session["operations"])) == 2
    assert desk.unread(id) == []
    assert desk.end(id, 200)["stage"] == "ended", "there is nothing left to read"


def test_what_cannot_be_read_keeps_its_notes_until_a_retry_succeeds(desk: Desk) -> None:
    id = desk.open()
    desk.note(id, "away likes tea")
    (reading,) = desk.end(id)["reading"]
    for _ in range(desk.services.settings.attempts_max):
        desk.work(300)
    failed = desk.end(id, 202)
    assert (failed["stage"], failed["reading"][0]["state"]) == ("ending", "failed")
    assert desk.unread(id) == ["away likes tea"]
    desk.words.is_away = False
    answer(desk.post(f"/v1/operations/{reading['id']}/retry", {}))
    desk.work()
    assert (desk.end(id, 200)["stage"], desk.unread(id)) == ("ended", [])


def test_a_session_that_is_left_alone_is_ended_by_the_worker(desk: Desk) -> None:
    left, busy, empty = desk.open(), desk.open(), desk.open()
    desk.note(left, "Mira likes tea")
    desk.work(598)
    assert desk.read(f"/v1/sessions/{left}")["stage"] == "open"
    desk.note(busy, "Mira likes milk")
    desk.work(1)
    assert [desk.read(f"/v1/sessions/{id}")["stage"] for id in (left, busy, empty)] == ["ended", "open", "ended"]
    assert desk.values("/v1/state", subject="mira", predicate="likes") == ["tea"]


def test_a_session_that_has_no_notes_ends_at_once(desk: Desk) -> None:
    id = desk.open()
    assert desk.end(id, 200) == desk.end(id, 200)
    refused = problem(desk.post(f"/v1/sessions/{id}/notes", {"notes": [{"text": "late"}]}), 409, "conflicting-claim")
    assert "ended" in refused["detail"]


def test_a_retry_with_the_same_key_opens_and_notes_once(desk: Desk) -> None:
    first = desk.post("/v1/sessions", {"source": "chat"}, Idempotency_Key="k1")
    again = desk.post("/v1/sessions", {"source": "chat"}, Idempotency_Key="k1")
    assert answer(first) == answer(again)
    assert again.headers["idempotency-replayed"] == "true"
    id = answer(first)["id"]
    assert desk.note(id, "one", Idempotency_Key="k2") == desk.note(id, "one", Idempotency_Key="k2")
    assert desk.unread(id) == ["one"]
    other = desk.post(f"/v1/sessions/{id}/notes", {"notes": [{"text": "two"}]}, Idempotency_Key="k2")
    problem(other, 422, "idempotency-key-reused")


def test_sessions_and_notes_are_listed_page_by_page(desk: Desk) -> None:
    opened = []
    for _ in range(3):
        opened.append(desk.open())
        desk.clock.advance(1)
    first = desk.read("/v1/sessions", limit=2)
    assert [each["id"] for each in first["items"]] == opened[:2]
    rest = desk.read("/v1/sessions", limit=2, after=first["next_after"])
    assert ([each["id"] for each in rest["items"]], rest["next_after"]) == (opened[2:], None)
    desk.end(opened[0], 200)
    assert [each["id"] for each in desk.read("/v1/sessions", stage="open")["items"]] == opened[1:]
    desk.note(opened[1], "a", "b", "c")
    page = desk.read(f"/v1/sessions/{opened[1]}", limit=2)["unread"]
    assert ([note["number"] for note in page["items"]], page["next_after"]) == ([1, 2], 2)
    last = desk.read(f"/v1/sessions/{opened[1]}", limit=2, after=2)["unread"]
    assert ([note["text"] for note in last["items"]], last["next_after"]) == (["c"], None)


def test_only_who_opened_a_session_adds_to_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from api.auth.principals import local_person
    from ontology.scope import Tenant

    id = desk.open()
    desk.note(id, "Mira likes tea")
    person = local_person(Tenant(desk.services.settings.tenant))
    monkeypatch.setattr("api.routes.call.Call.principal", property(lambda _: person))
    refused = problem(desk.post(f"/v1/sessions/{id}/notes", {"notes": [{"text": "x"}]}), 403, "missing-role")
    assert "'agent'" in refused["detail"]
    assert desk.unread(id) == ["Mira likes tea"]
    assert desk.end(id)["principal"] == "agent"


def test_bad_notes_are_refused_with_what_is_wrong(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    id = desk.open()

    def refused(*notes: dict[str, Any], status: int = 400, slug: str = "invalid-request") -> list[tuple[str, str]]:
        return codes(problem(desk.post(f"/v1/sessions/{id}/notes", {"notes": list(notes)}), status, slug))

    assert refused() == [("/notes", "out_of_range")]
    assert refused(*[{"text": "x"}] * 101) == [("/notes", "out_of_range")]
    assert refused({"text": "x"}, {"text": "  "}) == [("/notes/1/text", "empty")]
    assert refused({"text": "x", "speaker": " "})[0][0] == "/notes/0/speaker"
    assert refused({"text": "x" * 1_001}, status=413, slug="too-large") == [("/notes", "too_large")]
    problem(desk.post("/v1/sessions/ses_0/notes", {"notes": [{"text": "x"}]}), 404, "not-found")
    problem(desk.get("/v1/sessions/ses_0"), 404, "not-found")
    problem(desk.post("/v1/sessions/ses_0/end", {}), 404, "not-found")
    assert codes(problem(desk.post("/v1/sessions", {"tz": "Nowhere"}), 400, "invalid-request"))[0][0] == "/tz"
    both = desk.post("/v1/sessions", {"me": {"key": "a", "name": "b"}})
    assert codes(problem(both, 400, "invalid-request")) == [("/me", "exactly_one")]
    assert desk.unread(id) == []
    monkeypatch.setattr(limits, "NOTES_MAX", 2)
    desk.note(id, "a", "b")
    assert refused({"text": "c"}, status=413, slug="too-large") == []
    monkeypatch.setattr(limits, "SESSIONS_MAX", 1)
    problem(desk.post("/v1/sessions", {}), 413, "too-large")


def test_long_notes_are_handed_over_before_they_are_too_long_for_an_episode(desk: Desk) -> None:
    id = desk.open()
    assert desk.note(id, f"Mira likes {'x' * 900}")["operations"] == []
    assert len(desk.note(id, f"Mira likes {'y' * 900}")["operations"]) == 1
    desk.work()
    assert desk.unread(id) == []


def test_a_clock_that_is_set_back_does_not_keep_a_session_from_ending(desk: Desk) -> None:
    id = desk.open()
    desk.note(id, "Mira likes tea")
    desk.clock.advance(-3_600 * SECOND)
    desk.end(id)
    desk.work()
    assert desk.end(id, 200)["stage"] == "ended"
