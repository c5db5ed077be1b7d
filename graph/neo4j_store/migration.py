"""Which migrations a database has had, and the rest of them applied; forward only.

Several processes may find a new database at once: whoever locks the node `Migrations` first migrates, the others
wait and find it done. Schema statements cannot share a transaction with that lock, so they run beside it.
"""

import logging
import time
from collections.abc import Iterator
from typing import Final

from graph.neo4j_store.database import QUERIES, Database
from graph.statements import check_known, numbered_migrations
from ontology.errors import Busy, Fault

_LOCK: Final = "CREATE CONSTRAINT migrations_name IF NOT EXISTS FOR (n:Migrations) REQUIRE n.name IS UNIQUE"
_PAUSE: Final = 0.1
_SECONDS: Final = 120.0


log = logging.getLogger("vigencia.graph.neo4j_store.migration")


def migrate(database: Database) -> None:
    """Bring the database up to the newest version.

    Raises `Unsupported` for a database of a newer Vigencia, `Busy` where another process migrates for too long.
    """
    known = migrations()
    if version(database) == max(known):
        return
    began = time.monotonic()
    log.info("the database %r is there; making its constraints and indexes, which may take minutes", database.name)
    _with_patience(lambda: database.change(_LOCK, {}))
    _with_patience(lambda: _migrate(database, known))
    log.info("the constraints and indexes are online after %.1f s", time.monotonic() - began)


def version(database: Database) -> int:
    """The newest migration that the database has had, 0 for a new one. Raises as `migrate` does."""
    return check_known(int(database.run("migration", {})[0][0]), migrations())


def migrations() -> dict[int, str]:
    """The text of each migration by its number, in order."""
    return numbered_migrations("graph.neo4j_store", "cypher")


def _migrate(database: Database, known: dict[int, str]) -> None:
    with database.begin() as work:
        have = int(work.run("take_migrations", {})[0][0])
        for number, text in known.items():
            if number > have:
                for statement in statements(text):
                    database.change(statement, {})
                database.change(QUERIES["await_indexes"], {})
                work.run("put_migration", {"version": number})
        work.commit()


def _with_patience(action: object) -> None:
    """Do `action` as soon as no other process is at it. Two that create one constraint at once clash (a `Fault`)."""
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            action()  # type: ignore[operator]
        except (Busy, Fault):
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)
        else:
            return


def statements(text: str) -> Iterator[str]:
    """The statements of a migration, which end with `;`; lines that begin with `//` are comments."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    yield from (part.strip() for part in lines.split(";") if part.strip())
