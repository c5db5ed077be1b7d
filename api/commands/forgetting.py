"""`vigencia forget`: erase what is known of something, in two steps; and the tombstones that stay."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.commands import options
from api.commands.answering import REFUSED, Out, answering

if TYPE_CHECKING:
    from ontology.tombstones import Tombstone

tombstones = typer.Typer(name="tombstones", help="What stays of what was forgotten.", no_args_is_help=True)

COLUMNS = ("tombstone", "target", "subject", "predicate", "block", "recorded_at", "actor", "lifted_at")


def forget(
    subject: Annotated[str | None, typer.Argument(help="A key, or an id such as ent_….")] = None,
    predicate: Annotated[str | None, typer.Argument(help="Only what is said of it under this predicate.")] = None,
    episode: Annotated[str | None, typer.Option("--episode", help="Forget an episode, by its id.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="Forget all that a source said.")] = None,
    manifest: Annotated[
        str | None, typer.Option("--manifest", metavar="HASH", help="Do what the preview with this hash told.")
    ] = None,
    block: Annotated[
        bool, typer.Option("--block/--no-block", help="Whether the key of a subject is refused when it comes back.")
    ] = True,
    dry_run: options.DryRun = False,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Forget a subject, one predicate of it, an episode or a source: nothing stays but a tombstone.

    vigencia forget mira --dry-run

    vigencia forget --source crm-import --manifest 4f2a…

    On a terminal it shows what would go and asks; a script gives the hash of what --dry-run told. What is forgotten
    cannot be had back.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.auth.principals import PERSON
        from api.settings import read_settings
        from api.wiring import services
        from consolidation.forgetting.forgetter import Named
        from ontology.errors import PreconditionRequired
        from ontology.scope import scope_of

        settings = read_settings(store=store, tenant=tenant)
        named = Named(subject=subject, predicate=predicate, episode=episode, source=source)
        scope = scope_of(settings.tenant, namespace, purpose)
        with services(settings, must_exist=True) as opened:
            forgetter = opened.forgetter
            if manifest is None:
                answer: Any = forgetter.preview(scope, named, blocks=block)
                if dry_run or answer["state"] != "preview":
                    _show(out, answer)
                    return
                if not sys.stdin.isatty() or as_json:
                    raise PreconditionRequired(
                        "nobody is there to be asked", remedy="give what --dry-run tells as --manifest"
                    )
                _show(out, answer)
                if not typer.confirm("Forget this? It cannot be had back", err=True):
                    out.tell("nothing was forgotten")
                    raise typer.Exit(REFUSED)
                manifest = str(answer["manifest"])
            elif dry_run:
                _show(out, forgetter.preview(scope, named, blocks=block))
                return
            _show(out, forgetter.forget(scope, PERSON, named, confirm=manifest, blocks=block))


@tombstones.command("list")
def list_(
    limit: options.Limit = 50,
    namespace: options.Namespace = "default",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """List what was forgotten in a namespace, in the order in which it was.

    vigencia tombstones list

    vigencia tombstones list --namespace notes --json
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from itertools import islice

        from api.settings import read_settings
        from api.wiring import services
        from consolidation.forgetting.forgetter import tombstones_of
        from ontology.scope import scope_of

        settings = read_settings(store=store, tenant=tenant)
        with (
            services(settings, must_exist=True) as opened,
            opened.store.read(scope_of(settings.tenant, namespace)) as reader,
        ):
            found = [_document(stone) for stone in islice(tombstones_of(reader, 0), limit)]
        if as_json:
            out.document({"items": found})
            return
        out.table(COLUMNS, [[_cell(each[name]) for name in COLUMNS] for each in found])


@tombstones.command()
def lift(
    tombstone: Annotated[str, typer.Argument(help="Its id, frg_….")],
    namespace: options.Namespace = "default",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Let a key and the names of something forgotten come back; what was forgotten stays so.

    vigencia tombstones lift frg_abcdefgh_12_0

    vigencia tombstones lift frg_abcdefgh_12_0 --json
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.auth.principals import PERSON
        from api.settings import read_settings
        from api.wiring import services
        from ontology.ids import TombstoneId
        from ontology.scope import scope_of

        settings = read_settings(store=store, tenant=tenant)
        with services(settings, must_exist=True) as opened:
            scope = scope_of(settings.tenant, namespace)
            stone = _document(opened.forgetter.lift(scope, PERSON, TombstoneId(tombstone)))
        if as_json:
            out.document(stone)
            return
        out.line(f"{stone['tombstone']} refuses nothing any more, since {stone['lifted_at']}")


def _show(out: Out, answer: dict[str, Any]) -> None:
    if out.as_json:
        out.document(answer)
        return
    preview = answer["state"] == "preview"
    out.line("would be forgotten:" if preview else f"forgotten at {answer['recorded_at']}, {answer['tombstone']}:")
    out.table(("what", "how many"), [[name, str(count)] for name, count in answer["counts"].items()])
    if preview:
        out.line(f"manifest {answer['manifest']}")
        return
    proof, files = answer["verification"], answer["files"]
    searched = ", ".join(each["place"] for each in proof["searched"])
    out.line(f"searched afterwards: {searched}; found {proof['found']}")
    out.line("the files of the store are free of it" if files["scrubbed"] else f"still to do: {files['left']}")


def _document(stone: "Tombstone") -> dict[str, Any]:
    from consolidation.forgetting.forgetter import receipt

    return receipt(stone)


def _cell(value: object) -> str:
    return "" if value is None else str(value)
