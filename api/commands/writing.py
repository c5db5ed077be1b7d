"""`vigencia remember`: one typed claim from the command line."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.commands import options
from api.commands.answering import answering

if TYPE_CHECKING:
    from ontology.schema import Predicate


def remember(
    subject: options.Subject,
    predicate: Annotated[str, typer.Argument(help="What is said of it.")],
    value: Annotated[str, typer.Argument(help="The value, read as the predicate's type; text where that is open.")],
    type_: Annotated[
        str | None, typer.Option("--type", help="Another type: entity, integer, decimal, boolean, date, json, ….")
    ] = None,
    valid_from: Annotated[
        str | None, typer.Option("--valid-from", metavar="TIME", help="When it begins to hold.")
    ] = None,
    valid_to: Annotated[
        str | None, typer.Option("--valid-to", metavar="TIME", help="When it stops; until the next start if left out.")
    ] = None,
    observed_at: Annotated[
        str | None, typer.Option("--observed-at", metavar="TIME", help="When it was said; now if left out.")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", help="Who said it.")] = None,
    episode: Annotated[str | None, typer.Option("--episode", help="Where it was said: an id of yours.")] = None,
    confidence: Annotated[
        float | None, typer.Option("--confidence", min=0, max=1, help="How sure the source is.")
    ] = None,
    trust: Annotated[
        str | None, typer.Option("--trust", help="untrusted, inferred, observed, confirmed (if left out) or verified.")
    ] = None,
    ttl: Annotated[
        str | None, typer.Option("--ttl", metavar="DURATION", help="How long it is served, such as P30D or PT12H.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="An idempotency key: a retry with the same has one effect.")
    ] = None,
    dry_run: options.DryRun = False,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Remember that a subject has a value, and say what that changed.

    vigencia remember mira passport_deadline 2026-06-30 --valid-from 2026-06-03 --source mira

    vigencia remember mira lives_in oslo --type entity --valid-from 2021-03 --dry-run --json

    What begins with a minus sign goes after --. Exit code 4 where a rule refuses it.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.auth.principals import local_person
        from api.authority import authority_of
        from api.commands.showing import show_receipt
        from api.settings import read_settings
        from api.wiring import services
        from consolidation.items import Assert, Said
        from ontology.scope import scope_of

        settings = read_settings(store=store, tenant=tenant)
        said = Said(
            valid_from=valid_from, valid_to=valid_to, observed_at=observed_at, source=source, episode=episode,
            confidence=confidence, trust=trust, ttl=ttl,
        )  # fmt: skip
        with services(settings) as opened:
            scope = scope_of(settings.tenant, namespace, purpose)
            wire = _wire(value, type_, opened.writer.schema(scope).predicate(predicate))
            item = Assert(subject=subject, predicate=predicate, value=wire, said=said)
            person = local_person(scope.tenant)
            written = opened.writer.write(
                scope, person.name, [item], dry_run=dry_run, key=key, authority=authority_of(person)
            )
        show_receipt(out, written, dry_run=dry_run)


def _wire(text: str, kind: str | None, predicate: "Predicate") -> object:
    """The value as the wire writes it: bare where the predicate says its type, else an object with the given one."""
    if kind is None:
        return text
    if kind == "entity":
        return {"type": "entity", "id" if text.startswith("ent_") else "key": text}
    if kind == "json":
        from api.limits import read_json

        return {"type": "json", "value": read_json(text.encode())}
    if kind == "quantity" and predicate.unit is None and " " in text:
        number, _, unit = text.partition(" ")
        return {"type": "quantity", "value": number, "unit": unit}
    return {"type": kind, "value": text}
