"""In which order the hits of a search are given, and why. Pure.

The lists in which a hit was found are fused by rank (reciprocal rank fusion: Cormack, Clarke, Büttcher 2009, k = 60),
since the scores of words, of vectors and of distances do not compare. What comes out is between 0 and 1, where 1 is to
be the first of every list; then come factors, none of which takes away more than its share: how long ago it began to
hold, how well it is supported, whether it is certain, how far it is trusted.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from ontology.claims import Trust
from ontology.instants import DAY, Instant

K: Final = 60
"""Of the fusion: the larger, the less the first places count."""
FLOOR: Final = 0.2
"""Of all-MiniLM-L6-v2, and of models that were made as it was, texts that have nothing to do with each other lie about
0 and up to here. A model that puts all texts near each other, as those of the family E5 do, has little of it."""
_TRUST_MAX: Final = max(Trust)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What counts how much."""

    name: str
    text: float
    """The weight of the list by words; those of meaning and of distance follow. At least 0."""
    vector: float
    graph: float
    floor: float
    """Below this cosine a vector is near by chance, and no hit: with any question something is nearest."""
    recency: float
    """How much of a score age alone can take away, in `[0, 1)`; the same of what is doubted, possible, not trusted."""
    half_life_days: int
    """After so long half of the share of recency is gone."""
    confidence: float
    certainty: float
    trust: float


BALANCED: Final = Policy(
    name="balanced", text=1.0, vector=1.0, graph=0.5, floor=FLOOR, recency=0.02, half_life_days=180, confidence=0.05,
    certainty=0.05, trust=0.05,
)  # fmt: skip
WORDS: Final = Policy(
    name="words", text=1.0, vector=0.0, graph=0.0, floor=FLOOR, recency=0.0, half_life_days=180, confidence=0.0,
    certainty=0.0, trust=0.0,
)  # fmt: skip
MEANING: Final = Policy(
    name="meaning", text=0.25, vector=1.0, graph=0.25, floor=FLOOR, recency=0.02, half_life_days=180, confidence=0.05,
    certainty=0.05, trust=0.05,
)  # fmt: skip
RECENT: Final = Policy(
    name="recent", text=1.0, vector=1.0, graph=0.5, floor=FLOOR, recency=0.5, half_life_days=30, confidence=0.05,
    certainty=0.05, trust=0.05,
)  # fmt: skip
RECIPES: Final[Mapping[str, Policy]] = MappingProxyType(
    {policy.name: policy for policy in (BALANCED, WORDS, MEANING, RECENT)}
)
"""The policies that a caller may name."""


class Tier(IntEnum):
    """Whether what was found holds: what is greater never comes before what is less."""

    CURRENT = 0
    """It holds at the asked instants; what was said in an episode was said."""
    OTHER = 1
    """It is believed, and holds at another time."""
    HELD = 2
    """It is kept, and not believed yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What was found in some list, and what is known of it."""

    id: str
    pool: str
    """Scores compare, and ranks are given, among those of one pool and tier: facts, say, or episodes."""
    tier: Tier
    group: Hashable
    """Of what holds at another time: what is given together, the latest first, such as the versions of a slot."""
    holds_from: Instant
    recorded_from: Instant
    text: float | None
    """Its score by words, the higher the nearer; `None` where it was not found by them. So is `vector`."""
    vector: float | None
    distance: int | None
    """How many facts lie between it and what the question is near to; `None` where nobody asked, or it is far."""
    age: int
    """In microseconds, at least 0."""
    confidence: float
    certain: bool
    trust: Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The place in one list, and the score that gave it."""

    rank: int
    """From 1; equals share one."""
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a score is made of: the product of `fused` and the factors behind it."""

    text: Part | None
    vector: Part | None
    graph: Part | None
    fused: float
    recency: float
    confidence: float
    certainty: float
    trust: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    candidate: Candidate
    score: float
    """In `[0, 1]`, rounded to six digits; compares within one answer alone."""
    parts: Parts


def rank(candidates: Sequence[Candidate], policy: Policy) -> list[Ranked]:
    """All of them in the order in which they are given: by tier, score, recorded_from latest first, id.

    What holds at another time is given slot by slot, in the order of the best of each, the latest first within one.
    """
    pools: dict[tuple[Tier, str], list[Candidate]] = {}
    for each in candidates:
        pools.setdefault((each.tier, each.pool), []).append(each)
    scored = [ranked for members in pools.values() for ranked in _scored(members, policy)]
    best: dict[Hashable, tuple[float, int, str]] = {}
    for found in scored:
        if found.candidate.tier is Tier.OTHER:
            best[found.candidate.group] = min(best.get(found.candidate.group, _order(found)), _order(found))
    return sorted(scored, key=lambda each: _place(each, best))


def _place(each: Ranked, best: Mapping[Hashable, tuple[float, int, str]]) -> tuple[object, ...]:
    of = each.candidate
    if of.tier is not Tier.OTHER:
        return of.tier, _order(each)
    return of.tier, best[of.group], -of.holds_from, *_order(each)


def _order(each: Ranked) -> tuple[float, int, str]:
    return -each.score, -each.candidate.recorded_from, each.candidate.id


def _scored(members: Sequence[Candidate], policy: Policy) -> Iterable[Ranked]:
    texts = _ranks(members, lambda each: each.text)
    vectors = _ranks(members, lambda each: each.vector)
    graphs = _ranks(members, lambda each: None if each.distance is None else -each.distance)
    lists = [(policy.text, texts), (policy.vector, vectors), (policy.graph, graphs)]
    used = [(weight, ranks) for weight, ranks in lists if ranks and weight > 0]
    whole = sum(weight for weight, _ in used)
    for each in members:
        won = sum(weight * (K + 1) / (K + ranks[each.id].rank) for weight, ranks in used if each.id in ranks)
        parts = Parts(
            text=texts.get(each.id),
            vector=vectors.get(each.id),
            graph=graphs.get(each.id),
            fused=won / whole if used else 0.0,
            recency=1 - policy.recency * (1 - 0.5 ** (each.age / (policy.half_life_days * DAY))),
            confidence=1 - policy.confidence * (1 - each.confidence),
            certainty=1.0 if each.certain else 1 - policy.certainty,
            trust=1 - policy.trust * (1 - each.trust / _TRUST_MAX),
        )
        score = parts.fused * parts.recency * parts.confidence * parts.certainty * parts.trust
        yield Ranked(candidate=each, score=round(score, 6), parts=parts)


def _ranks(members: Sequence[Candidate], score: Callable[[Candidate], float | None]) -> dict[str, Part]:
    """The place of each that has a score; those with the same share the first of their places."""
    found = [(given, each.id) for each in members if (given := score(each)) is not None]
    found.sort(key=lambda pair: -pair[0])
    ranks: dict[str, Part] = {}
    rank, before = 0, None
    for place, (given, id) in enumerate(found, start=1):
        if given != before:
            rank, before = place, given
        ranks[id] = Part(rank=rank, score=given)
    return ranks
