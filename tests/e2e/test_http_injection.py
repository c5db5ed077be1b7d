"""Questions in the syntax of databases and search engines, through every route and tool that takes words. Over HTTP.

Each string of the corpus is asked as a question, a text, a name, a predicate and an id. No answer is a defect, and none
has what another tenant has, nor what another namespace has.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

import pytest

from consolidation.episodes import NewEpisode
from consolidation.items import Assert
from graph.embedding import PatientEmbedder
from graph.indexing import Indexer
from ontology.packs import load_core
from ontology.scope import scope_of
from tests.contract.test_search_injection import CORPUS, OURS, SECRET
from tests.e2e.conftest import Api, codes, local_client, problem
from tests.embedding import HashingEmbedder
from tests.sizes import scaled

HERE: Final = scope_of("default")
THEIRS: Final = (scope_of("zeta"), scope_of("default", "team"), scope_of("default", "default", "health"))
HIDDEN: Final = "zqxhidden"
"""In all that others have, and in no question."""
EVERY: Final = scaled(1, 7)
"""Of so many strings one is asked; each shape has five, of which none is always left out."""

Ask = Callable[[str], dict[str, Any]]


def _spelled(text: str) -> dict[str, Any]:
    return {"text": text, "predicates": [text], "include": ["history"]}


POSTED: Final[dict[str, tuple[str, Ask]]] = {
    "recall": ("/v1/recall", lambda text: {"question": text, "episodes": True, "tokens": 4_000}),
    "search": ("/v1/search", lambda text: {"text": text, "include": ["history"], "limit": 200}),
    "search under": ("/v1/search", _spelled),
    "search about": ("/v1/search", lambda text: {"text": OURS, "about": [text]}),
    "search near": ("/v1/search", lambda text: {"text": OURS, "near": [text]}),
    "state": ("/v1/state", lambda text: {"pairs": [{"subject": text}, {"subject": "it", "predicate": text}]}),
}
GOT: Final[dict[str, tuple[str, Ask]]] = {
    "components": ("/v1/analysis/components", lambda text: {"cursor": text}),
    "centrality": ("/v1/analysis/centrality", lambda text: {"measure": text}),
    "shortest": ("/v1/analysis/paths", lambda text: {"source": "it", "target": text}),
    "from there": ("/v1/analysis/paths", lambda text: {"source": text, "target": text}),
    "graph": ("/v1/analysis/graph", lambda text: {"format": text}),
    "graph of": ("/v1/analysis/graph", lambda text: {"namespace": text}),
    "neighbourhood": ("/v1/neighbourhood", lambda text: {"subject": text, "predicates": text}),
    "ways": ("/v1/paths", lambda text: {"subject": "it", "steps": text}),
    "profile": ("/v1/profiles/{}", lambda text: {"cursor": text}),
    "profile of": ("/v1/profiles/{}", lambda text: {}),
    "about": ("/v1/subjects/{}/about", lambda text: {}),
    "handoff": ("/v1/handoffs/{}", lambda text: {}),
}
CALLED: Final[dict[str, tuple[str, Ask]]] = {
    "tool recall": ("recall", lambda text: {"question": text}),
    "tool search": ("search", _spelled),
    "tool state": ("state", lambda text: {"subject": text, "predicate": text}),
    "tool history": ("history", lambda text: {"value": text, "predicate": text}),
    "tool diff": ("diff", lambda text: {"subject": text, "known_from": "2026-01-01"}),
    "tool why": ("why", lambda text: {"subject": text, "fact": text}),
    "tool handoff": ("handoff", lambda text: {"action": "read", "id": text}),
    "no tool": (OURS, lambda text: {text: text}),
}


@pytest.fixture
def world(api: Api) -> Iterator[Api]:
    """A tenant with one violet thing; another tenant, namespace and purpose with what is hidden."""
    services = api.services
    for scope, word in ((HERE, OURS), *((theirs, f"{SECRET} {OURS} {HIDDEN}") for theirs in THEIRS)):
        items = [
            Assert(subject="it", predicate="name", value=f"the {word} one"),
            Assert(subject="it", predicate="likes", value=f"{word} x"),
            Assert(subject="it", predicate="knows", value={"type": "entity", "key": f"{word} friend"}),
        ]
        services.writer.write(scope, "tester", items)
        services.recorder.record(scope, "tester", [NewEpisode(text=f"It is {word} and x.")])
    api.clock.advance(1_000_000)
    patient = PatientEmbedder(HashingEmbedder())
    indexer = Indexer(store=services.store, clock=services.clock, core=load_core(), embedder=patient)
    indexer.work()
    with local_client(replace(services, embedder=patient, indexer=indexer)) as client:
        yield Api(services, api.clock, client)


def test_no_question_is_a_defect_or_shows_what_others_have(world: Api) -> None:
    seen = Counter[str]()

    def judge(name: str, text: str, status: int, answered: str) -> None:
        assert status < 500, (name, text, answered)
        assert HIDDEN not in answered, (name, text, answered)
        seen[f"{status}"] += 1
        seen[f"{name} with rows"] += status == 200 and OURS in answered

    for text in CORPUS[::EVERY]:
        for name, (path, asks) in POSTED.items():
            answered = world.post(path, asks(text))
            judge(name, text, answered.status_code, answered.text)
        for name, (path, asks) in GOT.items():
            got = world.client.get(path.format(quote(text, safe="")), params=asks(text))
            judge(name, text, got.status_code, got.text)
        for name, (tool, asks) in CALLED.items():
            status, told = called(world, tool, asks(text))
            judge(name, text, status, told)
    print(f"{len(CORPUS[::EVERY])} strings, {sum(seen[s] for s in seen if s.isdigit())} requests: {dict(seen)}")
    for name in ("recall", "search", "tool recall"):
        assert seen[f"{name} with rows"] > len(CORPUS[::EVERY]) / 4, (name, seen)
    assert {"200", "400", "404"} <= set(seen)


def called(world: Api, tool: str, arguments: dict[str, Any]) -> tuple[int, str]:
    """The status that a tool's answer has as a route's, and the whole answer."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Accept": "application/json, text/event-stream"}
    answered = world.client.post("/mcp", json=body, headers=headers)
    assert answered.status_code == 200, answered.text
    document = json.loads(answered.text)
    if "error" in document:
        assert document["error"]["code"] == -32602, answered.text
        return 400, answered.text
    result = document["result"]
    return (result["structuredContent"]["status"] if result.get("isError") else 200), answered.text


@pytest.mark.parametrize(("path", "member"), [("/v1/recall", "question"), ("/v1/search", "text")])
def test_a_question_of_a_megabyte_is_refused_and_says_how_long_it_may_be(api: Api, path: str, member: str) -> None:
    refused = problem(api.post(path, {member: f"{OURS} " * 150_000}), 400, "invalid-request")
    ((where, code),) = codes(refused)
    assert (where, code) == (f"/{member}", "too_large")
    assert re.match(r"(8|20),000 characters are taken at most, got 1,050,000: ", refused["errors"][0]["detail"])
    assert len(json.dumps(refused)) < 2_000, "it does not say it all again"
