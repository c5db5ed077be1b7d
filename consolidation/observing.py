"""Who is told what was written: counters, and those who wait for news. Nobody who is told may hold up a writer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol

from ontology.errors import JSON, VigenciaError
from ontology.scope import Tenant


class Observer(Protocol):
    """Called in the thread of the writer, after the end of its transaction; returns at once and raises nothing."""

    def wrote(self, tenant: Tenant, receipt: Mapping[str, JSON]) -> None:
        """A transaction ended well: its receipt, which is no replay and of no dry run."""
        ...

    def refused(self, slug: str) -> None:
        """A write ended with a problem of this type, and without a trace."""
        ...


class Nobody:
    """Takes no notice."""

    def wrote(self, tenant: Tenant, receipt: Mapping[str, JSON]) -> None:
        pass

    def refused(self, slug: str) -> None:
        pass


NOBODY: Final[Observer] = Nobody()


@contextmanager
def refusals_told(observer: Observer) -> Iterator[None]:
    """Tell of what a block raises."""
    try:
        yield
    except VigenciaError as exc:
        observer.refused(exc.slug)
        raise
