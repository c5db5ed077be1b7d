"""What is said of requests: metrics, the log, what is left of a share, the audit. None of it has a word of memory."""

import io
import json
import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from api.app import create_app
from api.logs import AUDIT, JsonFormatter, TextFormatter
from api.settings import read_settings
from api.wiring import make_worker, open_services, working
from consolidation.episodes import NewEpisode
from consolidation.extraction.base import EpisodeText, Extraction
from consolidation.pipeline import KnownFacts
from graph.ports import Finding, Grade
from ontology.errors import Fault, Unavailable
from ontology.instants import Instant
from ontology.operations import State
from ontology.schema import Schema
from ontology.scope import scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.e2e.conftest import Api, answer, fact, issued, local_client, problem
from tests.e2e.test_grants import GUARDED, KEY, MARKER, SCOPE, World
from tests.e2e.test_grants import world as _world

FORMATTERS: Final = (TextFormatter(), JsonFormatter())
world = _world
"""The fixture with something to see for each route."""


@contextmanager
def heard(name: str | None = None, level: int = logging.DEBUG) -> Iterator[io.StringIO]:
    """What a logger, and those below it, say in a block, in both formats, from the lowest level on."""
    said = io.StringIO()
    logger = logging.getLogger(name)
    handlers: list[logging.Handler] = []
    for formatter in FORMATTERS:
        handler: logging.Handler = logging.StreamHandler(said)
        handler.setFormatter(formatter)
        handler.addFilter(lambda record: not record.name.startswith("httpx2"))  # the client of the tests
        handlers.append(handler)
    # a command that ran in this process may have left the loggers as the settings of its server say
    ours = dict.fromkeys((logger, logging.getLogger("vigencia"), logging.getLogger(AUDIT)))
    before = [(each, each.level, each.propagate) for each in ours]
    for each in ours:
        each.setLevel(level)
        each.propagate = True
    for handler in handlers:
        logger.addHandler(handler)
    try:
        yield said
    finally:
        for handler in handlers:
            logger.removeHandler(handler)
        for each, was, passes_on in before:
            each.setLevel(was)
            each.propagate = passes_on


def documents(said: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.getvalue().splitlines() if line.startswith("{")]


def samples(text: str) -> dict[str, float]:
    """Every sample of the text format by its name and labels."""
    return {
        sample.name + "".join(f" {name}={value}" for name, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def measured(api: Api) -> dict[str, float]:
    response = api.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    return samples(response.text)


# ---- nothing of memory


def test_neither_log_nor_metrics_hold_a_word_of_memory(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = issued(world.services, "ann", "*:all")
    client = world.client
    with heard() as said:
        for route in GUARDED:  # right ones, each with the marker in its path, its query or its body
            assert world.ask(route, headers).status_code in (200, 202), route.name
        for path in (f"/{MARKER}", f"/v1/facts/{MARKER}", f"/v1/claims/{MARKER}", f"/problems/{MARKER}"):
            assert client.get(path, headers=headers).status_code == 404
        for query in (
            {MARKER: "x"},
            {"subject": f"{MARKER}\x00"},
            {"valid_at": MARKER, "subject": "x"},
            {"cursor": MARKER},
        ):
            assert client.get("/v1/state", params=query, headers=headers).status_code == 400
        for body in (b"{" + MARKER.encode(), f'{{"{MARKER}": 1}}'.encode(), f'{{"items": "{MARKER}"}}'.encode()):
            typed = {**headers, "Content-Type": "application/json"}
            assert client.post("/v1/claims", content=body, headers=typed).status_code == 400
        assert client.post("/v1/claims", content=MARKER, headers={**headers, "Content-Type": MARKER}).status_code == 415
        assert client.request(MARKER.upper(), "/v1/state", headers=headers).status_code == 405
        assert client.get("/v1/state", headers={"Authorization": f"Bearer {MARKER}"}).status_code == 401
        stale = fact(KEY, "note", MARKER, expected_version=99)
        assert client.post("/v1/claims", json={**SCOPE, "items": [stale]}, headers=headers).status_code == 412
        strange = fact(KEY, "note", MARKER, valid_from=MARKER)
        assert client.post("/v1/claims", json={**SCOPE, "items": [strange]}, headers=headers).status_code in (400, 422)
        _fail_everywhere(world, headers, monkeypatch)
        _read_episodes(world, monkeypatch)
        exposed = client.get("/metrics", headers=headers).text

    assert MARKER.lower() not in said.getvalue().lower()
    assert MARKER.lower() not in exposed.lower()
    lines = documents(said)
    assert {line["route"] for line in lines if line["logger"] == "vigencia.requests"} >= {r.path for r in GUARDED}
    assert sum("error" in line for line in lines) >= 3
    assert 'method="other"' in exposed


def _fail_everywhere(world: World, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Defects and failures whose words have the marker."""

    def fail_with(error: Exception) -> None:
        def fail(now: Instant) -> list[Finding]:
            try:
                raise KeyError(MARKER)
            except KeyError as exc:
                raise error from exc

        monkeypatch.setattr(world.services.store, "check", fail)

    for error, status in ((RuntimeError(MARKER), 500), (Fault(MARKER), 500), (Unavailable(MARKER), 503)):
        fail_with(error)
        assert world.client.get("/readyz", headers=headers).status_code == status
    monkeypatch.undo()


def _read_episodes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is read, and one at which the extractor fails with its words."""
    scope = scope_of("acme", "notes", "health")
    worker = make_worker(world.services)
    world.services.recorder.record(scope, "ann", [NewEpisode(text=f"Anna lives in {MARKER}.")])
    assert worker.work_off()

    def fail(*_: object) -> None:
        raise RuntimeError(MARKER)

    monkeypatch.setattr(type(world.services.reads), "read", fail)
    world.services.recorder.record(scope, "ann", [NewEpisode(text=f"Ben lives in {MARKER}.")])
    assert worker.work_off()


# ---- metrics


def test_requests_are_counted_by_route_and_never_by_path(api: Api) -> None:
    api.get("/v1/facts/fct_one")
    api.get("/v1/facts/fct_two")
    api.get("/nowhere")
    api.read("/v1/state", subject="mira")

    seen = measured(api)
    assert seen["vigencia_requests_total method=GET route=/v1/facts/{id} status=404"] == 2
    assert seen["vigencia_requests_total method=GET route=none status=404"] == 1
    assert seen["vigencia_request_seconds_count kind=read route=/v1/state"] == 1
    assert seen["vigencia_items_returned_count route=/v1/state"] == 1


def test_what_writes_do_is_counted_whoever_writes(api: Api) -> None:
    api.write(fact("mira", "passport_deadline", "2026-07-15", valid_from="2026-05-01"))
    api.write(fact("mira", "passport_deadline", "2026-06-30", valid_from="2026-05-02"))
    api.write(fact("mira", "note", "x"), dry_run=True)
    for _ in range(2):
        api.post("/v1/claims", {"items": [fact("mira", "note", "once", trust="untrusted")]}, Idempotency_Key="k")
    problem(api.post("/v1/claims", {"items": [fact("mira", "note", "x", expected_version=9)]}), 412, "version-changed")
    api.post("/v1/episodes", {"episodes": [{"text": "x"}]})

    seen = measured(api)
    assert seen["vigencia_results_total result=created"] == 1
    assert seen["vigencia_results_total result=superseded"] == 1
    assert seen["vigencia_results_total result=quarantined"] == 1
    assert seen["vigencia_results_total result=rejected"] == 0
    assert seen["vigencia_writes_total outcome=done"] == 4
    assert seen["vigencia_writes_total outcome=version-changed"] == 1
    assert (seen["vigencia_refused_total"], seen["vigencia_conflicts_total"]) == (1, 1)
    assert seen["vigencia_request_seconds_count kind=write route=/v1/claims"] == 6


def test_the_queue_and_its_dead_letters_are_measured(api: Api) -> None:
    api.at("2026-06-01T10:00:00Z")
    api.post("/v1/episodes", {"episodes": [{"text": "one"}, {"text": "two"}]})
    api.at("2026-06-01T10:01:00Z")
    seen = measured(api)
    assert (seen["vigencia_queue_operations state=queued"], seen["vigencia_queue_age_seconds"]) == (2, 60)

    queue, now = api.services.store.queue, api.clock.now()
    [lease] = queue.lease("worker", now, until=Instant(now + 1), limit=1)
    queue.give_up(lease, "no sense in it", now)
    seen = measured(api)
    assert (seen["vigencia_queue_operations state=queued"], seen["vigencia_dead_letters"]) == (1, 1)
    assert seen["vigencia_store_up"] == 1


def test_metrics_are_given_while_the_store_is_away(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(now: Instant) -> None:
        raise Unavailable("the store is away")

    monkeypatch.setattr(type(api.services.store.queue), "backlog", lambda self, now: away(now))
    assert measured(api)["vigencia_store_up"] == 0


# ---- the log


def test_a_request_is_one_line_with_its_id_route_status_seconds_and_principal(api: Api) -> None:
    with heard("vigencia.requests", logging.INFO) as said:
        api.client.get("/v1/state?subject=mira", headers={"Request-Id": "trace-me"})
        api.get("/healthz")
        api.get("/v1/facts/fct_1")

    first, second = documents(said)
    assert {name: first[name] for name in ("request_id", "method", "route", "status", "tenant", "principal")} == {
        "request_id": "trace-me", "method": "GET", "route": "/v1/state", "status": "200", "tenant": "default",
        "principal": "agent",
    }  # fmt: skip
    assert first["seconds"] > 0
    assert (second["route"], second["status"]) == ("/v1/facts/{id}", "404")
    assert "request_id=trace-me" in said.getvalue()


def test_probes_are_logged_where_they_fail(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(now: Instant) -> list[Finding]:
        raise Unavailable("the store is away")

    monkeypatch.setattr(api.services.store, "check", away)
    with heard("vigencia.requests", logging.INFO) as said:
        assert api.get("/readyz").status_code == 503
        assert api.get("/healthz").status_code == 200
    assert [line["route"] for line in documents(said)] == ["/readyz"]


# ---- readiness


def test_a_store_that_is_not_well_makes_the_server_unready(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    sick = [
        Finding(check="indexes", finding="not online: by_key", grade=Grade.FAILED),
        Finding(check="disk", finding="full at a private place", grade=Grade.FAILED, private=True),
    ]
    monkeypatch.setattr(api.services.store, "check", lambda now: sick)
    refused = problem(api.get("/readyz"), 503, "store-unavailable")
    assert "indexes: not online: by_key" in refused["detail"]
    assert "private" not in json.dumps(refused)


@pytest.mark.parametrize(("model", "ready"), [(None, False), ("test", True)])
def test_extractors_that_cannot_be_made_make_a_server_with_a_worker_unready(
    tmp_path: Path, model: str | None, ready: bool
) -> None:
    store = f"sqlite:///{tmp_path / 'x.db'}"
    opened = open_services(read_settings(store=store, extractors="rules,llm", extractor_model=model))
    with working(opened) as services, local_client(services) as client:
        response = client.get("/readyz")
        if ready:
            answer(response)
        else:
            assert "needs a model" in problem(response, 503, "extractor-unavailable")["detail"]
    with local_client(opened) as client:  # one that leaves it to others need not be able to
        answer(client.get("/readyz"))
    opened.close()


def test_a_worker_that_died_makes_the_server_unready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_services(read_settings(store=f"sqlite:///{tmp_path / 'x.db'}"))
    with working(opened) as services, local_client(services) as client:
        answer(client.get("/readyz"))
        assert services.worker is not None
        services.worker.stop(60)
        assert "dead" in problem(client.get("/readyz"), 503, "extractor-unavailable")["detail"]
    opened.close()


# ---- shares


@pytest.fixture
def limited(tmp_path: Path, clock: FrozenClock, randomness: SeededRandomness) -> Iterator[Api]:
    settings = read_settings(store=f"sqlite:///{tmp_path / 'l.db'}", reads_per_minute=3, writes_per_minute=5)
    opened = open_services(settings, clock, randomness)
    with local_client(opened) as client:
        yield Api(opened, clock, client)
    opened.close()


def test_answers_tell_what_is_left_and_beyond_it_nothing_is_done(limited: Api) -> None:
    for left in (2, 1, 0):
        response = limited.get("/v1/state", subject="mira")
        assert response.headers["ratelimit-policy"] == '"read";q=3;w=60'
        assert re.fullmatch(rf'"read";r={left};t=\d+', response.headers["ratelimit"])

    refused = limited.get("/v1/state", subject="mira")
    problem(refused, 429, "rate-limited")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.headers["ratelimit"].startswith('"read";r=0;')
    assert limited.get("/healthz").status_code == 200
    assert limited.post("/v1/claims", {"items": [fact("mira", "note", "x")]}).status_code == 200


def test_a_batch_counts_by_its_items(limited: Api) -> None:
    items = [fact("mira", "note", f"{number}") for number in range(3)]
    assert limited.post("/v1/claims", {"items": items}).headers["ratelimit"].startswith('"write";r=2;')

    problem(limited.post("/v1/claims", {"items": items}), 429, "rate-limited")
    assert len(limited.read("/v1/state", subject="mira")["items"]) == 3
    episodes = [{"text": "one"}, {"text": "two"}]
    problem(limited.post("/v1/episodes", {"episodes": episodes}), 429, "rate-limited")
    seen = measured(limited)
    assert seen["vigencia_rate_limited_total budget=write"] == 2


def test_notes_count_one_by_one(limited: Api) -> None:
    session = answer(limited.post("/v1/sessions", {}))["id"]
    notes = {"notes": [{"text": str(number)} for number in range(3)]}
    noted = limited.post(f"/v1/sessions/{session}/notes", notes)
    assert noted.headers["ratelimit"].startswith('"write";r=1;')

    problem(limited.post(f"/v1/sessions/{session}/notes", notes), 429, "rate-limited")
    assert limited.read(f"/v1/sessions/{session}")["notes"] == 3


def test_a_long_question_is_a_read(limited: Api) -> None:
    response = limited.post("/v1/state", {"pairs": [{"subject": "mira"}]})

    assert response.headers["ratelimit"].startswith('"read";r=2;')


def test_principals_have_shares_of_their_own(limited: Api) -> None:
    ann, ben = (issued(limited.services, name, "*:read", tenant="default") for name in ("ann", "ben"))
    for _ in range(3):
        answer(limited.client.get("/v1/state?subject=mira", headers=ann))
    problem(limited.client.get("/v1/state?subject=mira", headers=ann), 429, "rate-limited")
    answer(limited.client.get("/v1/state?subject=mira", headers=ben))


# ---- the audit

SHOWING: Final = {
    "read_state", "read_states", "read_claim", "list_held", "show_held", "read_fact", "read_evidence", "read_versions",
    "read_history", "read_audit", "read_belief", "read_believed", "read_diff", "read_log", "read_claims",
    "read_entity", "read_entity_neighbourhood", "read_neighbourhood", "read_paths", "read_about", "recall",
    "search_memory",
}  # fmt: skip
"""Routes whose answer shows something that was said under a predicate, asked as they are there."""


def test_every_route_that_shows_what_is_sensitive_is_audited_and_no_other(world: World) -> None:
    headers = issued(world.services, "ann", "*:all")
    quiet: dict[str, list[dict[str, Any]]] = {}
    loud: dict[str, list[dict[str, Any]]] = {}
    for lines in (quiet, loud):
        for route in GUARDED:
            with heard(AUDIT) as said:
                world.ask(route, headers)
            lines[route.name] = documents(said)
            assert MARKER not in said.getvalue()
        pack = {"pack": "mine", "predicates": {"note": {"sensitive": True}}}
        answer(world.client.put("/v1/ontology", json=pack, headers=headers))

    assert [name for name, lines in quiet.items() if lines] == []
    assert {name for name, lines in loud.items() if lines} == SHOWING
    with heard(AUDIT) as said:
        for path, query in (
            ("/v1/changes", {"subject": KEY, "valid_after": "2025-01-01"}),
            ("/v1/history", {"subject": KEY, "periods": "true"}),
        ):
            answer(world.client.get(path, params={**SCOPE, **query}, headers=headers))
    assert [line["route"] for line in documents(said)] == ["/v1/changes", "/v1/history"]
    for shown in loud.values():
        for line in shown:
            assert (line["tenant"], line["principal"]) == ("acme", "ann")
            assert (line["namespace"], line["purpose"], line["predicate"]) == ("notes", "health", "note")
            assert line["subjects"] == [world.ids["entities"]]
            assert line["request_id"].startswith("req_")
            assert line["route"] in {route.path for route in GUARDED}


def test_only_what_is_sensitive_is_audited_and_an_answer_that_is_there_already_is_not_again(api: Api) -> None:
    api.write(fact("mira", "note", "x"), fact("mira", "diagnosis", "y"), fact("jonas", "diagnosis", "z"))
    pack = {"pack": "mine", "predicates": {"diagnosis": {"sensitive": True}}}
    answer(api.client.put("/v1/ontology", json=pack))
    with heard(AUDIT) as said:
        api.read("/v1/state", subject="mira", predicate="note")
    assert said.getvalue() == ""
    with heard(AUDIT) as said:
        api.read("/v1/state", predicate="diagnosis")
    assert [len(line["subjects"]) for line in documents(said)] == [2]
    tag = api.get("/v1/state", subject="mira", valid_at="2026-06-01").headers["etag"]
    with heard(AUDIT) as said:
        again = api.client.get("/v1/state?subject=mira&valid_at=2026-06-01", headers={"If-None-Match": tag})
    assert (again.status_code, said.getvalue()) == (304, "")
    assert measured(api)["vigencia_sensitive_reads_total"] == 2


def test_the_current_state_that_a_stale_writer_is_shown_is_audited(api: Api) -> None:
    api.write(fact("mira", "diagnosis", "y"))
    answer(api.client.put("/v1/ontology", json={"pack": "m", "predicates": {"diagnosis": {"sensitive": True}}}))
    with heard(AUDIT) as said:
        stale = fact("mira", "diagnosis", "z", expected_version=9)
        problem(api.post("/v1/claims", {"items": [stale]}), 412, "version-changed")
    assert [line["route"] for line in documents(said)] == ["/v1/claims"]


def test_what_came_of_an_episode_is_audited_wherever_it_is_shown(api: Api) -> None:
    pack = {"datatype": "text", "sensitive": True, "patterns": ["{subject} suffers from {value}"]}
    answer(api.client.put("/v1/ontology", json={"pack": "m", "predicates": {"diagnosis": pack}}))
    session = answer(api.post("/v1/sessions", {}))["id"]
    answer(api.post(f"/v1/sessions/{session}/notes", {"notes": [{"text": f"Mira suffers from {MARKER}."}]}))
    api.post(f"/v1/sessions/{session}/end", {})
    assert make_worker(api.services).work_off()
    operation = api.read(f"/v1/sessions/{session}")["operations"][0]
    for method, path in (
        ("GET", f"/v1/operations/{operation}"), ("GET", "/v1/operations?state=done"),
        ("GET", f"/v1/sessions/{session}"), ("POST", f"/v1/sessions/{session}/end"),
    ):  # fmt: skip
        with heard(AUDIT) as said:
            assert MARKER in str(answer(api.client.request(method, path)))
        (line,) = documents(said)
        assert (line["predicate"], len(line["subjects"])) == ("diagnosis", 1), path
        assert MARKER not in said.getvalue()


def test_a_registry_may_be_handed_in(world: World) -> None:
    registry = CollectorRegistry()
    with TestClient(create_app(world.services, registry)) as client:
        client.get("/healthz")
    assert (
        registry.get_sample_value("vigencia_requests_total", {"method": "GET", "route": "/healthz", "status": "200"})
        == 1
    )


# ---- the end


class Slow:
    """Reads nothing, and takes until it is let go."""

    def __init__(self) -> None:
        self.has_begun, self.may_end = threading.Event(), threading.Event()

    def version(self, schema: Schema) -> str:
        return "slow 1"

    def read(self, text: EpisodeText, schema: Schema, known: KnownFacts) -> Extraction:
        self.has_begun.set()
        self.may_end.wait(60)
        return Extraction(candidates=(), notes=())


@pytest.mark.parametrize(("seconds", "state"), [(60.0, State.DONE), (0.0, State.RUNNING)])
def test_the_end_waits_for_the_episode_at_hand_as_long_as_is_set(tmp_path: Path, seconds: float, state: State) -> None:
    slow, scope = Slow(), scope_of("default")
    settings = read_settings(store=f"sqlite:///{tmp_path / 'slow.db'}", drain_seconds=seconds)
    opened = open_services(settings, reads=slow)
    with working(opened) as services:
        recorded: Any = services.recorder.record(scope, "person", [NewEpisode(text="x")]).receipt["items"]
        services.wake_worker()
        assert slow.has_begun.wait(60)
        threading.Timer(0.5 if seconds else 5, slow.may_end.set).start()
        services.drain.begin()
    assert opened.store.queue.operation(scope, recorded[0]["operation"]).state is state
    assert slow.may_end.is_set() is (state is State.DONE)
    slow.may_end.set()
    assert services.worker is not None
    assert services.worker.stop(60)
    opened.close()
