"""Search by words and by meaning against bare FTS5 and bare numpy over the same texts and vectors.

Words are dealt out as words of a language are (Zipf's law); each sentence has one that all have. Vectors are random.
"""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api.wiring import Services
from benchmarks import bare, world
from benchmarks.figures import Figure, at_most, plain
from benchmarks.sizes import Sizes
from benchmarks.timing import each, interleaved, tell
from graph.embedding import Asked
from graph.ports import MemoryStore, Reader
from graph.ranking import BALANCED
from graph.rarity import words_of
from graph.search import Sought, search
from graph.searching import Model, Texts, Vector
from ontology.facts import AsOf
from ontology.instants import DAY, Instant, days_from_civil
from ontology.schema_document import pack_from_document
from ontology.scope import Scope, scope_of

MODEL: Final = Model(name="random", dimensions=384)
EVERYWHERE: Final = "everywhere"
_FAR: Final = Instant(days_from_civil(2026, 6, 1) * DAY)
_VOCABULARY: Final = 5_000
_LIMIT: Final = 50
_AT_ONCE: Final = 2_000
_POLICY: Final = replace(BALANCED, floor=-1.0)
"""Random vectors are near to none: those nearest are taken all the same, as they are of a model."""
_MILLISECONDS: Final = 50
"""The aim for a hybrid search, the slowest of twenty."""

Operation = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Corpus:
    """What one file holds, and the same in the two bare engines."""

    services: Services
    scope: Scope
    words: sqlite3.Connection
    matrix: NDArray[np.float32]


def measure(folder: Path, sizes: Sizes) -> Iterator[Figure]:
    facts, of_one, tenants = sizes.searched, sizes.searched_small, sizes.searched_tenants
    tell(f"indexing {facts:,} facts")
    large = build(folder / "searched.db", [world.SCOPE], facts)
    yield from _against_bare(large, sizes, f"{facts:,} facts")
    large.services.close()
    tell(f"indexing {tenants:,} tenants of {of_one:,} facts")
    alone = build(folder / "alone.db", [_tenant(0)], of_one)
    crowd = build(folder / "crowd.db", [_tenant(number) for number in range(tenants)], of_one)
    small = f"{of_one:,} facts"
    six = _questions(6)
    yield from _slowest(crowd, sizes, f"6 words, one of {tenants:,} tenants of {small}", six)
    sides = {"alone": each(_hybrid(alone, six), sizes.searches), "crowd": each(_hybrid(crowd, six), sizes.searches)}
    seconds = interleaved(sides, sizes.runs)
    what = f"search of {small} beside {tenants - 1:,} tenants, against alone"
    yield at_most(what, seconds["crowd"] / seconds["alone"], 1.5)
    alone.services.close()
    crowd.services.close()


def build(file: Path, scopes: Sequence[Scope], facts: int) -> Corpus:
    """So many facts in each scope, indexed; the bare engines have those of the first."""
    services = world.open_store(file)
    texts: list[str] = []
    vectors: list[Vector] = []
    for scope in scopes:
        _write(services, scope, facts)
        indexed = list(index(services.store, scope))
        if scope == scopes[0]:
            texts = [text for text, _ in indexed]
            vectors = [vector for _, vector in indexed]
    words = bare.connect(file.with_suffix(".fts"))
    words.execute("CREATE VIRTUAL TABLE sentences USING fts5(text)")
    with words:
        words.executemany("INSERT INTO sentences (text) VALUES (?)", [(text,) for text in texts])
    words.execute("INSERT INTO sentences (sentences) VALUES ('optimize')")
    world.settle(file)
    return Corpus(services, scopes[0], words, np.stack(vectors))


def _write(services: Services, scope: Scope, facts: int) -> None:
    if "status" not in services.writer.schema(scope).predicates:
        services.writer.put_schema(scope, world.PRINCIPAL, pack_from_document(world.PACK))
    items = list(world.items(0, facts, facts))
    for start in range(0, len(items), 1_000):
        services.writer.write(scope, world.PRINCIPAL, items[start : start + 1_000])


def index(store: MemoryStore, scope: Scope) -> Iterator[tuple[str, Vector]]:
    """Write a sentence and a vector for each statement."""
    chance, normal = random.Random(1), np.random.default_rng(1)
    with store.write(scope) as tx:
        tx.begin_model(MODEL)
    while True:
        with store.read(scope) as reader:
            some = reader.unwritten(limit=_AT_ONCE)
        if not some:
            break
        with store.write(scope) as tx:
            tx.write_sentences(
                [(each, f"{each.value.text} {EVERYWHERE} {' '.join(dealt(chance, 6))}") for each in some]
            )
    while True:
        with store.read(scope) as reader:
            texts = reader.unembedded(MODEL.name, limit=_AT_ONCE)
        if not texts:
            return
        vectors = [unit(normal) for _ in texts]
        with store.write(scope) as tx:
            tx.write_vectors(MODEL.name, [(key, vector) for (key, _), vector in zip(texts, vectors, strict=True)])
        yield from zip([text for _, text in texts], vectors, strict=True)


def _against_bare(corpus: Corpus, sizes: Sizes, what: str) -> Iterator[Figure]:
    six, long, common = _questions(6), _questions(200), [[EVERYWHERE]]
    for name, questions, limit in (
        ("6 words", six, 3.0), ("200 words", long, 1.0), ("a word in every fact", common, 1.0)
    ):  # fmt: skip
        yield from _slowest(corpus, sizes, f"{name}, {what}", questions)
        sides = {
            "ours": each(_ours_by_words(corpus, questions), sizes.searches),
            "bare": each(_bare_by_words(corpus, questions), sizes.searches),
        }
        seconds = interleaved(sides, sizes.runs)
        yield plain(f"search by {name}, {what}", seconds["ours"] * 1000, "ms")
        yield at_most(f"search by {name}, {what}, against bare FTS5", seconds["ours"] / seconds["bare"], limit)
    seconds = interleaved(
        {
            "ours": each(_ours_by_meaning(corpus), sizes.searches),
            "bare": each(_bare_by_meaning(corpus), sizes.searches),
        },
        sizes.runs,
    )
    yield plain(f"search by meaning, {what}", seconds["ours"] * 1000, "ms")
    yield at_most(f"search by meaning, {what}, against bare numpy", seconds["ours"] / seconds["bare"], 3.0)


def _slowest(corpus: Corpus, sizes: Sizes, name: str, questions: Sequence[list[str]]) -> Iterator[Figure]:
    """The 95th percentile of hybrid searches, after one that fills the caches."""
    operations, seconds = _hybrid(corpus, questions), []
    next(operations)()
    for _ in range(max(20, sizes.searches * sizes.runs)):
        operation = next(operations)
        started = time.perf_counter()
        operation()
        seconds.append(time.perf_counter() - started)
    slow = sorted(seconds)[len(seconds) * 95 // 100]
    yield at_most(f"hybrid search by {name}, p95", slow * 1000, _MILLISECONDS, "ms")


def _hybrid(corpus: Corpus, questions: Sequence[list[str]]) -> Iterator[Operation]:
    """The whole of a hybrid search, its snapshot included: 20 of the best by the words and a vector."""
    normal, schema = np.random.default_rng(2), corpus.services.writer.schema(corpus.scope)
    for number in count():
        text = " ".join(questions[number % len(questions)])
        asked = Asked(vector=unit(normal), model=MODEL.name, text_alone=None, detail="")

        def ask(text: str = text, asked: Asked = asked) -> object:
            with corpus.services.store.read(corpus.scope) as reader:
                as_of = _now(reader)
                sought = Sought(
                    text=text, as_of=as_of, served_at=as_of.known_at, limit=20, facts=True, episodes=True,
                    kinds=frozenset(), predicates=frozenset(), about=(), near=(), history=False, held=False,
                    policy=_POLICY,
                )  # fmt: skip
                return search(reader, schema, sought, asked, _milliseconds)

        yield ask


def _ours_by_words(corpus: Corpus, questions: Sequence[list[str]]) -> Iterator[Operation]:
    for number in count():
        asked = questions[number % len(questions)]

        def ask(asked: list[str] = asked) -> object:
            with corpus.services.store.read(corpus.scope) as reader:
                terms = words_of(reader, Texts.SENTENCES, list(dict.fromkeys(asked))).asked
                return reader.match_facts(terms, _now(reader), predicates=None, history=True, limit=_LIMIT)

        yield ask


def _bare_by_words(corpus: Corpus, questions: Sequence[list[str]]) -> Iterator[Operation]:
    sql = "SELECT rowid, text FROM sentences WHERE sentences MATCH ? ORDER BY rank LIMIT ?"
    for number in count():
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(questions[number % len(questions)]))

        def ask(match: str = match) -> object:
            return corpus.words.execute(sql, (match, _LIMIT)).fetchall()

        yield ask


def _ours_by_meaning(corpus: Corpus) -> Iterator[Operation]:
    normal = np.random.default_rng(2)
    while True:
        vector = unit(normal)

        def ask(vector: Vector = vector) -> object:
            with corpus.services.store.read(corpus.scope) as reader:
                return reader.near_facts(
                    vector, MODEL.name, _now(reader), predicates=None, history=True, limit=_LIMIT
                )  # fmt: skip

        yield ask


def _bare_by_meaning(corpus: Corpus) -> Iterator[Operation]:
    normal = np.random.default_rng(2)
    while True:
        vector = unit(normal)

        def ask(vector: Vector = vector) -> object:
            scores = corpus.matrix @ vector
            nearest = np.argpartition(scores, len(scores) - min(_LIMIT, len(scores)))[-_LIMIT:]
            return nearest[np.argsort(-scores[nearest])]

        yield ask


def _milliseconds() -> float:
    return time.monotonic() * 1000


def _now(reader: Reader) -> AsOf:
    return AsOf(valid_at=_FAR, known_at=reader.head.recorded_at)


def _questions(words: int) -> list[list[str]]:
    """Of so many words, in which the common ones are as frequent as they are in the facts."""
    return [list(dealt(random.Random(seed), words)) for seed in range(200)]


def dealt(chance: random.Random, wanted: int) -> Iterator[str]:
    for _ in range(wanted):
        yield f"word{int(chance.paretovariate(0.7)) % _VOCABULARY}"


def unit(normal: np.random.Generator) -> Vector:
    vector = normal.normal(size=MODEL.dimensions).astype(np.float32)
    unit: Vector = vector / np.linalg.norm(vector)
    return unit


def _tenant(number: int) -> Scope:
    return scope_of(f"tenant-{number:03d}")
