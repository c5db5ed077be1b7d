"""Questions that are written in the syntax of a search engine or a database: words like any others, on every store."""

from itertools import product
from typing import Final

import pytest

from graph.ports import MemoryStore
from graph.searching import Texts
from graph.terms import terms
from ontology.scope import scope_of
from tests.contract.search_world import FAR, Searched
from tests.contract.world import SCOPE, World, claim

THEIRS: Final = scope_of("zeta")
SECRET: Final = "zqxsecret"
OURS: Final = "violet"

_HEARTS: Final = (
    # FTS5
    '"{}"', '"{}', '{}"', "{} NOT x", "NOT {}", "{} AND", "AND {}", "{} OR", "NEAR({} x, 5)", "NEAR({}", "{}*", "^{}",
    "{} + x", "text : {}", "{{text scope}} : {}", "- text : {}", "{} NEAR/2 x", "'{}'", "rank MATCH '{}'", "{} --",
    "({}", "{})", "(({}) AND (", "scope:2 {}", "passages:{}", "-{}",
    # Lucene
    "+{}", "tenant:zeta {}", "tenant:zeta OR {}", "{}~0.1", "{}^9999999999", "[* TO *] {}", "{{a TO {}}}", "*:* {}",
    "*{}", "?{}", "{} && x", "{} || x", "!{}", "/.*{}.*/", "\\{}", "{}\\", "_exists_:{}", "text:[a TO z] {}",
    '"{} x"~1000000',
    # Cypher and SQL
    "'}}) MATCH (n) DETACH DELETE n // {}", "{}' OR 1=1 --", "{}; DROP TABLE passages; --",
    "{}' UNION SELECT secret --", "`{}`", "$scope {}", "{{scope: 'zeta'}} {}", "{}%' OR '%' = '",
    "{} YIELD node RETURN node", "CALL db.labels() {}", "\\u0027 OR {}", "{}\u0000", "%00{}", "{} LIMIT -1", "?1 {}",
)  # fmt: skip
_WORDS: Final = (OURS, SECRET, f"{OURS} {SECRET}", f"{OURS}\u2019{SECRET}", "")
CORPUS: Final = [heart.format(word) for heart, word in product(_HEARTS, _WORDS)]


@pytest.fixture
def searched(store: MemoryStore) -> Searched:
    """A tenant with one violet thing, and another with a secret."""
    found = Searched(World(store))
    for scope, word in ((SCOPE, OURS), (THEIRS, SECRET)):
        found.world.write(
            claim("it", "name", f"the {word} one", "2020-01-01"), claim("it", "likes", f"{word} x", "2020-01-01"),
            scope=scope,
        )  # fmt: skip
        found.record(f"It is {word} and x.", scope=scope)
        found.index(scope=scope)
    return found


def test_there_are_three_hundred_questions() -> None:
    assert len(set(CORPUS)) >= 300 - len(_HEARTS)
    assert len(CORPUS) == 300


def test_no_question_is_an_error_or_finds_what_another_tenant_has(searched: Searched) -> None:
    as_of = searched.as_of()
    with searched.store.read(SCOPE) as reader:
        for text in CORPUS:
            asked = terms(text)
            facts = reader.match_facts(asked, as_of, predicates=None, history=True, limit=50)
            facts += reader.match_names(text, as_of, limit=50)
            chunks = reader.match_chunks(asked, FAR, limit=50)
            assert {hit.fact.version.slot.scope for hit in facts} <= {SCOPE}, text
            assert {hit.episode.scope for hit in chunks} <= {SCOPE}, text
            assert SECRET not in "".join([hit.fact.version.value.text for hit in facts] + [hit.text for hit in chunks])
            if OURS in asked:
                assert len({hit.fact.version.id for hit in facts}) == 2, text
                assert len(chunks) == 1, text
            counts = reader.term_counts(Texts.SENTENCES, asked, ceiling=9)[1]
            assert counts.get(SECRET, 0) == 0, text
            assert reader.match_facts([OURS], as_of, predicates=[text], history=False, limit=9) == [], text


def test_syntax_in_what_is_indexed_is_text(searched: Searched) -> None:
    world = searched.world
    world.write(*(claim(f"p{n}", "likes", text.replace("\u0000", " ").strip(), "2020-01-01")
                  for n, text in enumerate(CORPUS) if text.replace("\u0000", " ").strip()))  # fmt: skip
    searched.record(*(text for text in CORPUS if OURS in text and SECRET not in text))
    searched.index(at_once=500)
    hits = searched.match(OURS)
    assert len(hits) == 2 + sum(OURS in terms(text) for text in CORPUS)
    assert len(searched.chunks(OURS)) > 50, "all but what is cut in the middle of the word"
    assert searched.match(SECRET, scope=THEIRS, limit=50)[0].fact.version.slot.scope == THEIRS
