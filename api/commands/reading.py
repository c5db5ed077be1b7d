"""`vigencia state`, `history` and `diff`: what holds, what held, and what changed in what we believe."""

from typing import Annotated, Any

import typer

from api.commands import options
from api.commands.answering import NOT_FOUND, Out, answering


def state(
    subject: options.Subject,
    predicate: options.OptionalPredicate = None,
    valid_at: options.ValidAt = None,
    known_at: options.KnownAt = None,
    certain: options.CertainOnly = False,
    limit: options.Limit = 200,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """What holds of a subject, at one instant of the world and as known at one instant.

    vigencia state mira passport_deadline

    vigencia state mira --valid-at 2026-06-10 --known-at 2026-06-02 --json

    Exit code 3 where nothing holds.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.commands.asking import asking

        with asking(store=store, tenant=tenant, namespace=namespace, purpose=purpose) as ask:
            answer = ask.state(
                subject=subject,
                predicate=predicate,
                valid_at=valid_at,
                known_at=known_at,
                certainty=_certainty(certain),
                limit=limit,
            )
        _show_facts(out, answer, subject)


def history(
    subject: options.Subject,
    predicate: options.OptionalPredicate = None,
    valid_at: options.ValidAt = None,
    known_at: options.KnownAt = None,
    certain: options.CertainOnly = False,
    limit: options.Limit = 200,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """The periods of a subject, as known at one instant.

    vigencia history mira passport_deadline

    vigencia history mira lives_in --known-at 2026-06-02 --json

    With --valid-at only the periods that hold then. Exit code 3 where there is none.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.commands.asking import asking
        from api.routes.history import routes

        with asking(store=store, tenant=tenant, namespace=namespace, purpose=purpose) as ask:
            answer = ask.pages(
                routes,
                "/v1/history",
                limit=limit,
                subject=subject,
                predicate=predicate,
                valid_at=valid_at,
                known_at=known_at,
                certainty=_certainty(certain),
            )
        _show_facts(out, answer, subject)


def diff(
    subject: options.Subject,
    predicate: options.OptionalPredicate = None,
    known_from: Annotated[
        str, typer.Option("--known-from", metavar="TIME", help="The earlier belief; the beginning if left out.")
    ] = "0001-01-01",
    known_to: Annotated[
        str | None, typer.Option("--known-to", metavar="TIME", help="The later belief; the newest if left out.")
    ] = None,
    valid_at: options.ValidAt = None,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """What changed in what is believed of a subject, between two instants of memory.

    vigencia diff mira passport_deadline --known-from 2026-06-02

    vigencia diff mira --known-from 2026-06-01 --known-to 2026-06-03 --json
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.commands.asking import asking
        from api.commands.showing import certainty_text, end_text, entity_text, start_text, value_text
        from api.routes.history import routes

        with asking(store=store, tenant=tenant, namespace=namespace, purpose=purpose) as ask:
            answer = ask.get(
                routes,
                "/v1/diff",
                subject=subject,
                predicate=predicate,
                known_from=known_from,
                known_to=known_to,
                valid_at=valid_at,
            )
        if as_json:
            out.document(answer)
            return
        rows = [
            (
                sign, entity_text(row["subject"]), row["predicate"], value_text(row["value"]), start_text(row),
                end_text(row), certainty_text(row),
            )
            for sign, side in (("-", "removed"), ("+", "added"))
            for row in answer[side]
        ]  # fmt: skip
        out.table(("", "subject", "predicate", "value", "from", "to", "certainty"), rows)
        out.tell(f"from the belief of {answer['known_from']} to that of {answer['known_to']}")


def _show_facts(out: Out, answer: dict[str, Any], asked: str) -> None:
    from api.commands.showing import (
        as_of_text,
        certainty_text,
        end_text,
        entity_text,
        start_text,
        tell_live,
        value_text,
    )

    if out.as_json:
        out.document(answer)
    else:
        rows = [
            (
                entity_text(row["subject"]), row["predicate"], value_text(row["value"]), start_text(row),
                end_text(row), certainty_text(row), f"{row['confidence']:.2f}", row["id"],
            )
            for row in answer["items"]
        ]  # fmt: skip
        narrow = {"confidence", "fact"}
        if all(row["certain"] for row in answer["items"]):
            narrow.add("certainty")
        if all(asked in row["subject"].values() for row in answer["items"]):
            narrow.add("subject")
        out.table(("subject", "predicate", "value", "from", "to", "certainty", "confidence", "fact"), rows, narrow)
        tell_live(out, answer)
        out.tell(as_of_text(answer["as_of"]))
        if answer["next_cursor"] is not None:
            out.tell("there is more; raise --limit")
    if not answer["items"]:
        raise typer.Exit(NOT_FOUND)


def _certainty(certain: bool) -> str:
    return "certain" if certain else "any"
