"""Vectors of a server that speaks the embeddings protocol of OpenAI: text-embeddings-inference, Ollama, vLLM, others.

What such a server answers is data: sizes, order and numbers are checked, and no word of it, or of the texts, comes
into a message.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import httpx2
import numpy as np
import orjson

from graph.embedders import Embedder, Rows, checked, unavailable
from graph.searching import Model
from ontology.errors import Incorrect, Unavailable, shown

KIND: Final = "openai"
ATTEMPTS: Final = 3
PAUSE_SECONDS: Final = 0.25
"""Before the second attempt; twice as long before each one after it."""
PAUSE_SECONDS_MAX: Final = 5.0
"""Where a server wants a longer one, whoever asked comes again."""
ANSWER_BYTES_MAX: Final = 64 * 1024**2
_REFUSED: Final = frozenset({400, 413, 422})
"""The server will not have these texts."""
_BUSY: Final = frozenset({408, 409, 425, 429})


class HttpEmbedder:
    """The model of this name behind `{url}/embeddings`, asked for `batch` texts at once."""

    def __init__(
        self, model: str, *, url: str, key: str | None, seconds: float, batch: int,
        text_prefix: str = "", question_prefix: str = "", sleep: Callable[[float], object] = time.sleep,
    ) -> None:  # fmt: skip
        """`seconds` is how long one answer may take; the prefixes are what the model wants before a text, and before a
        question about texts."""
        self._asked = model
        self._prefixes = (text_prefix, question_prefix)
        self._url = f"{url.rstrip('/')}/embeddings"
        self._batch = batch
        self._sleep = sleep
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self._seconds = seconds
        self._lock = threading.Lock()
        self._opened: httpx2.Client | None = None
        self._model: Model | None = None

    @property
    def name(self) -> str:
        """With a mark of the prefix of texts, if there is one: with another one they have other vectors."""
        prefix = self._prefixes[0]
        mark = f"#{hashlib.sha256(prefix.encode()).hexdigest()[:8]}" if prefix else ""
        return f"{KIND}:{self._asked}{mark}"

    def model(self) -> Model:
        if self._model is None:
            self._model = Model(name=self.name, dimensions=self.embed(["one"]).shape[1])
        return self._model

    def embed(self, texts: Sequence[str]) -> Rows:
        if not texts:
            return np.empty((0, 1), dtype=np.float32)
        prefix, batch = self._prefixes[0], self._batch
        parts = [self._embed([prefix + text for text in texts[at : at + batch]]) for at in range(0, len(texts), batch)]
        if len({part.shape[1] for part in parts}) != 1:
            raise unavailable(f"the embedder {shown(self.name)} changed its dimensions between two answers")
        return np.concatenate(parts)

    def embed_question(self, text: str) -> Rows:
        return self._embed([self._prefixes[1] + text])

    def close(self) -> None:
        """Let go of the connections."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _embed(self, texts: Sequence[str]) -> Rows:
        sound = [text.encode("utf-8", "replace").decode() for text in texts]
        body = orjson.dumps({"model": self._asked, "input": sound, "encoding_format": "float"})
        pause = PAUSE_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._rows(self._post(body), len(sound))
            except Unavailable as exc:
                again = exc.retry_after
                if again is None or again > PAUSE_SECONDS_MAX or attempt == ATTEMPTS:
                    raise
                self._sleep(max(pause, again))
                pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _post(self, body: bytes) -> bytes:
        """The answer to one request. Raises `Incorrect` where the texts are refused, `Unavailable` for all else, with
        `retry_after` where another attempt may help."""
        try:
            with self._client.stream("POST", self._url, content=body, headers=self._headers) as response:
                self._check(response)
                return _read(response.iter_bytes(), self.name)
        except httpx2.TimeoutException as exc:
            raise unavailable(f"{self._who} did not answer within {self._seconds:g} s", retry_after=0) from exc
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as exc:
            raise unavailable(f"{self._who} has an address that cannot be used", remedy=_ADDRESS) from exc
        except httpx2.HTTPError as exc:
            raise unavailable(f"{self._who} cannot be reached: {type(exc).__name__}", retry_after=0) from exc

    def _check(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status == 200:
            return
        told = f"{self._who} answered {status}"
        if status in _REFUSED:
            raise Incorrect(f"{told}: it does not take these texts, or not for the model {shown(self._asked)}")
        if status in (401, 403):
            raise unavailable(told, remedy="give the key that it wants as VIGENCIA_EMBEDDER_KEY")
        if status == 404:
            raise unavailable(told, remedy=f"{_ADDRESS}; and it must have the model {shown(self._asked)}")
        if status in _BUSY or status >= 500:
            raise unavailable(told, retry_after=_seconds_of(response.headers.get("Retry-After")))
        raise unavailable(told, remedy=_ADDRESS)

    def _rows(self, answer: bytes, count: int) -> Rows:
        try:
            given = _numbers(orjson.loads(answer))
        except (ValueError, TypeError, KeyError) as exc:
            raise unavailable(f"{self._who} answered what is no list of embeddings", remedy=_ADDRESS) from exc
        return checked(given, self.name, count)

    @property
    def _who(self) -> str:
        return f"the embedder {shown(self.name)} at {shown(self._url, 200)}"

    @property
    def _client(self) -> httpx2.Client:
        with self._lock:
            if self._opened is None:
                self._opened = httpx2.Client(timeout=self._seconds, trust_env=False, follow_redirects=False)
            return self._opened


_ADDRESS: Final = "let VIGENCIA_EMBEDDER_URL be what comes before /embeddings, such as http://127.0.0.1:11434/v1"


def _read(parts: Iterable[bytes], name: str) -> bytes:
    whole = bytearray()
    for part in parts:
        whole += part
        if len(whole) > ANSWER_BYTES_MAX:
            raise unavailable(
                f"the embedder {shown(name)} answered with more than {ANSWER_BYTES_MAX:,} bytes",
                remedy="let VIGENCIA_EMBEDDER_BATCH be smaller",
            )
    return bytes(whole)


def _numbers(document: Any) -> list[Any]:
    """The vectors of an answer in the order of the texts. Raises where it is none."""
    data = document["data"]
    if not isinstance(data, list):
        raise TypeError
    places = [each.get("index", at) if isinstance(each, dict) else at for at, each in enumerate(data)]
    if sorted(places) != list(range(len(data))):
        raise ValueError
    return [each["embedding"] for _, each in sorted(zip(places, data, strict=True), key=lambda pair: pair[0])]


def _seconds_of(retry_after: str | None) -> int:
    """What a server wants to be left alone for, where it says so in seconds."""
    return int(retry_after) if retry_after is not None and retry_after.isdecimal() and len(retry_after) < 7 else 0


_conforms: type[Embedder] = HttpEmbedder
