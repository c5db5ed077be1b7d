"""Searching by meaning, on every store that has an index: whose vectors, of what, and at which instants."""

from typing import Final

import numpy as np
import pytest

from graph.searching import Model, Models
from ontology.errors import Incorrect
from ontology.scope import Scope, scope_of
from tests.contract.search_world import DIMENSIONS, MANY, MODEL, Searched, embedded, found, keyed
from tests.contract.test_forgetting import Known
from tests.contract.world import SCOPE, World, claim, erase

OTHER: Final = scope_of("acme", "team")
ELSEWHERE: Final = scope_of("zeta")
HASHING: Final = Model(name=MODEL, dimensions=DIMENSIONS)
BETTER: Final = Model(name="better ✓", dimensions=DIMENSIONS)


@pytest.fixture
def searched(world: World) -> Searched:
    begin(searched := Searched(world))
    return searched


def begin(searched: Searched, model: Model = HASHING, scope: Scope = SCOPE) -> None:
    with searched.store.write(scope) as tx:
        tx.begin_model(model)


def likings(searched: Searched, *values: str, scope: Scope = SCOPE) -> None:
    """Each is liked by somebody of its own."""
    world = searched.world
    world.write(*(claim(f"p{n}", "likes", value, "2020-01-01") for n, value in enumerate(values)), scope=scope)
    searched.index(scope=scope)


def test_a_model_is_begun_made_and_served(searched: Searched) -> None:
    likings(searched, "green tea", "black tea", "green tea")
    with searched.store.read(SCOPE) as reader:
        assert reader.models() == Models(serving=HASHING, target=None)
        assert reader.to_index(MODEL).texts == len(reader.unembedded(MODEL, limit=MANY)) == 3
        assert reader.to_index(None).texts == 0
        texts = dict(reader.unembedded(MODEL, limit=MANY))
        assert all(key == keyed(text) for key, text in texts.items())
        assert len(reader.unembedded(MODEL, limit=2)) == 2
        assert reader.to_index("another").texts == len(reader.unembedded("another", limit=MANY)) == 3
    assert searched.store.scopes_to_index(MODEL, limit=9) == [SCOPE]
    assert searched.near("p0 likes green tea") == []
    searched.embed()
    with searched.store.read(SCOPE) as reader:
        assert (reader.to_index(MODEL).texts, reader.unembedded(MODEL, limit=9)) == (0, [])
        assert reader.to_index("another").texts == 3
    assert searched.store.scopes_to_index(MODEL, limit=9) == []
    assert searched.store.scopes_to_index("another", limit=9) == [SCOPE]
    assert len(searched.near("tea")) == 3


def test_the_nearest_come_first_with_their_cosine(searched: Searched) -> None:
    likings(searched, "green tea", "black coffee", "red wine")
    searched.embed()
    hits = searched.near("likes black coffee")
    assert (found(hits)[0], len(hits)) == ("black coffee", 3)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    called = hits[0].fact.version.slot.subject
    with searched.store.read(SCOPE) as reader:
        key = reader.entities_by_id([called])[called].key
    cosine = float(embedded("likes black coffee") @ embedded(f"{key} likes black coffee"))
    assert scores[0] == pytest.approx(cosine, abs=1e-5)
    assert found(searched.near("likes black coffee", limit=1)) == ["black coffee"]
    assert searched.near("coffee", limit=0) == []
    assert len(searched.near("")) == 3, "zeros are as near to all"


def test_texts_that_are_the_same_share_a_vector(searched: Searched) -> None:
    world = searched.world
    for scope in (SCOPE, OTHER):
        world.write(claim("mira", "name", "Mira", "2000-01-01"), scope=scope)
        searched.index(scope=scope)
    with searched.store.read(SCOPE) as reader:
        texts = reader.unembedded(MODEL, limit=MANY)
    with searched.store.read(OTHER) as reader:
        assert reader.unembedded(MODEL, limit=MANY) == texts
    searched.embed()
    with searched.store.read(OTHER) as reader:
        assert reader.unembedded(MODEL, limit=MANY) == []
    assert found(searched.near("Mira", scope=OTHER)) == ["Mira"]
    world.write(erase("mira"))
    assert searched.near("Mira") == []
    assert found(searched.near("Mira", scope=OTHER)) == ["Mira"]
    begin(searched, scope=ELSEWHERE)
    world.write(claim("mira", "name", "Mira", "2000-01-01"), scope=ELSEWHERE)
    searched.index(scope=ELSEWHERE)
    assert searched.near("Mira", scope=ELSEWHERE) == [], "another tenant's are its own"


def test_a_hit_is_visible_at_both_instants_however_many_are_nearer(searched: Searched) -> None:
    world = searched.world
    world.declare("price")
    known = [world.tell("tea", "price", f"{n} euros", f"20{n:02}-01-01") for n in range(10, 50)]
    searched.index()
    searched.embed()
    assert found(searched.near("price 17 euros", limit=5)) == ["49 euros"]
    assert found(searched.near("price 49 euros", searched.as_of("2013-05-05"), limit=5)) == ["13 euros"]
    assert found(searched.near("price", searched.as_of("2090-01-01", known[5]), limit=3)) == ["15 euros"]
    assert len(searched.near("price", history=True)) == 40
    past = searched.near("price", searched.as_of(known_at=known[5]), history=True)
    assert sorted(found(past)) == [f"{n} euros" for n in range(10, 16)]
    assert found(searched.near("tea price 17 euros", history=True, limit=1)) == ["17 euros"]


def test_predicates_and_scopes_are_filtered_before_the_cut(searched: Searched) -> None:
    world = searched.world
    world.write(*(claim(f"p{n}", "likes", "tea", "2020-01-01") for n in range(60)))
    world.write(claim("mira", "lives_in", "Oslo", "2020-01-01"))
    world.write(claim("tom", "likes", "tea", "2020-01-01"), scope=OTHER)
    for scope in (SCOPE, OTHER):
        searched.index(scope=scope)
        searched.embed(scope=scope)
    assert found(searched.near("likes tea", predicates=["lives_in"], limit=1)) == ["Oslo"]
    assert found(searched.near("Oslo", scope=OTHER)) == ["tea"]
    assert searched.near("likes tea", predicates=[]) == searched.near("likes tea", predicates=["x"]) == []
    assert len(searched.near("Oslo", predicates=["likes", "lives_in"], limit=20)) == 20


def test_a_snapshot_that_is_asked_for_something_else_gives_what_is_near_to_that(searched: Searched) -> None:
    likings(searched, "green tea", "black tea", "red wine", "rain")
    searched.embed()
    as_of = searched.as_of()
    asked = [("red wine", 1, None), ("red wine", 3, None), ("rain", 2, None), ("rain", 2, frozenset({"knows"}))]
    with searched.store.read(SCOPE) as reader:
        given = [
            reader.near_facts(embedded(text), MODEL, as_of, predicates=named, history=False, limit=limit)
            for text, limit, named in asked
        ]
    assert given == [searched.near(text, as_of, limit=limit, predicates=named) for text, limit, named in asked]
    assert [len(hits) for hits in given] == [1, 3, 2, 0]


def test_what_changes_is_near_as_it_is_now(searched: Searched) -> None:
    likings(searched, "green tea", "black tea")
    searched.embed()
    assert len(searched.near("tea")) == 2
    likings(searched, "green tea", "black tea", "red wine", "rain")
    assert len(searched.near("tea")) == 2, "those without a vector are not near yet"
    searched.embed()
    assert set(found(searched.near("red wine"))) == {"green tea", "black tea", "red wine", "rain"}
    assert found(searched.near("p2 likes red wine"))[0] == "red wine"
    searched.world.write(claim("p2", "name", "Zoe", "2000-01-01"))
    searched.index()
    assert "red wine" not in found(searched.near("red wine")), "its sentence is another, which has no vector yet"
    searched.embed()
    assert found(searched.near("Zoe likes red wine"))[0] == "red wine"


def test_chunks_are_near_from_when_they_were_recorded(searched: Searched) -> None:
    searched.record("Tea is green.")
    between = searched.world.now()
    searched.record("Tea is black.")
    searched.index()
    searched.embed()
    hits = searched.near_chunks("tea is black")
    assert [hit.text for hit in hits] == ["Tea is black.", "Tea is green."]
    assert hits[0].score == pytest.approx(1, abs=1e-5)
    assert [hit.text for hit in searched.near_chunks("tea is black", between)] == ["Tea is green."]
    assert searched.near_chunks("tea", scope=OTHER) == []


def test_what_is_gone_is_near_no_more(searched: Searched) -> None:
    known = Known(searched.world)
    likings(searched, "green tea", "black tea")
    (episode,) = searched.record("Tea is green.")
    searched.index()
    searched.embed()
    assert (len(searched.near("tea")), len(searched.near_chunks("tea"))) == (2, 1)
    known.away("p0")
    assert found(searched.near("tea")) == ["black tea"]
    known.away(episode=episode)
    assert searched.near_chunks("tea") == []
    searched.world.write(erase("p1", "likes"))
    assert searched.near("tea", history=True) == []
    with searched.store.write(SCOPE) as tx:
        tx.write_vectors(MODEL, [(keyed("p1 likes black tea"), embedded("p1 likes black tea"))])
    searched.world.write(claim("p1", "likes", "black tea", "2020-01-01"))
    searched.index()
    assert searched.near("tea") == [], "a vector of a text that was gone was not kept"


def test_another_model_is_served_once_it_is_made(searched: Searched) -> None:
    likings(searched, "green tea", "black tea")
    searched.embed()
    begin(searched, BETTER)
    with searched.store.read(SCOPE) as reader:
        assert reader.models() == Models(serving=HASHING, target=BETTER)
        assert (reader.to_index(MODEL).texts, reader.to_index(BETTER.name).texts) == (0, 2)
    assert (len(searched.near("tea")), searched.near("tea", model=BETTER.name)) == (2, [])
    searched.embed(BETTER.name, at_once=1)
    assert len(searched.near("tea")) == len(searched.near("tea", model=BETTER.name)) == 2
    with searched.store.write(SCOPE) as tx:
        tx.serve_model(BETTER.name)
    with searched.store.read(SCOPE) as reader:
        assert reader.models() == Models(serving=BETTER, target=None)
        assert reader.to_index(BETTER.name).texts == 0
        assert reader.to_index(MODEL).texts == 2, "the vectors of the one before are gone"
    assert (searched.near("tea"), len(searched.near("tea", model=BETTER.name))) == ([], 2)


def test_a_target_that_is_given_up_goes_with_its_vectors(searched: Searched) -> None:
    likings(searched, "green tea")
    searched.embed()
    begin(searched, BETTER)
    searched.embed(BETTER.name)
    begin(searched, Model(name="third", dimensions=3))
    with searched.store.read(SCOPE) as reader:
        assert reader.models().target == Model(name="third", dimensions=3)
        assert (reader.to_index(BETTER.name).texts, reader.to_index("third").texts) == (1, 1)
    begin(searched)
    with searched.store.read(SCOPE) as reader:
        assert reader.models() == Models(serving=HASHING, target=None)
    assert len(searched.near("tea")) == 1
    begin(searched, BETTER)
    with searched.store.read(SCOPE) as reader:
        assert reader.to_index(BETTER.name).texts == 1


def test_a_model_of_other_dimensions_is_refused_by_name(searched: Searched) -> None:
    likings(searched, "green tea")
    searched.embed()
    with pytest.raises(Incorrect, match=MODEL):
        begin(searched, Model(name=MODEL, dimensions=3))
    short = np.ones(3, dtype=np.float32)
    with searched.store.write(SCOPE) as tx:
        with pytest.raises(Incorrect, match=MODEL):
            tx.write_vectors(MODEL, [(keyed("p0 likes green tea"), short)])
        with pytest.raises(Incorrect, match="unknown"):
            tx.write_vectors("unknown", [])
        with pytest.raises(Incorrect, match="unknown"):
            tx.serve_model("unknown")
        tx.serve_model(MODEL)
    with searched.store.read(SCOPE) as reader:
        with pytest.raises(Incorrect, match=MODEL):
            reader.near_facts(short, MODEL, searched.as_of(), predicates=None, history=False, limit=9)
        assert reader.near_facts(short, "unknown", searched.as_of(), predicates=None, history=False, limit=9) == []
    assert len(searched.near("tea")) == 1


def test_models_are_those_of_a_tenant(searched: Searched) -> None:
    with searched.store.read(OTHER) as reader:
        assert reader.models().serving == HASHING
    with searched.store.read(ELSEWHERE) as reader:
        assert reader.models() == Models(serving=None, target=None)
    assert searched.store.tenants() == ["acme"]


def test_a_scope_that_is_indexed_anew_wants_its_vectors_again(searched: Searched) -> None:
    likings(searched, "green tea")
    searched.embed()
    with searched.store.write(SCOPE) as tx:
        tx.unindex()
    assert searched.near("tea") == []
    searched.index()
    with searched.store.read(SCOPE) as reader:
        assert reader.to_index(MODEL).texts == 1
    searched.embed()
    assert len(searched.near("tea")) == 1


@pytest.mark.parametrize("every", [2, 20, 100, 500])
def test_filtered_nearest_are_the_nearest_of_what_passes_the_filter(searched: Searched, every: int) -> None:
    """One in so many is visible: by its predicate, or at an earlier known time."""
    world = searched.world
    count = 1000
    rare = [n for n in range(count) if n % every == 0]
    world.write(*(claim(f"p{n}", "owns", f"thing {n}", "2020-01-01") for n in rare))
    known_at = world.now()
    others = [claim(f"p{n}", "likes", f"thing {n}", "2020-01-01") for n in range(count) if n % every]
    for start in range(0, len(others), 500):
        world.write(*others[start : start + 500])
    searched.index(at_once=500)
    searched.embed(at_once=500)
    exact = sorted(rare, key=lambda n: -float(embedded(f"p{n} owns thing {n}") @ embedded("thing 7 owns")))[:10]
    for hits in (
        searched.near("thing 7 owns", predicates=["owns"], limit=10),
        searched.near("thing 7 owns", searched.as_of(known_at=known_at), limit=10),
    ):
        assert len(hits) == min(10, len(rare))
        shared = set(found(hits)) & {f"thing {n}" for n in exact}
        assert len(shared) >= 0.95 * len(hits)
