"""What makes vectors of texts: a model in this process, or a server that is asked; and what their rows must be."""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from graph.searching import Model
from ontology.errors import Incorrect, Unavailable, shown

Rows = NDArray[np.float32]
"""A row for each text, of one dimension, each of length 1."""

SLUG: Final = "embedder-unavailable"
DIMENSIONS_MAX: Final = 8_192


class Embedder(Protocol):
    """Turns texts into vectors. Safe to use from many threads."""

    @property
    def name(self) -> str:
        """Of the model, as it is recorded with each vector; known without asking anybody."""
        ...

    def model(self) -> Model:
        """The model, with its dimensions. Raises `Unavailable` where it cannot be loaded or asked."""
        ...

    def embed(self, texts: Sequence[str]) -> Rows:
        """A row for each text, in their order, in batches of its own.

        Raises `Incorrect` where it will not take these texts, `NoVector` where a row of its is no vector, `Unavailable`
        for whatever else is the matter, with `retry_after` where that may pass by itself.
        """
        ...

    def embed_question(self, text: str) -> Rows:
        """One row for a question about such texts, which some models embed otherwise. Raises as `embed`."""
        ...

    def close(self) -> None: ...


class NoVector(Incorrect):
    """A model took these texts, and gave for one of them numbers that are not finite, or zeros alone."""


def unavailable(message: str, *, remedy: str = "", retry_after: int | None = None) -> Unavailable:
    """What an embedder raises that gives no vectors."""
    return Unavailable(message, slug=SLUG, remedy=remedy, retry_after=retry_after)


def checked(given: object, name: str, count: int) -> Rows:
    """What a model gave for `count` texts, each row made of length 1.

    Raises `Unavailable` where these are no rows, `NoVector` where one of them is no vector: it would be near to
    everything, or to nothing, for as long as it is kept.
    """
    model = f"the embedder {shown(name)}"
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as that
            rows = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as exc:
        raise unavailable(f"{model} gave rows that are not numbers of one length each") from exc
    if rows.ndim != 2 or rows.shape[0] != count:
        raise unavailable(f"{model} gave {len(rows) if rows.ndim else 0} rows for {count} texts")
    if not 1 <= rows.shape[1] <= DIMENSIONS_MAX:
        raise unavailable(f"{model} gave rows of {rows.shape[1]} numbers, 1 to {DIMENSIONS_MAX} are taken")
    if not np.isfinite(rows).all():
        raise NoVector(f"{model} gave numbers that are not finite")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, np.newaxis]
    if not (lengths > 0).all():
        raise NoVector(f"{model} gave zeros alone")
    made: Rows = np.divide(rows, lengths, dtype=np.float64).astype(np.float32)
    return made
