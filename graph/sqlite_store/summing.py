"""How what words add to passages is summed up in memory, where it is too much for a query; which are the best. Pure.

SQLite sorts postings to group them; above some tens of thousands that costs more than to read them as one text.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

NEVER: Final = -2.0
"""The score of what is not to be found: below that of everything else."""
PART_BITS: Final = 22
"""Below the key of a passage: what a term of weight 1 adds to it, in millionths."""
_SPARSE: Final = 8
"""Keys that lie so far apart, as a mean, are sorted rather than counted."""


class Summed:
    """Passages with the sum of what the words that they have add to them."""

    def __init__(self, words: Iterable[tuple[float, str]]) -> None:
        """Of each word its weight, and its parts as the query gives them: numbers with commas between."""
        keys: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        added: list[NDArray[np.float64]] = [np.empty(0, dtype=np.float64)]
        for weight, text in words:
            parts = np.fromstring(text, dtype=np.int64, sep=",")
            keys.append(parts >> PART_BITS)
            added.append((parts & ((1 << PART_BITS) - 1)).astype(np.float64) * (weight * 1e-6))
        self._passages, self._scores = _sums(np.concatenate(keys), np.concatenate(added))

    def best(self, count: int) -> list[tuple[int, float, None]]:
        rows = best(self._scores, self._passages, count)
        return [
            (pk, score, None)
            for pk, score in zip(self._passages[rows].tolist(), self._scores[rows].tolist(), strict=True)
        ]


def best(
    scores: NDArray[np.floating], passages: NDArray[np.int64], count: int
) -> NDArray[np.intp]:  # fmt: skip
    """Where the highest scores stand, in their order; of those that are as high the later passage comes first."""
    least = NEVER + 0.5
    if 0 < count < len(scores):
        least = max(least, float(np.partition(scores, len(scores) - count)[len(scores) - count]))
    chosen = np.flatnonzero(scores >= least)
    return chosen[np.lexsort((-passages[chosen], -scores[chosen]))][:count]


def _sums(keys: NDArray[np.int64], added: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if not len(keys):
        return keys, added
    low, span = keys.min(), int(keys.max() - keys.min()) + 1
    if span > _SPARSE * len(keys):
        passages, at = np.unique(keys, return_inverse=True)
        return passages, np.bincount(at, weights=added).astype(np.float64)
    found = np.flatnonzero(np.bincount(keys - low, minlength=span))
    return found + low, np.bincount(keys - low, weights=added, minlength=span)[found].astype(np.float64)
