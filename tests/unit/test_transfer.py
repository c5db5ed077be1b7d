"""A journal goes from store to store with its ids, times and digests, and one that was touched is refused."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import orjson
import pytest

from consolidation.items import Assert, Erase, Item, Replace, Said, Withdraw
from consolidation.write import Writer
from graph.journal import decode
from graph.ledger import belief_hash, ledger_hash
from graph.ports import MemoryStore
from graph.sqlite_store.store import SqliteStore
from graph.transfer import export_events, import_events, rebuild, verify_events, verify_lines
from ontology.errors import JSON, Conflict, Incorrect, Unsupported
from ontology.instants import OPEN_END, Instant, parse_instant
from ontology.packs import load_core
from ontology.scope import Tenant, scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.naive_store import NaiveStore

SCOPE, TENANT = scope_of("acme"), Tenant("acme")
LATER = Instant(OPEN_END - 1)
Lines = list[bytes]


@pytest.fixture(params=[NaiveStore, lambda: SqliteStore(":memory:")], ids=["naive", "sqlite"])
def fresh(request: pytest.FixtureRequest) -> Callable[[], MemoryStore]:
    """Makes empty stores."""
    return request.param  # type: ignore[no-any-return]


def writer(store: MemoryStore, clock: FrozenClock, seed: int = 0) -> Writer:
    return Writer(store=store, clock=clock, randomness=SeededRandomness(seed), core=load_core())


def assertion(value: str, day: int, subject: str = "anna", predicate: str = "lives_in") -> Assert:
    return Assert(
        subject={"key": subject}, predicate=predicate, value=value, said=Said(valid_from=f"2026-01-{day:02d}")
    )  # fmt: skip


def told(store: MemoryStore, *batches: Sequence[Item], purpose: str = "general", seed: int = 0) -> list[JSON]:
    """Tell the store each batch a day after the one before; gives the receipts of the items."""
    receipts: list[JSON] = []
    with store.read(SCOPE) as reader:
        begun = reader.head.position
    for day, batch in enumerate(batches, begun + 1):
        clock = FrozenClock(parse_instant(f"2026-02-{day:02d}"))
        written = writer(store, clock, seed + day).write(scope_of("acme", purpose=purpose), "me", batch)
        items = written.receipt["items"]
        assert isinstance(items, list)
        receipts += items
    return receipts


def lived(store: MemoryStore) -> MemoryStore:
    """A store in which things were said, withdrawn, replaced and said of others."""
    receipts = told(store, [assertion("Porto", 1)], [assertion("Riga", 5)], [assertion("Oslo", 9)])
    wrong = receipts[-1]
    assert isinstance(wrong, dict)
    told(
        store,
        [Withdraw(claim=str(wrong["claim"]), reason="misheard")],
        [assertion("Bonn", 3, "ben"), assertion("x", 1, "ben", "note")],
        [Replace(subject={"key": "ben"}, predicate="lives_in", old="Bonn", at="2026-01-04", value="Köln")],
        [assertion(f"place {n}", n, f"person {n}") for n in range(1, 20)],
    )
    return store


def exported(store: MemoryStore, after: int = 0) -> Lines:
    lines: Lines = []
    export_events(store, TENANT, lines.append, after=after)
    return lines


def imported(store: MemoryStore, lines: Lines, tenant: Tenant = TENANT, *, resume: bool = False) -> MemoryStore:
    import_events(store, tenant, lambda: lines, now=LATER, resume=resume)
    return store


def test_a_copy_holds_the_same_with_the_same_chain(fresh: Callable[[], MemoryStore]) -> None:
    original = lived(fresh())
    lines = exported(original)

    copy = imported(fresh(), lines)

    assert ledger_hash(copy, TENANT) == ledger_hash(original, TENANT)
    assert belief_hash(copy, SCOPE) == belief_hash(original, SCOPE)
    assert exported(copy) == lines
    assert verify_events(copy, TENANT) == []
    with original.read(SCOPE) as one, copy.read(SCOPE) as other:
        assert one.head == other.head


def test_engines_hold_the_same() -> None:
    naive, sqlite = lived(NaiveStore()), lived(SqliteStore(":memory:"))

    assert ledger_hash(naive, TENANT) == ledger_hash(sqlite, TENANT)
    assert exported(naive) == exported(sqlite)
    assert ledger_hash(imported(NaiveStore(), exported(sqlite)), TENANT) == ledger_hash(sqlite, TENANT)


def test_a_copy_goes_on_like_the_original(fresh: Callable[[], MemoryStore]) -> None:
    original, copy = lived(fresh()), fresh()
    imported(copy, exported(original))

    for store in (original, copy):
        told(store, [assertion("Kyiv", 20)])

    assert exported(original) == exported(copy)
    assert ledger_hash(original, TENANT) == ledger_hash(copy, TENANT)


def test_a_journal_can_become_another_tenant(fresh: Callable[[], MemoryStore]) -> None:
    original = lived(fresh())
    other = Tenant("copy")

    imported(original, exported(original), other)

    assert ledger_hash(original, other) == ledger_hash(original, TENANT)
    assert belief_hash(original, scope_of("copy")) == belief_hash(original, SCOPE)


def test_a_rebuild_is_the_same_store_again(fresh: Callable[[], MemoryStore]) -> None:
    original, copy = lived(fresh()), fresh()
    told_positions: list[int] = []

    done = rebuild(original, copy, TENANT, progress=told_positions.append)

    assert exported(copy) == exported(original)
    assert ledger_hash(copy, TENANT) == ledger_hash(original, TENANT)
    assert done.events == done.position == told_positions[-1]
    with pytest.raises(Conflict, match="'acme' has events"):
        rebuild(original, copy, TENANT)
    assert rebuild(fresh(), fresh(), TENANT).events == 0


def test_large_commits_are_applied_in_transactions_of_their_own(
    fresh: Callable[[], MemoryStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store may hold a transaction in memory, however much a journal has."""
    lines, together, apart = exported(lived(fresh())), list[int](), list[int]()
    import_events(fresh(), TENANT, lambda: lines, now=LATER, progress=together.append)
    monkeypatch.setattr("graph.transfer.BYTES_PER_WRITE", 1)
    import_events(fresh(), TENANT, lambda: lines, now=LATER, progress=apart.append)
    assert together == [7]
    assert apart == [1, 2, 3, 4, 5, 6, 7]


def test_many_events_come_over_in_several_writes(
    fresh: Callable[[], MemoryStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph.transfer.EVENTS_PER_WRITE", 2)
    monkeypatch.setattr("graph.transfer.EVENTS_PER_PAGE", 3)
    original, positions = lived(fresh()), list[int]()

    copy = fresh()
    import_events(copy, TENANT, lambda: exported(original), now=LATER, progress=positions.append)

    assert ledger_hash(copy, TENANT) == ledger_hash(original, TENANT)
    assert positions == [2, 4, 6, 7]


# --- erasures

ANNA = {"key": "anna"}
ERASURES = [
    pytest.param(Erase(subject=ANNA, predicate="lives_in", value="Oslo"), id="a value"),
    pytest.param(Erase(subject=ANNA, predicate="lives_in"), id="a predicate"),
    pytest.param(Erase(subject=ANNA), id="all of a subject"),
]


@pytest.mark.parametrize("what", ERASURES)
def test_what_was_erased_comes_back_in_no_copy(fresh: Callable[[], MemoryStore], what: Erase) -> None:
    original = lived(fresh())
    told(original, [what])
    told(original, [assertion("Lima", 25, "ben")])
    lines = exported(original)

    copy = imported(fresh(), lines)

    assert b"Oslo" not in b"".join(lines)
    assert verify_lines(lines) == []
    assert ledger_hash(copy, TENANT) == ledger_hash(original, TENANT)
    assert belief_hash(copy, SCOPE) == belief_hash(original, SCOPE)
    assert exported(copy) == lines
    with copy.read(SCOPE) as reader:
        endings = [ending for event in reader.events(after=0, limit=100) for ending in decode(*event).transitions]
    assert [ending.reason for ending in endings] == ["replaced"]


def test_an_erased_value_may_be_said_again(fresh: Callable[[], MemoryStore]) -> None:
    original = lived(fresh())
    told(original, [Erase(subject=ANNA, predicate="lives_in")], [assertion("Riga", 20)])

    copy = imported(fresh(), exported(original))

    assert ledger_hash(copy, TENANT) == ledger_hash(original, TENANT)


def test_a_copy_that_has_what_was_erased_since_does_not_go_on(fresh: Callable[[], MemoryStore]) -> None:
    original = lived(fresh())
    copy = imported(fresh(), exported(original))
    with original.read(SCOPE) as reader:
        before = reader.head.position
    told(original, [Erase(subject=ANNA)])

    for lines in (exported(original), exported(original, after=before)):
        with pytest.raises(Unsupported, match="erases from position"):
            imported(copy, lines, resume=True)


# --- going on


def test_a_copy_catches_up_with_the_events_that_it_lacks(fresh: Callable[[], MemoryStore]) -> None:
    original = lived(fresh())
    copy = imported(fresh(), exported(original))
    with copy.read(SCOPE) as reader:
        before = reader.head.position
    told(original, [assertion("Lima", 25)], [assertion("Rome", 26)])

    rest = exported(original, after=before)
    imported(copy, rest)

    assert len(rest) == 4
    assert ledger_hash(copy, TENANT) == ledger_hash(original, TENANT)


def test_an_interrupted_import_is_taken_up_again(
    fresh: Callable[[], MemoryStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph.transfer.EVENTS_PER_WRITE", 2)
    original = lived(fresh())
    told(original, [Erase(subject=ANNA, predicate="lives_in")])
    lines, copy = exported(original), fresh()

    def interrupt(position: int) -> None:
        if position == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_events(copy, TENANT, lambda: lines, now=LATER, progress=interrupt)
    with pytest.raises(Conflict, match="up to position 4"):
        imported(copy, lines)
    imported(copy, lines, resume=True)

    assert ledger_hash(copy, TENANT) == ledger_hash(original, TENANT)


def test_a_tenant_with_another_past_is_refused(fresh: Callable[[], MemoryStore]) -> None:
    lines, other = exported(lived(fresh())), fresh()
    told(other, [assertion("Graz", 1)], seed=99)
    before = ledger_hash(other, TENANT)

    with pytest.raises(Conflict, match="a ledger of its own"):
        imported(other, lines)
    with pytest.raises(Conflict, match="goes on from position"):
        imported(fresh(), exported(lived(fresh()), after=2))
    assert ledger_hash(other, TENANT) == before


def test_the_same_ledger_with_other_events_is_refused(fresh: Callable[[], MemoryStore]) -> None:
    one, two = fresh(), fresh()
    told(one, [assertion("Graz", 1)], [assertion("Rome", 2)])
    told(two, [assertion("Graz", 1)], [assertion("Lima", 2)])

    with pytest.raises(Conflict, match="another event at position 2"):
        imported(two, exported(one), resume=True)


def test_a_position_that_is_none_cannot_be_gone_on_from(fresh: Callable[[], MemoryStore]) -> None:
    with pytest.raises(Incorrect, match="no event at position 50; the newest one is at 7"):
        exported(lived(fresh()), after=50)


# --- journals that are damaged


def damaged() -> Iterator[tuple[str, Callable[[Lines], Lines]]]:
    def altered(number: int, **members: object) -> Callable[[Lines], Lines]:
        def alter(lines: Lines) -> Lines:
            return [
                orjson.dumps(orjson.loads(line) | members) if n == number else line for n, line in enumerate(lines)
            ]  # fmt: skip

        return alter

    yield "ends before the header", lambda lines: []
    yield "ends before the trailer", lambda lines: lines[:-1]
    yield "line 3 is not JSON", lambda lines: [*lines[:2], lines[2][:50]]
    yield "trailer in line 8 disagrees", lambda lines: [*lines[:-2], lines[-1]]
    yield "more follows", lambda lines: [*lines, lines[0]]
    yield "there is a gap", lambda lines: [*lines[:3], *lines[4:-1], altered(-1)(lines)[-1].replace(b":7", b":6", 1)]
    yield "not chained", lambda lines: [lines[0], *exported(other())[1:2], *lines[2:]]
    yield "line 2 is no event", lambda lines: [lines[0], b"{}", *lines[2:]]
    yield "line 2 is no line", lambda lines: [lines[0], b"[]", *lines[2:]]
    yield "not what its digest covers", altered(2, principal="mallory")
    yield "not what its digest covers", altered(3, recorded_at=parse_instant("2026-02-03T05:00:00Z"))
    yield "is missing", altered(2, payloads=[])
    yield "no complete header", altered(0, previous="zz")
    yield "does not have the digest", lambda lines: [line.replace(b"Riga", b"Rita") for line in lines]


def other() -> MemoryStore:
    store = NaiveStore()
    told(store, [assertion("Graz", 1)])
    return store


@pytest.mark.parametrize(("problem", "damage"), list(damaged()), ids=lambda part: part if isinstance(part, str) else "")
def test_a_damaged_journal_is_refused_without_a_trace(problem: str, damage: Callable[[Lines], Lines]) -> None:
    copy = NaiveStore()

    with pytest.raises(Incorrect, match=problem):
        imported(copy, damage(exported(lived(NaiveStore()))))
    assert copy.tenants() == []


def test_what_is_no_journal_of_this_version_is_unsupported() -> None:
    lines = exported(lived(NaiveStore()))

    with pytest.raises(Unsupported, match="not the header"):
        imported(NaiveStore(), lines[1:])
    with pytest.raises(Unsupported, match="version 2"):
        imported(NaiveStore(), [lines[0].replace(b'"version":1', b'"version":2'), *lines[1:]])


def test_what_is_recorded_later_than_now_is_refused() -> None:
    lines = exported(lived(NaiveStore()))

    with pytest.raises(Incorrect, match="position 6 is recorded at 2026-02-06T00:00:00Z, later than now"):
        import_events(NaiveStore(), TENANT, lambda: lines, now=parse_instant("2026-02-05"))


def test_a_journal_travels_in_a_file(tmp_path: Path) -> None:
    original, copy = lived(SqliteStore(str(tmp_path / "one.db"))), SqliteStore(str(tmp_path / "two.db"))
    path = tmp_path / "journal.jsonl"
    with path.open("wb") as file:
        export_events(original, TENANT, file.write)

    import_events(copy, TENANT, lambda: path.read_bytes().splitlines(), now=LATER)

    assert ledger_hash(copy, TENANT) == ledger_hash(original, TENANT)
    original.close()
    copy.close()
