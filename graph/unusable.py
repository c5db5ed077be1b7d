"""For which texts did a model give no vector that can be used? They rest for a while, and hold no other up."""

from collections.abc import Callable, Iterable
from typing import Final

from graph.embedders import unavailable
from graph.searching import TextKey
from ontology.errors import shown
from ontology.scope import Tenant

AGAIN_SECONDS: Final = 300.0
"""After so long it is tried again; a process that begins tries at once."""
KEPT_MAX: Final = 1_000
"""Where it is more texts than that, it is not for these texts."""
_NAMED_MAX: Final = 3


class Unusable:
    """The texts of one model. They keep their old vectors, and words find them."""

    def __init__(self, model: str, monotonic: Callable[[], float]) -> None:
        self._model = model
        self._monotonic = monotonic
        self._until: dict[tuple[Tenant, TextKey], float] = {}

    def keys(self, tenant: Tenant) -> list[TextKey]:
        """Those of a tenant that are not to be tried now."""
        now = self._monotonic()
        return [key for (of, key), until in [*self._until.items()] if of == tenant and until > now]

    def add(self, tenant: Tenant, keys: Iterable[TextKey]) -> None:
        """Raises `Unavailable` where they are too many."""
        now = self._monotonic()
        known = {each: until for each, until in [*self._until.items()] if until > now}
        self._until = known | {(tenant, key): now + AGAIN_SECONDS for key in keys}
        if len(self._until) > KEPT_MAX:
            raise unavailable(
                f"the embedder {shown(self._model)} gave no vector that can be used for over {KEPT_MAX:,} texts",
                remedy="look at the model: it gave numbers that are not finite, or zeros alone",
            )

    def told(self, tenant: Tenant) -> str | None:
        """For people, with the ids of texts (the hash by which a vector is kept) and no word of them."""
        keys = self.keys(tenant)
        if not keys:
            return None
        many = "1 text" if len(keys) == 1 else f"{len(keys):,} texts"
        ids = ", ".join(key.hex() for key in keys[:_NAMED_MAX]) + (", …" if len(keys) > _NAMED_MAX else "")
        return (
            f"the embedder {shown(self._model)} gave vectors that are not finite, or zeros alone, for {many}: "
            f"words alone find what none was kept of, and it is tried again (text {ids})"
        )
