"""Indexing and switching models by commands and by a server, with an embedding server on this machine."""

import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from api.settings import read_settings
from api.wiring import open_services, working
from consolidation.items import Assert
from graph.searching import ToIndex
from ontology.errors import Unavailable
from ontology.scope import scope_of
from tests.e2e.command_line import CommandLine
from tests.e2e.conftest import local_client
from tests.embedding import DIMENSIONS
from tests.embedding_server import Answer, EmbeddingServer

FACTS = 150


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer().running() as server:
        yield server


@pytest.fixture
def line(tmp_path: Path, server: EmbeddingServer) -> CommandLine:
    """A store with facts that nobody indexed, and the model `first` behind the server."""
    line = CommandLine(tmp_path)
    line.environment |= {"VIGENCIA_EMBEDDER": "openai:first", "VIGENCIA_EMBEDDER_URL": server.url}
    items = [
        {"op": "assert", "subject": {"key": f"p{n}"}, "predicate": "likes", "value": f"x{n}"} for n in range(FACTS)
    ]
    (tmp_path / "facts.jsonl").write_bytes(b"\n".join(map(orjson.dumps, items)))
    assert line("load", "facts.jsonl", "--quiet").code == 0
    return line


def checks(line: CommandLine) -> dict[str, tuple[str, str]]:
    return {each["check"]: (each["grade"], each["finding"]) for each in line("doctor", "--json").document["checks"]}


def test_a_worker_indexes_and_doctor_tells_how_far(line: CommandLine) -> None:
    before = checks(line)
    assert before["embedder"] == ("ok", f"openai:first, {DIMENSIONS} dimensions")
    assert before["search index"] == ("ok", f"{FACTS} statements, 0 episodes and 0 vectors are to be made")
    assert line("worker", "--drain").out == "0\n"
    after = checks(line)
    assert after["search index"] == ("ok", "0 statements, 0 episodes and 0 vectors are to be made")
    assert after["vectors served"] == ("ok", f"openai:first, {DIMENSIONS} dimensions")


def test_an_embedder_that_is_away_is_a_warning_and_words_are_indexed(
    line: CommandLine, server: EmbeddingServer
) -> None:
    server.answers += [Answer(status=503)] * 1_000
    assert line("worker", "--drain").code == 0
    done = line("doctor", "--json")
    found = checks(line)
    assert done.code == 0
    assert found["embedder"][0] == "warning"
    assert "answered 503" in found["embedder"][1]
    assert found["search index"] == ("ok", f"0 statements, 0 episodes and {FACTS} vectors are to be made")


def test_a_model_is_switched_and_until_then_the_mismatch_is_told(line: CommandLine) -> None:
    line("worker", "--drain")
    line.environment["VIGENCIA_EMBEDDER"] = "openai:second"
    grade, told = checks(line)["search model"]
    assert grade == "warning"
    assert "vigencia reembed" in told
    switched = {"tenant": "default", "model": "openai:second", "dimensions": DIMENSIONS, "before": "openai:first"}
    assert line("reembed", "--json").document == {"items": [{**switched, "texts": FACTS}]}
    assert checks(line)["vectors served"] == ("ok", f"openai:second, {DIMENSIONS} dimensions")
    assert "search model" not in checks(line)
    again = line("reembed", "--tenant", "default")
    assert again.rows[-1] == ["default", "openai:second", "openai:second", str(DIMENSIONS), "0"]


def test_one_that_is_killed_goes_on_where_it_was(line: CommandLine, server: EmbeddingServer) -> None:
    line("worker", "--drain")
    line.environment["VIGENCIA_EMBEDDER"] = "openai:second"
    begun = len(server.requests)
    # the model, then two requests for what is written together; the next one never ends
    plenty = [server.embedded(["one"]), *(server.embedded([f"t{n}" for n in range(32)]) for _ in range(2))]
    server.answers += [*plenty, Answer(after_seconds=60)]
    running = line.start("reembed", "--quiet")
    while len(server.requests) < begun + 4:
        assert running.process.poll() is None, running.said()
        time.sleep(0.02)
    running.stop()
    assert checks(line)["vectors being made"] == ("ok", f"openai:second, {DIMENSIONS} dimensions")
    assert checks(line)["vectors served"] == ("ok", f"openai:first, {DIMENSIONS} dimensions")
    [done] = line("reembed", "--json").document["items"]
    assert done["texts"] == FACTS - 64
    assert "vectors being made" not in checks(line)


def test_what_is_missing_is_told(line: CommandLine, server: EmbeddingServer) -> None:
    server.answers += [Answer(status=401)] * 10
    refused = line("reembed", "--json")
    assert (refused.code, refused.document["type"]) == (7, "/problems/embedder-unavailable")
    assert "VIGENCIA_EMBEDDER_KEY" in refused.document["remedy"]
    del line.environment["VIGENCIA_EMBEDDER_URL"]
    assert "VIGENCIA_EMBEDDER_URL" in line("reembed").err
    del line.environment["VIGENCIA_EMBEDDER"]
    nothing = line("reembed")
    assert (nothing.code, "VIGENCIA_EMBEDDER" in nothing.err) == (2, True)


def test_a_server_indexes_beside_what_it_serves_and_is_ready_without_its_embedder(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    scope, store = scope_of("default"), f"sqlite:///{tmp_path / 'served.db'}"
    opened = open_services(read_settings(store=store, embedder="openai:first", embedder_url=server.url))
    with working(opened) as services, local_client(services) as client:
        services.writer.write(scope, "tester", [
            Assert(subject={"key": "mira"}, predicate="likes", value="tea"),
        ])  # fmt: skip
        deadline = time.monotonic() + 120
        while services.indexer.standing(scope).to_index != ToIndex(statements=0, episodes=0, texts=0):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with services.store.read(scope) as reader:
            assert reader.models().serving is not None
        server.answers += [Answer(status=404)] * 3
        assert services.embedder is not None
        with pytest.raises(Unavailable):
            services.embedder.embed(["a"])
        ready = client.get("/readyz")
        assert ready.status_code == 200
        assert "answered 404" in ready.json()["checks"]["embedder"]
    opened.close()


def test_a_search_uses_the_server_and_does_without_it_when_it_is_away(tmp_path: Path, server: EmbeddingServer) -> None:
    store = f"sqlite:///{tmp_path / 'searched.db'}"
    opened = open_services(read_settings(store=store, embedder="openai:first", embedder_url=server.url))
    with local_client(opened) as client:
        for n, value in enumerate(("green tea", "black coffee")):
            item = Assert(subject={"key": f"p{n}"}, predicate="likes", value=value)
            opened.writer.write(scope_of("default"), "tester", [item])
        opened.indexer.work()

        assert opened.embedder is not None

        def vectors(text: str) -> tuple[bool, str | None]:
            found = client.post("/v1/search", json={"text": text})
            assert found.status_code == 200
            assert "likes green tea" in found.json()["items"][0]["sentence"]
            told = found.json()["vectors"]
            return told["used"], told["reason"]

        opened.embedder.question("green tea", 60)  # a search waits for a second at most, and finds it then
        asked = len(server.requests)
        assert vectors("green tea") == (True, None)
        assert len(server.requests) == asked
        server.answers += [Answer(status=401)] * 10
        assert vectors("some green tea") == (False, "embedder_away")
        assert vectors("green tea") == (True, None), "the vector of a question is kept"
    opened.close()
