"""A process of its own that indexes a store, or switches its model; the tests start it and may kill it.

    python -m tests.faults.indexing index   PATH MODEL [--skew MICROSECONDS]
    python -m tests.faults.indexing reembed PATH MODEL
    python -m tests.faults.indexing tell    PATH NAME --count 50

It prints a line of JSON when it has begun, and one when it is done.
"""

import argparse
import json
import time
from collections.abc import Sequence
from typing import Final

from api.wiring import SystemRandomness
from consolidation.episodes import NewEpisode, Recorder
from consolidation.items import Assert, Said
from graph.embedders import Rows
from graph.embedding import PatientEmbedder
from graph.indexing import Indexer
from graph.reembedding import Reembedding
from graph.sqlite_store.store import SqliteStore
from ontology.instants import format_instant
from ontology.packs import load_core
from tests.embedding import HashingEmbedder
from tests.faults.process import SCOPE, SkewedClock, open_store, writer_of

OTHERS: Final = 40
"""So many names change now and then, so that sentences are written anew."""


class Slow(HashingEmbedder):
    """Takes a little for each batch, as a model does."""

    def embed(self, texts: Sequence[str]) -> Rows:
        time.sleep(0.01)
        return super().embed(texts)


def indexer_of(store: SqliteStore, model: str, skew: int = 0) -> tuple[Indexer, PatientEmbedder]:
    embedder = PatientEmbedder(Slow(model))
    return Indexer(store=store, clock=SkewedClock(skew), core=load_core(), embedder=embedder), embedder


def tell(store: SqliteStore, name: str, count: int, skew: int = 0) -> None:
    """Facts about things that have names, some of which change, and episodes about them."""
    writer = writer_of(store, skew)
    recorder = Recorder(store=store, clock=SkewedClock(skew), randomness=SystemRandomness())
    for number in range(count):
        other = {"type": "entity", "key": f"thing {number % OTHERS}"}
        items = [Assert(subject=f"{name} {number}.{part}", predicate="knows", value=other) for part in range(5)]
        now = Said(valid_from=format_instant(SkewedClock(skew).now()))
        called = f"called {name} {number}"
        items.append(Assert(subject=f"thing {number % OTHERS}", predicate="alias", value=called, said=now))
        writer.write(SCOPE, name, items)
        recorder.record(SCOPE, name, [NewEpisode(text=f"{name} said {number}. " * 60)])


def index(store: SqliteStore, model: str, skew: int) -> None:
    indexer, _ = indexer_of(store, model, skew)
    while indexer.work():
        pass


def reembed(store: SqliteStore, model: str) -> None:
    indexer, embedder = indexer_of(store, model)
    Reembedding(store=store, indexer=indexer, embedder=embedder).reembed(SCOPE.tenant, told=lambda _: None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("does", choices=("index", "reembed", "tell"))
    parser.add_argument("path")
    parser.add_argument("name")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--skew", type=int, default=0)
    given = parser.parse_args()
    store = open_store(given.path)
    print(json.dumps("begun"), flush=True)
    if given.does == "index":
        index(store, given.name, given.skew)
    elif given.does == "reembed":
        reembed(store, given.name)
    else:
        tell(store, given.name, given.count, given.skew)
    print(json.dumps("done"), flush=True)
    store.close()


if __name__ == "__main__":
    main()
