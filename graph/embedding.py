"""Using an embedder that may fail: not again at once, never for longer than a question waits, and no text lost.

A text that a model will not take is tried shorter, and then has a vector of zeros, which is near to nothing: it is
found by its words, and keeps no other from being embedded. One that it took, and gave no vector for, has none; without
a word in it (`☕ ☕`) it has zeros too, since trying again would never end.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

import numpy as np

from graph.aside import Aside, Late
from graph.embedders import Embedder, NoVector, Rows, unavailable
from graph.searching import Model, Models, TextKey, Vector, text_key
from graph.terms import words
from ontology.errors import Incorrect, Unavailable, shown

TEXT_CHARS_MAX: Final = 4_000
"""What is embedded of a longer text is its beginning."""
_SHORTER: Final = (1_000, 250)
"""How much is tried of a text that is refused."""
_PROBE: Final = "a text that every model takes"
BACKOFF_SECONDS: Final = 1.0
BACKOFF_SECONDS_MAX: Final = 60.0
QUESTIONS_KEPT: Final = 1_000
QUESTION_SECONDS: Final = 300.0
"""For how long the vector of a question is kept: it may be of words that are forgotten meanwhile."""

T = TypeVar("T")

log = logging.getLogger("vigencia.graph.embedding")


class TextAlone(StrEnum):
    """Why a question is answered without vectors."""

    NO_EMBEDDER = "no_embedder"
    NO_VECTORS = "no_vectors"
    OTHER_MODEL = "other_model"
    EMBEDDER_AWAY = "embedder_away"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as a vector, where it has one."""

    vector: Vector | None
    model: str | None
    """Whose vector it is: those of this model are searched."""
    text_alone: TextAlone | None
    """Why there is none."""
    detail: str
    """The same for people, with what to do."""


class PatientEmbedder:
    """An embedder that is left alone for a while once it failed, and that remembers questions. Itself an `Embedder`."""

    def __init__(self, embedder: Embedder, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._embedder = embedder
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._failures = 0
        self._again_at = 0.0
        self._fault: Unavailable | None = None
        self._known: Model | None = None
        self._questions: OrderedDict[TextKey, tuple[Vector, float]] = OrderedDict()
        """With the time of each, oldest first."""
        self._aside = Aside("embedding a question")

    @property
    def name(self) -> str:
        return self._embedder.name

    def close(self) -> None:
        self._embedder.close()

    @property
    def known(self) -> Model | None:
        """The model, once it was asked."""
        return self._known

    def model(self) -> Model:
        if self._known is None:
            try:
                self._known = self._ask(self._embedder.model)
            except Incorrect as exc:
                raise self._hopeless(exc) from exc
        return self._known

    def embed(self, texts: Sequence[str]) -> Rows:
        cut = [text[:TEXT_CHARS_MAX] for text in texts]
        return self._ask(lambda: self._embedder.embed(cut))

    def embed_question(self, text: str) -> Rows:
        return self._ask(lambda: self._embedder.embed_question(text[:TEXT_CHARS_MAX]))

    def embed_each(self, texts: Sequence[str]) -> list[Vector | None]:
        """The same, where others are not the matter: zeros for each text that is refused, `None` for one that was
        taken and got no vector. Raises `Unavailable`."""
        try:
            return [*self.embed(texts)]
        except Incorrect:
            zeros = np.zeros(self._probed().shape[1], dtype=np.float32)
        made: list[Vector | None] = []
        refused = 0
        for text in texts:
            try:
                made.append(self._shortened(text, lambda cut: self.embed([cut])))
            except NoVector:
                made.append(None if any(words(text)) else zeros)  # without a word it means nothing, today or later
            except Incorrect:
                made.append(zeros)
                refused += 1
        if refused:
            log.warning("the embedder %s refused %d of %d texts: words alone find them", self.name, refused, len(made))
        return made

    def fault(self) -> str | None:
        """Why it gives no vectors, if it did not when it was last asked."""
        fault = self._fault
        return None if fault is None else str(fault)

    @property
    def resting(self) -> bool:
        """Whether it failed a moment ago, and is not asked now."""
        return self._resting_for() is not None

    def question(self, text: str, seconds: float) -> Vector:
        """The vector of a question. Raises `Unavailable` where it cannot be had in so many seconds."""
        key = text_key(text)  # no question is kept in its words
        with self._lock:
            self._let_go()
            if (known := self._questions.get(key)) is not None:
                return known[0]
        if (fault := self._resting_for()) is not None:
            raise fault
        try:
            vector: Vector = self._aside.run(lambda: self._kept(key, text), seconds)
        except Late:
            raise unavailable(f"the embedder {shown(self.name)} did not answer within {seconds:g} s") from None
        return vector

    def _kept(self, key: TextKey, text: str) -> Vector:
        try:
            vector = self._shortened(text, self.embed_question)
        except NoVector as exc:
            raise unavailable(f"the embedder {shown(self.name)} gives no vector for the question") from exc
        except Incorrect as exc:
            raise unavailable(f"the embedder {shown(self.name)} refuses the question") from exc
        with self._lock:
            self._questions.pop(key, None)  # one that two asked at once stands by its last time
            self._questions[key] = vector, self._monotonic()
            while len(self._questions) > QUESTIONS_KEPT:
                self._questions.popitem(last=False)
        return vector

    def _let_go(self) -> None:
        """Of the questions that were kept long enough. Under the lock."""
        oldest = self._monotonic() - QUESTION_SECONDS
        while self._questions and next(iter(self._questions.values()))[1] <= oldest:
            self._questions.popitem(last=False)

    def _probed(self) -> Rows:
        try:
            return self.embed([_PROBE])
        except Incorrect as exc:
            raise self._hopeless(exc) from exc

    def _hopeless(self, exc: Incorrect) -> Unavailable:
        """It is not for these texts."""
        fault = unavailable(f"the embedder {shown(self.name)} refuses every text: {exc.message}", remedy=exc.remedy)
        self._failed(fault)
        return fault

    def _shortened(self, text: str, embed: Callable[[str], Rows]) -> Vector:
        """Of the text, or of its beginning where that alone is taken. Raises as the last attempt did."""
        lengths = (TEXT_CHARS_MAX, *(chars for chars in _SHORTER if chars < len(text)))
        for chars in lengths[:-1]:
            with suppress(Incorrect):
                vector: Vector = embed(text[:chars])[0]
                return vector
        shortest: Vector = embed(text[: lengths[-1]])[0]
        return shortest

    def _ask(self, ask: Callable[[], T]) -> T:
        if (fault := self._resting_for()) is not None:
            raise fault
        try:
            given = ask()
        except Unavailable as exc:
            self._failed(exc)
            raise
        with self._lock:
            self._failures, self._fault = 0, None
        return given

    def _resting_for(self) -> Unavailable | None:
        with self._lock:
            self._let_go()  # whoever indexes asks again and again
            fault = self._fault if self._monotonic() < self._again_at else None
        return None if fault is None else _anew(fault)

    def _failed(self, exc: Unavailable) -> None:
        with self._lock:
            seconds = min(BACKOFF_SECONDS * 2**self._failures, BACKOFF_SECONDS_MAX)
            self._failures = min(self._failures + 1, 16)
            seconds = max(seconds, min(float(exc.retry_after or 0), BACKOFF_SECONDS_MAX))
            self._again_at = self._monotonic() + seconds
            self._fault = _anew(exc)
        log.warning("no vectors for %.0f s: %s", seconds, exc.message)


def ask(embedder: PatientEmbedder | None, models: Models, question: str, seconds: float) -> Asked:
    """A question as a vector of the model whose vectors are served, if there is one within so many seconds.

    Raises nothing: without a vector the question is answered by its words, and the answer says why.
    """
    if embedder is None:
        detail = "no embedder is set, so words alone are searched; VIGENCIA_EMBEDDER names one"
        return _alone(TextAlone.NO_EMBEDDER, detail)
    if models.serving is None:
        return _alone(TextAlone.NO_VECTORS, "no vector was made yet; a worker makes them")
    if models.serving.name != embedder.name:
        return _alone(TextAlone.OTHER_MODEL, other_model(models.serving.name, embedder.name))
    try:
        vector = embedder.question(question, seconds)
    except Unavailable as exc:
        return _alone(TextAlone.EMBEDDER_AWAY, str(exc))
    if len(vector) != models.serving.dimensions:
        detail = other_dimensions(embedder.name, len(vector), models.serving.dimensions)
        return _alone(TextAlone.OTHER_MODEL, detail)
    return Asked(vector=vector, model=embedder.name, text_alone=None, detail="")


def other_model(serving: str, ours: str) -> str:
    return (
        f"the vectors are of the model {shown(serving)}, the embedder here is {shown(ours)}; "
        "switch with `vigencia reembed`, or set the embedder that made them"
    )


def other_dimensions(name: str, ours: int, recorded: int) -> str:
    return (
        f"the embedder {shown(name)} gives {ours} dimensions, and its vectors here have {recorded}: another model has "
        "this name; set VIGENCIA_EMBEDDER to the one that made them, or give the other a name of its own"
    )


def _anew(fault: Unavailable) -> Unavailable:
    """The same to raise again: one that was raised holds all that was at hand where it was, texts too."""
    return unavailable(fault.message, remedy=fault.remedy, retry_after=fault.retry_after)


def _alone(why: TextAlone, detail: str) -> Asked:
    return Asked(vector=None, model=None, text_alone=why, detail=detail)


_conforms: type[Embedder] = PatientEmbedder
