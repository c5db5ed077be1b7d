"""Does a server that embeds get what it wants, and is what it answers checked? Against a real one on this machine."""

from collections.abc import Iterator

import numpy as np
import pytest

from graph.embedders import NoVector
from graph.http_embedder import ANSWER_BYTES_MAX, ATTEMPTS, HttpEmbedder
from ontology.errors import Incorrect, Unavailable
from tests.embedding import DIMENSIONS, HashingEmbedder
from tests.embedding_server import Answer, EmbeddingServer, answer

SECRET = "a text that stands in no message"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer().running() as server:
        yield server


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def embedder(server: EmbeddingServer, slept: list[float]) -> Iterator[HttpEmbedder]:
    embedder = HttpEmbedder("small", url=server.url, key=None, seconds=20, batch=3, sleep=slept.append)
    yield embedder
    embedder.close()


def test_texts_are_embedded_in_batches_and_come_back_in_their_order(
    server: EmbeddingServer, embedder: HttpEmbedder
) -> None:
    texts = [f"text {n}" for n in range(7)]
    rows = embedder.embed(texts)
    assert np.allclose(rows, HashingEmbedder().embed(texts))
    assert [len(request["input"]) for request in server.requests] == [3, 3, 1]
    assert set(server.paths) == {"/v1/embeddings"}
    assert {(request["model"], request["encoding_format"]) for request in server.requests} == {("small", "float")}
    assert server.keys == [None] * 3


def test_the_key_and_the_name_of_the_model_are_sent(server: EmbeddingServer) -> None:
    embedder = HttpEmbedder("small", url=f"{server.url}/", key="s3cret", seconds=20, batch=8)
    model = embedder.model()
    embedder.close()
    assert (model.name, model.dimensions, embedder.name) == ("openai:small", DIMENSIONS, "openai:small")
    assert (server.keys, server.paths) == (["Bearer s3cret"], ["/v1/embeddings"])


def test_texts_and_questions_get_what_the_model_wants_before_them(server: EmbeddingServer) -> None:
    prefixed = HttpEmbedder(
        "e5", url=server.url, key=None, seconds=20, batch=8, text_prefix="passage: ", question_prefix="query: "
    )
    prefixed.embed(["a", "b"])
    assert prefixed.embed_question("c").shape == (1, DIMENSIONS)
    prefixed.close()
    assert [request["input"] for request in server.requests] == [["passage: a", "passage: b"], ["query: c"]]
    assert prefixed.name.startswith("openai:e5#")
    assert prefixed.name != HttpEmbedder("e5", url=server.url, key=None, seconds=1, batch=1, text_prefix="p").name


def test_the_index_of_a_row_counts_and_not_its_place(server: EmbeddingServer, embedder: HttpEmbedder) -> None:
    server.answers.append(answer([[1.0, 0.0], [0.0, 1.0]], backwards=True))
    assert embedder.embed(["a", "b"]).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_half_characters_and_no_texts_at_all_are_no_matter(server: EmbeddingServer, embedder: HttpEmbedder) -> None:
    assert embedder.embed(["a \ud800 b"]).shape == (1, DIMENSIONS)
    assert embedder.embed([]).shape[0] == 0
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_what_may_pass_is_tried_again(
    status: int, server: EmbeddingServer, embedder: HttpEmbedder, slept: list[float]
) -> None:
    server.answers += [Answer(status=status), Answer(status=status, headers={"Retry-After": "2"})]
    assert embedder.embed(["a"]).shape == (1, DIMENSIONS)
    assert slept == [0.25, 2]


def test_after_some_attempts_it_is_told_and_when_to_come_again(
    server: EmbeddingServer, embedder: HttpEmbedder, slept: list[float]
) -> None:
    server.answers += [Answer(status=503)] * ATTEMPTS
    with pytest.raises(Unavailable, match="answered 503"):
        embedder.embed([SECRET])
    assert len(server.requests) == ATTEMPTS

    server.answers.append(Answer(status=429, headers={"Retry-After": "30"}))
    with pytest.raises(Unavailable) as raised:
        embedder.embed([SECRET])
    assert (raised.value.retry_after, len(server.requests)) == (30, ATTEMPTS + 1)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_texts_that_are_refused_are_the_texts_fault(
    status: int, server: EmbeddingServer, embedder: HttpEmbedder
) -> None:
    server.answers.append(Answer(status=status, body=SECRET.encode()))
    with pytest.raises(Incorrect) as raised:
        embedder.embed([SECRET])
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Answer(status=401), "VIGENCIA_EMBEDDER_KEY"),
        (Answer(status=404), "'small'"),
        (Answer(status=307, headers={"Location": "http://127.0.0.1:9/"}), "answered 307"),
        (Answer(status=204), "answered 204"),
        (Answer(body=b"<html>" + SECRET.encode()), "no list of embeddings"),
        (Answer(body=b"[]"), "no list of embeddings"),
        (Answer(body=b'{"data": {}}'), "no list of embeddings"),
        (Answer(body=b'{"data": [{"index": 0}, {"index": 1}]}'), "no list of embeddings"),
        (Answer(body=b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}'), "no list"),
        (Answer(body=b'{"data": [{"index": "a", "embedding": [1]}, {"index": 0, "embedding": [2]}]}'), "no list"),
        (answer([[1.0, 2.0]]), "1 rows for 2 texts"),
        (answer([[1.0, 2.0]] * 3), "3 rows for 2 texts"),
        (answer([[1.0, 2.0], [1.0]]), "not numbers of one length"),
        (answer([SECRET, SECRET]), "not numbers"),
    ],
)
def test_what_is_no_answer_is_told_by_what_is_wrong_with_it(
    given: Answer, told: str, server: EmbeddingServer, embedder: HttpEmbedder
) -> None:
    server.answers.append(given)
    with pytest.raises(Unavailable) as raised:
        embedder.embed([SECRET, "b"])
    assert told in str(raised.value)
    assert SECRET not in str(raised.value)
    assert raised.value.slug == "embedder-unavailable"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("row", "told"), [([1.0, None], "not finite"), ([1e300, 1.0], "not finite"), ([0.0, 0.0], "zeros alone")]
)
def test_what_is_no_vector_is_told_and_not_asked_again(
    row: list[float], told: str, server: EmbeddingServer, embedder: HttpEmbedder
) -> None:
    server.answers.append(answer([row, [1.0, 2.0]]))
    with pytest.raises(NoVector, match=told) as raised:
        embedder.embed([SECRET, "b"])
    assert embedder.name in str(raised.value)
    assert SECRET not in str(raised.value)
    assert len(server.requests) == 1


def test_dimensions_that_change_between_two_batches_are_refused(
    server: EmbeddingServer, embedder: HttpEmbedder
) -> None:
    server.answers += [answer([[1.0, 0.0]] * 3), answer([[1.0, 0.0, 0.0]])]
    with pytest.raises(Unavailable, match="changed its dimensions"):
        embedder.embed(["a", "b", "c", "d"])


def test_an_answer_without_an_end_is_not_read_to_it(server: EmbeddingServer, embedder: HttpEmbedder) -> None:
    server.answers.append(Answer(body=b" " * (ANSWER_BYTES_MAX + 1)))
    with pytest.raises(Unavailable, match="VIGENCIA_EMBEDDER_BATCH"):
        embedder.embed(["a"])


def test_one_that_is_slow_or_away_is_told_in_time(server: EmbeddingServer, slept: list[float]) -> None:
    server.answers += [Answer(after_seconds=1)] * ATTEMPTS
    slow = HttpEmbedder("small", url=server.url, key=None, seconds=0.05, batch=3, sleep=slept.append)
    with pytest.raises(Unavailable, match=r"within 0\.05 s"):
        slow.embed(["a"])
    slow.close()
    away = HttpEmbedder("small", url="http://127.0.0.1:9/v1", key=None, seconds=20, batch=3, sleep=slept.append)
    with pytest.raises(Unavailable, match="cannot be reached"):
        away.embed(["a"])
    away.close()


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/v1", "http://[::1/v1", "nonsense"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    wrong = HttpEmbedder("small", url=url, key=None, seconds=20, batch=3)
    with pytest.raises(Unavailable, match="VIGENCIA_EMBEDDER_URL"):
        wrong.embed(["a"])
    wrong.close()
