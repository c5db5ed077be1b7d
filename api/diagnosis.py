"""What `vigencia doctor` looks at: the machine, the settings and the store. Nothing is changed."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from api.auth.key_file import load_keys
from api.auth.loopback import is_loopback
from api.auth.opening import check_exposure, open_tokens
from api.settings import MEMORY, Settings, config_file, effective, read_settings, unknown_variables
from api.wiring import SystemClock, services
from ontology.errors import VigenciaError
from ontology.instants import SECOND, format_instant
from ontology.scope import scope_of

PYTHON_MIN: Final = (3, 11)
FREE_BYTES_MIN: Final = 100 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found."""

    check: str
    fine: bool
    finding: str


def diagnose(*, store: str | None = None, tenant: str | None = None) -> list[Finding]:
    """Every finding, in a fixed order; what follows from an earlier failure is left out."""
    found = [_python()]
    try:
        settings = read_settings(store=store, tenant=tenant)
    except VigenciaError as exc:
        return [*found, Finding(check="settings", fine=False, finding=str(exc))]
    found += _settings(settings, store=store, tenant=tenant)
    if settings.sqlite_path != MEMORY:
        found += _place(Path(settings.sqlite_path))
        found += _store(settings)
    return found


def _python() -> Finding:
    return Finding(check="python", fine=sys.version_info >= PYTHON_MIN, finding=platform.python_version())


def _settings(settings: Settings, *, store: str | None, tenant: str | None) -> Iterator[Finding]:
    unknown = unknown_variables()
    yield Finding(check="environment", fine=not unknown, finding="; ".join(unknown) or "no unknown VIGENCIA_ variable")
    file = config_file()
    yield Finding(check="config file", fine=True, finding=f"{file}{'' if file.is_file() else ' (none)'}")
    for setting in effective(store=store, tenant=tenant):
        value = "" if setting.value is None else setting.value
        yield Finding(check=f"setting {setting.name}", fine=True, finding=f"{value} ({setting.origin.value})")
    if settings.keys_file is not None:
        try:
            load_keys(settings.keys_file)
            yield Finding(check="keys", fine=True, finding=f"{settings.keys_file} can be read")
        except VigenciaError as exc:
            yield Finding(check="keys", fine=False, finding=str(exc))
    elif not is_loopback(settings.host):
        try:
            check_exposure(settings)
            yield Finding(check="keys", fine=True, finding="callers need a key of the store, or a token")
        except VigenciaError as exc:
            yield Finding(check="keys", fine=False, finding=f"{exc.message}; `serve` will refuse to start")
    try:
        tokens = open_tokens(settings)
        if tokens is not None:
            yield Finding(check="tokens", fine=True, finding=f"those of {settings.jwt_issuer} are taken")
    except VigenciaError as exc:
        yield Finding(check="tokens", fine=False, finding=str(exc))


def _place(path: Path) -> Iterator[Finding]:
    folder = path.resolve().parent
    if not folder.is_dir():
        yield Finding(check="folder", fine=False, finding=f"there is no folder {folder}; make it")
        return
    target = path if path.exists() else folder
    writable = os.access(target, os.W_OK)
    yield Finding(
        check="writable", fine=writable, finding=f"{target} can{'' if writable else 'not'} be written to by this user"
    )
    free = shutil.disk_usage(folder).free
    yield Finding(check="disk", fine=free >= FREE_BYTES_MIN, finding=f"{free // 1024**2:,} MiB free")


def _store(settings: Settings) -> Iterator[Finding]:
    try:
        with services(settings, must_exist=True) as opened:
            for name, finding in opened.store.check().items():
                # without a write-ahead log a reader would hold up the writer
                fine = name != "journal_mode" or finding == "wal"
                yield Finding(check=name, fine=fine, finding=finding)
            now = SystemClock().now()
            with opened.store.read(scope_of(settings.tenant)) as reader:
                head = reader.head
            if head.position == 0:
                yield Finding(check="clock", fine=True, finding=f"{format_instant(now)}; nothing is recorded yet")
                return
            ahead = (head.recorded_at - now) / SECOND
            last = f"the newest commit is {head.position}, of {format_instant(head.recorded_at)}"
            if ahead > 0:
                finding = f"{last}, {ahead:.1f} s after this clock; recorded times count on from there"
                yield Finding(check="clock", fine=ahead < 60, finding=finding)
            else:
                yield Finding(check="clock", fine=True, finding=f"{format_instant(now)}; {last}")
    except VigenciaError as exc:
        yield Finding(check="store", fine=exc.slug == "not-found", finding=str(exc))
