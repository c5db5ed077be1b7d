"""The bare engine: `sqlite3` on the same file or on a copy of its schema, with the settings of the store."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

Row = Sequence[Any]

OPEN_END: Final = 2**62

STATE_NOW: Final = """
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to,
  s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language, s.plain,
  u.recorded_from, u.sources, u.occurrences, u.doubt
FROM slots s
JOIN versions v ON v.slot_pk = s.pk
LEFT JOIN support u ON u.slot_pk = v.slot_pk AND u.value_key = v.value_key
  AND u.recorded_from = (SELECT max(n.recorded_from) FROM support n
    WHERE n.slot_pk = v.slot_pk AND n.value_key = v.value_key)
WHERE s.scope_pk = ?1 AND s.subject_position = ?2 AND s.subject_ordinal = ?3 AND s.predicate = ?4
  AND v.recorded_to = 4611686018427387904 AND v.valid_from <= ?5 AND v.valid_to > ?5
"""
"""What the reader's state fetches, as one would write it by hand."""

STATE_AS_OF: Final = """
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to,
  s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language, s.plain,
  u.recorded_from, u.sources, u.occurrences, u.doubt
FROM slots s
JOIN versions v ON v.slot_pk = s.pk
LEFT JOIN support u ON u.slot_pk = v.slot_pk AND u.value_key = v.value_key
  AND u.recorded_from = (SELECT max(n.recorded_from) FROM support n
    WHERE n.slot_pk = v.slot_pk AND n.value_key = v.value_key AND n.recorded_from <= ?6)
WHERE s.scope_pk = ?1 AND s.subject_position = ?2 AND s.subject_ordinal = ?3 AND s.predicate = ?4
  AND v.valid_from <= ?5 AND v.valid_to > ?5 AND v.recorded_from <= ?6 AND v.recorded_to > ?6
"""

EDGES_FROM: Final = """
SELECT v.pk, v.recorded_from, s.subject_position, s.subject_ordinal, v.value_text
FROM slots s JOIN versions v INDEXED BY versions_by_valid ON v.slot_pk = s.pk
WHERE s.scope_pk = ?1 AND s.subject_position = ?2 AND s.subject_ordinal = ?3
  AND v.valid_from <= ?4 AND v.valid_to > ?4 AND v.recorded_from <= ?5 AND v.recorded_to > ?5
ORDER BY v.valid_from DESC, v.pk DESC LIMIT ?6
"""
EDGES_TO: Final = """
SELECT v.pk, v.recorded_from, s.subject_position, s.subject_ordinal, v.value_text
FROM versions v INDEXED BY versions_by_value JOIN slots s ON s.pk = v.slot_pk
WHERE v.scope_pk = ?1 AND v.value_key = ?2
  AND v.valid_from <= ?3 AND v.valid_to > ?3 AND v.recorded_from <= ?4 AND v.recorded_to > ?4
ORDER BY v.valid_from DESC, v.pk DESC LIMIT ?5
"""
FACTS: Final = """
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to,
  s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language, s.plain,
  u.recorded_from, u.sources, u.occurrences, u.doubt
FROM json_each(?1) j
CROSS JOIN versions v ON v.pk = j.value
JOIN slots s ON s.pk = v.slot_pk
LEFT JOIN support u ON u.slot_pk = v.slot_pk AND u.value_key = v.value_key
  AND u.recorded_from = (SELECT max(n.recorded_from) FROM support n
    WHERE n.slot_pk = v.slot_pk AND n.value_key = v.value_key AND n.recorded_from <= ?2)
"""
"""What a walk fetches: edges with where they lead, then the facts."""


def connect(file: Path, *, foreign_keys: bool = True) -> sqlite3.Connection:
    """A connection with the durability and the caches of the store."""
    connection = sqlite3.connect(file, isolation_level=None, cached_statements=256)
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        f"foreign_keys = {'ON' if foreign_keys else 'OFF'}",
        "secure_delete = ON",
        "temp_store = MEMORY",
        "cache_size = -16384",
        "mmap_size = 2147418112",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def tables(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return [name for (name,) in rows]


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def keys(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns of the primary key."""
    rows = [row for row in connection.execute(f"PRAGMA table_info({table})") if row[5]]
    return [row[1] for row in sorted(rows, key=lambda row: row[5])]


def copy_schema(source: Path, target: Path) -> sqlite3.Connection:
    """A new file with the tables and indexes of `source` and none of its rows, which may come in any order."""
    connection = connect(target, foreign_keys=False)
    with sqlite3.connect(source) as original:
        statements = original.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        ).fetchall()
    original.close()
    for (statement,) in statements:
        connection.execute(statement)
    return connection


def insert(connection: sqlite3.Connection, table: str) -> str:
    """The statement that inserts a whole row."""
    return f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns(connection, table)))})"


def slices(source: sqlite3.Connection, parts: int) -> Iterator[list[tuple[str, list[Row]]]]:
    """Every row of every table in `parts` portions, each as (table, rows); rows come in the order of their keys."""
    cursors = []
    for table in tables(source):
        count = source.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        order = ", ".join(keys(source, table))
        cursors.append((table, -(-count // parts), source.execute(f"SELECT * FROM {table} ORDER BY {order}")))
    for _ in range(parts):
        yield [(table, rows) for table, size, cursor in cursors if size and (rows := cursor.fetchmany(size))]
