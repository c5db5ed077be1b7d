"""Who ranks the turns of a case for a question: a search by words, by meaning, by both, and a plain BM25."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import bm25s

from api.wiring import Services
from benchmarks.retrieval.cases import Case, Turn
from consolidation.episodes import NewEpisode
from graph.embedding import ask
from graph.ranking import BALANCED, WORDS, Policy
from graph.search import Sought, search
from graph.searching import ChunkHit
from graph.state import resolve_for
from ontology.errors import Unavailable
from ontology.scope import Scope, scope_of

DEPTH: Final = 50
"""So many turns of each ranking are looked at."""
PRINCIPAL: Final = "bench"
EMBEDDING_SECONDS: Final = 60.0
MEANING_ALONE: Final = replace(BALANCED, name="vector", text=0.0)
POLICIES: Final[Mapping[str, Policy]] = {"text": WORDS, "vector": MEANING_ALONE, "hybrid": BALANCED}

Ranker = Callable[[str], list[str]]
"""From a question to ids of turns, best first; one may come twice."""


def bm25(case: Case) -> Ranker:
    """The library as it comes: Lucene's BM25, k1 = 1.5, b = 0.75, lower case, English stop words left out."""
    index = bm25s.BM25()
    index.index(bm25s.tokenize([said(turn) for turn in case.turns], show_progress=False), show_progress=False)
    depth = min(DEPTH, len(case.turns))

    def ranked(question: str) -> list[str]:
        asked = bm25s.tokenize([question], show_progress=False)
        places, scores = index.retrieve(asked, k=depth, show_progress=False)
        return [case.turns[int(place)].id for place, score in zip(places[0], scores[0], strict=True) if score > 0]

    return ranked


def ours(services: Services, case: Case) -> dict[str, Ranker]:
    """The rankers that there are: without an embedder, by words alone. Each turn is an episode of its own.

    Raises `Unavailable` where the embedder does not make all vectors.
    """
    scope = scope_of("default", _namespace(case.name))
    turns: dict[str, str] = {}
    for start in range(0, len(case.turns), 100):
        batch = case.turns[start : start + 100]
        new = [NewEpisode(text=said(turn), session=turn.id) for turn in batch]  # else what is said twice is kept once
        receipt = services.recorder.record(scope, PRINCIPAL, new).receipt["items"]
        assert isinstance(receipt, list)
        turns |= {str(item["episode"]): turn.id for item, turn in zip(receipt, batch, strict=True)}
    services.indexer.index(scope)
    behind = services.indexer.standing(scope)
    if services.embedder is not None and behind.to_index.texts:
        raise Unavailable(f"{behind.to_index.texts} texts have no vector: {behind.problem}")
    names = POLICIES if services.embedder is not None else ["text"]
    return {name: _ranker(services, scope, turns, POLICIES[name]) for name in names}


def said(turn: Turn) -> str:
    """The words of a turn, with who said them."""
    return f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text


def _ranker(services: Services, scope: Scope, turns: Mapping[str, str], policy: Policy) -> Ranker:
    schema = services.writer.schema(scope)

    def ranked(question: str) -> list[str]:
        with services.store.read(scope) as reader:
            models = reader.models()
        meaning = ask(services.embedder, models, question, EMBEDDING_SECONDS)
        with services.store.read(scope) as reader:
            as_of = resolve_for(reader, services.clock.now(), None, None)
            sought = Sought(
                text=question, as_of=as_of, served_at=as_of.valid_at, limit=DEPTH, facts=False, episodes=True,
                kinds=frozenset(), predicates=frozenset(), about=(), near=(), history=False, held=False,
                policy=policy,
            )  # fmt: skip
            found = search(reader, schema, sought, meaning, lambda: time.monotonic() * 1000)
        return [turns[item.chunk.episode] for item in _chunks([item for item, _ in found.items])]

    return ranked


def _chunks(items: Sequence[object]) -> list[ChunkHit]:
    return [item for item in items if isinstance(item, ChunkHit)]


def _namespace(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c == "-") else "-" for c in name.lower())[:60]
