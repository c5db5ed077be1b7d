"""What searching is on a server: by index, in the scope alone, with nothing left of what is gone."""

from collections.abc import Iterator, Mapping
from contextlib import closing

import numpy as np
import pytest
from neo4j import GraphDatabase, NotificationMinimumSeverity, Session

from graph.neo4j_store import searching
from graph.neo4j_store.codec import Row
from graph.neo4j_store.database import Database, ServerFailed, queries_for
from graph.neo4j_store.store import Neo4jStore
from graph.neo4j_store.vectors import can_filter
from graph.searching import Model, Vector
from ontology.errors import Incorrect
from ontology.scope import Scope, scope_of
from tests.contract.search_world import DIMENSIONS, MODEL, Searched, found
from tests.contract.test_forgetting import MARKER, Known, tell_everything
from tests.contract.world import FUNCTIONAL, SCOPE, World, claim
from tests.neo4j.stores import DATABASE, empty_store, server

pytestmark = pytest.mark.neo4j

ELSEWHERE = scope_of("zeta")
CLUSTERS, WIDE = 20, 32
SHARES = {scope_of("acme", name): count for name, count in (("half", 1000), ("few", 100), ("rare", 20), ("two", 2))}
REST = scope_of("acme", "rest")
GONE = scope_of("acme", "gone")


@pytest.fixture
def searched() -> Iterator[Searched]:
    with closing(empty_store()) as store:
        world = World(store)
        world.declare(*FUNCTIONAL)
        yield Searched(world)


@pytest.fixture
def session() -> Iterator[Session]:
    with (
        GraphDatabase.driver(server().uri, notifications_min_severity=NotificationMinimumSeverity.OFF) as driver,
        driver.session(database=DATABASE) as session,
    ):
        yield session


# --- nearness


def unit(vector: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> Vector:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


class Cloud:
    """Vectors about some centres, one for each fact of some scopes."""

    def __init__(self, searched: Searched) -> None:
        self.searched = searched
        self.chance = np.random.default_rng(7)
        self.centres = self.chance.standard_normal((CLUSTERS, WIDE))
        self.vectors: dict[Scope, dict[str, Vector]] = {}
        with searched.store.write(SCOPE) as tx:
            tx.begin_model(Model(name=MODEL, dimensions=WIDE))

    def any(self) -> Vector:
        return unit(self.centres[self.chance.integers(CLUSTERS)] + 0.5 * self.chance.standard_normal(WIDE))

    def fill(self, scope: Scope, count: int) -> None:
        told = [claim(f"p{number}", "likes", f"thing {number}", "2020-01-01") for number in range(count)]
        for start in range(0, count, 500):
            self.searched.world.write(*told[start : start + 500], scope=scope)
        with self.searched.store.write(scope) as tx:
            wanting = tx.unwritten(limit=count)
            tx.write_sentences([(each, f"{each.value.text} {scope.namespace}") for each in wanting])
            made = [(key, text, self.any()) for key, text in tx.unembedded(MODEL, limit=count)]
            tx.write_vectors(MODEL, [(key, vector) for key, _, vector in made])
        self.vectors[scope] = {text.rpartition(" ")[0]: vector for _, text, vector in made}

    def recall(self, scope: Scope, questions: int = 20) -> float:
        """The share of the ten nearest that are found."""
        names, rows = list(self.vectors[scope]), np.array(list(self.vectors[scope].values()))
        right = wanted = 0
        for _ in range(questions):
            vector = self.any()
            best = {names[index] for index in np.argsort(-(rows @ vector))[:10]}
            with self.searched.store.read(scope) as reader:
                as_of = self.searched.as_of(scope=scope)
                hits = reader.near_facts(vector, MODEL, as_of, predicates=None, history=False, limit=10)
            right, wanted = right + len(best & set(found(hits))), wanted + len(best)
        return right / wanted


@pytest.mark.parametrize("filters", [True, False], ids=["filtered", "unfiltered"])
def test_the_nearest_of_a_scope_are_found_however_small_a_part_it_is(
    searched: Searched, filters: bool, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Through the index alone: no scope counts as small."""
    store = searched.store
    assert isinstance(store, Neo4jStore)
    if filters and not can_filter(store.capabilities.engine):
        pytest.skip("this server does not filter within an index of vectors")
    cloud = Cloud(searched)
    for scope, count in {**SHARES, REST: 2000 - sum(SHARES.values())}.items():
        cloud.fill(scope, count)
    monkeypatch.setattr(searching, "_FEW", 0)
    store._database.speak(queries_for(filters))
    for scope in SHARES:
        assert cloud.recall(scope) >= 0.95, scope


def test_tenants_have_models_of_their_own_with_dimensions_of_their_own(searched: Searched) -> None:
    for scope, dimensions in ((SCOPE, 3), (ELSEWHERE, 5)):
        searched.world.tell("mira", "likes", f"tea {dimensions}", scope=scope)
        searched.index(scope=scope)
        with searched.store.write(scope) as tx:
            tx.begin_model(Model(name=MODEL, dimensions=dimensions))
            tx.write_vectors(MODEL, [(key, unit(np.ones(dimensions))) for key, _ in tx.unembedded(MODEL, limit=9)])
    for scope, dimensions in ((SCOPE, 3), (ELSEWHERE, 5)):
        as_of = searched.as_of(scope=scope)
        with searched.store.read(scope) as reader:
            near = unit(np.arange(1.0, dimensions + 1))
            hits = reader.near_facts(near, MODEL, as_of, predicates=None, history=False, limit=9)
            assert found(hits) == [f"tea {dimensions}"]
            with pytest.raises(Incorrect, match=f"have {dimensions} dimensions, this has 4"):
                reader.near_facts(unit(np.ones(4)), MODEL, as_of, predicates=None, history=False, limit=9)


def test_a_new_version_of_a_statement_has_its_vector_and_a_closed_one_is_found_as_of_before(searched: Searched) -> None:
    world = searched.world
    before = world.tell("mira", "lives_in", "Porto", "2015-01-01")
    searched.index()
    with searched.store.write(SCOPE) as tx:
        tx.begin_model(Model(name=MODEL, dimensions=DIMENSIONS))
    searched.embed()
    world.tell("mira", "lives_in", "Porto", "2010-01-01", "2030-01-01")
    (hit,) = searched.near("Porto", searched.as_of("2020-01-01"))
    assert hit.fact.version.recorded_from > before
    past = searched.as_of("2020-01-01", before)
    assert [hit.fact.version.recorded_from for hit in searched.near("Porto", past)] == [before]


def test_a_server_that_stumbles_is_asked_without_filters(
    searched: Searched, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Which 2026.08 does where it holds little but what was deleted, though not each time."""
    cloud = Cloud(searched)
    cloud.fill(REST, 30)
    cloud.fill(GONE, 5)
    monkeypatch.setattr(searching, "_FEW", 0)
    run, failed = Database.run, []

    def stumbling(database: Database, query: str, parameters: Mapping[str, object]) -> list[Row]:
        if query.startswith("near_"):
            failed.append(query)
            raise ServerFailed("an injected failure")
        return run(database, query, parameters)

    monkeypatch.setattr(Database, "run", stumbling)
    assert cloud.recall(REST) == cloud.recall(GONE) == 1
    assert failed


# --- what is gone


def test_nothing_of_what_is_forgotten_is_left_at_any_node_or_relationship(searched: Searched, session: Session) -> None:
    known = Known(searched.world)
    tell_everything(known)
    everywhere = (SCOPE, scope_of("acme", "default", "health"))
    for scope in everywhere:
        searched.index(scope=scope)
    with searched.store.write(SCOPE) as tx:
        tx.begin_model(Model(name=MODEL, dimensions=DIMENSIONS))
    for scope in everywhere:
        searched.embed(scope=scope)
    assert texts_with(session, MARKER, ("Statement", "Chunk")) > 0
    assert index_hits(session, MARKER) > 0

    known.away(f"{MARKER}-key")
    known.away(f"{MARKER}-key", scope=everywhere[1])

    assert texts_with(session, MARKER, ("Statement", "Chunk")) == 0
    assert index_hits(session, MARKER) == 0
    textless = "MATCH (t:Text) WHERE t.text IS NULL AND t.vector_a IS NOT NULL RETURN count(t)"
    assert session.run(textless).values() == [[0]]
    orphans = """
    MATCH ()-[f:FACT]->() WHERE f.vector_a IS NOT NULL
    AND NOT EXISTS { MATCH (t:Statement {said: f.said}) WHERE t.text IS NOT NULL } RETURN count(f)
    """
    assert session.run(orphans).values() == [[0]]


def texts_with(session: Session, marker: str, labels: tuple[str, ...]) -> int:
    """How many of some nodes have the marker in any of their properties."""
    query = """
    MATCH (n) WHERE any(label IN labels(n) WHERE label IN $labels)
    AND any(key IN keys(n) WHERE n[key] IS :: STRING AND toLower(n[key]) CONTAINS $marker) RETURN count(n)
    """
    return int(session.run(query, labels=list(labels), marker=marker.lower()).single(strict=True)[0])


def index_hits(session: Session, marker: str) -> int:
    """What the full-text indexes themselves give, in every scope."""
    session.run("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()").consume()
    query = "CALL db.index.fulltext.queryNodes($index, $marker) YIELD node RETURN count(node)"
    return sum(
        int(session.run(query, index=index, marker=f"words:{marker}").single(strict=True)[0])
        for index in ("statement_words", "chunk_words")
    )


# --- the indexes


def test_indexes_that_an_older_server_made_are_made_anew_with_filters(session: Session) -> None:
    with closing(empty_store()) as store:
        if not can_filter(store.capabilities.engine):
            pytest.skip("this server does not filter within an index of vectors")
    session.run("DROP INDEX fact_vector_a IF EXISTS").consume()
    session.run("CREATE VECTOR INDEX fact_vector_a FOR ()-[n:FACT]-() ON (n.vector_a)").consume()
    session.run("DROP INDEX chunk_vector_b IF EXISTS").consume()
    with closing(Neo4jStore(server().uri)):
        rows = session.run("SHOW VECTOR INDEXES YIELD name, properties, state RETURN name, size(properties), state")
        assert sorted(rows.values()) == [
            ["chunk_vector_a", 3, "ONLINE"], ["chunk_vector_b", 3, "ONLINE"],
            ["fact_vector_a", 7, "ONLINE"], ["fact_vector_b", 7, "ONLINE"],
        ]  # fmt: skip


def test_what_a_database_had_before_is_to_be_indexed(searched: Searched, session: Session) -> None:
    """A migration marks it."""
    searched.world.tell("mira", "likes", "tea")
    searched.record("Mira likes tea.")
    session.run("MATCH (t:Statement) DETACH DELETE t").consume()
    session.run("MATCH (k:Kept) REMOVE k.uncut").consume()
    session.run("MATCH (m:Migrations) SET m.version = 10").consume()
    with closing(Neo4jStore(server().uri)) as store, store.read(SCOPE) as reader:
        assert len(reader.unwritten(limit=9)) == 1
        assert len(reader.uncut(limit=9)) == 1
