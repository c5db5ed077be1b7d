"""What is measured on a Neo4j server, part by part, on one server for all of them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from benchmarks import world
from benchmarks.figures import Figure, plain
from benchmarks.graph_server import crowd, expanding, loading, long_slot, reading, searching, writing
from benchmarks.graph_server.place import Place, place
from benchmarks.sizes import GraphSizes
from benchmarks.timing import tell


class GraphParts:
    """The server is found or started when the first part needs it, and let go with the block."""

    def __init__(self, sizes: GraphSizes) -> None:
        self._sizes = sizes
        self._stack = ExitStack()
        self._place: Place | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def parts(self) -> dict[str, Callable[[], Iterator[Figure]]]:
        """What can be measured, by name; the large stores are made last."""
        return {
            "neo4j-loading": lambda: loading.measure(self._there(), self._sizes),
            "neo4j-writing": lambda: writing.measure(self._there(), self._sizes),
            "neo4j-expanding": lambda: expanding.measure(self._there(), self._sizes),
            "neo4j-searching": lambda: searching.measure(self._there(), self._sizes),
            "neo4j-long-slot": lambda: long_slot.measure(self._there(), self._sizes),
            "neo4j-reading": self._reading,
        }

    def _reading(self) -> Iterator[Figure]:
        here, block, scopes = self._there(), self._sizes.facts[0], {}
        for facts in self._sizes.facts:
            tell(f"loading {facts:,} facts into the server")
            scopes[facts] = here.scope(f"facts-{facts}")
            seconds = here.write_all(scopes[facts], world.items(0, facts, block), world.batch_items(block), "facts")
            yield plain(f"neo4j: loading a tenant of {facts:,} facts", facts / sum(seconds), "facts per s")
        yield from reading.measure(here, scopes, self._sizes)
        if self._sizes.crowd:
            tell(f"gathering a crowd of {self._sizes.crowd:,} facts")
            crowd.gather(here, scopes[block], block, self._sizes.crowd)
            yield from reading.measure(
                here, {block: scopes[block]}, self._sizes, f" beside {self._sizes.crowd:,} others"
            )

    def _there(self) -> Place:
        if self._place is None:
            self._place = self._stack.enter_context(place())
        return self._place
