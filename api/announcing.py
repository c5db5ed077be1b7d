"""From the writers to those who want to know what was written: metrics and event streams."""

from collections.abc import Mapping

from consolidation.observing import Observer
from ontology.errors import JSON
from ontology.scope import Tenant


class Announcer:
    """Tells each of its observers, in the order in which they came."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def add(self, observer: Observer) -> None:
        """Tell this one too, from the next write on."""
        self._observers = (*self._observers, observer)

    def wrote(self, tenant: Tenant, receipt: Mapping[str, JSON]) -> None:
        for each in self._observers:
            each.wrote(tenant, receipt)

    def refused(self, slug: str) -> None:
        for each in self._observers:
            each.refused(slug)


_conforms: type[Observer] = Announcer
