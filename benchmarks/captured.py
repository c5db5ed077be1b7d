"""Which rows a commit writes: captured by triggers on a copy of the store, replayed through the bare engine.

This way the bare side writes exactly what the store wrote, whatever its tables are: the same inserts and the same
updates by primary key, in one transaction per commit.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from benchmarks import bare

_LOG: Final = "bench_log"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement with the rows it is run for."""

    text: str
    rows: list[bare.Row]


Commit = list[Statement]


class Recorder:
    """Triggers that log every row that is inserted, updated or deleted in a file."""

    def __init__(self, file: Path) -> None:
        """Put the triggers in; nobody else may have the file open yet."""
        self._connection = sqlite3.connect(file, isolation_level=None)
        self._columns = {table: bare.columns(self._connection, table) for table in bare.tables(self._connection)}
        self._keys = {table: bare.keys(self._connection, table) for table in self._columns}
        width = max(len(columns) for columns in self._columns.values())
        cells = ", ".join(f"c{number}" for number in range(width))
        self._connection.execute(
            f"CREATE TABLE {_LOG} (pk INTEGER PRIMARY KEY, owner TEXT, op TEXT, changed TEXT, {cells})"
        )
        for table, columns in self._columns.items():
            cells = ", ".join(f"c{number}" for number in range(len(columns)))
            changed = " || ".join(f"(OLD.{column} IS NOT NEW.{column})" for column in columns)
            for op, row, changes in (("INSERT", "NEW", "''"), ("UPDATE", "NEW", changed), ("DELETE", "OLD", "''")):
                values = ", ".join(f"{row}.{column}" for column in columns)
                self._connection.execute(
                    f"CREATE TRIGGER bench_{table}_{op} AFTER {op} ON {table} BEGIN INSERT INTO {_LOG} "
                    f"(owner, op, changed, {cells}) VALUES ('{table}', '{op}', {changes}, {values}); END"
                )
        self._read_to = 0

    def commit(self) -> Commit:
        """What was written since the last time this was asked."""
        rows = self._connection.execute(f"SELECT * FROM {_LOG} WHERE pk > ? ORDER BY pk", (self._read_to,)).fetchall()
        self._read_to = rows[-1][0] if rows else self._read_to
        return [
            Statement(self._statement(*kind), [self._row(*kind, row[4:]) for row in group])
            for kind, group in groupby(rows, key=lambda row: (row[1], row[2], row[3]))
            if kind[1] != "UPDATE" or "1" in kind[2]
        ]

    def close(self) -> None:
        self._connection.close()

    def _statement(self, table: str, op: str, changed: str) -> str:
        where = " AND ".join(f"{key} = ?" for key in self._keys[table])
        match op:
            case "INSERT":
                return bare.insert(self._connection, table)
            case "UPDATE":
                return (
                    f"UPDATE {table} SET {', '.join(f'{n} = ?' for n in self._changing(table, changed))} WHERE {where}"
                )
            case _:
                return f"DELETE FROM {table} WHERE {where}"

    def _row(self, table: str, op: str, changed: str, cells: Sequence[object]) -> bare.Row:
        named = dict(zip(self._columns[table], cells, strict=False))
        match op:
            case "INSERT":
                return tuple(named.values())
            case "UPDATE":
                return tuple(named[name] for name in (*self._changing(table, changed), *self._keys[table]))
            case _:
                return tuple(named[name] for name in self._keys[table])

    def _changing(self, table: str, changed: str) -> list[str]:
        """The columns that a mask of digits marks."""
        return [name for name, mark in zip(self._columns[table], changed, strict=True) if mark == "1"]


def replay(connection: sqlite3.Connection, commit: Commit) -> None:
    """Write what a commit wrote, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in commit:
        if len(statement.rows) == 1:
            connection.execute(statement.text, statement.rows[0])
        else:
            connection.executemany(statement.text, statement.rows)
    connection.execute("COMMIT")
