"""What only the SQLite store promises: durability settings, migrations, plans, processes, and what is left on disk."""

import multiprocessing
import os
import re
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from consolidation.items import Erase
from graph.ports import Page, Reader
from graph.sqlite_store import connection as connection_module
from graph.sqlite_store import migration
from graph.sqlite_store.connection import QUERIES, Connection, translated
from graph.sqlite_store.store import SqliteStore
from ontology.errors import Busy, Fault, Incorrect, Unavailable, Unsupported, VigenciaError
from ontology.facts import AsOf
from ontology.ids import ClaimId
from ontology.instants import OPEN_END, Instant, parse_instant
from tests.contract.world import ALL, SCOPE, World, claim, texts

FAR = parse_instant("2100-01-01")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(str(file), busy_seconds=0.5)
    yield opened
    opened.close()


@pytest.fixture
def world(store: SqliteStore) -> World:
    return World(store)


def asked(file: Path, statement: str) -> object:
    """One value, asked of the file by somebody else."""
    other = sqlite3.connect(file)
    try:
        return other.execute(statement).fetchone()[0]
    finally:
        other.close()


# --- durability


def found(store: SqliteStore, check: str) -> str:
    """What a check of the store finds."""
    return next(each.finding for each in store.check(Instant(0)) if each.check == check)


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("secure_delete", 1),
        ("journal_mode", "wal"),
        ("trusted_schema", 0),
        ("temp_store", 2),
    ],
)
def test_every_connection_has_the_settings_on_which_durability_stands(
    store: SqliteStore, pragma: str, value: object
) -> None:
    with store.read(SCOPE) as reader, store.write(SCOPE) as tx:
        for snapshot in (reader, tx):
            used: Connection = snapshot._connection  # type: ignore[attr-defined]  # a setting shows nowhere else
            assert used.run(f"PRAGMA {pragma}") == [(value,)]


def test_a_reopened_file_has_everything(file: Path) -> None:
    first = World(SqliteStore(str(file)))
    first.tell("anna", "lives_in", "Oslo", "2020-01-01")
    rows = list(first.store.ledger(SCOPE.tenant))
    first.store.close()
    again = SqliteStore(str(file))
    assert list(again.ledger(SCOPE.tenant)) == rows
    assert World(again).state("anna", "lives_in", "2021-01-01") == ["Oslo"]
    again.close()


def test_a_store_that_was_not_closed_loses_nothing(file: Path) -> None:
    World(SqliteStore(str(file))).tell("anna", "lives_in", "Oslo", "2020-01-01")
    again = SqliteStore(str(file))
    assert World(again).state("anna", "lives_in", "2021-01-01") == ["Oslo"]
    again.close()


def test_a_full_disk_is_unavailable_and_leaves_no_trace(file: Path) -> None:
    store = SqliteStore(str(file))
    world = World(store)
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    pages = int(found(store, "bytes")) // 4096
    with store.write(SCOPE) as tx:
        tx._connection.run(f"PRAGMA max_page_count = {pages + 4}")  # type: ignore[attr-defined]  # to break it
    with pytest.raises(Unavailable, match="full"):
        world.write(*(claim(f"p{n}", "about", "x" * 2000) for n in range(50)))
    assert world.state("anna", "lives_in", "2021-01-01") == ["Oslo"]
    with store.read(SCOPE) as reader:
        assert reader.head.position == 1
    store.close()


# --- migrations


def test_a_new_file_gets_every_migration_once(file: Path, store: SqliteStore) -> None:
    newest = max(migration.migrations())
    assert asked(file, "SELECT max(version) FROM migrations") == newest
    SqliteStore(str(file)).close()
    assert asked(file, "SELECT count(*) FROM migrations") == len(migration.migrations())
    assert asked(file, "PRAGMA application_id") == migration.APPLICATION_ID
    assert found(store, "migration") == str(newest)


def test_migrations_go_on_from_where_a_file_stands(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(str(file)).close()
    known = migration.migrations()
    number = max(known) + 1
    more = known | {number: "-- one more; with a semicolon\nCREATE TABLE added (x TEXT DEFAULT ';') STRICT;\n"}
    monkeypatch.setattr(migration, "migrations", lambda: more)
    SqliteStore(str(file)).close()
    assert asked(file, "SELECT max(version) FROM migrations") == number
    assert asked(file, "SELECT count(*) FROM added") == 0


def test_a_migration_that_fails_leaves_the_file_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(str(file)).close()
    known = migration.migrations()
    more = known | {max(known) + 1: "CREATE TABLE added (x TEXT) STRICT;\nCREATE TABLE added (x TEXT) STRICT;\n"}
    with monkeypatch.context() as patched:
        patched.setattr(migration, "migrations", lambda: more)
        with pytest.raises(Fault):
            SqliteStore(str(file))
    assert asked(file, "SELECT max(version) FROM migrations") == max(known)
    assert asked(file, "SELECT count(*) FROM sqlite_schema WHERE name = 'added'") == 0


def test_a_file_of_a_newer_program_is_refused(file: Path) -> None:
    SqliteStore(str(file)).close()
    other = sqlite3.connect(file)
    other.execute("INSERT INTO migrations VALUES (9999)")
    other.commit()
    other.close()
    with pytest.raises(Unsupported, match="version 9999"):
        SqliteStore(str(file))


@pytest.mark.parametrize("statement", ["CREATE TABLE notes (x)", "PRAGMA application_id = 7"])
def test_a_database_of_another_program_is_refused_and_kept(file: Path, statement: str) -> None:
    other = sqlite3.connect(file)
    other.execute(statement)
    other.commit()
    other.close()
    with pytest.raises(Unsupported, match="another program"):
        SqliteStore(str(file))
    assert asked(file, "SELECT count(*) FROM sqlite_schema WHERE name = 'tenants'") == 0


def test_an_old_sqlite_is_refused_with_a_remedy(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "OLDEST", (99, 0, 0))
    with pytest.raises(Unsupported, match=r"too old; Vigencia needs 99\.0\.0; use a Python"):
        SqliteStore(str(file))


# --- plans


LISTS: dict[str, int] = {"tenants": 1, "scopes_to_index": 1}
"""Queries that read a table from end to end, and how often."""
INNER = re.compile(r"SCAN (near|CONSTANT ROW|\(subquery-\d+\)|\w VIRTUAL TABLE)")


def plan(store: SqliteStore, query: str) -> list[str]:
    text = QUERIES[query]
    numbers = [int(number) for number in re.findall(r"\?(\d+)", text)]
    parameters = (None,) * (max(numbers) if numbers else text.count("?"))
    with store.read(SCOPE) as reader:
        raw: sqlite3.Connection = reader._connection._raw  # type: ignore[attr-defined]  # only SQLite knows its plans
        return [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {text}", parameters)]


@pytest.mark.parametrize("query", QUERIES)
def test_no_query_reads_a_table_from_end_to_end(store: SqliteStore, query: str) -> None:
    scans = [step for step in plan(store, query) if step.startswith("SCAN") and not INNER.match(step)]
    assert len(scans) == LISTS.get(query, 0), scans


@pytest.mark.parametrize(
    ("query", "steps"),
    [
        (
            "state_now",
            [
                "SEARCH s USING INDEX sqlite_autoindex_slots_1 "
                "(scope_pk=? AND subject_position=? AND subject_ordinal=? AND predicate>? AND predicate<?)",
                "SEARCH v USING INDEX versions_current (slot_pk=? AND valid_from>? AND valid_from<?)",
                "SEARCH c USING INDEX versions_current (slot_pk=? AND valid_from<?)",
            ],
        ),
        (
            "state_as_of",
            [
                "SEARCH v USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH c USING INDEX versions_by_valid (slot_pk=? AND valid_from<?)",
                "SEARCH c USING INDEX versions_by_recorded (slot_pk=? AND recorded_from<?)",
            ],
        ),
        ("history_now", ["SEARCH v USING INDEX versions_current (slot_pk=? AND valid_from>? AND valid_from<?)"]),
        ("history_as_of", ["SEARCH v USING INDEX versions_by_valid (slot_pk=? AND valid_from>? AND valid_from<?)"]),
        (
            "holders",
            [
                "SEARCH v USING INDEX versions_by_value "
                "(scope_pk=? AND value_key=? AND valid_from>? AND valid_from<?)",
            ],
        ),
        ("window", ["SEARCH v USING INDEX versions_current (slot_pk=? AND valid_from>? AND valid_from<?)"]),
        (
            "window_of_value",
            [
                "SEARCH v USING INDEX versions_of_value "
                "(slot_pk=? AND value_key=? AND recorded_to=? AND valid_from>? AND valid_from<?)",
            ],
        ),
        (
            "extents_of_version",
            ["SEARCH e USING PRIMARY KEY (slot_pk=? AND value_key=? AND valid_from>? AND valid_from<?)"],
        ),
        (
            "voice_of_root",
            ["SEARCH c USING INDEX claims_voices (slot_pk=? AND value_key=? AND folded=? AND root_pk=?)"],
        ),
        (
            "claims_of_episode_for",
            ["SEARCH c USING INDEX claims_by_episode (episode_pk=? AND slot_pk=? AND value_key=?)"],
        ),
    ],
)  # fmt: skip
def test_hot_queries_seek_where_they_should(store: SqliteStore, query: str, steps: list[str]) -> None:
    found = [step.removesuffix(" LEFT-JOIN") for step in plan(store, query)]
    for step in steps:
        assert step in found


def test_every_query_is_used_and_every_one_that_is_used_is_there() -> None:
    folder = Path(connection_module.__file__).parent
    code = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    for name in QUERIES:
        assert f'"{name}"' in code, name
    run = re.findall(r"\.(?:all|one|each|many)\(\s*\"(\w+)\"", code)
    assert set(run) <= set(QUERIES)


def test_the_text_of_queries_is_constant() -> None:
    folder = Path(connection_module.__file__).parent
    for path in folder.glob("*.py"):
        assert not re.search(r"\b(SELECT|INSERT INTO|UPDATE|DELETE)\b.*\{", path.read_text(encoding="utf-8")), path


# --- a long slot


def test_a_long_slot_reads_few_rows_wherever_it_is_asked(world: World, store: SqliteStore) -> None:
    """Steps of SQLite's virtual machine, which no other load on the machine changes."""
    world.declare("lives_in")
    count = 200
    known = [world.tell("anna", "lives_in", f"v{n}", str(2000 + n)[:4] + "-01-01") for n in range(count)]
    world.tell("short", "lives_in", "x", "2020-01-01")
    starts = [parse_instant(f"{2000 + n}-01-01") for n in range(count)]
    normal = steps(world, store, "short", starts[50], known[-1])
    for v in (0, 7, 100, 199):
        for k in (0, 9, 100, 198, 199):
            assert steps(world, store, "anna", starts[v], known[k]) < 40 * normal, (v, k)
    assert steps(world, store, "anna", starts[0], FAR) < 3 * normal
    assert steps(world, store, "anna", starts[-1], FAR) < 3 * normal


def steps(world: World, store: SqliteStore, subject: str, valid_at: Instant, known_at: Instant) -> int:
    """How many times SQLite's virtual machine reports ten steps while it answers."""
    id, as_of = world.id(subject), AsOf(valid_at=valid_at, known_at=known_at)
    return counted(store, lambda reader: reader.state([(id, "lives_in")], as_of, certain=False, page=ALL))


@pytest.mark.parametrize("starts", ["2020-01-01", None])
def test_what_is_read_around_a_hub_does_not_grow_with_it(
    world: World, store: SqliteStore, starts: str | None
) -> None:  # fmt: skip
    """Many begin at one instant, or nobody knows when: then what was only possible before has ended."""

    def around(number: int) -> int:
        others = [{"type": "entity", "key": f"other {n} of {number}"} for n in range(number)]
        out, into = f"out {number}", {"type": "entity", "key": f"in {number}"}
        world.write(*(claim(out, "knows", other, starts) for other in others))
        world.write(*(claim(other["key"], "knows", into, starts) for other in others))
        ids, as_of = [world.id(out), world.id(into["key"])], AsOf(valid_at=FAR, known_at=world.now())
        return counted(store, lambda reader: reader.around(ids, as_of, limit=15))

    assert around(1000) < 3 * around(20)


def counted(store: SqliteStore, asked: Callable[[Reader], object]) -> int:
    """How many times SQLite's virtual machine reports ten steps while it answers."""
    reported = 0

    def count() -> int:
        nonlocal reported
        reported += 1
        return 0

    with store.read(SCOPE) as reader:
        raw: sqlite3.Connection = reader._connection._raw  # type: ignore[attr-defined]  # to count its steps
        raw.set_progress_handler(count, 10)
        asked(reader)
        raw.set_progress_handler(None, 0)
    return max(reported, 1)


# --- snapshots, threads, processes


def test_a_snapshot_does_not_see_what_is_written_after_it(world: World, store: SqliteStore) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    id, as_of = world.id("anna"), AsOf(valid_at=FAR, known_at=FAR)
    with store.read(SCOPE) as before:
        world.tell("anna", "lives_in", "Riga", "2021-01-01")
        with store.read(SCOPE) as after:
            assert (before.head.position, after.head.position) == (1, 2)
            assert len(before.audit(id, None, valid_at=None, touched=None, page=ALL)) == 1
            assert len(after.state([(id, None)], as_of, certain=False, page=ALL)) == 2


def test_a_transaction_finds_what_it_has_written_since_it_last_searched(world: World, store: SqliteStore) -> None:
    world.write(claim("mira", "likes", "tea", "2020-01-01"))
    as_of = AsOf(valid_at=parse_instant("2100-01-01"), known_at=world.now())
    with store.write(SCOPE) as tx:
        before = tx.match_facts(["tea"], as_of, predicates=None, history=False, limit=9)
        tx.write_sentences([(statement, "mira likes tea") for statement in tx.unwritten(limit=9)])
        after = tx.match_facts(["tea"], as_of, predicates=None, history=False, limit=9)
    assert [len(before), len(after)] == [0, 1]


def test_readers_beside_a_writer_see_the_committed_state(world: World, store: SqliteStore) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    with store.write(SCOPE) as tx, store.read(SCOPE) as reader:
        tx.forget_keys(Instant(0))
        assert reader.head.position == tx.head.position == 1


def test_a_ledger_that_is_not_read_to_its_end_holds_nothing_up(world: World, store: SqliteStore) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    rows = store.ledger(SCOPE.tenant)
    next(rows)
    world.tell("anna", "lives_in", "Riga", "2021-01-01")
    del rows
    assert len(list(store.ledger(SCOPE.tenant))) > 5


def test_in_memory_a_reader_waits_for_the_writer() -> None:
    store = SqliteStore(":memory:", busy_seconds=5)
    world = World(store)
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    entered, seen = threading.Event(), []

    def read() -> None:
        entered.wait(5)
        with store.read(SCOPE) as reader:
            seen.append(reader.head.position)

    thread = threading.Thread(target=read)
    thread.start()
    with store.write(SCOPE):
        entered.set()
        thread.join(0.05)
        assert seen == []
    thread.join(5)
    assert seen == [1]
    store.close()


def test_in_memory_reads_nest_and_a_write_in_a_read_is_a_fault() -> None:
    store = SqliteStore(":memory:")
    with store.read(SCOPE), store.read(SCOPE) as inner:
        assert inner.head.position == 0
    with store.read(SCOPE), pytest.raises(Fault), store.write(SCOPE):
        pytest.fail("a write inside a read")
    with store.write(SCOPE) as tx, store.read(SCOPE) as reader:
        assert reader.head == tx.head
    store.close()


def _write(path: str, number: int, count: int) -> None:
    store = SqliteStore(path, busy_seconds=30)
    world = World(store)
    for n in range(count):
        world.writer.write(SCOPE, "tester", [claim("anna", "knows", f"{number}-{n}", "2020-01-01")])
    store.close()


def test_processes_write_one_after_the_other_and_lose_nothing(file: Path) -> None:
    """All of them open a file that is not there yet."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(str(file), number, 10)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    store = SqliteStore(str(file))
    world = World(store)
    assert len(world.state("anna", "knows", "2021-01-01")) == 30
    with store.read(SCOPE) as reader:
        events = [event for event, _ in reader.events(after=0, limit=100)]
    assert [event.position for event in events] == list(range(1, 31))
    store.close()


def test_a_lock_of_another_process_is_busy(file: Path, world: World) -> None:
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy):
        world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    other.execute("ROLLBACK")
    other.close()
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    assert world.state("anna", "lives_in", "2021-01-01") == ["Oslo"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_child_uses_nothing_of_its_parent(world: World, store: SqliteStore) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    with store.write(SCOPE):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if world.state("anna", "lives_in", "2021-01-01") == ["Oslo"] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    child = os.fork()
    if child == 0:
        code = 1
        try:
            world.tell("anna", "lives_in", "Riga", "2021-01-01")
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert world.state("anna", "lives_in", "2022-01-01") == ["Oslo", "Riga"]


# --- erasing


def test_what_was_erased_is_not_in_the_files(file: Path, world: World) -> None:
    secret = "a-secret-that-must-go"
    world.tell("anna", "about", secret, "2020-01-01", source="a")
    world.tell("anna", "about", "harmless", "2021-01-01")
    held = [path for path in file.parent.iterdir() if secret.encode() in path.read_bytes()]
    assert held
    world.write(Erase(subject={"key": "anna"}, predicate="about", value=secret))
    assert [path for path in file.parent.iterdir() if secret.encode() in path.read_bytes()] == []
    assert world.state("anna", "about", "2022-01-01") == ["harmless"]


def test_a_log_that_a_reader_needs_is_emptied_after_a_later_write(file: Path, world: World, store: SqliteStore) -> None:
    secret = "a-secret-that-must-go"
    world.tell("anna", "about", secret, "2020-01-01")
    with store.read(SCOPE):
        world.write(Erase(subject={"key": "anna"}, predicate="about"))
    world.tell("anna", "about", "harmless", "2021-01-01")
    assert [path for path in file.parent.iterdir() if secret.encode() in path.read_bytes()] == []


# --- errors


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.write_bytes(b"no database" * 1000)])
def test_what_is_no_database_is_unavailable(file: Path, make: Callable[[Path], object]) -> None:
    make(file)
    with pytest.raises(Unavailable):
        SqliteStore(str(file))


def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="unable to open"):
        SqliteStore(str(tmp_path / "no" / "store.db"))


def test_a_damaged_file_is_unavailable(file: Path) -> None:
    world = World(SqliteStore(str(file)))
    world.write(*(claim(f"p{n}", "about", "x" * 500) for n in range(50)))
    world.store.close()
    damaged = bytearray(file.read_bytes())
    damaged[8192:] = b"\xff" * (len(damaged) - 8192)
    file.write_bytes(damaged)
    with pytest.raises(VigenciaError) as raised:
        World(SqliteStore(str(file))).state("p1", "about", "2021-01-01")
    assert isinstance(raised.value, Unavailable)


@pytest.mark.parametrize("path", ["file", ":memory:"])
def test_a_closed_store_is_unavailable(file: Path, path: str) -> None:
    store = SqliteStore(str(file) if path == "file" else path)
    store.close()
    store.close()
    uses: list[Callable[[], object]] = [
        store.read(SCOPE).__enter__, store.write(SCOPE).__enter__, partial(store.check, Instant(0))
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(Unavailable, match="closed"):
            use()


def test_a_store_that_closes_while_it_is_read_lets_the_reader_end(world: World, store: SqliteStore) -> None:
    world.tell("anna", "lives_in", "Oslo", "2020-01-01")
    with store.read(SCOPE) as reader:
        store.close()
        found = reader.audit(reader.entities_by_key(["anna"])["anna"].id, None, valid_at=None, touched=None, page=ALL)
    assert texts(found) == ["Oslo"]


def test_a_lone_surrogate_and_a_huge_number_are_the_callers_fault(store: SqliteStore) -> None:
    with store.read(SCOPE) as reader:
        with pytest.raises(Incorrect):
            reader.entities_by_key(["\ud800"])
        with pytest.raises(Incorrect):
            reader.events(after=2**70, limit=1)


def test_no_error_of_the_driver_is_unknown() -> None:
    for error in (sqlite3.OperationalError("x"), sqlite3.IntegrityError("x"), sqlite3.ProgrammingError("x")):
        assert isinstance(translated(error), Fault)


def test_the_ids_of_claims_that_a_receipt_names_are_found(world: World) -> None:
    receipt = world.write(claim("anna", "lives_in", "Oslo", "2020-01-01"))
    with world.store.read(SCOPE) as reader:
        assert reader.claim(ClaimId(receipt["items"][0]["claim"])).claim.entry.end_hi == OPEN_END
        assert reader.of_predicate("lives_in", AsOf(valid_at=FAR, known_at=FAR), certain=True, page=Page(1))
