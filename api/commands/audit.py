"""`vigencia audit`: what is stored and should be looked at."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.commands import options
from api.commands.answering import Out, answering

if TYPE_CHECKING:
    from api.wire.rendering import Names, Versions, Wire
    from graph.outdated import Outdated
    from ontology.facts import AsOf
    from ontology.instants import Instant

audit = typer.Typer(name="audit", help="What is stored and should be looked at.", no_args_is_help=True)

COLUMNS = ("why", "subject", "predicate", "value", "from", "to", "confirmed", "fact")


@audit.callback()
def _group() -> None:
    """Keep `live` a command of its own, though it is the only one."""


@audit.command()
def live(
    limit: options.Limit = 200,
    after: Annotated[str | None, typer.Option("--after", metavar="FACT", help="Go on after this fact.")] = None,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """List facts whose predicate has since been declared live, and those that nobody confirmed for too long.

    vigencia audit live

    vigencia audit live --namespace team --limit 1000 --json

    Live data belongs to the tool that is named: erase what is stored of it. What is older than the `review_days` of
    its predicate should be asked for again. By predicate, subject and the start of valid time.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.reasons import fact_with_id
        from api.settings import read_settings
        from api.wire import rendering
        from api.wiring import services
        from graph.outdated import outdated
        from graph.state import resolve_for
        from ontology.scope import scope_of

        settings = read_settings(store=store, tenant=tenant)
        with services(settings, must_exist=True) as opened:
            scope = scope_of(settings.tenant, namespace, purpose)
            now = opened.clock.now()
            schema = opened.writer.schema(scope)
            with opened.store.read(scope) as reader:
                as_of = resolve_for(reader, now, None, None)
                begin = None if after is None else fact_with_id(reader, after)
                found = outdated(reader, schema, now, limit=limit + 1, after=begin)
                versions = [each.fact.version for each in found[:limit]]
                names, heads = rendering.names_in(reader, versions), rendering.versions_of(reader, versions)
        document: dict[str, Any] = {
            "items": [_item(each, names, heads, as_of, now) for each in found[:limit]],
            "next_after": versions[-1].id if len(found) > limit else None,
            "as_of": rendering.as_of(as_of, now),
        }
        _show(out, document)


def _item(found: "Outdated", names: "Names", heads: "Versions", as_of: "AsOf", now: "Instant") -> "Wire":
    from api.wire import rendering

    rules = found.predicate.governance
    return {
        "why": "live" if found.due_since is None else "review",
        "tool": rules.tool,
        "review_days": rules.review_days,
        "due_since": None if found.due_since is None else rendering.instant(found.due_since),
        "confirmed_at": rendering.instant(found.fact.support.recorded_from),
        "fact": rendering.fact(found.fact, names, heads, as_of.known_at, now),
    }


def _show(out: Out, document: dict[str, Any]) -> None:
    from api.commands.showing import as_of_text, end_text, entity_text, short, start_text, value_text

    if out.as_json:
        out.document(document)
        return
    rows = [
        (
            f"live: ask {each['tool']}" if each["why"] == "live" else f"review due since {short(each['due_since'])}",
            entity_text(fact["subject"]), fact["predicate"], value_text(fact["value"]), start_text(fact),
            end_text(fact), short(each["confirmed_at"]), fact["id"],
        )
        for each in document["items"]
        for fact in [each["fact"]]
    ]  # fmt: skip
    out.table(COLUMNS, rows, {"confirmed", "to"})
    out.tell(as_of_text(document["as_of"]))
    if document["next_after"] is not None:
        out.tell(f"there is more; go on with --after {document['next_after']}")
