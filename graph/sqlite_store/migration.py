"""Which migrations a database has had, and the rest of them applied; forward only.

Several processes may open a new file at once: whoever gets the write lock first migrates, the others find it done.
"""

import sqlite3
from collections.abc import Iterator
from typing import Final

from graph.sqlite_store.connection import Connection
from graph.statements import check_known, numbered_migrations
from ontology.errors import Unsupported

APPLICATION_ID: Final = int.from_bytes(b"Vgnc", "big")
"""Marks a file as ours (`PRAGMA application_id`)."""


def migrate(connection: Connection) -> None:
    """Bring the database up to the newest version; `connection` holds no transaction and may wait for a lock.

    Raises `Unsupported` for a file of another program or of a newer Vigencia.
    """
    known = migrations()
    if version(connection) == max(known):
        return
    connection.run("BEGIN IMMEDIATE")
    try:
        have = version(connection)
        if have == 0:
            connection.run("CREATE TABLE migrations (version INTEGER PRIMARY KEY) STRICT")
        for number, text in known.items():
            if number > have:
                for statement in _statements(text):
                    connection.run(statement)
                connection.many("put_migration", [(number,)])
        connection.run("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def version(connection: Connection) -> int:
    """The newest migration that the database has had, 0 for a new one. Raises as `migrate` does."""
    tables = {name for (name,) in connection.run("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    application = connection.run("PRAGMA application_id")[0][0]
    if not tables and application in (0, APPLICATION_ID):
        return 0
    if application != APPLICATION_ID or "migrations" not in tables:
        raise Unsupported("the file is the database of another program", remedy="give the path of another file")
    newest = int(connection.run("SELECT max(version) FROM migrations")[0][0])
    return check_known(newest, migrations())


def migrations() -> dict[int, str]:
    """The text of each migration by its number, in order."""
    return numbered_migrations("graph.sqlite_store", "sql")


def _statements(text: str) -> Iterator[str]:
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
