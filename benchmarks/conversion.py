"""What the converters share: lines for `vigencia load`, written to standard output."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Line = dict[str, Any]
"""One item in the shape of `POST /v1/claims`; with `recorded_at` where it is imported as recorded."""


def entity(key: str) -> dict[str, str]:
    """The value that points at the entity with a key."""
    return {"type": "entity", "key": key}


def assertion(
    subject: str, predicate: str, value: object, valid_from: str | None, valid_to: str | None, **said: str
) -> Line:
    """An assert; a bound that is `None` is left out."""
    bounds = {name: text for name, text in (("valid_from", valid_from), ("valid_to", valid_to)) if text is not None}
    return {"subject": subject, "predicate": predicate, "value": value, **bounds, **said}


def print_lines(convert: Callable[[Path], Iterable[Line]], program: str, description: str | None) -> None:
    """Run a converter on the folder that the command line names."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{program}", description=description)
    parser.add_argument("folder", type=Path, help="where the data lies")
    for line in convert(parser.parse_args().folder):
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
