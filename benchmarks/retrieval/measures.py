"""Hit@k, Recall@k and the reciprocal rank of rankings, with an interval by bootstrap over questions. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

CUTS: Final = (1, 5, 10)
RESAMPLES: Final = 2_000
LEVEL: Final = 95
SEED: Final = 20261130


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """Over questions, with the bounds of its interval."""

    value: float
    low: float
    high: float


def hit(ranking: Sequence[str], evidence: Collection[str], cut: int) -> float:
    """1 if any evidence is among the first `cut`."""
    return float(any(id in evidence for id in ranking[:cut]))


def recall(ranking: Sequence[str], evidence: Collection[str], cut: int) -> float:
    """The share of the evidence that is among the first `cut`."""
    return sum(id in evidence for id in ranking[:cut]) / len(evidence)


def reciprocal_rank(ranking: Sequence[str], evidence: Collection[str]) -> float:
    """1 / the place of the first evidence, 0 where there is none."""
    return next((1 / place for place, id in enumerate(ranking, start=1) if id in evidence), 0.0)


def measured(ranking: Sequence[str], evidence: Collection[str]) -> dict[str, float]:
    """Every measure of one ranking, by name; each id counts once, where it comes first."""
    once = list(dict.fromkeys(ranking))
    found = {f"Hit@{cut}": hit(once, evidence, cut) for cut in CUTS}
    found |= {f"Recall@{cut}": recall(once, evidence, cut) for cut in CUTS}
    return found | {"MRR": reciprocal_rank(once, evidence)}


def mean(values: Sequence[float]) -> Mean:
    """The mean, and between which bounds it lies in 95 of 100 resamples of the questions (Efron 1979, percentiles)."""
    given = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(SEED).integers(0, len(given), size=(RESAMPLES, len(given)))
    edge = (100 - LEVEL) / 2
    low, high = np.percentile(given[drawn].mean(axis=1), [edge, 100 - edge])
    return Mean(value=float(given.mean()), low=float(low), high=float(high))
