"""Content that wants to be something else: it is kept as it is, or refused with its reason, the same by every store."""

from collections.abc import Callable
from typing import Any

import pytest

from graph.ledger import ledger_hash
from graph.ports import Order, Page, Reader
from ontology.claims import Source
from ontology.errors import Incorrect, NotFound
from ontology.facts import AsOf, Slot
from ontology.ids import ClaimId, EntityId, EpisodeId, FactId
from ontology.instants import parse_instant
from ontology.intervals import Interval
from tests.contract.world import ALL, SCOPE, World, claim, text_key, withdraw

FAR = parse_instant("2100-01-01")
NOW = AsOf(valid_at=FAR, known_at=FAR)
ALWAYS = Interval(parse_instant("-9999-01-01"), FAR)
LONE = "a\ud800b"

TEXTS = {
    "cypher": "`}) DETACH DELETE n //",
    "cypher parameter": "$tenant",
    "cypher escape": "\\u0027}) RETURN 1 //",
    "lucene": '+a -b && || ! ( ) { } [ ] ^ " ~ * ? : \\ / AND OR NOT *:* a~2 [a TO b}',
    "sql": "x'); DELETE FROM versions; --",
    "emoji": "👩‍👩‍👧🏳️‍🌈",
    "right to left": "\u202eשלום\u2066مرحبا\u2069",
    "beyond the basic plane": "\U0010ffff𝔘",
    "no characters": "\ufffe\uffff",
    "byte order mark": "\ufeffx",
    "many marks": "x" + "\u0323" * 90,
    "C1 controls": "a\u0085b\u009fc",
    "tab and line ends": "a\tb\nc\r\nd",
    "separators": "a\u2028b\u2029c\u00a0",
    "a key of ours": "acme|1|0",
}

NUMBERS: dict[str, tuple[object, str]] = {
    "the largest integer": (2**63 - 1, str(2**63 - 1)),
    "the smallest integer": (-(2**63), str(-(2**63))),
    "a decimal beyond 64 bits": ({"type": "decimal", "value": str(2**63)}, str(2**63)),
    "400 digits": ({"type": "decimal", "value": "9" * 400}, "9" * 400),
    "the largest double": (1.7976931348623157e308, "17976931348623157" + "0" * 292),
    "the smallest double": (5e-324, "0." + "0" * 323 + "5"),
    "minus zero": (-0.0, "0"),
    "a day before Christ": ({"type": "date", "value": "-0044-03-15"}, "-0044-03-15"),
    "the year 0": ({"type": "date", "value": "0000"}, "0000"),
    "an instant before Christ": ({"type": "datetime", "value": "-0044-03-15T12:00:00Z"}, "-0044-03-15T12:00:00Z"),
}

REFUSED: dict[str, tuple[object, str]] = {
    "nul": ("a\x00b", "control_character"),
    "bell": ("a\x07b", "control_character"),
    "escape": ("\x1b[2J", "control_character"),
    "lone surrogate": (LONE, "lone_surrogate"),
    "lone surrogate in JSON": ({"type": "json", "value": {"a": [LONE]}}, "lone_surrogate"),
    "1 MB and a byte": ("x" * 1_000_001, "too_large"),
    "1 MB of two bytes each": ("ж" * 500_001, "too_large"),
    "beyond 64 bits": (2**63, "out_of_range"),
    "below 64 bits": (-(2**63) - 1, "out_of_range"),
    "401 digits": ({"type": "decimal", "value": "9" * 401}, "out_of_range"),
    "infinity": (float("inf"), "out_of_range"),
    "no number": (float("nan"), "out_of_range"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_kept_as_it_is(world: World, name: str) -> None:
    text = TEXTS[name]
    world.tell("anna", "remark", text, "2020-01-01")
    world.tell("bert", "remark", "plain", "2020-01-01")
    assert world.state("anna", "remark", "2021-01-01") == [text]
    with world.store.read(SCOPE) as reader:
        found = reader.holders(text_key(text), None, NOW, certain=False, page=ALL)
        assert [fact.version.slot.subject for fact in found] == [world.id("anna")]
    assert world.state("bert", "remark", "2021-01-01") == ["plain"]


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in ("C1 controls", "tab and line ends")])
def test_a_name_is_kept_as_it_is(world: World, name: str) -> None:
    """As the key of an entity, a predicate, a source, an episode, a root and a reason."""
    text = TEXTS[name].strip()
    world.tell(text, text, "Oslo", "2020-01-01", source=text, episode=text, root=text)
    world.tell("bert", "remark", "plain", "2020-01-01")
    world.tell("anna", "name", text, "2020-01-01")
    with world.store.read(SCOPE) as reader:
        (entity,) = reader.entities_by_key([text]).values()
        assert entity.key == text
        (fact,) = reader.of_predicate(text, NOW, certain=False, page=ALL)
        assert (fact.version.slot.predicate, fact.version.value.text) == (text, "Oslo")
        (told,) = reader.claims_of_source(Source(text))
        assert [told.claim.id] == [each.claim.id for each in reader.claims_of_episode(EpisodeId(text))]
        assert (told.claim.source, told.claim.episode, told.claim.root) == (text, text, text)
        named = reader.list_entities(NOW, type=None, name=text, limit=10, after=None)
        assert [each.key for each in named] == ["anna"]
    world.write(withdraw(source=text))
    assert world.state(text, text, "2021-01-01") == []
    assert world.state("bert", "remark", "2021-01-01") == ["plain"]


def test_a_megabyte_is_kept_as_it_is(world: World) -> None:
    text = "жx\n" * 250_000
    world.tell("anna", "remark", text, "2020-01-01")
    assert world.state("anna", "remark", "2021-01-01") == [text]
    with world.store.read(SCOPE) as reader:
        assert len(reader.holders(text_key(text), "remark", NOW, certain=False, page=ALL)) == 1


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_or_a_date_is_kept_exactly(world: World, name: str) -> None:
    given, kept = NUMBERS[name]
    world.tell("anna", "amount", given, "2020-01-01")
    assert world.state("anna", "amount", "2021-01-01") == [kept]


@pytest.mark.parametrize("since", ["-0044-03-15", "0000-01-01", "-9999-12-31", "-99999-01-01", "+99999-12-31"])
def test_a_fact_holds_from_a_year_before_christ_or_far_away(world: World, since: str) -> None:
    known_at = world.tell("anna", "lives_in", "Rome", since)
    assert world.state("anna", "lives_in", since, known_at) == ["Rome"]
    before = parse_instant(since) - 1
    with world.store.read(SCOPE) as reader:
        as_of = AsOf(valid_at=type(known_at)(before), known_at=known_at)
        assert reader.state([(world.id("anna"), "lives_in")], as_of, certain=False, page=ALL) == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_kept_is_refused_with_its_reason_and_leaves_no_trace(world: World, name: str) -> None:
    given, code = REFUSED[name]
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    before = ledger_hash(world.store, SCOPE.tenant)
    with pytest.raises(Incorrect) as raised:
        world.write(claim("anna", "amount", given, "2020-01-01"))
    assert [violation.code for violation in raised.value.violations] == [code]
    assert raised.value.violations[0].pointer.startswith("/items/0/value")
    assert ledger_hash(world.store, SCOPE.tenant) == before


@pytest.mark.parametrize("since", ["-292278-01-01", "+292278-01-01", "-0000-01-01", "2020-02-30", "12020-01-01"])
def test_an_instant_that_cannot_be_kept_is_refused(world: World, since: str) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    before = ledger_hash(world.store, SCOPE.tenant)
    with pytest.raises(Incorrect) as raised:
        world.write(claim("anna", "lives_in", "Rome", since))
    assert raised.value.violations[0].pointer == "/items/0/valid_from"
    assert ledger_hash(world.store, SCOPE.tenant) == before


ASKED: dict[str, Callable[[Reader, EntityId, str], Any]] = {
    "entities_by_key": lambda reader, _, text: reader.entities_by_key([text]),
    "entities_by_id": lambda reader, _, text: reader.entities_by_id([EntityId(text)]),
    "by name": lambda reader, _, text: reader.list_entities(NOW, type=None, name=text, limit=5, after=None),
    "by type": lambda reader, _, text: reader.list_entities(NOW, type=text, name=None, limit=5, after=None),
    "by both": lambda reader, _, text: reader.list_entities(NOW, type=text, name="x", limit=5, after=None),
    "state": lambda reader, id, text: reader.state([(id, text)], NOW, certain=False, page=ALL),
    "state of": lambda reader, _, text: reader.state([(EntityId(text), None)], NOW, certain=False, page=ALL),
    "of_predicate": lambda reader, _, text: reader.of_predicate(text, NOW, certain=False, page=ALL),
    "holders": lambda reader, _, text: reader.holders(text_key("Oslo"), text, NOW, certain=False, page=ALL),
    "history": lambda reader, id, text: reader.history(
        id, text, FAR, ALWAYS, certain=False, order=Order.VALID, page=ALL
    ),
    "audit": lambda reader, id, text: reader.audit(id, text, valid_at=None, touched=None, page=Page(5)),
    "fact": lambda reader, _, text: reader.fact(FactId(text)),
    "claim": lambda reader, _, text: reader.claim(ClaimId(text)),
    "claims": lambda reader, id, text: reader.claims(id, text, limit=5, after=None),
    "claims_of_episode": lambda reader, _, text: reader.claims_of_episode(EpisodeId(text)),
    "claims_of_source": lambda reader, _, text: reader.claims_of_source(Source(text)),
    "slots": lambda reader, _, text: reader.slots(text, limit=5, after=None),
    "slots_of": lambda reader, id, text: reader.slots_of(id, text),
    "slot_heads": lambda reader, id, text: reader.slot_heads(
        [Slot(scope=SCOPE, subject=id, predicate=text, language=text)]
    ),
    "answered": lambda reader, _, text: reader.answered(text, text),
}


@pytest.mark.parametrize("text", [LONE, "a\x00b", "x" * 1_000_001], ids=["lone surrogate", "nul", "large"])
def test_what_nothing_can_hold_is_not_found_or_refused(world: World, text: str) -> None:
    """Whatever it is asked for; a lone surrogate may be refused, and no exception of a driver or codec gets out."""
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    id, refused = world.id("anna"), dict[str, str]()
    with world.store.read(SCOPE) as reader:
        for name, ask in ASKED.items():
            try:
                found = ask(reader, id, text)
            except NotFound:
                assert name in ("fact", "claim")
            except Incorrect as exc:
                refused[name] = exc.violations[0].code
            else:
                assert not found, name
    assert set(refused.values()) <= ({"lone_surrogate"} if text == LONE else set()), refused
