"""`vigencia review`: what is kept and not believed yet, and the decision on it."""

from typing import Annotated, Any

import typer

from api.commands import options
from api.commands.answering import Out, answering

review = typer.Typer(name="review", help="Decide on what is kept, and not believed yet.", no_args_is_help=True)

Claim = Annotated[str, typer.Argument(help="The id of a held claim, clm_….")]
Reason = Annotated[str | None, typer.Option("--reason", help="Why; it stays with the claim.")]
Version = Annotated[
    int | None, typer.Option("--version", min=0, help="The version that you have seen; else the present one.")
]
COLUMNS = ("claim", "state", "rule", "subject", "predicate", "value", "from", "source", "trust", "version", "quote")


@review.command("list")
def list_(
    state: Annotated[str | None, typer.Option("--state", help="quarantined or staged; both if left out.")] = None,
    rule: Annotated[str | None, typer.Option("--rule", help="Only what this rule holds.")] = None,
    limit: options.Limit = 50,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """List the claims that wait, with the rule that holds each and the words that it quotes.

    vigencia review list

    vigencia review list --state quarantined --rule untrusted --json
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.commands.asking import asking
        from api.routes.review import routes

        with asking(store=store, tenant=tenant, namespace=namespace, purpose=purpose) as ask:
            answer = ask.pages(routes, "/v1/review", limit=limit, state=state, rule=rule)
        if as_json:
            out.document(answer)
            return
        out.table(COLUMNS, [_row(each) for each in answer["items"]], narrow=COLUMNS[6:])
        counts = answer["counts"]
        out.tell(f"{counts['waits_on_you']} wait on you, {counts['held_by_policy']} for more evidence")


@review.command("show")
def show(
    claim: Claim,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Show one claim that waits, and what is believed where it would be folded.

    vigencia review show clm_abcdefgh_7_0

    vigencia review show clm_abcdefgh_7_0 --json
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.commands.asking import asking
        from api.commands.showing import end_text, start_text, value_text
        from api.routes.review import routes

        with asking(store=store, tenant=tenant, namespace=namespace, purpose=purpose) as ask:
            answer = ask.get(routes, "/v1/review/{id}", {"id": claim})
        if as_json:
            out.document(answer)
            return
        out.table(COLUMNS, [_row(answer)])
        out.tell(f"{answer['state']} by the rule {answer['rule']!r}: {answer['reason']}")
        for fact in answer["current"]:
            out.tell(f"believed now: {value_text(fact['value'])} from {start_text(fact)} to {end_text(fact)}")


@review.command("promote")
def promote(
    claim: Claim,
    reason: Reason = None,
    version: Version = None,
    dry_run: options.DryRun = False,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Let a held claim be believed from now on, at its old place in the order.

    vigencia review promote clm_abcdefgh_7_0 --reason 'checked with the owner'

    vigencia review promote clm_abcdefgh_7_0 --version 12 --dry-run

    Exit code 6 for what you wrote yourself, 5 where it was decided before or the version is stale.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        _decide(out, True, claim, reason, version, dry_run, (store, tenant, namespace, purpose))


@review.command("reject")
def reject(
    claim: Claim,
    reason: Reason = None,
    version: Version = None,
    dry_run: options.DryRun = False,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Turn a held claim down; the same value from the same source does not come back.

    vigencia review reject clm_abcdefgh_7_0 --reason 'the page is forged'

    vigencia review reject clm_abcdefgh_7_0 --version 12 --json

    Exit codes as with promote.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        _decide(out, False, claim, reason, version, dry_run, (store, tenant, namespace, purpose))


def _decide(
    out: Out,
    promotes: bool,
    claim: str,
    reason: str | None,
    version: int | None,
    dry_run: bool,
    where: tuple[str | None, str | None, str, str],
) -> None:
    from api.auth.principals import PERSON
    from api.commands.showing import show_receipt
    from api.settings import read_settings
    from api.wiring import services
    from consolidation.items import Promote, Reject
    from ontology.facts import Version as SlotVersion
    from ontology.scope import scope_of

    store, tenant, namespace, purpose = where
    settings = read_settings(store=store, tenant=tenant)
    expected = None if version is None else SlotVersion(version)
    item = (Promote if promotes else Reject)(claim=claim, reason=reason, expected_version=expected)
    with services(settings, must_exist=True) as opened:
        scope = scope_of(settings.tenant, namespace, purpose)
        written = opened.writer.write(scope, PERSON, [item], dry_run=dry_run)
    show_receipt(out, written, dry_run=dry_run)


def _row(each: dict[str, Any]) -> tuple[str, ...]:
    from api.commands.showing import entity_text, value_text

    value = "" if each["value"] is None else value_text(each["value"])
    quote = "" if each["span"] is None else each["span"]["quote"].replace("\n", " ")
    return (
        each["id"], each["state"], each["rule"], entity_text(each["subject"]), each["predicate"], value,
        each["valid_from"] or "", each["source"], each["trust"], str(each["version"]), quote,
    )  # fmt: skip
