"""Vectors of a model that runs in this process, by sentence-transformers. Needs the extra `embeddings`."""

import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.embedders import Embedder, Rows, checked, unavailable
from graph.searching import Model
from ontology.errors import shown

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

KIND: Final = "sentence-transformers"
BATCH: Final = 64
_PARTS: Final = frozenset({".json", ".txt", ".model", ".safetensors", ".bin"})
"""What of a folder makes the model what it is."""
_READ_BYTES: Final = 1_000_000
"""How much of each end of a file counts: weights are large, and differ everywhere."""


class SentenceTransformersEmbedder:
    """The model in a folder, or of a name that sentence-transformers knows. It is loaded when it is first asked.

    A folder is never looked for elsewhere, so nothing is downloaded then; a name may be.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._loaded: SentenceTransformer | None = None
        self._model: Model | None = None

    @cached_property
    def name(self) -> str:
        """Of a folder its own name and what is in it, wherever it lies: many folders are named `model`."""
        folder = Path(self._place)
        if not folder.is_dir():
            return f"{KIND}:{self._place}"
        return f"{KIND}:{folder.resolve().name}-{_fingerprint(folder)}"

    def model(self) -> Model:
        if self._model is None:
            self._model = Model(name=self.name, dimensions=self.embed(["one"]).shape[1])
        return self._model

    def embed(self, texts: Sequence[str]) -> Rows:
        return self._embed(texts, are_questions=False)

    def embed_question(self, text: str) -> Rows:
        return self._embed([text], are_questions=True)

    def _embed(self, texts: Sequence[str], *, are_questions: bool) -> Rows:
        sound = [text.encode("utf-8", "replace").decode() for text in texts]
        with self._lock:
            model = self._load()
            encode = model.encode_query if are_questions else model.encode_document  # with the prompts of the model
            try:
                rows = encode(sound, batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False)
            except Exception as exc:  # whatever the code of a model raises, words still find what there is
                raise unavailable(f"the embedder {shown(self.name)} failed: {type(exc).__name__}") from exc
        return checked(rows if sound else np.empty((0, 1)), self.name, len(sound))

    def close(self) -> None:
        """Let go of the model."""
        with self._lock:
            self._loaded = None

    def _load(self) -> "SentenceTransformer":
        if self._loaded is not None:
            return self._loaded
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging as progress
        except ImportError as exc:
            raise unavailable(
                "embedding in this process needs the extra 'embeddings', which is not installed",
                remedy="install vigencia[embeddings], or let VIGENCIA_EMBEDDER name a server as 'openai:MODEL'",
            ) from exc
        progress.disable_progress_bar()
        is_here = Path(self._place).is_dir()
        try:
            self._loaded = SentenceTransformer(self._place, local_files_only=is_here)
        except Exception as exc:  # as above: a folder may hold anything
            where = "the folder holds none" if is_here else "there is no such folder, and none can be had of this name"
            told = f"the model {shown(self._place, 400)} cannot be loaded ({type(exc).__name__}): {where}"
            raise unavailable(told, remedy="let VIGENCIA_EMBEDDER name the folder of a model") from exc
        return self._loaded


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(each for each in folder.rglob("*") if each.suffix in _PARTS and each.is_file()):
        size = file.stat().st_size
        digest.update(f"{file.relative_to(folder).as_posix()}\0{size}\0".encode())
        with file.open("rb") as opened:
            digest.update(opened.read(_READ_BYTES))
            if size > _READ_BYTES:
                opened.seek(max(_READ_BYTES, size - _READ_BYTES))
                digest.update(opened.read(_READ_BYTES))
    return digest.hexdigest()[:12]


_conforms: type[Embedder] = SentenceTransformersEmbedder
