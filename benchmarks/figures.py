"""What is measured: figures with their aims, and how they are shown."""

import json
import platform
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number."""

    name: str
    value: float
    unit: str
    aim: str | None
    """`None` where there is only a number to know."""
    holds: bool | None
    """Whether the aim is met."""


def plain(name: str, value: float, unit: str) -> Figure:
    """A figure without an aim."""
    return Figure(name=name, value=value, unit=unit, aim=None, holds=None)


def at_most(name: str, value: float, limit: float, unit: str = "x") -> Figure:
    return Figure(name=name, value=value, unit=unit, aim=f"<= {limit:g}", holds=value <= limit)


def at_least(name: str, value: float, limit: float, unit: str = "x") -> Figure:
    return Figure(name=name, value=value, unit=unit, aim=f">= {limit:g}", holds=value >= limit)


def table(figures: Sequence[Figure]) -> str:
    """The figures as lines to read: a ratio says `x`, an aim says whether it holds."""
    width = max((len(figure.name) for figure in figures), default=0)
    lines = [f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {platform.machine()}"]
    for figure in figures:
        aim = "" if figure.aim is None else f"  aim {figure.aim:8}{'holds' if figure.holds else 'MISSED'}"
        lines.append(f"{figure.name:{width}}  {_number(figure.value):>10} {figure.unit:12}{aim}".rstrip())
    aimed = [figure for figure in figures if figure.holds is not None]
    missed = [figure.name for figure in aimed if not figure.holds]
    lines.append(
        f"{len(aimed) - len(missed)} of {len(aimed)} aims hold" + (f"; missed: {', '.join(missed)}" if missed else "")
    )
    return "\n".join(lines)


def write_json(file: Path, figures: Sequence[Figure]) -> None:
    file.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n", encoding="utf-8")


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}"
