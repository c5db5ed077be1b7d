"""Does a load check first, set aside what is refused, write the rest once, and go on where it stopped?"""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from api.load import Checked, Loader, Plan, Refusal, Tally, check_file, resume_line, resume_token
from api.load_items import MEMBERS, decode, item
from api.load_lines import IDENTITY, CsvMapping, LineFile, read_mapping
from api.wire import bodies
from consolidation.idempotency import Written
from consolidation.items import Item
from consolidation.write import Writer
from graph.ports import MemoryStore
from ontology.errors import Busy, Incorrect, VigenciaError
from ontology.instants import format_instant, parse_instant
from ontology.packs import builtin_pack, load_core
from ontology.scope import Scope, scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.naive_store import NaiveStore

SCOPE = scope_of("acme")


class World:
    """A store with its writer, and what a load of a file into it tells."""

    def __init__(self) -> None:
        self.store: MemoryStore = NaiveStore()
        self.clock = FrozenClock(parse_instant("2026-11-30"))
        self.writer = Writer(store=self.store, clock=self.clock, randomness=SeededRandomness(), core=load_core())
        self.writer.put_schema(SCOPE, "tester", builtin_pack("demo"))

    def load(self, file: LineFile, watch: "Watch | None" = None, after: int = 0, **plan: Any) -> "Loaded":
        watch = watch or Watch()
        settings = {"batch_lines": 3, "items_max": 10_000, "as_recorded": file.as_recorded, "dry_run": False, **plan}
        loader = Loader(
            self.writer, self.store, Plan(scope=SCOPE, principal="person", **settings), watch, sleep=lambda _: None
        )
        checked = check_file(file, self.writer.schema(SCOPE), watch)
        stopped = loader.load(file, checked, after=after)
        return Loaded(loader.tally, watch, checked, stopped)

    def events(self) -> int:
        with self.store.read(SCOPE) as reader:
            return reader.head.position

    def claims(self, subject: str) -> int:
        with self.store.read(SCOPE) as reader:
            entity = reader.entities_by_key([subject]).get(subject)
            return 0 if entity is None else len(reader.claims(entity.id, None, limit=1000, after=None))


class Watch:
    """Keeps what it is told, and stops after so many batches."""

    def __init__(self, batches: int | None = None) -> None:
        self.refusals: list[Refusal] = []
        self.batches = batches

    def checked(self, lines: int) -> None: ...

    def refused(self, refusal: Refusal) -> None:
        self.refusals.append(refusal)

    def wrote(self, lines: int, tally: Tally) -> None: ...

    def stopping(self) -> bool:
        if self.batches is not None:
            self.batches -= 1
        return self.batches == 0

    def codes(self) -> dict[int, str]:
        return {r.line: r.error.violations[0].code if r.error.violations else r.error.slug for r in self.refusals}


class Loaded:
    def __init__(self, tally: Tally, watch: Watch, checked: Checked, stopped: int | None) -> None:
        self.tally = tally
        self.watch = watch
        self.checked = checked
        self.stopped = stopped


@pytest.fixture
def world() -> World:
    return World()


def said(number: int, **others: Any) -> dict[str, Any]:
    return {
        "subject": f"s{number}",
        "predicate": "note",
        "value": f"note {number}",
        "valid_from": "2026-01-01",
        **others,
    }


def lines_of(path: Path, rows: Sequence[object], *, as_recorded: bool = False) -> LineFile:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return LineFile(path, path.name, None, as_recorded=as_recorded)


def csv_of(path: Path, text: str, mapping: CsvMapping = IDENTITY, *, as_recorded: bool = False) -> LineFile:
    path.write_text(text)
    return LineFile(path, path.name, mapping, as_recorded=as_recorded)


def test_every_line_is_loaded_in_batches(world: World, tmp_path: Path) -> None:
    before = world.events()
    loaded = world.load(lines_of(tmp_path / "a.jsonl", [said(n) for n in range(8)]))
    assert loaded.tally.results == {"created": 8}
    assert loaded.tally.refused == 0
    assert world.events() - before == 3


def test_lines_that_are_wrong_by_themselves_are_set_aside_before_anything_is_written(
    world: World, tmp_path: Path
) -> None:
    rows: list[object] = [
        said(0),
        "{nonsense\n",
        said(1, valid_from="2026-02-30"),
        "\n",
        said(2, colour="red"),
        said(3),
        said(4, valid_from="2026-01-01T10:00:00"),
        said(5, recorded_at="2026-01-01"),
        {"op": "invent"},
        [1],
        said(6, predicate="count", value=2**70),
        '{"subject": "s", "subject": "t", "predicate": "note", "value": "twice"}\n',
        said(7, value="\x00"),
        said(8, valid_from="2026-02-01", valid_to="2026-01-01"),
        said(9, predicate="monthly_rent", value="-3 EUR"),
        said(10, fact="fct_x"),
        {"op": "retract", "fact": "nonsense"},
    ]
    loaded = world.load(lines_of(tmp_path / "a.jsonl", rows))
    assert loaded.watch.codes() == {
        2: "unreadable_json",
        3: "unreadable_date",
        5: "unknown_field",
        7: "naive_timestamp",
        8: "recorded_at_not_settable",
        9: "unknown_member",
        10: "wrong_type",
        11: "out_of_range",
        12: "duplicate_member",
        13: "control_character",
        14: "inverted_interval",
        15: "out_of_range",
        16: "unknown_field",
        17: "not-found",
    }
    assert loaded.tally.results == {"created": 2}
    assert loaded.tally.refused == 14
    assert list(loaded.checked.bad) == [2, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]


def test_a_refusal_names_the_line_the_rule_and_the_text(world: World, tmp_path: Path) -> None:
    loaded = world.load(lines_of(tmp_path / "a.jsonl", [said(0), said(1, valid_from="2026-02-30")]))
    [refusal] = loaded.watch.refusals
    document = refusal.document("a.jsonl")
    assert document["line"] == 2
    assert document["type"] == "/problems/invalid-request"
    assert document["errors"] == [
        {
            "pointer": "/valid_from",
            "code": "unreadable_date",
            "detail": "the calendar has no '2026-02-30'; check month and day",
        }
    ]
    assert json.loads(str(document["text"])) == said(1, valid_from="2026-02-30")


def test_what_only_the_store_can_refuse_is_set_aside_and_the_rest_of_its_batch_is_written(
    world: World, tmp_path: Path
) -> None:
    rows = [
        said(0),
        said(1, observed_at="2030-01-01T00:00:00Z"),
        said(2),
        said(3, expected_version=77),
        {"op": "withdraw", "claim": "clm_aaaaaaaa_1_0"},
        said(4),
    ]
    loaded = world.load(lines_of(tmp_path / "a.jsonl", rows), batch_lines=6)
    assert sorted(loaded.watch.codes()) == [2, 4, 5]
    assert loaded.tally.results == {"created": 3}
    assert loaded.tally.batches == 1


def test_a_batch_full_of_refusals_is_bisected(world: World, tmp_path: Path) -> None:
    rows = [said(n, **({} if n % 5 == 0 else {"observed_at": "2030-01-01T00:00:00Z"})) for n in range(60)]
    loaded = world.load(lines_of(tmp_path / "a.jsonl", rows), batch_lines=60)
    assert loaded.tally.results == {"created": 12}
    assert loaded.tally.refused == 48
    assert len(loaded.watch.refusals) == 48


def test_a_load_that_is_started_again_has_one_effect(world: World, tmp_path: Path) -> None:
    rows = [said(n, **({"observed_at": "2030-01-01T00:00:00Z"} if n == 4 else {})) for n in range(8)]
    file = lines_of(tmp_path / "a.jsonl", rows)
    world.load(file, Watch(batches=2))
    events = world.events()
    again = world.load(file)
    assert world.events() == events + 1
    assert again.tally.replayed == 5
    assert again.tally.results == {"created": 2}
    assert [world.claims(f"s{n}") for n in range(8)] == [1, 1, 1, 1, 0, 1, 1, 1]


def test_a_stopped_load_goes_on_after_the_line_that_it_names(world: World, tmp_path: Path) -> None:
    file = lines_of(tmp_path / "a.jsonl", [said(n) for n in range(8)])
    first = world.load(file, Watch(batches=1))
    assert first.stopped == 3
    token = resume_token(first.checked.digest, first.stopped)
    line = resume_line(token, first.checked.digest)
    assert line == 3
    second = world.load(file, after=line)
    assert second.tally.results == {"created": 5}
    assert second.tally.replayed == 0
    assert resume_line(token, "another file") is None
    assert resume_line("17", first.checked.digest) == 17
    with pytest.raises(Incorrect, match="no resume token"):
        resume_line("seventeen", first.checked.digest)


def test_a_dry_run_counts_and_writes_nothing(world: World, tmp_path: Path) -> None:
    before = world.events()
    loaded = world.load(lines_of(tmp_path / "a.jsonl", [said(n) for n in range(4)]), dry_run=True)
    assert loaded.tally.results == {"created": 4}
    assert world.events() == before


def test_lines_recorded_together_are_one_transaction(tmp_path: Path) -> None:
    world = World.__new__(World)
    world.store, world.clock = NaiveStore(), FrozenClock(parse_instant("2026-11-30"))
    world.writer = Writer(store=world.store, clock=world.clock, randomness=SeededRandomness(), core=load_core())
    rows = [
        said(0, recorded_at="2026-01-01"),
        said(1, recorded_at="2026-01-01"),
        said(2, recorded_at="2026-01-01", observed_at="2026-03-01T00:00:00Z"),  # said after it was recorded
        said(3, recorded_at="2026-02-01T10:00:00Z"),
        said(4, recorded_at="2026-01-15"),  # goes back
        said(5),
        said(6, recorded_at="2026-02-02T10:00:00+02:00"),
    ]
    loaded = world.load(lines_of(tmp_path / "a.jsonl", rows, as_recorded=True))
    assert loaded.watch.codes()[5] == "recorded_at_in_past"
    assert loaded.watch.codes()[6] == "missing_field"
    assert sorted(loaded.watch.codes()) == [3, 5, 6]
    with world.store.read(SCOPE) as reader:
        events = [format_instant(event.recorded_at) for event, _ in reader.events(after=0, limit=10)]
    assert events == ["2026-01-01T00:00:00Z", "2026-02-01T10:00:00Z", "2026-02-02T08:00:00Z"]


def test_csv_with_columns_named_like_members_needs_no_mapping(world: World, tmp_path: Path) -> None:
    text = 'subject,predicate,value,type,valid_from,confidence\ns1,height,"1.80",decimal,2026,0.9\ns2,note,"a, b",,,\n'
    loaded = world.load(csv_of(tmp_path / "a.csv", text))
    assert loaded.tally.results == {"created": 2}
    assert not loaded.watch.refusals


def test_a_mapping_makes_items_of_the_cells(world: World, tmp_path: Path) -> None:
    mapping = read_mapping(
        """
        csv: {delimiter: ";", absent: ["", "NA"], columns: [country, quarter, value, until, place]}
        item:
          subject: "country:{country}"
          predicate: gdp
          value: "{value}"
          type: decimal
          valid_from: "{quarter}"
          valid_to: "{until}"
          source: "office of {country}"
        """
    )
    file = csv_of(tmp_path / "a.csv", "CHE;1980-01-01;64.5;NA;x\nCHE;1980-04-01;NA;;x\nCHE;1980;1\n", mapping)
    lines = list(file.lines())
    assert decode(json.dumps({}).encode()) == {}
    first = lines[0].item
    assert not isinstance(first, Incorrect)
    assert first == item(
        {
            "subject": "country:CHE", "predicate": "gdp", "value": {"type": "decimal", "value": "64.5"},
            "valid_from": "1980-01-01", "source": "office of CHE",
        }
    )  # fmt: skip
    loaded = world.load(file)
    assert loaded.watch.codes() == {2: "missing_field", 3: "wrong_columns"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("item: [1", "unreadable_yaml"),
        ("columns: {a: b}", "unknown_field"),
        ("item: {colour: red}", "unknown_field"),
        ("item: {subject: {a: b}}", "wrong_type"),
        ("item: {subject: a}\ncsv: {quote: x}", "unknown_field"),
        ("item: {subject: a}\ncsv: {delimiter: '||'}", "wrong_type"),
    ],
)
def test_a_mapping_that_is_none_is_refused(text: str, code: str) -> None:
    with pytest.raises(Incorrect) as caught:
        read_mapping(text)
    assert caught.value.violations[0].code == code


def test_a_column_that_is_no_member_asks_for_a_mapping(tmp_path: Path) -> None:
    with pytest.raises(Incorrect, match="--map"):
        list(csv_of(tmp_path / "a.csv", "country,value\nCHE,1\n").lines())


def test_a_compressed_file_is_read_as_what_it_holds(world: World, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(said(n)) + "\n" for n in range(4)).encode()))
    assert world.load(LineFile(path, path.name, None, as_recorded=False)).tally.results == {"created": 4}


def test_a_store_that_is_busy_is_asked_again(world: World, tmp_path: Path) -> None:
    failures = [Busy("locked"), Busy("locked")]
    write = world.writer.write

    def flaky(scope: Scope, principal: str, items: Sequence[Item], **options: Any) -> Written:
        if failures:
            raise failures.pop()
        return write(scope, principal, items, **options)

    world.writer.write = flaky  # type: ignore[method-assign]
    assert world.load(lines_of(tmp_path / "a.jsonl", [said(0)])).tally.results == {"created": 1}
    failures = [Busy("locked") for _ in range(20)]
    with pytest.raises(VigenciaError):
        world.load(lines_of(tmp_path / "b.jsonl", [said(1)]))


@pytest.mark.parametrize(
    "wire",
    [
        said(0, confidence=0.5, observed_at="2026-01-01T00:00:00Z", root="r", tz="Asia/Tokyo", expected_version="none"),
        {"op": "retract", "subject": {"key": "a"}, "predicate": "note", "valid_from": "2026"},
        {"op": "retract", "fact": "fct_aaaaaaaa_1_0", "source": "x"},
        {"op": "replace", "fact": "fct_aaaaaaaa_1_0", "value": None, "reason": "misread"},
        {"op": "replace", "subject": "a", "predicate": "note", "old": "x", "at": "2026-01-01", "valid_to": "2027"},
        {"op": "withdraw", "episode": "epi_1", "reason": "a hoax"},
        {"op": "erase", "subject": "a", "predicate": "note", "value": {"type": "text", "value": "x"}},
    ],
)
def test_a_line_means_what_the_same_item_means_over_http(wire: dict[str, Any]) -> None:
    [posted] = bodies.ClaimsBody.model_validate({"items": [wire]}).items
    assert item(decode(json.dumps(wire).encode())) == posted.item()


def test_a_line_has_the_members_of_an_item_over_http() -> None:
    models: dict[str, type[BaseModel]] = {
        "assert": bodies.AssertItem,
        "retract": bodies.RetractItem,
        "replace": bodies.ReplaceItem,
        "withdraw": bodies.WithdrawItem,
        "erase": bodies.EraseItem,
    }
    assert {op: set(members) for op, members in MEMBERS.items()} == {
        op: set(model.model_fields) for op, model in models.items()
    }


def test_a_resumed_load_starts_its_batches_where_the_first_would_have(world: World, tmp_path: Path) -> None:
    file = lines_of(tmp_path / "a.jsonl", [said(n) for n in range(9)])
    world.load(file, Watch(batches=1))
    world.load(file, after=3)
    events = world.events()
    assert world.load(file).tally.replayed == 9
    assert world.events() == events
