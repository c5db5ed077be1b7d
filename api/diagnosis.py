"""What `vigencia doctor` looks at: the machine, the settings and the store. Nothing is changed."""

import platform
import sys
from collections.abc import Iterator
from typing import Final

from api.auth.key_file import load_keys
from api.auth.loopback import is_loopback
from api.auth.opening import check_exposure, open_tokens
from api.settings import Settings, config_file, effective, read_settings, unknown_variables
from api.wiring import key_file_of, place_of, services
from consolidation.worker import findings
from graph.ports import Finding, Grade
from ontology.errors import VigenciaError
from ontology.instants import SECOND, Instant, format_instant
from ontology.scope import Tenant, scope_of

PYTHON_MIN: Final = (3, 11)
AHEAD_SECONDS_MAX: Final = 60


def diagnose(*, store: str | None = None, tenant: str | None = None) -> list[Finding]:
    """Every finding, in a fixed order; what follows from an earlier failure is left out."""
    found = [_python()]
    try:
        settings = read_settings(store=store, tenant=tenant)
    except VigenciaError as exc:
        return [*found, Finding(check="settings", finding=str(exc), grade=Grade.FAILED)]
    found += _settings(settings, store=store, tenant=tenant)
    place = place_of(settings)
    if place.lasting:
        found += place.surroundings()
        found += _store(settings)
    return found


def _python() -> Finding:
    grade = Grade.OK if sys.version_info >= PYTHON_MIN else Grade.FAILED
    return Finding(check="python", finding=platform.python_version(), grade=grade)


def _settings(settings: Settings, *, store: str | None, tenant: str | None) -> Iterator[Finding]:
    if unknown := unknown_variables():
        yield Finding(check="environment", finding="; ".join(unknown), grade=Grade.FAILED)
    else:
        yield Finding(check="environment", finding="no unknown VIGENCIA_ variable")
    file = config_file()
    yield Finding(check="config file", finding=f"{file}{'' if file.is_file() else ' (none)'}")
    for setting in effective(store=store, tenant=tenant):
        value = "" if setting.value is None else setting.value
        yield Finding(check=f"setting {setting.name}", finding=f"{value} ({setting.origin.value})")
    if settings.keys_file is not None:
        try:
            load_keys(settings.keys_file)
            yield Finding(check="keys", finding=f"{settings.keys_file} can be read")
        except VigenciaError as exc:
            yield Finding(check="keys", finding=str(exc), grade=Grade.FAILED)
    elif not is_loopback(settings.host):
        try:
            check_exposure(settings)
            yield Finding(check="keys", finding="callers need a key of the store, or a token")
        except VigenciaError as exc:
            finding = f"{exc.message}; `serve` will refuse to start"
            yield Finding(check="keys", finding=finding, grade=Grade.FAILED)
    try:
        key_file = key_file_of(settings)
        if key_file is not None:
            finding = "no backup was made yet"
            if key_file.exists():
                key_file.read()
                finding = f"{key_file.path} opens with {settings.master_key_file}"
            yield Finding(check="backup keys", finding=finding)
    except VigenciaError as exc:
        yield Finding(check="backup keys", finding=str(exc), grade=Grade.FAILED)
    try:
        tokens = open_tokens(settings)
        if tokens is not None:
            yield Finding(check="tokens", finding=f"those of {settings.jwt_issuer} are taken")
    except VigenciaError as exc:
        yield Finding(check="tokens", finding=str(exc), grade=Grade.FAILED)


def _store(settings: Settings) -> Iterator[Finding]:
    try:
        with services(settings, must_exist=True) as opened:
            now = opened.clock.now()
            yield from opened.store.check(now)
            yield from findings(opened.store.queue.backlog(now), now, None)
            with opened.store.read(scope_of(settings.tenant)) as reader:
                position, recorded_at = reader.head.position, reader.head.recorded_at
            yield from opened.indexer.diagnosis(Tenant(settings.tenant))
            yield _clock(position, recorded_at, opened.clock.now())
    except VigenciaError as exc:
        grade = Grade.OK if exc.slug == "not-found" else Grade.FAILED
        yield Finding(check="store", finding=str(exc), grade=grade)


def _clock(position: int, recorded_at: Instant, now: Instant) -> Finding:
    if position == 0:
        return Finding(check="clock", finding=f"{format_instant(now)}; nothing is recorded yet")
    last = f"the newest commit is {position}, of {format_instant(recorded_at)}"
    ahead = (recorded_at - now) / SECOND
    if ahead <= 0:
        return Finding(check="clock", finding=f"{format_instant(now)}; {last}")
    finding = f"{last}, {ahead:.1f} s after this clock; recorded times count on from there"
    return Finding(check="clock", finding=finding, grade=Grade.OK if ahead < AHEAD_SECONDS_MAX else Grade.FAILED)
