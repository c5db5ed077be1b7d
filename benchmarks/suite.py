"""All that is measured, part by part, over the stores that one run makes."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import episodes, expanding, loading, reading, searching, serving, world, writing
from benchmarks.figures import Figure
from benchmarks.graph_server.parts import GraphParts
from benchmarks.loading import Grown
from benchmarks.sizes import TINY, Sizes
from benchmarks.timing import tell


class Suite:
    """The stores of a run, each made when it is first needed, and what is measured on them."""

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        self._folder = folder
        self._sizes = sizes
        self._grown: Grown | None = None
        self._long: Path | None = None

    @property
    def parts(self) -> dict[str, Callable[[], Iterator[Figure]]]:
        """What can be measured, by name, in an order in which the larger stores are made late."""
        return {
            "serving": self.serving,
            "writing": self.writing,
            "episodes": self.episodes,
            "reading": self.reading,
            "searching": self.searching,
            "expanding": self.expanding,
            "long-slot": self.long_slot,
            "loading": self.loading,
        }

    def serving(self) -> Iterator[Figure]:
        return serving.measure(self._smallest(), self._sizes.facts[0], self._sizes)

    def writing(self) -> Iterator[Figure]:
        facts = self._sizes.facts[0]
        yield from writing.measure(self._smallest(), self._sizes, writing.status(facts), f"beside {facts:,} facts")

    def episodes(self) -> Iterator[Figure]:
        return episodes.measure(self._folder, self._sizes)

    def reading(self) -> Iterator[Figure]:
        return reading.measure(self._stores().files, self._sizes)

    def searching(self) -> Iterator[Figure]:
        return searching.measure(self._folder, self._sizes)

    def expanding(self) -> Iterator[Figure]:
        return expanding.measure(self._folder, self._sizes)

    def long_slot(self) -> Iterator[Figure]:
        file = self._with_long_slot()
        services = world.open_store(file)
        with services.store.read(world.SCOPE) as reader:
            slot = reader.entities_by_key([writing.LONG_SLOT])[writing.LONG_SLOT].id
        services.close()
        yield from reading.measure_long_slot(file, slot, self._sizes.facts[0], self._sizes)
        what = f"into a slot with {self._sizes.slot_versions:,} versions"
        yield from writing.measure(file, self._sizes, writing.reading, what)

    def loading(self) -> Iterator[Figure]:
        return loading.measure(self._stores(), self._folder, self._sizes)

    def _stores(self) -> Grown:
        if self._grown is None:
            self._grown = Grown(self._folder, self._sizes)
        return self._grown

    def _smallest(self) -> Path:
        """The first store, alone where the others are not needed."""
        facts = self._sizes.facts[0]
        if self._grown is not None:
            return self._grown.files[facts]
        file = self._folder / "smallest.db"
        if not file.exists():
            tell(f"loading {facts:,} facts")
            services = world.open_store(file)
            world.write_all(services, world.items(0, facts, facts), facts)
            services.close()
            world.settle(file)
        return file

    def _with_long_slot(self) -> Path:
        if self._long is None:
            self._long = self._folder / "long.db"
            shutil.copy(self._smallest(), self._long)
            tell(f"making a slot with {self._sizes.slot_versions:,} versions")
            writing.build_long_slot(self._long, self._sizes)
        return self._long


def run(sizes: Sizes, only: str | None = None) -> Iterator[Figure]:
    """Every figure of every part, of one, or of all that are measured on one engine, as soon as it is known."""
    with tempfile.TemporaryDirectory(prefix="vigencia-bench-") as folder, GraphParts(sizes.graph) as graph:
        engines = {SQLITE: Suite(Path(folder), sizes).parts, NEO4J: graph.parts}
        for engine, parts in engines.items():
            for name, part in parts.items():
                if only in (None, engine, name):
                    yield from part()


SQLITE, NEO4J = "sqlite", "neo4j"
_NONE = Sizes(facts=(), slot_versions=0, runs=0, reads=0, requests=0, writes=0, episodes=0, searched=0,
              searched_small=0, searched_tenants=0, searches=0, graph=TINY.graph)  # fmt: skip
SQLITE_PARTS = tuple(Suite(Path(), _NONE).parts)
NEO4J_PARTS = tuple(GraphParts(TINY.graph).parts)
CHOICES = (SQLITE, *SQLITE_PARTS, NEO4J, *NEO4J_PARTS)
"""What may be measured alone."""
