"""Episodes through HTTP: kept at once, read by the worker, told by the operation."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from api.wiring import Services, make_worker
from consolidation.extraction.base import (
    ByName,
    Candidate,
    Code,
    EpisodeText,
    Extraction,
    Extractor,
    Note,
    Operation,
    Span,
    Trust,
    Verdict,
)
from consolidation.pipeline import KnownFacts
from consolidation.worker import Worker
from ontology.entries import Stated
from ontology.instants import SECOND
from ontology.schema import Schema
from ontology.schema_document import pack_from_document
from ontology.scope import scope_of
from tests.conftest import FrozenClock
from tests.e2e.conftest import Api, codes, local_client, problem

WHO = Extractor(name="words", version="1", trust=Trust.OBSERVED)


class Words:
    """Reads `SUBJECT PREDICATE VALUE`; what begins with `away` finds no model, what begins with `never` no sense."""

    def __init__(self) -> None:
        self.is_away = True

    def version(self, schema: Schema) -> str:
        return "words 1"

    def read(self, text: EpisodeText, schema: Schema, known: KnownFacts) -> Extraction:
        found: list[Candidate] = []
        for turn, words in text.passages():
            if words.startswith("away") and self.is_away:
                return _nothing(Code.UNAVAILABLE, "the model did not answer")
            if words.startswith("never"):
                return _nothing(Code.FAILED, "no sense in it")
            subject, predicate, value = words.split(maxsplit=2)
            found.append(
                Candidate(
                    span=Span(turn=turn, start=0, end=len(words), quote=words), subject=ByName(name=subject),
                    predicate=predicate, value=value, operation=Operation.ASSERT, compares_to=None,
                    stated=Stated(valid_from=None, valid_to=None, zone=None, semantics=None), verdict=Verdict.NEW,
                    confidence=None, extractor=WHO, rule=None, unmapped=False, holds=(),
                )
            )  # fmt: skip
        return Extraction(candidates=tuple(found), notes=())


def _nothing(code: Code, detail: str) -> Extraction:
    return Extraction(candidates=(), notes=(Note(code=code, detail=detail, span=None),))


class Room(Api):
    """The application with an extractor of few words, and a worker that works when it is told to."""

    words: Words
    worker: Worker

    def say(self, *episodes: dict[str, Any], status: int = 202, **headers: str) -> list[dict[str, Any]]:
        self.clock.advance(SECOND)
        response = self.post("/v1/episodes", {"episodes": list(episodes)}, **headers)
        assert response.status_code == status, response.text
        items: list[dict[str, Any]] = response.json()["items"]
        return items

    def work(self, seconds: int = 1) -> None:
        self.clock.advance(seconds * SECOND)
        self.worker.work_off()

    def operation(self, id: str) -> dict[str, Any]:
        return self.read(f"/v1/operations/{id}")


@pytest.fixture
def room(services: Services, clock: FrozenClock) -> Iterator[Room]:
    words = Words()
    with_words = replace(services, reads=words)
    with local_client(with_words) as client:
        made = Room(with_words, clock, client)
        made.words, made.worker = words, make_worker(with_words)
        yield made


def test_an_episode_is_accepted_read_and_told(room: Room) -> None:
    response = room.post("/v1/episodes", {"episodes": [{"text": "Mira likes tea", "observed_at": "2026-05-01"}]})
    assert response.status_code == 202
    (item,) = response.json()["items"]
    assert response.headers["location"] == f"/v1/operations/{item['operation']}"
    assert (item["state"], item["duplicate"], item["warnings"]) == ("queued", False, [])
    assert room.operation(item["operation"])["state"] == "queued"
    room.work()
    operation = room.operation(item["operation"])
    (claim,) = operation["receipts"]["claims"]
    assert (operation["state"], claim["result"], operation["receipts"]["extractors"]) == ("done", "created", "words 1")
    assert room.values("/v1/state", subject="mira", predicate="likes") == ["tea"]
    told = room.read(f"/v1/claims/{claim['claim']}")
    assert told["episode"] == item["episode"]
    assert told["span"]["quote"] == "Mira likes tea"
    episode = room.read(f"/v1/episodes/{item['episode']}")
    assert (episode["text"], episode["observed_at"]) == ("Mira likes tea", "2026-05-01T00:00:00Z")
    quoted = {cited["predicate"]: cited["span"] for cited in episode["claims"]}
    assert quoted["likes"] == {"turn": None, "start": 0, "end": 14, "quote": "Mira likes tea"}
    assert episode["operation"]["id"] == item["operation"]


def test_what_was_read_comes_with_a_record_that_cites_the_words(room: Room) -> None:
    turns = [{"speaker": "Mira", "text": text} for text in ("Mira likes tea", "Mira decided chess", "Mira finally won")]
    (item,) = room.say({"turns": turns})
    assert room.read(f"/v1/episodes/{item['episode']}")["record"] is None
    room.work()
    before = room.read("/v1/events")
    record = room.read(f"/v1/episodes/{item['episode']}")["record"]
    assert record["made_by"] == "extractive 1"
    assert record["summary"] == "Mira likes tea … Mira decided chess … Mira finally won"
    assert record["decisions"] == [{"turn": 1, "start": 0, "end": 18, "quote": "Mira decided chess"}]
    assert [part["quote"] for part in record["outcome"]] == ["Mira finally won"]
    assert [part["quote"] for part in record["happened"]] == ["Mira likes tea"]
    for part in (*record["sentences"], *record["happened"], *record["outcome"]):
        assert turns[part["turn"]]["text"][part["start"] : part["end"]] == part["quote"]
    assert before["items"][-1]["principal"] == "agent", "its commit shows in its scope"
    elsewhere = room.read("/v1/events", namespace="other")["items"][-1]
    assert (elsewhere["position"], elsewhere["principal"]) == (before["head"], None)


def test_a_missing_time_is_told_and_replaced_by_nothing(room: Room) -> None:
    (item,) = room.say({"text": "Mira likes tea"})
    assert [warning["code"] for warning in item["warnings"]] == ["no_observed_at"]
    assert item["observed_at"] is None
    assert room.read(f"/v1/episodes/{item['episode']}")["observed_at"] is None


def test_turns_come_back_as_they_were(room: Room) -> None:
    turns = [{"speaker": "Mira", "text": "Mira likes tea", "at": "2026-05-01T10:00:00Z"}]
    (item,) = room.say({"turns": turns, "me": {"name": "Mira"}, "tz": "Europe/Oslo", "session": "s"})
    episode = room.read(f"/v1/episodes/{item['episode']}")
    assert (episode["turns"], episode["me"], episode["session"]) == (turns, {"name": "Mira"}, "s")


def test_the_same_words_again_answer_with_the_first_episode(room: Room) -> None:
    said = {"text": "Mira likes tea", "source": "chat", "session": "s"}
    (first,) = room.say(said)
    (again,) = room.say(said)
    assert (again["episode"], again["operation"], again["duplicate"]) == (first["episode"], first["operation"], True)
    room.work()
    assert len(room.read("/v1/claims", subject="mira", predicate="likes")["items"]) == 1


def test_a_key_makes_a_retry_one_request(room: Room) -> None:
    body = {"episodes": [{"text": "Mira likes tea"}]}
    first = room.post("/v1/episodes", body, Idempotency_Key="k")
    again = room.post("/v1/episodes", body, Idempotency_Key="k")
    assert (again.json(), again.headers["idempotency-replayed"]) == (first.json(), "true")
    other = room.post("/v1/episodes", {"episodes": [{"text": "Bo likes tea"}]}, Idempotency_Key="k")
    problem(other, 422, "idempotency-key-reused")


@pytest.fixture
def process_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process in another time zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("process_zone", ["UTC", "Pacific/Midway", "Pacific/Kiritimati"], indirect=True)
@pytest.mark.usefixtures("process_zone")
def test_relative_dates_near_midnight_go_by_the_speaker(api: Api) -> None:
    """P07, with the extractors that a server has: neither the clock nor the zone of the process gets in."""
    pack = {
        "took_place": ["{subject} took place {value}"],
        "is_planned": ["{subject} is {value}"],
    }
    declared = {
        name: {"datatype": "date", "cardinality": "many", "patterns": patterns} for name, patterns in pack.items()
    }
    api.services.writer.put_schema(
        scope_of("default"), "agent", pack_from_document({"pack": "inspections", "predicates": declared})
    )
    api.at("2026-11-30T12:00:00Z")
    text = "The inspection took place yesterday. The next inspection is in two weeks."
    said = {"text": text, "observed_at": "2024-11-18T23:40:00-05:00", "tz": "America/Bogota"}
    accepted = api.post("/v1/episodes", {"episodes": [said, {"text": text, "session": "nobody told when"}]})
    told, untold = accepted.json()["items"]
    api.clock.advance(SECOND)
    make_worker(api.services).work_off()
    claims = api.read(f"/v1/operations/{told['operation']}")["receipts"]["claims"]
    assert [claim["predicate"] for claim in claims] == ["took_place", "is_planned"]
    assert api.values("/v1/state", predicate="took_place") == ["2024-11-17"]
    assert api.values("/v1/state", predicate="is_planned") == ["2024-12-02"]
    for claim in claims:
        stored = api.read(f"/v1/claims/{claim['claim']}")
        assert stored["observed_at"] == "2024-11-19T04:40:00Z"
        assert stored["recorded_at"].startswith("2026-11-30")
    assert [warning["code"] for warning in untold["warnings"]] == ["no_observed_at"]
    left = api.read(f"/v1/operations/{untold['operation']}")["receipts"]
    assert left["claims"] == []
    assert {note["code"] for note in left["notes"]} == {"no_observed_at", "unresolved_date"}


def test_accepted_means_stored_or_reported(room: Room) -> None:
    """W1: a failing extractor, a good item after it, a restart before the queue is empty."""
    bad, good = room.say({"text": "away from here"}, {"text": "Mira likes tea"})
    later = room.say({"text": "Bo likes milk"})[0]
    room.work()
    assert room.operation(good["operation"])["state"] == "done"
    assert room.values("/v1/state", subject="mira", predicate="likes") == ["tea"]
    waiting = room.operation(bad["operation"])
    assert (waiting["state"], "the model did not answer" in waiting["reason"]) == ("queued", True)
    assert waiting["next_at"]
    assert room.operation(later["operation"])["state"] == "done"
    for _ in range(room.services.settings.attempts_max):
        room.worker = make_worker(room.services)  # one that was restarted
        room.work(400)
    failed = room.operation(bad["operation"])
    assert (failed["state"], "the model did not answer" in failed["reason"]) == ("failed", True)
    letters = room.read("/v1/operations")
    assert [letter["id"] for letter in letters["items"]] == [bad["operation"]]
    room.words.is_away = False
    room.say({"text": "Bo drinks milk"})
    retried = room.post(f"/v1/operations/{bad['operation']}/retry", {})
    assert (retried.status_code, retried.json()["state"]) == (200, "queued")
    room.work()
    assert room.operation(bad["operation"])["state"] == "done"
    problem(room.post(f"/v1/operations/{bad['operation']}/retry", {}), 409, "conflicting-claim")


def test_readiness_shows_a_failing_extractor_and_that_nobody_works(room: Room) -> None:
    ready = room.read("/readyz")
    assert (ready["checks"]["extractor"], ready["checks"]["worker"]) == ("nothing fails", "nothing is overdue")
    room.say({"text": "away secret"})
    room.work()
    document = problem(room.get("/readyz"), 503, "extractor-unavailable")
    assert "extractor" in document["detail"]
    assert "secret" not in str(document)
    room.say({"text": "Mira likes tea"})
    room.work()
    assert room.read("/readyz")["status"] == "ready"
    room.say({"text": "Bo likes tea"})
    room.clock.advance(1000 * SECOND)
    assert "nobody reads" in problem(room.get("/readyz"), 503, "extractor-unavailable")["detail"]


def test_what_never_makes_sense_fails_and_delays_nobody(room: Room) -> None:
    first, second = room.say({"text": "never mind", "session": "s"}, {"text": "Mira likes tea", "session": "s"})
    room.work()
    states = [room.operation(each["operation"])["state"] for each in (first, second)]
    assert states == ["failed", "done"]
    assert room.read("/v1/operations", state="done")["items"][0]["id"] == second["operation"]


def test_a_caller_may_wait_for_the_end(room: Room) -> None:
    room.worker.start()
    try:
        _until(lambda: room.worker.alive)
        services = replace(room.services, worker=room.worker)
        with local_client(services) as client:
            body = {"episodes": [{"text": "Mira likes tea"}]}
            response = client.post("/v1/episodes", json=body, headers={"Prefer": "wait=20"})
        assert (response.status_code, response.headers["preference-applied"]) == (200, "wait=20")
        assert response.json()["items"][0]["state"] == "done"
    finally:
        assert room.worker.stop(20)


def test_who_waits_in_vain_gets_202(room: Room) -> None:
    (item,) = room.say({"text": "Mira likes tea"}, Prefer="wait=0")
    assert item["state"] == "queued"
    (other,) = room.say({"text": "Bo likes tea"}, Prefer="wait=1")
    assert other["state"] == "queued"


@pytest.mark.parametrize(
    ("episode", "pointer", "code"),
    [
        ({}, "/episodes/0", "exactly_one"),
        ({"text": "x", "turns": []}, "/episodes/0", "exactly_one"),
        ({"turns": []}, "/episodes/0/turns", "out_of_range"),
        ({"text": "  \n"}, "/episodes/0/text", "empty"),
        ({"text": "x", "observed_at": "2026-05-01T10:00:00"}, "/episodes/0/observed_at", "naive_timestamp"),
        ({"text": "x", "observed_at": "2099-01-01"}, "/episodes/0/observed_at", "observed_at_in_future"),
        ({"text": "x", "tz": "Mars/Base"}, "/episodes/0/tz", "unknown_zone"),
        ({"text": "x", "media_type": "words"}, "/episodes/0/media_type", "bad_media_type"),
        ({"text": "x", "session": ""}, "/episodes/0/session", "bad_name"),
        ({"text": "x", "me": {"key": "a", "name": "b"}}, "/episodes/0/me", "exactly_one"),
        ({"turns": [{"speaker": "a", "text": "b", "at": "noon"}]}, "/episodes/0/turns/0/at", "unreadable_date"),
        ({"text": "x", "confidence": 1}, "/episodes/0/confidence", "unknown_field"),
    ],
)
def test_what_is_wrong_with_an_episode_is_told(room: Room, episode: dict[str, Any], pointer: str, code: str) -> None:
    response = room.post("/v1/episodes", {"episodes": [episode]})
    document = response.json()
    assert response.status_code in (400, 422), document
    assert [where for where, _ in codes(document)] == [pointer]
    assert codes(document)[0][1] == code


def test_an_episode_that_is_too_long_is_refused(room: Room) -> None:
    most = room.services.settings.episode_bytes_max
    room.say({"text": "Mira likes " + "x" * (most - 11)})
    document = problem(room.post("/v1/episodes", {"episodes": [{"text": "y" * (most + 1)}]}), 413, "too-large")
    assert codes(document) == [("/episodes/0/text", "too_large")]


@pytest.mark.parametrize(
    "path", ["/v1/episodes/epi_abcdefgh_1_0", "/v1/operations/opr_abcdefgh_1_0", "/v1/operations/x"]
)
def test_what_is_not_there_is_not_found(room: Room, path: str) -> None:
    problem(room.get(path), 404, "not-found")


def test_the_log_names_the_episodes_of_the_scope_alone(room: Room) -> None:
    (item,) = room.say({"text": "Mira likes tea"})
    events = room.read("/v1/events")["items"]
    assert events[-1]["episodes"] == [item["episode"]]
    assert room.read("/v1/events", namespace="other")["items"][-1]["episodes"] == []


def test_nobody_cites_a_recorded_episode_that_is_not_there(room: Room) -> None:
    item = {"op": "assert", "subject": "mira", "predicate": "likes", "value": "tea", "episode": "epi_abcdefgh_9_9"}
    document = room.post("/v1/claims", {"items": [item]}).json()
    assert codes(document) == [("/items/0/episode", "not_found")]


def test_a_listing_goes_on_where_it_ended(room: Room) -> None:
    items = room.say(*({"text": f"thing{number} likes tea"} for number in range(5)))
    first = room.read("/v1/operations", state="queued", limit=3)
    rest = room.read("/v1/operations", state="queued", limit=3, after=first["next_after"])
    assert [each["id"] for each in first["items"] + rest["items"]] == [item["operation"] for item in items]
    assert rest["next_after"] is None


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
