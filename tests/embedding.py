"""An embedder without a model: texts that share words are near each other. It fails when it is told to."""

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from graph.embedders import Embedder, Rows, checked, unavailable
from graph.searching import Model
from graph.terms import terms
from ontology.errors import Incorrect

DIMENSIONS: Final = 64


class HashingEmbedder:
    """Each word is a direction that its hash says; a text is the sum of its words."""

    def __init__(self, name: str = "hashing", dimensions: int = DIMENSIONS) -> None:
        self._model = Model(name=name, dimensions=dimensions)
        self.asked: list[tuple[str, ...]] = []
        self.away = False
        self.refuses = "\0"
        """Texts with this in them are refused."""
        self.chars_max = 1_000_000
        """Longer texts are refused."""

    @property
    def name(self) -> str:
        return self._model.name

    def model(self) -> Model:
        if self.away:
            raise unavailable("the embedder is away")
        return self._model

    def embed(self, texts: Sequence[str]) -> Rows:
        self.asked.append(tuple(texts))
        if self.away:
            raise unavailable("the embedder is away")
        if any(self.refuses in text or len(text) > self.chars_max for text in texts):
            raise Incorrect("the embedder refuses one of these texts")
        rows = np.array([self._row(text) for text in texts]).reshape(len(texts), self._model.dimensions)
        return checked(rows, self.name, len(texts))

    def embed_question(self, text: str) -> Rows:
        return self.embed([text])

    def close(self) -> None:
        pass

    def _row(self, text: str) -> Rows:
        row = np.zeros(self._model.dimensions, dtype=np.float32)
        for term in terms(text):
            seed = int.from_bytes(hashlib.sha256(f"{self.name}/{term}".encode()).digest()[:8])
            row += np.random.default_rng(seed).standard_normal(self._model.dimensions, dtype=np.float32)
        return row


_conforms: type[Embedder] = HashingEmbedder
