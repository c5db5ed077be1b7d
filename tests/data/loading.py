"""Converted data into a store, through the loader that `vigencia load` uses."""

import json
from collections.abc import Iterable
from pathlib import Path

from api.load import Loader, Plan, Refusal, Tally, check_file
from api.load_lines import LineFile
from api.wiring import Services
from benchmarks.conversion import Line
from ontology.scope import scope_of

ITEMS_MAX = 10_000


class Watch:
    """Keeps what is refused."""

    def __init__(self) -> None:
        self.refusals: list[Refusal] = []

    def checked(self, lines: int) -> None:
        pass

    def refused(self, refusal: Refusal) -> None:
        self.refusals.append(refusal)

    def wrote(self, lines: int, tally: Tally) -> None:
        pass

    def stopping(self) -> bool:
        return False


def load(services: Services, tenant: str, lines: Iterable[Line], file: Path, *, as_recorded: bool) -> list[Refusal]:
    """Write `lines` to `file` and load it into a tenant; gives what is refused."""
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    scope, watch = scope_of(tenant), Watch()
    plan = Plan(
        scope=scope, principal="importer", batch_lines=1_000, items_max=ITEMS_MAX,
        as_recorded=as_recorded, dry_run=False,
    )  # fmt: skip
    source = LineFile(file, file.name, None, as_recorded=as_recorded)
    checked = check_file(source, services.writer.schema(scope), watch)
    loader = Loader(services.writer, services.store, plan, watch)
    assert loader.load(source, checked) is None
    assert loader.tally.refused == len(watch.refusals)
    return watch.refusals
