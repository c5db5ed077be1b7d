"""Which migrations a database has had, and the rest of them applied; forward only.

Several processes may find a new database at once: whoever locks the node `Migrations` first migrates, the others
wait and find it done. Schema statements cannot share a transaction with that lock, so they run beside it.
"""

import logging
import re
import time
from collections.abc import Callable, Iterator
from typing import Final

from graph.neo4j_store.database import QUERIES, Database
from graph.statements import check_known, numbered_migrations
from ontology.errors import Busy, Fault

_LOCK: Final = "CREATE CONSTRAINT migrations_name IF NOT EXISTS FOR (n:Migrations) REQUIRE n.name IS UNIQUE"
_CONSTRAINT: Final = re.compile(r"CREATE CONSTRAINT (\w+)")
_PAUSE: Final = 0.1
_SECONDS: Final = 120.0
_CLASH_SECONDS: Final = 3.0
"""Two that create one constraint clash for less; after that whoever began it is taken to be gone."""
_LOCK_SECONDS: Final = 3600.0
"""How long one process may migrate: indexes of a large store take minutes."""


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
    with_patience(lambda: database.change(_LOCK, {}), lambda: _drop_orphans(database, _LOCK))
    with_patience(lambda: _migrate(database, known))
    log.info("the constraints and indexes are online after %.1f s", time.monotonic() - began)


def version(database: Database) -> int:
    """The newest migration that the database has had, 0 for a new one. Raises as `migrate` does."""
    return check_known(int(database.run("migration", {})[0][0]), migrations())


def migrations() -> dict[int, str]:
    """The text of each migration by its number, in order."""
    return numbered_migrations("graph.neo4j_store", "cypher")


def _migrate(database: Database, known: dict[int, str]) -> None:
    with database.begin(_LOCK_SECONDS) as work:
        have = int(work.run("take_migrations", {})[0][0])
        for number, text in known.items():
            if number > have:
                _drop_orphans(database, text)
                for statement in statements(text):
                    database.change(statement, {})
                database.change(QUERIES["await_indexes"], {})
                work.run("put_migration", {"version": number})
        work.commit()


def _drop_orphans(database: Database, text: str) -> None:
    """Drop what stands in the way of a constraint in `text`: the index that a killed process left without one.

    The server makes an index first and its constraint after; between the two it can lose whoever asked for it.
    """
    owned = {row[0] for row in database.run("constraint_names", {})}
    held = {row[0] for row in database.run("index_names", {})}
    for name in _CONSTRAINT.findall(text):
        if name in held and name not in owned:
            log.warning("dropping the index %r, which a process that was killed left without its constraint", name)
            database.change(QUERIES["drop_index"], {"name": name})


def with_patience(action: Callable[[], object], unblock: Callable[[], object] | None = None) -> None:
    """Do `action` as soon as no other process is at it; `unblock` what seems to be left of one that is gone.

    Two that create one constraint at once clash (a `Fault`).
    """
    began = time.monotonic()
    while True:
        try:
            action()
        except (Busy, Fault):
            waited = time.monotonic() - began
            if waited > _SECONDS:
                raise
            if unblock is not None and waited > _CLASH_SECONDS:
                unblock()
            time.sleep(_PAUSE)
        else:
            return


def statements(text: str) -> Iterator[str]:
    """The statements of a migration, which end with `;`; lines that begin with `//` are comments."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    yield from (part.strip() for part in lines.split(";") if part.strip())
