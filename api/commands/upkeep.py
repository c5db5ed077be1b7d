"""`vigencia doctor`, `config show` and `ontology check`: is everything as it should be?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.commands import options
from api.commands.answering import CHECK_FAILED, answering

if TYPE_CHECKING:
    from ontology.errors import JSON
    from ontology.schema_merge import Pack

config = typer.Typer(name="config", help="What is set.", no_args_is_help=True)
ontology = typer.Typer(name="ontology", help="The words that memory knows.", no_args_is_help=True)


@config.callback()
def _config() -> None:
    pass


@ontology.callback()
def _ontology() -> None:
    pass


@config.command()
def show(
    origin: Annotated[bool, typer.Option("--origin", help="Also where each setting comes from.")] = False,
    store: options.Store = None,
    tenant: options.Tenant = None,
    as_json: options.AsJson = False,
) -> None:
    """Print the settings that count, secrets masked.

    vigencia config show --origin

    VIGENCIA_PORT=9000 vigencia config show --json
    """
    with answering(as_json=as_json) as out:
        from api.settings import config_file, effective

        settings = effective(store=store, tenant=tenant)
        if as_json:
            out.document(
                {
                    "config_file": str(config_file()),
                    "settings": [
                        {"name": s.name, "value": s.value, "origin": s.origin.value, "variable": s.variable}
                        for s in settings
                    ],
                }
            )
            return
        out.tell(f"config file: {config_file()}")
        columns = ("setting", "value", "origin", "variable") if origin else ("setting", "value")
        rows = [(s.name, "" if s.value is None else str(s.value), s.origin.value, s.variable) for s in settings]
        out.table(columns, [row[: len(columns)] for row in rows])


@ontology.command()
def check(
    pack: Annotated[str, typer.Argument(help="A pack in YAML, or the name of one that comes with Vigencia.")],
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Say whether a pack can be added to the schema of the tenant, and what it would change; nothing is written.

    vigencia ontology check travel.yaml

    vigencia ontology check demo --json

    Exit code 4 where a rule refuses the pack.
    """
    with answering(as_json=as_json) as out:
        from api.settings import read_settings
        from api.wiring import current_schema
        from ontology.schema_merge import merge

        read = read_any_pack(pack)
        schema = current_schema(read_settings(store=store, tenant=tenant))
        merged = merge(schema, read)
        added = sorted({p.name for p in read.predicates} - schema.predicates.keys())
        types = sorted({t.name for t in read.types} - schema.types.keys())
        changes: list[JSON] = [
            {"predicate": c.predicate, "field": c.field, "before": c.before, "after": c.after} for c in merged.changes
        ]
        if as_json:
            out.document(
                {
                    "pack": read.name,
                    "version": merged.schema.version,
                    "types": types,
                    "predicates": added,
                    "changes": changes,
                }
            )
            return
        rows = [("type", name, "new", "") for name in types] + [("predicate", name, "new", "") for name in added]
        rows += [("predicate", c.predicate, c.field, f"{c.before} → {c.after}") for c in merged.changes]
        out.table(("what", "name", "change", "from → to"), rows)
        fits = "changes nothing" if merged.schema == schema else f"fits; it would make version {merged.schema.version}"
        out.tell(f"the pack {read.name!r} {fits}")


def read_any_pack(name: str) -> "Pack":
    """The pack in a file, or the one of this name that comes with Vigencia; raises `NotFound` where there is none."""
    from ontology.errors import NotFound, shown
    from ontology.packs import builtin_pack, read_pack

    path = Path(name)
    if path.is_file():
        return read_pack(path.read_text(encoding="utf-8", errors="replace"))
    if name in ("core", "demo"):
        return builtin_pack(name)
    raise NotFound(f"there is no pack {shown(name)}", remedy="name a YAML file, or one of core, demo")


def doctor(
    store: options.Store = None,
    tenant: options.Tenant = None,
    as_json: options.AsJson = False,
) -> None:
    """Check the machine, the settings and the store; nothing is changed.

    vigencia doctor

    vigencia doctor --store bolt://localhost:7687 --json

    Exit code 9 where a check fails; what is only a warning works, and should be looked at.
    """
    with answering(as_json=as_json) as out:
        from api.diagnosis import diagnose
        from graph.ports import Grade

        findings = diagnose(store=store, tenant=tenant)
        failed = [f for f in findings if f.grade is Grade.FAILED]
        if as_json:
            out.document(
                {
                    "fine": not failed,
                    "checks": [
                        {
                            "check": f.check,
                            "fine": f.grade is not Grade.FAILED,
                            "grade": f.grade.value,
                            "finding": f.finding,
                        }
                        for f in findings
                    ],
                }
            )
        else:
            grades = {Grade.OK: "ok", Grade.WARNING: "warning", Grade.FAILED: "FAILED"}
            out.table(("check", "", "finding"), [(f.check, grades[f.grade], f.finding) for f in findings])
        if failed:
            raise typer.Exit(CHECK_FAILED)
