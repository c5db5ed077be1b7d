"""Searching by words and by names, on every store that has an index."""

from contextlib import suppress
from pathlib import Path

import pytest

from graph import transfer
from graph.ledger import ledger_hash
from graph.ports import Page
from graph.searching import Chunk, Statement, Texts, ToIndex
from graph.sqlite_store.store import SqliteStore
from graph.terms import terms
from ontology.errors import Busy
from ontology.facts import AsOf
from ontology.instants import DAY, SECOND, Instant
from ontology.schema_document import pack_from_document
from ontology.scope import Scope, scope_of
from tests.contract.search_world import FAR, MANY, Searched, found
from tests.contract.test_forgetting import Known
from tests.contract.world import SCOPE, World, claim, correct, erase, retract

OTHER = scope_of("acme", "team")
ELSEWHERE = scope_of("zeta")


@pytest.fixture
def searched(world: World) -> Searched:
    return Searched(world)


def name(key: str, name: str) -> object:
    return claim(key, "name", name, "2000-01-01")


def mira(searched: Searched) -> None:
    """Mira lives in Lisbon, before in Porto, and knows Tom."""
    world = searched.world
    world.write(claim("mira", "name", "Mira Novák", "1990-01-01"), claim("tom", "name", "Tom Baker", "1990-01-01"))
    world.tell("mira", "lives_in", "Porto", "2015-01-01")
    world.tell("mira", "lives_in", "Lisbon", "2020-01-01")
    world.write(claim("mira", "knows", {"type": "entity", "key": "tom"}, "2018-01-01"))


# --- what is to be indexed


def test_nothing_is_found_before_it_is_indexed_and_what_is_missing_is_said(searched: Searched) -> None:
    mira(searched)
    searched.record("Mira moved to Lisbon.")
    with searched.store.read(SCOPE) as reader:
        assert reader.to_index(None) == ToIndex(statements=5, episodes=1, texts=0)
        assert len(reader.unwritten(limit=2)) == 2
        assert {each.slot.predicate for each in reader.unwritten(limit=MANY)} == {"name", "lives_in", "knows"}
        assert len(reader.uncut(limit=MANY)) == 1
    assert searched.match("Mira Lisbon") == []
    assert searched.chunks("Lisbon") == []
    assert searched.store.scopes_to_index(None, limit=10) == [SCOPE]
    searched.index()
    with searched.store.read(SCOPE) as reader:
        assert reader.to_index(None) == ToIndex(statements=0, episodes=0, texts=0)
        assert (reader.unwritten(limit=MANY), reader.uncut(limit=MANY)) == ([], [])
    assert searched.store.scopes_to_index(None, limit=10) == []
    assert found(searched.match("lisbon")) == ["Lisbon"]


def test_a_value_that_comes_back_needs_no_new_sentence(searched: Searched) -> None:
    mira(searched)
    searched.index()
    searched.world.tell("mira", "lives_in", "Porto", "2024-01-01")
    with searched.store.read(SCOPE) as reader:
        assert reader.to_index(None).statements == 0
    assert found(searched.match("Porto")) == ["Porto"]


def test_a_statement_tells_slot_and_value(searched: Searched) -> None:
    searched.world.write(claim("mira", "weight", {"type": "quantity", "value": "61.5", "unit": "kg"}, "2020-01-01"))
    searched.world.write(claim("mira", "motto", {"type": "langtext", "value": "Siempre 'así'", "lang": "es"}))
    with searched.store.read(SCOPE) as reader:
        facts = reader.state([(searched.world.id("mira"), None)], searched.as_of(), certain=False, page=Page(9))
        expected = [Statement(slot=f.version.slot, value=f.version.value, value_key=f.version.value_key) for f in facts]
        listed = reader.unwritten(limit=MANY)
    assert len(expected) == 2
    assert sorted(listed, key=repr) == sorted(expected, key=repr)


def test_a_new_name_lets_every_sentence_with_it_be_written_again(searched: Searched) -> None:
    mira(searched)
    searched.world.write(claim("ann", "likes", "tea", "2020-01-01"))
    searched.index()
    assert found(searched.match("Tommy")) == []
    searched.world.write(claim("tom", "alias", "Tommy", "2020-01-01"))
    with searched.store.read(SCOPE) as reader:
        wanting = {each.slot.predicate for each in reader.unwritten(limit=MANY)}
    assert wanting == {"name", "alias", "knows"}
    searched.index()
    assert sorted(found(searched.match("Tommy"))) == sorted(["Tommy", "Tom Baker", searched.world.id("tom")])
    searched.world.write(retract("tom", "alias", valid_from="2021-01-01"))
    searched.index()
    assert found(searched.match("Tommy", searched.as_of("2020-06-01"))) == ["Tommy"]


def test_a_new_label_lets_every_sentence_under_its_predicate_be_written_again_in_all_scopes(
    searched: Searched,
) -> None:
    def wanting(scope: Scope) -> set[str]:
        with searched.store.read(scope) as reader:
            return {each.slot.predicate for each in reader.unwritten(limit=MANY)}

    def label(**labels: str) -> None:
        declared = {name: {"label": text} for name, text in labels.items()}
        pack = pack_from_document({"pack": "labels", "predicates": declared})
        searched.world.writer.put_schema(SCOPE, "tester", pack)
        searched.world.clock.advance(SECOND)

    label(likes="likes", sees="sees")
    for scope in (SCOPE, OTHER, ELSEWHERE):
        searched.world.write(claim("ann", "likes", "tea"), claim("ann", "sees", "red"), scope=scope)
        searched.index(scope=scope)
    label(likes="is fond of")
    assert [wanting(scope) for scope in (SCOPE, OTHER, ELSEWHERE)] == [{"likes"}, {"likes"}, set()]
    assert found(searched.match("likes")) == ["tea"], "until then it is found by the words before"
    searched.index()
    searched.index(scope=OTHER)
    label(likes="is fond of", sees="sees")
    assert [wanting(scope) for scope in (SCOPE, OTHER)] == [set(), set()], "a label that stays changes nothing"


def test_scopes_to_index_are_those_of_every_tenant_in_order(searched: Searched) -> None:
    scopes = [SCOPE, OTHER, scope_of("acme", "default", "health"), ELSEWHERE]
    for scope in reversed(scopes):
        searched.world.write(claim("mira", "likes", "tea"), scope=scope)
    ordered = sorted(scopes, key=lambda scope: (scope.tenant, scope.namespace, scope.purpose))
    assert searched.store.scopes_to_index(None, limit=10) == ordered
    assert searched.store.scopes_to_index(None, limit=2) == ordered[:2]
    searched.index(scope=ordered[0])
    assert searched.store.scopes_to_index(None, limit=10) == ordered[1:]
    assert searched.store.scopes_to_index("any model", limit=10) == ordered


def test_what_is_written_for_something_that_is_gone_is_left_out(searched: Searched) -> None:
    world = searched.world
    world.tell("mira", "likes", "tea")
    (episode,) = searched.record("Mira likes tea.")
    with searched.store.read(SCOPE) as reader:
        (statement,) = reader.unwritten(limit=MANY)
    world.write(erase("mira", "likes"))
    with searched.store.write(SCOPE) as tx:
        tx.write_sentences([(statement, "Mira likes tea")])
    chunk = Chunk(episode=episode, number=0, turn=None, start=0, end=4)
    with searched.store.write(OTHER) as tx:  # of another scope
        tx.write_chunks(episode, [(chunk, "Mira")])
        tx.write_sentences([(statement, "Mira likes tea")])
    assert searched.match("tea") == []
    assert searched.chunks("Mira", scope=OTHER) == searched.chunks("Mira") == []


def test_a_scope_can_be_indexed_anew(searched: Searched) -> None:
    mira(searched)
    searched.record("Mira moved to Lisbon.")
    searched.world.write(claim("mira", "likes", "Lisbon"), scope=OTHER)
    searched.index()
    searched.index(scope=OTHER)
    with searched.store.write(SCOPE) as tx:
        tx.unindex()
    with searched.store.read(SCOPE) as reader:
        assert reader.to_index(None) == ToIndex(statements=5, episodes=1, texts=0)
        assert reader.term_counts(Texts.SENTENCES, ["lisbon"], ceiling=9) == (0, {"lisbon": 0})
    assert searched.match("Lisbon") == searched.names("Mira") == []
    assert searched.chunks("Lisbon") == []
    assert found(searched.match("Lisbon", scope=OTHER)) == ["Lisbon"]
    searched.index()
    assert found(searched.match("Lisbon")) == ["Lisbon"]
    assert len(searched.chunks("Lisbon")) == 1


# --- words


def test_a_fact_is_found_by_the_words_of_its_sentence_as_the_exact_reads_serve_it(searched: Searched) -> None:
    mira(searched)
    searched.index()
    as_of = searched.as_of()
    (hit,) = searched.match("where is LISBON?", as_of)
    with searched.store.read(SCOPE) as reader:
        exact = reader.state([(searched.world.id("mira"), "lives_in")], as_of, certain=False, page=Page(9))
    assert [hit.fact.version] == [fact.version for fact in exact]
    assert (hit.fact.support, hit.fact.expires_at) == (exact[0].support, exact[0].expires_at)
    assert (hit.fact.start, hit.fact.end) == (exact[0].start, exact[0].end)
    assert hit.score > 0


def test_more_of_the_words_and_rarer_ones_come_first(searched: Searched) -> None:
    world = searched.world
    world.write(*(claim(f"p{n}", "likes", f"green tea {n}", "2020-01-01") for n in range(9)))
    world.write(claim("mira", "likes", "green coffee", "2020-01-01"))
    searched.index()
    hits = searched.match("green coffee")
    assert (hits[0].fact.version.value.text, len(hits)) == ("green coffee", 10)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert found(searched.match("green coffee", limit=3)) == found(hits)[:3]
    assert searched.match("green", limit=0) == searched.match("") == searched.match("nothing") == []


def test_equal_hits_come_in_the_order_in_which_they_were_recorded_latest_first(searched: Searched) -> None:
    world = searched.world
    for number in range(5):
        world.tell(f"p{number}", "likes", f"x{number} tea", "2020-01-01")
    world.write(*(claim(f"q{number}", "likes", f"y{number} tea", "2020-01-01") for number in range(3)))
    searched.index()
    assert found(searched.match("tea")) == [
        "y0 tea", "y1 tea", "y2 tea", "x4 tea", "x3 tea", "x2 tea", "x1 tea", "x0 tea",
    ]  # fmt: skip


def test_a_limit_cuts_equal_hits_in_their_order_behind_better_ones_that_hold_no_more(searched: Searched) -> None:
    world = searched.world
    for number in range(9):
        world.tell("mira", "lives_in", f"tea tea tea {number}", f"20{10 + number}-01-01")
    for name in ("one", "two", "three", "four", "five"):
        world.tell(name, "likes", "green tea")
    searched.index()
    every = searched.match("tea")
    assert found(every) == ["tea tea tea 8", *["green tea"] * 5]
    recorded = [hit.fact.version.recorded_from for hit in every[1:]]
    assert recorded == sorted(recorded, reverse=True)
    for limit in range(1, 7):
        assert searched.match("tea", limit=limit) == every[:limit]


def test_a_hit_holds_at_both_instants_of_the_question(searched: Searched) -> None:
    world = searched.world
    world.declare("price")
    known = [world.tell("tea", "price", f"{n} euros", f"20{n:02}-01-01") for n in range(10, 50)]
    searched.index()
    assert found(searched.match("price euros", limit=1)) == ["49 euros"]
    assert found(searched.match("price euros", searched.as_of("2013-05-05"), limit=1)) == ["13 euros"]
    assert found(searched.match("price euros", searched.as_of("2090-01-01", known[5]), limit=3)) == ["15 euros"]
    assert searched.match("price euros", searched.as_of("2009-01-01")) == []
    assert len(searched.match("price euros", history=True)) == 40
    past = searched.match("price euros", searched.as_of(known_at=known[5]), history=True)
    assert sorted(found(past)) == [f"{n} euros" for n in range(10, 16)]


def test_a_snapshot_that_is_asked_again_gives_what_it_would_have_given_at_first(searched: Searched) -> None:
    world = searched.world
    world.write(*(claim(f"p{n}", "lives_in", f"Old Town {n}", "2010-01-01") for n in range(30)))
    world.write(*(claim(f"p{n}", "lives_in", f"New Town {n}", "2020-01-01") for n in range(30)))
    searched.index()
    asked = [("old town", 2, False), ("old town", 40, True), ("old town", 40, False), ("new town", 3, False),
             ("old town", 7, True), ("town 3", 60, True), ("old town", 1, True)]  # fmt: skip
    as_of = searched.as_of()
    with searched.store.read(SCOPE) as reader:
        given = [
            reader.match_facts(terms(text), as_of, predicates=None, history=history, limit=limit)
            for text, limit, history in asked
        ]
    assert given == [searched.match(text, as_of, limit=limit, history=history) for text, limit, history in asked]
    assert [len(hits) for hits in given] == [2, 40, 30, 3, 7, 60, 1]


def test_what_was_corrected_is_found_as_it_was_known_then(searched: Searched) -> None:
    world = searched.world
    before = world.tell("mira", "lives_in", "Oslo", "2020-01-01")
    world.write(correct("mira", "lives_in", "Oslo", "2020-01-01", "Bergen"))
    searched.index()
    assert found(searched.match("Oslo Bergen")) == ["Bergen"]
    assert found(searched.match("Oslo Bergen", searched.as_of(known_at=before))) == ["Oslo"]
    assert found(searched.match("Oslo Bergen", history=True)) == ["Bergen"]


def test_what_has_expired_is_found_only_as_of_before(searched: Searched) -> None:
    world = searched.world
    known = world.tell("mira", "likes", "tea", "2020-01-01", ttl="P1D")
    searched.index()
    as_of = searched.as_of(known_at=known)
    for after, served in ((DAY - 1, ["tea"]), (DAY, [])):
        with searched.store.read(SCOPE) as reader:
            reader.serve(known, Instant(known + after))
            for history in (False, True):
                hits = reader.match_facts(["tea"], as_of, predicates=None, history=history, limit=9)
                assert found(hits) == served
    assert found(searched.match("tea", as_of)) == ["tea"]


def test_predicates_limit_what_is_found(searched: Searched) -> None:
    mira(searched)
    searched.world.write(claim("mira", "likes", "Lisbon", "2020-01-01"))
    searched.index()
    assert {hit.fact.version.slot.predicate for hit in searched.match("lisbon")} == {"likes", "lives_in"}
    assert [hit.fact.version.slot.predicate for hit in searched.match("lisbon", predicates=["likes", "x"])] == ["likes"]
    assert searched.match("lisbon", predicates=[]) == searched.match("lisbon", predicates=["li%' OR 1"]) == []


def test_terms_are_counted_in_the_scope_alone(searched: Searched) -> None:
    world = searched.world
    world.write(*(claim(f"p{n}", "likes", f"green tea {n}", "2020-01-01") for n in range(9)))
    world.write(claim("mira", "likes", "green coffee"), scope=OTHER)
    searched.index()
    searched.index(scope=OTHER)
    with searched.store.read(SCOPE) as reader:
        assert reader.term_counts(Texts.SENTENCES, ["green", "coffee", "3"], ceiling=100) == (
            9,
            {"green": 9, "coffee": 0, "3": 1},
        )
        assert reader.term_counts(Texts.SENTENCES, ["green"], ceiling=4) == (9, {"green": 4})
        assert reader.term_counts(Texts.SENTENCES, [], ceiling=4) == (9, {})
    with searched.store.read(OTHER) as reader:
        assert reader.term_counts(Texts.SENTENCES, ["green", "coffee"], ceiling=100) == (1, {"green": 1, "coffee": 1})
    with searched.store.read(ELSEWHERE) as reader:
        assert reader.term_counts(Texts.SENTENCES, ["green"], ceiling=100) == (0, {"green": 0})


def test_the_words_of_episodes_are_counted_by_themselves(searched: Searched, world: World) -> None:
    world.write(claim("mira", "likes", "green tea", "2020-01-01"))
    _, gone = searched.record("Porto is green.", "Porto is far.")
    searched.index()
    with searched.store.read(SCOPE) as reader:
        assert reader.term_counts(Texts.CHUNKS, ["porto", "green", "tea"], ceiling=9) == (
            2,
            {"porto": 2, "green": 1, "tea": 0},
        )
        assert reader.term_counts(Texts.CHUNKS, ["porto"], ceiling=1) == (2, {"porto": 1})
    Known(world).away(episode=gone)
    with searched.store.read(SCOPE) as reader:
        assert reader.term_counts(Texts.CHUNKS, ["porto", "far"], ceiling=9) == (1, {"porto": 1, "far": 0})


def test_nothing_of_another_scope_is_found(searched: Searched) -> None:
    for number, scope in enumerate((SCOPE, OTHER, ELSEWHERE)):
        searched.world.write(claim("mira", "name", f"Mira {number}", "2000-01-01"), scope=scope)
        searched.record(f"Mira likes {number}.", scope=scope)
        searched.index(scope=scope)
    for number, scope in enumerate((SCOPE, OTHER, ELSEWHERE)):
        assert found(searched.match("Mira", scope=scope)) == [f"Mira {number}"]
        assert found(searched.names("Mira", scope=scope)) == [f"Mira {number}"]
        assert [hit.text for hit in searched.chunks("Mira", scope=scope)] == [f"Mira likes {number}."]
    assert searched.match("Mira", scope=scope_of("nobody"), as_of=AsOf(valid_at=FAR, known_at=FAR)) == []


@pytest.mark.parametrize(
    "text",
    [
        "straße STRASSE", "Ελλάς ελλασ", "İstanbul", "ﬁsh", "x\u0301y", "日本語 テキスト", "a_b c-d", "👩‍👩‍👧 family",
        "zero\u200bwidth", "RTL\u202eabc", "ＦＵＬＬ width", "१२३", "ǅungla", "n" * 64, "e" * 65, "ͅ",
        "\ufdfa", "ᾳ ᾼ", "Ⅷ viii",
    ],
)  # fmt: skip
def test_a_sentence_is_found_by_each_of_its_words_however_they_are_written(searched: Searched, text: str) -> None:
    searched.world.write(claim("mira", "likes", text, "2020-01-01"), claim("tom", "likes", "rain", "2020-01-01"))
    searched.index()
    value = searched.world.state("mira", "likes", "2021-01-01")
    for term in terms(text):
        with searched.store.read(SCOPE) as reader:
            hits = reader.match_facts([term], searched.as_of(), predicates=None, history=False, limit=9)
        assert found(hits) == value, term


# --- names


def test_a_name_is_found_though_it_is_misspelt_or_part_of_a_question(searched: Searched) -> None:
    mira(searched)
    searched.world.write(claim("mira", "alias", "Mimi", "2019-01-01"), claim("ann", "name", "Ann Smith", "1990-01-01"))
    searched.index()
    assert found(searched.names("mira novak"))[0] == "Mira Novák"
    assert found(searched.names("Where does Mira Novakk live?"))[0] == "Mira Novák"
    assert found(searched.names("Smyth"))[0] == "Ann Smith"
    hits = searched.names("mimi or tom baker")
    assert set(found(hits)[:2]) == {"Mimi", "Tom Baker"}
    assert [hit.score for hit in hits[:2]] == [1.0, 1.0]
    assert all(0 < hit.score <= 1 for hit in hits)
    assert found(searched.names("Mimi", searched.as_of("2018-01-01"))) == found(
        [hit for hit in searched.names("Mimi") if hit.fact.version.value.text != "Mimi"]
    )
    assert searched.names("") == searched.names("?") == searched.names("Mira", limit=0) == []
    assert len(searched.names("mira tom ann", limit=2)) == 2


# --- chunks


def test_the_words_of_an_episode_are_found_by_chunk(searched: Searched) -> None:
    first, second = searched.record("Mira moved to Lisbon. " * 3 + "It rains in Porto.", "Tom likes Porto.")
    searched.index()
    hits = searched.chunks("porto")
    assert {hit.chunk.episode for hit in hits} == {first, second}
    with searched.store.read(SCOPE) as reader:
        for hit in hits:
            episode = reader.recorded_episode(hit.chunk.episode)
            assert hit.episode == episode
            assert episode.verbatim is not None
            assert isinstance(episode.verbatim.body, str)
            assert hit.text == episode.verbatim.body[hit.chunk.start : hit.chunk.end]
    assert len(searched.chunks("porto", limit=1)) == 1
    assert searched.chunks("nothing") == []


def test_an_episode_is_not_found_before_it_was_recorded(searched: Searched) -> None:
    searched.record("Tea is green.")
    between = searched.world.now()
    searched.record("Tea is black.")
    searched.index()
    assert [hit.text for hit in searched.chunks("tea", between)] == ["Tea is green."]
    assert searched.chunks("tea", Instant(between - 1)) == []
    assert len(searched.chunks("tea")) == 2


def test_chunks_are_written_instead_of_those_before(searched: Searched) -> None:
    (episode,) = searched.record("Tea is green.")
    searched.index()
    with searched.store.write(SCOPE) as tx:
        parts = [(0, 3, "Tea"), (4, 12, "is green")]
        tx.write_chunks(
            episode,
            [
                (Chunk(episode=episode, number=n, turn=None, start=start, end=end), text)
                for n, (start, end, text) in enumerate(parts)
            ],
        )
    assert [hit.text for hit in searched.chunks("tea green")] == ["Tea", "is green"] or [
        hit.text for hit in searched.chunks("tea green")
    ] == ["is green", "Tea"]
    with searched.store.write(SCOPE) as tx:
        tx.write_chunks(episode, [])
    assert searched.chunks("tea green") == []
    with searched.store.read(SCOPE) as reader:
        assert reader.uncut(limit=9) == []


# --- what is gone


def test_what_is_erased_is_found_no_more(searched: Searched) -> None:
    mira(searched)
    searched.index()
    searched.world.write(erase("mira", "lives_in", "Lisbon"))
    assert searched.match("Lisbon", history=True) == []
    assert found(searched.match("Porto")) == ["Porto"]
    searched.world.write(erase("mira", "lives_in"))
    assert searched.match("Porto", history=True) == []
    with searched.store.read(SCOPE) as reader:
        assert reader.term_counts(Texts.SENTENCES, ["porto", "lisbon"], ceiling=9)[1] == {"porto": 0, "lisbon": 0}


def test_an_erased_name_goes_out_of_every_sentence_with_it(searched: Searched) -> None:
    mira(searched)
    searched.index()
    assert len(searched.match("Baker", history=True)) == 2
    searched.world.write(erase("tom", "name"))
    assert searched.match("Baker", history=True) == searched.names("Baker") == []
    with searched.store.read(SCOPE) as reader:
        assert [each.slot.predicate for each in reader.unwritten(limit=9)] == ["knows"]
    searched.index()
    assert len(searched.match("knows")) == 1


def test_what_is_forgotten_is_found_no_more(searched: Searched) -> None:
    known = Known(searched.world)
    mira(searched)
    searched.world.tell("ann", "likes", "Lisbon")
    searched.index()
    known.away("mira")
    assert searched.match("Mira Novák Porto", history=True) == searched.names("Mira") == []
    assert found(searched.match("Lisbon")) == ["Lisbon"]
    searched.index()
    assert searched.match("Mira Novák Porto", history=True) == []


def test_the_words_of_a_forgotten_episode_are_found_no_more(searched: Searched) -> None:
    known = Known(searched.world)
    first, second = searched.record("Mira likes tea.", "Tom likes tea.")
    searched.index()
    known.away(episode=first)
    assert [hit.chunk.episode for hit in searched.chunks("tea")] == [second]
    with searched.store.read(SCOPE) as reader:
        assert reader.uncut(limit=9) == []
    with searched.store.write(SCOPE) as tx:
        tx.write_chunks(first, [(Chunk(episode=first, number=0, turn=None, start=0, end=4), "Mira")])
    assert searched.chunks("Mira") == []


# --- beside the ledger


def test_the_index_is_no_part_of_the_ledger_and_an_imported_one_can_be_made(
    searched: Searched, tmp_path: Path
) -> None:  # fmt: skip
    mira(searched)
    searched.record("Mira moved to Lisbon.")
    rows = list(searched.store.ledger(SCOPE.tenant))
    searched.index()
    assert list(searched.store.ledger(SCOPE.tenant)) == rows
    lines: list[bytes] = []
    transfer.export_events(searched.store, SCOPE.tenant, lines.append)
    other = SqliteStore(str(tmp_path / "other.db"))
    transfer.import_events(other, SCOPE.tenant, lambda: lines, now=searched.world.clock.now())
    assert ledger_hash(other, SCOPE.tenant) == ledger_hash(searched.store, SCOPE.tenant)
    copy = Searched(World(other))
    with other.read(SCOPE) as reader:
        assert reader.to_index(None) == ToIndex(statements=5, episodes=1, texts=0)
    copy.index()
    as_of = searched.as_of()
    for text in ("Lisbon", "Mira", "Tom Baker"):
        assert found(copy.match(text, as_of)) == found(searched.match(text, as_of))
        assert found(copy.names(text, as_of)) == found(searched.names(text, as_of))
    assert [hit.chunk for hit in copy.chunks("Lisbon")] == [hit.chunk for hit in searched.chunks("Lisbon")]
    other.close()


def test_a_failed_transaction_leaves_the_index_as_it_was(searched: Searched) -> None:
    mira(searched)
    searched.index()
    version = searched.match("Lisbon")[0].fact.version
    statement = Statement(slot=version.slot, value=version.value, value_key=version.value_key)
    with suppress(Busy), searched.store.write(SCOPE) as tx:
        tx.write_sentences([(statement, "something else")])
        tx.unindex()
        raise Busy("an injected failure")
    assert found(searched.match("Lisbon")) == ["Lisbon"]
    assert searched.match("something") == []
