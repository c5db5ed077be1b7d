"""The texts that a store keeps beside its code: its queries by name, its migrations by number."""

import re
from collections.abc import Mapping
from importlib import resources
from typing import Any, LiteralString

from ontology.errors import Unsupported


def named_queries(package: str, file: str, comment: str) -> Mapping[str, LiteralString]:
    """Each query by the name that stands in a comment above it, in the order of the file."""
    text = (resources.files(package) / file).read_text(encoding="utf-8")
    parts: list[Any] = [block.partition("\n") for block in text.split(f"{comment} name: ")[1:]]
    return {name.strip(): body.strip() for name, _, body in parts}


def numbered_migrations(package: str, ending: str) -> dict[int, str]:
    """Each migration by its number, in order."""
    pattern = re.compile(rf"(\d{{4}})_[a-z0-9_]+\.{ending}")
    folder = resources.files(package) / "migrations"
    found = {match[1]: path for path in folder.iterdir() if (match := pattern.fullmatch(path.name))}
    return {int(number): found[number].read_text(encoding="utf-8") for number in sorted(found)}


def check_known(version: int, migrations: Mapping[int, str]) -> int:
    """The version of a database. Raises `Unsupported` for one of a newer Vigencia."""
    if version > max(migrations):
        raise Unsupported(
            f"the database is of version {version}, this program knows {max(migrations)}",
            remedy="use the Vigencia that wrote it, or a newer one",
        )
    return version
