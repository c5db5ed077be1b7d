"""What the server says of itself: its version, its indexes, its clock."""

import re
from typing import Final

from graph.neo4j_store.database import Database
from graph.neo4j_store.migration import version
from ontology.errors import Fault

_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
LTS_SINCE: Final = (5, 26, 25)
CALENDAR_SINCE: Final = (2026, 3, 0)
"""The first releases whose relationship scans are right (a fix of the record format)."""


def engine(database: Database) -> str:
    """Its name and version, such as `Neo4j 2026.08.1 community`."""
    rows = database.run("server", {})
    if not rows:
        raise Fault("the server does not say what it is")
    number, edition = rows[0]
    return f"Neo4j {number} {edition}"


def diagnose(database: Database) -> dict[str, str]:
    """Findings by name; each says `ok` or what is wrong. Raises `Unavailable`."""
    name = engine(database)
    waiting = database.run("indexes", {})
    return {
        "engine": name,
        "version": "ok" if is_supported(name) else "too old: facts may be missed; use 5.26.25, 2026.03 or newer",
        "indexes": "ok" if not waiting else "not online: " + ", ".join(f"{row[0]} ({row[1]})" for row in waiting),
        "migration": str(version(database)),
        "lock_timeout": _lock_timeout(database),
        "clock": f"{database.run('server_clock', {})[0][0]} ms",
    }


def _lock_timeout(database: Database) -> str:
    """How long a writer waits for one of another process; without a limit, as long as a transaction may take."""
    try:
        rows = database.run("settings", {})
    except Fault:  # some services do not show their settings
        return "unknown"
    value = str(rows[0][0]) if rows else "unknown"
    return "none; set db.lock.acquisition.timeout to 5s" if value in ("0s", "0ns") else value


def is_supported(name: str) -> bool:
    match = _VERSION.search(name)
    if match is None:
        return False
    found = int(match[1]), int(match[2]), int(match[3] or 0)
    return found >= CALENDAR_SINCE or (LTS_SINCE <= found < (6, 0, 0))
