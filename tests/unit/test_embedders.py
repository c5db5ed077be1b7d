"""Which embedder do the settings name, and is what is missing told?"""

import sys
from pathlib import Path

import pytest

from api.embedders import embedder_of
from api.settings import Settings
from graph.local_embedder import SentenceTransformersEmbedder
from ontology.errors import Incorrect, Unavailable


def settings(**given: object) -> Settings:
    return Settings.model_validate(given)


def test_without_a_setting_there_is_none() -> None:
    assert embedder_of(settings()) is None


def test_a_server_is_named_with_its_model_and_asked_for_nothing_yet() -> None:
    embedder = embedder_of(settings(embedder="openai:bge-m3:567m", embedder_url="http://127.0.0.1:9/v1"))
    assert embedder is not None
    assert (embedder.name, embedder.known, embedder.fault()) == ("openai:bge-m3:567m", None, None)
    embedder.close()


def test_a_server_without_its_address_is_refused() -> None:
    with pytest.raises(Incorrect, match="VIGENCIA_EMBEDDER_URL"):
        embedder_of(settings(embedder="openai:bge-m3"))


def test_a_folder_is_known_by_what_is_in_it_wherever_it_lies(tmp_path: Path) -> None:
    def name(place: str, config: str) -> str:
        folder = tmp_path / place / "model"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(config)
        (folder / "README.md").write_text(place)
        embedder = embedder_of(settings(embedder=f"sentence-transformers:{folder}"))
        assert embedder is not None
        return embedder.name

    first, copy, other = name("a", "{}"), name("b", "{}"), name("c", "{ }")
    assert first == copy != other
    assert first.startswith("sentence-transformers:model-")
    assert str(tmp_path) not in first


def test_weights_that_differ_at_their_end_are_another_model(tmp_path: Path) -> None:
    names = set()
    for last in (b"a", b"b"):
        folder = tmp_path / last.decode() / "model"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"w" * 3_000_000 + last)
        names.add(SentenceTransformersEmbedder(str(folder)).name)
    assert len(names) == 2


def test_without_the_extra_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    embedder = embedder_of(settings(embedder="sentence-transformers:all-MiniLM-L6-v2"))
    assert embedder is not None
    assert embedder.name == "sentence-transformers:all-MiniLM-L6-v2"
    with pytest.raises(Unavailable, match=r"vigencia\[embeddings\]"):
        embedder.model()
