"""What is counted and measured, for Prometheus: amounts and durations, never a word of memory.

Labels are routes as they are declared, problem types, results and rules: their number is bounded, whatever is asked.
"""

from collections.abc import Mapping
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from api.requests import Budget
from consolidation.forgetting.graves import FORGOTTEN
from consolidation.observing import Observer
from consolidation.policy import GUARDED
from consolidation.receipts import Result
from ontology.errors import JSON
from ontology.instants import SECOND, Instant
from ontology.operations import Backlog, State
from ontology.scope import Tenant

MEDIA_TYPE: Final = CONTENT_TYPE_LATEST
DONE: Final = "done"
_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_ITEMS: Final = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_TOKENS: Final = (100, 200, 300, 500, 750, 1000, 1500, 2000, 4000, 8000, 16000)
_CONFLICTS: Final = frozenset({"conflicting-claim", "version-changed", "already-decided"})


class Metrics:
    """The metrics of one server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double the number of series
        ProcessCollector(registry=registry)
        self._requests = Counter(
            "vigencia_requests", "Requests that are over.", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "vigencia_request_seconds", "How long requests took, by what they ask for.", ["kind", "route"],
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self._returned = Histogram(
            "vigencia_items_returned", "How many items a page of an answer has.", ["route"], buckets=_ITEMS,
            registry=registry,
        )  # fmt: skip
        self._packets = Histogram(
            "vigencia_packet_tokens", "How many tokens the text of a packet has.", buckets=_TOKENS, registry=registry
        )
        self._writes = Counter(
            "vigencia_writes", "Transactions by outcome: done, or the type of the problem.", ["outcome"],
            registry=registry,
        )  # fmt: skip
        self._refused = Counter("vigencia_refused", "Transactions that were refused or failed.", registry=registry)
        self._conflicts = Counter(
            "vigencia_conflicts", "Stale versions, and claims that would have unseated what is trusted more.",
            registry=registry,
        )  # fmt: skip
        self._results = Counter(
            "vigencia_results", "What became of items: created, superseded, quarantined and so on.", ["result"],
            registry=registry,
        )  # fmt: skip
        self._limited = Counter(
            "vigencia_rate_limited", "Requests beyond the share of their principal.", ["budget"], registry=registry
        )
        self._audited = Counter(
            "vigencia_sensitive_reads", "Answers with facts of sensitive predicates.", registry=registry
        )
        self._queue = Gauge("vigencia_queue_operations", "Operations by state.", ["state"], registry=registry)
        self._dead = Gauge("vigencia_dead_letters", "Operations that failed for good.", registry=registry)
        self._age = Gauge("vigencia_queue_age_seconds", "For how long the oldest is due.", registry=registry)
        self._store = Gauge("vigencia_store_up", "Whether the store answers.", registry=registry)
        self._streams = Gauge("vigencia_event_streams", "Event streams that are open.", registry=registry)
        self._writes.labels(DONE)  # what has not happened yet is 0, not absent
        for result in (*Result, FORGOTTEN):
            self._results.labels(str(result))
        for budget in Budget:
            self._limited.labels(budget.value)

    # ---- what happens

    def answered(self, method: str, route: str, kind: str, status: str, seconds: float | None) -> None:
        """A request is over; `seconds` is `None` for one that says nothing of how quick the server is."""
        self._requests.labels(method, route, status).inc()
        if seconds is not None:
            self._seconds.labels(kind, route).observe(seconds)

    def returned(self, route: str, items: int) -> None:
        """An answer has so many items."""
        self._returned.labels(route).observe(items)

    def packed(self, tokens: int) -> None:
        """A packet has so many tokens."""
        self._packets.observe(tokens)

    def limited(self, budget: str) -> None:
        self._limited.labels(budget).inc()

    def audited(self) -> None:
        self._audited.inc()

    def wrote(self, tenant: Tenant, receipt: Mapping[str, JSON]) -> None:
        self._writes.labels(DONE).inc()
        items = receipt.get("items")
        for item in items if isinstance(items, list) else ():
            self._item(item)

    def refused(self, slug: str) -> None:
        self._writes.labels(slug).inc()
        self._refused.inc()
        if slug in _CONFLICTS:
            self._conflicts.inc()

    def _item(self, item: Mapping[str, JSON]) -> None:
        result, promoted = item.get("result"), item.get("promoted")
        if isinstance(result, str):  # an episode that was recorded has none
            self._results.labels(result).inc()
        if isinstance(promoted, list):
            self._results.labels(Result.PROMOTED.value).inc(len(promoted))
        if item.get("rule") == GUARDED:
            self._conflicts.inc()

    # ---- what is

    def exposed(self, backlog: Backlog | None, now: Instant, streams: int) -> bytes:
        """All of it in the text format of Prometheus; `backlog` is `None` where the store does not answer."""
        self._store.set(backlog is not None)
        self._streams.set(streams)
        if backlog is not None:
            self._queue.labels(State.QUEUED.value).set(backlog.queued)
            self._queue.labels(State.RUNNING.value).set(backlog.running)
            self._dead.set(backlog.failed)
            since = backlog.overdue_since
            self._age.set(0 if since is None else max(0, now - since) / SECOND)
        return generate_latest(self._registry)


_conforms: type[Observer] = Metrics
