"""What is erased is gone at every time, from the ledger, the journal and the file; what is not stays as it was told."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from consolidation.items import Assert, Erase, Item, Replace, Retract, RetractFact, Said, Withdraw
from consolidation.verify import refold
from consolidation.write import Writer
from graph.journal import decode
from graph.ledger import ledger_hash
from graph.ports import MemoryStore, Page
from graph.sqlite_store.store import SqliteStore
from graph.transfer import export_events, import_events, verify_events
from ontology.errors import NotFound, Refused, VersionChanged
from ontology.events import ChangeSet, SlotHead
from ontology.facts import AsOf, Version
from ontology.instants import OPEN_END, SECOND, Instant, parse_instant
from ontology.packs import load_core
from ontology.schema_document import pack_from_document
from ontology.scope import Scope, Tenant, scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.naive_store import NaiveStore

SCOPE, BILLING = scope_of("acme"), scope_of("acme", purpose="billing")
ANNA, BEN = {"key": "anna"}, {"key": "ben"}
MARKER = "ZX-MARKER-91"
LATER = Instant(OPEN_END - 1)
ALL = Page(1000)
ENGINES: dict[str, Callable[[Path], MemoryStore]] = {
    "naive": lambda _: NaiveStore(),
    "sqlite": lambda _: SqliteStore(":memory:"),
    "file": lambda folder: SqliteStore(str(folder / "store.db")),
}


class World:
    """A store behind the writer, a second later with each write; `lives_in` has one value, `note` and `email` many."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.clock = FrozenClock()
        self.writer = Writer(store=store, clock=self.clock, randomness=SeededRandomness(), core=load_core())
        self.declare("lives_in")

    def declare(self, predicate: str) -> None:
        document = {"pack": "tests", "predicates": {predicate: {"cardinality": "functional"}}}
        self.writer.put_schema(SCOPE, "me", pack_from_document(document))
        self.clock.advance(SECOND)

    def write(self, *items: Item, scope: Scope = SCOPE) -> dict[str, Any]:
        receipt: dict[str, Any] = self.writer.write(scope, "me", items).receipt
        self.clock.advance(SECOND)
        return receipt

    def held(
        self, predicate: str | None, valid_at: str, known_at: Instant | None = None, *,
        scope: Scope = SCOPE, key: str = "anna",
    ) -> list[str]:  # fmt: skip
        """The values that hold, in order."""
        with self.store.read(scope) as reader:
            as_of = AsOf(valid_at=parse_instant(valid_at), known_at=known_at or reader.head.recorded_at)
            entity = reader.entities_by_key([key])[key]
            found = reader.state([(entity.id, predicate)], as_of, certain=False, page=ALL)
        return sorted(fact.version.value.text for fact in found)

    def now(self) -> Instant:
        with self.store.read(SCOPE) as reader:
            return reader.head.recorded_at

    def heads(self, scope: Scope = SCOPE) -> list[SlotHead]:
        with self.store.read(scope) as reader:
            return list(reader.slots(None, limit=1000, after=None))

    def head(self, predicate: str) -> SlotHead:
        return next(head for head in self.heads() if head.slot.predicate == predicate)

    def last(self) -> ChangeSet:
        """The change set of the newest commit."""
        with self.store.read(SCOPE) as reader:
            return decode(*reader.events(after=reader.head.position - 1, limit=1)[0])

    def rows(self) -> str:
        return "".join(map(str, self.store.ledger(SCOPE.tenant)))

    def exported(self) -> list[bytes]:
        lines: list[bytes] = []
        export_events(self.store, SCOPE.tenant, lines.append)
        return lines


@pytest.fixture(params=ENGINES)
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], MemoryStore]]:
    """Makes empty stores of one kind."""
    stores: list[MemoryStore] = []

    def make() -> MemoryStore:
        folder = tmp_path / str(len(stores))
        folder.mkdir()
        stores.append(ENGINES[request.param](folder))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def world(fresh: Callable[[], MemoryStore]) -> World:
    return World(fresh())


def told(
    predicate: str, value: str, valid_from: str | None = None, valid_to: str | None = None, *, subject: object = ANNA
) -> Assert:
    return Assert(
        subject=subject, predicate=predicate, value=value, said=Said(valid_from=valid_from, valid_to=valid_to)
    )


def erasing(predicate: str | None = None, value: str | None = None) -> Erase:
    if value is None:
        return Erase(subject=ANNA, predicate=predicate)
    return Erase(subject=ANNA, predicate=predicate, value=value)


def lived(world: World) -> None:
    """Tell of two places, of which the second is the marker, of other slots, other people and another purpose."""
    world.write(told("lives_in", "Oslo", "2020-01-01"), told("email", "a@b"), told("lives_in", "Riga", subject=BEN))
    world.write(told("lives_in", MARKER, "2021-01-01"), told("note", MARKER))
    world.write(told("lives_in", MARKER, "2021-01-01"), told("lives_in", "Bonn", "2022-01-01"), scope=BILLING)


# --- what goes, and what stays


@pytest.mark.parametrize(
    ("what", "lives", "notes", "emails"),
    [
        (erasing("lives_in", MARKER), ["Oslo"], [MARKER], ["a@b"]),
        (erasing("lives_in"), [], [MARKER], ["a@b"]),
        (erasing(), [], [], []),
    ],
    ids=["value", "predicate", "subject"],
)
def test_what_is_erased_is_gone_at_every_time_and_the_rest_stays(
    world: World, what: Erase, lives: list[str], notes: list[str], emails: list[str]
) -> None:
    lived(world)
    before = world.now()
    world.write(what)

    for known_at in (before, world.now()):
        held = [world.held(predicate, "2020-06-01", known_at) for predicate in ("lives_in", "note", "email")]
        assert held == [lives, notes, emails]
    assert world.held("lives_in", "2021-06-01") == lives
    assert world.held("lives_in", "2021-06-01", key="ben") == ["Riga"]


def test_after_an_erasure_the_present_is_folded_again_and_the_past_has_a_hole(world: World) -> None:
    world.write(told("lives_in", "Oslo", "2020-01-01"))
    alone = world.now()
    world.write(told("lives_in", MARKER, "2021-01-01"))
    both = world.now()

    receipt = world.write(erasing("lives_in", MARKER))

    assert world.held("lives_in", "2021-06-01") == ["Oslo"]
    assert world.held("lives_in", "2021-06-01", both) == []
    assert world.held("lives_in", "2020-06-01", both) == ["Oslo"]
    assert world.held("lives_in", "2021-06-01", alone) == ["Oslo"]
    assert (len(receipt["items"][0]["opened"]), len(receipt["items"][0]["closed"])) == (1, 1)


@pytest.mark.parametrize("what", [erasing(), erasing("lives_in"), erasing("lives_in", MARKER)])
def test_an_erasure_is_of_one_purpose(world: World, what: Erase) -> None:
    lived(world)
    wrong = world.write(told("note", "typo"), scope=BILLING)["items"][0]["claim"]
    world.write(Withdraw(claim=wrong, reason="a slip of the pen"), scope=BILLING)
    lines, heads = world.exported(), world.heads(BILLING)

    world.write(what)

    assert world.held(None, "2021-06-01", scope=BILLING) == [MARKER]
    assert world.held(None, "2022-06-01", scope=BILLING) == ["Bonn"]
    assert world.heads(BILLING) == heads
    assert [line for line in world.exported() if b"billing" in line] == [line for line in lines if b"billing" in line]
    world.write(erasing(), scope=BILLING)
    assert b"a slip of the pen" not in b"".join(world.exported())
    assert world.heads(BILLING) == []


def test_an_erased_subject_keeps_its_entity_and_its_key(world: World) -> None:
    lived(world)
    with world.store.read(SCOPE) as reader:
        before = reader.entities_by_key(["anna"])
    receipt = world.write(erasing(), told("email", "new@b"))
    with world.store.read(SCOPE) as reader:
        assert reader.entities_by_key(["anna"]) == before
    assert receipt["entities"] == []
    assert world.held(None, "2026-01-01") == ["new@b"]


def test_values_in_one_language_are_erased_from_its_slot_alone(world: World) -> None:
    german, english = ({"type": "langtext", "value": "Anna", "lang": lang} for lang in ("de", "en"))
    world.write(*(Assert(subject=ANNA, predicate="called", value=value) for value in (german, english)))
    world.write(Erase(subject=ANNA, predicate="called", value=german))
    english_head, german_head = sorted(world.heads(), key=lambda head: head.version)
    assert (english_head.slot.language, german_head.slot.language) == ("en", "de")
    assert world.held("called", "2026-01-01") == ["Anna"]


# --- the slot


@pytest.mark.parametrize("what", [erasing(), erasing("lives_in")])
def test_an_erased_slot_is_as_if_it_had_never_been(world: World, what: Erase) -> None:
    world.write(told("lives_in", MARKER, "2020-01-01"))
    receipt = world.write(what)

    assert world.heads() == []
    assert world.last().slots == ()
    assert receipt["items"][0]["version"] is None
    again = Assert(
        subject=ANNA,
        predicate="lives_in",
        value="Oslo",
        said=Said(valid_from="2019-01-01"),
        expected_version=Version(0),
    )
    assert world.write(again)["items"][0]["result"] == "created"
    assert world.held("lives_in", "2026-01-01") == ["Oslo"]


def test_a_slot_in_which_one_value_is_erased_goes_on(world: World) -> None:
    world.write(told("lives_in", MARKER, "2020-01-01"))
    receipt = world.write(erasing("lives_in", MARKER))

    assert world.head("lives_in").version == receipt["position"] == receipt["items"][0]["version"]
    assert world.head("lives_in").last is None


def test_what_is_asserted_after_an_erasure_begins_the_slot_anew(world: World) -> None:
    world.write(told("note", MARKER, "2020-01-01", "infinity"))
    world.declare("note")
    world.write(told("note", "x", "2021-01-01"))
    inherited = world.head("note")

    receipt = world.write(erasing("note"), told("note", "y", "2019-01-01"))

    head = world.head("note")
    assert (inherited.functional, inherited.plain) == (False, False)
    assert (head.functional, head.plain, head.version) == (True, True, receipt["position"])
    assert head.last == (world.now(), receipt["position"], 1)
    assert world.held("note", "2026-01-01") == ["y"]
    assert refold(world.store, SCOPE.tenant) == []


def test_an_erasure_may_expect_a_version(world: World) -> None:
    version = world.write(told("lives_in", MARKER))["items"][0]["version"]

    def expecting(number: int) -> Erase:
        return Erase(subject=ANNA, predicate="lives_in", expected_version=Version(number))

    for wrong in (0, version + 1):
        with pytest.raises(VersionChanged):
            world.write(expecting(wrong))
    world.write(expecting(version))
    with pytest.raises(VersionChanged):
        world.write(expecting(version))


# --- within one transaction


def test_what_is_erased_after_it_was_said_leaves_nothing(world: World) -> None:
    world.write(told("lives_in", "Oslo", "2020-01-01"))
    marked = told("lives_in", MARKER, "2021-01-01")
    spoken = Replace(subject=ANNA, predicate="lives_in", old=MARKER, at="2021-06-01", value="Rome", reason=MARKER)

    world.write(marked, spoken, told("note", MARKER), erasing("lives_in", MARKER), erasing("note"))

    assert MARKER not in world.rows()
    assert MARKER.encode() not in b"".join(world.exported())
    assert world.held("lives_in", "2021-06-01") == ["Rome"]
    assert [head.slot.predicate for head in world.heads()] == ["lives_in"]
    assert refold(world.store, SCOPE.tenant) == []


def test_a_withdrawn_value_may_be_erased_and_said_again_at_once(world: World) -> None:
    wrong = world.write(told("lives_in", "Oslo", "2020-01-01"))["items"][0]["claim"]
    world.write(Withdraw(claim=wrong), erasing("lives_in", "Oslo"), told("lives_in", "Oslo", "2021-01-01"))

    with world.store.read(SCOPE) as reader:
        as_of = AsOf(valid_at=parse_instant("2026-01-01"), known_at=reader.head.recorded_at)
        entity = reader.entities_by_key(["anna"])["anna"]
        (fact,) = reader.state([(entity.id, None)], as_of, certain=True, page=ALL)
    assert fact.version.valid_from == parse_instant("2021-01-01")
    assert (fact.support.occurrences, fact.support.sources) == (1, 1)
    assert world.last().transitions == ()


def test_an_erased_fact_cannot_be_spoken_of_by_its_id(world: World) -> None:
    fact = world.write(told("lives_in", MARKER, "2020-01-01"))["items"][0]["opened"][0]

    for item in (RetractFact(fact=fact), Replace(fact=fact, value="Oslo")):
        with pytest.raises(NotFound):
            world.write(erasing("lives_in"), item)
    world.write(erasing("lives_in"))
    with pytest.raises(NotFound):
        world.write(RetractFact(fact=fact))


def test_the_widest_of_several_erasures_is_kept(world: World) -> None:
    lived(world)
    world.write(erasing("lives_in", MARKER), erasing("lives_in"), erasing())
    (kept,) = world.last().erasures
    assert (kept.scope, kept.predicate, kept.value_key) == (SCOPE, None, None)
    assert [(each.op, each.detail) for each in world.last().operations] == [
        ("erase", {"predicate": None, "value": None})
    ]


# --- the journal

OSLO = told("lives_in", "Oslo", "2020-01-01")
MARKED = Assert(subject=ANNA, predicate="lives_in", value=MARKER, said=Said(valid_from="2021-01-01", source="hr"))
MISHEARD = Replace(
    subject=ANNA, predicate="lives_in", old=MARKER, at="2021-06-01", value="Rome", reason=f"not {MARKER}"
)  # fmt: skip
HISTORIES: dict[str, list[list[Item]]] = {
    "said": [[OSLO], [MARKED]],
    "said in one": [[OSLO, MARKED]],
    "overwritten": [[MARKED], [told("lives_in", "Rome", "2021-01-01")]],
    "said twice": [[MARKED], [told("lives_in", MARKER, "2022-01-01")], [OSLO]],
    "retracted": [[OSLO], [MARKED], [Retract(subject=ANNA, predicate="lives_in", value=MARKER)]],
    "cut": [[OSLO], [MARKED], [Retract(subject=ANNA, predicate="lives_in", said=Said(valid_from="2021-05-01"))]],
    "replaced": [[OSLO], [MARKED], [MISHEARD]],
    "replaced at once": [[OSLO], [MARKED, MISHEARD]],
    "withdrawn": [[OSLO], [MARKED], [Withdraw(source="hr", reason=f"not {MARKER}")]],
    "withdrawn and said again": [[MARKED], [Withdraw(source="hr")], [OSLO], [MARKED]],
}
ERASURES = [erasing("lives_in", MARKER), erasing("lives_in"), erasing()]
AGAIN: list[list[Item]] = [[], [OSLO], [told("lives_in", "Kyiv", "2020-06-01"), told("note", "x")]]


@pytest.mark.parametrize("again", AGAIN, ids=["alone", "the same again", "another again"])
@pytest.mark.parametrize("what", ERASURES, ids=["value", "predicate", "subject"])
@pytest.mark.parametrize("before", HISTORIES.values(), ids=HISTORIES)
def test_what_was_erased_is_nowhere_and_a_copy_is_the_same(
    fresh: Callable[[], MemoryStore], before: Sequence[Sequence[Item]], what: Erase, again: Sequence[Item]
) -> None:
    world, model = World(fresh()), World(NaiveStore())
    for batch in (*before, [what, *again], [told("email", "a@b")]):
        for each in (world, model):
            each.write(*batch)
    lines = world.exported()

    copy = fresh()
    import_events(copy, SCOPE.tenant, lambda: lines, now=LATER)

    assert MARKER not in world.rows()
    assert MARKER.encode() not in b"".join(lines)
    assert lines == model.exported()
    for store in (copy, model.store):
        assert ledger_hash(store, SCOPE.tenant) == ledger_hash(world.store, SCOPE.tenant)
        with store.read(SCOPE) as one, world.store.read(SCOPE) as other:
            assert one.head == other.head
            assert one.head.erasures == 1
            assert one.slots(None, limit=100, after=None) == other.slots(None, limit=100, after=None)
    for store in (world.store, copy):
        assert verify_events(store, SCOPE.tenant) == []
        assert refold(store, SCOPE.tenant) == []


@pytest.mark.parametrize("what", ERASURES, ids=["value", "predicate", "subject"])
def test_a_second_erasure_finds_nothing(world: World, what: Erase) -> None:
    lived(world)
    world.write(what)
    ledger, lines = ledger_hash(world.store, SCOPE.tenant), world.exported()

    receipt = world.write(what)

    assert receipt["items"][0]["result"] == "erased"
    assert ledger_hash(world.store, SCOPE.tenant) == ledger
    assert world.exported()[: len(lines) - 1] == lines[:-1]
    assert verify_events(world.store, SCOPE.tenant) == []


def test_a_wider_erasure_takes_what_an_earlier_one_told(world: World) -> None:
    lived(world)
    world.write(erasing("lives_in", MARKER))
    (narrow,) = world.last().erasures
    assert narrow.value_key is not None
    world.write(erasing("lives_in"))
    world.write(erasing())

    lines = b"".join(line for line in world.exported() if b"billing" not in line)

    assert narrow.value_key.hex().encode() not in lines
    assert verify_events(world.store, SCOPE.tenant) == []
    assert refold(world.store, SCOPE.tenant) == []


def test_a_journal_with_erasures_can_become_another_tenant(fresh: Callable[[], MemoryStore]) -> None:
    world, other = World(fresh()), Tenant("copy")
    lived(world)
    world.write(erasing("lives_in", MARKER))

    import_events(world.store, other, world.exported, now=LATER)

    assert ledger_hash(world.store, other) == ledger_hash(world.store, SCOPE.tenant)
    assert refold(world.store, other) == []
    with world.store.read(scope_of("copy")) as copied, world.store.read(SCOPE) as original:
        assert copied.head == original.head


@pytest.mark.parametrize("what", [Erase(subject=BEN), Erase(subject={"id": "ent_abcdefgh_9_9"}, predicate="note")])
def test_an_unknown_subject_is_refused_without_a_trace(world: World, what: Erase) -> None:
    world.write(told("note", MARKER))
    ledger, lines = ledger_hash(world.store, SCOPE.tenant), world.exported()

    with pytest.raises(Refused) as refused:
        world.write(told("note", "not this either"), what)

    assert [violation.code for violation in refused.value.violations] == ["not_found"]
    assert (ledger_hash(world.store, SCOPE.tenant), world.exported()) == (ledger, lines)


# --- the file


@pytest.mark.parametrize("what", ERASURES, ids=["value", "predicate", "subject"])
def test_no_byte_of_what_was_erased_stays_in_the_file(tmp_path: Path, what: Erase) -> None:
    """Among enough other rows that pages split and merge around those that go."""
    store = SqliteStore(str(tmp_path / "store.db"))
    world = World(store)
    for n in range(40):
        others = [told("lives_in", f"place {n} {who} {'x' * 90}", subject={"key": f"person {who}"}) for who in range(9)]
        world.write(told("lives_in", f"home {n}", f"{1900 + n}-01-01"), *others)
        world.write(told("lives_in", MARKER, f"{1900 + n}-06-01", f"{1900 + n}-07-01"))
    world.write(Replace(subject=ANNA, predicate="lives_in", old=MARKER, at="1910-06-15", value="Rome", reason=MARKER))
    files = [tmp_path / name for name in ("store.db", "store.db-wal")]
    assert any(MARKER.encode() in file.read_bytes() for file in files)

    world.write(what)

    for file in tmp_path.iterdir():
        assert MARKER.encode() not in file.read_bytes()
    assert MARKER.encode() not in b"".join(world.exported())
    store.close()
