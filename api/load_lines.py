"""What stands on each line of a file, JSON lines or CSV, as an item or as what is wrong with it.

Memory stays constant: a file is read as a stream, as often as needed. CSV becomes items through a mapping:

    csv: {delimiter: ";", absent: ["", "NA"]}
    item:
      subject: "{country}"
      predicate: gdp
      value: "{value}"
      type: decimal
      valid_from: "{quarter}"

A text in braces is a cell of that column, the rest stands for itself; a member of which a cell is absent is left
out. `type`, `unit` and `lang` go with `value`. Without a mapping the columns must be named like the members.
"""

import contextlib
import csv
import gzip
import hashlib
import io
import json
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, cast

import yaml

from api.load_items import MEMBERS, RECORDING, Wire, decode, item
from consolidation.items import Item
from ontology.canonical import incorrect
from ontology.errors import Incorrect, pointer, shown
from ontology.instants import Instant, parse_instant

LINE_BYTES_MAX: Final = 8 * 1024 * 1024
"""A line that is longer is refused unread; no item needs as much."""

_BESIDE_VALUE: Final = ("type", "unit", "lang")
_COLUMNS: Final = frozenset().union(*MEMBERS.values(), RECORDING, _BESIDE_VALUE)


class Stamp(NamedTuple):
    """What neighbouring lines have in common that were recorded in one transaction."""

    recorded_at: Instant | None
    tx: str | None


NO_STAMP: Final = Stamp(None, None)


class Line(NamedTuple):
    """One line of a file."""

    number: int
    """From 1; for CSV, the line on which the row ends."""
    item: Item | Incorrect
    stamp: Stamp
    text: bytes
    """As it stands in the file, for a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvMapping:
    """How the cells of a row make an item."""

    delimiter: str | None
    """`None` for what the name of the file says."""
    columns: tuple[str, ...] | None
    """Where the file has no header."""
    absent: frozenset[str]
    members: tuple[tuple[str, str], ...]
    """Each member with its template; none where the columns are named like the members."""


IDENTITY: Final = CsvMapping(delimiter=None, columns=None, absent=frozenset({""}), members=())


def read_mapping(text: str) -> CsvMapping:
    """The mapping that YAML `text` describes; raises `Incorrect` for what is none."""
    try:
        document = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - makes strings, lists and dicts only
    except yaml.YAMLError as exc:
        raise incorrect("", "unreadable_yaml", f"the mapping is no YAML: {exc}") from None
    if not isinstance(document, dict) or not document.keys() <= {"csv", "item"} or not document.get("item"):
        raise incorrect("", "unknown_field", "a mapping has 'item' and, where needed, 'csv'; see the README")
    options, members = document.get("csv") or {}, document["item"]
    if not isinstance(options, dict) or not options.keys() <= {"delimiter", "columns", "absent"}:
        raise incorrect("/csv", "unknown_field", "'csv' may have 'delimiter', 'columns' and 'absent'")
    if not isinstance(members, dict):
        raise incorrect("/item", "wrong_type", "'item' is a mapping from members of an item to templates")
    for name, template in members.items():
        if name not in _COLUMNS:
            raise incorrect(pointer("item", name), "unknown_field", f"an item has no member {shown(name)}")
        if not isinstance(template, str):
            raise incorrect(pointer("item", name), "wrong_type", f"the template of {shown(name)} must be a text")
    delimiter = "\t" if options.get("delimiter") in ("tab", "\\t") else options.get("delimiter")
    if delimiter is not None and len(delimiter) != 1:
        raise incorrect(
            "/csv/delimiter", "wrong_type", f"a delimiter is one character or 'tab', got {shown(delimiter)}"
        )
    return CsvMapping(
        delimiter=delimiter,
        columns=tuple(options["columns"]) if "columns" in options else None,
        absent=frozenset(options.get("absent", [""])),
        members=tuple(members.items()),
    )


class LineFile:
    """A file of items that can be read more than once."""

    def __init__(self, path: Path, name: str, mapping: CsvMapping | None, *, as_recorded: bool) -> None:
        """`path` is what is read, `name` what it is called; `mapping` is given for CSV, `None` for JSON lines."""
        self.path = path
        self.name = name
        self.mapping = mapping
        self.as_recorded = as_recorded

    def size(self) -> int:
        """Bytes on the disk; for a compressed file fewer than are read."""
        return self.path.stat().st_size

    def digest(self) -> str:
        """What identifies the content together with how it is read."""
        how = repr((self.mapping and tuple(sorted(self.mapping.absent)), self.mapping and self.mapping.members))
        digest = hashlib.sha256(f"{self.as_recorded}:{how}:".encode())
        with self._open() as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
        return digest.hexdigest()[:32]

    def lines(self) -> Iterator[Line]:
        """Every line that is not blank, in order."""
        with self._open() as stream:
            if self.mapping is None:
                yield from _json_lines(stream, self.as_recorded)
            else:
                yield from _csv_lines(stream, self.mapping, self._delimiter(self.mapping), self.as_recorded)

    def _open(self) -> BinaryIO:
        return cast(BinaryIO, gzip.open(self.path)) if self.path.suffix == ".gz" else self.path.open("rb")

    def _delimiter(self, mapping: CsvMapping) -> str:
        return mapping.delimiter or ("\t" if ".tsv" in Path(self.name).suffixes else ",")


def _json_lines(stream: BinaryIO, as_recorded: bool) -> Iterator[Line]:
    number = 0
    while line := stream.readline(LINE_BYTES_MAX):
        number += 1
        if len(line) == LINE_BYTES_MAX and not line.endswith(b"\n"):
            while len(rest := stream.readline(LINE_BYTES_MAX)) == LINE_BYTES_MAX and not rest.endswith(b"\n"):
                pass
            detail = f"the line has more than {LINE_BYTES_MAX} bytes; keep its text elsewhere and store where it is"
            yield Line(number, incorrect("", "too_large", detail), NO_STAMP, line[:200])
            continue
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.isspace():
            continue
        try:
            made, stamp = _made(decode(line), as_recorded)
            yield Line(number, made, stamp, line)
        except Incorrect as exc:
            yield Line(number, exc, NO_STAMP, line)


def _made(wire: Wire, as_recorded: bool) -> tuple[Item, Stamp]:
    if not as_recorded:
        return item(wire), NO_STAMP
    recorded_at, tx = wire.pop("recorded_at", None), wire.pop("tx", None)
    if not isinstance(recorded_at, str):
        detail = "loading as recorded needs 'recorded_at' on every line, a text such as '2026-06-30T10:00:00Z'"
        raise incorrect("/recorded_at", "missing_field", detail)
    try:
        instant = parse_instant(recorded_at)
    except Incorrect as exc:
        raise exc.under("/recorded_at") from None
    return item(wire), Stamp(instant, None if tx is None else str(tx))


def _csv_lines(stream: BinaryIO, mapping: CsvMapping, delimiter: str, as_recorded: bool) -> Iterator[Line]:
    csv.field_size_limit(LINE_BYTES_MAX)
    # what is no UTF-8 becomes a lone surrogate, which is refused where it stands
    with io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
        rows = csv.reader(text, delimiter=delimiter, strict=True)
        make = _Row(mapping.columns or tuple(next(rows, ())), mapping)
        while True:
            row: Sequence[str] = ()
            try:
                row = next(rows)
                if row:
                    made, stamp = _made(make(row), as_recorded)
                    yield Line(rows.line_num, made, stamp, _row_text(row))
            except StopIteration:
                return
            except csv.Error as exc:
                wrong = incorrect("", "unreadable_csv", f"the row is no CSV: {exc}; correct it")
                yield Line(rows.line_num, wrong, NO_STAMP, b"")
            except Incorrect as exc:
                yield Line(rows.line_num, exc, NO_STAMP, _row_text(row))


class _Row:
    """Makes the JSON of an item from the cells of a row."""

    def __init__(self, columns: Sequence[str], mapping: CsvMapping) -> None:
        self._width = len(columns)
        self._absent = mapping.absent
        places = {name: index for index, name in enumerate(columns)}
        members = mapping.members or tuple((name, f"{{{name}}}") for name in columns)
        unknown = sorted({name for name, _ in members} - _COLUMNS)
        if unknown:
            detail = f"the column {shown(unknown[0])} is no member of an item; say with --map what the columns mean"
            raise incorrect("", "unknown_field", detail)
        self._parts = {name: _template(template, places) for name, template in members}

    def __call__(self, row: Sequence[str]) -> Wire:
        if len(row) != self._width:
            detail = f"the row has {len(row)} cells, {self._width} columns are named; correct it"
            raise incorrect("", "wrong_columns", detail)
        wire: Wire = {}
        for name, parts in self._parts.items():
            text = ""
            for part in parts:
                cell = part if isinstance(part, str) else row[part]
                if cell is not part and cell in self._absent:
                    break
                text += cell
            else:
                wire[name] = text
        return _typed(wire)


def _template(template: str, places: Mapping[str, int]) -> tuple[str | int, ...]:
    """Literal texts and indexes of columns, in turn."""
    parts: list[str | int] = []
    try:
        for literal, field, spec, conversion in string.Formatter().parse(template):
            parts += [literal] if literal else []
            if field is None:
                continue
            if spec or conversion or field not in places:
                detail = f"the template {shown(template)} names no column of {', '.join(map(repr, places))}"
                raise incorrect("/item", "unknown_column", detail)
            parts.append(places[field])
    except ValueError as exc:
        raise incorrect("/item", "bad_template", f"the template {shown(template)} cannot be read: {exc}") from None
    return tuple(parts)


def _typed(wire: Wire) -> Wire:
    """`type`, `unit` and `lang` go into the value; numbers become numbers, and `item` refuses what is none."""
    beside = {name: wire.pop(name) for name in _BESIDE_VALUE if name in wire}
    if beside and "value" in wire:
        beside.setdefault("type", "quantity" if "unit" in beside else "langtext")
        name = "value"
        if beside["type"] == "entity":
            name = "id" if wire["value"].startswith("ent_") else "key"
        wire["value"] = {**beside, name: wire["value"]}
    for name, read in (("confidence", float), ("expected_version", int)):
        if name in wire:
            with contextlib.suppress(ValueError):
                wire[name] = read(wire[name])
    return wire


def _row_text(row: Sequence[str]) -> bytes:
    return json.dumps(row, ensure_ascii=True).encode()
