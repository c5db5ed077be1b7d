"""How much a principal may ask for in a minute, reads and writes apart (draft-ietf-httpapi-ratelimit-headers-11).

Counted in this process, in windows of a minute that begin with the first request of each. A batch counts by its items,
so that many small writes and a few big ones cost the same; one that is larger than all of a minute's share costs that.
"""

import math
import time
from typing import TYPE_CHECKING, Final

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from api.requests import Budget
from ontology.errors import RateLimited, shown

if TYPE_CHECKING:
    from api.auth.principals import Principal
    from api.settings import Settings

WINDOW_SECONDS: Final = 60


class Rates:
    """The shares of all principals. Safe to use from many threads."""

    def __init__(self, settings: "Settings") -> None:
        shares = {Budget.READ: settings.reads_per_minute, Budget.WRITE: settings.writes_per_minute}
        self._shares: dict[Budget, RateLimitItem] = {
            budget: RateLimitItemPerMinute(share) for budget, share in shares.items() if share
        }
        self._limiter = FixedWindowRateLimiter(MemoryStorage())

    def spend(self, principal: "Principal", budget: Budget, cost: int = 1) -> None:
        """Count a request, or so many items of it. Raises `RateLimited` where it is too much; then it costs nothing."""
        share = self._shares.get(budget)
        if share is None:
            return
        cost = min(cost, share.amount)
        whose = _whose(principal, budget)
        # looked at first: a hit that is refused would be counted
        if self._limiter.test(share, *whose, cost=cost) and self._limiter.hit(share, *whose, cost=cost):
            return
        raise RateLimited(
            f"{shown(principal.name)} may {budget.value} {share.amount} in a minute, and has done so",
            retry_after=self._reset(share, principal, budget),
        )

    def fields(self, principal: "Principal", budget: Budget) -> list[tuple[bytes, bytes]]:
        """The header fields that tell what is left; none where nothing is counted."""
        share = self._shares.get(budget)
        if share is None:
            return []
        left = self._limiter.get_window_stats(share, *_whose(principal, budget)).remaining
        policy = f'"{budget.value}";q={share.amount};w={WINDOW_SECONDS}'
        now = f'"{budget.value}";r={left};t={self._reset(share, principal, budget)}'
        return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", now.encode())]

    def _reset(self, share: RateLimitItem, principal: "Principal", budget: Budget) -> int:
        """In how many seconds the share is whole again."""
        at = self._limiter.get_window_stats(share, *_whose(principal, budget)).reset_time
        return max(1, math.ceil(at - time.time()))


def _whose(principal: "Principal", budget: Budget) -> tuple[str, str, str]:
    return budget.value, principal.tenant, principal.name
