"""What only SQLite promises of searching: what is left on disk and in memory, migrations, and that counts stay true."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from graph.searching import Model
from graph.sqlite_store import migration, searching
from graph.sqlite_store.store import SqliteStore
from graph.sqlite_store.summing import Summed
from graph.sqlite_store.vectors import Vectors
from tests.contract.search_world import DIMENSIONS, MODEL, Searched, embedded, found
from tests.contract.test_forgetting import Known
from tests.contract.world import FUNCTIONAL, SCOPE, World, claim, erase, retract

MARKER: Final = "zqxmarker"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def searched(file: Path) -> Iterator[Searched]:
    store = SqliteStore(str(file), busy_seconds=0.5)
    world = World(store)
    world.declare(*FUNCTIONAL)
    with store.write(SCOPE) as tx:
        tx.begin_model(Model(name=MODEL, dimensions=DIMENSIONS))
    yield Searched(world)
    store.close()


def told(searched: Searched) -> None:
    """Of two people, one of whom has the marker in a name, a value, an episode, and in a sentence about the other."""
    world = searched.world
    world.write(
        claim("mira", "name", f"Mira {MARKER}", "1990-01-01"), claim("mira", "likes", f"tea of {MARKER}", "2020-01-01"),
        claim("tom", "name", "Tom", "1990-01-01"), claim("tom", "likes", "rain", "2020-01-01"),
        claim("tom", "knows", {"type": "entity", "key": "mira"}, "2020-01-01"),
    )  # fmt: skip
    searched.index()
    searched.embed()


def files(file: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(file.parent.glob(f"{file.name}*")))


def rows(file: Path, statement: str) -> list[Any]:
    connection = sqlite3.connect(file)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def test_what_is_forgotten_leaves_neither_words_nor_trigrams_nor_vectors_in_the_files(
    file: Path, searched: Searched
) -> None:
    told(searched)
    vectors = [embedded(f"Mira {MARKER} likes tea of {MARKER}"), embedded(f"Tom knows Mira {MARKER}")]
    before = files(file)
    assert MARKER.encode() in before
    assert all(vector.tobytes() in before for vector in vectors)
    assert rows(file, "SELECT count(*) FROM postings WHERE term = 'zqx'") == [(1,)]

    Known(searched.world).away("mira")
    assert rows(file, f"SELECT count(*) FROM postings WHERE term IN ('{MARKER}', 'zqx')") == [(0,)]
    assert searched.store.scrub().done
    after = files(file)
    assert MARKER.encode() not in after
    assert not any(vector.tobytes() in after for vector in vectors)
    assert found(searched.match("rain")) == ["rain"]


def test_an_erased_name_leaves_the_sentences_of_others_in_the_same_commit(file: Path, searched: Searched) -> None:
    told(searched)
    searched.world.write(erase("mira", "likes"))
    searched.world.write(erase("mira", "name"))
    assert rows(file, f"SELECT count(*) FROM passages WHERE text LIKE '%{MARKER}%' OR terms LIKE '%{MARKER}%'") == [
        (0,)
    ]
    assert MARKER.encode() not in files(file)


def test_what_was_erased_leaves_the_vectors_in_memory(searched: Searched) -> None:
    told(searched)
    assert len(searched.near("tea", history=True)) == 5
    kept: Vectors = searched.store._vectors  # type: ignore[attr-defined]  # memory shows nowhere else
    assert sum(block.size for block in kept._blocks.values()) > 0
    searched.world.write(erase("mira", "likes"))
    assert not kept._blocks
    assert len(searched.near("tea", history=True)) == 4
    (block,) = kept._blocks.values()
    assert sum(len(part.texts) for part in block.parts) == 4


def test_vectors_in_memory_are_bounded_and_nothing_is_lost_by_it(searched: Searched) -> None:
    told(searched)
    expected = found(searched.near("tea"))
    searched.store._vectors._bytes_max = 10  # type: ignore[attr-defined]  # a bound that one scope is beyond
    assert found(searched.near("tea")) == expected
    searched.world.write(claim("tom", "likes", "snow", "2020-01-01"))
    searched.index()
    searched.embed()
    assert len(searched.near("tea")) == len(expected) + 1
    assert not searched.store._vectors._blocks  # type: ignore[attr-defined]


def test_a_file_from_before_the_index_can_be_indexed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the migration finds what it was not there for."""
    known = migration.migrations()
    with monkeypatch.context() as older:
        older.setattr(migration, "migrations", lambda: {n: text for n, text in known.items() if n < 11})
        SqliteStore(str(file)).close()
    for statement in (
        "INSERT INTO tenants VALUES (1, 'acme', 'abcdefgh', 1, 5, zeroblob(32), 0, 0, NULL)",
        "INSERT INTO scopes VALUES (1, 1, 'default', 'general')",
        "INSERT INTO slots (pk, scope_pk, subject_position, subject_ordinal, predicate, language, version,"
        " functional, plain)"
        " VALUES (1, 1, 1, 0, 'likes', '', 1, 0, 1)",
    ):
        connection = sqlite3.connect(file)
        connection.execute(statement)
        connection.executemany(
            "INSERT INTO versions (tenant_pk, position, ordinal, slot_pk, scope_pk, value_key, value_type, value_text,"
            " value_qualifier, certain, valid_from, valid_to, recorded_from, recorded_to)"
            " VALUES (1, 1, ?, 1, 1, ?, 'text', 'tea', '', 1, 0, 9, ?, ?)",
            [(0, b"a", 5, 6), (1, b"a", 6, 2**62), (2, b"b", 6, 2**62)] if "slots" in statement else [],
        )
        connection.commit()
        connection.close()
    SqliteStore(str(file)).close()
    assert rows(file, "SELECT slot_pk, value_key, wants, since FROM passages ORDER BY value_key") == [
        (1, b"a", 1, 5), (1, b"b", 1, 6),
    ]  # fmt: skip


def test_the_words_of_a_file_from_before_they_were_counted_are_counted(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = migration.migrations()
    with monkeypatch.context() as older:
        older.setattr(migration, "migrations", lambda: {n: text for n, text in known.items() if n < 14})
        SqliteStore(str(file)).close()
    connection = sqlite3.connect(file)
    for posting in [(1, 0, "tea", 1), (1, 0, "tea", 2), (1, 1, "tea", 3), (1, 2, "te$", 1), (2, 0, "tea", 9)]:
        connection.execute("INSERT INTO postings VALUES (?, ?, ?, ?, 1, 1)", posting)
    connection.commit()
    connection.close()
    SqliteStore(str(file)).close()
    assert rows(file, "SELECT * FROM words ORDER BY scope_pk, kind") == [
        (1, 0, "tea", 2),
        (1, 1, "tea", 1),
        (2, 0, "tea", 1),
    ]


def test_counts_are_those_of_what_is_there_whatever_was_done(file: Path, searched: Searched) -> None:
    told(searched)
    world = searched.world
    world.write(claim("mira", "alias", "Mimi", "2020-01-01"))
    searched.record("Mira likes tea. It rains.")
    searched.index()
    world.write(erase("tom", "likes"))
    world.write(retract("mira", "alias", valid_from="2021-01-01"))
    searched.index()
    with searched.store.write(SCOPE) as tx:
        tx.unindex()
    searched.index()
    counted = rows(
        file, "SELECT kind, count(*), sum(length) FROM passages WHERE text IS NOT NULL GROUP BY kind ORDER BY kind"
    )
    assert rows(file, "SELECT kind, passages, words FROM indexed ORDER BY kind") == counted
    assert rows(file, "SELECT count(*) FROM postings WHERE passage_pk NOT IN (SELECT pk FROM passages)") == [(0,)]
    lengths = rows(file, "SELECT kind, sum(occurrences) FROM postings WHERE kind < 2 GROUP BY kind ORDER BY kind")
    assert lengths == [(kind, words) for kind, _, words in counted]
    posted = rows(
        file, "SELECT kind, term, count(*) FROM postings WHERE kind < 2 GROUP BY kind, term ORDER BY kind, term"
    )
    assert rows(file, "SELECT kind, term, passages FROM words ORDER BY kind, term") == posted
    assert rows(file, "SELECT count(*) FROM vectors WHERE text_key NOT IN (SELECT text_key FROM passages)") == [(0,)]


def test_small_changes_are_joined_to_few_parts(searched: Searched) -> None:
    world = searched.world
    for number in range(40):
        world.tell(f"p{number}", "likes", f"thing {number}", "2020-01-01")
        searched.index()
        searched.embed()
        assert len(searched.near("thing")) == number + 1
    (block,) = searched.store._vectors._blocks.values()  # type: ignore[attr-defined]
    assert len(block.parts) <= 8
    passages = np.concatenate([part.passages[~part.stale] for part in block.parts])
    assert len(set(passages.tolist())) == len(passages) == 40


def test_many_postings_are_summed_in_memory_as_a_query_sums_few(
    searched: Searched, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = searched.world
    values = [" ".join(f"w{n % k}" for k in (2, 3, 5, 7)) + " x" * (n % 4) for n in range(120)]
    world.write(*(claim(f"p{n}", "likes", value, "2020-01-01") for n, value in enumerate(values)))
    searched.record(*values[:20])
    searched.index(at_once=200)
    question = "w0 w1 w2 x likes nothing"
    few, few_chunks = searched.match(question), searched.chunks(question)
    monkeypatch.setattr(searching, "_SUMMED_IN_MEMORY", 0)
    many, many_chunks = searched.match(question), searched.chunks(question)
    assert len(few) == len(many) == 120
    assert [hit.fact.version.id for hit in many] == [hit.fact.version.id for hit in few]
    assert [hit.score for hit in many] == pytest.approx([hit.score for hit in few], abs=1e-4)
    assert [hit.chunk for hit in many_chunks] == [hit.chunk for hit in few_chunks]
    assert searched.match(question, limit=5) == many[:5]


def test_passages_that_lie_far_apart_are_summed_as_those_that_lie_together() -> None:
    def told(*parts: tuple[int, int]) -> str:
        return ",".join(str(key << 22 | part) for key, part in parts)

    words = [(2.0, told((1, 1_000_000), (10**9, 500_000))), (1.0, told((10**9, 1_500_000)))]
    assert Summed(words).best(9) == [(10**9, 2.5, None), (1, 2.0, None)]
    near = [(2.0, told((1, 1_000_000), (3, 500_000))), (1.0, told((3, 1_000_000), (2, 2_000_000)))]
    assert Summed(near).best(9) == [(3, 2.0, None), (2, 2.0, None), (1, 2.0, None)]
    assert Summed(near).best(1) == [(3, 2.0, None)]
    assert Summed([]).best(3) == []


def held(store: SqliteStore) -> bytes:
    """All the vectors that a store has in memory."""
    blocks = store._vectors._blocks.values()
    return b"".join(part.matrix.tobytes() for block in blocks for part in block.parts)


def test_a_second_process_lets_go_of_the_vectors_of_what_the_first_forgot(file: Path, searched: Searched) -> None:
    """Also of those that it is not asked for again, here of the words of episodes."""
    told(searched)
    searched.record(f"Mira {MARKER} ran.")
    searched.index()
    searched.embed()
    gone = [embedded(f"Mira {MARKER} likes tea of {MARKER}").tobytes(), embedded(f"Mira {MARKER} ran.").tobytes()]
    other = SqliteStore(str(file))
    second = Searched(World(other))
    assert len(second.near("tea")) == 5
    assert len(second.near_chunks("tea")) == 1
    assert all(vector in held(other) for vector in gone)

    Known(searched.world).away("mira")

    assert set(found(second.near("tea"))) == {"rain", "Tom"}
    other.scopes_to_index(None, limit=9)
    assert not any(vector in held(other) for vector in gone)
    assert not any(vector in held(searched.store) for vector in gone)  # type: ignore[arg-type]
    other.close()


def test_a_snapshot_from_before_leaves_no_vectors_of_what_was_forgotten_meanwhile(searched: Searched) -> None:
    told(searched)
    store: Any = searched.store
    gone = embedded(f"Mira {MARKER} likes tea of {MARKER}").tobytes()
    with store.read(SCOPE) as reader:
        as_of = searched.as_of()
        assert reader.head.position > 0
        Known(searched.world).away("mira")
        asked = embedded("tea")
        hits = reader.near_facts(asked, MODEL, as_of, predicates=None, history=False, limit=9)
        assert len(hits) == 5, "the snapshot has it all"
    store.scopes_to_index(None, limit=9)
    assert gone not in held(store)
