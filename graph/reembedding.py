"""Another model instead of the one whose vectors are served: made beside them, text by text, then served in one step.

Until then the vectors of the model before are searched. Whoever is killed amid it begins again and goes on: what has a
vector has it. Texts that come meanwhile get theirs too, from this or from any worker that has the same embedder.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from graph.embedders import SLUG, unavailable
from graph.embedding import PatientEmbedder
from graph.indexing import Indexer
from graph.ports import MemoryStore
from graph.searching import Model
from ontology.errors import Conflict, Unavailable
from ontology.scope import Scope, Tenant

FAILURES_MAX: Final = 5
"""How often an embedder may fail, one time after the other, before it is given up; it is left alone in between."""
_LOOK_SECONDS: Final = 0.05

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reembedded:
    """What became of one tenant."""

    model: Model
    before: Model | None
    """Whose vectors were served before; the same where there was nothing to switch."""
    texts: int
    """That got a vector now."""


class Reembedding:
    """Switches tenants to the model of an embedder."""

    def __init__(
        self, *, store: MemoryStore, indexer: Indexer, embedder: PatientEmbedder,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:  # fmt: skip
        """`indexer` is one with this embedder."""
        self._store = store
        self._indexer = indexer
        self._embedder = embedder
        self._sleep = sleep

    def left(self, tenant: Tenant) -> int:
        """How many texts have no vector of the model yet, as far as they are known; at most 10,000 count of a scope."""
        left = 0
        for scope in self._store.scopes(tenant):
            with self._store.read(scope) as reader:
                left += reader.to_index(self._embedder.name).texts
        return left

    def reembed(self, tenant: Tenant, *, told: Callable[[int], object]) -> Reembedded | None:
        """Give every text of a tenant a vector of the model, then serve them; `None` where there is nothing at all.

        `told` hears how many more have one. Raises `Unavailable` where the embedder does not come back, or left a text
        without a vector, `Incorrect` where another model had its name, `Conflict` where somebody else began another
        model meanwhile, `Busy`; begun again, it goes on.
        """
        scopes = self._store.scopes(tenant)
        if not scopes:
            return None
        model = self._patiently(self._embedder.model)
        with self._store.write(scopes[0]) as tx:
            before = tx.models()
            if model != (before.target or before.serving):
                tx.begin_model(model)
        texts = sum(self._embed(scope, told) for scope in scopes)
        while (more := sum(self._embed(scope, told) for scope in self._store.scopes(tenant))) > 0:
            texts += more  # what was said meanwhile
        if (left := self._indexer.without_vector(tenant)) is not None:
            raise unavailable(
                f"nothing was switched, since each text has to have a vector first: {left}",
                remedy="begin again, which tries these texts alone, or name another model",
            )
        with self._store.write(scopes[0]) as tx:
            models = tx.models()
            if models.serving != model:
                if models.target != model:
                    raise Conflict("another model was begun meanwhile, and nothing was switched", remedy="begin again")
                tx.serve_model(model.name)
        return Reembedded(model=model, before=before.serving, texts=texts)

    def _embed(self, scope: Scope, told: Callable[[int], object]) -> int:
        self._indexer.write(scope)
        done, last = 0, None
        while (found := self._patiently(lambda: self._indexer.embed(scope))) and found != last:
            done, last = done + len(found), found
            told(len(found))
        return done

    def _patiently(self, ask: Callable[[], T]) -> T:
        for attempt in range(1, FAILURES_MAX + 1):
            while self._embedder.resting:
                self._sleep(_LOOK_SECONDS)
            try:
                return ask()
            except Unavailable as exc:
                if exc.slug != SLUG or exc.retry_after is None or attempt == FAILURES_MAX:
                    raise
        raise AssertionError("the last attempt returns or raises")
