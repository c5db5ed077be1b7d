"""What a search found, on the wire: each hit with what it is, whether it holds, and the parts of its score."""

from collections.abc import Sequence
from typing import assert_never

from api.sensitive import note
from api.wire import rendering
from api.wire.rendering import Wire
from graph.indexing import Indexed
from graph.ports import Reader
from graph.ranking import Part, Ranked
from graph.search import Found, FoundClaim, FoundFact, Item
from graph.searching import ChunkHit
from ontology.errors import JSON
from ontology.ids import EpisodeId
from ontology.instants import Instant
from ontology.schema import Schema


def found_wire(
    reader: Reader, schema: Schema, found: Found, indexed: Indexed, *, known_at: Instant, served_at: Instant
) -> Wire:
    """An answer but for its instants. What it shows is noted for the audit."""
    items = [item for item, _ in found.items]
    note_said(reader, items)
    versions = [item.fact.version for item in items if isinstance(item, FoundFact)]
    told = [item.told for item in items if isinstance(item, FoundClaim)]
    names = {**rendering.names_in(reader, versions), **rendering.names_told(reader, told)}
    heads = rendering.versions_of(reader, versions)

    def shown(item: Item) -> Wire:
        match item:
            case FoundFact(fact=fact, sentence=sentence, holds=holds):
                kind = schema.kind_of(fact.version.slot.predicate)
                row = rendering.fact(fact, names, heads, known_at, served_at)
                return {"type": "fact", "sentence": sentence, "holds": holds, "kind": kind.value, **row}
            case FoundClaim(told=each, sentence=sentence):
                rule = None if each.held is None else each.held.rule
                row = rendering.claim(each, names, served_at)
                return {"type": "claim", "sentence": sentence, "holds": "held", "rule": rule, **row}
            case ChunkHit():
                return _said(item)
            case _:
                assert_never(item)

    behind = indexed.to_index
    suppressed = found.suppressed
    return {
        "items": [{**shown(item), "score": ranked.score, "parts": _parts(ranked)} for item, ranked in found.items],
        "dropped_terms": list(found.dropped),
        "cut_terms": list(found.cut),
        "vectors": vectors_wire(found),
        "to_index": {
            "statements": behind.statements, "episodes": behind.episodes, "texts": behind.texts,
            "problem": indexed.problem,
        },
        "suppressed": {"earlier": suppressed.earlier, "later": suppressed.later, "more": suppressed.more},
        "truncated": {"by": list(found.truncated)} if found.truncated else None,
    }  # fmt: skip


def vectors_wire(found: Found) -> JSON:
    """Whether meaning was searched, from which cosine on it counts, and if not, why."""
    given = found.vectors
    return {
        "used": given.used, "reason": given.reason or None, "detail": given.detail or None, "floor": given.floor,
    }  # fmt: skip


def _said(hit: ChunkHit) -> Wire:
    recorded, chunk = hit.episode, hit.chunk
    observed_at = recorded.episode.observed_at
    return {
        "type": "episode",
        "holds": "now",
        "episode": chunk.episode,
        "turn": chunk.turn,
        "start": chunk.start,
        "end": chunk.end,
        "text": hit.text,
        "source": recorded.episode.source,
        "observed_at": None if observed_at is None else rendering.instant(observed_at),
        "recorded_at": rendering.instant(recorded.recorded_at),
        "trust": None if recorded.verbatim is None else recorded.verbatim.vouched.trust.word,
    }


def _parts(ranked: Ranked) -> Wire:
    parts = ranked.parts
    return {
        "text": _place(parts.text),
        "vector": _place(parts.vector),
        "graph": _place(parts.graph),
        "fused": round(parts.fused, 6),
        "recency": round(parts.recency, 6),
        "confidence": round(parts.confidence, 6),
        "certainty": round(parts.certainty, 6),
        "trust": round(parts.trust, 6),
    }


def _place(part: Part | None) -> JSON:
    return None if part is None else {"rank": part.rank, "score": round(part.score, 6)}


def note_said(reader: Reader, items: Sequence[Item]) -> None:
    """Note for the audit: an episode says word for word what the claims that cite it say."""
    for episode in dict.fromkeys(EpisodeId(item.chunk.episode) for item in items if isinstance(item, ChunkHit)):
        for told in reader.claims_of_episode(episode):
            note(told.claim.slot.subject, told.claim.slot.predicate)
