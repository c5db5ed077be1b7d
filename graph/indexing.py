"""Keeping the index of a store up to date: sentences of statements, chunks of episodes, vectors of both.

What is to be indexed the store knows (searching.py); here it is done, in steps that are small enough for a writer to
wait for. Each step is a transaction of its own, and says all that it says anew: two that index at once, or one that is
killed and begins again, do no harm. No text is embedded inside a transaction.
A store or an embedder that is away makes the index late, and fails no question: it is told beside the answer.
"""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from graph.aside import Aside, Late
from graph.chunks import chunks
from graph.embedders import SLUG as EMBEDDER_AWAY
from graph.embedding import PatientEmbedder, other_dimensions, other_model
from graph.naming import names_of
from graph.ports import Clock, Finding, Grade, MemoryStore
from graph.searching import Models, ToIndex
from graph.sentences import searched
from graph.state import resolve_for
from graph.unusable import Unusable
from ontology.errors import Busy, Unavailable, shown
from ontology.facts import ends
from ontology.schema import Schema
from ontology.scope import Scope, Tenant

STATEMENTS_AT_ONCE: Final = 200
EPISODES_AT_ONCE: Final = 8
TEXTS_AT_ONCE: Final = 64
SCOPES_MAX: Final = 1_000
"""Of one round over a store; the next round does the others."""
LITTLE: Final = 400
"""Up to so many statements and episodes a question waits for; more is left to a worker."""

log = logging.getLogger("vigencia.graph.indexing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """Where the index of a scope stands."""

    to_index: ToIndex
    """What is not found yet, or not by meaning."""
    problem: str | None
    """Why not, where it is not just a matter of time."""
    models: Models
    """Of the tenant, at that moment: a question that follows need not ask for them again."""


class Indexer:
    """Indexes what is to be indexed of a store. Safe to use from many threads."""

    def __init__(
        self, *, store: MemoryStore, clock: Clock, core: Schema, embedder: PatientEmbedder | None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`core` is the schema of a tenant that has none yet. Without an embedder there are no vectors."""
        self._store = store
        self._clock = clock
        self._core = core
        self._embedder = embedder
        self._unusable = None if embedder is None else Unusable(embedder.name, monotonic)
        self._aside = Aside("indexing before a question")

    # ---- from outside

    def index(self, scope: Scope, *, stopped: Callable[[], bool] = lambda: False) -> int:
        """Bring a scope up to date as far as that can be done now; gives how much was done.

        Raises `Busy` or `Unavailable` where the store does not answer. An embedder that is away only leaves texts
        without vectors.
        """
        return sum(self._repeat(step, scope, stopped) for step in (self._write, self._cut, self._embed))

    def work(self, *, stopped: Callable[[], bool] = lambda: False) -> int:
        """Bring every scope up to date as far as that can be done now; gives how much was done. Raises as `index`.

        What has no sentence or no chunks yet comes first, in every scope: it is not found at all.
        """
        done = 0
        for scope in self._store.scopes_to_index(None, limit=SCOPES_MAX):
            if not stopped():
                done += self.write(scope, stopped=stopped)
        if self._embedder is not None and not self._embedder.resting:
            for scope in self._store.scopes_to_index(self._embedder.name, limit=SCOPES_MAX):
                if not stopped():
                    done += self.index(scope, stopped=stopped)
        return done

    def write(self, scope: Scope, *, stopped: Callable[[], bool] = lambda: False) -> int:
        """Write the sentences and chunks of a scope alone; gives how many. Raises as `index`."""
        return self._repeat(self._write, scope, stopped) + self._repeat(self._cut, scope, stopped)

    def warm(self) -> None:
        """Load the model, or ask for it, before anybody waits for it. Raises nothing."""
        if self._embedder is not None:
            with suppress(Unavailable):  # the log has it
                self._embedder.model()

    def catch_up(self, scope: Scope, milliseconds: float) -> Indexed:
        """Index what was written a moment ago, and wait for it so long, before a question is asked of the scope.

        Where much is behind nobody waits for it. Raises `Busy` or `Unavailable` as any read does, and for nothing
        else: what cannot be indexed now is told. Not to be called inside a read or a write.
        """
        before = self.standing(scope)
        if not self._worth_it(before.to_index):
            return before
        until = time.monotonic() + milliseconds / 1000
        try:
            self._aside.run(lambda: self.index(scope, stopped=lambda: time.monotonic() > until), milliseconds / 1000)
        except Late:
            pass
        except (Busy, Unavailable) as exc:
            log.warning("indexing before a question stopped: %s", exc.slug)
            return replace(self.standing(scope), problem=exc.message)
        return self.standing(scope)

    def findings(self) -> list[Finding]:
        """What the embedder is, and whether it failed when it was last asked; nobody asks it for this."""
        if self._embedder is None:
            return [Finding(check="embedder", finding="none is set; words alone are searched")]
        if (fault := self._embedder.fault()) is not None:
            told = f"{fault}; texts without a vector are found by their words"
            return [Finding(check="embedder", finding=told, grade=Grade.WARNING)]
        known = self._embedder.known
        dimensions = "" if known is None else f", {known.dimensions} dimensions"
        return [Finding(check="embedder", finding=f"{self._embedder.name}{dimensions}")]

    def diagnosis(self, tenant: Tenant) -> list[Finding]:
        """The same once it was asked, and how far the memory of a tenant is indexed. Raises `Busy`, `Unavailable`."""
        self.warm()
        found = self.findings()
        scopes = self._store.scopes(tenant)
        standings = [self.standing(scope) for scope in scopes[:SCOPES_MAX]]
        behind = [standing.to_index for standing in standings]
        statements, episodes, texts = (
            sum(getattr(each, name) for each in behind) for name in ("statements", "episodes", "texts")
        )
        told = f"{statements:,} statements, {episodes:,} episodes and {texts:,} vectors are to be made"
        if len(scopes) > SCOPES_MAX:
            told += f", in the first {SCOPES_MAX:,} of {len(scopes):,} scopes"
        found.append(Finding(check="search index", finding=told))
        if scopes:
            with self._store.read(scopes[0]) as reader:
                models = reader.models()
            found += [
                Finding(check=name, finding=f"{model.name}, {model.dimensions} dimensions")
                for name, model in (("vectors served", models.serving), ("vectors being made", models.target))
                if model is not None
            ]
            if (problem := self._mismatch(models)) is not None:
                found.append(Finding(check="search model", finding=problem, grade=Grade.WARNING))
        return found

    def standing(self, scope: Scope) -> Indexed:
        """How far a scope is indexed, and why no further. Raises `Busy` or `Unavailable`."""
        with self._store.read(scope) as reader:
            models = reader.models()
            ours = None if self._embedder is None else self._embedder.name
            asked = models.serving.name if models.serving is not None and self._mismatch(models) else ours
            return Indexed(to_index=reader.to_index(asked), problem=self._problem(models, scope.tenant), models=models)

    # ---- how much at once

    def _worth_it(self, behind: ToIndex) -> bool:
        if behind.statements + behind.episodes > LITTLE:
            return False
        embeds = self._embedder is not None and not self._embedder.resting
        return bool(behind.statements or behind.episodes or (behind.texts and embeds))

    def _repeat(self, step: "Step", scope: Scope, stopped: Callable[[], bool]) -> int:
        """Take a step until it finds nothing to do, or only what it did just now: of that nothing came, then."""
        done, before = 0, None
        while not stopped() and (found := step(scope)):
            if found == before:
                return done - len(found)
            done, before = done + len(found), found
        return done

    # ---- the steps: each gives what it found to do

    def _write(self, scope: Scope) -> Sequence[object]:
        """Write sentences. They are made under the lock: a name that changed meanwhile would stay in them."""
        with self._store.read(scope) as reader:
            if not reader.unwritten(limit=1):
                return ()
        with self._store.write(scope) as tx:
            found = tx.unwritten(limit=STATEMENTS_AT_ONCE)
            schema = tx.schema() or self._core
            # by a clock that is behind, a name of the newest commit would be in none of them, and none is written again
            now = max(self._clock.now(), tx.head.recorded_at)
            named = [end for each in found for end in ends(each.slot, each.value)]
            names = names_of(tx, named, resolve_for(tx, now, None, None))
            tx.write_sentences([(statement, searched(statement, names, schema)) for statement in found])
        return found

    def _cut(self, scope: Scope) -> Sequence[object]:
        with self._store.read(scope) as reader:
            found = reader.uncut(limit=EPISODES_AT_ONCE)
            episodes = [reader.recorded_episode(id) for id in found]
        for id, recorded in zip(found, episodes, strict=True):
            cut = [] if recorded.verbatim is None else chunks(id, recorded.verbatim)
            with self._store.write(scope) as tx:
                tx.write_chunks(id, cut)
        return found

    def _embed(self, scope: Scope) -> Sequence[object]:
        try:
            return self.embed(scope)
        except Unavailable as exc:
            if exc.slug != EMBEDDER_AWAY:
                raise
            return ()  # it rests now, and says why

    def embed(self, scope: Scope) -> Sequence[object]:
        """Embed some texts of a scope for the model here, be it the serving one or the target; gives what it found.

        A text for which the model gives no vector that can be used is left as it was, and out of the next steps.
        Raises `Busy` or `Unavailable`, of the store, or of an embedder with the slug `embedder-unavailable`.
        """
        embedder, unusable = self._embedder, self._unusable
        if embedder is None or unusable is None:
            return ()
        left_alone = set(unusable.keys(scope.tenant))
        with self._store.read(scope) as reader:
            models = reader.models()
            texts = reader.unembedded(embedder.name, limit=TEXTS_AT_ONCE + len(left_alone))
        found = [(key, text) for key, text in texts if key not in left_alone][:TEXTS_AT_ONCE]
        if not found or self._mismatch(models) is not None:
            return ()
        model = embedder.model()
        rows = embedder.embed_each([text for _, text in found])
        if self._mismatch(models) is not None:
            return ()
        made = [(key, row) for (key, _), row in zip(found, rows, strict=True) if row is not None]
        with self._store.write(scope) as tx:
            if tx.models().serving is None:
                tx.begin_model(model)
            tx.write_vectors(model.name, made)
        if len(made) < len(found):
            unusable.add(scope.tenant, {key for key, _ in found} - {key for key, _ in made})
            log.warning("%s", unusable.told(scope.tenant))
        return found

    def without_vector(self, tenant: Tenant) -> str | None:
        """For which texts of a tenant the model gave no vector that can be used, for people; `None` where for all."""
        return None if self._unusable is None else self._unusable.told(tenant)

    def _mismatch(self, models: Models) -> str | None:
        """Why vectors of the embedder here are none that this tenant can use, if they are not."""
        if models.serving is None:
            return None
        if self._embedder is None:
            return f"vectors of the model {shown(models.serving.name)} are served, and no embedder is set here"
        ours = next(
            (each for each in (models.serving, models.target) if each and each.name == self._embedder.name), None
        )
        if ours is None:
            return other_model(models.serving.name, self._embedder.name)
        known = self._embedder.known
        if known is not None and known.dimensions != ours.dimensions:
            return other_dimensions(ours.name, known.dimensions, ours.dimensions)
        return None

    def _problem(self, models: Models, tenant: Tenant) -> str | None:
        fault = None if self._embedder is None else self._embedder.fault()
        return self._mismatch(models) or fault or self.without_vector(tenant)


Step = Callable[[Scope], Sequence[object]]
