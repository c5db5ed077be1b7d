"""What the server says of itself: its version, its indexes, its clock, its limits."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from graph.neo4j_store.database import Database
from graph.neo4j_store.migration import version
from graph.ports import Finding, Grade
from ontology.errors import Fault, Unavailable, Unsupported
from ontology.instants import SECOND, Instant

_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
LTS_SINCE: Final = (5, 26, 25)
CALENDAR_SINCE: Final = (2026, 3, 0)
"""The first releases whose relationship scans are right (a fix of the record format)."""

SKEW_MAX: Final = 2 * SECOND
HANG_SECONDS_MAX: Final = 20.0
FREE_BYTES_MIN: Final = 100 * 1024**2

_LOCK: Final = "db.lock.acquisition.timeout"
_KEEP_ALIVE: Final = "server.bolt.connection_keep_alive"
_PROBES: Final = "server.bolt.connection_keep_alive_probes"
_DATA: Final = "server.directories.data"
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ns|ms|s|m|h|d)")
_UNITS: Final = {"ns": 1e-9, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def engine(database: Database) -> str:
    """Its name and version, such as `Neo4j 2026.08.1 community`."""
    rows = database.run("server", {})
    if not rows:
        raise Fault("the server does not say what it is")
    number, edition = rows[0]
    return f"Neo4j {number} {edition}"


def is_supported(name: str) -> bool:
    match = _VERSION.search(name)
    if match is None:
        return False
    found = int(match[1]), int(match[2]), int(match[3] or 0)
    return found >= CALENDAR_SINCE or (LTS_SINCE <= found < (6, 0, 0))


def check_supported(name: str) -> None:
    """Raises `Unsupported` for a server that may miss facts."""
    if not is_supported(name):
        raise Unsupported(f"{name} is too old: its scans may miss facts", remedy="use 5.26.25, 2026.03 or newer")


def diagnose(database: Database, now: Instant) -> list[Finding]:
    """Findings in a fixed order. Raises `Unavailable`."""
    clock = _clock(Instant(int(database.run("server_clock", {})[0][0]) * 1000), now)
    settings = _settings(database)
    waiting = database.run("indexes", {})
    return [
        Finding(check="engine", finding=engine(database)),
        _user(database),
        Finding(
            check="indexes",
            finding="not online: " + ", ".join(f"{name} ({state})" for name, state in waiting) if waiting else "online",
            grade=Grade.FAILED if waiting else Grade.OK,
        ),
        Finding(check="migration", finding=str(version(database))),
        clock,
        _lock_timeout(settings),
        _keep_alive(settings),
        _disk(settings, database.name),
    ]


def _settings(database: Database) -> Mapping[str, str]:
    try:
        return {name: str(value) for name, value in database.run("settings", {})}
    except (Fault, Unavailable):  # some services do not show their settings, and some users may not see them
        return {}


def _user(database: Database) -> Finding:
    rows = database.run("current_user", {})
    finding = f"the server knows us as {rows[0][0]!r}" if rows else "the server lets everybody in"
    return Finding(check="credentials", finding=finding, private=True)


def _clock(server: Instant, now: Instant) -> Finding:
    """Recorded times are of the machines that write, so a server may be off; machines that write should not be."""
    apart = (server - now) / SECOND
    finding = f"{abs(apart):.1f} s {'before' if apart < 0 else 'after'} the clock of this machine"
    if abs(server - now) <= SKEW_MAX:
        return Finding(check="server_clock", finding=finding)
    return Finding(check="server_clock", finding=f"{finding}; set both by a time server", grade=Grade.WARNING)


def _lock_timeout(settings: Mapping[str, str]) -> Finding:
    """How long a writer waits for one of another process; without a limit, as long as a transaction may take."""
    value = settings.get(_LOCK)
    if value is None:
        return Finding(check="lock_timeout", finding="the server does not say")
    if _seconds(value) == 0:
        return Finding(check="lock_timeout", finding=f"none; set {_LOCK} to 5s", grade=Grade.WARNING)
    return Finding(check="lock_timeout", finding=value)


def _keep_alive(settings: Mapping[str, str]) -> Finding:
    """After how long a server that hangs is noticed: it announces that to the driver from these settings."""
    value, probes = settings.get(_KEEP_ALIVE), settings.get(_PROBES)
    if value is None or probes is None:
        return Finding(check="keep_alive", finding="the server does not say")
    seconds = _seconds(value) * int(probes)
    if 0 < seconds <= HANG_SECONDS_MAX:
        return Finding(check="keep_alive", finding=f"a server that hangs is noticed after {seconds:g} s")
    after = f"only after {seconds:g} s" if seconds else "never"
    finding = f"a server that hangs is noticed {after}; set {_KEEP_ALIVE} to 5s"
    return Finding(check="keep_alive", finding=finding, grade=Grade.WARNING)


def _disk(settings: Mapping[str, str], database: str) -> Finding:
    """Of the server's data, where that is on this machine; it does not tell of its own."""
    folder = Path(settings.get(_DATA) or "") / "databases" / database
    if _DATA not in settings or not folder.is_dir():
        return Finding(check="disk", finding="the server does not say how much it has left; look there", private=True)
    free = shutil.disk_usage(folder).free
    grade = Grade.OK if free >= FREE_BYTES_MIN else Grade.FAILED
    return Finding(check="disk", finding=f"{free // 1024**2:,} MiB free at {folder}", grade=grade, private=True)


def _seconds(duration: str) -> float:
    """Of a duration as the server writes it, such as `1m30s`."""
    return sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(duration))
