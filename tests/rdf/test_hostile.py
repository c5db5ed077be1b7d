"""Whatever anybody can tell becomes RDF that libraries read as it was meant: nothing gained, nothing lost."""

import dataclasses
from typing import Any, Final

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology import rdf, rdf_episodes
from ontology.claims import Claim, Entity, Episode, Source
from ontology.episodes import Quote
from ontology.errors import Incorrect
from ontology.facts import Slot
from ontology.ids import ClaimId, EntityId, EpisodeId
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.rdf_terms import Literal, Statement, Term, instant, names_of, term
from ontology.scope import Namespace, Tenant
from ontology.values import Value, ValueType, parse_value
from tests.rdf.story import LANGUAGE_STRING, NAMES, as_written, n_quads, quads
from tests.unit.test_journal import claims

WORDS: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
"""All of Unicode, control characters and what is no character too; lone surrogates are refused when they come."""
MARKS: Final = st.text(st.sampled_from('<>"{}|^`\\ \n\r\t\0\x7f\u2028\ufffe\u202eaé.:/#?@_-'), max_size=20)
HOSTILE: Final = WORDS | MARKS
TAGS: Final = st.from_regex(r"\A(?:[a-z]{2,8}|[ix])(?:-[a-z0-9]{1,8}){0,4}\Z") | st.sampled_from(
    [
        "de",
        "pt-br",
        "zh-hant-tw",
        "de-1996",
        "sl-rozaj",
        "x-private",
        "en-x-a-b",
        "i-klingon",
        "de-de-de",
        "a-b",
        "de-x",
    ]
)
NUMBERS: Final = st.from_regex(r"\A-?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:e-?[0-9]{1,2})?\Z")
DATES: Final = st.from_regex(
    r"\A(?:[0-9]{4}|[+-]0[0-9]{5}|-[0-9]{3}[1-9])(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|1[0-9]|2[0-8]))?)?\Z"
)
JSONS: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e300, 1e300) | HOSTILE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE, inner, max_size=3), max_leaves=5,
)  # fmt: skip


@st.composite
def values(draw: st.DrawFn) -> Value:
    """Anything that can be told as a value."""
    kind = draw(st.sampled_from([*ValueType]))
    wire: dict[str, object] = {"type": kind.value}
    match kind:
        case ValueType.ENTITY:
            return Value(type=kind, text="ent_abcdefgh_1_0", qualifier="")
        case ValueType.LANGTEXT:
            wire |= {"value": draw(HOSTILE), "lang": draw(TAGS)}
        case ValueType.TEXT:
            wire |= {"value": draw(HOSTILE)}
        case ValueType.JSON:
            wire |= {"value": draw(JSONS)}
        case ValueType.QUANTITY:
            wire |= {"value": draw(NUMBERS), "unit": draw(HOSTILE)}
        case ValueType.DECIMAL:
            wire |= {"value": draw(NUMBERS)}
        case ValueType.INTEGER:
            wire |= {"value": draw(st.integers(-(2**63), 2**63 - 1))}
        case ValueType.BOOLEAN:
            wire |= {"value": draw(st.booleans())}
        case ValueType.DATE:
            wire |= {"value": draw(DATES)}
        case ValueType.DATETIME:
            wire |= {"value": f"{draw(DATES.filter(lambda date: date.count('-', 1) == 2))}T10:00:00.000001+02:00"}
        case ValueType.DURATION:
            wire |= {"value": draw(st.from_regex(r"\A-?P[0-9]{1,3}Y[0-9]{1,3}DT[0-9]{1,3}H[0-9]{1,3}\.[0-9]{1,6}S\Z"))}
    try:
        value = parse_value(wire, pointer="", datatype=None)
    except Incorrect:
        return draw(values())
    assert isinstance(value, Value)
    return value


def survives(said: list[Statement]) -> None:
    """That pyoxigraph writes, and pyoxigraph and rdflib read, these statements: those and no others."""
    text = n_quads(quads(said))
    with as_written():
        graph = rdflib.Graph().parse(data=text, format="nt")
    assert set(ox.parse(text, format=ox.RdfFormat.N_QUADS)) == set(quads(said))
    assert {(str(s), str(p), _plain(o)) for s, p, o in graph} == {(s, p, _meant(o)) for s, p, o in said}
    assert len(graph) == len(set(said))


def _plain(term: Any) -> tuple[str, ...]:
    """A term by its parts: literals of rdflib are equal, or not, by more than those."""
    if isinstance(term, rdflib.Literal):
        return (
            str(term),
            str(term.datatype or (LANGUAGE_STRING if term.language else rdflib.XSD.string)),
            term.language or "",
        )
    return (str(term),)


def _meant(term: Term) -> tuple[str, ...]:
    return tuple(term) if isinstance(term, Literal) else (term,)


@given(claim=claims(), value=values(), predicate=HOSTILE, source=HOSTILE, episode=st.none() | HOSTILE)
def test_a_claim_survives(claim: Claim, value: Value, predicate: str, source: str, episode: str | None) -> None:
    slot = dataclasses.replace(claim.slot, predicate=predicate, language=value.qualifier)
    told = dataclasses.replace(
        claim, slot=slot, value=value, source=Source(source), episode=None if episode is None else EpisodeId(episode)
    )
    survives([*rdf.claim(NAMES, told), *rdf.slot(NAMES, slot), *rdf.source(NAMES, source)])


@given(key=HOSTILE, namespace=HOSTILE, id=HOSTILE, root=HOSTILE, words=HOSTILE)
def test_keys_cited_episodes_and_quotes_survive(key: str, namespace: str, id: str, root: str, words: str) -> None:
    entity = Entity(id=EntityId("ent_abcdefgh_1_0"), namespace=Namespace(namespace), key=key)
    episode = Episode(id=EpisodeId(id), source=Source(key), observed_at=None, root=root)
    quote = Quote(claim=ClaimId("clm_abcdefgh_1_0"), turn=None, start=0, end=1, text=words)
    said = [*rdf.entity(NAMES, entity), *rdf_episodes.quote(NAMES, quote)]
    survives([*said, *rdf_episodes.episode(NAMES, episode, None)])


@given(one=HOSTILE, other=HOSTILE)
def test_no_two_words_have_one_name(one: str, other: str) -> None:
    if one != other:
        for name in (NAMES.predicate, NAMES.type, NAMES.source, NAMES.principal):
            assert name(one) != name(other)
    assert NAMES.source(one) != NAMES.principal(one)


@pytest.mark.parametrize("word", ["x-" + "0" * 32, "x-" + "f" * 32])
def test_a_word_that_looks_like_a_hash_is_hashed(word: str) -> None:
    assert not NAMES.predicate(word).endswith(word)


def test_slots_that_run_together_are_named_apart() -> None:
    from ontology.scope import scope_of

    def slot(namespace: str, purpose: str, predicate: str, language: str) -> Slot:
        scope = scope_of("acme", namespace, purpose)
        return Slot(scope=scope, subject=EntityId("ent_abcdefgh_1_0"), predicate=predicate, language=language)

    slots = [slot("a", "bc", "p", ""), slot("ab", "c", "p", ""), slot("a", "bc", "p1", ""), slot("a", "bc", "p", "1")]
    assert len({NAMES.slot(each) for each in slots}) == len(slots)


def test_no_name_of_one_tenant_is_one_of_another() -> None:
    other = names_of(Tenant("acme2"))
    assert not other.predicate("p").startswith(NAMES.whole + "/")


@given(one=st.integers(OPEN_START + 1, OPEN_END - 1), other=st.integers(OPEN_START + 1, OPEN_END - 1))
@settings(max_examples=60)
def test_times_are_ordered_by_an_engine_as_they_are_here(one: int, other: int) -> None:
    """By one that knows XSD 1.1, from before the year 1 to after the year 9999."""
    first, second = (
        f'"{instant(Instant(at)).text}"^^<http://www.w3.org/2001/XMLSchema#dateTime>' for at in (one, other)
    )
    (row,) = ox.Store().query(f"SELECT (({first} < {second}) AS ?less) {{}}")  # type: ignore[misc]
    assert (row["less"].value == "true") == (one < other)


@pytest.mark.parametrize(
    ("told", "written", "datatype"),
    [
        ("2026", "2026", "gYear"), ("2026-06", "2026-06", "gYearMonth"), ("2026-06-30", "2026-06-30", "date"),
        ("-0043-03-15", "-0043-03-15", "date"), ("0000", "0000", "gYear"), ("+12026-06", "12026-06", "gYearMonth"),
    ],
)  # fmt: skip
def test_a_date_is_as_coarse_as_it_was_told(told: str, written: str, datatype: str) -> None:
    value = parse_value({"type": "date", "value": told}, pointer="", datatype=None)
    assert isinstance(value, Value)
    literal = term(NAMES, value)
    assert isinstance(literal, Literal)
    assert (literal.text, literal.datatype.rsplit("#", 1)[1]) == (written, datatype)


@pytest.mark.parametrize("base", ["urn:vigencia:", "urn:x-y:", "https://example.org/", "https://example.org/a/b:"])
def test_a_base_ends_where_a_name_may_go_on(base: str) -> None:
    assert names_of(Tenant("acme"), base).whole == f"{base}t/acme"
    ox.NamedNode(names_of(Tenant("acme"), base).predicate("p"))


@pytest.mark.parametrize("base", ["", "urn:", "vigencia", "https://example.org", "https://e x/", "urn:a:<b>:", "/a/"])
def test_a_base_that_no_name_can_begin_with_is_refused(base: str) -> None:
    with pytest.raises(Incorrect, match="base"):
        names_of(Tenant("acme"), base)
