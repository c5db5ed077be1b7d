"""How well a value is supported: distinct roots, distinct episodes, and the noisy-or of their confidence."""

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from graph.ports import Transaction
from ontology.claims import Claim, Trust
from ontology.facts import Slot, Support
from ontology.instants import Instant
from ontology.values import ValueKey

PRIOR: Final[Mapping[Trust, float]] = {
    Trust.UNTRUSTED: 0.2, Trust.INFERRED: 0.5, Trust.OBSERVED: 0.7, Trust.CONFIRMED: 0.9, Trust.VERIFIED: 0.97,
}  # fmt: skip
"""The confidence of a claim whose source gives none."""


class Statement(NamedTuple):
    """One standing claim, as far as support needs it."""

    root: str
    occasion: object
    """The episode, or the claim itself where it cites none."""
    confidence: float
    echo: bool
    """Whether it is no occasion of its own."""


def statement(claim: Claim) -> Statement:
    return Statement(claim.root, claim.episode or claim.id, claim.confidence, claim.echo)


def recount(slot: Slot, value: ValueKey, statements: Iterable[Statement], now: Instant) -> Support:
    """The support that standing claims give, counted from nothing."""
    best: dict[str, float] = {}
    occasions: set[object] = set()
    for root, occasion, confidence, echo in statements:
        best[root] = max(best.get(root, 0.0), confidence)
        if not echo:
            occasions.add(occasion)
    doubt = math.prod(1.0 - best[root] for root in sorted(best))
    return Support(
        slot=slot, value_key=value, recorded_from=now, sources=len(best), occurrences=len(occasions), doubt=doubt
    )


def reinforce(tx: Transaction, now_held: Support, claims: Iterable[Claim], now: Instant) -> Support:
    """The support after more claims for a value; it reads only what their roots and episodes already said.

    A root that repeats itself adds nothing unless it is surer than before.
    """
    sources, occurrences, doubt = now_held.sources, now_held.occurrences, now_held.doubt
    best: dict[str, float | None] = {}
    occasions: dict[object, bool] = {}
    for claim in claims:
        root, occasion, confidence, echo = statement(claim)
        if root not in best or occasion not in occasions:
            said, cited = tx.voice(now_held.slot, now_held.value_key, root, claim.episode)
            best.setdefault(root, said)
            occasions.setdefault(occasion, claim.episode is not None and cited)
        if not occasions[occasion] and not echo:
            occurrences += 1
            occasions[occasion] = True
        before = best[root]
        if before is None:
            sources += 1
            doubt *= 1.0 - confidence
        elif confidence > before:
            doubt = doubt / (1.0 - before) * (1.0 - confidence)
        best[root] = confidence if before is None else max(before, confidence)
    return Support(
        slot=now_held.slot, value_key=now_held.value_key, recorded_from=now,
        sources=sources, occurrences=occurrences, doubt=doubt,
    )  # fmt: skip
