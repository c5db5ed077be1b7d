"""What an extractor proposes goes through the rules that hold for every writer. On all stores."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest

from consolidation.admission import transfer
from consolidation.episodes import NewEpisode, NewTurn, Recorder
from consolidation.extraction.base import (
    ByKey,
    ByName,
    Candidate,
    EpisodeText,
    Extraction,
    Extractor,
    Hold,
    Known,
    Operation,
    Span,
    Trust,
    Verdict,
)
from consolidation.forgetting.forgetter import Forgetter, Named
from consolidation.items import Reject
from consolidation.pipeline import KnownFacts, Pipeline
from consolidation.policy import OWNER, Authority
from consolidation.serving import Served, Serving
from consolidation.vouching import Declared, Signature
from consolidation.worker import Worker
from consolidation.write import Writer
from graph.ledger import ledger_hash
from graph.ports import MemoryStore
from graph.transfer import rebuild
from ontology.claims import HELD, Lifecycle, Told
from ontology.claims import Trust as Worth
from ontology.echoes import marker
from ontology.entries import Stated
from ontology.episodes import Signed, Vouched
from ontology.errors import Incorrect, Refused
from ontology.facts import AsOf
from ontology.ids import ClaimId, EpisodeId, FactId, OperationId
from ontology.instants import DAY, SECOND, Instant
from ontology.schema import Schema
from ontology.schema_document import pack_from_document
from ontology.scope import Tenant
from tests.conftest import SeededRandomness
from tests.contract.world import ALL, CORE, SCOPE, World, claim, text_key
from tests.naive_store import NaiveStore

RULES = Extractor(name="lines", version="1", trust=Trust.OBSERVED)
MODEL = Extractor(name="model", version="1", trust=Trust.INFERRED)
SIGNED = Signature(key="k1", algorithm="hmac-sha256", value=b"right")
FORGED = Signature(key="k1", algorithm="hmac-sha256", value=b"wrong")


class Lines:
    """Reads lines of `SUBJECT PREDICATE VALUE`; `change` makes the candidates otherwise."""

    def __init__(self) -> None:
        self.who = RULES
        self.change: Callable[[Candidate], Candidate] = lambda candidate: candidate
        self.known: Sequence[Known] = ()
        self.is_silent = False

    def version(self, schema: Schema) -> str:
        return "lines 1"

    def read(self, text: EpisodeText, schema: Schema, known: KnownFacts) -> Extraction:
        self.known = known()
        found = []
        for turn, passage in () if self.is_silent else text.passages():
            start = 0
            for line in passage.splitlines():
                subject, predicate, value = line.split(" [")[0].split(maxsplit=2)
                said: object = ByName(name=value) if predicate == "knows" else value
                found.append(
                    Candidate(
                        span=Span(turn=turn, start=start, end=start + len(line), quote=line),
                        subject=ByName(name=subject), predicate=predicate, value=said, operation=Operation.ASSERT,
                        stated=Stated(valid_from=None, valid_to=None, zone=None, semantics=None), compares_to=None,
                        verdict=Verdict.NEW, confidence=1.0 if self.who is MODEL else None, extractor=self.who,
                        rule=None, unmapped=predicate not in schema.predicates, holds=(),
                    )
                )  # fmt: skip
                start += len(line) + 1
        return Extraction(candidates=tuple(map(self.change, found)), notes=())


class Registered:
    """`ledger` signs, with the one right signature; what begins with `web` is not trusted."""

    def declared(self, tenant: Tenant, source: str) -> Declared | None:
        if source == "ledger":
            return Declared(signs=True, trust=None)
        return Declared(signs=False, trust=Worth.UNTRUSTED) if source.startswith("web") else None

    def verifies(self, tenant: Tenant, source: str, signature: Signature, message: bytes) -> bool:
        return source == "ledger" and signature == SIGNED


class Room:
    """A store with a recorder and a worker behind it, and an extractor of few words."""

    def __init__(self, store: MemoryStore) -> None:
        self.world = World(store)
        self.store, self.clock = store, self.world.clock
        chance, sources = SeededRandomness(), Registered()
        writer = Writer(store=store, clock=self.clock, randomness=chance, core=CORE, sources=sources)
        self.world.writer = writer
        self.declare(lives_in={"cardinality": "functional"}, account={"cardinality": "functional", "guarded": True})
        self.declare(knows={"datatype": "entity"}, likes={})
        self.lines = Lines()
        self.recorder = Recorder(store=store, clock=self.clock, randomness=chance, sources=sources)
        pipeline = Pipeline(store=store, writer=writer, clock=self.clock, reads=self.lines)
        self.worker = Worker(store=store, runs=pipeline, clock=self.clock, name="one")

    def declare(self, **predicates: dict[str, Any]) -> None:
        pack = pack_from_document({"pack": "more", "predicates": predicates})
        self.world.writer.put_schema(SCOPE, "tester", pack)
        self.clock.advance(SECOND)

    def record(
        self, text: str = "", *, by: str = "agent", authority: Authority = OWNER, **given: Any
    ) -> dict[str, Any]:
        said = given if "turns" in given else {"text": text, **given}
        written: Any = self.recorder.record(SCOPE, by, [NewEpisode(**said)], authority=authority).receipt
        self.clock.advance(SECOND)
        item: dict[str, Any] = written["items"][0]
        return item

    def read(self, text: str = "", **given: Any) -> dict[str, Any]:
        """Record an episode and have it read; gives the receipts."""
        item = self.record(text, **given)
        return self.receipts(item)

    def receipts(self, item: dict[str, Any]) -> dict[str, Any]:
        self.worker.work_off()
        self.clock.advance(SECOND)
        operation = self.store.queue.operation(SCOPE, OperationId(item["operation"]))
        assert operation.receipts is not None, operation.reason
        document: dict[str, Any] = orjson.loads(operation.receipts)
        return document

    def waiting(self) -> list[tuple[str, str, str | None]]:
        """(state, rule, quote) of what waits."""
        with self.store.read(SCOPE) as reader:
            told = reader.held(HELD, None, limit=100, after=None)
            quotes = reader.quotes([each.claim.id for each in told])
        found = []
        for each in told:
            assert each.held is not None
            quote = quotes.get(each.claim.id)
            found.append((each.state.value, each.held.rule, None if quote is None else quote.text))
        return found

    def told(self, id: object) -> Told:
        with self.store.read(SCOPE) as reader:
            return reader.claim(ClaimId(str(id)))

    def values(self, subject: str, predicate: str) -> list[str]:
        with self.store.read(SCOPE) as reader:
            entity = reader.entities_by_key([subject]).get(subject)
            if entity is None:
                return []
            at = AsOf(valid_at=self.clock.now(), known_at=reader.head.recorded_at)
            facts = reader.state([(entity.id, predicate)], at, certain=False, page=ALL)
        return [fact.version.value.text for fact in facts]


@pytest.fixture
def room(store: MemoryStore) -> Room:
    return Room(store)


# --- trust


def test_what_an_untrusted_page_says_waits_with_its_quote_and_names_nobody(room: Room) -> None:
    receipts = room.read("Mira lives_in Oslo", source="page-1", source_uri="https://page.example/1")
    assert (receipts["trust"], receipts["claims"], receipts["counts"]) == ("untrusted", [], {"quarantined": 1})
    (held,) = receipts["held"]
    assert (held["state"], held["rule"], held["span"]["quote"]) == ("quarantined", "untrusted", "Mira lives_in Oslo")
    assert room.waiting() == [("quarantined", "untrusted", "Mira lives_in Oslo")]
    assert (room.values("mira", "lives_in"), room.values("mira", "name")) == ([], [])
    room.read("Mira lives_in Bonn")
    assert (room.values("mira", "lives_in"), room.values("mira", "name")) == (["Bonn"], ["Mira"])


@pytest.mark.parametrize(
    ("given", "trust"),
    [
        ({}, "observed"),
        ({"trust": "untrusted"}, "untrusted"),
        ({"media_type": "text/html"}, "untrusted"),
        ({"source_uri": "HTTPS://page.example"}, "untrusted"),
        ({"source_uri": "https://wiki.example", "trust": "observed"}, "observed"),
        ({"source_uri": "file:///notes.txt"}, "observed"),
        ({"source": "web-7"}, "untrusted"),
        ({"source": "web-7", "trust": "observed"}, "untrusted"),
    ],
)
def test_policy_says_how_far_an_episode_is_trusted(room: Room, given: dict[str, Any], trust: str) -> None:
    assert room.record("Mira likes tea", **given)["trust"] == trust


def test_nobody_gives_an_episode_more_trust_than_they_have(room: Room) -> None:
    with pytest.raises(Refused, match="observed at most"):
        room.record("Mira likes tea", trust="confirmed")


def test_a_model_concludes_and_is_no_surer_than_that(room: Room) -> None:
    room.lines.who = MODEL
    (made,) = room.read("Mira lives_in Oslo")["claims"]
    known = room.told(made["claim"]).claim
    assert (known.trust, known.confidence) == (Worth.INFERRED, 0.5)


def test_a_model_does_not_unseat_what_is_guarded(room: Room) -> None:
    room.world.write(claim("mira", "account", "one", "2025-01-01"))
    room.lines.who = MODEL
    later = Stated(valid_from="2026-01-01", valid_to=None, zone=None, semantics=None)
    room.lines.change = lambda candidate: _but(candidate, stated=later)
    (held,) = room.read("Mira account two")["held"]
    assert (held["rule"], room.values("mira", "account")) == ("guarded", ["one"])


def test_what_a_person_brings_is_not_confirmed_sentence_by_sentence(room: Room) -> None:
    person = Authority(owns=True, trust=Worth.CONFIRMED, trust_max=Worth.VERIFIED)
    room.declare(diagnosis={"sensitive": True})
    receipts = room.read("Mira diagnosis flu", by="rita", authority=person)
    assert receipts["trust"] == "observed"
    assert [each["rule"] for each in receipts["held"]] == ["sensitive"]


def test_of_a_namespace_that_was_given_away_the_rest_is_proposed(room: Room) -> None:
    item = room.record("Mira lives_in Oslo")
    transfer(room.store, SCOPE, to="bo", by="root", now=room.clock.now(), administers=True)
    receipts = room.receipts(item)
    assert [each["rule"] for each in receipts["held"]] == ["proposed"]
    assert room.values("mira", "lives_in") == []


def test_a_rejected_value_does_not_come_back_from_the_same_page(room: Room) -> None:
    (held,) = room.read("Mira lives_in Oslo", source="page-1", trust="untrusted", session="a")["held"]
    room.world.write(Reject(claim=held["claim"], reason="forged"), by="rita")
    again = room.read("Mira lives_in Oslo", source="page-1", trust="untrusted", session="b")
    assert [(each["result"], each["rule"]) for each in again["refused"]] == [("ignored", "rejected-before")]
    assert (again["held"], room.waiting()) == ([], [])


# --- doubts of whoever reads


@pytest.mark.parametrize("hold", Hold)
def test_what_an_extractor_marks_waits_by_that_rule(room: Room, hold: Hold) -> None:
    room.lines.change = lambda candidate: _but(candidate, holds=(hold,))
    room.read("Mira lives_in Oslo")
    assert room.waiting() == [("quarantined", hold.value.replace("_", "-"), "Mira lives_in Oslo")]
    assert room.values("mira", "lives_in") == []


def test_a_predicate_that_nobody_declared_is_staged(room: Room) -> None:
    receipts = room.read("Mira rides bikes")
    assert room.waiting() == [("staged", "unmapped", "Mira rides bikes")]
    assert "declares no predicate 'rides'" in receipts["held"][0]["reason"]


def test_of_several_doubts_one_that_needs_a_reviewer_counts_and_all_are_told(room: Room) -> None:
    room.lines.change = lambda candidate: _but(candidate, holds=(Hold.QUOTE_MISSING,))
    (held,) = room.read("Mira rides bikes")["held"]
    assert (held["state"], held["rule"]) == ("quarantined", "quote-missing")
    assert "do not stand in the episode; the schema declares no predicate" in held["reason"]


def test_nobody_is_guessed_where_several_have_the_name(room: Room) -> None:
    for key in ("anna-1", "anna-2"):
        room.world.write(claim(key, "name", "Anna"))
    receipts = room.read("Anna lives_in Oslo\nMira knows Anna")
    assert [each["rule"] for each in receipts["held"]] == ["ambiguous-name", "ambiguous-name"]
    assert len(room.waiting()) == 2
    stand_in = receipts["held"][0]["subject"]["key"]
    assert stand_in.startswith("? epi_")
    assert "anna" not in stand_in.casefold(), "or forgetting an Anna would miss it"
    assert [room.values(key, "lives_in") for key in ("anna-1", "anna-2", stand_in)] == [[], [], []]


# --- corrections


def _correction(candidate: Candidate) -> Candidate:
    return _but(candidate, operation=Operation.REPLACE)


def test_a_correction_by_a_rule_is_done(room: Room) -> None:
    room.read("Mira lives_in Oslo")
    room.lines.change = _correction
    assert [each["result"] for each in room.read("Mira lives_in Bonn")["claims"]] == ["replaced"]
    assert room.values("mira", "lives_in") == ["Bonn"]


def test_a_correction_by_a_model_waits(room: Room) -> None:
    room.read("Mira lives_in Oslo")
    room.lines.who, room.lines.change = MODEL, _correction
    (held,) = room.read("Mira lives_in Bonn")["held"]
    assert (held["rule"], room.values("mira", "lives_in")) == ("correction", ["Oslo"])


def test_a_correction_names_no_fact_of_another_slot(room: Room) -> None:
    room.read("Mira lives_in Oslo\nBo lives_in Rome")
    (other,) = _facts(room, "bo", "lives_in")
    room.lines.change = lambda candidate: _but(_correction(candidate), compares_to=other)
    room.read("Mira lives_in Bonn")
    assert (room.values("mira", "lives_in"), room.values("bo", "lives_in")) == (["Bonn"], ["Rome"])


def test_a_correction_that_is_refused_waits_with_the_reason(room: Room) -> None:
    verified = Authority(owns=True, trust=Worth.VERIFIED, trust_max=Worth.VERIFIED)
    room.world.write(claim("mira", "account", "one"), authority=verified)
    room.lines.change = _correction
    (held,) = room.read("Mira account two\nMira likes tea")["held"][:1]
    assert held["rule"] == "correction"
    assert "guarded" in held["reason"]
    assert room.values("mira", "account") == ["one"]


def test_a_correction_of_nothing_waits(room: Room) -> None:
    room.lines.change = _correction
    assert [each["rule"] for each in room.read("Mira lives_in Bonn")["held"]] == ["nothing-to-correct"]


def test_a_correction_names_one_of_several_values(room: Room) -> None:
    room.read("Mira likes tea\nMira likes milk")
    room.lines.change = _correction
    assert [each["rule"] for each in room.read("Mira likes juice")["held"]] == ["ambiguous-correction"]
    milk = next(id for id in _facts(room, "mira", "likes") if _text(room, id) == "milk")
    room.lines.change = lambda candidate: _but(_correction(candidate), compares_to=milk)
    room.read("Mira likes water")
    assert sorted(room.values("mira", "likes")) == ["tea", "water"]


@pytest.mark.parametrize(
    "key", ["ent_garbage", "ent_abcdefgh_1_0", "? epi_abcdefgh_1_0 0:0 subject", "\x00", "x" * 600]
)
@pytest.mark.parametrize("operation", Operation)
def test_a_key_that_a_text_made_up_is_refused_or_harmless(room: Room, key: str, operation: Operation) -> None:
    room.lines.change = lambda candidate: _but(candidate, subject=ByKey(key=key), operation=operation)
    receipts = room.read("Mira lives_in Bonn")
    assert sum(receipts["counts"].values()) == 1


def test_corrections_in_a_namespace_of_another_wait(room: Room) -> None:
    room.read("Mira lives_in Oslo")
    room.lines.change = _correction
    item = room.record("Mira lives_in Bonn")
    transfer(room.store, SCOPE, to="bo", by="root", now=room.clock.now(), administers=True)
    assert [each["rule"] for each in room.receipts(item)["held"]] == ["correction"]
    assert room.values("mira", "lives_in") == ["Oslo"]


# --- weak signals


@pytest.mark.parametrize(
    ("by", "told", "believed_at"),
    [
        ("sources", [("a", "s1"), ("a", "s2"), ("b", "s1"), ("c", "s1")], 3),
        ("occurrences", [("a", "s1"), ("a", "s2"), ("a", "s3")], 2),
        ("sessions", [("a", "s1"), ("b", "s1"), ("a", "s2"), ("b", "s2"), ("a", "s3")], 4),
        ("sessions", [("a", None), ("b", None), ("a", "s1"), ("a", "s2")], 3),
    ],
)
def test_weak_signals_count_by_what_the_predicate_names(
    room: Room, by: str, told: list[tuple[str, str | None]], believed_at: int
) -> None:
    room.declare(prefers={"promote_after": 3, "promote_by": by})
    for index, (source, session) in enumerate(told):
        receipts = room.read("Mira prefers tea", source=source, session=session)
        assert bool(room.values("mira", "prefers")) == (index >= believed_at), index
        if index < believed_at:
            assert [each["rule"] for each in receipts["held"]] == ["promote-after"], index
    assert room.waiting() == []
    (promoted,) = room.told(_first(room)).transitions[1:]
    assert (promoted.state, promoted.rule) == (Lifecycle.ACCEPTED, "promote-after")
    assert "enough evidence" in promoted.reason


def test_an_echo_is_no_weak_signal(room: Room) -> None:
    first = room.read("Mira likes tea", source="bo")
    (fact,) = _facts(room, "mira", "likes")
    text = f"Mira likes tea {marker(FactId(fact))}"
    again = room.read(text, source="agent", session="later")
    assert [(each["result"], each["echo"]) for each in again["claims"]] == [("reinforced", True)]
    assert first["claims"][0]["echo"] is False
    assert _support(room) == (1, 1)
    room.read("Mira likes tea", source="lab", session="later")
    assert _support(room) == (2, 2)


def test_a_marker_in_an_earlier_turn_counts_for_an_agent_and_not_for_who_says_i(room: Room) -> None:
    room.read("Mira likes tea", source="bo")
    (fact,) = _facts(room, "mira", "likes")
    shown = NewTurn(speaker="tool", text=f"Bo likes tea {marker(FactId(fact))}")
    agent = NewTurn(speaker="agent", text="Mira likes tea")
    person = NewTurn(speaker="Mira", text="Mira likes tea")
    echoes = room.read(turns=[shown, agent], source="chat", session="one", me_name="Mira")
    assert [each["echo"] for each in echoes["claims"]] == [False, True]
    anew = room.read(turns=[shown, person], source="chat", session="two", me_name="Mira")
    assert [each["echo"] for each in anew["claims"]] == [False, False]


# --- what was served


def _serve(room: Room, session: str = "s", principal: str = "agent") -> None:
    serving = Serving(store=room.store, clock=room.clock, randomness=SeededRandomness(7))
    with room.store.read(SCOPE) as reader:
        versions = [reader.fact(id).version for id in _facts(room, "mira", "likes")]
    serving.register(SCOPE, principal, session, versions)
    serving.register(SCOPE, principal, session, versions)  # to be served twice changes nothing


def test_what_an_agent_says_again_of_what_it_was_served_is_an_echo(room: Room) -> None:
    room.read("Mira likes tea", source="bo")
    before = ledger_hash(room.store, SCOPE.tenant)
    _serve(room)
    assert ledger_hash(room.store, SCOPE.tenant) == before, "what was served is no part of memory"
    receipts = room.read("Mira likes tea\nMira likes milk", source="chat", session="s")
    assert [each["echo"] for each in receipts["claims"]] == [True, False], "another value is never an echo"
    assert _support(room) == (1, 1)


@pytest.mark.parametrize(
    ("given", "days"),
    [
        ({"session": "another"}, 0),
        ({"session": None}, 0),
        ({"session": "s", "by": "somebody"}, 0),
        ({"session": "s"}, 31),
        ({"session": "s", "me_name": "Bo"}, 0),
    ],
    ids=["another session", "no session", "another principal", "too long ago", "a person says it"],
)
def test_what_others_say_is_no_echo_of_what_was_served(room: Room, given: dict[str, Any], days: int) -> None:
    room.read("Mira likes tea", source="bo")
    _serve(room)
    room.clock.advance(days * DAY)
    (made,) = room.read("Mira likes tea", source="chat", **given)["claims"]
    assert made["echo"] is False
    assert _support(room) == (2, 2)


def test_who_was_served_what_is_kept_as_fingerprints_with_a_key(room: Room) -> None:
    room.read("Mira likes tea", source="bo")
    serving = Serving(store=room.store, clock=room.clock, randomness=SeededRandomness(7))
    with room.store.read(SCOPE) as reader:
        version = reader.fact(_facts(room, "mira", "likes")[0]).version
        seen = Served(reader, room.clock.now())
        assert seen.fact("agent", "s", version.slot, version.value_key) is None
    with pytest.raises(Incorrect):
        serving.register(SCOPE, "agent", " ", [version])
    serving.register(SCOPE, "agent", "s", [])
    serving.register(SCOPE, "agent", "s", [version])
    with room.store.read(SCOPE) as reader:
        seen = Served(reader, room.clock.now())
        assert seen.fact("agent", "s", version.slot, version.value_key) == version.id
        assert seen.fact("agent", "s", version.slot, text_key("milk")) is None
        late = Served(reader, Instant(room.clock.now() + 31 * DAY))
        assert late.fact("agent", "s", version.slot, version.value_key) is None, "whether or not it was swept"


def test_what_was_served_of_whom_is_forgotten_is_forgotten_too(room: Room) -> None:
    room.read("Mira likes tea\nBo likes tea", source="bo")
    serving = Serving(store=room.store, clock=room.clock, randomness=SeededRandomness(7))
    with room.store.read(SCOPE) as reader:
        mira, bo = (reader.fact(_facts(room, key, "likes")[0]).version for key in ("mira", "bo"))
    serving.register(SCOPE, "agent", "s", [mira, bo])
    forgetter = Forgetter(store=room.store, clock=room.clock, randomness=SeededRandomness(8), outside=[])
    named = Named(subject="mira")
    manifest = str(forgetter.preview(SCOPE, named, blocks=True)["manifest"])
    forgetter.forget(SCOPE, "person", named, confirm=manifest, blocks=True)
    with room.store.read(SCOPE) as reader:
        seen = Served(reader, room.clock.now())
        assert seen.fact("agent", "s", mira.slot, mira.value_key) is None
        assert seen.fact("agent", "s", bo.slot, bo.value_key) == bo.id
    room.clock.advance(SECOND)
    later = room.read("Mira likes tea\nBo likes tea", source="chat", session="s")
    assert [(each["predicate"], each["echo"]) for each in later["claims"]] == [("likes", True)]
    assert [each["rule"] for each in later["held"]] == ["forgotten"]


# --- signatures


def test_what_its_source_signed_is_verified(room: Room) -> None:
    item = room.record("Mira account one", source="ledger", signature=SIGNED)
    assert (item["trust"], item["signed"]) == ("verified", "verified")
    (made,) = room.receipts(item)["claims"]
    assert room.told(made["claim"]).claim.trust is Worth.VERIFIED
    with room.store.read(SCOPE) as reader:
        words = reader.recorded_episode(EpisodeId(item["episode"])).verbatim
    assert words is not None
    assert words.vouched == Vouched(trust=Worth.VERIFIED, signed=Signed.VERIFIED, key="k1")


def test_a_model_reads_what_was_signed_and_still_only_concludes(room: Room) -> None:
    room.lines.who = MODEL
    (made,) = room.read("Mira account one", source="ledger", signature=SIGNED)["claims"]
    assert room.told(made["claim"]).claim.trust is Worth.INFERRED


@pytest.mark.parametrize(
    ("given", "signed", "rule"),
    [
        ({"source": "ledger", "signature": FORGED}, "bad", "bad-signature"),
        ({"source": "bo", "signature": SIGNED}, "bad", "bad-signature"),
        ({"source": "ledger"}, "missing", "forged-source"),
        ({"source": "ledger", "trust": "observed"}, "missing", "forged-source"),
    ],
)
def test_a_forged_source_waits(room: Room, given: dict[str, Any], signed: str, rule: str) -> None:
    item = room.record("Mira account one", **given)
    assert (item["trust"], item["signed"]) == ("untrusted", signed)
    assert [each["rule"] for each in room.receipts(item)["held"]] == [rule]
    assert room.values("mira", "account") == []


def test_what_was_signed_is_kept_beside_the_same_words_unsigned(room: Room) -> None:
    forged = room.record("Mira account one", source="ledger")
    genuine = room.record("Mira account one", source="ledger", signature=SIGNED)
    assert not genuine["duplicate"]
    assert forged["episode"] != genuine["episode"]
    room.worker.work_off()
    assert room.values("mira", "account") == ["one"]


def test_a_source_that_signs_may_speak_for_itself_with_its_credentials(room: Room) -> None:
    item = room.record("Mira account one", by="ledger")
    assert (item["trust"], item["signed"]) == ("observed", "no")


def test_a_claim_in_the_name_of_a_source_that_signs_waits(room: Room) -> None:
    (held,) = room.world.write(claim("mira", "account", "two", source="ledger"), by="agent")["items"]
    assert (held["state"], held["rule"]) == ("quarantined", "forged-source")
    (own,) = room.world.write(claim("mira", "likes", "tea"), by="ledger")["items"]
    assert own["state"] == "accepted"


# --- what is known, and what is kept


def test_an_extractor_is_told_what_is_known_of_those_whom_the_episode_names(room: Room) -> None:
    room.declare(diagnosis={"sensitive": True})
    room.read("Mira lives_in Oslo\nMira knows Bo\nAnna lives_in Rome")
    person = Authority(owns=True, trust=Worth.CONFIRMED, trust_max=Worth.CONFIRMED)
    room.world.write(claim("mira", "diagnosis", "flu"), authority=person)
    room.read("Mira likes tea")
    told = {(known.predicate, known.value) for known in room.lines.known}
    assert told == {("lives_in", "Oslo"), ("knows", "Bo")}
    assert {known.subject for known in room.lines.known} == {ByName(name="Mira")}


def test_what_is_known_is_looked_for_by_name_key_and_speaker_and_of_namesakes_nothing(room: Room) -> None:
    room.world.write(claim("p-17", "name", "Mira Novak"), claim("p-17", "lives_in", "Oslo"))
    room.world.write(claim("tank-6", "lives_in", "Yard 3"), claim("bo", "lives_in", "Rome"))
    for key in ("anna-1", "anna-2"):
        room.world.write(claim(key, "name", "Anna"), claim(key, "lives_in", "Bonn"))
    turns = [NewTurn(speaker="bo", text="mira likes tea"), NewTurn(speaker="x", text="Anna likes Tank-6. Mira Novak")]
    room.record(turns=turns)
    room.lines.is_silent = True
    room.worker.work_off()
    assert sorted((each.value, _called(each)) for each in room.lines.known) == [
        ("Oslo", "Mira Novak"),
        ("Rome", "bo"),
        ("Yard 3", "Tank-6"),
    ]


def _called(known: Known) -> str:
    return known.subject.name if isinstance(known.subject, ByName) else known.subject.key


def test_who_vouched_for_an_episode_goes_with_the_journal(room: Room) -> None:
    signed = room.record("Mira account one", source="ledger", signature=SIGNED)
    plain = room.record("Mira likes tea")
    room.worker.work_off()
    copy = NaiveStore()
    rebuild(room.store, copy, SCOPE.tenant)
    assert ledger_hash(copy, SCOPE.tenant) == ledger_hash(room.store, SCOPE.tenant)
    with copy.read(SCOPE) as reader:
        found = [reader.recorded_episode(EpisodeId(item["episode"])).verbatim for item in (signed, plain)]
    assert [words.vouched.signed for words in found if words] == [Signed.VERIFIED, Signed.NO]


def _but(candidate: Candidate, **parts: Any) -> Candidate:
    return replace(candidate, **parts)


def _facts(room: Room, subject: str, predicate: str) -> list[FactId]:
    with room.store.read(SCOPE) as reader:
        entity = reader.entities_by_key([subject])[subject]
        at = AsOf(valid_at=room.clock.now(), known_at=reader.head.recorded_at)
        return [f.version.id for f in reader.state([(entity.id, predicate)], at, certain=False, page=ALL)]


def _text(room: Room, id: FactId) -> str:
    with room.store.read(SCOPE) as reader:
        return reader.fact(id).version.value.text


def _support(room: Room) -> tuple[int, int]:
    with room.store.read(SCOPE) as reader:
        entity = reader.entities_by_key(["mira"])["mira"]
        at = AsOf(valid_at=room.clock.now(), known_at=reader.head.recorded_at)
        found = reader.state([(entity.id, "likes")], at, certain=False, page=ALL)
    (fact,) = [each for each in found if each.version.value.text == "tea"]
    return fact.support.sources, fact.support.occurrences


def _first(room: Room) -> ClaimId:
    with room.store.read(SCOPE) as reader:
        entity = reader.entities_by_key(["mira"])["mira"]
        return reader.claims(entity.id, "prefers", limit=1, after=None)[0].claim.id
