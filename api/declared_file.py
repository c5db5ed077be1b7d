"""Files in which an administrator declares a list: YAML (JSON is YAML), checked whole; errors show no secret."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from ontology.errors import Incorrect, Violation, pointer

T = TypeVar("T")


def read_entries(text: str, entries: TypeAdapter[list[T]], *, file: str, of: str) -> list[T]:
    """The entries of a `file`, which is a list `of` what is said there. Raises `Incorrect` for what cannot be read."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        raise Incorrect(f"{file} is not YAML; it is a list of {of}") from None
    try:
        return entries.validate_python(document)
    except ValidationError as exc:
        violations = [
            Violation(pointer=pointer(*error["loc"]), code=error["type"], detail=error["msg"])
            for error in exc.errors(include_input=False, include_url=False)
        ]
        first = f"{violations[0].pointer}: {violations[0].detail}"
        raise Incorrect(f"{file} cannot be used, {first}", violations=violations) from None


def load(path: Path, read: Callable[[str], T], *, file: str) -> T:
    """What `read` makes of the text of the `file` at `path`. Raises `Incorrect` where it cannot be read."""
    try:
        return read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as exc:
        raise Incorrect(f"{file} {str(path)!r} cannot be read: {exc.__class__.__name__}") from exc
